//! Agents as tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{
    Agent, Decision, MemorySessions, NoArguments, ObservedRun, Observer, RunObserver, Sessions,
    ToolCallObserver, ToolCallStart, decide, tool_fn,
};
use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::tool::Deferred;
use attache_core::{
    Approval, BoxFuture, Document, Effect, ErrorKind, Message, ToolError, ToolReturn, UserPart,
};
use attache_mcp::{McpAgent, McpEndpoint, McpEra, McpServeLimits, McpServer, McpService};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::super::common::call_with;
use super::tools::PNG;
use super::{Client, served, text};

fn service(agent: Agent) -> McpService {
    McpService::agent("ask", "Answers questions", agent)
}

fn plain(turns: impl IntoIterator<Item = Turn>) -> (ScriptedModel, Agent) {
    let model = ScriptedModel::new(turns).unverified();
    (model.clone(), Agent::builder(model).build().unwrap())
}

#[tokio::test]
async fn an_agent_answers_with_its_documents_and_tells_its_progress() {
    let plan =
        tool_fn("fetch_plan", "Fetches the plan", || Ok(Document::new(PNG).with_file_name("plan.png")));
    let model = ScriptedModel::new([Turn::call("fetch_plan", "{}"), Turn::text("Four rooms.")]).unverified();
    let agent = Agent::builder(model).tool(plan).build().unwrap();
    let mut client = Client::new(service(agent), json!({})).await;
    let params = json!({
        "name": "ask", "arguments": {"question": "How many rooms?"}, "_meta": {"progressToken": 7},
    });
    let result = client.ask("tools/call", params).await["result"].clone();
    assert_eq!(text(&result), "Four rooms.", "{result}");
    let image = &result["content"][1];
    assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")));
    assert_eq!(attache_core::base64::decode(image["data"].as_str().unwrap()).unwrap(), PNG);
    let structured = &result["structuredContent"];
    assert_eq!((&structured["answer"], &structured["reason"]), (&json!("Four rooms."), &json!("answer")));
    assert_eq!(structured["documents"][0]["name"], "plan.png");
    let steps: Vec<_> = client.told.iter().filter_map(|told| told["params"]["message"].as_str()).collect();
    let expected = ["the model is asked", "fetch_plan runs", "fetch_plan is done", "the model is asked"];
    assert_eq!(steps, expected);
}

#[tokio::test]
async fn a_picture_that_the_model_of_an_agent_makes_is_an_answer() {
    let (_, agent) = plain([Turn::empty().making(Document::new(PNG).with_file_name("plan.png"))]);
    let mut client = Client::new(service(agent), json!({})).await;
    let result = client.call("ask", json!({"question": "Draw the plan."})).await;
    let blocks = result["content"].as_array().unwrap();
    let image = blocks.iter().find(|block| block["type"] == "image").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(attache_core::base64::decode(image["data"].as_str().unwrap()).unwrap(), PNG);
    assert_eq!(result["isError"], json!(false), "{result}");
}

#[tokio::test]
async fn documents_beyond_those_of_a_result_are_told() {
    let scans = tool_fn("scan", "Scans", || {
        Ok::<_, ToolError>((0_u8..3).map(|at| Document::new(vec![at; 9])).collect::<Vec<_>>())
    });
    let model = ScriptedModel::new([Turn::call("scan", "{}"), Turn::text("There.")]).unverified();
    let mut limits = McpServeLimits::new();
    limits.documents = 2;
    let service = service(Agent::builder(model).tool(scans).build().unwrap()).with_limits(limits);
    let result = Client::new(service, json!({})).await.call("ask", json!({"question": "Scan."})).await;
    assert!(result.to_string().contains("[1 document is left out: a result holds 2]"), "{result}");
}

