//! A run that goes on from its log: the log is folded as it is, or refused as it is.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::kit::{all, before, counting, end, holding, keys, pdf, roles, told, until_it_waits};
use crate::common::{Counter, Number};
use crate::liveness::Family;
use attache_agent::{
    Agent, Disposition, EndReason, Entry, EntryKind, JournalError, Key, MemoryDocumentStore, MemoryJournal,
    MessageWindow, NoArguments, Run, RunInput, SCHEMA_VERSION, Tools, tool_fn,
};
use attache_core::converter::{ConvertedText, ConverterError};
use attache_core::{
    BoxFuture, Converter, Document, DocumentId, Effect, MediaType, Message, Tool, ToolCallId, ToolContext,
    ToolDefinition, ToolError, ToolResult,
};
use attache_testkit::{ScriptedModel, Turn};
use attache_tools::ReadDocument;
use serde_json::{Value, json};

fn fetch() -> impl Tool + 'static {
    let fetch = |Number { n }: Number| async move { Ok::<_, ToolError>(pdf(&format!("{n}.pdf"))) };
    tool_fn("fetch", "", fetch).with_effect(Effect::Read)
}

/// A model that takes no PDFs in results, so that synthetic messages carry them.
fn seeing(turns: impl IntoIterator<Item = Turn>) -> ScriptedModel {
    ScriptedModel::new(turns).with_capabilities_of("openai-chat", "gpt-4o")
}

#[tokio::test]
async fn synthetic_messages_are_told_again() {
    let (journal, store) = (Arc::new(MemoryJournal::new()), Arc::new(MemoryDocumentStore::default()));
    let agent =
        |turns: Vec<Turn>| Agent::builder(seeing(turns)).tool(fetch()).store(store.clone()).build().unwrap();
    let turns = vec![Turn::call("fetch", json!({"n": 1})), Turn::text("done")];
    let first = agent(turns).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(roles(&first.messages), "ucrda");
    let again = agent(Vec::new()).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!(again, first);
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), first);
}

#[tokio::test]
async fn a_synthetic_message_is_recorded_once() {
    let journal = Arc::new(MemoryJournal::new());
    let turns = (0..3).map(|n| Turn::call("fetch", json!({"n": n}))).chain([Turn::text("done")]);
    let agent = Agent::builder(seeing(turns)).tool(fetch()).build().unwrap();
    let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(roles(&outcome.messages), "ucrdcrdcrda");
    let recorded = keys(&journal).into_iter().filter(|key| key.starts_with("documents/"));
    assert_eq!(recorded.collect::<Vec<_>>(), ["documents/0", "documents/1", "documents/2"]);
}

#[tokio::test]
async fn a_resumed_run_offers_the_tools_that_families_listed_when_it_began() {
    let agent = |model: &ScriptedModel, tools: &[&str]| {
        Agent::builder(model.clone()).handler(Family::new("server", tools, "")).build().unwrap()
    };
    let journal = Arc::new(MemoryJournal::new());
    let model = ScriptedModel::new([Turn::call("old", "{}"), Turn::text("done")]);
    agent(&model, &["old", "gone"]).run_in(journal.clone(), "go").outcome().await.unwrap();
    let cut = holding(before(&journal.entries(), "model/2"));
    let model = ScriptedModel::new([Turn::call("old", "{}"), Turn::text("done")]);
    let outcome = agent(&model, &["new", "old"]).resume(cut).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["old", "old"]);
    for request in model.requests() {
        assert_eq!(request.tools.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["old", "gone"]);
    }
}

