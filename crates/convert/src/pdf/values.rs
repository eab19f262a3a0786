//! Values of a document that may not be there, or not be readable.

use hayro_syntax::object::{Array, Dict, FromBytes, MaybeRef, Object};
use hayro_syntax::xref::XRef;

/// The object that is referred to is not there or cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

/// The value of a key with what it refers to, if there is one and it is not `null`.
pub(super) fn value<'a>(dict: &Dict<'a>, key: impl AsRef<[u8]>) -> Option<Result<Object<'a>, Unreadable>> {
    match dict.get::<Object<'a>>(&key) {
        Some(Object::Null(_)) => None,
        Some(object) => Some(Ok(object)),
        None => dict.contains_key(&key).then_some(Err(Unreadable)),
    }
}

/// The entries of a list with what they refer to; those that are `null` are left out.
pub(super) fn entries<'a>(
    list: &Array<'a>,
    xref: &'a XRef,
) -> impl Iterator<Item = Result<Object<'a>, Unreadable>> {
    let rest = (!is_whole(list)).then_some(Err(Unreadable));
    let entry = move |entry: MaybeRef<Object<'a>>| match entry {
        MaybeRef::Ref(id) => xref.get(id.into()).ok_or(Unreadable),
        MaybeRef::NotRef(object) => Ok(object),
    };
    list.raw_iter().map(entry).chain(rest).filter(|entry| !matches!(entry, Ok(Object::Null(_))))
}

/// True if the library reads a list to its end; it stops without a word at an entry that it cannot read.
pub(super) fn is_whole(list: &Array<'_>) -> bool {
    const END: &[u8] = b"attache.end";
    let marked = [b"[", list.data(), b"\n/", END, b"]"].concat();
    let last = Array::from_bytes(&marked).and_then(|marked| marked.raw_iter().last());
    matches!(last, Some(MaybeRef::NotRef(Object::Name(name))) if name.as_ref() == END)
}

#[cfg(test)]
mod tests {
    use super::is_whole;
    use hayro_syntax::object::{Array, FromBytes};

    #[test]
    fn an_unreadable_entry_is_noticed() {
        let whole = |source: &[u8]| is_whole(&Array::from_bytes(source).expect("an array"));
        assert!(whole(b"[]") && whole(b"[1 0 R null << /A [2] >> % it\n]"));
        assert!(!whole(b"[true <<>>stream false]"));
    }
}
