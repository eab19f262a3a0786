//! The loop over a scripted model.

use std::sync::Arc;
use std::time::Duration;

use crate::common::kit::{roles, told};
use crate::common::{Counter, Number, double, words};
use attache_agent::{
    Agent, BuildError, Disposition, EmptyReply, EndReason, Event, EventKind, MemoryJournal, NoArguments,
    RunInput, ToolsError, tool_fn,
};
use attache_core::tool::ToolSpec;
use attache_core::{
    Document, Effect, ErrorKind, FinishReason, Message, ResultStatus, ToolChoice, ToolContext, ToolError,
    ToolErrorKind, ToolHandler, Usage, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

async fn events(mut run: attache_agent::AgentRun) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    events
}

#[tokio::test]
async fn a_whole_run() {
    let model = ScriptedModel::new([
        Turn::empty().and_thinking("hm").and_text("let me").and_call("double", json!({"n": 21})),
        Turn::text("It is 42."),
    ]);
    let calls = Counter::default();
    let agent = Agent::builder(model.clone()).system("You count.").tool(double(&calls)).build().unwrap();
    let seen = events(agent.run("What is twice 21?")).await;
    assert_eq!(
        words(&seen),
        [
            "started",
            "step",
            "thinking hm",
            "content let",
            "content  me",
            "delta",
            "requested 1",
            "finish tool_calls",
            "tool double",
            "result 42",
            "received 1",
            "step",
            "content It i",
            "content s 42.",
            "finish stop",
            "end answer",
        ]
    );
    assert!(seen.windows(2).all(|pair| pair[1].seq > pair[0].seq), "events count up");
    let EventKind::Finished(Ok(outcome)) = &seen.last().unwrap().kind else { panic!() };
    assert_eq!((outcome.text.as_str(), outcome.steps, &outcome.usage), ("It is 42.", 2, &Usage::new(20, 10)));
    // P20: the second request holds system, user, call, result
    let second = &model.requests()[1];
    let roles: Vec<_> = second.messages.iter().map(|message| format!("{:?}", message.role())).collect();
    assert_eq!(roles, ["System", "User", "Assistant", "ToolResults"]);
    assert_eq!(second.tools.len(), 1);
    assert_eq!(calls.get(), 1);
}

// Invariant 6, S28: the same script, streamed or not, gives the same history and end
#[tokio::test]
async fn streamed_or_whole() {
    let script = || [Turn::call("double", json!({"n": 1})), Turn::text("2")];
    let question = Message::user("x").shared();
    let mut outcomes = Vec::new();
    for whole in [false, true] {
        let model = ScriptedModel::new(script());
        let agent = Agent::builder(model.clone())
            .tool(double(&Counter::default()))
            .streaming(!whole)
            .build()
            .unwrap();
        let outcome =
            agent.run(RunInput::new([Arc::clone(&question)]).with_run_id("r")).outcome().await.unwrap();
        assert!(model.requests().iter().all(|request| request.streaming != whole));
        let said = (roles(&outcome.messages), told(&outcome.messages), outcome.messages[1].id().clone());
        assert_eq!((&*said.0, &said.1[..]), ("ucra", &["2".to_owned()][..]));
        outcomes.push((outcome.text, outcome.reason, outcome.usage, outcome.steps, said));
    }
    assert_eq!(outcomes[0], outcomes[1]);
}

#[tokio::test(start_paused = true)]
async fn results_stand_in_call_order_whatever_finishes_first() {
    let slow = tool_fn("slow", "", |Number { n }: Number| async move {
        tokio::time::sleep(Duration::from_millis(u64::try_from(n).unwrap())).await;
        Ok::<_, ToolError>(n)
    });
    let model = ScriptedModel::new([
        Turn::call("slow", json!({"n": 60}))
            .and_call("slow", json!({"n": 5}))
            .and_call("slow", json!({"n": 30})),
        Turn::text("done"),
    ]);
    let agent = Agent::builder(model.clone()).tool(slow).build().unwrap();
    let seen = events(agent.run("go")).await;
    let finished: Vec<_> = words(&seen).into_iter().filter(|word| word.starts_with("result")).collect();
    assert_eq!(finished, ["result 5", "result 30", "result 60"]);
    let Message::ToolResults(results) = &*model.requests()[1].messages[2] else { panic!() };
    let order: Vec<_> = results.results.iter().map(|result| result.tree.json().to_owned()).collect();
    assert_eq!(order, ["60", "5", "30"]);
}

