//! The runs that another protocol drives, as those see them who look on.

use std::sync::{Arc, OnceLock};

use attache_agent::{Event, ObservedRun, Observer, OpenedRun, RunObserver, SessionId};

use super::{Of, Record};
use crate::request;

/// The record, once there is one.
pub(crate) type Slot = Arc<OnceLock<Arc<Record>>>;

/// Takes the runs of an agent down.
pub(crate) struct Recorder {
    agent: Arc<str>,
    record: Slot,
}

impl Recorder {
    pub(crate) fn new(agent: Arc<str>, record: Slot) -> Self {
        Self { agent, record }
    }
}

impl Observer for Recorder {
    fn run(&self, run: &ObservedRun<'_>) -> Arc<dyn RunObserver> {
        // The run around it tells of one inside a tool.
        let record = self.record.get().filter(|_| !run.is_nested);
        Arc::new(Recorded {
            record: record.cloned(),
            request: request::id(),
            principal: run.principal.unwrap_or_default().into(),
            agent: Arc::clone(&self.agent),
            session: run.value::<SessionId>().cloned(),
            run: OnceLock::new(),
        })
    }
}

/// Takes one run down.
struct Recorded {
    record: Option<Arc<Record>>,
    request: Option<Arc<str>>,
    principal: Arc<str>,
    agent: Arc<str>,
    session: Option<SessionId>,
    /// Its id, once its log is open.
    run: OnceLock<Box<str>>,
}

impl RunObserver for Recorded {
    fn opened(&self, run: &OpenedRun<'_>) {
        let _ = self.run.set(run.run_id.into());
    }

    fn event(&self, event: &Event) {
        let Some(record) = &self.record else { return };
        let of = Of {
            request: self.request.as_ref(),
            principal: &self.principal,
            agent: &self.agent,
            session: self.session.as_ref().map(SessionId::as_str),
            run: self.run.get().map_or("", |run| run),
            is_mounted: true,
        };
        record.event(of, event);
    }
}
