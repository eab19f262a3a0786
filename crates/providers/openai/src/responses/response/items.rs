//! The items of an answer while it is read: which of them an event is about.

use std::collections::BTreeMap;

use attache_core::assembler::ToolCallAssembler;
use serde_json::value::RawValue;

use super::item::{Field, Item};
use super::wire;
use crate::error::{Result, too_many};

/// The maximum number of items of an answer.
pub(crate) const MAX_ITEMS: usize = 4096;

/// Where a piece belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The item's index. Some servers leave it out, others give every item the same.
    pub(crate) index: Option<u64>,
    /// The item's id. Some servers change it on the way, others give every item the same.
    pub(crate) id: Option<&'a str>,
    /// The part of its content, or of its summary.
    pub(crate) part: u64,
}

impl Place<'_> {
    /// True if it is said to be in this item.
    pub(crate) fn is_of(&self, item: &Item) -> bool {
        self.has_id_of(item) || self.has_index_of(item)
    }

    fn has_id_of(&self, item: &Item) -> bool {
        self.id.is_some() && item.id.as_deref() == self.id
    }

    fn has_index_of(&self, item: &Item) -> bool {
        self.index.is_some() && item.index == self.index
    }
}

/// The items, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(crate) list: Vec<Item>,
    pub(crate) calls: ToolCallAssembler,
    /// The item that was written to last.
    pub(crate) last: usize,
    /// The last item of each index.
    by_index: BTreeMap<u64, usize>,
}

