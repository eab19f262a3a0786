//! Tokens that are renewed while calls are given up, and while people log in and out.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use attache_core::BoxFuture;
use attache_mcp::{McpGrant, McpServer, McpTokens, MemoryTokens};
use tokio::sync::Notify;

use super::common::{Scripted, call, tools};
use super::logins::{REDIRECT, Shared, forms, log_in, query, scripted, server};

/// A store that several servers use, and that a test looks into.
#[derive(Clone, Default)]
struct Shelf {
    grant: Arc<Mutex<Option<McpGrant>>>,
    /// Read once in the place of what is there, as somebody does who was slow.
    stale: Arc<Mutex<Option<McpGrant>>>,
}

impl Shelf {
    fn grant(&self) -> Option<McpGrant> {
        self.grant.lock().unwrap().clone()
    }

    /// Has the token of the login end now.
    fn end_token(&self) {
        self.end_token_in(Duration::ZERO);
    }

    fn end_token_in(&self, time: Duration) {
        let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + time;
        self.grant.lock().unwrap().as_mut().unwrap().expires_at = Some(end.as_secs());
    }
}

impl McpTokens for Shelf {
    fn load(&self, _: &str) -> BoxFuture<'_, io::Result<Option<McpGrant>>> {
        let grant = self.stale.lock().unwrap().take().or_else(|| self.grant());
        Box::pin(std::future::ready(Ok(grant)))
    }

    fn save(&self, _: &str, grant: Option<McpGrant>) -> BoxFuture<'_, io::Result<()>> {
        *self.grant.lock().unwrap() = grant;
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A server that is connected, whose token has ended, and whose next one waits at a gate.
async fn at_gate() -> (Scripted, Shared, Shelf, McpServer, Arc<Notify>) {
    let (scripted, rules) = scripted(3_600).await;
    let shelf = Shelf::default();
    let server = server(&scripted, shelf.clone());
    log_in(&server).await.unwrap();
    tools(&server).await.unwrap();
    shelf.end_token();
    let gate = Arc::new(Notify::new());
    rules.lock().unwrap().gate = Some(Arc::clone(&gate));
    (scripted, rules, shelf, server, gate)
}

/// Waits until so many forms were sent.
async fn sent(scripted: &Scripted, count: usize) {
    for _ in 0..2_000 {
        if forms(scripted).len() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{:?}", forms(scripted));
}

// The connection stands, and the request of the call alone renews the token: it is dropped when the call is.
#[tokio::test]
async fn a_call_that_is_given_up_takes_no_renewed_token_with_it() {
    let (scripted, rules, shelf, server, gate) = at_gate().await;
    {
        let mut waiting = std::pin::pin!(call(&server, "mcp_test___a"));
        tokio::select! {
            _ = &mut waiting => panic!("the token is not there"),
            () = sent(&scripted, 2) => {}
        }
    }
    rules.lock().unwrap().gate = None;
    gate.notify_one();
    call(&server, "mcp_test___a").await.unwrap();
    // The new token is kept, and the next one is renewed by it.
    assert!(shelf.grant().is_some_and(|grant| grant.refresh_token.is_some()), "the login is gone");
    shelf.end_token();
    call(&server, "mcp_test___a").await.unwrap();
    let forms = forms(&scripted);
    assert!(forms[2].contains("refresh_token=refresh-canary-2"), "{forms:?}");
}

#[tokio::test]
async fn whoever_logs_out_or_in_during_a_renewal_has_the_last_word() {
    for logs_in in [false, true] {
        let (scripted, rules, shelf, server, gate) = at_gate().await;
        let waits = server.clone();
        let waiting = tokio::spawn(async move { call(&waits, "mcp_test___a").await });
        sent(&scripted, 2).await;
        rules.lock().unwrap().gate = None;
        // Neither waits for the renewal.
        let done = async {
            match logs_in {
                true => drop(log_in(&server).await.unwrap()),
                false => server.logout().await.unwrap(),
            }
        };
        tokio::time::timeout(Duration::from_secs(20), done).await.unwrap();
        gate.notify_one();
        let called = waiting.await.unwrap();
        assert_eq!(called.is_ok(), logs_in, "{called:?}");
        let token = shelf.grant().map(|grant| grant.access_token);
        assert_eq!(token.as_deref(), logs_in.then_some("access-canary-3"));
    }
}

#[tokio::test]
async fn a_renewed_token_does_not_end_the_wish_for_more_rights() {
    let (scripted, rules) = scripted(3_600).await;
    let server = server(&scripted, MemoryTokens::new());
    log_in(&server).await.unwrap();
    rules.lock().unwrap().more = true;
    assert!(call(&server, "mcp_test___a").await.is_err() && server.wants_login());
    // The token is refused, and another one with the same rights comes.
    rules.lock().unwrap().given = 7;
    tools(&server).await.unwrap();
    assert_eq!(forms(&scripted).len(), 2);
    assert!(server.wants_login(), "it has no more rights than before");
    let login = server.begin_login(REDIRECT).await.unwrap();
    assert_eq!(query(login.address(), "scope"), "write%20read");
    log_in(&server).await.unwrap();
    assert!(!server.wants_login());
    // A logout ends it too.
    assert!(call(&server, "mcp_test___a").await.is_err() && server.wants_login());
    server.logout().await.unwrap();
    assert!(!server.wants_login());
}

#[tokio::test]
async fn no_login_is_wanted_where_another_process_has_the_token() {
    let (scripted, _) = scripted(3_600).await;
    let shelf = Shelf::default();
    let ours = server(&scripted, shelf.clone());
    log_in(&ours).await.unwrap();
    tools(&ours).await.unwrap();
    let old = shelf.grant();
    log_in(&server(&scripted, shelf.clone())).await.unwrap();
    // The old token is refused, and the new one is there.
    *shelf.stale.lock().unwrap() = old;
    call(&ours, "mcp_test___a").await.unwrap();
    assert_eq!(forms(&scripted).len(), 2, "nothing was renewed");
    assert!(!ours.wants_login());
}

#[tokio::test]
async fn a_token_that_lives_briefly_is_renewed_in_its_second_half() {
    let (scripted, _) = scripted(60).await;
    let shelf = Shelf::default();
    let server = server(&scripted, shelf.clone());
    log_in(&server).await.unwrap();
    tools(&server).await.unwrap();
    call(&server, "mcp_test___a").await.unwrap();
    assert_eq!(forms(&scripted).len(), 1, "it was good");
    shelf.end_token_in(Duration::from_secs(20));
    call(&server, "mcp_test___a").await.unwrap();
    assert_eq!(forms(&scripted).len(), 2);
}

#[tokio::test]
async fn a_token_is_sent_to_its_end_where_no_other_is_to_be_had() {
    for (once, busy) in [(true, false), (false, true)] {
        let (scripted, rules) = scripted(3_600).await;
        rules.lock().unwrap().once = once;
        let shelf = Shelf::default();
        let server = server(&scripted, shelf.clone());
        log_in(&server).await.unwrap();
        rules.lock().unwrap().busy = busy;
        shelf.end_token_in(Duration::from_secs(50));
        tools(&server).await.unwrap();
        call(&server, "mcp_test___a").await.unwrap();
        assert!(!server.wants_login());
        shelf.end_token();
        assert!(call(&server, "mcp_test___a").await.is_err());
    }
}
