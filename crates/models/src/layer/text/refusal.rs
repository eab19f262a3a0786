//! Tells from an error that a server takes no tools, or no stop sequences.

use attache_core::{ErrorKind, ProviderError};

/// Words of a server that has no tools, beside one for tools. Errors about single calls and results have none of them.
const HAS_NONE: [&str; 13] = [
    "support",
    "--enable-auto-tool",
    "tool-call-parser",
    "--jinja",
    "not implemented",
    "not enabled",
    "not available",
    "not permitted",
    "unrecognized",
    "unknown field",
    "unknown parameter",
    "unexpected field",
    "cannot be offered",
];

/// True if the server refuses tools, as many compatible ones do that were started without a parser for them.
pub(super) fn is_of_tools(error: &ProviderError) -> bool {
    let has_tools = names(error, &["tool", "function call", "function_call", "functions"]);
    has_tools && names(error, &HAS_NONE) && !error.is_after_output()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> ProviderError {
        ProviderError::new(ErrorKind::InvalidRequest, text).with_status(400)
    }

    #[test]
    fn a_server_without_tools_is_told_from_a_request_that_is_wrong() {
        for text in [
            "registry.ollama.ai/library/gemma:2b does not support tools",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "tools param requires --jinja flag",
            "No endpoints found that support tool use.",
            "Unrecognized request argument supplied: tools",
            "Function calling is not enabled for this model",
        ] {
            assert!(is_of_tools(&said(text)), "{text}");
        }
        for text in [
            "An assistant message with 'tool_calls' must be followed by tool messages",
            "tools.0.input_schema: JSON schema is invalid",
            "unexpected `tool_use_id` found in `tool_result` blocks",
            "the request is too long",
        ] {
            assert!(!is_of_tools(&said(text)), "{text}");
        }
        let late = ProviderError::new(ErrorKind::Overloaded, "tools are not available now").with_status(503);
        assert!(!is_of_tools(&late));
    }
}
