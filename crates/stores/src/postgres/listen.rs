//! Hears of deliveries by other processes.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool};
use tokio::sync::{Mutex, Notify};

/// The channel of notifications.
const CHANNEL: &str = "attache";

/// One connection that listens, for all that wait. One of them holds it and wakes the others.
#[derive(Default)]
pub(super) struct Ear {
    listener: Mutex<Option<PgListener>>,
    pub(super) changed: Notify,
}

impl Ear {
    /// Lets the connection go. Those that wait look.
    pub(super) async fn leave(&self) {
        self.changed.notify_waiters();
        *self.listener.lock().await = None;
    }

    /// Hears of changes until this is dropped or the connection is lost. Notifications may be lost with it, so that whoever
    /// waits looks from time to time all the same.
    pub(super) async fn hear(&self, pool: &PgPool) {
        let mut listener = self.listener.lock().await;
        loop {
            let heard = match listener.as_mut() {
                Some(listener) => listener.try_recv().await.map(|_| ()),
                None => match connected(pool).await {
                    Ok(connected) => {
                        *listener = Some(connected);
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
            };
            if heard.is_err() {
                *listener = None;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            self.changed.notify_waiters();
        }
    }
}

async fn connected(pool: &PgPool) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    Ok(listener)
}
