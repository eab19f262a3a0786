//! The judge of `tests/real/official_types.py`.

use std::io::Write as _;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Python;

/// A request to be judged by the official SDK of its API.
#[derive(Clone, Debug, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "tests build it")]
pub struct Asked {
    /// The API: `openai-chat`, `openai-responses`, `anthropic`, `anthropic-beta`, `gemini`, `bedrock-converse` or
    /// `cohere`.
    pub api: String,
    /// Its path. If the model stands in the path, the path is judged too.
    pub url: String,
    /// The body.
    pub body: Value,
}

/// The problems of each request, in order.
///
/// # Errors
/// If the judge fails, which is not a verdict.
pub fn judge(python: &Python, asked: &[Asked]) -> Result<Vec<Vec<String>>, String> {
    #[derive(Deserialize)]
    struct Verdict {
        wrong: Vec<String>,
    }
    let mut lines = Vec::new();
    for asked in asked {
        serde_json::to_writer(&mut lines, asked).map_err(|error| error.to_string())?;
        lines.push(b'\n');
    }
    let mut command = python.command("official_types.py");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("the judge does not start: {error}"))?;
    let stdin = child.stdin.take();
    // From another thread, since verdicts come while requests are still being written.
    let writer = std::thread::spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(&lines)));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let written = writer.join().is_ok_and(|written| written.is_ok());
    if !written || !output.status.success() {
        return Err(format!("the judge failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let read = |line| serde_json::from_str(line).map(|verdict: Verdict| verdict.wrong);
    let verdicts: Result<Vec<_>, _> = String::from_utf8_lossy(&output.stdout).lines().map(read).collect();
    let verdicts = verdicts.map_err(|error| format!("the judge answers in another form: {error}"))?;
    if verdicts.len() == asked.len() {
        Ok(verdicts)
    } else {
        Err(format!("the judge answered {} of {}", verdicts.len(), asked.len()))
    }
}
