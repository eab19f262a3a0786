//! The requests behind a model's reply, so that a wait has its reason.

use attache_transport::{EndedExchange, Hook, RequestParts};
use http::{HeaderMap, StatusCode};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::json;
use crate::output::{answer, line, short};

/// A request that failed, or one that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A request is sent.
    Sent,
    /// A request failed in a way that is worth another one.
    Failed(String),
    /// The library warns of something.
    Warned(String),
}

/// A watch, and its notices.
pub(crate) type Watched = (Watch, UnboundedReceiver<Notice>);

/// Listens at the client.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    notices: UnboundedSender<Notice>,
}

impl Watch {
    /// A watch, and its notices.
    pub(crate) fn new() -> Watched {
        let (notices, received) = unbounded_channel();
        (Self { notices }, received)
    }

    /// Tells a warning of the library.
    pub(crate) fn warned(&self, text: String) {
        let _gone = self.notices.send(Notice::Warned(text));
    }
}

/// Waits for what comes before a run, and tells the warnings that come meanwhile at once: it may take long because of them.
#[cfg(feature = "chat")]
pub(crate) async fn beside<T>(
    work: impl Future<Output = T>,
    notices: &mut UnboundedReceiver<Notice>,
    as_json: bool,
    is_quiet: bool,
) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            Some(notice) = notices.recv() => tell(notice, as_json, is_quiet),
            done = &mut work => {
                tell_left(notices, as_json, is_quiet);
                return done;
            }
        }
    }
}

/// Tells the warnings that nobody was told yet.
pub(crate) fn tell_left(notices: &mut UnboundedReceiver<Notice>, as_json: bool, is_quiet: bool) {
    while let Ok(notice) = notices.try_recv() {
        tell(notice, as_json, is_quiet);
    }
}

fn tell(notice: Notice, as_json: bool, is_quiet: bool) {
    match notice {
        Notice::Warned(text) if as_json => {
            // A reader that has enough is told apart with the first event.
            let _unwritten = answer(&json::warning("log", &text));
        }
        Notice::Warned(text) if !is_quiet => line(&format!("! {}", short(&text, 300))),
        _ => {}
    }
}

impl Hook for Watch {
    fn headers(&self, _: &RequestParts, _: &mut HeaderMap) {
        // Nobody listens any more once the run is over.
        let _gone = self.notices.send(Notice::Sent);
    }

    fn ended(&self, exchange: &EndedExchange<'_>) {
        let failed = match (exchange.status, exchange.error) {
            (Some(status), _) if is_worth_another(status) => format!("HTTP {status}"),
            (_, Some(error)) => error.to_string(),
            _ => return,
        };
        let _gone = self.notices.send(Notice::Failed(failed));
    }
}

fn is_worth_another(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 409 | 425 | 429)
}
