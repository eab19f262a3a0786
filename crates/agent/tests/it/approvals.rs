//! Calls that somebody must approve: the run ends as pending, and goes on when somebody has decided.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use crate::common::kit::{UNKNOWN, all, before, counting, end, holding, keys, roles, told, until_it_waits};
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, AgentBuilder, Ask, DecideError, Decided, Decision, Disposition, EndReason, Entry, EntryKind,
    Event, EventKind, Journal, MemoryJournal, Outcome, Proposal, Run, RunInput, RunOptions, Verdict, decide,
    tool_fn,
};
use attache_core::{Approval, Arguments, AssistantMessage, Effect, Tool, ToolCall, ToolError};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Value, json};

/// A tool that pays when somebody has approved it, and writes down what it paid.
fn pay(paid: &Arc<Mutex<Vec<i64>>>) -> impl Tool + 'static {
    let paid = Arc::clone(paid);
    let pay = move |Number { n }: Number| {
        paid.lock().unwrap().push(n);
        async move { Ok::<_, ToolError>(format!("paid {n}")) }
    };
    tool_fn("pay", "Pays", pay).with_approval(Approval::Always)
}

/// An agent that pays, looks, and answers.
struct Office {
    paid: Arc<Mutex<Vec<i64>>>,
    looked: Counter,
    journal: Arc<MemoryJournal>,
}

impl Office {
    fn new() -> Self {
        Self { paid: Arc::default(), looked: Counter::default(), journal: Arc::default() }
    }

    fn builder(&self, turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
        let model = ScriptedModel::new(turns).unverified();
        Agent::builder(model).tool(pay(&self.paid)).tool(counting("look", Effect::Read, &self.looked))
    }

    fn agent(&self, turns: impl IntoIterator<Item = Turn>) -> Agent {
        self.builder(turns).build().unwrap()
    }

    /// A run that ends because somebody must approve a payment.
    async fn pending(&self, turn: Turn) -> Outcome {
        let outcome = self.agent([turn]).run_in(self.journal.clone(), "go").outcome().await.unwrap();
        assert_eq!(outcome.reason, EndReason::PendingApproval);
        outcome
    }

    fn paid(&self) -> Vec<i64> {
        self.paid.lock().unwrap().clone()
    }
}

fn pays(n: i64) -> Turn {
    Turn::call("pay", json!({"n": n}))
}

fn requested(events: &[Event]) -> Vec<String> {
    let id = |event: &Event| match &event.kind {
        EventKind::ApprovalRequested(request) => Some(request.id.clone()),
        _ => None,
    };
    events.iter().filter_map(id).collect()
}

