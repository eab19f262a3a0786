//! The declaration of one endpoint.

use std::collections::HashSet;
use std::time::Duration;

use attache_core::schemars::JsonSchema;
use attache_core::tool::ToolSpec;
use attache_core::{Effect, Secret, ToolContext, ToolDefinition};
use http::Method;
use serde_json::{Map, Value, json};

use crate::base::Base;
use crate::error::HttpToolsError;
use crate::fixed_values::{Fixed, Sent};
use crate::members::named;
use crate::parameter::{Parameter, Place};
use crate::template::Template;

/// The time that a call may take, unless its endpoint says otherwise.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The form of a request's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BodyFormat {
    /// An object of JSON.
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data`: documents are parts with their names and types.
    Multipart,
}

/// One endpoint as a tool: a method, a path below the base URL, and the parameters that the model writes.
///
/// ```
/// use attache_http_tools::{Endpoint, Parameter};
/// use serde_json::json;
///
/// let find = Endpoint::get("orders.find", "/orders/{id}")
///     .with_description("Finds an order by its number.")
///     .with_parameter(Parameter::path("id", json!({"type": "integer"})))
///     .with_parameter(Parameter::query("expand", json!({"type": "array", "items": {"type": "string"}})));
/// # let _ = find;
/// ```
///
/// GET, HEAD and QUERY are reads: they may run beside others and are repeated where the network fails. PUT is idempotent, every
/// other method has effects; [`with_effect`](Self::with_effect) says otherwise.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) format: BodyFormat,
    /// The one parameter that is the whole body.
    pub(crate) whole: Option<Parameter>,
    /// The media type of the body, where it is not the usual one of its form.
    pub(crate) body_type: Option<String>,
    pub(crate) accept: Option<String>,
    /// True if it has a body although its method has none by itself.
    pub(crate) has_body: bool,
    pub(crate) sent: Sent,
    /// Where it is, if not below the base URL of its set.
    pub(crate) base: Option<Base>,
    pub(crate) defs: Map<String, Value>,
    output_schema: Option<Value>,
    effect: Option<Effect>,
    pub(crate) timeout: Option<Duration>,
    tags: Vec<String>,
    problem: Option<HttpToolsError>,
}

