//! The words by which a provider says that a prompt is longer than its window.

use attache_core::ErrorKind;

/// Phrases that speak of nothing else.
const PHRASES: [&str; 5] = [
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the context size",
    "input is too long",
];
/// Words that say so where a window is named, since other errors name one too.
const TOO_MUCH: [&str; 6] = ["exceed", "too long", "too large", "larger than", "longer than", " fit"];

/// The kind of an error whose message says it. Providers tell of a full window in words only, under various codes.
/// (anthropic.md 11)
pub(super) fn context_too_long(message: &str) -> Option<ErrorKind> {
    let message = message.to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    let is_too_long = says(&PHRASES) || message.contains("context window") && says(&TOO_MUCH);
    is_too_long.then_some(ErrorKind::ContextTooLong)
}
