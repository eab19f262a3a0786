//! Finds identifiers in texts: letter by letter, or with other blanks, hyphens and case.

use std::cell::OnceCell;

use attache_core::citation::{Citation, How, Span};
use memchr::memmem::Finder;

use crate::index::Text;
use crate::search::{is_whole, places};

/// The maximum number of places of one name that are looked at where other forms of it may stand.
const MAX_FORMS: usize = 256;
/// The shortest name that may stand in another form.
const SHORTEST: usize = 4;

/// Texts in which names are looked for.
pub(crate) struct Names<'t> {
    pub(crate) texts: &'t [Text<'t>],
    bare: OnceCell<Vec<Bare>>,
}

/// A text without case, blanks and hyphens, and where each of its bytes comes from.
struct Bare {
    text: String,
    starts: Vec<u32>,
}

impl<'t> Names<'t> {
    pub(crate) fn new(texts: &'t [Text<'t>]) -> Self {
        Self { texts, bare: OnceCell::new() }
    }

    /// The first place of a name.
    pub(crate) fn find(&self, name: &str) -> Option<Citation> {
        let exact = self.texts.iter().find_map(|text| {
            let (start, end) = places(name, text.text).first().copied()?;
            Some(cite(text, start, end, How::Exact))
        });
        exact.or_else(|| {
            let name = Bare::of(name).text;
            if name.len() < SHORTEST {
                return None;
            }
            let bare = self.bare.get_or_init(|| self.texts.iter().map(|text| Bare::of(text.text)).collect());
            let finder = Finder::new(&name);
            self.texts.iter().zip(bare).find_map(|(text, bare)| {
                let mut found = finder.find_iter(bare.text.as_bytes()).take(MAX_FORMS);
                found.find_map(|at| {
                    let start = usize::try_from(*bare.starts.get(at)?).ok()?;
                    let last = usize::try_from(*bare.starts.get(at + name.len() - 1)?).ok()?;
                    let end = text.text.ceil_char_boundary(last + 1);
                    is_whole(text.text, start, end).then(|| cite(text, start, end, How::Normalised))
                })
            })
        })
    }
}

impl Bare {
    fn of(text: &str) -> Self {
        let mut bare = Self { text: String::new(), starts: Vec::new() };
        for (at, char) in text.char_indices() {
            if char.is_whitespace() || matches!(char, '-' | '‐' | '‑' | '–' | '/' | '_') {
                continue;
            }
            let Ok(start) = u32::try_from(at) else { break };
            bare.text.extend(char.to_lowercase());
            bare.starts.resize(bare.text.len(), start);
        }
        bare
    }
}

fn cite(text: &Text<'_>, start: usize, end: usize, how: How) -> Citation {
    Citation::new(text.source.clone(), how)
        .with_quote(text.text.get(start..end))
        .with_place(text.layout.place(text.text, start, end))
        .with_document_span(Span::new(start, end))
}