#[tokio::test]
async fn documents_of_calls_beside_each_other_come_in_the_order_of_the_calls() {
    let second = Arc::new(tokio::sync::Notify::new());
    let (waits, tells) = (Arc::clone(&second), second);
    let slow = tool_fn("slow", "Scans", move |_: NoArguments| {
        let waits = Arc::clone(&waits);
        async move {
            waits.notified().await;
            Ok::<_, ToolError>(Document::new(PNG).with_file_name("first.png"))
        }
    });
    let fast = tool_fn("fast", "Scans", move |_: NoArguments| {
        let tells = Arc::clone(&tells);
        async move {
            tells.notify_one();
            Ok::<_, ToolError>(Document::new([PNG, b"."].concat()).with_file_name("second.png"))
        }
    });
    let turn = Turn::call("slow", "{}").and_call("fast", "{}");
    let model = ScriptedModel::new([turn, Turn::text("There.")]).unverified();

    let agent = Agent::builder(model)
        .tool(slow.with_effect(Effect::Read))
        .tool(fast.with_effect(Effect::Read))
        .build()
        .unwrap();
    let result = Client::new(service(agent), json!({})).await.call("ask", json!({"question": "Scan."})).await;
    let documents = result["structuredContent"]["documents"].as_array().unwrap();
    let names: Vec<_> = documents.iter().map(|document| &document["name"]).collect();
    assert_eq!(names, ["first.png", "second.png"]);
}

/// A fetcher that has a plan at each address of a server, and nothing else.
struct Plans;

impl Fetcher for Plans {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let found = url.starts_with("mcp://plans/").then(|| Fetched::new(PNG));
        Box::pin(async { found.ok_or(FetchError::new(FetchErrorKind::NotFound, "nothing there")) })
    }
}

