//! The limits of documents and bytes in one request.

use std::sync::Arc;

use attache_core::capability::{FileRules, Place};
use attache_core::{AssistantPart, Document, MediaKind, Message, ModelCapabilities, UserPart};

use crate::content::content_bytes;
use crate::content::pixels;
use crate::decide::repeats::{Limit, Standing, Standings};
use crate::decide::treatment::{Shown, Treatment};
use crate::estimate::Estimate;
use crate::find::{Occurrence, Origin};
use crate::options::DocumentBudget;
use crate::report::{Reason, ReasonKind};

/// Leaves out the oldest contents until what is shown keeps the model's limits.
///
/// The amount is rounded up to quarters of the limit, so that a history that grows by small documents changes rarely
/// instead of at each step. A document that is left out and stands again later is shown there. The author's
/// last turn is never left out; if that alone is too much, it is an error.
pub(crate) fn keep<'m>(
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    budget: DocumentBudget,
    occurrences: &[Occurrence<'m>],
    treatments: &mut [Treatment],
    standings: &mut Standings<'_, 'm>,
) {
    let mut request =
        Request { occurrences, treatments, standings, replace: true, replaced: false, refused: Vec::new() };
    request.keep_all(messages, capabilities, budget);
    if std::mem::take(&mut request.replaced) {
        // A content that took the place of another may have passed a limit that was kept before.
        request.replace = false;
        request.keep_all(messages, capabilities, budget);
    }
    for (at, limit) in request.refused {
        if let Some(treatment) = treatments.get_mut(at) {
            *treatment = Treatment::error(treatment.place, full(limit));
        }
    }
}

struct Request<'r, 'a, 'm> {
    occurrences: &'r [Occurrence<'m>],
    treatments: &'r [Treatment],
    standings: &'r mut Standings<'a, 'm>,
    /// If true, something may take the place of a content that is left out.
    replace: bool,
    /// True if something did.
    replaced: bool,
    /// The documents of the author's last turn that exceed a limit.
    refused: Vec<(usize, Limit)>,
}

