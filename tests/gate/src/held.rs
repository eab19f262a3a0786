//! Runs in the middle of their way, whose next replies a server withholds.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use attache_agent::{Agent, AgentRun, EventKind};
use attache_openai::OpenAiChat;
use futures_util::future::join_all;
use tokio::runtime::Runtime;

use crate::conversation::lookup;

/// Results of a run when its reply is withheld.
const RESULTS: usize = 3;

/// An agent whose model is a server of this process.
pub struct Waiting {
    runtime: Runtime,
    agent: Agent,
    server: Arc<Server>,
}

#[derive(Default)]
struct Server {
    /// True once replies are withheld.
    withholds: AtomicBool,
    withheld: AtomicUsize,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}

impl Waiting {
    /// An agent that has done a run, so that nothing is set up any more.
    ///
    /// # Panics
    /// If there is no server to be had.
    #[expect(clippy::unwrap_used, reason = "without a server there is nothing to measure")]
    pub fn begun() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let server = Arc::new(Server::default());
        let shared = Arc::clone(&server);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let server = Arc::clone(&shared);
                std::thread::spawn(move || server.serve(connection));
            }
        });
        let model = OpenAiChat::new("gpt-4o-mini", "sk-gate").unwrap().with_base_url(address);
        let agent = Agent::builder(model).system("You are an agent.").tool(lookup()).build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(agent.run("Go on.").outcome()).unwrap();
        assert_eq!(outcome.calls.len(), RESULTS);
        server.withholds.store(true, Ordering::Relaxed);
        Self { runtime, agent, server }
    }

    /// That many runs at once, each of which waits for its next reply.
    pub fn hold(self, count: usize) -> (Self, Vec<AgentRun>) {
        let runs = self.runtime.block_on(async {
            let mut runs: Vec<AgentRun> = (0..count).map(|_| self.agent.run("Go on.")).collect();
            join_all(runs.iter_mut().map(before_reply)).await;
            let next = join_all(runs.iter_mut().map(AgentRun::next));
            let withheld = async {
                while self.server.withheld.load(Ordering::Relaxed) < count {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            futures_util::future::select(next, std::pin::pin!(withheld)).await;
            runs
        });
        (self, runs)
    }
}

/// Polls a run until its last request is made.
#[expect(clippy::panic, reason = "a run that ended waits for nothing")]
async fn before_reply(run: &mut AgentRun) {
    let mut results = 0;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::ToolResultsReceived { .. } => results += 1,
            EventKind::StepStarted { .. } if results == RESULTS => return,
            EventKind::Finished(outcome) => panic!("the run ended: {outcome:?}"),
            _ => {}
        }
    }
}

impl Server {
    /// Answers requests until the client leaves.
    fn serve(&self, mut connection: TcpStream) {
        let mut read = Vec::new();
        while let Some(length) = request(&mut connection, &mut read) {
            let results = read.get(..length).unwrap_or_default();
            let results = results.windows(13).filter(|bytes| *bytes == br#""role":"tool""#).count();
            read.drain(..length);
            if results < RESULTS {
                let call = format!(
                    r#"{{"role":"assistant","content":null,"tool_calls":[{{"index":0,"id":"call_{results}","type":"function","function":{{"name":"lookup","arguments":"{{\"query\":\"{results}\"}}"}}}}]}}"#
                );
                answer(&mut connection, &call, "tool_calls", "keep-alive");
            } else if self.withholds.load(Ordering::Relaxed) {
                self.withheld.fetch_add(1, Ordering::Relaxed);
            } else {
                answer(&mut connection, r#"{"role":"assistant","content":"All is found."}"#, "stop", "close");
            }
        }
    }
}

/// The length of the next request, once it is read.
fn request(connection: &mut TcpStream, read: &mut Vec<u8>) -> Option<usize> {
    let mut buffer = [0; 4096];
    loop {
        let head = read.windows(4).position(|bytes| bytes == b"\r\n\r\n").map(|end| end + 4);
        if let Some(head) = head {
            let text = String::from_utf8_lossy(read.get(..head)?).to_ascii_lowercase();
            let body: usize = text.split("content-length: ").nth(1)?.lines().next()?.trim().parse().ok()?;
            if read.len() >= head + body {
                return Some(head + body);
            }
        }
        let count = connection.read(&mut buffer).ok().filter(|count| *count > 0)?;
        read.extend_from_slice(buffer.get(..count)?);
    }
}

fn answer(connection: &mut TcpStream, delta: &str, reason: &str, connected: &str) {
    let chunk = |delta: &str, reason: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o-mini\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
        )
    };
    let body =
        [chunk(delta, "null"), chunk("{}", &format!("\"{reason}\"")), "data: [DONE]\n\n".to_owned()].concat();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: {connected}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // A client that has left is no failure.
    let _ = connection.write_all(&[head.as_bytes(), body.as_bytes()].concat());
}
