//! Pages as images: for models that take images and no PDF.

use attache_core::capability::{Place, PlaceCapabilities};
use attache_core::converter::{ConvertedText, PageImage, RenderedPages, Units};
use attache_core::{Document, ErrorKind, MediaType, Message, ModelCapabilities, UserMessage};
use attache_documents::{
    DocumentOutcome, Material, Materials, PageRequest, Plan, ReasonKind, RouteOptions, plan,
};

use crate::builder::{Chat, PNG, csv, model, only, outcomes, pdf, shown};

/// A model that takes PNG in user messages, and nothing but text in tool results.
fn images_only() -> ModelCapabilities {
    let mut capabilities = model("offline");
    capabilities.user = PlaceCapabilities::of(&["text", "image/png"]);
    capabilities.beside_result = PlaceCapabilities::of(&["text", "image/png"]);
    capabilities.tool_result = PlaceCapabilities::of(&["text"]);
    capabilities.context_window = None;
    capabilities
}

fn planned(chat: &Chat, capabilities: &ModelCapabilities, have: &Materials) -> Plan {
    plan(&chat.messages, capabilities, &RouteOptions::new(), have)
}

fn images(pages: &[usize], total: usize) -> RenderedPages {
    let png = MediaType::parse("image/png").unwrap();
    // Each has bytes of its own.
    let bytes = |page: &usize| [PNG, &page.to_be_bytes()].concat();
    RenderedPages::new(
        pages.iter().map(|page| PageImage::new(*page, bytes(page), png.clone())).collect(),
        total,
    )
}

/// The text of three pages, of which the second says nothing.
fn mixed() -> ConvertedText {
    let text = "[page 1]\nThe rent is 940.\n[page 2]\n\n[page 3]\nSigned in May.\n";
    let starts = text.match_indices("[page").map(|(at, _)| at).collect();
    ConvertedText::new(text).with_units(Units::new("page", starts, 3)).with_note("no text is on page 2")
}

/// The one request of a plan that asks for nothing else.
fn request(plan: &Plan) -> PageRequest {
    let [(_, request)] = &*plan.render else { panic!("{plan:?}") };
    assert!(plan.load.is_empty() && plan.transcode.is_empty() && plan.convert.is_empty(), "{plan:?}");
    request.clone()
}

#[test]
fn a_scan_is_shown_as_images_of_its_pages() {
    let (scan, capabilities) = (pdf("scan.pdf"), images_only());
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&scan));
    let mut have = Materials::new();
    assert_eq!(
        planned(&chat, &capabilities, &have).convert,
        std::slice::from_ref(&scan),
        "whether there is text shows first"
    );
    have.insert(
        &scan,
        Material::Unconvertible("the document holds no text in its 2 page(s), only images".into()),
    );
    let request = request(&planned(&chat, &capabilities, &have));
    assert_eq!(request.pages, [1..=usize::MAX]);
    assert!(request.form.allows(&MediaType::parse("image/png").unwrap()));
    have.insert(&scan, Material::Rendered(request, images(&[1, 2], 2)));
    assert!(planned(&chat, &capabilities, &have).is_empty());
    let routing = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    let decision = only(&routing);
    assert_eq!(
        (decision.outcome, decision.place),
        (DocumentOutcome::Rendered, Some(Place::AfterToolResults))
    );
    assert_eq!(decision.reason.kind(), ReasonKind::Rendered);
    assert_eq!(decision.reason.as_str(), "shown in another form: pages 1–2 of 2 as images");
    assert!(decision.bytes > 0 && decision.tokens > 0 && decision.document_id == *scan.id());
    let content = shown(&routing.messages[3]);
    assert!(content[1].ends_with("/>\nShown in another form: pages 1–2 of 2 as images."), "{content:?}");
    let rest: Vec<&str> = content[2..].iter().map(String::as_str).collect();
    assert_eq!(rest, ["[page 1 of 2]", "(image/png scan.png)", "[page 2 of 2]", "(image/png scan.png)"]);
    // The same input, the same output; and again on its own output.
    let again = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(routing.messages, again.messages);
    let twice =
        Chat::of(routing.messages.clone()).routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(routing.messages, twice.messages);
}