/// The share of an occurrence in a limit.
type Cost<'c> = &'c dyn Fn(&Occurrence<'_>, &Treatment) -> u64;

impl Request<'_, '_, '_> {
    fn keep_all(
        &mut self,
        messages: &[Arc<Message>],
        capabilities: &ModelCapabilities,
        budget: DocumentBudget,
    ) {
        if let Some(limit) = capabilities.files.max_files {
            self.keep(Limit::Files(limit), limit, &files);
        }
        if let Some(limit) = self.count_limit(capabilities) {
            self.keep(Limit::Documents(limit), limit, &|_, treatment| count(treatment));
        }
        if let Some(limit) = capabilities.files.max_pages {
            self.keep(Limit::Pages(limit), limit, &|_, treatment| treatment.pages.unwrap_or_default());
        }
        if let Some(limit) = capabilities.files.max_request_bytes {
            // A sixteenth is for tools, options, the envelope and JSON's escapes.
            let limit = limit - limit / 16;
            let texts = || messages.iter().map(|message| text_bytes(message, capabilities)).sum();
            let bytes = |occurrence: &Occurrence<'_>, treatment: &Treatment| {
                wire_bytes(occurrence, treatment, capabilities)
            };
            self.keep_beside(Limit::Bytes(limit), limit, texts, &bytes);
        }
        if let Some(limit) = budget.tokens(capabilities) {
            self.keep(Limit::Tokens(limit), limit, &|_, treatment| match treatment.cost {
                Estimate { is_guess: true, .. } if budget == DocumentBudget::Window => 0,
                cost => cost.tokens,
            });
        }
        self.keep_images(&capabilities.files);
    }

    /// An occurrence whose content stands in the request.
    fn own(&self, at: usize) -> Option<(&Occurrence<'_>, &Treatment)> {
        let own = self.standings.get(at) == Standing::Own;
        self.occurrences.get(at).zip(self.treatments.get(at)).filter(|_| own)
    }

    fn all_own(&self) -> impl Iterator<Item = (&Occurrence<'_>, &Treatment)> {
        (0..self.occurrences.len()).filter_map(|at| self.own(at))
    }

    fn leave_out(&mut self, at: usize, limit: Limit) -> Vec<usize> {
        let heirs = self.standings.leave_out(at, limit, self.replace);
        self.replaced |= !heirs.is_empty();
        heirs
    }

    /// The smallest count that a place which holds a document allows in one request.
    fn count_limit(&self, capabilities: &ModelCapabilities) -> Option<u64> {
        self.all_own()
            .filter_map(|(_, treatment)| capabilities.place(native_place(treatment)?).max_count)
            .min()
    }

    fn total(&self, cost: Cost<'_>) -> u64 {
        // A size that nobody has checked may be anything.
        self.all_own().map(|(occurrence, treatment)| cost(occurrence, treatment)).fold(0, u64::saturating_add)
    }

    fn cost_of(&self, at: usize, cost: Cost<'_>) -> u64 {
        let pair = self.occurrences.get(at).zip(self.treatments.get(at));
        pair.map_or(0, |(occurrence, treatment)| cost(occurrence, treatment))
    }

    fn keep(&mut self, limit: Limit, most: u64, cost: Cost<'_>) {
        self.keep_beside(limit, most, || 0, cost);
    }

    /// Keeps a limit in which other things have a share, too; nobody asks for it where no document has one.
    fn keep_beside(&mut self, limit: Limit, most: u64, beside: impl FnOnce() -> u64, cost: Cost<'_>) {
        let documents = self.total(cost);
        if documents == 0 {
            return;
        }
        let total = documents.saturating_add(beside());
        if total <= most {
            return;
        }
        let excess = total - most;
        let rounded = in_blocks(excess, most);
        // A note instead of the only content would help nobody: what it costs is an estimate.
        let newest = match limit {
            Limit::Tokens(_) => (0..self.occurrences.len()).rev().find(|at| {
                self.own(*at).is_some_and(|(occurrence, treatment)| cost(occurrence, treatment) > 0)
            }),
            _ => None,
        };
        // Negative while what was left out is shown by more than one that referred to it.
        let mut saved = 0_i128;
        for at in 0..self.occurrences.len() {
            let next = i128::from(self.cost_of_old(at, cost));
            // Rounding up never costs a document that the rounded amount does not cover.
            if saved >= i128::from(excess) && saved + next > rounded {
                break;
            }
            if next > 0 && newest != Some(at) {
                let heirs = self.leave_out(at, limit);
                saved +=
                    next - heirs.into_iter().map(|heir| i128::from(self.cost_of(heir, cost))).sum::<i128>();
            }
        }
        // The tokens are a guess, and no reason to fail.
        if !matches!(limit, Limit::Tokens(_)) {
            self.refuse(limit, most, cost);
        }
    }

    /// Many images may not be large: leaves out the oldest until there are few, or none of them is large.
    fn keep_images(&mut self, files: &FileRules) {
        let Some((most, pixels)) = files.many_images.zip(files.many_images_pixels) else { return };
        let limit = Limit::Images(most, pixels);
        let count = |(occurrence, treatment): (&Occurrence<'_>, &Treatment)| match image(
            occurrence, treatment, pixels,
        ) {
            // Images of pages are small enough for many of them.
            None => (treatment.page_images().count() as i128, 0),
            Some(is_large) => (1, i128::from(is_large)),
        };
        let add = |(a, b): (i128, i128), (c, d): (i128, i128)| (a + c, b + d);
        let (total, mut large) = self.all_own().map(count).fold((0, 0), add);
        let excess = total - i128::from(most);
        let rounded = in_blocks(u64::try_from(excess).unwrap_or_default(), most);
        let mut saved = 0;
        for at in 0..self.occurrences.len() {
            if large == 0 || saved >= excess && saved + 1 > rounded {
                break;
            }
            let (here, here_large) = self.old(at).map_or((0, 0), count);
            if here > 0 {
                let heirs = self.leave_out(at, limit);
                let pair = |heir: usize| self.occurrences.get(heir).zip(self.treatments.get(heir));
                let heirs = heirs.into_iter().filter_map(pair).map(count).fold((0, 0), add);
                saved += here - heirs.0;
                large += heirs.1 - here_large;
            }
        }
    }

    /// An occurrence whose content stands in the request and may be left out.
    fn old(&self, at: usize) -> Option<(&Occurrence<'_>, &Treatment)> {
        self.own(at).filter(|(occurrence, _)| !is_current(occurrence))
    }

    /// The share that leaving out this content would save; 0 if it is none, or may not be left out.
    fn cost_of_old(&self, at: usize, cost: Cost<'_>) -> u64 {
        self.old(at).map_or(0, |(occurrence, treatment)| cost(occurrence, treatment))
    }

    /// Makes an error of what exceeds the limit within the author's last turn.
    fn refuse(&mut self, limit: Limit, most: u64, cost: Cost<'_>) {
        let mut held: u64 = 0;
        for (at, (occurrence, treatment)) in self.occurrences.iter().zip(self.treatments).enumerate() {
            if is_current(occurrence) {
                let share = cost(occurrence, treatment);
                held = held.saturating_add(share);
                if held > most && share > 0 {
                    self.refused.push((at, limit));
                }
            }
        }
    }
}

