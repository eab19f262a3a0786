//! `attache ask`: the main job.

mod attached;
pub(crate) mod build;
mod dry_run;
mod follow;
mod open_question;
mod save;

use std::sync::Arc;

#[cfg(not(feature = "chat"))]
use attache_agent::Session;
use attache_agent::{Journal, MemoryJournal, OutputSpec};
use attache_core::structured::OutputSchema;
use attache_core::{UserMessage, UserPart};
use attache_models::Registry;
use attache_transport::cassette::Recorder;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::args::{Ask, Shown};
use crate::config_files::Config;
use crate::config_tools::Outside;
use crate::exit::Exit;
use crate::json;
use crate::model_by_name::{self, SetupError};
use crate::output::{answer, fail, line, page, written};
use crate::replace_file::is_same;
#[cfg(feature = "chat")]
use crate::sessions::{self, Stores};
use crate::show::style::When;
use crate::show::terminal::Terminal;
#[cfg(feature = "chat")]
use crate::show::watch::beside;
use crate::show::watch::{Notice, Watch, Watched, tell_left};

pub(crate) use attached::{Attachments, file, piped_in};
use build::{Wanted, build, folders};
pub(crate) use follow::Followed;
#[cfg(feature = "chat")]
pub(crate) use follow::follow;
use open_question::Shows;
#[cfg(feature = "chat")]
pub(crate) use save::{exported, writable};

/// Runs the command.
pub(crate) async fn run(
    ask: Ask,
    registry: &Registry,
    config: &Config,
    color: When,
    (watch, mut notices): Watched,
) -> Exit {
    let (as_json, is_quiet) = (ask.json, ask.shown.quiet);
    match prepared(ask, registry, config, color, watch, &mut notices).await {
        Ok(exit) => exit,
        Err((exit, problem)) => {
            // They may say why.
            tell_left(&mut notices, as_json, is_quiet);
            failed(as_json, exit, &problem)
        }
    }
}

/// Says why there is no run, to programs too.
pub(crate) fn failed(as_json: bool, exit: Exit, problem: &str) -> Exit {
    if as_json {
        let told = json!({ "type": "error", "message": problem, "exit_code": exit.code() });
        let _unwritten = answer(&format!("{told}\n"));
    }
    fail(problem);
    exit
}

type Failed = (Exit, String);

