//! A chat that moves to another model: C25. Its author's documents fail loudly in the turn that brings them, and never
//! again.

use attache_core::{Document, ErrorKind, Message, ModelCapabilities, UserPart};
use attache_documents::{ConvertedText, Materials, ReasonKind, RouteOptions, plan};

use crate::builder::{Chat, doc, model, only, outcomes, pdf, png, shown, zip};
use crate::fitting::sized;

fn routed(chat: &Chat, family: &str, have: &Materials) -> attache_documents::Routing {
    chat.routed(&model(family), have, &RouteOptions::new()).unwrap()
}

fn fails(chat: &Chat, capabilities: &ModelCapabilities) -> bool {
    let failed = chat.routed(capabilities, &Materials::new(), &RouteOptions::new()).err();
    failed.is_some_and(|error| error.kind() == ErrorKind::Unsupported)
}

#[test]
fn an_old_image_does_not_fail_a_later_turn_on_a_text_model() {
    let chat = Chat::new().author("look", &[png("cat.png")]).reply("a cat").user("now add 2 and 2");
    assert_eq!(outcomes(&routed(&chat, "anthropic", &Materials::new())), ["native"]);
    let routing = routed(&chat, "offline", &Materials::new());
    assert_eq!((outcomes(&routing), only(&routing).reason.kind()), (vec!["note"], ReasonKind::Unsupported));
    let note = &shown(&routing.messages[0])[1];
    assert!(note.contains("filename=\"cat.png\" status=\"unsupported\"") && note.ends_with('.'), "{note}");
    assert!(fails(&Chat::of(chat.messages[..1].to_vec()), &model("offline")), "its own turn fails");
}

// All the ways in which a model may refuse a document.
#[test]
fn nothing_that_was_sent_once_bricks_a_later_turn() {
    let mut small = model("anthropic");
    (small.user.max_bytes, small.user.max_image_bytes) = (Some(10), Some(10));
    (small.user.max_pixels, small.user.max_pages) = (Some(100), Some(1));
    let long = doc("long.pdf", b"%PDF-1\n<</Type/Page>><</Type/Page>>", "application/pdf");
    let mut pages = small.clone();
    pages.user.max_bytes = None;
    let mut few = model("anthropic");
    few.user.max_count = Some(1);
    let no_text = attache_core::capability::PlaceCapabilities::of(&["image/*"]);
    let mut blind = model("anthropic");
    blind.user = no_text;
    let unseen = Document::stored(crate::builder::id("unseen-1"), "main", "application/pdf");
    for (documents, capabilities) in [
        (vec![png("a.png")], model("offline")),
        (vec![zip("a.zip")], model("anthropic")),
        (vec![pdf("a.pdf")], small.clone()),
        (vec![sized("a.png", 200, 200)], small),
        (vec![long], pages),
        (vec![png("a.png"), png("b.png")], few),
        (vec![doc("a.txt", b"\x01\xff\x02", "text/plain")], model("anthropic")),
        (vec![doc("a.txt", b"text", "text/plain")], blind),
        (vec![unseen], model("anthropic")),
        (vec![Document::external("https://x.example/a.pdf")], model("anthropic")),
    ] {
        let names: Vec<_> = documents.iter().map(|document| document.media_type().to_string()).collect();
        let chat = Chat::new().author("see", &documents);
        assert!(fails(&chat, &capabilities), "{names:?} is refused in its own turn");
        let later = chat.reply("ok").user("go on");
        assert!(!fails(&later, &capabilities), "{names:?} is no reason to fail in the next");
        // An answer of a tool is no new turn.
        let same = Chat::new().author("see", &documents).tool(&[pdf("t.pdf")]);
        assert!(fails(&same, &capabilities), "{names:?} is of this turn still");
    }
}

// Messages that its author sends one after the other are one turn.
#[test]
fn a_turn_may_have_several_messages() {
    let chat = Chat::new().author("", &[png("a.png")]).user("What is that?");
    assert!(fails(&chat, &model("offline")));
    let answered = Chat::new().author("", &[png("a.png")]).reply("A cat.").user("What is that?");
    assert!(!fails(&answered, &model("offline")));
    let event = Chat::new().author("", &[png("a.png")]).event(crate::builder::tree(&[])).user("?");
    assert!(fails(&event, &model("offline")), "an event is no answer");
}

// Better as text than not at all; in its own turn only where that is asked for.
#[test]
fn an_old_document_is_converted_where_it_can_be() {
    let document = pdf("lease.pdf");
    let now = Chat::new().author("read", std::slice::from_ref(&document));
    let later = now.clone().reply("ok").user("and the rent?");
    let wanted = |chat: &Chat| {
        plan(&chat.messages, &model("offline"), &RouteOptions::new(), &Materials::new()).convert
    };
    assert_eq!((wanted(&now), wanted(&later)), (vec![], vec![document.clone()]));
    let mut have = Materials::new();
    have.insert(&document, ConvertedText::new("line\n".repeat(100)));
    assert!(now.routed(&model("offline"), &have, &RouteOptions::new()).is_err());
    let options = RouteOptions::new().with_max_text_bytes(50);
    let routing = later.routed(&model("offline"), &have, &options).unwrap();
    assert_eq!((outcomes(&routing), only(&routing).bytes), (vec!["converted"], 50));
    // A document that was shown whole in its own turn stays as it was.
    let options = options.with_convert_author_documents(true);
    let first = now.routed(&model("offline"), &have, &options).unwrap();
    let next = later.routed(&model("offline"), &have, &options).unwrap();
    assert_eq!(first.messages[0], next.messages[0]);
    assert_eq!(only(&next).bytes, 500);
}

// The excess over one model's limit for files is an error for an author, and a note later.
#[test]
fn more_files_than_a_request_holds_are_an_error_in_their_turn() {
    let mut five = model("anthropic");
    five.files.max_files = Some(2);
    let many: Vec<_> = (0..3).map(|n| pdf(&format!("{n}.pdf"))).collect();
    let chat = Chat::new().author("compare", &many);
    let error = chat.routed(&five, &Materials::new(), &RouteOptions::new()).unwrap_err();
    assert!(
        error.message().ends_with("a request to this model holds at most 2 documents that are no images"),
        "{error}"
    );
    let later = chat.reply("ok").user("go on");
    let routing = later.routed(&five, &Materials::new(), &RouteOptions::new()).unwrap();
    assert_eq!(outcomes(&routing), ["note", "native", "native"]);
    let Message::User(user) = &*routing.messages[0] else { panic!() };
    assert!(user.shown().iter().any(|part| matches!(part, UserPart::Document(_))));
}
