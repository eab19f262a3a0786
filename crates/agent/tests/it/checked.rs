//! Hooks on what people bring into a run: results from elsewhere, and arguments that somebody changed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::kit::{all, end, holding, keys, told, until_it_waits};
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, AgentBuilder, CallVerdict, Decision, Disclosure, EndReason, EventKind, HookContext, HookError,
    Journal, MemoryDocumentStore, MemoryJournal, Outcome, Run, RunHook, SubmitError, Tools, deliver, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{
    Approval, BoxFuture, Capture, ChatRequest, ContentTree, Document, DocumentStore as _, Effect,
    ResultStatus, ToolCall, ToolDefinition, ToolError, ToolResult, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use bytes::Bytes;
use serde_json::json;

/// A hook that redacts secrets in results, denies payments above a hundred, makes 40 of 50, and writes down what it was
/// asked.
#[derive(Clone, Default)]
struct Guard {
    asked: Arc<Mutex<Vec<String>>>,
    /// The result at which it panics.
    panics_at: Option<&'static str>,
}

impl Guard {
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl RunHook for Guard {
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        self.asked.lock().unwrap().push(format!("{} {}", call.name, call.arguments.raw()));
        let n = call.arguments.object().ok().and_then(|arguments| arguments.get("n")?.as_i64()).unwrap_or(0);
        let verdict = match n {
            101.. => CallVerdict::Deny("too much".to_owned()),
            50 => CallVerdict::Rewrite(json!({"n": 40})),
            _ => CallVerdict::Run,
        };
        Box::pin(std::future::ready(Ok(verdict)))
    }

    fn after_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        let text = result.tree.model_text().into_owned();
        self.asked.lock().unwrap().push(format!("{} gave {text}", call.name));
        assert_ne!(self.panics_at, Some(&*text), "a bug in a hook");
        if text.contains("secret") {
            result.tree = ContentTree::text("[redacted]");
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn at_end<'a>(&'a self, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        self.asked.lock().unwrap().push(format!("end {}", outcome.reason));
        Box::pin(std::future::ready(()))
    }
}

/// An agent whose user answers `ask`, whose worker answers `render`, and whose payments somebody approves.
fn builder(guard: &Guard, paid: &Counter, turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    let render = tool_fn("render", "", |_: attache_agent::NoArguments| async {
        Ok::<_, ToolError>(Deferred::to("job"))
    });
    let paid = paid.clone();
    let pay = tool_fn("pay", "", move |Number { n }: Number| {
        paid.add();
        async move { Ok::<_, ToolError>(format!("paid {n}")) }
    });
    Agent::builder(ScriptedModel::new(turns).unverified())
        .tool_set(Tools::new().with_external(ask))
        .tool(render)
        .tool(pay.with_approval(Approval::Always))
        .answer_deadline(Duration::from_secs(60))
        .hook(guard.clone())
}

fn agent(guard: &Guard, turns: impl IntoIterator<Item = Turn>) -> Agent {
    builder(guard, &Counter::default(), turns).build().unwrap()
}

/// The calls of a run for which it waits, once it does.
async fn waiting(journal: &Arc<MemoryJournal>) -> Vec<ToolCall> {
    let turn = Turn::call("ask", "{}").and_call("render", "{}");
    let outcome = agent(&Guard::default(), [turn]).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::PendingExternal);
    outcome.pending
}

