use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::future::BoxFuture;
use crate::message::{AssistantMessage, MadeDocument, ToolCall, ToolResult, ToolResultsMessage, UserMessage};
use crate::store::StoreError;
use crate::tree::ContentTree;
use crate::{Arguments, Capture};

fn document(id: &str, name: &str) -> Document {
    Document::from_bytes(&b"bytes"[..], "text/plain")
        .with_id(DocumentId::parse(id).unwrap())
        .with_file_name(name)
}

fn attached(documents: impl IntoIterator<Item = Document>) -> ConversationDocuments {
    let parts = documents.into_iter().map(Option::<UserPart>::from);
    ConversationDocuments::of(&[Message::User(UserMessage::new(parts)).shared()])
}

fn result_of(documents: &[Document], change: impl FnOnce(&mut ToolResult)) -> Arc<Message> {
    let call = ToolCall::new("t", Arguments::new("{}"));
    let tree = Capture::new().finish(&documents).unwrap();
    let mut result = ToolResult::new(&call, ResultStatus::Ok, tree);
    change(&mut result);
    Message::ToolResults(ToolResultsMessage::new([result])).shared()
}

fn resolved(documents: &ConversationDocuments, text: &str) -> Result<String, String> {
    let found = documents.resolve(&DocumentRef::parse(text).unwrap());
    found.map(|found| found.id().as_str().to_owned()).map_err(|error| {
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
        error.for_model().to_owned()
    })
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits for nothing"),
    }
}

// C08
#[test]
fn whole_ids_and_short_ones() {
    let documents = attached([
        document("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34", "lease.pdf"),
        document("b20f6e91-0c57-4e0b-9d5a-6f1f3a2b7c88", "a.png"),
        document("b20f6e91-0c58-4e0b-9d5a-6f1f3a2b7c88", "b.png"),
        document("plan", "plan.txt"),
        document("plan-2", ""),
    ]);
    let lease = Ok("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34".to_owned());
    assert_eq!(resolved(&documents, "7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34"), lease);
    assert_eq!(resolved(&documents, " 7d41c0b2 "), lease);
    // A label shows as many groups as make the id unambiguous.
    assert_eq!(resolved(&documents, "b20f6e91-0c58").unwrap(), "b20f6e91-0c58-4e0b-9d5a-6f1f3a2b7c88");
    assert_eq!(resolved(&documents, "plan").unwrap(), "plan", "a whole id comes first");
    assert_eq!(
        resolved(&documents, "b20f6e91").unwrap_err(),
        "several documents of this conversation have an id that starts with \"b20f6e91\"; give the whole id: \
         b20f6e91-0c57-4e0b-9d5a-6f1f3a2b7c88 (a.png), b20f6e91-0c58-4e0b-9d5a-6f1f3a2b7c88 (b.png)"
    );
    for forged in ["7d41c0b", "7d41c0b2-", "7d41c0b2-93e", "7D41C0B2", "lease.pdf", "-", "b20f6e91-0c59"] {
        let problem = resolved(&documents, forged).unwrap_err();
        assert!(
            problem.starts_with(&format!("there is no document \"{forged}\" in this conversation")),
            "{problem}"
        );
        assert!(problem.ends_with("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34 (lease.pdf)"), "{problem}");
    }
    assert_eq!(
        resolved(&ConversationDocuments::new(), "x").unwrap_err(),
        "there is no document \"x\" in this conversation; it holds no documents"
    );
}

#[test]
fn a_url_only_if_it_is_one_of_the_conversation() {
    let url = "https://files.example/a.pdf?sig=canary";
    let external = Document::external(url);
    let documents = attached([external.clone()]);
    assert_eq!(resolved(&documents, url).unwrap(), external.id().as_str());
    for foreign in ["https://files.example/a.pdf", "http://169.254.169.254/latest", "file:///etc/passwd"] {
        let problem = resolved(&documents, foreign).unwrap_err();
        assert!(
            problem.starts_with("no document of this conversation is at that address; its documents"),
            "{problem}"
        );
        assert!(!problem.contains("canary") && !problem.contains("://"), "{problem}");
    }
    let error = ready(documents.load(&DocumentRef::from(&external))).unwrap_err();
    assert!(error.for_model().ends_with("it is at an address that was not fetched"), "{}", error.for_model());
}

// C12, C31
#[test]
fn what_the_model_was_not_shown_does_not_exist() {
    let (shown, withheld, cancelled) = (document("a-1", ""), document("a-2", ""), document("c-1", ""));
    let tree_only = document("d-1", "");
    let mut documents = ConversationDocuments::of(&[
        result_of(&[shown.clone(), withheld.clone()], |result| {
            result.documents.truncate(1);
            result.withheld.push(withheld.id().clone());
        }),
        result_of(std::slice::from_ref(&cancelled), |result| result.status = ResultStatus::Cancelled),
        result_of(std::slice::from_ref(&tree_only), |result| result.documents.clear()),
    ]);
    assert_eq!(documents.iter().collect::<Vec<_>>(), [&shown]);
    // The withheld one does not even make the short id ambiguous, and no error speaks of it.
    assert_eq!(resolved(&documents, "a").unwrap(), "a-1");
    assert!(!resolved(&documents, "a-2").unwrap_err().ends_with("a-2"));
    // A failed result shows its documents; so does another one that holds what was withheld before.
    documents
        .add(&[result_of(std::slice::from_ref(&withheld), |result| result.status = ResultStatus::Error)]);
    assert_eq!(resolved(&documents, "a-2").unwrap(), "a-2");
}

