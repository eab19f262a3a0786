//! Values that clients are offered while their user types.

use std::collections::BTreeMap;

use rmcp::model::CompletionInfo;

/// The values of the arguments of a prompt, or of the names of a template.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(BTreeMap<String, Vec<String>>);

impl Values {
    pub(super) fn add(&mut self, name: &str, values: impl IntoIterator<Item = impl Into<String>>) {
        self.0.entry(name.to_owned()).or_default().extend(values.into_iter().map(Into::into));
    }

    /// The values that begin with what was typed, in whichever case.
    pub(super) fn complete(&self, name: &str, typed: &str) -> CompletionInfo {
        let typed = typed.to_lowercase();
        let known = self.0.get(name).into_iter().flatten();
        let mut fitting = known.filter(|value| value.to_lowercase().starts_with(&typed));
        let mut info = CompletionInfo::default();
        info.values = fitting.by_ref().take(CompletionInfo::MAX_VALUES).cloned().collect();
        let more = fitting.count();
        info.total = u32::try_from(info.values.len() + more).ok();
        info.has_more = Some(more > 0);
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_completed_and_what_is_left_out_is_counted() {
        let mut values = Values::default();
        values.add("city", (0..150).map(|number| format!("Oslo {number}")));
        values.add("city", ["Bergen"]);
        let found = values.complete("city", "BER");
        assert_eq!(
            (found.values, found.total, found.has_more),
            (vec!["Bergen".to_owned()], Some(1), Some(false))
        );
        let found = values.complete("city", "o");
        assert_eq!((found.values.len(), found.total, found.has_more), (100, Some(150), Some(true)));
        assert!(values.complete("street", "").values.is_empty());
    }
}
