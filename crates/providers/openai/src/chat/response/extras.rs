//! Things beside the content of an answer: citations, pictures, sound, what the server's own tools did (openai.md A.5,
//! C.7, C.9).

use std::collections::HashSet;

use attache_core::message::{MadeDocument, OpaquePart};
use attache_core::{AssistantPart, Document};
use attache_transport::{Reading, made_document, made_document_of_uri};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::hosted::MESSAGES;
use super::wire::Delta;
use crate::response::citations::{ANNOTATIONS, EXECUTED_TOOLS};
use attache_transport::lenient::{Object, RawList, Text};

/// The kind of the opaque part that holds the member of the same name.
pub(crate) const EXTRA_CONTENT: &str = "extra_content";
const IMAGES: &str = "images";
const AUDIO: &str = "audio";
/// Samples without a container. (openai.md A.5)
const BARE_SOUND: &str = "audio/pcm";
/// The maximum number of items of a member that is a list; those behind them are not kept.
const MAX_ITEMS: usize = 10_000;

/// True if an opaque part of this kind was a member of an answer that messages of a request do not have.
pub(crate) fn is_beside(kind: &str) -> bool {
    matches!(kind, ANNOTATIONS | IMAGES | EXECUTED_TOOLS | AUDIO | MESSAGES)
}

/// The members in which nothing is read, piece by piece as they came.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    annotations: Vec<Box<RawValue>>,
    images: Vec<Box<RawValue>>,
    executed_tools: Vec<Box<RawValue>>,
    audio: Vec<Box<RawValue>>,
}

impl Beside {
    /// Takes those of a message or of a piece of one. Yields what is said in sound, as text.
    pub(crate) fn push<'a>(&mut self, delta: &Delta<'a>) -> Option<Text<'a>> {
        self.lists(delta, false);
        self.hear(delta)
    }

    /// Takes of a whole message what its pieces did not bring.
    pub(crate) fn complete<'a>(&mut self, message: &Delta<'a>) -> Option<Text<'a>> {
        self.lists(message, true);
        if self.audio.is_empty() { self.hear(message) } else { None }
    }

    /// Takes the items of the members that are lists, as far as there is room. With `again` those that came before are
    /// known.
    fn lists(&mut self, delta: &Delta<'_>, again: bool) {
        let members = [
            (delta.annotations, &mut self.annotations),
            (delta.images, &mut self.images),
            (delta.executed_tools, &mut self.executed_tools),
        ];
        for (member, pieces) in members {
            let Some(member) = member else { continue };
            let mut list = RawList::of(member).0;
            if again {
                let known: HashSet<&str> = pieces.iter().map(|piece| piece.get()).collect();
                list.retain(|item| !known.contains(item.get()));
            } else {
                list.drain(..count_repeated(pieces, &list));
            }
            let room = MAX_ITEMS.saturating_sub(pieces.len());
            pieces.extend(list.into_iter().take(room).map(ToOwned::to_owned));
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

    pub(crate) fn is_empty(&self) -> bool {
        self.annotations.is_empty()
            && self.images.is_empty()
            && self.executed_tools.is_empty()
            && self.audio.is_empty()
    }

    /// The documents that the server made, and a part for each other member that came.
    pub(crate) fn into_parts(self, reading: &Reading) -> Vec<AssistantPart> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Image<'a> {
            #[serde(borrow)]
            image_url: Object<Address<'a>>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Address<'a> {
            #[serde(borrow)]
            url: Text<'a>,
        }
        let image = |raw: &RawValue| {
            let image: Object<Image<'_>> = serde_json::from_str(raw.get()).ok()?;
            made_document_of_uri(image.0?.image_url.0?.url.get()?)
        };
        let mut made = Vec::new();
        let mut images = self.images;
        images.retain(|raw| match image(raw) {
            Some(document) => {
                made.push(AssistantPart::Document(MadeDocument::new(document)));
                false
            }
            None => true,
        });
        let mut executed_tools = self.executed_tools;
        let mut seen = HashSet::new();
        for tool in &mut executed_tools {
            if let Some((documents, rest)) = drawn(tool, &mut seen) {
                made.extend(documents.into_iter().map(|it| AssistantPart::Document(MadeDocument::new(it))));
                *tool = rest;
            }
        }
        let sound = sound(&self.audio);
        let audio = if sound.is_some() { Vec::new() } else { self.audio };
        made.extend(sound.map(|(document, beside)| {
            let replay = beside.map(|json| reading.tag(json));
            AssistantPart::Document(MadeDocument::new(document).with_replay(replay))
        }));
        let list = |pieces: Vec<Box<RawValue>>| match pieces.is_empty() {
            true => None,
            false => to_raw_value(&pieces).ok(),
        };
        let members = [
            (ANNOTATIONS, list(self.annotations)),
            (IMAGES, list(images)),
            (EXECUTED_TOOLS, list(executed_tools)),
            (AUDIO, list(audio)),
        ];
        for (kind, json) in members {
            let replay = json.map(|json| reading.tag(json));
            made.extend(replay.map(|replay| AssistantPart::Opaque(OpaquePart::new(kind, replay))));
        }
        made
    }
}

