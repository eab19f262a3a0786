//! Limits of a request: D16, D18.

use attache_core::capability::Matrix;
use attache_core::message::MadeDocument;
use attache_core::{AssistantMessage, Document, ErrorKind, Message, ModelCapabilities};
use attache_documents::{DocumentOutcome, Materials, ReasonKind, RouteOptions};
use bytes::Bytes;

use crate::builder::{Chat, csv, doc, id, model, only, outcomes, pdf, png, shown};

fn at_most(documents: u64) -> ModelCapabilities {
    let mut capabilities = model("anthropic");
    for place in [&mut capabilities.user, &mut capabilities.tool_result, &mut capabilities.beside_result] {
        place.max_count = Some(documents);
    }
    capabilities
}

fn routed(chat: &Chat, capabilities: &ModelCapabilities) -> Vec<&'static str> {
    outcomes(&chat.routed(capabilities, &Materials::new(), &RouteOptions::new()).unwrap())
}

/// One turn per document.
fn turns(documents: impl IntoIterator<Item = Document>) -> Chat {
    documents.into_iter().fold(Chat::new(), |chat, document| chat.user("?").tool(&[document]).reply("ok"))
}

fn numbered(count: usize) -> Chat {
    turns((0..count).map(|n| pdf(&format!("{n}.pdf"))))
}

// D18: a document of one place's size goes to the next place, else it is a note
#[test]
fn a_document_that_is_too_large_moves_or_is_a_note() {
    let mut small = model("anthropic");
    small.tool_result.max_image_bytes = Some(10);
    let chat = Chat::new().user("?").tool(&[png("a.png"), pdf("b.pdf")]);
    assert_eq!(routed(&chat, &small), ["synthetic", "native"]);
    small.beside_result.max_image_bytes = Some(12);
    let routing = chat.routed(&small, &Materials::new(), &RouteOptions::new()).unwrap();
    assert_eq!(outcomes(&routing), ["note", "native"]);
    assert_eq!(routing.report.decisions[0].reason.kind(), ReasonKind::TooLarge);
    let note = &shown(&routing.messages[2])[0];
    assert!(
        note.contains("status=\"too-large\"") && note.ends_with("takes at most 12 of image/png."),
        "{note}"
    );
}

// bedrock.md 10: the 4.5 MB hold for no PDF of Claude 4 and later, nor of Nova.
#[test]
fn a_pdf_of_newer_models_of_bedrock_is_as_large_as_the_request() {
    let heavy = doc("heavy.pdf", &[b"%PDF-1.7 ", &[b'x'; 6 << 20][..]].concat(), "application/pdf");
    let of = |model: &str, chat: &Chat| {
        let row = Matrix::bundled().resolve("bedrock-converse", model);
        chat.routed(&row, &Materials::new(), &RouteOptions::new()).map(|routing| outcomes(&routing))
    };
    let sent = Chat::new().author("sum up", std::slice::from_ref(&heavy));
    let found = Chat::new().user("?").tool(&[heavy]);
    for model in ["claude-sonnet-4-20250514-v1:0", "claude-sonnet-4-5-20250929-v1:0", "claude-of-the-future"]
    {
        let model = format!("us.anthropic.{model}");
        assert_eq!(of(&model, &sent).unwrap(), ["native"], "{model}");
        assert_eq!(of(&model, &found).unwrap(), ["native"], "{model}");
    }
    assert_eq!(of("amazon.nova-pro-v1:0", &sent).unwrap(), ["native"]);
    let older = "anthropic.claude-3-7-sonnet-20250219-v1:0";
    let error = of(older, &sent).unwrap_err();
    assert!(error.message().ends_with("takes at most 4718592 of application/pdf"), "{error}");
    assert_eq!(of(older, &found).unwrap(), ["note"]);
}

// The oldest go, a quarter of the limit at a time, so that the next documents change nothing.
#[test]
fn the_oldest_contents_are_left_out_in_blocks() {
    let limit = at_most(8);
    assert_eq!(routed(&numbered(8), &limit), ["native"; 8]);
    let left_out = |count: usize| {
        let outcomes = routed(&numbered(count), &limit);
        let notes = outcomes.iter().take_while(|outcome| **outcome == "note").count();
        assert!(outcomes[notes..].iter().all(|outcome| *outcome == "native"));
        notes
    };
    assert_eq!([9, 10, 11, 12, 13].map(left_out), [2, 2, 4, 4, 6]);
    let routing = numbered(9).routed(&limit, &Materials::new(), &RouteOptions::new()).unwrap();
    assert_eq!(routing.report.decisions[0].reason.kind(), ReasonKind::TooMany);
    let note = &shown(&routing.messages[2])[0];
    assert!(
        note.ends_with("status=\"left-out\" />\nContent not shown here: a request to this model holds at most 8 documents, and newer documents are in it."),
        "{note}"
    );
}

