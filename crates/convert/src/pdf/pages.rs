//! The pages of a document with their numbers.
//!
//! The library leaves pages out that it cannot read, so that the page tree is walked once more, as it does,
//! to see where they stood.

use std::collections::HashMap;

use hayro_syntax::Pdf;
use hayro_syntax::object::array::ArrayIter;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier};

use super::values::is_whole;
use crate::ConvertError;
use crate::guarded::Clock;

/// Counts beyond this are no counts of pages: there are not as many dictionaries in a file.
const MAX_COUNT: usize = 250_000;

/// The pages of a document in order.
pub(crate) struct Numbered {
    stretches: Vec<Stretch>,
    /// The number of pages, those that cannot be read included.
    pub(crate) total: usize,
    /// True if the page tree cannot be followed, so that the pages stand in the order in which they were found.
    pub(super) guessed: bool,
}

#[derive(Debug, Clone, Copy)]
enum Stretch {
    /// A page of the library's list.
    Page(usize),
    /// So many pages that cannot be read.
    Lost(usize),
}

impl Numbered {
    /// The places of the pages in the library's list, `None` for those that are not there.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Option<usize>> {
        self.stretches.iter().flat_map(|stretch| match *stretch {
            Stretch::Page(index) => std::iter::repeat_n(Some(index), 1),
            Stretch::Lost(count) => std::iter::repeat_n(None, count),
        })
    }
}

/// Numbers the pages of a document.
pub(super) fn number(pdf: &Pdf, clock: Clock) -> Result<Numbered, ConvertError> {
    let found = pdf.pages().len();
    if let Some(walk) = Walk::through(pdf, clock)?
        && walk.found == found
    {
        return Ok(Numbered { stretches: walk.stretches, total: walk.total, guessed: false });
    }
    Ok(Numbered { stretches: (0..found).map(Stretch::Page).collect(), total: found, guessed: true })
}

#[derive(Default)]
struct Walk {
    stretches: Vec<Stretch>,
    total: usize,
    /// The number of pages of the library's list that came by.
    found: usize,
    /// The objects that came by, with the place of those that are pages.
    seen: HashMap<ObjectIdentifier, Option<usize>>,
}

/// A node of the page tree.
struct Node<'a> {
    kids: ArrayIter<'a>,
    /// True if the list of kids goes on where it cannot be read any more.
    goes_on: bool,
    /// The number of pages that it says are below it.
    count: Option<usize>,
    /// The number of pages that came by before it.
    before: usize,
    /// The first stretch of pages below it whose length is not known.
    unknown: Option<usize>,
}

impl Walk {
    /// Walks through the page tree; `None` if it is not the one that the library went through.
    fn through(pdf: &Pdf, clock: Clock) -> Result<Option<Self>, ConvertError> {
        let xref = pdf.xref();
        let root = xref.get::<Dict<'_>>(xref.root_id()).and_then(|catalog| catalog.get::<Dict<'_>>("Pages"));
        let mut walk = Self::default();
        let Some(root) = root else { return Ok(None) };
        walk.seen.extend(root.obj_id().map(|id| (id, None)));
        let Some(root) = walk.node(&root) else { return Ok(None) };
        let mut nodes = vec![root];
        while let Some(node) = nodes.last_mut() {
            clock.check()?;
            let dict = match node.kids.next() {
                None if node.goes_on => {
                    node.goes_on = false;
                    None
                }
                None => {
                    walk.leave(node);
                    nodes.pop();
                    continue;
                }
                Some(MaybeRef::Ref(id)) => {
                    let id = id.into();
                    if let Some(place) = walk.seen.get(&id) {
                        // The library reads a page once; a node that comes again runs in a circle.
                        if let Some(place) = *place {
                            walk.add(Stretch::Page(place), 1);
                        }
                        continue;
                    }
                    let dict = xref.get::<Dict<'_>>(id);
                    if dict.is_some() {
                        walk.seen.insert(id, None);
                    }
                    dict
                }
                Some(MaybeRef::NotRef(object)) => object.into_dict(),
            };
            let Some(dict) = dict else {
                walk.lose(None, node);
                continue;
            };
            if dict.get::<Name<'_>>("Type").is_some_and(|name| name.as_ref() == b"Pages") {
                match walk.node(&dict) {
                    Some(below) => nodes.push(below),
                    None => walk.lose(count(&dict), node),
                }
                continue;
            }
            let place = walk.found;
            if pdf.pages().get(place).is_none_or(|page| page.raw().obj_id() != dict.obj_id()) {
                return Ok(None);
            }
            walk.found += 1;
            if dict.contains_key("Kids") {
                // A node that the library takes for a page, as its type is not to be read.
                walk.lose(count(&dict), node);
                continue;
            }
            if let Some(id) = dict.obj_id() {
                walk.seen.insert(id, Some(place));
            }
            walk.add(Stretch::Page(place), 1);
        }
        Ok(Some(walk))
    }

    fn node<'a>(&self, dict: &Dict<'a>) -> Option<Node<'a>> {
        let kids = dict.get::<Array<'a>>("Kids")?;
        Some(Node {
            goes_on: !is_whole(&kids),
            kids: kids.raw_iter(),
            count: count(dict),
            before: self.total,
            unknown: None,
        })
    }

    fn add(&mut self, stretch: Stretch, pages: usize) {
        self.stretches.push(stretch);
        self.total += pages;
    }

    /// Adds pages that cannot be read, as many as are known to be: at least one, if that is not known.
    fn lose(&mut self, known: Option<usize>, below: &mut Node<'_>) {
        if known.is_none() {
            below.unknown.get_or_insert(self.stretches.len());
        }
        let pages = known.unwrap_or(1);
        self.add(Stretch::Lost(pages), pages);
    }

    /// Leaves a node: what it counts and did not come by was lost.
    fn leave(&mut self, node: &Node<'_>) {
        let came_by = self.total - node.before;
        let missing = node.count.unwrap_or(0).saturating_sub(came_by);
        if let Some(Stretch::Lost(pages)) = node.unknown.and_then(|at| self.stretches.get_mut(at)) {
            *pages += missing;
            self.total += missing;
        }
    }
}

/// The number of pages that a node says are below it.
fn count(dict: &Dict<'_>) -> Option<usize> {
    let Some(Object::Number(count)) = dict.get::<Object<'_>>("Count") else { return None };
    usize::try_from(count.as_i64()).ok().filter(|count| *count <= MAX_COUNT)
}
