//! Logins: whose tokens are sent where, and how long.

use std::sync::{Arc, Mutex};

use attache_mcp::{
    FileTokens, McpEndpoint, McpEra, McpGrant, McpLoginError, McpOAuth, McpServer, McpTokens, MemoryTokens,
};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::common::{Answer, Asked, Scripted, call, complete, greeting, tool, tools};

pub(crate) const REDIRECT: &str = "http://127.0.0.1:1/callback";

/// A server that gives its own tokens.
#[derive(Default)]
pub(crate) struct Rules {
    /// The number of tokens so far; the last one is good.
    pub(crate) given: u32,
    /// The seconds that a token lasts.
    pub(crate) lasts: u32,
    /// In the place of its own address.
    pub(crate) resource: Option<String>,
    /// The path at which it says of itself what it is.
    pub(crate) metadata: Option<&'static str>,
    pub(crate) issuer: Option<String>,
    /// The rights that a call needs beside.
    pub(crate) more: bool,
    /// True if no token is renewed.
    pub(crate) closed: bool,
    /// True if a token comes without one that renews it.
    pub(crate) once: bool,
    /// True if too many ask for tokens.
    pub(crate) busy: bool,
    /// True if no token is taken.
    pub(crate) shut: bool,
    /// True if nothing is said about proofs of who began a login.
    pub(crate) proofless: bool,
    /// In the place of its own page.
    pub(crate) page: Option<&'static str>,
    /// Answers for a token wait for it.
    pub(crate) gate: Option<Arc<Notify>>,
}

pub(crate) type Shared = Arc<Mutex<Rules>>;

