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
    has_tools && names(error, &HAS_NONE) && !error.is_after_output() && !is_of_one(error)
}

/// True if an error is about one tool, its schema or the choice among tools: a server that has tools says that.
fn is_of_one(error: &ProviderError) -> bool {
    let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let said: Vec<String> = said(error).map(str::to_ascii_lowercase).collect();
    let flags = ["--enable-auto-tool", "tool-call-parser"];
    let unknown = ["unrecognized", "unknown", "unexpected field", "extra inputs"];
    // A server without tools says of both that it does not know them.
    let knows_none = said.iter().any(|text| {
        has(text, &flags) || has(text, &unknown) && has(&text.replace("tool_choice", ""), &["tools"])
    });
    said.iter()
        .any(|text| has(text, &["schema"]) || has_number(text) || !knows_none && has(text, &["tool_choice"]))
}

/// True if a text names one of the tools by its place, as `tools[0]` and `tools.0`.
fn has_number(text: &str) -> bool {
    text.split("tools").skip(1).any(|behind| {
        let place = behind.strip_prefix(['[', '.']);
        place.is_some_and(|place| place.starts_with(|c: char| c.is_ascii_digit()))
    })
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
    let names = |text: &str| {
        let text = text.to_ascii_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    is_refusal && said(error).any(names)
}

/// The texts of an error.
fn said(error: &ProviderError) -> impl Iterator<Item = &str> {
    [Some(error.message()), error.param(), error.code(), error.response_body()].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> ProviderError {
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
            "Unrecognized request arguments supplied: tool_choice, tools",
        ] {
            assert!(is_of_tools(&refused(text)), "{text}");
        }
        for text in [
            "An assistant message with 'tool_calls' must be followed by tool messages",
            "tools.0.input_schema: JSON schema is invalid",
            "unexpected `tool_use_id` found in `tool_result` blocks",
            "the request is too long",
            "Invalid schema for function 'find': In context=(), 'oneOf' is not permitted.",
            "The tool_choice parameter does not support being set to required in thinking mode",
            "tools.0.custom.strict: Extra inputs are not permitted",
            "tools[1].function.strict is not supported by this model",
        ] {
            assert!(!is_of_tools(&refused(text)), "{text}");
        }
        let of_one =
            refused("'oneOf' is not permitted").with_param("tools[0].function.parameters".to_owned());
        assert!(!is_of_tools(&of_one));
        let late = ProviderError::new(ErrorKind::Overloaded, "tools are not available now").with_status(503);
        assert!(!is_of_tools(&late));
    }
}
