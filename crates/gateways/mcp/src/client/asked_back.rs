//! Requests of servers to people and models, on their way to the call during which they come.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attache_core::tool::{Listening, Progress};
use rmcp::model::{InputRequest, ProgressToken};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The maximum number of requests of a server that wait for their turn.
const WAITING: usize = 8;

/// A request of a server.
pub(crate) struct Wish {
    pub(crate) request: InputRequest,
    /// Takes the result.
    pub(crate) answer: oneshot::Sender<Value>,
}

/// The calls that are under way at a server, which can ask people.
#[derive(Default)]
pub(crate) struct Hub {
    calls: Mutex<Calls>,
    /// The listeners to the progress of requests under way.
    listening: Mutex<Vec<(Request, Listening)>>,
    connections: AtomicU64,
}

/// A request by the number of its connection and its token, since each connection numbers its requests from one on.
type Request = (u64, ProgressToken);

#[derive(Default)]
struct Calls {
    last: u64,
    under_way: Vec<Call>,
}

struct Call {
    number: u64,
    whose: Whose,
    wishes: mpsc::Sender<Wish>,
}

/// The principal and the run of a call.
pub(crate) type Whose = (Option<String>, Option<String>);

/// A call that is under way, until it is dropped.
pub(crate) struct UnderWay {
    hub: Arc<Hub>,
    number: u64,
    pub(crate) wishes: mpsc::Receiver<Wish>,
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ears(&self) -> MutexGuard<'_, Vec<(Request, Listening)>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a new connection.
    pub(crate) fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Has somebody hear of the progress of a request until that is dropped.
    pub(crate) fn listen(&self, connection: u64, token: ProgressToken, listening: Listening) -> Ear<'_> {
        let request = (connection, token);
        self.ears().push((request.clone(), listening));
        Ear { hub: self, request }
    }

    /// Tells the progress of a request. One that nobody waits for any more says nothing.
    pub(crate) fn tell(&self, connection: u64, token: &ProgressToken, progress: Progress) {
        let ears = self.ears();
        let is_it = |(known, of): &Request| *known == connection && of == token;
        let listening = ears.iter().find(|(known, _)| is_it(known)).map(|(_, ear)| ear.clone());
        drop(ears);
        if let Some(listening) = listening {
            listening.tell(progress);
        }
    }

    /// Notes that a call is under way.
    pub(crate) fn enter(self: &Arc<Self>, whose: Whose) -> UnderWay {
        let (sender, wishes) = mpsc::channel(WAITING);
        let mut calls = self.lock();
        calls.last += 1;
        let number = calls.last;
        calls.under_way.push(Call { number, whose, wishes: sender });
        UnderWay { hub: Arc::clone(self), number, wishes }
    }

    /// Has the last call answer a request: the older protocol does not say of which call it comes. `None` if there is none,
    /// if it ends before, or if calls of several runs are under way: the people behind one answer for no other.
    pub(crate) async fn ask(&self, request: InputRequest) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        let wishes = {
            let calls = self.lock();
            let last = calls.under_way.last()?;
            if calls.under_way.iter().any(|call| call.whose != last.whose) {
                tracing::warn!("a server asks while calls of several runs are under way: it is declined");
                return None;
            }
            last.wishes.clone()
        };
        wishes.try_send(Wish { request, answer }).ok()?;
        answered.await.ok()
    }
}

/// Somebody who hears of the progress of a request.
pub(crate) struct Ear<'a> {
    hub: &'a Hub,
    request: Request,
}

impl Drop for Ear<'_> {
    fn drop(&mut self) {
        self.hub.ears().retain(|(request, _)| *request != self.request);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.hub.lock().under_way.retain(|call| call.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ElicitRequest, ElicitRequestParams};
    use serde_json::json;

    use super::*;

    fn wish() -> InputRequest {
        let asked = json!({"mode": "url", "message": "m", "url": "https://a/", "elicitationId": "e"});
        let asked: ElicitRequestParams = serde_json::from_value(asked).unwrap();
        InputRequest::Elicitation(ElicitRequest::new(asked))
    }

    fn whose(principal: &str, run: &str) -> Whose {
        (Some(principal.to_owned()), Some(run.to_owned()))
    }

    // Two people use one server: neither is asked for the other.
    #[tokio::test]
    async fn a_question_that_may_be_another_principals_is_asked_of_nobody() {
        let hub = Arc::new(Hub::default());
        let mut ann = hub.enter(whose("ann", "1"));
        let mut bob = hub.enter(whose("bob", "2"));
        assert_eq!(hub.ask(wish()).await, None);
        assert!(ann.wishes.try_recv().is_err() && bob.wishes.try_recv().is_err());
        drop(bob);
        let answering = async {
            let wish = ann.wishes.recv().await.unwrap();
            wish.answer.send(json!("hers")).unwrap();
        };
        let (answer, ()) = futures_util::future::join(hub.ask(wish()), answering).await;
        assert_eq!(answer, Some(json!("hers")));
    }
}
