//! An OpenAPI document, and the things that its reader is told.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use attache_core::Secret;
use http::Method;
use serde_json::{Map, Value};

use super::reference::{LONGEST, text};
use crate::base::Base;
use crate::error::HttpToolsError;

/// An operation of a document, for filters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// Its `operationId`; made of the method and the path where it has none.
    pub id: String,
    /// The method.
    pub method: Method,
    /// The path, with its parameters in braces.
    pub path: String,
    /// The tags.
    pub tags: Vec<String>,
    /// True if it is deprecated.
    pub is_deprecated: bool,
}

type Filter = Arc<dyn Fn(&Operation) -> bool + Send + Sync>;

/// An OpenAPI document, and what its reader is told: which operations, where, with which credentials.
///
/// Each operation becomes an [`Endpoint`](crate::Endpoint), named by its `operationId`. Parameters of headers and cookies are none of the
/// model's: they are fixed here, passed on of the caller, or left out. A member of a form whose format is `binary` takes a
/// document of the conversation. Deprecated operations are left out. An operation that cannot be a tool is
/// [listed](Self::skipped) with its reason. Nothing is fetched: references into other files are not followed.
///
/// ```
/// use attache_http_tools::OpenApi;
///
/// let document = r#"{
///     "openapi": "3.1.0",
///     "servers": [{"url": "https://api.example.com/v1"}],
///     "paths": {"/orders/{id}": {"get": {
///         "operationId": "orders.find",
///         "summary": "Finds an order by its number.",
///         "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]
///     }}}
/// }"#;
/// let orders = OpenApi::parse(document)?.with_filter(|operation| operation.method == "GET").tools("orders")?;
/// assert_eq!(orders.endpoints().next().unwrap().name(), "orders.find");
/// # Ok::<(), attache_http_tools::HttpToolsError>(())
/// ```
#[derive(Clone)]
pub struct OpenApi {
    pub(super) document: Arc<Value>,
    pub(super) prefix: String,
    server: Option<String>,
    variables: BTreeMap<String, String>,
    pub(super) filter: Option<Filter>,
    pub(super) deprecated: bool,
    pub(super) credentials: BTreeMap<String, Secret>,
    pub(super) headers: BTreeMap<String, Secret>,
    pub(super) forwarded_headers: Vec<String>,
    pub(super) forwarded_cookies: Vec<String>,
}

impl OpenApi {
    /// Reads a document of JSON, or of YAML with the feature `yaml`.
    ///
    /// # Errors
    /// If it is neither, is longer than 64 MiB, or is no OpenAPI 3.0, 3.1 or 3.2.
    pub fn parse(text: &str) -> Result<Self, HttpToolsError> {
        if text.len() > LONGEST {
            return Err(HttpToolsError::new("the OpenAPI document is longer than 64 MiB"));
        }
        if text.trim_start().starts_with('{') {
            let document = serde_json::from_str(text);
            return Self::of(document.map_err(|error| {
                HttpToolsError::new(format!("the OpenAPI document is no JSON: {error}"))
            })?);
        }
        Self::of(from_yaml(text)?)
    }

    /// Takes a document that is read already.
    ///
    /// # Errors
    /// If it is no OpenAPI 3.0, 3.1 or 3.2.
    pub fn of(document: Value) -> Result<Self, HttpToolsError> {
        let version = text(&document, "openapi").unwrap_or_default();
        let mut numbers = version.trim().split('.');
        if !matches!((numbers.next(), numbers.next()), (Some("3"), Some("0" | "1" | "2"))) {
            let found = match document.get("swagger") {
                Some(_) => "a document of Swagger 2, which converters turn into OpenAPI 3",
                None => "no OpenAPI 3.0, 3.1 or 3.2 document",
            };
            return Err(HttpToolsError::new(format!("this is {found}")));
        }
        Ok(Self {
            document: Arc::new(document),
            prefix: String::new(),
            server: None,
            variables: BTreeMap::new(),
            filter: None,
            deprecated: false,
            credentials: BTreeMap::new(),
            headers: BTreeMap::new(),
            forwarded_headers: Vec::new(),
            forwarded_cookies: Vec::new(),
        })
    }

    /// Sets the base URL, in place of the servers that the document names.
    #[must_use]
    pub fn with_server(mut self, url: impl Into<String>) -> Self {
        self.server = Some(url.into());
        self
    }