async fn prepared(
    ask: Ask,
    registry: &Registry,
    config: &Config,
    color: When,
    watch: Watch,
    notices: &mut UnboundedReceiver<Notice>,
) -> Result<Exit, Failed> {
    let setup = |error: SetupError| (Exit::Setup, error.to_string());
    let is_quiet = ask.shown.quiet || ask.json;
    if let Some(notice) = config.notice().filter(|_| !is_quiet && !ask.dry_run) {
        line(&notice);
    }
    let name = model_by_name::chosen(registry, ask.model.name.as_deref());
    let recorder = ask.record.as_ref().map(|_| Recorder::new(name.split('/').next().unwrap_or_default()));
    let registry = model_by_name::at(
        &model_by_name::watched(registry, watch, recorder.as_ref()),
        ask.model.base_url.as_deref(),
    );
    let spec = ask.schema.as_deref().map(schema).transpose().map_err(|problem| (Exit::Usage, problem))?;
    if let (Some(save), Some(record)) = (&ask.save, &ask.record)
        && is_same(save, record)
    {
        let problem = format!("{} cannot be both the conversation and the recording", save.display());
        return Err((Exit::Usage, problem));
    }
    if !ask.dry_run {
        for file in ask.save.iter().chain(&ask.record) {
            save::writable(file).map_err(|problem| (Exit::Failed, problem))?;
        }
    }
    let (question, attachments) = question(&ask).await.map_err(setup)?;
    let folders = folders(&ask.opened, config, attachments.is_empty()).await.map_err(setup)?;
    if ask.dry_run {
        let told = dry_run::told(&ask, name, &question, &folders, &registry, config).await.map_err(setup)?;
        return Ok(written(page(&told)));
    }
    let mut wanted = Wanted::new(name, &ask.model, config);
    wanted.fetches = attachments.has_addresses();
    #[cfg(feature = "chat")]
    let stores = match ask.session.is_chosen() {
        true => {
            let opened = beside(Box::pin(Stores::open(config)), notices, ask.json, ask.shown.quiet).await;
            Some(opened.map_err(setup)?)
        }
        false => None,
    };
    #[cfg(feature = "chat")]
    {
        wanted.documents = stores.as_ref().map(Stores::documents);
        // Documents of the session may be at addresses.
        wanted.fetches |= stores.is_some();
    }
    wanted.permitted = ask.permitted.clone();
    let outside = Outside::connected(config, is_quiet).await;
    // Also where nothing else is told: an answer without them is another one.
    wanted.outside = if ask.json { outside } else { outside.told() }.alive();
    for problem in wanted.outside.failed.iter().filter(|_| ask.json) {
        // A reader that has enough is told apart with the first event.
        let _ = answer(&json::warning("tools_missing", problem));
    }
    let agent = build(&wanted, &folders, &registry).map_err(setup)?;
    if let Some(notice) = model_by_name::notice(agent.model().id()).filter(|_| !ask.shown.quiet) {
        line(&notice);
    }
    #[cfg(feature = "chat")]
    let session = match &stores {
        Some(stores) => {
            let session =
                sessions::chosen(&stores.sessions(agent.clone()), &ask.session).await.map_err(setup)?;
            if !ask.shown.quiet {
                line(&format!("· in the session {}", session.id()));
            }
            let last = session.last().await.map_err(|error| setup(sessions::failed(&error)))?;
            // A question closes all else that is open.
            if last.is_some_and(|last| !last.approvals.is_empty()) {
                let id = session.id();
                let problem = format!(
                    "nothing was asked: a call in the session {id} waits for your approval; `attache resume {id}` \
                     asks you"
                );
                return Err((Exit::Incomplete, problem));
            }
            Some(session)
        }
        None => None,
    };
    #[cfg(not(feature = "chat"))]
    let session: Option<Session> = None;
    // A run that asks the user something goes on from its journal.
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let run = match &session {
        Some(session) => session.run(question),
        None => agent.run_in(Arc::clone(&journal), question),
    };
    let run = match spec {
        Some(spec) => run.with_output(spec),
        None => run,
    };
    // Programs that read events read no lines for people.
    let shown = Shown { quiet: is_quiet, ..ask.shown };
    let mut terminal = Terminal::new(shown, color, config.prices.as_ref());
    if ask.json || ask.schema.is_some() {
        terminal = terminal.without_answer();
    }
    let again = || match &session {
        Some(session) => session.resume(),
        None => agent.resume(Arc::clone(&journal)),
    };
    let approvals = config.said.approvals().with_allowed(&ask.permitted.allow);
    let shows =
        Shows { terminal, notices, as_json: ask.json, color, approvals, asks_first: ask.permitted.ask_first };
    let Followed { mut exit, result } = open_question::followed(run, again, shows).await.map_err(setup)?;
    wanted.outside.close().await;
    if let (None, Some(file)) = (&result, &ask.save) {
        fail(&format!("{} was not written: the run was interrupted", file.display()));
        exit = exit.and(false);
    }
    if let Some(result) = &result {
        let outcome = result.as_deref().unwrap_or_else(|error| error.partial());
        if let (Some(Ok(value)), false) = (outcome.structured.as_deref(), ask.json) {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            exit = exit.and(written(answer(&format!("{text}\n"))) == Exit::Done);
        }
        if let Some(file) = &ask.save {
            let saved = save::conversation(file, outcome, &agent).await;
            exit = exit.and(saved.inspect_err(|problem| fail(problem)).is_ok());
        }
    }
    if let (Some(recorder), Some(file)) = (recorder, &ask.record) {
        exit = exit.and(recorder.save(file).inspect_err(|error| fail(&error.to_string())).is_ok());
    }
    Ok(exit)
}

/// The user's question, with the documents that they attach.
async fn question(ask: &Ask) -> Result<(UserMessage, Attachments), SetupError> {
    let asks_stdin = ask.question == "-";
    let mut named = ask.attach.clone();
    let names_stdin = named.iter().any(|name| name == "-");
    if asks_stdin && names_stdin {
        return Err(SetupError::new("stdin cannot be both the question and a document"));
    }
    if !asks_stdin && !names_stdin && piped_in() {
        if !(ask.shown.quiet || ask.json) {
            line("· reading stdin as an attachment; use `< /dev/null` to leave it out");
        }
        named.push(attached::PIPED.to_owned());
    }
    let attachments = Attachments::read(&named, ask.opened.max_file_bytes).await?;
    let text = match asks_stdin {
        true => attached::question_from_stdin(ask.opened.max_file_bytes).await?,
        false => ask.question.clone(),
    };
    let documents = attachments.documents().map(|document| Some(UserPart::Document(document.clone())));
    Ok((UserMessage::new([UserPart::text(text.as_str())].into_iter().chain(documents)), attachments))
}

/// The value that is asked for.
fn schema(text: &str) -> Result<OutputSpec, String> {
    let wrong = |problem: String| format!("--schema: {problem}");
    let read = match text.trim_start().starts_with('{') {
        true => text.to_owned(),
        false => std::fs::read_to_string(text).map_err(|error| wrong(format!("{text}: {error}")))?,
    };
    let schema: Value = serde_json::from_str(&read).map_err(|error| wrong(error.to_string()))?;
    if !schema.is_object() {
        return Err(wrong("a schema must be an object".to_owned()));
    }
    let schema = OutputSchema::from(schema);
    schema.schema().map_err(|error| wrong(error.to_string()))?;
    Ok(OutputSpec::new(schema))
}
