//! Helpers of the tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use attache_agent::{Agent, AgentRun, EventKind, NoArguments, Outcome, RunError, Sessions, tool_fn};
use attache_core::{Approval, Message, ToolError, UserPart};
use attache_testkit::{FunctionModel, Turn};
use tokio::sync::Notify;

use crate::place::Place;

/// A model that answers each question with its words.
pub(crate) fn echo() -> FunctionModel {
    FunctionModel::new(|request, _| Turn::text(&format!("You said: {}", last_question(&request.messages))))
        .unverified()
}

pub(crate) fn agent() -> Agent {
    Agent::builder(echo()).build().unwrap()
}

/// An agent whose tool needs approval, and the number of times that it did its work.
pub(crate) fn payer() -> (Agent, Arc<AtomicUsize>) {
    let paid = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&paid);
    let pay = tool_fn("pay", "Pays.", move |_: NoArguments| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, ToolError>("paid") }
    });
    let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
        Some(Message::ToolResults(_)) => Turn::text("done"),
        _ => Turn::call("pay", "{}"),
    });
    let pay = pay.with_approval(Approval::Always);
    (Agent::builder(model.unverified()).tool(pay).patience(Duration::ZERO).build().unwrap(), paid)
}

pub(crate) fn last_question(messages: &[Arc<Message>]) -> String {
    questions(messages).pop().unwrap()
}

/// The texts of the user messages.
pub(crate) fn questions(messages: &[Arc<Message>]) -> Vec<String> {
    let texts = messages.iter().filter_map(|message| match &**message {
        Message::User(user) => user.parts.iter().find_map(|part| match part {
            UserPart::Text(text) => Some(text.text().to_owned()),
            _ => None,
        }),
        _ => None,
    });
    texts.collect()
}

/// A clock that a test turns.
#[derive(Clone)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(crate) fn new() -> Self {
        // Approvals expire by the clock of the machine.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Self(Arc::new(AtomicU64::new(u64::try_from(now.as_millis()).unwrap())))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) async fn sessions(place: &Place, agent: Agent) -> Sessions {
    Sessions::new(agent, place.store().await)
}

/// Sessions with a clock.
pub(crate) async fn timed(place: &Place, agent: Agent, clock: &Clock) -> Sessions {
    let clock = clock.clone();
    sessions(place, agent).await.with_clock(move || clock.now())
}

/// A tool that waits until it is let go.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    pub(crate) open: Arc<Notify>,
}

impl Gate {
    /// An agent whose first answer needs the tool.
    pub(crate) fn agent(&self) -> Agent {
        let gate = self.clone();
        let tool = tool_fn("pass", "Passes the gate.", move |_: NoArguments| {
            let gate = gate.clone();
            async move {
                gate.open.notified().await;
                Ok::<_, ToolError>("passed")
            }
        });
        let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
            Some(Message::ToolResults(_)) => Turn::text("done"),
            _ => Turn::call("pass", "{}"),
        });
        Agent::builder(model.unverified()).tool(tool).build().unwrap()
    }
}

/// Drives a run until its tool is called.
pub(crate) async fn until_called(run: &mut AgentRun) {
    loop {
        let event = run.next().await.expect("the run calls its tool");
        match event.kind {
            EventKind::ToolStarted { .. } => return,
            EventKind::Finished(result) => panic!("{result:?}"),
            _ => {}
        }
    }
}

/// Drives a run to its end.
pub(crate) async fn rest(mut run: AgentRun) -> Result<Box<Outcome>, RunError> {
    while let Some(event) = run.next().await {
        if let EventKind::Finished(result) = event.kind {
            return result;
        }
    }
    panic!("the run has no end")
}
