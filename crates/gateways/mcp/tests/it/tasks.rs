//! Calls that servers work on as tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use attache_agent::{Agent, EndReason, MemoryDocumentStore, MemoryJournal, deliver};
use attache_core::ToolErrorKind;
use attache_mcp::{McpCommand, McpEndpoint, McpLimits, McpServer, McpUpdate};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Value, json};

use super::common::{Answer, Asked, Scripted, call, complete, greeting, tool};
use super::sessions::older;

const PDF: &str = "JVBERi0xLjQKJSB0aGUgbGVhc2UK";

/// A task as the newer era has it.
fn task(status: &str, more: &Value) -> Value {
    let mut task = json!({
        "taskId": "t-1", "status": status, "createdAt": "2026-11-23T10:00:00Z",
        "lastUpdatedAt": "2026-11-23T10:00:00Z", "ttlMs": null, "pollIntervalMs": 100,
    });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

fn begun() -> Answer {
    let mut begun = task("working", &json!({}));
    begun["resultType"] = json!("task");
    Answer::Result(begun)
}

fn lease() -> Value {
    json!({"result": {"content": [
        {"type": "text", "text": "drawn up"},
        {"type": "resource", "resource": {"uri": "file:///lease.pdf", "mimeType": "application/pdf", "blob": PDF}},
    ]}})
}

fn question() -> Value {
    json!({"inputRequests": {"who": {"method": "elicitation/create", "params": {
        "mode": "form", "message": "Who signs?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    }}}})
}

/// A server whose calls are tasks, which `look` tells of by the number of looks.
async fn working(look: impl Fn(usize, &Asked) -> Value + Send + Sync + 'static) -> Scripted {
    shaky(move |number, asked| Answer::Result(complete(look(number, asked)))).await
}

/// The same, of which looks can fail.
async fn shaky(look: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> Scripted {
    let looks = AtomicUsize::new(0);
    Scripted::raw(move |asked| match asked.asks() {
        "tools/list" => Answer::Result(complete(json!({"tools": [tool("draw")]}))),
        "tools/call" => begun(),
        "tasks/get" => look(looks.fetch_add(1, Ordering::SeqCst), asked),
        "tasks/update" | "tasks/cancel" => Answer::Result(json!({"resultType": "complete"})),
        other => greeting(other),
    })
    .await
}

fn count(scripted: &Scripted, asks: &str) -> usize {
    scripted.asked().iter().filter(|asked| asked.asks() == asks).count()
}

async fn was_asked(scripted: &Scripted, asks: &str) -> Value {
    for _ in 0..400 {
        if let Some(asked) = scripted.asked().into_iter().rfind(|asked| asked.asks() == asks) {
            return asked.body["params"].clone();
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{asks} does not come");
}

fn impatient(scripted: &Scripted) -> McpServer {
    scripted.server().limits(McpLimits::new().with_call(Duration::from_millis(400)))
}

#[tokio::test]
async fn a_call_that_comes_back_as_a_task_is_followed_to_its_result() {
    let scripted = working(|look, _| match look {
        0 => task("working", &json!({"statusMessage": "reads"})),
        _ => task("completed", &lease()),
    })
    .await;
    let output = call(&scripted.server(), "mcp_test___draw").await.unwrap();
    assert!(output.tree.json().contains("drawn up"), "{}", output.tree.json());
    assert_eq!(output.documents[0].file_name(), Some("lease.pdf"));
    // A server may answer so because we say that we know tasks.
    let asked = scripted.asked();
    let called = asked.iter().find(|asked| asked.asks() == "tools/call").unwrap();
    let capabilities = &called.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(capabilities["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{capabilities}");
    assert_eq!((count(&scripted, "tools/call"), count(&scripted, "tasks/cancel")), (1, 0));
}

#[tokio::test]
async fn a_task_that_fails_or_is_cancelled_is_a_failed_call() {
    for (end, expected) in [
        (
            task("failed", &json!({"error": {"code": -32603, "message": "no paper, token-canary-1234"}})),
            "no paper",
        ),
        (task("cancelled", &json!({})), "cancelled"),
    ] {
        let scripted = working(move |_, _| end.clone()).await;
        let endpoint = McpEndpoint::new(scripted.url()).bearer("token-canary-1234");
        let server = McpServer::http("test", endpoint).era(attache_mcp::McpEra::Stateless);
        let error = call(&server, "mcp_test___draw").await.unwrap_err();
        assert!(
            error.for_model().contains(expected) && !format!("{error:?}").contains("canary"),
            "{error:?}"
        );
    }
    let failing = working(|_, _| {
        task(
            "completed",
            &json!({"result": {"isError": true, "content": [{"type": "text", "text": "no ink"}]}}),
        )
    })
    .await;
    let output = call(&failing.server(), "mcp_test___draw").await.unwrap();
    assert_eq!(output.status, attache_core::ResultStatus::Error);
}

#[tokio::test]
async fn a_task_whose_time_is_up_or_whose_call_is_dropped_is_cancelled() {
    let scripted = working(|_, _| task("working", &json!({}))).await;
    let error = call(&impatient(&scripted), "mcp_test___draw").await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout);
    assert_eq!(was_asked(&scripted, "tasks/cancel").await["taskId"], "t-1");

    let scripted = working(|_, _| task("working", &json!({}))).await;
    let server = scripted.server();
    let calling = tokio::spawn(async move { call(&server, "mcp_test___draw").await });
    was_asked(&scripted, "tasks/get").await;
    calling.abort();
    assert_eq!(was_asked(&scripted, "tasks/cancel").await["taskId"], "t-1");
}

fn out_of_order() -> Answer {
    Answer::whole(503, "text/plain", "a moment")
}

// It has done its work by then, perhaps of hours.
#[tokio::test]
async fn a_task_whose_server_is_away_for_a_moment_is_followed_on() {
    let scripted = shaky(|look, _| match look {
        0 | 1 => out_of_order(),
        _ => Answer::Result(complete(task("completed", &lease()))),
    })
    .await;
    let output = call(&scripted.server(), "mcp_test___draw").await.unwrap();
    assert_eq!(output.documents[0].file_name(), Some("lease.pdf"));
    assert_eq!((count(&scripted, "tools/call"), count(&scripted, "tasks/cancel")), (1, 0));
}

#[tokio::test]
async fn a_task_whose_server_stays_away_is_cancelled_or_deferred() {
    let scripted = shaky(|_, _| out_of_order()).await;
    let error = call(&impatient(&scripted), "mcp_test___draw").await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Unavailable);
    assert_eq!(was_asked(&scripted, "tasks/cancel").await["taskId"], "t-1");

    let scripted = shaky(|_, _| out_of_order()).await;
    let output = call(&impatient(&scripted).defers(true), "mcp_test___draw").await.unwrap();
    assert_eq!(output.deferred.unwrap().handle.as_deref(), Some("mcp-task://test/draw/t-1"));
    assert_eq!(count(&scripted, "tasks/cancel"), 0);
}

#[tokio::test]
async fn the_state_of_another_task_is_none_of_this_one() {
    let scripted =
        working(|_, _| task("completed", &json!({"taskId": "t-2", "result": lease()["result"]}))).await;
    let error = call(&scripted.server(), "mcp_test___draw").await.unwrap_err();
    assert!(error.for_model().contains("another task"), "{error:?}");
    assert_eq!(was_asked(&scripted, "tasks/cancel").await["taskId"], "t-1");
    assert!(scripted.server().poll("mcp-task://test/draw/t-1").await.is_err());
}

// Each answer is a whole look, and its questions are new.
#[tokio::test]
async fn a_task_that_asks_without_end_is_cancelled_when_its_time_is_up() {
    let scripted = working(|look, _| {
        let asked =
            (0..50).map(|number| (format!("q-{look}-{number}"), question()["inputRequests"]["who"].clone()));
        task("input_required", &json!({"inputRequests": asked.collect::<serde_json::Map<_, _>>()}))
    })
    .await;
    let server = impatient(&scripted).elicitation();
    let error = call(&server, "mcp_test___draw").await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout);
    assert_eq!(was_asked(&scripted, "tasks/cancel").await["taskId"], "t-1");
}

// Another process looks at the task, and delivers what comes of it.
#[tokio::test]
async fn a_task_that_takes_long_becomes_a_deferred_call_that_survives_restarts() {
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let scripted = working(move |_, _| match done.load(Ordering::SeqCst) {
        true => task("completed", &lease()),
        false => task("working", &json!({"statusMessage": "reads"})),
    })
    .await;
    let store = Arc::new(MemoryDocumentStore::new("memory"));
    let model = ScriptedModel::new([Turn::call("mcp_test___draw", json!({})), Turn::text("Here.")]);
    let server = impatient(&scripted).defers(true).lifetime(Duration::from_secs(86_400));
    let agent = Agent::builder(model.clone()).handler(server).store(store.clone()).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let outcome = agent.run_in(journal.clone(), "A lease, please.").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::PendingExternal);
    let request = outcome.deferred[0].clone();
    assert!(request.deferred.expires_at.is_some());
    let handle = request.deferred.handle.unwrap();
    assert_eq!(handle, "mcp-task://test/draw/t-1");

    let later = scripted.server();
    let McpUpdate::Working(said) = later.poll(&handle).await.unwrap() else { panic!("it is worked on") };
    assert_eq!(said.as_deref(), Some("reads"));
    for other in ["mcp-task://other/draw/t-1", "t-1", ""] {
        assert!(later.poll(other).await.is_err(), "{other}");
    }
    is_done.store(true, Ordering::SeqCst);
    let McpUpdate::Done(output) = later.poll(&handle).await.unwrap() else { panic!("it is over") };
    deliver(&*journal, output.into_result(&request.call, &*store).await.unwrap()).await.unwrap();
    let outcome = agent.resume(journal).outcome().await.unwrap();
    assert_eq!(outcome.text, "Here.");
    let requests = model.requests();
    let seen = attache_testkit::documents(requests.last().unwrap());
    assert_eq!(seen.iter().map(|document| document.file_name()).collect::<Vec<_>>(), [Some("lease.pdf")]);
    // Nobody cancelled what somebody waits for, and nobody called again.
    assert_eq!((count(&scripted, "tasks/cancel"), count(&scripted, "tools/call")), (0, 1));
}

/// A task that asks until it is answered.
async fn asking() -> Scripted {
    let answered = Arc::new(AtomicBool::new(false));
    let (heard, seen) = (Arc::clone(&answered), Arc::clone(&answered));
    let looks = move |asked: &Asked| match asked.asks() {
        "tasks/update" => {
            let given = &asked.body["params"]["inputResponses"]["who"];
            assert_eq!(given["content"]["name"], "Ann", "{given}");
            heard.store(true, Ordering::SeqCst);
            Some(json!({"resultType": "complete"}))
        }
        "tasks/get" if seen.load(Ordering::SeqCst) => Some(complete(task("completed", &lease()))),
        "tasks/get" => Some(complete(task("input_required", &question()))),
        _ => None,
    };
    Scripted::raw(move |asked| match (asked.asks(), looks(asked)) {
        (_, Some(result)) => Answer::Result(result),
        ("tools/list", _) => Answer::Result(complete(json!({"tools": [tool("draw")]}))),
        ("tools/call", _) => begun(),
        ("tasks/cancel", _) if !answered.load(Ordering::SeqCst) => {
            Answer::Result(json!({"resultType": "complete"}))
        }
        (other, _) => greeting(other),
    })
    .await
}

#[tokio::test]
async fn a_question_of_a_task_survives_the_process_and_the_task_goes_on_with_the_answer() {
    let scripted = asking().await;
    let agent = |turns: Vec<Turn>| {
        let server = scripted.server().elicitation();
        Agent::builder(ScriptedModel::new(turns)).handler(server).build().unwrap()
    };
    let journal = Arc::new(MemoryJournal::new());
    let first = agent(vec![Turn::call("mcp_test___draw", json!({}))]);
    let outcome = first.run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::InputRequired);
    let asked = &outcome.deferred[0];
    assert_eq!(asked.deferred.prompt.as_deref(), Some("The server \"test\" asks: Who signs?"));
    drop(first);
    let rest = agent(vec![Turn::text("done")]).resume(journal);
    let outcome = rest.reply(&asked.call.id, json!({"name": "Ann"})).outcome().await.unwrap();
    assert_eq!(outcome.text, "done");
    // The task is the one that asked.
    assert_eq!((count(&scripted, "tools/call"), count(&scripted, "tasks/cancel")), (1, 0));
}

#[tokio::test]
async fn whoever_waits_for_a_deferred_task_answers_what_it_asks() {
    let scripted = asking().await;
    let server = scripted.server().elicitation();
    let handle = "mcp-task://test/draw/t-1";
    let McpUpdate::Asks(asked) = server.poll(handle).await.unwrap() else { panic!("it asks") };
    assert!(
        asked.prompt.unwrap().contains("Who signs?") && asked.schema.unwrap()["required"] == json!(["name"])
    );
    server.answer(handle, json!({"name": "Ann"})).await.unwrap();
    assert!(matches!(server.poll(handle).await.unwrap(), McpUpdate::Done(_)));
    assert!(server.answer(handle, json!({"name": "Ann"})).await.is_err());
    server.cancel(handle).await.unwrap_err();
}

/// A server of version 2025-11-25, of which each call must be a task, or none may be one. It refuses others by an error, or
/// in a result.
async fn older_tasks(must: bool, by_error: bool) -> Scripted {
    let looks = Arc::new(AtomicUsize::new(0));
    Scripted::raw(move |asked| {
        let old = |status: &str| {
            json!({"taskId": "t-1", "status": status, "createdAt": "2026-11-23T10:00:00Z",
                "lastUpdatedAt": "2026-11-23T10:00:00Z", "ttl": 60_000, "pollInterval": 100})
        };
        let usual = older(asked, "s-1");
        match asked.asks() {
            _ if asked.header("mcp-session-id").is_none() => usual,
            "tools/call" if asked.body["params"]["task"].is_object() != must => match by_error {
                true => Answer::Error(-32601, "This tool requires task-augmented invocation"),
                false => Answer::Result(json!({"isError": true, "content": [
                    {"type": "text", "text":
                        "MCP error -32601: Tool a requires task augmentation (taskSupport: 'required')"},
                ]})),
            },
            "tools/call" if must => Answer::Result(json!({"task": old("working")})),
            "tasks/get" => Answer::Result(match looks.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => old("working"),
                _ => old("completed"),
            }),
            "tasks/result" => Answer::Result(lease()["result"].clone()),
            "tasks/cancel" => Answer::Result(old("cancelled")),
            _ => usual,
        }
    })
    .await
}

// The word may be that of another server, behind the one that has done something already.
#[tokio::test]
async fn a_call_with_effects_is_not_repeated_for_an_error_that_says_nothing_of_tasks() {
    for by_error in [true, false] {
        let scripted = Scripted::raw(move |asked| match asked.asks() {
            "tools/call" if asked.header("mcp-session-id").is_some() => match by_error {
                true => Answer::Error(-32601, "Method not found: list_tasks"),
                false => Answer::Result(json!({"isError": true, "content": [
                    {"type": "text", "text": "MCP error -32601: Method not found: list_tasks"},
                ]})),
            },
            _ => older(asked, "s-1"),
        })
        .await;
        let server = McpServer::http("test", McpEndpoint::new(scripted.url()));
        let output = call(&server, "mcp_test___a").await;
        assert!(output.map_or(true, |output| output.status == attache_core::ResultStatus::Error));
        assert_eq!(count(&scripted, "tools/call"), 1);
    }
}

#[tokio::test]
async fn a_tool_of_the_older_era_whose_calls_must_be_tasks_is_called_so() {
    for by_error in [true, false] {
        let scripted = older_tasks(true, by_error).await;
        let server = McpServer::http("test", McpEndpoint::new(scripted.url()));
        let output = call(&server, "mcp_test___a").await.unwrap();
        assert!(output.tree.json().contains("drawn up"), "{}", output.tree.json());
        assert_eq!(output.documents[0].file_name(), Some("lease.pdf"));
        assert_eq!(was_asked(&scripted, "tools/call").await["task"]["ttl"], 120_000);
        assert_eq!(was_asked(&scripted, "tasks/result").await["taskId"], "t-1");
        let handle = "mcp-task://test/a/t-1?old";
        let McpUpdate::Done(output) = server.poll(handle).await.unwrap() else { panic!("it is over") };
        assert!(!output.is_error && output.documents().count() == 1);
    }
}

/// A server of version 2025-11-25 with a task in `status`, whose result it tells by `result`.
async fn older_task(status: &'static str, result: impl Fn() -> Answer + Send + Sync + 'static) -> Scripted {
    Scripted::raw(move |asked| {
        let old = |status: &str| {
            json!({"taskId": "t-1", "status": status, "createdAt": "2026-11-23T10:00:00Z",
                "lastUpdatedAt": "2026-11-23T10:00:00Z", "ttl": 60_000, "pollInterval": 100})
        };
        let usual = older(asked, "s-1");
        match asked.asks() {
            _ if asked.header("mcp-session-id").is_none() => usual,
            "tools/call" => Answer::Result(json!({"task": old("working")})),
            "tasks/get" => Answer::Result(old(status)),
            "tasks/result" => result(),
            "tasks/cancel" => Answer::Result(old("cancelled")),
            _ => usual,
        }
    })
    .await
}

#[tokio::test]
async fn a_result_that_cannot_be_fetched_now_is_no_end_of_a_deferred_call() {
    let handle = "mcp-task://test/a/t-1?old";
    let scripted = older_task("completed", out_of_order).await;
    let server = McpServer::http("test", McpEndpoint::new(scripted.url()));
    let error = server.poll(handle).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Unavailable);
    // The error of the task itself is one.
    let scripted = older_task("failed", || Answer::Error(-32603, "no paper")).await;
    let server = McpServer::http("test", McpEndpoint::new(scripted.url()));
    let McpUpdate::Done(output) = server.poll(handle).await.unwrap() else { panic!("it is over") };
    assert!(output.is_error);
}

// It asks over the connection of the request for the result, which stays open then.
#[tokio::test]
async fn an_older_task_that_takes_long_behind_its_question_is_deferred() {
    let scripted = older_task("input_required", || Answer::Hang).await;
    let server = McpServer::http("test", McpEndpoint::new(scripted.url()));
    let server = server.limits(McpLimits::new().with_call(Duration::from_millis(600))).defers(true);
    let output = call(&server, "mcp_test___a").await.unwrap();
    assert_eq!(output.deferred.unwrap().handle.as_deref(), Some("mcp-task://test/a/t-1?old"));
    assert_eq!(count(&scripted, "tasks/cancel"), 0);
}

// Nobody waits for ever for a task that waits for somebody who cannot be asked.
#[tokio::test]
async fn a_deferred_task_whose_question_nobody_can_answer_ends_as_a_failure() {
    let older = older_task("input_required", || Answer::Hang).await;
    let newer = asking().await;
    for (scripted, server, handle) in [
        // The older protocol asks over the connection of the call, which is gone.
        (
            &older,
            McpServer::http("test", McpEndpoint::new(older.url())).elicitation(),
            "mcp-task://test/a/t-1?old",
        ),
        // Nobody may be asked.
        (&newer, newer.server(), "mcp-task://test/draw/t-1"),
    ] {
        let McpUpdate::Done(output) = server.poll(handle).await.unwrap() else { panic!("{handle}") };
        let read = serde_json::to_string(&output).unwrap();
        assert!(output.is_error && read.contains("asks for an input that nobody can give"), "{read}");
        assert_eq!(count(scripted, "tasks/cancel"), 1, "{handle}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_child_process_that_is_gone_is_not_started_to_cancel_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let command = McpCommand::new("sh").args(["-c", &format!("echo > {}; cat", started.display())]);
    let server = McpServer::command("test", command);
    server.cancel("mcp-task://test/a/t-1").await.unwrap();
    server.cancel("mcp-task://test/a/t-1?old").await.unwrap();
    assert!(!started.exists());
    assert!(server.cancel("mcp-task://other/a/t-1").await.is_err());
}

#[tokio::test]
async fn a_tool_of_the_older_era_whose_calls_may_be_no_tasks_is_called_without_one() {
    for by_error in [true, false] {
        let scripted = older_tasks(false, by_error).await;
        let server = McpServer::http("test", McpEndpoint::new(scripted.url())).defers(true);
        assert_eq!(call(&server, "mcp_test___a").await.unwrap().tree.model_text(), "s-1");
        assert_eq!(count(&scripted, "tools/call"), 2);
    }
}
