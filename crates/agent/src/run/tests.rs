use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ContentTree, FinishReason, ReasoningPart, ResultStatus,
    ToolResult, ToolResultsMessage, UserMessage,
};
use serde_json::json;

use super::*;
use crate::log::{Begun, Disposition, EntryKind, Hooked, Reply, Started};

fn started(max_steps: u32) -> Entry {
    let limits = Limits { max_steps, ..Limits::default() };
    let started = Started {
        run_id: "r".to_owned(),
        task: 0,
        deadline: None,
        families: vec![],
        messages: vec![Message::user("hi").with_id(MessageId::parse("u").unwrap()).shared()],
        limits,
        external_tools: vec![],
        output: None,
        direct_tools: vec!["direct".to_owned()],
        rules: vec![],
        question: None,
        grants: vec![],
        handoffs: None,
        options: None,
        beside: vec![],
        mark: None,
    };
    Entry::new(Key::start(), EntryKind::Started(started))
}

fn reply(parts: impl IntoIterator<Item = Option<AssistantPart>>, finish: FinishReason) -> EntryKind {
    let message = Message::Assistant(AssistantMessage::new(parts)).shared();
    EntryKind::Reply(Reply {
        message,
        finish_reason: finish,
        raw_finish_reason: None,
        usage: Usage::new(10, 5),
        answered: None,
        cost: None,
        model: None,
        guessed: 0,
        degradations: vec![],
    })
}

/// Drives a run with these replies; every call is answered by its arguments.
fn drive(max_steps: u32, replies: Vec<EntryKind>) -> (Run, Vec<Entry>) {
    let mut run = Run::new();
    let mut log = Vec::new();
    let mut replies = replies.into_iter();
    loop {
        let entry = match run.next() {
            Action::Start => started(max_steps),
            Action::HandOver { .. } => panic!("nobody hands over"),
            Action::CallModel { key, .. } => match replies.next() {
                Some(reply) => Entry::new(key, reply),
                None => return (run, log),
            },
            Action::AnswerCalls { calls } => {
                let pending = calls.into_iter().next().expect("a phase without calls has ended");
                let tree = ContentTree::text(pending.call.arguments.raw());
                let fails = pending.call.name == "fails";
                let status = if fails { ResultStatus::Error } else { ResultStatus::Ok };
                let result = ToolResult::new(&pending.call, status, tree);
                let call_id = pending.call.id.clone();
                let outcome = ToolOutcome { call_id, result, disposition: Disposition::Executed };
                Entry::new(pending.key, EntryKind::ToolOutcome(outcome))
            }
            Action::End { reason, .. } => Entry::new(Key::end(), EntryKind::Ended(Ended::new(reason))),
            Action::Ended => return (run, log),
        };
        run.apply(&entry).expect("the driver does what it is told");
        log.push(entry);
    }
}

fn call(name: &str, arguments: &str) -> Option<AssistantPart> {
    ToolCall::new(name, Arguments::new(arguments)).into()
}

fn text(text: &str) -> Option<AssistantPart> {
    AssistantPart::text(text)
}

fn roles(run: &Run) -> String {
    let letter = |message: &Arc<Message>| match &**message {
        Message::System(_) => 's',
        Message::User(_) => 'u',
        Message::Assistant(message) if message.has_tool_calls() => 'c',
        Message::Assistant(_) => 'a',
        Message::ToolResults(_) => 'r',
        _ => '?',
    };
    run.history().iter().map(letter).collect()
}

#[test]
fn an_answer_ends_it() {
    let (run, _) = drive(20, vec![reply([text("hello")], FinishReason::Stop)]);
    let outcome = run.outcome();
    assert_eq!((outcome.reason, outcome.text.as_str(), outcome.steps), (EndReason::Answer, "hello", 1));
    assert_eq!(roles(&run), "ua");
}

