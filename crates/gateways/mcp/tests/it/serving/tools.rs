//! The tools of a toolbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{
    Agent, Ask, CallVerdict, Catalog, FunctionTool, HookContext, HookError, Proposal, RunHook, Tools,
    Verdict, tool_fn,
};
use attache_core::tool::{Deferred, Progress};
use attache_core::{
    Approval, BoxFuture, ContentTree, Document, Effect, ToolCall, ToolContext, ToolDefinition, ToolError,
    ToolResult, ToolReturn,
};
use attache_mcp::{McpCall, McpEndpoint, McpEra, McpLogLevel, McpServeLimits, McpServer, McpService};
use serde_json::{Map, Value, json};

use super::super::common::{call, call_with, names, tools as listed};
use super::{Client, served, text};

pub(super) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU";
const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data\0\0\0\0";
const PDF: &[u8] = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n";

fn documents() -> Vec<Document> {
    vec![
        Document::new(PDF).with_file_name("a lease.pdf"),
        Document::new(PNG).with_file_name("plan.png"),
        Document::new(WAV).with_file_name("call.wav"),
        Document::new("day,rain\n1,0.4\n").with_file_name("rain.csv"),
        Document::new("<svg xmlns='http://www.w3.org/2000/svg'/>").with_media_type("image/svg+xml"),
        Document::new(vec![0_u8, 1, 2, 255]).with_file_name("odd.bin"),
    ]
}

/// A toolbox of one tool without parameters.
pub(super) fn one<T, E>(name: &str, function: impl Fn() -> Result<T, E> + Send + Sync + 'static) -> McpService
where
    T: serde::Serialize + Send + Sync + 'static,
    ToolError: From<E>,
{
    McpService::tools(
        Tools::new().with(tool_fn(name, "Does it", move || function().map_err(ToolError::from))),
    )
    .unwrap()
}

/// A tool with a number.
fn numbered<T: serde::Serialize + Send + Sync + 'static>(
    name: impl Into<String>,
    function: impl Fn(i64) -> Result<T, ToolError> + Send + Sync + 'static,
) -> impl attache_core::Tool {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    FunctionTool::from_schema(
        ToolDefinition::new(name, "Does it", schema),
        move |arguments: Map<String, Value>| {
            function(arguments.get("n").and_then(Value::as_i64).unwrap_or_default())
        },
    )
}

// documents.md 9.2: each kind of document comes back as it was, in both eras
#[tokio::test]
async fn every_kind_of_document_comes_back_as_it_was() {
    let service = one("all", || Ok::<_, ToolError>((documents(), "six files")));
    let served = served(service.http()).await;
    for era in [McpEra::Sessions, McpEra::Stateless, McpEra::Auto] {
        let server = McpServer::http("test", McpEndpoint::new(&served.url)).era(era);
        let output = call(&server, "mcp_test___all").await.unwrap();
        let hash = |document: &Document| document.hash().unwrap();
        let came: Vec<_> = output.documents.iter().map(hash).collect();
        assert_eq!(came[..3], documents().iter().map(hash).collect::<Vec<_>>()[..3], "{era:?}");
        let bytes = |document: &Document| document.bytes().unwrap();
        // Text comes as text, which the client shows beside documents.
        let whole = output.tree.json();
        assert!(
            whole.contains("day,rain") && whole.contains("<svg") && whole.contains("six files"),
            "{whole}"
        );
        let last = output.documents.last().unwrap();
        assert_eq!(bytes(last)[..], [0_u8, 1, 2, 255]);
        let named: Vec<_> = output.documents.iter().filter_map(|document| document.file_name()).collect();
        for name in ["a lease.pdf", "plan.png", "call.wav"] {
            assert!(named.contains(&name), "{name}: {named:?}");
        }
    }
}

