//! The end of an agent's run as the result of a call.

use attache_agent::{EndReason, Outcome, RunError};
use attache_core::Document;
use attache_core::citation::Source;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::blocks::Blocks;

/// A failure that whoever called reads.
pub(super) fn failure(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(text.into())]).into()
}

/// The schema of the structured content.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "answer": {"type": "string"},
            "session": {"type": "string", "description": "Goes into the next question of the conversation"},
            "reason": {"type": "string", "description": "The reason why the agent stopped; answer is the usual one"},
            "value": {"description": "The answer as a value, where one was asked for"},
            "earlier": {
                "type": "string",
                "description": "The answer to an earlier question, where that one went on first since its calls were approved",
            },
            "earlierReason": {
                "type": "string",
                "description": "The reason why the agent stopped before that question had an answer: `earlier` is all that it had said, if anything",
            },
            "documents": {
                "type": "array",
                "description": "The documents that the agent's tools returned",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "mediaType": {"type": "string"},
                        "size": {"type": "integer"},
                        "uri": {"type": "string"},
                    },
                    "required": ["name", "mediaType"],
                },
            },
            "citations": {"type": "array", "items": {"type": "object"}},
            "unsupportedFigures": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["answer", "session", "reason"],
    })
}

/// The end of a question that went on before the one that was asked.
pub(super) struct Earlier {
    said: String,
    /// The reason why it has no answer.
    reason: Option<EndReason>,
}

impl Earlier {
    pub(super) fn of(end: &Result<Outcome, RunError>) -> Self {
        let outcome = end.as_ref().unwrap_or_else(|error| error.partial());
        let is_answer = end.is_ok() && outcome.reason.is_answer();
        let reason = (!is_answer).then(|| outcome.reason.clone());
        Self { said: outcome.text.trim().to_owned(), reason }
    }

    fn words(&self) -> String {
        match &self.reason {
            None => {
                format!("[an earlier question, whose calls were approved, has this answer: {}]", self.said)
            }
            Some(reason) => {
                format!(
                    "[an earlier question, whose calls were approved, has no answer: {}]",
                    stopped(reason, &self.said)
                )
            }
        }
    }
}

fn stopped(reason: &EndReason, said: &str) -> String {
    let text = format!("the agent stopped before its work was done: {reason}");
    if said.is_empty() { text } else { format!("{text}. It had said: {said}") }
}

/// A failure behind runs of the same call, with what these have brought.
pub(super) fn failure_behind(
    text: String,
    earlier: Option<&Earlier>,
    documents: &[Document],
    mut blocks: Blocks<'_>,
) -> CallToolResponse {
    blocks.text(text);
    add(earlier, documents, &mut blocks);
    CallToolResult::error(blocks.finish().0).into()
}

fn add(earlier: Option<&Earlier>, documents: &[Document], blocks: &mut Blocks<'_>) {
    if let Some(earlier) = earlier {
        blocks.text(earlier.words());
    }
    for document in documents {
        blocks.document(document);
    }
}

/// The end without citations of documents, which a tool may have returned, and without what others quote of tools.
pub(super) fn without_sources(end: Result<Outcome, RunError>) -> Result<Outcome, RunError> {
    let hide = |mut outcome: Outcome| {
        outcome.citations.retain(|citation| !matches!(citation.source, Source::Document { .. }));
        for citation in &mut outcome.citations {
            if !matches!(citation.source, Source::Message) {
                *citation = citation.clone().without_passage();
            }
        }
        outcome
    };
    match end {
        Ok(outcome) => Ok(hide(outcome)),
        Err(error) => Err(error.with_partial(hide)),
    }
}

/// The result of a call, made of the end of a run; `earlier` is a question before it that went on first.
pub(super) fn result(
    end: Result<Outcome, RunError>,
    session: &str,
    earlier: Option<&Earlier>,
    documents: &[Document],
    mut blocks: Blocks<'_>,
) -> CallToolResponse {
    let (outcome, failed) = match end {
        Ok(outcome) => (outcome, None),
        Err(error) => (error.partial().clone(), Some(error)),
    };
    let said = outcome.text.trim();
    let is_whole = outcome.reason.is_answer();
    let is_lost = failed.is_some()
        || matches!(outcome.reason, EndReason::Refusal | EndReason::Cancelled)
        || (!is_whole && said.is_empty());
    if is_lost {
        if let Some(error) = &failed {
            tracing::warn!(%error, reason = outcome.reason.as_str(), "an agent failed");
        }
        let busy = failed.as_ref().and_then(|error| error.session_error());
        blocks.text(match busy {
            Some(error) => format!("the agent did not begin: {error}"),
            None => stopped(&outcome.reason, said),
        });
    } else {
        blocks.text(outcome.text.clone());
        if !is_whole {
            blocks.text(format!("[{}]", stopped(&outcome.reason, "")));
        }
    }
    add(earlier, documents, &mut blocks);
    let (content, documents) = blocks.finish();
    if is_lost {
        return CallToolResult::error(content).into();
    }
    let mut structured =
        json!({"answer": outcome.text, "session": session, "reason": outcome.reason.as_str()});
    let figures: Vec<Value> =
        outcome.unsupported().map(|figure| Value::from(figure.text.to_string())).collect();
    let citations = serde_json::to_value(&outcome.citations).unwrap_or_default();
    let value = outcome.structured.as_deref().and_then(|value| value.as_ref().ok()).cloned();
    if let Some(members) = structured.as_object_mut() {
        let lists = [
            ("documents", Value::Array(documents)),
            ("citations", citations),
            ("unsupportedFigures", Value::Array(figures)),
        ];
        let filled = lists.into_iter().filter(|(_, list)| list.as_array().is_some_and(|l| !l.is_empty()));
        members.extend(filled.map(|(name, list)| (name.to_owned(), list)));
        members.extend(value.map(|value| ("value".to_owned(), value)));
        if let Some(Earlier { said, reason }) = earlier {
            if reason.is_none() || !said.is_empty() {
                members.insert("earlier".to_owned(), said.as_str().into());
            }
            members
                .extend(reason.as_ref().map(|reason| ("earlierReason".to_owned(), reason.as_str().into())));
        }
    }
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(structured);
    result.into()
}