#[test]
fn of_a_mixed_document_only_pages_without_text_are_images() {
    let (lease, capabilities) = (pdf("lease.pdf"), images_only());
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&lease));
    let mut have = Materials::new();
    have.insert(&lease, mixed());
    // Until somebody renders it, the text is better than nothing.
    assert_eq!(outcomes(&chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap()), ["converted"]);
    let request = request(&planned(&chat, &capabilities, &have));
    assert_eq!(request.pages, [2..=2]);
    have.insert(&lease, Material::Rendered(request, images(&[2], 3)));
    let routing = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(only(&routing).outcome, DocumentOutcome::Rendered);
    let content = shown(&routing.messages[3]);
    assert!(
        content[1].contains("page 2 of 3 as images, those with text as text; no text is on page 2"),
        "{content:?}"
    );
    let [_, _, first, marker, image, last] = &*content else { panic!("{content:?}") };
    assert!(first.contains("[page 1]\nThe rent is 940.") && !first.contains("[page 2]"), "{first}");
    assert_eq!((marker.as_str(), image.as_str()), ("[page 2 of 3]", "(image/png lease.png)"));
    assert!(last.contains("[page 3]\nSigned in May.") && !last.contains("rent"), "{last}");
    // A document whose every page has text, and a model without images, go the way they went.
    let mut whole = Materials::new();
    whole.insert(&lease, ConvertedText::new("[page 1]\nx\n").with_units(Units::new("page", vec![0], 1)));
    assert!(planned(&chat, &capabilities, &whole).is_empty());
    assert!(planned(&chat, &model("offline"), &have).is_empty());
}

// A scan with a stamp: its pages are seen, and the stamp is read too.
#[test]
fn pages_that_images_cover_are_shown_as_both() {
    let (scan, capabilities) = (pdf("scan.pdf"), images_only());
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&scan));
    let text = "[page 1]\nB-000017\n[page 2]\nB-000018\n[page 3]\nThe rent is 940.\n";
    let starts = text.match_indices("[page").map(|(at, _)| at).collect();
    let units = Units::new("page", starts, 3).with_covered(vec![1, 2]);
    let mut have = Materials::new();
    have.insert(&scan, ConvertedText::new(text).with_units(units));
    let request = request(&planned(&chat, &capabilities, &have));
    assert_eq!(request.pages, [1..=2]);
    have.insert(&scan, Material::Rendered(request, images(&[1, 2], 3)));
    let routing = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(only(&routing).outcome, DocumentOutcome::Rendered);
    let content = shown(&routing.messages[3]).join("\n");
    for said in ["B-000017", "B-000018", "The rent is 940.", "[page 1 of 3]", "[page 2 of 3]"] {
        assert_eq!(content.matches(said).count(), 1, "{said}: {content}");
    }
    assert!(content.contains("pages 1–2 of 3 as images, those with text as text"), "{content}");
    // An author's is one of images alone, if all of its pages are covered.
    let text = "[page 1]\nB-000017\n";
    let units = Units::new("page", vec![0], 1).with_covered(vec![1]);
    let chat = Chat::new().push(Message::User(UserMessage::new([scan.clone().into()])));
    let mut have = Materials::new();
    have.insert(&scan, ConvertedText::new(text).with_units(units));
    let request = self::request(&planned(&chat, &capabilities, &have));
    have.insert(&scan, Material::Rendered(request, images(&[1], 1)));
    let routing = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(only(&routing).outcome, DocumentOutcome::Rendered);
}

