//! Bodies, read within bounds.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};

use crate::fault::Fault;

/// Reads a body of at most `most` bytes that comes within `time`.
pub(crate) async fn bytes(body: Body, most: usize, time: Duration) -> Result<Bytes, Fault> {
    let reading = async {
        let mut stream = body.into_data_stream();
        let mut whole: Option<Bytes> = None;
        let mut gathered = BytesMut::new();
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|_| Fault::invalid("the body was cut off"))?;
            if gathered.len() + whole.as_ref().map_or(0, Bytes::len) + piece.len() > most {
                return Err(Fault::too_large(most));
            }
            match whole.take() {
                // Most bodies come in one piece, which is not copied.
                None if gathered.is_empty() => whole = Some(piece),
                None => gathered.extend_from_slice(&piece),
                Some(first) => {
                    gathered.extend_from_slice(&first);
                    gathered.extend_from_slice(&piece);
                }
            }
        }
        Ok(whole.unwrap_or_else(|| gathered.freeze()))
    };
    tokio::time::timeout(time, reading).await.unwrap_or_else(|_| Err(Fault::slow()))
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
