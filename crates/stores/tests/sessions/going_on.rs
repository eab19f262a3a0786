//! Conversations that go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{
    Agent, Decision, EndReason, Entry, EntryKind, JournalError, Key, MemoryDocumentStore, NoArguments,
    RunInput, SessionError, SessionState, decide, tool_fn,
};
use attache_core::{
    Document, DocumentStore as _, Effect, Message, ToolCallId, ToolError, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};

use crate::kit::{agent, echo, payer, questions, sessions};
use crate::place::Place;

// A38
pub(crate) async fn a_conversation_goes_on_in_another_process(place: Place) {
    let here = sessions(&place, agent()).await;
    let fresh = here.open("ann", None).await.unwrap();
    assert_eq!(fresh.state(), SessionState::New);
    assert_ne!(fresh.id(), here.open("ann", None).await.unwrap().id());
    let named = here.open("ann", Some("trip")).await.unwrap();
    named.run("To Rome.").outcome().await.unwrap();
    let there = sessions(&place, agent()).await;
    let again = there.open("ann", Some("trip")).await.unwrap();
    assert_eq!(again.state(), SessionState::Continued);
    let outcome = again.run("In May.").outcome().await.unwrap();
    assert_eq!(questions(&outcome.messages), ["To Rome.", "In May."]);
    assert_eq!(again.history().await.unwrap(), outcome.messages);
    assert!(fresh.history().await.unwrap().is_empty());
    let list = there.list("ann").await.unwrap();
    let trip = list.iter().find(|info| info.id.as_str() == "trip").unwrap();
    assert_eq!((trip.title.as_str(), trip.runs, trip.open_run.as_deref()), ("To Rome.", 2, None));
    let runs = again.runs().await.unwrap();
    assert_eq!((runs.len(), &runs[1].id), (2, &outcome.run_id));
    assert!(runs.iter().all(|run| run.ended.is_some_and(|ended| ended >= run.began)));
    let told = again.resume().outcome().await.unwrap();
    assert_eq!(told, outcome, "a run that has ended is told again");
}

/// An agent whose tool returns a document that its model takes in a message behind the results alone.
fn lister(
    turns: impl IntoIterator<Item = Turn>,
    documents: &Arc<MemoryDocumentStore>,
) -> (Agent, ScriptedModel) {
    let model = ScriptedModel::new(turns).with_capabilities_of("openai-chat", "gpt-4o");
    let fetch = tool_fn("fetch", "Fetches a list.", |_: NoArguments| async {
        Ok::<_, ToolError>(
            Document::from_bytes(&b"%PDF-1.4 one, two, three"[..], "").with_file_name("list.pdf"),
        )
    });
    let documents = Arc::clone(documents) as _;
    (Agent::builder(model.clone()).system("Be brief.").tool(fetch).store(documents).build().unwrap(), model)
}

fn asked(text: &str) -> UserMessage {
    UserMessage::new([UserPart::text(text)])
}

// C23
pub(crate) async fn a_session_asks_what_a_program_with_the_history_asks(place: Place) {
    let documents = Arc::new(MemoryDocumentStore::default());
    let first = [Turn::call("fetch", "{}"), Turn::text("three things")];
    let (kept, _) = lister(first, &documents);
    let session = sessions(&place, kept).await.open("ann", Some("s")).await.unwrap();
    let one = session
        .run(RunInput::from(asked("What is on the list?")).with_run_id("one"))
        .outcome()
        .await
        .unwrap();
    let stored = session.history().await.unwrap();
    assert!(stored.iter().any(|message| message.is_tool_call_documents()), "the synthetic message is kept");
    assert_eq!(serde_json::to_value(&stored).unwrap(), serde_json::to_value(&one.messages).unwrap());
    // The same question with the same history, by a program that keeps the history itself.
    let question = asked("And how many?");
    let (plain, plain_model) = lister([Turn::text("three")], &documents);
    let input = RunInput::from(question.clone()).with_history(one.messages.clone()).with_run_id("two");
    plain.run(input).outcome().await.unwrap();
    let (other, other_model) = lister([Turn::text("three")], &documents);
    let there = sessions(&place, other).await.open("ann", Some("s")).await.unwrap();
    there.run(RunInput::from(question).with_run_id("two")).outcome().await.unwrap();
    let (plain, kept) = (&plain_model.requests()[0], &other_model.requests()[0]);
    assert_eq!(format!("{:?}", kept.messages), format!("{:?}", plain.messages));
}

