//! Layers: content that is shown or not, as the document says (optional content, ISO 32000-2, 8.11).

use std::collections::HashSet;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier};

/// Expressions inside each other, and all the operands of one.
const MAX_DEPTH: usize = 32;
const MAX_OPERANDS: usize = 1_000;

/// The groups of content that are off when a document is opened.
#[derive(Debug, Default)]
pub(super) struct Layers {
    off: HashSet<ObjectIdentifier>,
    /// True if the document has groups at all.
    any: bool,
}

/// A group with its number.
struct Group<'a> {
    id: ObjectIdentifier,
    dict: Dict<'a>,
}

impl Layers {
    pub(super) fn of(pdf: &Pdf) -> Self {
        let xref = pdf.xref();
        let catalog = xref.get::<Dict<'_>>(xref.root_id());
        let Some(layers) = catalog.and_then(|catalog| catalog.get::<Dict<'_>>("OCProperties")) else {
            return Self::default();
        };
        let mut off = HashSet::new();
        let Some(first) = layers.get::<Dict<'_>>("D") else { return Self { off, any: true } };
        if is_name(&first, "BaseState", b"OFF") {
            off.extend(groups(&layers, "OCGs").map(|group| group.id));
        }
        for group in groups(&first, "ON") {
            off.remove(&group.id);
        }
        off.extend(groups(&first, "OFF").map(|group| group.id));
        let (on, more) = by_usage(&first);
        off.retain(|group| !on.contains(group));
        off.extend(more);
        if !off.is_empty() {
            // Groups of another purpose have no say.
            let listed = groups(&layers, "OCGs").chain(groups(&first, "OFF"));
            for group in listed.filter(|group| !share_intent(&first, &group.dict)) {
                off.remove(&group.id);
            }
        }
        Self { off, any: true }
    }

    /// True if the group that an entry names is off, or if the groups that it names together hide their content.
    pub(super) fn hide(&self, holder: &Dict<'_>, key: impl AsRef<[u8]>) -> bool {
        if !self.any {
            return false;
        }
        if holder.get_ref(&key).is_some_and(|group| self.off.contains(&group.into())) {
            return true;
        }
        let Some(member) = holder.get::<Dict<'_>>(&key) else { return false };
        if let Some(expression) = member.get::<Array<'_>>("VE") {
            // One that cannot be understood hides nothing.
            return self.value(&expression, 0, &mut 0) == Some(false);
        }
        let groups: Vec<ObjectIdentifier> = groups(&member, "OCGs").map(|group| group.id).collect();
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

    /// The value of an expression; `None` if it is none.
    fn value(&self, expression: &Array<'_>, depth: usize, read: &mut usize) -> Option<bool> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let mut items = items(expression);
        let Some((_, Some(Object::Name(operator)))) = items.next() else { return None };
        let mut values = Vec::new();
        for (id, item) in items {
            *read += 1;
            if *read > MAX_OPERANDS {
                return None;
            }
            values.push(match (id, item?) {
                (_, Object::Array(inner)) => self.value(&inner, depth + 1, read)?,
                (Some(id), Object::Dict(_)) => !self.off.contains(&id),
                _ => return None,
            });
        }
        match (operator.as_ref(), values.as_slice()) {
            (b"Not", [value]) => Some(!value),
            (b"And", [_, ..]) => Some(values.iter().all(|value| *value)),
            (b"Or", [_, ..]) => Some(values.iter().any(|value| *value)),
            _ => None,
        }
    }
}

/// The groups that say themselves what they are while a document is viewed, where it asks them: those that are on, and
/// those that are off. One that is to be off for one reason is off.
fn by_usage(first: &Dict<'_>) -> (HashSet<ObjectIdentifier>, HashSet<ObjectIdentifier>) {
    let (mut on, mut off) = (HashSet::new(), HashSet::new());
    let Some(asked) = first.get::<Array<'_>>("AS") else { return (on, off) };
    for (_, asked) in items(&asked) {
        let Some(Object::Dict(asked)) = asked else { continue };
        if !is_name(&asked, "Event", b"View") || !names(&asked, "Category").any(|name| name == b"View") {
            continue;
        }
        for group in groups(&asked, "OCGs") {
            let view = group.dict.get::<Dict<'_>>("Usage").and_then(|usage| usage.get::<Dict<'_>>("View"));
            let Some(view) = view else { continue };
            if is_name(&view, "ViewState", b"OFF") {
                off.insert(group.id);
            } else if is_name(&view, "ViewState", b"ON") {
                on.insert(group.id);
            }
        }
    }
    (on, off)
}

/// True if a configuration looks at groups of this purpose.
fn share_intent(first: &Dict<'_>, group: &Dict<'_>) -> bool {
    let intents = |dict: &Dict<'_>| {
        let said: Vec<Vec<u8>> = names(dict, "Intent").collect();
        if dict.contains_key("Intent") { said } else { vec![b"View".to_vec()] }
    };
    let (wanted, own) = (intents(first), intents(group));
    wanted.iter().any(|intent| intent == b"All" || own.contains(intent))
}

fn is_name(dict: &Dict<'_>, key: &str, value: &[u8]) -> bool {
    dict.get::<Name<'_>>(key).is_some_and(|name| name.as_ref() == value)
}

/// The names of an entry that is one, or a list of them.
fn names(dict: &Dict<'_>, key: &str) -> impl Iterator<Item = Vec<u8>> {
    let only = dict.get::<Name<'_>>(key).map(|name| name.as_ref().to_vec());
    let listed = dict.get::<Array<'_>>(key).into_iter().flat_map(|list| list.iter::<Name<'_>>());
    only.into_iter().chain(listed.map(|name| name.as_ref().to_vec()))
}

/// The groups of an entry that is one, or a list of them. Those that are not there do not count.
fn groups<'a>(holder: &Dict<'a>, key: &str) -> impl Iterator<Item = Group<'a>> {
    let list = holder.get::<Array<'a>>(key);
    let only = if list.is_none() { holder.get_ref(key).zip(holder.get::<Dict<'a>>(key)) } else { None };
    let only = only.map(|(id, dict)| Group { id: id.into(), dict });
    let listed = list.into_iter().flat_map(|list| items(&list)).filter_map(|item| match item {
        (Some(id), Some(Object::Dict(dict))) => Some(Group { id, dict }),
        _ => None,
    });
    only.into_iter().chain(listed)
}

/// The objects of a list, with the numbers of those that are referred to; `None` for one that is not there.
fn items<'a>(
    list: &Array<'a>,
) -> impl Iterator<Item = (Option<ObjectIdentifier>, Option<Object<'a>>)> + use<'a> {
    let mut objects = list.flex_iter();
    list.raw_iter().map(move |item| {
        let id = match item {
            MaybeRef::Ref(id) => Some(id.into()),
            MaybeRef::NotRef(_) => None,
        };
        (id, objects.next::<Object<'a>>())
    })
}
