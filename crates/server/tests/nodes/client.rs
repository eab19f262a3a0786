//! A client that loses its connection and comes back.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than anything takes here.
const TIME: Duration = Duration::from_secs(60);

fn send(address: SocketAddr, method: &str, path: &str, more: &str, body: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(TIME))?;
    // An answer to this version ends with its connection.
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\nX-User: ann\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    Ok(stream)
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the answer was cut")
}

/// Asks, and yields the status and the body.
pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<(u16, Value)> {
    let mut read = String::new();
    send(address, method, path, "", body)?.read_to_string(&mut read)?;
    let (head, body) = read.split_once("\r\n\r\n").ok_or_else(cut)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
    Ok((status, serde_json::from_str(body).map_err(|_| cut())?))
}

/// Starts a run, and yields its id.
pub(crate) fn start(address: SocketAddr, session: &str, body: &Value) -> io::Result<String> {
    let (status, told) = ask(address, "POST", &format!("/v1/sessions/{session}/runs"), &body.to_string())?;
    assert_eq!(status, 202, "{told}");
    Ok(told["runId"].as_str().unwrap().to_owned())
}

/// A call as a client knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) state: String,
    pub(crate) is_finished: bool,
}

/// A client's knowledge of a run: the snapshot, and the events behind it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) run: String,
    /// The id of the last event.
    last: Option<String>,
    /// The texts of steps.
    pub(crate) texts: BTreeMap<u64, String>,
    pub(crate) calls: BTreeMap<String, Call>,
    /// The approvals that nobody has decided about.
    pub(crate) approvals: Vec<String>,
    pub(crate) end: Option<Value>,
    /// The kinds of events in their order.
    pub(crate) kinds: Vec<String>,
    pub(crate) connections: u32,
}

impl Watch {
    pub(crate) fn new(run: &str) -> Self {
        Self { run: run.to_owned(), ..Self::default() }
    }

    /// All text.
    pub(crate) fn text(&self) -> String {
        self.texts.values().map(String::as_str).collect()
    }

    /// Looks on until `done`, or the connection is lost. False in that case.
    pub(crate) fn look(
        &mut self,
        address: SocketAddr,
        mut done: impl FnMut(&Self) -> bool,
    ) -> io::Result<bool> {
        let more = self.last.as_ref().map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        let stream = send(address, "GET", &format!("/v1/runs/{}/events", self.run), &more, "")?;
        self.connections += 1;
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        lines.read_line(&mut line)?;
        let status: u16 = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
        assert_eq!(status, 200, "{}: {line}", self.run);
        while line.trim_end() != "" {
            line.clear();
            if lines.read_line(&mut line)? == 0 {
                return Err(cut());
            }
        }
        let (mut id, mut data) = (None, None);
        loop {
            line.clear();
            if lines.read_line(&mut line)? == 0 || !line.ends_with('\n') {
                return Ok(false);
            }
            let text = line.trim_end_matches('\n');
            if let Some(text) = text.strip_prefix("id: ") {
                id = Some(text.to_owned());
            } else if let Some(text) = text.strip_prefix("data: ") {
                data = Some(text.to_owned());
            } else if text.is_empty()
                && let Some(data) = data.take()
            {
                self.take(id.take(), &serde_json::from_str(&data).unwrap());
                if done(self) {
                    return Ok(true);
                }
            }
        }
    }

    /// Looks on at whatever address there is, until `done`.
    pub(crate) fn follow(
        &mut self,
        mut address: impl FnMut() -> SocketAddr,
        mut done: impl FnMut(&Self) -> bool,
    ) {
        let until = Instant::now() + TIME;
        while !self.look(address(), &mut done).unwrap_or(false) {
            assert!(Instant::now() < until, "the run does not come that far: {self:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn take(&mut self, id: Option<String>, event: &Value) {
        let kind = event["type"].as_str().unwrap().to_owned();
        let id = id.expect("each event has an id");
        let (epoch, number) = id.rsplit_once('.').unwrap();
        let number: u64 = number.parse().unwrap();
        if let Some((before, last)) = self.last.as_deref().and_then(|last| last.rsplit_once('.')) {
            let last: u64 = last.parse().unwrap();
            if kind != "snapshot" {
                assert_eq!(
                    before, epoch,
                    "another drive of the run begins with a snapshot: {:?}",
                    self.kinds
                );
                assert!(number > last, "the event {number} came behind {last}");
            }
        }
        self.last = Some(id.clone());
        let step = event["step"].as_u64().unwrap_or_default();
        match kind.as_str() {
            "snapshot" => self.snapshot(event),
            "text" => {
                self.texts.entry(step).or_default().push_str(event["delta"].as_str().unwrap());
            }
            "tool_calls" => {
                for call in event["calls"].as_array().unwrap() {
                    let id = call["callId"].as_str().unwrap();
                    let known = self.calls.insert(id.to_owned(), Call::default());
                    assert!(known.is_none(), "the call {id} was made twice: {:?}", self.kinds);
                }
            }
            "frontend_call" => self.call(event, |call| call.state = "frontend".to_owned()),
            "tool_finished" => self.call(event, |call| {
                assert!(!call.is_finished, "a call came to its end twice");
                call.is_finished = true;
            }),
            "approval_requested" => {
                let id = event["approvalId"].as_str().unwrap().to_owned();
                if !self.approvals.contains(&id) {
                    self.approvals.push(id);
                }
            }
            "approval_decided" => self.approvals.retain(|id| *id != event["approvalId"]),
            "finished" | "failed" => self.end = Some(event.clone()),
            _ => {}
        }
        self.kinds.push(kind);
    }

    fn call(&mut self, event: &Value, change: impl FnOnce(&mut Call)) {
        let id = event["callId"].as_str().unwrap();
        change(self.calls.get_mut(id).unwrap_or_else(|| panic!("nobody made the call {id}")));
    }

    fn snapshot(&mut self, event: &Value) {
        self.texts.clear();
        self.calls.clear();
        for block in event["blocks"].as_array().unwrap() {
            match block["type"].as_str().unwrap() {
                "text" => {
                    let step = block["step"].as_u64().unwrap();
                    self.texts.entry(step).or_default().push_str(block["text"].as_str().unwrap());
                }
                "call" => {
                    let state = block["state"].as_str().unwrap().to_owned();
                    // One that the model writes is told once it is made.
                    if state != "writing" {
                        let is_finished = state == "finished";
                        let id = block["callId"].as_str().unwrap().to_owned();
                        let known = self.calls.insert(id, Call { state, is_finished });
                        assert!(known.is_none(), "a call stands twice in a snapshot: {event}");
                    }
                }
                _ => {}
            }
        }
        let approvals = event["approvals"].as_array().unwrap().iter();
        self.approvals = approvals.map(|asked| asked["approvalId"].as_str().unwrap().to_owned()).collect();
        if !event["end"].is_null() && event["end"]["type"] != "interrupted" {
            self.end = Some(event["end"].clone());
        }
    }
}
