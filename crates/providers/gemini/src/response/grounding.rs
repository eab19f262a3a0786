//! The grounding of an answer, of which each event of a stream may bring a part (gemini.md 8).

use std::collections::{BTreeMap, HashSet};

use attache_transport::lenient::RawList;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// The list that supports point into by number.
const CHUNKS: &str = "groundingChunks";

/// A member of the object.
#[derive(Serialize)]
#[serde(untagged)]
enum Member<'a> {
    One(&'a RawValue),
    List(Vec<&'a RawValue>),
}

/// The objects of all events as one. Sources follow those of earlier events, and other lists have each item once. Of
/// other members the last one counts. A server that repeats everything adds nothing.
pub(super) fn merged(mut given: Vec<Box<RawValue>>) -> Option<Box<RawValue>> {
    if given.len() < 2 {
        return given.pop();
    }
    let mut members: BTreeMap<String, Member<'_>> = BTreeMap::new();
    let mut seen: HashSet<(String, &str)> = HashSet::new();
    for raw in &given {
        let object = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw.get()).unwrap_or_default();
        for (name, value) in object {
            match value.get().as_bytes().first() {
                Some(b'[') => {}
                Some(b'n') => continue,
                _ => {
                    members.insert(name, Member::One(value));
                    continue;
                }
            }
            let mut items = RawList::of(value).0;
            if name != CHUNKS {
                items.retain(|item| seen.insert((name.clone(), item.get())));
            }
            match members.get_mut(&name) {
                Some(Member::List(known)) if name == CHUNKS && begins_with(&items, known) => *known = items,
                Some(Member::List(known)) => known.extend(items),
                _ => drop(members.insert(name, Member::List(items))),
            }
        }
    }
    to_raw_value(&members).ok()
}

fn begins_with(list: &[&RawValue], start: &[&RawValue]) -> bool {
    list.len() >= start.len() && list.iter().zip(start).all(|(item, known)| item.get() == known.get())
}
