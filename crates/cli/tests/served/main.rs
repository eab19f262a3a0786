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

mod beside;
mod collecting;
mod configured;
mod newcomer;
#[cfg(feature = "otlp")]
mod otlp;
mod proxy;
mod reloading;

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
    // The models that are served as they are come and go with it.
    let models = || {
        let (_, listed) = curl(&format!("{}/v1/models", served.address), &[]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let ids = listed["data"].as_array().unwrap().iter();
        ids.map(|model| model["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    std::fs::write(&file, "[models]\none = 'openai/gpt-4o'\n[server]\nmodels = ['one', 'openai/gpt-4o']\n")
        .unwrap();
    until(&|| models() == ["attache", "one", "openai/gpt-4o"]);
    std::fs::write(&file, "[server]\nmodels = ['openai/gpt-4o', 'nobody/none']\n").unwrap();
    until(&|| served.log().contains("server.models: "));
    assert_eq!(models(), ["attache", "one", "openai/gpt-4o"]);
    std::fs::write(&file, "[server]\nmodels = ['openai/gpt-4o']\n").unwrap();
    until(&|| models() == ["attache", "openai/gpt-4o"]);
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
    failed(&["--port", &port, "docs/examples/inbox"], 3, "already in use");
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
