//! Runs inside tools: they are cut and resumed together with the run around them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::Counter;
use crate::common::journals::{Fault, Faulty, Method, SlowStore};
use crate::common::kit::{UNKNOWN, counting, heard, holding, pdf, told, until_it_waits};
use attache_agent::{
    Agent, AgentRun, EndReason, Entry, EntryKind, EventKind, JournalError, MemoryJournal, NoArguments,
    Outcome, Run, RunInput, tool_fn,
};
use attache_core::{Capture, Document, Effect, Message, Tool, ToolError, UserPart};
use attache_documents::{ExternalDocuments, RouteOptions};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use tokio::time::sleep;

/// The outcomes of the runs inside the tools, in the order in which they ended.
type Inside = Arc<Mutex<Vec<Result<Outcome, String>>>>;

/// A tool that starts runs, one for each script, one after the other, and says what came of them.
fn delegates(
    name: &'static str,
    scripts: Vec<Vec<Turn>>,
    pay: PayTool,
    inside: &Inside,
) -> impl Tool + use<> {
    let inside = Arc::clone(inside);
    tool_fn(name, "", move |_: NoArguments| {
        let (scripts, inside) = (scripts.clone(), Arc::clone(&inside));
        let pay = Arc::clone(&pay);
        async move {
            let mut said = Vec::new();
            for turns in scripts {
                let inner =
                    Agent::builder(ScriptedModel::new(turns).unverified()).tools([pay()]).build().unwrap();
                let ended = inner.run("pay it").outcome().await;
                let text = ended.as_ref().map(|outcome| outcome.text.clone());
                let text = text.map_err(|error| ToolError::new(error.to_string()));
                inside.lock().unwrap().push(ended.map_err(|error| error.to_string()));
                said.push(text?);
            }
            Ok::<_, ToolError>(said.join(", "))
        }
    })
    .with_effect(Effect::Idempotent)
}

type PayTool = Arc<dyn Fn() -> Arc<dyn Tool> + Send + Sync>;

fn pay(paid: &Counter) -> PayTool {
    let paid = paid.clone();
    Arc::new(move || Arc::new(counting("pay", Effect::SideEffect, &paid)))
}

/// Pays after that many seconds.
fn slow_pay(paid: &Counter, seconds: u64) -> PayTool {
    let paid = paid.clone();
    Arc::new(move || {
        let paid = paid.clone();
        Arc::new(tool_fn("pay", "", move |_: crate::common::Number| {
            let paid = paid.clone();
            async move {
                sleep(Duration::from_secs(seconds)).await;
                Ok::<_, ToolError>(format!("receipt {}", 16 + paid.add()))
            }
        }))
    })
}

fn inner_turns(n: i64) -> Vec<Turn> {
    vec![Turn::call("pay", json!({"n": n})), Turn::text(&format!("paid {n}"))]
}

fn outer(turns: Vec<Turn>, delegate: impl Tool + 'static) -> Agent {
    outer_of(turns, Arc::new(delegate), false)
}

type AnyTool = Arc<dyn Tool>;

