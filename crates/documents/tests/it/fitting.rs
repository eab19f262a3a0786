//! Forms that a place takes: D8, D18, and the rules by which what does not fit degrades.

use attache_core::capability::Place;
use attache_core::converter::{MediaLimits, Transcoded, Units};
use attache_core::{Document, ErrorKind, MediaType, Message, ModelCapabilities};
use attache_documents::{
    ConvertedText, DocumentOutcome, Material, Materials, Plan, ReasonKind, RouteOptions, Routing, plan,
};

use crate::builder::{Chat, PDF, PNG, doc, model, only, outcomes, pdf, png, shown};

fn bmp(name: &str) -> Document {
    doc(name, b"BM\0\0\0\0\0\0 pixels", "image/bmp")
}

/// A PNG whose header says this size.
pub(crate) fn sized(name: &str, width: u32, height: u32) -> Document {
    let header = [
        &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
        &width.to_be_bytes(),
        &height.to_be_bytes(),
        &[8, 2, 0, 0, 0],
    ];
    doc(name, &header.concat(), "image/png")
}

fn planned(chat: &Chat, capabilities: &ModelCapabilities, have: &Materials) -> Plan {
    plan(&chat.messages, capabilities, &RouteOptions::new(), have)
}

/// The one form that a plan asks for.
fn form(chat: &Chat, capabilities: &ModelCapabilities) -> MediaLimits {
    let plan = planned(chat, capabilities, &Materials::new());
    let [(_, form)] = &*plan.transcode else { panic!("{plan:?}") };
    form.clone()
}

fn made(bytes: &'static [u8], media_type: &str, note: &str) -> Transcoded {
    Transcoded::changed(bytes, MediaType::parse(media_type).unwrap(), note)
}

fn routed(chat: &Chat, capabilities: &ModelCapabilities, have: &Materials) -> Routing {
    chat.routed(capabilities, have, &RouteOptions::new()).unwrap()
}

// D8: what is no image for a provider is re-encoded, in the first place that takes images at all.
#[test]
fn an_image_of_another_type_is_reencoded() {
    for (family, place, at) in
        [("anthropic", Place::ToolResult, 2), ("openai-chat", Place::AfterToolResults, 3)]
    {
        let (scan, capabilities) = (bmp("scan.bmp"), model(family));
        let chat = Chat::new().user("?").tool(std::slice::from_ref(&scan));
        let form = form(&chat, &capabilities);
        assert!(form.allows(&MediaType::parse("image/png").unwrap()), "{form:?}");
        assert!(!form.allows(&MediaType::parse("application/pdf").unwrap()), "an image stays one: {form:?}");
        let mut have = Materials::new();
        have.insert(
            &scan,
            Material::Transcoded(form.clone(), made(PNG, "image/png", "re-encoded from image/bmp")),
        );
        assert!(planned(&chat, &capabilities, &have).is_empty());
        let routing = routed(&chat, &capabilities, &have);
        let decision = only(&routing);
        assert_eq!((decision.outcome, decision.place), (DocumentOutcome::Reencoded, Some(place)));
        assert_eq!((decision.reason.kind(), decision.bytes), (ReasonKind::Transcoded, PNG.len() as u64));
        assert_eq!(decision.reason.as_str(), "shown in another form: re-encoded from image/bmp");
        let content = shown(&routing.messages[at]);
        let label = content.iter().find(|text| text.contains("scan.bmp")).unwrap();
        assert!(label.ends_with(" />\nShown in another form: re-encoded from image/bmp."), "{label}");
        assert_eq!(content.last().unwrap(), "(image/png scan.png)", "the name follows the type");
    }
}

// D18: pixels are looked at before a provider refuses them.
#[test]
fn an_image_that_is_too_large_is_scaled_or_a_note() {
    let (photo, capabilities) = (sized("photo.png", 9_000, 6_000), model("anthropic"));
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&photo));
    let form = form(&chat, &capabilities);
    assert_eq!(form.max_pixels, Some(8_000));
    let mut have = Materials::new();
    have.insert(&photo, Material::Unchecked(form.clone()));
    let note = routed(&chat, &capabilities, &have);
    assert_eq!(only(&note).reason.kind(), ReasonKind::TooLarge);
    assert_eq!(
        only(&note).reason.as_str(),
        "it has 9000 × 6000 pixels, and this model takes at most 8000 on a side"
    );
    have.insert(
        &photo,
        Material::Transcoded(
            form.clone(),
            made(PNG, "image/png", "scaled from 9000 × 6000 to 1568 × 1045 pixels"),
        ),
    );
    assert_eq!(outcomes(&routed(&chat, &capabilities, &have)), ["reencoded"]);
    have.insert(&photo, Material::Untranscodable(form, "it is damaged".into()));
    let failed = routed(&chat, &capabilities, &have);
    let reason = &only(&failed).reason;
    assert_eq!((only(&failed).outcome, reason.kind()), (DocumentOutcome::Note, ReasonKind::Unfit));
    assert!(reason.as_str().contains("it is damaged"), "{reason}");
}

