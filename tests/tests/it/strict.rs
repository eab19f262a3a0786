//! Schemas that Rust types derive, enforced on every API: what is sent is one that the API takes, and what comes back is
//! the value that the type reads, as an answer and as the arguments of a call.

mod bounds;
mod typed;

use std::collections::BTreeMap;
use std::sync::Arc;

use attache::{Agent, EndReason};
use attache_conformance::{MockProvider, Reply};
use attache_core::settings::Unsupported;
use attache_core::structured::{OutputSchema, StructuredError};
use attache_core::tool::ToolSpec;
use attache_core::{
    Arguments, AssistantMessage, BoxFuture, Capture, ChatRequest, Completion, ContentTree, ErrorKind,
    Message, ModelHandle, ModelSettings, ResponseFormat, ResultStatus, StreamChunk, Tool, ToolCall,
    ToolContext, ToolDefinition, ToolError, ToolOutput, ToolResult, ToolResultsMessage, ToolSet, Transcript,
};
use attache_tests::{APIS, Api, STRICT_APIS};
use futures_util::StreamExt as _;
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Invoice {
    /// As printed.
    number: String,
    #[schemars(extend("format" = "date"))]
    day: String,
    #[schemars(extend("format" = "date-time"))]
    sent: Option<String>,
    total: f64,
    count: u32,
    #[schemars(length(min = 1, max = 40))]
    note: Option<String>,
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: u8,
    lines: Vec<Line>,
    by_country: BTreeMap<String, f32>,
    size: (u32, u32),
    paid: Payment,
    party: Party,
    free: Value,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Line {
    price: f64,
    code: Code,
    tags: BTreeMap<String, Vec<String>>,
}

/// Told apart by the name of its only member.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Payment {
    Open,
    Card(String),
    Transfer { iban: String, fee: Option<f64> },
}

/// Told apart by a member.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Party {
    Person { name: String },
    Company { name: String, vat: Option<String> },
}

/// Told apart by its form.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Code {
    Number(i32),
    Text(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Folder {
    name: String,
    folders: Vec<Folder>,
}

fn ten() -> u8 {
    10
}

fn invoice() -> Value {
    json!({"number": "7", "day": "2026-11-22", "sent": null, "total": 12.5, "count": 2, "note": "thanks", "limit": 10,
        "lines": [{"price": 0.5, "code": 7, "tags": {"a": ["x"], "b": []}},
            {"price": 12.0, "code": "K-7", "tags": {}}],
        "by_country": {"AT": 10.5, "DE": 2.0}, "size": [3, 4],
        "paid": {"Transfer": {"iban": "AT61", "fee": null}},
        "party": {"kind": "company", "name": "N", "vat": "U1"}, "free": {"any": [1, "thing"]}})
}

fn folder() -> Value {
    json!({"name": "a", "folders": [{"name": "b", "folders": []}]})
}

/// The value as a model writes it that obeys `schema`, written from the rules of the documentation: maps as pairs,
/// tuples as objects, anything as a text, what may be left out as `null` or not at all.
fn obeying(schema: &Value, root: &Value, value: &Value) -> Option<Value> {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return obeying(root.pointer(target.trim_start_matches('#'))?, root, value);
    }
    if let Some(branches) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        return branches.iter().find_map(|branch| obeying(branch, root, value));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return None;
    }
    if schema.get("enum").and_then(Value::as_array).is_some_and(|choices| !choices.contains(value)) {
        return None;
    }
    let is = |kind: &str| match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|known| known == kind),
        known => known == kind,
    };
    if schema.get("type").is_none() {
        return Some(value.clone());
    }
    let text_of_json = schema["description"].as_str().is_some_and(|text| text.contains("text of JSON"));
    match value {
        _ if text_of_json => Some(value.to_string().into()),
        Value::Null => is("null").then_some(Value::Null),
        Value::Bool(_) => is("boolean").then(|| value.clone()),
        Value::String(_) => is("string").then(|| value.clone()),
        Value::Number(number) => (is("number") || number.is_i64() && is("integer")).then(|| value.clone()),
        Value::Array(items) if is("array") => match schema.get("prefixItems").and_then(Value::as_array) {
            Some(parts) => items.iter().zip(parts).map(|(item, part)| obeying(part, root, item)).collect(),
            None => items.iter().map(|item| obeying(&schema["items"], root, item)).collect(),
        },
        Value::Array(items) if is("object") => {
            let named = items.iter().enumerate().map(|(at, item)| {
                let name = format!("item_{}", at + 1);
                let item = obeying(schema["properties"].get(&name)?, root, item)?;
                Some((name, item))
            });
            named.collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
        }
        Value::Object(members) if is("array") => {
            let pair = &schema["items"]["properties"]["value"];
            let pairs = members
                .iter()
                .map(|(key, value)| Some(json!({"key": key, "value": obeying(pair, root, value)?})));
            pairs.collect()
        }
        Value::Object(members) if is("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let Some(properties) = properties.filter(|_| !schema["additionalProperties"].is_object()) else {
                return Some(value.clone());
            };
            if let Some(required) = schema["required"].as_array()
                && required.iter().any(|name| {
                    let name = name.as_str().unwrap();
                    !members.contains_key(name) && obeying(&properties[name], root, &Value::Null).is_none()
                })
            {
                return None;
            }
            let mut said = serde_json::Map::new();
            for (name, inner) in members {
                match properties.get(name) {
                    // An optional member is left out where it takes no null.
                    Some(property) => match obeying(property, root, inner) {
                        Some(inner) => drop(said.insert(name.clone(), inner)),
                        None if inner.is_null() => {}
                        None => return None,
                    },
                    None => return None,
                }
            }
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            for name in required.iter().filter_map(Value::as_str) {
                said.entry(name.to_owned()).or_insert(Value::Null);
            }
            Some(Value::Object(said))
        }
        _ => None,
    }
}

