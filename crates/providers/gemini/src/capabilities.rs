//! The consequences of a model's capability row, and the spellings of its name.

use attache_core::ModelCapabilities;
use attache_core::capability::ReasoningReplay;
use serde_json::Value;

/// True if the first call of each step must carry a signature.
pub(crate) fn demands_signatures(capabilities: &ModelCapabilities) -> bool {
    capabilities.reasoning_replay == ReasoningReplay::Required
}

/// True if the first word of the model in each turn, and each of its images, must carry a signature: the one cell below
/// `wire` (gemini.md 4).
pub(crate) fn signs_all(capabilities: &ModelCapabilities) -> bool {
    capabilities.wire.get("signs_all") == Some(&Value::Bool(true))
}

/// True if two ids name the same model. An id may be a resource path.
pub(crate) fn is_same_model(a: &str, b: &str) -> bool {
    name_of(a) == name_of(b)
}

/// The model's name without the path of its resource.
pub(crate) fn name_of(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use attache_core::capability::Matrix;

    use super::*;

    #[test]
    fn wire_cells_of_the_bundled_table_are_known() {
        let signs = |family: &str| {
            let rows = Matrix::bundled().patterns(family).into_iter();
            let rows = rows.map(|pattern| Matrix::bundled().resolve(family, &pattern.replace('*', "")));
            let rows = rows.filter(|row| !row.wire.is_empty());
            let signed = rows.map(|row| {
                assert!(row.wire.len() == 1 && row.wire.get("signs_all").is_some_and(Value::is_boolean));
                signs_all(&row)
            });
            signed.collect::<Vec<_>>()
        };
        assert_eq!((signs("gemini"), signs("vertex")), (vec![true; 2], vec![false; 2]));
    }

    #[test]
    fn names() {
        assert!(is_same_model("models/gemini-3-pro-preview", "gemini-3-pro-preview"));
        assert!(!is_same_model("gemini-3-pro-preview", "gemini-3-flash-preview"));
        let takes_system = |model: &str| Matrix::bundled().resolve("gemini", model).system;
        assert!(!takes_system("gemma-3-27b-it"));
        assert!(takes_system("gemma-4-31b-it") && takes_system("gemini-2.5-pro"));
    }
}
