//! The end of a run at its limits: the model is told why, and answers without tools.

use std::sync::Arc;

use crate::common::Counter;
use crate::common::kit::{UNKNOWN, before, counting, holding, pdf, results, roles, told};
use attache_agent::{
    Agent, AgentBuilder, EndReason, EntryKind, EventKind, MemoryJournal, MessageWindow, NoArguments, Run,
    tool_fn,
};
use attache_core::{Effect, FinishReason, Message, ToolChoice, ToolError, Usage, UserPart};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

/// The text of the last message of a request.
fn last_said(model: &ScriptedModel) -> String {
    let request = model.requests().pop().unwrap();
    let Some(Message::User(user)) = request.messages.last().map(|message| (**message).clone()) else {
        panic!("{:?}", request.messages)
    };
    let [UserPart::Text(text)] = user.parts.as_slice() else { panic!("{user:?}") };
    text.text().to_owned()
}

#[tokio::test]
async fn the_model_is_told_which_limit_it_lands_at() {
    type Limit = fn(AgentBuilder) -> AgentBuilder;
    let cases: [(Limit, EndReason, &str); 4] = [
        (|builder| builder.max_steps(3), EndReason::MaxSteps, "This is the last step of this run."),
        (
            |builder| builder.max_tokens_per_run(65),
            EndReason::TokenLimit,
            "The token limit of this run is reached.",
        ),
        (
            |builder| builder.max_tool_calls(2),
            EndReason::ToolCallLimit,
            "The limit of tool calls of this run is reached.",
        ),
        (|builder| builder, EndReason::NoProgress, "The same call was repeated without progress."),
    ];
    for (limit, reason, why) in cases {
        let is_stuck = reason == EndReason::NoProgress;
        let cost = Usage::new(20, 10);
        let calls = (0..if is_stuck { 5 } else { 2 })
            .map(|n| Turn::call("look", json!({"n": if is_stuck { 0 } else { n }})).costing(cost.clone()));
        let model = ScriptedModel::new(calls.chain([Turn::text("so far")]));
        let look =
            tool_fn("look", "", move |crate::common::Number { n }: crate::common::Number| async move {
                if is_stuck { Err(ToolError::new("it is closed")) } else { Ok(n) }
            });
        let agent =
            limit(Agent::builder(model.clone()).tool(look.with_effect(Effect::Read))).build().unwrap();
        let outcome = agent.run("go").outcome().await.unwrap();
        assert_eq!((&outcome.reason, &*outcome.text), (&reason, "so far"));
        assert_eq!(
            last_said(&model),
            format!("{why} Tools are off now: answer with what you have, and say what is missing.")
        );
        assert_eq!(model.requests().pop().unwrap().tool_choice, ToolChoice::None);
    }
    // With nothing done yet there is nothing to land.
    let model = ScriptedModel::new([Turn::text("42")]);
    Agent::builder(model.clone()).max_steps(1).build().unwrap().run("6*7?").outcome().await.unwrap();
    assert_eq!(last_said(&model), "6*7?");
}

#[tokio::test]
async fn tokens_that_the_provider_counts_are_not_guessed_as_well() {
    let cost = Usage::new(10, 10);
    let long = "word ".repeat(2_000);
    let turns = (0..4).map(|n| Turn::call("look", json!({"n": n})).and_text(&long).costing(cost.clone()));
    let model = ScriptedModel::new(turns.chain([Turn::text("done").costing(cost.clone())]));
    let look = counting("look", Effect::Read, &Counter::default());
    let agent = Agent::builder(model).tool(look).max_tokens_per_run(101).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.steps), (EndReason::Answer, 5));
}

#[tokio::test]
async fn a_reply_that_is_paused_again_and_again_ends_with_what_it_said() {
    let paused = || Turn::text("more").finishing(FinishReason::Pause);
    let model = ScriptedModel::new((0..11).map(|_| paused()));
    let outcome = Agent::builder(model.clone()).build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "more"));
    assert_eq!(model.requests().len(), 11, "ten are continued");
    // At the last step it is not continued.
    let model = ScriptedModel::new((0..3).map(|_| paused()));
    let agent = Agent::builder(model.clone()).max_steps(3).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, model.requests().len()), (EndReason::MaxSteps, 3));
    // A provider goes on with it only where it is the last message.
    for request in &model.requests()[1..] {
        assert!(matches!(request.messages.last().map(|last| &**last), Some(Message::Assistant(_))));
    }
}