#[tokio::test(start_paused = true)]
async fn hooks_see_results_that_come_from_elsewhere_once() {
    for streaming in [true, false] {
        for kept in [true, false] {
            let (guard, journal) = (Guard::default(), Arc::new(MemoryJournal::new()));
            let turns = [Turn::call("ask", "{}").and_call("render", "{}"), Turn::text("done")];
            let agent = builder(&guard, &Counter::default(), turns)
                .streaming(streaming)
                .patience(Duration::from_secs(60))
                .build()
                .unwrap();
            let mut run = if kept { agent.run_in(journal.clone(), "go") } else { agent.run("go") };
            let control = run.control();
            until_it_waits(&mut run).await;
            for call in control.awaiting() {
                let text = if call.name == "ask" { "a secret" } else { "a film" };
                control.submit([ToolResult::ok(&call, text)]).await.unwrap();
            }
            let events = all(&mut run).await;
            let outcome = end(&events);
            assert_eq!(outcome.reason, EndReason::Answer);
            assert_eq!(told(&outcome.messages), ["[redacted]", "a film"]);
            // Nobody who listens hears more than the model.
            let mut finished: Vec<String> = events
                .iter()
                .filter_map(|event| match &event.kind {
                    EventKind::ToolFinished { result, .. } => Some(result.tree.model_text().into_owned()),
                    _ => None,
                })
                .collect();
            finished.sort();
            assert_eq!(finished, ["[redacted]", "a film"]);
            let mut asked = guard.asked();
            asked.sort();
            assert_eq!(
                asked,
                ["ask gave a secret", "ask {}", "end answer", "render gave a film", "render {}"]
            );
            if kept {
                assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
                let again = agent.resume(journal.clone()).outcome().await.unwrap();
                assert_eq!((again.messages, guard.asked().len()), (outcome.messages, 5));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_see_results_that_were_left_while_nobody_drove_the_run() {
    let journal = Arc::new(MemoryJournal::new());
    let calls = waiting(&journal).await;
    deliver(&*journal, ToolResult::ok(&calls[0], "a secret")).await.unwrap();
    deliver(&*journal, ToolResult::ok(&calls[1], "another secret")).await.unwrap();
    let guard = Guard::default();
    let outcome = agent(&guard, [Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["[redacted]", "[redacted]"]);
    assert_eq!(guard.asked().iter().filter(|asked| asked.contains("secret")).count(), 2);
    // The verdict stands in the log in front of its result, and at each cut the rest goes by it.
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let has = |key: &str| entries[..cut].iter().any(|entry| entry.key.as_str().starts_with(key));
        let turns = [Turn::call("ask", "{}").and_call("render", "{}"), Turn::text("done")];
        let turns = turns.into_iter().skip(usize::from(has("model/1")) + usize::from(has("model/2")));
        let (again, rest) = (Guard::default(), holding(entries[..cut].to_vec()));
        for entry in &entries {
            // They are left again, as they were.
            if entry.key.as_str().starts_with("tool/") && !has(entry.key.as_str()) && has("deferred/") {
                rest.deliver(entry.clone()).await.unwrap();
            }
        }
        let resumed = agent(&again, turns).resume(rest.clone()).outcome().await.unwrap();
        if has("deferred/") && !has("end") {
            assert_eq!(told(&resumed.messages), ["[redacted]", "[redacted]"], "cut {cut}");
            for call in &calls {
                let seen = again
                    .asked()
                    .iter()
                    .filter(|asked| asked.starts_with(&format!("{} gave", call.name)))
                    .count();
                let is_recorded = has(&format!("hook/result/{}", call.id));
                assert_eq!(seen, usize::from(!is_recorded), "cut {cut}: {}", call.name);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_comes_when_the_run_ends_is_withheld_where_no_hook_saw_it() {
    let (guard, journal) = (Guard::default(), Arc::new(MemoryJournal::new()));
    let agent = agent(&guard, [Turn::call("ask", "{}")]);
    let mut run = agent.run_in(journal.clone(), "go");
    until_it_waits(&mut run).await;
    let call = run.control().awaiting().remove(0);
    run.control().cancel();
    deliver(&*journal, ToolResult::ok(&call, "a secret")).await.unwrap();
    let outcome = end(&all(&mut run).await);
    assert_eq!(outcome.reason, EndReason::Cancelled);
    let withheld =
        "the result came when nobody waited for it any more, and is withheld: it was not checked in time";
    assert_eq!(told(&outcome.messages), [withheld]);
    assert_eq!(guard.asked().last().map(String::as_str), Some("end cancelled"));
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome().messages, outcome.messages);
    let late = deliver(&*journal, ToolResult::ok(&call, "another")).await.unwrap_err();
    assert!(matches!(late, SubmitError::ChatLoopClosed));
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_withholds_a_result_from_elsewhere() {
    let journal = Arc::new(MemoryJournal::new());
    let calls = waiting(&journal).await;
    for call in &calls {
        deliver(&*journal, ToolResult::ok(call, &call.name)).await.unwrap();
    }
    let guard = Guard { panics_at: Some("render"), ..Guard::default() };
    let outcome = agent(&guard, [Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    let withheld = "the tool was run, and its result is withheld: a check could not be made";
    assert_eq!(told(&outcome.messages), ["ask", withheld]);
}

/// A payment that somebody decided about, and what came of it.
async fn decided(first: i64, decisions: &[Decision]) -> (Guard, Counter, Arc<MemoryJournal>, Outcome) {
    let (guard, paid, journal) = (Guard::default(), Counter::default(), Arc::new(MemoryJournal::new()));
    let turns = [Turn::call("pay", json!({"n": first}))];
    let run = builder(&guard, &paid, turns).build().unwrap().run_in(journal.clone(), "go");
    let mut outcome = run.outcome().await.unwrap();
    for decision in decisions {
        let id = outcome.approvals[0].id.clone();
        let run = builder(&guard, &paid, [Turn::text("done")]).build().unwrap().resume(journal.clone());
        outcome = run.decide(&id, "ann", decision.clone()).outcome().await.unwrap();
    }
    (guard, paid, journal, outcome)
}

#[tokio::test]
async fn hooks_see_the_arguments_that_a_person_changed() {
    let (guard, paid, journal, outcome) = decided(1, &[Decision::Edit(json!({"n": 7}))]).await;
    assert_eq!((outcome.reason, paid.get()), (EndReason::Answer, 1));
    let payments: Vec<String> = guard.asked().into_iter().filter(|asked| asked.starts_with("pay ")).collect();
    assert_eq!(payments, [r#"pay {"n":1}"#, r#"pay {"n":7}"#, "pay gave paid 7"]);
    assert!(keys(&journal).iter().any(|key| key.starts_with("hook/edit/")), "{:?}", keys(&journal));
    // They may refuse them.
    let (_, paid, _, outcome) = decided(1, &[Decision::Edit(json!({"n": 700}))]).await;
    assert_eq!((told(&outcome.messages), paid.get()), (vec!["too much".to_owned()], 0));
    // Nobody looks twice at what was approved as it was seen.
    let (guard, paid, _, _) = decided(1, &[Decision::Approve]).await;
    let seen = guard.asked().iter().filter(|asked| asked.starts_with("pay {")).count();
    assert_eq!((seen, paid.get()), (1, 1));
}

#[tokio::test]
async fn arguments_that_a_hook_changed_after_a_person_are_approved_anew() {
    let edit = Decision::Edit(json!({"n": 50}));
    let (guard, paid, _, outcome) = decided(1, std::slice::from_ref(&edit)).await;
    assert_eq!((outcome.reason, paid.get()), (EndReason::PendingApproval, 0));
    let asked = &outcome.approvals[0];
    assert_eq!(asked.call.arguments.json(), Ok(r#"{"n":40}"#));
    assert_eq!(asked.reason.as_deref(), Some("a check changed the arguments"));
    assert_eq!(guard.asked().last().map(String::as_str), Some(r#"pay {"n":50}"#));
    // Also where the change is back to what was asked first, which the person did not want.
    let (_, paid, _, outcome) = decided(40, std::slice::from_ref(&edit)).await;
    assert_eq!((outcome.reason, paid.get()), (EndReason::PendingApproval, 0));
    let (_, paid, journal, outcome) = decided(1, &[edit, Decision::Approve]).await;
    assert_eq!((outcome.reason, paid.get()), (EndReason::Answer, 1));
    assert!(told(&outcome.messages)[0].contains("paid 40"), "{:?}", told(&outcome.messages));
    // Wherever the process dies, it is paid once at most, and hooks are not asked again about what the log has.
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let has = |key: &str| entries[..cut].iter().any(|entry| entry.key.as_str().starts_with(key));
        let (again, paid, rest) = (Guard::default(), Counter::default(), holding(entries[..cut].to_vec()));
        let mut decisions = [Decision::Edit(json!({"n": 50})), Decision::Approve].into_iter();
        decisions
            .by_ref()
            .take(entries[..cut].iter().filter(|entry| entry.key.as_str().starts_with("decided/")).count())
            .for_each(drop);
        let turns = || {
            let skip = usize::from(has("model/1")) + usize::from(has("model/2"));
            [Turn::call("pay", json!({"n": 1})), Turn::text("done")].into_iter().skip(skip)
        };
        let mut outcome =
            builder(&again, &paid, turns()).build().unwrap().resume(rest.clone()).outcome().await.unwrap();
        while outcome.reason == EndReason::PendingApproval {
            let id = outcome.approvals[0].id.clone();
            let run = builder(&again, &paid, [Turn::text("done")]).build().unwrap().resume(rest.clone());
            outcome = run.decide(&id, "ann", decisions.next().unwrap()).outcome().await.unwrap();
        }
        assert_eq!(outcome.reason, EndReason::Answer, "cut {cut}");
        assert_eq!(paid.get(), usize::from(!has("begun/")), "cut {cut}");
        let seen = |text: &str| again.asked().iter().filter(|asked| *asked == text).count();
        assert_eq!(seen(r#"pay {"n":1}"#), usize::from(!has("hook/call/")), "cut {cut}");
        assert_eq!(seen(r#"pay {"n":50}"#), usize::from(!has("hook/edit/")), "cut {cut}");
    }
}

#[tokio::test]
async fn hooks_leave_the_tools_alone_that_show_other_tools() {
    let guard = Guard::default();
    let secret = tool_fn("reveal", "Tells a secret", || Ok("nothing")).with_effect(Effect::Read);
    let turns = [
        Turn::call("tool_search", json!({"query": "secret"})),
        Turn::call("reveal", "{}"),
        Turn::text("done"),
    ];
    let agent = Agent::builder(ScriptedModel::new(turns).unverified())
        .tool(secret)
        .disclosure(Disclosure::default().with_max_tools(0))
        .hook(guard.clone())
        .build()
        .unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages)[1], "nothing");
    let asked = guard.asked();
    assert!(
        asked.contains(&r#"tool_search {"query":"secret"}"#.to_owned()),
        "they may deny a search: {asked:?}"
    );
    assert!(!asked.iter().any(|asked| asked.starts_with("tool_search gave")), "{asked:?}");
}

/// A hook that refuses at one point, by its verdict or by a panic, and one behind it that counts ends.
#[tokio::test]
async fn each_hook_hears_of_the_end_once_however_the_run_ends() {
    #[derive(Clone)]
    struct Panics(&'static str);
    impl RunHook for Panics {
        fn before_model<'a>(
            &'a self,
            _: &'a mut attache_agent::Draft<'_>,
            _: &'a HookContext<'_>,
        ) -> BoxFuture<'a, Result<(), HookError>> {
            assert_ne!(self.0, "model", "a bug in a hook");
            Box::pin(std::future::ready(Ok(())))
        }
        fn before_tool<'a>(
            &'a self,
            _: &'a ToolCall,
            _: &'a HookContext<'_>,
        ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
            let trips = self.0 == "call";
            let verdict = if trips { CallVerdict::Trip("no".to_owned()) } else { CallVerdict::Run };
            Box::pin(std::future::ready(Ok(verdict)))
        }
        fn at_end<'a>(&'a self, _: &'a Outcome) -> BoxFuture<'a, ()> {
            assert_ne!(self.0, "end", "a bug in a hook");
            Box::pin(std::future::ready(()))
        }
    }
    for (point, reason) in [
        ("model", EndReason::GuardrailTripped),
        ("call", EndReason::GuardrailTripped),
        ("end", EndReason::Answer),
        ("nowhere", EndReason::Answer),
    ] {
        let (first, last, journal) = (Guard::default(), Guard::default(), Arc::new(MemoryJournal::new()));
        let pay = tool_fn("pay", "", |Number { n }: Number| Ok(n));
        let turns = [Turn::call("pay", json!({"n": 1})), Turn::text("done")];
        let agent = Agent::builder(ScriptedModel::new(turns).unverified())
            .tool(pay)
            .hook(first.clone())
            .hook(Panics(point))
            .hook(last.clone())
            .build()
            .unwrap();
        let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
        assert_eq!(outcome.reason, reason, "{point}");
        // A run that has ended is told again, and does not end again.
        agent.resume(journal.clone()).outcome().await.unwrap();
        for guard in [first, last] {
            let ends = guard.asked().iter().filter(|asked| asked.starts_with("end ")).count();
            assert_eq!(ends, 1, "{point}");
        }
    }
}

/// The place in which a hook puts other bytes of the same document.
#[derive(Clone, Copy, Debug)]
enum Place {
    Shown,
    Tree,
    Both,
}

const SECRET: &str = "%PDF-1.4 a secret";
const BLACK: &str = "%PDF-1.4 redacted";

/// Blackens each document, and leaves its id and its name.
struct Blackens(Place);

impl RunHook for Blackens {
    fn after_tool<'a>(
        &'a self,
        _: &'a ToolCall,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        let blacken = |document: &Document| document.clone().with_bytes(BLACK);
        if let Place::Tree | Place::Both = self.0 {
            result.tree = result.tree.map_documents(blacken);
        }
        if let Place::Shown | Place::Both = self.0 {
            result.documents = result.documents.iter().map(blacken).collect();
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A result with a document of that id, as whoever delivers it has it.
fn scan(call: &ToolCall, document: &Document) -> ToolResult {
    ToolResult::new(call, ResultStatus::Ok, Capture::new().finish(&[document]).unwrap())
}

/// The contents that a request shows in its results.
fn shown(request: &ChatRequest) -> Vec<Bytes> {
    let results = crate::common::kit::results(&request.messages);
    let shown = results.iter().flat_map(ToolResult::attached).filter_map(|part| match part {
        UserPart::Document(document) => document.bytes(),
        _ => None,
    });
    shown.collect()
}

#[tokio::test(start_paused = true)]
async fn a_document_that_a_hook_blackened_is_shown_so_wherever_it_comes_from() {
    for place in [Place::Shown, Place::Tree, Place::Both] {
        for from in ["ask", "render", "scan", "left"] {
            let store = Arc::new(MemoryDocumentStore::default());
            let original = Document::from_bytes(SECRET, "").with_file_name("scan.pdf");
            let scanned = original.clone();
            let own = tool_fn("scan", "", move |_: attache_agent::NoArguments| {
                let scanned = scanned.clone();
                async move { Ok::<_, ToolError>(scanned) }
            });
            let tool = if from == "left" { "ask" } else { from };
            let model = ScriptedModel::new([Turn::call(tool, "{}"), Turn::text("done"), Turn::text("yes")]);
            let model = model.unverified().with_capabilities_of("anthropic", "claude-opus-4-8");
            let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
            let render = tool_fn("render", "", |_: attache_agent::NoArguments| async {
                Ok::<_, ToolError>(Deferred::to("job"))
            });
            let agent = Agent::builder(model.clone())
                .tool(own)
                .tool(render)
                .tool_set(Tools::new().with_external(ask))
                .store(store.clone())
                .hook(Blackens(place))
                .patience(Duration::from_secs(60))
                .answer_deadline(Duration::from_secs(60))
                .build()
                .unwrap();
            let journal = Arc::new(MemoryJournal::new());
            let mut run = agent.run_in(journal.clone(), "go");
            let control = run.control();
            let mut events = until_it_waits(&mut run).await;
            for call in control.awaiting() {
                match from {
                    // Whoever leaves it has put its document into the store, and the log has no bytes.
                    "left" => {
                        store.put(&original).await.unwrap();
                        let reference = original.clone().without_bytes();
                        deliver(&*journal, scan(&call, &reference)).await.unwrap();
                    }
                    _ => control.submit([scan(&call, &original)]).await.unwrap(),
                }
            }
            events.extend(all(&mut run).await);
            let outcome = end(&events);
            assert_eq!(outcome.reason, EndReason::Answer, "{place:?}, {from}");
            let shown_then = shown(&model.requests()[1]);
            assert_eq!(shown_then, [BLACK], "{place:?}, {from}");
            // Whoever reads the log afterwards is shown the same.
            let text = serde_json::to_string(&journal.entries()).unwrap();
            let entries: Vec<attache_agent::Entry> = serde_json::from_str(&text).unwrap();
            let history = Run::replay(&entries).unwrap().outcome().messages;
            agent.run(attache_agent::RunInput::from("and?").with_history(history)).outcome().await.unwrap();
            let shown_later = shown(&model.requests()[2]);
            assert_eq!(shown_later, [BLACK], "{place:?}, {from}");
        }
    }
}
