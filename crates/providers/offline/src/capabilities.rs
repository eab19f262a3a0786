//! The capabilities of the offline model.

use attache_core::ModelCapabilities;
use attache_core::capability::Matrix;

/// The API family, as the matrix names it.
pub(crate) const FAMILY: &str = "offline";

/// The row of a model: text in every place, tools, parallel calls.
pub(crate) fn resolve(matrix: &Matrix, model: &str) -> ModelCapabilities {
    matrix.resolve(FAMILY, model)
}

#[cfg(test)]
mod tests {
    use attache_core::MediaType;
    use attache_core::capability::Place;

    use super::*;

    // C26
    #[test]
    fn it_takes_text_and_nothing_else() {
        let row = resolve(Matrix::bundled(), "extractive");
        for place in [Place::User, Place::ToolResult, Place::FailedResult, Place::AfterToolResults] {
            assert!(row.place(place).accepts_text());
            for media in ["application/pdf", "image/png", "audio/wav"] {
                assert!(!row.place(place).accepts(&MediaType::parse(media).unwrap()), "{media} {place:?}");
            }
        }
        assert!(row.tools && row.parallel_tools && row.forced_tools);
    }
}
