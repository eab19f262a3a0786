//! Hooks and observers: what they may change, what is recorded of it, and what becomes of those that fail.

use std::sync::{Arc, Mutex};

use crate::common::kit::{all, counting, end, heard, holding, pdf, roles, told};
use crate::common::model::Says;
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, AgentBuilder, CallVerdict, Draft, EndReason, Event, EventKind, HookContext, HookError,
    InputVerdict, Limits, LogEvents, MemoryJournal, Outcome, OutputMode, ReplyVerdict, Run, RunHook,
    RunInput, TypedError, tool_fn,
};
use attache_core::message::MadeDocument;
use attache_core::schemars::{self, JsonSchema};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, BoxFuture, ContentTree, Effect, Message, ReasoningPart, Tool,
    ToolCall, ToolCallId, ToolResult, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

/// A typed answer.
#[derive(serde::Deserialize, JsonSchema)]
struct Answer {
    n: i64,
}

/// A hook whose verdicts are given by the test, and which counts how often each point asked it.
#[derive(Default, Clone)]
struct Scripted {
    input: Option<InputVerdict>,
    append: Option<&'static str>,
    reply: Option<ReplyVerdict>,
    call: Option<CallVerdict>,
    result: Option<&'static str>,
    /// The point at which it fails, and whether by a panic.
    fails: Option<(&'static str, bool)>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    fn at<T>(&self, point: &str, verdict: T) -> Result<T, HookError> {
        self.asked.lock().unwrap().push(point.to_owned());
        match self.fails {
            Some((fails, true)) if point.starts_with(fails) => panic!("a bug in a hook"),
            Some((fails, false)) if point.starts_with(fails) => {
                Err(HookError("the service is away".to_owned()))
            }
            _ => Ok(verdict),
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl RunHook for Scripted {
    fn on_input<'a>(
        &'a self,
        _: &'a [Arc<Message>],
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<InputVerdict, HookError>> {
        Box::pin(async { self.at("input", self.input.clone().unwrap_or(InputVerdict::Pass)) })
    }

    fn before_model<'a>(
        &'a self,
        draft: &'a mut Draft<'_>,
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        Box::pin(async move {
            if let Some(text) = self.append {
                draft.append(UserMessage::new([UserPart::text(format!("{text} {}", context.steps))]));
            }
            self.at(&format!("model/{}", context.steps + 1), ())
        })
    }

    fn after_model<'a>(
        &'a self,
        _: &'a AssistantMessage,
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        let verdict = self.reply.clone().filter(|_| context.steps == 0).unwrap_or(ReplyVerdict::Keep);
        Box::pin(async move { self.at(&format!("reply/{}", context.steps + 1), verdict) })
    }

    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        let verdict = self.call.clone().unwrap_or(CallVerdict::Run);
        Box::pin(async move { self.at(&format!("call/{}", call.arguments.raw()), verdict) })
    }

    fn after_tool<'a>(
        &'a self,
        _: &'a ToolCall,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        Box::pin(async move {
            if let Some(text) = self.result {
                result.tree = ContentTree::text(text);
                result.call_id = ToolCallId::parse("forged").unwrap();
            }
            self.at("result", ())
        })
    }

    fn at_end<'a>(&'a self, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _ = self.at(&format!("end/{}", outcome.reason), ());
        })
    }
}

fn pay(paid: &Counter) -> impl Tool + 'static {
    counting("pay", Effect::SideEffect, paid)
}

fn turns() -> Vec<Turn> {
    vec![Turn::call("pay", json!({"n": 7})), Turn::text("paid")]
}

fn agent(hook: &Scripted, paid: &Counter, turns: Vec<Turn>) -> (ScriptedModel, AgentBuilder) {
    let model = ScriptedModel::new(turns).unverified();
    (model.clone(), Agent::builder(model).tool(pay(paid)).hook(hook.clone()))
}

async fn run(hook: &Scripted, paid: &Counter, turns: Vec<Turn>) -> Outcome {
    agent(hook, paid, turns).1.build().unwrap().run("go").outcome().await.unwrap()
}

