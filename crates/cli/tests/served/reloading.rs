//! A configuration that is made anew while the server runs.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use attache_conformance::{MockProvider, Reply};
use serde_json::json;

use super::{Served, attache, curl, key};

/// Waits until something is so.
fn until(served: &Served, wanted: impl Fn() -> bool) {
    let begun = Instant::now();
    while !wanted() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", served.log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

// A server of tools that takes a connection and says nothing is waited for half a minute.
#[test]
fn a_key_that_was_removed_is_refused_while_a_configuration_is_made_anew() {
    let home = tempfile::tempdir().unwrap();
    let ann = key(home.path(), &["ann"]);
    key(home.path(), &["bob"]);
    let file = home.path().join("served.toml");
    std::fs::write(&file, "").unwrap();
    let path = file.to_str().unwrap().to_owned();
    let served = Served::start_in(home, &["--config", &path]);
    let header = format!("Authorization: Bearer {ann}");
    let status = || curl(&format!("{}/v1/models", served.address), &["-H", &header]).0;
    assert_eq!(status(), 200);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    std::fs::write(&file, format!("[mcp.slow]\nurl = '{url}'\n")).unwrap();
    let (_held, _) = silent.accept().unwrap();
    let keys = |arguments: &[&str]| {
        let output = attache(served.home.path()).arg("keys").args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        [output.stdout, output.stderr].map(|told| String::from_utf8(told).unwrap()).concat()
    };
    let listed = keys(&["list", "--json"]);
    for line in listed.lines() {
        let key: serde_json::Value = serde_json::from_str(line).unwrap();
        keys(&["remove", key["id"].as_str().unwrap()]);
    }
    until(&served, || status() == 401);
    assert!(
        !served.log().contains("the configuration has changed"),
        "it is still waited for: {}",
        served.log()
    );
    let told = keys(&["list"]);
    assert!(told.contains("a server answers nobody without a key"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_deleted_ends_its_run_of_the_configuration_before() {
    let model = MockProvider::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("served.toml");
    let written = |title: &str| {
        std::fs::write(&file, format!("[server]\ntitle = '{title}'\ndisconnect = 'detach'\n")).unwrap();
    };
    written("One");
    let (path, url) = (file.to_str().unwrap().to_owned(), format!("{}/v1", model.url()));
    let served = Served::start_in(home, &["-m", "openai-chat/gpt-4o", "--base-url", &url, "--config", &path]);
    let pieces = (0..2000).map(|at| format!("{at} "));
    model.enqueue(Reply::new().text_pieces(pieces).delay_between(Duration::from_millis(40)));
    let body = json!({ "message": "Count." }).to_string();
    let json = ["-H", "Content-Type: application/json", "-d", &body];
    let (status, begun) = curl(&format!("{}/v1/sessions/s/runs", served.address), &json);
    assert_eq!(status, 202, "{begun}");
    until(&served, || !model.requests().is_empty());
    written("Another");
    until(&served, || served.log().contains("the configuration has changed"));
    let (status, told) = curl(&format!("{}/v1/sessions/s", served.address), &["-X", "DELETE"]);
    assert_eq!(status, 204, "{told}");
    // A run that hears of it by its lease alone goes on for seconds.
    let hung_up = model.wait_for_disconnect(Duration::from_secs(3)).await;
    assert!(hung_up.is_some(), "the model is still listened to");
}
