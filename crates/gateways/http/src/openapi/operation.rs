//! Operations as endpoints.

use http::Method;
use serde_json::Value;

use super::description::describe;
use super::document::{OpenApi, Operation};
use super::names::unclashed;
use super::path_item::PathItem;
use super::reference::{flag, resolved, text};
use super::schema::{Closure, Direction, without_patterns};
use super::security::Security;
use crate::base::Base;
use crate::endpoint::Endpoint;
use crate::error::HttpToolsError;
use crate::fixed_values::Fixed;
use crate::skipped::Skipped;
use crate::template::Template;
use crate::write::is_json;

/// The methods that path items name. OPTIONS and TRACE are for clients and none of a model's.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "patch", "head", "query", "options", "trace"];

/// The maximum number of bytes of what the schemas of arguments, and of an answer, refer to.
const REQUEST_ROOM: usize = 96 << 10;
const RESPONSE_ROOM: usize = 24 << 10;

/// The maximum number of bytes of the schema of all arguments, and of a path.
const MOST_SCHEMA: usize = 256 << 10;
const LONGEST_PATH: usize = 4 << 10;

/// An operation where it stands in the document.
pub(super) struct Found<'d> {
    pub(super) operation: Operation,
    pub(super) item: PathItem<'d>,
    /// Its description, or the reason why it is no tool.
    pub(super) described: Result<&'d Value, HttpToolsError>,
}

pub(super) struct Reader<'d> {
    pub(super) openapi: &'d OpenApi,
    pub(super) document: &'d Value,
    pub(super) security: Security<'d>,
    base: Base,
}

impl<'d> Reader<'d> {
    pub(super) fn new(openapi: &'d OpenApi) -> Result<Self, HttpToolsError> {
        openapi.check_variables()?;
        let (document, base) = (&*openapi.document, openapi.base()?);
        Ok(Self { openapi, document, security: Security::new(openapi)?, base })
    }

    /// The operations, in the order of the document, and the paths that cannot be read, or not as a whole.
    pub(super) fn operations(&self) -> (Vec<Found<'d>>, Vec<Skipped>) {
        let (mut found, mut unread) = (Vec::new(), Vec::new());
        let paths = self.document.get("paths").and_then(Value::as_object);
        for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
            let (item, problem) = PathItem::read(self.document, item);
            if let Some(problem) = problem {
                unread.push(Skipped { operation: path.clone(), why: problem.to_string() });
            }
            let known = METHODS.into_iter().filter_map(|method| Some((method, item.get(method)?)));
            let others = item.get("additionalOperations").and_then(Value::as_object);
            let others = others.into_iter().flatten().map(|(method, described)| (method.as_str(), described));
            for (written, described) in known.chain(others) {
                match Method::from_bytes(written.to_ascii_uppercase().as_bytes()) {
                    Ok(method) => found.push(self.found(path, method, &item, described)),
                    Err(_) => unread.push(Skipped {
                        operation: path.clone(),
                        why: format!("its method {written:?} is none"),
                    }),
                }
            }
        }
        (found, unread)
    }

    fn found(&self, path: &str, method: Method, item: &PathItem<'d>, described: &'d Value) -> Found<'d> {
        let resolved = match resolved(self.document, described) {
            Ok(described) if described.is_object() => Ok(described),
            Ok(_) => Err(HttpToolsError::new("it is no object")),
            Err(error) => Err(error),
        };
        let known = resolved.as_ref().copied().unwrap_or(described);
        let id = text(known, "operationId").map(str::trim).filter(|id| !id.is_empty());
        let tags = known.get("tags").and_then(Value::as_array).into_iter().flatten();
        let is_known = METHODS.iter().any(|known| known.eq_ignore_ascii_case(method.as_str()));
        let described = match is_known && method != Method::OPTIONS && method != Method::TRACE {
            true => resolved,
            false => {
                let article = if method == Method::OPTIONS { "an" } else { "a" };
                Err(HttpToolsError::new(format!("{article} {method} is no tool")))
            }
        };
        let operation = Operation {
            id: id.map_or_else(|| made_id(method.as_str(), path), str::to_owned),
            method,
            path: path.to_owned(),
            tags: tags.filter_map(|tag| Some(tag.as_str()?.to_owned())).collect(),
            is_deprecated: flag(known, "deprecated"),
        };
        Found { operation, item: item.clone(), described }
    }

    pub(super) fn endpoint(&self, found: &Found<'d>, name: String) -> Result<Endpoint, HttpToolsError> {
        let Found { operation, item, described } = found;
        let described = described.clone()?;
        if operation.path.len() > LONGEST_PATH {
            return Err(HttpToolsError::new(format!("its path has more than {LONGEST_PATH} bytes")));
        }
        // Some documents tell operations of one path apart by a query behind it.
        let (path, query) = operation.path.split_once('?').unwrap_or((&operation.path, ""));
        let template = Template::parse(path)?;
        let mut endpoint =
            Endpoint::new(operation.method.clone(), name, path).with_tags(operation.tags.iter().cloned());
        let mut asked = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match value.strip_prefix('{').and_then(|value| value.strip_suffix('}')) {
                Some(of) if !of.is_empty() && !of.contains(['{', '}']) => asked.push((name, of)),
                None if !value.contains(['{', '}']) => endpoint.sent.set(Fixed::query(name, value)?.plain()),
                _ => {
                    let message = format!("its path {path:?} has a parameter within a value of its query");
                    return Err(HttpToolsError::new(message));
                }
            }
        }
        let own = self.openapi.own_base(described.get("servers"));
        let own = own.or_else(|| self.openapi.own_base(item.get("servers")));
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
        self.parameters((item, described), &template, &asked, is_at_home, &mut closure, &mut endpoint)?;
        self.body(described, &mut closure, &mut endpoint)?;
        endpoint.defs = closure.finish();
        unclashed(&mut endpoint);
        let endpoint = self.answer(described, endpoint);
        let description = describe(described, &endpoint.parameters);
        let mut endpoint = endpoint.with_description(description);
        endpoint.check()?;
        let spec = endpoint.spec();
        if spec.definition.input_schema().to_string().len() > MOST_SCHEMA {
            let message = format!("the schema of its arguments has more than {MOST_SCHEMA} bytes");
            return Err(HttpToolsError::new(message));
        }
        if spec.definition.schema().is_err() {
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
                let media = resolved(self.document, media).unwrap_or(media);
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

/// Method and path as a name.
fn made_id(method: &str, path: &str) -> String {
    let mut id = method.to_ascii_lowercase();
    for step in path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|step| !step.is_empty()) {
        id.push('_');
        id.push_str(step);
    }
    id
}