#[tokio::test]
async fn a_sequential_tool_runs_alone() {
    let running = Arc::new(std::sync::atomic::AtomicI64::new(0));
    let observe = |running: &Arc<std::sync::atomic::AtomicI64>| {
        let running = Arc::clone(running);
        move |_: Number| {
            let running = Arc::clone(&running);
            async move {
                let others = running.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
                running.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                Ok::<_, ToolError>(others)
            }
        }
    };
    let together = tool_fn("together", "", observe(&running));
    let alone = tool_fn("alone", "", observe(&running)).with_spec(|spec| spec.with_sequential(true));
    let turn = ["together", "together", "alone", "together"];
    let turn =
        turn.iter().enumerate().fold(Turn::empty(), |turn, (n, name)| turn.and_call(name, json!({"n": n})));
    let model = ScriptedModel::new([turn, Turn::text("done")]);
    let agent = Agent::builder(model.clone()).tool(together).tool(alone).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    let Message::ToolResults(results) = &*model.requests()[1].messages[2] else { panic!() };
    let beside: Vec<_> = results.results.iter().map(|result| result.tree.json().to_owned()).collect();
    assert_eq!(beside, ["0", "1", "0", "0"]);
}

// A83, A84, S23, runtime.md 32 #8, #11, #20
#[tokio::test(flavor = "multi_thread")]
async fn failures_are_observations() {
    let fails =
        tool_fn("fails", "", |_: NoArguments| async { Err::<(), _>(std::io::Error::other("canary").into()) });
    let hints =
        tool_fn("hints", "", |_: NoArguments| async { Err::<(), _>(ToolError::retry("use a larger n")) });
    let panics = tool_fn("panics", "", |_: NoArguments| async {
        if true {
            panic!("canary")
        }
        Ok::<(), ToolError>(())
    });
    let blocks = tool_fn("blocks", "", |_: NoArguments| async {
        if true {
            panic!("canary")
        }
        Ok::<(), ToolError>(())
    })
    .with_spec(|spec| spec.with_blocking(true));
    let hangs = tool_fn("hangs", "", |_: NoArguments| async {
        std::future::pending::<()>().await;
        Ok::<(), ToolError>(())
    })
    .with_spec(|spec| spec.with_timeout(Duration::from_millis(20)));
    let turn = Turn::call("fails", "{}")
        .and_call("hints", "")
        .and_call("panics", "null")
        .and_call("blocks", "{}")
        .and_call("hangs", "{}")
        .and_call("double", "[1]")
        .and_call("double", json!({"m": 1}))
        .and_call("dubble", "{}")
        .and_call("Double", json!({"n": 4}));
    let model = ScriptedModel::new([turn, Turn::text("done")]).unverified();
    let agent = Agent::builder(model.clone())
        .tool(fails)
        .tool(hints)
        .tool(panics)
        .tool(blocks)
        .tool(hangs)
        .tool(double(&Counter::default()))
        .build()
        .unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Answer);
    let Message::ToolResults(results) = &*model.requests()[1].messages[2] else { panic!() };
    let texts: Vec<_> = results
        .results
        .iter()
        .map(|result| (result.is_error(), result.tree.model_text().into_owned()))
        .collect();
    let unknown = "this call was begun and its outcome is unknown: its effect may or may not have happened; it was \
                   not repeated; verify before you try again";
    let expected = [
        (true, "the tool failed"),
        (true, "use a larger n"),
        (true, &*format!("the tool failed unexpectedly; {unknown}")),
        (true, &*format!("the tool failed unexpectedly; {unknown}")),
        (true, &*format!("timed out after 0.02 s; {unknown}")),
        (true, "double: the arguments must be a JSON object, not an array; allowed: n"),
    ];
    for (got, (error, text)) in texts.iter().zip(expected) {
        assert_eq!((got.0, got.1.as_str()), (error, text));
    }
    let missing = "the arguments of double do not fit: `n` is missing (an integer); allowed: n";
    assert_eq!(texts[6], (true, missing.to_owned()));
    assert!(
        texts[7].1.starts_with("there is no tool named \"dubble\"; did you mean double?"),
        "{}",
        texts[7].1
    );
    assert_eq!(texts[8], (false, "8".to_owned()), "letter case is forgiven");
    assert!(!format!("{texts:?}").contains("canary"));
}