// P20, P22
#[test]
fn calls_come_before_results_and_usage_adds_up() {
    let first = reply([text("let me see"), call("a", "{}"), call("b", "{\"x\":1}")], FinishReason::ToolCalls);
    let (run, log) = drive(20, vec![first, reply([text("done")], FinishReason::Stop)]);
    assert_eq!(roles(&run), "ucra");
    assert_eq!(run.outcome().usage, Usage::new(20, 10));
    assert_eq!(run.outcome().calls.len(), 2);
    assert_eq!(Run::replay(&log).unwrap(), run);
    let ids: Vec<_> = run.history().iter().map(|message| message.id().as_str()).collect();
    let made: Vec<_> = ids.iter().map(|id| id.replace(run.base(), "base")).collect();
    assert_eq!(made, ["u", "base.1", "base.2", "base.3"]);
    assert!(run.base().starts_with("r-"), "{}", run.base());
}

// A33, runtime.md 14
#[test]
fn the_last_step_is_a_landing() {
    let replies = (0..3).map(|n| reply([call("a", &format!("{{\"n\":{n}}}"))], FinishReason::ToolCalls));
    let replies = replies.chain([reply([text("as far as I got")], FinishReason::Stop)]).collect();
    let (run, log) = drive(4, replies);
    let outcome = run.outcome();
    assert_eq!(
        (outcome.reason, outcome.text.as_str(), outcome.steps),
        (EndReason::MaxSteps, "as far as I got", 4)
    );
    assert_eq!(roles(&run), "ucrcrucrua", "each notice stands at the tail: two steps are left, and none");
    assert_eq!(Run::replay(&log).unwrap(), run);
    // A call in spite of it is answered, not executed.
    let stubborn = vec![
        reply([call("a", "{}")], FinishReason::ToolCalls),
        reply([call("a", "{}")], FinishReason::ToolCalls),
    ];
    let (run, _) = drive(2, stubborn);
    assert_eq!((run.outcome().reason, run.outcome().calls.len()), (EndReason::MaxSteps, 1));
    assert_eq!(roles(&run), "ucrucr");
}

// P24, runtime.md 32 #13
#[test]
fn a_truncated_call_is_never_executed() {
    let cut = || reply([text("so"), call("a", "{\"x\":")], FinishReason::Length);
    let (run, _) = drive(20, vec![cut(), reply([text("smaller")], FinishReason::Stop)]);
    assert_eq!((run.outcome().reason, run.outcome().calls.len()), (EndReason::Answer, 0));
    assert_eq!(roles(&run), "ucra");
    let (run, _) = drive(20, vec![cut(), cut()]);
    assert_eq!(run.outcome().reason, EndReason::Length);
    assert_eq!(roles(&run), "ucrcr", "the history is valid to go on from");
    // Whatever the finish reason says.
    let (run, _) = drive(
        20,
        vec![reply([call("a", "{\"x\":")], FinishReason::ToolCalls), reply([text("ok")], FinishReason::Stop)],
    );
    assert_eq!(run.outcome().calls.len(), 0);
}

// E14, E15, E16
#[test]
fn an_empty_reply() {
    let thought = Some(AssistantPart::Reasoning(attache_core::ReasoningPart::new("hm")));
    let (run, _) = drive(20, vec![reply([thought], FinishReason::Stop)]);
    assert_eq!(run.outcome().reason, EndReason::EmptyResponse);
    assert_eq!(run.detail(), Some("the model answered with nothing but reasoning"));
    assert_eq!(roles(&run), "u", "nothing empty is left behind");
    let (run, _) = drive(20, vec![reply([text(" \n")], FinishReason::Stop)]);
    assert_eq!(run.outcome().reason, EndReason::EmptyResponse);
    let (run, _) = drive(20, vec![reply([], FinishReason::Length)]);
    assert_eq!(run.outcome().reason, EndReason::Length);
    // Whatever ended it.
    let thought = || Some(AssistantPart::Reasoning(ReasoningPart::new("hm")));
    for finish in [FinishReason::Length, FinishReason::ContentFilter, FinishReason::Refusal] {
        let (run, _) = drive(20, vec![reply([thought()], finish)]);
        assert_eq!((run.outcome().reasoning.as_str(), roles(&run).as_str()), ("hm", "u"));
    }
    let (run, _) = drive(20, vec![reply([thought(), text("so")], FinishReason::Length)]);
    assert_eq!(run.outcome().reasoning, "");
}