impl Endpoint {
    /// An endpoint. `path` stands below the base URL and has parameters in braces.
    pub fn new(method: Method, name: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            method,
            path: path.into(),
            parameters: Vec::new(),
            format: BodyFormat::default(),
            whole: None,
            body_type: None,
            accept: None,
            has_body: false,
            sent: Sent::default(),
            base: None,
            defs: Map::new(),
            output_schema: None,
            effect: None,
            timeout: None,
            tags: Vec::new(),
            problem: None,
        }
    }

    /// A GET.
    pub fn get(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self::new(Method::GET, name, path)
    }

    /// A POST.
    pub fn post(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self::new(Method::POST, name, path)
    }

    /// A PUT.
    pub fn put(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self::new(Method::PUT, name, path)
    }

    /// A PATCH.
    pub fn patch(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self::new(Method::PATCH, name, path)
    }

    /// A DELETE.
    pub fn delete(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, name, path)
    }

    /// The endpoint behind which a tool of this program stands elsewhere: its name, description, schema and metadata, its
    /// parameters where the method has them. One declaration then serves calls in this process and calls over HTTP.
    pub fn of(spec: &ToolSpec, method: Method, path: impl Into<String>) -> Self {
        let definition = &spec.definition;
        let mut this = Self::new(method, definition.name(), path)
            .with_description(definition.description())
            .with_schema(definition.input_schema().clone())
            .with_effect(spec.metadata.effect)
            .with_tags(spec.metadata.tags.clone());
        this.timeout = spec.metadata.timeout;
        this.output_schema = definition.output_schema().cloned();
        this
    }

    /// Takes the parameters from a type: a field whose name is in the path stands there, every other one in the query of a
    /// GET, HEAD or DELETE, and in the body otherwise.
    #[must_use]
    pub fn with_arguments<T: JsonSchema>(self) -> Self {
        self.with_schema(attache_core::schemars::schema_for!(T).to_value())
    }

    /// Takes the parameters from a schema of an object, as [`with_arguments`](Self::with_arguments) does.
    #[must_use]
    pub fn with_schema(mut self, schema: Value) -> Self {
        let Value::Object(mut schema) = schema else { return self };
        let in_path: HashSet<String> = match Template::parse(&self.path) {
            Ok(template) => template.names().into_iter().map(str::to_owned).collect(),
            Err(_) => HashSet::new(),
        };
        let takes_body = self.takes_body();
        let required: HashSet<String> = match schema.get("required") {
            Some(Value::Array(names)) => {
                names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
            }
            _ => HashSet::new(),
        };
        for defs in ["$defs", "definitions"] {
            if let Some(Value::Object(mut defs)) = schema.remove(defs) {
                defs.values_mut().for_each(moved);
                self.defs.extend(defs);
            }
        }
        if let Some(Value::Object(properties)) = schema.remove("properties") {
            for (name, mut schema) in properties {
                moved(&mut schema);
                let members = named(&schema, |reference| self.defs.get(reference.strip_prefix("#/$defs/")?));
                let place = match (in_path.contains(&name), takes_body) {
                    (true, _) => Parameter::path(&name, schema),
                    (false, true) => Parameter::body(&name, schema),
                    (false, false) => Parameter::query(&name, schema),
                };
                let place = if required.contains(&name) { place.required() } else { place };
                self.parameters.push(Parameter { members, ..place });
            }
        }
        self
    }

    /// Adds a parameter that the model writes.
    #[must_use]
    pub fn with_parameter(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Lets the model write the whole body as one argument: a value of JSON, or a document whose bytes are the body.
    /// `media_type` is what the request says of it.
    #[must_use]
    pub fn with_whole_body(mut self, parameter: Parameter, media_type: impl Into<String>) -> Self {
        (self.whole, self.body_type) = (Some(parameter), Some(media_type.into()));
        self
    }

    /// Sets the form of the body; JSON by default.
    #[must_use]
    pub fn with_body_format(mut self, format: BodyFormat) -> Self {
        self.format = format;
        self
    }

    /// Describes it to the model.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the schema of what it answers.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Says what a call changes, where the method does not say it.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// Limits how long a call may take; 120 s by default. Its server may be silent for as long as that, where the
    /// [time limits](crate::HttpTools::with_timeouts) of the service are shorter.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Adds words by which it is found among many.
    #[must_use]
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Sets the media types that are asked for; JSON first by default, and anything else after it.
    #[must_use]
    pub fn with_accept(mut self, media_types: impl Into<String>) -> Self {
        self.accept = Some(media_types.into());
        self
    }

    /// Sends a header that never changes.
    #[must_use]
    pub fn with_fixed_header(self, name: &str, value: impl Into<String>) -> Self {
        self.with_fixed(Fixed::header(name, "", value.into()).map(Fixed::plain))
    }

    /// Sends a parameter of the query that never changes.
    #[must_use]
    pub fn with_fixed_query(self, name: &str, value: impl Into<String>) -> Self {
        self.with_fixed(Fixed::query(name, value.into()).map(Fixed::plain))
    }

    /// Sends a header whose value nobody may see. `prefix` is the part that is no secret, such as `"Bearer "`.
    #[must_use]
    pub fn with_secret_header(self, name: &str, prefix: &str, secret: impl Into<Secret>) -> Self {
        self.with_fixed(Fixed::header(name, prefix, secret))
    }

    /// Sends a parameter of the query whose value nobody may see.
    #[must_use]
    pub fn with_secret_query(self, name: &str, secret: impl Into<Secret>) -> Self {
        self.with_fixed(Fixed::query(name, secret))
    }

    /// Sends a cookie whose value nobody may see.
    #[must_use]
    pub fn with_secret_cookie(self, name: &str, secret: impl Into<Secret>) -> Self {
        self.with_fixed(Fixed::cookie(name, secret))
    }

    /// Sends a header that is taken from the context of each call, such as the principal. `None` sends none. Its value may
    /// be seen in answers; [`with_secret_context_header`](Self::with_secret_context_header) is for one that may not.
    #[must_use]
    pub fn with_context_header(
        self,
        name: &str,
        value: impl Fn(&ToolContext) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.with_fixed(Fixed::header_of_context(name, value))
    }

    /// Sends a header that is taken from the context of each call and whose value nobody may see, such as a token.
    #[must_use]
    pub fn with_secret_context_header(
        self,
        name: &str,
        value: impl Fn(&ToolContext) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.with_fixed(Fixed::header_of_context(name, value).map(Fixed::secret))
    }

    /// Sends a parameter of the query that is taken from the context of each call. Its value may be seen in answers.
    #[must_use]
    pub fn with_context_query(
        self,
        name: &str,
        value: impl Fn(&ToolContext) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.with_fixed(Fixed::query_of_context(name, value))
    }

    /// Passes these headers of the caller on; see [`CallerHeaders`](crate::CallerHeaders). None by default.
    #[must_use]
    pub fn with_forwarded_headers<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        for name in names {
            let added = self.sent.forwarded.add_header(name);
            self.noted(added);
        }
        self
    }

    /// Passes these cookies of the caller on.
    #[must_use]
    pub fn with_forwarded_cookies<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        for name in names {
            let added = self.sent.forwarded.add_cookie(name.to_owned());
            self.noted(added);
        }
        self
    }

    fn with_fixed(mut self, fixed: Result<Fixed, HttpToolsError>) -> Self {
        match fixed {
            Ok(fixed) => self.sent.set(fixed),
            Err(error) => self.noted(Err(error)),
        }
        self
    }

    fn noted(&mut self, outcome: Result<(), HttpToolsError>) {
        if let Err(error) = outcome {
            self.problem.get_or_insert(error);
        }
    }

    /// The name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The path below the base URL, with its parameters in braces.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// True for methods whose arguments stand in a body.
    pub(crate) fn takes_body(&self) -> bool {
        self.has_body
            || !matches!(
                self.method,
                Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS | Method::TRACE
            )
    }

    /// The change that a call makes.
    pub(crate) fn effect(&self) -> Effect {
        self.effect.unwrap_or(match self.method {
            Method::GET | Method::HEAD | Method::OPTIONS => Effect::Read,
            // A second DELETE answers that there is nothing, which reads as a failure.
            Method::PUT => Effect::Idempotent,
            _ if self.method.as_str() == "QUERY" => Effect::Read,
            _ => Effect::SideEffect,
        })
    }

    /// The description that the model and the loop are given of it.
    pub(crate) fn spec(&self) -> ToolSpec {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for parameter in self.parameters.iter().chain(&self.whole) {
            properties.insert(parameter.argument.clone(), parameter.shown_schema());
            if parameter.required {
                required.push(Value::String(parameter.argument.clone()));
            }
        }
        let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if let Value::Object(schema) = &mut schema {
            if !required.is_empty() {
                schema.insert("required".to_owned(), Value::Array(required));
            }
            if !self.defs.is_empty() {
                schema.insert("$defs".to_owned(), Value::Object(self.defs.clone()));
            }
        }
        let mut definition = ToolDefinition::new(&self.name, &self.description, schema);
        if let Some(output) = &self.output_schema {
            definition = definition.with_output_schema(output.clone());
        }
        ToolSpec::new(definition)
            .with_effect(self.effect())
            .with_timeout(self.timeout.unwrap_or(TIMEOUT))
            .with_tags(self.tags.clone())
    }

    /// Its path, read, if all of it fits together.
    pub(crate) fn check(&self) -> Result<Template, HttpToolsError> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let wrong = |message: String| Err(HttpToolsError::new(message));
        if self.name.trim().is_empty() {
            return wrong("it has no name".to_owned());
        }
        let template = Template::parse(&self.path)?;
        let names = template.names();
        let mut arguments = HashSet::new();
        let mut wire = HashSet::new();
        for parameter in self.parameters.iter().chain(&self.whole) {
            let name = &parameter.name;
            if !arguments.insert(parameter.argument.as_str()) {
                return wrong(format!("two parameters are called {:?} for the model", parameter.argument));
            }
            if !wire.insert((parameter.place, name.as_str())) {
                return wrong(format!("the parameter {name:?} is declared twice"));
            }
            match parameter.place {
                Place::Path if !names.contains(&name.as_str()) => {
                    return wrong(format!("its path has no place for {name:?}"));
                }
                Place::Query if self.sent.has_query(name) => {
                    return wrong(format!("the model must not write {name:?}, which is fixed"));
                }
                Place::Body if !self.takes_body() => {
                    return wrong(format!("a {} has no body for {name:?}", self.method));
                }
                Place::Path | Place::Query | Place::Body => {}
            }
            if parameter.is_document && parameter.place != Place::Body {
                return wrong(format!("the document {name:?} must stand in the body"));
            }
            if parameter.is_document && self.format == BodyFormat::Form && self.whole.is_none() {
                return wrong(format!("the document {name:?} needs a body of JSON or of several parts"));
            }
        }
        let has_body = self.parameters.iter().any(|parameter| parameter.place == Place::Body);
        if has_body && self.whole.is_some() {
            return wrong("its whole body is one argument, so no other can stand there".to_owned());
        }
        match names.into_iter().find(|name| !wire.contains(&(Place::Path, *name))) {
            Some(name) => wrong(format!("nothing says what {name:?} in its path is")),
            None => Ok(template),
        }
    }
}

/// Lets references of a schema lead to `$defs`, where its definitions are moved to.
fn moved(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(name) = reference.strip_prefix("#/definitions/")
            {
                *reference = format!("#/$defs/{name}");
            }
            members.values_mut().for_each(moved);
        }
        Value::Array(items) => items.iter_mut().for_each(moved),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_to_where_definitions_are() {
        let endpoint = Endpoint::post("make", "/").with_schema(json!({
            "properties": {"a": {"anyOf": [{"$ref": "#/definitions/A"}]}},
            "definitions": {"A": {"properties": {"next": {"$ref": "#/definitions/A"}}}},
        }));
        let spec = endpoint.spec();
        let schema = spec.definition.input_schema();
        assert_eq!(schema["properties"]["a"]["anyOf"][0]["$ref"], "#/$defs/A");
        assert_eq!(schema["$defs"]["A"]["properties"]["next"]["$ref"], "#/$defs/A");
    }
}