#[tokio::test]
async fn a_tool_may_end_the_run() {
    let aborts =
        tool_fn("aborts", "", |_: NoArguments| async { Err::<(), _>(ToolError::abort("stop everything")) });
    let model = ScriptedModel::new([Turn::call("aborts", "{}").and_call("double", json!({"n": 1}))]);
    let agent = Agent::builder(model).tool(aborts).tool(double(&Counter::default())).build().unwrap();
    let error = agent.run("go").outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::ToolAbort);
    assert_eq!(error.partial().messages.len(), 3, "the history is valid to go on from");
}

// S01
#[test]
fn names_clash_before_anything_is_sent() {
    let two = || tool_fn("same", "", |_: NoArguments| async { Ok::<(), ToolError>(()) });
    let error = Agent::builder(ScriptedModel::new([])).tool(two()).tool(two()).build().unwrap_err();
    assert!(matches!(error, BuildError::Tools(ToolsError::Duplicate { name, .. }) if name == "same"));
    // A03: one that is switched off is in nobody's way.
    let off = || attache_core::Tool::with_metadata(two(), |metadata| metadata.enabled = false);
    assert!(Agent::builder(ScriptedModel::new([])).tool(off()).tool(two()).build().is_ok());
    assert!(Agent::builder(ScriptedModel::new([])).tool(two()).tool(off()).build().is_ok());
    assert!(matches!(
        Agent::builder(ScriptedModel::new([])).max_steps(0).build(),
        Err(BuildError::Zero("max_steps"))
    ));
}

struct Family;

#[derive(serde::Serialize)]
struct Page {
    kept: Document,
    shown: Document,
}

impl ToolHandler for Family {
    type Output = Page;

    fn name(&self) -> &str {
        "family"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let schema = json!({"type": "object", "properties": {}});
        Ok(vec![ToolSpec::new(attache_core::ToolDefinition::new("family.page", "A page", schema))])
    }

    async fn call(
        &self,
        tool: &str,
        _: &attache_core::Arguments,
        context: ToolContext,
    ) -> Result<Page, ToolError> {
        assert_eq!((tool, context.require::<u8>().copied()?), ("family.page", 7));
        let document = |name: &str| {
            Document::from_bytes(format!("text of {name}").into_bytes(), "text/plain").with_file_name(name)
        };
        Ok(Page { kept: document("kept.txt"), shown: document("shown.txt") })
    }

    fn extract_documents(&self, output: &Page, _: &attache_core::ContentTree) -> Vec<Document> {
        vec![output.shown.clone(), output.shown.clone()]
    }
}

struct Dead;

impl ToolHandler for Dead {
    type Output = ();

    fn name(&self) -> &str {
        "dead"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Err(ToolError::new("connection refused").with_kind(ToolErrorKind::Unavailable))
    }

    async fn call(&self, _: &str, _: &attache_core::Arguments, _: ToolContext) -> Result<(), ToolError> {
        Ok(())
    }
}