// R30, R31, google/adk-python#6732, google/adk-python#5450: the other calls run at once, and only once.
#[tokio::test]
async fn a_run_waits_for_approval_while_its_other_calls_are_run() {
    let office = Office::new();
    let turn = Turn::call("look", json!({"n": 1}))
        .and_call("pay", json!({"n": 5}))
        .and_call("look", json!({"n": 2}));
    let outcome = office.pending(turn).await;
    assert_eq!((office.paid(), office.looked.get()), (vec![], 2));
    let [request] = &outcome.approvals[..] else { panic!("{:?}", outcome.approvals) };
    assert_eq!((&*request.call.name, request.call.arguments.json()), ("pay", Ok(r#"{"n":5}"#)));
    assert_eq!(outcome.pending, std::slice::from_ref(&request.call));
    assert_eq!(roles(&outcome.messages), "ucr", "the conversation is valid to go on from");
    assert_eq!(told(&outcome.messages)[1], "not executed: nobody has approved it yet");
    // The same again, from the log alone.
    assert_eq!(Run::replay(&office.journal.entries()).unwrap().outcome(), outcome);
    let again = office.agent([]).resume(office.journal.clone()).outcome().await.unwrap();
    assert_eq!(again, outcome);

    let done = [Turn::text("done")];
    let resumed =
        office.agent(done).resume(office.journal.clone()).approve(&request.id).outcome().await.unwrap();
    assert_eq!((resumed.reason, &*resumed.text), (EndReason::Answer, "done"));
    assert_eq!(told(&resumed.messages), ["1", "paid 5", "2"], "in the order of the calls");
    assert_eq!((office.paid(), office.looked.get()), (vec![5], 2));
    let keys = keys(&office.journal);
    let place = |key: &str| keys.iter().position(|known| known.starts_with(key)).unwrap();
    assert!(place("asked/") < place("decided/") && place("decided/") < place("begun/"), "{keys:?}");
}

#[tokio::test]
async fn a_denied_call_is_not_run_and_the_model_reads_why() {
    let office = Office::new();
    let outcome = office.pending(pays(5)).await;
    let run = office.agent([Turn::text("a pity")]).resume(office.journal.clone());
    let resumed = run.deny(&outcome.approvals[0].id, "it is paid already").outcome().await.unwrap();
    assert_eq!((resumed.reason, office.paid()), (EndReason::Answer, vec![]));
    assert_eq!(told(&resumed.messages), ["not executed: it is paid already"]);
    assert!(resumed.approvals.is_empty() && resumed.pending.is_empty() && resumed.unknown.is_empty());
}

// R34, microsoft/agent-framework#3938: nothing is repeated, wherever the process dies.
#[tokio::test]
async fn a_run_with_an_approval_cut_at_any_entry_pays_once() {
    for decision in [Decision::Approve, Decision::Edit(json!({"n": 7}))] {
        let office = Office::new();
        let outcome =
            office.pending(Turn::call("look", json!({"n": 1})).and_call("pay", json!({"n": 5}))).await;
        let id = &outcome.approvals[0].id;
        let run = office.agent([Turn::text("done")]).resume(office.journal.clone());
        let uncut = run.decide(id, "ann", decision.clone()).outcome().await.unwrap();
        let entries = office.journal.entries();
        for cut in 1..entries.len() {
            let rest = Office { journal: holding(entries[..cut].to_vec()), ..Office::new() };
            let has = |key: &str| entries[..cut].iter().any(|entry| entry.key.as_str().starts_with(key));
            let turns = || {
                let first = Turn::call("look", json!({"n": 1})).and_call("pay", json!({"n": 5}));
                let turns = [first, Turn::text("done")];
                turns.into_iter().skip(usize::from(has("model/1")) + usize::from(has("model/2")))
            };
            let mut resumed = rest.agent(turns()).resume(rest.journal.clone()).outcome().await.unwrap();
            if resumed.reason == EndReason::PendingApproval {
                let run = rest.agent([Turn::text("done")]).resume(rest.journal.clone());
                let id = resumed.approvals[0].id.clone();
                resumed = run.decide(&id, "ann", decision.clone()).outcome().await.unwrap();
            }
            let place = entries[cut].key.as_str();
            assert_eq!(resumed.reason, EndReason::Answer, "cut before {place}");
            let results =
                entries[..cut].iter().filter(|entry| entry.key.as_str().starts_with("tool/")).count();
            // Paid before the cut, after it, or nobody knows.
            let (paid, told_of) = match (has("begun/"), results == 2) {
                (true, false) => (vec![], vec!["1".to_owned(), UNKNOWN.to_owned()]),
                (begun, _) => (if begun { vec![] } else { office.paid() }, told(&uncut.messages)),
            };
            assert_eq!((rest.paid(), told(&resumed.messages)), (paid, told_of), "cut before {place}");
            assert_eq!(
                Run::replay(&rest.journal.entries()).unwrap().outcome(),
                resumed,
                "cut before {place}"
            );
        }
    }
}

#[tokio::test]
async fn a_person_may_change_the_arguments() {
    let office = Office::new();
    let outcome = office.pending(pays(5)).await;
    let id = &outcome.approvals[0].id;
    let resume = |turns: Vec<Turn>| office.agent(turns).resume(office.journal.clone());
    // Arguments that do not fit are never run: somebody is asked again.
    let again = resume(vec![]).edit(id, json!({"n": "many"})).outcome().await.unwrap();
    assert_eq!((&again.reason, office.paid()), (&EndReason::PendingApproval, vec![]));
    let request = &again.approvals[0];
    assert!(request.reason.as_ref().unwrap().contains("do not fit"), "{request:?}");
    assert_eq!((request.id == *id, request.call.arguments.json()), (false, Ok(r#"{"n":5}"#)));
    let done = resume(vec![Turn::text("done")]).edit(&request.id, json!({"n": 3})).outcome().await.unwrap();
    assert_eq!(office.paid(), [3]);
    let read: Value = serde_json::from_str(&told(&done.messages)[0]).unwrap();
    assert_eq!((&read["arguments"], &read["result"]), (&json!({"n": 3}), &json!("paid 3")));
    // Both stand in the log: those that the model wrote, and those that ran.
    let log = serde_json::to_string(&office.journal.entries()).unwrap();
    assert!(log.contains(r#""arguments":{"n":5}"#) && log.contains(r#""edit":{"n":3}"#), "{log}");
}

#[tokio::test]
async fn somebody_else_decides_without_driving_the_run() {
    let office = Office::new();
    let outcome = office.pending(pays(5)).await;
    let id = &outcome.approvals[0].id;
    let entries = office.journal.entries();
    let decided = decide(&*office.journal, id, "ann", Decision::Approve).await.unwrap();
    assert_eq!(
        (decided.by.as_deref(), office.journal.entries()),
        (Some("ann"), entries),
        "no entry is written"
    );
    let resumed = office.agent([Turn::text("done")]).resume(office.journal.clone()).outcome().await.unwrap();
    assert_eq!((resumed.reason, office.paid()), (EndReason::Answer, vec![5]));
    assert!(office.journal.entries().iter().any(|entry| entry.kind == EntryKind::Decided(decided.clone())));
}

// langchain-ai/langgraph#6663: one decision settles one call, and only once.
#[tokio::test]
async fn an_approval_takes_one_decision() {
    let office = Office::new();
    let outcome = office.pending(pays(5)).await;
    let id = &outcome.approvals[0].id;
    let decided = |by: &'static str, decision| decide(&*office.journal, id, by, decision);
    let first = decided("ann", Decision::Deny("no".to_owned())).await.unwrap();
    let otherwise = |result: Result<Decided, DecideError>| match result.unwrap_err() {
        DecideError::Decided { first } => *first,
        other => panic!("{other:?}"),
    };
    for moment in ["left", "taken"] {
        assert_eq!(decided("bob", Decision::Deny("no".to_owned())).await.unwrap(), first, "{moment}");
        assert_eq!(otherwise(decided("bob", Decision::Approve).await), first, "{moment}");
        assert_eq!(otherwise(decided("bob", Decision::Deny("never".to_owned())).await), first, "{moment}");
        let failed = office.agent([]).resume(office.journal.clone()).approve(id).outcome().await.unwrap_err();
        assert!(
            matches!(failed.decide_error(), Some(DecideError::Decided { first: known }) if **known == first)
        );
        if moment == "left" {
            office.agent([Turn::text("done")]).resume(office.journal.clone()).outcome().await.unwrap();
        }
    }
    assert_eq!(office.paid(), [0; 0]);
    let unknown = decide(&*office.journal, "another", "ann", Decision::Approve).await.unwrap_err();
    assert!(matches!(unknown, DecideError::Unknown { id } if id == "another"));
}

#[tokio::test(start_paused = true)]
async fn a_decision_reaches_a_run_that_waits() {
    for kept in [true, false] {
        let office = Office::new();
        let agent = office.builder([pays(5), pays(6), Turn::text("done")]).patience(Duration::from_secs(60));
        let agent = agent.build().unwrap();
        let mut run = if kept { agent.run_in(office.journal.clone(), "go") } else { agent.run("go") };
        let control = run.control();
        let id = requested(&until_it_waits(&mut run).await).remove(0);
        control.decide(&id, "ann", Decision::Approve).await.unwrap();
        let events = until_it_waits(&mut run).await;
        let decided = events.iter().find_map(|event| match &event.kind {
            EventKind::ApprovalDecided(decided) => Some(decided.by.clone()),
            _ => None,
        });
        assert_eq!((decided, office.paid()), (Some(Some("ann".to_owned())), vec![5]), "kept: {kept}");
        let unknown = control.decide("another", "ann", Decision::Approve).await.unwrap_err();
        assert!(matches!(unknown, DecideError::Unknown { .. }));
        // Nobody decides about the second one.
        let outcome = end(&all(&mut run).await);
        assert_eq!(
            (&outcome.reason, outcome.approvals.len()),
            (&EndReason::PendingApproval, 1),
            "kept: {kept}"
        );
        let late = control.decide(&outcome.approvals[0].id, "ann", Decision::Approve).await;
        assert_eq!(late.is_ok(), kept, "a run that cannot be resumed takes no decision");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_decides_in_time() {
    let office = Office::new();
    let policy = |_: &Proposal<'_>| Verdict::Ask(Ask::default().with_lifetime(Duration::from_secs(5)));
    let turns = [pays(5), Turn::text("done")];
    let agent =
        office.builder(turns).approval_policy(policy).patience(Duration::from_secs(60)).build().unwrap();
    let mut run = agent.run_in(office.journal.clone(), "go");
    let id = requested(&until_it_waits(&mut run).await).remove(0);
    let outcome = end(&all(&mut run).await);
    assert_eq!(told(&outcome.messages), ["not executed: nobody decided in time"]);
    assert_eq!((outcome.reason, office.paid()), (EndReason::Answer, vec![]));
    let late = decide(&*office.journal, &id, "ann", Decision::Approve).await.unwrap_err();
    assert!(matches!(late, DecideError::Closed { .. }), "{late:?}");
}

/// A log whose approval has the time of its expiry changed.
fn expiring_at(entries: &[Entry], at: u64) -> Arc<MemoryJournal> {
    let mut text = serde_json::to_value(entries).unwrap();
    for entry in text.as_array_mut().unwrap() {
        if let Some(asked) = entry["kind"].get_mut("asked") {
            asked["expiresAt"] = json!(at);
        }
    }
    holding(serde_json::from_value::<Vec<Entry>>(text).unwrap())
}

#[tokio::test]
async fn an_approval_expires_while_nobody_drives_the_run() {
    let office = Office::new();
    let outcome = office.pending(pays(5)).await;
    let late = Office { journal: expiring_at(&office.journal.entries(), 1), ..Office::new() };
    let refused =
        decide(&*late.journal, &outcome.approvals[0].id, "ann", Decision::Approve).await.unwrap_err();
    assert!(matches!(refused, DecideError::Closed { .. }));
    let resumed = late.agent([Turn::text("done")]).resume(late.journal.clone()).outcome().await.unwrap();
    assert_eq!(told(&resumed.messages), ["not executed: nobody decided in time"]);
    // One that came in time and is not acted on in time.
    decide(&*office.journal, &outcome.approvals[0].id, "ann", Decision::Approve).await.unwrap();
    office.agent([Turn::text("done")]).resume(office.journal.clone()).outcome().await.unwrap();
    let decided = before(&office.journal.entries(), &keys(&office.journal)[4]);
    assert!(matches!(decided.last().unwrap().kind, EntryKind::Decided(_)));
    let late = Office { journal: expiring_at(&decided, 1), ..Office::new() };
    let resumed = late.agent([Turn::text("done")]).resume(late.journal.clone()).outcome().await.unwrap();
    assert_eq!(told(&resumed.messages), ["not executed: its approval expired before it was run"]);
    assert_eq!(late.paid(), [0; 0]);
}

#[tokio::test]
async fn a_tool_that_was_changed_since_is_asked_about_again() {
    let office = Office::new();
    let outcome = office.pending(pays(5)).await;
    decide(&*office.journal, &outcome.approvals[0].id, "ann", Decision::Approve).await.unwrap();
    let paid = Arc::clone(&office.paid);
    let changed = |turns: Vec<Turn>| {
        let paid = Arc::clone(&paid);
        let pay = move |Number { n }: Number| {
            paid.lock().unwrap().push(n * 100);
            async move { Ok::<_, ToolError>("paid in cents") }
        };
        let pay = tool_fn("pay", "Pays, in cents", pay).with_approval(Approval::Always);
        Agent::builder(ScriptedModel::new(turns).unverified()).tool(pay).build().unwrap()
    };
    let again = changed(vec![]).resume(office.journal.clone()).outcome().await.unwrap();
    assert_eq!((&again.reason, office.paid()), (&EndReason::PendingApproval, vec![]));
    let request = &again.approvals[0];
    assert_eq!(request.reason.as_deref(), Some("the tool is another one than was approved"));
    assert_ne!(request.id, outcome.approvals[0].id);
    let run = changed(vec![Turn::text("done")]).resume(office.journal.clone()).approve(&request.id);
    assert_eq!((run.outcome().await.unwrap().reason, office.paid()), (EndReason::Answer, vec![500]));
}

// R32, google/adk-python#5049: arguments are checked before anybody is asked.
#[tokio::test]
async fn nobody_is_asked_about_arguments_that_do_not_fit() {
    let office = Office::new();
    let turns = [Turn::call("pay", json!({"n": "many"})), Turn::call("pays", "{}"), Turn::text("sorry")];
    let outcome = office.agent(turns).run_in(office.journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((outcome.reason, office.paid()), (EndReason::Answer, vec![]));
    assert!(keys(&office.journal).iter().all(|key| !key.starts_with("asked/")));
}

#[tokio::test]
async fn a_policy_runs_denies_and_asks() {
    let policy = |proposal: &Proposal<'_>| {
        assert_eq!((proposal.principal, proposal.run_id), (Some("ann"), "r"));
        match proposal.arguments["n"].as_i64().unwrap() {
            1 => Verdict::Run,
            2 => Verdict::Deny("nobody looks at 2".to_owned()),
            _ => Verdict::Ask(Ask::because("3 is a lot")),
        }
    };
    let office = Office::new();
    let calls = Turn::call("look", json!({"n": 1}))
        .and_call("look", json!({"n": 2}))
        .and_call("look", json!({"n": 3}));
    let agent = office.builder([calls]).approval_policy(policy).principal("ann").build().unwrap();
    let input = RunInput::from("go").with_run_id("r");
    let outcome = agent.run_in(office.journal.clone(), input).outcome().await.unwrap();
    let [request] = &outcome.approvals[..] else { panic!("{:?}", outcome.approvals) };
    assert_eq!((request.reason.as_deref(), request.principal.as_deref()), (Some("3 is a lot"), Some("ann")));
    assert_eq!(
        (told(&outcome.messages)[1].as_str(), office.looked.get()),
        ("not executed: nobody looks at 2", 1)
    );
    // It has the last word when the call is about to run, and knows who approved it.
    let strict = |proposal: &Proposal<'_>| match proposal.approved_by {
        Some("bob") => Verdict::Deny("bob may not approve it".to_owned()),
        _ => Verdict::Run,
    };
    let agent = office.builder([Turn::text("done")]).approval_policy(strict).build().unwrap();
    let run = agent.resume(office.journal.clone()).decide(&request.id, "bob", Decision::Approve);
    assert_eq!(told(&run.outcome().await.unwrap().messages)[2], "not executed: bob may not approve it");
    assert_eq!(office.looked.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_fails_denies() {
    struct Hangs;
    impl attache_agent::ApprovalPolicy for Hangs {
        fn judge<'a>(&'a self, _: &'a Proposal<'a>) -> attache_core::BoxFuture<'a, Verdict> {
            Box::pin(std::future::pending())
        }
    }
    let office = Office::new();
    let builders = [
        office.builder([Turn::call("look", json!({"n": 1})), Turn::text("done")]).approval_policy(Hangs),
        office
            .builder([Turn::call("look", json!({"n": 1})), Turn::text("done")])
            .approval_policy(|_: &Proposal<'_>| -> Verdict { panic!("the policy is broken") }),
    ];
    for builder in builders {
        let outcome = builder.build().unwrap().run("go").outcome().await.unwrap();
        assert_eq!(told(&outcome.messages), ["not executed: nobody could say whether it may run"]);
    }
    assert_eq!(office.looked.get(), 0);
}

#[tokio::test]
async fn a_policy_cannot_do_without_the_word_that_a_tool_demands() {
    let office = Office::new();
    let agent = office.builder([pays(5)]).approval_policy(|_: &Proposal<'_>| Verdict::Run).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, office.paid()), (EndReason::PendingApproval, vec![]));
}

#[tokio::test]
async fn leave_holds_for_the_tool_the_principal_and_the_conversation() {
    let office = Office::new();
    let outcome = office.pending(pays(1)).await;
    let turns = [pays(2), Turn::text("done")];
    let run = office.agent(turns).resume(office.journal.clone()).approve_always(&outcome.approvals[0].id);
    let first = run.outcome().await.unwrap();
    assert_eq!((&first.reason, office.paid()), (&EndReason::Answer, vec![1, 2]));
    let [grant] = &first.grants[..] else { panic!("{:?}", first.grants) };
    assert_eq!((&*grant.tool, grant.by.as_deref()), ("pay", Some("the caller")));
    assert_eq!(Run::replay(&office.journal.entries()).unwrap().outcome(), first);
    // The next run of the conversation has it if it is given it, and for nobody else.
    let next = |grants: bool, principal: Option<&str>| {
        let mut input = RunInput::from("again").with_history(first.messages.clone());
        if grants {
            input = input.with_grants(first.grants.clone());
        }
        if let Some(principal) = principal {
            input = input.with_options(RunOptions::new().with_principal(principal));
        }
        office.agent([pays(3), Turn::text("done")]).run(input)
    };
    assert_eq!(next(false, None).outcome().await.unwrap().reason, EndReason::PendingApproval);
    assert_eq!(next(true, Some("eve")).outcome().await.unwrap().reason, EndReason::PendingApproval);
    assert_eq!(next(true, None).outcome().await.unwrap().reason, EndReason::Answer);
    assert_eq!(office.paid(), [1, 2, 3]);
    // Another tool of that name has none, and a policy may ask each time.
    let each_time = |_: &Proposal<'_>| Verdict::Ask(Ask::default().with_each_time(true));
    let agent = office.builder([pays(4)]).approval_policy(each_time).build().unwrap();
    let input = RunInput::from("again").with_grants(first.grants.clone());
    assert_eq!(agent.run(input).outcome().await.unwrap().reason, EndReason::PendingApproval);
    assert_eq!(office.paid(), [1, 2, 3]);
}

// R33, vercel/ai!15947: a history that somebody sends is no approval.
#[tokio::test]
async fn an_approval_that_stands_in_a_history_is_none() {
    let office = Office::new();
    let outcome = office.pending(pays(5)).await;
    let approved = office.agent([Turn::text("done")]).resume(office.journal.clone());
    let approved = approved.approve_always(&outcome.approvals[0].id).outcome().await.unwrap();
    let other = Office::new();
    // Whatever the messages of another run say, this one asks.
    for history in [outcome.messages, approved.messages] {
        let input =
            RunInput::from("I approve all payments").with_history(history).with_leaves_approvals(true);
        let outcome = other.agent([pays(5)]).run(input).outcome().await.unwrap();
        assert_eq!((outcome.reason, other.paid()), (EndReason::PendingApproval, vec![]));
    }
    // Nor does an approval of one run count in another.
    let agent = other.agent([pays(5)]);
    let pending = agent.run_in(other.journal.clone(), "go").outcome().await.unwrap();
    let foreign =
        office.journal.entries().into_iter().find(|entry| matches!(entry.kind, EntryKind::Decided(_)));
    other.journal.deliver(foreign.unwrap()).await.unwrap();
    let again = other.agent([]).resume(other.journal.clone()).outcome().await.unwrap();
    assert_eq!((again.reason, &again.approvals), (EndReason::PendingApproval, &pending.approvals));
    assert_eq!(other.paid(), [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_run_closes_its_approvals() {
    let office = Office::new();
    let agent = office.builder([pays(5)]).patience(Duration::from_secs(60)).build().unwrap();
    let mut run = agent.run_in(office.journal.clone(), "go");
    let id = requested(&until_it_waits(&mut run).await).remove(0);
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    assert_eq!((&outcome.reason, outcome.approvals.len()), (&EndReason::Cancelled, 0));
    assert_eq!(roles(&outcome.messages), "ucr");
    assert_eq!(Run::replay(&office.journal.entries()).unwrap().outcome(), outcome);
    let late = decide(&*office.journal, &id, "ann", Decision::Approve).await.unwrap_err();
    assert!(matches!(late, DecideError::Closed { .. }), "{late:?}");
    assert_eq!(office.paid(), [0; 0]);
}

#[tokio::test]
async fn several_approvals_are_settled_one_by_one() {
    let office = Office::new();
    let outcome =
        office.pending(pays(1).and_call("pay", json!({"n": 2})).and_call("pay", json!({"n": 3}))).await;
    let ids: Vec<&str> = outcome.approvals.iter().map(|request| &*request.id).collect();
    let resume = |turns: Vec<Turn>| office.agent(turns).resume(office.journal.clone());
    let second = resume(vec![]).approve(ids[1]).outcome().await.unwrap();
    assert_eq!(
        (&second.reason, office.paid(), second.approvals.len()),
        (&EndReason::PendingApproval, vec![2], 2)
    );
    let third = resume(vec![]).deny(ids[2], "").outcome().await.unwrap();
    assert_eq!((office.paid(), third.approvals.len()), (vec![2], 1));
    let first = resume(vec![Turn::text("done")]).approve(ids[0]).outcome().await.unwrap();
    assert_eq!((first.reason, office.paid()), (EndReason::Answer, vec![2, 1]));
    assert_eq!(told(&first.messages), ["paid 1", "paid 2", "not executed: the call was denied"]);
    let denied = office.journal.entries().into_iter().filter(|entry| {
        matches!(&entry.kind, EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Denied)
    });
    assert_eq!(denied.count(), 1);
}

#[tokio::test]
async fn calls_by_hand_are_not_run_without_an_approval() {
    let office = Office::new();
    let manager = office.agent([]).tool_manager().await.unwrap();
    let call = ToolCall::new("pay", Arguments::new(r#"{"n":5}"#));
    let look = ToolCall::new("look", Arguments::new(r#"{"n":1}"#));
    let round = manager.answer(AssistantMessage::new([call.into(), look.into()])).await;
    let texts: Vec<_> = round.results.iter().map(|result| result.tree.model_text()).collect();
    assert_eq!(texts, ["not executed: it needs an approval, and nobody can give it here", "1"]);
    assert_eq!(office.paid(), [0; 0]);
}
