//! `attache serve` as a process, and the official SDK of OpenAI in Python as its client. Its model is a server that
//! judges each request as strictly as OpenAI does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]
#![cfg(all(unix, feature = "server"))]

mod newcomer;
#[cfg(feature = "otlp")]
mod otlp;
mod proxy;

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use attache_conformance::{MockProvider, Reply};
use serde_json::{Value, json};

/// The server.
struct Served {
    child: Child,
    home: tempfile::TempDir,
    address: String,
    log: Arc<Mutex<String>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

/// The command in an environment of its own, with its data in that folder.
fn attache(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    command.current_dir(root).stdin(Stdio::null()).env_clear().env("ATTACHE_HOME", home);
    command
}

/// A client on the same machine, wherever a proxy of the environment leads.
fn client(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    command
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), arguments)
    }

    /// Starts it, and waits until it says where it is.
    fn start_in(home: tempfile::TempDir, arguments: &[&str]) -> Self {
        Self::start_with(home, arguments, &[])
    }

    /// The same with those variables.
    fn start_with(home: tempfile::TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = attache(home.path());
        command.envs(variables.iter().copied());
        command.args(["serve", "--port", "0", "--log-format", "json", "docs/examples/inbox"]).args(arguments);
        let mut child = command.env("OPENAI_API_KEY", "sk-test").stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut address = String::new();
        let mut before = String::new();
        while address.is_empty() {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the server ended");
            let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if told["message"] == "serving" {
                address = format!("http://{}", told["address"].as_str().unwrap());
            }
            before.push_str(&line);
        }
        let log = Arc::new(Mutex::new(before));
        let kept = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Self { child, home, address, log, reader: Some(reader) }
    }

    fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// A server whose model is that one.
    fn over(model: &MockProvider, arguments: &[&str]) -> Self {
        let url = format!("{}/v1", model.url());
        Self::start(&[&["-m", "openai-chat/gpt-4o", "--base-url", &url], arguments].concat())
    }

    fn ask(&self, arguments: &[&str]) -> Value {
        let output = self.asking(arguments).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The client in Python.
    fn asking(&self, arguments: &[&str]) -> Command {
        let (what, rest) = arguments.split_first().unwrap();
        let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python/sdks/bin/python");
        assert!(
            python.exists(),
            "the packages of tests/real/sdks.txt are not installed: cargo xtask counterparts"
        );
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real/served_client.py");
        let mut command = client(python);
        command.arg(script).arg(what).arg(&self.address).args(rest).env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdout(Stdio::piped());
        command
    }

    /// Tells it to end, as a supervisor does.
    fn terminate(&self) {
        let status = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end: a minute at most. Yields what it logged.
    fn ended(&mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.reader.take().unwrap().join().unwrap();
                return (status, self.log());
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a key, and yields its secret.
fn key(home: &Path, arguments: &[&str]) -> String {
    let output = attache(home).args(["keys", "add"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

// A64
#[tokio::test(flavor = "multi_thread")]
async fn the_sdk_of_openai_asks_and_streams_and_has_its_tools_called() {
    let model = MockProvider::start().await.unwrap();
    let served = Served::over(&model, &[]);
    assert_eq!(served.ask(&["models"]), json!({"models": ["attache"]}));
    model.enqueue(Reply::new().text("The rent is 900."));
    let whole = served.ask(&["whole"]);
    assert_eq!((&whole["text"], &whole["reason"]), (&json!("The rent is 900."), &json!("stop")));
    model.enqueue(Reply::new().text_pieces(["The rent ", "is 900."]));
    let streamed = served.ask(&["stream"]);
    assert_eq!((&streamed["text"], &streamed["reasons"]), (&json!("The rent is 900."), &json!(["stop"])));
    assert_eq!(streamed["tokens"].as_array().unwrap().len(), 1);
    model.enqueue(Reply::new().call("call_1", "open_page", json!({"page": 2})));
    model.enqueue(Reply::new().text("It is open."));
    let called = served.ask(&["tools"]);
    let wanted =
        json!({"reason": "tool_calls", "name": "open_page", "arguments": {"page": 2}, "text": "It is open."});
    assert_eq!(called, wanted);
    assert_eq!(model.violations(), []);
}

// A38, A64
#[tokio::test(flavor = "multi_thread")]
async fn documents_reach_the_model_and_a_session_goes_on() {
    let model = MockProvider::start().await.unwrap();
    let served = Served::over(&model, &[]);
    let lease = served.home.path().join("lease.txt");
    std::fs::write(&lease, "The rent is 900 a month.").unwrap();
    model.enqueue(Reply::new().text("900."));
    assert_eq!(served.ask(&["document", "none", lease.to_str().unwrap()]), json!({"text": "900."}));
    assert!(model.requests()[0].json().to_string().contains("The rent is 900 a month."));
    model.enqueue(Reply::new().text("900."));
    model.enqueue(Reply::new().text("1800."));
    assert_eq!(served.ask(&["session"]), json!({"session": "talk", "text": "1800."}));
    let last = model.requests().pop().unwrap().json().to_string();
    assert!(last.contains("What is the rent?") && last.contains("And the deposit?"), "{last}");
}

// A64
#[tokio::test(flavor = "multi_thread")]
async fn failures_are_the_errors_of_the_sdk() {
    let model = MockProvider::start().await.unwrap();
    let served = Served::over(&model, &[]);
    model.respond_with(|_| Reply::error(400, "the prompt is refused"));
    let told = served.ask(&["errors"]);
    assert_eq!(told["model"], json!(["NotFoundError", 404, "model_not_found"]));
    assert_eq!(told["choices"], json!(["BadRequestError", 400, "unsupported_parameter"]));
    assert_eq!((&told["provider"][0], &told["provider"][1]), (&json!("BadRequestError"), &json!(400)));
}

// A62
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_hangs_up_the_model() {
    let model = MockProvider::start().await.unwrap();
    let served = Served::over(&model, &[]);
    let pieces = (0..2000).map(|at| format!("{at} "));
    model.enqueue(Reply::new().text_pieces(pieces).delay_between(Duration::from_millis(20)));
    assert_eq!(served.ask(&["leave"]), json!({"left": true}));
    assert!(
        model.wait_for_disconnect(Duration::from_secs(5)).await.is_some(),
        "the model is still listened to"
    );
}

#[test]
fn keys_are_taken_and_refused_while_the_server_runs() {
    let home = tempfile::tempdir().unwrap();
    let ann = key(home.path(), &["ann"]);
    let reader = key(home.path(), &["bob", "--scope", "read"]);
    let served = Served::start_in(home, &[]);
    let status = |arguments: &[&str]| served.asking(arguments).stderr(Stdio::piped()).output().unwrap();
    let refused = |arguments: &[&str], error: &str| {
        let output = status(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(error), "{error}: {said}");
    };
    assert_eq!(served.ask(&["models", &ann]), json!({"models": ["attache"]}));
    assert_eq!(served.ask(&["models", &reader]), json!({"models": ["attache"]}));
    refused(&["models"], "AuthenticationError");
    refused(&["whole", &reader], "PermissionDeniedError");
    let listed = attache(served.home.path()).args(["keys", "list", "--json"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(!listed.contains(&ann));
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let file = served.home.path().join("keys.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&ann));
    let id = first["id"].as_str().unwrap();
    assert!(attache(served.home.path()).args(["keys", "remove", id]).output().unwrap().status.success());
    let begun = Instant::now();
    while status(&["models", &ann]).status.success() {
        assert!(begun.elapsed() < Duration::from_secs(30), "a key that was removed is still taken");
    }
    assert_eq!(served.ask(&["models", &reader]), json!({"models": ["attache"]}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_end_lets_answers_end() {
    let model = MockProvider::start().await.unwrap();
    let mut served = Served::over(&model, &[]);
    let pieces: Vec<String> = (0..60).map(|at| format!("{at} ")).collect();
    let text = pieces.concat();
    model.enqueue(Reply::new().text_pieces(pieces).delay_between(Duration::from_millis(20)));
    let mut client = served.asking(&["long"]).spawn().unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), r#"{"begun": true}"#);
    served.terminate();
    let told: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(told["text"], json!(text));
    assert!(client.wait().unwrap().success());
    let (status, log) = served.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    for line in log.lines() {
        let told: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(told["level"].is_string() && told["message"].is_string(), "{line}");
    }
    assert!(log.contains("the server stops"), "{log}");
}

#[test]
fn a_configuration_that_changes_is_taken_and_one_with_a_mistake_is_not() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("served.toml");
    std::fs::write(&file, "[server]\ntitle = 'One'\n").unwrap();
    let path = file.to_str().unwrap().to_owned();
    let served = Served::start_in(home, &["--config", &path]);
    let title = || {
        let url = format!("{}/v1/chat/config", served.address);
        let output = client("curl").args(["-sf", "--max-time", "10", &url]).output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["title"].clone()
    };
    let until = |wanted: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !wanted() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", served.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    assert_eq!(title(), "One");
    std::fs::write(&file, "[server]\ntitle = 'Another'\n").unwrap();
    until(&|| title() == "Another");
    std::fs::write(&file, "[server]\n\ntitel = 'Wrong'\n").unwrap();
    until(&|| served.log().contains("served.toml:3: server.titel is not known"));
    assert_eq!(title(), "Another");
    std::fs::write(&file, "[server]\ntitle = 'A third one'\n").unwrap();
    until(&|| title() == "A third one");
}

#[test]
fn what_is_wrong_with_the_options_is_said_at_once() {
    let home = tempfile::tempdir().unwrap();
    let failed = |arguments: &[&str], code: i32, message: &str| {
        let output = attache(home.path()).arg("serve").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && said.contains(message), "{:?}: {said}", output.status);
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    failed(&["--port", &port, "docs/examples/inbox"], 3, "in use already");
    failed(&["--port", "0", "docs/nowhere"], 3, "docs/nowhere: no such file or directory");
    failed(&["--port", "0", "--host", "0.0.0.0"], 3, "attache keys add");
    failed(&["--port", "70000"], 2, "70000");
    failed(&["--log", "loud=yes", "--port", "0"], 2, "--log");
}

/// Asks with curl, and yields status and body.
fn curl(url: &str, more: &[&str]) -> (u16, String) {
    let form = ["-s", "--max-time", "20", "-w", "\n%{http_code}"];
    let output = client("curl").args(form).args(more).arg(url).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = said.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}

/// A token of an issuer, by RFC 7515 and RFC 8037.
fn token(pair: &ring::signature::Ed25519KeyPair, claims: &Value) -> String {
    let text = |bytes: &[u8]| base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes);
    let header = json!({"alg": "EdDSA", "kid": "one"}).to_string();
    let signed = format!("{}.{}", text(header.as_bytes()), text(claims.to_string().as_bytes()));
    format!("{signed}.{}", text(pair.sign(signed.as_bytes()).as_ref()))
}

// The switches of `[server]`: an issuer's tokens alone guard a public address, MCP and A2A stand behind the same
// principals, and a dialect that is off is no route.
#[tokio::test(flavor = "multi_thread")]
async fn a_public_address_is_guarded_by_an_issuer_alone_and_other_protocols_by_the_same() {
    use ring::signature::{Ed25519KeyPair, KeyPair as _};
    let pair = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
    let x = base64_simd::URL_SAFE_NO_PAD.encode_to_string(pair.public_key().as_ref());
    let issuer = wiremock::MockServer::start().await;
    let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "one", "alg": "EdDSA", "x": x}]});
    wiremock::Mock::given(wiremock::matchers::path("/keys"))
        .respond_with(wiremock::ResponseTemplate::new(200).set_body_json(keys))
        .mount(&issuer)
        .await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("served.toml");
    let uri = issuer.uri();
    let text = format!(
        "[server]\nbase_path = '/agents'\npublic_url = 'https://papers.example.org'\nmcp = true\n\
         frames = ['https://portal.example.org']\n\
         [server.jwt]\nissuer = 'https://login.example.org'\naudience = ['other', 'papers']\njwks = '{uri}/keys'\n\
         scopes = 'scope'\nscope_prefix = 'papers:'\nalgorithms = ['EdDSA']\n\
         [server.dialects]\nmessages = false\n[server.limits]\nrequests_per_minute = 20\n"
    );
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap().to_owned();
    let served = Served::start_in(home, &["--config", &path, "--host", "0.0.0.0", "--a2a"]);
    let address = served.address.replace("0.0.0.0", "127.0.0.1") + "/agents";
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let bearer = |sub: &str, scope: &str| {
        let claims = json!({"iss": "https://login.example.org", "aud": "papers", "exp": now + 600, "sub": sub, "scope": scope});
        format!("Authorization: Bearer {}", token(&pair, &claims))
    };
    let ann = bearer("ann", "papers:run papers:read");
    let reader = bearer("bob", "papers:read run");
    let get = |path: &str, header: &str| curl(&format!("{address}{path}"), &["-H", header]);
    assert_eq!(get("/v1/models", "X-None: 1").0, 401);
    assert_eq!(get("/v1/models", "Authorization: Bearer a.b.c").0, 401);
    assert_eq!(get("/v1/models", &ann).0, 200);
    let post = |path: &str, header: &str, body: &str| {
        let headers = ["-H", header, "-H", "Content-Type: application/json"];
        let accepts = ["-H", "Accept: application/json, text/event-stream", "-d", body];
        curl(&format!("{address}{path}"), &[headers.as_slice(), &accepts].concat())
    };
    let chat = json!({"model": "attache", "messages": [{"role": "user", "content": "Rent?"}]}).to_string();
    assert_eq!(post("/v1/chat/completions", &ann, &chat).0, 200);
    assert_eq!(post("/v1/chat/completions", &reader, &chat).0, 403);
    assert_eq!(post("/v1/messages", &ann, "{}").0, 404, "it is switched off");
    let (status, head) = curl(&format!("{address}/"), &["-I"]);
    assert!(
        status == 200 && head.contains("frame-ancestors https://portal.example.org\r\n"),
        "{status} {head}"
    );
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}}});
    let (status, told) = post("/mcp", &ann, &hello.to_string());
    assert!(status == 200 && told.contains("serverInfo"), "{status} {told}");
    assert_eq!(post("/mcp", &reader, &hello.to_string()).0, 403);
    assert_eq!(post("/mcp", "X-None: 1", &hello.to_string()).0, 401);
    let (status, card) = get("/a2a/.well-known/agent-card.json", &ann);
    assert!(status == 200 && card.contains("https://papers.example.org/agents/a2a"), "{status} {card}");
    let task = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
        {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "What is the rent?"}]}}});
    let (status, told) = post("/a2a", &ann, &task.to_string());
    assert!(status == 200 && told.contains("\"result\""), "{status} {told}");
    assert_eq!(post("/a2a", "X-None: 1", &task.to_string()).0, 401);
    let statuses: Vec<u16> = (0..25).map(|_| get("/v1/models", &ann).0).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(get("/v1/models", &reader).0, 200, "the pace is a principal's own");
    let log = served.log();
    let secret = ann.split_once("Bearer ").unwrap().1;
    assert!(!log.contains(secret), "{log}");
    let other = tempfile::tempdir().unwrap();
    let output = attache(other.path()).args(["serve", "--port", "0", "--a2a"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("public_url"), "{output:?}");
}

