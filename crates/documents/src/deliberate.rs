//! All decisions about one list of messages.

use std::ops::Range;
use std::sync::Arc;

use attache_core::{Document, Message, ModelCapabilities, ToolResult, ToolSet};

use crate::decide::Judge;
use crate::limits;
use crate::materials::Materials;
use crate::options::RouteOptions;
use crate::repeat::{Repeating, Standing};
use crate::report::{Decision, Outcome, Reason, ReasonKind};
use crate::survey::{Excluded, Occurrence, Survey, survey};
use crate::text::one_line;
use crate::verdict::{Purpose, Shown, Verdict};

/// Every document of the messages and what becomes of it.
#[derive(Debug)]
pub(crate) struct Deliberation<'m> {
    pub(crate) occurrences: Vec<Occurrence<'m>>,
    /// One for each occurrence.
    pub(crate) verdicts: Vec<Verdict>,
    /// How many tool results there are.
    pub(crate) results: usize,
    /// Whether nothing is to be done: no documents, and no traces of an earlier routing.
    pub(crate) idle: bool,
}

/// Decides about every document of `messages`.
pub(crate) fn deliberate<'m>(
    messages: &'m [Arc<Message>],
    capabilities: &ModelCapabilities,
    materials: &Materials,
    options: &RouteOptions,
    purpose: Purpose,
) -> Deliberation<'m> {
    let Survey { occurrences, results, routed_before } = survey(messages);
    let idle = occurrences.is_empty() && !routed_before;
    let judge = Judge { capabilities, materials, options, purpose };
    let mut verdicts: Vec<Verdict> = occurrences.iter().map(|occurrence| judge.decide(occurrence)).collect();
    let repeating = Repeating { occurrences: &occurrences, repeats: options.repeats, purpose };
    let mut standings = repeating.refer_back(&verdicts);
    limits::keep(messages, capabilities, repeating, &mut verdicts, &mut standings);
    for ((verdict, standing), occurrence) in verdicts.iter_mut().zip(&standings).zip(&occurrences) {
        let reason = match standing {
            Standing::Own => continue,
            Standing::At(first) => shown_before(messages, occurrences.get(*first)),
            Standing::LeftOut(limit) => limits::left_out(*limit),
        };
        *verdict = Verdict::note(judge.place_for_note(occurrence), reason);
    }
    let mut deliberation = Deliberation { occurrences, verdicts, results, idle };
    deliberation.settle_duplicates();
    deliberation
}

fn shown_before(messages: &[Arc<Message>], first: Option<&Occurrence<'_>>) -> Reason {
    let call = first.and_then(|first| call_of(messages, first)).map(|(_, call)| call);
    let text = match call {
        Some(call) => {
            format!("it stands earlier in this conversation, with the result of call {}", one_line(call))
        }
        None => "it stands earlier in this conversation, in a user message".to_owned(),
    };
    Reason::new(ReasonKind::ShownBefore, text)
}

/// The internal tool name and the wire id of the call that returned a document.
pub(crate) fn call_of<'m>(
    messages: &'m [Arc<Message>],
    occurrence: &Occurrence<'_>,
) -> Option<(Option<&'m str>, &'m str)> {
    match &**messages.get(occurrence.message)? {
        Message::ToolResults(results) => {
            let result = results.results.get(occurrence.part)?;
            Some((result.tool_name.as_deref(), wire_call_id(result)))
        }
        _ => None,
    }
}

/// The id of a call as the model knows it: the provider's own, else ours.
pub(crate) fn wire_call_id(result: &ToolResult) -> &str {
    result.provider_id.as_ref().map_or(result.call_id.as_str(), |id| id.as_str())
}

impl<'m> Deliberation<'m> {
    /// A duplicate shares the fate of the one that it duplicates, and adds nothing.
    fn settle_duplicates(&mut self) {
        for at in 0..self.occurrences.len() {
            let Some(Excluded::Duplicate(first)) = self.occurrences.get(at).and_then(|o| o.excluded) else {
                continue;
            };
            let fate = self.verdicts.get(first).map(|first| (first.outcome, first.place));
            if let (Some((outcome, place)), Some(verdict)) = (fate, self.verdicts.get_mut(at)) {
                (verdict.outcome, verdict.place) = (outcome, place);
            }
        }
    }

    /// The first document that makes the request impossible.
    pub(crate) fn error(&self) -> Option<(&Occurrence<'m>, &Verdict)> {
        self.occurrences.iter().zip(&self.verdicts).find(|(_, verdict)| verdict.outcome == Outcome::Error)
    }

    /// The occurrences of one message, which stand together.
    pub(crate) fn of_message(&self, message: usize, from: usize) -> Range<usize> {
        let ahead = self.occurrences.get(from..).unwrap_or_default();
        from..from + ahead.iter().take_while(|occurrence| occurrence.message == message).count()
    }

    /// The report's line for each document, in message order.
    pub(crate) fn decisions(&self, messages: &[Arc<Message>], tools: &ToolSet) -> Vec<Decision> {
        let pairs = self.occurrences.iter().zip(&self.verdicts);
        let decision = |(occurrence, verdict): (&Occurrence<'_>, &Verdict)| {
            let call = call_of(messages, occurrence);
            let document: &Document = match &verdict.shown {
                Shown::Native(loaded) => loaded,
                _ => occurrence.document,
            };
            Decision {
                document_id: document.id().clone(),
                tool_name: call.and_then(|(name, _)| name).map(|name| tools.wire_name(name)),
                tool_call_id: call.map(|(_, id)| id.to_owned()),
                media_type: document.media_type().clone(),
                file_name: document.file_name().map(str::to_owned),
                place: verdict.place,
                outcome: verdict.outcome,
                reason: verdict.reason.clone(),
                bytes: verdict.content_bytes(),
            }
        };
        pairs.map(decision).collect()
    }
}