/// Documents in each round, and a window that has let the first ones go.
#[tokio::test]
async fn a_run_with_documents_cut_at_any_entry_goes_on_as_uncut() {
    let store = Arc::new(MemoryDocumentStore::default());
    let turns = || (0..6).map(|n| Turn::call("fetch", json!({"n": n}))).chain([Turn::text("done")]);
    let agent = |model: &ScriptedModel| {
        let builder = Agent::builder(model.clone()).tool(fetch()).store(store.clone());
        builder.window(MessageWindow::new(5)).build().unwrap()
    };
    let (journal, model) = (Arc::new(MemoryJournal::new()), seeing(turns()));
    let input = RunInput::from("go").with_run_id("r");
    let uncut = agent(&model).run_in(journal.clone(), input).outcome().await.unwrap();
    assert_eq!(roles(&uncut.messages), "ucrdcrdcrdcrdcrdcrda");
    let requests: Vec<String> = model.requests().iter().map(|request| roles(&request.messages)).collect();
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let kept = &entries[..cut];
        let asked = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let (journal, model) = (holding(kept.to_vec()), seeing(turns().skip(asked)));
        let resumed = agent(&model).resume(journal.clone()).outcome().await.unwrap();
        assert_eq!(roles(&resumed.messages), roles(&uncut.messages), "cut before {}", entries[cut].key);
        let again: Vec<String> = model.requests().iter().map(|request| roles(&request.messages)).collect();
        assert_eq!(again, requests[asked..], "cut before {}", entries[cut].key);
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), resumed);
    }
}

/// A mail holds another document.
struct Mail;

impl Converter for Mail {
    fn converts(&self, media: &MediaType) -> bool {
        media.essence() == "message/rfc822"
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        bytes: bytes::Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let (head, body) = text.split_once("\n\n").unwrap();
        let inner = Document::from_bytes(body.to_owned(), "text/plain").with_file_name("inner.txt");
        let converted = ConvertedText::new(head.to_owned()).with_attachment(inner);
        Box::pin(std::future::ready(Ok(converted)))
    }
}

#[tokio::test]
async fn documents_inside_documents_are_read_after_a_cut_at_any_entry() {
    let id = DocumentId::parse("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34").unwrap();
    let mail = Document::from_bytes("Hello.\n\nThe inner text.".to_owned(), "message/rfc822")
        .with_id(id.clone())
        .with_file_name("a.eml");
    let read = json!({"id": id.inside(1).as_str()});
    let turns = || [Turn::call("fetch", "{}"), Turn::call("read_document", read.clone()), Turn::text("done")];
    let store = Arc::new(MemoryDocumentStore::default());
    let agent = |skip: usize| {
        let mail = mail.clone();
        let fetch = tool_fn("fetch", "", move |_: NoArguments| {
            let mail = mail.clone();
            async move { Ok::<_, ToolError>(mail) }
        });
        let model = ScriptedModel::new(turns().into_iter().skip(skip));
        let builder = Agent::builder(model).tool(fetch.with_effect(Effect::Read)).converter(Mail);
        builder.tool(ReadDocument::new()).store(store.clone()).build().unwrap()
    };
    let journal = Arc::new(MemoryJournal::new());
    let uncut = agent(0).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert!(told(&uncut.messages)[1].contains("The inner text"), "{:?}", told(&uncut.messages));
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let kept = &entries[..cut];
        let asked = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let resumed = agent(asked).resume(holding(kept.to_vec())).outcome().await.unwrap();
        assert_eq!(told(&resumed.messages), told(&uncut.messages), "cut before {}", entries[cut].key);
    }
}

/// A log that this program cannot fold is left as it is: no entry, no tool, no model call.
async fn assert_refused(entries: Vec<Entry>) {
    let paid = Counter::default();
    let model = ScriptedModel::new([Turn::text("done")]).unverified();
    let agent =
        Agent::builder(model.clone()).tool(counting("pay", Effect::SideEffect, &paid)).build().unwrap();
    let journal = holding(entries.clone());
    let error = agent.resume(journal.clone()).outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::InternalError);
    assert_eq!(journal.entries(), entries);
    assert_eq!((model.requests().len(), paid.get()), (0, 0));
}

