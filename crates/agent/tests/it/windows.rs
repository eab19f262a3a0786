//! The window is a function of the history: a resume, an injected message, and the next turn move it no further.

use std::sync::Arc;

use crate::common::kit::{before, counting, heard, holding, ids, results, roles};
use crate::common::{Counter, Number};
use attache_agent::{Agent, EventKind, MemoryJournal, MessageWindow, RunInput, tool_fn};
use attache_core::{
    Arguments, AssistantMessage, ChatRequest, Effect, ErrorKind, Message, ToolCall, ToolError, ToolResult,
    ToolResultsMessage, UserMessage, UserPart,
};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use serde_json::json;

#[tokio::test]
async fn a_resumed_run_asks_through_the_window_of_the_uncut_run() {
    for size in [5, 9, 12] {
        let turns = || (0..12).map(|n| Turn::call("t", json!({"n": n}))).chain([Turn::text("done")]);
        let agent = |model: &ScriptedModel| {
            let tool = counting("t", Effect::Read, &Counter::default());
            Agent::builder(model.clone()).tool(tool).window(MessageWindow::new(size)).build().unwrap()
        };
        let (journal, model) = (Arc::new(MemoryJournal::new()), ScriptedModel::new(turns()));
        let input = RunInput::from("go").with_run_id("r");
        agent(&model).run_in(journal.clone(), input).outcome().await.unwrap();
        let uncut = ids(&model.requests());
        assert!(uncut.iter().any(|ids| ids.len() < uncut[uncut.len() - 1].len() + 2), "the window moved");
        for step in 1..=13 {
            let entries = before(&journal.entries(), &format!("model/{step}"));
            let model = ScriptedModel::new(turns().skip(step - 1));
            agent(&model).resume(holding(entries)).outcome().await.unwrap();
            assert_eq!(
                ids(&model.requests()),
                uncut[step - 1..],
                "window {size}, resumed before step {step}"
            );
        }
    }
}

/// The first question of each request of a chat, counted by hand: ten messages fit; a cut takes turns of two messages
/// away until no more than `low` are left.
fn first_questions(turns: usize, most: usize, low: usize) -> Vec<usize> {
    let (mut first, mut shown) = (0, 0);
    let mut firsts = Vec::new();
    for _ in 0..turns {
        shown += 1;
        if shown > most {
            while shown > low {
                (first, shown) = (first + 1, shown - 2);
            }
        }
        firsts.push(first);
        shown += 1;
    }
    firsts
}

#[tokio::test]
async fn a_chat_of_many_runs_moves_its_window_like_one_long_run() {
    let model = ScriptedModel::new((0..20).map(|_| Turn::text("ok")));
    let agent = Agent::builder(model.clone()).window(MessageWindow::new(10)).build().unwrap();
    let mut history: Vec<Arc<Message>> = Vec::new();
    for n in 0..20 {
        let input = RunInput::from(format!("question {n}")).with_history(history);
        history = agent.run(input).outcome().await.unwrap().messages;
    }
    let expected = first_questions(20, 10, 7);
    for (request, first) in model.requests().iter().zip(&expected) {
        let heard = heard(&request.messages);
        assert!(heard[0].contains(&format!("\"question {first}\"")), "{heard:?} does not begin with {first}");
    }
    let moves = |firsts: &[usize]| firsts.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(moves(&expected) <= 8, "{expected:?}");
}

#[tokio::test]
async fn an_injected_message_keeps_the_task_in_the_window() {
    let turns = (0..25).map(|n| Turn::call("t", json!({"n": n}))).chain([Turn::text("done")]);
    let model = ScriptedModel::new(turns);
    let tool = counting("t", Effect::Read, &Counter::default());
    let agent = Agent::builder(model.clone()).system("s").tool(tool).max_steps(60).build().unwrap();
    let mut run = agent.run("THE TASK");
    let control = run.control();
    let mut finished = 0;
    while let Some(event) = run.next().await {
        if let EventKind::ToolFinished { .. } = event.kind {
            finished += 1;
            if finished == 22 {
                control.inject(UserMessage::new([UserPart::text("be brief")])).unwrap();
            }
        }
    }
    let requests = model.requests();
    for (at, request) in requests.iter().enumerate() {
        let has = |text: &str| heard(&request.messages).iter().any(|heard| heard.contains(text));
        assert!(has("THE TASK"), "request {at}: {}", roles(&request.messages));
        assert_eq!(has("be brief"), at >= 22, "request {at}: {}", roles(&request.messages));
    }
    // The rounds since the last cut are there as well: nothing but the two messages would be a lost history.
    assert!(requests[22].messages.len() > 20, "{}", roles(&requests[22].messages));
}

