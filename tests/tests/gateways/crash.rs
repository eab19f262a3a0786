//! Kills a process whose agent calls tools of an MCP server, of an A2A agent and of HTTP endpoints, again and again, and
//! lets another go on, until the run ends. The servers stay, and count what was asked of them: no effect happens twice,
//! what is known to have happened did, and what nobody knows is said so.
//!
//! The number of kills is 25, since each takes a second and more beside other tests, or that of `ATTACHE_KILLS`:
//! `cargo xtask crashes --store remote --kills 100` has more. The seed is drawn from the time, or is `ATTACHE_KILL_SEED`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use attache::a2a::{A2aAgent, A2aLimits, A2aUpdate};
use attache::http_tools::{Endpoint, HttpTools};
use attache::mcp::{McpEndpoint, McpServer};
use attache::stores::{FileDocumentStore, FileJournal};
use attache::{Agent, EndReason};
use attache_agent::{Disposition, EntryKind, Journal, deliver};
use attache_core::{DocumentStore, Effect, Message, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::served::{card, listening};

/// The address of the servers, and the folder of the run.
const ORDER: &str = "ATTACHE_REMOTE_CRASH";
/// The time that a server thinks, so that a kill may come meanwhile.
const THINKS: Duration = Duration::from_millis(4);
/// The time that a call waits for a task, and that a task takes.
const PATIENCE: Duration = Duration::from_millis(240);
const TASK: Duration = Duration::from_millis(300);
/// The calls of a run that have effects, as the servers count them.
const EFFECTS: [&str; 5] = ["mcp 1", "a2a 2", "task 3", "http 4", "mcp 5"];

fn turns() -> Vec<Turn> {
    let n = |n: u8| json!({"n": n});
    vec![
        Turn::call("mcp_books___pay", n(1))
            .and_call("books.look", json!({}))
            .and_call("a2a_books___ask", json!({"message": "pay 2"})),
        Turn::call("a2a_books___ask", json!({"message": "task 3"})),
        Turn::call("books.pay", n(4)),
        Turn::call("mcp_books___pay", n(5)).and_call("books.look", json!({})),
        Turn::text("done"),
    ]
}

#[test]
fn a_run_with_remote_tools_killed_anywhere_loses_nothing_and_repeats_no_effect() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    if let Ok(order) = std::env::var(ORDER) {
        let (url, folder) = order.split_once(' ').unwrap();
        std::process::exit(runtime.block_on(drive(url, Path::new(folder))));
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = number("ATTACHE_KILLS").unwrap_or(25);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = number("ATTACHE_KILL_SEED").unwrap_or(now);
    println!("ATTACHE_KILL_SEED={seed} ATTACHE_KILLS={kills}");
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = move |most: u64| {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    // The time that a run takes which nobody kills says when to kill.
    let begun = Instant::now();
    let mut found = one_run(&runtime, |_| None).1;
    let whole = u64::try_from(begun.elapsed().as_millis()).unwrap();
    let mut killed = 0;
    while killed < kills {
        let (count, more) = one_run(&runtime, |attempt| {
            (attempt < 30).then(|| Duration::from_millis(below(whole).min(below(whole))))
        });
        killed += count;
        for (what, count) in more {
            *found.entry(what).or_default() += count;
        }
    }
    println!("{killed} kills, {whole} ms for a run, {:.1?}: {found:?}", begun.elapsed());
    // The test must not pass because nothing happened.
    assert!(["executed", "deferred", "documents"].iter().all(|what| found.contains_key(what)), "{found:?}");
    assert!(kills < 100 || found.contains_key("unknown"), "{found:?}");
}

/// The counts of what a run has left.
type Found = BTreeMap<&'static str, usize>;

/// Starts processes until one brings the run to its end. `plan` says after which time one is killed.
fn one_run(runtime: &tokio::runtime::Runtime, mut plan: impl FnMut(u64) -> Option<Duration>) -> (u64, Found) {
    let done = Arc::<Mutex<Vec<String>>>::default();
    let router = Router::new()
        .route("/mcp", post(mcp))
        .route("/pay", post(pay))
        .route("/look", get(async || file("look", 0)))
        .route("/.well-known/agent-card.json", get(card))
        .route("/a2a", post(a2a))
        .with_state(Arc::clone(&done));
    let (url, server) = runtime.block_on(listening(router));
    let folder = tempfile::tempdir().unwrap();
    let mut killed = 0;
    for attempt in 0.. {
        assert!(attempt < 60, "the run does not end");
        let mut child = start(&url, folder.path());
        match plan(attempt) {
            Some(time) => std::thread::sleep(time),
            None => drop(child.wait().unwrap()),
        }
        child.kill().unwrap();
        let status = child.wait().unwrap();
        match status.code() {
            None => killed += 1,
            Some(0) => break,
            Some(_) => panic!("{status}"),
        }
    }
    server.abort();
    let done = done.lock().unwrap().clone();
    (killed, runtime.block_on(check(folder.path(), &done)))
}

fn start(url: &str, folder: &Path) -> Child {
    let name = "crash::a_run_with_remote_tools_killed_anywhere_loses_nothing_and_repeats_no_effect";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ORDER, format!("{url} {}", folder.display()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs the agent, from the start or from where it stopped, and looks after the task that it waits for.
async fn drive(url: &str, folder: &Path) -> i32 {
    let journal = Arc::new(FileJournal::open(folder.join("run.jsonl")).unwrap());
    let store = Arc::new(FileDocumentStore::open(folder.join("documents")).unwrap());
    let limits = A2aLimits::new().with_patience(PATIENCE);
    let books = A2aAgent::at("books", url).limits(limits);
    loop {
        let entries = journal.load().await.unwrap();
        // The model is the same in each process: it goes by the replies that there are.
        let replies = entries.iter().filter(|entry| matches!(entry.kind, EntryKind::Reply(_))).count();
        let model = ScriptedModel::new(turns().into_iter().skip(replies)).unverified();
        let endpoints = HttpTools::new("books", url).unwrap().with_private_addresses(true);
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let endpoints = endpoints
            .with_endpoint(Endpoint::post("books.pay", "/pay").with_schema(schema))
            .unwrap()
            .with_endpoint(Endpoint::get("books.look", "/look"))
            .unwrap();
        let agent = Agent::builder(model)
            .handler(McpServer::http("books", McpEndpoint::new(format!("{url}/mcp"))))
            .handler(books.clone())
            .handler(endpoints)
            .store(Arc::<FileDocumentStore>::clone(&store))
            .build()
            .unwrap();
        let run = match entries.is_empty() {
            true => agent.run_in(journal.clone(), "Do the books."),
            false => agent.resume(journal.clone()),
        };
        let outcome = run.outcome().await.unwrap();
        match outcome.reason {
            EndReason::Answer => return 0,
            EndReason::PendingExternal => {}
            other => panic!("{other:?}"),
        }
        for request in &outcome.deferred {
            let handle = request.deferred.handle.as_deref().unwrap();
            match books.poll(handle).await.unwrap() {
                A2aUpdate::Done(output) => {
                    let result = output.into_result(&request.call, &*store).await.unwrap();
                    deliver(&*journal, result).await.unwrap();
                }
                A2aUpdate::Working => tokio::time::sleep(THINKS).await,
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Holds what is kept against what the servers were asked for.
async fn check(folder: &Path, done: &[String]) -> Found {
    let mut found = Found::new();
    for effect in EFFECTS {
        assert!(done.iter().filter(|line| *line == effect).count() <= 1, "{effect} happened twice: {done:?}");
    }
    assert!(done.iter().all(|line| EFFECTS.contains(&line.as_str())), "{done:?}");
    let journal = FileJournal::open(folder.join("run.jsonl")).unwrap();
    let entries = journal.load().await.unwrap();
    let run = attache_agent::Run::replay(&entries).unwrap();
    let outcome = run.outcome();
    assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::Answer, "done"));
    let results: Vec<&ToolResult> = outcome
        .messages
        .iter()
        .filter_map(|message| match &**message {
            Message::ToolResults(results) => Some(&results.results),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(results.len(), 7, "each call has one result");
    // In the order of the calls: those that only read have no name.
    let effects = [Some(0), None, Some(1), Some(2), Some(3), Some(4), None];
    let store = FileDocumentStore::open(folder.join("documents")).unwrap();
    for (result, effect) in results.into_iter().zip(effects) {
        let of_call = |entry: &&attache_agent::Entry| match &entry.kind {
            EntryKind::ToolOutcome(outcome) => outcome.call_id == result.call_id,
            _ => false,
        };
        let outcomes: Vec<_> = entries.iter().filter(of_call).collect();
        assert_eq!(outcomes.len(), 1, "{}", result.call_id);
        let EntryKind::ToolOutcome(recorded) = &outcomes[0].kind else { unreachable!() };
        let begun = entries.iter().find_map(|entry| match &entry.kind {
            EntryKind::Begun(begun) if begun.call_id == result.call_id => Some(begun.effect),
            _ => None,
        });
        // On a busy machine an answer may be late, which says the same.
        let is_late = result.tree.json().contains("its outcome is unknown");
        let is_unknown = recorded.disposition == Disposition::Unknown || is_late;
        match effect {
            None => assert!(!is_unknown && !result.is_error(), "a call that only reads is made again"),
            Some(at) => {
                assert_eq!(begun, Some(Effect::SideEffect), "{}", EFFECTS[at]);
                let happened = done.iter().any(|line| line == EFFECTS[at]);
                // The result of a call is there, or nobody knows.
                assert_eq!(result.is_error(), is_unknown, "{}: {result:?}", EFFECTS[at]);
                assert!(happened || is_unknown, "{} is said to have happened", EFFECTS[at]);
                let what = match recorded.disposition {
                    Disposition::Executed | Disposition::TimedOut if is_late => "late",
                    Disposition::Executed => "executed",
                    Disposition::Submitted => "deferred",
                    Disposition::Unknown => "unknown",
                    other => panic!("{}: {other:?}", EFFECTS[at]),
                };
                *found.entry(what).or_default() += 1;
            }
        }
        if !is_unknown {
            let [document] = &result.documents[..] else { panic!("{result:?}") };
            let expected = effect.map_or("look 0", |at| EFFECTS[at]);
            assert_eq!(store.get(document.id()).await.unwrap(), content(expected), "{expected}");
            *found.entry("documents").or_default() += 1;
        }
    }
    found
}

type Done = State<Arc<Mutex<Vec<String>>>>;

/// Bytes that are text of no kind that a model reads as such.
fn content(what: &str) -> Vec<u8> {
    [b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".as_slice(), what.as_bytes()].concat()
}

fn millis() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()
}

async fn does(done: &Mutex<Vec<String>>, kind: &str, n: u64) {
    tokio::time::sleep(THINKS).await;
    done.lock().unwrap().push(format!("{kind} {n}"));
    tokio::time::sleep(THINKS).await;
}

fn file(kind: &str, n: u64) -> Response {
    let disposition = format!("attachment; filename=\"{kind}-{n}.pdf\"");
    let headers = [("content-type", "application/pdf".to_owned()), ("content-disposition", disposition)];
    (headers, content(&format!("{kind} {n}"))).into_response()
}

async fn pay(State(done): Done, axum::Json(asked): axum::Json<Value>) -> Response {
    let n = asked["n"].as_u64().unwrap();
    does(&done, "http", n).await;
    file("http", n)
}

async fn mcp(State(done): Done, axum::Json(asked): axum::Json<Value>) -> axum::Json<Value> {
    let mut result = match asked["method"].as_str().unwrap() {
        "server/discover" => json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
        "tools/list" => {
            let schema =
                json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
            json!({"tools": [{"name": "pay", "description": "Pays", "inputSchema": schema}]})
        }
        "tools/call" => {
            let n = asked["params"]["arguments"]["n"].as_u64().unwrap();
            does(&done, "mcp", n).await;
            let blob = attache_core::base64::encode(content(&format!("mcp {n}")));
            let resource =
                json!({"uri": format!("file:///mcp-{n}.pdf"), "mimeType": "application/pdf", "blob": blob});
            json!({"content": [{"type": "resource", "resource": resource}]})
        }
        other => panic!("{other}"),
    };
    for (key, value) in
        [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
    {
        result[key] = value;
    }
    axum::Json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}

/// An agent that answers at once, or takes a task, whose number and time are its id.
async fn a2a(State(done): Done, axum::Json(asked): axum::Json<Value>) -> axum::Json<Value> {
    let part = |kind: &str, n: u64| {
        let raw = attache_core::base64::encode(content(&format!("{kind} {n}")));
        json!({"raw": raw, "mediaType": "application/pdf", "filename": format!("{kind}-{n}.pdf")})
    };
    let task = |n: &str, state: &str, artifacts: Value| json!({"id": n, "contextId": "c", "status": {"state": state}, "artifacts": artifacts});
    let result = match asked["method"].as_str().unwrap() {
        "SendMessage" => {
            let wanted = asked["params"]["message"]["parts"][0]["text"].as_str().unwrap();
            let (what, n) = wanted.split_once(' ').unwrap();
            let number = n.parse().unwrap();
            match what {
                "task" => {
                    does(&done, "task", number).await;
                    json!({"task": task(&format!("{n}.{}", millis()), "TASK_STATE_WORKING", json!([]))})
                }
                _ => {
                    does(&done, "a2a", number).await;
                    json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [part("a2a", number)]}})
                }
            }
        }
        "GetTask" => {
            let id = asked["params"]["id"].as_str().unwrap();
            let (n, since) = id.split_once('.').unwrap();
            let artifact = json!({"artifactId": "a", "parts": [part("task", n.parse().unwrap())]});
            match millis() < since.parse::<u128>().unwrap() + TASK.as_millis() {
                true => task(id, "TASK_STATE_WORKING", json!([])),
                false => task(id, "TASK_STATE_COMPLETED", json!([artifact])),
            }
        }
        // A process that is gone cancels nothing; one that is there has no reason to.
        other => panic!("{other}"),
    };
    axum::Json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}
