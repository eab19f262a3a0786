//! Shortens results that are too long for the model.

use attache_core::{ContentTree, ToolResult, ToolResultsMessage};

use crate::memory::message_tokens::kept_id;

/// The results as the model shall read them, if one is too long: its text loses its middle, with a marker that names the
/// tool which reads all of it, if there is one.
pub(crate) fn shortened(
    results: &ToolResultsMessage,
    max_chars: usize,
    reader: Option<&str>,
) -> Option<ToolResultsMessage> {
    let short: Vec<_> =
        results.results.iter().map(|result| without_middle(result, max_chars, reader)).collect();
    if short.iter().all(Option::is_none) {
        return None;
    }
    let mut cut = results.clone();
    for (result, short) in cut.results.iter_mut().zip(short) {
        if let Some(short) = short {
            result.tree = short;
        }
    }
    Some(cut)
}

fn without_middle(result: &ToolResult, max_chars: usize, reader: Option<&str>) -> Option<ContentTree> {
    let tree = &result.tree;
    let text = tree.model_text();
    let total = text.chars().count();
    if total <= max_chars {
        return None;
    }
    let half = max_chars / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(total.saturating_sub(half)).collect();
    let cut = total.saturating_sub(2 * half);
    let more = reader.map(|tool| format!("; {tool} reads all of it as document {}", kept_id(result)));
    let more = more.unwrap_or_default();
    let json =
        serde_json::to_string(&format!("{head}\n[… {cut} characters left out{more} …]\n{tail}")).ok()?;
    let short = ContentTree::parse(&json, tree.documents().to_vec())?;
    Some(short.with_withheld(tree.withheld().to_vec()))
}

#[cfg(test)]
mod tests {
    use attache_core::{Arguments, Document, ResultStatus, ToolCall};

    use super::*;

    #[test]
    fn a_result_without_its_middle_still_says_what_is_kept_from_the_model() {
        let document = Document::inline("secret");
        let json = serde_json::to_string(&"x".repeat(100)).unwrap();
        let tree = ContentTree::parse(&json, vec![document.clone()]).unwrap();
        let tree = tree.with_withheld(vec![document.id().clone()]);
        let result = ToolResult::new(&ToolCall::new("t", Arguments::new("{}")), ResultStatus::Ok, tree);
        let short = without_middle(&result, 10, None).unwrap();
        assert_eq!((short.shown().count(), short.withheld()), (0, result.tree.withheld()));
    }
}
