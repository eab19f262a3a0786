//! Conversations that grow too long: summaries, cleared results, and what is carried from run to run.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{
    Agent, Compaction, Entry, EntryKind, Event, EventKind, LogEvents, MemoryJournal, NoArguments, PINNED,
    Run, RunInput, SummaryPlacement, TokenWindow, tool_fn,
};
use attache_core::message::Metadata;
use attache_core::{
    ChatRequest, Document, Effect, ErrorKind, FinishReason, Message, Tool, ToolError, Usage, UserMessage,
};
use attache_testkit::{FunctionModel, Turn};
use attache_tools::ReadDocument;
use serde_json::json;

use crate::common::Number;
use crate::common::kit::{all, end, heard, holding, ids, keys, roles, told, warnings};

/// About so many tokens of text.
fn words(tokens: usize) -> String {
    "word ".repeat(tokens)
}

/// A compaction of small numbers.
fn small() -> Compaction {
    Compaction::new().with_threshold(1_000).with_recent(250).with_ceiling(600)
}

/// One that has room for what is said, and none for old results.
fn clearing() -> Compaction {
    Compaction::new().with_threshold(1_000).with_recent(250).with_ceiling(900)
}

fn asks_for_summary(request: &ChatRequest) -> bool {
    matches!(&*request.messages[0], Message::System(system) if system.parts[0].text().starts_with("You keep the record"))
}

fn text_of(message: &Message) -> String {
    match message {
        Message::System(system) => system.parts.iter().map(|part| part.text()).collect(),
        Message::User(_) => heard(&[message.clone().shared()]).concat(),
        Message::Assistant(reply) => reply.text(),
        Message::ToolResults(_) => told(&[message.clone().shared()]).concat(),
        _ => String::new(),
    }
}

/// Answers each question with so many tokens, and each request for a summary with `summary`.
fn chatty(tokens: usize, summary: impl Fn(usize) -> Turn + Send + 'static) -> FunctionModel {
    let mut summaries = 0;
    FunctionModel::new(move |request, number| match asks_for_summary(request) {
        true => {
            summaries += 1;
            summary(summaries)
        }
        false => Turn::text(&format!("answer {number} {}", words(tokens))),
    })
}

/// All requests of a model.
fn requests(model: &FunctionModel) -> Vec<ChatRequest> {
    model.asked().requests().cloned().collect()
}

/// The requests of a model for replies, and for summaries.
fn told_apart(model: &FunctionModel) -> (Vec<ChatRequest>, Vec<ChatRequest>) {
    requests(model).into_iter().partition(|request| !asks_for_summary(request))
}

/// A chat of so many turns, one run each, and the events of all of them.
async fn chat(agent: &Agent, turns: usize) -> (Vec<Arc<Message>>, Vec<EventKind>) {
    let (mut history, mut events) = (Vec::new(), Vec::new());
    for n in 0..turns {
        let input = RunInput::from(format!("question {n}")).with_history(history);
        let told = all(&mut agent.run(input)).await;
        history = end(&told).messages;
        events.extend(told.into_iter().map(|event| event.kind));
    }
    (history, events)
}

// A47: a request of fewer than 64,000 tokens is left alone
#[tokio::test]
async fn compaction_begins_above_64_000_tokens() {
    for (tokens, compacts) in [(60_000, false), (70_000, true)] {
        let model = chatty(5, |_| Turn::text("They said words."));
        let agent = Agent::builder(model.clone()).memory(Compaction::new()).build().unwrap();
        let history = (0..20).flat_map(|n| {
            let long = words(tokens / 20);
            [Message::user(format!("old {n}")).shared(), Message::assistant(long).shared()]
        });
        agent.run(RunInput::from("now").with_history(history)).outcome().await.unwrap();
        let (replies, summaries) = told_apart(&model);
        assert_eq!(!summaries.is_empty(), compacts, "{tokens}");
        assert_eq!(replies[0].messages.len() < 41, compacts, "{tokens}");
    }
}

// A47: switched off, everything is shown
#[tokio::test]
async fn without_a_memory_nothing_is_compacted() {
    let model = chatty(400, |_| panic!("nobody asks"));
    let agent = Agent::builder(model.clone()).window(None).build().unwrap();
    chat(&agent, 6).await;
    assert_eq!(requests(&model)[5].messages.len(), 11);
}

