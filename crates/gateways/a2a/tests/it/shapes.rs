//! Requests and answers as servers of the official SDK write them, in both versions and both ways.

use attache_a2a::{A2aAgent, A2aBinding, A2aVersion};
use attache_core::tool::ConversationDocuments;
use attache_core::{Document, DocumentSource, Message, ToolContext, UserMessage};
use serde_json::{Value, json};

use crate::support::*;

fn sorts(output: &attache_core::ToolOutput) -> Vec<(&str, Option<&str>)> {
    output.documents.iter().map(|document| (document.media_type().essence(), document.file_name())).collect()
}

// C16
#[tokio::test]
async fn files_of_a_message_are_documents_in_version_1() {
    let parts = json!([
        {"text": "here"}, {"raw": "aGVsbG8=", "filename": "a.txt", "mediaType": "text/plain"},
        {"url": "https://files.example/x.pdf", "filename": "x.pdf", "mediaType": "application/pdf"}]);
    let fake = Fake::v1(false, move |_, _| result(&message(&parts))).await;
    let output = ask(&fake.agent()).await.unwrap();
    assert_eq!(sorts(&output), [("text/plain", Some("a.txt")), ("application/pdf", Some("x.pdf"))]);
    assert_eq!(output.documents[0].bytes().unwrap(), "hello");
    assert!(
        matches!(output.documents[1].source(), DocumentSource::External { url } if &**url == "https://files.example/x.pdf")
    );
    let tree: Value = serde_json::from_str(output.tree.json()).unwrap();
    assert_eq!(tree[0], json!({"type": "text", "text": "here"}));
    assert!(!output.tree.json().contains("aGVsbG8"), "{}", output.tree.json());

    let all = fake.asked();
    let asked = &all[0];
    assert_eq!(
        (asked.rpc(), &asked.headers["a2a-version"]),
        ("SendMessage", &http::HeaderValue::from_static("1.0"))
    );
    let sent = &asked.params()["message"];
    assert_eq!((&sent["role"], &sent["parts"]), (&json!("ROLE_USER"), &json!([{"text": "go"}])));
    assert_eq!(asked.params()["configuration"]["returnImmediately"], true);
    assert!(sent.get("kind").is_none() && sent["messageId"].as_str().unwrap().starts_with("attache-"));
}

// A part of text may have a name and a type, as any other. (A2A 1.0 section 4.1.6)
#[tokio::test]
async fn texts_with_a_name_or_a_type_are_documents() {
    let parts = json!([
        {"text": "a,b\n1,2\n", "filename": "table.csv", "mediaType": "text/csv"},
        {"text": "<p>hello</p>", "mediaType": "text/html"},
        {"text": "words", "mediaType": "text/plain"}, {"text": "*more*", "mediaType": "text/markdown"}]);
    let fake = Fake::v1(false, move |_, _| result(&message(&parts))).await;
    let output = ask(&fake.agent()).await.unwrap();
    assert_eq!(sorts(&output), [("text/csv", Some("table.csv")), ("text/html", None)]);
    assert_eq!(output.documents[0].bytes().unwrap(), "a,b\n1,2\n");
    let shown = output.tree.json();
    assert!(shown.contains("words") && shown.contains("*more*") && !shown.contains("1,2"), "{shown}");
}

// C16
#[tokio::test]
async fn files_of_a_message_are_documents_in_version_0_3() {
    let reply = json!({"kind": "message", "role": "agent", "messageId": "m", "contextId": "c", "parts": [
        {"kind": "text", "text": "here"},
        {"kind": "file", "file": {"bytes": "aGVsbG8=", "mimeType": "text/plain", "name": "a.txt"}},
        {"kind": "file", "file": {"uri": "https://files.example/x.pdf", "mimeType": "application/pdf", "name": "x.pdf"}}]});
    let fake = Fake::v0_3(false, move |_, _| result(&reply)).await;
    let output = ask(&fake.agent()).await.unwrap();
    assert_eq!(sorts(&output), [("text/plain", Some("a.txt")), ("application/pdf", Some("x.pdf"))]);
    let all = fake.asked();
    let asked = &all[0];
    assert_eq!((asked.rpc(), asked.params()["message"]["kind"].as_str()), ("message/send", Some("message")));
    assert_eq!(asked.params()["message"]["parts"], json!([{"kind": "text", "text": "go"}]));
    assert_eq!(asked.params()["configuration"]["blocking"], false);
}

