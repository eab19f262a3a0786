//! The markers of the text protocol at the beginning of a line: labels such as `Action:` and tags such as `<ACTION>`.

/// A marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Thought,
    Action,
    Input,
    Observation,
    Answer,
    Ask,
}

/// The way in which a marker is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::layer) enum Form {
    /// `Action:`
    Label,
    /// `<ACTION>`
    Tag,
}

/// The meaning of the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It may become a marker.
    More,
    /// It is no marker.
    Text,
    /// It is one, of that many bytes.
    Found(Marker, Form, usize),
}

const LABELS: [(&str, Marker); 9] = [
    ("action input", Marker::Input),
    ("action", Marker::Action),
    ("thoughts", Marker::Thought),
    ("thought", Marker::Thought),
    ("observation", Marker::Observation),
    ("final answer", Marker::Answer),
    ("answer", Marker::Answer),
    ("ask user", Marker::Ask),
    ("ask", Marker::Ask),
];

const TAGS: [(&str, Marker); 10] = [
    ("<think>", Marker::Thought),
    ("<thought>", Marker::Thought),
    ("<thinking>", Marker::Thought),
    ("<action>", Marker::Action),
    ("<answer>", Marker::Answer),
    ("<final_answer>", Marker::Answer),
    ("<final answer>", Marker::Answer),
    ("<ask>", Marker::Ask),
    ("<observe>", Marker::Observation),
    ("<observation>", Marker::Observation),
];

/// The maximum number of bytes of white space and emphasis before a label, and of emphasis and numbers inside it.
const MAX_DECORATION: usize = 8;

/// Looks at the beginning of a line. `is_all` says that nothing follows.
pub(super) fn look(line: &str, is_all: bool) -> Look {
    let bare = line.trim_start_matches([' ', '\t', '*', '_', '#']);
    let skipped = line.len() - bare.len();
    if skipped > MAX_DECORATION {
        return Look::Text;
    }
    if bare.is_empty() {
        return if is_all { Look::Text } else { Look::More };
    }
    let mut may_grow = false;
    let mut found = |look| match look {
        Look::Found(marker, form, length) => Some(Look::Found(marker, form, skipped + length)),
        look => {
            may_grow |= look == Look::More;
            None
        }
    };
    let tags = TAGS.iter().map(|(name, marker)| tag(bare, name, *marker, is_all));
    let labels = LABELS.iter().map(|(name, marker)| label(bare, name, *marker, is_all));
    let first = tags.chain(labels).find_map(&mut found);
    first.unwrap_or(if may_grow { Look::More } else { Look::Text })
}

fn tag(line: &str, name: &str, marker: Marker, is_all: bool) -> Look {
    let length = line.len().min(name.len());
    match (line.as_bytes().get(..length), name.as_bytes().get(..length)) {
        (Some(one), Some(other)) if one.eq_ignore_ascii_case(other) => match length == name.len() {
            true => Look::Found(marker, Form::Tag, length),
            false if is_all => Look::Text,
            false => Look::More,
        },
        _ => Look::Text,
    }
}

fn label(line: &str, name: &str, marker: Marker, is_all: bool) -> Look {
    let unfinished = if is_all { Look::Text } else { Look::More };
    let mut rest = line.char_indices();
    for expected in name.chars() {
        match rest.next() {
            None => return unfinished,
            Some((_, c)) if c.eq_ignore_ascii_case(&expected) => {}
            Some((_, '_' | '-')) if expected == ' ' => {}
            Some(_) => return Look::Text,
        }
    }
    let mut decoration = 0;
    loop {
        match rest.next() {
            None => return unfinished,
            Some((at, c @ (':' | '：'))) => {
                let mut length = at + c.len_utf8();
                let mut emphasis = line.get(length..).unwrap_or_default().chars();
                loop {
                    match emphasis.next() {
                        Some('*' | '_') => length += 1,
                        None if !is_all => return Look::More,
                        _ => return Look::Found(marker, Form::Label, length),
                    }
                }
            }
            Some((_, c)) if matches!(c, ' ' | '*' | '_' | '#') || c.is_ascii_digit() => {
                decoration += 1;
                if decoration > MAX_DECORATION {
                    return Look::Text;
                }
            }
            Some(_) => return Look::Text,
        }
    }
}

/// The tags that close a marker.
pub(super) fn closings(marker: Marker) -> impl Iterator<Item = String> + Clone {
    TAGS.iter().filter(move |(_, of)| *of == marker).map(|(name, _)| name.replacen('<', "</", 1))
}

/// The place and length of the first of these texts, whatever the case of its letters.
pub(super) fn find_any(text: &str, names: impl Iterator<Item = String> + Clone) -> Option<(usize, usize)> {
    let found = names.filter_map(|name| Some((find(text, &name)?, name.len())));
    found.min_by_key(|(at, _)| *at)
}

fn find(text: &str, name: &str) -> Option<usize> {
    let mut windows = text.as_bytes().windows(name.len());
    windows.position(|window| window.eq_ignore_ascii_case(name.as_bytes()))
}

/// The bytes at the end of a text with which one of these names may begin.
pub(super) fn held_back(text: &str, names: impl Iterator<Item = String>) -> usize {
    let begins = |name: &String| {
        let longest = name.len().saturating_sub(1).min(text.len());
        let is_end = |length: &usize| {
            let end = text.as_bytes().get(text.len() - length..);
            end.zip(name.as_bytes().get(..*length)).is_some_and(|(end, head)| end.eq_ignore_ascii_case(head))
        };
        (1..=longest).rev().find(is_end).unwrap_or(0)
    };
    names.map(|name| begins(&name)).max().unwrap_or(0)
}

/// The text of somebody else, in which no line begins like a marker and nothing is a tag of the protocol.
pub(super) fn neutralised(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if matches!(look(line, true), Look::Found(..)) {
            told.push_str("> ");
        }
        let mut rest = line;
        while let Some(at) = rest.find('<') {
            let (before, tagged) = rest.split_at(at);
            told.push_str(before);
            let bare = match tagged.strip_prefix("</") {
                Some(inner) => format!("<{}", inner.chars().take(16).collect::<String>()),
                None => tagged.chars().take(16).collect(),
            };
            let is_tag = TAGS.iter().any(|(name, marker)| tag(&bare, name, *marker, true) != Look::Text);
            told.push_str(if is_tag { "&lt;" } else { "<" });
            rest = tagged.get(1..).unwrap_or_default();
        }
        told.push_str(rest);
    }
    told
}
