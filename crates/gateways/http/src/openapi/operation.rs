//! Operations as endpoints.

use std::collections::{HashMap, HashSet};

use http::Method;
use serde_json::{Map, Value, json};

use super::document::{OpenApi, Operation};
use super::file::{File, file_of, may_be_null};
use super::names::{free_name, shortened};
use super::reference::{flag, resolved, text};
use super::schema::{Closure, Direction, without_patterns};
use super::security::Security;
use super::told::describe;
use crate::body::is_json;
use crate::endpoint::{BodyFormat, Endpoint};
use crate::error::HttpToolsError;
use crate::fixed_values::Fixed;
use crate::origin::Base;
use crate::parameter::{Parameter, Place, Style, document_schema};
use crate::template::Template;

const METHODS: [&str; 6] = ["get", "put", "post", "delete", "patch", "head"];

/// The most bytes of what the schemas of arguments, and of an answer, refer to.
const REQUEST_ROOM: usize = 96 << 10;
const RESPONSE_ROOM: usize = 24 << 10;

/// An operation where it stands in the document.
pub(super) struct Found<'d> {
    pub(super) operation: Operation,
    item: &'d Value,
    described: &'d Value,
}

pub(super) struct Reader<'d> {
    openapi: &'d OpenApi,
    document: &'d Value,
    security: Security<'d>,
    base: Base,
}

impl<'d> Reader<'d> {
    pub(super) fn new(openapi: &'d OpenApi) -> Result<Self, HttpToolsError> {
        let (document, base) = (&*openapi.document, openapi.base()?);
        Ok(Self { openapi, document, security: Security::new(openapi)?, base })
    }

