//! Assembles tool calls from the fragments of a stream.

use serde_json::Value;

use crate::chunk::StreamChunk;
use crate::id::{ProviderCallId, ToolCallId};
use crate::message::Arguments;

/// One fragment of a tool call as sent by a provider. Every field may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolCallFragment<'a> {
    /// The provider's index of the call.
    pub index: Option<u64>,
    /// The provider's id; empty text is ignored.
    pub id: Option<&'a str>,
    /// The tool's wire name; empty text is ignored.
    pub name: Option<&'a str>,
    /// A piece of the arguments' text.
    pub arguments: Option<&'a str>,
    /// The whole arguments, if a server sends an object instead of text.
    pub object: Option<&'a Value>,
}

impl<'a> ToolCallFragment<'a> {
    /// Creates an empty fragment; set its fields by assignment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the provider's index.
    #[must_use]
    pub fn with_index(mut self, index: impl Into<Option<u64>>) -> Self {
        self.index = index.into();
        self
    }

    /// Sets the provider's id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Option<&'a str>>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Option<&'a str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets a piece of the arguments' text.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl Into<Option<&'a str>>) -> Self {
        self.arguments = arguments.into();
        self
    }

    /// Sets the whole arguments.
    #[must_use]
    pub fn with_object(mut self, object: impl Into<Option<&'a Value>>) -> Self {
        self.object = object.into();
        self
    }
}

/// Assembles the tool calls of one reply from fragments, in whichever order and completeness servers send them.
///
/// A fragment belongs to the slot of its index, otherwise to that of its id. Otherwise it opens a new slot if it has a
/// name or an id, or goes to the slot opened last; with a new index it does the latter only while the arguments there
/// are incomplete. A server that reuses an index for the next call (another id with a name or, once the arguments are
/// complete, another id, another name, or the same name and further arguments) opens a new slot. A merely repeated name
/// does not open a slot. The first id and the first name of a slot are kept. Calls keep the order of first appearance.
///
/// The text of the arguments is read only once for this, regardless of the number of pieces.
#[derive(Debug, Default)]
pub struct ToolCallAssembler {
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    id: ToolCallId,
    provider_id: Option<ProviderCallId>,
    name: Option<String>,
    arguments: String,
    /// The progress of the arguments' text.
    progress: Progress,
    /// The name was repeated behind complete arguments: what follows belongs to another call of it.
    named_again: bool,
    /// The arguments came as an object: complete, whatever follows.
    whole: bool,
    /// A later call of the same reply took the index over.
    closed: bool,
}

/// An assembled call at the end of the reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AssembledCall {
    /// The position of the call in order of first appearance.
    pub slot: usize,
    /// Our id, the same as in the deltas.
    pub id: ToolCallId,
    /// The provider's id, if it sent one.
    pub provider_id: Option<ProviderCallId>,
    /// The tool's wire name; empty if the provider never named it.
    pub name: String,
    /// The arguments; empty arguments are read as `{}`.
    pub arguments: Arguments,
}

impl ToolCallAssembler {
    /// Creates an assembler without calls.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if no fragment has been received.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of calls so far.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The arguments so far of the call that currently has the index `index`.
    pub fn arguments_of(&self, index: u64) -> Option<&str> {
        let slot = self.slots.iter().rfind(|slot| slot.index == Some(index) && !slot.closed)?;
        Some(&slot.arguments)
    }

    /// Adds a fragment and returns the delta to deliver.
    pub fn push(&mut self, fragment: &ToolCallFragment<'_>) -> StreamChunk {
        let id = fragment.id.filter(|id| !id.trim().is_empty() && *id != "null");
        let name = fragment.name.filter(|name| !name.trim().is_empty());
        let says_arguments = match fragment.object {
            Some(object) => !object.is_null(),
            None => fragment.arguments.is_some_and(|text| !text.trim().is_empty()),
        };
        let (at, announced) = self.slot_for(fragment.index, id, name, says_arguments);
        self.add(at, id, name, announced, fragment)
    }

    /// Adds a fragment that has neither index, id nor name to the call of that slot, where the server tells by the order
    /// of its fragments whose they are.
    pub fn push_to(&mut self, slot: usize, fragment: &ToolCallFragment<'_>) -> StreamChunk {
        self.add(slot, None, None, None, fragment)
    }

