//! The tools of a run, listed and checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use attache_core::tool::{SchemaRefusal, ToolSpec};
use attache_core::{Effect, ToolDefinition, ToolSet};
use serde_json::Value;

use crate::log::{FamilyTools, ListedTool, OfferedTool};
use crate::preflight::{Preflight, Screen};
use crate::tools::catalog::origin;
use crate::tools::layers::{DETAIL, Layers, SEARCH};
use crate::tools::listing::Family;
use crate::tools::{Executor, Source, ToolEntry, Tools, ToolsError};

/// The tools of a run, listed and checked.
pub(crate) struct Toolbox {
    pub(crate) set: Arc<ToolSet>,
    /// By their internal names: a short name is compared with some sooner than it is hashed, several times a call.
    pub(crate) entries: Arc<BTreeMap<String, ToolEntry>>,
    /// The facts about them before a run.
    pub(crate) preflight: Preflight,
    /// The tools that the families listed.
    pub(crate) families: Vec<FamilyTools>,
    /// The tools that are not offered from the start.
    pub(crate) layers: Option<Arc<Layers>>,
}

/// An agent's tools as they were last listed, and of which families.
pub(crate) struct Listed {
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) families: Vec<Option<Arc<[ToolSpec]>>>,
}

/// A word for programs and a line for people.
pub(crate) type ToolWarning = (&'static str, String);

impl Toolbox {
    pub(crate) fn empty() -> Self {
        Self {
            set: Arc::default(),
            entries: Arc::default(),
            preflight: Preflight::default(),
            families: Vec::new(),
            layers: None,
        }
    }

    /// True if a model can call a tool.
    pub(crate) fn is_usable(spec: &ToolSpec) -> bool {
        spec.definition.problem().is_none() && readable(&spec.definition).is_ok()
    }

    /// All tools with their names on the wire, also those that wait.
    pub(crate) fn named(&self) -> &ToolSet {
        self.layers.as_ref().map_or(&*self.set, |layers| &layers.all)
    }

    /// True if one of the tools has effects.
    pub(crate) fn has_effects(&self) -> bool {
        self.entries.values().any(|entry| entry.spec.metadata.effect != Effect::Read)
    }

    /// True if a tool that is known was not offered yet.
    pub(crate) fn waits(&self, name: &str) -> bool {
        self.layers.is_some() && self.set.get(name).is_none()
    }

    /// The family of a tool that is another one than it listed when the run began.
    pub(crate) fn anew(&self, entry: &ToolEntry) -> Option<String> {
        let Executor::Family(door) = &entry.executor else { return None };
        let listed = ListedTool::from(&*entry.spec);
        let mut families = self.families.iter().filter(|family| family.family == door.name());
        let is_known = families.any(|family| family.tools.contains(&listed));
        (!is_known).then(|| door.name().to_owned())
    }

    /// The same with tools that wait, and are others than they were; `None` if there are none.
    pub(crate) fn with_waiting(&self, changed: Vec<ToolSpec>) -> Result<Option<Self>, ToolsError> {
        let Some(layers) = self.layers.as_ref().filter(|_| !changed.is_empty()) else { return Ok(None) };
        let layers = layers.with(&changed)?;
        let mut entries = (*self.entries).clone();
        for spec in changed {
            if let Some(entry) = entries.get_mut(spec.definition.name()) {
                entry.spec = Arc::new(spec);
            }
        }
        // Their words stay: what was sent is the prefix of what is sent.
        for tool in layers.tools() {
            if let Some(entry) = entries.get_mut(tool.spec().definition.name()) {
                entry.executor = Executor::Tool(tool);
            }
        }
        Ok(Some(Self {
            set: Arc::clone(&self.set),
            entries: Arc::new(entries),
            preflight: self.preflight.clone(),
            families: self.families.clone(),
            layers: Some(layers),
        }))
    }

    /// The same with tools that are offered behind the others, as the log has them. One that a family lists as another
    /// takes the place of the old one.
    pub(crate) fn offering(&self, offered: &[OfferedTool], tools: &Tools) -> Result<Self, ToolsError> {
        let mut entries = Arc::clone(&self.entries);
        let mut definitions: Vec<ToolDefinition> =
            self.set.iter().map(|(_, definition)| definition.clone()).collect();
        for offered in offered {
            let spec = Arc::new(ToolSpec::from(&offered.tool));
            let name = spec.definition.name();
            match definitions.iter_mut().find(|known| known.name() == name) {
                Some(old) => *old = spec.definition.clone(),
                None => definitions.push(spec.definition.clone()),
            }
            let door = || tools.families().find(|family| offered.family.as_deref() == Some(family.name()));
            // Nothing takes the place of a tool that is the program's own.
            if entries.get(name).is_none_or(|known| matches!(known.executor, Executor::Family(_)))
                && let Some(family) = door()
            {
                let entry =
                    ToolEntry { executor: Executor::Family(family.door.clone()), spec: Arc::clone(&spec) };
                Arc::make_mut(&mut entries).insert(name.to_owned(), entry);
            }
        }
        Ok(Self {
            set: Arc::new(ToolSet::named_as(self.named(), definitions)?.with_validation(true)),
            entries,
            preflight: self.preflight.clone(),
            families: self.families.clone(),
            layers: self.layers.clone(),
        })
    }
}

impl Tools {
    pub(crate) fn families(&self) -> impl Iterator<Item = &Family> {
        self.sources.iter().filter_map(|source| match source {
            Source::Family(family) => Some(family),
            Source::One(_) | Source::External(_) => None,
        })
    }

    /// The tools that are known without asking anybody, checked.
    pub(crate) fn known(&self, screen: Screen<'_>) -> Result<Toolbox, ToolsError> {
        let mut list = List::default();
        for source in &self.sources {
            if let Some((spec, executor)) = source.known() {
                list.add(spec, executor)?;
            }
        }
        list.into_toolbox(screen, Vec::new()).map(|(toolbox, _)| toolbox)
    }

    /// All tools in the order in which they were added, with those that each family listed, and the reasons why some of
    /// families are left out.
    pub(crate) fn toolbox(
        &self,
        screen: Screen<'_>,
        families: &[Option<Arc<[ToolSpec]>>],
    ) -> Result<(Toolbox, Vec<ToolsError>), ToolsError> {
        let mut list = List::default();
        let mut left_out = Vec::new();
        let mut recorded = Vec::new();
        let mut families = families.iter();
        for source in &self.sources {
            if let Some((spec, executor)) = source.known() {
                list.add(spec, executor)?;
            }
            let Source::Family(family) = source else { continue };
            let Some(Some(specs)) = families.next() else { continue };
            let tools = specs.iter().filter(|spec| spec.metadata.enabled).map(Into::into).collect();
            recorded.push(FamilyTools { family: family.name().to_owned(), tools });
            for spec in specs.iter() {
                let added = list.add(spec.clone(), Executor::Family(family.door.clone()));
                left_out.extend(added.err());
            }
        }
        let (toolbox, refused) = list.into_toolbox(screen, recorded)?;
        left_out.extend(refused);
        Ok((toolbox, left_out))
    }
}

impl Source {
    /// A tool that is known without asking anybody.
    fn known(&self) -> Option<(ToolSpec, Executor)> {
        match self {
            Self::One(tool) => Some((tool.spec().clone(), Executor::Tool(Arc::clone(tool)))),
            Self::External(definition) => {
                Some((ToolSpec::new(definition.clone()).with_origin("the caller"), Executor::External))
            }
            Self::Family(_) => None,
        }
    }
}

/// Tools while they are listed.
#[derive(Default)]
struct List {
    entries: BTreeMap<String, ToolEntry>,
    order: Vec<ToolDefinition>,
    /// The tools of families whose names are taken by those with which the model asks for others.
    clashes: Vec<ToolsError>,
}

impl List {
    /// Adds a tool, unless it is disabled.
    fn add(&mut self, spec: ToolSpec, executor: Executor) -> Result<(), ToolsError> {
        if !spec.metadata.enabled {
            return Ok(());
        }
        let name = spec.definition.name().to_owned();
        if let Some(problem) = spec.definition.problem() {
            return Err(ToolsError::Unusable { name, origin: origin(&spec), problem: problem.to_owned() });
        }
        if let Some(first) = self.entries.get(&name) {
            return Err(ToolsError::Duplicate { name, first: origin(&first.spec), second: origin(&spec) });
        }
        if let Err(problem) = readable(&spec.definition) {
            return Err(ToolsError::Unusable { name, origin: origin(&spec), problem });
        }
        self.order.push(spec.definition.clone());
        self.entries.insert(name, ToolEntry { spec: Arc::new(spec), executor });
        Ok(())
    }

    /// The tools as the model is offered them. Those of families that it cannot be offered are left out and reported.
    fn into_toolbox(
        mut self,
        screen: Screen<'_>,
        families: Vec<FamilyTools>,
    ) -> Result<(Toolbox, Vec<ToolsError>), ToolsError> {
        let mut left_out = Vec::new();
        let (layers, looked) = self.layered(screen, &mut left_out)?;
        loop {
            let set = ToolSet::new(self.order.iter().cloned())?.with_validation(true);
            let listed = self.order.iter().filter_map(|definition| self.entries.get(definition.name()));
            let (mut preflight, refused) = screen.look(&set, listed.map(|entry| &*entry.spec));
            let of_family = |refusal: &SchemaRefusal| {
                let entry = refusal.tool.as_ref().and_then(|tool| self.entries.get(tool));
                entry.is_some_and(|entry| matches!(entry.executor, Executor::Family(_)))
            };
            let (of_families, ours): (Vec<_>, Vec<_>) = refused.into_iter().partition(of_family);
            let model = screen.model.id().to_owned();
            if !ours.is_empty() {
                return Err(ToolsError::Refused { model, refused: ours });
            }
            if of_families.is_empty() {
                let failures = left_out.iter().map(|refused: &SchemaRefusal| ToolsError::Refused {
                    model: model.clone(),
                    refused: vec![refused.clone()],
                });
                let failures = std::mem::take(&mut self.clashes).into_iter().chain(failures).collect();
                preflight.extend(looked);
                preflight.left_out = left_out;
                let entries = Arc::new(self.entries);
                let toolbox = Toolbox { set: Arc::new(set), entries, preflight, families, layers };
                return Ok((toolbox, failures));
            }
            // Without them the others may have other names, so all are looked at again.
            let is_left_out =
                |name: &str| of_families.iter().any(|refused| refused.tool.as_deref() == Some(name));
            self.order.retain(|definition| !is_left_out(definition.name()));
            self.entries.retain(|name, _| !is_left_out(name));
            left_out.extend(of_families);
        }
    }
}

impl List {
    /// Takes the tools away that the model is not offered from the start, where there are many, and puts those in their
    /// place with which it asks for them.
    fn layered(
        &mut self,
        screen: Screen<'_>,
        left_out: &mut Vec<SchemaRefusal>,
    ) -> Result<(Option<Arc<Layers>>, Preflight), ToolsError> {
        let mut looked = Preflight::default();
        if !screen.disclosure.is_some_and(|disclosure| disclosure.is_passed(&self.order)) {
            return Ok((None, looked));
        }
        for name in [DETAIL, SEARCH] {
            if self.entries.get(name).is_some_and(|entry| matches!(entry.executor, Executor::Family(_)))
                && let Some(entry) = self.entries.remove(name)
            {
                self.order.retain(|definition| definition.name() != name);
                let (first, second) = ("attache".to_owned(), origin(&entry.spec));
                self.clashes.push(ToolsError::Duplicate { name: name.to_owned(), first, second });
            }
        }
        let is_visible = |definition: &ToolDefinition| {
            self.entries.get(definition.name()).is_none_or(|entry| {
                let metadata = &entry.spec.metadata;
                metadata.always_visible || metadata.finish
            })
        };
        let (visible, rest): (Vec<_>, Vec<_>) = self.order.drain(..).partition(is_visible);
        self.order = visible;
        let mut waiting = Vec::with_capacity(rest.len());
        for definition in rest {
            // The limits of a model on all tools together are looked at when one is offered.
            let set = ToolSet::new([definition.clone()])?.with_validation(true);
            let Some(entry) = self.entries.get(definition.name()) else { continue };
            let (of_it, refused) = screen.look(&set, std::iter::once(&*entry.spec));
            looked.extend(of_it);
            match refused.into_iter().next() {
                None => waiting.push((*entry.spec).clone()),
                Some(refused) if matches!(entry.executor, Executor::Family(_)) => {
                    self.entries.remove(definition.name());
                    left_out.push(refused);
                }
                Some(refused) => {
                    return Err(ToolsError::Refused {
                        model: screen.model.id().to_owned(),
                        refused: vec![refused],
                    });
                }
            }
        }
        if waiting.is_empty() {
            return Ok((None, looked));
        }
        let theirs = [DETAIL, SEARCH].map(|name| ToolDefinition::new(name, "", Value::Null));
        let all = self.order.iter().cloned().chain(theirs);
        let all = ToolSet::new(all.chain(waiting.iter().map(|spec| spec.definition.clone())))?;
        let layers = Layers::new(all, waiting);
        for tool in layers.tools() {
            self.add(tool.spec().clone(), Executor::Tool(tool))?;
        }
        Ok((Some(layers), looked))
    }
}

/// Says why arguments cannot be held against a tool's schema, if so.
fn readable(definition: &ToolDefinition) -> Result<(), String> {
    let root = definition.input_schema();
    let is_object = match root.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => true,
    };
    if !is_object {
        return Err("its arguments are an object, and its schema asks for something else".to_owned());
    }
    definition.schema().map(drop).map_err(|error| format!("its schema cannot be read: {error}"))
}
