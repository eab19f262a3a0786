//! Tokens that take the place of a key.

use attache_core::{BoxFuture, ProviderError, Secret};
use attache_transport::{Authorizer, RequestParts};
use http::header::AUTHORIZATION;

/// A token that stands in `authorization`, whatever the header of the server's keys is (openai.md C.11).
#[derive(Debug)]
pub(crate) struct Bearer(pub(crate) Secret);

impl Authorizer for Bearer {
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            *request = request.clone().with_secret_header(AUTHORIZATION, "Bearer ", &self.0);
            Ok(())
        })
    }
}
