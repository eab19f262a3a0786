//! The check that a request holds what the outcomes say.

use std::collections::BTreeSet;

use attache_conformance::{SeenDocument, SeenPlace, seen_documents, sha256_hex};
use attache_core::capability::Place;
use attache_core::{ErrorKind, ModelCapabilities, ProviderError};
use attache_documents::{DocumentDecision, DocumentOutcome};
use serde_json::Value;

use super::converter::Remembering;
use super::fixture::{Fixture, Item, Kind};
use crate::Api;

/// A request, read as its provider would.
pub(super) struct Sent<'a> {
    seen: Vec<SeenDocument>,
    /// Every text in the body that is no content of a document.
    texts: Vec<String>,
    place: Place,
    capabilities: &'a ModelCapabilities,
    converter: &'a Remembering,
}

impl<'a> Sent<'a> {
    pub(super) fn new(
        api: Api,
        body: &Value,
        place: Place,
        capabilities: &'a ModelCapabilities,
        converter: &'a Remembering,
    ) -> Self {
        let seen = seen_documents(api.conformance(), body);
        let mut texts = Vec::new();
        collect(body, &mut texts);
        Self { seen, texts, place, capabilities, converter }
    }

    /// The first thing that is not as it should be.
    pub(super) fn check(&self, fixture: &Fixture, decisions: &[DocumentDecision]) -> Option<String> {
        if decisions.len() != fixture.items.len() {
            return Some(format!("{} decisions about {} documents", decisions.len(), fixture.items.len()));
        }
        fixture.items.iter().find_map(|item| {
            let id = item.document.id();
            let Some(decision) = decisions.iter().find(|decision| decision.document_id == *id) else {
                return Some(format!("no decision about {id}"));
            };
            let expected = item.expected(self.capabilities, self.place);
            if decision.outcome != expected {
                let (is, why) = (decision.outcome, &decision.reason);
                return Some(format!("{} is {is} and should be {expected}: {why}", name(item)));
            }
            self.wrong(item, decision).map(|wrong| format!("{}: {wrong}", name(item)))
        })
    }

    fn wrong(&self, item: &Item, decision: &DocumentDecision) -> Option<String> {
        let bytes = item.document.bytes().unwrap_or_default();
        if is_native(decision.outcome)
            != (decision.tokens > 0 && decision.bytes > 0 && !self.is_text(decision))
        {
            return Some(format!("it costs {} bytes and {} tokens", decision.bytes, decision.tokens));
        }
        match decision.outcome {
            DocumentOutcome::Native => self.held(&sha256_hex(&bytes), self.seen_place()),
            DocumentOutcome::Synthetic => self.held(&sha256_hex(&bytes), SeenPlace::User),
            DocumentOutcome::Reencoded => {
                let inside = decision.place != Some(Place::AfterToolResults);
                let place = if inside { self.seen_place() } else { SeenPlace::User };
                let made = self.converter.made(item.document.id());
                let held = made.iter().any(|made| self.held(&sha256_hex(made), place).is_none());
                if !held {
                    return Some("what a converter made of it is not in the request".to_owned());
                }
                self.says(item.says)
            }
            DocumentOutcome::Rendered => self.rendered(item),
            DocumentOutcome::Text | DocumentOutcome::Converted => self.says(item.says),
            DocumentOutcome::Note => {
                let short = item.document.id().short();
                let noted = |text: &String| text.contains(short) && text.contains("Content not shown here: ");
                (!self.texts.iter().any(noted)).then(|| "there is no note about it".to_owned())
            }
            other => Some(format!("it is {other}")),
        }
    }

    /// Each page without text stands there as the image that was made of it, behind the line that says which page it
    /// is; what other pages say is said.
    fn rendered(&self, item: &Item) -> Option<String> {
        let pages = self.converter.pages(item.document.id());
        let (expected, total): (&[usize], usize) = match item.kind {
            Kind::Scan(2) => (&[1, 2], 2),
            _ => (&[2], 3),
        };
        // An author's document and a tool's are rendered within other limits.
        let made: Vec<usize> =
            pages.iter().map(|(page, _)| *page).collect::<BTreeSet<_>>().into_iter().collect();
        if made != expected {
            return Some(format!("the pages {made:?} were made images"));
        }
        let wrong = pages.iter().find_map(|(page, image)| {
            let marker = format!("[page {page} of {total}]");
            // One API has all texts of a message in one.
            let is_marked = self.texts.iter().flat_map(|text| text.lines()).any(|line| line == marker);
            self.held(&sha256_hex(image), SeenPlace::User)
                .or_else(|| (!is_marked).then(|| format!("nothing says {marker}")))
        });
        wrong.or_else(|| self.says(item.says))
    }

    fn is_text(&self, decision: &DocumentDecision) -> bool {
        matches!(decision.outcome, DocumentOutcome::Text | DocumentOutcome::Converted)
    }

    fn seen_place(&self) -> SeenPlace {
        if self.place == Place::User { SeenPlace::User } else { SeenPlace::ToolResult }
    }

    /// Content with this hash stands there, once.
    fn held(&self, hash: &str, place: SeenPlace) -> Option<String> {
        let found: Vec<_> = self.seen.iter().filter(|seen| seen.sha256.as_deref() == Some(hash)).collect();
        match &*found {
            [one] if one.place == place => None,
            [one] => Some(format!("its content stands in {:?}", one.place)),
            [] => Some("its content is not in the request".to_owned()),
            more => Some(format!("its content is in the request {} times", more.len())),
        }
    }

    fn says(&self, words: &str) -> Option<String> {
        let plain = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words);
        (!self.texts.iter().any(plain)).then(|| format!("the request does not say {words:?}"))
    }
}

/// Checks that an error is the one that an author is told: which document, what it is, which model.
pub(super) fn refusal(
    fixture: &Fixture,
    capabilities: &ModelCapabilities,
    error: &ProviderError,
) -> Option<String> {
    let refused =
        fixture.items.iter().find(|item| item.expected(capabilities, Place::User) == DocumentOutcome::Error);
    let Some(item) = refused else { return Some(format!("it should not fail: {error}")) };
    if error.kind() != ErrorKind::Unsupported {
        return Some(format!("it should be unsupported: {error}"));
    }
    let (media, model) = (item.document.media_type(), &capabilities.model);
    let told = [item.document.id().short(), media.essence(), model.as_str()];
    told.into_iter()
        .find(|word| !error.message().contains(word))
        .map(|word| format!("the error does not name {word}: {error}"))
}

fn name(item: &Item) -> String {
    item.document
        .file_name()
        .unwrap_or_default()
        .chars()
        .take(20)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        // A long text without white space is content in base64.
        Value::String(text) if text.len() < 4_096 || text.contains(' ') => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts)),
        Value::Object(members) => members.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// True if an outcome shows content natively.
fn is_native(outcome: DocumentOutcome) -> bool {
    matches!(
        outcome,
        DocumentOutcome::Native
            | DocumentOutcome::Synthetic
            | DocumentOutcome::Reencoded
            | DocumentOutcome::Rendered
    )
}
