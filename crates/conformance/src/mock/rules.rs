//! The demands of a validator beyond the body, and its answer to a broken rule.

use std::fmt;
use std::time::Duration;

use super::compatible::Server;
use super::credentials::Credentials;

/// The rules that requests are judged by.
///
/// The default is as strict as the real servers and, where they forgive what some gateway does not, stricter
/// (see [`with_alternation`](Self::with_alternation)).
#[derive(Clone, Debug)]
pub struct Rules {
    alternation: Option<bool>,
    compatible_fields: bool,
    authentication: bool,
    anthropic_version: String,
    anthropic_betas: Vec<String>,
    cached_content_minimum: Option<u64>,
    file_lifetime: Option<Duration>,
    file_processing: usize,
    aws_credentials: Option<Credentials>,
    server: Option<Server>,
}

impl Default for Rules {
    fn default() -> Self {
        Self::new()
    }
}

impl Rules {
    /// The strict rules.
    pub fn new() -> Self {
        Self {
            alternation: None,
            compatible_fields: false,
            authentication: true,
            anthropic_version: "2023-06-01".to_owned(),
            anthropic_betas: Vec::new(),
            cached_content_minimum: None,
            file_lifetime: None,
            file_processing: 0,
            aws_credentials: None,
            server: None,
        }
    }

    /// The rules of a server that is compatible with Chat Completions: OpenAI's as far as they are common, and the
    /// server's own. The other APIs are judged as with [`new`](Self::new).
    ///
    /// Local servers need no key; only the rules of Azure refuse fields that OpenAI does not have.
    pub fn for_server(server: Server) -> Self {
        let rules = Self::new().with_compatible_fields(server.is_compatible());
        Self { server: Some(server), ..rules.with_authentication(server.needs_key()) }
    }

    /// Sets whether two neighbouring `user` or `assistant` messages are an error.
    ///
    /// Without this call Messages demands alternation (its server would merge, some gateways refuse); Chat
    /// Completions, Responses and Gemini do not (their servers accept, some chat templates refuse). If Messages does
    /// not demand it, neighbours are merged before tool results are paired, as the server does.
    #[must_use]
    pub fn with_alternation(mut self, demanded: bool) -> Self {
        self.alternation = Some(demanded);
        self
    }

    /// Sets whether Chat Completions accepts request, message and part fields, part types and tool-call ids of
    /// compatible servers, such as `thinking`, `reasoning_content` or an empty id; and whether Responses accepts
    /// their fields, items, item ids and reasoning without a blob or a product. Off by default.
    #[must_use]
    pub fn with_compatible_fields(mut self, accepted: bool) -> Self {
        self.compatible_fields = accepted;
        self
    }

    /// Sets whether a request must carry its API's key header. On by default; local servers need none.
    #[must_use]
    pub fn with_authentication(mut self, demanded: bool) -> Self {
        self.authentication = demanded;
        self
    }

    /// The `anthropic-version` under which a Messages body is judged, `2023-06-01` by default. The mock server
    /// takes it from the request.
    #[must_use]
    pub fn with_anthropic_version(mut self, version: impl Into<String>) -> Self {
        self.anthropic_version = version.into();
        self
    }

    /// The `anthropic-beta` flags under which a Messages body is judged, none by default. The mock server takes
    /// them from the request.
    #[must_use]
    pub fn with_anthropic_betas<S: Into<String>>(mut self, betas: impl IntoIterator<Item = S>) -> Self {
        self.anthropic_betas = betas.into_iter().map(Into::into).collect();
        self
    }

    /// The fewest tokens that the mock server accepts in a `cachedContents` of Gemini, by its own rough count of
    /// four bytes a token; by default the model's own minimum, 1024 or 4096.
    #[must_use]
    pub fn with_cached_content_minimum(mut self, tokens: u64) -> Self {
        self.cached_content_minimum = Some(tokens);
        self
    }

    /// Sets how long the mock server keeps files, whatever an upload asks for; by default as asked, 48 hours with
    /// Gemini.
    #[must_use]
    pub fn with_file_lifetime(mut self, lifetime: Duration) -> Self {
        self.file_lifetime = Some(lifetime);
        self
    }

