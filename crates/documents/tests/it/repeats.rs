//! The same document again: C20, D29, invariant 4.

use attache_documents::{BackReferences, DocumentOutcome, Materials, ReasonKind, RouteOptions};

use crate::builder::{Chat, csv, model, outcomes, pdf, png, shown, tree};

fn again() -> Chat {
    Chat::new().user("?").tool(&[pdf("a.pdf")]).reply("ok").user("more").tool(&[pdf("a.pdf"), png("b.png")])
}

// D29: label and reference back, content once
#[test]
fn a_document_of_an_earlier_turn_is_referred_to() {
    let routing = again().route("openai-chat");
    assert_eq!(outcomes(&routing), ["synthetic", "note", "synthetic"]);
    assert_eq!(routing.report.decisions[1].reason.kind(), ReasonKind::ShownBefore);
    assert_eq!(
        shown(&routing.messages[7]),
        [
            "<document tool-name=\"find\" tool-call-id=\"call_2\" document-short-id=\"a\" filename=\"a.pdf\" status=\"shown-before\" />\n\
          Content not shown here: it was shown earlier in this conversation, with the result of call call_1."
        ]
    );
    assert!(shown(&routing.messages[8]).contains(&"(image/png b.png)".to_owned()));
}

// C20: two calls of one turn both show it, unless asked otherwise
#[test]
fn two_calls_of_a_turn_both_show_it() {
    let chat =
        Chat::new().user("?").calls(&[("find", tree(&[pdf("a.pdf")])), ("read", tree(&[pdf("a.pdf")]))]);
    assert_eq!(outcomes(&chat.route("anthropic")), ["native", "native"]);
    let everywhere = RouteOptions::new().with_back_references(BackReferences::Everywhere);
    let routing = chat.routed(&model("anthropic"), &Materials::new(), &everywhere).unwrap();
    assert_eq!(outcomes(&routing), ["native", "note"]);
}

#[test]
fn repeating_in_full_is_an_option() {
    let never = RouteOptions::new().with_back_references(BackReferences::Never);
    let routing = again().routed(&model("openai-chat"), &Materials::new(), &never).unwrap();
    assert_eq!(outcomes(&routing), ["synthetic"; 3]);
}

// When the window drops the content, the next occurrence shows it: no reference dangles.
#[test]
fn references_do_not_outlive_the_content() {
    let chat = again();
    let window = Chat::of(chat.messages[4..].to_vec());
    assert_eq!(outcomes(&window.route("openai-chat")), ["synthetic", "synthetic"]);
}

// Sent messages stay as they were: the first occurrence keeps the content.
#[test]
fn later_messages_change_nothing_before_them() {
    let chat = again();
    let first = Chat::of(chat.messages[..4].to_vec());
    for family in ["openai-chat", "anthropic", "offline"] {
        let (short, long) = (first.route(family).messages, chat.route(family).messages);
        assert_eq!(short[..], long[..short.len()], "{family}");
    }
}

#[test]
fn what_an_author_attached_is_always_shown_and_counts_as_shown() {
    let chat = Chat::new()
        .author("Read.", &[csv("a.csv")])
        .tool(&[csv("a.csv")])
        .reply("ok")
        .author("Again.", &[csv("a.csv")]);
    let routing = chat.route("offline");
    assert_eq!(outcomes(&routing), ["text", "note", "text"]);
    assert!(shown(&routing.messages[2])[0].ends_with("in a user message."));
    let event = Chat::new().author("Read.", &[csv("a.csv")]).reply("ok").event(tree(&[csv("a.csv")]));
    assert_eq!(outcomes(&event.route("offline")), ["text", "note"]);
}

// A note is no content to refer to, and text made of a document is no match for the document itself.
#[test]
fn only_an_equal_or_better_form_is_referred_to() {
    let failed = [("find", tree(&[pdf("a.pdf")]))];
    let mut capabilities = model("anthropic");
    capabilities.beside_result = attache_core::capability::PlaceCapabilities::of(&["text"]);
    let chat = Chat::new()
        .user("?")
        .calls_with(&failed, |_, result| result.status = attache_core::ResultStatus::Error)
        .tool(&[pdf("a.pdf")])
        .calls_with(&failed, |_, result| result.status = attache_core::ResultStatus::Error);
    let routed = |materials| chat.routed(&capabilities, &materials, &RouteOptions::new()).unwrap();
    assert_eq!(outcomes(&routed(Materials::new())), ["note", "native", "note"]);
    let mut materials = Materials::new();
    materials.insert(&pdf("a.pdf"), attache_documents::ConvertedText::new("text"));
    let routing = routed(materials);
    assert_eq!(outcomes(&routing), ["converted", "native", "note"]);
    assert_eq!(routing.report.decisions[2].outcome, DocumentOutcome::Note);
}

// A document that nobody loaded shows nothing that one could refer to.
#[test]
fn a_document_that_was_never_loaded_is_not_referred_to() {
    let gone = || attache_core::Document::stored(crate::builder::id("a-1"), "main", "application/pdf");
    let chat = Chat::new().user("?").tool(&[gone()]).reply("ok").user("more").tool(&[gone()]);
    let routing = chat.route("anthropic");
    let reasons: Vec<_> = routing.report.decisions.iter().map(|decision| decision.reason.kind()).collect();
    assert_eq!(outcomes(&routing), ["note", "note"]);
    assert_eq!(reasons[0], reasons[1]);
    assert_ne!(reasons[1], ReasonKind::ShownBefore);
}
