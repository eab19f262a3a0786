//! Tool results, with the documents that they can hold.

use std::ops::Range;

use attache_core::capability::Place;
use attache_core::{ToolResultsMessage, UserMessage};

use super::Scene;
use super::parts::{Labelling, Pieces};
use crate::decide::all::wire_call_id;
use crate::find::place_of;
use crate::label::ShortIds;

impl Scene<'_, '_> {
    /// The results with what follows their texts, and the message with what they cannot hold.
    pub(super) fn results(
        &self,
        message: &ToolResultsMessage,
        here: Range<usize>,
    ) -> (ToolResultsMessage, Option<UserMessage>) {
        let occurrences = self.decided.occurrences.get(here.clone()).unwrap_or_default();
        let treatments = self.decided.treatments.get(here).unwrap_or_default();
        let short_ids = ShortIds::of(occurrences.iter().map(|occurrence| occurrence.document));
        let mut routed = message.clone();
        let mut beside = Pieces::new();
        let mut pairs = occurrences.iter().zip(treatments).peekable();
        for (part, result) in routed.results.iter_mut().enumerate() {
            let tool_name = result.tool_name.as_deref().map(|name| self.tools.wire_name(name));
            let call = Some((tool_name.as_deref(), wire_call_id(result)));
            let place = place_of(result);
            let takes_text = self.capabilities.place(place).accepts_text();
            let mut inside = Pieces::new();
            while let Some((occurrence, treatment)) = pairs.next_if(|(occurrence, _)| occurrence.part == part)
            {
                let is_beside = treatment.place == Some(Place::AfterToolResults);
                let labelling = Labelling {
                    profile: self.options.profile,
                    call,
                    short_id: short_ids.get(occurrence.document),
                    show_url: self.options.show_urls,
                    read_tool: self.options.read_tool.as_deref(),
                    native: is_beside || self.options.label_native && takes_text,
                    text: is_beside || takes_text,
                    cites: self.cites_text(if is_beside { Place::AfterToolResults } else { place }),
                };
                if is_beside {
                    self.begin_synthetic(&mut beside);
                    beside.document(occurrence, treatment, labelling);
                } else {
                    inside.document(occurrence, treatment, labelling);
                }
            }
            result.routed = (!result.documents.is_empty()).then(|| inside.routed());
        }
        let synthetic = (!beside.is_empty()).then(|| self.synthetic(&message.id, beside));
        (routed, synthetic)
    }
}
