//! Which handles stand for the same document.

use std::collections::HashMap;

use attache_core::{Document, DocumentId};

use crate::materials::Materials;
use crate::materials::key::{Digest, Print};

/// Numbers for documents: those of one id and one content are the same.
///
/// Ids come from tools too, and a tool may give the next version of a document the id of the last. The content is
/// what is in memory, or was loaded; contents that nobody has seen count as one. A content is hashed only where its id
/// comes again with another piece of memory.
#[derive(Default)]
pub(crate) struct Identities<'m> {
    by_id: HashMap<&'m DocumentId, Versions<'m>>,
    count: usize,
}

/// The documents of one id.
struct Versions<'m> {
    first: (Print<'m>, usize),
    /// All of them, once there may be more than one.
    by_content: Option<HashMap<Option<Digest>, usize>>,
}

impl<'m> Identities<'m> {
    pub(crate) fn of(&mut self, document: &'m Document, materials: &'m Materials) -> usize {
        let Self { by_id, count } = self;
        let print = materials.print(document);
        let mut next = || {
            *count += 1;
            *count - 1
        };
        let versions = by_id
            .entry(document.id())
            .or_insert_with(|| Versions { first: (print, next()), by_content: None });
        let (first, number) = versions.first;
        if first.is_surely(&print) {
            return number;
        }
        let by_content = versions.by_content.get_or_insert_with(|| HashMap::from([(first.digest(), number)]));
        *by_content.entry(print.digest()).or_insert_with(next)
    }
}
