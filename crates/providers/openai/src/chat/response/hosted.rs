//! The work of the server's own tools, where it comes as messages among those of the answer (openai.md C.6).

use attache_core::AssistantPart;
use attache_core::assembler::{AssembledCall, ToolCallAssembler};
use attache_core::message::OpaquePart;
use attache_transport::Reading;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::wire::{Call, Content, Delta};
use crate::error::{Result, too_many};
use crate::response::MAX_CALLS;

/// The kind of the opaque part that holds it: the member that has the messages of a whole answer.
pub(crate) const MESSAGES: &str = "messages";

/// The calls of such tools and their results.
#[derive(Debug, Default)]
pub(super) struct Hosted {
    calls: ToolCallAssembler,
    /// The data of each call that say whose it is.
    metadata: Vec<Box<RawValue>>,
    /// The index of the call that was begun last, if it is one of these: pieces without a name are of it.
    open: Option<Option<u64>>,
    results: Vec<ToolMessage>,
}

/// The result of a call.
#[derive(Debug)]
struct ToolMessage {
    index: Option<u64>,
    call: Option<String>,
    content: Vec<Value>,
}

impl Hosted {
    /// True if a piece of a message is one of a result that was begun.
    pub(super) fn goes_on_with(&self, delta: &Delta<'_>) -> bool {
        let is_same = |result: &ToolMessage| result.index == delta.index.0;
        delta.index.0.is_some() && delta.role.is_none() && self.results.iter().any(is_same)
    }

    /// True if a piece of a call is one of the call that was begun last, and that one is the server's.
    pub(super) fn calls_on_with(&self, call: &Call<'_>) -> bool {
        let is_nameless = call.function.0.as_ref().is_none_or(|function| function.name.get().is_none());
        let is_open = |index: Option<u64>| call.index.0.is_none() || call.index.0 == index;
        is_nameless && self.open.is_some_and(is_open)
    }

    /// A call for the client begins.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Takes a call, or a piece of one.
    pub(super) fn call(&mut self, call: &Call<'_>, delta: &Delta<'_>) -> Result<()> {
        let known = self.calls.len();
        self.calls.push(&call.piece());
        if self.calls.len() > known || self.open.is_none() {
            self.open = Some(call.index.0);
        }
        if self.calls.len() > known {
            let metadata = call.metadata.or(delta.metadata).unwrap_or(RawValue::NULL);
            self.metadata.push(metadata.to_owned());
        }
        if self.calls.len() > MAX_CALLS { Err(too_many("tool calls")) } else { Ok(()) }
    }

    /// Takes a result, or a piece of one.
    pub(super) fn result(&mut self, delta: &Delta<'_>) -> Result<()> {
        let (index, call) = (delta.index.0, delta.tool_call_id.get());
        let is_same = |result: &ToolMessage| {
            let is_of_call = call.map_or(index.is_some(), |call| result.call.as_deref() == Some(call));
            result.index == index && is_of_call
        };
        let known = self.results.iter().rposition(is_same).unwrap_or(self.results.len());
        if known == self.results.len() {
            if known >= MAX_CALLS {
                return Err(too_many("results of tools"));
            }
            let call = call.map(str::to_owned);
            self.results.push(ToolMessage { index, call, content: Vec::new() });
        }
        let Some(result) = self.results.get_mut(known) else { return Ok(()) };
        let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
        match (&delta.content, result.content.last_mut()) {
            (Content::None, _) => {}
            (Content::Text(text), Some(Value::String(known))) => known.push_str(text),
            (Content::Text(text), _) => result.content.push(Value::from(&**text)),
            (Content::Parts(parts), _) => result.content.extend(parts.iter().filter_map(|part| value(part))),
            (Content::Part(part), _) => result.content.extend(value(part)),
        }
        Ok(())
    }

    /// True if the server has the result of a call, so that it is none for the client. In a stream its pieces were handed
    /// out before that is known.
    pub(super) fn has_result_of(&self, call: &AssembledCall) -> bool {
        let id = call.provider_id.as_ref().map(|id| id.as_str());
        id.is_some() && self.results.iter().any(|result| result.call.as_deref() == id)
    }

    /// The part with all calls and results, as messages. Of the calls `answered` only their results tell that they are
    /// the server's.
    pub(super) fn into_part(self, answered: Vec<AssembledCall>, reading: &Reading) -> Option<AssistantPart> {
        let own = self.calls.finish().into_iter().zip(self.metadata.into_iter().map(Some));
        let calls = own.chain(answered.into_iter().map(|call| (call, None)));
        let calls: Vec<Value> = calls
            .map(|(call, metadata)| {
                let function = json!({"name": call.name, "arguments": call.arguments.raw()});
                let mut members = Map::new();
                members.extend(call.provider_id.map(|id| ("id".to_owned(), Value::from(id.as_str()))));
                members.insert("function".to_owned(), function);
                let metadata = metadata.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
                members.extend(metadata.map(|metadata| ("metadata".to_owned(), metadata)));
                Value::Object(members)
            })
            .collect();
        let asked = (!calls.is_empty()).then(|| json!({"role": "assistant", "tool_calls": calls}));
        let results = self.results.into_iter().map(|result| {
            let content = match <[Value; 1]>::try_from(result.content) {
                Ok([text @ Value::String(_)]) => text,
                Ok([part]) => json!([part]),
                Err(parts) => Value::Array(parts),
            };
            json!({"role": "tool", "tool_call_id": result.call, "content": content})
        });
        let messages: Vec<Value> = asked.into_iter().chain(results).collect();
        let json = to_raw_value(&messages).ok().filter(|_| !messages.is_empty())?;
        Some(AssistantPart::Opaque(OpaquePart::new(MESSAGES, reading.tag(json))))
    }
}
