//! The parts that stand for one document.

use attache_core::{Content, Document, Routed};

use crate::label::{Label, LabelProfile, NOT_SHOWN};
use crate::stamp::Hash;
use crate::survey::Occurrence;
use crate::verdict::{Shown, Verdict};

/// Parts of a message, and a hash of what documents added to them.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) parts: Vec<Content>,
    hash: Hash,
}

/// How a document's label looks, apart from what the document says.
#[derive(Clone, Copy)]
pub(super) struct Labelling<'a> {
    pub(super) profile: LabelProfile,
    pub(super) call: Option<(Option<&'a str>, &'a str)>,
    pub(super) short_id: &'a str,
    pub(super) show_url: bool,
    /// Whether a native document has a label too.
    pub(super) native: bool,
}

impl Labelling<'_> {
    fn label(&self, document: &Document, status: Option<&str>) -> String {
        let mut label = Label::new(document).with_short_id(self.short_id).with_url(self.show_url);
        if let Some((tool, call)) = self.call {
            label = label.of_call(tool, call);
        }
        if let Some(status) = status {
            label = label.with_status(status);
        }
        label.render(self.profile)
    }
}

impl Pieces {
    pub(super) fn new() -> Self {
        Self { parts: Vec::new(), hash: Hash::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds what the message said by itself.
    pub(super) fn say(&mut self, content: impl Into<Option<Content>>) {
        self.parts.extend(content.into());
    }

    /// Adds text of routing's own.
    pub(super) fn text(&mut self, text: &str) {
        self.hash = self.hash.text("text").text(text);
        self.say(Content::text(text));
    }

    /// Adds what stands for a document: label and content, the content alone, a note, or nothing.
    pub(super) fn document(
        &mut self,
        occurrence: &Occurrence<'_>,
        verdict: &Verdict,
        labelling: Labelling<'_>,
    ) {
        let document = occurrence.document;
        match &verdict.shown {
            Shown::Native(loaded) => {
                if labelling.native {
                    self.text(&labelling.label(document, None));
                }
                let size = verdict.content_bytes();
                let name = loaded.file_name().unwrap_or_default();
                self.hash = self.hash.text("document").text(loaded.id().as_str()).number(size);
                self.hash = self.hash.text(loaded.media_type().essence()).text(name);
                self.say(Content::Document(loaded.clone()));
            }
            Shown::Text(fenced) => {
                self.text(&labelling.label(document, None));
                self.hash = self.hash.text("fenced").number(fenced.hash);
                self.say(Content::Text(fenced.part.clone()));
            }
            Shown::Note => {
                let label = labelling.label(document, verdict.reason.kind().status());
                self.text(&format!("{label}\n{NOT_SHOWN}{}.", verdict.reason));
            }
            Shown::Nothing => {}
        }
    }

    /// The parts and a stamp that is never 0.
    pub(super) fn routed(self) -> Routed {
        let stamp = self.hash.number(self.parts.len() as u64).finish().max(1);
        Routed::new(self.parts, stamp)
    }
}
