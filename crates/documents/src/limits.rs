//! How many documents, and how many bytes, one request holds.

use std::sync::Arc;

use attache_core::{AssistantPart, Content, MediaKind, Message, ModelCapabilities, Place};

use crate::estimate::Estimate;
use crate::options::DocumentBudget;
use crate::repeat::{Limit, Repeating, Standing};
use crate::report::{Reason, ReasonKind};
use crate::survey::Origin;
use crate::verdict::{Shown, Verdict};

/// Leaves out the oldest contents until the request keeps the model's limits.
///
/// What goes is rounded up to quarters of the limit, so that a history that grows by small documents changes rarely
/// instead of at each step. A document that is left out and stands again later is shown there. What the author's
/// last message holds is never left out; if that alone is too much, it is an error.
pub(crate) fn keep(
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    budget: DocumentBudget,
    repeating: Repeating<'_, '_>,
    verdicts: &mut [Verdict],
    standings: &mut [Standing],
) {
    let mut request = Request { repeating, verdicts, standings };
    request.keep_messages(capabilities);
    if let Some(limit) = request.count_limit(capabilities) {
        request.keep(Limit::Documents(limit), limit, 0, |verdict| u64::from(native_place(verdict).is_some()));
    }
    if let Some(limit) = capabilities.files.max_pages {
        request.keep(Limit::Pages(limit), limit, 0, |verdict| verdict.pages.unwrap_or_default());
    }
    if let Some(limit) = capabilities.files.max_request_bytes {
        // A sixteenth is for tools, options, the envelope and JSON's escapes.
        let limit = limit - limit / 16;
        let documents: u64 = request.total(wire_bytes);
        if documents > 0 {
            let texts = messages.iter().map(|message| text_bytes(message)).sum();
            request.keep(Limit::Bytes(limit), limit, texts, wire_bytes);
        }
    }
    if let Some(limit) = budget.tokens(capabilities) {
        request.keep(Limit::Tokens(limit), limit, 0, |verdict| match verdict.cost {
            Estimate { is_guess: true, .. } if budget == DocumentBudget::Window => 0,
            cost => cost.tokens,
        });
    }
}

struct Request<'a, 'm> {
    repeating: Repeating<'a, 'm>,
    verdicts: &'a mut [Verdict],
    standings: &'a mut [Standing],
}

impl Request<'_, '_> {
    /// Leaves out what is more than one message may hold. What it holds first stays, so that the same stays as the
    /// conversation grows.
    fn keep_messages(&mut self, capabilities: &ModelCapabilities) {
        let mut held = (0, 0);
        for at in 0..self.repeating.occurrences.len() {
            let (Some(occurrence), Some(verdict)) =
                (self.repeating.occurrences.get(at), self.verdicts.get(at))
            else {
                continue;
            };
            let is_image = occurrence.document.media_type().kind() == MediaKind::Image;
            let limit =
                native_place(verdict).and_then(|place| capabilities.place(place).max_files_per_message);
            let (Some(limit), false, Some(Standing::Own)) = (limit, is_image, self.standings.get(at)) else {
                continue;
            };
            if held.0 != occurrence.message {
                held = (occurrence.message, 0);
            }
            if held.1 < limit {
                held.1 += 1;
            } else {
                self.repeating.leave_out(at, Limit::OfMessage(limit), self.verdicts, self.standings);
            }
        }
    }

    /// The smallest count that a place which holds a document allows in one request.
    fn count_limit(&self, capabilities: &ModelCapabilities) -> Option<u64> {
        let own = self.verdicts.iter().zip(&*self.standings).filter(|(_, s)| **s == Standing::Own);
        own.filter_map(|(verdict, _)| capabilities.place(native_place(verdict)?).max_count).min()
    }

    fn total(&self, cost: impl Fn(&Verdict) -> u64) -> u64 {
        let own = self.verdicts.iter().zip(&*self.standings).filter(|(_, s)| **s == Standing::Own);
        // A size that nobody has checked may be anything.
        own.map(|(verdict, _)| cost(verdict)).fold(0, u64::saturating_add)
    }

    fn keep(&mut self, limit: Limit, most: u64, beside: u64, cost: impl Fn(&Verdict) -> u64) {
        let total = self.total(&cost).saturating_add(beside);
        if total <= most {
            return;
        }
        let excess = total - most;
        let block = (most / 4).max(1);
        let rounded = i128::from(excess.div_ceil(block).saturating_mul(block));
        // A note instead of the only content would help nobody: what it costs is an estimate.
        let costs =
            |(verdict, standing): (&Verdict, &Standing)| *standing == Standing::Own && cost(verdict) > 0;
        let newest = match limit {
            Limit::Tokens(_) => self.verdicts.iter().zip(&*self.standings).rposition(costs),
            _ => None,
        };
        // Negative while what was left out is shown by more than one that referred to it.
        let mut saved = 0_i128;
        for at in 0..self.repeating.occurrences.len() {
            let next = i128::from(self.cost_of_old(at, &cost));
            // Rounding up never costs a document that the rounded amount does not cover.
            if saved >= i128::from(excess) && saved + next > rounded {
                break;
            }
            if next > 0 && newest != Some(at) {
                let heirs = self.repeating.leave_out(at, limit, self.verdicts, self.standings);
                let heirs = heirs.into_iter().filter_map(|heir| self.verdicts.get(heir));
                saved += next - heirs.map(|heir| i128::from(cost(heir))).sum::<i128>();
            }
        }
        // What tokens cost is a guess, and no reason to fail.
        if !matches!(limit, Limit::Tokens(_)) {
            self.refuse(limit, most, cost);
        }
    }