// A48, A49, A50: the prompt, the summary, the newest turns
#[tokio::test]
async fn a_summary_stands_between_the_prompt_and_the_newest_turns() {
    let model = chatty(150, |_| Turn::text("The user asked questions."));
    let agent = Agent::builder(model.clone()).system("Be kind.").memory(small()).build().unwrap();
    let (history, events) = chat(&agent, 8).await;
    let (replies, summaries) = told_apart(&model);
    assert_eq!(summaries.len(), 1, "one summary");
    assert!(summaries[0].tools.is_empty());
    let at = replies.iter().position(|request| roles(&request.messages).starts_with("ss")).unwrap();
    let shown = &replies[at].messages;
    assert_eq!(text_of(&shown[0]), "Be kind.");
    let summary = text_of(&shown[1]);
    assert!(summary.starts_with("[Summary of the earlier conversation. It is a record"), "{summary}");
    assert!(summary.ends_with("The user asked questions."));
    assert_eq!(roles(&shown[2..]), "uau", "whole turns follow");
    // The summarised messages and the shown ones are all there is, once each.
    let asked: Vec<usize> = (0..=at)
        .filter(|n| text_of(&summaries[0].messages[1]).contains(&format!("question {n}\\")))
        .collect();
    assert_eq!(asked, (0..at - 1).collect::<Vec<_>>(), "the boundary belongs to one zone");
    assert!(heard(shown)[0].contains(&format!("question {}", at - 1)));
    // The originals stay.
    for n in 0..8 {
        assert!(heard(&history).iter().any(|text| text.contains(&format!("question {n}\""))), "question {n}");
    }
    let told = events.iter().filter(|event| matches!(event, EventKind::Compacted { summarised: true, .. }));
    assert_eq!(told.count(), 1);
}

// A49
#[tokio::test]
async fn the_summary_may_be_a_user_message() {
    let model = chatty(150, |_| Turn::text("They talked."));
    let memory = small().with_placement(SummaryPlacement::User);
    let agent = Agent::builder(model.clone()).system("Be kind.").memory(memory).build().unwrap();
    chat(&agent, 8).await;
    let last = &requests(&model).pop().unwrap().messages;
    assert!(roles(last).starts_with("seu"), "{}", roles(last));
}

// The next run of a conversation goes on from the summary, and what it shows stays a prefix until the next one.
#[tokio::test]
async fn runs_of_a_conversation_share_their_summary_and_keep_the_prefix() {
    let model = chatty(120, |n| Turn::text(&format!("summary {n}")));
    let agent = Agent::builder(model.clone()).system("s").memory(small()).build().unwrap();
    chat(&agent, 20).await;
    let (replies, summaries) = told_apart(&model);
    assert!((2..=6).contains(&summaries.len()), "{} summaries", summaries.len());
    let second = text_of(&summaries[1].messages[1]);
    assert!(second.contains("summary 1"), "the second one takes the first one in: {second}");
    let shown = ids(&replies);
    let breaks = shown.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
    assert_eq!(breaks, summaries.len(), "the prefix breaks where a summary is made");
}

// A52: an error, an empty text, one that is longer, and one that is no record change nothing
#[tokio::test]
async fn a_summary_that_fails_is_harmless() {
    let refused =
        [FinishReason::Refusal, FinishReason::ContentFilter, FinishReason::Error, FinishReason::Length]
            .map(|reason| Turn::text("Sorry.").finishing(reason));
    let failures = [Turn::empty().then_error(ErrorKind::Api), Turn::text("  "), Turn::text(&words(5_000))];
    for failure in failures.into_iter().chain(refused) {
        let model = chatty(150, move |_| failure.clone());
        let agent = Agent::builder(model.clone()).memory(small()).build().unwrap();
        let (_, events) = chat(&agent, 8).await;
        let (replies, summaries) = told_apart(&model);
        assert_eq!(replies.len(), 8);
        assert_eq!(roles(&replies[7].messages), "uauauauauauauau", "all of it is shown");
        assert!(!summaries.is_empty() && summaries.len() <= 3, "{}", summaries.len());
        let warned = events
            .iter()
            .filter(|event| matches!(event, EventKind::Warning { code: "compaction_failed", .. }));
        assert_eq!(warned.count(), summaries.len());
    }
}

