//! What the files must tell when a run has ended, however often it was killed.

use std::collections::{BTreeMap, HashMap, HashSet};

use attache_agent::{Disposition, EndReason, Entry, EntryKind, Journal, Key, Run};
use attache_core::{AssistantPart, DocumentId, DocumentStore, Effect, Message, ToolCall};
use attache_stores::{FileDocumentStore, FileJournal};
use serde_json::{Value, json};

use crate::scenario::{ANSWER, Files, approval, content};
use crate::text;

/// How much was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) executed: usize,
    pub(crate) unknown: usize,
    pub(crate) receipts: usize,
    pub(crate) documents: usize,
    pub(crate) nested: usize,
    pub(crate) approvals: usize,
    pub(crate) asked_again: usize,
}

impl Found {
    pub(crate) fn add(&mut self, other: &Self) {
        self.executed += other.executed;
        self.unknown += other.unknown;
        self.receipts += other.receipts;
        self.documents += other.documents;
        self.nested += other.nested;
        self.approvals += other.approvals;
        self.asked_again += other.asked_again;
    }
}

/// Checks the files of a run that has ended.
pub(crate) fn files(files: &Files, was_rivalled: bool) -> Found {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let entries = runtime.block_on(FileJournal::open(files.log()).unwrap().load()).unwrap();
    let mut found = Found::default();

    let payments = payments(files);
    let mut paid = HashSet::new();
    for (scope, entries) in runs(&entries) {
        let run = Run::replay(&entries).unwrap_or_else(|error| panic!("{scope}: {error}"));
        let outcome = run.outcome();
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::Answer, ANSWER), "{scope}");
        found.nested += usize::from(!scope.is_empty());
        for call in calls(&entries) {
            if call.name == "pay" {
                pay(&entries, &call, payments.contains(call.id.as_str()), &mut found);
                assert!(paid.insert(call.id.to_string()));
            }
            found.approvals += usize::from(call.name == "approve");
        }
    }
    let stray: Vec<_> = payments.iter().filter(|id| !paid.contains(*id)).collect();
    assert!(stray.is_empty(), "payments of calls that no log has: {stray:?}");

    let store = FileDocumentStore::open(files.documents()).unwrap();
    for (id, name) in documents(&entries) {
        let bytes = runtime.block_on(store.get(&DocumentId::parse(&id).unwrap()));
        assert_eq!(bytes.unwrap_or_else(|error| panic!("{name}: {error}")), content(&name));
        found.documents += 1;
    }

    // What the killed processes left behind is removed with the next document.
    runtime.block_on(store.put(&approval("last"))).unwrap();
    let left = std::fs::read_dir(files.documents())
        .unwrap()
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "new"));
    assert_eq!(left.count(), 0);

    found.asked_again = requests(files, was_rivalled);
    found
}

/// The calls that were paid for. None twice.
fn payments(files: &Files) -> HashSet<String> {
    let mut payments = HashSet::new();
    for line in text(&files.payments()).lines() {
        assert!(payments.insert(line.to_owned()), "paid twice: {line}");
    }
    payments
}

/// The run inside a tool that a key belongs to; blank for the run itself.
pub(crate) fn scope(key: &Key) -> &str {
    key.as_str().find('>').map_or("", |end| &key.as_str()[..=end])
}

/// The entries of the run and of those inside its tools, by their scopes, under the keys that each run knows.
fn runs(entries: &[Entry]) -> BTreeMap<String, Vec<Entry>> {
    let mut runs: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        let scope = scope(&entry.key).to_owned();
        let mut entry = entry.clone();
        let key = entry.key.as_str().strip_prefix(&scope).unwrap();
        entry.key = serde_json::from_value::<Key>(json!(key)).unwrap();
        runs.entry(scope).or_default().push(entry);
    }
    runs
}

fn calls(entries: &[Entry]) -> Vec<ToolCall> {
    let mut calls = Vec::new();
    for entry in entries {
        if let EntryKind::Reply(reply) = &entry.kind {
            let Message::Assistant(message) = &*reply.message else { panic!("{entry:?}") };
            calls.extend(message.parts.iter().filter_map(|part| match part {
                AssistantPart::ToolCall(call) => Some(call.clone()),
                _ => None,
            }));
        }
    }
    calls
}

/// A call with an effect was announced before it ran, and has one result: its receipt, or that nobody knows.
fn pay(entries: &[Entry], call: &ToolCall, is_paid: bool, found: &mut Found) {
    let begun: Vec<_> = entries
        .iter()
        .filter(|entry| matches!(&entry.kind, EntryKind::Begun(begun) if begun.call_id == call.id))
        .collect();
    let outcomes: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::ToolOutcome(outcome) if outcome.call_id == call.id => Some(outcome),
            _ => None,
        })
        .collect();
    let receipts = entries
        .iter()
        .filter(|entry| matches!(&entry.kind, EntryKind::Receipt(outcome) if outcome.call_id == call.id))
        .count();
    assert_eq!((begun.len(), outcomes.len()), (1, 1), "{}", call.id);
    assert!(matches!(&begun[0].kind, EntryKind::Begun(begun) if begun.effect == Effect::SideEffect));
    match outcomes[0].disposition {
        Disposition::Executed => {
            assert!(is_paid && receipts == 0, "{}", call.id);
            found.executed += 1;
        }
        Disposition::Unknown => {
            assert!(receipts == 0 || (is_paid && receipts == 1), "{}", call.id);
            found.unknown += 1;
            found.receipts += receipts;
        }
        other => panic!("{}: {other:?}", call.id),
    }
}

/// The ids and names of all documents that the log mentions.
fn documents(entries: &[Entry]) -> HashMap<String, String> {
    let mut documents = HashMap::new();
    let mut values: Vec<Value> = entries.iter().map(|entry| serde_json::to_value(entry).unwrap()).collect();
    while let Some(value) = values.pop() {
        match value {
            Value::Array(items) => values.extend(items),
            Value::Object(members) => {
                if members.contains_key("attache.document") {
                    assert_eq!(members["attache.document"], "stored", "{members:?}");
                    let text = |value: &Value| value.as_str().unwrap().to_owned();
                    documents.insert(text(&members["documentId"]), text(&members["metadata"]["fileName"]));
                } else {
                    values.extend(members.into_iter().map(|(_, value)| value));
                }
            }
            _ => {}
        }
    }
    documents
}

/// A step that was asked for again was asked for just as before. Yields how many were.
fn requests(files: &Files, was_rivalled: bool) -> usize {
    let mut sums: HashMap<String, String> = HashMap::new();
    let mut again = 0;
    for line in text(&files.requests()).lines() {
        let (step, sum) = line.split_once(' ').unwrap();
        if let Some(first) = sums.insert(step.to_owned(), sum.to_owned()) {
            again += 1;
            // Of two drivers at once, one may not know yet what the other has recorded.
            assert!(was_rivalled || first == sum, "{step} was asked for in another way");
        }
    }
    again
}
