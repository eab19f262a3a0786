//! A run comes to its end, whoever hangs, panics, reads slowly or goes away.

use std::sync::Arc;
use std::time::Duration;

use crate::common::Counter;
use crate::common::journals::{Away, Fault, Faulty, Method};
use crate::common::kit::{
    UNKNOWN, all, before, counting, end, holding, keys, pdf, results, told, until_it_waits, warnings,
};
use attache_agent::{
    Agent, Disposition, EndReason, EntryKind, EventKind, MemoryJournal, MemorySessions, NoArguments, Run,
    RunInput, Sessions, SubmitError, Tools, tool_fn,
};
use attache_core::converter::{ConvertedText, ConverterError};
use attache_core::fetcher::{FetchError, Fetched, Fetcher};
use attache_core::tool::ToolSpec;
use attache_core::{
    Arguments, BoxFuture, Converter, Document, DocumentId, DocumentStore, Effect, MediaType, StoreError,
    Tool, ToolContext, ToolDefinition, ToolError, ToolHandler, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

const HOUR: Duration = Duration::from_secs(3600);

/// A tool with an effect that does not come to its end.
fn hangs(name: &str) -> impl Tool + 'static {
    tool_fn(name, "", |_: NoArguments| async {
        std::future::pending::<()>().await;
        Ok::<_, ToolError>("paid")
    })
}

fn external(name: &str) -> Tools {
    Tools::new().with_external(ToolDefinition::new(name, "", json!({"type": "object", "properties": {}})))
}

#[tokio::test(start_paused = true)]
async fn cancelling_an_effect_under_way_says_that_it_may_have_happened() {
    let journal = Arc::new(MemoryJournal::new());
    let turns = [Turn::call("pay", "{}").and_call("read", json!({"n": 1}))];
    let read = counting("read", Effect::Read, &Counter::default());
    let agent = Agent::builder(ScriptedModel::new(turns)).tool(hangs("pay")).tool(read).build().unwrap();
    let mut run = agent.run_in(journal.clone(), "go");
    until_it_waits(&mut run).await;
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    assert_eq!(outcome.reason, EndReason::Cancelled);
    assert_eq!(told(&outcome.messages), [UNKNOWN, "1"]);
    assert_eq!(outcome.unknown.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["pay"]);
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
}

#[tokio::test(start_paused = true)]
async fn an_abort_does_not_wait_for_the_other_calls_of_its_round() {
    let aborts = tool_fn("aborts", "", |_: NoArguments| async { Err::<(), _>(ToolError::abort("stop now")) });
    let calls = Turn::call("pay", "{}").and_call("aborts", "{}").and_call("ask", "{}");
    let builder = Agent::builder(ScriptedModel::new([calls])).tool(aborts).tool(hangs("pay"));
    let agent = builder.tool_set(external("ask")).build().unwrap();
    let error = timeout(HOUR, agent.run("go").outcome()).await.expect("it ends at once").unwrap_err();
    assert_eq!(error.reason(), &EndReason::ToolAbort);
    let told = told(&error.partial().messages);
    assert_eq!((&*told[0], &*told[1]), (UNKNOWN, "stop now"));
    assert!(!told[2].contains(UNKNOWN), "nobody began the caller's call: {told:?}");
    assert_eq!(error.partial().unknown.len(), 1);
}

/// Fails for good after that many seconds.
fn breaks(name: &str, seconds: u64, error: fn(&str) -> ToolError) -> impl Tool + 'static {
    let text = format!("{name} is broken");
    tool_fn(name, "", move |_: NoArguments| {
        let error = error(&text);
        async move {
            if seconds > 0 {
                sleep(Duration::from_secs(seconds)).await;
            }
            Err::<(), _>(error)
        }
    })
}

fn breaking(turns: Vec<Turn>, seconds: u64) -> Agent {
    let builder = Agent::builder(ScriptedModel::new(turns)).abort_on_tool_error(true);
    let builder = builder.tool(breaks("first", seconds, |text| ToolError::abort(text)));
    builder.tool(breaks("second", seconds, |text| ToolError::new(text))).build().unwrap()
}

