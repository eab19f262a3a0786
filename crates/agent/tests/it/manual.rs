//! A program that asks the model itself, with an agent's tools.

use std::sync::Arc;
use std::time::Duration;

use crate::common::kit::{counting, roles, told};
use crate::common::{Counter, Number, double};
use attache_agent::{
    Agent, AgentBuilder, CallVerdict, Catalog, EndReason, HookContext, HookError, Judgement, NoArguments,
    RunHook, Tools, chat_loop, tool_fn,
};
use attache_core::tool::{ToolSetError, ToolSpec};
use attache_core::{
    Approval, Arguments, AssistantMessage, BoxFuture, ChatRequest, ContentTree, Effect, Message,
    ModelSettings, Tool, ToolCall, ToolChoice, ToolContext, ToolDefinition, ToolError, ToolHandler,
    ToolResult, ToolSet,
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

/// The parts of a conversation that both loops have alike.
fn said(messages: &[Arc<Message>]) -> Vec<String> {
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
}

/// The conversation of the agent's loop and the reason for its end, which a loop by hand has, too.
async fn same_by_hand(
    turns: impl IntoIterator<Item = Turn> + Clone,
    build: impl Fn(AgentBuilder) -> AgentBuilder,
) -> (Vec<Arc<Message>>, EndReason) {
    let agent = |turns| build(Agent::builder(ScriptedModel::new(turns).unverified())).build().unwrap();
    let (automatic, reason) = match agent(turns.clone()).run("go").outcome().await {
        Ok(outcome) => (outcome.messages, outcome.reason),
        Err(error) => (error.partial().messages.clone(), error.reason().clone()),
    };
    let agent = agent(turns);
    let manager = agent.tool_manager().await.unwrap();
    let mut history = vec![Message::user("go").shared()];
    let ended = loop {
        let request = ChatRequest::new(history.clone()).with_tools(manager.tools());
        let reply = agent.model().complete(request).await.unwrap().message;
        if !reply.has_tool_calls() {
            history.push(Message::Assistant(reply).shared());
            break EndReason::Answer;
        }
        let round = manager.answer(reply).await;
        let ended = round.ended.clone();
        history.extend(round.messages());
        if let Some(reason) = ended {
            break reason;
        }
    };
    assert_eq!(roles(&history), roles(&automatic));
    assert_eq!(told(&history), told(&automatic));
    assert_eq!(said(&history), said(&automatic));
    assert_eq!(ended, reason);
    (history, reason)
}

// S18: the same history as that of the automatic loop
#[tokio::test]
async fn a_loop_by_hand_has_the_history_of_the_agents() {
    let calls = Counter::default();
    let fails =
        || tool_fn("fails", "", |_: NoArguments| Err::<(), _>(std::io::Error::other("canary").into()));
    let who = || tool_fn("who", "", |context: ToolContext| context.require::<&'static str>().copied());
    let build = |agent: AgentBuilder| {
        agent.tool(double(&calls)).tool(fails()).tool(who()).principal("ann").context("from the agent")
    };
    let (history, _) = same_by_hand(turns(), build).await;
    assert_eq!((told(&history)[0].as_str(), calls.get()), ("42", 2), "each loop makes it");

    // So many calls at once, and those that are cut.
    let many = (0..20).fold(Turn::empty(), |turn, n| turn.and_call("double", json!({"n": n})));
    let cut = Turn::call("double", json!({"n": 1})).and_call("double", r#"{"n": "#);
    let done = || Turn::text("done");
    let calls = Counter::default();
    let build = |agent: AgentBuilder| agent.tool(double(&calls));
    let (history, _) = same_by_hand([many, cut, done()], &build).await;
    assert!(told(&history)[16].starts_with("not executed: at most 16"), "{:?}", told(&history));
    assert_eq!(calls.get(), 32);
    let one = ModelSettings::new().with_parallel_tool_calls(false);
    let two = Turn::call("double", json!({"n": 1})).and_call("double", json!({"n": 2}));
    let (history, _) = same_by_hand([two, done()], |agent| build(agent).settings(one.clone())).await;
    assert!(told(&history)[1].starts_with("not executed: one call at a time"));

    // S17: a name that leads to a catalog
    let catalog = Catalog::of([Arc::new(double(&calls)) as Arc<dyn Tool>]).unwrap();
    let build = |agent: AgentBuilder| agent.fallback(catalog.clone());
    let turn = Turn::call("double", json!({"n": 4})).and_call("dubble", json!({"n": 4}));
    let (history, _) = same_by_hand([turn, done()], build).await;
    assert_eq!(told(&history)[0], "8");
}

// S05, S23: and it ends where the agent's ends
#[tokio::test]
async fn a_loop_by_hand_ends_where_the_agents_ends() {
    let says = |name: &'static str| tool_fn(name, "", move |_: NoArguments| Ok(name));
    let ends = |history: &[Arc<Message>]| match &**history.last().unwrap() {
        Message::Assistant(reply) => reply.text(),
        _ => String::new(),
    };
    let build = |agent: AgentBuilder| {
        let finish = says("finish").with_spec(|spec| spec.with_finish(true));
        let direct = says("direct").with_spec(|spec| spec.with_return_direct(true));
        let aborts = tool_fn("aborts", "", |_: NoArguments| Err::<(), _>(ToolError::abort("stop")));
        let hangs =
            |name| tool_fn(name, "", |_: NoArguments| std::future::pending::<Result<(), ToolError>>());
        let reads = hangs("reads").with_effect(Effect::Read);
        agent.tool(finish).tool(direct).tool(aborts).tool(hangs("pays")).tool(reads).tool(says("plain"))
    };
    let turn = Turn::call("plain", "{}").and_call("finish", "{}");
    let (history, reason) = same_by_hand([turn], build).await;
    assert_eq!((ends(&history).as_str(), reason), ("finish", EndReason::FinishTool));
    let (history, reason) = same_by_hand([Turn::call("direct", "{}")], build).await;
    assert_eq!((ends(&history).as_str(), reason), ("direct", EndReason::ReturnDirect));
    // The others are stopped: their results say if something of them may have happened.
    let turn =
        Turn::call("pays", "{}").and_call("reads", "{}").and_call("plain", "{}").and_call("aborts", "{}");
    let (history, reason) = same_by_hand([turn], build).await;
    let unknown = crate::common::kit::UNKNOWN;
    let [pays, reads, plain, aborts] = &told(&history)[..] else { panic!("{:?}", told(&history)) };
    assert_eq!((&**pays, &**plain, &**aborts, reason), (unknown, "plain", "stop", EndReason::ToolAbort));
    assert_eq!(reads, "Tool execution was canceled.");

    let fails = || tool_fn("fails", "", |_: NoArguments| Err::<(), _>(ToolError::new("no")));
    let build = |agent: AgentBuilder| agent.tool(fails()).abort_on_tool_error(true);
    let (_, reason) = same_by_hand([Turn::call("fails", "{}")], build).await;
    assert_eq!(reason, EndReason::ToolAbort);
    let build = |agent: AgentBuilder| agent.tool(fails()).tool_refusal(|_| Some(ToolError::abort("enough")));
    let (history, reason) = same_by_hand([Turn::call("what", "{}")], build).await;
    assert_eq!((told(&history), reason), (vec!["enough".to_owned()], EndReason::ToolAbort));
}

/// A hook with a verdict for each tool, and another result for each that tells a secret. It counts how often it is asked.
#[derive(Clone, Default)]
struct Guard(Counter);

impl RunHook for Guard {
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        self.0.add();
        let verdict = match &*call.name {
            "pay" if context.principal.is_none() => CallVerdict::Deny("log in first".to_owned()),
            "double" => CallVerdict::Rewrite(json!({"n": 5})),
            "unfit" => CallVerdict::Rewrite(json!({"n": "five"})),
            "made_up" => CallVerdict::Replace("nothing".to_owned()),
            "trips" => CallVerdict::Trip("enough".to_owned()),
            _ => CallVerdict::Run,
        };
        Box::pin(std::future::ready(Ok(verdict)))
    }

    fn after_tool<'a>(
        &'a self,
        _: &'a ToolCall,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        if result.tree.model_text().contains("secret") {
            result.tree = ContentTree::text("withheld");
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn hooks_hold_for_calls_by_hand() {
    let made = Counter::default();
    let build = |agent: AgentBuilder| {
        let of = |name| counting(name, Effect::SideEffect, &made);
        let tells = tool_fn("tells", "", |_: NoArguments| Ok("a secret"));
        let agent = agent.tool(of("pay")).tool(of("unfit")).tool(of("made_up")).tool(of("trips"));
        agent.tool(tells).tool(double(&Counter::default())).hook(Guard::default())
    };
    let n = || json!({"n": 2});
    let turn = Turn::call("pay", n()).and_call("double", n()).and_call("unfit", n());
    let turn = turn.and_call("made_up", n()).and_call("tells", "{}");
    let (history, _) = same_by_hand([turn, Turn::text("done")], build).await;
    let [pay, double, unfit, made_up, tells] = &told(&history)[..] else { panic!("{:?}", told(&history)) };
    assert_eq!((&**pay, &**made_up, &**tells), ("log in first", "nothing", "withheld"));
    assert!(double.contains("10") && unfit.contains("do not fit"), "{double} {unfit}");
    let turn = Turn::call("tells", "{}").and_call("trips", n());
    let (_, reason) = same_by_hand([turn], build).await;
    assert_eq!((reason, made.get()), (EndReason::GuardrailTripped, 0));
}

// A call that is judged and then made is one for the hooks.
#[tokio::test]
async fn hooks_are_asked_once_about_a_call_that_is_judged_and_made() {
    let (paid, guard) = (Counter::default(), Guard::default());
    let agent = Agent::builder(ScriptedModel::new([])).tool(counting("pay", Effect::SideEffect, &paid));
    let manager =
        agent.tool(double(&paid)).hook(guard.clone()).build().unwrap().tool_manager().await.unwrap();
    let call = |name| ToolCall::new(name, Arguments::new(r#"{"n":2}"#));
    let denied = manager.run(&call("pay"), ToolContext::new()).await;
    assert_eq!((&*denied.tree.model_text(), paid.get()), ("log in first", 0));
    let Judgement::Refused(denied) = manager.judge(&call("pay"), ToolContext::new()).await else { panic!() };
    assert_eq!((&*denied.tree.model_text(), guard.0.get()), ("log in first", 2));
    let Judgement::Run(judged) = manager.judge(&call("double"), ToolContext::new()).await else { panic!() };
    assert_eq!(judged.call().arguments.raw(), r#"{"n":5}"#);
    let result = manager.attempt(judged, ToolContext::new()).await.unwrap();
    assert!(result.tree.model_text().contains("10"), "{result:?}");
    assert_eq!((guard.0.get(), paid.get()), (3, 1));
}

// The model learns with which arguments its call was made, also where the program makes it.
#[tokio::test]
async fn a_result_of_the_program_says_that_a_hook_changed_the_arguments() {
    let tools = Tools::new().with_external(ToolDefinition::new("double", "", json!({"type": "object"})));
    let agent = Agent::builder(ScriptedModel::new([])).tool_set(tools).hook(Guard::default());
    let manager = agent.build().unwrap().tool_manager().await.unwrap();
    let mut round = manager.answer(calling(&[("double", json!({"n": 2}))])).await;
    let call = round.pending[0].clone();
    assert_eq!(call.arguments.raw(), r#"{"n":5}"#);
    // A result that takes the place of another says it, too.
    for said in ["ten", "10"] {
        round.submit(ToolResult::ok(&call, said));
        let [result] = &round.results[..] else { panic!("{:?}", round.results) };
        let told = result.tree.model_text().into_owned();
        assert!(told.contains(r#""arguments":{"n":5}"#) && told.contains(said), "{told}");
    }
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
    let slow = || {
        tool_fn("slow", "", |Number { n }: Number| async move {
            tokio::time::sleep(Duration::from_secs(n.unsigned_abs())).await;
            if n == 2 {
                panic!("canary")
            }
            if n == 3 { Err(ToolError::new("three")) } else { Ok(n) }
        })
    };
    let agent = Agent::builder(ScriptedModel::new([])).tool(slow()).tool_timeout(Duration::from_secs(20));
    let manager = agent.build().unwrap().tool_manager().await.unwrap();
    let numbers = [9, 1, 2, 3, 60, 4, 5];
    let numbered = |n: i64| ("slow", json!({"n": n}));
    let reply = calling(&numbers.map(numbered));
    let start = tokio::time::Instant::now();
    let round = manager.answer(reply).await;
    assert_eq!(start.elapsed(), Duration::from_secs(20), "as long as the slowest may take");
    let texts: Vec<_> = round.results.iter().map(|result| result.tree.model_text().into_owned()).collect();
    let unknown = crate::common::kit::UNKNOWN;
    let panicked = format!("the tool failed unexpectedly; {unknown}");
    let late = format!("timed out after 20 s; {unknown}");
    assert_eq!(texts, ["9", "1", &panicked, "three", &late, "4", "5"]);
    // One that takes long holds up no other.
    let manager = Agent::builder(ScriptedModel::new([])).tool(slow()).build().unwrap().tool_manager().await;
    let start = tokio::time::Instant::now();
    let round = manager.unwrap().answer(calling(&[50, 1, 1, 1, 1, 1, 1, 1, 1].map(numbered))).await;
    assert_eq!((start.elapsed(), round.results.len()), (Duration::from_secs(50), 9));
    assert_eq!(round.results[0].tree.model_text(), "50");
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
    assert_eq!(told(&round.clone().messages().collect::<Vec<_>>()), ["yes", "42"]);
    assert_eq!((&round.ended, &round.answer), (&None, &None), "not all of them are answers");
    // A result that takes the place of another counts.
    let mut round = manager.answer(calling(&[("direct", json!({}))])).await;
    assert_eq!(round.ended, Some(EndReason::ReturnDirect));
    let result = ToolResult::error(round.reply.tool_calls().next().unwrap(), "no");
    round.submit(result);
    assert_eq!((round.ended, round.answer), (None, None));
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
