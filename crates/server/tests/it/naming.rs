//! Documents that requests name: uploads, those of a thread, and those that are gone.

use attache_agent::{Agent, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{ChatRequest, Document, Message, UserPart};
use attache_testkit::Turn;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text, value};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";
const AG_UI: &str = "/v1/ag-ui";
const UI: &str = "/v1/ui";

/// A model that answers this often, and a client of its agent.
fn answering(times: usize) -> (Stage, Client) {
    let stage = Stage::new((0..times).map(|_| Turn::text("Read.")));
    let client = Client::new(server(Agent::builder(stage.clone())));
    (stage, client)
}

async fn upload(client: &Client) -> String {
    let request = Request::post("/v1/documents?name=rain.csv").header("content-type", "text/csv");
    value(client.send(request, "day,rain\n").await).await["id"].as_str().unwrap().to_owned()
}

/// An upload as a part of a message.
fn file(path: &str, id: &str) -> Value {
    match path {
        CHAT => json!({"type": "file", "file": {"file_id": id}}),
        RESPONSES => json!({"type": "input_file", "file_id": id}),
        MESSAGES => json!({"type": "document", "source": {"type": "file", "file_id": id}}),
        AG_UI => json!({"type": "document", "source": {"type": "file", "value": id}}),
        _ => {
            json!({"type": "file", "mediaType": "text/csv", "url": "", "providerReference": {"attache": id}})
        }
    }
}

/// A message of the user: a text, and a file.
fn said(path: &str, words: &str, file: Option<Value>) -> Value {
    let kind = if path == RESPONSES { "input_text" } else { "text" };
    let parts: Vec<Value> = [json!({"type": kind, "text": words})].into_iter().chain(file).collect();
    let place = if path == UI { "parts" } else { "content" };
    json!({"id": words, "role": "user", place: parts})
}

/// A request in a thread, where the dialect has threads.
fn body(path: &str, thread: &str, messages: &[Value]) -> Value {
    match path {
        CHAT => json!({"model": "papers", "messages": messages}),
        RESPONSES => json!({"model": "papers", "input": messages, "store": false}),
        MESSAGES => json!({"model": "papers", "max_tokens": 9, "messages": messages}),
        AG_UI => json!({"threadId": thread, "runId": "r", "messages": messages, "tools": [], "context": []}),
        _ => json!({"id": thread, "messages": messages}),
    }
}

