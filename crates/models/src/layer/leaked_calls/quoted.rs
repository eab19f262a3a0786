//! Tells a call that a model makes from one that it read somewhere and only quotes.

use std::borrow::Cow;
use std::sync::Arc;

use attache_core::{Document, Message, UserPart};

use super::markup::Found;

/// True if one of the calls stands, as it was written, in what users, tools and documents said.
pub(super) fn is_any(found: &[Found<'_>], messages: &[Arc<Message>]) -> bool {
    let written: Vec<String> = found.iter().map(|call| folded(call.raw)).collect();
    messages.iter().any(|message| {
        let mut has = |text: &str| {
            let text = folded(text);
            written.iter().any(|call| text.contains(call.as_str()))
        };
        match &**message {
            Message::User(user) => {
                let routed = user.routed.iter().flat_map(|routed| &routed.content);
                user.parts.iter().chain(routed).any(|part| said(part).is_some_and(|text| has(&text)))
                    || message.documents().into_iter().any(|document| is_in(document, &mut has))
            }
            Message::ToolResults(results) => {
                let results = &results.results;
                results.iter().any(|result| {
                    has(&result.tree.model_text())
                        || result.attached().iter().any(|part| said(part).is_some_and(|text| has(&text)))
                }) || message.documents().into_iter().any(|document| is_in(document, &mut has))
            }
            _ => false,
        }
    })
}

fn said(part: &UserPart) -> Option<Cow<'_, str>> {
    match part {
        UserPart::Text(text) => Some(Cow::Borrowed(text.text())),
        UserPart::Object(tree) => Some(tree.model_text()),
        _ => None,
    }
}

fn is_in(document: &Document, has: &mut impl FnMut(&str) -> bool) -> bool {
    document.bytes().is_some_and(|bytes| std::str::from_utf8(&bytes).is_ok_and(has))
}

/// A text without white space, quotes, and the escapes and entities in which JSON and HTML write them, so that a text is
/// found wherever it was wrapped.
fn folded(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let behind = rest.get(c.len_utf8()..).unwrap_or_default();
        let (c, behind) = match c {
            '\\' => escape(behind),
            '&' => entity(behind).unwrap_or((Some('&'), behind)),
            c => (Some(c), behind),
        };
        plain.extend(c.filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`')));
        rest = behind;
    }
    plain
}

/// The character of an escape, if it is more than white space, and the text behind it.
fn escape(text: &str) -> (Option<char>, &str) {
    let behind = text.trim_start_matches('\\');
    if let Some(code) = behind.strip_prefix('u')
        && let Some((digits, after)) = code.split_at_checked(4)
        && let Ok(code) = u32::from_str_radix(digits, 16)
    {
        return (char::from_u32(code), after);
    }
    (None, behind.strip_prefix(['n', 'r', 't']).unwrap_or(behind))
}

/// The character of an entity, and the text behind it.
fn entity(text: &str) -> Option<(Option<char>, &str)> {
    let known = [("lt;", '<'), ("gt;", '>'), ("amp;", '&'), ("quot;", '"'), ("apos;", '\''), ("#39;", '\'')];
    known.iter().find_map(|(name, c)| Some((Some(*c), text.strip_prefix(name)?)))
}
