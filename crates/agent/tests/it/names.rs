//! Tool names that a model writes differently than they were offered.

use attache_agent::{
    Agent, BuildError, EndReason, EventKind, LoopEvent, NoArguments, Outcome, RunInput, ToolsError,
    chat_loop, tool_fn,
};
use attache_core::{Message, ToolDefinition, ToolError, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

/// The names of the calls, and of the tools that the results name, in order.
fn names(outcome: &Outcome) -> Vec<String> {
    let names = outcome.messages.iter().flat_map(|message| match &**message {
        Message::Assistant(message) => message.tool_calls().map(|call| call.name.clone()).collect(),
        Message::ToolResults(message) => {
            message.results.iter().filter_map(|result| result.tool_name.clone()).collect()
        }
        _ => Vec::new(),
    });
    names.collect()
}

// runtime.md 32 #11: what is forgiven is the tool, also where the caller answers it
#[tokio::test]
async fn a_forgiven_name_is_the_name_of_the_tool() {
    let schema = json!({"type": "object", "properties": {}});
    let lookup = ToolDefinition::new("lookup", "", schema);
    let turn = Turn::call("functions.Lookup", "{}").and_call("LOOKUP", "{}").and_call("nothing", "{}");
    let model = ScriptedModel::new([turn, Turn::text("done")]).unverified();
    let mut chat = chat_loop(model.clone(), [Message::user("go").shared()], [lookup]).unwrap();
    let (mut streamed, mut end) = (Vec::new(), None);
    while let Some(event) = chat.next().await {
        match event.unwrap() {
            LoopEvent::ToolCallDelta { name: Some(name), .. } => streamed.push(name),
            LoopEvent::ToolCallsRequested { calls, .. } => {
                // Nobody can answer the third one; the loop tells the model so by itself.
                assert_eq!(calls.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["lookup", "lookup"]);
                chat.submit_tool_results(calls.iter().map(|call| ToolResult::ok(call, "x"))).await.unwrap();
            }
            LoopEvent::Done(done) => end = Some(done),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!((end.reason, &*end.content), (EndReason::Answer, "done"));
    assert_eq!(streamed, ["lookup", "lookup", "nothing"]);
    let Message::ToolResults(results) = &*model.requests()[1].messages[2] else { panic!() };
    let errors: Vec<_> = results.results.iter().map(ToolResult::is_error).collect();
    assert_eq!(errors, [false, false, true]);
    let Message::Assistant(said) = &*model.requests()[1].messages[1] else { panic!() };
    let sent: Vec<_> = said.tool_calls().map(|call| &*call.name).collect();
    assert_eq!(sent, ["lookup", "lookup", "nothing"], "the model reads the names that it was offered");
}

// The name on the wire with a prefix is forgiven too, and with the channel of gpt-oss behind it (openai.md D 69), and
// what the tool is for holds.
#[tokio::test]
async fn what_a_tool_is_holds_under_a_forgiven_name() {
    for called in [
        "shop.total",
        "shop_total",
        "functions.shop_total",
        "Shop_Total",
        "default_api.shop.total",
        "shop_total<|channel|>commentary",
        "functions.shop_total<|channel|>json",
    ] {
        let total = tool_fn("shop.total", "", |_: NoArguments| async { Ok::<_, ToolError>("42") })
            .with_spec(|spec| spec.with_return_direct(true));
        let agent = Agent::builder(ScriptedModel::new([Turn::call(called, "{}")]).unverified())
            .tool(total)
            .build()
            .unwrap();
        let mut run = agent.run(RunInput::from("go"));
        let mut outcome = None;
        while let Some(event) = run.next().await {
            match event.kind {
                EventKind::ToolStarted { call } => assert_eq!(call.name, "shop.total", "{called}"),
                EventKind::Finished(end) => outcome = end.ok(),
                _ => {}
            }
        }
        let outcome = outcome.unwrap();
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::ReturnDirect, "42"), "{called}");
        assert_eq!(names(&outcome), ["shop.total", "shop.total"]);
    }
}

/// Takes what has no names.
#[attache_macros::tool]
fn nameless(#[arg(flat)] words: Vec<String>) -> usize {
    words.len()
}

// S01: tools that no model could call are refused before anything is sent
#[test]
fn a_tool_that_cannot_be_offered_is_refused() {
    let agent = Agent::builder(ScriptedModel::new([])).tools([std::sync::Arc::new(nameless_tool()) as _]);
    let error = agent.build().unwrap_err();
    assert!(
        matches!(&error, BuildError::Tools(ToolsError::Unusable { name, .. }) if name == "nameless"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_tool_of_a_schema_from_elsewhere_gets_calls_that_fit_it_alone() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let definition = attache_core::ToolDefinition::new("weather", "", schema);
    let weather = attache_agent::FunctionTool::from_schema(
        definition,
        |arguments: serde_json::Map<String, serde_json::Value>| {
            Ok::<_, ToolError>(format!("It rains in {}.", arguments["city"].as_str().unwrap()))
        },
    );
    let calls = Turn::call("weather", json!({"city": "Oslo"})).and_call("weather", json!({"town": "Oslo"}));
    let model = ScriptedModel::new([calls, Turn::text("done")]);
    let agent = Agent::builder(model).tool(weather).build().unwrap();
    let told = crate::common::kit::told(&agent.run("go").outcome().await.unwrap().messages);
    assert_eq!(told[0], "It rains in Oslo.");
    assert!(told[1].contains("`city` is missing"), "{}", told[1]);
}
