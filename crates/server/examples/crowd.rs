//! Many viewers and many runs at once on one server: what each of them takes, and how fast the first token comes through.
//! `cargo build --release -p attache-server --examples`, then `target/release/examples/crowd [VIEWERS] [RUNS]`.
//!
//! The server is the example `serve` with sessions in SQLite, in a process of its own; the model's API and all clients are
//! in this one, so that one clock tells both ends of a token's way. Linux alone tells the memory of a process so exactly.

#![allow(clippy::print_stdout, reason = "its results are what it is for")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that breaks has no result"
)]
#![allow(clippy::indexing_slicing, reason = "it sorts what it measured")]

use std::collections::HashMap;
use std::env;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The runs that say nothing, to which the idle viewers look.
const SILENT: usize = 20;
/// The time between two deltas of a run, and how many there are.
const GAP: Duration = Duration::from_millis(250);
const DELTAS: usize = 60;
/// The time over which runs begin.
const RAMP: Duration = Duration::from_secs(8);

/// When the model said its first token, by the number of the run.
type Said = Arc<Mutex<HashMap<usize, Instant>>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let mut arguments = env::args().skip(1).map(|count| count.parse::<usize>().expect("a number"));
    let (viewers, runs) = (arguments.next().unwrap_or(2_000), arguments.next().unwrap_or(500));
    let said = Said::default();
    let api = api(Arc::clone(&said)).await;

    let direct = latencies(active(api, "/v1/chat/completions", runs, &said, None).await);
    println!("first token without a server: {}", told(&direct));

    let folder = env::temp_dir().join(format!("attache-crowd-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = env::current_exe().unwrap().with_file_name("serve");
    let mut server = Command::new(program)
        .args(["0", &format!("http://127.0.0.1:{api}/v1")])
        .arg(folder.join("sessions.db"))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the example `serve` beside this one");
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    let port: u16 = line.trim().strip_prefix("ready ").unwrap().parse().unwrap();
    let process = server.id().unwrap();

    // The first ones set up what all share.
    active(port, "/v1/chat/completions", 20, &said, Some("warm")).await;
    let mut silent = Vec::new();
    for at in 0..SILENT {
        let body = format!(r#"{{"message":"silent {at}","onDisconnect":"detach"}}"#);
        let path = format!("/v1/sessions/silent{at}/runs");
        let mut stream = asked(port, "POST", &path, &body).await;
        let told = read_until(&mut stream, "\"runId\":\"").await;
        silent.push(told.split("\"runId\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned());
    }
    sleep(Duration::from_secs(1)).await;
    let at_rest = memory(process);
    let mut looking = Vec::new();
    for at in 0..viewers {
        let mut stream = asked(port, "GET", &format!("/v1/runs/{}/events", silent[at % SILENT]), "").await;
        read_until(&mut stream, "snapshot").await;
        looking.push(stream);
    }
    sleep(Duration::from_secs(1)).await;
    let with_viewers = memory(process);
    let cpu = cpu(process);
    let most = Arc::new(Mutex::new(0.0_f64));
    let watching = tokio::spawn({
        let most = Arc::clone(&most);
        async move {
            loop {
                sleep(Duration::from_millis(200)).await;
                let now = memory(process);
                let mut most = most.lock().unwrap();
                *most = now.max(*most);
            }
        }
    });
    let began = Instant::now();
    let first = latencies(active(port, "/v1/chat/completions", runs, &said, Some("run")).await);
    watching.abort();
    let (took, used) = (began.elapsed(), self::cpu(process) - cpu);
    let most = *most.lock().unwrap();
    let kib = |bytes: f64, count: usize| bytes / count.max(1) as f64;
    println!("first token through the server: {}", told(&first));
    println!("at rest: {:.1} MiB", at_rest / 1024.0);
    println!("an idle viewer, of {viewers}: {:.1} KiB", kib(with_viewers - at_rest, viewers));
    println!("an active run with its viewer, of {runs}: {:.1} KiB", kib(most - with_viewers, runs));
    println!(
        "{} deltas in {:.1} s: {:.1} s of CPU, {:.0} µs each with the requests' share",
        runs * DELTAS,
        took.as_secs_f64(),
        used,
        used * 1e6 / (runs * DELTAS) as f64
    );
    drop(looking);
    server.kill().await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Has that many runs at once, reads them to their ends, and tells when the first text of each was read.
async fn active(port: u16, path: &str, runs: usize, said: &Said, session: Option<&str>) -> Vec<Duration> {
    said.lock().unwrap().clear();
    let mut reading = JoinSet::new();
    for at in 0..runs {
        let session =
            session.map(|name| format!(r#","attache":{{"session":"{name}{at}"}}"#)).unwrap_or_default();
        let body = format!(
            r#"{{"model":"bench","stream":true,"messages":[{{"role":"user","content":"run {at} "}}]{session}}}"#
        );
        let (path, said) = (path.to_owned(), Arc::clone(said));
        reading.spawn(async move {
            let mut stream = asked(port, "POST", &path, &body).await;
            let mut read = read_until(&mut stream, "tok").await;
            let seen = Instant::now();
            let first = said.lock().unwrap()[&at];
            let mut piece = vec![0; 4096];
            while !read.contains("[DONE]") {
                let count = stream.read(&mut piece).await.unwrap();
                assert!(count > 0, "the stream ended: {read}");
                read.push_str(&String::from_utf8_lossy(&piece[..count]));
            }
            assert_eq!(read.matches("tok").count(), DELTAS, "a delta is lost");
            seen.saturating_duration_since(first)
        });
        sleep(RAMP / u32::try_from(runs).unwrap()).await;
    }
    timeout(Duration::from_secs(120), reading.join_all()).await.expect("the runs end")
}

async fn asked(port: u16, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await.unwrap();
    stream
}

async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut read = Vec::new();
    loop {
        let count = stream.read_buf(&mut read).await.unwrap();
        let text = String::from_utf8_lossy(&read);
        if text.contains(wanted) {
            return text.into_owned();
        }
        assert!(count > 0, "the stream ended: {text}");
    }
}

fn latencies(mut latencies: Vec<Duration>) -> Vec<Duration> {
    latencies.sort();
    latencies
}

fn told(latencies: &[Duration]) -> String {
    let at = |share: usize| {
        latencies[(latencies.len() * share / 100).min(latencies.len() - 1)].as_secs_f64() * 1e3
    };
    format!("p50 {:.1} ms, p99 {:.1} ms, at most {:.1} ms", at(50), at(99), at(100))
}

/// The memory that a process has to itself, in KiB.
fn memory(process: u32) -> f64 {
    let told = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
    let line = told.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// The seconds of CPU that the threads of a process took.
fn cpu(process: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let told = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        told.split(' ').next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// An API of a model on a port. It says nothing to `silent`; else it says its first token after a while.
async fn api(said: Said) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let said = Arc::clone(&said);
            tokio::spawn(async move {
                // A client that leaves is no failure.
                let _ = answer(stream, &said).await;
            });
        }
    });
    port
}

async fn answer(mut stream: TcpStream, said: &Said) -> std::io::Result<()> {
    let mut read = Vec::new();
    loop {
        let (head, length) = loop {
            let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
            let head = text.find("\r\n\r\n").map(|end| end + 4);
            let length = text
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.lines().next()?.trim().parse::<usize>().ok());
            match (head, length) {
                (Some(head), Some(length)) if read.len() >= head + length => break (head, length),
                _ if stream.read_buf(&mut read).await? == 0 => return Ok(()),
                _ => {}
            }
        };
        let body = String::from_utf8_lossy(&read[head..head + length]).into_owned();
        read.drain(..head + length);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        let Some(run) = body.split("run ").nth(1) else {
            // It never says anything.
            let _ = stream.read_buf(&mut read).await?;
            return Ok(());
        };
        let run: usize = run.split(' ').next().and_then(|number| number.parse().ok()).unwrap();
        sleep(Duration::from_millis(500)).await;
        for at in 0..DELTAS {
            if at == 0 {
                said.lock().unwrap().insert(run, Instant::now());
            } else {
                sleep(GAP).await;
            }
            event(&mut stream, r#"{"content":"tok "}"#, "null").await?;
        }
        event(&mut stream, "{}", "\"stop\"").await?;
        stream.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n").await?;
    }
}

async fn event(stream: &mut TcpStream, delta: &str, reason: &str) -> std::io::Result<()> {
    let data = format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
    );
    stream.write_all(format!("{:x}\r\n{data}\r\n", data.len()).as_bytes()).await
}
