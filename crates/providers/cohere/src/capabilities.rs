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
            ("command-a-plus-05-2026", true, true, true, true),
            ("command-a-reasoning-08-2025", false, true, true, true),
            ("command-a-vision-07-2025", true, false, true, false),
            ("command-r-plus-08-2024", false, true, false, false),
            ("command-r7b-12-2024", false, true, true, false),
            ("north-mini-code-1-0", false, true, true, true),
            ("c4ai-aya-vision-32b", true, false, true, false),
            ("tiny-aya-global", false, false, true, false),
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

    // The table of the models (cohere.md 8).
    #[test]
    fn windows_and_replies_are_those_of_the_vendors_page() {
        for (model, window, reply) in [
            ("command-a-plus-05-2026", 128_000, 64_000),
            ("command-a-reasoning-08-2025", 256_000, 32_000),
            ("command-a-03-2025", 256_000, 8_000),
            ("command-a-vision-07-2025", 128_000, 8_000),
            ("command-a-translate-08-2025", 8_000, 8_000),
            ("command-r7b-12-2024", 128_000, 4_000),
            ("command-r-plus-08-2024", 128_000, 4_000),
            ("c4ai-aya-expanse-32b", 128_000, 4_000),
            ("c4ai-aya-expanse-8b", 8_000, 4_000),
            ("c4ai-aya-vision-32b", 16_000, 4_000),
            ("north-mini-code-1-0", 256_000, 64_000),
            ("north-small-translate-1-0", 16_000, 16_000),
            ("tiny-aya-global", 8_000, 8_000),
        ] {
            let row = of(model);
            assert_eq!((row.context_window, row.max_output_tokens), (Some(window), Some(reply)), "{model}");
        }
    }

    #[test]
    fn the_table_names_its_source_and_the_day_of_the_last_look() {
        let lines = include_str!("capabilities.toml").lines();
        let section: Vec<&str> =
            lines.skip_while(|line| *line != "[cohere]").take_while(|line| !line.is_empty()).collect();
        let remark = |name: &str| {
            let value = section.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            value.unwrap_or_else(|| panic!("the table has no {name}")).trim_matches('"')
        };
        assert!(remark("source").starts_with("https://"));
        let checked = remark("checked");
        let date: Result<Vec<u32>, _> = checked.split('-').map(str::parse).collect();
        let is_day = matches!(date.as_deref(), Ok([2026..=2999, 1..=12, 1..=31]));
        assert!(is_day, "checked = {checked:?}: on which day did you hold the table against its source?");
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