// R35
#[tokio::test]
async fn an_input_that_trips_reaches_neither_the_model_nor_a_tool() {
    let paid = Counter::default();
    let verdicts = [InputVerdict::Trip("no".to_owned()), InputVerdict::Block("Not here.".to_owned())];
    for verdict in verdicts {
        let blocks = matches!(verdict, InputVerdict::Block(_));
        let hook = Scripted { input: Some(verdict), ..Scripted::default() };
        let (model, builder) = agent(&hook, &paid, turns());
        let journal = Arc::new(MemoryJournal::new());
        let agent = builder.build().unwrap();
        for streamed in [true, false] {
            let mut run = match streamed {
                true => agent.run_in(journal.clone(), "go"),
                false => agent.resume(journal.clone()),
            };
            let outcome = end(&all(&mut run).await);
            let said = if blocks { ("Not here.", None) } else { ("", Some("no")) };
            assert_eq!(outcome.reason, EndReason::GuardrailTripped);
            assert_eq!((&*outcome.text, outcome.detail.as_deref()), said);
        }
        assert_eq!((model.requests().len(), paid.get()), (0, 0));
        assert_eq!(hook.asked(), ["input", "end/guardrail_tripped"], "and nothing is decided twice");
    }
    let rewritten = vec![Message::user("pay seven").shared()];
    let hook = Scripted { input: Some(InputVerdict::Rewrite(rewritten)), ..Scripted::default() };
    let (model, builder) = agent(&hook, &paid, vec![Turn::text("done")]);
    let outcome = builder.build().unwrap().run("go").outcome().await.unwrap();
    assert!(heard(&outcome.messages)[0].contains("pay seven"));
    assert!(heard(&model.requests()[0].messages)[0].contains("pay seven"));
}

#[tokio::test]
async fn what_a_hook_adds_stands_at_the_tail_and_stays() {
    let hook = Scripted { append: Some("remember"), ..Scripted::default() };
    let (model, builder) = agent(&hook, &Counter::default(), turns());
    let outcome = builder.build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!(roles(&outcome.messages), "uucrua");
    let requests = model.requests();
    let texts: Vec<Vec<String>> = requests.iter().map(|request| heard(&request.messages)).collect();
    assert!(texts[0][1].contains("remember 0") && texts[1][2].contains("remember 1"), "{texts:?}");
    // The messages that were sent stay the prefix of those that are sent next.
    assert_eq!(requests[0].messages[..], requests[1].messages[..2]);
}

#[tokio::test]
async fn a_reply_is_made_again_or_ends_the_run() {
    let paid = Counter::default();
    let retry =
        Scripted { reply: Some(ReplyVerdict::Retry("Do not pay yet.".to_owned())), ..Scripted::default() };
    let outcome = run(&retry, &paid, vec![Turn::call("pay", json!({"n": 7})), Turn::text("I waited")]).await;
    assert_eq!((&outcome.reason, &*outcome.text, paid.get()), (&EndReason::Answer, "I waited", 0));
    assert_eq!((roles(&outcome.messages), outcome.calls.len()), ("ucrea".to_owned(), 0));
    // An answer is made again as well.
    let outcome = run(&retry, &paid, vec![Turn::text("hasty"), Turn::text("better")]).await;
    assert_eq!(&*outcome.text, "better");
    // One that is not made again after all leaves nothing.
    let (_, builder) = agent(&retry, &paid, vec![Turn::text("hasty")]);
    let failed = builder.build().unwrap().run("go").outcome().await.unwrap_err();
    assert_eq!(&*failed.partial().text, "");
    let block =
        Scripted { reply: Some(ReplyVerdict::Block("I cannot say.".to_owned())), ..Scripted::default() };
    for first in [Turn::text("a secret"), Turn::call("pay", json!({"n": 7}))] {
        let outcome = run(&block, &paid, vec![first]).await;
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::GuardrailTripped, "I cannot say."));
        assert!(!format!("{:?}", outcome.messages).contains("a secret"));
        assert!(roles(&outcome.messages).ends_with('a'));
    }
    let trip = Scripted { reply: Some(ReplyVerdict::Trip("a leak".to_owned())), ..Scripted::default() };
    let outcome = run(&trip, &paid, turns()).await;
    assert_eq!((&outcome.reason, outcome.detail.as_deref()), (&EndReason::GuardrailTripped, Some("a leak")));
    assert_eq!((roles(&outcome.messages), paid.get()), ("ucr".to_owned(), 0));
    // The model is told once that the next step is the last one, and by the last message.
    let (model, builder) = agent(
        &retry,
        &paid,
        vec![Turn::call("pay", "{").finishing(attache_core::FinishReason::Length), Turn::text("said")],
    );
    builder.max_steps(2).build().unwrap().run("go").outcome().await.unwrap();
    let last = heard(&model.requests()[1].messages);
    assert_eq!(last.iter().filter(|text| text.contains("last step")).count(), 1, "{last:?}");
    assert!(last.last().unwrap().contains("last step"), "{last:?}");
    assert!(last.iter().any(|text| text.contains("Do not pay yet.")), "{last:?}");
    // At the last step nothing is asked again.
    let (_, builder) = agent(&retry, &paid, vec![Turn::text("last")]);
    let outcome = builder.max_steps(1).build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!(&*outcome.text, "last");
}

