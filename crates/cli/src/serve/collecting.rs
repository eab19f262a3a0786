//! The removal of documents that no session mentions.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use attache_stores::Collection;
use tokio::time::{sleep, timeout};

use crate::sessions::Stores;

/// The pause between two looks whether it is time.
const PAUSE: Duration = Duration::from_secs(30 * 60);
/// The time that a collection may take. One that is cut off begins anew the next day.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Looks again and again whether documents are to be removed, for as long as it is polled.
pub(super) async fn collect(stores: &Stores, does: bool) -> Infallible {
    if !does {
        return pending().await;
    }
    let mut told = None;
    loop {
        match timeout(LONGEST, stores.collect()).await {
            Ok(Ok(Collection::Collected(collected))) => {
                let (documents, bytes) = (collected.documents, collected.bytes);
                tracing::info!(documents, bytes, "documents that no session mentions were removed");
                told = None;
            }
            // Once each: it stays so until somebody does something.
            Ok(Ok(Collection::NotNow)) => {}
            Ok(Ok(collection)) if told.as_ref() != Some(&collection) => {
                tell(&collection);
                told = Some(collection);
            }
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "documents that no session mentions could not be removed")
            }
            Err(_) => tracing::warn!("removing documents that no session mentions took too long"),
        }
        sleep(PAUSE).await;
    }
}

fn tell(collection: &Collection) {
    match collection {
        Collection::Shared(marks) => {
            let marks = marks.iter().map(|mark| mark.display().to_string()).collect::<Vec<_>>().join(", ");
            tracing::warn!(
                marks,
                "other sessions keep their documents in the same folder, so none are removed that no session mentions: \
                 [stores] documents names another folder; the mark of sessions that are gone may be deleted"
            );
        }
        Collection::Unclaimed(file) => tracing::info!(
            file = %file.display(),
            "the folder of documents is older than its marks, so none are removed that no session mentions: make this \
             file, empty, if no other sessions keep documents there"
        ),
        _ => {}
    }
}