fn both() -> Turn {
    Turn::call("first", "{}").and_call("second", "{}")
}

#[tokio::test(start_paused = true)]
async fn of_two_aborts_of_a_round_one_ends_the_run() {
    let error = breaking(vec![both()], 0).run("go").outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::ToolAbort);
    assert_eq!(told(&error.partial().messages), ["first is broken", "second is broken"]);
    // The appends: the start, the reply, the intents, the result of the second call, and the end that the first one makes.
    let slow = [Fault::Takes(10), Fault::Hangs, Fault::HangsAfterwards, Fault::Fails, Fault::FailsAfterwards];
    for fault in [None].into_iter().chain(slow.map(|fault| Some((Method::Append, 4, fault)))) {
        let journal = Faulty::new(fault);
        let error = breaking(vec![both()], 0).run_in(journal.clone(), "go").outcome().await.unwrap_err();
        assert_eq!(error.reason(), &EndReason::ToolAbort, "{fault:?}");
        assert_eq!(told(&error.partial().messages), ["first is broken", "second is broken"], "{fault:?}");
        let entries = journal.inner.entries();
        assert_eq!(&Run::replay(&entries).unwrap().outcome(), error.partial(), "{fault:?}");
        let aborts = entries.iter().filter(|entry| {
            matches!(&entry.kind, EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Aborted)
        });
        assert_eq!(aborts.count(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_session_goes_on_behind_two_aborts_of_a_round() {
    let sessions =
        Sessions::new(breaking(vec![both(), Turn::text("well")], 0), Arc::new(MemorySessions::new()));
    let session = sessions.open("ann", None).await.unwrap();
    let error = session.run("one").outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::ToolAbort);
    let outcome = session.run("two").outcome().await.unwrap();
    assert_eq!(&*outcome.text, "well");
    assert_eq!(told(&outcome.messages), ["first is broken", "second is broken"]);
}

/// Older programs recorded each abort of a round as one, and stopped at the second.
#[tokio::test]
async fn a_log_with_two_aborts_of_a_round_is_read_and_comes_to_its_end() {
    let journal = Arc::new(MemoryJournal::new());
    breaking(vec![both()], 0).run_in(journal.clone(), "go").outcome().await.unwrap_err();
    let mut entries = before(&journal.entries(), "end");
    for entry in &mut entries {
        if let EntryKind::ToolOutcome(outcome) = &mut entry.kind {
            outcome.disposition = Disposition::Aborted;
        }
    }
    let run = Run::replay(&entries).unwrap();
    assert_eq!((run.outcome().reason, run.outcome().unknown.len()), (EndReason::ToolAbort, 0));
    let journal = holding(entries);
    let error = breaking(vec![], 0).resume(journal.clone()).outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::ToolAbort);
    assert_eq!(told(&error.partial().messages), ["first is broken", "second is broken"]);
    assert_eq!(&Run::replay(&journal.entries()).unwrap().outcome(), error.partial());
}

/// The tools come to their end while nobody looks, and then the run is interrupted or cancelled.
#[tokio::test(start_paused = true)]
async fn aborts_beside_an_interruption_leave_a_log_that_can_be_read() {
    let works = || {
        tool_fn("works", "", |_: NoArguments| async {
            sleep(Duration::from_secs(1)).await;
            Ok::<_, ToolError>("worked")
        })
    };
    for (cancels, expected) in [(false, EndReason::ToolAbort), (true, EndReason::Cancelled)] {
        for fault in [None, Some((Method::Append, 4, Fault::Takes(10)))] {
            let turn = both().and_call("works", "{}").and_call("hangs", "{}");
            let builder = Agent::builder(ScriptedModel::new([turn])).abort_on_tool_error(true);
            let builder = builder.tool(breaks("first", 1, |text| ToolError::abort(text)));
            let builder = builder.tool(breaks("second", 1, |text| ToolError::new(text)));
            let agent = builder.tool(works()).tool(hangs("hangs")).build().unwrap();
            let journal = Faulty::new(fault);
            let mut run = agent.run_in(journal.clone(), "go");
            until_it_waits(&mut run).await;
            sleep(Duration::from_secs(2)).await;
            if cancels {
                run.control().cancel();
            } else {
                run.control().interrupt(UserMessage::new([UserPart::text("wait")])).unwrap();
            }
            let events = all(&mut run).await;
            let partial = match &events.last().unwrap().kind {
                EventKind::Finished(Err(error)) => error.partial().clone(),
                kind => kind.outcome().unwrap().clone(),
            };
            assert_eq!(partial.reason, expected, "{fault:?}");
            assert_eq!(
                told(&partial.messages),
                ["first is broken", "second is broken", "worked", UNKNOWN],
                "{fault:?}"
            );
            assert_eq!(
                Run::replay(&journal.inner.entries()).unwrap().outcome(),
                partial,
                "{expected} {fault:?}"
            );
        }
    }
}

/// The consumer may be a person who is asked something, or a slow connection.
#[tokio::test(start_paused = true)]
async fn a_consumer_that_reads_slowly_times_no_tool_out() {
    let work = |millis: u64| {
        tool_fn(format!("work{millis}"), "", move |_: NoArguments| async move {
            for _ in 0..3 {
                sleep(Duration::from_millis(millis)).await;
            }
            Ok::<_, ToolError>("worked")
        })
    };
    for calls in [["work10", "work10"], ["work10", "work20"]] {
        let calls = Turn::call(calls[0], "{}").and_call(calls[1], "{}");
        let model = ScriptedModel::new([calls, Turn::text("done")]);
        let agent = Agent::builder(model).tool(work(10)).tool(work(20)).build().unwrap();
        let mut run = agent.run("go");
        let mut finished = Vec::new();
        while let Some(event) = run.next().await {
            if let EventKind::ToolFinished { result, disposition } = event.kind {
                finished.push((disposition, result.tree.model_text().into_owned()));
            }
            sleep(Duration::from_secs(90)).await;
        }
        assert_eq!(finished, vec![(Disposition::Executed, "worked".to_owned()); 2]);
    }
}

/// The mending of slow consumers must not take the limit away.
#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_times_out_under_a_slow_consumer() {
    let calls = Turn::call("pay", "{}").and_call("read", json!({"n": 1}));
    let read = counting("read", Effect::Read, &Counter::default());
    let model = ScriptedModel::new([calls, Turn::text("done")]);
    let builder = Agent::builder(model).tool(hangs("pay")).tool(read);
    let agent = builder.tool_timeout(Duration::from_secs(5)).build().unwrap();
    let mut run = agent.run("go");
    let mut waited = Duration::ZERO;
    let mut last = None;
    loop {
        let asked = Instant::now();
        let Some(event) = run.next().await else { break };
        waited += asked.elapsed();
        sleep(Duration::from_secs(90)).await;
        last = Some(event);
    }
    let outcome = end(&[last.unwrap()]);
    assert!(told(&outcome.messages)[0].starts_with("timed out after 5 s"), "{:?}", told(&outcome.messages));
    // The 90 s between its start and the next event are part of the clock that ran out while nobody polled.
    assert!(waited <= Duration::from_secs(6), "{waited:?}");
}

