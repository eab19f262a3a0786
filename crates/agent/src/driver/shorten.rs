//! Shortens results that are too long for the model.

use attache_core::{ContentTree, ToolResultsMessage};

/// The results as the model shall read them, if one is too long: its text loses its middle, with a marker.
pub(crate) fn shortened(results: &ToolResultsMessage, max_chars: usize) -> Option<ToolResultsMessage> {
    let short: Vec<_> =
        results.results.iter().map(|result| without_middle(&result.tree, max_chars)).collect();
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

fn without_middle(tree: &ContentTree, max_chars: usize) -> Option<ContentTree> {
    let text = tree.model_text();
    let total = text.chars().count();
    if total <= max_chars {
        return None;
    }
    let half = max_chars / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(total.saturating_sub(half)).collect();
    let cut = total.saturating_sub(2 * half);
    let json = serde_json::to_string(&format!("{head}\n[… {cut} characters left out …]\n{tail}")).ok()?;
    ContentTree::parse(&json, tree.documents().to_vec())
}