/// The log of a run that paid once and was not told to end.
async fn paid_log() -> Vec<Entry> {
    let paid = Counter::default();
    let model = ScriptedModel::new([Turn::call("pay", json!({"n": 1})), Turn::text("paid")]);
    let agent = Agent::builder(model).tool(counting("pay", Effect::SideEffect, &paid)).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    before(&journal.entries(), "end")
}

/// The log of a run that paid twice at once and was not told to end.
async fn paid_two_log() -> Vec<Entry> {
    let paid = Counter::default();
    let calls = Turn::call("pay", json!({"n": 1})).and_call("pay", json!({"n": 2}));
    let model = ScriptedModel::new([calls, Turn::text("paid")]);
    let agent = Agent::builder(model).tool(counting("pay", Effect::SideEffect, &paid)).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    before(&journal.entries(), "end")
}

#[tokio::test]
async fn a_log_whose_result_is_of_another_call_is_left_as_it_is() {
    let log = paid_log().await;
    let call = log.iter().find_map(|entry| match &entry.kind {
        EntryKind::ToolOutcome(outcome) => Some(outcome.call_id.to_string()),
        _ => None,
    });
    let text = serde_json::to_string(&log).unwrap();
    let outcome = format!("\"toolOutcome\":{{\"callId\":\"{}\"", call.unwrap());
    let broken = text.replacen(&outcome, "\"toolOutcome\":{\"callId\":\"other\"", 1);
    assert_ne!(broken, text);
    assert_refused(serde_json::from_str(&broken).unwrap()).await;
}

#[tokio::test]
async fn a_log_with_a_hole_runs_nothing() {
    let log = paid_log().await;
    let holes = |entry: &Entry| !matches!(entry.kind, EntryKind::Begun(_));
    for hole in (0..log.len() - 1).filter(|at| holes(&log[*at])) {
        let mut entries = log.clone();
        entries.remove(hole);
        assert!(Run::replay(&entries).is_err(), "without {}", log[hole].key);
        assert_refused(entries).await;
    }
}

/// The intent of a call that nobody made, and an intent or a result of a call that has its result.
#[tokio::test]
async fn a_log_with_an_answer_too_many_runs_nothing() {
    let outcome = |entry: &Entry| matches!(entry.kind, EntryKind::ToolOutcome(_));
    let log = paid_two_log().await;
    let at = log.iter().position(outcome).unwrap();
    let intents: Vec<&Entry> = log.iter().filter(|entry| matches!(entry.kind, EntryKind::Begun(_))).collect();
    assert_eq!(intents.len(), 2);
    let mut foreign = serde_json::to_value(intents[0]).unwrap();
    foreign["kind"]["begun"]["callId"] = json!("other");
    let first = log[at].key.as_str().strip_prefix("tool/").unwrap();
    let again = intents.iter().find(|entry| entry.key.as_str() == format!("begun/{first}")).unwrap();
    for extra in [serde_json::from_value(foreign).unwrap(), (*again).clone(), log[at].clone()] {
        let mut entries = log.clone();
        entries.insert(at + 1, extra);
        assert!(Run::replay(&entries).is_err(), "{:?}", entries[at + 1]);
        assert_refused(entries).await;
    }
}

/// The result of one call in the place of another's, and under the other's key.
#[tokio::test]
async fn a_log_with_a_result_that_belongs_elsewhere_runs_nothing() {
    let log = paid_log().await;
    let at = log.iter().position(|entry| matches!(entry.kind, EntryKind::ToolOutcome(_))).unwrap();
    let foreign = ToolCallId::new();
    let mut elsewhere = log.clone();
    elsewhere[at].key = Key::result(&foreign);
    let mut another = log.clone();
    let EntryKind::ToolOutcome(outcome) = &mut another[at].kind else { panic!("it is a result") };
    outcome.result.call_id = foreign;
    for entries in [elsewhere, another] {
        let error = Run::replay(&entries).unwrap_err().to_string();
        assert!(error.contains("result of another call"), "{error}");
        assert_refused(entries).await;
    }
}

