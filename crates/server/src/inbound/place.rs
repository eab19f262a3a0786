//! The parts of a request's address, whose failures are told like all others.

use axum::extract::{FromRequestParts, Path as PathOf, Query as QueryOf};
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::fault::Fault;

/// The members behind the question mark.
pub(crate) struct Query<T>(pub(crate) T);

/// The parts of the path that stand for something.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        match QueryOf::from_request_parts(parts, state).await {
            Ok(QueryOf(query)) => Ok(Self(query)),
            Err(error) => Err(Fault::invalid(error.body_text())),
        }
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        match PathOf::from_request_parts(parts, state).await {
            Ok(PathOf(path)) => Ok(Self(path)),
            Err(error) => Err(Fault::invalid(error.body_text())),
        }
    }
}