// Programs before took a picture without words for an empty reply, and could ask again: their logs hold a further step.
#[tokio::test]
async fn a_log_that_goes_on_behind_a_picture_is_read() {
    let journal = Arc::new(MemoryJournal::new());
    let picture = attache_core::Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let model = ScriptedModel::new([Turn::empty().making(picture)]);
    let outcome =
        Agent::builder(model).build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, ""));
    let mut entries = before(&journal.entries(), "end");
    let mut reply = entries.last().unwrap().clone();
    reply.key = serde_json::from_value(json!("model/2")).unwrap();
    let EntryKind::Reply(said) = &mut reply.kind else { panic!("{}", reply.key) };
    said.message = Message::assistant("Here it is.").shared();
    entries.push(reply);
    let run = Run::replay(&entries).unwrap();
    assert_eq!((run.steps(), &*run.outcome().text), (2, "Here it is."));
    assert!(format!("{:?}", run.outcome().messages).contains("Your last reply was empty."));
}

// A log from elsewhere may hold what this program never writes.
#[tokio::test]
async fn a_reply_whose_calls_share_an_id_is_refused() {
    let calls = Turn::call("look", "{}").and_call("look", "{}");
    let look = tool_fn("look", "", |_: NoArguments| async { Ok::<_, ToolError>(1) });
    let model = ScriptedModel::new([calls, Turn::text("done")]);
    let journal = Arc::new(MemoryJournal::new());
    let agent = Agent::builder(model).tool(look.with_effect(Effect::Read)).build().unwrap();
    agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    let mut entries = before(&journal.entries(), "end");
    entries.truncate(2);
    assert!(Run::replay(&entries).is_ok());
    let EntryKind::Reply(reply) = &mut entries[1].kind else { panic!("{}", entries[1].key) };
    let Message::Assistant(message) = &mut Arc::make_mut(&mut reply.message) else { panic!() };
    let ids: Vec<_> = message.tool_calls().map(|call| call.id.clone()).collect();
    for part in &mut message.parts {
        if let attache_core::AssistantPart::ToolCall(call) = part {
            call.id = ids[0].clone();
        }
    }
    let error = Run::replay(&entries).unwrap_err();
    assert!(error.to_string().contains("two calls have one id"), "{error}");
    let resumed = agent.resume(holding(entries)).outcome().await;
    assert_eq!(resumed.unwrap_err().reason(), &EndReason::InternalError);
}

#[tokio::test]
async fn failures_that_differ_are_no_circle() {
    let tries = Counter::default();
    let seen = tries.clone();
    let door = tool_fn("door", "", move |_: NoArguments| {
        let problem = format!("closed for {} more minutes", 10 - seen.add());
        async move { Err::<(), _>(ToolError::new(problem)) }
    });
    let model = ScriptedModel::new((0..8).map(|_| Turn::call("door", "{}")).chain([Turn::text("done")]));
    let agent = Agent::builder(model).tool(door.with_effect(Effect::Read)).build().unwrap();
    assert_eq!(agent.run("go").outcome().await.unwrap().reason, EndReason::Answer);
}

#[tokio::test]
async fn a_result_that_repeats_itself_keeps_its_documents() {
    let id = attache_core::DocumentId::parse("lease").unwrap();
    let lease = tool_fn("lease", "", move |_: NoArguments| {
        let document = pdf("lease.pdf").with_id(id.clone());
        async move { Ok::<_, ToolError>(document) }
    });
    let model = ScriptedModel::new((0..4).map(|_| Turn::call("lease", "{}")).chain([Turn::text("done")]));
    let agent = Agent::builder(model).tool(lease.with_effect(Effect::Read)).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    let documents: Vec<usize> =
        results(&outcome.messages).iter().map(|result| result.tree.documents().len()).collect();
    assert_eq!(documents, [1, 1, 1, 1]);
}

