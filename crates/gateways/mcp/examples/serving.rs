//! The server that the clients of others drive: `serving suite` has the tools that the official conformance suite asks for,
//! `serving library` an agent whose tool returns three files. It says where it listens, and ends when its input closes.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    reason = "a server that fails has failed its test"
)]

use std::time::Duration;

use attache_agent::{Agent, FunctionTool, Tools, tool_fn};
use attache_core::tool::{Deferred, Progress};
use attache_core::{Document, Tool, ToolContext, ToolDefinition, ToolError, UserMessage, UserPart};
use attache_mcp::{McpAgent, McpCall, McpLogLevel, McpPrompt, McpService, McpTemplate};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt;

const PDF: &[u8] = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU";
const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data\0\0\0\0";

/// A tool without parameters.
fn fixed<T>(name: &str, output: T) -> impl Tool + use<T>
where
    T: serde::Serialize + Clone + Send + Sync + 'static,
{
    tool_fn(name, "A tool of the suite", move || Ok::<_, ToolError>(output.clone()))
}

/// A tool that asks the user, by a form.
fn asking(name: &str, key: &str, form: Value) -> impl Tool + use<> {
    let mut question = Deferred::ask("Please answer").with_schema(form);
    question.handle = Some(key.to_owned());
    fixed(name, question)
}

