//! The fate of documents, each told once.

use std::collections::{BTreeMap, HashSet};

use attache_core::DocumentId;
use attache_documents::{DocumentDecision, DocumentOutcome, RoutingReport};

use crate::output::{harmless, short};

/// The maximum number of documents that are told one by one.
const ONE_BY_ONE: usize = 3;
/// The maximum number of names in a summary.
const NAMES: usize = 3;

/// The documents that were told, each with its outcome.
#[derive(Debug, Default)]
pub(crate) struct Routed {
    told: HashSet<(DocumentId, DocumentOutcome)>,
}

impl Routed {
    /// The lines about what this report says anew. `all` tells every document on a line of its own.
    pub(crate) fn lines(&mut self, report: &RoutingReport, all: bool) -> Vec<String> {
        let is_new =
            |decision: &&DocumentDecision| self.told.insert((decision.document_id.clone(), decision.outcome));
        let new: Vec<&DocumentDecision> = report.decisions.iter().filter(is_new).collect();
        if all || new.len() <= ONE_BY_ONE {
            return new.into_iter().map(line).collect();
        }
        let mut kinds: BTreeMap<&str, Vec<&DocumentDecision>> = BTreeMap::new();
        for decision in &new {
            kinds.entry(decision.outcome.as_str()).or_default().push(decision);
        }
        let kinds: Vec<String> = kinds
            .into_iter()
            .map(|(outcome, decisions)| {
                let names: Vec<String> =
                    decisions.iter().take(NAMES).map(|decision| name(decision)).collect();
                let more = if decisions.len() > NAMES { ", …" } else { "" };
                format!("{} {outcome} ({}{more})", decisions.len(), names.join(", "))
            })
            .collect();
        vec![format!("· {} documents: {}", new.len(), kinds.join("; "))]
    }
}

fn line(decision: &DocumentDecision) -> String {
    format!("· {}: {} ({})", name(decision), decision.outcome, short(decision.reason.as_str(), 160))
}

fn name(decision: &DocumentDecision) -> String {
    harmless(decision.file_name.as_deref().unwrap_or(decision.document_id.short()))
}