/// The same at the root, which is an object with one `value` where the type is none.
fn written_by(schema: &Value, value: &Value) -> Option<Value> {
    let inside = || Some(json!({"value": obeying(&schema["properties"]["value"], schema, value)?}));
    obeying(schema, schema, value).or_else(inside)
}

fn schema_in(api: Api, body: &Value) -> Value {
    let at = |pointer: &str| body.pointer(pointer).cloned();
    match api {
        Api::OpenAi => at("/text/format/schema"),
        Api::OpenAiChat => at("/response_format/json_schema/schema"),
        Api::Cohere => at("/response_format/json_schema"),
        Api::Ollama => at("/format"),
        Api::Anthropic => at("/output_config/format/schema"),
        Api::Gemini => at("/generationConfig/responseJsonSchema"),
        Api::Bedrock => at("/outputConfig/textFormat/structure/jsonSchema/schema")
            .map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap()),
    }
    .unwrap_or_else(|| panic!("{}: {body}", api.name()))
}

fn tool_in(api: Api, body: &Value) -> (Value, bool) {
    let at = |pointer: &str| body.pointer(pointer).cloned().unwrap_or_default();
    let (schema, strict) = match api {
        Api::OpenAi => (at("/tools/0/parameters"), at("/tools/0/strict")),
        Api::OpenAiChat | Api::Cohere | Api::Ollama => {
            (at("/tools/0/function/parameters"), at("/tools/0/function/strict"))
        }
        Api::Anthropic => (at("/tools/0/input_schema"), at("/tools/0/strict")),
        Api::Gemini => (
            at("/tools/0/functionDeclarations/0/parametersJsonSchema"),
            json!(at("/toolConfig/functionCallingConfig/mode") == "VALIDATED"),
        ),
        Api::Bedrock => {
            (at("/toolConfig/tools/0/toolSpec/inputSchema/json"), at("/toolConfig/tools/0/toolSpec/strict"))
        }
    };
    (schema, strict == true)
}

fn format(schema: impl Into<OutputSchema>) -> ModelSettings {
    let (name, schema) = ("out".to_owned(), schema.into());
    ModelSettings::new().with_response_format(ResponseFormat::JsonSchema { name, schema, strict: true })
}

fn asking(config: ModelSettings) -> ChatRequest {
    ChatRequest::new([Message::user("Read the invoice as JSON.").shared()]).with_settings(config)
}

fn result(call: &ToolCall) -> ToolResult {
    ToolResult::new(call, ResultStatus::Ok, ContentTree::text("filed"))
}

