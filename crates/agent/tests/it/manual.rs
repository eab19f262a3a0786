//! A program that asks the model itself, with an agent's tools.

use std::sync::Arc;
use std::time::Duration;

use crate::common::kit::{roles, told};
use crate::common::{Counter, Number, double};
use attache_agent::{Agent, AgentBuilder, NoArguments, Tools, chat_loop, tool_fn};
use attache_core::tool::{ToolSetError, ToolSpec};
use attache_core::{
    Approval, Arguments, AssistantMessage, ChatRequest, Message, Tool, ToolCall, ToolChoice, ToolContext,
    ToolDefinition, ToolError, ToolHandler, ToolResult, ToolSet,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

fn turns() -> [Turn; 4] {
    [
        Turn::empty().and_text("let me see").and_call("Double", json!({"n": "21"})).and_call("fails", "{}"),
        Turn::call("double", json!({"m": 1})).and_call("nothing", "{}"),
        Turn::call("who", "{}"),
        Turn::text("done"),
    ]
}

fn builder(model: &ScriptedModel, calls: &Counter) -> AgentBuilder {
    let fails = tool_fn("fails", "", |_: NoArguments| Err::<(), _>(std::io::Error::other("canary").into()));
    let who = tool_fn("who", "", |context: ToolContext| context.require::<&'static str>().copied());
    let tools = Agent::builder(model.clone()).tool(double(calls)).tool(fails).tool(who);
    tools.principal("ann").context("from the agent")
}

// S18: the same history as that of the automatic loop
#[tokio::test]
async fn a_loop_by_hand_has_the_history_of_the_agents() {
    let calls = Counter::default();
    let model = ScriptedModel::new(turns()).unverified();
    let automatic = builder(&model, &calls).build().unwrap().run("go").outcome().await.unwrap();

    let model = ScriptedModel::new(turns()).unverified();
    let agent = builder(&model, &calls).build().unwrap();
    let manager = agent.tool_manager().await.unwrap();
    let mut history = vec![Message::user("go").shared()];
    loop {
        let request = ChatRequest::new(history.clone()).with_tools(manager.tools());
        let reply = agent.model().complete(request).await.unwrap().message;
        if !reply.has_tool_calls() {
            history.push(Message::Assistant(reply).shared());
            break;
        }
        history.extend(manager.answer(reply).await.messages());
    }
    assert_eq!(roles(&history), roles(&automatic.messages));
    assert_eq!(told(&history), told(&automatic.messages));
    assert_eq!(told(&history)[0], "42");
    let said = |messages: &[Arc<Message>]| -> Vec<String> {
        let of = |message: &Arc<Message>| match &**message {
            Message::Assistant(reply) => {
                let calls = reply.tool_calls().map(|call| format!("{} {}", call.name, call.arguments.raw()));
                Some(format!("{} {:?}", reply.text(), calls.collect::<Vec<_>>()))
            }
            Message::ToolResults(results) => {
                let of = |result: &ToolResult| (result.tool_name.clone(), result.status);
                Some(format!("{:?}", results.results.iter().map(of).collect::<Vec<_>>()))
            }
            _ => None,
        };
        messages.iter().filter_map(of).collect()
    };
    assert_eq!(said(&history), said(&automatic.messages));
    assert_eq!(calls.get(), 2);
}

fn calling(calls: &[(&str, serde_json::Value)]) -> AssistantMessage {
    let part = |(name, arguments): &(&str, serde_json::Value)| {
        ToolCall::new(*name, Arguments::new(arguments.to_string())).into()
    };
    AssistantMessage::new(calls.iter().map(part))
}

// P34: side by side, results in call order, and a failure is that of its call
#[tokio::test(start_paused = true)]
async fn calls_by_hand_run_side_by_side() {
    let slow = tool_fn("slow", "", |Number { n }: Number| async move {
        tokio::time::sleep(Duration::from_secs(n.unsigned_abs())).await;
        if n == 2 {
            panic!("canary")
        }
        if n == 3 { Err(ToolError::new("three")) } else { Ok(n) }
    });
    let agent = Agent::builder(ScriptedModel::new([])).tool(slow).tool_timeout(Duration::from_secs(20));
    let manager = agent.build().unwrap().tool_manager().await.unwrap();
    let numbers = [9, 1, 2, 3, 60, 4, 5];
    let reply = calling(&numbers.map(|n| ("slow", json!({"n": n}))));
    let start = tokio::time::Instant::now();
    let round = manager.answer(reply).await;
    assert_eq!(start.elapsed(), Duration::from_secs(20), "as long as the slowest may take");
    let texts: Vec<_> = round.results.iter().map(|result| result.tree.model_text().into_owned()).collect();
    let unknown = crate::common::kit::UNKNOWN;
    let panicked = format!("the tool failed unexpectedly; {unknown}");
    let late = format!("timed out after 20 s; {unknown}");
    assert_eq!(texts, ["9", "1", &panicked, "three", &late, "4", "5"]);
}

#[tokio::test]
async fn calls_by_hand_know_direct_answers_and_calls_for_the_caller() {
    let direct = tool_fn("direct", "", || Ok("42")).with_spec(|spec| spec.with_return_direct(true));
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    let agent = Agent::builder(ScriptedModel::new([])).tool(direct).tool_set(Tools::new().with_external(ask));
    let manager = agent.build().unwrap().tool_manager().await.unwrap();
    let round = manager.answer(calling(&[("direct", json!({}))])).await;
    assert_eq!(round.answer.as_deref(), Some("42"));
    assert_eq!(roles(&round.messages().collect::<Vec<_>>()), "cra");
    let mut round = manager.answer(calling(&[("ask", json!({})), ("direct", json!({}))])).await;
    assert_eq!((round.pending.len(), round.results.len(), &round.answer), (1, 1, &None));
    let result = ToolResult::ok(&round.pending[0], "yes");
    round.submit(result);
    assert_eq!(told(&round.messages().collect::<Vec<_>>()), ["yes", "42"]);
}

// Nobody runs by mistake what somebody has to approve.
#[tokio::test]
async fn a_call_by_hand_that_needs_approval_is_run_for_a_caller_who_has_it() {
    let paid = Counter::default();
    let pay = double(&paid).with_metadata(|metadata| metadata.approval = Approval::Always);
    let agent = Agent::builder(ScriptedModel::new([])).tool(pay).build().unwrap();
    let manager = agent.tool_manager().await.unwrap();
    let mut round = manager.answer(calling(&[("double", json!({"n": 2}))])).await;
    assert!(round.results[0].is_error() && paid.get() == 0, "{:?}", round.results);
    let call = round.reply.tool_calls().next().unwrap().clone();
    round.submit(manager.run(&call, ToolContext::new()).await);
    assert_eq!((told(&round.messages().collect::<Vec<_>>()), paid.get()), (vec!["4".to_owned()], 1));
}

// S19, S30: a model alone is sent definitions and gives calls back; names are unique for it as for an agent
#[tokio::test]
async fn a_model_alone_gives_calls_back_and_runs_none() {
    let calls = Counter::default();
    let tool = double(&calls);
    let definition = tool.spec().definition.clone();
    let tools = ToolSet::new([definition.clone()]).unwrap();
    let model = ScriptedModel::new([Turn::call("double", json!({"n": 2}))]);
    let handle = attache_core::ModelHandle::from(model.clone());
    let request = ChatRequest::new([Message::user("x").shared()]).with_tools(tools);
    let reply = handle.complete(request.with_tool_choice(ToolChoice::Required)).await.unwrap();
    assert_eq!(reply.message.tool_calls().count(), 1);
    assert_eq!(model.requests()[0].tools.len(), 1);
    assert_eq!(calls.get(), 0);
    let twice = ToolSet::new([definition.clone(), definition.clone()]);
    assert_eq!(twice.unwrap_err(), ToolSetError::Duplicate { name: "double".to_owned() });
    assert!(chat_loop(model, [Message::user("x").shared()], [definition.clone(), definition]).is_err());
    let agent = Agent::builder(ScriptedModel::new([])).tool(double(&calls)).tool(double(&calls));
    assert!(agent.build().is_err());
}

#[tokio::test]
async fn a_call_by_hand_of_a_name_on_the_wire_reaches_the_tool_of_a_family() {
    struct Files;
    impl ToolHandler for Files {
        type Output = String;

        fn name(&self) -> &'static str {
            "files"
        }

        async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
            Ok(vec![ToolSpec::new(ToolDefinition::new("files.list", "", json!({})))])
        }

        async fn call(&self, tool: &str, _: &Arguments, _: ToolContext) -> Result<String, ToolError> {
            Ok(tool.to_owned())
        }
    }
    let agent = Agent::builder(ScriptedModel::new([])).handler(Files).build().unwrap();
    let manager = agent.tool_manager().await.unwrap();
    let call = ToolCall::new("files_list", Arguments::new("{}"));
    let result = manager.run(&call, ToolContext::new()).await;
    assert_eq!(result.tree.model_text(), "files.list");
}
