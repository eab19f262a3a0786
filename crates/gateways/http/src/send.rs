//! A request and what comes of it: attempts, redirects, a body that is bounded.

use std::time::Duration;

use attache_core::{ErrorKind, ProviderError, ToolError, ToolErrorKind};
use attache_transport::{
    ErrorResponse, Origin, RequestParts, RetryPolicy, Trying, content_encoding, redirected,
};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Method, StatusCode};
use tokio::time::{Instant, timeout_at};

use crate::request::{Outgoing, stripped};
use crate::service::{Answer, Way};

/// The maximum number of redirects that are followed.
const MOST_REDIRECTS: u32 = 3;

/// The maximum number of bytes that are read of the body of an error.
const ERROR_BYTES: usize = 64 << 10;

/// The treatment of an answer that leads elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Redirects {
    /// It is an answer like any other, which the model is told of.
    #[default]
    Off,
    /// It is followed within its own origin, three times at most.
    SameOrigin,
    /// It is followed to other origins too, without anything of the caller, of the configuration and of the body, and
    /// never from `https` to `http`. For downloads that lead to a store of files.
    Stripped,
}

/// The manner in which requests are sent.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) way: Way,
    pub(crate) redirects: Redirects,
    pub(crate) retry: RetryPolicy,
    pub(crate) most_bytes: usize,
}

/// An answer with its body.
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// True if the body had more.
    pub(crate) is_cut: bool,
    /// The address that answered.
    pub(crate) url: String,
}

/// The reason why there is no answer.
pub(crate) enum Unanswered {
    Failed(ProviderError),
    /// A success whose answer cannot be shown.
    Unshown(StatusCode, Unshown),
}

/// The reason why the answer of a success cannot be shown.
#[derive(Clone, Copy)]
pub(crate) enum Unshown {
    TooLarge,
    Encoded,
}

impl From<ProviderError> for Unanswered {
    fn from(error: ProviderError) -> Self {
        Self::Failed(error)
    }
}

impl Manner {
    /// The same for an endpoint that says itself how long a call may take: its server may be as long without a byte.
    pub(crate) fn within(&self, own: Option<Duration>) -> Self {
        let mut manner = self.clone();
        if let (Way::Network(client), Some(own)) = (&mut manner.way, own) {
            let known = client.timeouts();
            let longer = known.with_first_byte(known.first_byte.max(own)).with_idle(known.idle.max(own));
            *client = client.with_timeouts(longer.with_total(known.total.max(own)));
        }
        manner
    }

    /// Sends a request within `limit`, again where that changes nothing.
    pub(crate) async fn send(
        &self,
        outgoing: &Outgoing,
        limit: Duration,
        may_repeat: bool,
    ) -> Result<Answered, Unanswered> {
        let never = RetryPolicy::never();
        let mut trying = Trying::new(if may_repeat { &self.retry } else { &never }, limit);
        let now = Instant::now();
        let end = now.checked_add(limit).unwrap_or(now + Duration::from_secs(3600));
        loop {
            let (outcome, error) = match timeout_at(end, self.attempt(outgoing)).await {
                Err(_) => (Err(Unanswered::Failed(out_of_time())), out_of_time()),
                Ok(Ok(answered)) if answered.status.is_success() || answered.status.is_redirection() => {
                    return Ok(answered);
                }
                Ok(Ok(answered)) => {
                    let head = (answered.status, answered.headers.clone());
                    let error = ErrorResponse::new(head.0, head.1, &answered.body).to_error();
                    (Ok(answered), error)
                }
                Ok(Err(Unanswered::Failed(error))) => {
                    let again = ProviderError::new(error.kind(), "").with_retryable(error.is_retryable());
                    (Err(Unanswered::Failed(error)), again)
                }
                Ok(Err(other)) => return Err(other),
            };
            match trying.next_wait(&error) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return outcome,
            }
        }
    }

    /// One attempt, redirects included.
    async fn attempt(&self, outgoing: &Outgoing) -> Result<Answered, Unanswered> {
        let mut followed: Option<RequestParts> = None;
        let mut left = match self.redirects {
            Redirects::Off => 0,
            Redirects::SameOrigin | Redirects::Stripped => MOST_REDIRECTS,
        };
        loop {
            let parts = followed.as_ref().unwrap_or(&outgoing.parts);
            let answer = self.way.answer(parts).await?;
            let next = (left > 0).then(|| self.next(outgoing, parts, &answer)).flatten();
            match next {
                Some(next) => followed = Some(next),
                None => return self.read(answer, parts).await,
            }
            left -= 1;
        }
    }

    /// The request that a redirect asks for, if it may be followed.
    fn next(&self, outgoing: &Outgoing, parts: &RequestParts, answer: &Answer) -> Option<RequestParts> {
        let is_redirect = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
        let location = answer.headers.get(LOCATION).filter(|_| is_redirect)?;
        let url = redirected(&parts.url, location.as_bytes()).ok()?;
        // RFC 9110 section 15.4
        let becomes_get = match answer.status {
            StatusCode::SEE_OTHER => parts.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => parts.method == Method::POST,
            _ => false,
        };
        // Once away, nothing of the caller comes back into it: `parts` has lost it.
        if Origin::parse(&url)? == outgoing.origin && Origin::parse(&parts.url)? == outgoing.origin {
            let mut next = parts.clone();
            next.url = url;
            if becomes_get {
                next.method = Method::GET;
                next.body = attache_transport::EncodedBody::default();
                next = next.without_header(&CONTENT_TYPE);
            }
            return Some(next);
        }
        let is_get = parts.method == Method::GET || becomes_get;
        // A service in this process would take the other origin's address for one of its own.
        let is_network = matches!(self.way, Way::Network(_));
        (self.redirects == Redirects::Stripped && is_get && is_network).then(|| stripped(url))
    }

    async fn read(&self, mut answer: Answer, parts: &RequestParts) -> Result<Answered, Unanswered> {
        let (status, url) = (answer.status, parts.url.clone());
        let is_error = !status.is_success();
        let unshown = |why| Err(Unanswered::Unshown(status, why));
        if parts.method == Method::HEAD {
            // Its headers tell of a body that is not there.
            return Ok(Answered { status, headers: answer.headers, body: Bytes::new(), is_cut: false, url });
        }
        if content_encoding(&answer.headers).is_some() {
            return match is_error {
                // The status is told all the same.
                true => {
                    Ok(Answered { status, headers: answer.headers, body: Bytes::new(), is_cut: true, url })
                }
                false => unshown(Unshown::Encoded),
            };
        }
        let most = if is_error { ERROR_BYTES } else { self.most_bytes };
        let announced =
            answer.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if !is_error && announced.is_some_and(|length| length > most as u64) {
            return unshown(Unshown::TooLarge);
        }
        let mut first = Bytes::new();
        let mut more = BytesMut::new();
        let mut is_cut = false;
        loop {
            let piece = match answer.piece().await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                // The part of an error that came is told all the same.
                Err(_) if is_error => {
                    is_cut = true;
                    break;
                }
                Err(error) => return Err(Unanswered::Failed(error)),
            };
            let room = most.saturating_sub(first.len() + more.len());
            if piece.len() > room {
                if !is_error {
                    return unshown(Unshown::TooLarge);
                }
                is_cut = true;
            }
            let piece = piece.slice(..piece.len().min(room));
            if first.is_empty() {
                first = piece;
            } else {
                more.extend_from_slice(&piece);
            }
            if is_cut {
                break;
            }
        }
        let body = match more.is_empty() {
            true => first,
            false => [first, more.freeze()].concat().into(),
        };
        Ok(Answered { status, headers: answer.headers, body, is_cut, url })
    }
}