/// It wants each reply made again.
struct Again;

impl RunHook for Again {
    fn after_model<'a>(
        &'a self,
        _: &'a AssistantMessage,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        Box::pin(async { Ok(ReplyVerdict::Retry("Not yet.".to_owned())) })
    }
}

#[tokio::test]
async fn a_reply_of_the_last_step_is_not_made_again_where_it_calls_a_tool_that_ends_the_run() {
    let submit = tool_fn("submit", "", |Number { n }: Number| Ok(format!("delivered {n}")));
    let turns = (0..6).map(|n| Turn::call("submit", json!({"n": n})));
    let model = ScriptedModel::new(turns).unverified();
    let builder = Agent::builder(model.clone()).tool(submit.with_spec(|spec| spec.with_finish(true)));
    let agent = builder.hook(Again).max_steps(2).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::FinishTool, "delivered 1"));
    assert_eq!((model.requests().len(), outcome.calls.len()), (2, 1));
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
}

#[tokio::test]
async fn calls_of_a_reply_that_is_made_again_use_up_no_limit() {
    let paid = Counter::default();
    let retry =
        Scripted { reply: Some(ReplyVerdict::Retry("Do not pay yet.".to_owned())), ..Scripted::default() };
    let both = Turn::call("pay", json!({"n": 1})).and_call("pay", json!({"n": 2}));
    let (_, builder) = agent(&retry, &paid, vec![both.clone(), both, Turn::text("paid")]);
    let mut limits = Limits::default();
    (limits.max_calls_per_tool, limits.max_tool_calls) = (2, 3);
    let outcome = builder.limits(limits).build().unwrap().run("go").outcome().await.unwrap();
    let closed = "not executed: the reply is to be made again";
    assert_eq!(
        (told(&outcome.messages), paid.get()),
        ([closed, closed, "1", "2"].map(str::to_owned).to_vec(), 2)
    );
}

