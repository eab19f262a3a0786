//! The `[server]` section of a configuration, as clients of the command meet it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use attache_conformance::{MockProvider, Reply};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};

use super::{Served, attache, client, curl, key};

/// A token of an issuer, by RFC 7515 and RFC 8037.
fn token(pair: &ring::signature::Ed25519KeyPair, claims: &Value) -> String {
    let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
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
    let x = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
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

// A service that acts for whoever asks is sent what its section names of their request, and nothing else of it.
#[tokio::test(flavor = "multi_thread")]
async fn headers_of_callers_reach_the_services_that_name_them() {
    let (model, service) = (MockProvider::start().await.unwrap(), wiremock::MockServer::start().await);
    wiremock::Mock::given(wiremock::matchers::path("/orders"))
        .respond_with(wiremock::ResponseTemplate::new(200).set_body_json(json!(["a chair"])))
        .mount(&service)
        .await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("served.toml");
    let text = format!(
        "[http.shop]\nbase_url = '{}'\nprivate_addresses = true\nforward_headers = ['x-token']\n\
         forward_cookies = ['shop']\n[[http.shop.endpoints]]\nname = 'orders'\npath = '/orders'\n\
         description = 'Lists the orders.'\n",
        service.uri()
    );
    std::fs::write(&file, text).unwrap();
    let (path, url) = (file.to_str().unwrap().to_owned(), format!("{}/v1", model.url()));
    let served = Served::start_in(home, &["-m", "openai-chat/gpt-4o", "--base-url", &url, "--config", &path]);
    model.enqueue(Reply::new().call("call_1", "orders", json!({})));
    model.enqueue(Reply::new().text("A chair."));
    let body =
        json!({"model": "attache", "messages": [{"role": "user", "content": "My orders?"}]}).to_string();
    let headers = ["X-Token: canary-of-ann", "Cookie: shop=cart-7; other=secret", "X-Other: nothing"];
    let mut asked = vec!["-H", "Content-Type: application/json", "-d", &body];
    asked.extend(headers.iter().flat_map(|header| ["-H", *header]));
    let (status, told) = curl(&format!("{}/v1/chat/completions", served.address), &asked);
    assert!(status == 200 && told.contains("A chair."), "{status} {told}");
    let requests = service.received_requests().await.unwrap();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    let sent = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(
        (sent("x-token"), sent("cookie"), sent("x-other")),
        (Some("canary-of-ann"), Some("shop=cart-7"), None)
    );
    assert!(!served.log().contains("canary-of-ann"), "{}", served.log());
}

// A47: a long conversation is summarised from the size on that the configuration says
#[tokio::test(flavor = "multi_thread")]
async fn a_served_conversation_is_compacted_above_the_tokens_of_the_configuration() {
    let words = "word ".repeat(100);
    let mut messages: Vec<Value> = (0..60)
        .map(|at| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": format!("{at} {words}")}))
        .collect();
    messages.push(json!({"role": "user", "content": "How much?"}));
    let body = json!({"model": "attache", "messages": messages}).to_string();
    // Without it the newest messages are sent.
    for (limits, requests, shown) in [("", 1, 30..=42), ("compact_above = 3000", 2, 2..=40)] {
        let (model, home) = (MockProvider::start().await.unwrap(), tempfile::tempdir().unwrap());
        let file = home.path().join("served.toml");
        std::fs::write(&file, format!("[limits]\n{limits}\n")).unwrap();
        let (path, url) = (file.to_str().unwrap().to_owned(), format!("{}/v1", model.url()));
        let served =
            Served::start_in(home, &["-m", "openai-chat/gpt-4o", "--base-url", &url, "--config", &path]);
        if requests == 2 {
            model.enqueue(Reply::new().text("They counted words."));
        }
        model.enqueue(Reply::new().text("900."));
        let asked = ["-H", "Content-Type: application/json", "-d", &body];
        let (status, told) = curl(&format!("{}/v1/chat/completions", served.address), &asked);
        assert!(status == 200 && told.contains("900."), "{status} {told}");
        let sent = model.requests();
        assert_eq!(sent.len(), requests, "{limits}");
        let last = sent.last().unwrap().json();
        assert!(shown.contains(&last["messages"].as_array().unwrap().len()), "{limits}: {last}");
        assert_eq!(last.to_string().contains("They counted words."), requests == 2, "{limits}");
    }
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
    let data = format!("data:application/pdf;base64,{}", attache_core::base64::encode(&pdf));
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