/// The store of sessions holds no bytes: the next run learns from the log alone that each round brought something new.
pub(crate) async fn rounds_that_brought_changing_documents_hinder_no_later_run(place: Place) {
    let documents = Arc::new(MemoryDocumentStore::default());
    let watcher = |turns: Vec<Turn>| {
        let model = ScriptedModel::new(turns).unverified();
        let seen = AtomicUsize::new(0);
        let look = tool_fn("look", "Looks.", move |_: NoArguments| {
            let frame = format!("frame {}", seen.fetch_add(1, Ordering::SeqCst));
            async move { Ok::<_, ToolError>(Document::from_bytes(frame, "text/plain")) }
        });
        let look = look.with_effect(Effect::Read);
        Agent::builder(model).tool(look).store(Arc::clone(&documents) as _).build().unwrap()
    };
    let turns = (0..6).map(|_| Turn::call("look", "{}")).chain([Turn::text("nobody came")]);
    let here = sessions(&place, watcher(turns.collect())).await.open("ann", Some("s")).await.unwrap();
    let first = here.run("Who comes?").outcome().await.unwrap();
    assert_eq!((&first.reason, first.steps), (&EndReason::Answer, 7));
    let there = sessions(&place, watcher(vec![Turn::text("yes")])).await;
    let again = there.open("ann", Some("s")).await.unwrap();
    assert_eq!(again.history().await.unwrap(), first.messages);
    let second = again.run("Sure?").outcome().await.unwrap();
    assert_eq!((second.reason, &*second.text), (EndReason::Answer, "yes"));
}

pub(crate) async fn a_long_conversation_is_kept_once(place: Place) {
    let store = place.store().await;
    let sessions = sessions(&place, agent()).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let mut sizes = Vec::new();
    for number in 0..12 {
        let question = format!("{number}: {}", "word ".repeat(400));
        session.run(question).outcome().await.unwrap();
        let run = store.load("ann", session.id(), None).await.unwrap().unwrap();
        assert!(run.ranges.len() <= 2, "{:?}", run.ranges);
        sizes.push(serde_json::to_string(&run.entries).unwrap().len());
        assert_eq!(run.messages.len(), 2 * number + 1);
    }
    let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(most - least < 100, "each log has the same size: {sizes:?}");
}

pub(crate) async fn instructions_that_changed_hold_from_the_next_run_on(place: Place) {
    let told = |system: &str| Agent::builder(echo()).system(system).build().unwrap();
    let systems = |messages: &[Arc<Message>]| {
        let text = |message: &Arc<Message>| match &**message {
            Message::System(system) => Some(system.parts[0].text().to_owned()),
            _ => None,
        };
        messages.iter().filter_map(text).collect::<Vec<_>>()
    };
    let sessions = sessions(&place, told("Be brief.")).await;
    let session = sessions.open("ann", None).await.unwrap();
    session.run("One").outcome().await.unwrap();
    let same = session.run("Two").outcome().await.unwrap();
    assert_eq!(systems(&same.messages), ["Be brief."]);
    let session =
        sessions.with_agent(told("Be long.")).open("ann", Some(session.id().as_str())).await.unwrap();
    let other = session.run("Three").outcome().await.unwrap();
    assert_eq!(systems(&other.messages), ["Be long."]);
    assert_eq!(questions(&other.messages), ["One", "Two", "Three"]);
}

pub(crate) async fn what_a_store_cannot_hold_is_left_out_or_refused(place: Place) {
    let sessions = sessions(&place, agent()).await;
    let session = sessions.open("ann", None).await.unwrap();
    let outcome = session.run("To\0 Rome\u{1b}.").outcome().await.unwrap();
    assert_eq!(session.history().await.unwrap(), outcome.messages);
    assert_eq!(sessions.list("ann").await.unwrap()[0].title, "To Rome.");
    let refused = sessions.open("ann\0", None).await.unwrap_err();
    assert!(matches!(refused, SessionError::Nul { .. }), "{refused:?}");
    let run = session.run(RunInput::from("When?").with_run_id("r\0")).outcome().await.unwrap_err();
    assert!(matches!(run.session_error(), Some(SessionError::Nul { .. })), "{run:?}");
    for seen in [0, 1] {
        let refused = session.behind("r\0", seen).await.unwrap_err();
        assert!(matches!(refused, SessionError::Nul { .. }), "{refused:?}");
    }
    let journal = session.journal_of("r\0");
    assert!(journal.load().await.unwrap().is_empty() && journal.behind(1).await.unwrap().is_empty());
    let entry = Entry::new(Key::result(&ToolCallId::new()), EntryKind::Inbox(Vec::new()));
    let refused = journal.deliver(entry).await.unwrap_err();
    assert!(matches!(refused, JournalError::Empty), "there is no such run: {refused:?}");
}

