//! Content: off unless it is switched on, and then as it is redacted.

use std::sync::Arc;

use attache_agent::{Agent, Decision, MemoryJournal, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{
    ChatRequest, Document, ErrorKind, Message, ModelHandle, ModelSettings, ToolContext, ToolError,
    UserMessage, UserPart,
};
use attache_otel::{Content, ContentField};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Value, json};

use crate::kit::{Recorder, attribute, text};

/// Every text of the run has this word in it.
const CANARY: &str = "canary";

#[derive(serde::Deserialize, JsonSchema)]
struct Secret {
    /// A canary.
    #[allow(dead_code, reason = "the model writes it")]
    text: String,
}

/// The context that a tool is given beside its arguments.
struct Password(&'static str);

fn canary(what: &str) -> String {
    format!("{CANARY} {what}")
}

/// A run in which everything holds the canary: instructions, question, document, reasoning, reply, arguments, result, an
/// error of a tool, a denial and the context.
async fn run(recorder: &Recorder) {
    let works = tool_fn("works", "Works", |Secret { text: _ }: Secret, context: ToolContext| async move {
        assert_eq!(context.extensions.get::<Password>().unwrap().0, "canary password");
        let file = Document::inline(canary("document")).with_file_name("a.txt");
        Ok::<_, ToolError>(json!({"found": canary("result"), "file": file}))
    });
    let fails = tool_fn("fails", "Fails", |_: Secret| async {
        Err::<u8, _>(ToolError::new(canary("error")).with_source(std::io::Error::other(canary("cause"))))
    });
    let asks = tool_fn("asks", "Asks", |_: Secret| async { Ok::<_, ToolError>(1) })
        .with_approval(attache_core::Approval::Always);
    let arguments = || json!({"text": canary("argument")});
    let turns = [
        Turn::call("works", arguments()).and_thinking(&canary("reasoning")),
        Turn::call("fails", arguments()).and_call("nobody", arguments()),
        Turn::call("asks", arguments()),
        Turn::text(&canary("answer")),
    ];
    let settings = ModelSettings::new().with_system(canary("setting"));
    let agent = Agent::builder(ScriptedModel::new(turns).unverified())
        .observer(recorder.telemetry.clone())
        .system(canary("instructions"))
        .settings(settings)
        .context(Password("canary password"))
        .principal(canary("principal"))
        .tool(works)
        .tool(fails)
        .tool(asks)
        .build()
        .unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let parts = [UserPart::text(canary("question")), Document::inline(canary("attachment")).into()];
    let paused = agent.run_in(journal.clone(), UserMessage::new(parts)).outcome().await.unwrap();
    let denied = Decision::Deny(canary("denial"));
    agent
        .resume(journal)
        .decide(&paused.approvals[0].id, &canary("approver"), denied)
        .outcome()
        .await
        .unwrap();
    // Requests that fail.
    let model = ScriptedModel::new([Turn::text(&canary("half")).then_error(ErrorKind::Api)]).unverified();
    let model = recorder.telemetry.model(model);
    let request = ChatRequest::new([Message::user(canary("other question")).shared()]);
    assert!(model.complete(request).await.is_err());
}

/// Everything that was exported.
fn exported(recorder: &Recorder) -> String {
    let logs = recorder.logs.get_emitted_logs().unwrap();
    format!("{:?}{:?}{logs:?}", recorder.spans(), recorder.points())
}

// S24
#[tokio::test]
async fn no_content_and_no_secret_is_exported_by_default() {
    let recorder = Recorder::new();
    run(&recorder).await;
    let exported = exported(&recorder);
    // There is much to read.
    assert!(exported.contains("execute_tool works") && exported.contains("inference.operation.details"));
    let at = exported.find(CANARY);
    assert_eq!(at.map(|at| &exported[at.saturating_sub(300)..]), None);
}

// S24
#[tokio::test]
async fn content_is_exported_where_it_is_switched_on_but_never_what_tools_are_given_beside() {
    let mut recorder = Recorder::new();
    recorder.telemetry = recorder.telemetry.clone().with_content(Content::new());
    run(&recorder).await;
    let spans = recorder.spans();
    let chat = spans.iter().find(|span| span.name == "chat model").unwrap();
    let json = |name| serde_json::from_str::<Value>(&text(chat, name)).unwrap();
    assert_eq!(
        json("gen_ai.system_instructions"),
        json!([
            {"type": "text", "content": "canary setting"},
            {"type": "text", "content": "canary instructions"},
        ])
    );
    let input = json("gen_ai.input.messages");
    assert_eq!(input[0]["role"], "user");
    assert_eq!(input[0]["parts"][0], json!({"type": "text", "content": "canary question"}));
    assert_eq!(json("gen_ai.tool.definitions")[0]["name"], "works");
    let output = json("gen_ai.output.messages");
    assert_eq!((&output[0]["role"], &output[0]["finish_reason"]), (&json!("assistant"), &json!("tool_call")));
    let parts: Vec<_> =
        output[0]["parts"].as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(parts, ["tool_call", "reasoning"]);
    let call = &output[0]["parts"][0];
    assert_eq!((&call["name"], &call["arguments"]), (&json!("works"), &json!({"text": "canary argument"})));
    let tool = recorder.span("execute_tool works");
    assert_eq!(text(&tool, "gen_ai.tool.call.arguments"), r#"{"text":"canary argument"}"#);
    assert!(text(&tool, "gen_ai.tool.call.result").contains("canary result"));
    // Events have it in structure.
    let logs = recorder.logs.get_emitted_logs().unwrap();
    let details =
        logs.iter().find(|log| log.record.event_name() == Some("gen_ai.client.inference.operation.details"));
    let said = format!("{:?}", details.unwrap().record);
    assert!(said.contains("ListAny") && said.contains("canary argument"), "{said}");
    // The id of the trace stands beside it.
    assert_eq!(details.unwrap().record.trace_context().unwrap().span_id, chat.span_context.span_id());
    let exported = exported(&recorder);
    for never in ["canary password", "canary principal", "canary approver", "canary cause"] {
        assert!(!exported.contains(never), "{never}");
    }
}

// S24
#[tokio::test]
async fn content_is_redacted_before_it_is_exported() {
    let mut recorder = Recorder::new();
    let content = Content::new().with_redaction(|field, value| match field {
        ContentField::OutputMessages => None,
        _ => serde_json::from_str(&value.to_string().replace(CANARY, "***")).ok(),
    });
    recorder.telemetry = recorder.telemetry.clone().with_content(content);
    run(&recorder).await;
    assert!(!exported(&recorder).contains(CANARY));
    let chats: Vec<_> = recorder.spans().into_iter().filter(|span| span.name == "chat model").collect();
    assert!(text(&chats[0], "gen_ai.input.messages").contains("*** question"));
    assert!(chats.iter().all(|chat| attribute(chat, "gen_ai.output.messages").is_none()));
}

// S24
#[tokio::test]
async fn a_redaction_that_panics_exports_nothing_and_leaves_the_run_alone() {
    let mut recorder = Recorder::new();
    let content = Content::new().with_redaction(|_, _| panic!("a bug in a redaction"));
    recorder.telemetry = recorder.telemetry.clone().with_content(content);
    let model = ModelHandle::from(ScriptedModel::new([Turn::text(&canary("answer"))]).unverified());
    let agent = Agent::builder(model).observer(recorder.telemetry.clone()).build().unwrap();
    let outcome = agent.run(canary("question")).outcome().await.unwrap();
    assert_eq!(outcome.text, "canary answer");
    assert!(!exported(&recorder).contains(CANARY));
    assert_eq!(recorder.tree(), ["invoke_agent", "  chat model"]);
}
