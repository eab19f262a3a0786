//! The names of objects. None is made of what a stranger wrote.
//!
//! ```text
//! v1/ids/SHA-256 of an id/SHA-256 of its content.NUMBER.UNIQUE        a link from an id to a copy of its content
//! v1/contents/SHA-256 of a content/NUMBER                             a copy of it; nearly always the only one, 0
//! v1/contents/SHA-256 of a content/NUMBER.UNIQUE                      a mark: a collection may remove this copy
//! v1/clock/UNIQUE                                                     written to learn what time the storage has
//! ```

use attache_core::hash::hex;
use object_store::path::Path;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A SHA-256.
pub(super) type Hash = [u8; 32];

/// The copy of a content that a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Copy {
    pub(super) content: Hash,
    pub(super) number: u32,
}

/// An object, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Link { id: Hash, copy: Copy },
    Copy(Copy),
    Mark(Copy),
}

/// The names under a folder of the storage.
#[derive(Clone, Debug)]
pub(super) struct Names {
    root: Path,
}

const VERSION: &str = "v1";
const IDS: &str = "ids";
const CONTENTS: &str = "contents";
const CLOCK: &str = "clock";

impl Names {
    pub(super) fn new(folder: &Path) -> Self {
        Self { root: folder.clone().join(VERSION) }
    }

    pub(super) fn ids(&self) -> Path {
        self.root.clone().join(IDS)
    }

    pub(super) fn contents(&self) -> Path {
        self.root.clone().join(CONTENTS)
    }

    pub(super) fn links_of(&self, id: &Hash) -> Path {
        self.ids().join(hex(id))
    }

    pub(super) fn copies_of(&self, content: &Hash) -> Path {
        self.contents().join(hex(content))
    }

    pub(super) fn new_link(&self, id: &Hash, copy: &Copy) -> Path {
        self.links_of(id).join(format!("{}.{}.{}", hex(&copy.content), copy.number, unique()))
    }

    pub(super) fn copy(&self, copy: &Copy) -> Path {
        self.copies_of(&copy.content).join(copy.number.to_string())
    }

    pub(super) fn new_mark(&self, copy: &Copy) -> Path {
        self.copies_of(&copy.content).join(format!("{}.{}", copy.number, unique()))
    }

    pub(super) fn new_clock(&self) -> Path {
        self.root.clone().join(CLOCK).join(unique())
    }

    /// The object of that name; `None` for what is none of ours.
    pub(super) fn parse(&self, path: &Path) -> Option<Name> {
        let mut parts = path.prefix_match(&self.root)?;
        let (kind, folder, file) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let (folder, file) = (unhex(folder.as_ref())?, file.as_ref());
        match kind.as_ref() {
            IDS => {
                let mut words = file.split('.');
                let (content, number) = (unhex(words.next()?)?, words.next()?.parse().ok()?);
                words.next()?;
                Some(Name::Link { id: folder, copy: Copy { content, number } })
            }
            CONTENTS => {
                let (number, mark) = match file.split_once('.') {
                    Some((number, _)) => (number, true),
                    None => (file, false),
                };
                let copy = Copy { content: folder, number: number.parse().ok()? };
                Some(if mark { Name::Mark(copy) } else { Name::Copy(copy) })
            }
            _ => None,
        }
    }
}

/// A part of a name that nobody has used before.
fn unique() -> String {
    Uuid::new_v4().simple().to_string()
}

pub(super) fn hash_of(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let names = Names::new(&Path::from("my/documents"));
        let (id, content) = (hash_of(b"id"), hash_of(b"content"));
        let copy = Copy { content, number: 7 };
        assert_eq!(names.parse(&names.new_link(&id, &copy)), Some(Name::Link { id, copy }));
        assert_eq!(names.parse(&names.copy(&copy)), Some(Name::Copy(copy)));
        assert_eq!(names.parse(&names.new_mark(&copy)), Some(Name::Mark(copy)));
        assert_eq!(names.parse(&names.new_clock()), None);
        assert_ne!(names.new_link(&id, &copy), names.new_link(&id, &copy));
    }

    #[test]
    fn names_of_others_are_nobodys() {
        let names = Names::new(&Path::default());
        let hash = "a".repeat(64);
        for name in [
            "v1".to_owned(),
            "v2/ids/x/y".to_owned(),
            format!("v1/ids/{hash}"),
            format!("v1/ids/{hash}/{hash}"),
            format!("v1/ids/{hash}/{hash}.0"),
            format!("v1/ids/{hash}/{hash}.0.u/more"),
            format!("v1/ids/{}/{hash}.0.u", "A".repeat(64)),
            format!("v1/contents/{hash}/minus.u"),
            format!("v1/contents/{hash}/-1"),
            format!("v1/contents/{hash}é/0"),
        ] {
            assert_eq!(names.parse(&Path::from(name.as_str())), None, "{name}");
        }
    }

    /// The layout is what other versions of this program find: it changes only with the version in front.
    #[test]
    fn the_layout_of_version_1() {
        let names = Names::new(&Path::from("d"));
        let copy = Copy { content: hash_of(b"abc"), number: 0 };
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(names.copy(&copy).as_ref(), format!("d/v1/contents/{sha256}/0"));
        assert!(names.new_mark(&copy).as_ref().starts_with(&format!("d/v1/contents/{sha256}/0.")));
        let link = format!("d/v1/ids/{sha256}/{sha256}.0.");
        assert!(names.new_link(&hash_of(b"abc"), &copy).as_ref().starts_with(&link));
    }
}
