//! Many clients that leave at once, and those that do not read.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use attache_agent::{Agent, Sessions};
use attache_server::{Principal, Scope, Server, ServerLimits};
use attache_testkit::Turn;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::common::{Long, Stage, data, sessions};
use crate::sockets::{head, request};

/// The clients of a storm.
const CLIENTS: usize = 200;

/// The time in which what is left behind must be gone. Nothing waits for its end where it is gone before.
const PATIENCE: Duration = Duration::from_secs(20);

/// Listens, with the tasks that the server has for itself begun.
async fn served(sessions: Sessions, limits: ServerLimits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let all = [Scope::Run, Scope::Read, Scope::Metrics];
    let ann = move |_| std::future::ready(Some(Principal::new("ann").with_scopes(all)));
    let server = Server::new("papers", sessions).authenticate(ann).limits(limits);
    tokio::spawn(server.serve(listener, std::future::pending()));
    request(address, "GET", "/v1/health", "").await;
    address
}

/// Waits until it is so.
async fn comes(what: &str, is_so: impl AsyncFn() -> bool) {
    let coming = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(PATIENCE, coming).await.is_ok(), "{what}");
}

/// The value of a gauge.
async fn gauge(address: SocketAddr, name: &str) -> usize {
    let (_, told) = request(address, "GET", "/metrics", "").await;
    let value = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap().trim().parse().unwrap()
}