fn long(chat: Chat) -> (Document, Chat) {
    let long = pdf("long.pdf");
    let chat = chat.user("?").tool(std::slice::from_ref(&long));
    (long, chat)
}

fn part() -> Transcoded {
    made(PDF, "application/pdf", "pages 1–2 of 3").with_pages(3).with_pages_held(2)
}

fn pages() -> ConvertedText {
    ConvertedText::new("[page 1]\none\n[page 2]\ntwo\n[page 3]\nthree\n").with_units(Units::new(
        "page",
        vec![0, 13, 26],
        3,
    ))
}

// D18: the first pages natively, the others as text
#[test]
fn a_pdf_with_too_many_pages_is_cut_and_its_other_pages_are_text() {
    let capabilities = model("anthropic");
    let (long, chat) = long(Chat::new());
    let form = form(&chat, &capabilities);
    let mut have = Materials::new();
    have.insert(&long, Material::Transcoded(form, part()));
    assert_eq!(
        planned(&chat, &capabilities, &have).convert,
        std::slice::from_ref(&long),
        "the text of the others"
    );
    have.insert(&long, pages());
    assert!(planned(&chat, &capabilities, &have).is_empty());
    let routing = routed(&chat, &capabilities, &have);
    let content = shown(&routing.messages[2]);
    assert_eq!(content.len(), 3, "{content:?}");
    assert!(content[0].ends_with("Shown in another form: pages 1–2 of 3."), "{content:?}");
    assert_eq!(content[1], "(application/pdf long.pdf)");
    assert!(content[2].contains("[page 3]\nthree") && !content[2].contains("[page 2]"), "{content:?}");
    let decision = only(&routing);
    assert_eq!(decision.outcome, DocumentOutcome::Reencoded);
    assert_eq!(decision.reason.as_str(), "shown in another form: pages 1–2 of 3, the others as text");
    assert!(decision.tokens > 2 * 2_000, "two pages and a text: {}", decision.tokens);
    // Where no text can be had, the label says what is missing.
    have.insert(&long, Material::Unconvertible("it holds no text".into()));
    let routing = routed(&chat, &capabilities, &have);
    assert_eq!(shown(&routing.messages[2]).len(), 2);
    assert_eq!(only(&routing).reason.as_str(), "shown in another form: pages 1–2 of 3");
}

// A PDF that does not open is a 400 of the provider; here it is a note.
#[test]
fn a_pdf_that_does_not_open_is_never_sent() {
    let capabilities = model("anthropic");
    let (long, chat) = long(Chat::new());
    let mut have = Materials::new();
    have.insert(&long, Material::Untranscodable(form(&chat, &capabilities), "it is encrypted".into()));
    assert_eq!(
        planned(&chat, &capabilities, &have).convert,
        std::slice::from_ref(&long),
        "its text may be had all the same"
    );
    have.insert(&long, Material::Unconvertible("the document is encrypted".into()));
    let routing = routed(&chat, &capabilities, &have);
    let note = &shown(&routing.messages[2])[0];
    assert!(note.contains("status=\"unreadable\"") && note.contains("it is encrypted"), "{note}");
    let author = Chat::new().author("Read it.", std::slice::from_ref(&long));
    have.insert(
        &long,
        Material::Untranscodable(self::form(&author, &capabilities), "it is encrypted".into()),
    );
    let error = author.routed(&capabilities, &have, &RouteOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("it is encrypted"), "{error}");
}