/// An amount, rounded up to quarters of the limit.
fn in_blocks(excess: u64, most: u64) -> i128 {
    let block = (most / 4).max(1);
    i128::from(excess.div_ceil(block).saturating_mul(block))
}

fn is_current(occurrence: &Occurrence<'_>) -> bool {
    occurrence.origin == Origin::Author { current: true }
}

/// True if an image that stands there natively has more pixels on a side than that; `None` if no image does. An image at
/// an address may be of any size.
fn image(occurrence: &Occurrence<'_>, treatment: &Treatment, most: u64) -> Option<bool> {
    let image = native(occurrence, treatment).filter(|document| is_image(document))?;
    // One that is not loaded shows its size then.
    let is_there = matches!(treatment.shown, Shown::Native(_) | Shown::Adapted { .. });
    let is_large = || match content_bytes(image) {
        Some(bytes) => pixels(bytes).is_some_and(|(width, height)| width.max(height) > most),
        None => true,
    };
    Some(is_there && is_large())
}

/// The document that stands there natively, or will once it is loaded. Its content says better what it is than the handle
/// of a document that was loaded.
fn native<'a>(occurrence: &Occurrence<'a>, treatment: &'a Treatment) -> Option<&'a Document> {
    match &treatment.shown {
        Shown::Native(document) | Shown::Adapted { document, .. } => Some(document),
        _ => treatment.expected?.native.map(|_| occurrence.document),
    }
}

fn is_image(document: &Document) -> bool {
    document.media_type().kind() == MediaKind::Image
}