// The client of our server cannot read what a server of ours has.
#[tokio::test]
async fn what_a_tool_links_to_through_a_server_of_ours_is_handed_over() {
    let answer = async |turns: [Turn; 2], fetches: bool| {
        let links = tool_fn("links", "Gives links", || {
            let at = |url: &str| Document::external(url).with_file_name("plan.png");
            Ok(["mcp://plans/1", "mcp://others/1", "https://h.example/plan.png"].map(at))
        });
        let agent = Agent::builder(ScriptedModel::new(turns).unverified()).tool(links);
        let agent = if fetches { agent.fetcher(Plans) } else { agent };
        let mut client = Client::new(service(agent.build().unwrap()), json!({})).await;
        client.call("ask", json!({"question": "Where?"})).await
    };
    let turns = || [Turn::call("links", "{}"), Turn::text("There.")];
    for (fetches, expected) in [
        (true, ["text", "image", "text", "resource_link"]),
        (false, ["text", "text", "text", "resource_link"]),
    ] {
        let result = answer(turns(), fetches).await;
        let kinds: Vec<_> =
            result["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, expected, "{result}");
        assert!(result["content"][2]["text"].as_str().unwrap().contains("cannot be had now"), "{result}");
        assert!(!result.to_string().contains("mcp://"), "{result}");
    }
}

// Tools that are served by themselves.
#[tokio::test]
async fn what_a_served_tool_links_to_through_a_server_of_ours_is_handed_over() {
    let links = tool_fn("links", "Gives links", || {
        Ok(["mcp://plans/1", "mcp://others/1"].map(|url| Document::external(url).with_file_name("plan.png")))
    });
    let agent = Agent::without_model().tool(links).fetcher(Plans).build().unwrap();
    let mut client = Client::new(McpService::new("plans").with_tools_of(agent), json!({})).await;
    let result = client.call("links", json!({})).await;
    let images = result["content"].as_array().unwrap().iter().filter(|block| block["type"] == "image");
    assert_eq!(images.count(), 1, "{result}");
    assert!(
        result.to_string().contains("cannot be had now") && !result.to_string().contains("mcp://"),
        "{result}"
    );
}

/// Counts the tools that run.
struct Looker(Arc<AtomicUsize>);

impl Observer for Looker {
    fn run(&self, _: &ObservedRun<'_>) -> Arc<dyn RunObserver> {
        panic!("no run calls them")
    }

    fn tool_call(&self, call: &ToolCallStart<'_>) -> Option<Arc<dyn ToolCallObserver>> {
        assert_eq!(call.spec.definition.name(), "links");
        self.0.fetch_add(1, Ordering::SeqCst);
        None
    }
}

// S24
#[tokio::test]
async fn a_tool_that_is_served_by_itself_is_observed_where_it_runs() {
    let seen = Arc::new(AtomicUsize::new(0));
    let links = tool_fn("links", "Gives links", || Ok("none"));
    let agent = Agent::without_model().tool(links).observer(Looker(Arc::clone(&seen))).build().unwrap();
    let mut client = Client::new(McpService::new("plans").with_tools_of(agent), json!({})).await;
    assert_eq!(text(&client.call("links", json!({})).await), "none");
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn documents_of_a_question_reach_the_model() {
    let model = ScriptedModel::new([Turn::text("A letter.")])
        .unverified()
        .with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let agent = Agent::builder(model.clone()).build().unwrap();
    let mut client = Client::new(service(agent), json!({})).await;
    let data = attache_core::base64::encode(PNG);
    let documents = json!([{"name": "plan.png", "data": data}, {"name": "a.txt", "text": "Dear Ann"}]);
    let result = client.call("ask", json!({"question": "What is it?", "documents": documents})).await;
    assert_eq!(text(&result), "A letter.", "{result}");
    let requests = model.requests();
    let Message::User(asked) = &*requests[0].messages[0] else { panic!("a question") };
    let documents: Vec<_> = asked
        .parts
        .iter()
        .filter_map(|part| match part {
            UserPart::Document(document) => document.hash(),
            _ => None,
        })
        .collect();
    assert_eq!(documents, [Document::new(PNG).hash().unwrap(), Document::new("Dear Ann").hash().unwrap()]);
    let unfit = client.call("ask", json!({"question": "What?", "documents": [{"data": "%"}]})).await;
    assert_eq!(unfit["isError"], true);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_second_question_of_a_session_knows_the_first() {
    let (model, agent) = plain([Turn::text("Hello, Ann."), Turn::text("Ann."), Turn::text("No idea.")]);
    let service = service(agent);
    let mut client = Client::new(service, json!({})).await;
    let first = client.call("ask", json!({"question": "I am Ann."})).await;
    let second = client.call("ask", json!({"question": "Who am I?"})).await;
    assert_eq!(first["structuredContent"]["session"], second["structuredContent"]["session"]);
    assert_eq!(model.requests()[1].messages.len(), 3);
}

// Requests of the newer era stand for themselves: the conversation goes on by its name, for its principal alone
#[tokio::test]
async fn a_stateless_client_goes_on_by_the_name_of_the_session_and_a_foreign_one_is_not_found() {
    let (model, agent) = plain((0..3).map(|_| Turn::text("Yes.")));
    let sessions = Sessions::new(agent.clone(), Arc::new(MemorySessions::new()));
    let ask = McpAgent::new("ask", "Answers", agent).with_sessions(&sessions);
    let http = McpService::new("books")
        .with_agent(ask)
        .http()
        .with_bearer(|token| async move { token.strip_prefix("token of ").map(str::to_owned) });
    let served = served(http).await;
    let server = |name: &str| {
        let endpoint = McpEndpoint::new(&served.url).bearer(format!("token of {name}"));
        McpServer::http("test", endpoint).era(McpEra::Stateless)
    };
    let ask = |name: &'static str, arguments: Value| {
        let server = server(name);
        async move { call_with(&server, "mcp_test___ask", &arguments.to_string()).await.unwrap() }
    };
    let first = ask("ann", json!({"question": "I am Ann."})).await;
    let said: Value = serde_json::from_str(first.tree.json()).unwrap();
    let session = said.to_string();
    let session = session.split("\"session\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    ask("ann", json!({"question": "Who am I?", "session": session})).await;
    assert_eq!(model.requests()[1].messages.len(), 3, "it goes on");
    ask("ann", json!({"question": "Who am I?"})).await;
    assert_eq!(model.requests()[2].messages.len(), 1, "it is a new one");
    let foreign = ask("bob", json!({"question": "Who am I?", "session": session})).await;
    assert!(foreign.tree.json().contains("there is no such session"), "{}", foreign.tree.json());
    assert_eq!(model.requests().len(), 3);
}

/// An agent that pays, and asks who is paid.
fn payer() -> (ScriptedModel, Agent) {
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let whom =
        tool_fn("ask_user", "Asks", || Ok(Deferred::ask("Whom?").with_schema(json!({"type": "string"}))));
    let turns = [Turn::call("ask_user", "{}"), Turn::call("pay", "{}"), Turn::text("Done.")];
    let model = ScriptedModel::new(turns).unverified();
    (model.clone(), Agent::builder(model).tool(pay).tool(whom).build().unwrap())
}

fn results(model: &ScriptedModel) -> Vec<String> {
    let last = model.requests().pop().unwrap();
    let results = last.messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(results.results[0].tree.model_text().into_owned()),
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn an_agent_that_pauses_asks_its_client_and_goes_on() {
    let (model, agent) = payer();
    let mut client = Client::new(service(agent), json!({"elicitation": {}})).await;
    let both = json!({"action": "accept", "content": {"answer": "Bob", "decision": "approve"}});
    let result = client.call_answering("ask", json!({"question": "Pay."}), both).await;
    assert_eq!(text(&result), "Done.");
    assert_eq!(results(&model), ["Bob", "paid"]);
}

#[tokio::test]
async fn a_stateless_client_answers_an_agent_by_calling_again() {
    let (model, agent) = payer();
    let mut client = Client::stateless(service(agent), json!({"elicitation": {}}));
    let mut params = json!({"name": "ask", "arguments": {"question": "Pay."}});
    let mut rounds = 0;
    let result = loop {
        let result = client.ask("tools/call", params.clone()).await["result"].clone();
        if result["resultType"] != "input_required" {
            break result;
        }
        rounds += 1;
        assert!(rounds < 6, "{result}");
        let both = json!({"action": "accept", "content": {"answer": "Bob", "decision": "approve"}});
        let keys = result["inputRequests"].as_object().unwrap().keys();
        params["requestState"] = result["requestState"].clone();
        // The first answer is forgotten once, and asked for again.
        params["inputResponses"] = match rounds {
            1 => json!({}),
            _ => keys.map(|key| (key.clone(), both.clone())).collect(),
        };
    };
    assert_eq!((text(&result), rounds), ("Done.", 3));
    assert_eq!(results(&model), ["Bob", "paid"]);
}

/// A question whose call was approved, and which did not go on: the process died, or the store failed. Yields its
/// conversation beside a client.
async fn approved(model: &ScriptedModel) -> (Client, Sessions, String) {
    let pay = tool_fn("pay", "Pays", || {
        Ok::<_, ToolError>(ToolReturn::new("paid").with_document(Document::new(PNG)))
    });
    let whom = tool_fn("ask_user", "Asks", || Ok(Deferred::ask("Whom?")));
    let pay = pay.with_approval(Approval::Always);
    let agent = Agent::builder(model.clone()).tool(pay).tool(whom).build().unwrap();
    let sessions = Sessions::new(agent.clone(), Arc::new(MemorySessions::new()));
    let ask = McpAgent::new("ask", "Answers", agent).with_sessions(&sessions);
    let service = McpService::new("books").with_agent(ask);
    let mut client = Client::stateless(service, json!({"elicitation": {}}));
    let asks = client.call("ask", json!({"question": "Pay."})).await;
    assert_eq!(asks["resultType"], "input_required", "{asks}");
    let id = sessions.list("local").await.unwrap()[0].id.to_string();
    let session = sessions.get("local", &id).await.unwrap();
    let approval = session.last().await.unwrap().unwrap().approvals[0].id.clone();
    let journal = session.journal().await.unwrap().unwrap();
    decide(&*journal, &approval, "the user", Decision::Approve).await.unwrap();
    (client, sessions, id)
}

#[tokio::test]
async fn a_question_behind_an_approval_that_came_to_nothing_has_its_answer() {
    let turns = [Turn::call("pay", "{}"), Turn::text("It is paid."), Turn::text("Hello.")];
    let model = ScriptedModel::new(turns).unverified();
    let (mut client, _, id) = approved(&model).await;
    let result = client.call("ask", json!({"question": "Hello?", "session": id})).await;
    assert_eq!(text(&result), "Hello.", "{result}");
    assert_eq!(results(&model), ["paid"]);
    // Its own answer stands in the conversation, and nobody had it.
    assert_eq!(result["structuredContent"]["earlier"], "It is paid.", "{result}");
    assert!(result["content"][1]["text"].as_str().unwrap().contains("It is paid."), "{result}");
    assert_eq!(result["content"][2]["type"], "image", "{result}");
}

#[tokio::test]
async fn an_earlier_question_without_an_answer_is_told_as_such() {
    let fails = || Turn::empty().then_error(ErrorKind::Authentication);
    // It waits once more, or it fails.
    for (next, reason) in [(Turn::call("ask_user", "{}"), "input_required"), (fails(), "provider_error")] {
        let turns = [Turn::call("pay", "{}"), next, Turn::text("Hello.")];
        let model = ScriptedModel::new(turns).unverified();
        let (mut client, _, id) = approved(&model).await;
        let result = client.call("ask", json!({"question": "Hello?", "session": id})).await;
        assert_eq!(text(&result), "Hello.", "{result}");
        let structured = &result["structuredContent"];
        assert_eq!(structured["earlierReason"], reason, "{result}");
        assert!(structured["earlier"].is_null(), "{result}");
        let said = result["content"][1]["text"].as_str().unwrap();
        assert!(said.contains("has no answer") && said.contains(reason), "{said}");
    }
}

// Its effects have happened, and nobody else tells of them
#[tokio::test]
async fn an_earlier_question_is_told_also_where_the_one_behind_it_cannot_go_on() {
    let turns = [Turn::call("pay", "{}"), Turn::text("It is paid."), Turn::call("ask_user", "{}")];
    let model = ScriptedModel::new(turns).unverified();
    let (mut client, sessions, id) = approved(&model).await;
    let mut params = json!({"name": "ask", "arguments": {"question": "Hello?", "session": id}});
    let asks = client.ask("tools/call", params.clone()).await["result"].clone();
    assert_eq!(asks["resultType"], "input_required", "{asks}");
    sessions.clear("local", &id).await.unwrap();
    params["requestState"] = asks["requestState"].clone();
    let keys = asks["inputRequests"].as_object().unwrap().keys();
    params["inputResponses"] = keys.map(|key| (key.clone(), json!({"action": "cancel"}))).collect();
    let result = client.ask("tools/call", params).await["result"].clone();
    assert_eq!((&result["isError"], text(&result)), (&json!(true), "the session cannot go on"), "{result}");
    assert!(result["content"][1]["text"].as_str().unwrap().contains("It is paid."), "{result}");
    assert_eq!(result["content"][2]["type"], "image", "{result}");
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_model_reads_so() {
    let (model, agent) = payer();
    let mut client = Client::new(service(agent), json!({})).await;
    let result = client.call("ask", json!({"question": "Pay."})).await;
    assert_eq!(text(&result), "Done.");
    for said in results(&model) {
        assert!(said.contains("the client cannot ask its user"), "{said}");
    }
}

// A84: nothing of a failure inside reaches a client
#[tokio::test]
async fn an_agent_that_fails_says_so_and_nothing_of_its_inside() {
    let look = tool_fn("look", "Looks", || {
        Err::<(), _>(ToolError::new("it cannot be read").with_source("the key canary-1234 is wrong"))
    });
    let turns = [Turn::call("look", "{}"), Turn::empty().then_error(ErrorKind::Authentication)];
    let agent = Agent::builder(ScriptedModel::new(turns).unverified()).tool(look).build().unwrap();
    let mut client = Client::new(service(agent), json!({})).await;
    let result = client.call("ask", json!({"question": "Hello?"})).await;
    assert_eq!(result["isError"], true);
    assert!(text(&result).starts_with("the agent stopped before its work was done"), "{result}");
    assert!(!result.to_string().contains("canary"), "{result}");
}

// Calls have 5 s to end once their client is gone, which pass at once here
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_cancels_the_run() {
    struct Dropped(Option<tokio::sync::oneshot::Sender<()>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.take().map(|bell| bell.send(()));
        }
    }
    for gone in [false, true] {
        let (sender, dropped) = tokio::sync::oneshot::channel();
        let (began, begun) = tokio::sync::oneshot::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(Some((Dropped(Some(sender)), began))));
        let wait = tool_fn("wait", "Waits", move || {
            let (guard, began) = held.lock().unwrap().take().unwrap();
            async move {
                let _guard = guard;
                let _ = began.send(());
                std::future::pending::<Result<(), ToolError>>().await
            }
        });
        let model = ScriptedModel::new([Turn::call("wait", "{}")]).unverified();
        let agent = Agent::builder(model).tool(wait).build().unwrap();
        let mut client = Client::new(service(agent), json!({})).await;
        let number =
            client.begin("tools/call", json!({"name": "ask", "arguments": {"question": "Go."}})).await;
        begun.await.unwrap();
        match gone {
            true => client.write.take().unwrap().shutdown().await.unwrap(),
            false => {
                let params = json!({"requestId": number});
                client
                    .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
                    .await;
            }
        }
        dropped.await.unwrap();
    }
}

#[tokio::test]
async fn an_agent_is_described_with_what_it_takes_and_returns() {
    let (_, agent) = plain([]);
    let mut client = Client::new(service(agent).with_instructions("Ask it."), json!({})).await;
    let tools = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["question"]));
    assert_eq!(tools[0]["outputSchema"]["required"], json!(["answer", "session", "reason"]));
    assert!(tools[0]["inputSchema"]["properties"]["documents"].is_object());
}