// C25: what an author attached is shown whole or is an error; another encoding of an image is the whole.
#[test]
fn what_an_author_attached_loses_no_page() {
    let capabilities = model("anthropic");
    let (scan, long) = (bmp("scan.bmp"), pdf("long.pdf"));
    let chat = Chat::new().author("Read both.", &[scan.clone(), long.clone()]);
    let mut have = Materials::new();
    for (document, form) in planned(&chat, &capabilities, &have).transcode {
        let fitted = if document == long { part() } else { made(PNG, "image/png", "re-encoded") };
        have.insert(&document, Material::Transcoded(form.clone(), fitted));
    }
    let error = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap_err();
    assert!(error.message().contains("it has 3 pages, and this model takes at most 2"), "{error}");
    let alone = Chat::new().author("Read it.", &[scan]);
    assert_eq!(outcomes(&routed(&alone, &capabilities, &have)), ["reencoded"]);
    let options = RouteOptions::new().with_convert_author_documents(true);
    have.insert(&long, pages());
    let routing = chat.routed(&capabilities, &have, &options).unwrap();
    assert_eq!(outcomes(&routing), ["reencoded", "reencoded"]);
}

// Whoever converts is not trusted with the limits.
#[test]
fn an_answer_that_does_not_fit_is_not_sent() {
    let capabilities = model("anthropic");
    let scan = bmp("scan.bmp");
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&scan));
    let mut have = Materials::new();
    have.insert(
        &scan,
        Material::Transcoded(form(&chat, &capabilities), made(b"II*\0 pixels", "image/tiff", "no better")),
    );
    assert_eq!(outcomes(&routed(&chat, &capabilities, &have)), ["note"]);
}

// A place that takes it as it is comes before one that takes it in another form.
#[test]
fn what_fits_beside_is_not_scaled_inside() {
    let mut capabilities = model("anthropic");
    capabilities.tool_result.max_image_bytes = Some(3);
    let chat = Chat::new().user("?").tool(&[png("a.png")]);
    assert_ne!(form(&chat, &capabilities).max_bytes, Some(3), "it is looked at for the second place alone");
    assert_eq!(outcomes(&routed(&chat, &capabilities, &Materials::new())), ["synthetic"]);
}

// HTML costs more than it says; a table or JSON of which only the start would be shown is shaped.
#[test]
fn text_that_reads_better_converted() {
    let page = doc("a.html", b"<p>Rent: <b>900</b></p>", "text/html");
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&page));
    let capabilities = model("anthropic");
    let mut have = Materials::new();
    assert_eq!(planned(&chat, &capabilities, &have).convert, std::slice::from_ref(&page));
    have.insert(&page, ConvertedText::new("Rent: 900"));
    assert_eq!(outcomes(&routed(&chat, &capabilities, &have)), ["converted"]);
    let source = RouteOptions::new().with_html_source(true);
    assert_eq!(outcomes(&chat.routed(&capabilities, &have, &source).unwrap()), ["text"]);
    let mut none = Materials::new();
    none.insert(&page, Material::Unconvertible("there is no converter for text/html".into()));
    assert!(planned(&chat, &capabilities, &none).is_empty());
    assert_eq!(outcomes(&routed(&chat, &capabilities, &none)), ["text"]);
    let author = Chat::new().author("Fix my page.", &[page]);
    assert!(planned(&author, &capabilities, &have).is_empty(), "an author means the source");

    let table = doc("t.csv", "a,b\n".repeat(100).as_bytes(), "text/csv");
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&table));
    assert!(planned(&chat, &capabilities, &have).is_empty(), "short enough");
    let short = RouteOptions::new().with_max_text_bytes(50);
    assert_eq!(plan(&chat.messages, &capabilities, &short, &have).convert, [table]);
}

// Notes tell a model that can ask for more how to.
#[test]
fn notes_name_the_tool_that_reads_more() {
    let options = RouteOptions::new().with_read_tool("read_document").with_max_text_bytes(4);
    let mut capabilities = model("anthropic");
    capabilities.tool_result.max_count = Some(1);
    let chat = Chat::new()
        .user("?")
        .tool(&[pdf("a.pdf"), doc("b.csv", b"a,b\n1,2\n", "text/csv")])
        .tool(&[pdf("c.pdf")]);
    let routing = chat.routed(&capabilities, &Materials::new(), &options).unwrap();
    let content = shown(&routing.messages[2]);
    assert!(content[0].ends_with("; read_document reads it by its id, a."), "{content:?}");
    assert!(
        content.last().unwrap().ends_with("Not all of it is shown; read_document reads it by its id, b.")
    );
    let Message::ToolResults(_) = &*routing.messages[2] else { panic!() };
}
