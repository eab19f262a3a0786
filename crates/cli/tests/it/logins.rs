//! Logins at MCP servers, as a person with a browser makes them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use attache_transport::percent_decoded;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::common::{attache, text};

/// An MCP server with an authorization server of its own, which holds its clients to the rules: OAuth 2.1 with PKCE
/// (RFC 7636), dynamic registration (RFC 7591), metadata (RFC 8414, RFC 9728) and resource indicators (RFC 8707).
#[derive(Default)]
struct Issuer {
    /// The seconds that a token lasts.
    lasts: u64,
    given: u32,
    access: String,
    refresh: String,
    /// The redirect addresses of each client.
    clients: HashMap<String, Vec<String>>,
    /// The promise of each code: client, redirect address, challenge and resource.
    codes: HashMap<String, [String; 4]>,
    /// The rules that were broken.
    wrong: Vec<String>,
    /// The kinds of grants that were redeemed.
    redeemed: Vec<String>,
    /// Every word that came with an `Authorization` header.
    seen: Vec<String>,
}

/// The pairs of a form or a query.
fn pairs(text: &str) -> HashMap<String, String> {
    let plain = |text: &str| String::from_utf8(percent_decoded(&text.replace('+', " "))).unwrap();
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (plain(name), plain(value))).collect()
}

impl Issuer {
    fn answer(&mut self, request: &Request, origin: &str) -> ResponseTemplate {
        let authorization = request.headers.get("authorization").and_then(|value| value.to_str().ok());
        self.seen.extend(authorization.map(str::to_owned));
        let json = |value: Value| ResponseTemplate::new(200).set_body_json(value);
        match request.url.path() {
            "/mcp" => {
                let metadata = format!("{origin}/.well-known/oauth-protected-resource/mcp");
                if self.access.is_empty() || authorization != Some(&*format!("Bearer {}", self.access)) {
                    let challenge = format!(r#"Bearer resource_metadata="{metadata}""#);
                    return ResponseTemplate::new(401).insert_header("www-authenticate", challenge);
                }
                self.called(&serde_json::from_slice(&request.body).unwrap_or_default())
            }
            "/.well-known/oauth-protected-resource/mcp" => json(json!({
                "resource": format!("{origin}/mcp"), "authorization_servers": [origin], "scopes_supported": ["read"],
            })),
            "/.well-known/oauth-authorization-server" => json(json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            })),
            "/register" => {
                let asked: Value = serde_json::from_slice(&request.body).unwrap();
                let redirects = asked["redirect_uris"].as_array().unwrap();
                let redirects: Vec<String> =
                    redirects.iter().map(|uri| uri.as_str().unwrap().to_owned()).collect();
                self.check(redirects.iter().all(|uri| uri.starts_with("http://127.0.0.1:")), "redirect");
                let id = format!("client-{}", self.clients.len());
                self.clients.insert(id.clone(), redirects);
                json(json!({"client_id": id}))
            }
            // The page that a person sees, who allows everything.
            "/authorize" => {
                let asked = pairs(request.url.query().unwrap_or_default());
                let redirects = self.clients.get(&asked["client_id"]).cloned().unwrap_or_default();
                self.check(redirects.contains(&asked["redirect_uri"]), "unknown redirect address");
                self.check(asked["code_challenge_method"] == "S256", "PKCE without S256");
                self.check(asked["resource"] == format!("{origin}/mcp"), "another resource");
                self.check(asked["response_type"] == "code" && asked["state"].len() >= 32, "state");
                let code = format!("code-canary-{}", self.codes.len());
                let promised = ["client_id", "redirect_uri", "code_challenge", "resource"];
                self.codes.insert(code.clone(), promised.map(|name| asked[name].clone()));
                let led = format!("{}?code={code}&state={}", asked["redirect_uri"], asked["state"]);
                ResponseTemplate::new(302).insert_header("location", led)
            }
            "/token" => self.token(&pairs(&String::from_utf8_lossy(&request.body)), origin),
            _ => ResponseTemplate::new(404),
        }
    }

    fn check(&mut self, holds: bool, rule: &str) {
        if !holds {
            self.wrong.push(rule.to_owned());
        }
    }

    fn token(&mut self, form: &HashMap<String, String>, origin: &str) -> ResponseTemplate {
        let given = |name: &str| form.get(name).cloned().unwrap_or_default();
        self.check(given("resource") == format!("{origin}/mcp"), "a token for another resource");
        self.redeemed.push(given("grant_type"));
        match given("grant_type").as_str() {
            "authorization_code" => {
                // A code is good once.
                let promised = self.codes.remove(&given("code")).unwrap_or_default();
                let hash = Sha256::digest(given("code_verifier").as_bytes());
                let proof = BASE64_URL_SAFE_NO_PAD.encode(hash);
                let said = [given("client_id"), given("redirect_uri"), proof, given("resource")];
                self.check(promised == said, "a code with another proof");
            }
            "refresh_token" => {
                self.check(given("refresh_token") == self.refresh, "a refresh token that was used");
            }
            other => self.check(false, &format!("a grant of the kind {other:?}")),
        }
        if !self.wrong.is_empty() {
            return ResponseTemplate::new(400).set_body_json(json!({"error": "invalid_grant"}));
        }
        self.given += 1;
        self.access = format!("access-canary-{}", self.given);
        self.refresh = format!("refresh-canary-{}", self.given);
        ResponseTemplate::new(200).set_body_json(json!({
            "access_token": self.access, "refresh_token": self.refresh, "token_type": "Bearer",
            "expires_in": self.lasts, "scope": "read",
        }))
    }

    /// The MCP server behind it, which tells everybody its token.
    fn called(&self, asked: &Value) -> ResponseTemplate {
        let mut result = match asked["method"].as_str() {
            Some("server/discover") => {
                json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
            }
            Some("tools/list") => json!({"tools": [{
                "name": "whoami", "description": "Says who you are", "inputSchema": {"type": "object"},
            }]}),
            Some("tools/call") => {
                json!({"content": [{"type": "text", "text": format!("you came with {}", self.access)}]})
            }
            _ => return ResponseTemplate::new(202),
        };
        for (name, value) in
            [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
        {
            result[name] = value;
        }
        ResponseTemplate::new(200)
            .set_body_json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
    }
}