/// A question behind a run without an answer opens a turn, in whatever later run the window looks at it.
#[tokio::test]
async fn a_run_that_ends_without_an_answer_ends_its_turn() {
    let shown = |history: &[Arc<Message>]| {
        let next = history.iter().cloned().chain([Message::user("next").shared()]);
        roles(&MessageWindow::turns(1).apply(&next.collect::<Vec<_>>()))
    };
    let cases = [
        // Results that nobody answers any more, and a reply that was paused and is not continued.
        (Turn::call("t", "{}"), "ucr"),
        (Turn::text("part").finishing(FinishReason::Pause), "ua"),
    ];
    for (first, left) in cases {
        let tool = tool_fn("t", "", |_: NoArguments| async { Ok::<_, ToolError>(1) });
        let model = ScriptedModel::new([first, Turn::empty().then_hang()]).unverified();
        let mut run = Agent::builder(model).tool(tool).build().unwrap().run("go");
        let control = run.control();
        let mut steps = 0;
        let ended = loop {
            let event = run.next().await.unwrap();
            steps += usize::from(matches!(event.kind, EventKind::StepStarted { .. }));
            if steps == 2 {
                control.cancel();
            }
            if let Some(outcome) = event.kind.outcome() {
                break outcome.clone();
            }
        };
        assert_eq!((&ended.reason, &*roles(&ended.messages)), (&EndReason::Cancelled, left));
        assert_eq!(shown(&ended.messages), "u");
    }
    // An answer ends its turn by itself, and bears no mark.
    let agent = Agent::builder(ScriptedModel::new([Turn::text("answer")])).build().unwrap();
    let ended = agent.run("go").outcome().await.unwrap();
    assert!(ended.messages.iter().all(|message| message.metadata().is_empty()), "{:?}", ended.messages);
}

#[tokio::test]
async fn a_call_that_was_begun_is_of_unknown_outcome_in_an_outcome_that_is_none_yet() {
    let paid = Counter::default();
    let model = ScriptedModel::new([Turn::call("pay", json!({"n": 1})), Turn::text("paid")]);
    let agent = Agent::builder(model).tool(counting("pay", Effect::SideEffect, &paid)).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    let mut entries = journal.entries();
    entries.truncate(3);
    assert!(matches!(entries[2].kind, EntryKind::Begun(_)));
    let outcome = Run::replay(&entries).unwrap().outcome();
    assert_eq!(told(&outcome.messages), [UNKNOWN]);
    assert_eq!(outcome.unknown.len(), 1);
}

// A32
#[tokio::test]
async fn the_model_is_told_how_many_steps_are_left_and_the_prefix_holds() {
    let model = attache_testkit::FunctionModel::new(|_, number| match number {
        9 => Turn::text("done"),
        _ => Turn::call("t", json!({"n": number})),
    });
    let tool =
        crate::common::kit::counting("t", attache_core::Effect::Read, &crate::common::Counter::default());
    let agent = Agent::builder(model.clone()).tool(tool).max_steps(10).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    let requests: Vec<_> = model.asked().requests().cloned().collect();
    let told = |request: &attache_core::ChatRequest| {
        crate::common::kit::heard(&request.messages)
            .iter()
            .filter(|text| text.contains("3 steps left"))
            .count()
    };
    assert_eq!(requests.iter().map(told).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    let ids = crate::common::kit::ids(&requests);
    assert!(ids.windows(2).all(|pair| pair[1].starts_with(&pair[0])));
    let last = crate::common::kit::heard(&requests[7].messages).pop().unwrap();
    assert!(last.contains("At the last one tools are off"), "{last}");
}

// A32: a run of few steps, too
#[tokio::test]
async fn the_model_is_told_how_many_of_a_few_steps_are_left() {
    for (limit, told) in [(3, vec![]), (4, vec![2]), (5, vec![3]), (6, vec![3]), (7, vec![4])] {
        let model = attache_testkit::FunctionModel::new(move |request, number| {
            match request.tool_choice == attache_core::ToolChoice::None {
                true => Turn::text("done"),
                false => Turn::call("t", json!({"n": number})),
            }
        });
        let counter = crate::common::Counter::default();
        let tool = crate::common::kit::counting("t", attache_core::Effect::Read, &counter);
        let agent = Agent::builder(model.clone()).tool(tool).max_steps(limit).build().unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome().messages, outcome.messages);
        let requests: Vec<_> = model.asked().requests().cloned().collect();
        assert_eq!(requests.len(), limit as usize);
        let heard = requests.iter().map(|request| crate::common::kit::heard(&request.messages));
        let notices: Vec<usize> =
            heard.map(|heard| heard.iter().filter(|text| text.contains(" steps left")).count()).collect();
        let first = notices.iter().position(|count| *count > 0);
        assert_eq!(first.into_iter().collect::<Vec<_>>(), told, "{limit}: {notices:?}");
        assert!(notices.iter().all(|count| *count <= 1), "{limit}: {notices:?}");
        let ids = crate::common::kit::ids(&requests);
        assert!(ids.windows(2).all(|pair| pair[1].starts_with(&pair[0])), "{limit}");
    }
}
