//! The passages that an answer quotes.

use crate::answer::Parts;

/// The longest passage in quotation marks, in bytes.
const LONGEST: usize = 16 * 1024;

/// A passage that the answer quotes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quote {
    /// Where it stands, marks excluded.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// True if it can be nothing but a quotation.
    pub(crate) is_sure: bool,
    /// True if each line begins with a mark.
    pub(crate) is_block: bool,
}

/// The passages in quotation marks and block quotes, in order.
pub(crate) fn quotes(text: &str, parts: &Parts) -> Vec<Quote> {
    let mut quotes = blocks(text);
    let is_json = matches!(text.trim_start().bytes().next(), Some(b'{' | b'['))
        && serde_json::from_str::<serde_json::Value>(text).is_ok();
    let mut at = 0;
    for paragraph in text.split_inclusive("\n\n") {
        marked(text, at, at + paragraph.len(), parts, is_json, &mut quotes);
        at += paragraph.len();
    }
    quotes.sort_by_key(|quote| (quote.start, quote.end));
    quotes
}

/// Lines that begin with `>`.
fn blocks(text: &str) -> Vec<Quote> {
    let mut quotes: Vec<Quote> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if let Some(said) = trimmed.strip_prefix('>')
            && !said.trim().is_empty()
        {
            let indent = line.len() - trimmed.len();
            let start = at + indent + 1 + (said.len() - said.trim_start().len());
            let end = at + line.trim_end().len();
            match quotes.last_mut().filter(|quote| {
                text.get(quote.end..at).is_some_and(|gap| {
                    gap.trim_matches([' ', '\r', '\n']).is_empty() && gap.matches('\n').count() == 1
                })
            }) {
                Some(quote) => quote.end = end,
                None => quotes.push(Quote { start, end, is_sure: true, is_block: true }),
            }
        }
        at += line.len();
    }
    quotes
}

/// The marks that close what a mark opens.
fn closers(open: char) -> Option<&'static [char]> {
    Some(match open {
        '"' => &['"'],
        '“' | '‟' => &['”', '“', '"'],
        '„' => &['“', '”', '‟', '"'],
        '«' => &['»'],
        '»' => &['«'],
        '‘' => &['’'],
        '‚' => &['‘', '’'],
        '‹' => &['›'],
        '›' => &['‹'],
        '「' => &['」'],
        '『' => &['』'],
        '\'' => &['\''],
        _ => return None,
    })
}

/// The passages of one paragraph.
fn marked(text: &str, from: usize, to: usize, parts: &Parts, is_json: bool, quotes: &mut Vec<Quote>) {
    let Some(paragraph) = text.get(from..to) else { return };
    let chars: Vec<(usize, char)> = paragraph.char_indices().map(|(at, char)| (from + at, char)).collect();
    let mut at = 0;
    while let Some((place, open)) = chars.get(at).copied() {
        at += 1;
        let Some(closers) = closers(open).filter(|_| !parts.is_code(place)) else { continue };
        let before = at.checked_sub(2).and_then(|before| chars.get(before)).map(|(_, char)| *char);
        let next = chars.get(at).map(|(_, char)| *char);
        let begins = before.is_none_or(|char| !char.is_alphanumeric())
            && next.is_some_and(|char| !char.is_whitespace());
        let is_single = matches!(open, '\'' | '‘' | '‚');
        if !begins
            || is_single && before.is_some_and(|char| !char.is_whitespace() && char != '(' && char != '[')
        {
            continue;
        }
        let Some(close) = close_of(&chars, at, open, closers, is_single) else { continue };
        let Some((end, _)) = chars.get(close).copied() else { continue };
        let start = place + open.len_utf8();
        if end > start && end - start <= LONGEST {
            let is_sure = !is_single && !is_json;
            quotes.push(Quote { start, end, is_sure, is_block: false });
            at = close + 1;
        }
    }
}

/// Where the passage closes. Straight marks may hold others of their kind, which open behind a blank.
fn close_of(
    chars: &[(usize, char)],
    from: usize,
    open: char,
    closers: &[char],
    is_single: bool,
) -> Option<usize> {
    let mut depth = 0_usize;
    let mut first = None;
    for at in from..chars.len() {
        let (_, char) = chars.get(at).copied()?;
        if !closers.contains(&char) {
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| chars.get(before)).map(|(_, char)| *char);
        let next = chars.get(at + 1).map(|(_, char)| *char);
        let goes_on = next.is_some_and(char::is_alphanumeric);
        if is_single && goes_on {
            continue;
        }
        first = first.or(Some(at));
        if char == open && before.is_some_and(char::is_whitespace) && goes_on {
            depth += 1;
        } else if depth == 0 {
            return Some(at);
        } else {
            depth -= 1;
        }
    }
    first
}

/// The pieces of a passage between marks of omission, as places in the answer, and the words of each.
pub(crate) fn pieces(text: &str, quote: &Quote) -> Vec<(usize, usize)> {
    const OMISSIONS: [&str; 9] = ["[…]", "[...]", "(…)", "(...)", "[ … ]", "[. . .]", "…", "...", ". . ."];
    let mut pieces = Vec::new();
    let mut start = quote.start;
    let mut at = quote.start;
    while at < quote.end {
        let Some(rest) = text.get(at..quote.end) else { break };
        if let Some(omission) = OMISSIONS.iter().find(|omission| rest.starts_with(**omission)) {
            pieces.push((start, at));
            at += omission.len();
            start = at;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    pieces.push((start, quote.end));
    let trimmed = pieces.into_iter().filter_map(|(start, end)| {
        let piece = text.get(start..end)?;
        let from = start + (piece.len() - piece.trim_start().len());
        let to = start + piece.trim_end().len();
        (from < to).then_some((from, to))
    });
    trimmed.collect()
}

/// The marks at the begins of lines in a piece of a block quote, which are none of its words.
pub(crate) fn line_marks(piece: &str) -> Vec<(usize, usize)> {
    let mut marks = Vec::new();
    let mut at = 0;
    for line in piece.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if at > 0 && trimmed.starts_with('>') {
            let mark = at + (line.len() - trimmed.len());
            marks.push((mark, mark + 1));
        }
        at += line.len();
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::{pieces, quotes};
    use crate::answer::Parts;

    fn found(text: &str) -> Vec<&str> {
        quotes(text, &Parts::of(text)).into_iter().map(|quote| &text[quote.start..quote.end]).collect()
    }

    #[test]
    fn passages_in_marks() {
        assert_eq!(found("It says \"one two\" and “three”."), ["one two", "three"]);
        assert_eq!(
            found("„eins“ «deux» »drei« 'vier fünf' 「五」"),
            ["eins", "deux", "drei", "vier fünf", "五"]
        );
        assert_eq!(found("the tenant's and landlord's duty"), [""; 0]);
        assert_eq!(found("a 5\" pipe and `\"code\"`"), [""; 0]);
        assert_eq!(found("\"an efficient \"heating\" system\" it is"), ["an efficient \"heating\" system"]);
        assert_eq!(found("says:\n> one\n> two\n\nthen\n> three"), ["one\n> two", "three"]);
        assert_eq!(found("not \"closed\n\nhere\" at all"), [""; 0]);
    }

    #[test]
    fn omissions_split() {
        let text = "\"one […] two ... three… four\"";
        let quote = &quotes(text, &Parts::of(text))[0];
        let said: Vec<&str> = pieces(text, quote).into_iter().map(|(start, end)| &text[start..end]).collect();
        assert_eq!(said, ["one", "two", "three", "four"]);
    }
}