// `[server]` says what becomes of runs whose client leaves, and of a second one of a session.
#[tokio::test(flavor = "multi_thread")]
async fn runs_go_on_and_wait_as_the_configuration_says_and_the_chat_may_be_left_out() {
    let model = MockProvider::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("served.toml");
    let text = "[server]\nweb = false\norigins = ['https://app.example']\nheaders = ['x-tenant']\n\
        disconnect = 'detach'\nbusy = { queue = 1 }\n";
    std::fs::write(&file, text).unwrap();
    let (path, url) = (file.to_str().unwrap().to_owned(), format!("{}/v1", model.url()));
    let arguments = ["-m", "openai-chat/gpt-4o", "--base-url", &url, "--config", &path];
    let served = Served::start_in(home, &arguments);
    let curl = |path: &str, more: &[&str]| curl(&format!("{}{path}", served.address), more);
    for path in ["/", "/attache-chat.js"] {
        assert_eq!(curl(path, &[]).0, 404, "{path}");
    }
    let asks = ["-i", "-X", "OPTIONS", "-H", "Origin: https://app.example", "-H"];
    let (_, head) = curl("/v1/chat/stream", &[&asks[..], &["Access-Control-Request-Method: POST"]].concat());
    let allowed = head.lines().find(|line| line.starts_with("access-control-allow-headers:"));
    assert!(allowed.is_some_and(|line| line.contains("x-tenant")), "{head}");
    let slowly = |pieces: std::ops::Range<u32>| {
        let pieces = pieces.map(|at| format!("{at} "));
        Reply::new().text_pieces(pieces).delay_between(Duration::from_millis(40))
    };
    let json = ["-H", "Content-Type: application/json", "-d"];
    model.enqueue(slowly(0..50));
    let left = json!({"message": "Count.", "sessionId": "left"}).to_string();
    let mut leaving = client("curl");
    leaving.args(["-sN", "--max-time", "60"]).args(json).arg(&left).stdout(Stdio::piped());
    let mut leaving = leaving.arg(format!("{}/v1/chat/stream", served.address)).spawn().unwrap();
    let mut lines = BufReader::new(leaving.stdout.take().unwrap()).lines();
    while !lines.next().expect("the answer begins").unwrap().contains("\"CONTENT\"") {}
    leaving.kill().unwrap();
    leaving.wait().unwrap();
    let begun = Instant::now();
    let session = loop {
        let (status, told) = curl("/v1/sessions/left", &[]);
        assert_eq!(status, 200, "{told}");
        let session: Value = serde_json::from_str(&told).unwrap();
        if session["openRun"].is_null() {
            break session;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{session}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let text = session["messages"][1]["parts"][0]["text"].as_str().unwrap_or_default();
    assert!(text.ends_with("48 49 "), "{session}");
    // The first run goes on until it is cancelled. Of two more one is too many, whichever comes later.
    model.enqueue(slowly(0..100_000));
    model.enqueue(slowly(0..1));
    let body = json!({ "message": "Count." }).to_string();
    let (status, first) = curl("/v1/sessions/busy/runs", &[&json[..], &[&body]].concat());
    assert_eq!(status, 202, "{first}");
    let first: Value = serde_json::from_str(&first).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let tell = tell.clone();
            let ask = || curl("/v1/sessions/busy/runs", &[&json[..], &[&body, "--max-time", "60"]].concat());
            scope.spawn(move || tell.send(ask()).unwrap());
        }
        let (status, refused) = told.recv().unwrap();
        assert_eq!(status, 429, "{refused}");
        let path = format!("/v1/runs/{}/cancel", first["runId"].as_str().unwrap());
        let (_, cancelled) = curl(&path, &["-X", "POST"]);
        assert!(cancelled.contains("\"cancelled\":true"), "{cancelled}");
        let (status, waited) = told.recv().unwrap();
        assert_eq!(status, 202, "{waited}");
    });
}