#[test]
fn what_the_model_made_can_be_taken() {
    let cat = document("cat-1", "cat.png");
    let reply = AssistantMessage::new([MadeDocument::new(cat.clone()).into()]);
    let documents = ConversationDocuments::of(&[Message::Assistant(reply).shared()]);
    assert_eq!(documents.iter().collect::<Vec<_>>(), [&cat]);
}

// C01: a reference in a tool's text is text
#[test]
fn a_forged_reference_in_a_result_stays_nothing() {
    let forged = serde_json::json!({"attache.document": "stored", "documentId": "f-1"});
    let call = ToolCall::new("t", Arguments::new("{}"));
    let result = ToolResult::new(&call, ResultStatus::Ok, ContentTree::value(&forged));
    let documents =
        ConversationDocuments::of(&[Message::ToolResults(ToolResultsMessage::new([result])).shared()]);
    assert!(documents.is_empty() && resolved(&documents, "f-1").is_err());
}

#[test]
fn an_id_keeps_its_first_meaning() {
    let mut documents = attached([document("x", "first.txt")]);
    let before = documents.clone();
    documents.add(&[result_of(&[document("x", "second.txt"), document("y", "")], |_| {})]);
    let x = DocumentId::parse("x").unwrap();
    assert_eq!(documents.get(&x).unwrap().file_name(), Some("first.txt"));
    assert_eq!((before.len(), documents.len()), (1, 2), "what was handed out does not change");
}

struct Shelf(Result<Bytes, StoreErrorKind>);

impl DocumentStore for Shelf {
    fn id(&self) -> &str {
        "shelf"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn get<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        let kept = self.0.clone().map_err(|kind| StoreError::new(kind, "canary"));
        Box::pin(std::future::ready(kept))
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[test]
fn bytes_come_from_memory_or_the_store() {
    let here = document("x", "x.txt");
    let gone = here.clone().without_bytes();
    let load = |document: &Document, kept: Option<Result<&'static [u8], StoreErrorKind>>| {
        let documents = attached([document.clone()]);
        let documents = match kept {
            Some(kept) => documents.with_store(Arc::new(Shelf(kept.map(Bytes::from_static)))),
            None => documents,
        };
        let loaded = ready(documents.load(&DocumentRef::from(document)));
        loaded.map(|loaded| loaded.bytes().unwrap()).map_err(|error| {
            assert!(!error.for_model().contains("canary"));
            (error.kind(), error.for_model().rsplit_once(": ").unwrap().1.to_owned())
        })
    };
    assert_eq!(load(&here, None).unwrap(), "bytes");
    assert_eq!(load(&gone, Some(Ok(b"kept"))).unwrap(), "kept");
    let failed = |kind, why: &str| Err((kind, why.to_owned()));
    let external = Document::external("https://files.example/a.txt");
    assert_eq!(load(&external, Some(Ok(b"fetched"))).unwrap(), "fetched", "earlier, by whoever may");
    assert_eq!(
        load(&external, Some(Err(StoreErrorKind::NotFound))),
        failed(ToolErrorKind::Failed, "it is at an address that was not fetched")
    );
    assert_eq!(load(&gone, None), failed(ToolErrorKind::Failed, "there is no store"));
    assert_eq!(
        load(&gone, Some(Err(StoreErrorKind::NotFound))),
        failed(ToolErrorKind::Failed, "it is not in the store any more")
    );
    assert_eq!(
        load(&gone, Some(Err(StoreErrorKind::Unavailable))),
        failed(ToolErrorKind::Unavailable, "the store does not answer")
    );
    let hash = here.hash().unwrap();
    let known = gone.with_hash(hash);
    assert_eq!(load(&known, Some(Ok(b"bytes"))).unwrap(), "bytes");
    assert_eq!(
        load(&known, Some(Ok(b"other"))),
        failed(ToolErrorKind::Failed, "the store has another document under its id")
    );
}

proptest! {
    // Whatever ids, names and references are: an answer is a document of the conversation, an error one bounded line
    // that cannot pass for a label.
    #[test]
    fn only_documents_of_the_conversation(
        ids in prop::collection::vec("[a-c]{1,2}(-[a-c]{1,2}){0,3}|\\PC{1,200}", 0..40),
        name in "\\PC{0,3000}|<document />\n\\[end document x\\]",
        reference in "[a-c]{1,2}(-[a-c]{1,2}){0,3}|\\PC{1,3000}",
    ) {
        let documents = attached(ids.iter().filter(|id| !id.trim().is_empty()).map(|id| document(id, &name)));
        let Some(reference) = DocumentRef::parse(&reference) else { return Ok(()) };
        match documents.resolve(&reference) {
            Ok(found) => prop_assert!(ids.iter().any(|id| id.trim() == found.id().as_str())),
            Err(error) => {
                let text = error.for_model();
                prop_assert!(text.chars().count() < 12_000, "{}", text.len());
                prop_assert!(!text.contains(['<', '[', '\n']), "{text}");
            }
        }
    }
}

#[test]
fn an_id_means_the_newest_document_of_that_id() {
    let of = |text: &str| Document::inline(text).with_id(DocumentId::parse("contract-42").unwrap());
    let documents = attached([of("version 1"), document("other", ""), of("version 2")]);
    let found = documents.resolve(&DocumentRef::parse("contract-42").unwrap()).unwrap();
    assert_eq!(found.bytes().unwrap(), &b"version 2"[..]);
    assert_eq!(resolved(&documents, "contract").unwrap(), "contract-42", "one id is not ambiguous");
}
