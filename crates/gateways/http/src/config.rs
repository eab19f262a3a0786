//! Endpoints in a configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use attache_core::near::near;
use attache_core::{Effect, ToolDefinition, schemars};
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::endpoint::{BodyFormat, Endpoint};
use crate::error::HttpToolsError;
use crate::openapi::OpenApi;
use crate::send::Redirects;
use crate::skipped::Skipped;
use crate::tools::HttpTools;

/// The forms of a body, by name.
const FORMS: [(&str, BodyFormat); 3] =
    [("json", BodyFormat::Json), ("form", BodyFormat::Form), ("multipart", BodyFormat::Multipart)];
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A service as a configuration says it, in TOML, JSON or whatever else serde reads.
///
/// ```
/// use attache_http_tools::HttpToolsConfig;
/// use serde_json::json;
///
/// let config: HttpToolsConfig = serde_json::from_value(json!({
///     "base_url": "https://api.example.com/v1",
///     "forward_headers": ["authorization"],
///     "endpoints": [{
///         "name": "orders.find",
///         "path": "/orders/{id}",
///         "description": "Finds an order by its number.",
///         "arguments": {"id": {"type": "integer"}},
///         "required": ["id"],
///     }],
/// }))?;
/// let orders = config.tools("orders", |_| unreachable!("it names no OpenAPI document"))?;
/// assert_eq!(orders.endpoints().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "attache_core::schemars")]
#[non_exhaustive]
pub struct HttpToolsConfig {
    /// The base URL. An OpenAPI document may say it instead.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The place of the OpenAPI document whose operations are tools.
    #[serde(default)]
    pub openapi: Option<String>,
    /// The tags whose operations are taken; all by default.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The methods whose operations are taken; all by default.
    #[serde(default)]
    pub methods: Vec<String>,
    /// The operations that are taken, by their ids; all by default.
    #[serde(default)]
    pub operations: Vec<String>,
    /// The text before the name of each operation.
    #[serde(default)]
    pub prefix: String,
    /// Secrets of the document's security schemes, by their names.
    #[serde(default)]
    pub credentials: BTreeMap<String, String>,
    /// Headers that every request has. Their values are secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The headers of the caller that are passed on. `attache serve` has callers; where a person asks at the terminal, and
    /// in runs by MCP and A2A, there are none.
    #[serde(default)]
    pub forward_headers: Vec<String>,
    /// The cookies of the caller that are passed on, as headers are.
    #[serde(default)]
    pub forward_cookies: Vec<String>,
    /// True if private addresses may be reached.
    #[serde(default)]
    pub private_addresses: bool,
    /// True if redirects within the origin are followed.
    #[serde(default)]
    pub follow_redirects: bool,
    /// The endpoints that are declared here.
    #[serde(default)]
    pub endpoints: Vec<EndpointConfig>,
}

/// One endpoint in a configuration.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "attache_core::schemars")]
#[non_exhaustive]
pub struct EndpointConfig {
    /// The name of the tool.
    pub name: String,
    /// The method; GET by default.
    #[serde(default)]
    pub method: Option<String>,
    /// The path below the base URL, with its parameters in braces.
    pub path: String,
    /// The text that the model reads of it.
    #[serde(default)]
    pub description: String,
    /// The arguments and their schemas. They stand where the method has them.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// The arguments that a call must have.
    #[serde(default)]
    pub required: Vec<String>,
    /// `json`, `form` or `multipart`; `json` by default.
    #[serde(default)]
    pub body: Option<String>,
    /// `read`, `idempotent` or `effect`, where the method does not say it.
    #[serde(default)]
    #[schemars(with = "String", extend("enum" = ["read", "idempotent", "effect"]))]
    pub effect: Option<Effect>,
    /// The maximum number of seconds that a call may take.
    #[serde(default)]
    pub timeout: Option<u32>,
}

/// Names and no values of what is secret.
impl fmt::Debug for HttpToolsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpToolsConfig")
            .field("base_url", &self.base_url)
            .field("openapi", &self.openapi)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("credentials", &self.credentials.keys().collect::<Vec<_>>())
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}

impl HttpToolsConfig {
    /// The tools that it says. `read` reads the OpenAPI document that it names, if it does.
    ///
    /// # Errors
    /// If the document cannot be read, or what the configuration says does not fit together.
    pub fn tools(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<String, HttpToolsError>,
    ) -> Result<HttpTools, HttpToolsError> {
        self.checked_tools(name, read).map_err(|errors| {
            errors.into_iter().next().unwrap_or_else(|| HttpToolsError::new("the endpoints cannot be made"))
        })
    }