#[tokio::test]
async fn newer_versions_and_unknown_members_are_refused() {
    let entries = serde_json::to_value(paid_log().await).unwrap();
    assert!(entries.as_array().unwrap().iter().all(|entry| entry["schemaVersion"] == SCHEMA_VERSION));
    let read = |entries: &Value| serde_json::from_value::<Vec<Entry>>(entries.clone());
    assert!(read(&entries).is_ok());
    // A limit that a newer program holds.
    let mut newer = entries.clone();
    newer[0]["kind"]["started"]["limits"]["maxWatts"] = json!(0.5);
    assert!(read(&newer).unwrap_err().to_string().contains("maxWatts"));
    for at in 0..entries.as_array().unwrap().len() {
        let mut newer = entries.clone();
        newer[at]["schemaVersion"] = json!(SCHEMA_VERSION + 1);
        assert!(read(&newer).unwrap_err().to_string().contains("schema version"), "{newer}");
        let mut unversioned = entries.clone();
        unversioned[at].as_object_mut().unwrap().remove("schemaVersion");
        assert!(read(&unversioned).is_err());
        let mut newer = entries.clone();
        newer[at]["unheard"] = json!(1);
        assert!(read(&newer).unwrap_err().to_string().contains("unheard"));
        let mut newer = entries.clone();
        let (_, body) = newer[at]["kind"].as_object_mut().unwrap().iter_mut().next().unwrap();
        body["unheard"] = json!(1);
        assert!(read(&newer).unwrap_err().to_string().contains("unheard"), "{newer}");
    }
}

/// Its input would be ignored in silence otherwise.
#[tokio::test]
async fn a_journal_is_started_or_resumed_never_both() {
    let agent = |turns: Vec<Turn>| Agent::builder(ScriptedModel::new(turns).unverified()).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let error = agent(vec![]).resume(journal.clone()).outcome().await.unwrap_err();
    assert!(matches!(error.journal_error(), Some(JournalError::Empty)));
    agent(vec![Turn::text("one")]).run_in(journal.clone(), "go").outcome().await.unwrap();
    let before = journal.entries();
    let error = agent(vec![Turn::text("two")]).run_in(journal.clone(), "again").outcome().await.unwrap_err();
    assert!(matches!(error.journal_error(), Some(JournalError::Occupied)));
    assert_eq!(error.partial().messages.len(), 1, "the input that was not taken");
    assert_eq!(journal.entries(), before);
}

#[tokio::test]
async fn one_run_id_in_two_turns_keeps_results_and_idempotency_keys_apart() {
    let long = |Number { n }: Number| async move { Ok::<_, ToolError>(n.to_string().repeat(300)) };
    let long = tool_fn("long", "", long).with_effect(Effect::Read);
    let given = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&given);
    let pay = attache_agent::tool_fn("pay", "", move |_: Number, context: ToolContext| {
        seen.lock().unwrap().push(context.idempotency_key.unwrap());
        async { Ok::<_, ToolError>("paid") }
    });
    let round = |n: i64| Turn::call("long", json!({"n": n})).and_call("pay", json!({"n": n}));
    let model = ScriptedModel::new([round(1), Turn::text("one"), round(2), Turn::text("two")]);
    let agent = Agent::builder(model.clone()).tool(long).tool(pay).max_result_chars(100).build().unwrap();
    let first = agent.run(RunInput::from("a").with_run_id("chat-7")).outcome().await.unwrap();
    let input = RunInput::from("b").with_run_id("chat-7").with_history(first.messages);
    agent.run(input).outcome().await.unwrap();
    let last = model.requests().pop().unwrap().messages;
    let said = told(&last);
    assert!(said[0].starts_with("111") && said[0].contains("left out"), "{said:?}");
    assert!(said[2].starts_with("222") && said[2].contains("left out"), "{said:?}");
    let mut ids: Vec<_> = last.iter().map(|message| message.id().to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), last.len(), "each message has an id of its own");
    let given = given.lock().unwrap();
    assert_eq!(given.len(), 2);
    assert_ne!(given[0], given[1]);
}

