//! Observers of the requests to a server.

/// A request to a server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct McpRequest<'a> {
    /// The server's alias.
    pub server: &'a str,
    /// The method of the protocol, such as `tools/call`.
    pub method: &'a str,
    /// The version of the protocol, if it is known.
    pub protocol_version: Option<&'a str>,
    /// The id of the session, where the server gave one.
    pub session: Option<&'a str>,
}

/// Looks on at the requests that a server is sent during calls, such as for telemetry. Functions do.
pub trait McpHook: Send + Sync + 'static {
    /// A request is about to be sent, where the tool that makes it runs. The pairs that it returns stand in the request's
    /// `_meta`, such as `traceparent`; those of the protocol stay as they are.
    fn asks(&self, request: &McpRequest<'_>) -> Vec<(String, String)>;
}

impl<F: Fn(&McpRequest<'_>) -> Vec<(String, String)> + Send + Sync + 'static> McpHook for F {
    fn asks(&self, request: &McpRequest<'_>) -> Vec<(String, String)> {
        self(request)
    }
}
