//! `attache wire`: the exact request that a conversation would cause.

use std::io::Read;
use std::sync::Arc;

use attache_agent::MemoryDocumentStore;
use attache_convert::DocumentConverter;
use attache_core::fetcher::Fetcher;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Capture, ChatRequest, Conversation, Converter, Document,
    DocumentId, Message, MessageId, ModelCapabilities, ModelSettings, ProviderCallId, ProviderError,
    ResultStatus, Secret, ToolCall, ToolCallId, ToolDefinition, ToolResult, ToolResultsMessage, ToolSet,
};
use attache_documents::{Materials, RouteOptions, Routing, gather, route};
use attache_models::Registry;
use attache_transport::{Ask, Codec, GuardedFetcher};
use serde_json::{Map, Value, json};

use crate::args;
use crate::ask::build::routing;
use crate::exit::Exit;
use crate::model_by_name::{self, SetupError};
use crate::output::{answer, fail, line, with_causes, written};

/// Runs the command.
pub(crate) async fn run(arguments: &args::Wire, registry: &Registry) -> Exit {
    if arguments.example {
        return example().to_json().map_or(Exit::Failed, |json| print(&json));
    }
    let Some(name) = arguments.model.as_deref() else { return Exit::Usage };
    let codec = match model_by_name::at(registry, arguments.base_url.as_deref())
        .codec(name)
        .map_err(SetupError::from)
    {
        Ok(codec) => codec,
        Err(error) => {
            fail(&error.to_string());
            return Exit::Setup;
        }
    };
    match request(arguments, &*codec).await {
        Ok(request) => print(&format!("{request:#}")),
        Err(problem) => {
            fail(&problem);
            Exit::Failed
        }
    }
}

fn print(text: &str) -> Exit {
    written(answer(&format!("{text}\n")))
}

