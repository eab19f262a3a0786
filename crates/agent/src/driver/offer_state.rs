//! The state that a driver keeps of tools that come while the run goes on.

use std::collections::HashMap;

use crate::setup::Setup;
use crate::tools::ToolEntry;

/// The tools of a run that change while it goes on.
pub(super) struct Offers {
    /// The versions of the families when they were last listed; none of one whose list is to be looked at again.
    pub(super) versions: Vec<Option<u64>>,
    /// Tools that were called and not offered.
    pub(super) fallen_back: HashMap<String, ToolEntry>,
    pub(super) warned_of_subset: bool,
}

impl Offers {
    /// `None` where nothing may change.
    pub(super) fn of(setup: &Setup) -> Option<Box<Self>> {
        let handling = &setup.handling;
        let versions: Vec<_> = setup.tools.families().map(|family| Some(family.version())).collect();
        let may_change =
            handling.disclosure.is_some() || handling.step.is_some() || !handling.fallback.is_empty();
        (may_change || !versions.is_empty())
            .then(|| Box::new(Self { versions, fallen_back: HashMap::new(), warned_of_subset: false }))
    }
}