// Keys that stand in variables ask for keys as those of the file do, beside which they stay.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_the_configuration_are_taken_and_stay_when_others_come() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("served.toml");
    let written = |text: &str| std::fs::write(&file, format!("[server.api_keys]\n{text}\n")).unwrap();
    let path = file.to_str().unwrap().to_owned();
    let secret = "b4b1c6a0e9d84e0f";
    let long = format!("{secret}{secret}");
    let refused = |variable: Option<&str>, error: &str| {
        let mut command = attache(home.path());
        command.args(["serve", "--port", "0", "--config", &path]).envs(variable.map(|key| ("ANN_KEY", key)));
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(3) && told.contains(error) && !told.contains(secret),
            "{output:?}"
        );
    };
    written(&format!("ann = '{long}'"));
    refused(None, "server.api_keys.ann");
    written("ann = '${ANN_KEY}'");
    refused(None, "ANN_KEY");
    refused(Some(secret), "20 characters");
    let variables = [("ANN_KEY", long.as_str())];
    let served = Served::start_with(home, &["--config", &path, "--host", "0.0.0.0"], &variables);
    let address = served.address.replace("0.0.0.0", "127.0.0.1");
    let status =
        |key: &str| curl(&format!("{address}/v1/models"), &["-H", &format!("Authorization: Bearer {key}")]).0;
    assert_eq!((status(&long), status("another")), (200, 401));
    let bob = key(served.home.path(), &["bob"]);
    let begun = Instant::now();
    while status(&bob) != 200 {
        assert!(begun.elapsed() < Duration::from_secs(30), "a key that was added is not taken");
    }
    assert_eq!(status(&long), 200, "it stays");
    assert!(!served.log().contains(secret), "{}", served.log());
}