/// The connections at a port that somebody on this machine still has a handle of, without the one that listens.
#[cfg(target_os = "linux")]
fn handles(address: SocketAddr) -> usize {
    let at = format!("0100007F:{:04X}", address.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let fields = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    // The address here, its state (0A listens), and the file.
    fields.filter(|fields| fields[1] == at && fields[3] != "0A" && fields[9] != "0").count()
}

#[cfg(not(target_os = "linux"))]
fn handles(_: SocketAddr) -> usize {
    0
}

async fn ask(address: SocketAddr, path: &str, body: &Value) -> TcpStream {
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(head("POST", path, &body.to_string(), "").as_bytes()).await.unwrap();
    client
}

async fn read_until(client: &mut TcpStream, wanted: &str) -> String {
    let mut read = Vec::new();
    loop {
        let count = client.read_buf(&mut read).await.unwrap();
        let told = String::from_utf8_lossy(&read);
        if told.contains(wanted) {
            return told.into_owned();
        }
        assert!(count > 0, "the connection ended: {told}");
    }
}

// A62, A63: in mid-stream, before the first delta, and while a whole answer is made.
#[tokio::test]
async fn two_hundred_clients_that_leave_at_once_leave_nothing_behind() {
    for (turn, stream, wait_for) in [
        (Turn::text("Half of it").then_hang(), true, Some("Half")),
        (Turn::empty().then_hang(), true, None),
        (Turn::text("Half of it").then_hang(), false, None),
    ] {
        let stage = Stage::new(std::iter::repeat_n(turn, CLIENTS));
        let sessions = sessions(Agent::builder(stage.clone()));
        let mut limits = ServerLimits::default();
        limits.runs = CLIENTS;
        let address = served(sessions.clone(), limits).await;
        comes("the server is at rest", async || handles(address) == 0).await;
        let at_rest = Handle::current().metrics().num_alive_tasks();
        let mut clients = Vec::new();
        for at in 0..CLIENTS {
            // Half of them have a session, whose lease somebody else must get.
            let session = (at % 2 == 0).then(|| format!("s{at}"));
            let body = json!({
                "model": "papers",
                "stream": stream,
                "messages": [{"role": "user", "content": "?"}],
                "attache": {"session": session},
            });
            clients.push(ask(address, "/v1/chat/completions", &body).await);
        }
        if let Some(wait_for) = wait_for {
            for client in &mut clients {
                read_until(client, wait_for).await;
            }
        }
        comes("all runs are under way", async || stage.heard() == CLIENTS).await;
        drop(clients);
        comes("the model is still listened to", async || stage.heard() == 0).await;
        comes("runs are left", async || gauge(address, "attache_runs").await == 0).await;
        assert_eq!(gauge(address, "attache_viewers").await, 0);
        comes("connections are left", async || handles(address) == 0).await;
        let alive = || Handle::current().metrics().num_alive_tasks();
        comes("tasks are left", async || alive() <= at_rest).await;
        // Their runs have come to their ends, and nobody has to wait for a lease.
        let left = sessions.list("ann").await.unwrap();
        assert_eq!(left.len(), CLIENTS / 2);
        assert!(left.iter().all(|session| session.open_run.is_none()), "{left:?}");
    }
}

/// A connection whose client takes little before it reads.
async fn narrow(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(address).await.unwrap()
}

// A86: a run ends however little its viewers read, what is kept for them is bounded, and none of them misses anything.
#[tokio::test]
async fn viewers_that_do_not_read_hold_up_no_run_and_miss_nothing() {
    const VIEWERS: usize = 20;
    const PIECES: usize = 20_000;
    let sessions = sessions(Agent::builder(Long(PIECES)));
    let mut limits = ServerLimits::default();
    limits.ring_bytes = 64 << 10;
    let address = served(sessions, limits).await;
    let mut first = narrow(address).await;
    let body = json!({"message": "Count.", "sessionId": "s", "onDisconnect": "detach"}).to_string();
    first.write_all(head("POST", "/v1/chat/stream", &body, "").as_bytes()).await.unwrap();
    let begin = read_until(&mut first, "\"taskId\":\"").await;
    let run = begin.split("\"taskId\":\"").nth(1).unwrap().split('"').next().unwrap();
    let mut viewers = Vec::new();
    for _ in 0..VIEWERS {
        let mut viewer = narrow(address).await;
        // Without chunks.
        let asked = format!("GET /v1/runs/{run}/events HTTP/1.0\r\nHost: localhost\r\n\r\n");
        viewer.write_all(asked.as_bytes()).await.unwrap();
        viewers.push(viewer);
    }
    comes("the run is held up", async || gauge(address, "attache_runs").await == 0).await;
    let whole: String = (0..PIECES).map(|at| format!("{at:07} ")).collect();
    // The newest entry is always kept, and the end has the text.
    assert!(gauge(address, "attache_ring_bytes").await <= (64 << 10) + whole.len());
    for mut viewer in viewers {
        let mut told = String::new();
        timeout(PATIENCE, viewer.read_to_string(&mut told)).await.unwrap().unwrap();
        let mut text = String::new();
        let events = data(&told);
        for event in &events {
            match event["type"].as_str().unwrap() {
                "snapshot" => text = event["blocks"][0]["text"].as_str().unwrap_or_default().to_owned(),
                "text" => text += event["delta"].as_str().unwrap(),
                _ => {}
            }
        }
        assert!(text == whole, "{} of {} bytes", text.len(), whole.len());
        assert!(events.len() < PIECES, "it was told {} events, so it never stood still", events.len());
    }
}

// A document takes room from before it is read until its client has taken it, and no longer.
#[tokio::test]
async fn documents_on_their_way_out_are_bounded_in_all() {
    // Much more than the system takes of one.
    const SIZE: usize = 16 << 20;
    let mut limits = ServerLimits::default();
    (limits.upload, limits.body, limits.bodies) = (SIZE, SIZE, 4 * SIZE);
    let address = served(sessions(Agent::builder(Stage::new([]))), limits).await;
    let (_, told) = request(address, "POST", "/v1/documents", &"x".repeat(SIZE)).await;
    let id = told.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let path = format!("/v1/documents/{id}");
    let mut slow = Vec::new();
    // One principal has half of it.
    for _ in 0..2 {
        let mut client = narrow(address).await;
        client.write_all(head("GET", &path, "", "").as_bytes()).await.unwrap();
        read_until(&mut client, "200 OK").await;
        slow.push(client);
    }
    let (refused, _) = request(address, "GET", &path, "").await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    let (_, told) = request(address, "GET", "/metrics", "").await;
    assert!(told.contains("attache_limited_total{limit=\"documents\"} 1"), "{told}");
    drop(slow);
    let again = async || request(address, "GET", &path, "").await.0.starts_with("HTTP/1.1 200");
    comes("the room is not free again", again).await;
}

// A87: the model says one piece and holds the others back, so that nothing behind it can push it out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_piece_reaches_a_client_within_50_ms_and_waits_for_nothing_behind_it() {
    let mut best = Duration::MAX;
    // A busy machine is late now and then. One that is always late waits for something.
    for _ in 0..10 {
        let stage = Stage::new([Turn::text("Zebra and more.")]).held();
        let address = served(sessions(Agent::builder(stage.clone())), ServerLimits::default()).await;
        let question = json!([{"role": "user", "content": "?"}]);
        let body =
            json!({"model": "papers", "stream": true, "messages": question, "attache": {"session": "s"}});
        let mut client = ask(address, "/v1/chat/completions", &body).await;
        stage.asked().await;
        let said = Instant::now();
        stage.let_out(1);
        read_until(&mut client, "Zebra").await;
        best = best.min(said.elapsed());
        if best < Duration::from_millis(50) {
            return;
        }
    }
    panic!("the first piece took {best:?}");
}