// C11, C12, S29: a family extracts for itself; one that does not answer leaves the others alone
#[tokio::test]
async fn families_of_tools() {
    let model = ScriptedModel::new([Turn::call("family.page", "{}"), Turn::text("done")]);
    let agent = Agent::builder(model.clone()).handler(Family).handler(Dead).context(7_u8).build().unwrap();
    let seen = events(agent.run("go")).await;
    assert!(words(&seen).contains(&"warning tools_unavailable".to_owned()));
    let Message::ToolResults(results) = &*model.requests()[1].messages[2] else { panic!() };
    let result = &results.results[0];
    let names: Vec<_> = result.documents.iter().filter_map(Document::file_name).collect();
    assert_eq!(names, ["shown.txt"], "each once");
    assert_eq!(result.withheld.len(), 1);
    let only_dead = Agent::builder(ScriptedModel::new([])).handler(Dead).build().unwrap();
    assert_eq!(only_dead.run("go").outcome().await.unwrap_err().reason(), &EndReason::InternalError);
}

// S11, S13
#[tokio::test]
async fn context_reaches_tools_and_nobody_else() {
    struct Tenant(&'static str);
    let who = tool_fn("who", "", |_: NoArguments, context: ToolContext| async move {
        assert_eq!(context.step, 1);
        let call = context.call_id.as_ref().unwrap();
        assert!(context.idempotency_key.as_ref().is_some_and(|key| key.ends_with(&format!("/tool/{call}"))));
        Ok::<_, ToolError>(context.require::<Tenant>()?.0.len())
    });
    let model = ScriptedModel::new([Turn::call("who", "{}"), Turn::text("done")]);
    let agent = Agent::builder(model.clone()).tool(who).context(Tenant("canary of all")).build().unwrap();
    let outcome = agent.run(RunInput::from("go").with_context(Tenant("canary"))).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["6"]);
    assert!(!format!("{:?} {:?}", model.requests(), outcome.messages).contains("canary"));
}

// openai-agents-python 263: a forced choice holds for the first call only
#[tokio::test]
async fn a_forced_choice_does_not_repeat() {
    let model = ScriptedModel::new([Turn::call("double", json!({"n": 1})), Turn::text("2")]);
    let agent = Agent::builder(model.clone())
        .tool(double(&Counter::default()))
        .tool_choice(ToolChoice::Required)
        .build()
        .unwrap();
    agent.run("go").outcome().await.unwrap();
    let choices: Vec<_> = model.requests().into_iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto]);
}

// A33
#[tokio::test]
async fn the_landing_call_has_its_tools_off() {
    let turns = (0..2).map(|n| Turn::call("double", json!({ "n": n }))).chain([Turn::text("so far")]);
    let model = ScriptedModel::new(turns);
    let agent = Agent::builder(model.clone()).tool(double(&Counter::default())).max_steps(3).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::MaxSteps, "so far"));
    let last = &model.requests()[2];
    assert_eq!(
        (&last.tool_choice, last.tools.len()),
        (&ToolChoice::None, 1),
        "tools unchanged, so that caches hit"
    );
}

// E14, E15
#[tokio::test]
async fn empty_replies_by_policy() {
    let run = |policy: EmptyReply, turns: Vec<Turn>| async move {
        let agent =
            Agent::builder(ScriptedModel::new(turns).unverified()).empty_reply(policy).build().unwrap();
        agent
            .run("go")
            .outcome()
            .await
            .map(|outcome| (outcome.reason, outcome.text))
            .map_err(|error| error.reason().clone())
    };
    let empty = || vec![Turn::empty(), Turn::text("there")];
    assert_eq!(run(EmptyReply::Error, empty()).await, Err(EndReason::EmptyResponse));
    assert_eq!(run(EmptyReply::Nudge(1), empty()).await, Ok((EndReason::Answer, "there".to_owned())));
    assert_eq!(
        run(EmptyReply::Nudge(1), vec![Turn::empty(), Turn::empty()]).await,
        Err(EndReason::EmptyResponse)
    );
    assert_eq!(run(EmptyReply::Accept, empty()).await, Ok((EndReason::Answer, String::new())));
}

