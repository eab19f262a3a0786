//! The runs inside the tools of a run.

use std::sync::Arc;
use std::time::Duration;

use attache_core::ToolCall;
use attache_core::tool::ToolSpec;

use crate::driver::Driver;
use crate::journal::{CallTime, Scope};
use crate::nested::Around;
use crate::outcome::EndReason;
use crate::run::Paused;
use crate::tool_time::LONGEST;

impl Driver {
    /// The end of a run that waits for somebody, perhaps inside a tool.
    pub(super) fn waits_for(&self) -> EndReason {
        self.run.waiting_beside(&self.paused()).reason
    }

    /// The calls whose tools wait for somebody inside: those that ran in this drive, and by the log the others.
    pub(super) fn paused(&self) -> Vec<Paused> {
        let mut paused = self.run.paused();
        paused.extend(self.around.iter().flat_map(|around| around.paused()));
        paused
    }

    /// The scope of a call whose tool may start runs: where the log is kept, where spending is limited, and where the tool
    /// says that it does or that it asks people.
    pub(super) fn scope_of(
        &mut self,
        call: &ToolCall,
        spec: &Arc<ToolSpec>,
        own: Duration,
        left: Option<Duration>,
    ) -> Option<Arc<Scope>> {
        let nests = spec.metadata.nests || spec.metadata.asks;
        if self.recorder.place().is_volatile() && self.budget.is_none() && !nests {
            return None;
        }
        if self.around.is_none() {
            let account = self.budget.as_ref().map(|budget| Arc::clone(&budget.account));
            let outer = self.scope.as_ref().map(|scope| Arc::clone(scope.shared()));
            let (prices, control) = (self.prices.clone(), self.control.clone());
            let mut around = Around::new(account, prices, control, self.run.limits().max_depth, outer);
            around.patience = self.setup.timing.patience;
            around.observers = self.control.watched().map(|watched| Arc::clone(watched.agents()));
            self.around = Some(Arc::new(around));
        }
        let around = Arc::clone(self.around.as_ref()?);
        if nests && self.inside.is_none() {
            self.inside = around.listen();
        }
        let own = Some(own).filter(|own| nests && *own < LONGEST);
        let outer = self.scope.as_ref().and_then(|scope| scope.time().cloned());
        let time = CallTime::new(own, left.filter(|_| nests), outer);
        self.run.forget_inside(&call.id);
        Some(Scope::of(&self.recorder, spec, &call.id, around, time))
    }

    /// The time before the end that is left for a last answer.
    pub(super) fn landing_room(&self) -> Duration {
        let given = self.scope.as_ref().and_then(|scope| scope.time());
        self.run.landing_room().max(given.map_or(Duration::ZERO, |time| time.landing_room()))
    }

    /// Counts what runs inside tools have spent until now.
    pub(super) fn absorb(&mut self) {
        if let Some(around) = &self.around {
            for spent in around.spent() {
                self.run.spend_inside(&spent);
            }
        }
    }
}