#[tokio::test]
async fn a_control_outlives_its_run_and_says_so() {
    let model = ScriptedModel::new([Turn::text("ab").then_hang()]).unverified();
    let mut run = Agent::builder(model).build().unwrap().run("go");
    let control = run.control();
    run.next().await;
    control.inject(UserMessage::new([UserPart::text("before")])).unwrap();
    assert!(control.is_active());
    drop(run);
    assert!(!control.is_active());
    let error = control.inject(UserMessage::new([UserPart::text("after")])).unwrap_err();
    assert!(matches!(error, SubmitError::ChatLoopClosed));
    assert_eq!(control.unread().len(), 1, "the message that nobody read");
    assert!(matches!(control.submit([]).await.unwrap_err(), SubmitError::ChatLoopClosed));
}

/// A family that lists these tools, or hangs, or fails, or panics.
pub(crate) struct Family {
    name: &'static str,
    tools: Vec<ToolSpec>,
    listed: Counter,
    fault: &'static str,
}

impl Family {
    pub(crate) fn new(name: &'static str, tools: &[&str], fault: &'static str) -> Self {
        let spec = |name: &&str| ToolSpec::new(ToolDefinition::new(*name, "", json!({})));
        Self { name, tools: tools.iter().map(spec).collect(), listed: Counter::default(), fault }
    }
}

