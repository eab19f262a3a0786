//! The process of the server, and the program that asks it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::agent::{FOLDER, KEY, LISTENS};

/// Things that the process holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Bytes in memory.
    pub(crate) memory: u64,
    pub(crate) files: usize,
}

/// A server that runs until it is dropped.
pub(crate) struct Node {
    child: Child,
    address: String,
    said: Arc<Mutex<String>>,
    folder: TempDir,
}

impl Node {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "node", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("the server ended").unwrap();
            if let Some(address) = line.strip_prefix(LISTENS) {
                break format!("http://{address}");
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        let said = Arc::new(Mutex::new(String::new()));
        let (mut errors, told) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&said));
        std::thread::spawn(move || {
            let mut line = String::new();
            while errors.read_line(&mut line).is_ok_and(|read| read > 0) {
                told.lock().unwrap().push_str(&std::mem::take(&mut line));
            }
        });
        Self { child, address, said, folder }
    }

    /// Lets schemathesis ask, and yields whether it found nothing, with what it says.
    pub(crate) fn ask(&self, seed: u64, more: &[&str], patience: Duration) -> (bool, String) {
        let mut command = Command::new(python());
        command.args(["-m", "schemathesis.cli", "run", &format!("{}/openapi.json", self.address)]);
        command.args(["--url", &self.address, "--header", &format!("Authorization: Bearer {KEY}")]);
        command.args(["--phases", "examples,coverage,fuzzing,stateful", "--workers", "1"]);
        command.args(["--seed", &seed.to_string(), "--generation-database", "none"]);
        command.args(["--request-timeout", "10", "--suppress-health-check", "all", "--no-color"]);
        command.args(["--checks", CHECKS, "--continue-on-failure"]).args(more);
        let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real/routes_hooks.py");
        command.env("SCHEMATHESIS_HOOKS", hooks).env("PYTHONDONTWRITEBYTECODE", "1");
        // It leaves a folder where it runs. Wherever a proxy of the environment leads, the server is on this machine.
        command.current_dir(self.folder.path()).env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        let output = self.folder.path().join("said.txt");
        let file = fs::File::create(&output).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let mut program = command.spawn().unwrap();
        let until = Instant::now() + patience;
        let status = loop {
            if let Some(status) = program.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                program.kill().unwrap();
                break program.wait().unwrap();
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let mut said = String::new();
        fs::File::open(output).unwrap().read_to_string(&mut said).unwrap();
        (status.success(), said)
    }

    /// Deletes all sessions, waits until no run is under way and nobody looks on, and checks what the server said and counted.
    pub(crate) fn settle(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            self.request("DELETE", "/v1/sessions");
            let metrics = self.request("GET", "/metrics");
            if sum(&metrics, "attache_runs") + sum(&metrics, "attache_viewers") == 0.0 {
                break;
            }
            assert!(Instant::now() < until, "runs or viewers are left: {metrics}");
            std::thread::sleep(Duration::from_millis(100));
        }
        let metrics = self.request("GET", "/metrics");
        let failed: Vec<_> = metrics.lines().filter(|line| line.contains("status=\"5")).collect();
        assert!(failed.is_empty(), "{failed:#?}\n{}", self.said.lock().unwrap());
        let said = self.said.lock().unwrap();
        assert!(!said.contains("panicked"), "{said}");
    }

    /// The number of answers so far.
    pub(crate) fn answered(&self) -> f64 {
        sum(&self.request("GET", "/metrics"), "attache_http_requests_total")
    }

    /// The answers so far, a line for each route and status.
    pub(crate) fn counted(&self) -> String {
        let metrics = self.request("GET", "/metrics");
        let lines = metrics.lines().filter(|line| line.starts_with("attache_http_requests_total"));
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn held(&self) -> Held {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(process.join("status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let memory: u64 = memory.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        Held { memory: memory << 10, files: fs::read_dir(process.join("fd")).unwrap().count() }
    }

    /// Asks it with a connection of its own.
    fn request(&self, method: &str, path: &str) -> String {
        use std::io::Write as _;
        let address = self.address.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        assert!(told.starts_with("HTTP/1.1 20"), "{method} {path}: {told}");
        told
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The things that are looked at in each answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,use_after_free,ignored_auth,unsupported_method";

/// The sum of the samples of a family.
fn sum(metrics: &str, family: &str) -> f64 {
    let samples = metrics.lines().filter_map(|line| line.strip_prefix(family));
    let samples = samples.filter(|rest| rest.starts_with([' ', '{']));
    samples.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// The Python of `tests/real/routes.txt`, which `cargo xtask counterparts` installs.
fn python() -> PathBuf {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real/routes.txt");
    let wanted = fs::read_to_string(packages).unwrap();
    let is_there = fs::read_to_string(base.join("routes.ready")).is_ok_and(|packages| packages == wanted);
    assert!(is_there, "the packages of tests/real/routes.txt are not installed: cargo xtask counterparts");
    base.join("routes/bin/python")
}
