//! Servers that say on which port they listen.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The time that a server may take to start, on a busy machine.
const START: Duration = Duration::from_secs(120);

/// A server that prints `listening on PORT`, and ends when its standard input closes.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    stdin: Option<ChildStdin>,
    port: u16,
}

impl Listening {
    /// Starts it and waits until it says its port and takes a connection there.
    ///
    /// # Errors
    /// If it does not within two minutes.
    pub fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("the server does not start: {error}"))?;
        let stdin = child.stdin.take();
        let (sender, said) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                // Read to its end: a server whose output nobody takes may stand still.
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let port = line.strip_prefix("listening on ").and_then(|port| port.parse::<u16>().ok());
                    if let Some(port) = port {
                        let _ = sender.send(port);
                    }
                }
            });
        }
        let mut listening = Self { child, stdin, port: 0 };
        listening.port = said.recv_timeout(START).map_err(|error| format!("it says no port: {error}"))?;
        let begun = std::time::Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", listening.port)).is_err() {
            if begun.elapsed() > START {
                return Err("it takes no connection".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(listening)
    }

    /// Its address.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