    /// Sets how often a client must look at a file of Gemini until it has been processed; by default it is ready at
    /// once.
    #[must_use]
    pub fn with_file_processing(mut self, looks: usize) -> Self {
        self.file_processing = looks;
        self
    }

    /// The key whose signatures (SigV4) Converse accepts. Without it no signature is: a request must carry a bearer
    /// key, any one.
    #[must_use]
    pub fn with_aws_credentials(
        mut self,
        access_key: impl Into<String>,
        secret_key: impl Into<String>,
    ) -> Self {
        self.aws_credentials = Some(Credentials {
            access_key: access_key.into(),
            secret_key: secret_key.into(),
            session_token: None,
        });
        self
    }

    /// Makes the [key](Self::with_aws_credentials) a temporary one, which comes with this session token.
    #[must_use]
    pub fn with_aws_session_token(mut self, token: impl Into<String>) -> Self {
        if let Some(credentials) = &mut self.aws_credentials {
            credentials.session_token = Some(token.into());
        }
        self
    }

    pub(crate) fn server(&self) -> Option<Server> {
        self.server
    }

    pub(crate) fn aws_credentials(&self) -> Option<&Credentials> {
        self.aws_credentials.as_ref()
    }

    pub(crate) fn alternation_or(&self, default: bool) -> bool {
        self.alternation.unwrap_or(default)
    }

    pub(crate) fn compatible_fields(&self) -> bool {
        self.compatible_fields
    }

    pub(crate) fn authentication(&self) -> bool {
        self.authentication
    }

    pub(crate) fn anthropic_version(&self) -> &str {
        &self.anthropic_version
    }

    pub(crate) fn cached_content_minimum(&self) -> Option<u64> {
        self.cached_content_minimum
    }

    pub(crate) fn file_lifetime(&self) -> Option<Duration> {
        self.file_lifetime
    }

    pub(crate) fn file_processing(&self) -> usize {
        self.file_processing
    }

    pub(crate) fn has_betas(&self) -> bool {
        !self.anthropic_betas.is_empty()
    }

    pub(crate) fn has_beta(&self, prefix: &str) -> bool {
        self.anthropic_betas.iter().any(|beta| beta.starts_with(prefix))
    }
}

/// A broken rule: what the real API would answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The HTTP status of the answer.
    pub status: u16,
    /// The error's `type`, such as `invalid_request_error`; its `status` in Gemini, such as `INVALID_ARGUMENT`.
    pub kind: &'static str,
    /// The error's `code`, which only the OpenAI family sends.
    pub code: Option<&'static str>,
    /// The problem, in the words of the API where they are known.
    pub message: String,
    /// The place: `messages[1].content` for Chat Completions, `messages.1.content` for Messages,
    /// `input[1].content` for Responses, `contents[1].parts[0].inline_data` for Gemini; empty for the request as a
    /// whole.
    pub path: String,
}

impl Violation {
    pub(crate) fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, code: None, message: message.into(), path: String::new() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    pub(crate) fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub(crate) fn with_path(mut self, path: String) -> Self {
        self.path = path;
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status, self.kind, self.message)
    }
}

impl std::error::Error for Violation {}

/// The place of a value in a body; it costs nothing until it is written out.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }

    /// `messages.1.content`, as Anthropic writes it.
    pub(crate) fn dotted(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &|out, index| {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&index.to_string());
        });
        out
    }

    /// `messages[1].content`, as OpenAI writes it.
    pub(crate) fn bracketed(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &|out, index| {
            out.push('[');
            out.push_str(&index.to_string());
            out.push(']');
        });
        out
    }

    fn write(&self, out: &mut String, index: &dyn Fn(&mut String, usize)) {
        match *self {
            Path::Root => {}
            Path::Key(parent, key) => {
                parent.write(out, index);
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Path::Index(parent, at) => {
                parent.write(out, index);
                index(out, at);
            }
        }
    }
}

/// True if a name is made of `[A-Za-z0-9_-]` and at least one and at most `max` bytes long.
pub(crate) fn is_plain_name(name: &str, max: usize) -> bool {
    !name.is_empty()
        && name.len() <= max
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
