//! Paths that are typed, pasted or dropped onto the terminal.

use std::path::{Path, PathBuf};

/// The files that a line names and nothing else: each may be quoted, escaped as shells do it, or a `file:` address.
/// `None` if the line says anything else.
pub(super) fn only_files(line: &str) -> Option<Vec<PathBuf>> {
    let whole = Path::new(line.trim());
    // A name may hold spaces without being quoted.
    if !line.trim().is_empty() && whole.is_file() {
        return Some(vec![whole.to_owned()]);
    }
    let words = words(line)?;
    let paths: Vec<PathBuf> = words.iter().map(|word| path(word)).collect();
    (!paths.is_empty() && paths.iter().all(|path| is_path(path) && path.is_file())).then_some(paths)
}

/// True for a path that nobody would type as a word.
fn is_path(path: &Path) -> bool {
    path.components().count() > 1 || path.extension().is_some()
}

fn path(word: &str) -> PathBuf {
    let Some(encoded) = word.strip_prefix("file://") else { return word.into() };
    let mut bytes = Vec::new();
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let code = match (byte, ahead.next(), ahead.next()) {
            (b'%', Some(high), Some(low)) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                digit(high).zip(digit(low)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
            }
            _ => None,
        };
        if code.is_some() {
            rest = ahead;
        }
        bytes.push(code.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// The words of a line as a shell divides them; `None` where a quote is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('\\', None) if !cfg!(windows) => word.get_or_insert_default().push(rest.next()?),
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The paths that begin as this one does.
pub(super) fn completions(begun: &str) -> Vec<String> {
    let (folder, name) = begun.rsplit_once('/').map_or(("", begun), |(folder, name)| (folder, name));
    let place = match (folder, begun.starts_with('/')) {
        ("", true) => "/",
        ("", false) => ".",
        (folder, _) => folder,
    };
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path().is_dir())))
        .filter(|(entry, _)| entry.starts_with(name) && (!name.is_empty() || !entry.starts_with('.')))
        .map(|(entry, is_folder)| {
            let before = begun.get(..begun.len() - name.len()).unwrap_or_default();
            format!("{before}{entry}{}", if is_folder { "/" } else { "" })
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_name_files_alone_attach_them() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, spaced) = (folder.path().join("lease.pdf"), folder.path().join("two words.pdf"));
        std::fs::write(&plain, "x").unwrap();
        std::fs::write(&spaced, "x").unwrap();
        let (a, b) = (plain.to_str().unwrap(), spaced.to_str().unwrap());
        assert_eq!(only_files(a), Some(vec![plain.clone()]));
        assert_eq!(only_files(b), Some(vec![spaced.clone()]));
        assert_eq!(only_files(&format!("'{b}' {a}")), Some(vec![spaced.clone(), plain.clone()]));
        assert_eq!(only_files(&b.replace(' ', "\\ ")), Some(vec![spaced.clone()]));
        assert_eq!(only_files(&format!("file://{}", b.replace(' ', "%20"))), Some(vec![spaced.clone()]));
        for no in
            [format!("what is {a}"), format!("{a}x"), String::new(), "src".to_owned(), "it's".to_owned()]
        {
            assert_eq!(only_files(&no), None, "{no}");
        }
        let begun = folder.path().join("le");
        assert_eq!(completions(begun.to_str().unwrap()), [a.to_owned()]);
    }
}
