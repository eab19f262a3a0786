//! The checks before anything is sent, on every API: schemas in its dialect, histories in its order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache::{Agent, EndReason, ModelHandle};
use attache_conformance::{MockProvider, Reply};
use attache_core::message::UserOrigin;
use attache_core::repair::repair;
use attache_core::settings::Unsupported;
use attache_core::tool::ToolSpec;
use attache_core::{
    Arguments, AssistantMessage, BoxFuture, Capture, ChatRequest, ContentTree, Document, DocumentId,
    ErrorKind, Message, MessageId, ModelSettings, ResultStatus, SystemMessage, Tool, ToolCall, ToolCallId,
    ToolContext, ToolDefinition, ToolError, ToolOutput, ToolResult, ToolResultsMessage, ToolSet, UserMessage,
    UserPart,
};
use attache_documents::{Materials, RouteOptions, route};
use attache_tests::{APIS, Api};
use attache_transport::{Ask, check_pairing};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A schema with keywords that each API but one refuses at the root, and those that one of them refuses everywhere.
fn schema() -> Value {
    json!({"type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}},
        "anyOf": [
            {"properties": {"year": {"type": "integer"}}, "required": ["year"]},
            {"properties": {"number": {"type": "string"}}, "required": ["number"]}],
        "required": ["code"]})
}

struct Find(ToolSpec, Arc<AtomicUsize>);

impl Tool for Find {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: Map<String, Value>, _: ToolContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(ToolOutput::new(Capture::new().finish(&"found")?)) })
    }
}

fn find() -> ToolDefinition {
    ToolDefinition::new("find", "Finds a document.", schema())
}

fn model(api: Api, mock: &MockProvider) -> ModelHandle {
    api.connected(mock.url(), ModelSettings::new()).unwrap()
}

/// Everything that a body says, as text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => members.values().map(text).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

// A83, invariant 12, anthropic.md (a) 15, gemini.md (a) 12: what an API cannot be told is loosened, told, and held here
#[tokio::test]
async fn loosened_schemas_are_held_on_our_side() {
    for api in APIS {
        let mock = MockProvider::start().await.unwrap();
        let loosely = json!({"code": "EUR", "tags": ["a"]});
        // The rules that each API was not told: that one of the two must be there, or how often an item may be.
        let wrong = if api == Api::Gemini {
            json!({"code": "EUR", "year": 2026, "tags": ["a", "a"]})
        } else {
            loosely
        };
        mock.enqueue(Reply::new().call("call_1", "find", wrong));
        mock.enqueue(Reply::new().call(
            "call_2",
            "find",
            json!({"code": "EUR", "year": 2026, "tags": ["a"]}),
        ));
        mock.enqueue(Reply::new().text("Here it is."));
        let calls = Arc::new(AtomicUsize::new(0));
        let tool = Find(ToolSpec::new(find()), Arc::clone(&calls));
        let agent = Agent::builder(model(api, &mock)).tool(tool).build().unwrap();

        let loosened: Vec<_> =
            agent.preflight().loosened.iter().map(|one| (&*one.pointer, &*one.keyword)).collect();
        match api {
            Api::Gemini => {
                assert_eq!(loosened, [("/properties/code", "pattern"), ("/properties/tags", "uniqueItems")]);
            }
            // They take any schema.
            Api::Cohere | Api::Ollama => assert!(loosened.is_empty(), "{}: {loosened:?}", api.name()),
            _ => assert_eq!(loosened, [("", "anyOf")], "{}", api.name()),
        }
        let outcome = agent.run("Find it.").outcome().await.unwrap();
        assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "Here it is."));
        assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
        assert_eq!(calls.load(Ordering::SeqCst), 1, "the first call was not run");
        let told = text(mock.requests()[1].json());
        let problem = if api == Api::Gemini { "`tags[1]` is there before" } else { "fits none of the forms" };
        assert!(
            told.contains("the arguments of find do not fit") && told.contains(problem),
            "{}: {told}",
            api.name()
        );
    }
}

