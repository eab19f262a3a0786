//! The things that all routes share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use attache_agent::bodies::Bodies;
use attache_agent::{AgentRun, Session};
use attache_core::ToolCallId;
use bytes::Bytes;

use crate::agents::{Agents, Hosted};
use crate::auth::{Auth, Principal, Scope};
use crate::dialect::Shown;
use crate::documents::Documents;
use crate::fault::Fault;
use crate::limits::ServerLimits;
use crate::live::{ClientCalls, NewRun, OnDisconnect, Parking, Rules, Runs, Viewer};
use crate::paused_runs::Parked;
use crate::rate_limit::Pace;
use crate::record::Record;
use crate::request::{self, ContextHook};

/// The things that all routes share.
pub(crate) struct App {
    pub(crate) agents: Agents,
    pub(crate) runs: Arc<Runs>,
    pub(crate) parked: Arc<Parked>,
    pub(crate) record: Arc<Record>,
    pub(crate) pace: Pace,
    pub(crate) documents: Documents,
    pub(crate) auth: Auth,
    /// Gives runs something of the requests that they answer.
    pub(crate) context: Option<ContextHook>,
    pub(crate) origins: Vec<String>,
    /// The headers that pages of other origins may send beside those of the server's own clients.
    pub(crate) headers: Vec<String>,
    /// The origins whose pages may hold the page of the chat.
    pub(crate) frames: Vec<String>,
    /// The path of all routes, empty or with a slash before.
    pub(crate) base: String,
    pub(crate) on_disconnect: OnDisconnect,
    pub(crate) shown: Shown,
    pub(crate) limits: ServerLimits,
    /// The bodies that are read.
    pub(crate) bodies: Bodies,
    /// The documents that are on their way out.
    pub(crate) outgoing: Bodies,
    /// The time at which the server was made, in seconds since 1970.
    pub(crate) since: u64,
    /// The description of the routes, as JSON.
    pub(crate) description: Bytes,
    /// True once somebody does what a server does beside its requests.
    pub(crate) has_begun: AtomicBool,
}

/// The way in which a run is driven.
#[derive(Default)]
pub(crate) struct Way {
    pub(crate) on_disconnect: Option<OnDisconnect>,
    /// True if the run is let go once it waits for the client.
    pub(crate) pauses: bool,
    /// The place that keeps it then, if no session does.
    pub(crate) parking: Option<Parking>,
    /// The calls whose results are delivered already.
    pub(crate) answered: Vec<ToolCallId>,
    /// The number of the answer that this drive of the run gives, where it is known.
    pub(crate) answer: Option<u32>,
    /// True if those who look at the run are told what its log tells from before.
    pub(crate) goes_on: bool,
    /// True if another process began it, which is gone.
    pub(crate) is_taken_over: bool,
}

impl App {
    /// The agent of that name as it is now; the first one where none is named.
    pub(crate) fn hosted(&self, name: Option<&str>) -> Result<Hosted, Fault> {
        let name = name.filter(|name| !name.is_empty());
        self.agents.get(name).ok_or_else(|| Fault::no_model(name.unwrap_or_default()))
    }

    /// Drives a run, of a session or without one.
    pub(crate) fn start(
        &self,
        principal: &Principal,
        hosted: &Hosted,
        session: Option<&Session>,
        id: String,
        run: AgentRun,
        way: Way,
    ) -> Result<Viewer, Fault> {
        let rules = Rules {
            on_disconnect: way.on_disconnect.unwrap_or(self.on_disconnect),
            run_time: self.limits.run_time,
            client_calls: match way.pauses {
                true => ClientCalls::Pause,
                false => ClientCalls::Wait(self.limits.frontend_time),
            },
            is_kept: session.is_some(),
            is_taken_over: way.is_taken_over,
        };
        let new = NewRun {
            id,
            request: request::id(),
            principal: principal.shared(),
            agent: Arc::clone(&hosted.name),
            session: session.cloned(),
            rules,
            parking: way.parking,
            answered: way.answered,
            answer: way.answer,
            goes_on: way.goes_on,
        };
        Ok(self.runs.start(new, run)?)
    }
}

/// Refuses those who may not do that.
pub(crate) fn allow(principal: &Principal, scope: Scope) -> Result<(), Fault> {
    match principal.may(scope) {
        true => Ok(()),
        false => Err(Fault::forbidden(format!("the key has not the scope {}", scope.as_str()))),
    }
}