#[test]
fn pages_that_are_left_out_are_named() {
    let (scan, mut capabilities) = (pdf("scan.pdf"), images_only());
    capabilities.beside_result.max_count = Some(3);
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&scan));
    let mut have = Materials::new();
    have.insert(&scan, Material::Unconvertible("no text".into()));
    let mut roomy = capabilities.clone();
    roomy.beside_result.max_count = Some(20);
    assert_eq!(request(&planned(&chat, &roomy, &have)).form.max_pages, Some(15), "there is room for others");
    let request = request(&planned(&chat, &capabilities, &have));
    assert_eq!(request.form.max_pages, Some(3));
    let mut rendered = images(&[1, 3, 4], 9);
    (rendered.blank, rendered.failed, rendered.partial) = (vec![2], vec![5], vec![4]);
    have.insert(&scan, Material::Rendered(request.clone(), rendered));
    let options = RouteOptions::new().with_read_tool("read_document");
    let routing = chat.routed(&capabilities, &have, &options).unwrap();
    assert_eq!(
        only(&routing).reason.as_str(),
        "shown in another form: pages 1, 3–4 of 9 as images; page 2, on which there is nothing to see; page 4, of \
         which something could not be drawn; page 5, which could not be drawn; pages 6–9 left out to keep \
         the limits of images"
    );
    let content = shown(&routing.messages[3]);
    assert!(content.last().unwrap().contains("Not all of it is shown; read_document reads it by its id"));
    // Four images are more than the model takes: the older document is left out with all of its pages.
    let (old, chat) = (pdf("old.pdf"), Chat::new());
    let chat = chat.user("?").tool(std::slice::from_ref(&old)).tool(std::slice::from_ref(&scan));
    have.insert(&old, Material::Unconvertible("no text".into()));
    have.insert(&old, Material::Rendered(request, images(&[1], 1)));
    let routing = chat.routed(&capabilities, &have, &options).unwrap();
    assert_eq!(outcomes(&routing), ["note", "rendered"]);
    assert_eq!(routing.report.decisions[0].reason.kind(), ReasonKind::TooMany);
}

#[test]
fn pages_that_cannot_be_rendered_leave_a_note_with_both_reasons() {
    let (scan, capabilities) = (pdf("scan.pdf"), images_only());
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&scan));
    let mut have = Materials::new();
    have.insert(&scan, Material::Unconvertible("it needs a password".into()));
    let request = request(&planned(&chat, &capabilities, &have));
    let reason = |have: &Materials| {
        let routing = chat.routed(&capabilities, have, &RouteOptions::new()).unwrap();
        assert_eq!(only(&routing).outcome, DocumentOutcome::Note);
        only(&routing).reason.as_str().to_owned()
    };
    let alone = "this model does not take application/pdf in tool results or after them, and it could not be \
                 converted to text: it needs a password";
    let mut nobody = have.clone();
    nobody.insert(&scan, Material::Unrendered(request.clone()));
    assert!(planned(&chat, &capabilities, &nobody).is_empty());
    assert_eq!(reason(&nobody), alone);
    let mut failed = have.clone();
    failed.insert(&scan, Material::Unrenderable(request.clone(), "it is encrypted\nand more".into()));
    assert_eq!(
        reason(&failed),
        format!("{alone}, and its pages cannot be shown as images: it is encrypted and more")
    );
    let mut blank = RenderedPages::new(Vec::new(), 1);
    blank.blank = vec![1];
    have.insert(&scan, Material::Rendered(request, blank));
    assert!(reason(&have).ends_with("there is nothing to see on them"));
}

#[test]
fn an_authors_scan_is_rendered_whole_or_not_at_all() {
    let (scan, capabilities) = (pdf("scan.pdf"), images_only());
    let chat = Chat::new().push(Message::User(UserMessage::new([scan.clone().into()])));
    let mut have = Materials::new();
    assert_eq!(planned(&chat, &capabilities, &have).convert, std::slice::from_ref(&scan));
    have.insert(&scan, Material::Unconvertible("no text".into()));
    let request = request(&planned(&chat, &capabilities, &have));
    let mut part = have.clone();
    part.insert(&scan, Material::Rendered(request.clone(), images(&[1, 2], 3)));
    let error = chat.routed(&capabilities, &part, &RouteOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("only 2 of its 3 pages can be"), "{error}");
    have.insert(&scan, Material::Rendered(request, images(&[1, 2], 2)));
    let routing = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(only(&routing).outcome, DocumentOutcome::Rendered);
    // In the next turn it stands there as it did.
    let later = Chat::of(chat.messages.clone()).reply("I see").user("And?");
    let next = later.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(next.messages[0], routing.messages[0]);
    // One with text is an error as before: nobody asked for text in its place.
    let mut text = Materials::new();
    text.insert(&scan, mixed());
    assert!(planned(&chat, &capabilities, &text).is_empty());
    assert!(chat.routed(&capabilities, &text, &RouteOptions::new()).is_err());
}

