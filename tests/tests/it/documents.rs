//! Documents through one agent on each API and on compatible servers: each goes where the table of models says, what a
//! model cannot take is never dropped in silence (C24, C25, and C03 to C06 on the way).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{
    Agent, AgentRun, EndReason, EventKind, NoArguments, Outcome, RunError, RunInput, tool_fn,
};
use attache_conformance::{Reply, SeenPlace, seen_documents, sha256_hex};
use attache_core::capability::Place;
use attache_core::{
    Capture, Document, ErrorKind, MediaType, Message, ModelSettings, ToolError, UserMessage, UserPart,
};
use attache_documents::{RouteOptions, RoutingReport};
use attache_tests::{Api, Party, texts_told};

const PDF: &[u8] = b"%PDF-1.4\n% the lease\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";
const CSV: &[u8] = b"date,amount\n2026-03-01,12.50\n";
const ZIP: &[u8] = b"PK\x03\x04 not for reading";

fn document(name: &str, bytes: &'static [u8]) -> Document {
    Document::from_bytes(bytes, "").with_file_name(name)
}

fn all() -> Vec<Document> {
    vec![
        document("lease.pdf", PDF),
        document("plan.png", PNG),
        document("payments.csv", CSV),
        document("archive.zip", ZIP),
    ]
}

/// The end of a run and the last report about its documents.
async fn ended(mut run: AgentRun) -> (Result<Outcome, RunError>, Option<Arc<RoutingReport>>) {
    let mut report = None;
    loop {
        match run.next().await.unwrap().kind {
            EventKind::DocumentsRouted(routed) => report = Some(routed),
            EventKind::Finished(result) => return (result.map(|outcome| *outcome), report),
            _ => {}
        }
    }
}

// C24: each document of a mixed set by the table, in one pass
#[tokio::test]
async fn documents_go_where_the_table_says() {
    for party in Party::all() {
        let mock = party.mock().await.unwrap();
        mock.enqueue(Reply::new().text("I look.").call("call00001", "find", serde_json::json!({})));
        mock.enqueue(Reply::new().text("done"));
        let model = party.connected(&mock, ModelSettings::new()).unwrap();
        let capabilities = model.capabilities().clone();
        let find = tool_fn("find", "Finds files", |_: NoArguments| async { Ok::<_, ToolError>(all()) });
        let agent = Agent::builder(model).tool(find).build().unwrap();
        let (end, report) = ended(agent.run("go")).await;
        let name = party.name();
        let outcome = end.unwrap();
        assert!(mock.violations().is_empty(), "{name}: {:?}", mock.violations());

        let body = mock.requests()[1].json().clone();
        let seen = seen_documents(party.api.conformance(), &body);
        let place_of = |bytes: &[u8]| {
            let hash = sha256_hex(bytes);
            let places: Vec<SeenPlace> = seen
                .iter()
                .filter(|seen| seen.sha256.as_deref() == Some(hash.as_str()))
                .map(|seen| seen.place)
                .collect();
            assert!(places.len() < 2, "{name}: content stands once");
            places.first().copied()
        };
        let accepts =
            |place: Place, media: &str| capabilities.place(place).accepts(&MediaType::parse(media).unwrap());
        let report = report.unwrap();
        assert_eq!(report.decisions.len(), 4, "{name}: one outcome for each");
        let mut synthetic = 0;
        for (at, (media, bytes)) in [("application/pdf", PDF), ("image/png", PNG)].into_iter().enumerate() {
            let decided = report.decisions[at].outcome;
            let context = format!("{name} {media} {decided:?}");
            if accepts(Place::ToolResult, media) {
                assert_eq!(decided, attache_documents::DocumentOutcome::Native, "{context}");
                assert_eq!(place_of(bytes), Some(SeenPlace::ToolResult), "{context}");
            } else if accepts(Place::User, media) {
                synthetic += 1;
                assert_eq!(decided, attache_documents::DocumentOutcome::Synthetic, "{context}");
                assert_eq!(place_of(bytes), Some(SeenPlace::User), "{context}");
            } else {
                assert_eq!(decided, attache_documents::DocumentOutcome::Note, "{context}");
                assert_eq!(place_of(bytes), None, "{context}");
            }
        }
        // C29: text is read, in whatever form; what nobody takes is named.
        let text = body.to_string();
        let native = seen.iter().any(|seen| seen.sha256.as_deref() == Some(sha256_hex(CSV).as_str()));
        assert!(native || text.contains("2026-03-01,12.50"), "{name}: {:?}", report.decisions[2]);
        assert_eq!(report.decisions[3].outcome, attache_documents::DocumentOutcome::Note, "{name}");
        assert_eq!(place_of(ZIP), None, "{name}");
        assert!(text.contains("archive.zip"), "{name}: {text}");
        // C03: one synthetic message exactly where one is needed
        let sent = outcome.messages.iter().filter(|message| message.is_tool_call_documents()).count();
        assert_eq!(sent, usize::from(synthetic > 0), "{name}");
        assert_eq!(text.matches("Documents extracted from tool call results:").count(), sent, "{name}");
        // C02
        let base64 = |bytes: &[u8]| bytes.len() > 3 && text.contains(&encoded(bytes));
        assert_eq!(base64(PNG), place_of(PNG).is_some(), "{name}: bytes stand in blocks alone");
    }
}