    /// The operations, in the order of the document.
    pub(super) fn operations(&self) -> Vec<Found<'d>> {
        let mut found = Vec::new();
        let paths = self.document.get("paths").and_then(Value::as_object);
        for (path, item) in paths.into_iter().flatten() {
            let Ok(item) = resolved(self.document, item) else { continue };
            for method in METHODS {
                let Some(described) = item.get(method).filter(|operation| operation.is_object()) else {
                    continue;
                };
                let Ok(parsed) = Method::from_bytes(method.to_ascii_uppercase().as_bytes()) else { continue };
                let id = text(described, "operationId").map(str::trim).filter(|id| !id.is_empty());
                let tags = described.get("tags").and_then(Value::as_array).into_iter().flatten();
                let operation = Operation {
                    id: id.map_or_else(|| made_id(method, path), str::to_owned),
                    method: parsed,
                    path: path.clone(),
                    tags: tags.filter_map(|tag| Some(tag.as_str()?.to_owned())).collect(),
                    is_deprecated: flag(described, "deprecated"),
                };
                found.push(Found { operation, item, described });
            }
        }
        found
    }

    pub(super) fn endpoint(&self, found: &Found<'d>, name: String) -> Result<Endpoint, HttpToolsError> {
        let Found { operation, item, described } = found;
        // Some documents tell operations of one path apart by a query behind it.
        let (path, query) = operation.path.split_once('?').unwrap_or((&operation.path, ""));
        let template = Template::parse(path)?;
        let mut endpoint =
            Endpoint::new(operation.method.clone(), name, path).with_tags(operation.tags.iter().cloned());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            endpoint.sent.set(Fixed::query(name, value)?.plain());
        }
        let own = self.openapi.own_base(described).or_else(|| self.openapi.own_base(item));
        let own =
            own.transpose().map_err(|error| HttpToolsError::new(format!("its server is none: {error}")))?;
        // Credentials of the document's server are not sent to another.
        let is_at_home = own.as_ref().is_none_or(|own| own.origin == self.base.origin);
        endpoint.base = own.filter(|own| own.url != self.base.url);
        if is_at_home {
            for fixed in self.security.credentials(described)? {
                endpoint.sent.set(fixed);
            }
            for name in &self.openapi.forwarded_headers {
                endpoint.sent.forwarded.add_header(name)?;
            }
            for name in &self.openapi.forwarded_cookies {
                endpoint.sent.forwarded.add_cookie(name.clone())?;
            }
        }
        let mut closure = Closure::new(self.document, Direction::Request, REQUEST_ROOM);
        self.parameters(found, &template, is_at_home, &mut closure, &mut endpoint)?;
        self.body(described, &mut closure, &mut endpoint)?;
        endpoint.defs = closure.finish();
        unclashed(&mut endpoint);
        let endpoint = self.answer(described, endpoint);
        let description = describe(described, &endpoint.parameters);
        let mut endpoint = endpoint.with_description(description);
        endpoint.check()?;
        if endpoint.spec().definition.schema().is_err() {
            endpoint
                .parameters
                .iter_mut()
                .chain(&mut endpoint.whole)
                .for_each(|p| without_patterns(&mut p.schema));
            endpoint.defs.values_mut().for_each(without_patterns);
            let spec = endpoint.spec();
            if let Err(error) = spec.definition.schema() {
                return Err(HttpToolsError::new(format!("the schema of its arguments is none: {error}")));
            }
        }
        Ok(endpoint)
    }

    fn parameters(
        &self,
        found: &Found<'d>,
        template: &Template,
        is_at_home: bool,
        closure: &mut Closure<'d>,
        endpoint: &mut Endpoint,
    ) -> Result<(), HttpToolsError> {
        // An operation's word on a parameter stands in place of its path's.
        let mut all: Vec<(&str, &str, &Value)> = Vec::new();
        for list in [found.item, found.described] {
            for parameter in list.get("parameters").and_then(Value::as_array).into_iter().flatten() {
                let parameter = resolved(self.document, parameter)?;
                let (Some(name), Some(place)) = (text(parameter, "name"), text(parameter, "in")) else {
                    continue;
                };
                all.retain(|(known, at, _)| (*known, *at) != (name, place));
                all.push((name, place, parameter));
            }
        }
        let names = template.names();
        for (name, place, parameter) in all {
            if self.security.is_credential(place, name) {
                continue;
            }
            match place {
                "path" if names.contains(&name) => {
                    endpoint.parameters.push(self.parameter(Place::Path, name, parameter, closure)?);
                }
                "query" if endpoint.sent.has_query(name) => {}
                "query" => {
                    endpoint.parameters.push(self.parameter(Place::Query, name, parameter, closure)?)
                }
                "header" => self.header(name, parameter, is_at_home, endpoint)?,
                "cookie" if flag(parameter, "required") && !endpoint.sent.has_cookie(name) => {
                    let message = format!("it demands the cookie {name}, which is not passed on");
                    return Err(HttpToolsError::new(message));
                }
                _ => {}
            }
        }
        for name in names {
            let is_declared =
                endpoint.parameters.iter().any(|known| known.place == Place::Path && known.name == name);
            if !is_declared {
                endpoint.parameters.push(Parameter::path(name, json!({"type": "string"})));
            }
        }
        Ok(())
    }

    fn parameter(
        &self,
        place: Place,
        name: &str,
        parameter: &'d Value,
        closure: &mut Closure<'d>,
    ) -> Result<Parameter, HttpToolsError> {
        let content =
            parameter.get("content").and_then(Value::as_object).and_then(|content| content.iter().next());
        let any = Value::Object(Map::new());
        let schema = match (parameter.get("schema"), content) {
            (Some(schema), _) => schema,
            (None, Some((_, media))) => media.get("schema").unwrap_or(&any),
            (None, None) => &any,
        };
        let mut schema_taken = closure.take(schema);
        if let (Value::Object(taken), Some(told)) = (&mut schema_taken, text(parameter, "description"))
            && !taken.contains_key("$ref")
        {
            taken.insert("description".to_owned(), Value::String(shortened(told)));
        }
        let mut made = match place {
            Place::Path => Parameter::path(name, schema_taken),
            _ => Parameter::query(name, schema_taken),
        };
        if flag(parameter, "required") {
            made = made.required();
        }
        made.style = parameter.get("style").and_then(|style| serde_json::from_value(style.clone()).ok());
        made.explode = parameter.get("explode").and_then(Value::as_bool);
        // The members of an object that stand for themselves are those that its schema names, wherever it is.
        made.open_members = self.member_names(schema);
        made.part_type = content.map(|(media_type, _)| media_type.clone());
        Ok(made)
    }

    fn member_names(&self, schema: &Value) -> Vec<String> {
        let names = |schema: &Value| -> Vec<String> {
            schema
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect()
        };
        match text(schema, "$ref") {
            Some(reference) => super::reference::at(self.document, reference).map(names).unwrap_or_default(),
            None => names(schema),
        }
    }

    /// A header is fixed by the program, by the document if it leaves no choice, or passed on; a model writes none.
    /// The program's own go to the document's server, and to no other that the operation names.
    fn header(
        &self,
        name: &str,
        parameter: &Value,
        is_at_home: bool,
        endpoint: &mut Endpoint,
    ) -> Result<(), HttpToolsError> {
        // OpenAPI has other places for these.
        if ["accept", "content-type", "authorization"].iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let given = self.openapi.headers.get(&name.to_ascii_lowercase()).filter(|_| is_at_home);
        if let Some(secret) = given {
            endpoint.sent.set(Fixed::header(name, "", secret.clone())?);
            return Ok(());
        }
        if !flag(parameter, "required") || endpoint.sent.has_header(name) {
            return Ok(());
        }
        let schema = parameter.get("schema").and_then(|schema| resolved(self.document, schema).ok());
        let only = schema.and_then(|schema| {
            let of_enum = schema.get("enum").and_then(Value::as_array).filter(|values| values.len() == 1);
            let only = schema.get("const").or_else(|| of_enum?.first()).or_else(|| schema.get("default"))?;
            crate::write::scalar(only)
        });
        match only {
            Some(value) => {
                endpoint.sent.set(Fixed::header(name, "", value)?.plain());
                Ok(())
            }
            None => {
                let message = format!("it demands the header {name}, which is neither given nor passed on");
                Err(HttpToolsError::new(message))
            }
        }
    }

    fn body(
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
        let Some((media_type, media)) = content.and_then(preferred) else { return Ok(()) };
        let any = &Value::Null;
        let schema = media.get("schema").unwrap_or(any);
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
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
                endpoint.body_type = Some(media_type.clone());
            }
            self.members(&object, media, is_required, closure, endpoint);
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
        endpoint.body_type = Some(media_type.clone());
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
            if flag(plain, "readOnly") {
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
                && let Some(told) = text(plain, "description")
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
            made.open_members = self.member_names(schema);
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

    /// Adds the operation's answer: its media types, and the schema if it is JSON.
    fn answer(&self, described: &'d Value, mut endpoint: Endpoint) -> Endpoint {
        let responses = described.get("responses").and_then(Value::as_object);
        let good = responses.into_iter().flatten().find(|(status, _)| status.starts_with('2'));
        let Some((_, response)) = good else { return endpoint };
        let Ok(response) = resolved(self.document, response) else { return endpoint };
        let Some(content) = response.get("content").and_then(Value::as_object) else { return endpoint };
        let json = content.iter().find(|(media_type, _)| is_json(media_type));
        match json {
            Some((media_type, media)) => {
                if media_type.split(';').next() != Some("application/json") {
                    endpoint.accept = Some(format!("{media_type}, application/json;q=0.9, */*;q=0.8"));
                }
                let Some(schema) = media.get("schema") else { return endpoint };
                let mut closure = Closure::new(self.document, Direction::Response, RESPONSE_ROOM);
                let mut taken = closure.take(schema);
                let defs = closure.finish();
                if taken.to_string().len() > RESPONSE_ROOM {
                    return endpoint;
                }
                if let Value::Object(taken) = &mut taken
                    && !defs.is_empty()
                {
                    taken.insert("$defs".to_owned(), Value::Object(defs));
                }
                endpoint.with_output_schema(taken)
            }
            None => {
                let types: Vec<&str> = content.keys().map(String::as_str).collect();
                if !types.is_empty() {
                    endpoint.accept = Some(format!("{}, */*;q=0.5", types.join(", ")));
                }
                endpoint
            }
        }
    }
}