/// The conversation was cut off elsewhere, behind results that nobody answered.
#[tokio::test]
async fn a_new_question_opens_a_turn_behind_results_that_were_not_answered() {
    let old = ToolCall::new("t", Arguments::new("{\"n\":1}"));
    let results = ToolResultsMessage::new([ToolResult::ok(&old, "1")]);
    let history = [
        Message::user("old question"),
        Message::Assistant(AssistantMessage::new([old.into()])),
        Message::ToolResults(results),
    ];
    let turns = (0..5).map(|n| Turn::call("t", json!({"n": n}))).chain([Turn::text("done")]);
    let model = ScriptedModel::new(turns);
    let tool = counting("t", Effect::Read, &Counter::default());
    let agent = Agent::builder(model.clone()).tool(tool).window(MessageWindow::new(8)).build().unwrap();
    let input = RunInput::from("new question").with_history(history.map(Message::shared));
    agent.run(input).outcome().await.unwrap();
    let requests = model.requests();
    let last = heard(&requests.last().unwrap().messages);
    assert!(last[0].contains("new question"), "the old turn leaves first: {last:?}");
}

/// A model with room for so many results: it looks so often after each question, then answers.
fn with_room(room: usize, looks: usize) -> FunctionModel {
    let mut done = 0;
    FunctionModel::new(move |request, _| match results(&request.messages).len() {
        shown if shown > room => Turn::empty().then_error(ErrorKind::ContextTooLong),
        _ if done % (looks + 1) == looks => {
            done += 1;
            Turn::text("done")
        }
        _ => {
            done += 1;
            Turn::call("look", json!({"n": done}))
        }
    })
}

fn looking(model: &FunctionModel) -> Agent {
    let look = tool_fn("look", "", |_: Number| async { Ok::<_, ToolError>("word ".repeat(10_000)) });
    Agent::builder(model.clone()).system("s").tool(look.with_effect(Effect::Read)).build().unwrap()
}

fn requests(model: &FunctionModel) -> Vec<ChatRequest> {
    model.asked().requests().cloned().collect()
}

// A47: the default, whose limit counts messages, has few and long ones
#[tokio::test]
async fn a_request_that_is_too_long_loses_its_older_half_for_good() {
    let (model, journal) = (with_room(10, 11), Arc::new(MemoryJournal::new()));
    let input = RunInput::from("THE TASK").with_run_id("r");
    let outcome = looking(&model).run_in(journal.clone(), input).outcome().await.unwrap();
    assert_eq!(outcome.text, "done");
    assert_eq!(results(&outcome.messages).len(), 11, "the history has all of them");
    let asked = requests(&model);
    assert_eq!(asked.len(), 13, "one request was refused");
    assert_eq!(roles(&asked[11].messages), format!("su{}", "cr".repeat(11)));
    assert_eq!(
        roles(&asked[12].messages),
        format!("suu{}", "cr".repeat(5)),
        "the question, a word, and rounds"
    );
    assert!(heard(&asked[12].messages)[0].contains("THE TASK"));
    assert!(heard(&asked[12].messages)[1].contains("6 earlier rounds of tool calls"));
    // A run that is resumed asks the same, and the next run of the conversation goes on from there.
    let entries = before(&journal.entries(), "model/12");
    let again = with_room(10, 0);
    looking(&again).resume(holding(entries)).outcome().await.unwrap();
    assert_eq!(ids(&requests(&again)), ids(&asked[12..]));
    let next = with_room(10, 0);
    let input = RunInput::from("and now?").with_history(outcome.messages.clone());
    looking(&next).run(input).outcome().await.unwrap();
    assert_eq!(roles(&requests(&next)[0].messages), format!("suu{}au", "cr".repeat(5)));
    // Whole turns leave before rounds of the newest one do.
    let turns = with_room(4, 2);
    let mut history = Vec::new();
    for n in 0..4 {
        let input = RunInput::from(format!("question {n}")).with_history(history);
        history = looking(&turns).run(input).outcome().await.unwrap().messages;
    }
    let asked = requests(&turns);
    let refused = asked.iter().position(|request| results(&request.messages).len() > 4).unwrap();
    assert_eq!(roles(&asked[refused].messages), "sucrcraucrcraucr");
    assert_eq!(roles(&asked[refused + 1].messages), "sucr");
    assert_eq!(roles(&asked.last().unwrap().messages), "sucrcraucrcr", "{history:?}");
    // Nothing can leave of one round.
    let model = with_room(0, 1);
    let error = looking(&model).run("go").outcome().await.unwrap_err();
    assert_eq!(error.provider_error().unwrap().kind(), ErrorKind::ContextTooLong);
    assert_eq!(requests(&model).len(), 2);
}
