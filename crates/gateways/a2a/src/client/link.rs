//! The card of an agent, read when it is first needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use attache_core::{BoxFuture, ToolError, ToolErrorKind};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::failure::Failure;
use super::request::{Ask, card};
use super::send::{Way, body};
use crate::card::{A2aCard, Interface, verified};
use crate::config::Config;

/// The wait behind a card that could not be read; it doubles.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// An agent whose card is known.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) card: A2aCard,
    pub(crate) interface: Interface,
    pub(crate) way: Way,
    is_doubted: AtomicBool,
}

impl Known {
    /// Lets the next call read the card anew; where that cannot be done now, this one holds.
    pub(crate) fn doubt(&self) {
        self.is_doubted.store(true, Ordering::Relaxed);
    }
}

/// The card, shared by all clones of a handle.
#[derive(Debug, Default)]
pub(crate) struct Link(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: Option<Arc<Known>>,
    /// The number of failures in a row, the time of the next try, and the last reason.
    failed: Option<(u32, Instant, String, ToolErrorKind)>,
}

impl Link {
    /// The agent's card. One asks for it, and all others wait for that. A border: see ADR 0053.
    pub(crate) fn known<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Result<Arc<Known>, ToolError>> {
        Box::pin(async move {
            let mut state = self.0.lock().await;
            let old = state.known.clone();
            if let Some(known) = old.clone().filter(|known| !known.is_doubted.load(Ordering::Relaxed)) {
                return Ok(known);
            }
            if let Some((_, not_before, why, kind)) = &state.failed
                && Instant::now() < *not_before
            {
                if let Some(old) = old {
                    return Ok(old);
                }
                return Err(ToolError::new(why.clone()).with_kind(*kind));
            }
            match read(config).await {
                Ok(known) => {
                    let known = Arc::new(known);
                    *state = State { known: Some(Arc::clone(&known)), failed: None };
                    Ok(known)
                }
                Err(error) => {
                    let count = state.failed.as_ref().map_or(0, |(count, ..)| *count);
                    let wait = FIRST_WAIT.saturating_mul(1 << count.min(6)).min(LONGEST_WAIT);
                    let why = error.for_model().to_owned();
                    state.failed = Some((count + 1, Instant::now() + wait, why, error.kind()));
                    let is_away = matches!(error.kind(), ToolErrorKind::Unavailable | ToolErrorKind::Timeout);
                    // An agent that says what it is and cannot be believed is not the one that it was.
                    state.known = old.filter(|_| is_away);
                    state.known.clone().ok_or(error)
                }
            }
        })
    }
}

async fn read(config: &Config) -> Result<Known, ToolError> {
    if let Some(problem) = config.problem() {
        return Err(config.failed(&format!("cannot be: {problem}")));
    }
    let way = Way::new(config);
    let end = Instant::now() + config.limits.request;
    let mut last = None;
    let mut found = None;
    for url in addresses(&config.url) {
        match public(config, &way, url, end).await {
            Ok(card) => {
                found = Some(card);
                break;
            }
            Err(failure) if matches!(failure, Failure::Status { status: 404 | 405 | 410, .. }) => {
                last = Some(failure);
            }
            Err(failure) => return Err(failure.told(config, false)),
        }
    }
    let Some(value) = found else {
        let none = config.unavailable("has no card at its address");
        return Err(match last {
            Some(failure) => none.with_source(failure.told(config, false).for_model().to_owned()),
            None => none,
        });
    };
    let card = trusted(config, &value)?;
    let interface = chosen(config, &card)?;
    let known = Known { card, interface, way, is_doubted: AtomicBool::new(false) };
    if !known.card.extended || !config.has_credentials() {
        return Ok(known);
    }
    // Its word to those who have credentials. Without that there is the other card.
    match extended(config, &known, end).await {
        Ok(Some((card, interface))) => Ok(Known { card, interface, ..known }),
        Ok(None) => Ok(known),
        Err(error) => {
            tracing::debug!(agent = config.alias, %error, "the extended card cannot be used");
            Ok(known)
        }
    }
}

async fn extended(
    config: &Config,
    known: &Known,
    end: Instant,
) -> Result<Option<(A2aCard, Interface)>, ToolError> {
    let told = |failure: Failure| failure.told(config, false);
    let answer = known.way.ask(config, &known.interface, Ask::ExtendedCard, end).await.map_err(told)?;
    let Ok(value) = serde_json::from_str::<Value>(answer.result().map_err(told)?) else { return Ok(None) };
    let card = trusted(config, &value)?;
    let interface = chosen(config, &card)?;
    Ok(Some((card, interface)))
}

/// The addresses at which a card may be: the newer one first. (A2A 0.3 section 5.3, 1.0 section 8.2)
fn addresses(url: &str) -> Vec<String> {
    let (place, _) = url.split_once(['?', '#']).unwrap_or((url, ""));
    if place.ends_with(".json") {
        return vec![url.to_owned()];
    }
    let place = place.trim_end_matches('/');
    ["agent-card.json", "agent.json"].map(|name| format!("{place}/.well-known/{name}")).into()
}

async fn public(config: &Config, way: &Way, url: String, end: Instant) -> Result<Value, Failure> {
    let reply = way.send(config, card(url), end).await?;
    let body = body(config, reply, end).await?;
    serde_json::from_slice(&body).map_err(|_| Failure::Malformed("a card that is no JSON"))
}

/// A card as far as it can be believed.
fn trusted(config: &Config, card: &Value) -> Result<A2aCard, ToolError> {
    let no_card = || config.failed("has a card that is none");
    match &config.keys {
        None => A2aCard::read(card).ok_or_else(no_card),
        Some(keys) => {
            let signed = verified(card, keys)
                .ok_or_else(|| config.failed("has a card that none of the known keys has signed"))?;
            let card = A2aCard::read(&signed).ok_or_else(no_card)?;
            Ok(A2aCard { is_verified: true, ..card })
        }
    }
}

fn chosen(config: &Config, card: &A2aCard) -> Result<Interface, ToolError> {
    if let Some(interface) = card.interface((config.version, config.binding)) {
        return Ok(interface.clone());
    }
    let others = config.told(&card.others.join(", "), 200);
    let mut text =
        "cannot be spoken to in a way that is known here, which are JSONRPC in 0.3 and 1.0 and HTTP+JSON \
                    in 1.0"
            .to_owned();
    if !others.is_empty() {
        text = format!("{text}; it offers {others}");
    }
    Err(config.failed(&text))
}
