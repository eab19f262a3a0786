//! The files of the chat, as `cargo xtask web` builds them.

/// A file under its name.
pub(super) struct File {
    pub(super) name: &'static str,
    /// Its media type.
    pub(super) kind: &'static str,
    pub(super) bytes: &'static [u8],
    /// The same after gzip, where that makes a difference.
    pub(super) packed: Option<&'static [u8]>,
}

/// The page. It has a place for the path of the server.
pub(super) const PAGE: &str = include_str!("../../web/dist/index.html");

macro_rules! file {
    ($name:literal, $kind:literal) => {
        File {
            name: $name,
            kind: $kind,
            bytes: include_bytes!(concat!("../../web/dist/", $name)),
            packed: None,
        }
    };
    ($name:literal, $kind:literal, gzip) => {
        File { packed: Some(include_bytes!(concat!("../../web/dist/", $name, ".gz"))), ..file!($name, $kind) }
    };
}

/// The others.
pub(super) const FILES: &[File] = &[
    file!("LICENSES.txt", "text/plain; charset=utf-8"),
    file!("attache-chat.js", "text/javascript; charset=utf-8", gzip),
    file!("attache-code.js", "text/javascript; charset=utf-8", gzip),
    file!("attache-math.js", "text/javascript; charset=utf-8", gzip),
    file!("attache-more.js", "text/javascript; charset=utf-8", gzip),
    file!("words/ar.json", "application/json"),
    file!("words/de.json", "application/json"),
    file!("words/es.json", "application/json"),
    file!("words/fr.json", "application/json"),
    file!("words/it.json", "application/json"),
    file!("words/ja.json", "application/json"),
    file!("words/pt.json", "application/json"),
    file!("words/zh.json", "application/json"),
];
