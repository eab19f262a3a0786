//! The notes of a reader as data: whoever shows them says them in a language of its own.

use attache_convert::Note;

use crate::json::Object;

/// Writes a note: its kind, its sentence in English, and the facts that stand in it.
pub(super) fn write(note: &Note, out: &mut Vec<u8>) {
    let text = note.to_string();
    match note {
        Note::UnitsLeftOut { unit, read, total } => {
            let object = begin("units_left_out", &text, out).with("unit", unit.name());
            object.with("shown", read).with("total", total)
        }
        Note::TextCut { limit } => begin("text_cut", &text, out).with("limit", limit),
        Note::Unread { unit, numbers } => {
            begin("unread", &text, out).with("unit", unit.name()).with("numbers", numbers)
        }
        Note::OrderGuessed { unit } => begin("order_guessed", &text, out).with("unit", unit.name()),
        Note::PartsLeftOut { unit, numbers } => {
            begin("parts_left_out", &text, out).with("unit", unit.name()).with("numbers", numbers)
        }
        Note::WithoutText { unit, numbers } => {
            begin("without_text", &text, out).with("unit", unit.name()).with("numbers", numbers)
        }
        Note::CoveredByImages { unit, numbers } => {
            begin("covered_by_images", &text, out).with("unit", unit.name()).with("numbers", numbers)
        }
        Note::UnreadableCharacters { count } => {
            begin("unreadable_characters", &text, out).with("count", count)
        }
        Note::EndsEarly => begin("ends_early", &text, out),
        Note::Recovered => begin("recovered", &text, out),
        Note::Charset { charset } => begin("charset", &text, out).with("name", charset),
        Note::NotShown { what, count } => {
            begin("not_shown", &text, out).with("what", what).with("count", count)
        }
        Note::RowsLeftOut { shown, total } => {
            begin("rows_left_out", &text, out).with("shown", shown).maybe("total", total.as_ref())
        }
        Note::FormulasWithoutValues { count } => {
            begin("formulas_without_values", &text, out).with("count", count)
        }
        Note::PagesAsSaved => begin("pages_as_saved", &text, out),
        Note::ShownAsText { .. } => begin("shown_as_text", &text, out),
        Note::ReadAs { format } => begin("read_as", &text, out).with("name", format),
        Note::Shortened => begin("shortened", &text, out),
        Note::EntriesLeftOut => begin("entries_left_out", &text, out),
        _ => begin("other", &text, out),
    }
    .end();
}

fn begin<'o>(kind: &str, text: &str, out: &'o mut Vec<u8>) -> Object<'o> {
    Object::begin(out).with("kind", kind).text("text", text)
}

#[cfg(test)]
mod tests {
    use attache_convert::Unit;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_note_has_its_kind_its_words_and_its_facts() {
        let told = |note: &Note| -> Value {
            let mut out = Vec::new();
            write(note, &mut out);
            serde_json::from_slice(&out).unwrap()
        };
        let unit = Unit::Sheet;
        assert_eq!(
            told(&Note::PartsLeftOut { unit, numbers: vec![1, 3, 4] }),
            json!({
                "kind": "parts_left_out",
                "text": "parts that are too large or damaged are left out on sheets 1, 3\u{2013}4",
                "unit": "sheet",
                "numbers": [1, 3, 4],
            })
        );
        assert_eq!(
            told(&Note::UnitsLeftOut { unit, read: 2, total: 9 }),
            json!({
                "kind": "units_left_out",
                "text": "only the first 2 of 9 sheets are shown",
                "unit": "sheet",
                "shown": 2,
                "total": 9,
            })
        );
        assert_eq!(
            told(&Note::NotShown { what: "image", count: 2 }),
            json!({"kind": "not_shown", "text": "2 images are not shown", "what": "image", "count": 2})
        );
        assert_eq!(
            told(&Note::RowsLeftOut { shown: 5, total: None }),
            json!({"kind": "rows_left_out", "text": "only 5 rows are shown, there are more", "shown": 5})
        );
    }
}
