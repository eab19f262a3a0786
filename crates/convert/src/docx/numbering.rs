//! The numbers of lists and clauses, counted as Word does.

use std::collections::{HashMap, HashSet};

use crate::ConvertError;
use crate::numeral::numeral;
use crate::ooxml::{Package, References, of_kind};
use crate::xml::{Node, Stop, Xml, whole};

/// Lists that are kept.
pub(crate) const MAX_LISTS: usize = 20_000;

/// Levels of a list.
pub(crate) const LEVELS: usize = 9;

/// Longest label, in characters.
const MAX_LABEL: usize = 40;

/// The lists of a document, and how far they are counted.
#[derive(Default)]
pub(crate) struct Numbering {
    kinds: HashMap<String, Levels>,
    lists: HashMap<String, List>,
    counters: HashMap<String, [Option<u32>; LEVELS]>,
    restarted: HashSet<(String, usize)>,
}

/// The levels of a kind of lists, or those of a list that are its own.
pub(crate) type Levels = Vec<Option<Level>>;

#[derive(Default)]
pub(crate) struct Level {
    pub(crate) start: u32,
    pub(crate) format: String,
    pub(crate) text: String,
    pub(crate) style: Option<String>,
    /// True if its label has figures for all numbers, as in `1.01` below `Article I`.
    pub(crate) legal: bool,
    /// It begins anew behind an item of any of so many levels; of all above it if it does not say so.
    pub(crate) restart: Option<usize>,
}

#[derive(Default)]
pub(crate) struct List {
    pub(crate) kind: String,
    pub(crate) starts: HashMap<usize, u32>,
    pub(crate) levels: Levels,
}

impl Numbering {
    /// The numbering of these lists, and of their kinds.
    #[cfg(feature = "legacy")]
    pub(crate) fn new(kinds: HashMap<String, Levels>, lists: HashMap<String, List>) -> Self {
        Self { kinds, lists, ..Self::default() }
    }

    /// True if there is such a list.
    #[cfg(feature = "legacy")]
    pub(crate) fn has(&self, list: &str) -> bool {
        self.lists.contains_key(list)
    }

    pub(super) fn read(package: &Package<'_>, references: &References) -> Result<Self, ConvertError> {
        let mut numbering = Self::default();
        for name in of_kind(references, "numbering") {
            let Some(Ok(mut xml)) = package.xml(name) else { continue };
            whole(numbering.add(&mut xml))?;
        }
        Ok(numbering)
    }

    fn add(&mut self, xml: &mut Xml<'_>) -> Result<(), Stop> {
        let (mut kind, mut levels) = (None, Levels::new());
        let (mut id, mut list) = (None, List::default());
        let (mut at, mut level) = (0, Level::default());
        // Kinds that have the levels of a style, and the kinds by whose levels styles are made.
        let (mut linked, mut styles) = (HashMap::new(), HashMap::new());
        loop {
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "abstractNum" => (kind, levels) = (tag.attr("abstractNumId"), Levels::new()),
                    "lvl" => {
                        at = tag.number("ilvl").unwrap_or(levels.len());
                        level = Level { start: 1, ..Level::default() };
                    }
                    "start" => level.start = tag.number("val").unwrap_or(1),
                    "numFmt" => level.format = tag.attr("val").unwrap_or_default(),
                    "lvlText" => level.text = tag.attr("val").unwrap_or_default(),
                    "pStyle" => level.style = tag.attr("val"),
                    "isLgl" => level.legal = tag.is_not_off("val"),
                    "lvlRestart" => level.restart = tag.number("val"),
                    link @ ("numStyleLink" | "styleLink") => {
                        let (kind, style) = (kind.clone(), tag.attr("val"));
                        match kind.zip(style).filter(|_| styles.len() + linked.len() < MAX_LISTS) {
                            Some((kind, style)) if link == "styleLink" => _ = styles.insert(style, kind),
                            Some((kind, style)) => _ = linked.insert(kind, style),
                            None => {}
                        }
                    }
                    "num" => (id, list) = (tag.attr("numId"), List::default()),
                    "abstractNumId" => list.kind = tag.attr("val").unwrap_or_default(),
                    "lvlOverride" => at = tag.number("ilvl").unwrap_or(LEVELS),
                    "startOverride" if at < LEVELS => {
                        list.starts.insert(at, tag.number("val").unwrap_or(1));
                    }
                    _ => {}
                },
                Node::Close(name) => match &*name {
                    "lvl" if at < LEVELS => {
                        let own = if kind.is_some() { &mut levels } else { &mut list.levels };
                        own.resize_with(own.len().max(at + 1), || None);
                        if let Some(place) = own.get_mut(at) {
                            *place = Some(std::mem::take(&mut level));
                        }
                    }
                    "abstractNum" => {
                        if let Some(kind) = kind.take().filter(|_| self.kinds.len() < MAX_LISTS) {
                            self.kinds.insert(kind, std::mem::take(&mut levels));
                        }
                    }
                    "num" => {
                        let style = linked.get(&list.kind).and_then(|style| styles.get(style));
                        if let Some(kind) = style {
                            list.kind.clone_from(kind);
                        }
                        if let Some(id) = id.take().filter(|_| self.lists.len() < MAX_LISTS) {
                            self.lists.insert(id, std::mem::take(&mut list));
                        }
                    }
                    _ => {}
                },
                Node::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// Forgets how far the lists are counted.
    pub(super) fn restart(&mut self) {
        self.counters.clear();
        self.restarted.clear();
    }

    /// The level of a list that belongs to a style.
    pub(super) fn level_of(&self, list: &str, style: &str) -> Option<usize> {
        let levels = self.kinds.get(&self.lists.get(list)?.kind)?;
        levels.iter().position(|level| level.as_ref().and_then(|level| level.style.as_deref()) == Some(style))
    }

    /// The label of the next paragraph of a list at this level, such as `2.1`; `-` for bullets.
    pub(crate) fn next(&mut self, list: &str, level: usize) -> String {
        let level = level.min(LEVELS - 1);
        let Some(found) = self.lists.get(list) else { return "-".to_owned() };
        let levels = self.kinds.get(&found.kind);
        let level_at = |at: usize| {
            let own = found.levels.get(at).and_then(Option::as_ref);
            own.or_else(|| levels?.get(at)?.as_ref())
        };
        let start = |at: usize| level_at(at).map_or(1, |level| level.start);
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
            } else if level < level_at(at).and_then(|level| level.restart).unwrap_or(at) {
                *counter = None;
            }
        }
        let Some(this) = level_at(level) else { return "-".to_owned() };
        if this.format == "bullet" {
            return "-".to_owned();
        }
        let mut label = String::new();
        let mut characters = this.text.chars().take(4 * MAX_LABEL).peekable();
        while let Some(c) = characters.next() {
            let digit = (c == '%').then(|| characters.peek().and_then(|c| c.to_digit(10))).flatten();
            match digit.and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1)) {
                Some(at) if at < LEVELS => {
                    characters.next();
                    let format = level_at(at).map_or("decimal", |level| level.format.as_str());
                    let is_plain = matches!(format, "decimalZero" | "none");
                    let format = if this.legal && !is_plain { "decimal" } else { format };
                    let count = counters.get(at).copied().flatten().unwrap_or_else(|| start(at));
                    label.push_str(&numeral(count, format));
                }
                _ => label.push(c),
            }
        }
        label.trim().chars().filter(|c| !c.is_control()).take(MAX_LABEL).collect()
    }
}
