//! Agents over HTTP against the strict mock provider: the same tools and the same code on every API.

use std::time::{Duration, Instant};

use attache::{Agent, Document, EndReason, EventKind, ModelHandle, Outcome, ToolError, tool};
use attache_conformance::{MockProvider, Reply, SeenPlace, Writes, seen_documents, sha256_hex};
use attache_core::settings::CachePolicy;
use attache_core::{DocumentId, ErrorKind, Message, ModelSettings, Role};
use attache_tests::{APIS, Api, PDF_APIS};
use serde_json::json;

const LEASE: &[u8] = b"%PDF-1.4\n% the lease\n";
const PLAN: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";

#[derive(serde::Serialize)]
struct Contract {
    tenant: String,
    lease: Document,
    annexes: Vec<Document>,
}

/// Finds a contract.
#[tool(name = "contracts.find", effect = "read")]
async fn find_contract(
    /// The tenant's name.
    tenant: String,
) -> Result<Contract, ToolError> {
    let id = |id| DocumentId::parse(id).unwrap();
    let lease = Document::from_bytes(LEASE, "application/pdf")
        .with_file_name("lease.pdf")
        .with_id(id("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34"));
    let plan = Document::from_bytes(PLAN, "image/png")
        .with_file_name("plan.png")
        .with_id(id("b20f6e91-0c57-4e0b-9d5a-6f1f3a2b7c88"));
    Ok(Contract { tenant, lease, annexes: vec![plan] })
}

fn model(api: Api, mock: &MockProvider) -> ModelHandle {
    let config = ModelSettings::new();
    api.connected(mock.url(), if api.marks_cache() { config.with_cache(CachePolicy::Short) } else { config })
        .unwrap()
}

fn agent(api: Api, mock: &MockProvider, whole: bool) -> Agent {
    let builder = Agent::builder(model(api, mock)).system("You manage leases.").tool(find_contract_tool());
    builder.streaming(!whole).build().unwrap()
}

fn script(mock: &MockProvider) {
    let call = Reply::new().text("I will look.").call(
        "call_7",
        "contracts_find",
        json!({"tenant": "Harbour Bakery"}),
    );
    mock.enqueue(call);
    mock.enqueue(Reply::new().text("Until 30 June 2031."));
}

/// An outcome without ids that differ at each run.
fn story(outcome: &Outcome) -> Vec<String> {
    let tell = |message: &Message| match message {
        Message::Assistant(message) => format!(
            "{} {:?}",
            message.text(),
            message
                .tool_calls()
                .map(|call| (call.name.clone(), call.arguments.raw().to_owned()))
                .collect::<Vec<_>>()
        ),
        Message::ToolResults(results) => format!("{} documents", results.results[0].documents.len()),
        Message::User(user) => format!("user of {} parts", user.parts.len()),
        other => format!("{:?}", other.role()),
    };
    outcome.messages.iter().map(|message| tell(message)).collect()
}

// E20, C24, invariant 6: one agent, every API, streamed or not
#[tokio::test]
async fn the_model_sees_the_documents() {
    for api in APIS {
        let mut told = Vec::new();
        for whole in [false, true] {
            let mock = MockProvider::start().await.unwrap();
            script(&mock);
            let outcome =
                agent(api, &mock, whole).run("Until when does the lease run?").outcome().await.unwrap();
            assert_eq!(
                (outcome.reason.clone(), outcome.text.as_str()),
                (EndReason::Answer, "Until 30 June 2031.")
            );
            assert!(mock.violations().is_empty(), "{:?}", mock.violations());

            let requests = mock.requests();
            assert_eq!(requests.len(), 2);
            assert!(requests.iter().all(|request| request.wants_stream() != whole));
            let body = requests[1].json();
            let seen = seen_documents(api.conformance(), body);
            let in_user_message = matches!(api, Api::OpenAiChat | Api::Cohere | Api::Ollama);
            let place = if in_user_message { SeenPlace::User } else { SeenPlace::ToolResult };
            let mut shown: Vec<_> = seen
                .iter()
                .map(|document| (document.place, document.file_name.as_deref(), document.sha256.clone()))
                .collect();
            if PDF_APIS.contains(&api) {
                let (seen, name, hash) = shown.remove(0);
                assert_eq!((seen, hash), (place, Some(sha256_hex(LEASE))), "{}", api.name());
                if api.names_files() {
                    assert_eq!(name, Some("lease.pdf"), "{}", api.name());
                }
            }
            assert_eq!((shown[0].0, &shown[0].2), (place, &Some(sha256_hex(PLAN))), "{}", api.name());
            assert_eq!(shown.len(), 1);
            insta::with_settings!({ snapshot_path => "snapshots/run", prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(format!("{}_messages", api.name()), format!("{:#}", api.messages(body)));
            });
            // S12, invariant 11: keys stay in their header
            assert!(!body.to_string().contains("sk-canary"));
            // C03, C23: some have the synthetic message, and the log holds it behind the results
            let roles: Vec<Role> = outcome.messages.iter().map(|message| message.role()).collect();
            let synthetic =
                outcome.messages.iter().filter(|message| message.is_tool_call_documents()).count();
            assert_eq!(synthetic, usize::from(in_user_message));
            assert_eq!(roles[3], Role::ToolResults);
            assert!(synthetic == 0 || outcome.messages[4].is_tool_call_documents());
            told.push((story(&outcome), outcome.usage.input_tokens, outcome.usage.output_tokens));
        }
        assert_eq!(told[0], told[1], "{}", api.name());
    }
}

