//! The converters behind the core's trait.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread;

use attache_core::{BoxFuture, ConvertedText, Converter, Document, MediaType, Units};
use bytes::Bytes;

use crate::{Limits, can_convert, convert};

/// Every converter of this crate as a [`Converter`], for an agent.
///
/// Each conversion runs on a thread of its own, so that no async worker waits for it. Dropping the future does not
/// stop the thread; [`Limits`] do.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentConverter {
    limits: Limits,
}

impl DocumentConverter {
    /// Converters with these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }
}

#[derive(Default)]
struct Done {
    result: Option<Result<ConvertedText, String>>,
    waker: Option<Waker>,
}

impl Converter for DocumentConverter {
    fn converts(&self, media_type: &MediaType) -> bool {
        can_convert(media_type.essence())
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, String>> {
        let media_type = document.media_type().to_string();
        let limits = self.limits;
        Box::pin(async move {
            let done = Arc::new(Mutex::new(Done::default()));
            let finished = Arc::clone(&done);
            let work = move || {
                let result = text(&media_type, bytes, &limits);
                let mut done = finished.lock().unwrap_or_else(PoisonError::into_inner);
                done.result = Some(result);
                if let Some(waker) = done.waker.take() {
                    waker.wake();
                }
            };
            thread::Builder::new()
                .name("attache-convert".to_owned())
                .spawn(work)
                .map_err(|error| error.to_string())?;
            poll_fn(|context| {
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                match done.result.take() {
                    Some(result) => Poll::Ready(result),
                    None => {
                        done.waker = Some(context.waker().clone());
                        Poll::Pending
                    }
                }
            })
            .await
        })
    }
}

fn text(media_type: &str, bytes: Bytes, limits: &Limits) -> Result<ConvertedText, String> {
    let converted = convert(media_type, bytes, limits).map_err(|error| error.to_string())?;
    let mut text = ConvertedText::new(converted.text);
    if !converted.starts.is_empty() {
        text = text.with_units(Units::new(converted.unit.name(), converted.starts, converted.units));
    }
    for note in converted.notes {
        text = text.with_note(note.to_string());
    }
    for attachment in converted.attachments {
        let document = Document::from_bytes(attachment.bytes, &attachment.media_type);
        text = text.with_attachment(match attachment.file_name {
            Some(name) => document.with_file_name(name),
            None => document,
        });
    }
    Ok(text)
}