    /// The tools that it says, as [`tools`](Self::tools) makes them.
    ///
    /// # Errors
    /// All mistakes: one of the service, and those of each endpoint.
    pub fn checked_tools(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<String, HttpToolsError>,
    ) -> Result<HttpTools, Vec<HttpToolsError>> {
        let (mut tools, mut errors) = (self.without_endpoints(name, read), Vec::new());
        for (at, endpoint) in self.endpoints.iter().enumerate() {
            let place = format!("endpoints[{at}]");
            let more = endpoint.mistakes(&place);
            if !more.is_empty() {
                errors.extend(more);
                continue;
            }
            let endpoint = endpoint.endpoint().and_then(|endpoint| match endpoint.check() {
                Ok(_) => Ok(endpoint),
                Err(error) => Err(error.of(&endpoint.name)),
            });
            match endpoint {
                Ok(endpoint) => {
                    tools = tools
                        .and_then(|tools| tools.with_endpoint(endpoint).map_err(|error| error.at(&place)))
                }
                Err(error) => errors.push(error.at(&place)),
            }
        }
        match (tools, errors.is_empty()) {
            (Ok(tools), true) => Ok(tools),
            (Ok(_), false) => Err(errors),
            (Err(error), _) => {
                errors.insert(0, error);
                Err(errors)
            }
        }
    }

    fn without_endpoints(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<String, HttpToolsError>,
    ) -> Result<HttpTools, HttpToolsError> {
        let described = self.openapi.as_deref().map(|place| self.described(&read(place)?)).transpose()?;
        if let Some(first) = self.of_documents().filter(|_| described.is_none()) {
            let message =
                format!("{first:?} is for the operations of an `openapi` document, which it does not name");
            return Err(HttpToolsError::new(message));
        }
        let tools = match (&described, &self.base_url) {
            (Some(document), _) => document.tools(name)?,
            (None, Some(url)) => HttpTools::new(name, url)?,
            (None, None) => return Err(HttpToolsError::new(format!("the service {name:?} has no base_url"))),
        };
        let redirects = if self.follow_redirects { Redirects::SameOrigin } else { Redirects::Off };
        let mut tools = tools
            .with_private_addresses(self.private_addresses)
            .with_redirects(redirects)
            .with_forwarded_headers(self.forward_headers.iter().map(String::as_str))?
            .with_forwarded_cookies(self.forward_cookies.iter().map(String::as_str))?;
        for (header, value) in &self.headers {
            tools = tools.with_secret_header(header, "", value.as_str())?;
        }
        Ok(tools)
    }

    /// The first member that counts for the operations of a document alone, of those that are set.
    fn of_documents(&self) -> Option<&'static str> {
        let members = [
            ("tags", self.tags.is_empty()),
            ("methods", self.methods.is_empty()),
            ("operations", self.operations.is_empty()),
            ("prefix", self.prefix.is_empty()),
            ("credentials", self.credentials.is_empty()),
        ];
        members.into_iter().find(|(_, is_empty)| !is_empty).map(|(name, _)| name)
    }

    /// Says which choice of operations leads to none.
    fn check_choice(&self, document: &OpenApi) -> Result<(), HttpToolsError> {
        if self.tags.is_empty() && self.methods.is_empty() && self.operations.is_empty() {
            return Ok(());
        }
        let wrong = |message: String| Err(HttpToolsError::new(message));
        let all = document.operations()?;
        if let Some(tag) = self.tags.iter().find(|tag| !all.iter().any(|known| known.tags.contains(tag))) {
            return wrong(format!("no operation of the OpenAPI document has the tag {tag:?}"));
        }
        if let Some(method) = self.methods.iter().find(|method| method_of(method).is_none()) {
            return wrong(format!("{method:?} is no method"));
        }
        let is_it = |id: &str, named: &str| id.eq_ignore_ascii_case(named);
        if let Some(named) =
            self.operations.iter().find(|named| !all.iter().any(|known| is_it(&known.id, named)))
        {
            return wrong(format!("the OpenAPI document has no operation {named:?}"));
        }
        let (taken, skipped) = document.read()?;
        let is_named =
            |skipped: &&Skipped| self.operations.iter().any(|named| is_it(&skipped.operation, named));
        if let Some(skipped) = skipped.iter().find(is_named) {
            return wrong(format!("the operation {:?} is no tool: {}", skipped.operation, skipped.why));
        }
        if taken.is_empty() {
            return wrong("its tags, methods and operations together leave no tool".to_owned());
        }
        Ok(())
    }

    fn described(&self, text: &str) -> Result<OpenApi, HttpToolsError> {
        let has = |names: &[String], name: &str| {
            names.is_empty() || names.iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        let (tags, methods, operations) = (self.tags.clone(), self.methods.clone(), self.operations.clone());
        let mut document = OpenApi::parse(text)?
            .with_prefix(&self.prefix)
            .with_forwarded_headers(self.forward_headers.iter().map(String::as_str))
            .with_forwarded_cookies(self.forward_cookies.iter().map(String::as_str))
            .with_filter(move |operation| {
                let is_tagged = tags.is_empty() || operation.tags.iter().any(|tag| tags.contains(tag));
                is_tagged && has(&methods, operation.method.as_str()) && has(&operations, &operation.id)
            });
        if let Some(url) = &self.base_url {
            document = document.with_server(url);
        }
        for (scheme, secret) in &self.credentials {
            document = document.with_credential(scheme, secret.as_str());
        }
        for (header, value) in &self.headers {
            document = document.with_header(header, value.as_str());
        }
        self.check_choice(&document)?;
        Ok(document)
    }
}