#[test]
fn images_of_pages_are_counted_let_go_and_asked_for_again() {
    let capabilities = images_only();
    let scan = Document::stored(pdf("scan.pdf").id().clone(), "main", "application/pdf");
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&scan));
    let mut have = Materials::new();
    assert_eq!(planned(&chat, &capabilities, &have).load, std::slice::from_ref(&scan));
    have.insert(&scan, pdf("scan.pdf").bytes().unwrap());
    let loaded = planned(&chat, &capabilities, &have).convert.remove(0);
    have.insert(&loaded, Material::Unconvertible("no text".into()));
    let (loaded, request) = planned(&chat, &capabilities, &have).render.remove(0);
    let before = have.held_bytes();
    have.insert(&loaded, Material::Rendered(request, images(&[1], 1)));
    assert!(have.held_bytes() > before);
    // With the images at hand, the document itself is not needed any more.
    let mut without = have.clone();
    without.shrink_to(have.held_bytes() - before);
    assert!(planned(&chat, &capabilities, &without).is_empty());
    assert_eq!(outcomes(&chat.routed(&capabilities, &without, &RouteOptions::new()).unwrap()), ["rendered"]);
    without.shrink_to(0);
    assert_eq!(planned(&chat, &capabilities, &without).load, std::slice::from_ref(&scan));
    without.retain(|_| false);
    assert_eq!(without.held_bytes(), 0);
}

/// A comment is on no picture of its page.
#[test]
fn comments_on_pages_without_text_stand_beside_their_images() {
    let (scan, capabilities) = (pdf("scan.pdf"), images_only());
    let text = "[page 1]\n[comment by the notary: sign here]\n[page 2]\n\n";
    let starts = text.match_indices("[page").map(|(at, _)| at).collect();
    let converted = ConvertedText::new(text).with_units(Units::new("page", starts, 2));
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&scan));
    let mut have = Materials::new();
    have.insert(&scan, converted);
    let asked = request(&planned(&chat, &capabilities, &have));
    assert_eq!(asked.pages, [1..=2]);
    have.insert(&scan, Material::Rendered(asked, images(&[1, 2], 2)));
    let routing = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    let content = shown(&routing.messages[3]).join("\n");
    assert!(content.contains("[comment by the notary: sign here]"), "{content}");
    assert!(content.contains("[page 1 of 2]\n(image/png scan.png)\n[page 2 of 2]"), "{content}");
    // The author's own is shown at once, as one without comments is.
    let chat = Chat::new().author("?", std::slice::from_ref(&scan));
    assert_eq!(outcomes(&chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap()), ["rendered"]);
}

/// The estimate of what images cost leaves pages of tools out, and none of an author.
#[test]
fn an_authors_scan_is_not_cut_for_an_estimate() {
    let (scan, mut capabilities) = (pdf("scan.pdf"), images_only());
    capabilities.context_window = Some(16_000);
    let mut have = Materials::new();
    have.insert(&scan, Material::Unconvertible("no text".into()));
    let tool = Chat::new().user("?").tool(std::slice::from_ref(&scan));
    assert!(request(&planned(&tool, &capabilities, &have)).form.max_pages.is_some());
    let author = Chat::new().author("?", std::slice::from_ref(&scan));
    assert_eq!(request(&planned(&author, &capabilities, &have)).form.max_pages, None);
}

#[test]
fn documents_inside_that_are_not_opened_are_told_of_behind_pages_too() {
    let (holder, capabilities) = (pdf("portfolio.pdf"), images_only());
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&holder));
    let mut have = Materials::new();
    have.insert(&holder, (0..300).fold(mixed(), |text, _| text.with_attachment(csv("a.csv"))));
    let request = planned(&chat, &capabilities, &have).render.remove(0).1;
    have.insert(&holder, Material::Rendered(request, images(&[2], 3)));
    let routing = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(routing.report.count(DocumentOutcome::Rendered), 1);
    assert_eq!(routing.report.decisions.len(), 1 + 200);
    let told = routing.messages.iter().flat_map(|message| shown(message)).filter(|text| {
        text.ends_with("100 more documents in it are not shown.") && text.contains("portfolio.pdf")
    });
    assert_eq!(told.count(), 1);
}
