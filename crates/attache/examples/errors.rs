//! Each way in which a run can end: page `errors.md` of the guide.
//!
//! `cargo run -p attache --features anthropic --example errors`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::error::Error;
use std::process::ExitCode;

use attache::Agent;
use attache::anthropic::Anthropic;
use attache::core::ErrorKind;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let agent = Agent::builder(Anthropic::from_env("claude-sonnet-4-5")?).build()?;
    let error = match agent.run("What is a lease?").outcome().await {
        Ok(outcome) => {
            println!("{}", outcome.text);
            if outcome.reason.is_answer() {
                return Ok(ExitCode::SUCCESS);
            }
            eprintln!("this is no full answer: {}", outcome.reason);
            return Ok(ExitCode::from(4));
        }
        Err(error) => error,
    };
    let advice = match error.provider_error().map(|provider| (provider.kind(), provider.is_transient())) {
        Some((ErrorKind::Authentication | ErrorKind::Permission, _)) => "check the key",
        Some((ErrorKind::QuotaExceeded, _)) => "the account has no balance",
        Some((ErrorKind::ContextTooLong, _)) => "ask with fewer documents",
        Some((_, true)) => "try again later",
        _ => "see the log",
    };
    eprintln!("{error}: {advice}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
    Ok(ExitCode::FAILURE)
}