/// `aborts` says whether a failure of a tool ends the run.
fn outer_of(turns: Vec<Turn>, delegate: AnyTool, aborts: bool) -> Agent {
    let builder = Agent::builder(ScriptedModel::new(turns).unverified()).tools([delegate]);
    builder.abort_on_tool_error(aborts).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_run_inside_an_idempotent_tool_does_not_repeat_its_effects() {
    let (paid, inside) = (Counter::default(), Inside::default());
    let journal = Arc::new(MemoryJournal::new());
    let hanging = vec![Turn::call("pay", json!({"n": 1})), Turn::text("x").then_hang()];
    let delegate = delegates("delegate", vec![hanging], pay(&paid), &inside);
    let mut run = outer(vec![Turn::call("delegate", "{}")], delegate).run_in(journal.clone(), "go");
    until_it_waits(&mut run).await;
    drop(run);
    assert_eq!(paid.get(), 1);
    let delegate = delegates("delegate", vec![vec![Turn::text("paid")]], pay(&paid), &inside);
    let outcome = outer(vec![Turn::text("done")], delegate).resume(journal).outcome().await.unwrap();
    assert_eq!((told(&outcome.messages), paid.get()), (vec!["paid".to_owned()], 1));
    let inside = inside.lock().unwrap();
    assert_eq!(told(&inside[0].as_ref().unwrap().messages), ["1"], "the result of before the crash");
}

fn count(entries: &[Entry], prefix: &str) -> usize {
    entries.iter().filter(|entry| entry.key.as_str().starts_with(prefix)).count()
}

/// Two runs inside a tool, each with an effect, cut at each entry of the log.
#[tokio::test]
async fn runs_inside_a_tool_cut_at_any_entry_go_on_and_pay_once() {
    let (paid, inside) = (Counter::default(), Inside::default());
    let journal = Arc::new(MemoryJournal::new());
    let scripts = || vec![inner_turns(1), inner_turns(2)];
    let turns = || vec![Turn::call("delegate", "{}"), Turn::text("done")];
    let delegate = delegates("delegate", scripts(), pay(&paid), &inside);
    let uncut = outer(turns(), delegate).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((told(&uncut.messages), paid.get()), (vec!["paid 1, paid 2".to_owned()], 2));
    let entries = journal.entries();
    let call = &uncut.calls[0].id;
    let mut cuts_inside = 0;
    for cut in 1..entries.len() {
        let (kept, left_out) = (&entries[..cut], &entries[cut].key);
        let scope = |number: usize| format!("tool/{call}/run/{number}>");
        let asked = |number: usize| count(kept, &format!("{}model/", scope(number)));
        let begun = |number: usize| count(kept, &format!("{}begun/", scope(number)));
        let done = |number: usize| count(kept, &format!("{}tool/", scope(number)));
        cuts_inside += usize::from(left_out.as_str().contains('>'));
        // Each process has the rest of each script.
        let rest: Vec<Vec<Turn>> =
            scripts().into_iter().zip(0..).map(|(mut turns, n)| turns.split_off(asked(n))).collect();
        let (paid, inside) = (Counter::default(), Inside::default());
        let delegate = delegates("delegate", rest, pay(&paid), &inside);
        let journal = holding(kept.to_vec());
        let rest = turns().split_off(count(kept, "model/"));
        let outcome = outer(rest, delegate).resume(journal.clone()).outcome().await.unwrap();
        assert_eq!(
            (&outcome.reason, told(&outcome.messages)),
            (&EndReason::Answer, told(&uncut.messages)),
            "cut before {left_out}"
        );
        // An effect that was begun is not begun again.
        assert_eq!(paid.get(), 2 - begun(0) - begun(1), "cut before {left_out}");
        for (number, ended) in inside.lock().unwrap().iter().enumerate() {
            let ended = ended.as_ref().unwrap();
            let unknown = begun(number) > done(number);
            let text = if unknown { UNKNOWN.to_owned() } else { (number + 1).to_string() };
            assert_eq!((told(&ended.messages), ended.unknown.len()), (vec![text], usize::from(unknown)));
        }
        // Each run inside has one log, and it is one of a run. A reply that was asked for again has another call.
        let call = &outcome.calls[0].id;
        for number in 0..2 {
            let own = journal.entries().into_iter().filter_map(|mut entry| {
                let key = entry.key.as_str().strip_prefix(&format!("tool/{call}/run/{number}>"))?.to_owned();
                entry.key = serde_json::from_value(json!(key)).unwrap();
                Some(entry)
            });
            let own: Vec<Entry> = own.collect();
            assert_eq!(Run::replay(&own).unwrap().outcome().reason, EndReason::Answer);
        }
    }
    assert!(cuts_inside >= 12, "{cuts_inside} cuts were inside the tool");
}

/// A run inside a tool: its question, and the replies that its model has left.
type Asked = (RunInput, Vec<Turn>);

/// A tool that starts a run for each question at once, in this order, and tells their results.
fn starts(runs: Vec<Asked>, paid: &Counter) -> impl Tool + use<> {
    let pay = pay(paid);
    tool_fn("delegate", "", move |_: NoArguments| {
        let (pay, runs) = (Arc::clone(&pay), runs.clone());
        async move {
            let run = |(input, turns): Asked| {
                let model = ScriptedModel::new(turns)
                    .unverified()
                    .with_capabilities_of("anthropic", "claude-sonnet-4-5");
                let builder = Agent::builder(model).tools([pay()]);
                let routing = RouteOptions::default().with_external(ExternalDocuments::PassUrl);
                builder.store(Arc::new(SlowStore::new(10))).routing(routing).build().unwrap().run(input)
            };
            let runs: Vec<_> = runs.into_iter().map(run).collect();
            let ended = futures_util::future::join_all(runs.into_iter().map(AgentRun::outcome)).await;
            let said = ended.into_iter().map(|ended| match ended {
                Ok(outcome) => format!("{} {}", told(&outcome.messages).join(" "), outcome.text),
                Err(error) => std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default(),
            });
            Ok::<_, ToolError>(said.collect::<Vec<_>>().join(", "))
        }
    })
    .with_effect(Effect::Idempotent)
}

/// A run that pays `n`, and never answers.
fn pays(n: i64, input: RunInput) -> Asked {
    (input, vec![Turn::call("pay", json!({"n": n})), Turn::text("x").then_hang()])
}

/// The same run in the next process, which has to answer only.
fn answers(n: i64, input: RunInput) -> Asked {
    (input, vec![Turn::text(&format!("paid {n}"))])
}

/// A run that is new in the next process.
fn new(n: i64, input: RunInput) -> Asked {
    (input, vec![Turn::call("pay", json!({"n": n})), Turn::text(&format!("paid {n}"))])
}

/// The result of the tool, which was interrupted when its runs had paid, and starts these next time; and how often was
/// paid.
async fn interrupted(first: Vec<Asked>, next: Vec<Asked>) -> (String, usize) {
    let paid = Counter::default();
    let journal = Arc::new(MemoryJournal::new());
    let mut run =
        outer(vec![Turn::call("delegate", "{}")], starts(first, &paid)).run_in(journal.clone(), "go");
    until_it_waits(&mut run).await;
    drop(run);
    let second = outer(vec![Turn::text("done")], starts(next, &paid));
    let outcome = second.resume(journal).outcome().await.unwrap();
    (told(&outcome.messages).remove(0), paid.get())
}

fn ask(n: i64) -> RunInput {
    format!("pay {n}").into()
}

/// A tool that is run again may start its runs in another order, and new ones.
#[tokio::test(start_paused = true)]
async fn runs_inside_a_tool_find_their_logs_by_their_questions() {
    let first = || vec![pays(1, ask(1)), pays(2, ask(2))];
    let next = vec![answers(2, ask(2)), answers(1, ask(1)), new(3, ask(3))];
    assert_eq!(interrupted(first(), next).await, ("2 paid 2, 1 paid 1, 3 paid 3".to_owned(), 3));
    // Two that ask the same go on in their order.
    let first = || vec![pays(1, ask(0)), pays(2, ask(0))];
    let next = vec![answers(1, ask(0)), answers(2, ask(0))];
    assert_eq!(interrupted(first(), next).await, ("1 paid 1, 2 paid 2".to_owned(), 2));
}

/// Nobody knows whether it is one of those that paid, in other words.
#[tokio::test(start_paused = true)]
async fn a_run_inside_a_tool_that_may_have_paid_before_is_not_begun_anew() {
    let first = || vec![pays(1, ask(1)), pays(2, ask(2))];
    let next = vec![new(3, ask(3)), answers(2, ask(2)), answers(1, ask(1))];
    let (said, paid) = interrupted(first(), next).await;
    assert!(
        said.contains("its question is another one now; give such runs an id, 2 paid 2, 1 paid 1"),
        "{said}"
    );
    assert_eq!(paid, 2);
}

#[tokio::test(start_paused = true)]
async fn named_runs_inside_a_tool_find_their_logs_whatever_they_are_asked() {
    let called = |n: i64, at: &str| RunInput::from(format!("pay, at {at}")).with_run_id(format!("run {n}"));
    let first = vec![pays(1, called(1, "noon")), pays(2, called(2, "noon"))];
    let next = vec![new(3, called(3, "one")), answers(2, called(2, "one")), answers(1, called(1, "one"))];
    assert_eq!(interrupted(first, next).await, ("3 paid 3, 2 paid 2, 1 paid 1".to_owned(), 3));
    // A name is no question.
    let first = vec![pays(1, ask(1).with_run_id("a")), pays(2, ask(1))];
    let next = vec![answers(2, ask(1)), answers(1, ask(1).with_run_id("a"))];
    assert_eq!(interrupted(first, next).await, ("2 paid 2, 1 paid 1".to_owned(), 2));
}

/// Whatever a question may differ in.
#[tokio::test(start_paused = true)]
async fn questions_of_runs_inside_a_tool_differ_in_all_that_is_asked() {
    let text = |n: i64| Document::inline(format!("text {n}")).with_file_name("a.txt");
    let parts = |content: UserPart| RunInput::from(vec![UserPart::text("look"), Some(content)]);
    let object = |n: i64| {
        #[derive(serde::Serialize)]
        struct Case {
            number: i64,
            file: Document,
        }
        let mut capture = Capture::new();
        let case = capture.run_blocking(|| Case { number: n, file: text(7) });
        UserPart::Object(capture.finish(&case).unwrap())
    };
    let ways: [&dyn Fn(i64) -> RunInput; 4] = [
        &|n| parts(UserPart::Document(Document::external(format!("https://files.example/{n}.pdf")))),
        &|n| parts(UserPart::Document(text(n))),
        &|n| parts(object(n)),
        &|n| ask(0).with_history([Message::user(format!("{n}")).shared(), Message::assistant("ok").shared()]),
    ];
    for (at, way) in ways.iter().enumerate() {
        let first = vec![pays(1, way(1)), pays(2, way(2))];
        let next = vec![answers(2, way(2)), answers(1, way(1))];
        assert_eq!(interrupted(first, next).await, ("2 paid 2, 1 paid 1".to_owned(), 2), "way {at}");
    }
}

/// The first run was still storing its document when the second one paid.
#[tokio::test(start_paused = true)]
async fn a_run_inside_a_tool_that_wrote_nothing_begins_beside_one_that_paid() {
    let slow = || {
        let parts = [UserPart::text("pay 1"), Some(UserPart::Document(pdf("a.pdf")))];
        RunInput::from(Vec::from(parts))
    };
    let first = vec![pays(1, slow()), pays(2, ask(2))];
    let next = vec![new(1, slow()), answers(2, ask(2))];
    assert_eq!(interrupted(first, next).await, ("1 paid 1, 2 paid 2".to_owned(), 2));
}

/// A run inside a run inside a run.
#[tokio::test]
async fn runs_two_levels_deep_cut_at_any_entry_pay_once() {
    let agent = |turns: [VecDeque<Turn>; 3], paid: &Counter| {
        let [outermost, middle, inner] = turns.map(Vec::from);
        let inside = Inside::default();
        let delegate: PayTool = {
            let paid = paid.clone();
            Arc::new(move || {
                Arc::new(delegates("inner", vec![inner.clone()], pay(&paid), &Inside::default()))
            })
        };
        outer(outermost, delegates("middle", vec![middle], delegate, &inside))
    };
    let turns = || {
        let two = |name: &str| VecDeque::from([Turn::call(name, "{}"), Turn::text("done")]);
        [two("middle"), two("inner"), VecDeque::from(inner_turns(1))]
    };
    let paid = Counter::default();
    let journal = Arc::new(MemoryJournal::new());
    let uncut = agent(turns(), &paid).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((told(&uncut.messages), paid.get()), (vec!["done".to_owned()], 1));
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let kept = &entries[..cut];
        let depth = |entry: &Entry| entry.key.as_str().matches('>').count();
        let of = |level: usize, what: &str| {
            let name = |entry: &Entry| entry.key.as_str().rsplit('>').next().unwrap().starts_with(what);
            kept.iter().filter(|entry| depth(entry) == level && name(entry)).count()
        };
        let mut rest = turns();
        for (level, turns) in rest.iter_mut().enumerate() {
            turns.drain(..of(level, "model/"));
        }
        let paid = Counter::default();
        let outcome = agent(rest, &paid).resume(holding(kept.to_vec())).outcome().await.unwrap();
        assert_eq!(told(&outcome.messages), ["done"], "cut before {}", entries[cut].key);
        assert_eq!(paid.get(), 1 - of(2, "begun/"), "cut before {}", entries[cut].key);
    }
}

