//! Bodies, read within bounds.

use attache_agent::bodies::{Bodies, BodyError, ReadBody};
use axum::body::Body;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};

use crate::auth::Principal;
use crate::fault::Fault;

/// Reads a body of at most `most` bytes, which comes in time.
pub(crate) async fn bytes(
    bodies: &Bodies,
    principal: &Principal,
    body: Body,
    most: usize,
) -> Result<ReadBody, Fault> {
    let read = bodies.read(principal.name(), body.into_data_stream(), most).await;
    read.map_err(|error| match error {
        BodyError::TooLarge => Fault::too_large(most),
        BodyError::Crowded => Fault::crowded(error.retry_after()),
        BodyError::Slow => Fault::slow(),
        _ => Fault::invalid("the body was cut off"),
    })
}

/// Reads JSON.
pub(crate) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| Fault::invalid(format!("the body cannot be read: {error}")))
}

/// Reads a member that may be null, which is the same as if it were not there.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}
