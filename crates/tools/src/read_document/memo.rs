//! Texts of documents that were read in a run, so that each is decoded or converted once.

use std::sync::{Arc, Mutex, PoisonError};

use attache_core::DocumentId;
use tokio::sync::OnceCell;

use super::text::Reading;

/// The text of a document, or why there is none.
pub(super) type Text = Result<Arc<Reading>, Arc<str>>;
pub(super) type Slot = Arc<OnceCell<Text>>;

/// The maximum number of documents whose texts are kept.
const MAX_DOCUMENTS: usize = 8;
/// The maximum number of bytes of text that are kept; a longer text is kept alone.
const MAX_BYTES: usize = 64 << 20;

/// The documents that one run has read, the longest unused first.
#[derive(Debug, Default)]
pub(crate) struct Memo(Mutex<Vec<(DocumentId, Slot)>>);

impl Memo {
    /// The place of a document's text. The call that finds it empty fills it; calls beside it wait for that.
    pub(super) fn slot(&self, id: &DocumentId) -> Slot {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|(known, _)| known == id);
        let entry = known.map_or_else(|| (id.clone(), Slot::default()), |at| kept.remove(at));
        let slot = Arc::clone(&entry.1);
        kept.push(entry);
        let bytes = |(_, slot): &(DocumentId, Slot)| match slot.get() {
            Some(Ok(reading)) => reading.text.len(),
            _ => 0,
        };
        while kept.len() > 1
            && (kept.len() > MAX_DOCUMENTS || kept.iter().map(bytes).sum::<usize>() > MAX_BYTES)
        {
            kept.remove(0);
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_and_the_oldest_goes_first() {
        let memo = Memo::default();
        let id = |n: usize| DocumentId::parse(format!("d-{n}")).unwrap();
        let fill = |n: usize, bytes: usize| {
            let text = Reading::new(Arc::from("x".repeat(bytes)), Vec::new(), bytes);
            memo.slot(&id(n)).set(Ok(Arc::new(text))).unwrap();
        };
        (0..MAX_DOCUMENTS).for_each(|n| fill(n, 1));
        assert!(memo.slot(&id(0)).initialized(), "and is the newest now");
        fill(MAX_DOCUMENTS, 1);
        assert!(memo.slot(&id(0)).initialized() && !memo.slot(&id(1)).initialized());
        fill(100, MAX_BYTES + 1);
        assert!(memo.slot(&id(100)).initialized());
        assert_eq!(memo.0.lock().unwrap().len(), 1, "a long one is kept alone");
    }
}
