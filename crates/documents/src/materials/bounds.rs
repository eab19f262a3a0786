//! Letting go what is not needed any more, or is too much.

use std::collections::{HashMap, HashSet};

use attache_core::{Document, DocumentId};

use super::key::Key;
use super::transcoded::Transcoding;
use super::{Loaded, Materials, Rendering};
use crate::content::content_bytes;

/// Something that can be let go.
enum Piece {
    Loaded(DocumentId),
    /// The form that was inserted then.
    Transcoded(Key, u64),
    /// The images that were inserted then.
    Rendered(Key, u64),
    Converted(Key),
}

impl Materials {
    /// Forgets that bytes could not be had, so that they are asked for again.
    pub(crate) fn forget_missing(&mut self) {
        self.loaded.retain(|_, loaded| !matches!(loaded, Loaded::Missing(_)));
    }

    /// Forgets what converters said that could not begin, so that they are asked again.
    pub(crate) fn forget_busy(&mut self) {
        let busy = std::mem::take(&mut self.busy);
        if busy.is_empty() {
            return;
        }
        self.converted.retain(|_, known| !busy.contains(&known.since));
        self.transcodings.forget_since(&busy);
        self.renderings.forget_since(&busy);
    }

    /// Keeps the materials of documents for which `keep` returns true, and of documents inside them, and drops the
    /// rest.
    ///
    /// An agent keeps those of its window.
    pub fn retain(&mut self, mut keep: impl FnMut(&DocumentId) -> bool) {
        let mut inside: HashSet<DocumentId> = HashSet::new();
        let mut ahead: Vec<&DocumentId> = Vec::new();
        let mut holds: HashMap<&DocumentId, Vec<&DocumentId>> = HashMap::new();
        for (key, known) in &self.converted {
            let Ok(text) = &known.text else { continue };
            if keep(&key.id) {
                ahead.push(&key.id);
            }
            holds.entry(&key.id).or_default().extend(text.attachments.iter().map(|inner| inner.id()));
        }
        while let Some(id) = ahead.pop() {
            // Each is looked into once.
            for inner in holds.remove(id).unwrap_or_default() {
                if inside.insert(inner.clone()) {
                    ahead.push(inner);
                }
            }
        }
        let mut keep = |id: &DocumentId| keep(id) || inside.contains(id);
        self.transcodings.retain(&mut keep);
        self.renderings.retain(&mut keep);
        self.loaded.retain(|id, _| keep(id));
        self.said.retain(|id, _| keep(id));
        self.latest.retain(|id, _| keep(id));
        self.converted.retain(|key, _| keep(&key.id));
        self.memo.retain(&mut keep);
    }

    /// The number of bytes held: loaded contents, converted forms, and texts with the documents found in them.
    pub fn held_bytes(&self) -> u64 {
        let pieces: u64 = self.pieces().map(|(size, ..)| size).sum();
        pieces.saturating_add(self.memo.held_bytes())
    }

    /// Drops the oldest entries until at most `most` bytes are held: first decoded texts, which are cheap to recreate,
    /// then contents and forms, then converted texts, which are expensive.
    ///
    /// A [`plan`](crate::plan) requests needed content again, so do not drop anything between planning and routing:
    /// missing content becomes a note. The hash of a dropped content is kept.
    pub fn shrink_to(&mut self, most: u64) {
        let mut held = self.held_bytes();
        if held <= most {
            return;
        }
        held -= self.memo.held_bytes();
        self.memo.forget_texts();
        let mut pieces: Vec<_> = self.pieces().collect();
        pieces.sort_by_key(|(_, since, piece)| (matches!(piece, Piece::Converted(_)), *since));
        for (size, _, piece) in pieces {
            if held <= most {
                return;
            }
            if size > 0 {
                self.let_go(piece);
                held -= size;
            }
        }
    }

    fn let_go(&mut self, piece: Piece) {
        match piece {
            Piece::Loaded(id) => match self.loaded.get(&id) {
                Some(Loaded::Here(document, _)) => match document.hash() {
                    Some(digest) => _ = self.loaded.insert(id, Loaded::LetGo(digest)),
                    None => _ = self.loaded.remove(&id),
                },
                Some(Loaded::LetGo(_) | Loaded::Missing(_)) | None => {}
            },
            Piece::Transcoded(key, since) => self.transcodings.let_go(&key, since),
            Piece::Rendered(key, since) => self.renderings.let_go(&key, since),
            Piece::Converted(key) => _ = self.converted.remove(&key),
        }
    }

    /// All pieces, each with its size and the number of its insertion.
    fn pieces(&self) -> impl Iterator<Item = (u64, u64, Piece)> {
        let loaded = self.loaded.iter().filter_map(|(id, loaded)| match loaded {
            Loaded::Here(document, since) => Some((size(document), *since, Piece::Loaded(id.clone()))),
            Loaded::LetGo(_) | Loaded::Missing(_) => None,
        });
        let fitted = self.transcodings.iter().filter_map(|(key, fit, since)| match fit {
            Transcoding::Adapted(adapted) => {
                Some((size(&adapted.document), since, Piece::Transcoded(key.clone(), since)))
            }
            Transcoding::AsIs { .. } | Transcoding::Failed(_) | Transcoding::Unknown => None,
        });
        let rendered = self.renderings.iter().filter_map(|(key, rendering, since)| match rendering {
            Rendering::Done(rendered) => {
                let bytes = rendered.images.iter().map(|(_, image)| size(image)).sum();
                Some((bytes, since, Piece::Rendered(key.clone(), since)))
            }
            Rendering::Failed(_) | Rendering::Unknown => None,
        });
        let converted = self.converted.iter().filter_map(|(key, known)| {
            let text = known.text.as_ref().ok()?;
            let inside: u64 = text.attachments.iter().map(size).sum();
            Some((text.text.len() as u64 + inside, known.since, Piece::Converted(key.clone())))
        });
        loaded.chain(fitted).chain(rendered).chain(converted)
    }
}

fn size(document: &Document) -> u64 {
    content_bytes(document).map_or(0, <[u8]>::len) as u64
}
