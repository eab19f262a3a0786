//! The stories of DOC: its text, and behind it notes, margins, comments and text boxes, each with a table of where its
//! parts begin ([MS-DOC] 2.3 and 2.8).

use std::ops::Range;

use crate::fields::{place_at, u16_at, wide};
use crate::output::marker_name;

/// Where the lengths of the stories stand in the head of a document, and the stories.
const LENGTHS: usize = 0x4c;
const FOOTNOTES: usize = 1;
const MARGINS: usize = 2;
const COMMENTS: usize = 4;
const ENDNOTES: usize = 5;
const BOXES: usize = 6;
/// A length between those of the stories that means nothing.
const NONE: usize = 3;

/// The parts that say where notes are referred to and begin, with the length of an entry of the former.
const NOTES: [(&str, usize, usize, usize); 3] =
    [("footnote", FOOTNOTES, 2, 2), ("comment", COMMENTS, 4, 30), ("endnote", ENDNOTES, 46, 2)];
const MARGINS_PART: usize = 11;
const AUTHORS: usize = 36;

/// The place of the number of an author in the entry of a comment.
const AUTHOR: usize = 20;

/// Before the margins of sections stand what separates notes from the text.
const SEPARATORS: usize = 6;
const SECTION: [&str; 6] = ["header", "header", "footer", "footer", "header", "footer"];

/// Notes of one kind that are told apart, margins alike, and authors that are read.
const MAX_NOTES: usize = 20_000;
const MAX_AUTHORS: usize = 1_000;

/// A footnote, endnote or comment.
pub(super) struct Note {
    /// Where it is read: behind the character that refers to it.
    pub(super) at: usize,
    pub(super) kind: String,
    pub(super) text: Range<usize>,
}

/// The stories by their characters.
pub(super) struct Stories {
    /// The end of the main text.
    pub(super) main: usize,
    /// Notes in the order of the text.
    pub(super) notes: Vec<Note>,
    /// Headers and footers.
    pub(super) margins: Vec<(&'static str, Range<usize>)>,
    /// Text boxes, and stories of which it is not said where their parts begin.
    pub(super) rest: Vec<Range<usize>>,
}

impl Stories {
    /// Reads the lengths of the stories in a head, and the parts that say more.
    pub(super) fn read<'a>(head: &[u8], part: impl Fn(usize) -> &'a [u8]) -> Self {
        let start = |story: usize| {
            let before = (0..story).filter(|story| *story != NONE);
            before.filter_map(|story| place_at(head, LENGTHS + 4 * story)).fold(0, usize::saturating_add)
        };
        let main = start(FOOTNOTES);
        if main == 0 {
            return Self { main: usize::MAX, notes: Vec::new(), margins: Vec::new(), rest: Vec::new() };
        }
        let mut rest = Vec::new();
        let mut notes = Vec::new();
        let authors = authors(part(AUTHORS));
        for (name, story, references, entry) in NOTES {
            let story = start(story)..start(story + 1);
            let texts = parts(part(references + 1), &story);
            let references = part(references);
            let count = references.len().saturating_sub(4) / (4 + entry);
            // A last text belongs to no note.
            if count == 0 || count > MAX_NOTES || !(count..=count + 1).contains(&texts.len()) {
                rest.push(story);
                continue;
            }
            notes.extend(texts.into_iter().take(count).enumerate().filter_map(|(index, text)| {
                let author = u16_at(references, 4 * (count + 1) + entry * index + AUTHOR);
                let author = author.filter(|_| name == "comment");
                let author = author.and_then(|author| authors.get(usize::from(author)));
                let kind = author.map_or_else(|| name.to_owned(), |author| format!("{name} by {author}"));
                Some(Note { at: place_at(references, 4 * index)?.saturating_add(1).min(main), kind, text })
            }));
        }
        notes.sort_by_key(|note| note.at);
        let story = start(MARGINS)..start(MARGINS + 1);
        let margins = parts(part(MARGINS_PART), &story);
        if margins.len() <= SEPARATORS {
            rest.push(story);
        }
        let kinds = SECTION.into_iter().cycle();
        let margins = kinds.zip(margins.into_iter().skip(SEPARATORS));
        let margins = margins.filter(|(_, text)| !text.is_empty()).collect();
        rest.push(start(BOXES)..usize::MAX);
        rest.sort_by_key(|story| story.start);
        Self { main, notes, margins, rest }
    }
}

/// The parts of a story, by the table of where each begins in it. None begins before the end of another.
fn parts(table: &[u8], story: &Range<usize>) -> Vec<Range<usize>> {
    let places = (0..(table.len() / 4).min(MAX_NOTES + 2)).map_while(|index| place_at(table, 4 * index));
    let mut places = places.map(|place| story.start.saturating_add(place).min(story.end));
    let mut at = places.next().unwrap_or(story.end);
    let part = |end: usize| {
        let start = at;
        at = end.max(at);
        start..at
    };
    places.map(part).collect()
}

/// The names of those who commented.
fn authors(list: &[u8]) -> Vec<String> {
    let mut authors = Vec::new();
    let mut at = 0;
    while let Some(len) = u16_at(list, at).map(usize::from).filter(|_| authors.len() < MAX_AUTHORS) {
        let end = at + 2 + 2 * len;
        authors.push(list.get(at + 2..end).map(|name| marker_name(&wide(name))).unwrap_or_default());
        at = end;
    }
    authors
}
