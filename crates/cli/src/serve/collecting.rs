//! The removal of documents that no session mentions.

use std::convert::Infallible;
use std::future::pending;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use attache_stores::Upkeep;
use tokio::time::{sleep, timeout};

use crate::kept::Kept;

/// The pause between two looks whether it is time, up to twice as long by chance: nodes that were started at once look one
/// after the other.
const PAUSE: Duration = Duration::from_secs(30 * 60);
/// The time that a collection may take. One that is cut off begins anew the next day.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Looks again and again whether documents are to be removed, for as long as it is polled.
pub(super) async fn keep_up(kept: &Kept, does: bool) -> Infallible {
    if !does {
        return pending().await;
    }
    let mut told = None;
    loop {
        match timeout(LONGEST, kept.keep_up()).await {
            Ok(Ok(Upkeep::Collected(collected))) => {
                let (documents, bytes) = (collected.documents, collected.bytes);
                tracing::info!(documents, bytes, "documents that no session mentions were removed");
                told = None;
            }
            // Once each: it stays so until somebody does something.
            Ok(Ok(Upkeep::NotNow)) => {}
            Ok(Ok(upkeep)) if told.as_ref() != Some(&upkeep) => {
                tell(&upkeep);
                told = Some(upkeep);
            }
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "documents that no session mentions could not be removed")
            }
            Err(_) => tracing::warn!("the removal of documents that no session mentions took too long"),
        }
        sleep(PAUSE + PAUSE.mul_f64(chance())).await;
    }
}

fn tell(upkeep: &Upkeep) {
    match upkeep {
        Upkeep::Shared(marks) => {
            let marks = marks.iter().map(|mark| mark.display().to_string()).collect::<Vec<_>>().join(", ");
            tracing::warn!(
                marks,
                "other sessions keep their documents in the same folder, so none are removed that no session mentions: \
                 [stores] documents names another folder; the mark of sessions that are gone may be deleted"
            );
        }
        Upkeep::Unclaimed(file) => tracing::info!(
            file = %file.display(),
            "the folder of documents is older than its marks, so none are removed that no session mentions: make this \
             file, empty, if no other sessions keep documents there"
        ),
        _ => {}
    }
}

/// A number from 0 to 1.
fn chance() -> f64 {
    let random = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or_default();
    f64::from(random) / f64::from(u32::MAX)
}