// Text is no document to an API that counts them.
#[test]
fn text_does_not_count() {
    let chat = turns((0..9).map(|n| csv(&format!("{n}.csv"))));
    assert_eq!(routed(&chat, &at_most(2)), ["text"; 9]);
}

// A document that was left out and comes again is shown where it comes again, so that asking again helps.
#[test]
fn a_document_that_was_left_out_can_be_asked_for_again() {
    let names = ["a.pdf", "b.pdf", "c.pdf", "a.pdf"];
    assert_eq!(routed(&turns(names.map(pdf)), &at_most(2)), ["note", "note", "native", "native"]);
    let names = ["a.pdf", "b.pdf", "a.pdf", "a.pdf", "c.pdf"];
    assert_eq!(routed(&turns(names.map(pdf)), &at_most(2)), ["note", "note", "native", "note", "native"]);
}

// A reference back when the first showing is left out refers to a form as good as its own, and not to its own turn:
// the rules are those of a conversation without limits.
#[test]
fn what_stood_at_a_content_that_is_left_out_shows_it() {
    let a = || pdf("a.pdf");
    let mut materials = Materials::new();
    materials.insert(&a(), attache_documents::ConvertedText::new("text of a"));
    // Failed results take text alone; the later one would read the PDF itself.
    let chat = Chat::new()
        .user("?")
        .tool(&[a()])
        .reply("ok")
        .user("?")
        .tool(&[pdf("b.pdf")])
        .calls_with(&[("find", crate::builder::tree(&[a()]))], |_, result| {
            result.status = attache_core::ResultStatus::Error;
        })
        .tool(&[a()])
        .tool(&[pdf("c.pdf")]);
    let mut capabilities = at_most(2);
    capabilities.beside_result.media = crate::builder::media(&["text"]);
    let routing = chat.routed(&capabilities, &materials, &RouteOptions::new()).unwrap();
    assert_eq!(outcomes(&routing), ["note", "note", "converted", "native", "native"]);

    // Two calls of one turn both show it, also as heirs.
    let both = [("find", crate::builder::tree(&[a()])), ("find", crate::builder::tree(&[a()]))];
    let chat = turns(["a.pdf", "b.pdf", "c.pdf", "d.pdf", "e.pdf"].map(pdf)).user("?").calls(&both);
    assert_eq!(
        routed(&chat, &at_most(5)),
        ["native", "native", "native", "native", "native", "note", "note"]
    );
    assert_eq!(routed(&chat, &at_most(4)), ["note", "note", "note", "native", "native", "native", "native"]);
}

// D16: bytes of the whole request, base64 included
#[test]
fn a_request_has_a_size() {
    let large = |name: &str| doc(name, &[b"%PDF-", &[b'x'; 2_995][..]].concat(), "application/pdf");
    let chat = turns(["a.pdf", "b.pdf", "c.pdf"].map(large));
    let mut capabilities = model("anthropic");
    capabilities.files.max_request_bytes = Some(16_000);
    assert_eq!(routed(&chat, &capabilities), ["native"; 3], "3 × 4,000 bytes of base64 fit into 15,000");
    // A sixteenth is kept for everything else.
    capabilities.files.max_request_bytes = Some(12_500);
    let routing = chat.routed(&capabilities, &Materials::new(), &RouteOptions::new()).unwrap();
    assert_eq!(outcomes(&routing), ["note", "native", "native"]);
    assert_eq!(routing.report.decisions[0].reason.kind(), ReasonKind::RequestFull);
    let talk = chat.user(&"talk ".repeat(1_000));
    assert_eq!(routed(&talk, &capabilities), ["note", "note", "native"], "texts take their part");
}

// A file that is uploaded first is named in the request, so that its bytes are none of it.
#[test]
fn what_is_uploaded_first_takes_no_bytes() {
    let large = |name: &str| doc(name, &[b"%PDF-", &[b'x'; 2_995][..]].concat(), "application/pdf");
    let mut capabilities = model("anthropic");
    capabilities.files.max_request_bytes = Some(12_500);
    let asked = Chat::new().author("Compare.", &["a.pdf", "b.pdf", "c.pdf"].map(large));
    assert!(asked.routed(&capabilities, &Materials::new(), &RouteOptions::new()).is_err());
    for (from, told) in [(3_000, ["native"; 3]), (3_001, ["note", "native", "native"])] {
        capabilities.files.upload_from = Some(from);
        assert_eq!(routed(&turns(["a.pdf", "b.pdf", "c.pdf"].map(large)), &capabilities), told);
    }
    capabilities.files.upload_from = Some(1);
    assert_eq!(routed(&asked, &capabilities), ["native"; 3]);
    capabilities.files.max_upload_bytes = Some(2_999);
    assert!(asked.routed(&capabilities, &Materials::new(), &RouteOptions::new()).is_err());
}