// A model that the configuration serves is asked as it is: the request has the client's words alone, and its document.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_served_without_the_agent_under_its_own_name() {
    let model = MockProvider::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("served.toml");
    let text = format!(
        "[providers.work]\nlike = 'openai-chat'\nbase_url = '{}/v1'\nkey.variables = ['OPENAI_API_KEY']\n\
         [models]\nplain = 'work/gpt-4o'\n[server]\nmodels = ['plain']\n",
        model.url()
    );
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap().to_owned();
    let served = Served::start_in(home, &["--config", &path]);
    let post = |body: &Value| {
        let body = body.to_string();
        let json = ["-H", "Content-Type: application/json", "-d", &body];
        curl(&format!("{}/v1/chat/completions", served.address), &json)
    };
    let (_, listed) = curl(&format!("{}/v1/models", served.address), &[]);
    assert!(listed.contains("\"attache\"") && listed.contains("\"plain\""), "{listed}");
    model.enqueue(Reply::new().text("900."));
    let pdf = std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/inbox/invoice-2026-0417.pdf"),
    )
    .unwrap();
    let data = format!("data:application/pdf;base64,{}", base64_simd::STANDARD.encode_to_string(&pdf));
    let mut messages: Vec<Value> = (0..60)
        .map(|at| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": format!("word {at}")}))
        .collect();
    messages.insert(0, json!({"role": "system", "content": "Be brief."}));
    messages.push(json!({"role": "user", "content": [
        {"type": "text", "text": "How much?"},
        {"type": "file", "file": {"filename": "invoice.pdf", "file_data": data}}
    ]}));
    let (status, told) = post(&json!({"model": "plain", "messages": messages}));
    assert!(status == 200 && told.contains("900."), "{status} {told}");
    let requests = model.requests();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert!(request.json().get("tools").is_none(), "{}", request.json());
    let sent = request.json()["messages"].as_array().unwrap();
    assert_eq!(sent[0]["content"], "Be brief.");
    assert_eq!(
        (sent.len(), &sent[1]["content"]),
        (62, &json!("word 0")),
        "the whole conversation, and nothing else"
    );
    let seen = model.seen_documents(request);
    assert!(seen.len() == 1, "{seen:?}");
    assert_eq!(post(&json!({"model": "work/gpt-4o", "messages": messages})).0, 404, "it is not named");
    let other = tempfile::tempdir().unwrap();
    let file = other.path().join("wrong.toml");
    for (name, told) in [("nobody/none", "server.models: "), ("attache", "is the name of the agent")] {
        std::fs::write(&file, format!("[server]\nmodels = ['{name}']\n")).unwrap();
        let output =
            attache(other.path()).args(["serve", "--port", "0", "--config"]).arg(&file).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(3) && error.contains(told), "{output:?}");
    }
}