    fn add(
        &mut self,
        at: usize,
        id: Option<&str>,
        name: Option<&str>,
        announced: Option<String>,
        fragment: &ToolCallFragment<'_>,
    ) -> StreamChunk {
        let Some(slot) = self.slots.get_mut(at) else {
            // An empty delta is the harmless answer to a place that is not there.
            return delta(at, ToolCallId::new(), None, None, String::new());
        };
        if slot.provider_id.is_none() {
            slot.provider_id = id.and_then(ProviderCallId::parse);
        }
        let mut new_name = None;
        if slot.name.is_none() {
            slot.name = name.map(str::to_owned).or(announced);
            new_name = slot.name.clone();
        }
        let piece = match (fragment.object, fragment.arguments) {
            (Some(Value::Null), _) | (None, None) => String::new(),
            (Some(object), _) if slot.arguments.is_empty() => {
                slot.whole = true;
                object.to_string()
            }
            (None, Some(text)) if !slot.whole => text.to_owned(),
            _ => String::new(),
        };
        slot.arguments.push_str(&piece);
        delta(at, slot.id.clone(), slot.provider_id.clone(), new_name, piece)
    }

    /// Adds the complete calls of a snapshot and returns for each its slot and the delta to deliver: what it adds to
    /// the pieces of the same call, or the whole call if no piece was received. Calls are the same if their ids are
    /// equal, otherwise if their names are equal and the pieces are the beginning of the arguments. Indexes are
    /// ignored.
    pub fn complete(&mut self, calls: &[ToolCallFragment<'_>]) -> Vec<(usize, Option<StreamChunk>)> {
        let mut known: Vec<Option<usize>> = vec![None; calls.len()];
        let mut taken = vec![false; self.slots.len()];
        for by_id in [true, false] {
            for (known, call) in known.iter_mut().zip(calls).filter(|(known, _)| known.is_none()) {
                let mut slots = self.slots.iter().zip(&mut taken).enumerate();
                let same = slots.find(|(_, (slot, taken))| !**taken && slot.is_repeated_by(call, by_id));
                if let Some((at, (_, taken))) = same {
                    *taken = true;
                    *known = Some(at);
                }
            }
        }
        let mut completed = Vec::with_capacity(calls.len());
        for (known, call) in known.into_iter().zip(calls) {
            if let Some(at) = known {
                completed.push((at, self.slots.get_mut(at).and_then(|slot| slot.complete(at, call))));
            } else if call.id.is_some() || call.name.is_some() {
                // Without an index it continues nothing.
                let delta = self.push(&ToolCallFragment { index: None, ..call.clone() });
                completed.push((self.slots.len().saturating_sub(1), Some(delta)));
            }
        }
        completed
    }

    fn slot_for(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        says_arguments: bool,
    ) -> (usize, Option<String>) {
        let same_id =
            |slot: &Slot| id.is_some() && slot.provider_id.as_ref().map(ProviderCallId::as_str) == id;
        let found = match index {
            Some(own) => {
                let open = self.slots.iter().rposition(|slot| slot.index == Some(own) && !slot.closed);
                open.or_else(|| self.moved(own, id, name))
            }
            None => self.slots.iter().rposition(same_id).or_else(|| {
                let opens = id.is_some() || name.is_some();
                let last = self.slots.len().checked_sub(1)?;
                // A bare continuation, or the name that a slot was still missing.
                let awaits = self
                    .slots
                    .get(last)
                    .is_some_and(|slot| slot.name.is_none() && slot.provider_id.is_none());
                (!opens || awaits).then_some(last)
            }),
        };
        let mut announced = None;
        if let Some(at) = found
            && let Some(slot) = self.slots.get_mut(at)
        {
            if !slot.is_reused_for(id, name, says_arguments) {
                return (at, None);
            }
            slot.closed = true;
            announced = slot.name.clone().filter(|_| slot.named_again && id.is_none() && name.is_none());
            // An id that was seen under this index before goes on where it was.
            if let Some(earlier) = self.slots.iter().rposition(same_id) {
                return (earlier, None);
            }
        }
        self.slots.push(Slot {
            index,
            id: ToolCallId::new(),
            provider_id: None,
            name: None,
            arguments: String::new(),
            progress: Progress::default(),
            named_again: false,
            whole: false,
            closed: false,
        });
        (self.slots.len() - 1, announced)
    }

    /// The slot whose pieces go on under an index that no slot has: that of their id, or the last one as long as it waits
    /// for its arguments. A name is that of another call.
    fn moved(&mut self, index: u64, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let at = match (id, name) {
            (_, Some(_)) => return None,
            (Some(id), None) => self
                .slots
                .iter()
                .rposition(|slot| slot.provider_id.as_ref().is_some_and(|own| own.as_str() == id))?,
            (None, None) => {
                let last = self.slots.last_mut()?;
                if last.name.is_none() || last.is_complete() {
                    return None;
                }
                self.slots.len() - 1
            }
        };
        let slot = self.slots.get_mut(at)?;
        (slot.index, slot.closed) = (Some(index), false);
        Some(at)
    }

    /// Returns the calls in order of first appearance.
    pub fn finish(self) -> Vec<AssembledCall> {
        let calls = self.slots.into_iter().enumerate().map(|(slot, call)| AssembledCall {
            slot,
            id: call.id,
            provider_id: call.provider_id,
            name: call.name.unwrap_or_default(),
            arguments: Arguments::new(call.arguments),
        });
        calls.collect()
    }
}

impl Slot {
    /// True if a whole call is this one.
    fn is_repeated_by(&self, call: &ToolCallFragment<'_>, by_id: bool) -> bool {
        let id = self.provider_id.as_ref().map(ProviderCallId::as_str);
        if by_id {
            return id.is_some() && id == call.id;
        }
        let same_name = self.name.is_none() || call.name.is_none() || self.name.as_deref() == call.name;
        same_name
            && match (call.object, call.arguments) {
                (Some(object), _) => {
                    self.arguments.is_empty()
                        || Arguments::new(self.arguments.as_str()).json().is_ok_and(|own| own == *object)
                }
                (None, Some(given)) => {
                    given.starts_with(self.arguments.as_str()) || self.arguments.starts_with(given)
                }
                (None, None) => true,
            }
    }

