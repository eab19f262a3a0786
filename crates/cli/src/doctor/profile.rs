//! The findings as a table of capabilities, in the form that `--capabilities` takes.

use std::time::SystemTime;

use attache_core::ModelCapabilities;

use super::examine::Examination;
use super::finding::Verdict;
use crate::output::short;
use crate::overlay::{Overlay, date};

/// The first words of every profile. A file that begins otherwise is not overwritten.
pub(super) const MARK: &str = "# attache doctor";

/// The row that findings make of the table's.
pub(super) fn corrected(row: &ModelCapabilities, examination: &Examination) -> ModelCapabilities {
    let mut corrected = row.clone();
    let differs = examination.findings.iter().filter(|finding| finding.verdict == Verdict::Differs);
    for (cell, works) in differs.filter_map(|finding| Some((finding.cell, finding.observed?))) {
        cell.set(&mut corrected, works);
    }
    // Some of what was found says nothing against the table's row, and something against the new one.
    for finding in &examination.findings {
        if let Some(works) = finding.observed
            && finding.cell.expects(&corrected) == Some(!works)
        {
            finding.cell.set(&mut corrected, works);
        }
    }
    corrected
}

/// The file: what was probed and when, what differs and why.
pub(super) fn file(overlay: &Overlay, name: &str, host: &str, examination: &Examination) -> String {
    let date = date(SystemTime::now());
    let mut text = format!("{MARK}: {} at {}, probed on {date}.\n", short(name, 200), short(host, 200));
    if examination.stopped.is_some() {
        text.push_str("# It ended early, so some of it is not known.\n");
    }
    let unclear = examination.count(Verdict::Unclear);
    if unclear > 0 {
        text.push_str(&format!(
            "# Of the probes, {unclear} told too little; what they are about is left as it is.\n"
        ));
    }
    if overlay.is_empty() {
        text.push_str("# Nothing differs from what the capability table says.\n");
        return text;
    }
    text.push_str(
        "# Only what differs from the capability table is in here. Give this file to --capabilities.\n#\n",
    );
    for finding in examination.findings.iter().filter(|finding| finding.verdict == Verdict::Differs) {
        let (title, says) = (&finding.title, finding.says.unwrap_or_default());
        text.push_str(&format!(
            "# {title}: {} ({}); the table says {says}\n",
            finding.ended,
            short(&finding.detail, 200)
        ));
    }
    text.push_str(&overlay.to_string());
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use attache_core::capability::{Place, StructuredOutput};

    use std::collections::BTreeSet;
    use std::time::UNIX_EPOCH;

    use attache_models::Registry;

    use super::super::cell::{Cell, Form, Switch};
    use super::super::media::Kind;
    use super::*;
    use crate::overlay::{overlay, resolved};

    fn check(name: &str, changes: &[(Cell, bool)]) -> String {
        let registry = Registry::bundled();
        let now = registry.capabilities(name).unwrap();
        let mut wanted = now.clone();
        for (cell, works) in changes {
            cell.set(&mut wanted, *works);
        }
        let overlay = overlay(&registry, name, &now, &wanted).unwrap();
        let holds = resolved(&registry, name, &overlay).unwrap();
        for (cell, works) in changes {
            assert_eq!(cell.expects(&holds), Some(*works), "{cell:?} in {overlay}");
        }
        // Everything else stays as it was.
        assert_eq!(
            (holds.context_window, holds.max_output_tokens),
            (now.context_window, now.max_output_tokens)
        );
        assert_eq!((&holds.efforts, holds.sampling, &holds.files), (&now.efforts, now.sampling, &now.files));
        overlay.to_string()
    }

    #[test]
    fn only_what_differs_stands_in_a_row() {
        let gif = Cell::Media(Place::User, Kind::Gif);
        assert_eq!(
            check("anthropic/some-new-model", &[(gif, false), (Cell::Parallel, false)]),
            "[anthropic.models.some-new-model]\nparallel_tools = false\nuser.media = [\"-image/gif\"]\n"
        );
    }

    // A row of a model's own lies on top of the pattern's.
    #[test]
    fn nothing_of_a_pattern_is_lost_or_repeated() {
        let text = check("openai-chat/gpt-4.1-mini", &[(Cell::Media(Place::User, Kind::Pdf), false)]);
        assert!(!text.contains("context_window"), "{text}");
        let changes = [(Cell::Form(Form::Schema), true), (Cell::Media(Place::User, Kind::Png), true)];
        let text = check("openai-chat/gpt-3.5-turbo", &changes);
        assert!(text.contains("json_schema_alone"), "{text}");
        check("gemini/gemini-2.5-flash", &[(Cell::Media(Place::ToolResult, Kind::Png), true)]);
        check("vllm/x", &[(Cell::Media(Place::ToolResult, Kind::Text), false), (Cell::Tools, false)]);
    }

    // Whatever row a model has, each change can be written down, and changes nothing else.
    #[test]
    fn every_row_can_be_corrected() {
        let registry = Registry::bundled();
        let places = [Place::User, Place::ToolResult];
        let media = places.into_iter().flat_map(|place| Kind::ALL.map(|kind| Cell::Media(place, kind)));
        let forms = [Form::Object, Form::Schema, Form::BesideTools].map(Cell::Form);
        let switches = [Switch::Off, Switch::Effort, Switch::Adaptive, Switch::Budget].map(Cell::Reasoning);
        let others = [Cell::Tools, Cell::Forced, Cell::Parallel, Cell::Caching];
        let cells: Vec<Cell> = media.chain(forms).chain(switches).chain(others).collect();
        let mut families = BTreeSet::new();
        for (provider, family) in registry.providers().filter(|(_, family)| families.insert(*family)) {
            let patterns = registry.matrix().patterns(family).into_iter().chain(["unheard-of"]);
            for (number, pattern) in patterns.enumerate() {
                let name = format!("{provider}/{}", pattern.replace('*', "7.x"));
                let now = registry.capabilities(&name).unwrap();
                // Each row with some of the changes, so that all meet many rows.
                for cell in cells.iter().skip(number % 8).step_by(8) {
                    let mut wanted = now.clone();
                    cell.set(&mut wanted, cell.expects(&now) != Some(true));
                    if wanted == now {
                        continue;
                    }
                    let overlay = overlay(&registry, &name, &now, &wanted).unwrap();
                    let mut holds = resolved(&registry, &name, &overlay).unwrap();
                    assert_eq!(cell.expects(&holds), cell.expects(&wanted), "{name}: {cell:?}: {overlay}");
                    // The row has a name of its own now, and lists may be in another order.
                    holds.row.clone_from(&wanted.row);
                    for (holds, wanted) in [
                        (&mut holds.user, &wanted.user),
                        (&mut holds.tool_result, &wanted.tool_result),
                        (&mut holds.failed_result, &wanted.failed_result),
                        (&mut holds.beside_result, &wanted.beside_result),
                    ] {
                        let words = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
                        assert_eq!(words(&holds.media), words(&wanted.media), "{name}: {cell:?}");
                        holds.media.clone_from(&wanted.media);
                    }
                    holds.reasoning.sort();
                    wanted.reasoning.sort();
                    holds.efforts.sort();
                    wanted.efforts.sort();
                    assert_eq!(holds, wanted, "{name}: {cell:?}: {overlay}");
                }
            }
        }
    }

    #[test]
    fn forms_are_one_cell() {
        let mut row = ModelCapabilities::text_only("x", "y");
        Cell::Form(Form::BesideTools).set(&mut row, true);
        assert_eq!(row.structured_output, StructuredOutput::JsonSchema);
        Cell::Form(Form::BesideTools).set(&mut row, false);
        assert_eq!(row.structured_output, StructuredOutput::JsonSchemaAlone);
        Cell::Form(Form::Schema).set(&mut row, false);
        assert_eq!(row.structured_output, StructuredOutput::JsonObject);
        Cell::Form(Form::Object).set(&mut row, false);
        assert_eq!(row.structured_output, StructuredOutput::None);
        Cell::Reasoning(Switch::Effort).set(&mut row, true);
        assert_eq!((row.reasoning.len(), row.efforts.len()), (1, 1));
    }

    #[test]
    fn a_pattern_that_covers_too_much_is_replaced() {
        let mut row = ModelCapabilities::text_only("x", "y");
        row.user.media = vec!["text".to_owned(), "image/*".to_owned(), "audio/wav".to_owned()];
        let gif = Cell::Media(Place::User, Kind::Gif);
        gif.set(&mut row, false);
        assert_eq!(row.user.media, ["text", "audio/wav", "image/png", "image/jpeg", "image/webp"]);
        assert_eq!(gif.expects(&row), Some(false));
    }

    #[test]
    fn dates() {
        let date_of = |days: u64| date(UNIX_EPOCH + Duration::from_secs(days * 86_400 + 5));
        assert_eq!(date_of(0), "1970-01-01");
        assert_eq!(date_of(19_782), "2024-02-29");
        assert_eq!(date_of(20_819), "2027-01-01");
    }
}
