//! The parts that stand for one document.

use attache_core::message::Routed;
use attache_core::{Document, DocumentSource, UserPart};

use crate::content::content_bytes;
use crate::decide::treatment::{Piece, Shown, Treatment};
use crate::find::Occurrence;
use crate::label::{Label, LabelProfile, NOT_SHOWN};
use crate::report::ReasonKind;
use crate::text::fence::{Fenced, remarks, unfence};
use crate::text::tame;
use attache_core::hash::StableHash as Hash;

/// Parts of a message, and a hash of what documents added to them.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) parts: Vec<UserPart>,
    hash: Hash,
}

/// How a document's label looks, apart from what the document says.
#[derive(Clone, Copy)]
pub(super) struct Labelling<'a> {
    pub(super) profile: LabelProfile,
    pub(super) call: Option<(Option<&'a str>, &'a str)>,
    pub(super) short_id: &'a str,
    pub(super) show_url: bool,
    /// The tool with which the model can read more.
    pub(super) read_tool: Option<&'a str>,
    /// If true, a native document has a label too.
    pub(super) native: bool,
    /// If true, text may stand there.
    pub(super) text: bool,
    /// If true, text that stands there is to be cited.
    pub(super) cites: bool,
}

/// The end of a note for a model that can ask for more.
fn read_with(tool: &str, id: &str) -> String {
    format!("{tool} reads it by its id, {}", tame(id))
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
    pub(super) fn say(&mut self, content: impl Into<Option<UserPart>>) {
        self.parts.extend(content.into());
    }

    /// Adds text of routing's own.
    pub(super) fn text(&mut self, text: &str) {
        self.hash = self.hash.text("text").text(text);
        self.say(UserPart::text(text));
    }

    /// Adds what stands for a document: label and content, the content alone, a note, or nothing.
    pub(super) fn document(
        &mut self,
        occurrence: &Occurrence<'_>,
        treatment: &Treatment,
        labelling: Labelling<'_>,
    ) {
        let document = occurrence.document;
        match &treatment.shown {
            Shown::Native(loaded) => {
                if labelling.native {
                    self.text(&labelling.label(document, None));
                }
                self.native(loaded, treatment.content_bytes());
            }
            Shown::Adapted { document: made, note, rest } => {
                if labelling.text {
                    self.text(&format!(
                        "{}\nShown in another form: {note}.",
                        labelling.label(document, None)
                    ));
                }
                self.native(made, content_bytes(made).map_or(0, <[u8]>::len) as u64);
                if let Some(rest) = rest {
                    self.fenced(document, rest, labelling);
                }
                if labelling.text {
                    self.more(document, labelling);
                }
            }
            Shown::Text(fenced) => {
                self.text(&labelling.label(document, None));
                self.fenced(document, fenced, labelling);
                if fenced.shown < fenced.total {
                    self.more(document, labelling);
                }
                self.not_opened(document, treatment.not_opened, labelling);
            }
            Shown::Pages { pieces, note, is_whole } => {
                if labelling.text {
                    let label = labelling.label(document, None);
                    self.text(&format!("{label}\nShown in another form: {note}."));
                }
                let mut is_cut = !is_whole;
                for piece in pieces {
                    match piece {
                        Piece::Text(fenced) => {
                            is_cut |= fenced.shown < fenced.total;
                            self.fenced(document, fenced, labelling);
                        }
                        Piece::Image { page, total, document: image } => {
                            if labelling.text {
                                self.text(&format!("[page {page} of {total}]"));
                            }
                            self.native(image, content_bytes(image).map_or(0, <[u8]>::len) as u64);
                        }
                    }
                }
                if labelling.text {
                    if is_cut {
                        self.more(document, labelling);
                    }
                    self.not_opened(document, treatment.not_opened, labelling);
                }
            }
            Shown::Note => {
                let label = labelling.label(document, treatment.reason.kind().status());
                let more = match (labelling.read_tool, treatment.reason.kind()) {
                    (
                        Some(tool),
                        ReasonKind::TooLarge
                        | ReasonKind::TooMany
                        | ReasonKind::RequestFull
                        | ReasonKind::OverBudget,
                    ) => format!("; {}", read_with(tool, labelling.short_id)),
                    _ => String::new(),
                };
                self.text(&format!("{label}\n{NOT_SHOWN}{}{more}.", treatment.reason));
            }
            Shown::Nothing => {}
        }
    }

    fn native(&mut self, document: &Document, size: u64) {
        let name = document.file_name().unwrap_or_default();
        self.hash = self.hash.text("document").text(document.id().as_str()).number(size);
        self.hash = self.hash.text(document.media_type().essence()).text(name);
        if let DocumentSource::External { url } = document.source() {
            self.hash = self.hash.text("url").text(url);
        }
        self.say(UserPart::Document(document.clone()));
    }

    /// Text of a document, in a fence; or as a document of its own where it is to be cited, which needs no fence.
    fn fenced(&mut self, document: &Document, fenced: &Fenced, labelling: Labelling<'_>) {
        self.hash = self.hash.text("fenced").number(fenced.hash);
        let inner = unfence(fenced.part.text()).filter(|inner| labelling.cites && !inner.trim().is_empty());
        let Some(inner) = inner else {
            self.say(UserPart::Text(fenced.part.clone()));
            return;
        };
        self.hash = self.hash.text("cited");
        if let Some(remarks) = remarks(fenced.part.text()) {
            self.text(&remarks);
        }
        let mut cited = Document::inline(inner).with_id(document.id().clone());
        if let Some(name) = document.file_name() {
            cited = cited.with_file_name(name);
        }
        self.say(UserPart::Document(cited.with_media_type("text/plain")));
    }

    /// Says how to read what is not shown.
    fn more(&mut self, document: &Document, labelling: Labelling<'_>) {
        if let Some(tool) = labelling.read_tool {
            let label = labelling.label(document, None);
            self.text(&format!("{label}\nNot all of it is shown; {}.", read_with(tool, labelling.short_id)));
        }
    }

    /// Says how many documents inside are left out.
    fn not_opened(&mut self, document: &Document, number: usize, labelling: Labelling<'_>) {
        if number > 0 {
            let label = labelling.label(document, None);
            self.text(&format!("{label}\n{number} more documents in it are not shown."));
        }
    }

    /// The parts and a stamp that is never 0.
    pub(super) fn routed(self) -> Routed {
        let stamp = self.hash.number(self.parts.len() as u64).finish().max(1);
        Routed::new(self.parts, stamp)
    }
}
