//! Tools that come to those that are offered while the run goes on: the model asked for them, or a family has new ones.
//! They stand behind the others, so that what was sent stays the prefix of what is sent.

use attache_core::tool::ToolSpec;
use attache_core::{Message, ToolResult};

use crate::driver::Driver;
use crate::driver::stop::Fault;
use crate::event::EventKind;
use crate::log::{Disposition, EntryKind, Key, Offered, OfferedTool, ToolOutcome};
use crate::run::{PendingCall, unknown_outcome};
use crate::tools::{
    DETAIL, Door, Executor, Resolved, SEARCH, ToolEntry, Toolbox, ToolsError, is_same, shown,
};

impl Driver {
    /// Offers the tools again that the log has.
    pub(super) fn offer_recorded(&mut self) -> Result<(), ToolsError> {
        for offered in self.run.offered() {
            self.toolbox = self.toolbox.offering(offered, &self.setup.tools)?.into();
        }
        Ok(())
    }

    /// Has those families listed again whose tools wait: the log has such a tool as it was when the run began, and the model
    /// shall be shown the one that there is now.
    pub(super) fn list_waiting_again(&mut self) {
        let Some(offers) = &mut self.offers else { return };
        for (family, known) in self.setup.tools.families().zip(&mut offers.versions) {
            let waits = |entry: &ToolEntry| {
                let is_own = matches!(&entry.executor, Executor::Family(door) if family.handles(door));
                is_own && self.toolbox.waits(entry.spec.definition.name())
            };
            if self.toolbox.entries.values().any(waits) {
                *known = None;
            }
        }
    }

    /// Offers what the model asked for in its last round, and what families list since the last step.
    pub(super) async fn offer(&mut self) -> Result<Vec<EventKind>, Fault> {
        let mut events = Vec::new();
        let listed = self.listed_anew(&mut events).await?;
        let mut wanted = self.asked_for();
        wanted.extend(listed);
        let mut new: Vec<OfferedTool> = Vec::with_capacity(wanted.len());
        for offered in wanted {
            let is_known = |other: &OfferedTool| other.tool.name() == offered.tool.name();
            // Of a tool that is offered, a family lists the definition that takes its place.
            let is_new = offered.family.is_some() || self.toolbox.set.get(offered.tool.name()).is_none();
            if is_new && !new.iter().any(is_known) {
                new.push(offered);
            }
        }
        let Some(toolbox) = self.offerable(&mut new, &mut events)? else { return Ok(events) };
        let number = u32::try_from(self.run.offers()).unwrap_or(u32::MAX);
        let names = new.iter().map(|offered| offered.tool.name().to_owned()).collect();
        self.record(Key::offered(number), EntryKind::Offered(Offered { tools: new })).await?;
        self.toolbox = toolbox.into();
        events.push(EventKind::ToolsOffered { names });
        Ok(events)
    }

    /// The tools with these, as far as the model can be offered them.
    fn offerable(
        &self,
        new: &mut Vec<OfferedTool>,
        events: &mut Vec<EventKind>,
    ) -> Result<Option<Toolbox>, ToolsError> {
        while !new.is_empty() {
            let toolbox = self.toolbox.offering(new, &self.setup.tools)?;
            let (_, refused) = self.setup.screen().look(&toolbox.set, std::iter::empty());
            let Some(refused) = refused.into_iter().next() else { return Ok(Some(toolbox)) };
            let named = new.iter().position(|offered| refused.tool.as_deref() == Some(offered.tool.name()));
            new.remove(named.unwrap_or(new.len() - 1));
            let message = format!("{refused}; it is not offered");
            events.push(EventKind::Warning { code: "tools_unavailable", message });
        }
        Ok(None)
    }

    /// The tools that the last round of calls showed to the model, or that it called without having been shown them.
    fn asked_for(&self) -> Vec<OfferedTool> {
        let Some(layers) = &self.toolbox.layers else { return Vec::new() };
        let own = self.run.history().get(self.run.task()..).unwrap_or_default();
        let results = own.iter().rev().find_map(|message| match &**message {
            Message::ToolResults(results) => Some(&results.results),
            _ => None,
        });
        let names = |result: &ToolResult| match result.tool_name.as_deref() {
            Some(DETAIL | SEARCH) if result.is_error() => Vec::new(),
            Some(DETAIL | SEARCH) => {
                shown(&result.tree).iter().map(|name| layers.all.internal_name(name).to_owned()).collect()
            }
            Some(name) => vec![name.to_owned()],
            None => Vec::new(),
        };
        let names = results.into_iter().flatten().flat_map(names);
        let waiting = names.filter_map(|name| self.toolbox.entries.get(&name));
        let offered = waiting.filter(|entry| self.toolbox.waits(entry.spec.definition.name()));
        offered
            .map(|entry| OfferedTool { family: self.toolbox.anew(entry), tool: (&*entry.spec).into() })
            .collect()
    }

