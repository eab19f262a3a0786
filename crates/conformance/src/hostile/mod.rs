//! Documents made to break their readers.
//!
//! Every file is made from nothing, the same each time, and none needs more memory to be made than it is long. Code
//! that reads documents of strangers is run over all of them: each must end soon, in little memory, with a text, a
//! note or an error.
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
mod file;
mod images;
mod markup;
mod office;
mod pdf;
mod plain;
mod scans;

pub use self::file::HostileFile;

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
