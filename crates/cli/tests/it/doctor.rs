//! `attache doctor` as a person or a script uses it. Its findings are tested beside its source.

use std::process::Output;

use attache_conformance::{MockProvider, Reply};
use serde_json::Value;

use crate::common::attache;

const KEY: &str = "sk-canary-1234567890";

async fn doctor(url: &str, arguments: &[&str]) -> Output {
    let url = format!("{url}/v1");
    let mut command = attache(&["doctor", "--model", "openai-chat/gpt-4o", "--base-url", &url]);
    command.args(arguments).env("OPENAI_API_KEY", KEY).env("COLUMNS", "120");
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Takes text, refuses everything else, and has no cache.
fn reads_text_alone(mock: &MockProvider) {
    mock.respond_with(|request| {
        let body = request.json().to_string();
        let number = body.split("cellar door is ").nth(1);
        match number.map(|after| after.chars().take(6).collect::<String>()) {
            _ if body.contains("base64,") => Reply::error(400, "this model reads text"),
            Some(number) => Reply::new().text(format!("It is {number}.")),
            None => Reply::new().text("one\ntwo"),
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_kept_and_used() {
    let mock = MockProvider::start().await.unwrap();
    reads_text_alone(&mock);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.toml");
    let file = file.to_str().unwrap();
    let output = doctor(mock.url(), &["--save", file]).await;
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("requests, about") && told.contains("the differences are in"), "{told}");
    let row = table.lines().find(|line| line.starts_with("image/png in a user message")).unwrap();
    assert!(row.contains("refused") && row.contains("yes") && row.contains("differs"), "{table}");
    assert!(table.contains("HTTP 400: this model reads text"), "{table}");

    let profile = std::fs::read_to_string(file).unwrap();
    assert!(profile.starts_with("# attache doctor: openai-chat/gpt-4o at 127.0.0.1:"), "{profile}");
    assert!(profile.contains("\n[openai-chat.models.gpt-4o]\n"), "{profile}");
    assert!(!format!("{table}{told}{profile}").contains("canary"));

    // With what was found on top of the table nothing differs any more; the cache, which showed nothing, is open.
    let output = doctor(mock.url(), &["--capabilities", file, "--json"]).await;
    assert_eq!(output.status.code(), Some(4), "{}{profile}", text(&output.stdout));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.last().unwrap();
    assert_eq!((&summary["type"], &summary["differ"]), (&"summary".into(), &0.into()), "{lines:?}");
    let png = lines.iter().find(|line| line["probe"] == "user.image/png").unwrap();
    assert_eq!(
        (&png["result"], &png["matrix"], &png["verdict"]),
        (&"refused".into(), &"no".into(), &"agrees".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_not_lost_where_nothing_is_found() {
    let mock = MockProvider::start().await.unwrap();
    reads_text_alone(&mock);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.toml");
    let name = file.to_str().unwrap();
    doctor(mock.url(), &["--save", name]).await;
    let profile = std::fs::read_to_string(&file).unwrap();
    assert!(profile.contains("[openai-chat.models.gpt-4o]"), "{profile}");
    // All that it says is known then.
    let asked = mock.requests().len();
    let output = doctor(mock.url(), &["--capabilities", name, "--save", name]).await;
    assert_eq!((output.status.code(), mock.requests().len()), (Some(2), asked));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = doctor(&format!("http://{free}"), &["--save", name]).await;
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(3) && told.contains("it ended early"), "{told}");
    let copy = folder.path().join("copy.toml");
    std::fs::copy(&file, &copy).unwrap();
    let output = doctor(mock.url(), &["--capabilities", copy.to_str().unwrap(), "--save", name]).await;
    let told = text(&output.stderr);
    assert!(told.contains("nothing differs") && told.contains("was not written"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), profile);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_not_accepted() {
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with(|_| Reply::error(401, format!("Incorrect API key provided: {KEY}")));
    let output = doctor(mock.url(), &[]).await;
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), mock.requests().len()), (Some(3), 1), "{told}");
    assert!(table.contains("HTTP 401") && !format!("{table}{told}").contains("canary"), "{table}{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expensive_or_overwriting_run_is_refused_before_it_asks() {
    let mock = MockProvider::start().await.unwrap();
    let output = doctor(mock.url(), &["--max-tokens", "16000"]).await;
    assert_eq!((output.status.code(), mock.requests().len()), (Some(2), 0));
    assert!(text(&output.stderr).contains("--yes"), "{}", text(&output.stderr));
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine.toml");
    std::fs::write(&mine, "[openai-chat]\n").unwrap();
    let output = doctor(mock.url(), &["--save", mine.to_str().unwrap()]).await;
    assert_eq!((output.status.code(), mock.requests().len()), (Some(3), 0));
}

#[test]
fn the_offline_model_has_no_endpoint() {
    let output = attache(&["doctor", "--model", "offline/extractive"]).output().unwrap();
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("needs no network and no key"), "{}", text(&output.stdout));
}

#[test]
fn a_missing_key_is_named() {
    let output = attache(&["doctor", "--model", "openai-chat/gpt-4o"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("OPENAI_API_KEY") && output.stdout.is_empty());
}

// Behind a proxy the name of a server may lead nowhere here, which says nothing.
#[test]
fn a_dead_proxy_is_named() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command =
        attache(&["doctor", "--model", "openai-chat/gpt-4o", "--base-url", "http://models.test/v1"]);
    command.env("OPENAI_API_KEY", KEY).env("COLUMNS", "200");
    command.env("http_proxy", format!("http://ann:canary@{free}"));
    let output = command.output().unwrap();
    let shown = text(&output.stdout);
    assert!(shown.contains(&format!("through the proxy {free}")), "{shown}{}", text(&output.stderr));
    assert!(!shown.contains("DNS") && !shown.contains("canary"), "{shown}");
}