/// True if the author's last turn alone has more images than may be large.
pub(crate) fn author_has_many_images(
    occurrences: &[Occurrence<'_>],
    treatments: &[Treatment],
    files: &FileRules,
) -> bool {
    let Some((most, pixels)) = files.many_images.zip(files.many_images_pixels) else { return false };
    let pairs = occurrences.iter().zip(treatments).filter(|(occurrence, _)| is_current(occurrence));
    let images = pairs.map(|(occurrence, treatment)| match image(occurrence, treatment, pixels) {
        Some(_) => 1,
        None => treatment.page_images().count() as u64,
    });
    images.sum::<u64>() > most
}

/// The reason for leaving a content out; `newer` says that there are newer ones which are shown.
pub(crate) fn left_out(limit: Limit, newer: bool) -> Reason {
    let full = full(limit);
    let text = match (limit, newer) {
        (_, true) => format!("{full}, and newer documents are in it"),
        (Limit::Bytes(_), false) => format!("{full}, and the rest of this conversation fills it"),
        (_, false) => format!("{full}, and others are in it"),
    };
    Reason::new(full.kind(), text)
}

fn full(limit: Limit) -> Reason {
    match limit {
        Limit::Documents(most) => Reason::new(
            ReasonKind::TooMany,
            format!("a request to this model holds at most {most} documents"),
        ),
        Limit::Files(most) => Reason::new(
            ReasonKind::TooMany,
            format!("a request to this model holds at most {most} documents that are no images"),
        ),
        Limit::Pages(most) => Reason::new(
            ReasonKind::TooMany,
            format!("a request to this model holds at most {most} pages of PDFs"),
        ),
        Limit::Images(most, pixels) => Reason::new(
            ReasonKind::TooMany,
            format!(
                "a request to this model holds at most {most} images if one of them has more than {pixels} pixels on a side"
            ),
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

/// The number of documents in the request for one, or that will be there once it is loaded.
fn count(treatment: &Treatment) -> u64 {
    match &treatment.shown {
        Shown::Pages { .. } => treatment.page_images().count() as u64,
        _ => u64::from(native_place(treatment).is_some()),
    }
}

/// 1 for a document that stands there natively as a file, or will once it is loaded: as no image, sound or video.
fn files(occurrence: &Occurrence<'_>, treatment: &Treatment) -> u64 {
    let kind = native(occurrence, treatment).map(|document| document.media_type().kind());
    u64::from(matches!(kind, Some(MediaKind::Pdf | MediaKind::Other)))
}

/// Where the document stands as it is, or will once it is loaded.
fn native_place(treatment: &Treatment) -> Option<Place> {
    match (&treatment.shown, treatment.expected) {
        (Shown::Native(_) | Shown::Adapted { .. } | Shown::Pages { .. }, _) => treatment.place,
        (_, expected) => expected?.native,
    }
}

/// The bytes that content takes in the body of a request. A file that is uploaded first takes none.
fn wire_bytes(occurrence: &Occurrence<'_>, treatment: &Treatment, capabilities: &ModelCapabilities) -> u64 {
    let bytes = treatment.expected.map_or_else(|| treatment.content_bytes(), |expected| expected.bytes);
    let Some(place) = native_place(treatment) else { return bytes };
    let uploaded = |document: &Document, bytes: u64| {
        let is_uploaded = capabilities.uploads(place, document.media_type(), bytes);
        if is_uploaded { bytes } else { 0 }
    };
    let in_memory = |document: &Document| content_bytes(document).map_or(0, <[u8]>::len) as u64;
    let uploaded = match (&treatment.shown, treatment.expected) {
        (_, Some(expected)) => uploaded(occurrence.document, expected.bytes),
        (Shown::Native(document) | Shown::Adapted { document, .. }, None) => {
            uploaded(document, in_memory(document))
        }
        (_, None) => treatment.page_images().map(|image| uploaded(image, in_memory(image))).sum(),
    };
    in_base64(bytes.saturating_sub(uploaded))
}

fn in_base64(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// The bytes of a message's own texts, and of what the model made in it, where that goes back.
fn text_bytes(message: &Message, capabilities: &ModelCapabilities) -> u64 {
    let made = |made: &Document| match content_bytes(made) {
        Some(bytes) if capabilities.user.accepts(made.media_type()) => in_base64(bytes.len() as u64),
        _ => 0,
    };
    let content = |content: &UserPart| match content {
        UserPart::Text(text) => text.text().len(),
        UserPart::Object(tree) => tree.json().len(),
        _ => 0,
    };
    let bytes: usize = match message {
        Message::System(system) => system.parts.iter().map(|text| text.text().len()).sum(),
        // The content of a synthetic message is counted where it comes from.
        Message::User(_) if message.is_tool_call_documents() => 0,
        Message::User(user) => user.parts.iter().map(content).sum(),
        Message::Assistant(assistant) => {
            let part = |part: &AssistantPart| match part {
                AssistantPart::Text(text) => text.text().len() as u64,
                AssistantPart::Reasoning(reasoning) => reasoning.text().len() as u64,
                AssistantPart::ToolCall(call) => call.arguments.raw().len() as u64,
                AssistantPart::Opaque(opaque) => opaque.replay.json().len() as u64,
                AssistantPart::Document(document) => made(&document.document),
                _ => 0,
            };
            return assistant.parts.iter().map(part).fold(0, u64::saturating_add);
        }
        Message::ToolResults(results) => results.results.iter().map(|result| result.tree.json().len()).sum(),
        _ => 0,
    };
    bytes as u64
}