fn model(api: Api, mock: &MockProvider) -> ModelHandle {
    api.connected(mock.url(), ModelSettings::new()).unwrap()
}

/// The end of a stream, whose texts and arguments add up to what its message says.
async fn streamed(model: &ModelHandle, request: ChatRequest) -> Completion {
    let mut stream = model.stream(request);
    let (mut text, mut arguments) = (String::new(), BTreeMap::<usize, String>::new());
    while let Some(chunk) = stream.next().await {
        match chunk.unwrap() {
            StreamChunk::Content(piece) => text.push_str(&piece),
            StreamChunk::ToolCallDelta { slot, arguments_delta, .. } => {
                arguments.entry(slot).or_default().push_str(&arguments_delta);
            }
            StreamChunk::Done(completion) => {
                assert_eq!(text, completion.message.text());
                let calls: Vec<_> =
                    completion.message.tool_calls().map(|call| call.arguments.raw()).collect();
                assert_eq!(arguments.values().map(String::as_str).collect::<Vec<_>>(), calls);
                return *completion;
            }
            _ => {}
        }
    }
    panic!("no end");
}

/// Asks for a type on an API, has the value written as the schema demands, and reads the type.
async fn answered<T>(api: Api, value: &Value)
where
    T: JsonSchema + DeserializeOwned + Serialize,
{
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with({
        let value = value.clone();
        move |request| {
            let schema = schema_in(api, request.json());
            let written = written_by(&schema, &value);
            let written = written.unwrap_or_else(|| panic!("{}: {value} for {schema}", api.name()));
            Reply::new().text(written.to_string())
        }
    });
    let request = asking(format(schema_for!(T)));
    for request in [request.clone(), request.streaming(false)] {
        let completion = streamed(&model(api, &mock), request).await;
        assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
        let structured = completion.structured.unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&completion.message.text()).unwrap(), structured);
        let read: T = serde_json::from_value(structured).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), *value, "{}", api.name());
    }
}

/// The same of a tool's arguments. The history repeats them the same each time.
async fn called<T>(api: Api, value: &Value)
where
    T: JsonSchema + DeserializeOwned + Serialize,
{
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with({
        let value = value.clone();
        move |request| {
            let (schema, strict) = tool_in(api, request.json());
            assert!(strict, "{}: {}", api.name(), request.json());
            let written = written_by(&schema, &value);
            let written = written.unwrap_or_else(|| panic!("{}: {value} for {schema}", api.name()));
            Reply::new().call("call_1", "file", written)
        }
    });
    let definition = ToolDefinition::new("file", "Files it.", schema_for!(T).to_value()).with_strict(true);
    let tools = Arc::new(ToolSet::new([definition.clone()]).unwrap());
    let request = asking(ModelSettings::new()).with_tools(Arc::clone(&tools));
    let model = model(api, &mock);
    let mut message: Option<AssistantMessage> = None;
    for request in [request.clone(), request.clone().streaming(false)] {
        let completion = streamed(&model, request).await;
        assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
        let call = completion.message.tool_calls().next().unwrap();
        // As they are, without mending.
        let arguments = definition.check(&call.arguments).unwrap();
        let read: T = serde_json::from_value(Value::Object(arguments)).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), *value, "{}", api.name());
        message = Some(completion.message);
    }
    let message = message.unwrap();
    let call = message.tool_calls().next().unwrap();
    let results = ToolResultsMessage::new([result(call)]);
    let mut messages = request.messages.clone();
    messages.push(Message::Assistant(message).shared());
    messages.push(Message::ToolResults(results).shared());
    let again = ChatRequest::new(messages.clone()).with_tools(Arc::clone(&tools));
    model.complete(again).await.unwrap();
    messages.push(Message::user("And?").shared());
    model.complete(ChatRequest::new(messages).with_tools(tools)).await.unwrap();
    assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
    let sent = mock.requests();
    let bodies: Vec<Value> = sent.iter().rev().take(2).map(|sent| api.messages(sent.json())).collect();
    let (longer, shorter) = (bodies[0].as_array().unwrap(), bodies[1].as_array().unwrap());
    assert_eq!(longer[..2], shorter[..2], "what was sent stays");
}