// A record of some length that was cut at the limit of the reply says that it was.
#[tokio::test]
async fn a_summary_that_reaches_the_limit_of_the_reply_says_where_it_was_cut() {
    let cut = Turn::text(&words(100)).finishing(FinishReason::Length);
    let model = chatty(150, move |_| cut.clone());
    let agent = Agent::builder(model.clone()).memory(small()).build().unwrap();
    chat(&agent, 8).await;
    let (replies, _) = told_apart(&model);
    let summary = text_of(&replies[7].messages[0]);
    assert!(summary.ends_with("word \n[The record was cut here.]"), "{summary}");
}

// A52: a summary that never comes
#[tokio::test(start_paused = true)]
async fn a_summary_that_hangs_times_out() {
    let model = chatty(300, |_| Turn::empty().then_hang());
    let memory = small().with_timeout(Duration::from_secs(5));
    let agent = Agent::builder(model.clone()).memory(memory).build().unwrap();
    let history = (0..8)
        .flat_map(|n| [Message::user(format!("old {n}")).shared(), Message::assistant(words(200)).shared()]);
    let events = all(&mut agent.run(RunInput::from("now").with_history(history))).await;
    assert!(warnings(&events).contains(&"compaction_failed"));
    assert!(end(&events).text.starts_with("answer"));
}

// The cost of the summary counts.
#[tokio::test]
async fn another_model_may_write_the_summary_and_its_cost_counts() {
    let writer = FunctionModel::new(|_, _| Turn::text("short").costing(Usage::new(700, 7)));
    let model = FunctionModel::new(|_, _| Turn::text("ok").costing(Usage::new(10, 1)));
    let agent = Agent::builder(model.clone()).memory(small().with_model(writer.clone())).build().unwrap();
    let history = (0..8)
        .flat_map(|n| [Message::user(format!("old {n}")).shared(), Message::assistant(words(200)).shared()]);
    let outcome = agent.run(RunInput::from("now").with_history(history)).outcome().await.unwrap();
    assert_eq!((requests(&writer).len(), requests(&model).len()), (1, 1));
    assert_eq!((outcome.usage.input_tokens, outcome.usage.output_tokens), (Some(710), Some(8)));
    assert_eq!(outcome.steps, 1);
}

/// A tool whose results are long.
fn reads(tokens: usize) -> impl Tool + 'static {
    tool_fn("reads", "", move |Number { n }: Number| async move {
        Ok::<_, ToolError>(format!("BEGIN {n} {}END", words(tokens)))
    })
    .with_effect(Effect::Read)
}

/// Calls the tool in each of `rounds` steps, with an own text, then answers.
fn working(rounds: usize, summary: &'static str) -> FunctionModel {
    FunctionModel::new(move |request, _| {
        if asks_for_summary(request) {
            return Turn::text(summary);
        }
        let said = request.messages.iter().rev().find_map(|message| match &**message {
            Message::Assistant(reply) => {
                reply.text().strip_prefix("step ")?.split(' ').next()?.parse::<usize>().ok()
            }
            _ => None,
        });
        let step = said.map_or(0, |step| step + 1);
        match step < rounds {
            true => Turn::text(&format!("step {step} {}", words(60))).and_call("reads", json!({"n": step})),
            false => Turn::text("done"),
        }
    })
}

// Results of old calls go first, with a word of how to get them back.
#[tokio::test]
async fn old_results_are_cleared_before_anything_is_summarised() {
    let model = working(7, "unused");
    let agent = Agent::builder(model.clone())
        .tool(reads(150))
        .tool(ReadDocument::new())
        .memory(clearing())
        .build()
        .unwrap();
    let outcome = agent.run("THE TASK").outcome().await.unwrap();
    let (replies, summaries) = told_apart(&model);
    assert_eq!(summaries.len(), 0);
    let last = told(&replies.last().unwrap().messages);
    let cleared = last.iter().filter(|text| text.starts_with("[This old result of ")).count();
    assert!(cleared > 0 && cleared < last.len(), "{last:?}");
    assert!(last[0].contains("read_document reads it as document result-"), "{}", last[0]);
    assert!(last.last().unwrap().starts_with("BEGIN"), "the newest one is whole");
    assert!(
        told(&outcome.messages).iter().all(|text| text.starts_with("BEGIN")),
        "the history has all of them"
    );
}

