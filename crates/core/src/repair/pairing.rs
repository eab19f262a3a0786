//! Calls and results: each call has one result, directly behind it.

use std::collections::{HashMap, HashSet};

use crate::document::Document;
use crate::id::{DocumentId, ToolCallId};
use crate::identity::Identities;
use crate::message::{
    AssistantMessage, AssistantPart, Message, Metadata, ResultStatus, ToolResult, ToolResultsMessage,
    UserMessage, UserOrigin, UserPart,
};
use crate::repair::kind::{Repair, RepairKind};
use crate::repair::numbered::Numbered;
use crate::tree::ContentTree;

/// The text for a result that nobody has.
const UNKNOWN: &str = "the outcome of this call is not known: the conversation holds no result of it";

/// A call: its message and its place among the message's calls.
type CallAt = (usize, usize);
/// A result: its message and its place in it.
type ResultAt = (usize, usize);

/// Puts results directly behind their calls, makes those that are missing, and events of those that answer no call.
pub(super) fn paired(messages: Vec<Numbered>, repairs: &mut Vec<Repair>) -> Vec<Numbered> {
    if are_paired(&messages) {
        return messages;
    }
    let plan = Plan::new(&messages);
    let messages = renamed(messages, repairs);
    plan.carry_out(&messages, repairs)
}

/// The usual case: the results are there, in call order, and no id of a call is used twice.
fn are_paired(messages: &[Numbered]) -> bool {
    let mut seen: HashSet<&ToolCallId> = HashSet::new();
    let mut open: Option<&AssistantMessage> = None;
    for numbered in messages {
        let asked = open.take();
        match (&*numbered.message, asked) {
            (Message::ToolResults(results), Some(asked)) => {
                let calls = asked.tool_calls().map(|call| &call.id);
                if !calls.eq(results.results.iter().map(|result| &result.call_id)) {
                    return false;
                }
            }
            // Without results it is merely empty.
            (Message::ToolResults(results), None) if results.results.is_empty() => {}
            (Message::ToolResults(_), None) | (_, Some(_)) => return false,
            (Message::Assistant(assistant), None) => {
                if !assistant.tool_calls().all(|call| seen.insert(&call.id)) {
                    return false;
                }
                open = Some(assistant).filter(|assistant| assistant.has_tool_calls());
            }
            _ => {}
        }
    }
    open.is_none()
}

/// Gives calls ids of their own. Which result answers which is planned before.
fn renamed(messages: Vec<Numbered>, repairs: &mut Vec<Repair>) -> Vec<Numbered> {
    let mut taken: HashSet<ToolCallId> = HashSet::new();
    let mut copies: HashMap<ToolCallId, u64> = HashMap::new();
    let rename = |numbered: Numbered| {
        let Message::Assistant(assistant) = &*numbered.message else { return numbered };
        let mut mended: Option<AssistantMessage> = None;
        for (at, part) in assistant.parts.iter().enumerate() {
            let AssistantPart::ToolCall(call) = part else { continue };
            if taken.insert(call.id.clone()) {
                continue;
            }
            let id = free(&call.id, &mut taken, &mut copies);
            let detail =
                format!("the id of its call of {} is that of another call; it is {id} now", call.name);
            repairs.push(numbered.repair(RepairKind::DuplicateCall, detail));
            let parts = &mut mended.get_or_insert_with(|| assistant.clone()).parts;
            if let Some(AssistantPart::ToolCall(call)) = parts.get_mut(at) {
                call.id = id;
            }
        }
        match mended {
            Some(mended) => numbered.with(Message::Assistant(mended)),
            None => numbered,
        }
    };
    messages.into_iter().map(rename).collect()
}

/// An id next to `own` that no call has. Each id counts its copies.
fn free(
    own: &ToolCallId,
    taken: &mut HashSet<ToolCallId>,
    copies: &mut HashMap<ToolCallId, u64>,
) -> ToolCallId {
    let copy = copies.entry(own.clone()).or_insert(1);
    loop {
        *copy += 1;
        let id = ToolCallId::parse(format!("{own}_{copy}")).filter(|id| taken.insert(id.clone()));
        if let Some(id) = id {
            return id;
        }
    }
}

/// The calls of one id, in order, as results come that may answer them.
#[derive(Default)]
struct CallsOfId {
    calls: Vec<CallAt>,
    /// The number of calls that stand before the results that came last.
    passed: usize,
    /// The number of calls that are answered or passed: a result that answers a call behind it takes the next.
    taken: usize,
    /// The calls before that wait for a result: the nearest message last, its calls in reverse.
    waiting: Vec<CallAt>,
}

