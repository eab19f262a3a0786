//! The title that a session has until somebody gives it another: the first words of its first question.

use std::sync::Arc;

use attache_core::{Message, UserPart};

/// The maximum number of characters of a title.
const TITLE: usize = 80;

/// The first words of a question.
pub(super) fn title(question: &[Arc<Message>]) -> String {
    let texts = question.iter().filter_map(|message| match &**message {
        Message::User(user) => user.parts.iter().find_map(|part| match part {
            UserPart::Text(part) => Some(part.text()),
            _ => None,
        }),
        _ => None,
    });
    short(texts)
}

/// The first words of texts, without control characters, which not every store takes.
pub(super) fn short<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut words = texts.flat_map(str::split_whitespace);
    let mut title = String::new();
    for word in words.by_ref() {
        let space = usize::from(!title.is_empty());
        let left = TITLE.saturating_sub(title.chars().count() + space);
        if left == 0 {
            break;
        }
        if space > 0 {
            title.push(' ');
        }
        title.extend(word.chars().filter(|char| !char.is_control()).take(left));
    }
    title
}