// A51, R03: a turn of many rounds keeps its question and whole rounds
#[tokio::test]
async fn a_long_turn_is_compacted_by_rounds_behind_its_question() {
    let model = working(12, "They read a lot.");
    let memory = small().with_clearing(false);
    let agent = Agent::builder(model.clone()).system("s").tool(reads(100)).memory(memory).build().unwrap();
    let events = all(&mut agent.run("THE TASK")).await;
    assert_eq!(end(&events).text, "done");
    let (replies, summaries) = told_apart(&model);
    assert!(!summaries.is_empty());
    for request in &replies {
        let roles = roles(&request.messages);
        assert!(heard(&request.messages).iter().any(|text| text.contains("THE TASK")), "{roles}");
        let body = roles.trim_start_matches('s').trim_start_matches('u');
        assert!(body.replace("cr", "").is_empty(), "calls and results stand in pairs: {roles}");
    }
    assert!(replies.iter().any(|request| roles(&request.messages).starts_with("ssucr")));
}

// A summary that is lost in a crash is made again, and one that is recorded is not.
#[tokio::test]
async fn a_run_cut_at_every_entry_is_compacted_as_the_uncut_run() {
    for memory in [small(), small().with_clearing(false), clearing()] {
        let agent = |model: &FunctionModel| {
            Agent::builder(model.clone())
                .tool(reads(110))
                .tool(ReadDocument::new())
                .memory(memory.clone())
                .build()
                .unwrap()
        };
        let (journal, model) = (Arc::new(MemoryJournal::new()), working(10, "They read a lot."));
        agent(&model).run_in(journal.clone(), RunInput::from("go").with_run_id("r")).outcome().await.unwrap();
        assert!(keys(&journal).iter().any(|key| key == "memory/0"), "{:?}", keys(&journal));
        let uncut = ids(&requests(&model));
        let entries = journal.entries();
        for cut in 1..entries.len() {
            let asked = |entry: &&Entry| match &entry.kind {
                EntryKind::Reply(_) => true,
                EntryKind::Compacted(compacted) => compacted.model.is_some(),
                _ => false,
            };
            let answered = entries[..cut].iter().filter(asked).count();
            let model = working(10, "They read a lot.");
            let resumed = holding(stored(&entries[..cut]));
            agent(&model).resume(resumed.clone()).outcome().await.unwrap();
            let told: Vec<_> = ids(&requests(&model));
            // Requests for summaries have fresh ids.
            let (told, uncut) = (of_log(&told), of_log(&uncut[answered..]));
            assert_eq!(told, uncut, "cut before {}", entries[cut].key);
            assert_eq!(kinds(&resumed), kinds(&journal));
            assert_eq!(
                Run::replay(&resumed.entries()).unwrap().messages().len(),
                Run::replay(&entries).unwrap().messages().len()
            );
        }
    }
}

fn of_log(requests: &[Vec<String>]) -> Vec<Vec<String>> {
    requests
        .iter()
        .filter(|ids| ids.iter().any(|id| id.starts_with("r-")))
        .map(|ids| ids[1..].to_vec())
        .collect()
}

/// The keys of a log without the ids of calls.
fn kinds(journal: &MemoryJournal) -> Vec<String> {
    let kind = |key: String| if key.contains("call_") { key[..5].to_owned() } else { key };
    keys(journal).into_iter().map(kind).collect()
}

fn stored(entries: &[Entry]) -> Vec<Entry> {
    serde_json::from_str(&serde_json::to_string(entries).unwrap()).unwrap()
}

// Reactive: the provider says that the request is too long
#[tokio::test]
async fn a_request_that_is_too_long_is_compacted_once() {
    for shorter in [true, false] {
        let model = FunctionModel::new(move |request, _| match asks_for_summary(request) {
            true => Turn::text("They talked."),
            false if shorter && request.messages.len() < 16 => Turn::text("ok"),
            false => Turn::empty().then_error(ErrorKind::ContextTooLong),
        });
        let agent = Agent::builder(model.clone()).memory(Compaction::new()).build().unwrap();
        let history = (0..8).flat_map(|n| {
            [Message::user(format!("old {n}")).shared(), Message::assistant(words(2_000)).shared()]
        });
        let ended = agent.run(RunInput::from("now").with_history(history)).outcome().await;
        assert_eq!(ended.is_ok(), shorter);
        assert_eq!(requests(&model).len(), 3, "the request, the summary, the request once more");
    }
}

