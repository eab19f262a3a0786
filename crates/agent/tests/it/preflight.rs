//! Checks before anything runs: schemas, arguments, declared media, histories.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{
    Agent, BuildError, EndReason, EventKind, HistoryPolicy, LoopEvent, NoArguments, RunInput, Tools,
    ToolsError, chat_loop, tool_fn,
};
use attache_core::provider::ProviderState;
use attache_core::repair::RepairKind;
use attache_core::tool::{SchemaLoosening, SchemaRefusal, SchemaReport, ToolSpec};
use attache_core::{
    Arguments, AssistantMessage, BoxFuture, Capture, ChatRequest, ChunkStream, Document, LlmProvider,
    Message, ModelCapabilities, ModelSettings, Role, Tool, ToolCall, ToolContext, ToolDefinition, ToolError,
    ToolHandler, ToolOutput, ToolResult, ToolSet,
};
use attache_macros::tool;
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Map, Value, json};

/// A tool of a schema written by hand, which counts its calls.
struct Raw(ToolSpec, Arc<AtomicUsize>);

impl Raw {
    fn new(name: &str, schema: Value) -> (Self, Arc<AtomicUsize>) {
        let calls = Arc::new(AtomicUsize::new(0));
        (Self(ToolSpec::new(ToolDefinition::new(name, "", schema)), Arc::clone(&calls)), calls)
    }
}

impl Tool for Raw {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: Map<String, Value>, _: ToolContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(ToolOutput::new(Capture::new().finish(&"ran")?)) })
    }
}

/// A scripted model that has something to say of tools: none named `odd`, and no `pattern`.
#[derive(Clone)]
struct Picky(ScriptedModel);

impl LlmProvider for Picky {
    fn model_id(&self) -> &str {
        self.0.model_id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.0.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        LlmProvider::settings(&self.0)
    }

    fn set_settings(&self, config: ModelSettings) {
        LlmProvider::set_settings(&self.0, config);
    }

    fn state(&self) -> ProviderState {
        LlmProvider::state(&self.0)
    }

    fn check_tools(&self, tools: &ToolSet, _: &ModelSettings) -> SchemaReport {
        assert!(tools.is_validated(), "the loop holds calls against the whole schemas");
        let mut check = SchemaReport::new();
        for (_, definition) in tools.iter() {
            if definition.name() == "odd" {
                check.refused.push(SchemaRefusal::new("odd".to_owned(), "it is odd"));
            }
            if definition.input_schema().to_string().contains("pattern") {
                check.loosened.push(SchemaLoosening::new(
                    definition.name(),
                    "/properties/code",
                    "pattern",
                    "not told",
                ));
            }
        }
        check
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.0.stream(request)
    }
}

fn code_schema() -> Value {
    json!({"type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}, "n": {"type": "integer", "multipleOf": 5}},
        "required": ["code"], "additionalProperties": false})
}

/// The texts of the results that the model read in its request `at`.
fn read(model: &ScriptedModel, at: usize) -> Vec<(bool, String)> {
    let request = &model.requests()[at];
    let Some(Message::ToolResults(results)) = request.messages.last().map(|message| &**message) else {
        panic!("the request ends with results")
    };
    results.results.iter().map(|result| (result.is_error(), result.tree.model_text().into_owned())).collect()
}

