//! Layers: content that is shown or not, as the document says.

use std::collections::HashSet;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier};

/// The groups of content that are off when a document is opened.
#[derive(Debug, Default)]
pub(super) struct Layers {
    off: HashSet<ObjectIdentifier>,
}

impl Layers {
    pub(super) fn of(pdf: &Pdf) -> Self {
        let xref = pdf.xref();
        let catalog = xref.get::<Dict<'_>>(xref.root_id());
        let Some(layers) = catalog.and_then(|catalog| catalog.get::<Dict<'_>>("OCProperties")) else {
            return Self::default();
        };
        let Some(first) = layers.get::<Dict<'_>>("D") else { return Self::default() };
        let mut off = HashSet::new();
        if first.get::<Name<'_>>("BaseState").is_some_and(|state| state.as_ref() == b"OFF") {
            off.extend(groups(&layers, "OCGs"));
        }
        for group in groups(&first, "ON") {
            off.remove(&group);
        }
        off.extend(groups(&first, "OFF"));
        Self { off }
    }

    /// True if the group that an entry names is off, or if the groups that it names together hide their content.
    pub(super) fn hide(&self, holder: &Dict<'_>, key: impl AsRef<[u8]>) -> bool {
        if self.off.is_empty() {
            return false;
        }
        if holder.get_ref(&key).is_some_and(|group| self.off.contains(&group.into())) {
            return true;
        }
        let Some(member) = holder.get::<Dict<'_>>(&key) else { return false };
        let groups: Vec<ObjectIdentifier> = groups(&member, "OCGs").collect();
        let is_off = |group: &ObjectIdentifier| self.off.contains(group);
        let policy = member.get::<Name<'_>>("P");
        let is_shown = match policy.as_ref().map(|policy| policy.as_ref()) {
            _ if groups.is_empty() => true,
            Some(b"AllOn") => !groups.iter().any(is_off),
            Some(b"AnyOff") => groups.iter().any(is_off),
            Some(b"AllOff") => groups.iter().all(is_off),
            _ => !groups.iter().all(is_off),
        };
        !is_shown
    }
}

/// The groups of an entry that is one, or a list of them.
fn groups<'a>(holder: &Dict<'a>, key: &str) -> impl Iterator<Item = ObjectIdentifier> {
    let list = holder.get::<Array<'a>>(key);
    let only = if list.is_none() { holder.get_ref(key) } else { None };
    let listed = list.into_iter().flat_map(|list| list.raw_iter()).filter_map(|group| match group {
        MaybeRef::Ref(group) => Some(group),
        MaybeRef::NotRef::<Object<'_>>(_) => None,
    });
    only.into_iter().chain(listed).map(ObjectIdentifier::from)
}
