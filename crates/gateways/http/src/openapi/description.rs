//! The words on an operation.

use serde_json::Value;

use super::names::shortened;
use super::reference::text;
use crate::parameter::{Parameter, Place};

/// The description of an operation, as the model reads it.
pub(super) fn describe(described: &Value, parameters: &[Parameter]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for told in [text(described, "summary"), text(described, "description")].into_iter().flatten() {
        let told = shortened(told);
        if !told.is_empty() && !texts.contains(&told) {
            texts.push(told);
        }
    }
    texts.extend(pages(parameters));
    texts.join("\n\n")
}

/// The sentence that tells the model how to read on where an answer is a page of many.
fn pages(parameters: &[Parameter]) -> Option<String> {
    const CURSORS: [&str; 14] = [
        "cursor",
        "page_token",
        "pagetoken",
        "next_token",
        "nexttoken",
        "starting_after",
        "after",
        "page",
        "page_number",
        "pagenumber",
        "offset",
        "skip",
        "start",
        "continue",
    ];
    const SIZES: [&str; 11] = [
        "limit",
        "per_page",
        "perpage",
        "page_size",
        "pagesize",
        "max_results",
        "maxresults",
        "count",
        "size",
        "top",
        "take",
    ];
    let find = |names: &[&str]| {
        let queries = parameters.iter().filter(|parameter| parameter.place == Place::Query);
        let mut queries = queries.filter(|parameter| {
            let name = parameter.argument.to_ascii_lowercase().replace(['.', '-'], "_");
            names
                .iter()
                .any(|known| name == *known || name.strip_prefix("page_").is_some_and(|rest| rest == *known))
        });
        queries.next().map(|parameter| parameter.argument.as_str())
    };
    let cursor = find(&CURSORS)?;
    let size = find(&SIZES).map(|size| format!("; `{size}` says how many it holds")).unwrap_or_default();
    Some(format!("The answer is one page: `{cursor}` asks for the next{size}."))
}