#[tokio::test]
async fn a_file_with_words_beside_it_is_shown_with_them() {
    let parts = json!([{"text": "its lease", "raw": "JVBERi0xLjc="}, {"text": "", "url": "https://h/x.pdf"},
        {"kind": "file", "text": "a note", "file": {"bytes": "aGVsbG8=", "name": "a.txt"}}]);
    let fake = Fake::v1(false, move |_, _| result(&message(&parts))).await;
    let output = ask(&fake.agent()).await.unwrap();
    assert_eq!(output.documents.len(), 3, "{}", output.tree.json());
    assert!(output.tree.json().contains("its lease") && output.tree.json().contains("a note"));
}

fn finished() -> Value {
    json!({"id": "a186", "contextId": "107d",
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-20T16:12:38.907916Z",
            "message": {"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": "done"}]}},
        "artifacts": [
            {"artifactId": "art-text", "name": "answer.md", "parts": [{"text": "chunk1 "}, {"text": "chunk2"}]},
            {"artifactId": "art-files", "description": "its picture", "parts": [
                {"raw": "iVBORw0KGgo=", "filename": "p.png", "mediaType": "image/png"},
                {"url": "https://files.example/x.pdf", "mediaType": "application/pdf"},
                {"data": {"rows": [1.0, 2.5]}}]}],
        "history": [
            {"messageId": "attache-0", "role": "ROLE_USER", "parts": [{"text": "go"}, {"raw": "b3Vycw==", "filename": "ours.txt"}]},
            {"messageId": "h1", "role": "ROLE_AGENT", "parts": [{"text": "working on it"},
                {"raw": "iVBORw0KGgo=", "filename": "again.png"}, {"raw": "JVBERi0xLjc=", "filename": "draft.pdf"}]},
            {"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": "done"}]}]})
}

// C17: artifacts first, then the words of the end, then what the history has beside them
#[tokio::test]
async fn a_task_is_its_artifacts_and_what_its_history_has_beside_them() {
    let fake = Fake::v1(false, |_, _| result(&json!({"task": finished()}))).await;
    let output = ask(&fake.agent()).await.unwrap();
    assert_eq!(
        sorts(&output),
        [("image/png", Some("p.png")), ("application/pdf", None), ("application/pdf", Some("draft.pdf"))]
    );
    let mut tree: Value = serde_json::from_str(output.tree.json()).unwrap();
    for block in tree.as_array_mut().unwrap() {
        block.as_object_mut().unwrap().remove("document");
    }
    assert_eq!(
        tree,
        json!([
            {"type": "text", "artifact": "answer.md", "text": "chunk1 chunk2"},
            {"type": "file", "description": "its picture"}, {"type": "file"},
            {"type": "data", "data": {"rows": [1, 2.5]}},
            {"type": "text", "text": "done"}, {"type": "file"}])
    );
}

