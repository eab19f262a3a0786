//! The time that a run may take, and how often a request is sent again: page `operating.md` of the guide.
//!
//! `cargo run -p attache --features anthropic --example timeouts`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use attache::Agent;
use attache::anthropic::Anthropic;
use attache::transport::{RetryPolicy, Timeouts};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = Duration::from_secs;
    let model = Anthropic::from_env("claude-sonnet-4-5")?
        .with_timeouts(Timeouts::new().with_first_byte(seconds(60)).with_total(seconds(300)))
        .with_retry(RetryPolicy::new().with_attempts(5).with_waits(seconds(30), seconds(60)));
    let agent = Agent::builder(model)
        .deadline(seconds(900))
        .tool_timeout(seconds(20))
        .max_steps(10)
        .max_tokens_per_run(200_000)
        .build()?;
    println!("{}", agent.run("What is a lease?").outcome().await?.text);
    Ok(())
}
