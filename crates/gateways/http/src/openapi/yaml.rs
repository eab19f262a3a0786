//! Documents in YAML.

use serde_json::Value;
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

use super::reference::LONGEST;
use crate::error::HttpToolsError;

/// The maximum number of values: large documents that are published have one on 19 bytes.
const MOST_VALUES: usize = LONGEST / 16;
/// As documents of JSON may be.
const DEEPEST: usize = 128;

/// The reader takes some 20 KiB of the stack for a level where it is not optimized.
const STACK: usize = 16 << 20;

/// Reads YAML, whatever stack is left here.
pub(super) fn read(text: &str) -> Result<Value, HttpToolsError> {
    let unread = || HttpToolsError::new("the thread that reads the OpenAPI document failed");
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("openapi-yaml".to_owned()).stack_size(STACK);
        let read = thread.spawn_scoped(scope, || read_here(text, MOST_VALUES)).map_err(|_| unread())?;
        read.join().unwrap_or_else(|_| Err(unread()))
    })
}

/// YAML 1.2, which knows no `y`, `no` and `on` but as texts.
fn read_here(text: &str, most_values: usize) -> Result<Value, HttpToolsError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_nodes: most_values,
            // A list or an object is two events, other values are one; the stream and aliases are the rest.
            max_events: most_values.saturating_mul(2).saturating_add(100_000),
            max_depth: DEEPEST,
            max_total_scalar_bytes: LONGEST,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let shown = match error.without_snippet() {
            Error::Budget { breach, .. } => format!("has more than {}", most(breach, most_values)),
            _ => format!("is no YAML: {}", error.to_string().chars().take(300).collect::<String>()),
        };
        HttpToolsError::new(format!("the OpenAPI document {shown}"))
    })
}

/// The bound that was met.
fn most(breach: &BudgetBreach, most_values: usize) -> String {
    let known = serde_saphyr::Budget::default();
    match breach {
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => format!("{most_values} values"),
        BudgetBreach::Depth { .. } => format!("{DEEPEST} levels"),
        BudgetBreach::ScalarBytes { .. } => format!("{LONGEST} bytes of texts"),
        BudgetBreach::Aliases { .. } => format!("{} aliases", known.max_aliases),
        BudgetBreach::Anchors { .. } => format!("{} anchors", known.max_anchors),
        BudgetBreach::MergeKeys { .. } => format!("{} merge keys", known.max_merge_keys),
        other => format!("is read: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_too_many_values_is_told() {
        assert!(read_here("[1, 2, {a: b}]", 6).is_ok());
        let error = read_here("[1, 2, {a: b}]", 5).unwrap_err().to_string();
        assert_eq!(error, "the OpenAPI document has more than 5 values");
    }
}
