//! An answer on a terminal as it is said, with progress and Ctrl-C: page `streaming.md` of the guide.
//!
//! `cd docs/examples && cargo run -p attache --features anthropic --example streaming`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::io::Write as _;

use attache::anthropic::Anthropic;
use attache::{Agent, Document, EventKind, ToolError, tool};

/// Fetches the supply agreement.
#[tool(effect = "read")]
async fn fetch_agreement() -> Result<Document, ToolError> {
    Ok(Document::read("inbox/supply-agreement-SA-2025-11.pdf").await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Anthropic::from_env("claude-sonnet-4-5")?;
    let agent = Agent::builder(model).tool(fetch_agreement_tool()).build()?;
    let mut run = agent.run("Who pays for late delivery?");
    let control = run.control();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            control.cancel();
        }
    });
    let mut said = String::new();
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Content(piece) => {
                print!("{piece}");
                std::io::stdout().flush()?;
                said += &piece;
            }
            EventKind::ToolStarted { call } => eprintln!("[{}]", call.name),
            EventKind::Warning { message, .. } => eprintln!("[warning: {message}]"),
            EventKind::Finished(end) => {
                let outcome = end?;
                // A tool that returns directly, or a hook, may have had the last word.
                if !said.ends_with(&outcome.text) {
                    print!("{}", outcome.text);
                }
                println!();
                eprintln!("[{} after {} model calls]", outcome.reason, outcome.steps);
            }
            _ => {}
        }
    }
    Ok(())
}
