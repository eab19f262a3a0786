//! What stands beside the content of an answer: citations, pictures, sound (openai.md A.5, C.9).

use attache_core::{OpaquePart, ReplayData};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::wire::Delta;
use crate::lenient::{Object, Text};

const ANNOTATIONS: &str = "annotations";
const IMAGES: &str = "images";
const AUDIO: &str = "audio";

/// Whether an opaque part of this kind was a member of an answer that messages of a request do not have.
pub(super) fn is_beside(kind: &str) -> bool {
    matches!(kind, ANNOTATIONS | IMAGES | AUDIO)
}

/// The members in which nothing is read, piece by piece as they came.
#[derive(Debug, Default)]
pub(super) struct Beside {
    annotations: Vec<Box<RawValue>>,
    images: Vec<Box<RawValue>>,
    audio: Vec<Box<RawValue>>,
}

impl Beside {
    /// Takes those of a message or of a piece of one. Yields what is said in sound, as text.
    pub(super) fn push<'a>(&mut self, delta: &Delta<'a>) -> Option<Text<'a>> {
        if delta.annotations.is_none() && delta.images.is_none() && delta.audio.is_none() {
            return None;
        }
        self.lists(delta, |_, _| true);
        self.hear(delta)
    }

    /// Takes of a whole message what its pieces did not bring.
    pub(super) fn complete<'a>(&mut self, message: &Delta<'a>) -> Option<Text<'a>> {
        self.lists(message, |known, item| !known.iter().any(|known| known.get() == item.get()));
        if self.audio.is_empty() { self.hear(message) } else { None }
    }

    fn lists(&mut self, delta: &Delta<'_>, is_new: impl Fn(&[Box<RawValue>], &RawValue) -> bool) {
        for (member, pieces) in [(delta.annotations, &mut self.annotations), (delta.images, &mut self.images)]
        {
            let list = member.and_then(|member| serde_json::from_str::<Vec<&RawValue>>(member.get()).ok());
            for item in list.into_iter().flatten() {
                if is_new(pieces, item) {
                    pieces.push(item.to_owned());
                }
            }
        }
    }

    fn hear<'a>(&mut self, delta: &Delta<'a>) -> Option<Text<'a>> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Audio<'a> {
            #[serde(borrow)]
            transcript: Text<'a>,
        }
        let audio = delta.audio.filter(|audio| audio.get().starts_with('{'))?;
        self.audio.push(audio.to_owned());
        let audio: Object<Audio<'a>> = serde_json::from_str(audio.get()).ok()?;
        Some(audio.0?.transcript)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.annotations.is_empty() && self.images.is_empty() && self.audio.is_empty()
    }

    /// A part for each member that came. Sound that came in one piece is that piece, otherwise a list of all.
    pub(super) fn into_parts(self, family: &str, model: &str) -> impl Iterator<Item = OpaquePart> {
        let list = |pieces: Vec<Box<RawValue>>| match pieces.is_empty() {
            true => None,
            false => to_raw_value(&pieces).ok(),
        };
        let mut audio = self.audio;
        let audio = if audio.len() == 1 { audio.pop() } else { list(audio) };
        let members = [(ANNOTATIONS, list(self.annotations)), (IMAGES, list(self.images)), (AUDIO, audio)];
        let parts = members
            .map(|(kind, json)| json.map(|json| OpaquePart::new(kind, ReplayData::new(family, model, json))));
        parts.into_iter().flatten()
    }
}
