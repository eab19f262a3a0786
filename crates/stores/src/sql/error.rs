//! Errors of databases as those of stores. An address may hold a password and is in none of them.

use std::future::Future;
use std::time::Duration;

use attache_agent::{JournalError, SessionError};
use attache_core::{StoreError, StoreErrorKind};
use sqlx::Error;
use tokio::time::Instant;

/// The time that one call of a database may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The time for which looks of a wait may fail one after the other.
const FAILING: Duration = Duration::from_secs(60);

/// A failure of a store behind SQL.
#[derive(Debug)]
pub(crate) enum SqlError {
    /// The database failed.
    Database(Error),
    /// Its content cannot be read.
    Unreadable(String),
    /// The caller gets this.
    Store(StoreError),
    /// The caller gets this.
    Journal(JournalError),
    /// The caller gets this.
    Session(SessionError),
    /// It took too long.
    Late,
    /// SQLite failed in a call of a usual turn.
    #[cfg(feature = "sqlite")]
    Sqlite(rusqlite::Error),
}

#[cfg(feature = "sqlite")]
impl From<rusqlite::Error> for SqlError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for SqlError {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<JournalError> for SqlError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl From<SessionError> for SqlError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl SqlError {
    /// True if PostgreSQL failed it so that another one could go on.
    pub(crate) fn is_deadlock(&self) -> bool {
        matches!(self, Self::Database(Error::Database(error)) if error.code().as_deref() == Some("40P01"))
    }

    pub(crate) fn store(self) -> StoreError {
        match self {
            Self::Database(error) => of_database(error),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(error) => of_sqlite(error),
            Self::Store(error) => error,
            Self::Unreadable(problem) => StoreError::new(StoreErrorKind::Corrupt, problem),
            Self::Late => {
                let text = format!("the database did not answer within {} s", PATIENCE.as_secs());
                StoreError::new(StoreErrorKind::Unavailable, text)
            }
            Self::Journal(JournalError::Store(error))
            | Self::Session(SessionError::Journal(JournalError::Store(error))) => error,
            Self::Journal(error) => StoreError::new(StoreErrorKind::Corrupt, error.to_string()),
            Self::Session(error) => StoreError::new(StoreErrorKind::NotFound, error.to_string()),
        }
    }

    pub(crate) fn journal(self) -> JournalError {
        match self {
            Self::Journal(error) | Self::Session(SessionError::Journal(error)) => error,
            Self::Unreadable(problem) => JournalError::Unreadable { problem },
            other => other.store().into(),
        }
    }

    pub(crate) fn session(self) -> SessionError {
        match self {
            Self::Session(error) => error,
            other => other.journal().into(),
        }
    }
}

/// A database that does not answer has failed.
pub(crate) async fn in_time<T>(work: impl Future<Output = Result<T, SqlError>>) -> Result<T, SqlError> {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or(Err(SqlError::Late))
}

/// A write, which goes on by itself: one that stood still because nobody polls its caller would keep others out.
pub(crate) async fn written<T: Send + 'static>(
    work: impl Future<Output = Result<T, SqlError>> + Send + 'static,
) -> Result<T, SqlError> {
    tokio::spawn(in_time(work)).await.unwrap_or(Err(SqlError::Late))
}

/// The failures of somebody who waits: a database that is gone for a while ends no wait.
#[derive(Default)]
pub(crate) struct Failing(Option<Instant>);

impl Failing {
    /// The result of a look. `None` for one that failed, unless looks have failed for a minute or the store was closed.
    pub(crate) fn look<T>(
        &mut self,
        found: Result<Option<T>, SqlError>,
        is_closed: bool,
    ) -> Result<Option<T>, JournalError> {
        let error = match found {
            Ok(found) => {
                self.0 = None;
                return Ok(found);
            }
            Err(error) => error.journal(),
        };
        let is_away =
            matches!(&error, JournalError::Store(error) if error.kind() == StoreErrorKind::Unavailable);
        let since = *self.0.get_or_insert_with(Instant::now);
        if is_away && !is_closed && since.elapsed() < FAILING { Ok(None) } else { Err(error) }
    }
}

fn of_database(error: Error) -> StoreError {
    let kind = match &error {
        Error::Database(error) => match error.code().as_deref() {
            // SQLite: damaged, no database. PostgreSQL: class XX.
            Some("11" | "26" | "XX001" | "XX002") => StoreErrorKind::Corrupt,
            // SQLite: full, too large. PostgreSQL: no room on the disk, a value too large.
            Some("13" | "18" | "53100" | "54000") => StoreErrorKind::TooLarge,
            _ => StoreErrorKind::Unavailable,
        },
        Error::ColumnDecode { .. } | Error::Decode(_) | Error::ColumnNotFound(_) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, "the database failed").with_source(error)
}

#[cfg(feature = "sqlite")]
fn of_sqlite(error: rusqlite::Error) -> StoreError {
    use rusqlite::{Error as Sqlite, ErrorCode};

    let kind = match &error {
        Sqlite::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreErrorKind::Corrupt,
            ErrorCode::DiskFull | ErrorCode::TooBig => StoreErrorKind::TooLarge,
            _ => StoreErrorKind::Unavailable,
        },
        Sqlite::FromSqlConversionFailure(..)
        | Sqlite::IntegralValueOutOfRange(..)
        | Sqlite::Utf8Error(..)
        | Sqlite::InvalidColumnType(..) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, "the database failed").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_outlives_a_database_that_is_away_for_less_than_a_minute() {
        let away = || Err::<Option<()>, _>(SqlError::Late);
        let mut failing = Failing::default();
        for _ in 0..3 {
            assert!(matches!(failing.look(away(), false), Ok(None)));
            tokio::time::advance(Duration::from_secs(59)).await;
            assert!(matches!(failing.look(away(), false), Ok(None)));
            assert!(matches!(failing.look(Ok(Some(())), false), Ok(Some(()))));
        }
        assert!(matches!(failing.look(away(), false), Ok(None)));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(failing.look(away(), false).is_err());
        assert!(Failing::default().look(away(), true).is_err(), "the store was closed");
        let damaged = Err::<Option<()>, _>(SqlError::Unreadable("entry 1".to_owned()));
        assert!(Failing::default().look(damaged, false).is_err());
    }
}
