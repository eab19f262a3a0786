//! A conversation as a file.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use attache_agent::{Agent, Outcome};
use attache_core::Message;

/// The bytes of a file that say if it is ours.
const HEAD: u64 = 200;

/// Says why a file cannot be written, before anything is asked. A file that holds something else than a conversation or
/// a recording is not overwritten.
pub(crate) fn writable(file: &Path) -> Result<(), String> {
    let wrong = |problem: &dyn std::fmt::Display| format!("{}: {problem}", file.display());
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => Err(wrong(&"it is a folder")),
        Ok(found) if !found.is_file() => Ok(()),
        Ok(_) => {
            let mut head = Vec::new();
            let read = File::open(file).and_then(|file| file.take(HEAD).read_to_end(&mut head));
            read.map_err(|error| wrong(&error))?;
            if !head.is_empty() && !is_ours(&String::from_utf8_lossy(&head)) {
                return Err(wrong(
                    &"it holds something else already and is not overwritten; name another file, or move it",
                ));
            }
            OpenOptions::new().append(true).open(file).map(drop).map_err(|error| wrong(&error))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            File::create_new(file).and_then(|_| fs::remove_file(file)).map_err(|error| wrong(&error))
        }
        Err(error) => Err(wrong(&error)),
    }
}

/// True for the beginning of a conversation or a recording.
fn is_ours(head: &str) -> bool {
    head.trim_start().starts_with('{')
        && (head.contains("\"schemaVersion\"") || head.contains("\"source\"") && head.contains("\"licence\""))
}

/// Writes the conversation of a run; see [`exported`].
pub(super) async fn conversation(file: &Path, outcome: &Outcome, agent: &Agent) -> Result<(), String> {
    let wrong = |problem: String| format!("{}: {problem}", file.display());
    let json = exported(&outcome.messages, agent).await.map_err(wrong)?;
    tokio::fs::write(file, json).await.map_err(|error| wrong(error.to_string()))
}

/// The exported form of messages, with the tools of the agent and the documents that its store keeps.
pub(crate) async fn exported(messages: &[Arc<Message>], agent: &Agent) -> Result<String, String> {
    let manager = agent.tool_manager().await.map_err(|error| error.to_string())?;
    let tools = manager.tools();
    let tools = tools.iter().map(|(_, tool)| tool.clone());
    agent.export(messages, tools).await.map_err(|error| error.to_string())
}
