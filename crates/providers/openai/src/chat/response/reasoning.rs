//! Reasoning, in whichever member a server puts it, and what must go back with it.

use attache_core::ReasoningPart;
use attache_transport::Reading;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::wire::Delta;
use attache_transport::lenient::{Count, Text};

/// The maximum number of entries of `reasoning_details`; those behind them are not kept.
const MAX_DETAILS: usize = 10_000;

/// The data beside a reasoning part with which it goes back into the member that it came from.
///
/// The text of the part is not repeated: with a plain string member it is the member's value.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "field", rename_all = "snake_case")]
pub(crate) enum Origin {
    /// The string member `reasoning_content`.
    ReasoningContent,
    /// The string member `reasoning`.
    Reasoning,
    /// The array `reasoning_details`, merged over the deltas of a stream.
    ReasoningDetails { value: Value },
    /// The array `thinking_blocks`, merged likewise.
    ThinkingBlocks { value: Value },
    /// A part of a content list.
    Content { value: Value },
    /// Tags at the start of the content, with what stood around the text.
    Tags { open: String, close: String },
}

impl Origin {
    /// The part of this text and origin.
    pub(crate) fn part(&self, text: String, redacted: bool, reading: &Reading) -> ReasoningPart {
        let part = if redacted { ReasoningPart::redacted() } else { ReasoningPart::new(text) };
        part.with_replay(to_raw_value(self).ok().map(|origin| reading.tag(origin)))
    }
}

/// The reasoning of one choice that comes in members beside the content.
#[derive(Debug, Default)]
pub(crate) struct MemberReasoning {
    text: String,
    plain: Option<Plain>,
    details: Details,
    /// The same in `thinking_blocks`.
    blocks: Details,
}

#[derive(Clone, Copy, Debug)]
enum Plain {
    ReasoningContent,
    Reasoning,
}

impl MemberReasoning {
    /// Takes what a delta brings and yields the readable text in it.
    ///
    /// Servers that send several members mirror the same text in them: one is read, details before strings
    /// (openai.md C.9, D 45, D 46). The strings are more readable than blocks, whose text may be JSON (openai.md C.19).
    pub(crate) fn push(
        &mut self,
        details: &[&RawValue],
        blocks: &[&RawValue],
        reasoning_content: Option<&str>,
        reasoning: Option<&str>,
    ) -> String {
        let mut piece = self.details.push(details);
        let in_blocks = if blocks.is_empty() { String::new() } else { self.blocks.push(blocks) };
        let plain = reasoning_content.map(|text| (text, Plain::ReasoningContent));
        if let Some((text, member)) = plain.or(reasoning.map(|text| (text, Plain::Reasoning))) {
            self.plain.get_or_insert(member);
            if piece.is_empty() && !self.details.repeats() {
                text.clone_into(&mut piece);
            }
        } else if self.plain.is_none() && piece.is_empty() {
            piece = in_blocks;
        }
        self.text.push_str(&piece);
        piece
    }

    /// Takes the reasoning of a whole message and yields the readable text that its pieces did not bring.
    pub(crate) fn complete(&mut self, message: &Delta<'_>) -> String {
        let (details, blocks) = (&message.reasoning_details.0, message.thinking_blocks());
        let has_members = !details.is_empty() || !blocks.is_empty();
        if !has_members && message.reasoning_content.get().or(message.reasoning.get()).is_none() {
            return String::new();
        }
        let mut whole = Self::default();
        whole.push(details, &blocks, message.reasoning_content.get(), message.reasoning.get());
        let Some(rest) = whole.text.strip_prefix(&*self.text).map(str::to_owned) else {
            return String::new();
        };
        self.text = whole.text;
        self.plain = self.plain.or(whole.plain);
        if !details.is_empty() {
            self.details = whole.details;
        }
        if !blocks.is_empty() {
            self.blocks = whole.blocks;
        }
        rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.details.entries.is_empty() && self.blocks.entries.is_empty()
    }

    /// The part, if there was any reasoning.
    pub(crate) fn part(&self, reading: &Reading) -> Option<ReasoningPart> {
        if self.is_empty() {
            return None;
        }
        let origin = match self.plain {
            _ if !self.details.entries.is_empty() => Origin::ReasoningDetails { value: self.details.value() },
            _ if !self.blocks.entries.is_empty() => Origin::ThinkingBlocks { value: self.blocks.value() },
            Some(Plain::ReasoningContent) => Origin::ReasoningContent,
            _ => Origin::Reasoning,
        };
        Some(origin.part(self.text.clone(), self.text.is_empty(), reading))
    }
}