/// The tool of the superseded driver fails because the run inside it is superseded as well: that is no result of the
/// tool, and the driver that took over has its own.
#[tokio::test(start_paused = true)]
async fn a_superseded_run_inside_a_tool_leaves_no_failure_for_the_other_driver() {
    for aborts in [false, true] {
        superseded_inside(aborts).await;
    }
}

async fn superseded_inside(aborts: bool) {
    let outer = |turns, delegate: AnyTool| outer_of(turns, delegate, aborts);
    let (paid, first_inside, second_inside) = (Counter::default(), Inside::default(), Inside::default());
    let journal = Arc::new(MemoryJournal::new());
    let delegate = delegates("delegate", vec![inner_turns(1)], slow_pay(&paid, 5), &first_inside);
    let first = outer(vec![Turn::call("delegate", "{}")], Arc::new(delegate)).run_in(journal.clone(), "go");
    let (first, second) = tokio::join!(first.outcome(), async {
        sleep(Duration::from_secs(1)).await;
        // It does something else first, which takes longer than the first driver needs.
        let turns = vec![Turn::call("pay", json!({"n": 2})), Turn::text("all is paid")];
        let delegate = delegates("delegate", vec![turns], slow_pay(&paid, 20), &second_inside);
        let rest = outer(vec![Turn::text("done")], Arc::new(delegate)).resume(journal.clone());
        rest.outcome().await.unwrap()
    });
    let error = first.unwrap_err();
    assert_eq!(error.reason(), &EndReason::Superseded, "{aborts}");
    assert!(matches!(error.journal_error(), Some(JournalError::Fenced)));
    assert_eq!(first_inside.lock().unwrap()[0], Err("another driver has taken the run over".to_owned()));
    assert_eq!((told(&second.messages), paid.get()), (vec!["all is paid".to_owned()], 2));
    // The receipt of the effect inside reaches the run inside.
    let inside = second_inside.lock().unwrap();
    let ended = inside[0].as_ref().unwrap();
    assert_eq!(told(&ended.messages), [UNKNOWN, "receipt 18"]);
    assert!(heard(&ended.messages).last().unwrap().contains("receipt 17"), "{:?}", heard(&ended.messages));
}