/// The methods that an endpoint may have.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "QUERY"];

/// A method that an endpoint may have, however it is written.
fn method_of(written: &str) -> Option<Method> {
    let method = written.to_ascii_uppercase();
    method.parse().ok().filter(|_| METHODS.contains(&&*method))
}

/// A problem, with the name that was perhaps meant.
fn with_hint<'k>(problem: String, written: &str, known: impl IntoIterator<Item = &'k str>) -> HttpToolsError {
    HttpToolsError::new(match near(written, known).first() {
        Some(name) => format!("{problem}; did you mean `{name}`?"),
        None => problem,
    })
}

impl EndpointConfig {
    /// The mistakes of its members, each at its place.
    fn mistakes(&self, at: &str) -> Vec<HttpToolsError> {
        let mut found = Vec::new();
        let mut told = |member: &str, error: HttpToolsError| {
            found.push(error.of(&self.name).at(&format!("{at}.{member}")));
        };
        if let Some(method) = self.method.as_deref().filter(|method| method_of(method).is_none()) {
            let problem = format!("{method:?} is no method");
            told("method", with_hint(problem, &method.to_ascii_uppercase(), METHODS));
        }
        for (nth, name) in self.required.iter().enumerate() {
            if !self.arguments.contains_key(name) {
                let problem = format!("{name:?} is required and is none of its arguments");
                let arguments = self.arguments.keys().map(String::as_str);
                told(&format!("required[{nth}]"), with_hint(problem, name, arguments));
            }
        }
        let problem_of = |properties: Value| {
            let tool = ToolDefinition::new("", "", json!({"type": "object", "properties": properties}));
            tool.schema().err().map(|error| error.problem.to_string())
        };
        // Alone, one that refers to another argument would be wrong.
        let are_wrong = problem_of(json!(self.arguments)).is_some();
        for (name, schema) in self.arguments.iter().filter(|_| are_wrong) {
            if let Some(problem) = problem_of(json!({name: schema})) {
                let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
                told(
                    &format!("arguments.{name}"),
                    with_hint(format!("is no schema: {problem}"), kind, TYPES),
                );
            }
        }
        if let Some(body) = self.body.as_deref().filter(|body| !FORMS.iter().any(|(known, _)| known == body))
        {
            let forms = FORMS.map(|(name, _)| name);
            let problem = format!("{body:?} is no form of a body: {}", forms.join(", "));
            told("body", HttpToolsError::new(problem));
        }
        found
    }