/// An idempotency key is the same however often the call is begun.
#[tokio::test(start_paused = true)]
async fn a_repeated_call_has_the_idempotency_key_of_the_first() {
    let given = Arc::new(Mutex::new(Vec::new()));
    let agent = |turns: Vec<Turn>, hangs: bool| {
        let seen = Arc::clone(&given);
        let put = attache_agent::tool_fn("put", "", move |_: NoArguments, context: ToolContext| {
            seen.lock().unwrap().push(context.idempotency_key.unwrap());
            async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                Ok::<_, ToolError>("put")
            }
        });
        let model = ScriptedModel::new(turns);
        Agent::builder(model).tool(put.with_effect(Effect::Idempotent)).build().unwrap()
    };
    let journal = Arc::new(MemoryJournal::new());
    let mut run = agent(vec![Turn::call("put", "{}")], true).run_in(journal.clone(), "go");
    until_it_waits(&mut run).await;
    drop(run);
    let outcome = agent(vec![Turn::text("done")], false).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!((told(&outcome.messages), outcome.unknown.len()), (vec!["put".to_owned()], 0));
    let given = given.lock().unwrap();
    assert_eq!(given.len(), 2);
    assert_eq!(given[0], given[1]);
}

fn asking(turns: Vec<Turn>) -> Agent {
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    let builder =
        Agent::builder(ScriptedModel::new(turns).unverified()).tool_set(Tools::new().with_external(ask));
    builder.answer_deadline(Duration::from_secs(3600)).build().unwrap()
}

/// The log of a run that waits for the caller, whose reply is that old.
async fn waiting_log(age: Duration) -> Vec<Entry> {
    let journal = Arc::new(MemoryJournal::new());
    let mut run = asking(vec![Turn::call("ask", "{}")]).run_in(journal.clone(), "go");
    until_it_waits(&mut run).await;
    drop(run);
    let mut entries = journal.entries();
    for entry in &mut entries {
        entry.at -= u64::try_from(age.as_millis()).unwrap();
    }
    entries
}

#[tokio::test(start_paused = true)]
async fn the_time_for_answers_counts_from_the_reply_not_from_the_resume() {
    let young = holding(waiting_log(Duration::from_secs(60)).await);
    let mut run = asking(vec![Turn::text("done")]).resume(young);
    let events = until_it_waits(&mut run).await;
    assert!(!events.iter().any(|event| matches!(event.kind, attache_agent::EventKind::Finished(_))));

    let old = holding(waiting_log(Duration::from_secs(3601)).await);
    let outcome = asking(vec![Turn::text("done")]).resume(old.clone()).outcome().await.unwrap();
    assert_eq!((outcome.reason.clone(), outcome.pending.len()), (EndReason::PendingExternal, 1));
    assert_eq!(told(&outcome.messages), ["no result was delivered in time"]);
    assert!(!keys(&old).contains(&"end".to_owned()), "it may be answered still");

    // An answer that came meanwhile counts, however late it was.
    attache_agent::deliver(&*old, ToolResult::ok(&outcome.pending[0], "yes")).await.unwrap();
    let outcome = asking(vec![Turn::text("done")]).resume(old).outcome().await.unwrap();
    assert_eq!((outcome.reason, told(&outcome.messages)), (EndReason::Answer, vec!["yes".to_owned()]));
}

