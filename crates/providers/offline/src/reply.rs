//! The reply as a stream of chunks, within the limits of the request.

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Completion, Degradation, FinishReason, MessageId,
    ModelSettings, RawUsage, StreamChunk, ToolCall, ToolCallId, ToolSet, Usage,
};
use serde_json::json;

use crate::next_calls::Planned;
use crate::words::count;

/// The least bytes of a piece of text, but for the last one.
const PIECE: usize = 24;

/// A reply of the model: text, or calls.
#[derive(Debug)]
pub(crate) enum Said {
    Text(String),
    Calls(Vec<Planned>),
}

/// The request that a reply is made for.
pub(crate) struct Frame<'a> {
    pub(crate) options: &'a ModelSettings,
    pub(crate) tools: &'a ToolSet,
    /// The message that it answers; its own ids derive from it.
    pub(crate) after: &'a MessageId,
    /// Words that were read.
    pub(crate) read: u64,
    /// The model's id without its provider.
    pub(crate) model: &'a str,
    pub(crate) degradations: Vec<Degradation>,
}

/// The chunks of a reply, the last one being [`StreamChunk::Done`].
pub(crate) fn chunks(said: Said, frame: Frame<'_>) -> Vec<StreamChunk> {
    let mut chunks = Vec::new();
    let (parts, written, finish, raw) = match said {
        Said::Text(text) => {
            let (shown, finish, raw) = limited(&text, frame.options);
            chunks.extend(pieces(shown).map(|piece| StreamChunk::Content(piece.to_owned())));
            (vec![AssistantPart::text(shown)], count(shown), finish, raw)
        }
        Said::Calls(calls) => {
            let limit = frame.options.max_tokens.map_or(u64::MAX, u64::from);
            let (mut parts, mut written, mut cut) = (Vec::new(), 0, false);
            for (slot, call) in calls.iter().enumerate() {
                if cut || written >= limit {
                    cut = true;
                    break;
                }
                // A call costs its name and the words of its arguments.
                let arguments = serde_json::to_string(&call.arguments).unwrap_or_else(|_| "{}".to_owned());
                let shown = first_words(&arguments, limit - written - 1);
                cut = shown.len() < arguments.len();
                written += 1 + count(shown);
                let id = call_id(frame.after, slot, &call.name, &arguments);
                let wire = frame.tools.wire_name(&call.name);
                for (at, piece) in [""].into_iter().chain(pieces(shown)).enumerate() {
                    chunks.push(StreamChunk::ToolCallDelta {
                        slot,
                        id: id.clone(),
                        provider_id: None,
                        name: (at == 0).then(|| wire.clone()),
                        arguments_delta: piece.to_owned(),
                    });
                }
                let arguments = if cut { Arguments::truncated(shown) } else { Arguments::new(shown) };
                parts.push(ToolCall::new(call.name.clone(), arguments).with_id(id).into());
            }
            let (finish, raw) = if cut {
                (FinishReason::Length, "max_tokens")
            } else {
                (FinishReason::ToolCalls, "tool_calls")
            };
            (parts, written, finish, raw)
        }
    };
    let mut message = AssistantMessage::new(parts);
    message.id = frame.after.derived("reply");
    let usage = Usage::new(frame.read, written)
        .with_raw(RawUsage::from(json!({"words_read": frame.read, "words_written": written})));
    let mut completion = Completion::new(message, finish, usage);
    completion.raw_finish_reason = Some(raw.to_owned());
    completion.model = Some(frame.model.to_owned());
    completion.degradations = frame.degradations;
    chunks.push(StreamChunk::Done(Box::new(completion)));
    chunks
}

/// The part of an answer that the limits allow, and why it ends.
fn limited<'t>(text: &'t str, options: &ModelSettings) -> (&'t str, FinishReason, &'static str) {
    let stop = options.stop.iter().flatten().filter_map(|stop| text.find(stop.as_str())).min();
    let stopped = stop.map_or(text, |at| text.get(..at).unwrap_or_default());
    let shown = first_words(stopped, options.max_tokens.map_or(u64::MAX, u64::from));
    if shown.len() < stopped.len() {
        (shown, FinishReason::Length, "max_tokens")
    } else if stop.is_some() {
        (shown, FinishReason::Stop, "stop_sequence")
    } else {
        (shown, FinishReason::Stop, "end")
    }
}

