//! Documents that the model is to cite.

use attache_core::capability::Place;
use attache_core::{Document, Message, ResultStatus, UserPart};
use attache_documents::{DocumentOutcome, Materials, RouteOptions, Routing};

use crate::builder::{Chat, csv, model, only, pdf, png, shown, tree};

fn citing() -> RouteOptions {
    RouteOptions::new().with_citations(true)
}

fn routed(chat: &Chat, family: &str, options: &RouteOptions) -> Routing {
    chat.routed(&model(family), &Materials::new(), options).unwrap()
}

/// The documents that a message shows as they are.
fn documents(message: &Message) -> Vec<&Document> {
    let parts: Vec<&UserPart> = match message {
        Message::User(user) => user.shown().iter().collect(),
        Message::ToolResults(results) => {
            results.results.iter().flat_map(|result| result.attached()).collect()
        }
        _ => Vec::new(),
    };
    parts
        .into_iter()
        .filter_map(|part| match part {
            UserPart::Document(document) => Some(document),
            _ => None,
        })
        .collect()
}

#[test]
fn text_that_is_to_be_cited_is_a_document_of_its_own() {
    let (mail, notes) = (csv("mail.csv"), csv("notes.csv"));
    let chat = Chat::new().author("?", std::slice::from_ref(&mail)).tool(std::slice::from_ref(&notes));
    let plain = routed(&chat, "anthropic", &RouteOptions::new());
    assert!(plain.messages.iter().all(|message| documents(message).is_empty()), "text is text by default");
    let routing = routed(&chat, "anthropic", &citing());
    for (message, given) in [(&routing.messages[0], mail), (&routing.messages[2], notes)] {
        let [document] = documents(message)[..] else { panic!("{:?}", shown(message)) };
        assert_eq!((document.id(), document.file_name()), (given.id(), given.file_name()));
        assert_eq!(document.media_type().essence(), "text/plain");
        assert_eq!(document.bytes(), given.bytes(), "it stands in no fence");
    }
    assert_eq!(plain.report.decisions.len(), routing.report.decisions.len());
    assert!(routing.report.decisions.iter().all(|decision| decision.outcome == DocumentOutcome::Text));
    // Routing what was routed changes nothing.
    let again = Chat::of(routing.messages.clone());
    assert_eq!(routed(&again, "anthropic", &citing()).messages, routing.messages);
}

#[test]
fn a_document_stands_where_it_can_be_cited() {
    let chat = Chat::new().user("?").tool(&[pdf("lease.pdf")]);
    let plain = routed(&chat, "anthropic", &RouteOptions::new());
    assert_eq!(only(&plain).place, Some(Place::ToolResult));
    let routing = routed(&chat, "anthropic", &citing());
    let decision = only(&routing);
    assert_eq!(
        (decision.outcome, decision.place),
        (DocumentOutcome::Synthetic, Some(Place::AfterToolResults))
    );
    assert!(decision.reason.to_string().contains("does not cite"), "{}", decision.reason);
    assert!(documents(&routing.messages[2]).is_empty());
    assert_eq!(documents(&routing.messages[3]).len(), 1);
    // Images are never cited, and stay.
    let image = routed(&Chat::new().user("?").tool(&[png("plan.png")]), "anthropic", &citing());
    assert_eq!(only(&image).place, Some(Place::ToolResult));
    // The user's table says that it can be cited there.
    let mut own = model("anthropic");
    own.tool_result.citations.push("application/pdf".to_owned());
    let routing = chat.routed(&own, &Materials::new(), &citing()).unwrap();
    assert_eq!(only(&routing).place, Some(Place::ToolResult));
}

#[test]
fn where_nothing_can_be_cited_everything_stays_as_it_is() {
    let chat = Chat::new().user("?").tool(&[csv("a.csv"), pdf("b.pdf")]);
    for family in ["openai-responses", "openai-chat", "gemini"] {
        let (plain, citing) = (routed(&chat, family, &RouteOptions::new()), routed(&chat, family, &citing()));
        assert_eq!(plain.messages, citing.messages, "{family}");
    }
    // A failed result takes text alone.
    let failed = Chat::new()
        .user("?")
        .calls_with(&[("find", tree(&[csv("a.csv")]))], |_, result| result.status = ResultStatus::Error);
    assert!(documents(&routed(&failed, "anthropic", &citing()).messages[2]).is_empty());
}
