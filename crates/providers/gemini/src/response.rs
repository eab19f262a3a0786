//! A reply, streamed or whole, put together into one message.

mod candidate;
mod citations;
mod grounding;
mod message;
mod usage;
mod wire;

use attache_core::{Completion, Degradation, ErrorKind, FinishReason, ProviderError, ToolSet};
use attache_transport::{ChunkSink, Reading, excerpt};

use self::candidate::Candidate;
use self::message::{Message, finish_reason};
use self::usage::Tokens;
pub(crate) use self::wire::{Chunk, Delta};
use self::wire::{Feedback, read};
use crate::error::{self, Result, malformed};

/// The maximum number of candidates of a reply.
const MAX_CANDIDATES: usize = 128;

/// A reply as far as it has come.
///
/// The candidate that appears first is handed out as it comes. Citations of other choices are kept until the end, when
/// it is known whether they count.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    reading: Reading,
    id: Option<String>,
    model: Option<String>,
    tokens: Tokens,
    candidates: Vec<Candidate>,
    /// The prompt was blocked, and why.
    blocked: Option<ProviderError>,
}

impl Reply {
    /// An empty reply.
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
    }

    /// Takes a chunk of a stream that is a piece of a text.
    pub(crate) fn piece(&mut self, delta: Delta<'_>, out: &mut ChunkSink) -> Result<()> {
        self.head(delta.response_id.as_deref(), delta.model_version.as_deref(), delta.usage);
        let (_, candidate) = self.candidate(delta.index.unwrap_or(0))?;
        candidate.rate(delta.ratings);
        candidate.say(delta.text.unwrap_or_default(), delta.thought, out)
    }

    /// Takes a chunk of a stream, or a whole reply.
    pub(crate) fn take(&mut self, chunk: Chunk<'_>, out: &mut ChunkSink) -> Result<()> {
        let usage = chunk.usage_metadata.map(serde_json::value::RawValue::get);
        self.head(chunk.response_id.get(), chunk.model_version.get(), usage);
        for (position, given) in chunk.candidates.0.into_iter().enumerate() {
            let Some(given) = given.0 else { continue };
            let index = given.index.0.unwrap_or(u64::try_from(position).unwrap_or(u64::MAX));
            let (tools, candidate) = self.candidate(index)?;
            candidate.take(given, tools, out)?;
        }
        if let Some(raw) = chunk.prompt_feedback {
            let Feedback { block_reason, block_reason_message } = read(raw);
            if let Some(reason) = block_reason.filled() {
                let error = error::blocked(&reason, &block_reason_message.filled().unwrap_or_default());
                self.blocked = Some(error.with_response_body(excerpt(raw.get().as_bytes())));
            }
        }
        match &self.blocked {
            // Nothing follows a blocked prompt.
            Some(_) if self.candidates.is_empty() => self.refused(),
            _ => Ok(()),
        }
    }

    /// Takes what stands beside the candidates. The last chunk that says something of it counts.
    fn head(&mut self, id: Option<&str>, model: Option<&str>, usage: Option<&str>) {
        for (kept, given) in [(&mut self.id, id), (&mut self.model, model)] {
            if let Some(given) = given.filter(|given| !given.is_empty() && kept.as_deref() != Some(given)) {
                *kept = Some(given.to_owned());
            }
        }
        if let Some(usage) = usage {
            self.tokens.take(usage);
        }
    }

    /// True if a candidate said that it is finished.
    pub(crate) fn is_finished(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.finish.is_some())
    }

    /// Ends the reply.
    ///
    /// # Errors
    /// An end that the API reports as a reason to finish, although it is no answer.
    pub(crate) fn finish(&mut self, out: &mut ChunkSink) -> Result<()> {
        self.refused()?;
        self.failed()?;
        let completion = self.completion(false, out);
        out.done(completion);
        Ok(())
    }

    /// The part of a reply that was cut or failed.
    pub(crate) fn partial(&mut self) -> Completion {
        self.completion(true, &mut ChunkSink::new())
    }

    /// The candidate of that index, and the tools that it is read with.
    fn candidate(&mut self, index: u64) -> Result<(&ToolSet, &mut Candidate)> {
        let at = match self.candidates.iter().position(|known| known.index == index) {
            Some(at) => at,
            None => {
                self.candidates.push(Candidate::new(index, self.candidates.is_empty()));
                self.candidates.len() - 1
            }
        };
        let candidate = self.candidates.get_mut(at).filter(|_| at < MAX_CANDIDATES);
        let candidate = candidate.ok_or_else(|| malformed("the reply has too many candidates"))?;
        Ok((&self.reading.tools, candidate))
    }

    /// The error of a prompt that was blocked, unless something was said all the same.
    pub(crate) fn refused(&mut self) -> Result<()> {
        match self.blocked.take() {
            Some(error) if !self.candidates.iter().any(Candidate::says_something) => Err(error),
            _ => Ok(()),
        }
    }

    /// A reply that is no answer: the model wrote a call that cannot be read, or nothing for a reason that may not
    /// come again (gemini.md 7).
    fn failed(&self) -> Result<()> {
        let silent = !self.candidates.iter().any(Candidate::says_something);
        let ends = self
            .candidates
            .iter()
            .rev()
            .filter_map(|candidate| Some((candidate, candidate.finish.as_deref()?)));
        let Some((candidate, reason)) = ends.into_iter().next() else { return Ok(()) };
        let failure = match reason {
            "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" => {
                ProviderError::new(ErrorKind::Malformed, "the model wrote what cannot be read")
                    .with_retryable(true)
            }
            "UNEXPECTED_TOOL_CALL" if silent => {
                let message = "the model called a tool that it was not offered";
                ProviderError::new(ErrorKind::Malformed, message).with_retryable(true)
            }
            "MISSING_THOUGHT_SIGNATURE" => {
                let message = "the history lacks a thought signature that the model demands";
                ProviderError::new(ErrorKind::InvalidHistory, message)
            }
            "PUP_LIMITED_DISABLED" => ProviderError::new(
                ErrorKind::Permission,
                "the account is limited for breaking the rules of use",
            ),
            "OTHER" | "TOO_MANY_TOOL_CALLS" | "IMAGE_OTHER" | "NO_IMAGE" | "FINISH_REASON_UNSPECIFIED"
                if silent =>
            {
                ProviderError::new(ErrorKind::Api, "the model ended without an answer").with_retryable(true)
            }
            _ => return Ok(()),
        };
        // The provider's message about it quotes the model, and is no text for a line in a log.
        Err(failure
            .with_code(reason.to_owned())
            .with_request_id(self.id.clone())
            .with_response_body(candidate.message.clone()))
    }

    /// The message of the candidates, merged by rows E05 to E11: with a call in any of them all are merged,
    /// otherwise the first that says something counts. The rest that was not handed out yet goes to `out`.
    fn completion(&mut self, cut: bool, out: &mut ChunkSink) -> Completion {
        let mut candidates = std::mem::take(&mut self.candidates);
        if !candidates.iter().any(|candidate| candidate.calls > 0) {
            let chosen = candidates.iter().position(Candidate::says_something);
            let chosen =
                chosen.or_else(|| candidates.iter().position(Candidate::holds_something)).unwrap_or(0);
            candidates = candidates.into_iter().skip(chosen).take(1).collect();
        }
        let raw_finish_reason = candidates.iter().rev().find_map(|candidate| candidate.finish.clone());
        let silent = !candidates.iter().any(Candidate::says_something);
        let reason = raw_finish_reason.as_deref().map_or(FinishReason::Stop, finish_reason);
        let mut message = Message::new(&self.reading, raw_finish_reason.as_deref(), cut);
        for candidate in candidates {
            message.add(candidate, out);
        }
        let message = message.into_message();
        let reason = reason.for_message(message.has_tool_calls());
        let mut degradations = std::mem::take(&mut self.reading.degradations);
        if reason == FinishReason::Length && silent && !cut {
            degradations.push(Degradation::new(
                "max_tokens",
                "the model spent all of its tokens on reasoning; allow more of them, or less reasoning",
            ));
        }
        let mut completion = Completion::new(message, reason, self.tokens.normalised());
        completion.raw_finish_reason = raw_finish_reason;
        completion.model = self.model.take();
        completion.response_id = self.id.take();
        completion.degradations = degradations;
        completion
    }
}