    fn endpoint(&self) -> Result<Endpoint, HttpToolsError> {
        let method = self.method.as_deref().and_then(method_of).unwrap_or(Method::GET);
        let named = FORMS.into_iter().find(|(name, _)| self.body.as_deref() == Some(name));
        let format = named.map_or(BodyFormat::Json, |(_, format)| format);
        let endpoint = Endpoint::new(method, &self.name, &self.path);
        if let Some(body) = self.body.as_deref().filter(|_| !endpoint.takes_body()) {
            let message = format!("a {} has no body, and {body:?} is the form of one", endpoint.method());
            return Err(HttpToolsError::new(message).of(&self.name));
        }
        let mut endpoint = endpoint
            .with_description(&self.description)
            .with_body_format(format)
            .with_schema(json!({"properties": self.arguments, "required": self.required}));
        if let Some(effect) = self.effect {
            endpoint = endpoint.with_effect(effect);
        }
        if let Some(seconds) = self.timeout {
            endpoint = endpoint.with_timeout(Duration::from_secs(seconds.into()));
        }
        Ok(endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(value: Value) -> Result<HttpToolsConfig, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    fn problem(value: Value) -> String {
        config(value)
            .unwrap()
            .tools("orders", |_| Err(HttpToolsError::new("no file")))
            .map(|_| ())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn mistakes_are_named() {
        assert!(config(json!({"base": "https://h"})).unwrap_err().contains("unknown field `base`"));
        assert!(problem(json!({})).contains("\"orders\" has no base_url"));
        assert_eq!(problem(json!({"openapi": "orders.json"})), "no file");
        let endpoint = |more: Value| {
            let mut endpoint = json!({"name": "find", "path": "/"});
            endpoint.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            problem(json!({"base_url": "https://h", "endpoints": [endpoint]}))
        };
        assert!(endpoint(json!({"method": "FETCH"})).contains("\"find\" cannot be: \"FETCH\" is no method"));
        assert!(endpoint(json!({"body": "xml"})).contains("form of a body"));
        assert!(endpoint(json!({"body": "multipart"})).contains("a GET has no body"));
        let required = endpoint(json!({"arguments": {"city": {}}, "required": ["city", "cty"]}));
        assert!(required.contains("\"cty\" is required and is none of its arguments"), "{required}");
        for member in [
            json!({"tags": ["x"]}),
            json!({"methods": ["get"]}),
            json!({"operations": ["a"]}),
            json!({"prefix": "o."}),
            json!({"credentials": {"key": "canary"}}),
        ] {
            let mut alone = json!({"base_url": "https://h"});
            alone.as_object_mut().unwrap().extend(member.as_object().unwrap().clone());
            let said = problem(alone);
            assert!(said.contains("an `openapi` document, which it does not name"), "{said}");
            assert!(member.as_object().unwrap().keys().all(|name| said.contains(name)), "{said}");
        }
        assert!(endpoint(json!({"path": "/{id}"})).contains("nothing says what \"id\""));
        assert!(
            problem(json!({"base_url": "https://h", "forward_headers": ["host"]}))
                .contains("never passed on")
        );
    }

    #[test]
    fn a_choice_of_operations_that_leads_to_none_is_a_mistake() {
        let document = json!({"openapi": "3.1.0", "paths": {
            "/a": {"get": {"operationId": "a", "tags": ["x"]}, "post": {"operationId": "b", "tags": ["y"]}},
            "/c": {"get": {"operationId": "c", "deprecated": true}},
        }});
        let said = |choice: Value| {
            let mut all = json!({"base_url": "https://h", "openapi": "o.json"});
            all.as_object_mut().unwrap().extend(choice.as_object().unwrap().clone());
            let tools = config(all).unwrap().tools("orders", |_| Ok(document.to_string()));
            tools.map(|tools| tools.endpoints().count().to_string()).unwrap_or_else(|error| error.to_string())
        };
        assert_eq!(said(json!({"tags": ["x", "y"], "methods": ["GET", "head"]})), "1");
        assert_eq!(said(json!({"operations": ["A"]})), "1");
        for (choice, expected) in [
            (json!({"tags": ["x", "z"]}), "has the tag \"z\""),
            (json!({"operations": ["a", "aa"]}), "no operation \"aa\""),
            (json!({"operations": ["c"]}), "\"c\" is no tool: it is deprecated"),
            (json!({"methods": ["fetch"]}), "\"fetch\" is no method"),
            (json!({"tags": ["x"], "methods": ["post"]}), "leave no tool"),
        ] {
            let said = said(choice);
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn operations_are_chosen_and_secrets_do_not_show() {
        let document = json!({"openapi": "3.1.0", "paths": {
            "/a": {"get": {"operationId": "a", "tags": ["x"]}, "post": {"operationId": "b", "tags": ["x"]}},
            "/c": {"get": {"operationId": "c"}},
        }});
        let config = config(json!({
            "base_url": "https://h", "openapi": "o.json", "tags": ["x"], "methods": ["get"], "prefix": "o.",
            "headers": {"x-key": "canary"},
            "endpoints": [{"name": "own", "path": "/own", "effect": "effect", "timeout": 5}],
        }));
        let config = config.unwrap();
        let tools = config.tools("orders", |place| {
            assert_eq!(place, "o.json");
            Ok(document.to_string())
        });
        let tools = tools.unwrap();
        let names: Vec<_> = tools.endpoints().map(Endpoint::name).collect();
        assert_eq!(names, ["o.a", "own"]);
        assert!(!format!("{config:?} {tools:?}").contains("canary"));
    }
}
