//! The agents that have a run's conversation one after the other.

use std::collections::VecDeque;
use std::sync::Arc;

use attache_core::tool::Extensions;
use attache_core::{ErrorKind, ProviderError};

use crate::driver::stop::Fault;
use crate::log::Transfer;
use crate::setup::{Colleague, HistoryFilter, Setup};

/// The agents that may have a run's conversation.
pub(super) struct Team {
    /// The one with which the run began.
    first: Arc<Setup>,
    /// The values for tools that the run alone has.
    pub(super) values: Extensions,
}

impl Team {
    /// `None` where the conversation is not handed over.
    pub(super) fn of(setup: &Arc<Setup>, values: &Extensions) -> Option<Box<Self>> {
        (!setup.handoffs.is_empty())
            .then(|| Box::new(Self { first: Arc::clone(setup), values: values.clone() }))
    }

    /// The names on the way to the agent to which a hand-off leads, from the one that has the conversation.
    pub(super) fn way(&self, from: &[String], transfer: &Transfer) -> Result<Vec<String>, Fault> {
        let mut way = from.to_vec();
        if transfer.back {
            way.pop();
            return Ok(way);
        }
        let (setup, _) = self.walk(from)?;
        if setup.handoffs.iter().any(|colleague| colleague.transfer.agent == transfer.agent) {
            way.push(transfer.agent.clone());
            return Ok(way);
        }
        self.find(&transfer.agent).ok_or_else(|| unknown(&transfer.agent))
    }

    /// The shortest way to the agent of that name.
    pub(super) fn find(&self, name: &str) -> Option<Vec<String>> {
        let mut open = VecDeque::from([(Vec::new(), &self.first)]);
        while let Some((way, setup)) = open.pop_front() {
            for colleague in &setup.handoffs {
                let mut way: Vec<String> = way.clone();
                way.push(colleague.transfer.agent.clone());
                if colleague.transfer.agent == name {
                    return Some(way);
                }
                open.push_back((way, &colleague.setup));
            }
        }
        None
    }

    /// The agent at the end of a way, and all on it.
    fn walk(&self, way: &[String]) -> Result<(&Arc<Setup>, Vec<&Colleague>), Fault> {
        let mut setup = &self.first;
        let mut met = Vec::with_capacity(way.len());
        for name in way {
            let next = setup.handoffs.iter().find(|colleague| colleague.transfer.agent == *name);
            let next = next.ok_or_else(|| unknown(name))?;
            setup = &next.setup;
            met.push(next);
        }
        Ok((setup, met))
    }

    /// The setup of the agent at the end of a way, as the run has it.
    pub(super) fn in_charge(&self, way: &[String]) -> Result<Arc<Setup>, Fault> {
        let (setup, met) = self.walk(way)?;
        if met.is_empty() {
            return Ok(Arc::clone(setup));
        }
        let own = met.iter().rev().find_map(|colleague| colleague.setup.approval.clone());
        let approval = own.or_else(|| self.first.approval.clone());
        Ok(Arc::new(setup.within(&self.first, approval)?))
    }

    /// The hand-offs that the agent at the end of a way may make.
    pub(super) fn transfers(&self, way: &[String]) -> Result<Vec<Transfer>, Fault> {
        let (setup, met) = self.walk(way)?;
        let back = met.last().and_then(|colleague| colleague.back.clone());
        Ok(setup.handoffs.iter().map(|colleague| colleague.transfer.clone()).chain(back).collect())
    }

    /// True if that tool hands over from the agent at the end of a way.
    pub(super) fn is_transfer(&self, way: &[String], tool: &str) -> bool {
        self.walk(way).is_ok_and(|(setup, met)| {
            let back = met.last().and_then(|colleague| colleague.back.as_ref());
            setup
                .handoffs
                .iter()
                .map(|colleague| &colleague.transfer)
                .chain(back)
                .any(|made| made.tool == tool)
        })
    }

    /// The choice of messages for the agent at the end of a way.
    pub(super) fn history(&self, way: &[String]) -> Result<Option<HistoryFilter>, Fault> {
        let (_, met) = self.walk(way)?;
        Ok(met.last().and_then(|colleague| colleague.history.clone()))
    }
}

/// The fault of an agent that does not know one to which its run was handed over.
pub(super) fn unknown(name: &str) -> Fault {
    let text = format!("the conversation is to go to the agent {name:?}, to which nobody here hands it over");
    ProviderError::new(ErrorKind::Configuration, text).into()
}