impl CallsOfId {
    /// The call that a result in the message at `at` answers: of the nearest message before it that waits for one,
    /// otherwise the first one behind it. Results come in order.
    fn answered_at(&mut self, at: usize) -> Option<CallAt> {
        while let Some((message, _)) = self.calls.get(self.passed).filter(|call| call.0 < at) {
            let of_it = self.calls.iter().skip(self.passed).take_while(|call| call.0 == *message).count();
            let end = self.passed + of_it;
            let from = self.taken.clamp(self.passed, end);
            self.waiting.extend(self.calls.get(from..end).unwrap_or_default().iter().rev());
            self.passed = end;
        }
        self.taken = self.taken.max(self.passed);
        self.waiting.pop().or_else(|| {
            let call = self.calls.get(self.taken).copied()?;
            self.taken += 1;
            Some(call)
        })
    }

    /// The call that a second result belongs to: the last one before it, or the first.
    fn nearest(&self) -> Option<CallAt> {
        self.calls.get(self.passed.saturating_sub(1)).copied()
    }
}

/// Which result answers which call.
#[derive(Default)]
struct Plan {
    answers: HashMap<CallAt, ResultAt>,
    answered: HashMap<ResultAt, CallAt>,
    /// Results of calls that had one already, with the call.
    second: HashMap<ResultAt, CallAt>,
    /// The messages of results that stand behind a message of calls, in order: each where its first result belongs.
    behind: HashMap<usize, Vec<usize>>,
    /// The synthetic messages that go with them.
    carried: HashSet<usize>,
}

impl Plan {
    fn new(messages: &[Numbered]) -> Self {
        let mut plan = Self::default();
        let mut calls: HashMap<&ToolCallId, CallsOfId> = HashMap::new();
        for (at, numbered) in messages.iter().enumerate() {
            let Message::Assistant(assistant) = &*numbered.message else { continue };
            for (place, call) in assistant.tool_calls().enumerate() {
                calls.entry(&call.id).or_default().calls.push((at, place));
            }
        }
        for (at, numbered) in messages.iter().enumerate() {
            let Message::ToolResults(results) = &*numbered.message else { continue };
            for (place, result) in results.results.iter().enumerate() {
                let Some(of_it) = calls.get_mut(&result.call_id) else { continue };
                if let Some(call) = of_it.answered_at(at) {
                    plan.answers.insert(call, (at, place));
                    plan.answered.insert((at, place), call);
                } else if let Some(call) = of_it.nearest() {
                    plan.second.insert((at, place), call);
                }
            }
        }
        for (at, numbered) in messages.iter().enumerate() {
            let Message::ToolResults(results) = &*numbered.message else { continue };
            let calls = (0..results.results.len()).filter_map(|place| plan.answered.get(&(at, place)));
            if let Some(asked) = calls.map(|call| call.0).min() {
                plan.behind.entry(asked).or_default().push(at);
                plan.carried.extend(synthetic_behind(messages, at));
            }
        }
        plan
    }

    fn carry_out(&self, messages: &[Numbered], repairs: &mut Vec<Repair>) -> Vec<Numbered> {
        let mut whole = Vec::with_capacity(messages.len() + 2);
        for (at, numbered) in messages.iter().enumerate() {
            match &*numbered.message {
                Message::Assistant(assistant) if assistant.has_tool_calls() => {
                    whole.push(numbered.clone());
                    let behind = self.behind.get(&at).map(Vec::as_slice).unwrap_or_default();
                    whole.push(self.results_of(at, numbered, assistant, behind, messages, repairs));
                    let synthetic = behind.iter().flat_map(|from| synthetic_behind(messages, *from));
                    whole.extend(synthetic.filter_map(|at| messages.get(at)).cloned());
                }
                Message::ToolResults(results) => {
                    self.left_over(at, numbered, results, messages, &mut whole, repairs);
                }
                _ if self.carried.contains(&at) => {}
                _ => whole.push(numbered.clone()),
            }
        }
        whole
    }

    /// The results of the calls of the message at `at`, with the id of the first of the messages `behind` it.
    fn results_of(
        &self,
        at: usize,
        asked: &Numbered,
        assistant: &AssistantMessage,
        behind: &[usize],
        messages: &[Numbered],
        repairs: &mut Vec<Repair>,
    ) -> Numbered {
        let sources =
            assistant.tool_calls().enumerate().map(|(place, _)| self.answers.get(&(at, place)).copied());
        let sources: Vec<Option<ResultAt>> = sources.collect();
        let lender = behind.first().and_then(|from| messages.get(*from));
        if let Some(from) = lender
            && behind.first() == Some(&(at + 1))
            && let Message::ToolResults(given) = &*from.message
            && given.results.len() == sources.len()
            && sources.iter().enumerate().all(|(place, source)| *source == Some((at + 1, place)))
            && assistant.tool_calls().zip(&given.results).all(|(call, result)| call.id == result.call_id)
        {
            return from.clone();
        }
        let mut results = Vec::with_capacity(sources.len());
        let mut last = None;
        for (call, source) in assistant.tool_calls().zip(&sources) {
            let found = source.and_then(|source| Some((source, result_at(messages, source)?)));
            let Some((source, result)) = found else {
                let detail = format!("its call {} of {} has no result; one says so now", call.id, call.name);
                repairs.push(asked.repair(RepairKind::MissingResult, detail));
                results.push(ToolResult::new(call, ResultStatus::Error, ContentTree::text(UNKNOWN)));
                continue;
            };
            if source.0 != at + 1 || last > Some(source) {
                let stood = messages.get(source.0).unwrap_or(asked);
                let detail =
                    format!("the result of the call {} stands behind it, in call order, now", call.id);
                repairs.push(stood.repair(RepairKind::MisplacedResult, detail));
            }
            last = Some(source);
            let mut result = result.clone();
            result.call_id = call.id.clone();
            results.push(result);
        }
        let mut message = ToolResultsMessage::new(results);
        (message.id, message.metadata) = match lender {
            Some(from) => (from.message.id().clone(), from.message.metadata().clone()),
            None => (assistant.id.derived("results"), Metadata::default()),
        };
        lender.unwrap_or(asked).with(Message::ToolResults(message))
    }

