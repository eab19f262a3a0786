//! Reads what servers link to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::{BoxFuture, MediaType, ToolError, ToolErrorKind};
use attache_transport::{media_type_of, percent_decoded};
use rmcp::model::ResourceContents;

use super::lenient::Odd;
use super::remote_server::McpServer;
use crate::uri::{SCHEME, file_name};

/// The time that a resource may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Fetches the resources that servers link to, through their sessions, where the model is to see them.
///
/// A link stands in a result as an external document: it has a name and a type, and is read only if a model is shown it.
/// Without a fetcher the model reads a note instead. Links to web addresses are for the other fetcher, which has guards.
///
/// ```
/// use attache_mcp::{McpCommand, McpFetcher, McpServer};
/// let files = McpServer::command("files", McpCommand::new("mcp-server-files"));
/// let fetcher = McpFetcher::new([files.clone()]).or(attache_transport::GuardedFetcher::new());
/// # let _ = fetcher;
/// ```
#[derive(Clone)]
pub struct McpFetcher {
    servers: Vec<McpServer>,
    others: Option<Arc<dyn Fetcher>>,
    max_bytes: usize,
}

impl McpFetcher {
    /// A fetcher for what these servers link to, of at most 32 MiB each.
    pub fn new(servers: impl IntoIterator<Item = McpServer>) -> Self {
        Self { servers: servers.into_iter().collect(), others: None, max_bytes: 32 << 20 }
    }

    /// Fetches all other addresses.
    #[must_use]
    pub fn or(mut self, others: impl Fetcher + 'static) -> Self {
        self.others = Some(Arc::new(others));
        self
    }

    /// Sets the maximum number of bytes of one document.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    async fn read(&self, alias: &str, uri: &str) -> Result<Fetched, FetchError> {
        let Some(server) = self.servers.iter().find(|server| server.alias() == alias) else {
            return Err(FetchError::new(FetchErrorKind::Refused, "its server is not known"));
        };
        let read = server.read_within(uri, LIMIT).await.map_err(|error| failure(&error))?;
        let malformed = |text| FetchError::new(FetchErrorKind::Malformed, text);
        let unknown = || malformed("its server's answer is none that is known");
        let redactor = server.config.redactor().given_only();
        let (bytes, said) = match one(uri, read)? {
            Odd::Known(ResourceContents::TextResourceContents { text, mime_type, .. }) => {
                (redactor.redact(&text).into_owned().into(), mime_type.unwrap_or_default())
            }
            Odd::Known(ResourceContents::BlobResourceContents { blob, mime_type, .. }) => {
                let (bytes, said) =
                    (attache_core::base64::decode(&blob).ok_or_else(unknown)?, mime_type.unwrap_or_default());
                let media_type = media_type_of(&said, &bytes);
                (redactor.redact_file(bytes.into(), &media_type), said)
            }
            _ => return Err(unknown()),
        };
        if bytes.len() > self.max_bytes {
            let text = format!("it has more than the {} bytes that are fetched", self.max_bytes);
            return Err(FetchError::new(FetchErrorKind::TooLarge, text));
        }
        let media_type = MediaType::parse(&media_type_of(&said, &bytes));
        Ok(Fetched::new(bytes).with_media_type(media_type).with_file_name(file_name(uri)))
    }
}

impl Fetcher for McpFetcher {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async move {
            match (url.strip_prefix(SCHEME), &self.others) {
                (Some(address), _) => {
                    let (alias, uri) = address.split_once('/').unwrap_or((address, ""));
                    let text = |part: &str| String::from_utf8_lossy(&percent_decoded(part)).into_owned();
                    self.read(&text(alias), &text(uri)).await
                }
                (None, Some(others)) => others.fetch(url).await,
                (None, None) => Err(FetchError::new(FetchErrorKind::Refused, "its address is not fetched")),
            }
        })
    }
}

/// The content of a resource: that at its own address, where its server answers with others beside it, such as those of a
/// folder; the texts of these where none is at that address.
fn one(uri: &str, mut read: Vec<Odd<ResourceContents>>) -> Result<Odd<ResourceContents>, FetchError> {
    let is_it = |contents: &Odd<ResourceContents>| match contents {
        Odd::Known(
            ResourceContents::TextResourceContents { uri: at, .. }
            | ResourceContents::BlobResourceContents { uri: at, .. },
        ) => at == uri,
        _ => false,
    };
    let at = if read.len() == 1 { Some(0) } else { read.iter().position(is_it) };
    if let Some(at) = at {
        return Ok(read.swap_remove(at));
    }
    if read.is_empty() {
        return Err(FetchError::new(FetchErrorKind::NotFound, "its server has nothing there"));
    }
    let texts = read.into_iter().map(|contents| match contents {
        Odd::Known(ResourceContents::TextResourceContents { uri, text, .. }) => {
            Some(format!("{uri}\n\n{text}"))
        }
        _ => None,
    });
    match texts.collect::<Option<Vec<String>>>() {
        Some(texts) => Ok(Odd::Known(ResourceContents::text(texts.join("\n\n"), uri))),
        None => {
            let text = "its server has several contents there, and none is that of its address";
            Err(FetchError::new(FetchErrorKind::Malformed, text))
        }
    }
}

fn failure(error: &ToolError) -> FetchError {
    match error.kind() {
        ToolErrorKind::Timeout => FetchError::new(FetchErrorKind::Timeout, "its server takes too long"),
        ToolErrorKind::Unavailable => {
            FetchError::new(FetchErrorKind::Unavailable, "its server is not available")
        }
        _ => FetchError::new(FetchErrorKind::NotFound, "its server does not give it"),
    }
}

impl fmt::Debug for McpFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpFetcher").field("servers", &self.servers).finish_non_exhaustive()
    }
}