/// At most `limit` words of a text; the whole of it if they are enough.
fn first_words(text: &str, limit: u64) -> &str {
    let Some(beyond) = usize::try_from(limit).ok().and_then(|limit| text.split_whitespace().nth(limit))
    else {
        return text;
    };
    let start = (beyond.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    text.get(..start).unwrap_or_default().trim_end()
}

/// A text in pieces that end behind white space.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut ends =
            rest.char_indices().filter(|(_, c)| c.is_whitespace()).map(|(at, c)| at + c.len_utf8());
        let end = ends.find(|end| *end >= PIECE).unwrap_or(rest.len());
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(piece)
    })
}

/// The same id for the same call of the same conversation, and another one for any other.
fn call_id(after: &MessageId, slot: usize, name: &str, arguments: &str) -> ToolCallId {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let half = |salt: u8| {
        // Deterministic across processes: `DefaultHasher::new` has fixed keys.
        let mut hasher = DefaultHasher::new();
        (salt, after.as_str(), slot, name, arguments).hash(&mut hasher);
        hasher.finish()
    };
    let id = format!("call_{:016x}{:016x}", half(0), half(1));
    // Never blank, so it always parses.
    ToolCallId::parse(id).unwrap_or_else(ToolCallId::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, options: &ModelSettings) -> (Vec<StreamChunk>, Completion) {
        let tools = ToolSet::default();
        let after = MessageId::parse("m1").unwrap();
        let frame = Frame {
            options,
            tools: &tools,
            after: &after,
            read: 7,
            model: "extractive",
            degradations: Vec::new(),
        };
        let mut chunks = chunks(Said::Text(text.to_owned()), frame);
        let Some(StreamChunk::Done(completion)) = chunks.pop() else { panic!("no end") };
        (chunks, *completion)
    }

    #[test]
    fn text_comes_in_pieces_that_add_up() {
        let answer = "“Total due | EUR 20,904.97” (invoice.pdf, page 2)\n“Due date | 17 May 2026” (invoice.pdf, page 1)";
        let (chunks, completion) = text(answer, &ModelSettings::new());
        let sum: String = chunks
            .iter()
            .map(|chunk| match chunk {
                StreamChunk::Content(piece) => piece.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(chunks.len() > 3);
        assert_eq!((sum.as_str(), completion.message.text().as_str()), (answer, answer));
        assert_eq!(
            (completion.finish_reason, completion.usage.output_tokens),
            (FinishReason::Stop, Some(17))
        );
        assert_eq!((completion.message.id.as_str(), completion.usage.input_tokens), ("m1.reply", Some(7)));
    }

    #[test]
    fn limits_are_kept() {
        let ends = |options: &ModelSettings| {
            let (_, completion) = text("one two  three\nfour", options);
            (completion.message.text(), completion.finish_reason, completion.raw_finish_reason.unwrap())
        };
        let length = |text: &str| (text.to_owned(), FinishReason::Length, "max_tokens".to_owned());
        assert_eq!(ends(&ModelSettings::new().with_max_tokens(2)), length("one two"));
        assert_eq!(ends(&ModelSettings::new().with_max_tokens(0)), length(""));
        assert_eq!(ends(&ModelSettings::new().with_max_tokens(4)).1, FinishReason::Stop);
        let stop = |stops: &[&str]| {
            ModelSettings::new().with_stop(stops.iter().map(|stop| (*stop).to_owned()).collect())
        };
        assert_eq!(
            ends(&stop(&["four", "th"])),
            ("one two  ".to_owned(), FinishReason::Stop, "stop_sequence".to_owned())
        );
        assert_eq!(ends(&stop(&["three"]).with_max_tokens(1)), length("one"));
    }

    #[test]
    fn a_call_that_is_cut_is_never_whole() {
        let tools = ToolSet::default();
        let after = MessageId::parse("m1").unwrap();
        let call = |name: &str| Planned {
            name: name.to_owned(),
            arguments: [("path".to_owned(), json!("my long name.pdf"))].into_iter().collect(),
        };
        for (limit, expected) in [(1, 1), (3, 1), (4, 1), (5, 2), (8, 2)] {
            let options = ModelSettings::new().with_max_tokens(limit);
            let frame = Frame {
                options: &options,
                tools: &tools,
                after: &after,
                read: 0,
                model: "x",
                degradations: Vec::new(),
            };
            let said = Said::Calls(vec![call("files.read"), call("b")]);
            let Some(StreamChunk::Done(completion)) = chunks(said, frame).pop() else { panic!("no end") };
            let calls: Vec<_> = completion.message.tool_calls().collect();
            assert_eq!(calls.len(), expected, "{limit}");
            let whole = calls.iter().filter(|call| call.arguments.json().is_ok()).count();
            assert_eq!(whole as u32, limit / 4, "{limit}");
            assert_eq!(completion.finish_reason == FinishReason::Length, limit < 8);
        }
    }
}