    /// Makes events of the results that answer no call, each with its documents.
    fn left_over(
        &self,
        at: usize,
        numbered: &Numbered,
        results: &ToolResultsMessage,
        messages: &[Numbered],
        whole: &mut Vec<Numbered>,
        repairs: &mut Vec<Repair>,
    ) {
        if results.results.is_empty() {
            whole.push(numbered.clone());
        }
        for (place, result) in results.results.iter().enumerate() {
            if self.answered.contains_key(&(at, place)) {
                continue;
            }
            let tool = result.tool_name.as_deref().unwrap_or("an unknown tool");
            let said = match self.second.get(&(at, place)) {
                None => {
                    let detail = format!("its result of {tool} answers no call; it is an event now");
                    repairs.push(numbered.repair(RepairKind::OrphanResult, detail));
                    format!("[The result of a call of {tool} that is not part of this conversation]")
                }
                Some(call) => {
                    let first = self.answers.get(call).and_then(|first| result_at(messages, *first));
                    if first.is_some_and(|first| says_the_same(first, result)) {
                        let detail = format!(
                            "it repeats the result of the call {}, which stands once now",
                            result.call_id
                        );
                        repairs.push(numbered.repair(RepairKind::DuplicateResult, detail));
                        continue;
                    }
                    let detail =
                        format!("the call {} has a result already; this one is an event now", result.call_id);
                    repairs.push(numbered.repair(RepairKind::DuplicateResult, detail));
                    format!("[A second result of a call of {tool}]")
                }
            };
            let id = numbered.message.id().derived(&format!("result.{place}"));
            whole.push(numbered.with(Message::User(event(said, result)).with_id(id)));
        }
    }
}

/// The synthetic messages directly behind the results at `from`.
fn synthetic_behind(messages: &[Numbered], from: usize) -> impl Iterator<Item = usize> {
    let behind = messages.iter().enumerate().skip(from + 1);
    behind.take_while(|(_, numbered)| numbered.message.is_tool_call_documents()).map(|(at, _)| at)
}

fn result_at(messages: &[Numbered], (at, place): ResultAt) -> Option<&ToolResult> {
    match &*messages.get(at)?.message {
        Message::ToolResults(results) => results.results.get(place),
        _ => None,
    }
}

fn says_the_same(one: &ToolResult, other: &ToolResult) -> bool {
    let same = |one: &[Document], other: &[Document]| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(other))
    };
    one.tree.json() == other.tree.json()
        && same(one.tree.documents(), other.tree.documents())
        && one.status == other.status
        && same(&one.documents, &other.documents)
        && one.withheld == other.withheld
}

/// A result that answers nothing, as something that happened. Content that its handler kept from the model stays kept.
fn event(said: String, result: &ToolResult) -> UserMessage {
    let withheld: HashSet<&DocumentId> = result.withheld.iter().collect();
    let is_shown = |document: &&Document| !withheld.contains(document.id());
    let shown: Vec<Document> = result.tree.documents().iter().filter(is_shown).cloned().collect();
    let mut known = Identities::new();
    for document in &shown {
        known.number(document);
    }
    let beside = result.documents.iter().filter(|document| known.get(document).is_none());
    let beside: Vec<Document> = beside.cloned().collect();
    let said = if result.is_error() { format!("{said} [failed]") } else { said };
    let tree = if shown.len() == result.tree.documents().len() {
        Some(result.tree.clone())
    } else {
        ContentTree::parse(result.tree.json(), shown)
    };
    let tree = tree.filter(|tree| !tree.is_blank() || !tree.documents().is_empty()).map(UserPart::Object);
    let documents = beside.into_iter().map(|document| Some(UserPart::Document(document)));
    let mut message = UserMessage::new([UserPart::text(said), tree].into_iter().chain(documents));
    message.origin = UserOrigin::Event;
    message
}