    /// Sets a variable of the servers' URLs, in place of its default. One that no server has is a mistake.
    #[must_use]
    pub fn with_server_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets what stands before the name of each tool, such as `github.`.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Takes the operations alone that the filter says yes to.
    #[must_use]
    pub fn with_filter(mut self, filter: impl Fn(&Operation) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Sets whether deprecated operations are taken; `false` by default.
    #[must_use]
    pub fn with_deprecated(mut self, taken: bool) -> Self {
        self.deprecated = taken;
        self
    }

    /// Gives the secret for a security scheme of the document, by the scheme's name: a key, a token, or `user:password` for
    /// the scheme `basic`. It is sent by the operations that ask for it, to the origin of the base URL.
    #[must_use]
    pub fn with_credential(mut self, scheme: impl Into<String>, secret: impl Into<Secret>) -> Self {
        self.credentials.insert(scheme.into(), secret.into());
        self
    }

    /// Gives the value of a header that operations demand. It is sent to the origin of the base URL alone.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.headers.insert(name.into().to_ascii_lowercase(), value.into());
        self
    }

    /// Passes these headers of the caller on; see [`CallerHeaders`](crate::CallerHeaders).
    #[must_use]
    pub fn with_forwarded_headers<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.forwarded_headers.extend(names.into_iter().map(str::to_ascii_lowercase));
        self
    }

    /// Passes these cookies of the caller on.
    #[must_use]
    pub fn with_forwarded_cookies<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.forwarded_cookies.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// The base URL: what the program says, or the document's first server.
    pub(super) fn base(&self) -> Result<Base, HttpToolsError> {
        match (&self.server, self.server_of(self.document.get("servers"))) {
            (Some(server), _) => Base::parse(server),
            (None, Some(url)) if url.starts_with('/') => {
                let message =
                    format!("the document's server is the path {url}; `with_server` says of which host");
                Err(HttpToolsError::new(message))
            }
            (None, Some(url)) => Base::parse(&url),
            (None, None) => {
                Err(HttpToolsError::new("the document names no server; `with_server` says where it is"))
            }
        }
    }

    /// The base URL of a path or an operation that names a server of its own, unless the program says where all of them
    /// are.
    pub(super) fn own_base(&self, servers: Option<&Value>) -> Option<Result<Base, HttpToolsError>> {
        match self.server {
            Some(_) => None,
            None => Some(Base::parse(&self.server_of(servers)?)),
        }
    }

    /// Says which of the program's variables no server of the document has.
    pub(super) fn check_variables(&self) -> Result<(), HttpToolsError> {
        if self.variables.is_empty() {
            return Ok(());
        }
        let items = self.document.get("paths").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let operations = items.clone().filter_map(Value::as_object).flat_map(Map::values);
        let holders = std::iter::once(&*self.document).chain(items).chain(operations);
        let servers: Vec<&Value> =
            holders.filter_map(|holder| holder.get("servers")?.as_array()).flatten().collect();
        let has = |server: &&Value, name: &str| {
            server.get("variables").is_some_and(|variables| variables.get(name).is_some())
                || text(server, "url").is_some_and(|url| url.contains(&format!("{{{name}}}")))
        };
        match self.variables.keys().find(|name| !servers.iter().any(|server| has(server, name))) {
            Some(name) => {
                Err(HttpToolsError::new(format!("no server of the document has the variable {name:?}")))
            }
            None => Ok(()),
        }
    }

    /// The first of these servers, with its variables filled in.
    fn server_of(&self, servers: Option<&Value>) -> Option<String> {
        let server = servers?.as_array()?.first()?;
        let mut url = text(server, "url")?.to_owned();
        if let Some(variables) = server.get("variables").and_then(Value::as_object) {
            for (name, variable) in variables {
                let value =
                    self.variables.get(name).map(String::as_str).or_else(|| text(variable, "default"));
                url = url.replace(&format!("{{{name}}}"), value.unwrap_or_default());
            }
        }
        // Some documents name a variable in the URL alone.
        for (name, value) in &self.variables {
            url = url.replace(&format!("{{{name}}}"), value);
        }
        Some(url.trim_end_matches('/').to_owned()).filter(|url| !url.is_empty()).or(Some("/".to_owned()))
    }
}

/// Shows no credential.
impl fmt::Debug for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = self.document.pointer("/info/title").and_then(Value::as_str);
        f.debug_struct("OpenApi").field("title", &title).field("server", &self.server).finish_non_exhaustive()
    }
}

#[cfg(feature = "yaml")]
fn from_yaml(text: &str) -> Result<Value, HttpToolsError> {
    super::yaml::read(text)
}

#[cfg(not(feature = "yaml"))]
fn from_yaml(_: &str) -> Result<Value, HttpToolsError> {
    Err(HttpToolsError::new("the OpenAPI document is no JSON; the feature `yaml` reads YAML"))
}