#[derive(Clone)]
struct Scene {
    issuer: Arc<Mutex<Issuer>>,
    origin: String,
}

impl Scene {
    fn issuer(&self) -> MutexGuard<'_, Issuer> {
        self.issuer.lock().unwrap()
    }
}

async fn scene(lasts: u64) -> (MockServer, Scene) {
    let server = MockServer::start().await;
    let issuer = Arc::new(Mutex::new(Issuer { lasts, ..Issuer::default() }));
    let scene = Scene { issuer, origin: server.uri() };
    let seen = scene.clone();
    let answer = move |request: &Request| seen.issuer().answer(request, &seen.origin);
    Mock::given(any()).respond_with(answer).mount(&server).await;
    (server, scene)
}

fn at(home: &Path, arguments: &[&str]) -> Command {
    let mut command = attache(arguments);
    command.env("ATTACHE_HOME", home).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// All that a command writes, which holds no secret.
fn output(home: &Path, arguments: &[&str]) -> (i32, String) {
    let output = at(home, arguments).output().unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(!said.contains("canary"), "{arguments:?}: {said}");
    (output.status.code().unwrap(), said)
}

/// Asks for a page as a browser does, and returns where it leads.
fn browse(address: &str) -> Option<String> {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut socket = TcpStream::connect(host).unwrap();
    write!(socket, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut said = String::new();
    socket.read_to_string(&mut said).unwrap();
    let location = said.lines().find_map(|line| line.strip_prefix("location: "));
    location.map(|location| location.trim().to_owned())
}

/// A login of which the address is known. The rest of what it writes comes with its end.
fn begun(home: &Path, name: &str) -> (Child, String, impl FnOnce(Child) -> (i32, String)) {
    let mut child = at(home, &["mcp", "login", name]).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let (mut said, mut line) = (String::new(), String::new());
    let address = loop {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "it shows no address: {said}");
        said.push_str(&line);
        if line.trim().starts_with("http") {
            break line.trim().to_owned();
        }
    };
    let end = move |child: Child| {
        told.read_to_string(&mut said).unwrap();
        let output = child.wait_with_output().unwrap();
        said.push_str(&text(&output.stdout));
        assert!(!said.contains("canary"), "{said}");
        (output.status.code().unwrap(), said)
    };
    (child, address, end)
}

fn log_in(home: &Path, name: &str) -> (i32, String) {
    let (child, address, end) = begun(home, name);
    let led = browse(&address).unwrap_or_else(|| panic!("no page at {address}"));
    browse(&led);
    end(child)
}

/// The files of a home that hold a text.
fn holding(home: &Path, word: &str) -> Vec<String> {
    let files = std::fs::read_dir(home).unwrap().map(|file| file.unwrap().path());
    let holds = |file: &std::path::PathBuf| {
        String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).contains(word)
    };
    files.filter(holds).map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

// A84
#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_in_and_the_token_is_nowhere_to_be_read() {
    let (_server, scene) = scene(3_600).await;
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = |arguments: &[&str]| output(home, arguments);
    assert_eq!(run(&["mcp", "add", "books", "--url", &format!("{}/mcp", scene.origin)]).0, 0);
    let (code, told) = run(&["tools"]);
    assert!(code == 1 && told.contains("requires a login: `attache mcp login books`"), "{told}");

    let (code, told) = log_in(home, "books");
    assert!(code == 0 && told.contains("books lets you in from now on"), "{told}");
    assert_eq!(scene.issuer().wrong, [""; 0]);
    let (code, told) = run(&["mcp", "login", "books"]);
    assert!(code == 0 && told.contains("lets you in already"), "{told}");
    let (code, listed) = run(&["tools", "--json"]);
    assert!(code == 0 && listed.contains("mcp_books___whoami"), "{listed}");
    // The server says the token again, and nobody reads it.
    let (code, said) = run(&["tools", "call", "mcp_books___whoami", "{}"]);
    assert!(code == 0 && said.contains("you came with"), "{said}");
    assert_eq!(scene.issuer().redeemed, ["authorization_code"]);

    assert_eq!(holding(home, "canary"), ["mcp-tokens.json"]);
    #[cfg(unix)]
    {
        let file = std::fs::metadata(home.join("mcp-tokens.json")).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777, 0o600);
    }
    assert_eq!(run(&["mcp", "logout", "books"]).0, 0);
    assert_eq!(holding(home, "canary"), [""; 0]);
    let (code, told) = run(&["tools"]);
    assert!(code == 1 && told.contains("requires a login"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_has_ended_is_renewed_by_whichever_process_needs_it() {
    // Each token has ended when it is used.
    let (_server, scene) = scene(0).await;
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| output(home.path(), arguments);
    run(&["mcp", "add", "books", "--url", &format!("{}/mcp", scene.origin)]);
    let (code, told) = log_in(home.path(), "books");
    assert_eq!(code, 0, "{told}");
    let (code, told) = run(&["tools", "call", "mcp_books___whoami", "{}"]);
    assert_eq!(code, 0, "{told}");
    let issuer = scene.issuer();
    assert_eq!(issuer.wrong, [""; 0]);
    assert_eq!(issuer.redeemed[..2], ["authorization_code", "refresh_token"]);
    assert!(!home.path().join("mcp-tokens.new").exists());
}

// A84: the token of one server is that of no other, whatever the configuration calls it.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_goes_to_the_server_that_it_was_given_for_and_to_no_other() {
    let ((_server, mine), (_other, theirs)) = (scene(3_600).await, scene(3_600).await);
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| output(home.path(), arguments);
    run(&["mcp", "add", "books", "--url", &format!("{}/mcp", mine.origin)]);
    assert_eq!(log_in(home.path(), "books").0, 0);
    assert!(!mine.issuer().seen.is_empty());
    // The name leads elsewhere now, and so does another one.
    run(&["mcp", "remove", "books"]);
    for name in ["books", "others"] {
        run(&["mcp", "add", name, "--url", &format!("{}/mcp", theirs.origin)]);
    }
    let (code, told) = run(&["tools"]);
    assert!(code == 1 && told.matches("requires a login").count() == 2, "{told}");
    assert_eq!(theirs.issuer().seen, [""; 0]);
    // The login is for its address, and is there again with it.
    run(&["mcp", "remove", "books"]);
    run(&["mcp", "remove", "others"]);
    run(&["mcp", "add", "mine", "--url", &format!("{}/mcp", mine.origin)]);
    let (code, told) = run(&["tools"]);
    assert_eq!(code, 0, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_somebody_else_began_ends_no_login_and_brings_no_token() {
    let (_server, scene) = scene(3_600).await;
    let home = tempfile::tempdir().unwrap();
    output(home.path(), &["mcp", "add", "books", "--url", &format!("{}/mcp", scene.origin)]);
    let (child, address, end) = begun(home.path(), "books");
    let led = browse(&address).unwrap();
    let (page, query) = led.split_once('?').unwrap();
    browse(&format!("{page}?code=theirs&state=forged"));
    assert_eq!(scene.issuer().redeemed, [""; 0]);
    // A person who says no.
    let state = pairs(query)["state"].clone();
    browse(&format!("{page}?error=access_denied&state={state}"));
    let (code, told) = end(child);
    assert!(code == 3 && told.contains("access_denied"), "{told}");
    assert_eq!(scene.issuer().redeemed, [""; 0]);
    assert_eq!(holding(home.path(), "canary"), [""; 0]);
}
