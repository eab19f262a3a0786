//! The decoder that brings replies to strict schemas back.

use attache_core::schema::Strict;
use attache_core::structured::OutputSchema;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Completion, ProviderError, StreamChunk, TextPart, ToolCall,
    ToolCallId,
};
use serde_json::Value;

use super::StrictForms;
use crate::reply::{ChunkSink, Decoder};

/// A decoder that hands out calls and answers as the given schemas have them, and holds the answer against its schema.
///
/// A reply in another form than was given is held back until the reply has ended: half of it has no form. The rest
/// streams as it comes.
pub(crate) struct Restoring {
    inner: Box<dyn Decoder>,
    forms: Option<StrictForms>,
    answer: Option<OutputSchema>,
    /// The chunks of the decoder, before they are handed out.
    said: ChunkSink,
    /// The calls that are held back, with their slots.
    calls: Vec<(usize, ToolCallId)>,
    /// The slots of calls that are not.
    passed: Vec<usize>,
    text: String,
}

impl Restoring {
    pub(crate) fn new(
        inner: Box<dyn Decoder>,
        forms: Option<StrictForms>,
        answer: Option<OutputSchema>,
    ) -> Self {
        Self {
            inner,
            forms,
            answer,
            said: ChunkSink::new(),
            calls: Vec::new(),
            passed: Vec::new(),
            text: String::new(),
        }
    }

    /// The schema that the answer follows, if it asks for another form than was given.
    fn answer_form(&self) -> Option<&Strict> {
        let forms = self.forms.as_ref().filter(|forms| forms.answer)?;
        self.answer.as_ref()?.strict(forms.subset).ok().filter(|strict| !strict.keeps_form())
    }

    /// True if the arguments of a call are held back. A call without a name may be one of a strict tool.
    fn holds(&mut self, slot: usize, id: &ToolCallId, name: Option<&str>) -> bool {
        if self.calls.iter().any(|(held, _)| *held == slot) {
            return true;
        }
        let Some(forms) = self.forms.as_ref().filter(|_| !self.passed.contains(&slot)) else { return false };
        let is_held = name.is_none_or(|name| forms.of_calls(|known, _| known == name).is_some());
        if is_held {
            self.calls.push((slot, id.clone()));
        } else {
            self.passed.push(slot);
        }
        is_held
    }

    fn hand_out(&mut self, out: &mut ChunkSink) {
        while let Some(chunk) = self.said.pop() {
            match chunk {
                StreamChunk::Content(text) if self.answer_form().is_some() => self.text.push_str(&text),
                StreamChunk::ToolCallDelta { slot, id, provider_id, name, arguments_delta } => {
                    let is_held = self.holds(slot, &id, name.as_deref());
                    let arguments_delta = if is_held { String::new() } else { arguments_delta };
                    if !is_held || name.is_some() || provider_id.is_some() {
                        out.push(StreamChunk::ToolCallDelta { slot, id, provider_id, name, arguments_delta });
                    }
                }
                StreamChunk::Done(completion) => {
                    let completion = self.ended(*completion, out);
                    out.done(completion);
                }
                chunk => out.push(chunk),
            }
        }
    }

    /// Brings the whole reply back, and hands out what was held.
    fn ended(&mut self, mut completion: Completion, out: &mut ChunkSink) -> Completion {
        if let Some(forms) = &self.forms {
            for call in calls(&mut completion.message) {
                if let Some(form) = forms.of_calls(|_, definition| definition.name() == call.name) {
                    restore(form, call);
                }
                if let Some((slot, id)) = self.calls.iter().find(|(_, id)| *id == call.id) {
                    let arguments_delta = call.arguments.raw().to_owned();
                    let (slot, id) = (*slot, id.clone());
                    let delta = StreamChunk::ToolCallDelta {
                        slot,
                        id,
                        provider_id: None,
                        name: None,
                        arguments_delta,
                    };
                    out.push(delta);
                }
            }
        }
        let message = &mut completion.message;
        let text = message.text();
        let answers = !message.has_tool_calls() && message.refusal().is_none() && !text.trim().is_empty();
        let held = std::mem::take(&mut self.text);
        let Some(schema) = self.answer.as_ref().filter(|_| answers) else {
            out.content(held);
            return completion;
        };
        let form = self.answer_form();
        let mut readings = Vec::new();
        for start in starts(message) {
            let Ok(value) = serde_json::from_str::<Value>(text_from(message, start).trim()) else { continue };
            readings.push(match form.and_then(|form| form.original_form(value.clone()).ok()) {
                Some(value) => (Some((start, value.to_string())), schema.fitted(value)),
                None => (None, schema.fitted(value)),
            });
            // The whole text is the answer, where it is one.
            if start == 0 {
                break;
            }
        }
        let best = readings.iter().position(|(_, fitted)| fitted.is_ok()).unwrap_or_default();
        let taken = readings.into_iter().nth(best);
        completion.structured = Some(match taken {
            Some((Some((start, restored)), fitted)) => {
                replace(message, start, &restored);
                out.content(message.text());
                fitted
            }
            taken => {
                out.content(held);
                taken.map_or_else(|| schema.read(&text), |(_, fitted)| fitted)
            }
        });
        completion
    }
}