/// The number of items at the start of a list that the pieces before it brought: all of one that is said again, and all
/// that are known where each piece says everything so far.
fn count_repeated(pieces: &[Box<RawValue>], list: &[&RawValue]) -> usize {
    let is_same = |known: &[Box<RawValue>], items: &[&RawValue]| {
        known.len() == items.len() && known.iter().zip(items).all(|(a, b)| a.get() == b.get())
    };
    let last = pieces.len().checked_sub(list.len()).and_then(|at| pieces.get(at..));
    if last.is_some_and(|last| is_same(last, list)) {
        list.len()
    } else if list.get(..pieces.len()).is_some_and(|first| is_same(pieces, first)) {
        pieces.len()
    } else {
        0
    }
}

/// The pictures that code of the model drew and that were not `seen`, and the call of the tool without them, as they
/// need not be kept twice (openai.md C.7). Nothing where there is none.
fn drawn(tool: &RawValue, seen: &mut HashSet<String>) -> Option<(Vec<Document>, Box<RawValue>)> {
    if !tool.get().contains("\"png\"") {
        return None;
    }
    let mut tool: Value = serde_json::from_str(tool.get()).ok()?;
    let results = match tool.get_mut("code_results")? {
        Value::Array(results) => results.as_mut_slice(),
        one => std::slice::from_mut(one),
    };
    let mut documents = Vec::new();
    for result in results.iter_mut().filter_map(Value::as_object_mut) {
        let Some(base64) = result.get("png").and_then(Value::as_str) else { continue };
        let Some(document) = made_document(base64, "image/png") else { continue };
        if seen.insert(base64.to_owned()) {
            documents.push(document);
        }
        result.remove("png");
    }
    to_raw_value(&tool).ok().map(|rest| (documents, rest))
}

/// The sound of all pieces, each of which is base64 by itself. Streamed sound is bare samples, whose form nothing
/// tells. Its id at the server stands beside it.
fn sound(pieces: &[Box<RawValue>]) -> Option<(Document, Option<Box<RawValue>>)> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Audio<'a> {
        #[serde(borrow)]
        id: Text<'a>,
        data: Text<'a>,
    }
    let (mut bytes, mut beside) = (Vec::new(), None);
    for piece in pieces {
        let audio: Object<Audio<'_>> = serde_json::from_str(piece.get()).ok()?;
        let audio = audio.0?;
        let piece = audio.data.get().and_then(|data| made_document(data, BARE_SOUND)?.bytes());
        bytes.extend_from_slice(&piece.unwrap_or_default());
        if let (None, Some(id)) = (&beside, audio.id.get()) {
            beside = to_raw_value(&serde_json::json!({"id": id})).ok();
        }
    }
    (!bytes.is_empty()).then(|| (Document::from_bytes(bytes, BARE_SOUND), beside))
}