impl ToolHandler for Family {
    type Output = String;

    fn name(&self) -> &str {
        self.name
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        self.listed.add();
        match self.fault {
            "hangs" => std::future::pending().await,
            "fails" => Err(ToolError::new("dead")),
            "panics" => panic!("a bug"),
            _ => Ok(self.tools.clone()),
        }
    }

    async fn call(&self, tool: &str, _: &Arguments, _: ToolContext) -> Result<String, ToolError> {
        Ok(tool.to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn a_family_that_cannot_list_costs_only_its_own_tools() {
    for fault in ["hangs", "fails", "panics"] {
        let turns = (0..5).flat_map(|_| [Turn::call("good.x", "{}"), Turn::text("done")]);
        let (good, bad) = (Family::new("good", &["good.x"], ""), Family::new("bad", &["bad.x"], fault));
        let (good_listed, bad_listed) = (good.listed.clone(), bad.listed.clone());
        let model = ScriptedModel::new(turns);
        let agent = Agent::builder(model.clone()).handler(good).handler(bad).build().unwrap();
        let start = Instant::now();
        for _ in 0..5 {
            let events = all(&mut agent.run("go")).await;
            assert_eq!(told(&end(&events).messages), ["good.x"]);
            assert_eq!(warnings(&events), ["tools_unavailable"], "{fault}");
        }
        assert!(
            start.elapsed() <= Duration::from_secs(11),
            "{fault} held five runs up {:?}",
            start.elapsed()
        );
        assert_eq!((good_listed.get(), bad_listed.get()), (1, 1), "{fault}");
        assert!(model.requests().iter().all(|request| request.tools.len() == 1));
        // It is asked again when some time has passed.
        sleep(Duration::from_secs(60)).await;
        model.push(Turn::text("done"));
        agent.run("go").outcome().await.unwrap();
        assert_eq!((good_listed.get(), bad_listed.get()), (1, 2), "{fault}");
    }
}

#[tokio::test]
async fn a_family_whose_names_clash_costs_only_the_clashing_tool() {
    let model = ScriptedModel::new([Turn::call("y", "{}"), Turn::text("done")]);
    let own = counting("t", Effect::Read, &Counter::default());
    let family = Family::new("mcp:x", &["y", "y", "t"], "");
    let agent = Agent::builder(model.clone()).tool(own).handler(family).build().unwrap();
    let events = all(&mut agent.run("go")).await;
    assert_eq!(
        (end(&events).reason, told(&end(&events).messages)),
        (EndReason::Answer, vec!["y".to_owned()])
    );
    assert_eq!(warnings(&events), ["tools_unavailable", "tools_unavailable"]);
    assert_eq!(model.requests()[0].tools.len(), 2);
}

/// All that an agent is given from outside may panic.
struct Panics;

impl Converter for Panics {
    fn converts(&self, _: &MediaType) -> bool {
        true
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        _: bytes::Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        Box::pin(async { panic!("bad pdf") })
    }
}

impl Fetcher for Panics {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        panic!("before the future is made")
    }
}

impl DocumentStore for Panics {
    fn id(&self) -> &'static str {
        "panics"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        panic!("before the future is made")
    }

    fn get<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<bytes::Bytes, StoreError>> {
        Box::pin(async { panic!("inside the future") })
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { panic!("inside the future") })
    }
}