/// The entries of `reasoning_details` or `thinking_blocks`, merged over the deltas of a stream (openai.md C.9).
#[derive(Debug, Default)]
struct Details {
    entries: Vec<Entry>,
    /// The server sends the whole text so far in each delta (openai.md D 47).
    cumulative: bool,
    /// The last delta brought details, with or without new text.
    repeated: bool,
}

#[derive(Debug)]
struct Entry {
    index: Option<u64>,
    kind: String,
    id: Option<String>,
    signed: bool,
    members: Map<String, Value>,
    text: String,
    thinking: String,
    summary: String,
    data: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Detail<'a> {
    index: Count,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    text: Text<'a>,
    thinking: Text<'a>,
    summary: Text<'a>,
    data: Text<'a>,
    signature: Text<'a>,
}

impl Details {
    fn push(&mut self, items: &[&RawValue]) -> String {
        let mut readable = String::new();
        // Items of one delta are entries of their own; they continue only what earlier deltas began.
        let known = self.entries.len();
        self.repeated = false;
        for item in items {
            let Ok(detail) = serde_json::from_str::<Detail<'_>>(item.get()) else { continue };
            let at = self.find(known, &detail).or_else(|| self.open(item, &detail));
            let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) else { continue };
            self.repeated |= detail.text.get().is_some();
            if let Some(text) = detail.text.get() {
                let piece = match text.strip_prefix(entry.text.as_str()) {
                    Some(new) if !entry.text.trim().is_empty() && (self.cumulative || !new.is_empty()) => {
                        self.cumulative = true;
                        new
                    }
                    _ => text,
                };
                entry.text.push_str(piece);
                readable.push_str(piece);
            }
            if let Some(thinking) = detail.thinking.get() {
                entry.thinking.push_str(thinking);
                readable.push_str(thinking);
            }
            if let Some(summary) = detail.summary.get() {
                entry.summary.push_str(summary);
                readable.push_str(summary);
            }
            entry.data.push_str(detail.data.get().unwrap_or_default());
            if let Some(signature) = detail.signature.get() {
                entry.signed = true;
                entry.members.insert("signature".to_owned(), signature.into());
            }
        }
        readable
    }

    /// True if the last delta's details only repeated known text, so that a mirror of it is no news either.
    fn repeats(&self) -> bool {
        self.repeated
    }

    /// The entry among the first `known` that a detail continues. A signature closes an entry, and details of other
    /// kinds than these come whole.
    fn find(&self, known: usize, detail: &Detail<'_>) -> Option<usize> {
        let kind = detail.kind.get().unwrap_or_default();
        if !matches!(kind, "reasoning.text" | "reasoning.summary" | "reasoning.encrypted" | "thinking" | "") {
            return None;
        }
        let texts = [&detail.text, &detail.thinking, &detail.summary, &detail.data];
        let brings_text = texts.iter().any(|text| text.get().is_some());
        let earlier = self.entries.get(..known)?;
        let at = earlier.iter().rposition(|entry| {
            entry.index == detail.index.0
                && entry.kind == kind
                && (entry.id.as_deref() == detail.id.get() || entry.id.is_none() || detail.id.get().is_none())
        })?;
        let continues = detail.index.0.is_some() || at + 1 == known;
        let open = earlier.get(at).is_some_and(|entry| !entry.signed || !brings_text);
        (continues && open).then_some(at)
    }

    fn open(&mut self, item: &RawValue, detail: &Detail<'_>) -> Option<usize> {
        if self.entries.len() >= MAX_DETAILS {
            return None;
        }
        let members = serde_json::from_str(item.get()).ok()?;
        self.entries.push(Entry {
            index: detail.index.0,
            kind: detail.kind.get().unwrap_or_default().to_owned(),
            id: detail.id.get().map(str::to_owned),
            signed: false,
            members,
            text: String::new(),
            thinking: String::new(),
            summary: String::new(),
            data: String::new(),
        });
        self.entries.len().checked_sub(1)
    }

    fn value(&self) -> Value {
        let entries = self.entries.iter().map(|entry| {
            let mut members = entry.members.clone();
            let texts = [
                ("text", &entry.text),
                ("thinking", &entry.thinking),
                ("summary", &entry.summary),
                ("data", &entry.data),
            ];
            for (key, text) in texts {
                if !text.is_empty() {
                    members.insert(key.to_owned(), text.as_str().into());
                }
            }
            Value::Object(members)
        });
        entries.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn push(reasoning: &mut MemberReasoning, delta: &Value) -> String {
        let json = delta.to_string();
        let delta: Delta<'_> = serde_json::from_str(&json).unwrap();
        let (details, blocks) = (&delta.reasoning_details.0, delta.thinking_blocks());
        reasoning.push(details, &blocks, delta.reasoning_content.get(), delta.reasoning.get())
    }

    fn reading() -> Reading {
        Reading::new("compatible", "m".into(), std::sync::Arc::default(), Vec::new())
    }

    fn origin(reasoning: &MemberReasoning) -> Origin {
        let part = reasoning.part(&reading()).unwrap();
        assert!(
            part.replay().unwrap().read::<Origin>("openai-chat").is_none(),
            "another family's data is not read"
        );
        part.replay().unwrap().read("compatible").unwrap()
    }

    // openai.md D 45
    #[test]
    fn d45_both_names_are_read_and_the_one_that_came_is_kept() {
        for (member, expected) in
            [("reasoning_content", Origin::ReasoningContent), ("reasoning", Origin::Reasoning)]
        {
            let mut reasoning = MemberReasoning::default();
            let pieces =
                [json!({member: ""}), json!({member: "a"}), json!({member: null}), json!({member: "b"})];
            let text: String = pieces.iter().map(|delta| push(&mut reasoning, delta)).collect();
            assert_eq!((text.as_str(), origin(&reasoning)), ("ab", expected));
        }
        let mut both = MemberReasoning::default();
        assert_eq!(push(&mut both, &json!({"reasoning": "a", "reasoning_content": "a"})), "a");
    }

    // openai.md C.9
    #[test]
    fn details_are_merged_and_a_signature_closes() {
        let mut reasoning = MemberReasoning::default();
        let deltas = [
            json!({"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "format": "f", "index": 0}]}),
            json!({"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "text": "b", "format": "f", "index": 0}]}),
            json!({"reasoning_details": [{"type": "reasoning.text", "signature": "s", "format": "f", "index": 0}]}),
            json!({"reasoning_details": [{"type": "reasoning.text", "text": "c", "index": 0}]}),
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": "call_1", "index": 1}]}),
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "y", "index": 1}]}),
        ];
        let text: String = deltas.iter().map(|delta| push(&mut reasoning, delta)).collect();
        assert_eq!(text, "abc");
        let value = json!([
            {"type": "reasoning.text", "text": "ab", "format": "f", "index": 0, "signature": "s"},
            {"type": "reasoning.text", "text": "c", "index": 0},
            {"type": "reasoning.encrypted", "data": "xy", "id": "call_1", "index": 1},
        ]);
        assert_eq!(origin(&reasoning), Origin::ReasoningDetails { value });
    }

    #[test]
    fn entries_of_one_answer_stay_apart_and_verbatim() {
        let mut reasoning = MemberReasoning::default();
        let details = json!([
            {"type": "reasoning.summary", "summary": "one", "extra": 1},
            {"type": "reasoning.summary", "summary": "two", "id": null},
        ]);
        assert_eq!(push(&mut reasoning, &json!({"reasoning_details": details})), "onetwo");
        assert_eq!(origin(&reasoning), Origin::ReasoningDetails { value: details });
    }

    // openai.md C.9
    #[test]
    fn calls_of_tools_of_the_server_are_entries_of_their_own() {
        let call = |result: &str| json!({"type": "reasoning.server_tool_call", "tool_name": "openrouter:fusion", "arguments": "{}", "result": result, "index": 0});
        let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0});
        let mut reasoning = MemberReasoning::default();
        for detail in [text("a"), call("1"), call("2"), text("b")] {
            push(&mut reasoning, &json!({"reasoning_details": [detail]}));
        }
        let value = json!([text("ab"), call("1"), call("2")]);
        assert_eq!(origin(&reasoning), Origin::ReasoningDetails { value });
    }

    // openai.md D 47
    #[test]
    fn d47_cumulative_and_incremental_details() {
        let read = |texts: &[&str]| {
            let mut reasoning = MemberReasoning::default();
            let deltas = texts.iter().map(|text| {
                json!({"reasoning_content": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}]})
            });
            deltas.map(|delta| push(&mut reasoning, &delta)).collect::<Vec<_>>().concat()
        };
        assert_eq!(read(&["We", "We need", "We need", "We need it"]), "We need it");
        assert_eq!(read(&["We", " need", " it"]), "We need it");
        assert_eq!(read(&["\n", "\n\n", "a"]), "\n\n\na");
    }

    #[test]
    fn hidden_reasoning_is_kept_without_text() {
        let mut reasoning = MemberReasoning::default();
        push(
            &mut reasoning,
            &json!({"reasoning": null, "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}),
        );
        assert!(reasoning.part(&reading()).unwrap().is_redacted());
        let mut none = MemberReasoning::default();
        push(&mut none, &json!({"reasoning": "", "reasoning_details": [], "reasoning_content": null}));
        assert!(none.part(&reading()).is_none());
    }
}