// The author's last message is never thinned out in silence.
#[test]
fn too_much_of_an_author_is_an_error() {
    let many: Vec<_> = (0..3).map(|n| pdf(&format!("{n}.pdf"))).collect();
    let chat = Chat::new().author("Compare.", &many);
    let error = chat.routed(&at_most(2), &Materials::new(), &RouteOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().ends_with("a request to this model holds at most 2 documents"), "{error}");
    let later = chat.reply("ok").author("And these?", &many[..2]);
    assert_eq!(routed(&later, &at_most(2)), ["note", "note", "note", "native", "native"]);
}

#[test]
fn an_older_result_yields_to_the_authors_documents() {
    let chat = Chat::new().user("?").tool(&[pdf("a.pdf")]).reply("ok").author("Now this.", &[pdf("b.pdf")]);
    let routing = chat.routed(&at_most(1), &Materials::new(), &RouteOptions::new()).unwrap();
    assert_eq!(outcomes(&routing), ["note", "native"]);
    assert_eq!(
        only(&Chat::new().author("x", &[pdf("b.pdf")]).route("anthropic")).outcome,
        DocumentOutcome::Native
    );
}

// A document is left out for the limit also where nobody loaded it; text that stands for it has its own size.
#[test]
fn documents_that_are_not_loaded_have_their_size_too() {
    let stored = |name: &str| {
        let known = crate::builder::id(&format!("{name}-1"));
        Document::stored(known, "main", "application/pdf").with_size(30_000)
    };
    let mut capabilities = model("anthropic");
    capabilities.files.max_request_bytes = Some(64_000);
    let chat = turns(["a", "b"].map(stored));
    let routing = chat.routed(&capabilities, &Materials::new(), &RouteOptions::new()).unwrap();
    let kinds: Vec<_> = routing.report.decisions.iter().map(|decision| decision.reason.kind()).collect();
    assert_eq!(kinds, [ReasonKind::RequestFull, ReasonKind::Missing]);
    let mut materials = Materials::new();
    for name in ["a", "b"] {
        materials.insert(&stored(name), attache_documents::ConvertedText::new("short"));
    }
    let routing = chat.routed(&capabilities, &materials, &RouteOptions::new()).unwrap();
    assert_eq!(outcomes(&routing), ["converted", "converted"]);
}

#[test]
fn absurd_sizes_are_no_danger() {
    let absurd = |name: &str| {
        Document::stored(crate::builder::id(name), "main", "application/pdf").with_size(u64::MAX)
    };
    let routing = turns(["a", "b"].map(absurd)).route("anthropic");
    assert_eq!(outcomes(&routing), ["note", "note"]);
}

// A note says that newer documents are shown only where there are some.
#[test]
fn a_note_says_what_fills_the_request() {
    let reason = |chat: &Chat, capabilities: &ModelCapabilities| {
        let routing = chat.routed(capabilities, &Materials::new(), &RouteOptions::new()).unwrap();
        let left_out = routing.report.decisions.iter().find(|d| d.outcome == DocumentOutcome::Note).unwrap();
        left_out.reason.to_string()
    };
    let mut full = model("anthropic");
    full.files.max_request_bytes = Some(1_000);
    let talk = Chat::new().user(&"x".repeat(990)).tool(&[pdf("a.pdf")]);
    assert_eq!(
        reason(&talk, &full),
        "a request to this model holds at most 938 bytes of content, and the rest of this conversation fills it"
    );
    let author = Chat::new().author("see", &[pdf("a.pdf")]).tool(&[pdf("b.pdf")]);
    assert_eq!(
        reason(&author, &at_most(1)),
        "a request to this model holds at most 1 documents, and others are in it"
    );
    assert!(reason(&numbered(3), &at_most(2)).ends_with(", and newer documents are in it"));
}

// Only what stood in the request before can be said to be left out since.
#[test]
fn what_was_no_content_is_not_left_out_since() {
    let limit = at_most(2);
    let report = |chat: &Chat| chat.routed(&limit, &Materials::new(), &RouteOptions::new()).unwrap().report;
    let (two, three, four) = (report(&numbered(2)), report(&numbered(3)), report(&numbered(4)));
    let ids = |names: &[&str]| names.iter().map(|n| pdf(n).id().clone()).collect::<Vec<_>>();
    assert_eq!(three.left_out_since(&two), ids(&["0.pdf"]));
    assert_eq!(four.left_out_since(&three), ids(&["1.pdf"]), "the first was a note already");
    assert_eq!(three.left_out_since(&three), []);
}