/// The files that the page on deploying shows are those that it names, and what they name is there.
#[test]
fn the_files_for_deploying_are_those_of_the_guide() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/guide/deploying.md")).unwrap();
    for name in ["Containerfile", "nginx.conf", "Caddyfile"] {
        let file = std::fs::read_to_string(root.join("docs/deploy").join(name)).unwrap();
        assert!(page.contains(file.trim()), "the guide shows another {name}");
    }
    let container = std::fs::read_to_string(root.join("docs/deploy/Containerfile")).unwrap();
    let copied = container
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|line| !line.starts_with("--from"));
    let mut count = 0;
    for line in copied {
        let (sources, _) = line.rsplit_once(' ').unwrap();
        for source in sources.split(' ') {
            assert!(root.join(source).exists(), "{source}");
            count += 1;
        }
    }
    assert!(count > 3, "{container}");
    let version = std::fs::read_to_string(root.join("rust-toolchain.toml")).unwrap();
    let channel =
        version.lines().find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"')).unwrap();
    // A program runs on the release of Debian on which it was built: without a name the two images may be of different ones.
    let bases = container.lines().filter_map(|line| line.strip_prefix("FROM "));
    let bases: Vec<&str> = bases.filter_map(|base| base.split(' ').next()).collect();
    let [built, run] = bases[..] else { panic!("{container}") };
    let release = built.strip_prefix(&format!("rust:{channel}-")).expect("it names the release");
    assert_eq!(run, format!("debian:{release}-slim"));
    let named = container.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).unwrap();
    let mut words: Vec<String> = serde_json::from_str(named).unwrap();
    assert_eq!(words.remove(0), "attache");
    // The options are some that the command knows.
    let output = attache(tempfile::tempdir().unwrap().path()).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
