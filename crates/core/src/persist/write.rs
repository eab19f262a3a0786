//! Messages written in their JSON form.

use std::collections::HashSet;

use serde_json::Value;
use serde_json::value::RawValue;

use super::record::{MessageRecord, PartList, PartRecord, ReplayRecord, ResultRecord, part};
use super::reference::ReferenceRecord;
use crate::id::DocumentId;
use crate::message::{
    Arguments, AssistantPart, Message, ReplayData, ResultStatus, TOOL_CALL_DOCUMENTS, TextPart, ToolResult,
    UserOrigin, UserPart,
};

fn raw(json: &str) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(json.to_owned())
}

impl MessageRecord {
    pub(super) fn of(message: &Message) -> Result<Self, serde_json::Error> {
        let (role, parts, results, origin) = match message {
            Message::System(system) => (
                "system",
                system.parts.iter().map(text_record).collect::<Result<Vec<_>, _>>()?,
                Vec::new(),
                None,
            ),
            Message::User(user) => {
                let parts = user.parts.iter().map(content_record).collect::<Result<_, _>>()?;
                ("user", parts, Vec::new(), (user.origin == UserOrigin::Event).then(|| "event".to_owned()))
            }
            Message::Assistant(assistant) => (
                "assistant",
                assistant.parts.iter().map(part_record).collect::<Result<_, _>>()?,
                Vec::new(),
                None,
            ),
            Message::ToolResults(results) => {
                let results = results.results.iter().map(result_record).collect::<Result<_, _>>()?;
                ("toolResults", Vec::new(), results, None)
            }
        };
        let mut metadata = message.metadata().entries().clone();
        if message.is_tool_call_documents() {
            metadata.insert(TOOL_CALL_DOCUMENTS.to_owned(), Value::Bool(true));
        }
        let content = results.is_empty().then_some(PartList(parts));
        let citations = match message {
            Message::Assistant(assistant) => assistant.citations.clone(),
            _ => Vec::new(),
        };
        let (id, role) = (Some(message.id().clone()), role.to_owned());
        Ok(Self { id, role, origin, content, results, citations, metadata })
    }
}

fn replay_record(replay: Option<&ReplayData>) -> Result<Option<ReplayRecord>, serde_json::Error> {
    let Some(replay) = replay else { return Ok(None) };
    let (family, model) = (replay.family().to_owned(), replay.model().to_owned());
    Ok(Some(ReplayRecord { family, model, data: raw(replay.json())? }))
}

fn text_record(text: &TextPart) -> Result<PartRecord, serde_json::Error> {
    Ok(PartRecord {
        text: Some(text.text().to_owned()),
        refusal: text.is_refusal(),
        replay: replay_record(text.replay())?,
        ..part("text")
    })
}

fn content_record(content: &UserPart) -> Result<PartRecord, serde_json::Error> {
    match content {
        UserPart::Text(text) => text_record(text),
        UserPart::Document(document) => {
            Ok(PartRecord { document: Some(ReferenceRecord(document.clone())), ..part("document") })
        }
        UserPart::Object(tree) => Ok(PartRecord {
            object: Some(raw(tree.json())?),
            documents: tree.documents().iter().cloned().map(ReferenceRecord).collect(),
            withheld: tree.withheld().to_vec(),
            ..part("object")
        }),
    }
}

fn part_record(from: &AssistantPart) -> Result<PartRecord, serde_json::Error> {
    match from {
        AssistantPart::Text(text) => text_record(text),
        AssistantPart::Reasoning(reasoning) => Ok(PartRecord {
            text: Some(reasoning.text().to_owned()).filter(|text| !text.is_empty()),
            redacted: reasoning.is_redacted(),
            replay: replay_record(reasoning.replay())?,
            ..part("reasoning")
        }),
        AssistantPart::ToolCall(call) => {
            let arguments = call.arguments.raw();
            let truncated = call.arguments.json().is_err() && Arguments::new(arguments).json().is_ok();
            // An object that reads back byte for byte is written as JSON, anything else as the text it is.
            let as_json =
                call.arguments.json() == Ok(arguments) && crate::json::compact(arguments).0 == arguments;
            let arguments =
                if as_json { raw(arguments)? } else { serde_json::value::to_raw_value(arguments)? };
            Ok(PartRecord {
                id: Some(call.id.clone()),
                provider_id: call.provider_id.as_ref().map(|id| id.as_str().to_owned()),
                name: Some(call.name.clone()),
                arguments: Some(arguments),
                truncated,
                replay: replay_record(call.replay.as_deref())?,
                ..part("toolCall")
            })
        }
        AssistantPart::Document(made) => Ok(PartRecord {
            document: Some(ReferenceRecord(made.document.clone())),
            replay: replay_record(made.replay.as_ref())?,
            ..part("document")
        }),
        AssistantPart::Opaque(opaque) => Ok(PartRecord {
            kind: Some(opaque.kind.clone()),
            replay: replay_record(Some(&opaque.replay))?,
            ..part("opaque")
        }),
    }
}

pub(super) fn result_record(result: &ToolResult) -> Result<ResultRecord, serde_json::Error> {
    let withheld: HashSet<&DocumentId> = result.withheld.iter().collect();
    let captured = result.tree.documents().iter();
    let shown: Vec<_> = captured.filter(|document| !withheld.contains(document.id())).collect();
    let usual = shown.len() == result.documents.len()
        && shown.iter().zip(&result.documents).all(|(a, b)| a.id() == b.id());
    Ok(ResultRecord {
        call_id: result.call_id.clone(),
        provider_id: result.provider_id.as_ref().map(|id| id.as_str().to_owned()),
        name: result.tool_name.clone(),
        status: match result.status {
            ResultStatus::Ok => None,
            ResultStatus::Error => Some("error".to_owned()),
            ResultStatus::Cancelled => Some("cancelled".to_owned()),
        },
        content: Some(raw(result.tree.json())?),
        documents: result.tree.documents().iter().cloned().map(ReferenceRecord).collect(),
        withheld: result.withheld.clone(),
        shown: (!usual).then(|| result.documents.iter().cloned().map(ReferenceRecord).collect()),
    })
}
