//! Sends requests: credentials to their own origin, others without and to public addresses alone.

use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{
    AddressGuard, HttpClient, Origin, Reply, RequestParts, Timeouts, content_encoding, redirected,
};
use bytes::Bytes;
use http::header::{AUTHORIZATION, LOCATION};
use http::{HeaderName, Method};
use tokio::time::{Instant, timeout_at};

use super::answer::{Answer, error_of};
use super::failure::Failure;
use super::request::Ask;
use super::stream::EventStream;
use crate::address::has_user;
use crate::card::{A2aBinding, Interface};
use crate::config::Config;

/// The maximum number of redirects that are followed.
const MOST_REDIRECTS: u32 = 3;
/// The maximum number of bytes that are read of the body of an error.
const ERROR_BYTES: usize = 64 << 10;

/// The clients to an agent.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    own: HttpClient,
    /// For addresses that the agent names and the program does not.
    others: HttpClient,
}

impl Way {
    pub(crate) fn new(config: &Config) -> Self {
        // A stream that says nothing for a while is one that works.
        let timeouts = Timeouts::default();
        let guarded = || HttpClient::guarded(timeouts, AddressGuard::new(), false);
        let own = match &config.client {
            Some(client) => client.clone(),
            None if config.public => guarded(),
            None => HttpClient::shared(),
        };
        // An agent without tasks is silent until it is done.
        let patient = |client: HttpClient| {
            let (timeouts, patience) = (client.timeouts(), config.limits.patience);
            let (idle, total) = (timeouts.idle.max(patience), timeouts.total.max(patience));
            client.with_timeouts(timeouts.with_idle(idle).with_total(total))
        };
        Self { own: patient(own), others: patient(guarded()) }
    }

    /// True for addresses of the program's own choice.
    pub(crate) fn is_own(config: &Config, url: &str) -> bool {
        let Some(target) = Origin::parse(url) else { return false };
        let known = config.origins.iter().map(String::as_str).chain([&*config.url]);
        known.filter_map(Origin::parse).any(|own| own == target)
    }

    /// Sends a request, with credentials where they belong, and follows where it leads within its origin.
    pub(crate) async fn send(
        &self,
        config: &Config,
        mut parts: RequestParts,
        end: Instant,
    ) -> Result<Reply, Failure> {
        let is_own = Self::is_own(config, &parts.url);
        if !is_own {
            let origin = Origin::parse(&parts.url).filter(|_| !has_user(&parts.url));
            let origin = origin.ok_or(Failure::Forbidden("its card names an address that is none"))?;
            if !origin.is_secure() && Origin::parse(&config.url).is_some_and(|own| own.is_secure()) {
                return Err(Failure::Forbidden("its card names an address without TLS"));
            }
        }
        if is_own {
            parts = dress(config, parts).map_err(Failure::Unreached)?;
        }
        parts.whole = true;
        let client = if is_own { &self.own } else { &self.others };
        let mut left = MOST_REDIRECTS;
        loop {
            let reply = timeout_at(end, client.answer(&parts)).await.map_err(|_| Failure::Late)?;
            let reply = reply.map_err(Failure::Unreached)?;
            let follows = match reply.status().as_u16() {
                307 | 308 => true,
                301..=303 => parts.method == Method::GET,
                _ => false,
            };
            let location = reply.headers().get(LOCATION).filter(|_| follows && left > 0);
            let next = location.and_then(|location| redirected(&parts.url, location.as_bytes()).ok());
            match next {
                Some(next) if Origin::parse(&next) == Origin::parse(&parts.url) => {
                    parts.url = next;
                    left -= 1;
                }
                _ => return Ok(reply),
            }
        }
    }

    /// Asks for one answer.
    pub(crate) async fn ask(
        &self,
        config: &Config,
        interface: &Interface,
        ask: Ask<'_>,
        end: Instant,
    ) -> Result<Answer, Failure> {
        let short = Instant::now() + config.limits.request.max(Duration::from_millis(1));
        // An agent without tasks answers a message once it is done, whatever it is asked.
        let end = if matches!(ask, Ask::Send(_)) { end } else { end.min(short) };
        let reply = self.send(config, ask.parts(interface), end).await?;
        let body = body(config, reply, end).await?;
        Ok(Answer { body, is_rpc: interface.binding == A2aBinding::JsonRpc })
    }

    /// Asks for a stream.
    pub(crate) async fn stream(
        &self,
        config: &Config,
        interface: &Interface,
        ask: Ask<'_>,
        end: Instant,
    ) -> Result<EventStream, Failure> {
        let reply = self.send(config, ask.parts(interface), end).await?;
        if !reply.status().is_success() {
            return Err(refusal(reply, end).await);
        }
        refuse_encoded(&reply)?;
        let is_rpc = interface.binding == A2aBinding::JsonRpc;
        let mut stream = EventStream::new(reply, is_rpc, config.limits);
        stream.read_whole(end).await?;
        Ok(stream)
    }
}

fn dress(config: &Config, mut parts: RequestParts) -> Result<RequestParts, ProviderError> {
    for (name, value) in &config.headers {
        let Ok(name) = HeaderName::try_from(name) else {
            let message = format!("{name:?} is no header name");
            return Err(ProviderError::new(ErrorKind::Configuration, message));
        };
        parts = parts.with_secret_header(name, "", value);
    }
    Ok(match &config.bearer {
        Some(token) => parts.with_secret_header(AUTHORIZATION, "Bearer ", token),
        None => parts,
    })
}

fn refuse_encoded(reply: &Reply) -> Result<(), Failure> {
    match content_encoding(reply.headers()) {
        Some(_) => Err(Failure::Malformed("an encoding that was not asked for")),
        None => Ok(()),
    }
}

/// The body of a success.
pub(crate) async fn body(config: &Config, reply: Reply, end: Instant) -> Result<Bytes, Failure> {
    if !reply.status().is_success() {
        return Err(refusal(reply, end).await);
    }
    refuse_encoded(&reply)?;
    let read = timeout_at(end, reply.bytes(config.limits.message_bytes)).await.map_err(|_| Failure::Late)?;
    read.map_err(|error| match error.kind() {
        ErrorKind::Malformed => Failure::TooLarge,
        _ => Failure::Cut(error),
    })
}

/// The error of an error status.
async fn refusal(mut reply: Reply, end: Instant) -> Failure {
    let status = reply.status().as_u16();
    let mut body = Vec::new();
    let read = async {
        while body.len() < ERROR_BYTES
            && let Ok(Some(piece)) = reply.chunk().await
        {
            let room = ERROR_BYTES.saturating_sub(body.len()).min(piece.len());
            body.extend_from_slice(piece.get(..room).unwrap_or_default());
        }
    };
    let end = end.min(Instant::now() + Duration::from_secs(10));
    let _ = timeout_at(end, read).await;
    let text = String::from_utf8_lossy(&body);
    match error_of(&text) {
        Some((Some(code), message)) if code < 0 => Failure::Refused { code, message },
        Some((_, message)) => Failure::Status { status, message },
        None => Failure::Status { status, message: String::new() },
    }
}
