//! The cost of the pages of a file.
//!
//! The library builds a page for whatever a page tree names, and reads the tables of its resources (fonts, images)
//! anew for each, though a thousand pages may inherit or share the same. A megabyte can thus ask for gigabytes.

use std::collections::HashMap;

use hayro_syntax::object::{Array, Dict, FromBytes, MaybeRef, Object};
use memchr::memmem;

use super::object_number::object_number;
use crate::ConvertError;

/// Most entries of the page tree: each page costs about a kilobyte.
const MAX_PAGES: usize = 60_000;

/// Most resources that all pages name together: each costs up to 64 bytes.
const MAX_RESOURCES: usize = 2_000_000;

/// The tables of a resource dictionary.
const TABLES: [&str; 7] = ["ExtGState", "Font", "ColorSpace", "XObject", "Pattern", "Shading", "Properties"];

/// The parts of a file that were seen.
#[derive(Default)]
pub(super) struct Bill {
    /// Entries of page trees, where nodes hold them.
    kids: usize,
    /// The number of entries of the file's dictionaries, by their numbers.
    lengths: HashMap<u32, usize>,
    /// The same of dictionaries whose number cannot be known.
    hidden: usize,
    /// The lengths of lists, by their numbers, and the longest whose number cannot be known.
    lists: HashMap<u32, usize>,
    hidden_list: usize,
    /// Lists of kids that nodes refer to.
    lists_of_kids: Vec<u32>,
    /// Resources, by their numbers.
    numbered: HashMap<u32, Resources>,
    /// Resources without a number, once each.
    direct: Vec<Resources>,
    /// Where remarks are.
    code: Code,
    /// The number of references to resources by pages.
    uses: HashMap<u32, usize>,
    /// Resources that a node of a page tree hands down.
    inherited: Vec<Inherited>,
}

#[derive(Default, Clone)]
struct Resources {
    entries: usize,
    tables: Vec<u32>,
}

enum Inherited {
    Direct(Resources),
    Numbered(u32),
}

impl Bill {
    /// Takes a dictionary into account that stands in a place of the file, behind all that were taken before.
    pub(super) fn add(&mut self, dict: &Dict<'_>, file: &[u8], at: usize) {
        let before = file.get(..at).unwrap_or_default();
        let code = self.code.before(before);
        match object_number(before).or_else(|| object_number(code)) {
            Some(digits) => numbers(digits).for_each(|number| self.add_numbered(dict, Some(number))),
            None => {
                self.add_numbered(dict, None);
                let remark = before.get(code.len()..).unwrap_or_default();
                if code.ends_with(b"obj") || memmem::find(remark, b"obj").is_some() {
                    self.hidden = self.hidden.max(dict.len());
                }
            }
        }
        self.add_node(dict);
    }

    /// Takes the objects of an object stream into account.
    pub(super) fn add_objects(&mut self, data: &[u8], first: usize) {
        let (directory, objects) = data.split_at(first.min(data.len()));
        let mut numbers = directory
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .map(|word| std::str::from_utf8(word).ok().and_then(|word| word.parse::<u32>().ok()));
        while let (Some(Some(number)), Some(Some(offset))) = (numbers.next(), numbers.next()) {
            let object = objects.get(offset as usize..).unwrap_or_default().trim_ascii_start();
            if object.starts_with(b"<<")
                && let Some(dict) = Dict::from_bytes(object)
            {
                self.add_numbered(&dict, Some(number));
                self.add_node(&dict);
            } else if object.starts_with(b"[")
                && let Some(list) = Array::from_bytes(object)
            {
                self.add_numbered_list(&list, number);
            }
        }
    }

    fn add_numbered(&mut self, dict: &Dict<'_>, number: Option<u32>) {
        if let Some(number) = number {
            let length = self.lengths.entry(number).or_default();
            *length = (*length).max(dict.len());
        }
        if TABLES.iter().any(|table| dict.contains_key(table)) {
            let resources = Resources::of(dict);
            match number {
                Some(number) => {
                    let known = self.numbered.entry(number).or_default();
                    if known.entries + known.tables.len() <= resources.entries + resources.tables.len() {
                        *known = resources;
                    }
                }
                None => self.direct.push(resources),
            }
        }
    }