#[tokio::test]
async fn a_provider_error_keeps_what_was_done() {
    let model = ScriptedModel::new([
        Turn::call("double", json!({"n": 1})),
        Turn::text("half an ans").then_error(ErrorKind::Overloaded),
    ]);
    let agent = Agent::builder(model).tool(double(&Counter::default())).build().unwrap();
    let error = agent.run("go").outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::ProviderError("overloaded".to_owned()));
    assert_eq!(error.provider_error().map(attache_core::ProviderError::kind), Some(ErrorKind::Overloaded));
    assert_eq!((error.partial().text.as_str(), error.partial().messages.len()), ("half an ans", 4));
    let cut = Agent::builder(ScriptedModel::new([Turn::text("a").then_cut()])).build().unwrap();
    let error = cut.run("go").outcome().await.unwrap_err();
    assert_eq!(error.provider_error().map(attache_core::ProviderError::kind), Some(ErrorKind::StreamCut));
}

// A34, A62, P17: an abort is seen at once, whatever is under way
#[tokio::test]
async fn cancelling() {
    let hangs = tool_fn("hangs", "", |_: NoArguments| async {
        std::future::pending::<()>().await;
        Ok::<(), ToolError>(())
    });
    let turns = [Turn::call("double", json!({"n": 1})).and_call("hangs", "{}")];
    let model = ScriptedModel::new(turns);
    let agent = Agent::builder(model.clone()).tool(double(&Counter::default())).tool(hangs).build().unwrap();
    let mut run = agent.run("go");
    let control = run.control();
    let mut last = None;
    while let Some(event) = run.next().await {
        if matches!(&event.kind, EventKind::ToolFinished { .. }) {
            control.cancel();
        }
        last = Some(event);
    }
    let EventKind::Finished(Ok(outcome)) = last.unwrap().kind else { panic!() };
    assert_eq!(outcome.reason, EndReason::Cancelled);
    let Message::ToolResults(results) = &**outcome.messages.last().unwrap() else { panic!() };
    let statuses: Vec<_> = results.results.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [ResultStatus::Ok, ResultStatus::Error], "finished work is kept, the pair is whole");
    assert_eq!(outcome.unknown.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["hangs"]);
    assert!(!control.is_active());

    let thinking = ScriptedModel::new([Turn::text("partial").then_hang()]);
    let mut run = Agent::builder(thinking).build().unwrap().run("go");
    let control = run.control();
    let mut text = String::new();
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Content(piece) => {
                text.push_str(&piece);
                if text == "partial" {
                    control.cancel();
                }
            }
            EventKind::Finished(result) => {
                let outcome = result.unwrap();
                assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Cancelled, "partial"));
                assert_eq!(outcome.messages.len(), 2, "what was said is kept");
            }
            _ => {}
        }
    }
}

// Invariant 8: dropping the stream drops the tools
#[tokio::test]
async fn dropping_is_cancelling() {
    struct Guard(Counter);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.add();
        }
    }
    let dropped = Counter::default();
    let seen = dropped.clone();
    let hangs = tool_fn("hangs", "", move |_: NoArguments| {
        let guard = Guard(seen.clone());
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Ok::<(), ToolError>(())
        }
    });
    let agent = Agent::builder(ScriptedModel::new([Turn::call("hangs", "{}")])).tool(hangs).build().unwrap();
    let mut run = agent.run("go");
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::ToolStarted { .. }) {
            break;
        }
    }
    // The call's future is polled once more, so that it is under way.
    let waiting = tokio::time::timeout(Duration::from_millis(5), run.next()).await;
    assert!(waiting.is_err());
    drop(run);
    assert_eq!(dropped.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_run() {
    let agent = Agent::builder(ScriptedModel::new([Turn::text("a").then_hang()]))
        .deadline(Duration::from_secs(5))
        .build()
        .unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Deadline, "a"));
}