// An outcome tells the documents of the run's own replies, whatever was said before and in between.
#[tokio::test]
async fn documents_and_hidden_reasoning_of_replies_are_told_at_the_end() {
    let drawn = |name: &str| AssistantPart::Document(MadeDocument::new(pdf(name)));
    let text = |text: &str| AssistantPart::text(text).unwrap();
    let reply = |parts: Vec<AssistantPart>| AssistantMessage::new(parts.into_iter().map(Some));
    let call = ToolCall::new("pay", Arguments::new("{\"n\":7}"));
    let replies = || {
        let hidden = AssistantPart::Reasoning(ReasoningPart::redacted());
        [
            reply(vec![drawn("first.pdf"), AssistantPart::ToolCall(call.clone())]),
            reply(vec![hidden, text("done"), drawn("second.pdf")]),
        ]
    };
    let told = |outcome: &Outcome| -> Vec<String> {
        outcome.documents().map(|document| document.file_name().unwrap().to_owned()).collect()
    };
    let old = reply(vec![text("before"), drawn("old.pdf")]);
    let history = [Message::user("before").shared(), Message::Assistant(old).shared()];
    let input = RunInput::from("go").with_history(history);
    let paid = Counter::default();
    let words = Scripted { append: Some("remember"), ..Scripted::default() };
    let agent = Agent::builder(Says::new(replies())).tool(pay(&paid)).hook(words).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let outcome = agent.run_in(journal.clone(), input).outcome().await.unwrap();
    assert_eq!(told(&outcome), ["first.pdf", "second.pdf"]);
    assert_eq!(outcome.hidden_reasoning().collect::<Vec<_>>(), [1]);
    assert_eq!(roles(&outcome.messages), "uauucrua");
    // Whoever leaves the history out knows them, too.
    let mut rest = outcome.clone();
    rest.messages.drain(..2);
    assert_eq!(told(&rest), ["first.pdf", "second.pdf"]);
    let next = RunInput::from("go on").with_history(outcome.messages.clone()).with_run_id("next");
    let agent = Agent::builder(Says::new(replies())).tool(pay(&paid)).system("You draw.").build().unwrap();
    let next = agent.run(next).outcome().await.unwrap();
    assert_eq!((told(&next).len(), next.hidden_reasoning().collect::<Vec<_>>()), (2, vec![1]));
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
    // A reply that is blocked takes its documents with it.
    let block =
        Scripted { reply: Some(ReplyVerdict::Block("I cannot say.".to_owned())), ..Scripted::default() };
    let agent = Agent::builder(Says::new(replies())).tool(pay(&paid)).hook(block).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((&*outcome.text, told(&outcome).len()), ("I cannot say.", 0));
}

// Whoever looks on has a document before the call beside it is asked about, and none of a reply that does not count.
#[tokio::test]
async fn a_document_of_a_reply_is_told_with_the_reply() {
    let turns =
        || [Turn::text("Here.").making(pdf("plan.pdf")).and_call("pay", json!({"n": 7})), Turn::text("done")];
    let blocks = ReplyVerdict::Block("I cannot say.".to_owned());
    for (reply, expected) in [
        (None, "started said made calls finished started said finished"),
        (Some(blocks), "started said withdrawn finished"),
    ] {
        let hook = Scripted { reply, ..Scripted::default() };
        let paid = Counter::default();
        let journal = Arc::new(MemoryJournal::new());
        let agent = agent(&hook, &paid, turns().to_vec()).1.build().unwrap();
        let events = all(&mut agent.run_in(journal.clone(), "go")).await;
        let word = |kind: &EventKind| match kind {
            EventKind::StepStarted { .. } => Some("started"),
            EventKind::Content(_) => Some("said"),
            EventKind::Made(made) => {
                Some(if made.file_name() == Some("plan.pdf") { "made" } else { "other" })
            }
            EventKind::ToolCallsRequested { .. } => Some("calls"),
            EventKind::ReplyWithdrawn { .. } => Some("withdrawn"),
            EventKind::StepFinished { .. } => Some("finished"),
            _ => None,
        };
        let told = |events: &[Event]| {
            let mut told: Vec<_> = events.iter().filter_map(|event| word(&event.kind)).collect();
            told.dedup();
            told.join(" ")
        };
        assert_eq!(told(&events), expected);
        let is_made = |event: &&Event| matches!(event.kind, EventKind::Made(_));
        assert!(events.iter().filter(is_made).all(|event| event.step == 0));
        if hook.reply.is_none() {
            let mut log = LogEvents::new();
            let told_by_log: Vec<_> =
                journal.entries().iter().flat_map(|entry| log.take(entry).unwrap()).collect();
            assert_eq!(told(&told_by_log), expected);
            assert!(told_by_log.iter().filter(is_made).all(|event| event.step == 0));
        }
    }
}

#[tokio::test]
async fn an_answer_that_a_hook_blocks_is_no_value() {
    let paid = Counter::default();
    let block =
        Scripted { reply: Some(ReplyVerdict::Block("I cannot say.".to_owned())), ..Scripted::default() };
    let value = json!({"n": 47110815});
    let cases = [
        (OutputMode::Prompted, Turn::text(&value.to_string())),
        // It is told that it does not fit.
        (OutputMode::Prompted, Turn::text(&json!({"m": 47110815}).to_string())),
        (OutputMode::Tool, Turn::call("final_answer", value)),
    ];
    for (mode, turn) in cases {
        let (_, builder) = agent(&block, &paid, vec![turn]);
        let run = builder.build().unwrap().run("go").typed::<Answer>().with_mode(mode);
        let blocked = run.await.map(|typed| typed.value.n).unwrap_err();
        assert!(matches!(blocked, TypedError::NoAnswer(_)), "{mode:?}");
        let outcome = blocked.outcome();
        assert_eq!((&outcome.reason, blocked.text()), (&EndReason::GuardrailTripped, "I cannot say."));
        assert!(!format!("{outcome:?}").contains("47110815"), "{mode:?}");
    }
}