// Invariant 1, bedrock.md 10: more files in one turn than a request may hold.
#[tokio::test]
async fn more_files_than_a_request_holds_are_noted() {
    const PDFS: [&[u8]; 7] = [
        b"%PDF-1.4 one",
        b"%PDF-1.4 two",
        b"%PDF-1.4 three",
        b"%PDF-1.4 four",
        b"%PDF-1.4 five",
        b"%PDF-1.4 six",
        b"%PDF-1.4 seven",
    ];
    let files = || PDFS.map(|bytes| document("lease.pdf", bytes)).to_vec();
    for party in Party::all() {
        let mock = party.mock().await.unwrap();
        mock.enqueue(Reply::new().call("call00001", "find", serde_json::json!({})));
        mock.enqueue(Reply::new().text("done"));
        let model = party.connected(&mock, ModelSettings::new()).unwrap();
        let most = model.capabilities().files.max_files;
        let find =
            tool_fn("find", "Finds files", move |_: NoArguments| async move { Ok::<_, ToolError>(files()) });
        let agent = Agent::builder(model).tool(find).build().unwrap();
        let (end, report) = ended(agent.run("go")).await;
        let name = party.name();
        assert_eq!(end.unwrap().text, "done", "{name}");
        assert!(mock.violations().is_empty(), "{name}: {:?}", mock.violations());
        let report = report.unwrap();
        let decisions = &report.decisions;
        assert_eq!(decisions.len(), PDFS.len(), "{name}: one outcome for each");
        if let Some(limit) = most {
            let native = attache_documents::DocumentOutcome::Native;
            let kept = decisions.iter().filter(|decision| decision.outcome == native).count() as u64;
            assert_eq!(kept, limit, "{name}");
            assert!(decisions[0].reason.as_str().ends_with("newer documents are in it"), "{name}");
        }
        let limited = party.api == attache_tests::Api::Bedrock;
        assert_eq!(most.is_some(), limited, "{name}");
    }
}

fn encoded(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(word >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}

// C25: what its author attached and the model cannot take fails before anything is sent, and says which and why
#[tokio::test]
async fn a_document_of_the_author_that_cannot_be_shown_fails_loudly() {
    for party in Party::all() {
        let mock = party.mock().await.unwrap();
        let model = party.connected(&mock, ModelSettings::new()).unwrap();
        let id = model.id().to_owned();
        let agent = Agent::builder(model).build().unwrap();
        let parts = [UserPart::text("Look."), document("archive.zip", ZIP).into()];
        let error = agent
            .run(RunInput::new([Message::User(UserMessage::new(parts)).shared()]))
            .outcome()
            .await
            .unwrap_err();
        assert_eq!(*error.reason(), EndReason::ProviderError("unsupported".to_owned()), "{}", party.name());
        let error = error.provider_error().unwrap();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unsupported, false), "{}", party.name());
        let (_, model_name) = id.split_once('/').unwrap();
        for word in ["archive.zip", "application/zip", "binary", model_name] {
            assert!(error.message().contains(word), "{}: {word} in {error}", party.name());
        }
        assert!(mock.requests().is_empty(), "{}", party.name());
    }
}

