//! Hears of deliveries by other processes.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgNotification, PgPoolOptions};
use sqlx::{Acquire as _, Connection as _, Error};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::sql::changes::Changes;

/// The channel of notifications.
const CHANNEL: &str = "attache";
/// The time within which a connection says that it is there.
pub(super) const ANSWER: Duration = Duration::from_secs(5);
/// The time after which a connection that hears nothing is asked whether it is there still.
const QUIET: Duration = Duration::from_secs(30);

/// One connection that listens, for all that wait. One of them holds it and wakes the others.
pub(super) struct Ear {
    options: PgConnectOptions,
    listening: Mutex<Option<Listening>>,
    pub(super) changes: Changes,
}

/// The connection, which whoever holds it may leave at any moment.
struct Listening {
    listener: PgListener,
    /// When it was last known to be there.
    heard: Instant,
    /// Until when it is to answer, if it was asked.
    answers: Option<Instant>,
}

impl Ear {
    pub(super) fn new(options: PgConnectOptions) -> Self {
        Self { options, listening: Mutex::default(), changes: Changes::default() }
    }

    /// Lets the connection go. Those that wait look.
    pub(super) async fn leave(&self) {
        self.changes.wake_all();
        *self.listening.lock().await = None;
    }

    /// Hears of changes until this is dropped or the connection is lost. Notifications may be lost with it, so that whoever
    /// waits looks from time to time all the same.
    pub(super) async fn hear(&self) {
        let mut listening = self.listening.lock().await;
        loop {
            let heard = match listening.as_mut() {
                Some(listening) => listening.next().await,
                None => match Listening::new(&self.options).await {
                    Ok(connected) => {
                        *listening = Some(connected);
                        Ok(None)
                    }
                    Err(error) => Err(error),
                },
            };
            if heard.is_err() {
                *listening = None;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            match heard.ok().flatten().and_then(|told| told.payload().parse().ok()) {
                Some(mark) => self.changes.wake_marked(mark),
                // An older process names no run, and a connection that is lost tells nothing.
                None => self.changes.wake_all(),
            }
        }
    }
}

impl Listening {
    async fn new(options: &PgConnectOptions) -> Result<Self, Error> {
        // The pool goes with its connection: one that went silent takes no place of another.
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options.clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(Self { listener, heard: Instant::now(), answers: None })
    }

    /// Waits until it hears something; `None` if something may be lost. Nobody writes to a connection that listens, so that
    /// nothing else would tell that it has gone silent.
    async fn next(&mut self) -> Result<Option<PgNotification>, Error> {
        let mut told = None;
        match timeout_at(self.heard + QUIET, self.listener.try_recv()).await {
            Ok(heard) => told = heard?,
            Err(_) => {
                let until = *self.answers.get_or_insert_with(|| Instant::now() + ANSWER);
                let asked = async { self.listener.acquire().await?.ping().await };
                let answered = timeout_at(until, asked).await;
                answered.map_err(|_| Error::from(std::io::Error::from(std::io::ErrorKind::TimedOut)))??;
            }
        }
        (self.heard, self.answers) = (Instant::now(), None);
        Ok(told)
    }
}
