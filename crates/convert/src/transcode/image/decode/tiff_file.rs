//! The facts about a TIFF file that its library does not say: the number of its pages, and where its first page
//! says how its pixels are meant.

use std::collections::HashSet;

/// Most pages that are counted.
const MAX_PAGES: u64 = 10_000;

const PHOTOMETRIC: u64 = 262;
const SUBFILE_TYPE: u64 = 254;

/// The directories of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Directories {
    /// The number of pages that they describe; small copies of pages do not count.
    pub(super) pages: u64,
    /// Where the first says how its pixels are meant: the low byte of the number.
    pub(super) photometric: Option<usize>,
}

impl Directories {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let file = File::of(bytes)?;
        let mut next = if file.big { file.number(8, 8)? } else { file.number(4, 4)? };
        let mut found = Self { pages: 0, photometric: None };
        let mut seen = HashSet::new();
        let mut first = true;
        while next != 0 && found.pages < MAX_PAGES && seen.len() < 2 * MAX_PAGES as usize && seen.insert(next)
        {
            let Some(directory) = file.directory(next) else { break };
            found.pages += u64::from(!directory.small_copy || first);
            if first {
                found.photometric = directory.photometric;
            }
            first = false;
            next = directory.next;
        }
        Some(found)
    }
}

struct Directory {
    next: u64,
    small_copy: bool,
    photometric: Option<usize>,
}

struct File<'a> {
    bytes: &'a [u8],
    little: bool,
    big: bool,
}

impl<'a> File<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let little = bytes.first() == Some(&b'I');
        let file = Self { bytes, little, big: false };
        Some(Self { big: file.number(2, 2)? == 43, ..file })
    }

    fn number(&self, at: usize, length: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(length)?)?;
        let add = |number: u64, byte: &u8| (number << 8) | u64::from(*byte);
        Some(if self.little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
    }

    fn directory(&self, at: u64) -> Option<Directory> {
        let at = usize::try_from(at).ok()?;
        let (count_length, entry, value) = if self.big { (8, 20, 12) } else { (2, 12, 8) };
        let count = usize::try_from(self.number(at, count_length)?).ok()?;
        let entries = at + count_length;
        let end = entries.checked_add(count.checked_mul(entry)?)?;
        let next = self.number(end, if self.big { 8 } else { 4 })?;
        let mut directory = Directory { next, small_copy: false, photometric: None };
        for place in (entries..end).step_by(entry) {
            match self.number(place, 2)? {
                SUBFILE_TYPE => directory.small_copy = self.number(place + value, 4)? & 1 == 1,
                PHOTOMETRIC => directory.photometric = Some(place + value + usize::from(!self.little)),
                _ => {}
            }
        }
        Some(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::Directories;

    /// A directory of one entry at a place, which names the next.
    fn directory(tag: u16, value: u16, next: u32) -> Vec<u8> {
        let mut bytes = 1_u16.to_le_bytes().to_vec();
        bytes.extend(tag.to_le_bytes());
        bytes.extend(3_u16.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(u32::from(value).to_le_bytes());
        bytes.extend(next.to_le_bytes());
        bytes
    }

    #[test]
    fn pages_are_counted_and_circles_end() {
        let file = |directories: &[Vec<u8>]| [b"II*\0\x08\0\0\0".as_slice(), &directories.concat()].concat();
        // 18 bytes each.
        let chain = [directory(262, 3, 26), directory(254, 1, 44), directory(254, 0, 0)];
        let found = Directories::read(&file(&chain)).unwrap();
        assert_eq!((found.pages, found.photometric), (2, Some(18)));
        let circle = [directory(262, 3, 26), directory(254, 0, 8)];
        assert_eq!(Directories::read(&file(&circle)).unwrap().pages, 2);
        let itself = [directory(262, 3, 8)];
        assert_eq!(Directories::read(&file(&itself)).unwrap().pages, 1);
        let nowhere = [directory(262, 3, 0xffff_fff0)];
        assert_eq!(Directories::read(&file(&nowhere)).unwrap().pages, 1);
        assert_eq!(Directories::read(b"II"), None);
    }
}
