//! The addresses of resources: the scheme of ours, and the file names in those of others.

use attache_core::MediaType;
use attache_transport::percent_decoded;

/// The scheme of addresses that are read through a server's session: `mcp://ALIAS/ADDRESS`.
pub(crate) const SCHEME: &str = "mcp://";

/// The key of the file name in the metadata of blocks that have no place for one.
pub(crate) const FILE_NAME: &str = "attache/fileName";

/// Longer names are cut.
const LONGEST_NAME: usize = 200;

/// The file name at the end of an address, if it is one by its extension: the end may be a token otherwise, and names
/// are shown to the model.
pub(crate) fn file_name(uri: &str) -> Option<String> {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let last = path.rsplit(['/', '\\', ':']).next().unwrap_or_default();
    named(&String::from_utf8_lossy(&percent_decoded(last)))
}

/// A text as a file name, if it is one by its extension.
pub(crate) fn named(text: &str) -> Option<String> {
    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let name = name.trim();
    MediaType::from_file_name(name).map(|_| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // documents.md 9.2 D14
    #[test]
    fn names_of_files_come_from_addresses() {
        let name = |uri: &str| file_name(uri);
        assert_eq!(name("file:///srv/a%20lease.pdf").as_deref(), Some("a lease.pdf"));
        assert_eq!(name("demo://resource/session/a.csv?x=1#y").as_deref(), Some("a.csv"));
        assert_eq!(name("file:///srv/..%2f..%2fetc%2fpass.txt").as_deref(), Some("pass.txt"));
        for none in ["demo://resource/dynamic/blob/1", "urn:x:0a1b2c", "", "https://host/", "file:///a%00"] {
            assert_eq!(name(none), None, "{none}");
        }
    }
}
