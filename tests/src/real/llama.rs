//! The server of `tests/real/llama_server.py`.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Deserialize;

use super::Python;

/// The time that the server may take to load its models, on a busy machine.
const START: Duration = Duration::from_secs(120);

/// A llama.cpp server that serves models of random weights. It ends when this is dropped, or the process ends.
#[derive(Debug)]
pub struct LlamaServer {
    child: Child,
    stdin: Option<ChildStdin>,
    told: Told,
}

#[derive(Debug, Deserialize)]
struct Told {
    plain: String,
    tools: String,
    key: String,
    opener: u32,
    end: u32,
}

impl LlamaServer {
    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    /// The failure, with the end of the server's log.
    pub fn start(python: &Python) -> Result<Self, String> {
        let folder = python.folder();
        fs::create_dir_all(folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        let log = folder.join(format!("server-{}.log", std::process::id()));
        let errors =
            File::create(&log).map_err(|error| format!("{} cannot be made: {error}", log.display()))?;
        let mut command = python.command("llama_server.py");
        command.arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(|error| format!("the server does not start: {error}"))?;
        let stdin = child.stdin.take();
        let (sender, line) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut line = String::new();
                let read = BufReader::new(stdout).read_line(&mut line);
                let _ = sender.send(read.map(|_| line));
            });
        }
        let told = match line.recv_timeout(START) {
            Ok(Ok(line)) => serde_json::from_str(&line).map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let said = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        match told {
            Ok(told) => Ok(Self { child, stdin, told }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("the server did not start: {error}\n{said}"))
            }
        }
    }

    /// The URL of the model that writes noise of whole characters as long as it may. No key is needed.
    pub fn plain(&self) -> &str {
        &self.told.plain
    }

    /// The URL of the model that has one token for what opens a tool call.
    pub fn tools(&self) -> &str {
        &self.told.tools
    }

    /// The key that the model with tools demands.
    pub fn key(&self) -> &str {
        &self.told.key
    }

    /// The token that opens a tool call.
    pub fn opener(&self) -> u32 {
        self.told.opener
    }

    /// The token that ends a turn.
    pub fn end(&self) -> u32 {
        self.told.end
    }

    /// Closes the server's standard input, as the end of this process does, and waits for its end.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn hang_up(mut self) -> std::io::Result<bool> {
        drop(self.stdin.take());
        Ok(self.child.wait()?.success())
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
