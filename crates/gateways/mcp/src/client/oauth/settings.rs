//! The client that a program is to authorization servers.

use attache_core::Secret;

/// The settings of a client.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) client_document: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(super) scopes: Option<String>,
    pub(super) is_own: bool,
}