pub(crate) async fn the_agent_that_answered_last_has_the_conversation_still(place: Place) {
    let door = || ScriptedModel::new([Turn::call("transfer_to_bills", "{}")]).unverified();
    let bills =
        ScriptedModel::new([Turn::text("paid"), Turn::text("twice"), Turn::text("thrice")]).unverified();
    let billing = Agent::builder(bills.clone()).system("You do bills.").build().unwrap();
    let agent = Agent::builder(door()).handoff(billing.as_handoff("bills", "Bills")).build().unwrap();
    let sessions = sessions(&place, agent).await;
    let session = sessions.open("ann", None).await.unwrap();
    for (question, answer) in [("my bill", "paid"), ("again", "twice"), ("and again", "thrice")] {
        let outcome = session.run(question).outcome().await.unwrap();
        assert_eq!((outcome.agent.as_deref(), outcome.text.as_str()), (Some("bills"), answer));
    }
    // An agent that knows no such other begins itself.
    let session =
        sessions.with_agent(crate::kit::agent()).open("ann", Some(session.id().as_str())).await.unwrap();
    let outcome = session.run("who?").outcome().await.unwrap();
    assert_eq!((outcome.agent.as_deref(), outcome.text.as_str()), (None, "You said: who?"));
}

/// The bytes of a reply go to the document store before its entry: the databases hold references.
pub(crate) async fn a_document_that_the_model_made_is_there_in_another_process(place: Place) {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n made by the model";
    let documents = Arc::new(MemoryDocumentStore::default());
    let picture = Document::from_bytes(PNG, "image/png");
    let id = picture.id().clone();
    let elsewhere = async |turns: Vec<Turn>| {
        let model = ScriptedModel::new(turns).unverified();
        let agent = Agent::builder(model).store(Arc::clone(&documents) as _).build().unwrap();
        sessions(&place, agent).await.with_documents(Arc::clone(&documents) as _)
    };
    let here =
        elsewhere(vec![Turn::text("Here.").making(picture)]).await.open("ann", Some("s")).await.unwrap();
    let run = here.run("Draw.").outcome().await.unwrap().run_id;
    let there = elsewhere(vec![Turn::text("Thanks.")]).await;
    let session = there.get("ann", "s").await.unwrap();
    let made = session.history().await.unwrap();
    assert_eq!(made.iter().flat_map(|message| message.documents()).next().unwrap().id(), &id);
    assert_eq!(documents.get(&id).await.unwrap(), PNG);
    // It is the session's own: a fork that is cleared leaves it.
    let fork = session.fork(&run).await.unwrap();
    fork.run("Thank you.").outcome().await.unwrap();
    there.clear("ann", fork.id().as_str()).await.unwrap();
    assert_eq!(documents.get(&id).await.unwrap(), PNG);
    there.clear("ann", "s").await.unwrap();
    assert!(documents.get(&id).await.is_err());
}

/// One that ended nowhere would be gone on with later, and would do what was approved without anybody.
pub(crate) async fn a_run_that_is_cancelled_while_it_is_opened_has_ended(place: Place) {
    let (payer, paid) = payer();
    let here = sessions(&place, payer).await;
    let session = here.open("ann", Some("s")).await.unwrap();
    let pending = session.run("pay").outcome().await.unwrap();
    let journal = session.journal().await.unwrap().unwrap();
    decide(&*journal, &pending.approvals[0].id, "ann", Decision::Approve).await.unwrap();
    let run = session.resume();
    run.control().cancel();
    assert_eq!(run.outcome().await.unwrap().reason, EndReason::Cancelled);
    assert_eq!(session.info().await.unwrap().open_run, None);
    assert_eq!(session.resume().outcome().await.unwrap().reason, EndReason::Cancelled, "it is told again");
    assert_eq!(paid.load(Ordering::SeqCst), 0);
}
