//! `attache sessions`.

use std::io::IsTerminal;

use attache_agent::{Agent, Session, SessionInfo, Sessions};
use attache_models::Registry;
use serde_json::json;
use tokio::time::Duration;

use super::{PRINCIPAL, Said, Stores, all, failed, found, said, session};
use crate::args::{Sessions as Arguments, SessionsCommand};
use crate::ask::{exported, writable};
use crate::config_files::Config;
use crate::exit::Exit;
use crate::model_by_name::{OFFLINE, SetupError};
use crate::output::{answer, fail, harmless, line, page, short, written};
use crate::show::markdown::Markdown;
use crate::show::number::counted;
use crate::show::style::{Style, When};
use crate::show::table::Table;
use crate::show::width::terminal_width;
use crate::show::wrap::hung;

/// Runs the command.
pub(crate) async fn run(arguments: Arguments, registry: &Registry, config: &Config, color: When) -> Exit {
    match done(arguments, registry, config, color).await {
        Ok(exit) => exit,
        Err(error) => {
            fail(&error.to_string());
            Exit::Setup
        }
    }
}

async fn done(
    arguments: Arguments,
    registry: &Registry,
    config: &Config,
    color: When,
) -> Result<Exit, SetupError> {
    let stores = Stores::look(config).await?;
    let agent = Agent::builder(registry.model(OFFLINE)?).store(stores.documents()).build();
    let agent = agent.map_err(|error| SetupError::new(error.to_string()))?;
    let sessions = stores.sessions(agent.clone());
    Ok(match arguments.command {
        SessionsCommand::List { json } => {
            let mut all = all(&sessions).await?;
            // A chat that was left before a question is no conversation.
            all.retain(|info| info.runs > 0);
            listed(&all, json)
        }
        SessionsCommand::Show { id } => {
            let style = Style::of_stdout(color);
            let session = session(&sessions, &found(&sessions, &id).await?).await?;
            written(answer(&shown(&said_in(&session).await?, style)))
        }
        SessionsCommand::Search { words } => searched(&sessions, &words).await?,
        SessionsCommand::Export { id, file } => {
            if let Some(file) = &file {
                writable(file).map_err(SetupError::new)?;
            }
            let session = session(&sessions, &found(&sessions, &id).await?).await?;
            let messages = session.history().await.map_err(|error| failed(&error))?;
            let text = exported(&messages, &agent).await.map_err(SetupError::new)?;
            match file {
                None => written(answer(&format!("{text}\n"))),
                Some(file) => match tokio::fs::write(&file, text).await {
                    Ok(()) => Exit::Done,
                    Err(error) => {
                        fail(&format!("{}: {error}", file.display()));
                        Exit::Failed
                    }
                },
            }
        }
        SessionsCommand::Delete { all: true, .. } => {
            let count = sessions.clear_all(PRINCIPAL).await.map_err(|error| failed(&error))?;
            line(&format!("· deleted {}", counted(count as u64, "session")));
            clean(&sessions).await;
            Exit::Done
        }
        SessionsCommand::Delete { ids, .. } => {
            let all = all(&sessions).await?;
            let missing = ids.iter().find(|id| !all.iter().any(|info| info.id.as_str() == id.as_str()));
            if let Some(id) = missing {
                return Err(SetupError::new(format!(
                    "there is no session {id:?}, and nothing was deleted: use full ids, as listed by `attache sessions list`"
                )));
            }
            for id in ids {
                sessions.clear(PRINCIPAL, &id).await.map_err(|error| failed(&error))?;
                line(&format!("· deleted {id}"));
            }
            clean(&sessions).await;
            Exit::Done
        }
    })
}

/// Deletes the documents of sessions that were deleted before, where that failed: no server runs here that would try again.
async fn clean(sessions: &Sessions) {
    if let Err(error) = sessions.cleanup().await {
        line(&format!("! not all documents of deleted sessions could be deleted: {}", failed(&error)));
    }
}

/// Sessions as a table or JSON lines.
fn listed(sessions: &[SessionInfo], as_json: bool) -> Exit {
    if as_json {
        let lines = sessions.iter().map(|info| {
            let told = json!({
                "id": info.id.as_str(),
                "title": info.title,
                "created": info.created,
                "accessed": info.accessed,
                "updated": info.updated,
                "runs": info.runs,
            });
            format!("{told}\n")
        });
        return written(answer(&lines.collect::<String>()));
    }
    if sessions.is_empty() {
        line("· there is no session yet; `attache chat` starts one");
        return Exit::Done;
    }
    written(answer(&table(sessions).render(terminal_width())))
}

/// A line for each session.
pub(crate) fn table(sessions: &[SessionInfo]) -> Table {
    let mut table = Table::new(["session", "asked", "questions", "began with"]);
    for info in sessions {
        let cells = [info.id.to_string(), ago(info.updated), info.runs.to_string(), short(&info.title, 60)];
        table.row(cells);
    }
    table
}

/// A time of the past, in milliseconds since 1970, as people say it.
fn ago(then: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let since = now.saturating_sub(Duration::from_millis(then)).as_secs();
    match since {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", since / 60),
        3_600..172_800 => format!("{} h ago", since / 3_600),
        _ => format!("{} days ago", since / 86_400),
    }
}

async fn said_in(session: &Session) -> Result<Vec<Said>, SetupError> {
    let messages = session.history().await.map_err(|error| failed(&error))?;
    Ok(said(&messages))
}

/// The conversation, set for a terminal or as it is.
pub(crate) fn shown(said: &[Said], style: Style) -> String {
    // A terminal without colours is one, too.
    let width = (style.is_on() || std::io::stdout().is_terminal()).then(terminal_width);
    let mut text = String::new();
    for (at, said) in said.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        if said.by_user {
            for line in harmless(&said.text).lines() {
                let line = format!("{} {}", style.asks(">"), style.bold(line));
                text.push_str(&width.map_or(line.clone(), |width| hung(&line, width)));
                text.push('\n');
            }
        } else if let Some(width) = width {
            let mut markdown = Markdown::new(style, width);
            text.push_str(&markdown.push(&harmless(&said.text)));
            text.push_str(&markdown.finish());
        } else {
            text.push_str(&format!("{}\n", harmless(said.text.trim_end())));
        }
    }
    text
}

/// The maximum number of sessions that a search names.
const MOST_FOUND: usize = 50;

async fn searched(sessions: &Sessions, words: &[String]) -> Result<Exit, SetupError> {
    let query = words.join(" ");
    let hits = sessions.search(PRINCIPAL, &query, MOST_FOUND).await.map_err(|error| failed(&error))?;
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let mut found = String::new();
    for info in hits {
        found.push_str(&format!("{}  {}\n", info.id, short(&info.title, 60)));
        let said = said_in(&session(sessions, &info).await?).await?;
        let lines = said.iter().flat_map(|said| said.text.lines());
        let hits = lines.filter(|line| words.iter().any(|word| line.to_lowercase().contains(word)));
        for hit in hits.take(3) {
            found.push_str(&format!("    {}\n", short(hit, 160)));
        }
    }
    if found.is_empty() {
        line("· no session contains these words");
        return Ok(Exit::Incomplete);
    }
    Ok(written(page(&found)))
}