#[test]
fn refusal_filter_pause_and_error() {
    let refused = AssistantPart::Text(attache_core::TextPart::new("no").unwrap().into_refusal());
    let (run, _) = drive(20, vec![reply([Some(refused)], FinishReason::Stop)]);
    assert_eq!((run.outcome().reason, run.outcome().text.as_str()), (EndReason::Refusal, "no"));
    let (run, _) = drive(20, vec![reply([text("part"), call("a", "{}")], FinishReason::ContentFilter)]);
    assert_eq!((run.outcome().reason, roles(&run).as_str()), (EndReason::ContentFilter, "ucr"));
    let (run, _) =
        drive(20, vec![reply([text("…")], FinishReason::Pause), reply([text("done")], FinishReason::Stop)]);
    assert_eq!((run.outcome().reason, run.outcome().steps), (EndReason::Answer, 2));
    let (run, _) = drive(20, vec![reply([], FinishReason::Error)]);
    assert!(matches!(run.outcome().reason, EndReason::ProviderError(_)));
}

// The tokens that a failed attempt has read are in no later request.
#[test]
fn attempts_that_failed_are_spent_and_make_no_conversation_longer() {
    let EntryKind::Reply(mut asked) = reply([call("a", "{}")], FinishReason::ToolCalls) else { panic!() };
    (asked.usage, asked.answered) = (Usage::new(90, 15), Some(Box::new(Usage::new(30, 5))));
    let stored = serde_json::to_string(&EntryKind::Reply(asked)).unwrap();
    let (run, _) = drive(20, vec![serde_json::from_str(&stored).unwrap()]);
    assert_eq!((run.outcome().usage, run.read_tokens()), (Usage::new(90, 15), Some(30)));
    assert!((35..90).contains(&run.tokens_ahead()), "{}", run.tokens_ahead());
}

// A31, runtime.md 32 #17
#[test]
fn going_round_in_circles_ends() {
    let mut replies: Vec<_> =
        (0..5).map(|_| reply([call("fails", "{\"same\":1}")], FinishReason::ToolCalls)).collect();
    replies.push(reply([text("I give up")], FinishReason::Stop));
    let (run, log) = drive(20, replies);
    assert_eq!((run.outcome().reason, run.outcome().steps), (EndReason::NoProgress, 6));
    let third = run.history()[6].clone();
    let Message::ToolResults(third) = &*third else { panic!("{third:?}") };
    assert!(third.results[0].tree.model_text().contains("several times"));
    assert_eq!(Run::replay(&log).unwrap(), run);
}

