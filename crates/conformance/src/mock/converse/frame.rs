//! The binary frames of ConverseStream (bedrock.md 7).

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::{Value, json};

/// The type of a header whose value is a string, the only one that occurs.
const STRING: u8 = 7;
/// Two lengths and their checksum.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
/// The maximum values of the length fields of a header's name and value.
const MAX_NAME: usize = 255;
const MAX_VALUE: usize = 65_535;

/// The text that the padding of an event is cut from.
const PADDING: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Encodes one frame of an AWS event stream: string headers, a payload, both checksums.
///
/// It serves to put frames among the events of a [`Reply`](crate::Reply) that no script words: unknown events,
/// other message types, or, with a byte changed, damaged ones. Of a name 255 bytes are taken, of a value 65,535.
///
/// ```
/// use attache_conformance::{Reply, event_frame};
///
/// let headers = [(":message-type", "event"), (":event-type", "futureEvent")];
/// let reply = Reply::new().text("Hi").insert_event(1, event_frame(&headers, b"{}"));
/// # let _ = reply;
/// ```
pub fn event_frame(headers: &[(&str, &str)], payload: &[u8]) -> Bytes {
    let mut encoded = BytesMut::new();
    for (name, value) in headers {
        let name = name.as_bytes().get(..MAX_NAME).unwrap_or(name.as_bytes());
        let value = value.as_bytes().get(..MAX_VALUE).unwrap_or(value.as_bytes());
        encoded.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
        encoded.put_slice(name);
        encoded.put_u8(STRING);
        encoded.put_u16(u16::try_from(value.len()).unwrap_or(u16::MAX));
        encoded.put_slice(value);
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    let total = PRELUDE + encoded.len() + payload.len() + CHECKSUM;
    let mut frame = BytesMut::with_capacity(total);
    frame.put_u32(length(total));
    frame.put_u32(length(encoded.len()));
    frame.put_u32(crc32fast::hash(&frame));
    frame.put_slice(&encoded);
    frame.put_slice(payload);
    frame.put_u32(crc32fast::hash(&frame));
    frame.freeze()
}

/// An event, padded as the service pads: by a different length each time.
pub(super) fn event(kind: &str, mut payload: Value, number: usize) -> Bytes {
    let length = 1 + number.wrapping_mul(17) % PADDING.len();
    if let Some(payload) = payload.as_object_mut() {
        payload.insert("p".to_owned(), PADDING.get(..length).unwrap_or(PADDING).into());
    }
    let headers = [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    event_frame(&headers, payload.to_string().as_bytes())
}

/// An exception, which ends a stream.
pub(super) fn exception(kind: &str, message: &str) -> Bytes {
    let mut payload = json!({"message": message});
    if let (true, Some(payload)) = (kind == "modelStreamErrorException", payload.as_object_mut()) {
        payload.insert("originalStatusCode".to_owned(), 500.into());
        payload.insert("originalMessage".to_owned(), message.into());
    }
    let headers =
        [(":exception-type", kind), (":content-type", "application/json"), (":message-type", "exception")];
    event_frame(&headers, payload.to_string().as_bytes())
}

/// An error of the transport, which has no payload.
pub(crate) fn error(code: &str, message: &str) -> Bytes {
    event_frame(&[(":error-code", code), (":error-message", message), (":message-type", "error")], b"")
}