async fn request(arguments: &args::Wire, codec: &dyn Codec) -> Result<Value, String> {
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .read_to_string(&mut text)
        .map_err(|error| format!("stdin cannot be read: {error}"))?;
    let mut conversation = Conversation::from_json(&text).map_err(|error| with_causes(&error))?;
    // A conversation that ends with an answer, such as a run that was saved, shows the request that led to it.
    let is_answer =
        |message: &Arc<Message>| matches!(&**message, Message::Assistant(said) if !said.has_tool_calls());
    if conversation.messages.pop_if(|last| is_answer(last)).is_some() {
        line("· the request that led to the last answer");
    }
    let tools = ToolSet::new(conversation.tools).map_err(|error| error.to_string())?;
    let Routing { messages, report, .. } =
        routed(&conversation.messages, codec.capabilities(), &tools, arguments.fetch)
            .await
            .map_err(|error| with_causes(&error))?;
    let mut request = ChatRequest::new(messages).with_tools(tools);
    request.streaming = arguments.stream;
    // The key is masked wherever the request is shown.
    let (config, key) = (ModelSettings::new(), Secret::new("…"));
    let encoded =
        codec.encode(Ask::new(&request, &config, Some(&key))).map_err(|error| with_causes(&error))?;
    let parts = encoded.parts;
    let body = parts.body.to_vec();
    let body: Value =
        serde_json::from_slice(&body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let headers: Map<String, Value> =
        parts.shown_headers().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    let mut out = json!({ "method": parts.method.as_str(), "url": parts.shown_url(), "headers": headers, "body": body });
    if arguments.report
        && let Value::Object(out) = &mut out
    {
        out.insert("report".to_owned(), json!(report.decisions));
    }
    Ok(out)
}

/// Routing, with documents converted that this model cannot take otherwise.
async fn routed(
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    tools: &ToolSet,
    fetch: bool,
) -> Result<Routing, ProviderError> {
    // That of `ask`, whose runs are read here.
    let options = routing();
    let materials = gathered(messages, capabilities, &options, fetch).await;
    route(messages, capabilities, tools, &materials, &options)
}

/// The materials that routing for a model needs beside the messages: documents that a conversation brings along or
/// leads to, and the forms that are made of them.
pub(crate) async fn gathered(
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    options: &RouteOptions,
    fetch: bool,
) -> Materials {
    let mut materials = Materials::new();
    // A document that the conversation does not bring along is nowhere.
    let store = MemoryDocumentStore::default();
    let converters: [Arc<dyn Converter>; 1] = [Arc::new(DocumentConverter::default())];
    let fetcher = fetch.then(GuardedFetcher::new);
    let fetcher = fetcher.as_ref().map(|fetcher| fetcher as &dyn Fetcher);
    gather(&mut materials, messages, capabilities, options, &store, fetcher, &converters).await;
    materials
}

/// A conversation in which a tool has returned these documents.
pub(crate) fn returned(documents: &[Document]) -> Conversation {
    let calls: Vec<ToolCall> = documents
        .iter()
        .map(|document| {
            let path = json!({ "path": document.file_name() }).to_string();
            ToolCall::new("read_file", Arguments::new(path)).with_id(ToolCallId::new())
        })
        .collect();
    let results = calls.iter().zip(documents).map(|(call, document)| {
        let mut capture = Capture::new().with_store_id("memory");
        let output = capture.run_blocking(|| json!({ "document": document }));
        let tree = capture.finish(&output).unwrap_or_else(|_| attache_core::ContentTree::text(""));
        ToolResult::new(call, ResultStatus::Ok, tree)
    });
    let results = Message::ToolResults(ToolResultsMessage::new(results));
    let assistant = AssistantMessage::new(calls.iter().map(|call| call.clone().into()));
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let question = Message::user("What do these documents say?");
    Conversation::new([question, Message::Assistant(assistant), results].map(Message::shared))
        .with_tools([ToolDefinition::new("read_file", "Reads one file and returns it as a document", schema)])
}

/// A conversation whose tool result holds a PDF and an image, nested.
fn example() -> Conversation {
    let id = |text: &str| MessageId::parse(text).unwrap_or_else(MessageId::new);
    let document = |text: &str| DocumentId::parse(text).unwrap_or_else(DocumentId::new);
    let call = ToolCall::new("find_contract", Arguments::new(r#"{"tenant":"Harbour Bakery"}"#))
        .with_id(ToolCallId::parse("call-1").unwrap_or_else(ToolCallId::new))
        .with_provider_id(ProviderCallId::parse("call_7"));
    let lease = Document::from_bytes(LEASE.as_bytes().to_vec(), "application/pdf")
        .with_id(document("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34"))
        .with_file_name("lease.pdf");
    let plan = Document::from_bytes(FLOOR_PLAN.to_vec(), "image/png")
        .with_id(document("b20f6e91-0c57-4e0b-9d5a-6f1f3a2b7c88"))
        .with_file_name("floor-plan.png");
    let mut capture = Capture::new().with_store_id("memory");
    let output = capture.run_blocking(
        || json!({"found": 1, "lease": lease, "annexes": [{"title": "Floor plan", "file": plan}]}),
    );
    // A value of this size always becomes a tree; an empty one would show at once.
    let tree = capture.finish(&output).unwrap_or_else(|_| attache_core::ContentTree::text(""));
    let assistant =
        AssistantMessage::new([AssistantPart::text("I will look the contract up."), call.clone().into()]);
    let schema = json!({
        "type": "object",
        "properties": {"tenant": {"type": "string", "description": "The tenant's name"}},
        "required": ["tenant"]
    });
    let messages = [
        Message::system("You manage leases.").with_id(id("m1")),
        Message::user("Until when does the lease of the Harbour Bakery run?").with_id(id("m2")),
        Message::Assistant(assistant).with_id(id("m3")),
        Message::ToolResults(ToolResultsMessage::new([ToolResult::new(&call, ResultStatus::Ok, tree)]))
            .with_id(id("m4")),
    ];
    Conversation::new(messages.map(Message::shared)).with_tools([ToolDefinition::new(
        "find_contract",
        "Finds a lease by its tenant",
        schema,
    )])
}

const LEASE: &str = "%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >> endobj
4 0 obj << /Length 100 >> stream
BT /F1 12 Tf 72 770 Td (Lease of the Harbour Bakery) Tj 0 -20 Td (It runs until 30 June 2031.) Tj ET
endstream endobj
5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj
trailer << /Root 1 0 R >>
%%EOF
";

/// A PNG of one grey pixel.
const FLOOR_PLAN: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00,
    0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x68, 0x00, 0x00, 0x00, 0x82, 0x00, 0x81,
    0x77, 0xcd, 0x72, 0xb6, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];
