//! nginx in front of the server, with the configuration of the guide, and a copy of the data as the guide makes it.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use attache_conformance::{MockProvider, Reply};
use serde_json::{Value, json};

use super::{Served, attache, client, curl, key};

/// nginx, with the server block of the guide in front of a server.
struct Nginx {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

/// A port that nobody has.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Nginx {
    fn before(served: &Served) -> Self {
        let program = Path::new("/usr/sbin/nginx");
        assert!(program.exists(), "nginx is not here: cargo xtask counterparts installs it");
        let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy/nginx.conf");
        let guide = std::fs::read_to_string(guide).unwrap();
        let port = port();
        // No certificate, another port, another address: the rest is the guide's, word by word.
        let block: String = guide
            .lines()
            .filter(|line| !line.contains("ssl_certificate"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            .replace("listen 443 ssl;", &format!("listen 127.0.0.1:{port};"))
            .replace("http://127.0.0.1:8080", &served.address);
        assert!(block.contains(&served.address) && block.contains(&port.to_string()), "{block}");
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {place}/{kind};\n"))
            .concat();
        let whole = format!(
            "daemon off;\nmaster_process off;\npid {place}/pid;\nerror_log stderr;\nevents {{}}\n\
             http {{\naccess_log off;\n{temporary}{block}}}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, whole).unwrap();
        let child = Command::new(program)
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "nginx does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, address: format!("http://127.0.0.1:{port}"), _folder: folder }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// A62, A67: behind a reverse proxy events come one by one, the path stays, and a client that leaves hangs up the model.
#[tokio::test(flavor = "multi_thread")]
async fn behind_nginx_events_come_one_by_one_and_a_client_that_leaves_hangs_up_the_model() {
    let model = MockProvider::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let secret = key(home.path(), &["ann"]);
    let file = home.path().join("served.toml");
    std::fs::write(&file, "[server]\nbase_path = '/agents'\n").unwrap();
    let url = format!("{}/v1", model.url());
    let config = file.to_str().unwrap().to_owned();
    let served =
        Served::start_in(home, &["-m", "openai-chat/gpt-4o", "--base-url", &url, "--config", &config]);
    let nginx = Nginx::before(&served);
    let bearer = format!("Authorization: Bearer {secret}");
    let at = |path: &str| format!("{}/agents{path}", nginx.address);
    assert_eq!(curl(&at("/v1/health"), &[]).0, 200);
    assert_eq!(
        curl(&format!("{}/v1/health", nginx.address), &[]).0,
        404,
        "the path is a part of all addresses"
    );
    assert_eq!(curl(&at("/v1/models"), &[]).0, 401);
    let (status, page) = curl(&at("/"), &["-H", &bearer]);
    assert!(status == 200 && page.contains("<attache-chat") && page.contains("/agents"), "{status} {page}");
    let ask = || {
        let body =
            json!({"model": "attache", "stream": true, "messages": [{"role": "user", "content": "Count"}]});
        let mut command = client("curl");
        command.args(["-sN", "--max-time", "60", "-H", &bearer, "-H", "Content-Type: application/json"]);
        command.arg("-d").arg(body.to_string()).arg(at("/v1/chat/completions")).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    // The first piece is there long before the last one is said.
    let pieces = (0..40).map(|at| format!("piece{at} "));
    model.enqueue(Reply::new().text_pieces(pieces).delay_between(Duration::from_millis(50)));
    let mut child = ask();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut times = Vec::new();
    for line in lines.map_while(Result::ok) {
        if line.contains("piece") {
            times.push(Instant::now());
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(times.len(), 40);
    let apart = times[39].duration_since(times[0]);
    assert!(apart > Duration::from_millis(1_200), "the proxy gathers: {apart:?}");
    let pieces = (0..4_000).map(|at| format!("piece{at} "));
    model.enqueue(Reply::new().text_pieces(pieces).delay_between(Duration::from_millis(20)));
    let mut child = ask();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains("piece3 ") {}
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        model.wait_for_disconnect(Duration::from_secs(5)).await.is_some(),
        "the model is still listened to"
    );
    // An upload larger than nginx takes by itself, and one that is larger than the guide lets through.
    let folder = tempfile::tempdir().unwrap();
    let upload = |bytes: usize| {
        let file = folder.path().join("large.txt");
        std::fs::write(&file, "x".repeat(bytes)).unwrap();
        let data = format!("@{}", file.display());
        curl(
            &at("/v1/documents?name=large.txt"),
            &["-H", &bearer, "-H", "Content-Type: text/plain", "--data-binary", &data],
        )
        .0
    };
    assert!(matches!(upload(3 << 20), 200 | 201));
    assert_eq!(upload(65 << 20), 413);
}

// The table of the guide: sessions by the copy that SQLite makes while the server writes, then the folder of documents.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_was_made_while_the_server_ran_is_a_server_with_the_same_conversations() {
    let model = MockProvider::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let secret = key(home.path(), &["ann"]);
    let url = format!("{}/v1", model.url());
    let arguments = ["-m", "openai-chat/gpt-4o", "--base-url", &url];
    let served = Served::start_in(home, &arguments);
    let bearer = format!("Authorization: Bearer {secret}");
    let ask = |served: &Served, path: &str, more: &[&str]| {
        curl(&format!("{}{path}", served.address), &[&["-H", &bearer], more].concat())
    };
    let (status, told) = ask(
        &served,
        "/v1/documents?name=lease.txt",
        &["-H", "Content-Type: text/plain", "-d", "The rent is 900."],
    );
    assert!(matches!(status, 200 | 201), "{told}");
    let document = serde_json::from_str::<Value>(&told).unwrap()["id"].as_str().unwrap().to_owned();
    model.enqueue(Reply::new().text("900, says the lease."));
    let turn = json!({"message": "The rent?", "documents": [document]}).to_string();
    let json_kind = ["-H", "Content-Type: application/json", "-d", &turn];
    let (status, told) = ask(&served, "/v1/sessions/kept/runs", &json_kind);
    assert_eq!(status, 202, "{told}");
    let begun = Instant::now();
    while !ask(&served, "/v1/sessions/kept", &[]).1.contains("900, says the lease.") {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(50));
    }
    // Another answer is under way while the copy is made.
    let pieces = (0..2_000).map(|at| format!("{at} "));
    model.enqueue(Reply::new().text_pieces(pieces).delay_between(Duration::from_millis(20)));
    let busy = json!({"message": "Count"}).to_string();
    assert_eq!(
        ask(&served, "/v1/sessions/busy/runs", &["-H", "Content-Type: application/json", "-d", &busy]).0,
        202
    );
    let copy = tempfile::tempdir().unwrap();
    let from = served.home.path();
    let script =
        "import sqlite3, sys; a = sqlite3.connect(sys.argv[1]); a.backup(sqlite3.connect(sys.argv[2]))";
    // The way of `.backup`, by the same function of SQLite.
    let made = Command::new("python3")
        .args(["-c", script])
        .arg(from.join("sessions.db"))
        .arg(copy.path().join("sessions.db"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let copied = Command::new("cp")
        .arg("-r")
        .arg(from.join("documents"))
        .arg(from.join("keys.json"))
        .arg(copy.path())
        .status();
    assert!(copied.unwrap().success());
    drop(served);
    let restored = Served::start_in(copy, &arguments);
    let (status, told) = ask(&restored, "/v1/sessions/kept", &[]);
    assert!(status == 200 && told.contains("900, says the lease.") && told.contains("The rent?"), "{told}");
    let (status, text) = ask(&restored, &format!("/v1/sessions/kept/documents/{document}"), &[]);
    assert_eq!((status, text.as_str()), (200, "The rent is 900."));
    model.enqueue(Reply::new().text("Still 900."));
    let turn = json!({"message": "And now?"}).to_string();
    assert_eq!(
        ask(&restored, "/v1/sessions/kept/runs", &["-H", "Content-Type: application/json", "-d", &turn]).0,
        202
    );
    let begun = Instant::now();
    while !ask(&restored, "/v1/sessions/kept", &[]).1.contains("Still 900.") {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", restored.log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

// The container of the guide has a user of its own, and may have a root that nobody writes: all is written below its data.
#[test]
fn nothing_is_written_beside_the_data_and_no_home_is_needed() {
    let home = tempfile::tempdir().unwrap();
    let (data, elsewhere) = (home.path().join("data"), home.path().join("elsewhere"));
    std::fs::create_dir(&data).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("lease.txt"), "The rent is 900.").unwrap();
    let mut keys = attache(&data);
    let output = keys.current_dir(&elsewhere).args(["keys", "add", "ann"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut command = attache(&data);
    // As of the container file, with a port that is free.
    command.current_dir(&elsewhere).args([
        "serve",
        "--host",
        "0.0.0.0",
        "--port",
        "0",
        "--log-format",
        "json",
    ]);
    let mut child = command.arg(&elsewhere).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines.by_ref().map_while(Result::ok).find(|line| line.contains("\"serving\""));
    let address =
        serde_json::from_str::<Value>(&told.unwrap()).unwrap()["address"].as_str().unwrap().to_owned();
    let status = curl(&format!("http://{}/v1/health/ready", address.replace("0.0.0.0", "127.0.0.1")), &[]).0;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(status, 200);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1);
    assert!(data.join("sessions.db").exists() && data.join("keys.json").exists());
}