/// A text of the model.
fn replied(path: &str) -> Value {
    match path {
        UI => json!({"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "Read."}]}),
        RESPONSES => json!({"role": "assistant", "content": "Read."}),
        _ => json!({"id": "a", "role": "assistant", "content": "Read."}),
    }
}

/// The parts of what users say in the last request of the model, one text for each message, and of documents their text.
fn seen(stage: &Stage) -> Vec<String> {
    let request: ChatRequest = stage.requests().pop().unwrap();
    let said = request.messages.iter().filter_map(|message| match &**message {
        Message::User(user) => {
            let shown = format!("{:?}", user.shown());
            let read = ["day,rain", "a,b"].into_iter().find(|text| shown.contains(text)).unwrap_or_default();
            let part = |part: &UserPart| match part {
                UserPart::Text(text) => text.text().to_owned(),
                UserPart::Document(found) => format!("<{} {read}>", found.file_name().unwrap_or("?")),
                other => format!("{other:?}"),
            };
            Some(user.parts.iter().map(part).collect::<Vec<_>>().join(" | "))
        }
        _ => None,
    });
    said.collect()
}

async fn status(client: &Client, path: &str, body: Value) -> StatusCode {
    let response = client.post(path, body).await;
    let status = response.status();
    // A stream is read to its end.
    let told = text(response).await;
    assert!(status != StatusCode::OK || !told.contains("RUN_ERROR"), "{told}");
    status
}

// A40: whoever deletes an upload must not lose the conversations that once named it.
#[tokio::test]
async fn an_upload_that_is_gone_ends_no_conversation() {
    for path in [CHAT, RESPONSES, MESSAGES, AG_UI, UI] {
        let (stage, client) = answering(3);
        let id = upload(&client).await;
        let first = said(path, "See", Some(file(path, &id)));
        assert_eq!(
            status(&client, path, body(path, "t", std::slice::from_ref(&first))).await,
            StatusCode::OK,
            "{path}"
        );
        assert_eq!(seen(&stage), ["See | <rain.csv day,rain>"], "{path}");
        client.ask(Method::DELETE, &format!("/v1/documents/{id}"), None).await;
        let new = status(&client, path, body(path, "new", std::slice::from_ref(&first))).await;
        assert_eq!(new, StatusCode::NOT_FOUND, "{path}");
        let all = [first, replied(path), said(path, "More", None)];
        assert_eq!(status(&client, path, body(path, "other", &all)).await, StatusCode::OK, "{path}");
        assert_eq!(seen(&stage), [&*format!("See | [The document {id} is not there any more.]"), "More"]);
        assert_eq!(status(&client, path, body(path, "t", &all)).await, StatusCode::OK, "{path}");
    }
}

// The AI SDK sends the ids of items in the place of replies.
#[tokio::test]
async fn an_upload_that_is_gone_ends_no_conversation_that_goes_on_by_references() {
    let (stage, client) = answering(2);
    let id = upload(&client).await;
    let first = said(RESPONSES, "See", Some(file(RESPONSES, &id)));
    let ask =
        async |input: Value| client.post("/v1/responses", json!({"model": "papers", "input": input})).await;
    let told = value(ask(json!([first])).await).await;
    client.ask(Method::DELETE, &format!("/v1/documents/{id}"), None).await;
    let reference = json!({"type": "item_reference", "id": told["output"][0]["id"]});
    let more = ask(json!([first, reference, said(RESPONSES, "More", None)])).await;
    assert_eq!(more.status(), StatusCode::OK);
    assert_eq!(seen(&stage).last().map(String::as_str), Some("More"));
}

// A36, A40: a page names an upload as it does a document of the thread, and sends both again.
#[tokio::test]
async fn a_page_of_ag_ui_names_uploads_and_documents_of_its_thread() {
    let (stage, client) = answering(5);
    let ours = |id: &str| json!({"type": "document", "source": {"type": "file", "value": id, "provider": "attache"}});
    let ask = async |messages: &[Value]| status(&client, AG_UI, body(AG_UI, "t", messages)).await;
    let id = upload(&client).await;
    assert_eq!(ask(&[said(AG_UI, "One", Some(ours(&id)))]).await, StatusCode::OK);
    assert_eq!(seen(&stage), ["One | <rain.csv day,rain>"]);
    let data = json!({"type": "document", "source": {"type": "data", "value": "YSxi", "mimeType": "text/csv"}, "metadata": {"filename": "a.csv"}});
    assert_eq!(ask(&[said(AG_UI, "Two", Some(data))]).await, StatusCode::OK);
    // As MESSAGES_SNAPSHOT has it.
    let session = client.got("/v1/sessions/t").await;
    let kept =
        session["messages"][2]["parts"][1]["document"]["id"].as_str().unwrap_or_else(|| panic!("{session}"));
    assert_eq!(ask(&[said(AG_UI, "Three", Some(ours(kept)))]).await, StatusCode::OK);
    assert_eq!(seen(&stage)[2], "Three | <a.csv a,b>");
    // Another thread has it not, where it was said before or is said now.
    let other = async |messages: &[Value]| status(&client, AG_UI, body(AG_UI, "other", messages)).await;
    let four = said(AG_UI, "Four", Some(ours(kept)));
    assert_eq!(other(std::slice::from_ref(&four)).await, StatusCode::NOT_FOUND);
    assert_eq!(other(&[four, replied(AG_UI), said(AG_UI, "Five", None)]).await, StatusCode::OK);
    assert_eq!(seen(&stage), [&*format!("Four | [The document {kept} is not there any more.]"), "Five"]);
}

// A36, A40
#[tokio::test]
async fn a_page_of_the_ui_stream_names_uploads_and_documents_of_its_chat() {
    let (stage, client) = answering(9);
    let at = |url: &str| json!({"type": "file", "mediaType": "text/csv", "url": url});
    let ask = async |messages: &[Value]| status(&client, UI, body(UI, "a/b", messages)).await;
    let id = upload(&client).await;
    let places = [
        at(&format!("/v1/documents/{id}")),
        at(&format!("https://papers.example/api/v1/documents/{id}")),
        file(UI, &id),
    ];
    for place in places {
        assert_eq!(ask(&[said(UI, "See", Some(place.clone()))]).await, StatusCode::OK, "{place}");
        assert_eq!(seen(&stage).last().unwrap(), "See | <rain.csv day,rain>", "{place}");
    }
    assert_eq!(ask(&[said(UI, "See", Some(at("data:text/csv;base64,YSxi")))]).await, StatusCode::OK);
    let session = client.got("/v1/sessions/a%2Fb").await;
    let kept =
        session["messages"][6]["parts"][1]["document"]["id"].as_str().unwrap_or_else(|| panic!("{session}"));
    for host in ["", "http://papers.example/api"] {
        let place = at(&format!("{host}/v1/sessions/a%2Fb/documents/{kept}"));
        assert_eq!(ask(&[said(UI, "Again", Some(place.clone()))]).await, StatusCode::OK, "{place}");
        assert_eq!(seen(&stage).last().unwrap(), "Again | <? a,b>", "{place}");
        let gone = at(&format!("{host}/v1/sessions/a%2Fb/documents/none"));
        assert_eq!(ask(&[said(UI, "Gone", Some(gone.clone()))]).await, StatusCode::NOT_FOUND, "{gone}");
        let past = [said(UI, "Gone", Some(gone)), replied(UI), said(UI, "More", None)];
        assert_eq!(ask(&past).await, StatusCode::OK, "{host}");
    }
    // Those of others are nobody's here.
    let bob = client.named("bob");
    let theirs = said(UI, "See", Some(at(&format!("/v1/documents/{id}"))));
    assert_eq!(status(&bob, UI, body(UI, "bobs", &[theirs])).await, StatusCode::NOT_FOUND);
}

// A36: a page answers the question of a tool with a picture that it took.
#[tokio::test]
async fn a_file_in_the_answer_to_an_interrupt_is_a_document() {
    let stage = Stage::new([Turn::call("ask", json!({})), Turn::text("Fine.")]);
    let ask = tool_fn("ask", "Asks", || Ok(Deferred::ask("Which?")));
    let client = Client::new(server(Agent::builder(stage.clone()).tool(ask)));
    let body = |resume: Value| {
        let mut body = body(AG_UI, "t", &[said(AG_UI, "Hi", None)]);
        body["resume"] = resume;
        body
    };
    let told = data(&text(client.post(AG_UI, body(json!(null))).await).await);
    let interrupt = &told.last().unwrap()["outcome"]["interrupts"][0]["id"];
    let payload = json!({"at": "noon", "table": "data:text/csv;base64,YSxi"});
    let answer = json!([{"interruptId": interrupt, "status": "resolved", "payload": payload}]);
    assert_eq!(status(&client, AG_UI, body(answer)).await, StatusCode::OK);
    let requests = stage.requests();
    let results = requests[1].messages.iter().find_map(|message| match &**message {
        Message::ToolResults(results) => Some(results),
        _ => None,
    });
    let documents: Vec<&Document> = results.unwrap().results[0].tree.documents().iter().collect();
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0].media_type().essence(), "text/csv");
}