    fn add_node(&mut self, dict: &Dict<'_>) {
        let resources = dict.get_raw::<Object<'_>>("Resources");
        let is_node = match dict.get_raw::<Object<'_>>("Kids") {
            None => false,
            Some(MaybeRef::NotRef(Object::Array(kids))) => {
                self.kids += kids.raw_iter().count();
                true
            }
            Some(MaybeRef::Ref(kids)) => {
                self.lists_of_kids.push(kids.obj_number);
                true
            }
            Some(_) => false,
        };
        match resources {
            Some(MaybeRef::NotRef(Object::Dict(resources))) if is_node => {
                self.inherited.push(Inherited::Direct(Resources::of(&resources)));
            }
            Some(MaybeRef::Ref(reference)) => {
                let number = reference.obj_number;
                *self.uses.entry(number).or_default() += 1;
                if is_node {
                    self.inherited.push(Inherited::Numbered(number));
                }
            }
            _ => {}
        }
    }

    /// Takes a list into account that stands behind these bytes of the file, and may be one of kids.
    pub(super) fn add_list(&mut self, list: &Array<'_>, before: &[u8]) {
        match object_number(before) {
            Some(digits) => numbers(digits).for_each(|number| self.add_numbered_list(list, number)),
            None => self.hidden_list = self.hidden_list.max(list.raw_iter().count()),
        }
    }

    fn add_numbered_list(&mut self, list: &Array<'_>, number: u32) {
        let length = self.lists.entry(number).or_default();
        *length = (*length).max(list.raw_iter().count());
    }

    /// Fails if all of it together is too much.
    pub(super) fn check(&self) -> Result<(), ConvertError> {
        let list = |number| self.lists.get(number).copied().unwrap_or(0).max(self.hidden_list);
        let kids = self.lists_of_kids.iter().map(list).fold(self.kids, usize::saturating_add);
        if kids > MAX_PAGES {
            return Err(ConvertError::TooLarge { what: "pages", limit: MAX_PAGES });
        }
        let numbered = |number: u32| self.numbered.get(&number).map_or(0, |resources| self.size(resources));
        let once: usize = self.direct.iter().map(|resources| self.size(resources)).sum();
        let shared = self.uses.iter().map(|(number, times)| numbered(*number).saturating_mul(*times));
        let inherited = self.inherited.iter().map(|inherited| {
            let size = match inherited {
                Inherited::Direct(resources) => self.size(resources),
                Inherited::Numbered(number) => numbered(*number),
            };
            size.saturating_mul(kids)
        });
        let total = shared.chain(inherited).fold(once, usize::saturating_add);
        if total > MAX_RESOURCES {
            return Err(ConvertError::TooLarge {
                what: "fonts and images named by its pages",
                limit: MAX_RESOURCES,
            });
        }
        Ok(())
    }

    fn size(&self, resources: &Resources) -> usize {
        let table = |number| self.lengths.get(number).copied().unwrap_or(0).max(self.hidden);
        resources.tables.iter().map(table).fold(resources.entries, usize::saturating_add)
    }
}

impl Resources {
    fn of(dict: &Dict<'_>) -> Self {
        let mut found = Self::default();
        for table in TABLES {
            match dict.get_raw::<Object<'_>>(table) {
                Some(MaybeRef::NotRef(Object::Dict(table))) => found.entries += table.len(),
                Some(MaybeRef::Ref(table)) => {
                    found.tables.push(table.obj_number);
                }
                _ => {}
            }
        }
        found
    }
}

/// The numbers that these digits may be for references, which may leave out the first of them.
fn numbers(digits: &str) -> impl Iterator<Item = u32> {
    (0..digits.len()).filter_map(|skip| digits.get(skip..)?.parse().ok())
}

/// Where what is no remark ends, in a file that is read on and on.
#[derive(Default)]
struct Code {
    read: usize,
    end: usize,
    in_remark: bool,
}

impl Code {
    /// These bytes without the remarks and the space at their end.
    fn before<'f>(&mut self, bytes: &'f [u8]) -> &'f [u8] {
        for (at, byte) in bytes.iter().enumerate().skip(self.read) {
            match byte {
                b'\r' | b'\n' => self.in_remark = false,
                b'%' => self.in_remark = true,
                byte if !self.in_remark && !byte.is_ascii_whitespace() => self.end = at + 1,
                _ => {}
            }
        }
        self.read = bytes.len().max(self.read);
        bytes.get(..self.end).unwrap_or(bytes)
    }
}