// A83: the model is told which path and what was expected, and corrects itself; the tool does not run until then
#[tokio::test]
async fn a_call_that_does_not_fit_is_not_run() {
    let (tool, calls) = Raw::new("rate", code_schema());
    let model = ScriptedModel::new([
        Turn::call("rate", json!({"code": "euro", "n": 7, "more": 1})),
        Turn::call("rate", json!({"code": "EUR", "n": 10})),
        Turn::text("done"),
    ]);
    let agent = Agent::builder(model.clone()).tool(tool).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Answer);
    assert_eq!(
        read(&model, 1),
        [(true, "the arguments of rate do not fit: `code` must match the pattern ^[A-Z]{3}$, not \"euro\"; `n` must be a \
                 multiple of 5, not 7; `more` is not allowed; allowed: code, n".to_owned())]
    );
    assert_eq!(read(&model, 2), [(false, "ran".to_owned())]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

// A call whose caller answers: one that does not fit is answered by the loop, and the caller hears of the others only
#[tokio::test]
async fn a_call_that_the_caller_answers_is_checked_too() {
    let tools = [ToolDefinition::new("rate", "", code_schema())];
    let turn = Turn::call("rate", json!({"code": "euro"})).and_call("rate", json!({"code": "USD"}));
    let model = ScriptedModel::new([turn, Turn::call("rate", json!({})), Turn::text("done")]);
    let mut chat = chat_loop(model.clone(), [Message::user("go").shared()], tools).unwrap();
    let mut asked = Vec::new();
    while let Some(event) = chat.next().await {
        if let LoopEvent::ToolCallsRequested { calls, .. } = event.unwrap() {
            asked.extend(calls.iter().map(|call| call.arguments.raw().to_owned()));
            chat.submit_tool_results(calls.iter().map(|call| ToolResult::ok(call, "1.08"))).await.unwrap();
        }
    }
    assert_eq!(asked, [r#"{"code":"USD"}"#]);
    let first = read(&model, 1);
    assert!(first[0].0 && first[0].1.contains("`code` must match"), "{first:?}");
    assert_eq!(first[1], (false, "1.08".to_owned()));
    assert_eq!(
        read(&model, 2),
        [(
            true,
            "the arguments of rate do not fit: `code` is missing (a string); allowed: code, n".to_owned()
        )]
    );
}

#[derive(serde::Deserialize, attache_core::schemars::JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(transparent)]
struct Code(#[schemars(regex(pattern = "^[A-Z]{3}$"))] String);

/// Rates.
#[tool(effect = "read", produces = "application/pdf, image/*")]
async fn rate(codes: Vec<Code>, times: u32) -> String {
    let codes: Vec<String> = codes.into_iter().map(|code| code.0).collect();
    format!("{} × {times}", codes.join("+"))
}

// runtime.md 4: what is only written differently is mended first, then the rest of the schema holds
#[tokio::test]
async fn forgiving_tools_stay_forgiving() {
    let model = ScriptedModel::new([
        Turn::call("rate", json!({"codes": "EUR", "times": "3"}))
            .and_call("rate", json!({"codes": ["eur"], "times": 3})),
        Turn::text("done"),
    ]);
    let agent = Agent::builder(model.clone()).tool(rate_tool()).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    let told = read(&model, 1);
    assert_eq!(told[0], (false, "EUR × 3".to_owned()));
    assert!(told[1].0 && told[1].1.contains("`codes[0]` must match the pattern"), "{told:?}");
}

// Declared media are data of the tool
#[test]
fn produced_media_are_declared() {
    assert_eq!(rate_tool().spec().metadata.produces, ["application/pdf", "image/*"]);
    let scan = tool_fn("scan", "", |_: NoArguments| async { Ok::<_, ToolError>(Document::inline("x")) })
        .with_produces(["image/tiff", "application/pdf"]);
    let model = ScriptedModel::new([]).with_capabilities_of("openai-chat", "gpt-4o");
    let agent = Agent::builder(model).tool(scan).tool(rate_tool()).build().unwrap();
    let warnings: Vec<String> = agent.preflight().warnings().collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("tool `scan` returns image/tiff, which")
            && warnings[0].ends_with("and no converter reads it: the model will see a note"),
        "{warnings:?}"
    );
    assert!(agent.preflight().to_string().contains("it follows in a user message"));
}

#[test]
fn what_cannot_be_offered_fails_the_build() {
    let build = |name: &str, schema: Value| {
        let model = Picky(ScriptedModel::new([]));
        Agent::builder(model).tool(Raw::new(name, schema).0).build().map(|_| ()).unwrap_err()
    };
    for (schema, problem) in [
        (
            json!({"properties": {"a": "string"}}),
            "its schema cannot be read: /properties/a: a schema must be an object",
        ),
        (json!({"properties": {"a": {"$ref": "https://elsewhere/a"}}}), "is not in the schema"),
        (json!({"$ref": "#"}), "leads back to itself without end"),
        (json!({"type": "array"}), "its arguments are an object"),
    ] {
        let BuildError::Tools(error @ ToolsError::Unusable { .. }) = build("t", schema) else { panic!() };
        assert!(error.to_string().contains(problem), "{error}");
    }
    let BuildError::Tools(error @ ToolsError::Refused { .. }) = build("odd", json!({})) else { panic!() };
    assert!(error.to_string().ends_with("cannot be offered the tools: tool `odd`: it is odd"), "{error}");
}

// Invariant 12: what is loosened is told
#[test]
fn what_is_loosened_is_reported() {
    let (tool, _) = Raw::new("rate", code_schema());
    let agent = Agent::builder(Picky(ScriptedModel::new([]))).tool(tool).build().unwrap();
    assert_eq!(
        agent.preflight().loosened,
        [SchemaLoosening::new("rate", "/properties/code", "pattern", "not told")]
    );
    assert_eq!(agent.preflight().to_string(), "tool `rate`: pattern at /properties/code: not told");
}

/// A family of whatever tools.
struct Family(Vec<ToolSpec>);

impl ToolHandler for Family {
    type Output = String;

    fn name(&self) -> &str {
        "mcp:odd"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(self.0.clone())
    }

    async fn call(&self, tool: &str, _: &Arguments, _: ToolContext) -> Result<String, ToolError> {
        Ok(tool.to_owned())
    }
}

// S29 and anthropic.md (a) 15: one odd tool of a server does not take the others away
#[tokio::test]
async fn odd_tools_of_a_family_are_left_out() {
    let spec = |name: &str, schema: Value| ToolSpec::new(ToolDefinition::new(name, "", schema));
    let family = Family(vec![
        spec("rate", code_schema()).with_produces(["image/tiff"]),
        spec("odd", json!({})),
        spec("broken", json!({"properties": {"a": {"type": "strng"}}})),
    ]);
    let model = ScriptedModel::new([Turn::call("rate", json!({"code": "x"})), Turn::text("done")]);
    let agent = Agent::builder(Picky(model.clone())).handler(family).build().unwrap();
    assert!(agent.preflight().is_clean(), "nobody was asked yet");
    let mut run = agent.run("go");
    let mut warnings = Vec::new();
    while let Some(event) = run.next().await {
        if let EventKind::Warning { code, message } = event.kind {
            warnings.push(format!("{code}: {message}"));
        }
    }
    assert_eq!(warnings.len(), 4, "{warnings:#?}");
    assert!(
        warnings[0].contains("\"broken\" of mcp:odd cannot be offered: its schema cannot be read"),
        "{warnings:#?}"
    );
    assert!(warnings[1].ends_with("cannot be offered the tools: tool `odd`: it is odd"), "{warnings:#?}");
    assert!(warnings[2].starts_with("preflight: tool `rate` returns image/tiff"), "{warnings:#?}");
    assert!(warnings[3].contains("does not hold calls to 1 keywords"), "{warnings:#?}");
    let offered: Vec<_> = model.requests()[0].tools.iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(offered, ["rate"]);
    assert!(read(&model, 1)[0].0, "calls of families are checked as well");
    let report = agent.preflight_all().await.unwrap();
    assert_eq!((report.left_out.len(), report.loosened.len(), report.media.len()), (1, 1, 1));
}

#[tokio::test]
async fn a_family_of_nothing_but_odd_tools_fails_the_run() {
    let family = Family(vec![ToolSpec::new(ToolDefinition::new("odd", "", json!({})))]);
    let agent = Agent::builder(Picky(ScriptedModel::new([])))
        .tool_set(Tools::new().with_handler(family))
        .build()
        .unwrap();
    assert!(matches!(agent.preflight_all().await, Err(ToolsError::Refused { .. })));
}

// runtime.md 18: an imported conversation is mended before it is sent, the log holds it so, and the run tells
#[tokio::test]
async fn imported_histories_are_mended_or_refused() {
    let asks = AssistantMessage::new([ToolCall::new("rate", Arguments::new("{}")).into()]);
    let history = [Message::assistant("Hello.").shared(), Message::Assistant(asks).shared()];
    let input = || RunInput::from("Go on.").with_history(history.clone());
    let model = ScriptedModel::new([Turn::text("done")]).unverified();
    let agent = Agent::builder(model.clone()).system("Be brief.").build().unwrap();
    let mut run = agent.run(input());
    let mut repairs = Vec::new();
    let mut outcome = None;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::HistoryRepaired(told) => repairs.extend(told),
            EventKind::Finished(end) => outcome = end.ok(),
            _ => {}
        }
    }
    let kinds: Vec<RepairKind> = repairs.iter().map(|repair| repair.kind).collect();
    assert_eq!(kinds, [RepairKind::MissingResult, RepairKind::BeginsWithAssistant]);
    let roles: Vec<Role> = model.requests()[0].messages.iter().map(|message| message.role()).collect();
    let expected =
        [Role::System, Role::User, Role::Assistant, Role::Assistant, Role::ToolResults, Role::User];
    assert_eq!(roles, expected);
    // The history that the run leaves behind is in order, so going on mends nothing.
    let messages = outcome.unwrap().messages;
    assert!(attache_core::repair::repair(&messages).repairs.is_empty());

    let model = ScriptedModel::new([Turn::text("done")]).unverified();
    let agent = Agent::builder(model.clone()).history_policy(HistoryPolicy::Refuse).build().unwrap();
    let error = agent.run(input()).outcome().await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("the history needs 2 repairs, the first: message 1"), "{cause}");
    assert!(model.requests().is_empty(), "nothing was sent");
}
