//! Where a file of an archive is, as another one says it.

/// A name in an archive, as seen from a folder of it.
pub(crate) fn join(folder: &str, target: &str) -> String {
    let mut pieces: Vec<&str> =
        if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for piece in target.split('/') {
        match piece {
            ".." => {
                pieces.pop();
            }
            "." | "" => {}
            piece => pieces.push(piece),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces.join("/")
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn names_are_seen_from_their_folders() {
        assert_eq!(join("ppt/slides", "../media/a.png"), "ppt/media/a.png");
        assert_eq!(join("word", "/word/styles.xml"), "word/styles.xml");
        assert_eq!(join("", "xl/workbook.xml"), "xl/workbook.xml");
        assert_eq!(join("a", "../../../b"), "b");
    }
}
