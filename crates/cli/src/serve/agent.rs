//! The agent that is served: the one of `attache chat`.

use attache_agent::Sessions;
use attache_models::Registry;

use super::example;
use crate::args::Serve;
use crate::ask::build::{Wanted, build, build_plain, folders};
use crate::config_files::Config;
use crate::config_tools::Outside;
use crate::model_by_name::{self, SetupError};
use crate::sessions::Stores;

/// The name under which clients know the agent.
pub(super) const NAME: &str = "attache";

/// An agent in its sessions, and the tools from outside that it has.
pub(super) struct Built {
    pub(super) sessions: Sessions,
    pub(super) outside: Outside,
    pub(super) files: Files,
}

/// The files that it may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// Those that the flags or the configuration name.
    Named,
    /// Those of the example, since nobody named any.
    Example,
    /// None: it has the tools of the configuration alone.
    None,
}

/// Makes the agent of the flags and the configuration.
pub(super) async fn built(
    serve: &Serve,
    registry: &Registry,
    config: &Config,
    stores: &Stores,
) -> Result<Built, SetupError> {
    let name = model_by_name::chosen(registry, serve.model.name.as_deref());
    let registry = model_by_name::at(&model_by_name::served(registry), serve.model.base_url.as_deref());
    let named = folders(&serve.opened, config, false).await?;
    let outside = Outside::connected(config, true).await;
    for problem in &outside.failed {
        tracing::warn!("{problem}");
    }
    let (files, folders) = match named {
        Some(named) => (Files::Named, Some(named)),
        None => match unnamed(serve, config, &outside)? {
            Files::Example => (Files::Example, Some(example::folders(stores.folder()).await?)),
            other => (other, None),
        },
    };
    let mut wanted = Wanted::new(name, &serve.model, config);
    (wanted.fetches, wanted.documents) = (true, Some(stores.documents()));
    (wanted.outside, wanted.permitted) = (outside.clone(), serve.permitted.clone());
    // The offline model asks nobody anything.
    wanted.asks_user = name != model_by_name::OFFLINE;
    wanted.cites = true;
    let agent = build(&wanted, &folders, &registry)?;
    Ok(Built { sessions: stores.sessions(agent), outside, files })
}

/// The models that clients may ask without the agent, under the names that the configuration gives.
pub(super) fn models(
    serve: &Serve,
    registry: &Registry,
    config: &Config,
    stores: &Stores,
) -> Result<Vec<(String, Sessions)>, SetupError> {
    let registry = model_by_name::served(registry);
    let mut models = Vec::new();
    for name in config.said.server().models {
        if name == NAME {
            return Err(SetupError::new(format!("server.models: {NAME} is the name of the agent")));
        }
        let mut wanted = Wanted::new(&name, &serve.model, config);
        (wanted.fetches, wanted.documents) = (true, Some(stores.documents()));
        let agent = build_plain(&wanted, &registry);
        let agent = agent.map_err(|error| SetupError::new(format!("server.models: {error}")))?;
        models.push((name, stores.sessions(agent)));
    }
    Ok(models)
}

/// The files of the agent that nobody gave any: the example, unless a configuration gives it other tools.
fn unnamed(serve: &Serve, config: &Config, outside: &Outside) -> Result<Files, SetupError> {
    let opened = &serve.opened;
    if !opened.include.is_empty() || !opened.exclude.is_empty() {
        let problem =
            "--include and --exclude choose among the files of a folder: name one, such as `attache serve .`";
        return Err(SetupError::new(problem));
    }
    Ok(match outside.has_tools() || config.has_tools() {
        true => Files::None,
        false => Files::Example,
    })
}
