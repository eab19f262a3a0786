//! The consequences of a model's capability row, and the spellings of its name.

use attache_core::ModelCapabilities;
use attache_core::capability::Matrix;
use attache_transport::knows;

/// The API family: the key of the capability table, and the tag of replay data.
pub(crate) const FAMILY: &str = "anthropic";

/// The bundled capabilities of a model.
pub(crate) fn of(model: &str) -> ModelCapabilities {
    Matrix::bundled().resolve(FAMILY, model)
}

/// True if a conversation may end with an assistant message that the model continues. That ended with the
/// generation that brought adaptive thinking.
pub(crate) fn takes_prefill(capabilities: &ModelCapabilities) -> bool {
    !knows(capabilities, "adaptive")
}

/// True if two ids name the same model: aliases and dated ids of one model do, since signatures are bound to the
/// model and not to its spelling.
pub(crate) fn is_same_model(a: &str, b: &str) -> bool {
    undated(a) == undated(b)
}

fn undated(model: &str) -> &str {
    let model = model.strip_suffix("-latest").unwrap_or(model);
    let dated = model
        .rsplit_once(['-', '@'])
        .filter(|(_, date)| date.len() == 8 && date.bytes().all(|digit| digit.is_ascii_digit()));
    let model = dated.map_or(model, |(name, _)| name);
    // The first model of a generation is also called by its minor number.
    model.strip_suffix("-0").unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use attache_transport::claude::hides_thinking;

    use super::*;

    #[test]
    fn spellings_of_one_model() {
        for (a, b) in [
            ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
            ("claude-opus-4-5@20251101", "claude-opus-4-5-20251101"),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
            ("claude-sonnet-4-0", "claude-sonnet-4-20250514"),
            ("claude-opus-5", "claude-opus-5"),
        ] {
            assert!(is_same_model(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("claude-sonnet-4-5", "claude-sonnet-4-6"),
            ("claude-sonnet-4-0", "claude-sonnet-4-5"),
            ("claude-opus-5", "claude-sonnet-5"),
        ] {
            assert!(!is_same_model(a, b), "{a} {b}");
        }
    }

    // anthropic.md 3 and 8: what has no cell of its own in the table
    #[test]
    fn generations() {
        for model in
            ["claude-3-5-sonnet-20241022", "claude-sonnet-4-0", "claude-haiku-4-5", "claude-opus-4-5"]
        {
            assert!(takes_prefill(&of(model)) && !hides_thinking(&of(model)), "{model}");
        }
        for model in ["claude-opus-4-6", "claude-sonnet-4-6"] {
            assert!(!takes_prefill(&of(model)) && !hides_thinking(&of(model)), "{model}");
        }
        for model in ["claude-opus-4-7", "claude-sonnet-5", "claude-fable-5", "claude-newer-than-the-table"] {
            assert!(!takes_prefill(&of(model)) && hides_thinking(&of(model)), "{model}");
        }
    }
}