fn calls(message: &mut AssistantMessage) -> impl Iterator<Item = &mut ToolCall> {
    message.parts.iter_mut().filter_map(|part| match part {
        AssistantPart::ToolCall(call) => Some(call),
        _ => None,
    })
}

/// Arguments that cannot be brought back stay as they are, for whoever runs the call to judge.
fn restore(form: &Strict, call: &mut ToolCall) {
    let Ok(object) = call.arguments.object() else { return };
    if let Ok(value) = form.original_form(Value::Object(object)) {
        call.arguments = Arguments::new(value.to_string());
    }
}

/// The parts at which the answer may begin: the first, the last text, and the first of the texts that end the message.
///
/// A word of a model on its way, or before a tool of the provider, is a text of its own.
fn starts(message: &AssistantMessage) -> Vec<usize> {
    let is_text = |part: &AssistantPart| matches!(part, AssistantPart::Text(_));
    let mut starts = vec![0];
    if let Some(last) = message.parts.iter().rposition(is_text) {
        let before = message.parts.iter().take(last).rposition(|part| !is_text(part));
        starts.extend([last, before.map_or(0, |before| before + 1)].iter().filter(|start| **start > 0));
    }
    starts
}

/// The texts from a part on.
fn text_from(message: &AssistantMessage, start: usize) -> String {
    let texts = message.parts.iter().skip(start).filter_map(|part| match part {
        AssistantPart::Text(text) if !text.is_refusal() => Some(text.text()),
        _ => None,
    });
    texts.collect()
}

/// Puts one text in the place of all from a part on.
fn replace(message: &mut AssistantMessage, start: usize, text: &str) {
    let (mut at, mut whole) = (0, Some(text));
    message.parts.retain_mut(|part| {
        at += 1;
        match part {
            AssistantPart::Text(part) if at > start => match whole.take().and_then(TextPart::new) {
                Some(made) => {
                    *part = made.with_replay(part.replay().cloned());
                    true
                }
                None => false,
            },
            _ => true,
        }
    });
}

impl Decoder for Restoring {
    fn push(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        let pushed = self.inner.push(bytes, &mut self.said);
        self.hand_out(out);
        pushed
    }

    fn finish(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        let finished = self.inner.finish(&mut self.said);
        self.hand_out(out);
        finished
    }

    fn partial(&mut self) -> Completion {
        self.inner.partial()
    }
}

#[cfg(test)]
mod tests {
    use attache_core::message::ReplayData;
    use attache_core::schema::Subset;
    use attache_core::structured::StructuredError;
    use attache_core::{FinishReason, ReasoningPart, ToolDefinition, ToolSet, Usage};
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    /// Says these chunks at once.
    struct Said(Vec<StreamChunk>);

    impl Decoder for Said {
        fn push(&mut self, _: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
            self.0.drain(..).for_each(|chunk| out.push(chunk));
            Ok(())
        }

        fn finish(&mut self, _: &mut ChunkSink) -> Result<(), ProviderError> {
            Ok(())
        }

        fn partial(&mut self) -> Completion {
            Completion::new(AssistantMessage::new([]), FinishReason::Stop, Usage::default())
        }
    }