// Invariant 6, runtime.md 32 #29: whatever the network does to the bytes
#[tokio::test]
async fn one_byte_at_a_time() {
    for api in APIS {
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(Reply::new().text("Grüße, 🦀 und 文字.").writes(Writes::Every(1)));
        let outcome = agent(api, &mock, false).run("Hallo").outcome().await.unwrap();
        assert_eq!(outcome.text, "Grüße, 🦀 und 文字.");
    }
}

// Invariant 8, A62, P17: dropping the stream hangs up within a second
#[tokio::test]
async fn dropping_hangs_up() {
    for api in APIS {
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(Reply::new().text_pieces(vec!["word "; 1_000]).delay_between(Duration::from_millis(10)));
        let mut run = agent(api, &mock, false).run("Talk");
        while let Some(event) = run.next().await {
            if matches!(event.kind, EventKind::Content(_)) {
                break;
            }
        }
        let dropped = Instant::now();
        drop(run);
        assert!(mock.wait_for_disconnect(Duration::from_secs(5)).await.is_some(), "{}", api.name());
        assert!(dropped.elapsed() < Duration::from_secs(1), "{}: {:?}", api.name(), dropped.elapsed());
    }
}

#[tokio::test]
async fn cancelling_hangs_up_and_keeps_what_was_said() {
    for api in APIS {
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(Reply::new().text_pieces(vec!["word "; 1_000]).delay_between(Duration::from_millis(10)));
        let mut run = agent(api, &mock, false).run("Talk");
        let control = run.control();
        let (mut said, mut finished) = (String::new(), 0);
        while let Some(event) = run.next().await {
            match event.kind {
                EventKind::Content(text) => {
                    said.push_str(&text);
                    control.cancel();
                }
                EventKind::Finished(result) => {
                    let outcome = result.unwrap();
                    finished += 1;
                    assert_eq!((outcome.reason, outcome.text), (EndReason::Cancelled, said.clone()));
                }
                _ => {}
            }
        }
        assert!(!said.is_empty() && finished == 1, "{}: {finished} endings after {said:?}", api.name());
        assert!(mock.wait_for_disconnect(Duration::from_secs(1)).await.is_some(), "{}", api.name());
    }
}