fn answer(rules: &Shared, asked: &Asked) -> Answer {
    let mut rules = rules.lock().unwrap();
    let origin = format!("http://{}", asked.header("host").unwrap());
    let json = |value: Value| Answer::whole(200, "application/json", value.to_string());
    match asked.path.as_str() {
        "/mcp" => {
            let good = format!("Bearer access-canary-{}", rules.given);
            let metadata = rules.metadata.unwrap_or("/.well-known/oauth-protected-resource/mcp");
            let metadata = format!("{origin}{metadata}");
            let refuse = |status, more: &str| {
                let challenge = format!(r#"Bearer resource_metadata="{metadata}"{more}"#);
                let headers = vec![("www-authenticate", challenge)];
                Answer::Http(status, headers, futures_util::StreamExt::boxed(futures_util::stream::empty()))
            };
            match asked.asks() {
                _ if rules.shut || rules.given == 0 || asked.header("authorization") != Some(&good) => {
                    refuse(401, "")
                }
                "tools/list" => Answer::Result(complete(json!({"tools": [tool("a")]}))),
                "tools/call" if rules.more => refuse(403, r#", error="insufficient_scope", scope="write""#),
                "tools/call" => {
                    let said = good.replace("Bearer", "yours is");
                    Answer::Result(complete(json!({"content": [{"type": "text", "text": said}]})))
                }
                other => greeting(other),
            }
        }
        path if path == rules.metadata.unwrap_or("/.well-known/oauth-protected-resource/mcp") => {
            json(json!({
                "resource": rules.resource.clone().unwrap_or(format!("{origin}/mcp")),
                "authorization_servers": [origin],
                "scopes_supported": ["read"],
            }))
        }
        "/.well-known/oauth-authorization-server" => json(json!({
            "issuer": rules.issuer.clone().unwrap_or(origin.clone()),
            "authorization_endpoint": rules.page.map_or(format!("{origin}/authorize"), str::to_owned),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "code_challenge_methods_supported": (!rules.proofless).then_some(["S256"]),
            "token_endpoint_auth_methods_supported": ["none"],
        })),
        "/register" => json(json!({"client_id": "client-1"})),
        "/token" if rules.busy => Answer::whole(429, "text/plain", "later"),
        "/token" if rules.closed => Answer::whole(400, "application/json", r#"{"error":"invalid_grant"}"#),
        "/token" => {
            rules.given += 1;
            let (given, lasts) = (rules.given, rules.lasts);
            let renews = (!rules.once).then(|| format!("refresh-canary-{given}"));
            let token = json!({
                "access_token": format!("access-canary-{given}"), "refresh_token": renews,
                "token_type": "Bearer", "expires_in": lasts,
            });
            let (gate, token) = (rules.gate.clone(), Bytes::from(token.to_string()));
            let later = stream::once(async move {
                if let Some(gate) = gate {
                    gate.notified().await;
                }
                token
            });
            Answer::Http(200, vec![("content-type", "application/json".to_owned())], later.boxed())
        }
        _ => Answer::whole(404, "text/plain", ""),
    }
}

pub(crate) async fn scripted(lasts: u32) -> (Scripted, Shared) {
    let rules = Arc::new(Mutex::new(Rules { lasts, ..Rules::default() }));
    let seen = Arc::clone(&rules);
    (Scripted::raw(move |asked| answer(&seen, asked)).await, rules)
}

pub(crate) fn server(scripted: &Scripted, tokens: impl McpTokens) -> McpServer {
    let endpoint = McpEndpoint::new(scripted.url()).oauth(McpOAuth::new(tokens));
    McpServer::http("test", endpoint).era(McpEra::Stateless)
}

/// Logs in as a person who allows it.
pub(crate) async fn log_in(server: &McpServer) -> Result<McpGrant, McpLoginError> {
    let login = server.begin_login(REDIRECT).await?;
    let state = query(login.address(), "state");
    login.finish(&format!("{REDIRECT}?code=c-1&state={state}")).await
}

pub(crate) fn query(address: &str, name: &str) -> String {
    let pairs = address.split_once('?').unwrap().1.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).collect()
}

/// The forms that were sent to the token endpoint.
pub(crate) fn forms(scripted: &Scripted) -> Vec<String> {
    let asked = scripted.asked();
    let forms = asked.iter().filter(|asked| asked.path == "/token");
    forms.map(|asked| asked.body.as_str().unwrap_or_default().to_owned()).collect()
}

// A84
#[tokio::test]
async fn a_login_brings_a_token_that_its_server_alone_is_sent() {
    let (scripted, _) = scripted(3_600).await;
    let server = server(&scripted, MemoryTokens::new());
    assert!(tools(&server).await.is_err() && server.wants_login());
    let login = server.begin_login(REDIRECT).await.unwrap();
    assert_eq!(query(login.address(), "code_challenge_method"), "S256");
    assert_eq!(query(login.address(), "scope"), "read");
    assert!(query(login.address(), "resource").ends_with("%2Fmcp"));
    let grant = log_in(&server).await.unwrap();
    assert!(!server.wants_login());
    assert!(!format!("{grant:?} {server:?}").contains("canary"));
    tools(&server).await.unwrap();
    // The server says it again, and the model does not read it.
    let told = call(&server, "mcp_test___a").await.unwrap().tree.model_text().into_owned();
    assert!(told.contains("yours is") && !told.contains("access-canary"), "{told}");
    assert!(forms(&scripted)[0].contains("code_verifier=") && forms(&scripted)[0].contains("resource="));
    let elsewhere = scripted.asked().into_iter().filter(|asked| asked.path != "/mcp");
    assert!(elsewhere.into_iter().all(|asked| asked.header("authorization").is_none()));
    server.logout().await.unwrap();
    assert!(tools(&server).await.is_err());
}

#[tokio::test]
async fn a_token_that_ends_or_is_refused_is_renewed_once() {
    // It ends before it can be used.
    let (short, _) = scripted(0).await;
    let at = server(&short, MemoryTokens::new());
    log_in(&at).await.unwrap();
    tools(&at).await.unwrap();
    assert!(forms(&short)[1].contains("refresh_token=refresh-canary-1"));
    // It is refused before it ends.
    let (revoked, rules) = scripted(3_600).await;
    let at = server(&revoked, MemoryTokens::new());
    log_in(&at).await.unwrap();
    rules.lock().unwrap().given = 7;
    tools(&at).await.unwrap();
    assert_eq!(forms(&revoked).len(), 2);
    // It is refused during a call, whose result says the new one.
    rules.lock().unwrap().given = 10;
    let told = call(&at, "mcp_test___a").await.unwrap().tree.model_text().into_owned();
    assert!(told.contains("yours is") && !told.contains("access-canary"), "{told}");
    // Nothing renews it.
    {
        let mut rules = rules.lock().unwrap();
        (rules.given, rules.closed) = (20, true);
    }
    assert!(call(&at, "mcp_test___a").await.is_err() && at.wants_login());
}

#[tokio::test]
async fn a_server_that_wants_more_rights_gets_them_at_the_next_login() {
    let (scripted, rules) = scripted(3_600).await;
    let server = server(&scripted, MemoryTokens::new());
    log_in(&server).await.unwrap();
    rules.lock().unwrap().more = true;
    assert!(call(&server, "mcp_test___a").await.is_err() && server.wants_login());
    assert_eq!(forms(&scripted).len(), 1, "a token like it would not do");
    let login = server.begin_login(REDIRECT).await.unwrap();
    assert_eq!(query(login.address(), "scope"), "write%20read");
}

// A program whose answers come to a place in the web is registered as one of the web: some servers refuse others there.
#[tokio::test]
async fn a_client_is_registered_as_what_its_redirect_address_says() {
    for (redirect, kind) in [
        (REDIRECT, "native"),
        ("https://localhost/callback", "native"),
        ("com.example.app:/callback", "native"),
        ("https://app.example/callback", "web"),
    ] {
        let (scripted, _) = scripted(3_600).await;
        let _ = server(&scripted, MemoryTokens::new()).begin_login(redirect).await.unwrap();
        let asked = scripted.asked();
        let register = asked.iter().find(|asked| asked.path == "/register").unwrap();
        assert_eq!(register.body["application_type"], kind, "{redirect}");
    }
}

#[tokio::test]
async fn a_login_to_something_else_than_the_server_is_refused() {
    for (resource, issuer) in [(Some("https://bank.example/mcp"), None), (None, Some("https://bank.example"))]
    {
        let (scripted, rules) = scripted(3_600).await;
        {
            let mut rules = rules.lock().unwrap();
            (rules.resource, rules.issuer) = (resource.map(str::to_owned), issuer.map(str::to_owned));
        }
        let refused = log_in(&server(&scripted, MemoryTokens::new())).await.unwrap_err();
        assert!(matches!(refused, McpLoginError::Elsewhere | McpLoginError::Issuer), "{refused:?}");
        assert!(scripted.asked().iter().all(|asked| asked.path != "/register"));
    }
}

// A22, A84: a token for all of a host is good at its other servers, which the one that asks for it may be deceiving.
#[tokio::test]
async fn a_token_for_more_than_the_server_is_asked_for_where_the_host_says_so_alone() {
    for (metadata, is_refused) in [
        ("/mcp/metadata", true),
        ("/mcp/.well-known/oauth-protected-resource", true),
        ("/.well-known/oauth-protected-resource/../../mcp/metadata", true),
        ("/.well-known/oauth-protected-resource", false),
        ("/.well-known/oauth-protected-resource/mcp", false),
    ] {
        let (scripted, rules) = scripted(3_600).await;
        let host = scripted.url().replace("/mcp", "/");
        {
            let mut rules = rules.lock().unwrap();
            (rules.resource, rules.metadata) = (Some(host), Some(metadata));
        }
        match log_in(&server(&scripted, MemoryTokens::new())).await {
            Err(refused) => assert!(is_refused && matches!(refused, McpLoginError::Elsewhere), "{metadata}"),
            Ok(_) => assert!(!is_refused, "{metadata}"),
        }
        assert_eq!(scripted.asked().iter().any(|asked| asked.path == "/register"), !is_refused);
    }
    // One that names itself may say so wherever it likes.
    let (scripted, rules) = scripted(3_600).await;
    rules.lock().unwrap().metadata = Some("/mcp/metadata");
    log_in(&server(&scripted, MemoryTokens::new())).await.unwrap();
}

#[tokio::test]
async fn the_answer_to_another_login_is_refused() {
    let (scripted, _) = scripted(3_600).await;
    let server = server(&scripted, MemoryTokens::new());
    for (led, expected) in
        [("code=c&state=forged", "another login"), ("error=access_denied", "another login")]
    {
        let login = server.begin_login(REDIRECT).await.unwrap();
        let refused = login.finish(&format!("{REDIRECT}?{led}")).await.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    let login = server.begin_login(REDIRECT).await.unwrap();
    let state = query(login.address(), "state");
    let other = format!("code=c&state={state}&iss=https%3A%2F%2Fbank.example");
    assert!(matches!(login.finish(&other).await.unwrap_err(), McpLoginError::Issuer));
    assert!(forms(&scripted).is_empty());
}

// The grant of one server is none for another, also where a store mixes them up.
#[tokio::test]
async fn a_grant_for_another_server_is_not_sent() {
    struct Mixed(MemoryTokens);
    impl McpTokens for Mixed {
        fn load(&self, _: &str) -> attache_core::BoxFuture<'_, std::io::Result<Option<McpGrant>>> {
            self.0.load("all")
        }
        fn save(&self, _: &str, grant: Option<McpGrant>) -> attache_core::BoxFuture<'_, std::io::Result<()>> {
            self.0.save("all", grant)
        }
    }
    let (mine, _) = scripted(3_600).await;
    let grant = log_in(&server(&mine, MemoryTokens::new())).await.unwrap();
    let (other, _) = scripted(3_600).await;
    let mixed = Mixed(MemoryTokens::new());
    mixed.save("", Some(grant)).await.unwrap();
    assert!(tools(&server(&other, mixed)).await.is_err());
    assert!(other.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[tokio::test]
async fn a_person_at_this_machine_logs_in_by_a_page_of_it() {
    let (scripted, _) = scripted(3_600).await;
    let server = server(&scripted, MemoryTokens::new());
    let browse = |address: &str| {
        let redirect = query(address, "redirect_uri").replace("%3A", ":").replace("%2F", "/");
        let led = format!("?code=c-1&state={}", query(address, "state"));
        let authority = redirect.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        tokio::spawn(async move {
            // A browser asks for more than it is led to, and pages of others lead it here as well.
            let forged = "/callback?code=theirs&state=forged".to_owned();
            for path in ["/favicon.ico".to_owned(), forged, format!("/callback{led}")] {
                let mut socket = TcpStream::connect(&authority).await.unwrap();
                let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
                socket.write_all(request.as_bytes()).await.unwrap();
                socket.read_to_string(&mut String::new()).await.unwrap();
            }
        });
    };
    server.login(browse).await.unwrap();
    tools(&server).await.unwrap();
}

#[tokio::test]
async fn grants_in_a_file_outlive_the_process_and_are_its_owners_alone() {
    let (scripted, _) = scripted(3_600).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/tokens.json");
    log_in(&server(&scripted, FileTokens::new(&path))).await.unwrap();
    tools(&server(&scripted, FileTokens::new(&path))).await.unwrap();
    #[cfg(unix)]
    for file in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.unwrap().metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    // A file that is damaged is an error, which shows nothing of it.
    std::fs::write(&path, "{\"refresh-canary").unwrap();
    let error = tools(&server(&scripted, FileTokens::new(&path))).await.unwrap_err();
    assert!(!format!("{error:?}").contains("refresh-canary"));
}

#[tokio::test]
async fn a_program_acts_for_itself_without_a_person() {
    for proofless in [false, true] {
        let (scripted, rules) = scripted(3_600).await;
        rules.lock().unwrap().proofless = proofless;
        let oauth = McpOAuth::new(MemoryTokens::new()).client("robot", Some("secret-canary".into()));
        let endpoint = McpEndpoint::new(scripted.url()).oauth(oauth.client_credentials());
        let server = McpServer::http("test", endpoint).era(McpEra::Stateless);
        tools(&server).await.unwrap();
        assert!(forms(&scripted)[0].contains("grant_type=client_credentials"));
        // A code of a person needs a proof.
        let login = server.begin_login(REDIRECT).await;
        assert_eq!(matches!(login, Err(McpLoginError::NoPkce)), proofless);
    }
}

#[tokio::test]
async fn an_authorization_server_that_is_busy_ends_no_login() {
    let (scripted, rules) = scripted(0).await;
    let folder = tempfile::tempdir().unwrap();
    let server = || server(&scripted, FileTokens::new(folder.path().join("tokens.json")));
    log_in(&server()).await.unwrap();
    rules.lock().unwrap().busy = true;
    assert!(tools(&server()).await.is_err());
    rules.lock().unwrap().busy = false;
    tools(&server()).await.unwrap();
}

#[tokio::test]
async fn a_login_is_wanted_where_a_renewed_token_is_refused_too() {
    let (scripted, rules) = scripted(3_600).await;
    let server = server(&scripted, MemoryTokens::new());
    log_in(&server).await.unwrap();
    rules.lock().unwrap().shut = true;
    assert!(tools(&server).await.is_err());
    assert_eq!(forms(&scripted).len(), 2);
    assert!(server.wants_login());
}

// A refresh token is good for nothing once it is used, so the new token must not go with the call that wanted it.
#[tokio::test]
async fn a_renewed_token_is_kept_though_its_call_is_given_up() {
    let (scripted, rules) = scripted(0).await;
    let server = server(&scripted, MemoryTokens::new());
    log_in(&server).await.unwrap();
    let gate = Arc::new(Notify::new());
    rules.lock().unwrap().gate = Some(Arc::clone(&gate));
    {
        let mut waiting = std::pin::pin!(tools(&server));
        while forms(&scripted).len() < 2 {
            tokio::select! {
                _ = &mut waiting => panic!("the token is not there"),
                () = tokio::time::sleep(std::time::Duration::from_millis(5)) => {}
            }
        }
    }
    rules.lock().unwrap().gate = None;
    gate.notify_one();
    tools(&server).await.unwrap();
    assert!(forms(&scripted)[2].contains("refresh_token=refresh-canary-2"), "{:?}", forms(&scripted));
}

#[tokio::test]
async fn a_page_that_deceives_or_is_none_of_the_web_is_not_shown() {
    for page in
        ["javascript:alert(1)", "httpx://a.example/", "https://bank.example@a.example/", "file:///etc"]
    {
        let (scripted, rules) = scripted(3_600).await;
        rules.lock().unwrap().page = Some(page);
        let refused = log_in(&server(&scripted, MemoryTokens::new())).await.unwrap_err();
        assert!(matches!(refused, McpLoginError::Address), "{page}: {refused:?}");
    }
}