/// The word on a host that the guard refuses. It does not name the host, which a redirect may have chosen.
const PRIVATE: &str = "this tool may not reach its service: the address is a private one; a service of this machine or \
    network has to be allowed (`private_addresses = true` in a configuration, `with_private_addresses(true)` in a \
    program), and link-local addresses are never reached";

fn out_of_time() -> ProviderError {
    ProviderError::new(ErrorKind::Timeout, "the call took longer than it may").with_retryable(false)
}

impl Unshown {
    pub(crate) fn told(self, most_bytes: usize) -> String {
        match self {
            Self::TooLarge => format!("the answer has more than the {most_bytes} bytes that are read"),
            Self::Encoded => "the service encodes its answer in a way that was not asked for".to_owned(),
        }
    }
}

impl Unanswered {
    /// The error that the model is told. `changes` says that the call may have done something.
    pub(crate) fn into_error(self, most_bytes: usize, changes: bool) -> ToolError {
        let error = match self {
            Self::Unshown(_, why) => return ToolError::new(why.told(most_bytes)),
            Self::Failed(error) => error,
        };
        let unknown = if changes { "; it is not known if it did what was asked" } else { "" };
        let (kind, text) = match error.kind() {
            ErrorKind::Timeout => {
                (ToolErrorKind::Timeout, format!("the service did not answer in time{unknown}"))
            }
            ErrorKind::Permission => (ToolErrorKind::Failed, PRIVATE.to_owned()),
            ErrorKind::Configuration => (ToolErrorKind::Failed, "this tool is not set up".to_owned()),
            ErrorKind::StreamCut => {
                (ToolErrorKind::Unavailable, format!("the answer ended before its end{unknown}"))
            }
            _ => (ToolErrorKind::Unavailable, format!("the service does not answer{unknown}")),
        };
        ToolError::new(text).with_kind(kind).with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use attache_transport::{HttpClient, Timeouts};

    use super::*;

    #[test]
    fn an_endpoint_may_take_the_time_that_it_says() {
        let timeouts = Timeouts::new().with_first_byte(Duration::from_secs(60));
        let manner = Manner {
            way: Way::Network(HttpClient::new(timeouts)),
            redirects: Redirects::Off,
            retry: RetryPolicy::never(),
            most_bytes: 1,
        };
        let of = |own: Option<u64>| match manner.within(own.map(Duration::from_secs)).way {
            Way::Network(client) => client.timeouts(),
            Way::Here(_) => timeouts,
        };
        assert_eq!((of(None), of(Some(5))), (timeouts, timeouts));
        let long = of(Some(7_200));
        assert_eq!([long.first_byte, long.idle, long.total].map(|limit| limit.as_secs()), [7_200; 3]);
    }
}
