//! The parts of an answer: code, addresses, names of files, paragraphs.

use std::collections::BTreeSet;

use crate::search::is_whole;

/// The maximum number of bytes of a name of a file that is looked for.
const LONGEST_NAME: usize = 255;

/// The parts of an answer that are known before its words are read.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Code, in order.
    pub(crate) code: Vec<(usize, usize)>,
    /// Addresses, in order.
    pub(crate) urls: Vec<(usize, usize)>,
    /// Names of files that were shown.
    names: Vec<(usize, usize)>,
    /// The start of each paragraph.
    paragraphs: Vec<usize>,
}

impl Parts {
    pub(crate) fn of(text: &str) -> Self {
        let mut parts = Self { paragraphs: vec![0], ..Self::default() };
        let mut fence: Option<usize> = None;
        let mut at = 0;
        let mut blank = false;
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim();
            if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
                match fence.take() {
                    Some(start) => parts.code.push((start, at + line.len())),
                    None => fence = Some(at),
                }
            } else if fence.is_none() {
                if blank && !trimmed.is_empty() {
                    parts.paragraphs.push(at);
                }
                inline(line, at, &mut parts.code);
                urls(line, at, &mut parts.urls);
            }
            blank = trimmed.is_empty();
            at += line.len();
        }
        parts.code.extend(fence.map(|start| (start, text.len())));
        parts
    }

    /// Learns which files the answer may name.
    pub(crate) fn learn<'n>(&mut self, text: &str, files: impl Iterator<Item = &'n str>) {
        let is_file = |file: &&str| {
            file.len() <= LONGEST_NAME && file.contains('.') && file.contains(char::is_alphabetic)
        };
        for file in files.filter(is_file).collect::<BTreeSet<_>>() {
            let whole = |at: &usize| is_whole(text, *at, at + file.len());
            let places = text.match_indices(file).map(|(at, _)| at).filter(whole);
            self.names.extend(places.map(|at| (at, at + file.len())));
        }
    }

    /// The number of the paragraph of a place.
    pub(crate) fn paragraph(&self, at: usize) -> usize {
        self.paragraphs.partition_point(|start| *start <= at)
    }

    pub(crate) fn is_code(&self, at: usize) -> bool {
        holds(&self.code, at)
    }

    pub(crate) fn is_url(&self, at: usize) -> bool {
        holds(&self.urls, at)
    }

    pub(crate) fn is_name(&self, at: usize) -> bool {
        self.names.iter().any(|(start, end)| (*start..*end).contains(&at))
    }
}

fn holds(pieces: &[(usize, usize)], at: usize) -> bool {
    let before = pieces.partition_point(|(start, _)| *start <= at);
    before.checked_sub(1).and_then(|place| pieces.get(place)).is_some_and(|(_, end)| at < *end)
}

/// Code between backticks on one line.
fn inline(line: &str, at: usize, code: &mut Vec<(usize, usize)>) {
    let mut open: Option<usize> = None;
    for (place, _) in line.match_indices('`') {
        match open.take() {
            Some(start) => code.push((at + start, at + place + 1)),
            None => open = Some(place),
        }
    }
}

/// `https://…`, `www.…`, `name@host`.
fn urls(line: &str, at: usize, urls: &mut Vec<(usize, usize)>) {
    let mut place = 0;
    let ends = |char: char| char.is_whitespace() || matches!(char, '<' | '>' | '"' | ')' | '(' | '|');
    for word in line.split_inclusive(ends) {
        let is_url = word.contains("://")
            || word.starts_with("www.")
            || word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
        if is_url {
            urls.push((at + place, at + place + word.len()));
        }
        place += word.len();
    }
}

#[cfg(test)]
mod tests {
    use super::Parts;

    #[test]
    fn code_addresses_and_paragraphs() {
        let text = "One `x = 1` two.\n\nSee https://a.example/2 and ann@b.example.\n```\n42\n```\nend";
        let parts = Parts::of(text);
        let at = |piece: &str| text.find(piece).unwrap();
        assert!(parts.is_code(at("x = 1")) && parts.is_code(at("42")) && !parts.is_code(at("two")));
        assert!(parts.is_url(at("a.example/2")) && parts.is_url(at("ann@")) && !parts.is_url(at("and ann")));
        assert_eq!((parts.paragraph(0), parts.paragraph(at("See"))), (1, 2));
    }
}
