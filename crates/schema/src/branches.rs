//! Unions: which branch a value is meant for, and what is wrong with it where it fits none.

use std::rc::Rc;

use serde_json::Value;

use super::check::{Check, Found, Judged, Seen};
use super::path::Path;
use super::rules::{Id, Kinds, Rules};
use super::schema::Schema;
use super::values::{glances, same};
use super::violation::Violation;
use super::words::{listed, shown};

/// References that are followed to see what a branch is.
const MAX_HOPS: usize = 8;
/// The beginning of the problem of a value that fits no branch.
const NONE: &str = "fits none of the forms that are allowed";

impl Schema {
    /// A schema and those that it refers to.
    fn with_references(&self, id: Id) -> impl Iterator<Item = &Rules> {
        let next = |rules: &&Rules| self.rules(rules.reference?);
        std::iter::successors(self.rules(id), next).take(MAX_HOPS)
    }

    /// A tag of the branch, a property of one value, that `value` has otherwise: the branch is not meant.
    pub(crate) fn other_tag(&self, branch: Id, value: &Value) -> Option<(&str, &Value)> {
        let object = value.as_object()?;
        let tags = self.with_references(branch).filter_map(|rules| rules.object.as_deref());
        let mut tags = tags.flat_map(|object| &object.tags);
        let (name, only) =
            tags.find(|(name, only)| object.get(name).is_some_and(|given| !same(given, only)))?;
        Some((name, only))
    }

    /// The steps that asking for another tag costs.
    pub(crate) fn cost_of_tags(&self, branch: Id) -> u64 {
        let tags = self.with_references(branch).filter_map(|rules| rules.object.as_deref());
        1 + glances(4 * tags.map(|object| object.tags.len()).sum::<usize>())
    }

    /// The types that a branch takes, as far as it says.
    pub(crate) fn kinds_of(&self, branch: Id) -> Kinds {
        let mut kinds = self.with_references(branch).map(|rules| rules.kinds);
        kinds.find(|kinds| !kinds.is_empty()).unwrap_or_default()
    }
}

impl Check<'_> {
    pub(crate) fn any_of(
        &mut self,
        branches: &[Id],
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        let (mut failures, mut fits) = (Vec::new(), false);
        for branch in branches {
            if self.is_of_another_tag(*branch, value) {
                continue;
            }
            let judged = self.apart(*branch, value, path);
            if judged.fits() {
                fits = true;
                self.add(seen, judged.seen.clone());
                if !self.schema.tracks {
                    return;
                }
            }
            failures.push((*branch, judged));
        }
        if !fits {
            self.none_fits(branches, &failures, value, path, found);
        }
    }

    /// True if a tag of the value says that it is meant for another branch.
    fn is_of_another_tag(&mut self, branch: Id, value: &Value) -> bool {
        self.spend(self.schema.cost_of_tags(branch)) && self.schema.other_tag(branch, value).is_some()
    }

    pub(crate) fn one_of(
        &mut self,
        branches: &[Id],
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        let (mut failures, mut fitting) = (Vec::new(), 0_usize);
        for branch in branches {
            if self.is_of_another_tag(*branch, value) {
                continue;
            }
            let judged = self.apart(*branch, value, path);
            if judged.fits() {
                fitting += 1;
                self.add(seen, judged.seen.clone());
            }
            failures.push((*branch, judged));
        }
        match fitting {
            0 => self.none_fits(branches, &failures, value, path, found),
            1 => {}
            _ => self.report(found, path, || {
                format!("fits {fitting} of the forms that are allowed, and must fit one alone")
            }),
        }
    }

    /// Says what is wrong by the branch that the value is nearest to. `failures` are the branches without another tag.
    fn none_fits(
        &mut self,
        branches: &[Id],
        failures: &[(Id, Rc<Judged>)],
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
    ) {
        let schema = self.schema;
        let words = || branches.iter().filter_map(|id| schema.rules(*id)).flat_map(Rules::named_values);
        if words().take(branches.len()).count() == branches.len() {
            self.report(found, path, || format!("must be one of {}, not {}", listed(words()), shown(value)));
            return;
        }
        if let ([], Some((tag, _))) = (failures, branches.iter().find_map(|id| schema.other_tag(*id, value)))
        {
            let tags = branches.iter().filter_map(|id| schema.other_tag(*id, value));
            let values = tags.filter(|(name, _)| *name == tag).map(|(_, only)| only);
            let given = || value.get(tag).map(shown).unwrap_or_default();
            self.report(found, &Path::Key(path, tag), || {
                format!("must be one of {}, not {}", listed(values), given())
            });
            return;
        }
        // A branch of another type is not meant.
        let is_meant = |id: Id| {
            let kinds = schema.kinds_of(id);
            kinds.is_empty() || kinds.holds(value)
        };
        let meant = failures.iter().filter(|(id, judged)| !judged.fits() && is_meant(*id));
        let mut meant: Vec<&[Violation]> = meant.map(|(_, judged)| &*judged.found).collect();
        let depth = |found: &[Violation]| found.iter().map(|one| one.path.len()).max().unwrap_or(0);
        meant.sort_by_key(|against| (against.len(), std::cmp::Reverse(depth(against))));
        match meant.as_slice() {
            [] => {
                let kinds: Vec<Kinds> = branches.iter().map(|id| schema.kinds_of(*id)).collect();
                let all = kinds.iter().fold(Kinds::default(), |all, kinds| all.with(*kinds));
                match kinds.iter().all(|kinds| !kinds.is_empty()) && !all.holds(value) {
                    true => {
                        self.report(found, path, || format!("must be {}, not {}", all.words(), shown(value)))
                    }
                    false => self.report(found, path, || NONE.to_owned()),
                }
            }
            [only] => self.extend(found, only),
            [nearest, ..] => self.report(found, path, || format!("{NONE}{}", hint(nearest))),
        }
    }
}

/// The first of some problems, in brackets; of a union inside, what it is nearest to.
fn hint(problems: &[Violation]) -> String {
    let Some(first) = problems.first() else { return String::new() };
    match first.problem.strip_prefix(NONE) {
        Some(inner) if !inner.is_empty() => inner.to_owned(),
        _ => format!(" (nearest: {first})"),
    }
}