#[tokio::test]
async fn a_panic_of_converter_fetcher_or_store_takes_no_run_down() {
    let away = || Document::external("https://example.org/a.pdf");
    for what in ["converter", "fetcher", "store"] {
        let fetch = tool_fn("fetch", "", move |_: NoArguments| async move {
            Ok::<_, ToolError>(if what == "fetcher" { away() } else { pdf("a.pdf") })
        });
        let turns = [Turn::call("fetch", "{}"), Turn::text("done")];
        let builder = Agent::builder(ScriptedModel::new(turns)).tool(fetch.with_effect(Effect::Read));
        let agent = match what {
            "converter" => builder.converter(Panics),
            "fetcher" => builder.fetcher(Panics),
            _ => builder.store(Arc::new(Panics)),
        };
        let mut run = agent.build().unwrap().run("go");
        let events = all(&mut run).await;
        let outcome = end(&events);
        assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "done"), "{what}");
        let stored = if what == "store" { vec!["document_not_stored"] } else { Vec::new() };
        assert_eq!(warnings(&events), stored, "{what}");
        assert_eq!(results(&outcome.messages)[0].tree.documents().len(), 1, "the document is not lost");
    }
}

#[tokio::test]
async fn a_panic_of_a_store_is_a_fault_of_a_run_that_is_kept() {
    let journal = Arc::new(MemoryJournal::new());
    let model = || {
        ScriptedModel::new([Turn::text("done")]).unverified().with_capabilities_of("openai-chat", "gpt-4o")
    };
    let input = || RunInput::from(UserMessage::new([pdf("a.pdf").into()]));
    let agent = Agent::builder(model()).store(Arc::new(Panics)).build().unwrap();
    let error = agent.run_in(journal.clone(), input()).outcome().await.unwrap_err();
    assert_eq!((error.reason(), error.partial().messages.len()), (&EndReason::InternalError, 1));
    assert!(keys(&journal).is_empty(), "a log never refers to a document that no store has");
    let agent = Agent::builder(model()).store(Arc::new(Away::default())).build().unwrap();
    let outcome = agent.run_in(journal, input()).outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Answer);
}

/// Cancelled, and past its deadline, at each call of a journal that does not answer.
#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_run_whose_journal_hangs() {
    for (method, call) in [(Method::Load, 1), (Method::Claim, 1), (Method::Append, 1), (Method::Append, 2)] {
        let journal = Faulty::lasting((method, call, Fault::Hangs));
        let agent = Agent::builder(ScriptedModel::new([Turn::text("done")]).unverified()).build().unwrap();
        let mut run = agent.run_in(journal.clone(), "go");
        until_it_waits(&mut run).await;
        run.control().cancel();
        let start = Instant::now();
        let outcome = end(&timeout(HOUR, all(&mut run)).await.expect("it ends"));
        assert_eq!(outcome.reason, EndReason::Cancelled, "{method:?} {call}");
        assert!(start.elapsed() <= Duration::from_secs(6), "{method:?} {call}: {:?}", start.elapsed());
        assert!(!keys(&journal.inner).contains(&"end".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_run_whose_journal_hangs() {
    for (method, call) in [(Method::Load, 1), (Method::Claim, 1), (Method::Append, 1), (Method::Append, 2)] {
        let journal = Faulty::lasting((method, call, Fault::Hangs));
        let builder = Agent::builder(ScriptedModel::new([Turn::text("done")]).unverified());
        let agent = builder.deadline(Duration::from_secs(10)).build().unwrap();
        let start = Instant::now();
        let outcome = timeout(HOUR, agent.run_in(journal, "go").outcome()).await.expect("it ends").unwrap();
        assert_eq!(outcome.reason, EndReason::Deadline, "{method:?} {call}");
        assert!(start.elapsed() <= Duration::from_secs(16), "{method:?} {call}: {:?}", start.elapsed());
    }
}
