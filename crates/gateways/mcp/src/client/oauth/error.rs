//! The reasons why a login does not come about.

use std::io;

/// The reason why a login does not come about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpLoginError {
    /// The server is not one with logins: it is a command, or its endpoint has no [`McpOAuth`](crate::McpOAuth).
    #[error("the server is not set up for a login")]
    NotSetUp,
    /// Nobody has logged in, or what they were given has ended.
    #[error("nobody is logged in to the server")]
    NotLoggedIn,
    /// An address is none, or is not to be asked without TLS.
    #[error("an address of the login is none, or has no TLS")]
    Address,
    /// The server names a place that is not its own, or asks for tokens of another.
    #[error("the server asks for a login to something else than itself")]
    Elsewhere,
    /// The server does not say who gives tokens for it.
    #[error("the server does not say where a login is made")]
    NotOffered,
    /// The authorization server takes no proof of who began a login.
    #[error("the authorization server takes no proof by S256 (PKCE)")]
    NoPkce,
    /// The authorization server takes no new clients: name one.
    #[error(
        "the authorization server takes no new clients: register one there, and name it with McpOAuth::client"
    )]
    NoClient,
    /// An answer is of another login.
    #[error("the answer belongs to another login")]
    State,
    /// An answer comes from another authorization server than it says.
    #[error("the answer is of another authorization server")]
    Issuer,
    /// The person or the authorization server refuses.
    #[error("the login is refused: {error}")]
    Refused {
        /// The error's code.
        error: String,
    },
    /// An authorization server cannot be reached, or does not answer.
    #[error(
        "an authorization server cannot be reached; one at a private address is named with McpOAuth::issuer"
    )]
    Unreachable,
    /// An authorization server answers with something else.
    #[error("an authorization server answers with something else than was asked for")]
    Malformed,
    /// Nobody came back from the browser in time.
    #[error("nobody came back from the browser in time")]
    Late,
    /// The page on this machine cannot be served.
    #[error("no page can be served on this machine")]
    Loopback(#[source] io::Error),
    /// The store of the tokens fails.
    #[error("the tokens cannot be kept or read")]
    Store(#[source] io::Error),
}