// A51: what is pinned stays, with its round
#[tokio::test]
async fn pinned_messages_stay() {
    let model = chatty(150, |_| Turn::text("They talked."));
    let agent = Agent::builder(model.clone()).memory(small()).build().unwrap();
    let rule = UserMessage::text("THE RULE").with_metadata(Metadata::new().with(PINNED, true));
    let mut history = vec![Message::User(rule).shared(), Message::assistant("Yes.").shared()];
    history.extend(
        (0..8).flat_map(|n| {
            [Message::user(format!("old {n}")).shared(), Message::assistant(words(200)).shared()]
        }),
    );
    agent.run(RunInput::from("now").with_history(history)).outcome().await.unwrap();
    let shown = requests(&model).pop().unwrap().messages;
    assert!(roles(&shown).starts_with("suu") || roles(&shown).starts_with("su"), "{}", roles(&shown));
    assert!(heard(&shown)[0].contains("THE RULE"));
    assert!(!heard(&shown).iter().any(|text| text.contains("old 1\"")));
}

// Documents of the old part are named behind the summary, and can still be read.
#[tokio::test]
async fn documents_of_the_old_part_stay_within_reach() {
    let lease = Document::inline(format!("rent: 900 {}", words(300))).with_file_name("lease.txt");
    let id = lease.id().clone();
    let model = FunctionModel::new(move |request, _| match asks_for_summary(request) {
        true => Turn::text("They looked at a lease."),
        false if roles(&request.messages).ends_with('u') => {
            Turn::call("read_document", json!({"id": id, "query": "rent"}))
        }
        false => Turn::text("ok"),
    });
    let agent = Agent::builder(model.clone())
        .tool(ReadDocument::new())
        .memory(small().with_threshold(2_000))
        .build()
        .unwrap();
    let mut history = vec![Message::User(UserMessage::text("Read it.").attach(lease.clone())).shared()];
    history.push(Message::assistant("I did.").shared());
    history.extend(
        (0..8).flat_map(|n| {
            [Message::user(format!("old {n}")).shared(), Message::assistant(words(250)).shared()]
        }),
    );
    let outcome = agent.run(RunInput::from("now").with_history(history)).outcome().await.unwrap();
    let (replies, _) = told_apart(&model);
    let summary = text_of(&replies[0].messages[0]);
    assert!(summary.ends_with(&format!("- {} (lease.txt, text/plain)", lease.id())), "{summary}");
    assert!(told(&outcome.messages)[0].contains("rent: 900"));
}

// Reported: huge tool output floods the context (huggingface/smolagents#1930)
#[tokio::test]
async fn the_rest_of_a_huge_result_can_be_read() {
    let long: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    let tool = tool_fn("log", "", move |_: NoArguments| {
        let long = long.clone();
        async move { Ok::<_, ToolError>(long) }
    });
    let model = FunctionModel::new(|request, number| match number {
        0 => Turn::call("log", json!({})),
        1 => {
            let shown = told(&request.messages).concat();
            assert!(shown.chars().count() < 2_200, "{}", shown.len());
            let id = shown.split("reads all of it as document ").nth(1).unwrap().split(' ').next().unwrap();
            Turn::call("read_document", json!({"id": id, "query": "line 1500"}))
        }
        _ => Turn::text("found"),
    });
    let agent = Agent::builder(model.clone())
        .tool(tool)
        .tool(ReadDocument::new())
        .max_result_chars(2_000)
        .build()
        .unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let outcome = agent.run_in(journal.clone(), "look").outcome().await.unwrap();
    assert!(told(&outcome.messages)[1].contains("line 1500"));
    // After a crash in front of that call the document is there as well.
    let cut: Vec<Entry> = journal.entries().into_iter().take_while(|entry| !matches!(&entry.kind, EntryKind::ToolOutcome(outcome) if outcome.result.tool_name.as_deref() == Some("read_document"))).collect();
    let resumed = agent.resume(holding(stored(&cut))).outcome().await.unwrap();
    assert_eq!(told(&resumed.messages), told(&outcome.messages));
}

