//! A model on a server of one's own, described by a profile: page `providers/compatible.md` of the guide.
//!
//! `cargo run -p attache --features models,openai --example server_profile`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache::Agent;
use attache::models::Registry;

/// In a program of yours this is a file.
const SERVERS: &str = r#"
[providers.work]
like = "vllm"                           # a bundled profile to start from
base_url = "http://localhost:8000/v1"
base_url_variable = "WORK_LLM_URL"      # replaces base_url where it is set
key = { required = false, variables = ["WORK_LLM_KEY"] }

[models]
default = "work/our-7b"

# A section of the server's own name is about its models; `like` takes what is known of another server's.
[capabilities.work]
like = "vllm"

[capabilities.work.models."our-7b*"]
user.media = ["text", "image/png"]      # text alone, where nothing is said
context_window = 32000
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::bundled().with_config(SERVERS)?;
    let model = registry.model("default")?;
    println!("asking {}", model.id());
    let outcome = Agent::builder(model).build()?.run("Say hello.").outcome().await?;
    println!("{}", outcome.text);
    Ok(())
}
