//! All decisions about one list of messages.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use attache_core::{Document, DocumentId, MediaKind, Message, ModelCapabilities, ToolResult, ToolSet};

use crate::decide::Judge;
use crate::limits;
use crate::materials::Materials;
use crate::options::RouteOptions;
use crate::repeat::{Repeating, Standing};
use crate::report::{Decision, Outcome, Reason, ReasonKind};
use crate::survey::{Excluded, Inside, Occurrence, Survey, survey};
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
    materials: &'m Materials,
    options: &RouteOptions,
    purpose: Purpose,
) -> Deliberation<'m> {
    let Survey { occurrences, results, routed_before } = survey(messages);
    let idle = occurrences.is_empty() && !routed_before;
    let many_images = has_many_images(&occurrences, capabilities, materials);
    let judge = Judge { capabilities, materials, options, purpose, many_images };
    let (occurrences, mut verdicts) = with_attachments(occurrences, judge, materials);
    let repeating = Repeating { occurrences: &occurrences, repeats: options.repeats, purpose };
    let mut standings = repeating.refer_back(&verdicts);
    limits::keep(messages, capabilities, options.budget, repeating, &mut verdicts, &mut standings);
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

/// Whether there are more images than an API lets be large, those inside other documents included.
fn has_many_images(
    occurrences: &[Occurrence<'_>],
    capabilities: &ModelCapabilities,
    materials: &Materials,
) -> bool {
    fn images(document: &Document, materials: &Materials, depth: usize) -> u64 {
        let inside = match depth {
            0 => &[][..],
            _ => materials.attachments(document),
        };
        let inside = inside.iter().take(MAX_INSIDE).map(|document| images(document, materials, depth - 1));
        u64::from(document.media_type().kind() == MediaKind::Image) + inside.sum::<u64>()
    }
    let Some(most) = capabilities.files.many_images else { return false };
    let shown = occurrences.iter().filter(|occurrence| occurrence.excluded.is_none());
    shown.map(|occurrence| images(occurrence.document, materials, MAX_DEPTH)).sum::<u64>() > most
}

/// How deep documents inside documents are looked at, and how many of one document of a message.
const MAX_DEPTH: usize = 4;
const MAX_INSIDE: usize = 200;

/// Decides about each occurrence, and about the documents inside those of which text was made: they stand right after
/// it, in the same place.
fn with_attachments<'m>(
    surveyed: Vec<Occurrence<'m>>,
    judge: Judge<'_>,
    materials: &'m Materials,
) -> (Vec<Occurrence<'m>>, Vec<Verdict>) {
    let mut identities: HashMap<&DocumentId, usize> = HashMap::new();
    let mut free = surveyed.iter().map(|occurrence| occurrence.identity + 1).max().unwrap_or_default();
    let shift = surveyed.len();
    let mut occurrences: Vec<Occurrence<'m>> = Vec::with_capacity(shift);
    let mut verdicts = Vec::with_capacity(shift);
    // Where each surveyed occurrence came to stand, for those that name one as their first.
    let mut moved = Vec::with_capacity(shift);
    for mut occurrence in surveyed {
        if let Some(Excluded::Duplicate(first)) = &mut occurrence.excluded {
            *first = moved.get(*first).copied().unwrap_or(*first);
        }
        moved.push(occurrences.len());
        let mut ahead = vec![occurrence];
        let mut found = 0;
        while let Some(occurrence) = ahead.pop() {
            let mut verdict = judge.decide(&occurrence);
            let depth = occurrence.inside.map_or(0, |inside| inside.depth);
            if verdict.outcome == Outcome::Converted {
                let all = materials.attachments(occurrence.document);
                let most = if depth < MAX_DEPTH { MAX_INSIDE - found } else { 0 };
                let inner = all.get(..most).unwrap_or(all);
                verdict.not_opened = all.len() - inner.len();
                let inner: Vec<_> = inner
                    .iter()
                    .map(|document| {
                        let identity = *identities.entry(document.id()).or_insert_with(|| {
                            free += 1;
                            free - 1
                        });
                        let inside = Some(Inside { holder: occurrence.document.id(), depth: depth + 1 });
                        Occurrence { document, identity, inside, ..occurrence }
                    })
                    .collect();
                found += inner.len();
                ahead.extend(inner.into_iter().rev());
            }
            occurrences.push(occurrence);
            verdicts.push(verdict);
        }
    }
    (occurrences, verdicts)
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
                Shown::Native(loaded) | Shown::Adapted { document: loaded, .. } => loaded,
                _ => occurrence.document,
            };
            Decision {
                document_id: document.id().clone(),
                tool_name: call.and_then(|(name, _)| name).map(|name| tools.wire_name(name)),
                tool_call_id: call.map(|(_, id)| id.to_owned()),
                media_type: document.media_type().clone(),
                file_name: document.file_name().map(str::to_owned),
                place: verdict.place,
                inside: occurrence.inside.map(|inside| inside.holder.clone()),
                outcome: verdict.outcome,
                reason: verdict.reason.clone(),
                bytes: verdict.content_bytes(),
                tokens: verdict.cost.tokens,
            }
        };
        pairs.map(decision).collect()
    }
}
