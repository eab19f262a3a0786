//! The numbers of lists and clauses, counted as Word does.

use std::collections::{HashMap, HashSet};

use crate::ConvertError;
use crate::numeral::numeral;
use crate::ooxml::{Package, References, of_kind};
use crate::xml::{Node, Stop, Xml};

/// Lists that are kept.
const MAX_LISTS: usize = 20_000;

/// Levels of a list.
const LEVELS: usize = 9;

/// Longest label, in characters.
const MAX_LABEL: usize = 40;

/// The lists of a document, and how far they are counted.
#[derive(Default)]
pub(super) struct Numbering {
    kinds: HashMap<String, Vec<Level>>,
    lists: HashMap<String, List>,
    counters: HashMap<String, [Option<u32>; LEVELS]>,
    restarted: HashSet<(String, usize)>,
}

#[derive(Clone, Default)]
struct Level {
    start: u32,
    format: String,
    text: String,
    style: Option<String>,
}

#[derive(Default)]
struct List {
    kind: String,
    starts: HashMap<usize, u32>,
}

impl Numbering {
    pub(super) fn read(package: &Package<'_>, references: &References) -> Result<Self, ConvertError> {
        let mut numbering = Self::default();
        for name in of_kind(references, "numbering") {
            let Some(Ok(mut xml)) = package.xml(name) else { continue };
            match numbering.add(&mut xml) {
                Err(Stop::Over(error)) => return Err(error),
                Ok(()) | Err(Stop::Damaged) => {}
            }
        }
        Ok(numbering)
    }

    fn add(&mut self, xml: &mut Xml<'_>) -> Result<(), Stop> {
        let (mut kind, mut levels) = (None, Vec::new());
        let (mut id, mut list) = (None, List::default());
        let mut overridden = None;
        loop {
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "abstractNum" => (kind, levels) = (tag.attr("abstractNumId"), Vec::new()),
                    "lvl" if kind.is_some() && levels.len() < LEVELS => {
                        levels.push(Level { start: 1, ..Level::default() });
                    }
                    "start" => set(&mut levels, |level| level.start = tag.number("val").unwrap_or(1)),
                    "numFmt" => set(&mut levels, |level| level.format = tag.attr("val").unwrap_or_default()),
                    "lvlText" => set(&mut levels, |level| level.text = tag.attr("val").unwrap_or_default()),
                    "pStyle" => set(&mut levels, |level| level.style = tag.attr("val")),
                    "num" => (id, list) = (tag.attr("numId"), List::default()),
                    "abstractNumId" => list.kind = tag.attr("val").unwrap_or_default(),
                    "lvlOverride" => overridden = tag.number::<usize>("ilvl"),
                    "startOverride" => {
                        if let Some(level) = overridden.filter(|level| *level < LEVELS) {
                            list.starts.insert(level, tag.number("val").unwrap_or(1));
                        }
                    }
                    _ => {}
                },
                Node::Close(name) => match &*name {
                    "abstractNum" => {
                        if let Some(kind) = kind.take().filter(|_| self.kinds.len() < MAX_LISTS) {
                            self.kinds.insert(kind, std::mem::take(&mut levels));
                        }
                    }
                    "num" => {
                        if let Some(id) = id.take().filter(|_| self.lists.len() < MAX_LISTS) {
                            self.lists.insert(id, std::mem::take(&mut list));
                        }
                    }
                    "lvlOverride" => overridden = None,
                    _ => {}
                },
                Node::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// The level of a list that belongs to a style.
    pub(super) fn level_of(&self, list: &str, style: &str) -> Option<usize> {
        let levels = self.kinds.get(&self.lists.get(list)?.kind)?;
        levels.iter().position(|level| level.style.as_deref() == Some(style))
    }

    /// The label of the next paragraph of a list at this level, such as `2.1`; `-` for bullets.
    pub(super) fn next(&mut self, list: &str, level: usize) -> String {
        let level = level.min(LEVELS - 1);
        let Some(found) = self.lists.get(list) else { return "-".to_owned() };
        let Some(levels) = self.kinds.get(&found.kind).filter(|levels| !levels.is_empty()) else {
            return "-".to_owned();
        };
        let start = |at: usize| levels.get(at).map_or(1, |level| level.start);
        let counters = self.counters.entry(found.kind.clone()).or_default();
        if let Some(first) = found.starts.get(&level)
            && self.restarted.len() < MAX_LISTS
            && self.restarted.insert((list.to_owned(), level))
        {
            // The next item is one more; before zero nothing is counted.
            if let Some(counter) = counters.get_mut(level) {
                *counter = first.checked_sub(1);
            }
        }
        for (at, counter) in counters.iter_mut().enumerate() {
            if at < level {
                counter.get_or_insert(start(at));
            } else if at == level {
                *counter = Some(counter.map_or(start(at), |count| count.saturating_add(1)));
            } else {
                *counter = None;
            }
        }
        let Some(this) = levels.get(level) else { return "-".to_owned() };
        if this.format == "bullet" {
            return "-".to_owned();
        }
        let mut label = String::new();
        let mut characters = this.text.chars().peekable();
        while let Some(c) = characters.next() {
            let digit = (c == '%').then(|| characters.peek().and_then(|c| c.to_digit(10))).flatten();
            match digit.and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1)) {
                Some(at) if at < LEVELS => {
                    characters.next();
                    let format = levels.get(at).map_or("decimal", |level| level.format.as_str());
                    let count = counters.get(at).copied().flatten().unwrap_or_else(|| start(at));
                    label.push_str(&numeral(count, format));
                }
                _ => label.push(c),
            }
        }
        label.trim().chars().filter(|c| !c.is_control()).take(MAX_LABEL).collect()
    }
}

fn set(levels: &mut [Level], change: impl FnOnce(&mut Level)) {
    if let Some(level) = levels.last_mut() {
        change(level);
    }
}