impl Items {
    /// Which of the items of the final output are known: those of the same id, those that read the same as far as they
    /// came or, since ids may differ, the next of the same kind.
    pub(crate) fn identify(&self, items: &[(&RawValue, wire::Item<'_>)]) -> Vec<Option<usize>> {
        type Sign<'s> = &'s dyn Fn(usize, &Item, &wire::Item<'_>) -> bool;
        let mut known = vec![None; items.len()];
        let mut taken = vec![false; self.list.len()];
        let mut find = |sign: Sign<'_>| {
            for (slot, (_, wire)) in known.iter_mut().zip(items).filter(|(slot, _)| slot.is_none()) {
                let mut all = self.list.iter().zip(&mut taken).enumerate();
                if let Some((at, (_, taken))) =
                    all.find(|(at, (item, taken))| !**taken && sign(*at, item, wire))
                {
                    *taken = true;
                    *slot = Some(at);
                }
            }
        };
        find(&|at, item, wire| item.is_identified_by(wire) && self.fits(at, item, wire));
        find(&|_, item, wire| item.is_identified_by(wire));
        find(&|at, item, wire| self.says(at, item) && self.fits(at, item, wire));
        find(&|_, item, wire| item.may_be(wire.kind()));
        known
    }

    /// The item of a piece.
    pub(crate) fn at(&mut self, place: Place<'_>, field: Field) -> Result<usize> {
        // Nearly always the last one.
        if let Some(item) = self.list.get(self.last)
            && place.index.is_some()
            && item.index == place.index
            && (place.id.is_none() || item.id.as_deref() == place.id)
            && item.takes(field)
        {
            return Ok(self.last);
        }
        let known = self.written(place, field);
        let at = known.map_or_else(|| self.open(place.index, place.id), Ok)?;
        self.last = at;
        Ok(at)
    }

    /// The item that a piece may be of, by the most reliable sign first.
    fn written(&self, place: Place<'_>, field: Field) -> Option<usize> {
        let find =
            |sign: &dyn Fn(&Item) -> bool| self.list.iter().rposition(|item| item.takes(field) && sign(item));
        // A piece without an index, of an id that is unknown: that of an item which was begun was changed.
        let is_open = |item: &Item| {
            item.done.is_none() && (place.id.is_none() || !item.kind.is_empty() || item.id.is_none())
        };
        // Pieces of many items may come in turns.
        let at = place.index.and_then(|index| self.by_index.get(&index).copied());
        let is_it = |item: &Item| {
            place.has_index_of(item) && (place.id.is_none() || place.has_id_of(item)) && item.takes(field)
        };
        at.filter(|at| self.list.get(*at).is_some_and(is_it))
            .or_else(|| find(&|item| place.has_id_of(item) && place.has_index_of(item)))
            .or_else(|| find(&|item| place.has_id_of(item) && item.done.is_none()))
            .or_else(|| find(&|item| place.has_index_of(item)))
            .or_else(|| find(&is_open).filter(|_| place.index.is_none()))
    }

    /// The item that is begun now, where pieces opened it before or it is begun once more.
    pub(crate) fn begun(&self, index: Option<u64>, id: Option<&str>, wire: &wire::Item<'_>) -> Option<usize> {
        let call = wire.call_id.get();
        self.list.iter().rposition(|item| {
            let same_id = item.id.is_none() || id.is_none() || item.id.as_deref() == id;
            let opened = item.kind.is_empty() && item.may_be(wire.kind()) && item.index == index && same_id;
            opened || item.done.is_none() && call.is_some() && item.called.id.as_deref() == call
        })
    }

    /// The item of something that is whole now, among those that `reads` finds it in, by the most reliable sign first.
    /// Indexes of such events may differ from those of the pieces.
    pub(crate) fn said(&self, place: Place<'_>, reads: impl Fn(usize, &Item) -> bool) -> Option<usize> {
        let find = |sign: &dyn Fn(&Item) -> bool| {
            let mut items = self.list.iter().enumerate().rev();
            items.find(|(at, item)| sign(item) && reads(*at, item)).map(|(at, _)| at)
        };
        find(&|item| place.has_id_of(item) && place.has_index_of(item))
            .or_else(|| find(&|item| place.has_id_of(item)))
            .or_else(|| find(&|item| place.has_index_of(item)))
            .or_else(|| find(&|_| true))
    }

    /// The item that is complete now, where it reads the same as far as it came.
    pub(crate) fn ended(&self, place: Place<'_>, wire: &wire::Item<'_>) -> Option<usize> {
        self.said(place, |at, item| {
            item.done.is_none()
                && (item.is_identified_by(wire) || place.is_of(item) || self.says(at, item))
                && self.fits(at, item, wire)
        })
    }

    /// The item that is complete now by its id or index, whatever it says.
    pub(crate) fn ended_somewhere(&self, place: Place<'_>, wire: &wire::Item<'_>) -> Option<usize> {
        let is_open = |item: &Item| item.done.is_none() && item.may_be(wire.kind());
        let find =
            |sign: &dyn Fn(&Item) -> bool| self.list.iter().rposition(|item| is_open(item) && sign(item));
        let by_id = |item: &Item| item.is_identified_by(wire) || place.has_id_of(item);
        find(&|item| by_id(item) && place.has_index_of(item))
            .or_else(|| find(&by_id))
            .or_else(|| find(&|item| place.has_index_of(item)))
            .or_else(|| find(&|_| true).filter(|_| place.index.is_none()))
    }

    /// True if an item that is complete comes once more as it was.
    pub(crate) fn is_repeated(&self, wire: &wire::Item<'_>, raw: &RawValue) -> bool {
        let same = |item: &Item| item.done.as_deref().is_some_and(|done| done.get() == raw.get());
        wire.id.get().or(wire.call_id.get()).is_some() && self.list.iter().any(same)
    }

    /// The same in other words.
    pub(crate) fn is_said_again(&self, wire: &wire::Item<'_>) -> bool {
        self.list.iter().enumerate().any(|(at, item)| {
            item.done.is_some()
                && item.is_identified_by(wire)
                && self.says(at, item)
                && self.fits(at, item, wire)
        })
    }

    /// True if the pieces of an item are in a whole one.
    pub(crate) fn fits(&self, at: usize, item: &Item, wire: &wire::Item<'_>) -> bool {
        let same =
            |known: Option<&str>, given: Option<&str>| known.is_none() || given.is_none() || known == given;
        item.may_be(wire.kind())
            && if item.is_call {
                same(item.called.id.as_deref(), wire.call_id.get())
                    && same(item.called.name.as_deref(), wire.name.get())
                    && self.begins(at, &wire.given())
            } else {
                item.fits(wire)
            }
    }

    /// True if anything came of an item that tells it from others.
    pub(crate) fn says(&self, at: usize, item: &Item) -> bool {
        item.has_texts()
            || item.called.id.is_some()
            || self.calls.arguments_of(at as u64).is_some_and(|own| !own.is_empty())
    }

    /// True if the arguments of a call so far are the beginning of `whole`.
    pub(crate) fn begins(&self, at: usize, whole: &str) -> bool {
        whole.starts_with(self.calls.arguments_of(at as u64).unwrap_or_default())
    }

    pub(crate) fn open(&mut self, index: Option<u64>, id: Option<&str>) -> Result<usize> {
        if self.list.len() >= MAX_ITEMS {
            return Err(too_many("items"));
        }
        let at = self.list.len();
        self.list.push(Item::new(index, id));
        self.by_index.extend(index.map(|index| (index, at)));
        Ok(at)
    }
}

impl Item {
    /// True if both have the same id, or are the same call.
    fn is_identified_by(&self, wire: &wire::Item<'_>) -> bool {
        let same = |known: &Option<String>, given: Option<&str>| given.is_some() && known.as_deref() == given;
        self.may_be(wire.kind())
            && (same(&self.id, wire.id.get()) || same(&self.called.id, wire.call_id.get()))
    }
}
