//! The capabilities of Cohere's models.

use std::sync::LazyLock;

use attache_core::ModelCapabilities;
use attache_core::capability::Matrix;

/// The API family: the section of the capability table, the tag of replay data, and the name of the provider.
pub(crate) const FAMILY: &str = "cohere";

/// The table of this crate. A test checks that it is valid, so that no program has to.
static OWN: LazyLock<Matrix> = LazyLock::new(|| {
    Matrix::parse(include_str!("capabilities.toml")).unwrap_or_else(|_| Matrix::bundled().clone())
});

/// The crate's own knowledge of a model.
pub(crate) fn of(model: &str) -> ModelCapabilities {
    OWN.resolve(FAMILY, model)
}

/// The same with the cells of a configured table on top.
pub(crate) fn under(matrix: &Matrix, model: &str) -> ModelCapabilities {
    OWN.override_with(matrix).resolve(FAMILY, model)
}

#[cfg(test)]
mod tests {
    use attache_core::MediaType;

    use super::*;

    #[test]
    fn the_table_is_valid() {
        Matrix::parse(include_str!("capabilities.toml")).unwrap();
        let png = MediaType::parse("image/png").unwrap();
        for (model, images, tools, forced, reasons) in [
            ("command-a-03-2025", false, true, true, false),
            ("command-a-reasoning-08-2025", false, true, true, true),
            ("command-a-vision-07-2025", true, false, true, false),
            ("command-r-plus-08-2024", false, true, false, false),
            ("command-r7b-12-2024", false, true, true, false),
            ("command-newer-than-the-table", false, true, true, true),
        ] {
            let row = of(model);
            assert_eq!(
                (row.user.accepts(&png), row.tools, row.forced_tools, !row.reasoning.is_empty()),
                (images, tools, forced, reasons),
                "{model}"
            );
        }
    }

    // C27: a configuration wins, cell by cell
    #[test]
    fn a_configuration_lies_on_top() {
        let matrix = Matrix::bundled().merged_with("[cohere]\nuser.media = ['+image/png']").unwrap();
        let row = under(&matrix, "command-a-03-2025");
        assert_eq!(
            (row.user.media, row.context_window),
            (vec!["text".into(), "image/png".into()], Some(256_000))
        );
    }
}