fn form(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// The tools and resources that the suite wants of a server.
fn fixtures() -> McpService {
    let png = Document::new(PNG).with_file_name("image.png");
    let text = Document::new("This is an embedded resource.").with_file_name("embedded.txt");
    let logging = tool_fn("test_tool_with_logging", "Logs", |context: ToolContext| async move {
        let call = context.require::<McpCall>()?;
        for said in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            call.log(McpLogLevel::Info, "test", said).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok::<_, ToolError>("logged")
    });
    let progress =
        tool_fn("test_tool_with_progress", "Tells its progress", |context: ToolContext| async move {
            for done in [0.0, 50.0, 100.0] {
                context.progress(Progress::new(done).with_total(100.0));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok::<_, ToolError>("done")
        });
    let message =
        json!({"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]});
    let elicit = FunctionTool::from_schema(
        ToolDefinition::new("test_elicitation", "Asks", message),
        |arguments: Map<String, Value>| {
            let properties = json!({"username": {"type": "string"}, "email": {"type": "string"}});
            let asked = arguments["message"].as_str().unwrap_or_default().to_owned();
            Ok::<_, ToolError>(Deferred::ask(asked).with_schema(form(properties)))
        },
    );
    let titled = json!([{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]);
    let names = json!(["option1", "option2", "option3"]);
    let enums = json!({
        "untitledSingle": {"type": "string", "enum": names},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": names}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    });
    let defaults = json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"},
        }}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    let modern = FunctionTool::from_schema(
        ToolDefinition::new("json_schema_2020_12_tool", "Has a schema", schema),
        |_: Map<String, Value>| Ok::<_, ToolError>("fine"),
    );
    let region = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
    }});
    let region = FunctionTool::from_schema(
        ToolDefinition::new("test_header", "Has an argument that a header repeats", region),
        |arguments: Map<String, Value>| Ok::<_, ToolError>(Value::Object(arguments)),
    );
    let tells = tool_fn("test_logging_tool", "Logs", |context: ToolContext| async move {
        context.require::<McpCall>()?.log(McpLogLevel::Info, "test", "logged").await;
        Ok::<_, ToolError>("logged")
    });
    let name = || form(json!({"name": {"type": "string"}}));
    let confirm = || form(json!({"ok": {"type": "boolean"}}));
    let template = McpTemplate::new("test://template/{id}/data", "Data", |values| async move {
        let id = values.get("id").cloned().unwrap_or_default();
        Ok(Some(Document::new(json!({"id": id, "data": format!("Data of {id}")}).to_string())))
    });
    let template = template.unwrap().with_media_type("application/json").with_values("id", ["122", "123"]);
    let tools = Tools::new()
        .with(fixed("test_simple_text", "This is a simple text response for testing."))
        .with(fixed("test_image_content", png.clone()))
        .with(fixed("test_audio_content", Document::new(WAV)))
        .with(fixed("test_embedded_resource", text.clone()))
        .with(fixed("test_multiple_content_types", ("Several:", png.clone(), text)))
        .with(logging)
        .with(progress)
        .with(tool_fn("test_error_handling", "Fails", || {
            Err::<(), _>(ToolError::new("This tool intentionally returns an error for testing"))
        }))
        .with(elicit)
        .with(asking("test_elicitation_sep1034_defaults", "answer", form(defaults)))
        .with(asking("test_elicitation_sep1330_enums", "answer", form(enums)))
        .with(modern)
        .with(region)
        .with(tells)
        .with(asking("test_streaming_elicitation", "answer", name()))
        .with(asking("test_missing_capability", "answer", name()))
        .with(asking("test_input_required_result_elicitation", "user_name", name()))
        .with(asking("test_input_required_result_request_state", "confirm", confirm()))
        .with(asking("test_input_required_result_tampered_state", "confirm", confirm()));
    McpService::tools(tools)
        .unwrap()
        .with_resource("test://static-text", Document::new("This is the text of a resource."))
        .with_resource("test://static-binary", png.clone())
        .with_resource("test://watched-resource", Document::new("Watched."))
        .with_template(template)
        .with_prompt(McpPrompt::new("test_simple_prompt", "Says something", |_| async {
            Ok(UserMessage::from("This is a simple prompt for testing."))
        }))
        .with_prompt(
            McpPrompt::new("test_prompt_with_arguments", "Repeats its arguments", |given| async move {
                let given = |name: &str| given.get(name).cloned().unwrap_or_default();
                let text =
                    format!("Prompt with arguments: arg1='{}', arg2='{}'", given("arg1"), given("arg2"));
                Ok(UserMessage::from(text.as_str()))
            })
            .with_argument("arg1", "The first", true)
            .with_argument("arg2", "The second", true)
            .with_values("arg1", ["test", "testing"]),
        )
        .with_prompt(
            McpPrompt::new("test_prompt_with_embedded_resource", "Has a file", |_| async {
                let file = Document::new("This is an embedded resource.").with_file_name("embedded.txt");
                let text = UserPart::text("Please read the embedded resource.");
                Ok(UserMessage::new([Some(UserPart::Document(file)), text]))
            })
            .with_argument("resourceUri", "The address of the file", true),
        )
        .with_prompt(McpPrompt::new("test_prompt_with_image", "Has an image", move |_| {
            let image = UserPart::Document(png.clone());
            async move { Ok(UserMessage::new([Some(image), UserPart::text("Please look at the image.")])) }
        }))
}

/// An agent with a PDF, an image and bytes, which answers each question the same.
fn library() -> McpService {
    let files = tool_fn("fetch", "Fetches three files", || {
        Ok((
            Document::new(PDF).with_file_name("letter.pdf"),
            Document::new(PNG).with_file_name("plan.png"),
            Document::new(vec![0_u8, 1, 2, 255]).with_file_name("table.xls"),
        ))
    });
    let turns = (0..8).flat_map(|_| [Turn::call("fetch", "{}"), Turn::text("Three files.")]);
    let model = ScriptedModel::new(turns).unverified().with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let agent = Agent::builder(model).tool(files).build().unwrap();
    McpService::new("library").with_agent(McpAgent::new("ask", "Answers questions", agent))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let service = match std::env::args().nth(1).as_deref() {
        Some("suite") => fixtures(),
        _ => library(),
    };
    if std::env::args().nth(2).as_deref() == Some("stdio") {
        return service.serve_stdio().await.unwrap();
    }
    let listener = service.http().bind("127.0.0.1:0").await.unwrap();
    println!("listening on {}", listener.address().port());
    let ended = async {
        let mut rest = Vec::new();
        let _ = tokio::io::stdin().read_to_end(&mut rest).await;
    };
    tokio::select! {
        () = listener.serve() => {}
        () = ended => {}
    }
    // The thread that reads the input must not hold the process.
    std::process::exit(0);
}
