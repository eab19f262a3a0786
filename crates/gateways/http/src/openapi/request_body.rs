//! The bodies that operations take.

use std::collections::HashSet;

use http::Method;
use serde_json::{Map, Value, json};

use super::file::{File, file_of, may_be_null};
use super::names::shortened;
use super::operation::Reader;
use super::reference::{flag, is_marked, resolved, text};
use super::schema::Closure;
use crate::endpoint::{BodyFormat, Endpoint};
use crate::error::HttpToolsError;
use crate::parameter::{Parameter, Style, document_schema};
use crate::write::is_json;

impl<'d> Reader<'d> {
    pub(super) fn body(
        &self,
        described: &'d Value,
        closure: &mut Closure<'d>,
        endpoint: &mut Endpoint,
    ) -> Result<(), HttpToolsError> {
        let Some(body) = described.get("requestBody") else { return Ok(()) };
        let body = resolved(self.document, body)?;
        if !endpoint.takes_body() {
            // HTTP gives it no meaning, and services demand it all the same; one that they do not demand is left out.
            match (flag(body, "required"), endpoint.method == Method::DELETE) {
                (true, true) => endpoint.has_body = true,
                (true, false) => {
                    let message = format!("it demands a body, which a {} has not", endpoint.method);
                    return Err(HttpToolsError::new(message));
                }
                (false, _) => return Ok(()),
            }
        }
        let is_required = flag(body, "required");
        let content = body.get("content").and_then(Value::as_object);
        let preferred = content.and_then(|content| preferred(self.document, content));
        let Some((media_type, media)) = preferred else { return Ok(()) };
        let media = resolved(self.document, media)?;
        let any = &Value::Null;
        let schema = media.get("schema").unwrap_or(any);
        // A range says what is taken, and a request what it is.
        let media_type = match essence_of(media_type) {
            range if is_range_of_json(self.document, &range, media) => "application/json",
            range if range == "text/*" => "text/plain",
            _ => media_type,
        };
        let essence = essence_of(media_type);
        endpoint.format = match essence.as_str() {
            "multipart/form-data" => BodyFormat::Multipart,
            "application/x-www-form-urlencoded" => BodyFormat::Form,
            _ => BodyFormat::Json,
        };
        let is_form = endpoint.format != BodyFormat::Json;
        if (is_form || is_json(media_type))
            && let Some(object) = closure.object(schema)
        {
            if !is_form && essence != "application/json" {
                endpoint.body_type = Some(media_type.to_owned());
            }
            self.members(&object, media, is_required, closure, endpoint);
            return Ok(());
        }
        // There is nothing to write.
        if is_form && closure.is_without_members(schema) {
            return Ok(());
        }
        if is_form {
            return Err(HttpToolsError::new("the form that it demands is no plain object"));
        }
        let is_text = essence.starts_with("text/") || essence.ends_with("xml");
        let whole = match is_json(media_type) || is_text {
            true => {
                let taken = if is_text { json!({"type": "string"}) } else { closure.take(schema) };
                Parameter::body("body", taken)
            }
            false => Parameter::document("body"),
        };
        let whole = match text(body, "description").filter(|_| !whole.is_document) {
            Some(told) if !whole.schema.get("$ref").is_some_and(Value::is_string) => {
                whole.with_description(shortened(told))
            }
            _ => whole,
        };
        endpoint.whole = Some(if is_required { whole.required() } else { whole });
        endpoint.body_type = Some(media_type.to_owned());
        Ok(())
    }

    /// The members of a body as parameters.
    fn members(
        &self,
        object: &Map<String, Value>,
        media: &Value,
        is_required: bool,
        closure: &mut Closure<'d>,
        endpoint: &mut Endpoint,
    ) {
        let required: HashSet<&str> = match object.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => HashSet::new(),
        };
        let members = object.get("properties").and_then(Value::as_object);
        for (name, schema) in members.into_iter().flatten() {
            let plain = resolved(self.document, schema).unwrap_or(schema);
            if is_marked(self.document, schema, "readOnly") {
                continue;
            }
            let encoding = media.get("encoding").and_then(|encoding| encoding.get(name));
            let part_type = encoding.and_then(|encoding| text(encoding, "contentType"));
            let mut made = match file_of(self.document, plain, endpoint.format, part_type) {
                Some(File::One) => Parameter::document(name),
                Some(File::Many) => Parameter::documents(name),
                None => Parameter::body(name, closure.take(schema)),
            };
            if made.is_document
                && let Some(told) = text(schema, "description").or_else(|| text(plain, "description"))
            {
                let hint = document_schema()
                    .get("description")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                if made.schema.get("items").is_none() {
                    made = made.with_description(format!("{} ({hint})", shortened(told)));
                }
            }
            // One that must be there and may be null is left out by that word.
            if made.is_document && required.contains(name.as_str()) && may_be_null(self.document, plain) {
                made.schema = json!({"anyOf": [made.schema, {"type": "null"}]});
            }
            made.members = self.named_members(schema);
            if let Some(encoding) = encoding {
                made.style = encoding
                    .get("style")
                    .and_then(|style| serde_json::from_value::<Style>(style.clone()).ok());
                made.explode = encoding.get("explode").and_then(Value::as_bool);
                made.part_type = part_type.map(str::to_owned);
            }
            made.required = is_required && required.contains(name.as_str());
            made.is_required_in_body = !is_required && required.contains(name.as_str());
            if made.is_required_in_body && made.schema.get("$ref").is_none() {
                let told = made
                    .schema
                    .get("description")
                    .and_then(Value::as_str)
                    .map_or(String::new(), |told| format!("{told} "));
                made = made.with_description(format!("{told}(required if the body is sent)"));
            }
            endpoint.parameters.push(made);
        }
    }
}

/// The form of a body that says most of what a model writes. Of the patches of JSON it is one that a model writes like
/// the thing itself.
fn preferred<'d>(document: &'d Value, content: &'d Map<String, Value>) -> Option<(&'d String, &'d Value)> {
    let rank = |media_type: &str, media: &Value| match essence_of(media_type).as_str() {
        "application/json" => 0,
        "application/merge-patch+json" => 1,
        "application/strategic-merge-patch+json" => 2,
        // A list of steps, which the schemas of some services do not say.
        "application/json-patch+json" if !is_list(document, media) => 5,
        _ if is_json(media_type) => 3,
        range if is_range_of_json(document, range, media) => 4,
        "multipart/form-data" => 6,
        "application/x-www-form-urlencoded" => 7,
        text if text.starts_with("text/") => 8,
        _ => 9,
    };
    content.iter().min_by_key(|(media_type, media)| rank(media_type, media))
}

/// A media type without its parameters.
fn essence_of(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_list(document: &Value, media: &Value) -> bool {
    let media = resolved(document, media).unwrap_or(media);
    let schema = media.get("schema").and_then(|schema| resolved(document, schema).ok());
    schema.is_some_and(|schema| text(schema, "type") == Some("array"))
}

/// True for a range of media types whose schema describes more than bytes: services that take anything so take JSON.
fn is_range_of_json(document: &Value, range: &str, media: &Value) -> bool {
    let media = resolved(document, media).unwrap_or(media);
    let schema = media.get("schema").filter(|_| matches!(range, "*/*" | "application/*"));
    schema.is_some_and(|schema| file_of(document, schema, BodyFormat::Multipart, None).is_none())
}