// Four characters are a token, as far as anybody knows.
#[test]
fn tokens_that_nobody_counts_are_guessed_from_all_that_is_read_and_said() {
    let earlier = ToolCall::new("t", Arguments::new(r#"{"n":1}"#));
    let result = ToolResult::new(&earlier, ResultStatus::Ok, ContentTree::text("12345"));
    let object = UserMessage::event(ContentTree::text("xxxxxx"));
    // 8 + 12 + 8 (in quotes) + 4 + 7 + 7 (in quotes) characters are read.
    let messages = [
        Message::system("s".repeat(8)),
        Message::user("u".repeat(12)),
        Message::User(object),
        Message::Assistant(AssistantMessage::new([text("aaaa"), earlier.into()])),
        Message::ToolResults(ToolResultsMessage::new([result])),
    ];
    // 16 + 20 + 2 are said: 84 characters in all.
    let said = [
        text(&"t".repeat(16)),
        Some(AssistantPart::Reasoning(ReasoningPart::new("r".repeat(20)))),
        call("t", "{}"),
    ];
    let landing_at = |max_tokens: u64| {
        let mut start = started(20);
        let EntryKind::Started(begun) = &mut start.kind else { panic!() };
        begun.limits.max_tokens = Some(max_tokens);
        begun.messages = messages.iter().cloned().map(Message::shared).collect();
        let mut asked = reply(said.clone(), FinishReason::ToolCalls);
        let EntryKind::Reply(unknown) = &mut asked else { panic!() };
        unknown.usage = Usage::default();
        let mut run = Run::new();
        run.apply(&start).unwrap();
        let Action::CallModel { key, .. } = run.next() else { panic!() };
        run.apply(&Entry::new(key, asked)).unwrap();
        let Action::AnswerCalls { calls } = run.next() else { panic!() };
        let result = ToolResult::new(&calls[0].call, ResultStatus::Ok, ContentTree::text("1"));
        let call_id = calls[0].call.id.clone();
        let outcome = ToolOutcome { call_id, result, disposition: Disposition::Executed };
        run.apply(&Entry::new(calls[0].key.clone(), EntryKind::ToolOutcome(outcome))).unwrap();
        let Action::CallModel { landing, .. } = run.next() else { panic!() };
        landing
    };
    assert_eq!((landing_at(21), landing_at(22)), (true, false));
}

// S05, S06
#[test]
fn return_direct_needs_all() {
    let (run, _) = drive(
        20,
        vec![reply([call("direct", "{\"n\":1}"), call("direct", "{\"n\":2}")], FinishReason::ToolCalls)],
    );
    assert_eq!(
        (run.outcome().reason, run.outcome().text.as_str()),
        (EndReason::ReturnDirect, "{\"n\":1}\n{\"n\":2}")
    );
    assert_eq!(roles(&run), "ucra");
    let mixed = reply([call("direct", "{}"), call("other", "{}")], FinishReason::ToolCalls);
    let (run, _) = drive(20, vec![mixed, reply([text("both")], FinishReason::Stop)]);
    assert_eq!(run.outcome().reason, EndReason::Answer);
}

#[test]
fn entries_that_do_not_fit_are_refused() {
    let (run, log) = drive(20, vec![reply([call("a", "{}")], FinishReason::ToolCalls)]);
    assert!(matches!(run.next(), Action::CallModel { .. }));
    let mut again = Run::replay(&log).unwrap();
    assert_eq!(again.apply(&log[0]).unwrap_err().problem, "the run has begun already");
    assert_eq!(Run::new().apply(&log[1]).unwrap_err().problem, "the run has not begun");
    assert_eq!(again, run, "a refused entry changes nothing");
}

// The log is stored as JSON
#[test]
fn the_log_survives_storage() {
    let first = reply([text("see"), call("a", "{\"x\": 1.0}")], FinishReason::ToolCalls);
    let (run, log) = drive(20, vec![first, reply([text("done")], FinishReason::Stop)]);
    let stored = serde_json::to_string(&log).unwrap();
    let read: Vec<Entry> = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, log);
    assert_eq!(Run::replay(&read).unwrap(), run);
    assert!(json!(log).to_string().contains("toolOutcome"));
}

// A33: a provider that would go on by itself is not continued beyond the last step.
#[test]
fn a_pause_on_the_last_step_is_the_end() {
    let paused = || reply([text("so far")], FinishReason::Pause);
    let (run, _) = drive(2, vec![paused(), paused(), reply([text("never")], FinishReason::Stop)]);
    let outcome = run.outcome();
    assert_eq!((outcome.reason, outcome.text.as_str(), outcome.steps), (EndReason::MaxSteps, "so far", 2));
    // Also where it has said nothing yet.
    let (run, _) = drive(1, vec![reply([], FinishReason::Pause), reply([text("never")], FinishReason::Stop)]);
    assert_eq!((run.outcome().reason, run.outcome().steps), (EndReason::MaxSteps, 1));
}

#[test]
fn verdicts_of_hooks_fit_right_behind_their_reply_alone() {
    let kept = |key: Key| Entry::new(key, EntryKind::Hooked(Hooked::Kept));
    let mut run = Run::new();
    run.apply(&started(5)).unwrap();
    assert!(run.apply(&kept(Key::hook_reply(0))).is_err(), "there is no reply");
    let reply = reply([AssistantPart::text("done")], FinishReason::Stop);
    run.apply(&Entry::new(Key::model(1), reply)).unwrap();
    assert!(run.apply(&kept(Key::hook_reply(2))).is_err(), "it is about another step");
    run.apply(&kept(Key::hook_reply(1))).unwrap();
    let again = Entry::new(Key::hook_reply(1), EntryKind::Hooked(Hooked::Retry("again".to_owned())));
    assert!(run.apply(&again).is_err(), "there was a verdict");
}

#[test]
fn a_call_begins_once() {
    let mut run = Run::new();
    run.apply(&started(5)).unwrap();
    let reply = reply([call("pays", "{}")], FinishReason::ToolCalls);
    run.apply(&Entry::new(Key::model(1), reply)).unwrap();
    let Action::AnswerCalls { calls } = run.next() else { panic!("{:?}", run.next()) };
    let id = calls[0].call.id.clone();
    let begun = Entry::new(Key::begun(&id), EntryKind::Begun(Begun::new(id, Effect::SideEffect)));
    run.apply(&begun).unwrap();
    assert!(run.apply(&begun).is_err());
}

// A summary inside is paid for like a reply.
#[test]
fn summaries_of_runs_inside_count_when_a_run_is_replayed() {
    let (_, mut log) = drive(20, vec![reply([call("a", "{}")], FinishReason::ToolCalls)]);
    let compacted = crate::log::Compacted {
        mark: None,
        failure: Some("none".to_owned()),
        tokens: 0,
        usage: Usage::new(7, 2),
        cost: None,
        model: Some("p/m".to_owned()),
    };
    let scope = Key::scope(&ToolCallId::parse("c").unwrap(), 0);
    log.push(Entry::new(Key::memory(0).within(&scope), EntryKind::Compacted(compacted)));
    assert_eq!(*Run::replay(&log).unwrap().usage(), Usage::new(17, 7));
}

// Nobody knows how long a person or a client takes
#[test]
fn the_time_in_which_somebody_else_is_waited_for_is_none_of_the_runs() {
    let Entry { key, kind, .. } = started(9);
    let EntryKind::Started(mut begun) = kind else { panic!("it starts") };
    begun.deadline = Some(10_000);
    begun.external_tools = vec!["theirs".to_owned()];
    let mut run = Run::new();
    let mut apply = |key: Key, kind: EntryKind, at: u64| {
        let mut entry = Entry::new(key, kind);
        entry.at = at;
        run.apply(&entry).unwrap();
        [at, at + 500].map(|now| run.deadline(now).unwrap())
    };
    assert_eq!(apply(key, EntryKind::Started(begun), 5_000), [10_000, 10_000]);
    let calls = [ToolCall::new("ours", Arguments::new("{}")), ToolCall::new("theirs", Arguments::new("{}"))];
    let said = reply(calls.clone().map(Into::into), FinishReason::ToolCalls);
    assert_eq!(apply(Key::model(1), said, 7_000), [10_000, 10_000]);
    let outcome = |call: &ToolCall| {
        let result = ToolResult::new(call, ResultStatus::Ok, ContentTree::text("done"));
        let (call_id, disposition) = (call.id.clone(), Disposition::Executed);
        EntryKind::ToolOutcome(ToolOutcome { call_id, result, disposition })
    };
    let waits = apply(Key::result(&calls[0].id), outcome(&calls[0]), 8_000);
    assert_eq!(waits, [10_000, 10_500], "nothing else is left to do");
    assert_eq!(apply(Key::result(&calls[1].id), outcome(&calls[1]), 68_000), [70_000, 70_000]);
}
