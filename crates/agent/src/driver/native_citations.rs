//! Tells what the provider cites while the reply comes.

use attache_core::citation::Citation;
use attache_core::{ChatRequest, Degradation};

use super::Driver;
use super::citable::{Citable, name, shown_documents};
use crate::event::EventKind;

impl Driver {
    /// True if answers are held against what the model was shown.
    fn is_checked(&self) -> bool {
        #[cfg(feature = "citations")]
        return self.setup.citations;
        #[cfg(not(feature = "citations"))]
        false
    }

    /// Notes the documents that the reply to a request may cite.
    pub(super) fn note_citable(&mut self, request: &ChatRequest) {
        if self.is_checked() {
            let documents = shown_documents(&request.messages);
            self.citable = Some(Box::new(Citable { documents, told: 0 }));
        }
    }

    /// A citation that came with the reply.
    pub(super) fn cited(&mut self, mut citation: Citation) -> Option<EventKind> {
        let citable = self.citable.as_mut()?;
        citable.told += 1;
        name(&mut citation, &citable.documents);
        Some(EventKind::Source(Box::new(citation)))
    }

    /// The events that a whole reply brings: what could not be honoured, and the citations that came with its end alone.
    /// Its citations then name the documents that they mean: later nobody knows which request they count in.
    pub(super) fn notes_of_reply(
        &mut self,
        degradations: &[Degradation],
        citations: &mut [Citation],
    ) -> Vec<EventKind> {
        let mut notes: Vec<EventKind> = degradations
            .iter()
            .map(|degradation| EventKind::Warning {
                code: "degraded",
                message: format!("{}: {}", degradation.option, degradation.note),
            })
            .collect();
        let Some(citable) = &self.citable else { return notes };
        citations.iter_mut().for_each(|citation| name(citation, &citable.documents));
        let untold = citations.iter().skip(citable.told);
        notes.extend(untold.map(|citation| EventKind::Source(Box::new(citation.clone()))));
        notes
    }
}
