//! Bodies of requests.

use std::fmt::Write as _;

use attache_core::hash::hex;
use attache_core::{Document, DocumentRef, ToolContext, ToolError, ToolErrorKind};
use attache_transport::EncodedBody;
use bytes::Bytes;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::endpoint::{BodyFormat, Endpoint};
use crate::parameter::{Parameter, Place};
use crate::write::{in_query, is_json, line, scalar};

/// A body and its media type.
pub(crate) struct Written {
    pub(crate) body: EncodedBody,
    pub(crate) media_type: String,
}

/// The body that the arguments make; `None` if there is to be none.
pub(crate) async fn body(
    endpoint: &Endpoint,
    arguments: &mut Map<String, Value>,
    context: &ToolContext,
) -> Result<Option<Written>, ToolError> {
    if !endpoint.takes_body() {
        return Ok(None);
    }
    if let Some(parameter) = &endpoint.whole {
        let value = arguments.remove(&parameter.argument).filter(|value| !value.is_null());
        let Some(value) = value else { return Ok(None) };
        return whole(parameter, value, endpoint.body_type.as_deref(), context).await.map(Some);
    }
    let members: Vec<(&Parameter, Value)> = endpoint
        .parameters
        .iter()
        .filter(|parameter| parameter.place == Place::Body)
        .filter_map(|parameter| Some((parameter, arguments.remove(&parameter.argument)?)))
        .collect();
    if members.is_empty() && !endpoint.parameters.iter().any(|parameter| parameter.place == Place::Body) {
        return Ok(None);
    }
    let in_body = |parameter: &&Parameter| parameter.is_required_in_body;
    let mut demanded = endpoint.parameters.iter().filter(in_body).peekable();
    // Nothing of it is given, so that it is left out.
    if members.is_empty() && demanded.peek().is_some() {
        return Ok(None);
    }
    if let Some(missing) =
        demanded.find(|parameter| !members.iter().any(|(known, _)| known.name == parameter.name))
    {
        let text = format!("{:?} is missing: the body must have it if it is sent", missing.argument);
        return Err(ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments));
    }
    let written = match endpoint.format {
        BodyFormat::Json => json(members, context).await?,
        BodyFormat::Form => form(&members)?,
        BodyFormat::Multipart => multipart(members, context).await?,
    };
    Ok(Some(match &endpoint.body_type {
        Some(media_type) if endpoint.format == BodyFormat::Json => {
            Written { media_type: media_type.clone(), ..written }
        }
        _ => written,
    }))
}

async fn whole(
    parameter: &Parameter,
    value: Value,
    media_type: Option<&str>,
    context: &ToolContext,
) -> Result<Written, ToolError> {
    if parameter.is_document {
        let document = load(parameter, &value, context).await?;
        // A type with a star says which ones are taken, and the document says which one it is.
        let declared =
            media_type.filter(|media| !media.contains('*') && *media != "application/octet-stream");
        let media_type = declared.map_or_else(|| document.media_type().to_string(), str::to_owned);
        return Ok(Written { body: content(&document)?.into(), media_type });
    }
    let media_type = media_type.unwrap_or("application/json").to_owned();
    let text = match value {
        Value::String(text) if !is_json(&media_type) => text,
        value => value.to_string(),
    };
    Ok(Written { body: text.into(), media_type })
}

async fn json(members: Vec<(&Parameter, Value)>, context: &ToolContext) -> Result<Written, ToolError> {
    let mut object = Map::new();
    for (parameter, value) in members {
        let value = match (parameter.is_document, value) {
            (true, Value::Array(names)) => {
                let mut contents = Vec::with_capacity(names.len());
                for name in names {
                    contents.push(Value::String(base64(&load(parameter, &name, context).await?)?));
                }
                Value::Array(contents)
            }
            (true, Value::Null) => Value::Null,
            (true, name) => Value::String(base64(&load(parameter, &name, context).await?)?),
            (false, value) => value,
        };
        object.insert(parameter.name.clone(), value);
    }
    let body = Value::Object(object).to_string().into();
    Ok(Written { body, media_type: "application/json".to_owned() })
}

fn base64(document: &Document) -> Result<String, ToolError> {
    Ok(attache_core::base64::encode(content(document)?))
}

