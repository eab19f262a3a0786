//! The words by which a provider says that a prompt is longer than its window.

/// Phrases that speak of nothing else.
const PHRASES: [&str; 15] = [
    "prompt is too long",
    "prompt too long",
    "prompt exceeds max length",
    "input is too long",
    "exceed context limit",
    "maximum context length",
    "maximum prompt length",
    "model token limit",
    "input token count",
    "input tokens exceeded",
    "too many input tokens",
    "range of input length",
    "context length is only",
    "context length of only",
    "n_keep",
];
/// The options that bound an answer.
const LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
/// Words for the window, which other errors use, too.
const WINDOWS: [&str; 3] = ["context window", "context length", "context size"];
/// Words that say that something is more than the window.
const TOO_MUCH: [&str; 7] =
    ["exceed", "too long", "too large", "larger than", "longer than", "greater than", " fit"];

/// True if a provider's message says that the prompt is longer than the window of the model. Most tell it in words
/// only, under various codes. A complaint about the limit of the answer, which it begins with, is none of these, also
/// where it goes on to name the window.
/// (openai.md 0.3, anthropic.md 11, bedrock.md 8, gemini.md 9)
pub fn tells_of_full_window(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let subject = message.trim_start_matches(|first: char| first.is_whitespace() || "'\"`".contains(first));
    if LIMITS.iter().any(|limit| subject.starts_with(limit)) {
        return false;
    }
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    says(&PHRASES) || says(&WINDOWS) && says(&TOO_MUCH)
}
