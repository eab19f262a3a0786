//! The conditions that hold when a run has ended, however often it was killed.

use std::collections::{BTreeMap, HashMap, HashSet};

use attache_agent::{Disposition, EndReason, Entry, EntryKind, Key, Run};
use attache_core::{AssistantPart, DocumentId, DocumentStore, Effect, Message, ToolCall};
use attache_stores::FileDocumentStore;
use serde_json::{Value, json};

use crate::kept::Kept;
use crate::scenario::{ANSWER, approval, content};
use crate::text;

/// The amounts that were found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) executed: usize,
    pub(crate) unknown: usize,
    pub(crate) receipts: usize,
    pub(crate) documents: usize,
    pub(crate) nested: usize,
    pub(crate) answered: usize,
    pub(crate) approved: usize,
    pub(crate) deferred: usize,
    pub(crate) asked_again: usize,
    /// Requests that were held against those of the run that nobody killed.
    pub(crate) compared: usize,
}

impl Found {
    pub(crate) fn add(&mut self, other: &Self) {
        self.executed += other.executed;
        self.unknown += other.unknown;
        self.receipts += other.receipts;
        self.documents += other.documents;
        self.nested += other.nested;
        self.answered += other.answered;
        self.approved += other.approved;
        self.deferred += other.deferred;
        self.asked_again += other.asked_again;
        self.compared += other.compared;
    }

    /// True if there was something of everything.
    pub(crate) fn is_something(&self) -> bool {
        let each = [
            self.executed,
            self.documents,
            self.nested,
            self.answered,
            self.approved,
            self.deferred,
            self.compared,
        ];
        each.iter().all(|number| *number > 0)
    }
}

/// Checks a run that has ended.
pub(crate) fn all(kept: &Kept, was_rivalled: bool, uncut: &Requests) -> Found {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let entries = runtime.block_on(kept.entries());
    let mut found = Found::default();

    let payments = payments(kept);
    let mut paid = HashSet::new();
    // The last step of each run whose request does not depend on an outcome that nobody knows.
    let mut told: HashMap<&str, usize> = HashMap::new();
    for (scope, entries) in runs(&entries) {
        let run = Run::replay(&entries).unwrap_or_else(|error| panic!("{scope}: {error}"));
        let outcome = run.outcome();
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::Answer, ANSWER), "{scope}");
        found.nested += usize::from(!scope.is_empty());
        for (step, call) in calls(&entries) {
            if matches!(&*call.name, "pay" | "transfer" | "render") {
                let is_known = effect(&entries, &call, payments.contains(call.id.as_str()), &mut found);
                assert!(paid.insert(call.id.to_string()));
                if !is_known {
                    let name = if scope.is_empty() { "outer" } else { "inner" };
                    let last = told.entry(name).or_insert(usize::MAX);
                    *last = step.min(*last);
                }
            }
            found.answered += usize::from(call.name == "approve");
            found.approved += usize::from(call.name == "transfer");
        }
    }
    let stray: Vec<_> = payments.iter().filter(|id| !paid.contains(*id)).collect();
    assert!(stray.is_empty(), "payments of calls that no log has: {stray:?}");

    let store = FileDocumentStore::open(kept.documents()).unwrap();
    for (id, name) in documents(&entries) {
        let bytes = runtime.block_on(store.get(&DocumentId::parse(&id).unwrap()));
        assert_eq!(bytes.unwrap_or_else(|error| panic!("{name}: {error}")), content(&name));
        found.documents += 1;
    }

    // The leftovers of the killed processes are removed with the next document.
    runtime.block_on(store.put(&approval("last"))).unwrap();
    let left = std::fs::read_dir(kept.documents())
        .unwrap()
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "new"));
    assert_eq!(left.count(), 0);

    // Of two drivers at once, one may not know yet what the other has recorded.
    if !was_rivalled {
        let requests = Requests::read(kept);
        found.asked_again = requests.again;
        for ((name, step), asked) in &requests.asked {
            if *step <= told.get(&**name).copied().unwrap_or(usize::MAX)
                && let Some(uncut) = uncut.asked.get(&(name.clone(), *step))
            {
                assert_eq!(asked, uncut, "{name}-{step} was asked for in another way than without a kill");
                found.compared += 1;
            }
        }
    }
    found
}

/// Each request, by the run and the step that it was for.
pub(crate) struct Requests {
    asked: HashMap<(String, usize), String>,
    again: usize,
}

impl Requests {
    /// The request. A step that was asked for again was asked for just as before, unless two asked at once.
    pub(crate) fn read(kept: &Kept) -> Self {
        let mut requests = Self { asked: HashMap::new(), again: 0 };
        for line in text(&kept.requests()).lines() {
            let (step, asked) = line.split_once(' ').unwrap();
            let (name, number) = step.split_once('-').unwrap();
            let key = (name.to_owned(), number.parse().unwrap());
            if let Some(first) = requests.asked.insert(key, asked.to_owned()) {
                requests.again += 1;
                assert_eq!(first, asked, "{step} was asked for in another way");
            }
        }
        requests
    }
}

/// The calls that were paid for. None twice.
fn payments(kept: &Kept) -> HashSet<String> {
    let mut payments = HashSet::new();
    for line in text(&kept.payments()).lines() {
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

/// The calls, each with the number of the step that asked for it.
fn calls(entries: &[Entry]) -> Vec<(usize, ToolCall)> {
    let replies = entries.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Reply(reply) => Some(reply),
        _ => None,
    });
    let mut calls = Vec::new();
    for (step, reply) in replies.enumerate() {
        let Message::Assistant(message) = &*reply.message else { panic!("{reply:?}") };
        calls.extend(message.parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => Some((step, call.clone())),
            _ => None,
        }));
    }
    calls
}

/// A call with an effect was announced before it ran, and has one result: its receipt, the result of its job, or that
/// nobody knows. Says whether the outcome is known.
fn effect(entries: &[Entry], call: &ToolCall, is_paid: bool, found: &mut Found) -> bool {
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
            assert_ne!(call.name, "render");
            found.executed += 1;
        }
        Disposition::Submitted => {
            assert!(is_paid && receipts == 0 && call.name == "render", "{}", call.id);
            found.deferred += 1;
        }
        Disposition::Unknown => {
            assert!(receipts == 0 || (is_paid && receipts == 1), "{}", call.id);
            found.unknown += 1;
            found.receipts += receipts;
        }
        other => panic!("{}: {other:?}", call.id),
    }
    outcomes[0].disposition != Disposition::Unknown
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
