//! How a server is addressed, whichever of its APIs is spoken.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::tool::SchemaReport;
use attache_core::{Degradation, Message, ModelCapabilities, ModelSettings, Secret, ToolSet};
use attache_transport::{
    Auth, EncodedBody, Environment, Reading, RequestParts, StrictForms, count_leading, join_url, missing_key,
};
use http::HeaderName;
use serde_json::Value;

use crate::address::{from_environment, missing};
use crate::error::{self, Result};
use crate::profile::{Profile, SystemPlace};
use crate::request::tools;

/// One model of one server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// The profile as it is for all models.
    own: Arc<Profile>,
    /// The profile as it is for the model.
    pub(crate) profile: Arc<Profile>,
    /// The reason why the model's cells below `wire` are none of the profile.
    problem: Option<Arc<str>>,
    pub(crate) model: Arc<str>,
    pub(crate) capabilities: Arc<ModelCapabilities>,
    /// The profile's name, the tag of what goes back.
    pub(crate) family: Arc<str>,
}

impl Server {
    /// A model, with what the bundled matrix knows of it.
    pub(crate) fn new(profile: &Arc<Profile>, model: &str) -> Self {
        let mut server = Self {
            family: Arc::from(profile.name.as_str()),
            model: Arc::from(model),
            capabilities: Arc::new(Matrix::bundled().resolve(&profile.family, model)),
            own: Arc::clone(profile),
            profile: Arc::clone(profile),
            problem: None,
        };
        server.fit();
        server
    }

    /// Makes the profile what it is for the model.
    fn fit(&mut self) {
        (self.profile, self.problem) = match self.own.with_wire(&self.capabilities.wire) {
            Ok(profile) => (profile, None),
            Err(problem) => (Arc::clone(&self.own), Some(Arc::from(problem))),
        };
    }

    pub(crate) fn set_capabilities(&mut self, capabilities: Arc<ModelCapabilities>) {
        self.capabilities = capabilities;
        self.fit();
    }

    /// The error of a row whose cells are none of the profile.
    pub(crate) fn fits(&self) -> Result<()> {
        match &self.problem {
            None => Ok(()),
            Some(problem) => {
                let (family, row) = (&self.capabilities.family, &self.capabilities.row);
                Err(error::configuration(format!(
                    "the capability row {family}/{row} is not valid: {problem}"
                )))
            }
        }
    }

    pub(crate) fn model_id(&self) -> String {
        [&self.profile.name, "/", &*self.model].concat()
    }

    /// The model as the body names it, which extra members may say otherwise.
    pub(crate) fn named_model<'a>(&'a self, settings: &'a ModelSettings) -> &'a str {
        match (settings.extra_body.get("model"), self.profile.extra_body.get("model")) {
            (Some(Value::String(model)), _) | (None, Some(Value::String(model))) => model,
            _ => &self.model,
        }
    }

    /// The number of messages of instructions that stand with those of the options.
    pub(crate) fn count_leading(&self, messages: &[Arc<Message>]) -> usize {
        match self.profile.system_place {
            SystemPlace::Anywhere => 0,
            SystemPlace::MergedFirst => count_leading(messages),
        }
    }

    pub(crate) fn set_matrix(&mut self, matrix: &Matrix) {
        self.set_capabilities(Arc::new(matrix.resolve(&self.own.family, &self.model)));
    }

    pub(crate) fn set_base_url(&mut self, url: String) {
        Arc::make_mut(&mut self.own).base_url = url;
        self.fit();
    }

    pub(crate) fn reading(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Reading {
        Reading::new(Arc::clone(&self.family), Arc::clone(&self.model), tools, degradations)
    }

    /// The fate of the schemas of tools, by the code that writes them.
    pub(crate) fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        tools::check(&self.capabilities, self.profile.tool_schemas, tools, settings.unsupported)
    }

    /// Takes base URL and headers from the profile's variables; yields the key that they hold.
    pub(crate) fn configure(&mut self, environment: &Environment) -> Auth {
        let headers: Vec<_> = self
            .own
            .header_variables
            .iter()
            .filter(|(_, variable)| !variable.is_empty())
            .filter_map(|(name, variable)| Some((name.clone(), environment.get(variable)?)))
            .collect();
        let url = from_environment(&self.own, &self.model, environment);
        if url.is_some() || !headers.is_empty() {
            let own = Arc::make_mut(&mut self.own);
            own.base_url = url.unwrap_or_else(|| std::mem::take(&mut own.base_url));
            own.headers.extend(headers);
            self.fit();
        }
        let rules = &self.own.key;
        let token = || environment.first(&rules.token_variables).map_or(Auth::None, Auth::bearer);
        environment.first(&rules.variables).map_or_else(token, Auth::from)
    }

    /// The error before anything is sent.
    pub(crate) fn check(&self, auth: &Auth) -> Result<()> {
        if self.model.trim().is_empty() {
            return Err(error::configuration("no model is named"));
        }
        if self.profile.key.required && auth.is_none() {
            return Err(missing_key(&self.profile.name, &self.profile.key.variables));
        }
        self.fits()
    }

    /// The request to `path` below the base URL, without its body.
    pub(crate) fn envelope(
        &self,
        path: &str,
        settings: &ModelSettings,
        key: Option<&Secret>,
    ) -> Result<RequestParts> {
        let profile = &*self.profile;
        if profile.base_url.trim().is_empty() {
            return Err(error::configuration(match missing(profile) {
                Some(variable) => format!("no address for {}: set {variable}", profile.name),
                None => format!("no address for {}", profile.name),
            }));
        }
        let url = join_url(&profile.base_url, path)?;
        let mut parts = RequestParts::post_json(url, EncodedBody::default());
        let named = |name: &str| {
            HeaderName::try_from(name)
                .map_err(|_| error::configuration(format!("{name:?} is no header name")))
        };
        for (name, value) in &profile.headers {
            // A gateway's key is in one of them, and nobody says which.
            parts = parts.with_secret_header(named(name)?, "", &Secret::new(value.as_str()));
        }
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            parts = parts.with_secret_header(named(&profile.key.header)?, &profile.key.prefix, key);
        }
        parts.with_extra_headers(&settings.extra_headers)
    }

    /// The schemas of tools that are said in the subset which the server enforces.
    pub(crate) fn strict_forms(&self, tools: &ToolSet) -> Option<StrictForms> {
        StrictForms::of_tools(tools, tools::subset(&self.capabilities, self.profile.tool_schemas), None)
    }
}