// C25: what an event brought becomes a note and a line of the report, and fails only where that is asked for
#[tokio::test]
async fn a_document_of_an_event_that_cannot_be_shown_is_noted() {
    let event = || {
        let tree = Capture::new().finish(&vec![document("archive.zip", ZIP)]).unwrap();
        RunInput::new([Message::user("Wait.").shared(), Message::User(UserMessage::event(tree)).shared()])
    };
    for party in Party::all() {
        let mock = party.mock().await.unwrap();
        mock.enqueue(Reply::new().text("noted"));
        let model = party.connected(&mock, ModelSettings::new()).unwrap();
        let (end, report) = ended(Agent::builder(model.clone()).build().unwrap().run(event())).await;
        assert_eq!(end.unwrap().text, "noted", "{}", party.name());
        assert!(mock.violations().is_empty(), "{}: {:?}", party.name(), mock.violations());
        let report = report.unwrap();
        let decided: Vec<_> = report.decisions.iter().map(|decision| decision.outcome).collect();
        assert_eq!(decided, [attache_documents::DocumentOutcome::Note], "{}", party.name());
        let told = texts_told(party.api, mock.requests()[0].json());
        assert!(told.iter().any(|(_, text)| text.contains("archive.zip")), "{}: {told:?}", party.name());

        let strict = RouteOptions::new().with_fail_on_event_documents(true);
        let agent = Agent::builder(model).routing(strict).build().unwrap();
        let error = agent.run(event()).outcome().await.unwrap_err();
        assert_eq!(error.provider_error().unwrap().kind(), ErrorKind::Unsupported, "{}", party.name());
        assert_eq!(mock.requests().len(), 1, "{}", party.name());
    }
}

// bedrock.md 10: five documents a request, images apart
#[tokio::test]
async fn a_request_to_converse_holds_five_documents_and_notes_for_older_ones() {
    let party = Party::from(Api::Bedrock);
    let mock = party.mock().await.unwrap();
    for call in ["call00001", "call00002"] {
        mock.enqueue(Reply::new().text("I look.").call(call, "find", serde_json::json!({})));
    }
    mock.enqueue(Reply::new().text("done"));
    let calls = Arc::new(AtomicUsize::new(0));
    let find = tool_fn("find", "Finds files", move |_: NoArguments| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        let numbers = if call == 0 { 0..7 } else { 7..9 };
        let pdf = |number: usize| {
            let bytes = format!("%PDF-1.4\n% {number}\n").into_bytes();
            Document::from_bytes(bytes, "").with_file_name(format!("{number}.pdf"))
        };
        let image = (call == 0).then(|| document("plan.png", PNG));
        let found: Vec<Document> = image.into_iter().chain(numbers.map(pdf)).collect();
        async move { Ok::<_, ToolError>(found) }
    });
    let model = party.connected(&mock, ModelSettings::new()).unwrap();
    let agent = Agent::builder(model).tool(find).build().unwrap();
    let (end, report) = ended(agent.run("go")).await;
    end.unwrap();
    assert!(mock.violations().is_empty(), "{:?}", mock.violations());
    let decisions = &report.unwrap().decisions;
    let outcomes: Vec<&str> = decisions.iter().map(|decision| decision.outcome.as_str()).collect();
    assert_eq!(outcomes, [&["native"][..], &["note"; 4], &["native"; 5]].concat());
    for decision in &decisions[1..5] {
        let reason = decision.reason.as_str();
        assert!(reason.starts_with("a request to this model holds at most 5 documents"), "{reason}");
    }
    let body = mock.requests().last().unwrap().json().clone();
    assert_eq!(seen_documents(party.api.conformance(), &body).len(), 6);
}

// bedrock.md 10: the sixth document of a conversation is answered, and six at once fail before anything is sent
#[tokio::test]
async fn a_conversation_with_converse_takes_a_sixth_document() {
    let party = Party::from(Api::Bedrock);
    let mock = party.mock().await.unwrap();
    let model = party.connected(&mock, ModelSettings::new()).unwrap();
    let agent = Agent::builder(model).build().unwrap();
    let pdf = |number: usize| {
        let bytes = format!("%PDF-1.4\n% {number}\n").into_bytes();
        Document::from_bytes(bytes, "").with_file_name(format!("{number}.pdf"))
    };
    let mut history = Vec::new();
    for number in 0..7 {
        let parts = [UserPart::text("Read."), pdf(number).into()];
        history.push(Message::User(UserMessage::new(parts)).shared());
        mock.enqueue(Reply::new().text("done"));
        let (end, report) = ended(agent.run(RunInput::new(history.clone()))).await;
        history.push(Message::assistant(end.unwrap().text).shared());
        let outcomes: Vec<&str> =
            report.unwrap().decisions.iter().map(|decision| decision.outcome.as_str()).collect();
        let old = number.saturating_sub(4);
        assert_eq!(outcomes, [vec!["note"; old], vec!["native"; number + 1 - old]].concat());
    }
    assert!(mock.violations().is_empty(), "{:?}", mock.violations());

    let parts = [UserPart::text("Compare.")].into_iter().chain((0..6).map(|number| pdf(number).into()));
    let many = RunInput::new([Message::User(UserMessage::new(parts)).shared()]);
    let error = agent.run(many).outcome().await.unwrap_err();
    assert_eq!(error.provider_error().unwrap().kind(), ErrorKind::Unsupported);
    assert_eq!(mock.requests().len(), 7);
}