// A content that is left out for one limit may come to stand where two show it: the limits that were kept before hold
// all the same.
#[test]
fn heirs_keep_the_other_limits_too() {
    let a = || doc("a.pdf", &[b"%PDF-", &[b'x'; 2_995][..]].concat(), "application/pdf");
    let long = doc("t.txt", "four".repeat(12_500).as_bytes(), "text/plain");
    let output = || crate::builder::tree(&[a()]);
    let chat =
        Chat::new().user("?").tool(&[a()]).tool(&[long]).calls(&[("find", output()), ("read", output())]);
    let mut capabilities = at_most(1);
    capabilities.files.max_request_bytes = Some(64_000);
    assert_eq!(routed(&chat, &capabilities), ["native", "text", "note", "note"]);
    // The first and the text go for the bytes; of the two that then show it, one goes for the count.
    capabilities.files.max_request_bytes = Some(56_000);
    assert_eq!(routed(&chat, &capabilities), ["note", "note", "note", "native"]);
    let mut two = at_most(2);
    two.files.max_request_bytes = Some(56_000);
    assert_eq!(routed(&chat, &two), ["note", "note", "native", "native"]);
}

// Files of earlier turns go first, those of their author too; images and text are none.
#[test]
fn a_request_holds_so_many_files_and_notes_for_older_ones() {
    let mut capabilities = model("anthropic");
    capabilities.files.max_files = Some(2);
    let chat = Chat::new()
        .author("?", &[pdf("a.pdf"), png("b.png")])
        .tool(&[pdf("c.pdf"), crate::builder::csv("d.csv")])
        .reply("ok")
        .author("more", &[pdf("e.pdf")]);
    let routed = |chat: &Chat| chat.routed(&capabilities, &Materials::new(), &RouteOptions::new()).unwrap();
    let routing = routed(&chat);
    assert_eq!(outcomes(&routing), ["note", "native", "native", "text", "native"]);
    let reason = routing.report.decisions[0].reason.as_str();
    assert_eq!(
        reason,
        "a request to this model holds at most 2 documents that are no images, and newer documents are in it"
    );
    let next = chat.tool(&[pdf("f.pdf"), pdf("g.pdf")]);
    assert_eq!(outcomes(&routed(&next)), ["note", "native", "note", "text", "native", "note", "native"]);
}

// A file is what it is sent as, whatever its handle says.
#[test]
fn images_are_no_files_by_their_content() {
    let mut capabilities = model("anthropic");
    capabilities.files.max_files = Some(2);
    let routed = |content: &[u8], declared: &str| {
        let mut loaded = Materials::new();
        let files = [1, 2, 3].map(|n| {
            let file = Document::stored(id(&format!("f{n}")), "main", declared);
            loaded.insert(&file, Bytes::copy_from_slice(content));
            file
        });
        let chat = Chat::new().user("?").tool(&files);
        outcomes(&chat.routed(&capabilities, &loaded, &RouteOptions::new()).unwrap())
    };
    assert_eq!(routed(&png("a.png").bytes().unwrap(), "application/octet-stream"), ["native"; 3]);
    assert_eq!(routed(&pdf("a.pdf").bytes().unwrap(), "image/png"), ["note", "native", "native"]);
}

// Pictures that the model made stand in its replies as base64, where the model takes any.
#[test]
fn what_the_model_made_counts_among_the_bytes_of_a_request() {
    let mut capabilities = model("gemini");
    capabilities.files.max_request_bytes = Some(16_000);
    let made = doc("made", &[b'x'; 9_000], "image/png");
    let reply = AssistantMessage::new([MadeDocument::new(made).into()]);
    let lease = doc("lease.pdf", &[b"%PDF-", &[b'x'; 3_000][..]].concat(), "application/pdf");
    let chat = |reply| Chat::new().user("?").tool(std::slice::from_ref(&lease)).push(reply).user("and now?");
    assert_eq!(routed(&chat(Message::assistant("ok")), &capabilities), ["synthetic"]);
    assert_eq!(routed(&chat(Message::Assistant(reply)), &capabilities), ["note"]);
}

// The announcement of a run: contents that stood in the request before and do not stand in this one.
#[test]
fn a_report_tells_which_contents_left_since_an_earlier_one() {
    let capabilities = at_most(4);
    let report = |count| {
        let chat = numbered(count).user("?").tool(&[crate::builder::zip("archive.zip")]);
        chat.routed(&capabilities, &Materials::new(), &RouteOptions::new()).unwrap().report
    };
    let (before, after, later) = (report(4), report(5), report(6));
    let first = [before.decisions[0].document_id.clone()];
    assert_eq!(after.left_out_since(&before), first);
    // It left once, and what could not be shown at all did not leave.
    assert_eq!(after.left_out_since(&after), []);
    assert_eq!(later.left_out_since(&after), [before.decisions[1].document_id.clone()]);
    assert_eq!(before.left_out_since(&after), []);
}
