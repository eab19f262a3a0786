//! The first minute of somebody who names no folder: an answer about the example, with its citation opened at the page.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{attache, client};

/// The time in which all of it is seen, from the start of the process on.
const MINUTE: Duration = Duration::from_secs(60);

/// A server that ends with the test.
struct Begun(Child);

impl Drop for Begun {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server as people do, and yields it with the address of its chat and what it told before.
fn begun(home: &Path, arguments: &[&str]) -> (Begun, String, String) {
    let mut command = attache(home);
    let mut child =
        command.args(["serve", "--port", "0"]).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let (mut told, mut address) = (String::new(), None);
    for line in lines.map_while(Result::ok) {
        told.push_str(&line);
        told.push('\n');
        address = line
            .split_once("Chat with")
            .and_then(|(_, rest)| rest.split_whitespace().last())
            .map(str::to_owned);
        if address.is_some() {
            break;
        }
    }
    let child = Begun(child);
    (child, address.unwrap_or_else(|| panic!("no address: {told}")), told)
}

// A71
#[test]
fn who_names_no_folder_has_answers_about_the_example_at_their_pages() {
    let begin = Instant::now();
    let home = tempfile::tempdir().unwrap();
    let (_server, address, told) = begun(home.path(), &[]);
    assert!(
        told.contains("· this is an example folder: `attache serve FOLDER` serves one of yours"),
        "{told}"
    );
    // The folder in which the command stands is nobody's to read.
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real/web/newcomer.mjs");
    assert!(
        target.join("node/web.ready").exists(),
        "the packages of tests/real/web are not installed: cargo xtask counterparts"
    );
    let pictures = target.join("web-pictures");
    fs::create_dir_all(&pictures).unwrap();
    let done = client("node")
        .arg(script)
        .arg(&address)
        .env("PACKAGES", target.join("node/web"))
        .env("PICTURES", pictures)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
    assert!(begin.elapsed() < MINUTE, "{:?}", begin.elapsed());
}

#[test]
fn a_configuration_with_tools_of_its_own_has_no_example() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("attache.toml"), "[tools]\ncalculator = true\n").unwrap();
    let (_server, address, told) = begun(home.path(), &[]);
    assert!(told.contains("· no files are served: `attache serve FOLDER` adds a folder"), "{told}");
    assert!(!home.path().join("example").exists());
    let names = tools(&address);
    assert!(names.contains("calculate") && !names.contains("read_file"), "{names}");
}

#[test]
fn a_folder_that_somebody_names_is_served_without_the_example() {
    let home = tempfile::tempdir().unwrap();
    let (_server, address, told) = begun(home.path(), &["docs/examples/inbox"]);
    assert!(!told.contains("example folder") && !told.contains("no files"), "{told}");
    assert!(!home.path().join("example").exists());
    assert!(tools(&address).contains("read_file"));
}

#[test]
fn patterns_without_a_folder_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let output = attache(home.path()).args(["serve", "--port", "0", "--include", "*.pdf"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("name one, such as `attache serve .`"), "{told}");
}

// The log repeats no line of the start, and has nothing of what a library tells of its connections.
#[test]
fn the_start_is_told_once_and_in_few_words() {
    let home = tempfile::tempdir().unwrap();
    let own = format!("[mcp.own]\ncommand = [{:?}, 'mcp']\n", env!("CARGO_BIN_EXE_attache"));
    fs::write(home.path().join("attache.toml"), own).unwrap();
    let file = home.path().join("stderr");
    let mut command = attache(home.path());
    command.args(["serve", "--port", "0"]).stderr(fs::File::create(&file).unwrap());
    let _server = Begun(command.spawn().unwrap());
    let begin = Instant::now();
    let told = loop {
        assert!(begin.elapsed() < MINUTE, "no address");
        let told = fs::read_to_string(&file).unwrap();
        let chat =
            told.split_once("Chat with").and_then(|(_, rest)| rest.lines().next()?.split_whitespace().last());
        if let Some(address) = chat.filter(|_| told.contains("Ctrl-C ends it")) {
            // Once it answers, everything is told.
            assert!(tools(address).contains("mcp_own"));
            break fs::read_to_string(&file).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(told.matches("no key").count(), 1, "{told}");
    assert!(!told.contains(" rmcp"), "{told}");
}

/// The tools of the agent, as its server tells them.
fn tools(address: &str) -> String {
    let output: std::process::Output =
        client("curl").args(["-sS", "--max-time", "20", &format!("{address}v1/tools")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