// C16, C17: the history alone repeats files; others that are equal each say something
#[tokio::test]
async fn equal_files_of_artifacts_and_of_one_message_are_all_shown() {
    let file = |name| json!({"raw": "ZGF5LHJhaW4K", "filename": name, "mediaType": "text/csv"});
    let [january, february] = ["jan.csv", "feb.csv"].map(file);
    let mut done = task("COMPLETED");
    done["artifacts"] = json!([
        {"artifactId": "1", "name": "January", "parts": [january]},
        {"artifactId": "2", "name": "February", "parts": [february]}]);
    done["history"] = json!([{"messageId": "h", "role": "ROLE_AGENT", "parts": [file("again.csv")]}]);
    let mut past = task("COMPLETED");
    past["history"] = json!([
        {"messageId": "h", "role": "ROLE_AGENT", "parts": [january, february]},
        {"messageId": "i", "role": "ROLE_AGENT", "parts": [january]}]);
    let expected = [("text/csv", Some("jan.csv")), ("text/csv", Some("feb.csv"))];
    for answer in [json!({"task": done}), json!({"task": past}), message(&json!([january, february]))] {
        let fake = Fake::v1(false, move |_, _| result(&answer)).await;
        let output = ask(&fake.agent()).await.unwrap();
        assert_eq!(sorts(&output), expected, "{}", output.tree.json());
    }
}

#[tokio::test]
async fn one_text_alone_is_a_text() {
    let fake = Fake::v1(false, |_, _| result(&json!({"task": task_saying("COMPLETED", "In 2031.")}))).await;
    assert_eq!(ask(&fake.agent()).await.unwrap().tree.model_text(), "In 2031.");
    // The same task over HTTP+JSON.
    let card = |url: &str| {
        let mut card = card_v1(url, false);
        card["supportedInterfaces"] = json!([
            {"url": format!("{url}/rest/"), "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0", "tenant": "a b"}]);
        card
    };
    let fake =
        Fake::new(card, |_, _| json_answer(&json!({"task": task_saying("COMPLETED", "In 2031.")}))).await;
    let agent = fake.agent().binding(A2aBinding::HttpJson);
    assert_eq!(ask(&agent).await.unwrap().tree.model_text(), "In 2031.");
    let all = fake.asked();
    let asked = &all[0];
    assert_eq!((&*asked.method, &*asked.path), ("POST", "/rest/a%20b/message:send"));
    assert_eq!(asked.body["message"]["role"], "ROLE_USER");
}

/// A conversation with two documents.
fn conversation() -> (ToolContext, Document, Document) {
    let lease = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name("lease.pdf");
    let note = Document::inline("rent: 900");
    let message = Message::User(UserMessage::new([lease.clone().into(), note.clone().into()])).shared();
    let mut context = ToolContext::new();
    context.documents = ConversationDocuments::of(&[message]);
    (context, lease, note)
}

#[tokio::test]
async fn documents_that_the_model_names_are_sent_as_files() {
    let (context, lease, note) = conversation();
    let named = json!({"message": "read", "documents": [lease.id().as_str(), note.id().as_str()]});
    let files = |version: A2aVersion| {
        let (context, named) = (context.clone(), named.clone());
        async move {
            let answer = |_: &Asked, _: usize| result(&message(&json!([{"text": "read"}])));
            let fake = match version {
                A2aVersion::V1 => Fake::v1(false, answer).await,
                _ => Fake::v0_3(false, answer).await,
            };
            call_with(&fake.agent(), named, context).await.unwrap();
            fake.asked()[0].params()["message"]["parts"].clone()
        }
    };
    assert_eq!(
        files(A2aVersion::V1).await,
        json!([{"text": "read"}, {"raw": "JVBERi0xLjc=", "filename": "lease.pdf", "mediaType": "application/pdf"},
            {"raw": "cmVudDogOTAw", "mediaType": "text/plain"}])
    );
    assert_eq!(
        files(A2aVersion::V0_3).await,
        json!([{"kind": "text", "text": "read"},
            {"kind": "file", "file": {"bytes": "JVBERi0xLjc=", "name": "lease.pdf", "mimeType": "application/pdf"}},
            {"kind": "file", "file": {"bytes": "cmVudDogOTAw", "mimeType": "text/plain"}}])
    );
}

