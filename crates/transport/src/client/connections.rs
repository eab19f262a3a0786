//! The seam between a client and its connections: the built-in ones, or those of a `reqwest::Client`.

use std::sync::Arc;

use http::{Request, Response};

use super::failure::Unanswered;
use super::lanes::Place;
use super::pool::Pool;
use super::put_back::Idle;
use super::source::Source;
use crate::body::EncodedBody;

/// The source of a client's connections.
#[derive(Clone, Debug)]
pub(super) enum Connections {
    /// The built-in ones.
    Pool(Arc<Pool>),
    /// Those of a client of the user's own.
    #[cfg(feature = "reqwest")]
    Reqwest(reqwest::Client),
}

/// An answer, its body not yet read, and what its connection waits for.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) response: Response<Source>,
    pub(super) place: Option<Place>,
    pub(super) idle: Option<Idle>,
}

impl Connections {
    /// The answer to a request, whatever it is. The request is taken out of its place, so that the futures of a call do
    /// not each have room for it.
    pub(super) async fn answer(&self, request: &mut Request<EncodedBody>) -> Result<Answer, Unanswered> {
        match self {
            Self::Pool(pool) => {
                let (response, place, idle) = pool.answer(request).await.map_err(Unanswered::Broken)?;
                Ok(Answer { response: response.map(Source::Hyper), place, idle })
            }
            #[cfg(feature = "reqwest")]
            Self::Reqwest(client) => {
                // Apart, since calls over the built-in connections would carry its room.
                let response = Box::pin(super::external::answer(client, std::mem::take(request))).await?;
                Ok(Answer { response: response.map(Source::Reqwest), place: None, idle: None })
            }
        }
    }

    /// True if a task that nobody sees puts connections back some time after a body was read.
    pub(super) fn puts_back_later(&self) -> bool {
        match self {
            Self::Pool(_) => false,
            #[cfg(feature = "reqwest")]
            Self::Reqwest(_) => true,
        }
    }

    /// The proxy that a request to `url` goes through, as host and port. A `reqwest::Client` keeps that to itself.
    pub(super) fn proxy(&self, url: &str) -> Option<String> {
        match self {
            Self::Pool(pool) => pool.proxy(url),
            #[cfg(feature = "reqwest")]
            Self::Reqwest(_) => None,
        }
    }
}
