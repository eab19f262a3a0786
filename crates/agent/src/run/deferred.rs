//! Calls whose results come later, or from the caller.

use attache_core::ToolCallId;

use crate::log::{DeferredCall, DeferredRequest, Key};
use crate::run::Run;

impl Run {
    /// True if the caller answers calls of that tool.
    pub(crate) fn is_external(&self, name: &str) -> bool {
        self.external.iter().any(|external| external == name)
    }

    /// The word of a tool that the result of a call comes later.
    pub(crate) fn deferred_call(&self, call: &ToolCallId) -> Option<&DeferredCall> {
        self.held.as_ref()?.deferred.iter().find(|deferred| deferred.call_id == *call)
    }

    /// The calls whose results come later and are not there; of runs inside its tools see [`waiting`](Self::waiting).
    pub fn deferred(&self) -> Vec<DeferredRequest> {
        let open = self.held.iter().flat_map(|held| &held.deferred);
        let request = |deferred: &DeferredCall| {
            let call =
                self.proposed(&deferred.call_id).filter(|call| !self.outcomes.contains_key(&call.id))?;
            Some(DeferredRequest { call: call.clone(), deferred: deferred.clone(), path: Vec::new() })
        };
        open.filter_map(request).collect()
    }

    pub(super) fn take_deferred(&mut self, key: &Key, deferred: &DeferredCall) -> Result<(), &'static str> {
        if *key != Key::deferred(&deferred.call_id) || self.deferred_call(&deferred.call_id).is_some() {
            return Err("the call is deferred already");
        }
        self.held.get_or_insert_default().deferred.push(deferred.clone());
        Ok(())
    }
}