#[tokio::test]
async fn a_call_is_denied_replaced_or_rewritten() {
    let paid = Counter::default();
    let cases = [
        (CallVerdict::Deny("too much".to_owned()), "too much", 0),
        (CallVerdict::Replace("paid before".to_owned()), "paid before", 0),
        (CallVerdict::Run, "7", 1),
    ];
    for (verdict, text, times) in cases {
        let before = paid.get();
        let hook = Scripted { call: Some(verdict), ..Scripted::default() };
        let outcome = run(&hook, &paid, turns()).await;
        assert_eq!((told(&outcome.messages), paid.get() - before), (vec![text.to_owned()], times));
    }
    // Other arguments are held against the schema, and the model is told.
    let hook = Scripted { call: Some(CallVerdict::Rewrite(json!({"n": 3}))), ..Scripted::default() };
    let said = told(&run(&hook, &paid, turns()).await.messages).remove(0);
    assert!(said.contains('3') && said.len() > 1, "{said}");
    let before = paid.get();
    let hook = Scripted { call: Some(CallVerdict::Rewrite(json!({"n": "all"}))), ..Scripted::default() };
    run(&hook, &paid, turns()).await;
    assert_eq!(paid.get(), before);
}

#[tokio::test]
async fn a_call_that_trips_ends_the_run_before_any_tool_starts() {
    let paid = Counter::default();
    let hook = Scripted { call: Some(CallVerdict::Trip("fraud".to_owned())), ..Scripted::default() };
    let both = Turn::call("pay", json!({"n": 1})).and_call("pay", json!({"n": 2}));
    let outcome = run(&hook, &paid, vec![both]).await;
    assert_eq!((&outcome.reason, outcome.detail.as_deref()), (&EndReason::GuardrailTripped, Some("fraud")));
    assert_eq!((paid.get(), roles(&outcome.messages)), (0, "ucr".to_owned()));
    assert!(outcome.unknown.is_empty());
}

#[tokio::test]
async fn a_result_is_changed_before_it_is_recorded_and_stays_that_of_its_call() {
    let hook = Scripted { result: Some("[redacted]"), ..Scripted::default() };
    let (journal, paid) = (Arc::new(MemoryJournal::new()), Counter::default());
    let (_, builder) = agent(&hook, &paid, turns());
    let outcome = builder.build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["[redacted]"]);
    assert_eq!(outcome.reason, EndReason::Answer);
    assert!(!format!("{:?}", journal.entries()).contains("forged"));
}

#[tokio::test]
async fn a_hook_that_fails_refuses_where_tools_have_effects() {
    for panics in [true, false] {
        let paid = Counter::default();
        let failing = |point| Scripted { fails: Some((point, panics)), ..Scripted::default() };
        let tripped = ["input", "model", "reply"];
        for point in tripped {
            let outcome = run(&failing(point), &paid, turns()).await;
            assert_eq!((&outcome.reason, paid.get()), (&EndReason::GuardrailTripped, 0), "{point}");
        }
        let outcome = run(&failing("call"), &paid, turns()).await;
        assert_eq!(told(&outcome.messages), ["not executed: a check could not be made"]);
        assert_eq!(paid.get(), 0);
        let outcome = run(&failing("result"), &paid, turns()).await;
        let withheld = "the tool was run, and its result is withheld: a check could not be made";
        assert_eq!((told(&outcome.messages), paid.get()), (vec![withheld.to_owned()], 1));
        // Where nothing can happen, the run goes on.
        for point in ["input", "model", "reply", "call", "result", "end"] {
            let look = tool_fn("look", "", |Number { n }: Number| Ok(n)).with_effect(Effect::Read);
            let model = ScriptedModel::new([Turn::call("look", json!({"n": 7})), Turn::text("seven")]);
            let agent = Agent::builder(model).tool(look).hook(failing(point)).build().unwrap();
            let outcome = agent.run("go").outcome().await.unwrap();
            assert_eq!((told(&outcome.messages), &*outcome.text), (vec!["7".to_owned()], "seven"), "{point}");
        }
    }
}