// Injected messages enter before a model call and before an answer ends the run
#[tokio::test]
async fn injecting() {
    let model = ScriptedModel::new([
        Turn::call("double", json!({"n": 1})),
        Turn::text("first"),
        Turn::text("second"),
    ]);
    let agent = Agent::builder(model.clone()).tool(double(&Counter::default())).build().unwrap();
    let mut run = agent.run("go");
    let control = run.control();
    let mut answers = 0;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::ToolStarted { .. } => {
                control.inject(UserMessage::new([UserPart::text("be brief")])).unwrap()
            }
            EventKind::StepFinished { finish_reason: FinishReason::Stop, .. } if answers == 0 => {
                answers += 1;
                control.inject(UserMessage::new([UserPart::text("and now?")])).unwrap();
            }
            EventKind::Finished(result) => assert_eq!(result.unwrap().text, "second"),
            _ => {}
        }
    }
    let roles = |request: &attache_core::ChatRequest| -> Vec<String> {
        request.messages.iter().map(|message| format!("{:?}", message.role())).collect()
    };
    assert_eq!(roles(&model.requests()[1]), ["User", "Assistant", "ToolResults", "User"]);
    assert_eq!(roles(&model.requests()[2]).len(), 6);
    assert!(matches!(control.inject(UserMessage::new([])), Err(attache_agent::SubmitError::ChatLoopClosed)));
}

// A long result loses its middle for the model, not in the log
#[tokio::test]
async fn a_long_result_is_shortened_for_the_model_only() {
    let long = tool_fn("long", "", |_: NoArguments| async { Ok::<_, ToolError>("é".repeat(1_000)) });
    let model = ScriptedModel::new([Turn::call("long", "{}"), Turn::text("done")]);
    let agent = Agent::builder(model.clone()).tool(long).max_result_chars(100).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    let text = |message: &Message| match message {
        Message::ToolResults(results) => results.results[0].tree.model_text().into_owned(),
        _ => String::new(),
    };
    let shown = text(&model.requests()[1].messages[2]);
    assert!(shown.contains("900 characters left out") && shown.chars().count() < 150, "{shown}");
    assert_eq!(text(&outcome.messages[2]).chars().count(), 1_000);
}

#[tokio::test]
async fn a_run_goes_on_over_its_journal() {
    let journal = Arc::new(MemoryJournal::new());
    let calls = Counter::default();
    let agent =
        |turns: Vec<Turn>| Agent::builder(ScriptedModel::new(turns)).tool(double(&calls)).build().unwrap();
    let failing = agent(vec![Turn::call("double", json!({"n": 1})), Turn::text("x").then_hang()]);
    let mut run = failing.run_in(journal.clone(), "go");
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::Content(_)) {
            break;
        }
    }
    drop(run);
    let resumed = agent(vec![Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!((resumed.text.as_str(), calls.get(), resumed.calls.len()), ("done", 1, 1));
    let entries = journal.entries();
    assert_eq!(attache_agent::Run::replay(&entries).unwrap().outcome(), resumed);
    let again = agent(vec![]).resume(journal).outcome().await.unwrap();
    assert_eq!(again, resumed, "a run that has ended is told again, not run again");
}

#[tokio::test]
async fn effects_of_unknown_outcome_are_not_repeated() {
    let calls = Counter::default();
    let count = calls.clone();
    let pay = move || {
        let count = count.clone();
        tool_fn("pay", "", move |_: NoArguments| {
            let first = count.add() == 1;
            async move {
                if first {
                    std::future::pending::<()>().await
                }
                Ok::<_, ToolError>("paid")
            }
        })
        .with_effect(Effect::SideEffect)
    };
    let journal = Arc::new(MemoryJournal::new());
    let first = Agent::builder(ScriptedModel::new([Turn::call("pay", "{}")])).tool(pay()).build().unwrap();
    let mut run = first.run_in(journal.clone(), "go");
    while let Ok(Some(_)) = tokio::time::timeout(Duration::from_millis(20), run.next()).await {}
    assert_eq!(calls.get(), 1);
    drop(run);
    let second =
        Agent::builder(ScriptedModel::new([Turn::text("I shall check.")])).tool(pay()).build().unwrap();
    let seen = events(second.resume(journal)).await;
    let unknown = seen.iter().any(|event| {
        matches!(&event.kind, EventKind::ToolFinished { disposition: Disposition::Unknown, .. })
    });
    assert!(unknown && calls.get() == 1);
}
