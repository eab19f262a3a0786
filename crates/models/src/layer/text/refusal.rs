//! Tells from an error that a server takes no tools, or no stop sequences.

use attache_core::{ErrorKind, ProviderError};

/// True if the server refuses tools, as many compatible ones do that were started without a parser for them.
pub(super) fn is_of_tools(error: &ProviderError) -> bool {
    names(error, &["tool", "function call", "function_call", "functions"]) && !error.is_after_output()
}

/// True if the API knows no stop sequences, or none of these.
pub(super) fn is_of_stops(error: &ProviderError) -> bool {
    names(error, &["stop"])
}

/// True if an error says that the request asks for something that there is not, and names it.
fn names(error: &ProviderError, words: &[&str]) -> bool {
    let is_refusal = match error.kind() {
        ErrorKind::Unsupported => true,
        ErrorKind::InvalidRequest | ErrorKind::NotFound | ErrorKind::Api => {
            matches!(error.status(), None | Some(400 | 404 | 405 | 415 | 422 | 501))
        }
        _ => false,
    };
    let said = [Some(error.message()), error.param(), error.code(), error.response_body()];
    let names = |text: &str| {
        let text = text.to_ascii_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    is_refusal && said.into_iter().flatten().any(names)
}