#[tokio::test]
async fn a_document_of_another_conversation_is_not_sent() {
    let fake = Fake::v1(false, |_, _| result(&message(&json!([{"text": "x"}])))).await;
    let (context, lease, _) = conversation();
    let other = Document::inline("elsewhere");
    let named = json!({"message": "read", "documents": [other.id().as_str()]});
    assert!(call_with(&fake.agent(), named, context.clone()).await.is_err());
    let large = fake.agent().limits(attache_a2a::A2aLimits::new().with_sent_bytes(4));
    let error = call_with(&large, json!({"message": "read", "documents": [lease.id().as_str()]}), context)
        .await
        .unwrap_err();
    assert!(error.for_model().contains("more than the 4 bytes"), "{error}");
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn chunks_of_an_artifact_are_put_together() {
    let v1 = [
        json!({"task": task("SUBMITTED")}),
        json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}}}),
        json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1",
            "artifact": {"artifactId": "a", "name": "answer", "parts": [{"text": "In "}]}}}),
        json!({"artifactUpdate": {"taskId": "other", "contextId": "c-1",
            "artifact": {"artifactId": "a", "parts": [{"text": "forged"}]}, "append": true}}),
        json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "append": true,
            "artifact": {"artifactId": "a", "parts": [{"text": "2031"}, {"raw": "iVBORw0KGgo="}]}}}),
        json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "append": true, "lastChunk": true,
            "artifact": {"artifactId": "a", "parts": [{"text": "."}]}}}),
        json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"}}}),
    ];
    let fake = Fake::v1(true, move |_, _| events(&v1)).await;
    let output = ask(&fake.agent()).await.unwrap();
    let tree: Value = serde_json::from_str(output.tree.json()).unwrap();
    assert_eq!((&tree[0]["text"], &tree[2]["text"]), (&json!("In 2031"), &json!(".")));
    assert_eq!((output.documents.len(), fake.methods()), (1, vec!["SendStreamingMessage".to_owned()]));
}

#[tokio::test]
async fn a_stream_of_version_0_3_is_followed_to_its_end() {
    let stream = [
        json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "submitted"}}),
        json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "append": false, "lastChunk": true,
            "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "In 2031."}]}}),
        json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": true, "status": {"state": "completed"}}),
    ];
    let fake = Fake::v0_3(true, move |_, _| events(&stream)).await;
    let agent: A2aAgent = fake.agent();
    assert_eq!(ask(&agent).await.unwrap().tree.model_text(), "In 2031.");
    assert_eq!(fake.methods(), ["message/stream"]);
}

// A file with a key in its address is fetched as the agent gave it, and what it holds is not changed.
#[tokio::test]
async fn files_are_what_and_where_the_agent_says() {
    let signed = "https://b.example/lease.pdf?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260101";
    let table = "key,owner\nAKIAIOSFODNN7EXAMPLE,Ann\n";
    let parts = json!([
        {"url": signed, "filename": "sk-2026-budget-final.pdf"},
        {"raw": attache_core::base64::encode(table), "mediaType": "text/csv"}]);
    let fake = Fake::v1(false, move |asked, _| {
        // A file of the agent's own, with a token in its address.
        let host = asked.headers["host"].to_str().unwrap();
        let own = json!({"url": format!("http://{host}/files/x?t=eyJhbGciOi1.eyJzdWIiOi1.dozjgNryP4J3")});
        let all = parts.as_array().unwrap().iter().chain([&own]).collect::<Vec<_>>();
        result(&message(&json!(all)))
    })
    .await;
    let output = ask(&fake.agent()).await.unwrap();
    let places: Vec<_> = output
        .documents
        .iter()
        .filter_map(|document| match document.source() {
            DocumentSource::External { url } => Some(&**url),
            _ => None,
        })
        .collect();
    assert_eq!(places[0], signed);
    assert!(places[1].ends_with("eyJhbGciOi1.eyJzdWIiOi1.dozjgNryP4J3"), "{places:?}");
    assert_eq!(output.documents[0].file_name(), Some("sk-2026-budget-final.pdf"));
    assert_eq!(output.documents[1].bytes().unwrap(), table);
}
