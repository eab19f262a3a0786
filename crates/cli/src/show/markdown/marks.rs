//! Marks inside a line: emphasis, code and links.

/// The element that begins at a mark.
pub(super) enum Mark<'t> {
    /// The mark is a character like others.
    None,
    /// Nothing closes it yet.
    Open,
    Span {
        inner: &'t str,
        len: usize,
        kind: Kind,
    },
    Link {
        text: &'t str,
        url: &'t str,
        len: usize,
    },
    Escaped(char, usize),
}

/// The kind of a span.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Bold,
    Italic,
    Code,
    Plain,
}

/// The element that begins at the first character, behind the one `before`.
pub(super) fn mark(text: &str, before: Option<char>) -> Mark<'_> {
    let Some(first) = text.chars().next() else { return Mark::None };
    let run = text.len() - text.trim_start_matches(first).len();
    match first {
        '\\' => match text.chars().nth(1) {
            Some(c) if c.is_ascii_punctuation() => Mark::Escaped(c, 2),
            Some(_) => Mark::None,
            None => Mark::Open,
        },
        '`' => {
            let (ticks, rest) = text.split_at_checked(run).unwrap_or((text, ""));
            let mut from = 0;
            while let Some(at) = rest.get(from..).and_then(|rest| rest.find(ticks)).map(|at| at + from) {
                let end = at + run;
                let after = rest.get(end..).unwrap_or_default();
                if !after.starts_with('`') && rest.get(..at).is_none_or(|inner| !inner.ends_with('`')) {
                    let inner = rest.get(..at).unwrap_or_default();
                    return Mark::Span { inner, len: run + end, kind: Kind::Code };
                }
                from = end + (after.len() - after.trim_start_matches('`').len());
            }
            Mark::Open
        }
        '[' => link(text),
        _ => {
            let is_inside = before.is_some_and(char::is_alphanumeric);
            let after = text.get(run..).and_then(|rest| rest.chars().next());
            match after {
                None => return Mark::Open,
                Some(c) if c.is_whitespace() || run > 3 || (first == '_' && is_inside) => return Mark::None,
                Some(_) => {}
            }
            let (marks, rest) = text.split_at_checked(run).unwrap_or((text, ""));
            let closes = |at: usize| {
                let before = rest.get(..at).and_then(|inner| inner.chars().next_back());
                let after = rest.get(at + run..).and_then(|rest| rest.chars().next());
                before.is_some_and(|c| !c.is_whitespace() && c != first)
                    && after.is_none_or(|c| c != first && (first == '*' || !c.is_alphanumeric()))
            };
            let Some(at) = rest.match_indices(marks).map(|(at, _)| at).find(|at| closes(*at)) else {
                return Mark::Open;
            };
            let inner = rest.get(..at).unwrap_or_default();
            let kind = if run == 1 { Kind::Italic } else { Kind::Bold };
            Mark::Span { inner, len: at + 2 * run, kind }
        }
    }
}

fn link(text: &str) -> Mark<'_> {
    let Some(close) = text.find(']') else { return Mark::Open };
    let (shown, rest) = (text.get(1..close).unwrap_or_default(), text.get(close + 1..).unwrap_or_default());
    match rest.chars().next() {
        None => Mark::Open,
        Some('(') => match rest.find(')') {
            Some(end) if !shown.is_empty() => {
                let url = rest.get(1..end).unwrap_or_default().trim();
                Mark::Link { text: shown, url, len: close + 1 + end + 1 }
            }
            Some(_) => Mark::None,
            None => Mark::Open,
        },
        // A text in brackets, which is no link.
        Some(_) => Mark::Span {
            inner: text.get(..=close).and_then(|span| span.get(..1)).unwrap_or("["),
            len: 1,
            kind: Kind::Plain,
        },
    }
}
