//! All decisions about one list of messages.

use std::ops::Range;
use std::sync::Arc;

use attache_core::{Document, Message, ModelCapabilities, ToolResult, ToolSet};

use crate::decide::budget;
use crate::decide::decider::Decider;
use crate::decide::repeats::{Standing, Standings};
use crate::decide::treatment::{Purpose, Shown, Treatment};
use crate::find::identity::Identities;
use crate::find::{Inside, Occurrence, Origin, Survey, survey};
use crate::materials::Materials;
use crate::options::RouteOptions;
use crate::report::{DocumentDecision, DocumentOutcome, Reason, ReasonKind};
use crate::text::tame;

/// Every document of the messages and what becomes of it.
#[derive(Debug)]
pub(crate) struct Decided<'m> {
    pub(crate) occurrences: Vec<Occurrence<'m>>,
    /// One for each occurrence.
    pub(crate) treatments: Vec<Treatment>,
    /// The number of tool results.
    pub(crate) results: usize,
    /// True if nothing is to be done: no documents, and no traces of an earlier routing.
    pub(crate) idle: bool,
}

/// Decides about every document of `messages`.
pub(crate) fn decide_all<'m>(
    messages: &'m [Arc<Message>],
    capabilities: &ModelCapabilities,
    materials: &'m Materials,
    options: &RouteOptions,
    purpose: Purpose,
) -> Decided<'m> {
    let Survey { occurrences: surveyed, results, to_rewrite, mut identities } = survey(messages, materials);
    let idle = surveyed.is_empty() && !to_rewrite;
    let mut decider = Decider { capabilities, materials, options, purpose, many_images: false };
    let (mut occurrences, mut treatments) = with_attachments(&surveyed, decider, materials, &mut identities);
    if budget::author_has_many_images(&occurrences, &treatments, &capabilities.files) {
        // None of them is left out, so all have to be smaller.
        decider.many_images = true;
        (occurrences, treatments) = with_attachments(&surveyed, decider, materials, &mut identities);
    }
    let mut standings = Standings::new(&occurrences, &treatments, options.back_references, purpose);
    budget::keep(messages, capabilities, options.budget, &occurrences, &mut treatments, &mut standings);
    let newest = treatments
        .iter()
        .zip(standings.iter())
        .rposition(|(treatment, standing)| standing == Standing::Own && treatment.rank(purpose) > 0);
    let served = standings.served();
    let all = treatments.iter_mut().zip(standings.iter()).zip(served).zip(&occurrences).enumerate();
    for (at, (((treatment, standing), served), occurrence)) in all {
        let reason = match standing {
            Standing::Own => continue,
            Standing::Back => shown_before(messages, served.and_then(|first| occurrences.get(first))),
            Standing::LeftOut(limit) => budget::left_out(limit, newest > Some(at)),
        };
        *treatment = Treatment::note(decider.place_for_note(occurrence), reason);
    }
    Decided { occurrences, treatments, results, idle }
}

/// How deep documents inside documents are looked at, and how many of one document of a message.
const MAX_DEPTH: usize = 4;
const MAX_INSIDE: usize = 200;

/// Decides about each occurrence, and about the documents inside those of which text was made: they stand right after
/// it, in the same place.
fn with_attachments<'m>(
    surveyed: &[Occurrence<'m>],
    decider: Decider<'_>,
    materials: &'m Materials,
    identities: &mut Identities<'m>,
) -> (Vec<Occurrence<'m>>, Vec<Treatment>) {
    let mut occurrences: Vec<Occurrence<'m>> = Vec::with_capacity(surveyed.len());
    let mut treatments = Vec::with_capacity(surveyed.len());
    for occurrence in surveyed {
        let mut ahead = vec![*occurrence];
        let mut found = 0;
        while let Some(occurrence) = ahead.pop() {
            let mut treatment = decider.decide(&occurrence);
            let depth = occurrence.inside.map_or(0, |inside| inside.depth);
            if matches!(treatment.outcome, DocumentOutcome::Converted | DocumentOutcome::Rendered) {
                let all = materials.attachments(occurrence.document);
                let most = if depth < MAX_DEPTH { MAX_INSIDE - found } else { 0 };
                let inner = all.get(..most).unwrap_or(all);
                // Its author attached the one that holds them, which is shown: what is inside fails nothing.
                let origin = match occurrence.origin {
                    Origin::Author { .. } => Origin::Author { current: false },
                    origin => origin,
                };
                treatment.not_opened = all.len() - inner.len();
                found += inner.len();
                ahead.extend(inner.iter().rev().map(|document| {
                    let identity = identities.of(document, materials);
                    let inside = Some(Inside { holder: occurrence.document.id(), depth: depth + 1 });
                    Occurrence { document, identity, inside, origin, ..occurrence }
                }));
            }
            occurrences.push(occurrence);
            treatments.push(treatment);
        }
    }
    (occurrences, treatments)
}

fn shown_before(messages: &[Arc<Message>], first: Option<&Occurrence<'_>>) -> Reason {
    let call = first.and_then(|first| call_of(messages, first)).map(|(_, call)| call);
    let text = match call {
        Some(call) => {
            format!("it was shown earlier in this conversation, with the result of call {}", tame(call))
        }
        None => "it was shown earlier in this conversation, in a user message".to_owned(),
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

impl<'m> Decided<'m> {
    /// The first document that makes the request impossible.
    pub(crate) fn error(&self) -> Option<(&Occurrence<'m>, &Treatment)> {
        self.occurrences
            .iter()
            .zip(&self.treatments)
            .find(|(_, treatment)| treatment.outcome == DocumentOutcome::Error)
    }

    /// The occurrences of one message, which stand together.
    pub(crate) fn of_message(&self, message: usize, from: usize) -> Range<usize> {
        let ahead = self.occurrences.get(from..).unwrap_or_default();
        from..from + ahead.iter().take_while(|occurrence| occurrence.message == message).count()
    }

    /// The report's line for each document, in message order.
    pub(crate) fn decisions(&self, messages: &[Arc<Message>], tools: &ToolSet) -> Vec<DocumentDecision> {
        let pairs = self.occurrences.iter().zip(&self.treatments);
        let decision = |(occurrence, treatment): (&Occurrence<'_>, &Treatment)| {
            let call = call_of(messages, occurrence);
            let document: &Document = match &treatment.shown {
                Shown::Native(loaded) | Shown::Adapted { document: loaded, .. } => loaded,
                _ => occurrence.document,
            };
            DocumentDecision {
                document_id: document.id().clone(),
                tool_name: call.and_then(|(name, _)| name).map(|name| tools.wire_name(name)),
                tool_call_id: call.map(|(_, id)| id.to_owned()),
                media_type: document.media_type().clone(),
                file_name: document.file_name().map(str::to_owned),
                place: treatment.place,
                inside: occurrence.inside.map(|inside| inside.holder.clone()),
                outcome: treatment.outcome,
                reason: treatment.reason.clone(),
                bytes: treatment.content_bytes(),
                tokens: treatment.cost.tokens,
            }
        };
        pairs.map(decision).collect()
    }
}