    #[test]
    fn a_call_whose_name_comes_late_is_brought_back_too() {
        let schema = json!({"type": "object", "properties": {"prices": {"type": "object",
            "additionalProperties": {"type": "number"}}}, "required": ["prices"]});
        let strict = ToolDefinition::new("file", "", schema.clone()).with_strict(true);
        let plain = ToolDefinition::new("plain", "", schema);
        let tools = ToolSet::new([strict, plain]).unwrap();
        let forms = StrictForms::of_tools(&tools, Some(Subset::OpenAi), None);
        let written = r#"{"prices":[{"key":"EUR","value":1.5}]}"#;
        let calls = ["file", "plain", "plain"].map(|name| ToolCall::new(name, Arguments::new(written)));
        let delta = |slot: usize, name: Option<&str>, arguments: &str| StreamChunk::ToolCallDelta {
            slot,
            id: calls[slot].id.clone(),
            provider_id: None,
            name: name.map(str::to_owned),
            arguments_delta: arguments.to_owned(),
        };
        let (first, rest) = written.split_at(7);
        let message = AssistantMessage::new(calls.clone().map(Option::from));
        let done = Completion::new(message, FinishReason::ToolCalls, Usage::default());
        let said = vec![
            delta(0, None, first),
            delta(0, Some("file"), rest),
            delta(1, Some("plain"), written),
            delta(2, None, first),
            delta(2, Some("plain"), rest),
            StreamChunk::Done(Box::new(done)),
        ];
        let (mut decoder, mut out) = (Restoring::new(Box::new(Said(said)), forms, None), ChunkSink::new());
        decoder.push(b"x", &mut out).unwrap();
        let mut told = [const { String::new() }; 3];
        let mut message = None;
        while let Some(chunk) = out.pop() {
            match chunk {
                StreamChunk::ToolCallDelta { slot, arguments_delta, .. } => {
                    told[slot].push_str(&arguments_delta)
                }
                StreamChunk::Done(done) => message = Some(done.message),
                _ => {}
            }
        }
        let arguments: Vec<String> =
            message.unwrap().tool_calls().map(|call| call.arguments.raw().to_owned()).collect();
        assert_eq!(arguments, [r#"{"prices":{"EUR":1.5}}"#, written, written]);
        assert_eq!(told.to_vec(), arguments);
    }

    fn text(text: &str, replay: &str) -> AssistantPart {
        let replay = ReplayData::new("f", "m", RawValue::from_string(replay.to_owned()).unwrap());
        AssistantPart::Text(TextPart::new(text).unwrap().with_replay(replay))
    }

    /// The parts of a message brought back to a map of numbers, with what streams of it.
    fn restored(parts: Vec<AssistantPart>) -> (String, Completion) {
        let schema = json!({"type": "object", "additionalProperties": {"type": "number"}});
        let message = AssistantMessage::new(parts.into_iter().map(Some));
        let mut said: Vec<StreamChunk> = vec![StreamChunk::Content(message.text())];
        said.push(StreamChunk::Done(Box::new(Completion::new(
            message,
            FinishReason::Stop,
            Usage::default(),
        ))));
        let forms = Some(StrictForms::of_answer(Subset::OpenAi));
        let mut decoder = Restoring::new(Box::new(Said(said)), forms, Some(schema.into()));
        let mut out = ChunkSink::new();
        decoder.push(b"x", &mut out).unwrap();
        let mut streamed = String::new();
        while let Some(chunk) = out.pop() {
            match chunk {
                StreamChunk::Content(piece) => streamed.push_str(&piece),
                StreamChunk::Done(done) => return (streamed, *done),
                _ => {}
            }
        }
        panic!("no end");
    }

    #[test]
    fn an_answer_after_other_texts_is_brought_back_alone() {
        let written = r#"{"value":[{"key":"EUR","value":1.5}]}"#;
        let (first, rest) = written.split_at(12);
        let tool = || AssistantPart::ToolCall(ToolCall::new("search", Arguments::new("{}")));
        let commentary = text("I look it up.", "1");
        let cases = [
            vec![commentary.clone(), text(written, "2")],
            // Citations cut texts into parts.
            vec![
                commentary.clone(),
                AssistantPart::Reasoning(ReasoningPart::new("Hm.")),
                text(first, "2"),
                text(rest, "3"),
            ],
            vec![AssistantPart::Reasoning(ReasoningPart::new("Hm.")), commentary.clone(), text(written, "2")],
        ];
        for parts in cases {
            let at = parts.iter().position(|part| *part == commentary).unwrap();
            let (streamed, completion) = restored(parts);
            assert_eq!(completion.structured, Some(Ok(json!({"EUR": 1.5}))));
            let message = completion.message;
            assert_eq!(message.parts[at], commentary);
            assert_eq!(*message.parts.last().unwrap(), text(r#"{"EUR":1.5}"#, "2"));
            assert_eq!(streamed, message.text());
            assert_eq!(streamed, r#"I look it up.{"EUR":1.5}"#);
        }
        // A call is no answer, and what is none stays as it is.
        assert_eq!(restored(vec![text(written, "2"), tool()]).1.structured, None);
        let (streamed, completion) = restored(vec![commentary, text("Nothing.", "2")]);
        assert!(matches!(completion.structured, Some(Err(StructuredError::NotJson(_)))));
        assert_eq!(streamed, "I look it up.Nothing.");
        assert_eq!(completion.message.parts.len(), 2);
    }

    #[test]
    fn texts_that_are_one_answer_together_become_one() {
        let (first, rest) = r#"{"value":[{"key":"EUR","value":1.5}]}"#.split_at(12);
        let (streamed, completion) = restored(vec![text(first, "1"), text(rest, "2")]);
        assert_eq!(completion.structured, Some(Ok(json!({"EUR": 1.5}))));
        assert_eq!(completion.message.parts, [text(r#"{"EUR":1.5}"#, "1")]);
        assert_eq!(streamed, completion.message.text());
    }
}