#[tokio::test]
async fn what_hooks_decided_is_not_decided_again_when_a_run_is_resumed() {
    let hook = || Scripted {
        append: Some("remember"),
        call: Some(CallVerdict::Rewrite(json!({"n": 3}))),
        ..Scripted::default()
    };
    let (first, journal, paid) = (hook(), Arc::new(MemoryJournal::new()), Counter::default());
    let (model, builder) = agent(&first, &paid, turns());
    let uncut = builder.build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(
        first.asked(),
        ["input", "model/1", "reply/1", r#"call/{"n":7}"#, "result", "model/2", "reply/2", "end/answer"]
    );
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let kept = &entries[..cut];
        let has = |key: &str| kept.iter().any(|entry| entry.key.as_str().starts_with(key));
        let asked = usize::from(has("model/1")) + usize::from(has("model/2"));
        let (again, paid) = (hook(), Counter::default());
        let (rest, builder) = agent(&again, &paid, turns().split_off(asked));
        let outcome = builder.build().unwrap().resume(holding(kept.to_vec())).outcome().await.unwrap();
        assert_eq!(outcome.reason, EndReason::Answer, "cut {cut}");
        let decided = again.asked();
        for (key, point) in [
            ("start", "input"),
            ("hook/model/1", "model/1"),
            ("hook/reply/1", "reply/1"),
            ("hook/call", "call"),
            ("tool/", "result"),
            ("hook/model/2", "model/2"),
            ("hook/reply/2", "reply/2"),
        ] {
            if has(key) {
                assert!(!decided.iter().any(|asked| asked.starts_with(point)), "cut {cut}: {point} again");
            }
        }
        // An effect that was begun and not told of is of unknown outcome; else the same is asked.
        if !has("begun/") || has("tool/") {
            assert_eq!(told(&outcome.messages), told(&uncut.messages), "cut {cut}");
            for (request, expected) in rest.requests().iter().zip(model.requests().iter().skip(asked)) {
                assert_eq!(heard(&request.messages), heard(&expected.messages), "cut {cut}");
            }
        }
    }
}

// A89
#[tokio::test]
async fn observers_see_each_event_and_one_that_panics_disturbs_nobody() {
    let model = ScriptedModel::new([Turn::call("pay", json!({"n": 7})), Turn::text("paid")]);
    let agent = Agent::builder(model).tool(pay(&Counter::default())).build().unwrap();
    let (seen, ends) = (Arc::new(Mutex::new(Vec::new())), Counter::default());
    let (sees, counts, broken) = (Arc::clone(&seen), ends.clone(), Counter::default());
    let breaks = broken.clone();
    let run = agent
        .run("go")
        .with_observer(move |_| {
            breaks.add();
            panic!("a bug in an observer")
        })
        .with_observer(move |event| sees.lock().unwrap().push(event.seq))
        .with_observer(move |event| {
            if matches!(event.kind, EventKind::Finished(_)) {
                counts.add();
            }
        });
    let mut run = run;
    let events = all(&mut run).await;
    assert_eq!(end(&events).reason, EndReason::Answer);
    assert_eq!(*seen.lock().unwrap(), events.iter().map(|event| event.seq).collect::<Vec<_>>());
    assert_eq!((ends.get(), broken.get()), (1, 1));
    // A failure is told once, too.
    let failed = Counter::default();
    let counts = failed.clone();
    let agent = Agent::builder(ScriptedModel::new([Turn::empty()])).build().unwrap();
    let run = agent.run("go").with_observer(move |event| {
        if let EventKind::Finished(Err(_)) = event.kind {
            counts.add();
        }
    });
    assert!(run.outcome().await.is_err());
    assert_eq!(failed.get(), 1);
}