#[tokio::test]
async fn a_deadline_is_absolute_over_a_resume() {
    let log = paid_log().await;
    let model = ScriptedModel::new([Turn::text("done")]).unverified();
    let paid = Counter::default();
    let agent = Agent::builder(model.clone())
        .tool(counting("pay", Effect::SideEffect, &paid))
        .deadline(Duration::from_secs(3600))
        .build()
        .unwrap();
    let mut entries = before(&log, "model/2");
    let past = entries[0].at - 1000;
    let EntryKind::Started(started) = &mut entries[0].kind else { panic!("a log begins with its start") };
    started.deadline = Some(past);
    let journal = holding(entries);
    let events = all(&mut agent.resume(journal.clone())).await;
    let outcome = end(&events);
    assert_eq!(outcome.reason, EndReason::Deadline);
    assert_eq!(model.requests().len(), 0, "its time is up: nothing is asked any more");
    assert_eq!(told(&outcome.messages), ["1"]);
    let ended = journal.entries().into_iter().filter(|entry| entry.key.as_str() == "end");
    assert_eq!(ended.count(), 1, "the run has ended, not only the drive");

    // A run without a deadline gets none by being resumed with an agent that has one.
    let model = ScriptedModel::new([Turn::text("done")]).unverified();
    let agent =
        Agent::builder(model).tool(counting("pay", Effect::SideEffect, &paid)).deadline(Duration::ZERO);
    let outcome = agent.build().unwrap().resume(holding(before(&log, "model/2"))).outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Answer);
}

/// A call that was begun by a run that no longer offers its tool may have happened.
#[tokio::test]
async fn a_begun_call_of_a_tool_that_is_gone_is_of_unknown_outcome() {
    let mut entries = paid_log().await;
    entries.truncate(3);
    assert!(matches!(entries[2].kind, EntryKind::Begun(_)));
    let agent = Agent::builder(ScriptedModel::new([Turn::text("done")])).build().unwrap();
    let journal = holding(entries);
    let outcome = agent.resume(journal.clone()).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), [crate::common::kit::UNKNOWN]);
    assert_eq!(outcome.unknown.len(), 1);
    let disposition = journal.entries().iter().find_map(|entry| match &entry.kind {
        EntryKind::ToolOutcome(outcome) => Some(outcome.disposition),
        _ => None,
    });
    assert_eq!(disposition, Some(Disposition::Unknown));
}

// The documents that a model made go back to it, as the guide says of Gemini and OpenAI.
#[tokio::test]
async fn a_document_that_the_model_made_goes_back_from_a_log() {
    let (journal, store) = (Arc::new(MemoryJournal::new()), Arc::new(MemoryDocumentStore::default()));
    let agent = |turns: Vec<Turn>, store: &Arc<MemoryDocumentStore>| {
        let model = ScriptedModel::new(turns).with_capabilities_of("gemini", "gemini-3-pro-image-preview");
        let agent = Agent::builder(model.clone()).tool(fetch()).store(store.clone()).build().unwrap();
        (model, agent)
    };
    let cat = Document::from_bytes(&b"\x89PNG a cat"[..], "image/png");
    let (_, drawing) = agent(vec![Turn::text("A cat.").making(cat.clone())], &store);
    drawing.run_in(journal.clone(), "draw a cat").outcome().await.unwrap();
    let stored = serde_json::to_string(&journal.entries()).unwrap();
    let entries: Vec<Entry> = serde_json::from_str(&stored).unwrap();
    let history = Run::replay(&entries).unwrap().outcome().messages;
    assert_eq!(history[1].documents()[0].bytes(), None, "a log mentions it");
    let next = || RunInput::from("make it blue").with_history(history.clone());

    let turns = || vec![Turn::call("fetch", json!({"n": 1})), Turn::text("done")];
    let (model, painting) = agent(turns(), &store);
    painting.run(next()).outcome().await.unwrap();
    let requests = model.requests();
    let sent = [&requests[0].messages[1], &requests[1].messages[1]];
    assert_eq!(sent[0].documents()[0].bytes(), cat.bytes());
    assert!(Arc::ptr_eq(sent[0], sent[1]), "it is loaded once");

    let (model, painting) = agent(turns(), &Arc::default());
    painting.run(next()).outcome().await.unwrap();
    let requests = model.requests();
    let Message::Assistant(reply) = &*requests[1].messages[1] else { panic!("it is a reply") };
    let note = "[You made a document of type image/png here, but its content is not in the store any more.]";
    assert_eq!(reply.text(), format!("A cat.{note}"));
}
