//! The parts of an agent, as its builder gathers them.

use std::sync::{Arc, Mutex};

use attache_core::{Converter, DocumentStore, Extensions, Fetcher, ModelHandle, ModelSettings, ToolChoice};
use attache_documents::RouteOptions;

use crate::limits::{HistoryPolicy, Limits, Timing};
use crate::preflight::Screen;
use crate::tools::{Listed, Toolbox, Tools};
use crate::window::MessageWindow;

/// An agent's model and tools, and how its runs are bounded.
pub(crate) struct Setup {
    pub(crate) model: ModelHandle,
    pub(crate) system: Option<String>,
    pub(crate) tools: Tools,
    /// The tools that are known without asking anybody.
    pub(crate) known: Arc<Toolbox>,
    /// All tools, as they were last listed.
    pub(crate) listed: Mutex<Option<Listed>>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) settings: ModelSettings,
    pub(crate) streaming: bool,
    pub(crate) limits: Limits,
    pub(crate) timing: Timing,
    pub(crate) window: Option<MessageWindow>,
    pub(crate) history: HistoryPolicy,
    pub(crate) routing: RouteOptions,
    pub(crate) store: Arc<dyn DocumentStore>,
    /// True if the store is the user's, and keeps what it is given.
    pub(crate) keeps: bool,
    pub(crate) fetcher: Option<Arc<dyn Fetcher>>,
    pub(crate) converters: Vec<Arc<dyn Converter>>,
    pub(crate) reads: bool,
    pub(crate) extensions: Extensions,
    pub(crate) principal: Option<String>,
}

impl Setup {
    pub(crate) fn screen(&self) -> Screen<'_> {
        Screen { model: &self.model, settings: &self.settings, converters: &self.converters }
    }
}