#[tokio::test]
async fn derived_schemas_come_back_from_every_api_as_answers() {
    for api in APIS {
        answered::<Invoice>(api, &invoice()).await;
        answered::<Vec<Line>>(api, &invoice()["lines"]).await;
        answered::<BTreeMap<String, f64>>(api, &json!({"a": 1.5})).await;
        answered::<Payment>(api, &json!({"Card": "1234"})).await;
        answered::<Payment>(api, &json!("Open")).await;
        answered::<Party>(api, &json!({"kind": "person", "name": "N"})).await;
        answered::<Code>(api, &json!("K")).await;
        answered::<(f64, Option<String>)>(api, &json!([1.5, null])).await;
    }
}

#[tokio::test]
async fn derived_schemas_come_back_from_every_api_as_arguments() {
    for api in STRICT_APIS {
        called::<Invoice>(api, &invoice()).await;
        called::<Line>(api, &invoice()["lines"][0]).await;
        called::<BTreeMap<String, f64>>(api, &json!({"a": 1.5})).await;
    }
}

// anthropic.md 6: recursion is refused before anything is sent, or left to us with leave
#[tokio::test]
async fn a_type_that_holds_itself_is_enforced_or_refused_before_it_is_sent() {
    for api in STRICT_APIS {
        if !matches!(api, Api::Anthropic | Api::Bedrock) {
            answered::<Folder>(api, &folder()).await;
            called::<Folder>(api, &folder()).await;
            continue;
        }
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text(folder().to_string()));
        let model = model(api, &mock);
        let error = model.complete(asking(format(schema_for!(Folder)))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("holds itself"), "{error}");
        assert!(mock.requests().is_empty());
        let leave = format(schema_for!(Folder)).with_unsupported(Unsupported::Degrade);
        let completion = model.complete(asking(leave)).await.unwrap();
        assert_eq!(completion.degradations.len(), 1);
        assert_eq!(completion.structured.unwrap().unwrap(), folder());

        let tool = ToolDefinition::new("file", "", schema_for!(Folder).to_value()).with_strict(true);
        let tools = ToolSet::new([tool]).unwrap();
        let request = asking(ModelSettings::new());
        let error = model.complete(request.clone().with_tools(tools.clone())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(model.check_tools(&tools, &ModelSettings::new()).refused.len(), 1);
        // Held here, it needs no leave.
        let held = tools.with_validation(true);
        let check = model.check_tools(&held, &ModelSettings::new());
        assert_eq!((check.refused.len(), &*check.loosened[0].keyword), (0, "strict"));
        model.complete(request.with_tools(held)).await.unwrap();
        assert!(mock.violations().is_empty(), "{:?}", mock.violations());
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_says_so() {
    for api in APIS {
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(Reply::new().text(r#"{"price": "much"}"#));
        mock.enqueue(Reply::new().text("I cannot."));
        mock.enqueue(Reply::new().text("Plain."));
        let model = model(api, &mock);
        let unfit = model.complete(asking(format(schema_for!(Line)))).await.unwrap();
        let Some(Err(StructuredError::Unfit(violations))) = unfit.structured else {
            panic!("{:?}", unfit.structured)
        };
        assert!(violations.iter().any(|violation| violation.to_string().contains("`price`")));
        let no_json = model.complete(asking(format(schema_for!(Line)))).await.unwrap();
        assert!(matches!(no_json.structured, Some(Err(StructuredError::NotJson(_)))));
        assert_eq!(no_json.message.text(), "I cannot.");
        let plain = model.complete(asking(ModelSettings::new())).await.unwrap();
        assert_eq!(plain.structured, None);
    }
}

// A reply that has the form of the schema already streams as it comes.
#[tokio::test]
async fn an_answer_of_the_same_form_streams() {
    for api in APIS {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text_pieces(["{\"price\":", " 1.5,", " \"name\": \"n\"}"]));
        let schema = json!({"type": "object", "properties": {"price": {"type": "number"}, "name": {"type": "string"}},
            "required": ["price", "name"], "additionalProperties": false});
        let mut stream = model(api, &mock).stream(asking(format(schema)));
        let mut pieces = 0;
        while let Some(chunk) = stream.next().await {
            pieces += usize::from(matches!(chunk.unwrap(), StreamChunk::Content(_)));
        }
        assert!(pieces > 1, "{}", api.name());
    }
}

// A call of a history that was made elsewhere, or before the tool was strict, goes out as it is.
#[test]
fn arguments_of_a_history_go_out_as_the_tool_has_them() {
    let definition = ToolDefinition::new("file", "", schema_for!(BTreeMap<String, f64>).to_value());
    let call = ToolCall::new("file", Arguments::new(r#"{"a": 1.5}"#));
    let results = ToolResultsMessage::new([result(&call)]);
    let messages = [
        Message::user("go").shared(),
        Message::Assistant(AssistantMessage::new([call.into()])).shared(),
        Message::ToolResults(results).shared(),
    ];
    for api in STRICT_APIS {
        let bodies = [false, true].map(|strict| {
            let tools = ToolSet::new([definition.clone().with_strict(strict)]).unwrap();
            let request = ChatRequest::new(messages.clone()).with_tools(tools);
            let encoded = api
                .codec()
                .encode(attache_transport::Ask::new(&request, &ModelSettings::new(), None))
                .unwrap();
            api.messages(&serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap()).to_string()
        });
        assert_eq!(bodies[0], bodies[1], "{}", api.name());
        assert!(bodies[0].contains("1.5"));
    }
}

// A conversation that moves to a model without strict tools says them again.
#[test]
fn another_model_of_a_conversation_is_not_asked_for_what_it_lacks() {
    for api in STRICT_APIS {
        let old = match api {
            Api::OpenAi | Api::OpenAiChat => "gpt-3.5-turbo",
            Api::Anthropic => "claude-3-5-haiku-latest",
            Api::Gemini => "gemini-2.0-flash",
            Api::Bedrock => "us.anthropic.claude-3-5-sonnet-20241022-v2:0",
            Api::Cohere | Api::Ollama => continue,
        };
        let definition = ToolDefinition::new("file", "", schema_for!(Line).to_value()).with_strict(true);
        let tools = Arc::new(ToolSet::new([definition]).unwrap().with_validation(true));
        let request = asking(ModelSettings::new()).with_tools(tools);
        let kept = request.clone().with_transcript(Transcript::default());
        let sent = |model: &str, request: &ChatRequest| {
            let encoded = api
                .codec_of(model)
                .encode(attache_transport::Ask::new(request, &ModelSettings::new(), None))
                .unwrap();
            serde_json::from_slice::<Value>(&encoded.parts.body.to_vec()).unwrap()
        };
        for model in [api.model(), old, api.model()] {
            let body = sent(model, &kept);
            assert_eq!(body, sent(model, &request), "{}: {model}", api.name());
            assert_eq!(tool_in(api, &body).1, model != old, "{}: {model}", api.name());
        }
    }
}

/// Reads what it is given, as the type has it.
struct File(ToolSpec);

impl Tool for File {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(
        &self,
        arguments: serde_json::Map<String, Value>,
        _: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let read = serde_json::from_value::<Invoice>(Value::Object(arguments));
        Box::pin(async move {
            let read = read.map_err(|error| ToolError::new(error.to_string()))?;
            Ok(ToolOutput::new(Capture::new().finish(&read.by_country)?))
        })
    }
}

#[tokio::test]
async fn an_agent_runs_strict_tools_with_the_arguments_of_the_type() {
    for api in STRICT_APIS {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(move |request| {
            let body = request.json();
            if api.messages(body).to_string().contains("DE") {
                return Reply::new().text("Filed.");
            }
            let (schema, strict) = tool_in(api, body);
            assert!(strict);
            Reply::new().call("call_1", "file", written_by(&schema, &invoice()).unwrap())
        });
        let definition = ToolDefinition::new("file", "", schema_for!(Invoice).to_value()).with_strict(true);
        let agent = Agent::builder(model(api, &mock)).tool(File(ToolSpec::new(definition))).build().unwrap();
        let outcome = agent.run("File it.").outcome().await.unwrap();
        assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "Filed."), "{}", api.name());
        let sent = api.messages(mock.requests()[1].json()).to_string();
        assert!(sent.contains("10.5") && !sent.contains("the arguments of file"), "{}: {sent}", api.name());
        assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
    }
}