/// Nothing of a run inside a tool is kept where the run around it is not kept.
#[tokio::test]
async fn a_run_inside_a_tool_of_a_run_that_is_not_kept_runs_on_its_own() {
    let (paid, inside) = (Counter::default(), Inside::default());
    let delegate = delegates("delegate", vec![inner_turns(1)], pay(&paid), &inside);
    let turns = vec![Turn::call("delegate", "{}"), Turn::call("delegate", "{}"), Turn::text("done")];
    let mut run = outer(turns, delegate).run("go");
    let mut results = 0;
    while let Some(event) = run.next().await {
        results += usize::from(matches!(event.kind, EventKind::ToolFinished { .. }));
    }
    assert_eq!((results, paid.get()), (2, 2));
}

// A journal that fails for a moment breaks the inner run off. Its tool has no result then: told as failed, the model would
// start the work again.
#[tokio::test(start_paused = true)]
async fn a_run_inside_that_is_broken_off_leaves_its_call_open() {
    for aborts in [false, true] {
        broken_off_inside(aborts).await;
    }
}

async fn broken_off_inside(aborts: bool) {
    let outer = |turns, delegate: AnyTool| outer_of(turns, delegate, aborts);
    let (paid, inside) = (Counter::default(), Inside::default());
    let delegate = || Arc::new(delegates("delegate", vec![inner_turns(1)], pay(&paid), &inside));
    // The outer start, reply and intent, the inner start, and then the inner reply.
    let journal = Faulty::new((Method::Append, 5, Fault::Fails));
    let first = outer(vec![Turn::call("delegate", "{}")], delegate());
    let error = first.run_in(journal.clone(), "go").outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::InternalError, "{aborts}");
    let recorded = journal.inner.entries();
    let results = recorded.iter().filter(|entry| matches!(entry.kind, EntryKind::ToolOutcome(_)));
    assert_eq!(results.count(), 0);
    let second = outer(vec![Turn::text("done")], delegate());
    let outcome = second.resume(journal.inner.clone()).outcome().await.unwrap();
    assert_eq!((told(&outcome.messages), paid.get()), (vec!["paid 1".to_owned()], 1));
}