// documents.md 9.2: large documents are links that the same session reads
#[tokio::test]
async fn a_large_document_is_a_link_that_the_same_session_reads() {
    let large: Vec<u8> = PDF.iter().copied().cycle().take(100_000).collect();
    let bytes = large.clone();
    let service =
        one("scan", move || Ok::<_, ToolError>(Document::new(bytes.clone()).with_file_name("scan.pdf")))
            .with_limits(McpServeLimits::new().with_inline_bytes(50_000, 60_000));
    let mut client = Client::new(service, json!({})).await;
    let result = client.call("scan", json!({})).await;
    let link = &result["content"][0];
    assert_eq!(
        (&link["type"], &link["name"], &link["size"]),
        (&json!("resource_link"), &json!("scan.pdf"), &json!(100_000))
    );
    let read = client.ask("resources/read", json!({"uri": link["uri"]})).await;
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "application/pdf");
    let blob = contents["blob"].as_str().unwrap();
    assert_eq!(
        Document::new(attache_core::base64::decode(blob).unwrap()).hash(),
        Document::new(large).hash()
    );
    let resources = client.ask("resources/list", json!({})).await;
    assert_eq!(resources["result"]["resources"][0]["uri"], link["uri"]);
    let none = client.ask("resources/read", json!({"uri": "attache://documents/1/scan.pdf"})).await;
    assert_eq!(none["error"]["code"], -32002, "{none}");
}

// Nothing is dropped in silence
#[tokio::test]
async fn what_cannot_be_handed_over_is_named() {
    let limits = McpServeLimits::new().with_inline_bytes(10, 10).with_kept_bytes(2_000, 2_000);
    let service = one("some", || {
        let withheld = Document::new("secret").with_file_name("withheld.txt");
        let all = (Document::new(vec![0_u8; 2_000]).with_file_name("huge.bin"), withheld.clone());
        Ok::<_, ToolError>(ToolReturn::new(all).withhold(&withheld))
    })
    .with_limits(limits);
    let mut client = Client::new(service, json!({})).await;
    let result = client.call("some", json!({})).await.to_string();
    assert!(
        result.contains("[the document huge.bin has 2000 bytes, which is more than can be handed over]"),
        "{result}"
    );
    assert!(result.contains("[1 document is withheld by the tool]"), "{result}");
    assert!(!result.contains("secret"));
}