#[tokio::test]
async fn a_window_of_tokens_lets_whole_turns_go() {
    let model = chatty(150, |_| panic!("nobody asks"));
    let agent = Agent::builder(model.clone()).system("s").memory(TokenWindow::new(1_000)).build().unwrap();
    let (_, events) = chat(&agent, 20).await;
    let requests = requests(&model);
    let shown = ids(&requests);
    let breaks = shown.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
    assert!((3..=10).contains(&breaks), "{breaks}");
    let moves = events.iter().filter(|event| matches!(event, EventKind::WindowMoved { .. })).count();
    assert!(moves >= breaks, "{moves}");
    for request in &requests[8..] {
        let roles = roles(&request.messages);
        assert!(roles.starts_with("seu"), "{roles}");
        assert!(text_of(&request.messages[1]).contains("earlier messages are no longer shown"));
    }
}

// The estimate is corrected by what the provider counted: here three times as much, of which twice counts.
#[tokio::test]
async fn an_estimate_is_corrected_by_what_the_provider_counted() {
    let rounds = |counted: u64| async move {
        let model = FunctionModel::new(move |request, number| {
            let tokens: u64 =
                request.messages.iter().map(|message| text_of(message).len() as u64 / 5 + 4).sum();
            let turn = if number < 8 {
                Turn::text("step").and_call("reads", json!({"n": number}))
            } else {
                Turn::text("done")
            };
            turn.costing(Usage::new(tokens * counted, 1))
        });
        let agent =
            Agent::builder(model.clone()).tool(reads(100)).memory(TokenWindow::new(800)).build().unwrap();
        agent.run("go").outcome().await.unwrap();
        requests(&model).iter().position(|request| roles(&request.messages).contains('e')).unwrap()
    };
    let (plain, thrice) = (rounds(1).await, rounds(3).await);
    assert!(thrice < plain, "{thrice} and {plain}");
}

// An agent without a memory of tokens is not told of what another one left out.
#[tokio::test]
async fn marks_of_another_memory_are_left_out() {
    let model = chatty(150, |_| panic!("nobody asks"));
    let agent = Agent::builder(model.clone()).memory(TokenWindow::new(500)).build().unwrap();
    let (history, _) = chat(&agent, 6).await;
    let plain = chatty(1, |_| panic!("nobody asks"));
    let agent = Agent::builder(plain.clone()).window(None).build().unwrap();
    agent.run(RunInput::from("now").with_history(history)).outcome().await.unwrap();
    assert_eq!(roles(&requests(&plain)[0].messages), "uauauauauauau");
}

/// The decisions of a memory that events tell.
fn compactions<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<(u64, bool, Usage)> {
    let told = events.into_iter().filter_map(|event| match &event.kind {
        EventKind::Compacted { tokens, summarised, usage } => Some((*tokens, *summarised, usage.clone())),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn the_log_tells_the_summaries_that_the_driver_tells() {
    let talks = |fails: bool| chatty(150, move |_| Turn::text(if fails { " " } else { "They talked." }));
    let history = || {
        (0..8).flat_map(|n| {
            [Message::user(format!("old {n}")).shared(), Message::assistant(words(200)).shared()]
        })
    };
    let works = Agent::builder(working(7, "unused")).tool(reads(150)).tool(ReadDocument::new());
    let cases = [
        (Agent::builder(talks(false)).memory(TokenWindow::new(1_000)), vec![]),
        (Agent::builder(talks(false)).memory(small()), vec![true]),
        (Agent::builder(talks(true)).memory(small()), vec![]),
        (works.memory(clearing()), vec![false]),
    ];
    for (agent, expected) in cases {
        let (agent, journal) = (agent.build().unwrap(), Arc::new(MemoryJournal::new()));
        let input = match *expected {
            [false] => RunInput::from("THE TASK"),
            _ => RunInput::from("now").with_history(history()),
        };
        let events = all(&mut agent.run_in(journal.clone(), input)).await;
        let entries = journal.entries();
        assert!(entries.iter().any(|entry| matches!(entry.kind, EntryKind::Compacted(_))));
        let mut log = LogEvents::new();
        let by_log: Vec<Event> = entries.iter().flat_map(|entry| log.take(entry).unwrap()).collect();
        assert_eq!(compactions(&by_log), compactions(&events));
        let mut kinds: Vec<bool> =
            compactions(&events).into_iter().map(|(_, summarised, _)| summarised).collect();
        kinds.dedup();
        assert_eq!(kinds, expected);
    }
}