    /// The tools that families have since they were listed, and those that are others than they were.
    async fn listed_anew(&mut self, events: &mut Vec<EventKind>) -> Result<Vec<OfferedTool>, ToolsError> {
        let Some(offers) = &mut self.offers else { return Ok(Vec::new()) };
        let (mut new, mut waiting) = (Vec::new(), Vec::new());
        for (family, known) in self.setup.tools.families().zip(&mut offers.versions) {
            let version = family.version();
            if known.replace(version) == Some(version) {
                continue;
            }
            let listed = match family.tools().await {
                Ok(listed) => listed,
                Err(error) => {
                    events.push(EventKind::Warning { code: "tools_unavailable", message: error.to_string() });
                    continue;
                }
            };
            for spec in listed.iter().filter(|spec| spec.metadata.enabled) {
                match self.toolbox.entries.get(spec.definition.name()) {
                    None if Toolbox::is_usable(spec) => {
                        new.push(OfferedTool { family: Some(family.name().to_owned()), tool: spec.into() });
                    }
                    Some(entry) if is_of_another(entry, spec) => {
                        let name = spec.definition.name();
                        let message = format!(
                            "two tools are named {name:?}; the one of {} is not offered",
                            family.name()
                        );
                        events.push(EventKind::Warning { code: "tools_unavailable", message });
                    }
                    Some(entry) if !is_same(&entry.spec, spec, family.name()) => {
                        let name = spec.definition.name();
                        let (is_usable, waits) = (Toolbox::is_usable(spec), self.toolbox.waits(name));
                        let (code, end) = match is_usable {
                            true if waits => {
                                ("tool_changed", "it is shown as it is now when it is asked for")
                            }
                            true => {
                                ("tool_changed", "it is offered anew, and leave to call the old one is void")
                            }
                            false => ("tools_unavailable", "no model can call the new one"),
                        };
                        let message = format!("the tool {name:?} of {} has changed; {end}", family.name());
                        events.push(EventKind::Warning { code, message });
                        if is_usable && waits {
                            waiting.push(spec.clone());
                        } else if is_usable {
                            new.push(OfferedTool {
                                family: Some(family.name().to_owned()),
                                tool: spec.into(),
                            });
                        }
                    }
                    _ => {}
                }
            }
        }
        if let Some(toolbox) = self.toolbox.with_waiting(waiting)? {
            self.toolbox = toolbox.into();
        }
        Ok(new)
    }

    /// The reason why a tool of a family is not called that was offered: its server lists it no more, or as another one.
    pub(super) async fn gone_or_changed(&mut self, offered: &ToolSpec, door: &Door) -> Option<&'static str> {
        let mut families = self.setup.tools.families().enumerate();
        let (at, family) = families.find(|(_, family)| family.handles(door))?;
        let barred = family.bars(offered).await?;
        // It may have changed before this process went on with the run: the next step looks at the list again.
        if let Some(known) = self.offers.as_mut().and_then(|offers| offers.versions.get_mut(at)) {
            *known = None;
        }
        Some(barred)
    }

    /// The outcome of a call whose tool is not there as it was offered.
    pub(super) fn refusal_of(&self, pending: &PendingCall, text: &str) -> ToolOutcome {
        if pending.begun.is_some() {
            return unknown_outcome(&pending.call);
        }
        ToolOutcome::not_made(&pending.call, text, Disposition::NoSuchTool)
    }

    /// Looks up the names of calls that are not offered.
    pub(super) async fn fall_back(&mut self, batch: &[PendingCall]) -> Result<(), Fault> {
        for PendingCall { call, .. } in batch {
            if !matches!(self.toolbox.resolve(&call.name), Resolved::Unknown(_)) {
                continue;
            }
            let found = self.setup.handling.look_up(&call.name).await;
            let Some(offers) = &mut self.offers else { continue };
            match found {
                Some(entry) => offers.fallen_back.insert(call.name.clone(), entry),
                // A tool that is gone meanwhile is not called any more.
                None => offers.fallen_back.remove(&call.name),
            };
        }
        Ok(())
    }

    /// The tool of a catalog that a name leads to which is not offered.
    pub(super) fn fallen_back(&self, name: &str) -> Option<&ToolEntry> {
        self.offers.as_ref()?.fallen_back.get(name)
    }
}

fn is_of_another(entry: &ToolEntry, spec: &ToolSpec) -> bool {
    entry.spec.metadata.origin != spec.metadata.origin
}
