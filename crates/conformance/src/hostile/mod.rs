//! Documents made to break their readers.
//!
//! Every file is made anew from nothing, the same each time, and none needs more to be made than it is long. What
//! reads documents of strangers is run over all of them: each must end soon, in little memory, with a text, a note or
//! an error.
//!
//! ```
//! use attache_conformance::hostile;
//!
//! let corpus = hostile::corpus();
//! assert!(corpus.len() >= 60);
//! let file = corpus.iter().find(|file| file.name == "one-byte.pdf").unwrap();
//! assert_eq!((file.media_type, file.bytes().len()), ("application/pdf", 1));
//! ```

mod archive;
mod build;
mod images;
mod markup;
mod office;
mod pdf;
mod plain;
mod scans;

use bytes::Bytes;

/// A document made to break its reader.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HostileFile {
    /// A name that no other of them has, with the extension that goes with the media type.
    pub name: &'static str,
    /// The media type that it claims.
    pub media_type: &'static str,
    /// What is hostile about it.
    pub what: &'static str,
    make: fn() -> Vec<u8>,
}

impl HostileFile {
    const fn new(
        name: &'static str,
        media_type: &'static str,
        what: &'static str,
        make: fn() -> Vec<u8>,
    ) -> Self {
        Self { name, media_type, what, make }
    }

    /// Makes its content: up to 32 MiB, the same each time.
    pub fn bytes(&self) -> Bytes {
        (self.make)().into()
    }
}

/// All of them.
pub fn corpus() -> Vec<HostileFile> {
    [pdf::FILES, images::FILES, scans::FILES, office::FILES, archive::FILES, markup::FILES, plain::FILES]
        .concat()
}

#[cfg(test)]
mod tests {
    use super::corpus;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_files_are_the_same_each_time_and_of_a_size() {
        let corpus = corpus();
        assert!(corpus.len() >= 60, "{}", corpus.len());
        let names: HashSet<_> = corpus.iter().map(|file| file.name).collect();
        assert_eq!(names.len(), corpus.len());
        for file in corpus {
            let bytes = file.bytes();
            assert!(bytes.len() <= 32 << 20, "{}: {} bytes", file.name, bytes.len());
            assert!(bytes == file.bytes(), "{}", file.name);
            assert!(!file.what.is_empty() && file.name.contains('.'), "{}", file.name);
        }
    }
}