    /// Takes what a whole call says beyond its pieces.
    fn complete(&mut self, at: usize, call: &ToolCallFragment<'_>) -> Option<StreamChunk> {
        let mut name = None;
        if self.name.is_none() {
            self.name = call.name.filter(|name| !name.trim().is_empty()).map(str::to_owned);
            name.clone_from(&self.name);
        }
        let rest = match (call.object, call.arguments) {
            (Some(object), _) if self.arguments.is_empty() && !object.is_null() => object.to_string(),
            (None, Some(given)) if given.len() > self.arguments.len() => {
                given.strip_prefix(self.arguments.as_str()).unwrap_or_default().to_owned()
            }
            _ => String::new(),
        };
        if name.is_none() && rest.is_empty() {
            return None;
        }
        self.arguments.push_str(&rest);
        Some(delta(at, self.id.clone(), self.provider_id.clone(), name, rest))
    }

    /// True if a fragment under this slot's index belongs to another call.
    fn is_reused_for(&mut self, id: Option<&str>, name: Option<&str>, says_arguments: bool) -> bool {
        match (id, &self.provider_id) {
            // A call that is begun has a name; without one the id was changed on the way, unless nothing is missing.
            (Some(id), Some(own)) => id != own.as_str() && (name.is_some() || self.is_complete()),
            (Some(_), None) => false,
            (None, _) => match name {
                Some(name) if self.name.is_some() && self.is_complete() => {
                    let is_other = self.name.as_deref() != Some(name);
                    // True if a repeated name announces another call shows in what follows.
                    self.named_again |= !is_other && !says_arguments;
                    is_other || says_arguments
                }
                None => self.named_again && says_arguments,
                Some(_) => false,
            },
        }
    }

    fn is_complete(&mut self) -> bool {
        self.progress.read(&self.arguments);
        self.progress.may_be_complete(&self.arguments) && {
            let is_object = Arguments::new(self.arguments.as_str()).json().is_ok();
            // Nothing that follows makes JSON of it.
            self.progress.is_broken = !is_object;
            is_object
        }
    }
}

/// The progress of the arguments' text. It is read when that matters, each part of it once.
#[derive(Debug, Default)]
struct Progress {
    read: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last byte that is no white space.
    last: u8,
    is_broken: bool,
}

impl Progress {
    fn read(&mut self, text: &str) {
        for byte in text.bytes().skip(self.read) {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                self.last = byte;
            }
        }
        self.read = text.len();
    }

    /// True if the text is worth to be read as a whole.
    fn may_be_complete(&self, text: &str) -> bool {
        let is_closed = self.depth == 0 && !self.in_string && matches!(self.last, b'}' | b'"');
        !self.is_broken && (is_closed || self.last == b'l' && text.len() < 64 && text.trim() == "null")
    }
}

fn delta(
    slot: usize,
    id: ToolCallId,
    provider_id: Option<ProviderCallId>,
    name: Option<String>,
    arguments_delta: String,
) -> StreamChunk {
    StreamChunk::ToolCallDelta { slot, id, provider_id, name, arguments_delta }
}

#[cfg(test)]
mod tests;