    /// What leaving out this content would save; 0 if it is none, or may not be left out.
    fn cost_of_old(&self, at: usize, cost: impl Fn(&Verdict) -> u64) -> u64 {
        let current =
            self.repeating.occurrences.get(at).is_none_or(|o| o.origin == Origin::Author { current: true });
        match (self.standings.get(at), self.verdicts.get(at)) {
            (Some(Standing::Own), Some(verdict)) if !current => cost(verdict),
            _ => 0,
        }
    }

    /// Makes an error of what exceeds the limit within the author's last message.
    fn refuse(&mut self, limit: Limit, most: u64, cost: impl Fn(&Verdict) -> u64) {
        let mut held: u64 = 0;
        for (occurrence, verdict) in self.repeating.occurrences.iter().zip(&mut *self.verdicts) {
            if occurrence.origin != (Origin::Author { current: true }) {
                continue;
            }
            held = held.saturating_add(cost(verdict));
            if held > most {
                *verdict = Verdict::error(verdict.place, full(limit));
            }
        }
    }
}

/// The reason for leaving a content out.
pub(crate) fn left_out(limit: Limit) -> Reason {
    let full = full(limit);
    let text = match limit {
        Limit::OfMessage(_) => format!("{full}, and others are in it: ask for this one by itself"),
        Limit::Documents(_) | Limit::Bytes(_) | Limit::Pages(_) | Limit::Tokens(_) => {
            format!("{full}, and newer documents are in it")
        }
    };
    Reason::new(full.kind(), text)
}

fn full(limit: Limit) -> Reason {
    match limit {
        Limit::Documents(most) => Reason::new(
            ReasonKind::TooMany,
            format!("a request to this model holds at most {most} documents"),
        ),
        Limit::OfMessage(most) => Reason::new(
            ReasonKind::TooMany,
            format!("a message to this model holds at most {most} documents"),
        ),
        Limit::Pages(most) => Reason::new(
            ReasonKind::TooMany,
            format!("a request to this model holds at most {most} pages of PDFs"),
        ),
        Limit::Tokens(most) => Reason::new(
            ReasonKind::OverBudget,
            format!("the documents of a request cost at most about {most} tokens"),
        ),
        Limit::Bytes(most) => Reason::new(
            ReasonKind::RequestFull,
            format!("a request to this model holds at most {most} bytes of content"),
        ),
    }
}

/// Where the document stands as it is, or will once it is loaded.
fn native_place(verdict: &Verdict) -> Option<Place> {
    match (&verdict.shown, verdict.expected) {
        (Shown::Native(_) | Shown::Adapted { .. }, _) => verdict.place,
        (_, expected) => expected?.native,
    }
}

/// The bytes that content takes in the body of a request.
fn wire_bytes(verdict: &Verdict) -> u64 {
    let bytes = verdict.expected.map_or_else(|| verdict.content_bytes(), |expected| expected.bytes);
    if native_place(verdict).is_some() { bytes.div_ceil(3).saturating_mul(4) } else { bytes }
}

/// The bytes of a message's own texts.
fn text_bytes(message: &Message) -> u64 {
    let content = |content: &Content| match content {
        Content::Text(text) => text.text().len(),
        Content::Object(tree) => tree.json().len(),
        _ => 0,
    };
    let bytes: usize = match message {
        Message::System(system) => system.parts.iter().map(|text| text.text().len()).sum(),
        // What a synthetic message holds is counted where it comes from.
        Message::User(_) if message.is_tool_call_documents() => 0,
        Message::User(user) => user.parts.iter().map(content).sum(),
        Message::Assistant(assistant) => {
            let part = |part: &AssistantPart| match part {
                AssistantPart::Text(text) => text.text().len(),
                AssistantPart::Reasoning(reasoning) => reasoning.text().len(),
                AssistantPart::ToolCall(call) => call.arguments.raw().len(),
                AssistantPart::Opaque(opaque) => opaque.replay.json().len(),
                _ => 0,
            };
            assistant.parts.iter().map(part).sum()
        }
        Message::ToolResults(results) => results.results.iter().map(|result| result.tree.json().len()).sum(),
        _ => 0,
    };
    bytes as u64
}