/// The form of a body that says most of what a model writes.
fn preferred(content: &Map<String, Value>) -> Option<(&String, &Value)> {
    let rank = |media_type: &str| match media_type.split(';').next().unwrap_or_default().trim() {
        "application/json" => 0,
        _ if is_json(media_type) => 1,
        "multipart/form-data" => 2,
        "application/x-www-form-urlencoded" => 3,
        text if text.starts_with("text/") => 4,
        _ => 5,
    };
    content.iter().min_by_key(|(media_type, _)| rank(media_type))
}

/// Lets each argument have a name of its own.
fn unclashed(endpoint: &mut Endpoint) {
    let mut count: HashMap<String, usize> = HashMap::new();
    for parameter in endpoint.parameters.iter().chain(&endpoint.whole) {
        *count.entry(parameter.argument.clone()).or_default() += 1;
    }
    let mut taken: HashSet<String> =
        count.iter().filter(|(_, times)| **times == 1).map(|(name, _)| name.clone()).collect();
    for parameter in endpoint.parameters.iter_mut().chain(&mut endpoint.whole) {
        if count.get(&parameter.argument).is_none_or(|times| *times == 1) {
            continue;
        }
        if parameter.place == Place::Path && taken.insert(parameter.argument.clone()) {
            continue;
        }
        let place = match parameter.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Body => "body",
        };
        let own: String = parameter.argument.chars().take(50).collect();
        parameter.argument = free_name(&mut taken, &format!("{place}_{own}"));
    }
}

/// Method and path as a name.
fn made_id(method: &str, path: &str) -> String {
    let mut id = method.to_owned();
    for step in path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|step| !step.is_empty()) {
        id.push('_');
        id.push_str(step);
    }
    id
}