// Invariant 12: where nobody holds calls to the schema, nothing is loosened without leave
#[test]
fn nothing_is_loosened_without_leave() {
    let tools = Arc::new(ToolSet::new([find()]).unwrap());
    let request = ChatRequest::new([Message::user("Find it.").shared()]).with_tools(Arc::clone(&tools));
    for api in [Api::OpenAi, Api::OpenAiChat, Api::Anthropic, Api::Bedrock] {
        let codec = api.codec();
        let strict = ModelSettings::new();
        let error = codec.encode(Ask::new(&request, &strict, None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{}", api.name());
        let check = codec.check_tools(&tools, &strict);
        assert_eq!(
            (check.refused.len(), check.refused[0].tool.as_deref()),
            (1, Some("find")),
            "{}",
            api.name()
        );
        let lenient = strict.with_unsupported(Unsupported::Degrade);
        let encoded = codec.encode(Ask::new(&request, &lenient, None)).unwrap();
        assert_eq!(encoded.degradations.len(), 1, "{}", api.name());
        api.judge(&serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap()).unwrap();
        assert!(codec.check_tools(&tools, &lenient).refused.is_empty());
        // Held here, it needs no leave, and says the same in each request.
        let held = Arc::new((*tools).clone().with_validation(true));
        let request = ChatRequest::new([Message::user("Find it.").shared()]).with_tools(Arc::clone(&held));
        let encoded = codec.encode(Ask::new(&request, &ModelSettings::new(), None)).unwrap();
        assert!(encoded.degradations.is_empty());
        assert_eq!(codec.check_tools(&held, &ModelSettings::new()).loosened.len(), 1);
    }
}

// bedrock.md 11: a model that takes no definitions cannot be offered a schema that leads back to itself
#[test]
fn schemas_that_an_api_cannot_express_are_refused() {
    let tree = json!({"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}},
        "minProperties": 1,
        "$defs": {"node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}}}});
    let tools = |schema: Value| {
        ToolSet::new([ToolDefinition::new("grow", "", schema)]).unwrap().with_validation(true)
    };
    let nova = Api::Bedrock.codec_of("amazon.nova-pro-v1:0");
    let check = nova.check_tools(&tools(tree.clone()), &ModelSettings::new());
    assert!(check.refused[0].why.contains("#/$defs/node is recursive"), "{:?}", check.refused);
    for api in APIS {
        assert!(api.codec().check_tools(&tools(tree.clone()), &ModelSettings::new()).refused.is_empty());
    }
    let flat =
        json!({"type": "object", "properties": {"a": {}}, "minProperties": 1, "additionalProperties": false});
    let check = nova.check_tools(&tools(flat), &ModelSettings::new());
    let keywords: Vec<_> = check.loosened.iter().map(|loosened| loosened.keyword.as_str()).collect();
    assert_eq!(keywords, ["minProperties", "additionalProperties"]);
    // openai.md A.3: at most 128 tools
    let many = (0..129).map(|at| ToolDefinition::new(format!("t{at}"), "", json!({})));
    let many = ToolSet::new(many).unwrap();
    for api in [Api::OpenAi, Api::OpenAiChat] {
        let check = api.codec().check_tools(&many, &ModelSettings::new());
        assert_eq!(check.refused[0].to_string(), "the API takes at most 128 tools, and there are 129");
    }
}

/// Anything at all, from few ids, with documents that come from tools and events.
fn soup() -> impl Strategy<Value = Vec<Message>> {
    let id = || prop::sample::select(vec!["x", "y", "z"]);
    let number = || prop::option::weighted(0.3, 0_u8..3);
    let document = |number: u8| {
        let id = DocumentId::parse(format!("0000000{number}-93e5-4f6a-8b1d-2a6e5f0c9d34")).unwrap();
        Document::from_bytes(format!("%PDF-1.4\n% {number}\n"), "application/pdf").with_id(id)
    };
    let call = |id: &str| ToolCall::new("find", Arguments::new("{}")).with_id(ToolCallId::parse(id).unwrap());
    let result =
        (id(), prop::sample::select(vec!["", "one", "two"]), number()).prop_map(move |(id, text, number)| {
            let documents = number.map(document).into_iter().collect();
            let tree = ContentTree::parse(&json!(text).to_string(), documents).unwrap();
            ToolResult::new(&call(id), ResultStatus::Ok, tree)
        });
    let message = prop_oneof![
        1 => prop::sample::select(vec!["", "s"]).prop_map(|text| Message::System(SystemMessage::new(text))),
        3 => prop::sample::select(vec!["", "u"]).prop_map(Message::user),
        2 => (any::<bool>(), number()).prop_map(move |(synthetic, number)| {
            let mut user = UserMessage::new([UserPart::text("e"), number.and_then(|number| document(number).into())]);
            user.origin = if synthetic { UserOrigin::ToolCallDocuments } else { UserOrigin::Event };
            Message::User(user)
        }),
        2 => prop::sample::select(vec!["", "a"]).prop_map(Message::assistant),
        3 => prop::collection::vec(id(), 1..3).prop_map(move |ids| {
            Message::Assistant(AssistantMessage::new(ids.into_iter().map(|id| call(id).into())))
        }),
        3 => prop::collection::vec(result, 0..3).prop_map(|results| Message::ToolResults(ToolResultsMessage::new(results))),
    ];
    prop::collection::vec(message, 0..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    // invariant 3: whatever was imported, each API takes it once it is mended
    #[test]
    fn every_api_takes_what_was_mended(soup in soup()) {
        let mut messages: Vec<Arc<Message>> = soup
            .into_iter()
            .enumerate()
            .map(|(at, message)| message.with_id(MessageId::parse(format!("m{at}")).unwrap()).shared())
            .collect();
        messages.push(Message::user("Go on.").shared());
        let mended = repair(&messages).messages;
        prop_assert!(check_pairing(&mended).is_ok());
        let tools = Arc::new(ToolSet::new([ToolDefinition::new("find", "", json!({}))]).unwrap());
        for api in APIS {
            let routing = route(&mended, &api.capabilities(), &tools, &Materials::new(), &RouteOptions::new()).unwrap();
            let request = ChatRequest::new(routing.messages).with_tools(Arc::clone(&tools));
            let encoded = api.codec_of(api.model()).encode(Ask::new(&request, &ModelSettings::new(), None));
            prop_assert!(encoded.is_ok(), "{}: {:?}", api.name(), encoded.err());
            let body: Value = serde_json::from_slice(&encoded.unwrap().parts.body.to_vec()).unwrap();
            let judged = api.judge(&body);
            prop_assert!(judged.is_ok(), "{}: {:?}\n{:#}", api.name(), judged.err(), body);
        }
    }
}