fn form(members: &[(&Parameter, Value)]) -> Result<Written, ToolError> {
    let mut pairs = Vec::new();
    for (parameter, value) in members {
        match value {
            // Without a style an object stands as JSON, and so does a list that its media type says it of. (OpenAPI,
            // "Encoding Object")
            Value::Object(_) if parameter.style.is_none() => {
                in_query(parameter, &Value::String(value.to_string()), &mut pairs)?;
            }
            Value::Array(_)
                if parameter.style.is_none() && parameter.part_type.as_deref().is_some_and(is_json) =>
            {
                in_query(parameter, &Value::String(value.to_string()), &mut pairs)?;
            }
            value => in_query(parameter, value, &mut pairs)?,
        }
    }
    Ok(Written { body: line(&pairs).into(), media_type: "application/x-www-form-urlencoded".to_owned() })
}

/// A part of a form of several parts.
struct Part {
    head: String,
    content: Bytes,
}

async fn multipart(members: Vec<(&Parameter, Value)>, context: &ToolContext) -> Result<Written, ToolError> {
    let mut parts = Vec::new();
    for (parameter, value) in members {
        let values = match value {
            Value::Null => continue,
            Value::Array(items) if parameter.part_type.as_deref().is_none_or(|media| !is_json(media)) => {
                items
            }
            value => vec![value],
        };
        for value in values {
            let part = match parameter.is_document {
                true => file(parameter, &load(parameter, &value, context).await?)?,
                false => field(parameter, &value),
            };
            parts.extend(part);
        }
    }
    // No content holds the hash of all of it, so this line is none of any content's.
    let mut hash = Sha256::new();
    for part in &parts {
        hash.update(part.head.as_bytes());
        hash.update(&part.content);
    }
    let boundary = format!("attache-{}", hex(hash.finalize().iter().take(24)));
    let mut pieces: Vec<Bytes> = Vec::with_capacity(parts.len() * 3 + 1);
    for part in parts {
        pieces.push(format!("--{boundary}\r\n{}\r\n\r\n", part.head).into());
        pieces.push(part.content);
        pieces.push(Bytes::from_static(b"\r\n"));
    }
    pieces.push(format!("--{boundary}--\r\n").into());
    let media_type = format!("multipart/form-data; boundary={boundary}");
    Ok(Written { body: EncodedBody::from_pieces(pieces), media_type })
}

fn file(parameter: &Parameter, document: &Document) -> Result<Option<Part>, ToolError> {
    let media = document.media_type();
    let name = match (document.file_name(), media.extension()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(extension)) => format!("document.{extension}"),
        (None, None) => "document".to_owned(),
    };
    let media_type = match &parameter.part_type {
        Some(declared)
            if !declared.contains(['*', ',', '\r', '\n']) && declared != "application/octet-stream" =>
        {
            declared.clone()
        }
        _ => media.to_string(),
    };
    let head = format!(
        "Content-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\nContent-Type: {media_type}",
        quoted(&parameter.name),
        quoted(&name),
    );
    Ok(Some(Part { head, content: content(document)? }))
}

fn field(parameter: &Parameter, value: &Value) -> Option<Part> {
    let mut head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(&parameter.name));
    let own = parameter.part_type.as_deref().filter(|media| !media.contains(['*', ',', '\r', '\n']));
    let is_structured = matches!(value, Value::Array(_) | Value::Object(_));
    if let Some(media_type) = own.or(is_structured.then_some("application/json")) {
        let _ = write!(head, "\r\nContent-Type: {media_type}");
    }
    Some(Part { head, content: scalar(value)?.into() })
}

/// A name inside quotes, escaped as browsers do it.
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

async fn load(parameter: &Parameter, value: &Value, context: &ToolContext) -> Result<Document, ToolError> {
    let reference = match value {
        Value::String(text) => DocumentRef::parse(text),
        other => serde_json::from_value(other.clone()).ok(),
    };
    let Some(reference) = reference else {
        let text = format!("{} must be the id of a document of this conversation", parameter.argument);
        return Err(ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments));
    };
    context.load(&reference).await
}

fn content(document: &Document) -> Result<Bytes, ToolError> {
    document.bytes().ok_or_else(|| ToolError::new("the content of the document is not available"))
}