// P24 to P26: what the provider says is what the caller learns
#[tokio::test]
async fn failures_are_typed() {
    for api in APIS {
        let cases = [
            // Converse has a word of its own for each of the two. (bedrock.md 8)
            (
                Reply::error(401, "wrong key").error_kind(api.refusal_of_a_key()),
                ErrorKind::Authentication,
                false,
            ),
            (Reply::error(400, "no"), ErrorKind::InvalidRequest, false),
            (Reply::new().text_pieces(vec!["word "; 100]).end_after(3_000), ErrorKind::StreamCut, false),
            (
                Reply::new().text_pieces(vec!["word "; 100]).error_event(20, api.overload(), "busy"),
                ErrorKind::Overloaded,
                false,
            ),
        ];
        for (reply, kind, retryable) in cases {
            let mock = MockProvider::start().await.unwrap();
            mock.enqueue(reply);
            let error = agent(api, &mock, false).run("x").outcome().await.unwrap_err();
            let provider = error.provider_error().unwrap();
            assert_eq!(
                (provider.kind(), provider.is_retryable()),
                (kind, retryable),
                "{}: {provider:?}",
                api.name()
            );
            assert!(!format!("{error:?} {error}").contains("sk-canary"));
        }
        // Asked again after a failure that passes, before anything was shown.
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(Reply::error(503, "busy").retry_after(0));
        mock.enqueue(Reply::new().text("there"));
        assert_eq!(
            agent(api, &mock, false).run("x").outcome().await.unwrap().text,
            "there",
            "{}",
            api.name()
        );
        assert_eq!(mock.requests().len(), 2);
    }
}

// P08, anthropic.md 8, gemini.md 4, openai.md B.7, bedrock.md 5: reasoning goes back beside the calls that it led to,
// turn after turn; the strict mock refuses a request in which it is missing or changed
#[tokio::test]
async fn reasoning_goes_back_over_three_turns() {
    for api in APIS.into_iter().filter(|api| api.signs_reasoning()) {
        for whole in [false, true] {
            let mock = MockProvider::start().await.unwrap();
            for step in 0..3 {
                let call = Reply::new()
                    .signed_thinking(format!("Step {step}."), format!("c2lnbmF0dXJl{step}{step}{step}{step}"))
                    .text("Looking.")
                    .call(format!("call_{step}"), "contracts_find", json!({"tenant": format!("t{step}")}));
                mock.enqueue(call);
            }
            mock.enqueue(Reply::new().text("done"));
            let agent = Agent::builder(api.connected(mock.url(), api.reasoning()).unwrap())
                .tool(find_contract_tool())
                .streaming(!whole)
                .build()
                .unwrap();
            let outcome = agent.run("Find them all").outcome().await.unwrap();
            assert_eq!(outcome.text, "done", "{}: {:?}", api.name(), mock.violations());
            assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
            let last = mock.requests().last().unwrap().json().to_string();
            for step in 0..3 {
                let signature = format!("c2lnbmF0dXJl{step}{step}{step}{step}");
                assert!(last.contains(&signature), "{} at {step}: {last}", api.name());
            }
        }
    }
}

// Invariant 4 over a whole run: each request begins with the blocks of the one before
#[tokio::test]
async fn requests_grow_at_their_end() {
    for api in APIS {
        let mock = MockProvider::start().await.unwrap();
        for step in 0..6 {
            mock.enqueue(Reply::new().call(
                format!("call_{step}"),
                "contracts_find",
                json!({"tenant": format!("t{step}")}),
            ));
        }
        mock.enqueue(Reply::new().text("done"));
        agent(api, &mock, false).run("Find them all").outcome().await.unwrap();
        let bodies: Vec<_> = mock.requests().iter().map(|request| request.json().clone()).collect();
        for pair in bodies.windows(2) {
            let (before, after) = (api.blocks(&pair[0]), api.blocks(&pair[1]));
            assert!(after.starts_with(&before), "{}", api.name());
            assert_eq!(pair[0]["tools"], pair[1]["tools"]);
        }
        assert!(mock.violations().is_empty(), "{:?}", mock.violations());
    }
}

// A provider's support asks for the id of a request: each step's event has that of its own.
#[tokio::test]
async fn steps_tell_the_request_of_their_provider() {
    for (api, whole) in APIS.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let mock = MockProvider::start().await.unwrap();
        script(&mock);
        let mut run = agent(api, &mock, whole).run("Until when does Harbour Bakery rent?");
        let mut requests = Vec::new();
        while let Some(event) = run.next().await {
            if let EventKind::StepFinished { response, .. } = event.kind {
                requests.push(response.unwrap().request_id().map(str::to_owned));
            }
        }
        let wanted = match api {
            Api::Gemini | Api::Cohere | Api::Ollama => [None, None],
            _ => [Some("req_mock_0".to_owned()), Some("req_mock_1".to_owned())],
        };
        assert_eq!(requests, wanted, "{api:?}, whole: {whole}");
    }
}
