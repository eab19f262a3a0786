//! Messages of authors and events.

use std::borrow::Cow;
use std::ops::Range;

use attache_core::message::UserOrigin;
use attache_core::{ContentTree, UserMessage, UserPart};

use super::Scene;
use super::parts::{Labelling, Pieces};
use crate::decide::treatment::Treatment;
use crate::find::Occurrence;
use crate::label::ShortIds;
use crate::text::fence::without_imitations;
use crate::text::imitation::is_plain_text;

/// The text in place of the payload of an event that has none to show.
const NO_PAYLOAD: &str = "An event was triggered but no content was returned.";

impl Scene<'_, '_> {
    /// The message with its documents as the model takes them.
    pub(super) fn user(&self, message: &UserMessage, here: Range<usize>) -> UserMessage {
        let occurrences = self.decided.occurrences.get(here.clone()).unwrap_or_default();
        let treatments = self.decided.treatments.get(here).unwrap_or_default();
        let documents = Documents {
            scene: *self,
            occurrences,
            treatments,
            short_ids: ShortIds::of(occurrences.iter().map(|occurrence| occurrence.document)),
        };
        let pieces = match message.origin {
            UserOrigin::Event => self.event(message, &documents),
            _ => self.author(message, &documents),
        };
        let mut message = message.clone();
        message.routed = Some(pieces.routed());
        message
    }

    /// The payload, then all documents.
    fn event(&self, message: &UserMessage, documents: &Documents<'_, '_>) -> Pieces {
        let mut pieces = Pieces::new();
        for part in &message.parts {
            match part {
                UserPart::Text(text) => pieces.say(match without_imitations(text.text()) {
                    Cow::Borrowed(_) => Some(UserPart::Text(text.clone())),
                    Cow::Owned(mended) => UserPart::text(mended),
                }),
                UserPart::Object(tree) if is_plain_text(tree) => {
                    pieces.say(UserPart::text(without_imitations(&tree.model_text())));
                }
                UserPart::Object(tree) => pieces.say(object_text(tree)),
                _ => {}
            }
        }
        if pieces.is_empty() {
            pieces.say(UserPart::text(NO_PAYLOAD));
        }
        let preamble = self.options.profile.event_preamble();
        if let Some(preamble) = preamble.filter(|_| !documents.occurrences.is_empty()) {
            pieces.text(preamble);
        }
        for part in 0..message.parts.len() {
            documents.add(part, true, &mut pieces);
        }
        pieces
    }

    /// The parts in their order, those in an object after its text.
    fn author(&self, message: &UserMessage, documents: &Documents<'_, '_>) -> Pieces {
        let mut pieces = Pieces::new();
        let has_text = message.parts.iter().any(|part| !matches!(part, UserPart::Document(_)));
        let label = self.options.label_native || documents.need_text() && !has_text;
        for (at, part) in message.parts.iter().enumerate() {
            match part {
                UserPart::Text(text) => pieces.say(UserPart::Text(text.clone())),
                UserPart::Document(_) => documents.add(at, label, &mut pieces),
                UserPart::Object(tree) => {
                    pieces.say(object_text(tree));
                    documents.add(at, true, &mut pieces);
                }
                _ => {}
            }
        }
        pieces
    }
}

/// The text of an object; nothing if that is blank.
fn object_text(tree: &ContentTree) -> Option<UserPart> {
    if tree.is_blank() { None } else { UserPart::text(tree.model_text()) }
}

/// The documents of one user message.
struct Documents<'a, 'm> {
    scene: Scene<'a, 'm>,
    occurrences: &'a [Occurrence<'m>],
    treatments: &'a [Treatment],
    short_ids: ShortIds<'m>,
}

impl Documents<'_, '_> {
    /// True if the place demands a text beside a document.
    fn need_text(&self) -> bool {
        let place =
            self.occurrences.first().map(|occurrence| self.scene.capabilities.place(occurrence.place));
        place.is_some_and(|place| place.needs_text == Some(true))
    }

    /// Adds the documents of one part.
    fn add(&self, part: usize, label_native: bool, pieces: &mut Pieces) {
        // They stand in the order of the parts.
        let first = self.occurrences.partition_point(|occurrence| occurrence.part < part);
        let all = self.occurrences.iter().zip(self.treatments).skip(first);
        for (occurrence, treatment) in all.take_while(|(occurrence, _)| occurrence.part == part) {
            let labelling = Labelling {
                profile: self.scene.options.profile,
                call: None,
                short_id: self.short_ids.get(occurrence.document),
                show_url: self.scene.options.show_urls,
                read_tool: self.scene.options.read_tool.as_deref(),
                native: label_native,
                text: self.scene.capabilities.place(occurrence.place).accepts_text(),
                cites: self.scene.cites_text(occurrence.place),
            };
            pieces.document(occurrence, treatment, labelling);
        }
    }
}