#[tokio::test]
async fn tools_are_described_with_their_schemas_and_effects() {
    let schema = json!({"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}});
    let output = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let definition = ToolDefinition::new("double_it", "Doubles a number", schema).with_output_schema(output);
    let double = |effect: Effect, name: &str| {
        FunctionTool::from_schema(definition.clone().with_name(name), |arguments: Map<String, Value>| {
            Ok::<_, ToolError>(
                json!({"n": arguments.get("n").and_then(Value::as_i64).unwrap_or_default() * 2}),
            )
        })
        .with_effect(effect)
    };
    let tools = Tools::new()
        .with(double(Effect::Read, "double_it"))
        .with(double(Effect::Idempotent, "put"))
        .with(double(Effect::SideEffect, "pay"));
    let mut client = Client::new(McpService::tools(tools).unwrap(), json!({})).await;
    let listed = client.ask("tools/list", json!({})).await;
    let tool = |at: usize| listed["result"]["tools"][at].clone();
    assert_eq!((&tool(0)["name"], &tool(0)["title"]), (&json!("double_it"), &json!("Double it")));
    assert_eq!(tool(0)["inputSchema"]["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(tool(0)["outputSchema"]["required"], json!(["n"]));
    assert_eq!(tool(0)["annotations"], json!({"readOnlyHint": true}));
    let hints = |at: usize| {
        let hints = tool(at)["annotations"].clone();
        (hints["readOnlyHint"].clone(), hints["destructiveHint"].clone(), hints["idempotentHint"].clone())
    };
    assert_eq!(hints(1), (json!(false), json!(false), json!(true)));
    assert_eq!(hints(2), (json!(false), json!(true), json!(false)));
    let doubled = client.call("double_it", json!({"n": 21})).await;
    assert_eq!((&doubled["structuredContent"], text(&doubled)), (&json!({"n": 42}), r#"{"n":42}"#));
}

// The schemas of the TypeScript SDK 1.x, which reads no tool of a list if one breaks them: the root of each schema says
// `"type": "object"`, its properties are objects, and structured content is an object.
#[tokio::test]
async fn older_clients_are_shown_only_schemas_that_they_can_read() {
    let returning = |name: &str, output: Value, value: Value| {
        let input = json!({"type": ["object", "null"], "properties": {"any": true, "none": false}});
        let definition = ToolDefinition::new(name, "Does it", input).with_output_schema(output);
        FunctionTool::from_schema(definition, move |_: Map<String, Value>| Ok::<_, ToolError>(value.clone()))
    };
    let person = json!({"type": "object", "properties": {"age": {"type": "integer"}, "more": true}});
    let tools = Tools::new()
        .with(returning("described", json!({"description": "The rows"}), json!([1])))
        .with(returning("list", json!({"type": "array"}), json!([1])))
        .with(returning("referred", json!({"$ref": "#/$defs/P", "$defs": {"P": person}}), json!({"age": 1})))
        .with(returning("person", person.clone(), json!({"age": 1, "more": 2})));
    let service = || McpService::tools(tools.clone()).unwrap();
    let mut client = Client::new(service(), json!({})).await;
    let listed = client.ask("tools/list", json!({})).await;
    let outputs: Vec<Value> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let input = &tool["inputSchema"];
            assert_eq!(input["type"], "object");
            assert_eq!(input["properties"], json!({"any": {}, "none": {"not": {}}}));
            tool["outputSchema"].clone()
        })
        .collect();
    assert_eq!(outputs[..2], [Value::Null, Value::Null]);
    assert_eq!((&outputs[2]["type"], &outputs[3]["type"]), (&json!("object"), &json!("object")));
    assert_eq!(outputs[3]["properties"]["more"], json!({}));
    for (name, structured) in [
        ("described", Value::Null),
        ("list", Value::Null),
        ("referred", json!({"age": 1})),
        ("person", json!({"age": 1, "more": 2})),
    ] {
        let result = client.call(name, json!({})).await;
        assert_eq!((&result["structuredContent"], result["isError"] == true), (&structured, false), "{name}");
    }
    // The newest era knows results of any kind.
    let mut client = Client::stateless(service(), json!({}));
    let listed = client.ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][1]["outputSchema"], json!({"type": "array"}));
    assert_eq!(client.call("list", json!({})).await["structuredContent"], json!([1]));
}

// A model that reads no more than an error makes the call again, and its effect.
#[tokio::test]
async fn an_output_that_breaks_its_promise_does_not_invite_a_second_call() {
    let output = json!({"type": "object", "required": ["n"]});
    let tool = |name: &str, effect: Effect| {
        let definition = ToolDefinition::new(name, "Does it", json!({})).with_output_schema(output.clone());
        FunctionTool::from_schema(definition, |_: Map<String, Value>| {
            Ok::<_, ToolError>(json!({"m": "paid"}))
        })
        .with_effect(effect)
    };
    let tools = Tools::new().with(tool("look", Effect::Read)).with(tool("pay", Effect::SideEffect));
    let mut client = Client::new(McpService::tools(tools).unwrap(), json!({})).await;
    for (name, warns) in [("look", false), ("pay", true)] {
        let said = client.call(name, json!({})).await;
        let whole = said.to_string();
        assert!(whole.contains("paid") && whole.contains("does not fit the output schema"), "{whole}");
        assert_eq!(whole.contains("do not make it again"), warns, "{whole}");
        assert!(said["structuredContent"].is_null(), "{whole}");
    }
}

// A tool's failure is for the model to read; a tool that there is not is a fault of the client
#[tokio::test]
async fn failures_of_tools_are_results_and_unknown_tools_are_errors() {
    let fail = numbered("fail", |n| match n {
        0 => Err(ToolError::new("the printer is on fire")),
        1 => panic!("with a secret inside"),
        _ => Ok("fine"),
    });
    let mut client = Client::new(McpService::tools(Tools::new().with(fail)).unwrap(), json!({})).await;
    let failed = client.call("fail", json!({"n": 0})).await;
    assert_eq!((&failed["isError"], text(&failed)), (&json!(true), "the printer is on fire"));
    let panicked = client.call("fail", json!({"n": 1})).await;
    assert_eq!(panicked["isError"], true);
    assert!(!panicked.to_string().contains("secret"), "{panicked}");
    let unfit = client.call("fail", json!({"m": "x"})).await;
    assert_eq!(unfit["isError"], true);
    assert!(text(&unfit).contains("n"), "{unfit}");
    let fine = client.call("fail", json!({"n": "2"})).await;
    assert_eq!((fine["isError"].as_bool().unwrap_or_default(), text(&fine)), (false, "fine"));
    let unknown = client.ask("tools/call", json!({"name": "absent", "arguments": {}})).await;
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(unknown["error"]["message"], "Unknown tool: absent");
}

/// A tool that counts its payments, each of which somebody approves.
fn payments(paid: &Arc<AtomicUsize>) -> Tools {
    let paid = Arc::clone(paid);
    let pay = numbered("pay", move |n| {
        paid.fetch_add(1, Ordering::SeqCst);
        Ok(format!("paid {n}"))
    });
    Tools::new().with(attache_core::Tool::with_metadata(pay, |metadata| metadata.approval = Approval::Always))
}

#[tokio::test]
async fn a_call_that_needs_an_approval_asks_by_elicitation() {
    let paid = Arc::new(AtomicUsize::new(0));
    let service = McpService::tools(payments(&paid)).unwrap();
    let mut client = Client::new(service, json!({"elicitation": {}})).await;
    let say = |action: &str, decision: &str| json!({"action": action, "content": {"decision": decision}});
    for no in [say("accept", "deny"), say("decline", "approve"), json!({"action": "cancel"})] {
        let denied = client.call_answering("pay", json!({"n": 5}), no).await;
        assert_eq!(
            (&denied["isError"], text(&denied)),
            (&json!(true), "not executed: the user did not approve it")
        );
    }
    assert_eq!(paid.load(Ordering::SeqCst), 0);
    let done = client.call_answering("pay", json!({"n": 5}), say("accept", "approve")).await;
    assert_eq!((text(&done), paid.load(Ordering::SeqCst)), ("paid 5", 1));
    let asked = client.told.last().unwrap()["params"].clone();
    assert_eq!(asked["message"], r#"Run pay with {"n":5}?"#);
    assert_eq!(asked["requestedSchema"]["properties"]["decision"]["enum"], json!(["approve", "deny"]));
}

#[tokio::test]
async fn without_elicitation_a_call_that_needs_an_approval_is_refused_with_the_reason() {
    let paid = Arc::new(AtomicUsize::new(0));
    for stateless in [false, true] {
        let service = McpService::tools(payments(&paid)).unwrap();
        let mut client = match stateless {
            true => Client::stateless(service, json!({})),
            false => Client::new(service, json!({})).await,
        };
        let said = client.ask("tools/call", json!({"name": "pay", "arguments": {"n": 5}})).await;
        let told = match stateless {
            // The newer era has an error for it, which names what the client would have to declare.
            true => {
                assert_eq!(said["error"]["code"], -32021, "{said}");
                assert!(said["error"]["data"]["requiredCapabilities"]["elicitation"].is_object(), "{said}");
                said["error"]["message"].as_str()
            }
            false => {
                assert_eq!(said["result"]["isError"], true, "{said}");
                said["result"]["content"][0]["text"].as_str()
            }
        };
        assert!(told.unwrap().contains("does not declare elicitation"), "{said}");
    }
    assert_eq!(paid.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_stateless_client_calls_again_with_the_approval_and_can_change_nothing() {
    let paid = Arc::new(AtomicUsize::new(0));
    let service = McpService::tools(payments(&paid)).unwrap();
    let mut client = Client::stateless(service, json!({"elicitation": {"form": {}}}));
    let asks = client.call("pay", json!({"n": 5})).await;
    assert_eq!((&asks["resultType"], paid.load(Ordering::SeqCst)), (&json!("input_required"), 0));
    assert_eq!(asks["inputRequests"]["answer"]["method"], "elicitation/create");
    let again = |n: i64, state: &Value| {
        let said = json!({"answer": {"action": "accept", "content": {"decision": "approve"}}});
        json!({"name": "pay", "arguments": {"n": n}, "requestState": state, "inputResponses": said})
    };
    let state = asks["requestState"].clone();
    let more = client.ask("tools/call", again(500, &state)).await;
    assert_eq!(more["error"]["code"], -32602, "another amount");
    let forged = client.ask("tools/call", again(5, &json!("forged"))).await;
    assert_eq!(forged["error"]["code"], -32602);
    let done = client.ask("tools/call", again(5, &state)).await;
    assert_eq!(text(&done["result"]), "paid 5", "{done}");
    let twice = client.ask("tools/call", again(5, &state)).await;
    assert_eq!((&twice["error"]["code"], paid.load(Ordering::SeqCst)), (&json!(-32602), 1));
}

// An approval is for the tool as it was described to whoever gave it.
#[tokio::test]
async fn a_tool_that_has_changed_since_its_approval_was_asked_for_is_asked_for_again() {
    let paid = Arc::new(AtomicUsize::new(0));
    let catalog = Catalog::new();
    let add = |effect: Effect| {
        let count = Arc::clone(&paid);
        let pay =
            numbered("pay", move |n| Ok(count.fetch_add(usize::try_from(n).unwrap(), Ordering::SeqCst)));
        let pay = attache_core::Tool::with_metadata(pay, |metadata| {
            metadata.approval = Approval::Always;
            metadata.effect = effect;
        });
        catalog.add(pay).unwrap();
    };
    add(Effect::Read);
    let service = McpService::tools(Tools::new().with_catalog(catalog.clone())).unwrap();
    let mut client = Client::stateless(service, json!({"elicitation": {"form": {}}}));
    let again = |asked: &Value| {
        let said = json!({"answer": {"action": "accept", "content": {"decision": "approve"}}});
        json!({
            "name": "pay", "arguments": {"n": 5}, "requestState": asked["requestState"], "inputResponses": said,
        })
    };
    let asked = client.call("pay", json!({"n": 5})).await;
    catalog.remove("pay");
    add(Effect::SideEffect);
    let asked = client.ask("tools/call", again(&asked)).await["result"].clone();
    assert_eq!((&asked["resultType"], paid.load(Ordering::SeqCst)), (&json!("input_required"), 0));
    client.ask("tools/call", again(&asked)).await;
    assert_eq!(paid.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn the_policy_of_an_agent_stands_before_its_tools() {
    let agent =
        Agent::without_model().tool(numbered("pay", Ok)).approval_policy(|proposal: &Proposal<'_>| {
            match proposal.principal {
                Some("ann") => Verdict::Run,
                _ => Verdict::Deny("strangers pay nothing".to_owned()),
            }
        });
    let agent = agent.build().unwrap();
    for (principal, said) in [("ann", "5"), ("bob", "not executed: strangers pay nothing")] {
        let service = McpService::new("books").with_tools_of(agent.clone()).with_principal(principal);
        let mut client = Client::new(service, json!({})).await;
        assert_eq!(text(&client.call("pay", json!({"n": 5})).await), said);
    }
}

/// Denies payments of strangers, pays less than is asked for, and hides what a tool returns.
struct Guard;

impl RunHook for Guard {
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        let verdict = match (&*call.name, context.principal) {
            ("pay", Some("ann")) => CallVerdict::Rewrite(json!({"n": 5})),
            ("pay", _) => CallVerdict::Deny("log in first".to_owned()),
            _ => CallVerdict::Run,
        };
        Box::pin(std::future::ready(Ok(verdict)))
    }

    fn after_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        if call.name == "tell" {
            result.tree = ContentTree::text("withheld");
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn the_hooks_of_an_agent_stand_before_its_tools() {
    let paid = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&paid);
    let pay = numbered("pay", move |n| {
        own.fetch_add(1, Ordering::SeqCst);
        Ok(n)
    });
    let agent = Agent::without_model().tool(pay).tool(numbered("tell", |_| Ok("a secret"))).hook(Guard);
    let agent = agent.approval_policy(|proposal: &Proposal<'_>| match &*proposal.call.name {
        "pay" => Verdict::Ask(Ask::default()),
        _ => Verdict::Run,
    });
    let agent = agent.build().unwrap();
    let service = |principal| McpService::new("books").with_tools_of(agent.clone()).with_principal(principal);
    let mut client = Client::new(service("bob"), json!({"elicitation": {}})).await;
    assert_eq!(text(&client.call("pay", json!({"n": 500})).await), "log in first");
    assert_eq!(paid.load(Ordering::SeqCst), 0);
    assert_eq!(text(&client.call("tell", json!({"n": 1})).await), "withheld");
    // The person who approves sees what is done.
    let mut client = Client::new(service("ann"), json!({"elicitation": {}})).await;
    let approve = json!({"action": "accept", "content": {"decision": "approve"}});
    let said = client.call_answering("pay", json!({"n": 500}), approve.clone()).await;
    assert!(text(&said).contains('5') && !text(&said).contains("500"), "{said}");
    let asked = client.told.last().unwrap()["params"]["message"].as_str().unwrap().to_owned();
    assert!(asked.contains(r#"{"n":5}"#), "{asked}");
    // So does a client that calls again with the answer.
    let mut client = Client::stateless(service("ann"), json!({"elicitation": {}}));
    let asked = client.call("pay", json!({"n": 500})).await;
    let again = json!({
        "name": "pay", "arguments": {"n": 500}, "requestState": asked["requestState"],
        "inputResponses": {"answer": approve},
    });
    assert!(text(&client.ask("tools/call", again).await["result"]).contains('5'));
    assert_eq!(paid.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_tool_that_asks_the_user_gets_their_answer() {
    let asks = || {
        one("colour", || {
            let colours = json!({"type": "string", "enum": ["red", "blue"]});
            Ok::<_, ToolError>(Deferred::ask("Which colour?").with_schema(colours))
        })
    };
    let mut client = Client::new(asks(), json!({"elicitation": {}})).await;
    let said = |colour: &str| json!({"action": "accept", "content": {"answer": colour}});
    assert_eq!(text(&client.call_answering("colour", json!({}), said("red")).await), "red");
    assert_eq!(client.told.last().unwrap()["params"]["message"], "Which colour?");
    let unfit = client.call_answering("colour", json!({}), said("green")).await;
    assert_eq!(unfit["isError"], true);
    let declined = client.call_answering("colour", json!({}), json!({"action": "decline"})).await;
    assert_eq!(text(&declined), "the user declined to answer");
    let mut client = Client::stateless(asks(), json!({"elicitation": {}}));
    let asked = client.call("colour", json!({})).await;
    let again = json!({
        "name": "colour", "arguments": {}, "requestState": asked["requestState"],
        "inputResponses": {"answer": said("blue")},
    });
    assert_eq!(text(&client.ask("tools/call", again).await["result"]), "blue");
}

/// A tool that counts to two, and says so.
fn counter() -> impl attache_core::Tool {
    tool_fn("count", "Counts", |context: ToolContext| async move {
        let call = context.require::<McpCall>()?;
        for done in [0.0, 1.0, 1.0, 2.0] {
            context.progress(Progress::new(done).with_total(2.0).with_message("counting"));
            tokio::task::yield_now().await;
        }
        call.log(McpLogLevel::Debug, "count", "a detail").await;
        call.log(McpLogLevel::Warning, "count", json!({"odd": true})).await;
        Ok::<_, ToolError>("two")
    })
}

#[tokio::test]
async fn a_tool_tells_its_progress_and_writes_to_the_clients_log() {
    let service = || McpService::tools(Tools::new().with(counter())).unwrap();
    let params = json!({"name": "count", "arguments": {}, "_meta": {"progressToken": "t"}});
    let mut client = Client::new(service(), json!({})).await;
    client.ask("logging/setLevel", json!({"level": "warning"})).await;
    client.ask("tools/call", params.clone()).await;
    let told = |client: &Client, method: &str| -> Vec<Value> {
        let of = client.told.iter().filter(|told| told["method"] == method);
        of.map(|told| told["params"].clone()).collect()
    };
    let progress = told(&client, "notifications/progress");
    let done: Vec<_> = progress.iter().map(|told| told["progress"].as_f64().unwrap()).collect();
    assert_eq!((done, &progress[0]["progressToken"]), (vec![0.0, 1.0, 2.0], &json!("t")));
    let logged = told(&client, "notifications/message");
    assert_eq!(logged.len(), 1);
    assert_eq!((&logged[0]["level"], &logged[0]["data"]), (&json!("warning"), &json!({"odd": true})));
    // In the newer era nobody hears what they did not ask for.
    let mut client = Client::stateless(service(), json!({}));
    client.ask("tools/call", json!({"name": "count", "arguments": {}})).await;
    assert!(client.told.is_empty(), "{:?}", client.told);
}

#[tokio::test]
async fn a_list_has_pages() {
    let tools = (0..7).fold(Tools::new(), |tools, n| tools.with(numbered(format!("tool_{n}"), Ok)));
    let limits = McpServeLimits::new().with_page(3);
    let served = served(McpService::tools(tools).unwrap().with_limits(limits).http()).await;
    let server = McpServer::http("test", McpEndpoint::new(&served.url));
    assert_eq!(names(&listed(&server).await.unwrap()).len(), 7);
    let output = call_with(&server, "mcp_test___tool_6", r#"{"n": 6}"#).await.unwrap();
    assert_eq!(output.tree.model_text(), "6");
}

#[tokio::test(start_paused = true)]
async fn clients_are_told_that_the_tools_have_changed() {
    let catalog = Catalog::new();
    catalog.add(numbered("first", Ok)).unwrap();
    let service = || McpService::tools(Tools::new().with_catalog(catalog.clone())).unwrap();
    let mut client = Client::new(service(), json!({})).await;
    let before = client.ask("tools/list", json!({})).await;
    assert_eq!(before["result"]["tools"].as_array().unwrap().len(), 1);
    let mut modern = Client::stateless(service(), json!({}));
    modern.begin("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
    assert_eq!(modern.next().await["method"], "notifications/subscriptions/acknowledged");
    // Both have looked at the tools as they are.
    modern.ask("tools/list", json!({})).await;
    client.ask("tools/list", json!({})).await;
    catalog.add(numbered("second", Ok)).unwrap();
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    assert_eq!(modern.next().await["method"], "notifications/tools/list_changed");
    let after = client.ask("tools/list", json!({})).await;
    assert_eq!(after["result"]["tools"].as_array().unwrap().len(), 2);
}
