//! A small agent around the model: a folder of files, two tools, routing, and the loop.

use std::sync::Arc;

use attache_core::{
    Capture, ChatRequest, Completion, ContentTree, Document, LlmProvider, Message, ModelHandle, ResultStatus,
    ToolCall, ToolDefinition, ToolResult, ToolResultsMessage, ToolSet,
};
use attache_documents::{Materials, RouteOptions, route};
use attache_offline::OfflineModel;
use serde::Serialize;
use serde_json::{Value, json};

/// A file of the folder: its path, its media type, its content.
pub(crate) struct File(pub(crate) &'static str, pub(crate) &'static str, pub(crate) &'static str);

/// The steps until the answer.
pub(crate) struct Conversation {
    pub(crate) calls: Vec<String>,
    pub(crate) answer: String,
    pub(crate) messages: Vec<Arc<Message>>,
}

#[derive(Serialize)]
struct Read {
    path: String,
    document: Document,
}

pub(crate) fn file_tools() -> ToolSet {
    let list = json!({"type": "object", "properties": {"folder": {"type": ["string", "null"]}}});
    let read = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": "a path that list_files names"}},
        "required": ["path"],
    });
    let tools = [
        ToolDefinition::new(
            "list_files",
            "Lists the files that may be read: path, size in bytes, media type.",
            list,
        ),
        ToolDefinition::new("read_file", "Reads one file.", read.clone()),
        ToolDefinition::new("delete_file", "Deletes one file.", read),
    ];
    ToolSet::new(tools).unwrap()
}

/// The same with a search.
pub(crate) fn searching_tools() -> ToolSet {
    let search = json!({
        "type": "object",
        "properties": {"query": {"type": "string", "description": "words to look for"}},
        "required": ["query"],
    });
    let search = ToolDefinition::new("search_files", "Searches the text of all files for words.", search);
    ToolSet::new(file_tools().iter().map(|(_, tool)| tool.clone()).chain([search])).unwrap()
}

/// The lines that hold all the words.
fn search(files: &[File], query: &str) -> Value {
    let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let has = |line: &str| words.iter().all(|word| line.to_lowercase().contains(word.as_str()));
    let lines = files.iter().flat_map(|File(path, media, text)| {
        let is_text = !media.starts_with("image/") && *media != "application/pdf";
        text.lines().enumerate().filter(move |_| is_text).map(move |(at, line)| (*path, at + 1, line))
    });
    let matches: Vec<Value> = lines
        .filter(|(_, _, line)| has(line))
        .map(|(path, line, text)| json!({"path": path, "line": line, "text": text}))
        .collect();
    json!({"matches": matches, "filesWithoutText": 3})
}

fn run(files: &[File], call: &ToolCall) -> ToolResult {
    let arguments = call.arguments.object().unwrap();
    let tree = match call.name.as_str() {
        "list_files" => {
            let entries: Vec<Value> = files
                .iter()
                .map(|File(path, media, text)| json!({"path": path, "size": text.len(), "mediaType": media}))
                .collect();
            Capture::new().finish(&entries).unwrap()
        }
        "read_file" => {
            let wanted = arguments["path"].as_str().unwrap();
            let Some(File(path, media, text)) = files.iter().find(|file| file.0 == wanted) else {
                return ToolResult::error(call, "there is no such file");
            };
            let name = path.rsplit('/').next().unwrap();
            // The text that a converter makes of a PDF stands in its place under the same name.
            let media = if *media == "application/pdf" { "text/plain" } else { media };
            let document = if media.starts_with("image/") {
                Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], media).with_file_name(name)
            } else {
                Document::inline(*text).with_file_name(name).with_media_type(media)
            };
            Capture::new().finish(&Read { path: (*path).to_owned(), document }).unwrap()
        }
        "search_files" => ContentTree::value(&search(files, arguments["query"].as_str().unwrap())),
        other => panic!("{other} was called"),
    };
    ToolResult::new(call, ResultStatus::Ok, tree)
}

pub(crate) fn routed(messages: &[Arc<Message>], tools: &ToolSet) -> Vec<Arc<Message>> {
    let model = OfflineModel::new();
    let routing = route(messages, model.capabilities(), tools, &Materials::new(), &RouteOptions::new());
    routing.unwrap().messages
}

pub(crate) async fn complete(request: ChatRequest) -> Completion {
    ModelHandle::new(OfflineModel::new()).complete(request).await.unwrap()
}

/// Asks a question about the files, after what was said before.
pub(crate) async fn ask_after(before: &[Arc<Message>], files: &[File], question: &str) -> Conversation {
    ask_by(file_tools(), before, files, question).await
}

/// Asks a question of whoever can search the files.
pub(crate) async fn ask_searching(files: &[File], question: &str) -> Conversation {
    ask_by(searching_tools(), &[], files, question).await
}

async fn ask_by(tools: ToolSet, before: &[Arc<Message>], files: &[File], question: &str) -> Conversation {
    let tools = Arc::new(tools);
    let mut messages = before.to_vec();
    messages.push(Message::user(question).shared());
    let mut calls = Vec::new();
    for _ in 0..20 {
        let request = ChatRequest::new(routed(&messages, &tools)).with_tools(Arc::clone(&tools));
        let completion = complete(request).await;
        let asked: Vec<ToolCall> = completion.message.tool_calls().cloned().collect();
        let answer = completion.message.text();
        messages.push(Message::Assistant(completion.message).shared());
        if asked.is_empty() {
            return Conversation { calls, answer, messages };
        }
        for call in &asked {
            let said = format!("{} {}", call.name, call.arguments.raw());
            assert!(!calls.contains(&said), "{said} was called twice");
            calls.push(said);
        }
        let results: Vec<ToolResult> = asked.iter().map(|call| run(files, call)).collect();
        messages.push(Message::ToolResults(ToolResultsMessage::new(results)).shared());
    }
    panic!("no answer to {question:?} after {calls:?}")
}

pub(crate) async fn ask(files: &[File], question: &str) -> Conversation {
    ask_after(&[], files, question).await
}

/// A request in which a tool has returned this value.
pub(crate) fn after_result(
    question: &str,
    tool: &str,
    arguments: &str,
    result: &Value,
    tools: ToolSet,
) -> ChatRequest {
    let call = ToolCall::new(tool, attache_core::Arguments::new(arguments));
    let tree = ContentTree::value(result);
    let messages = [
        Message::user(question).shared(),
        Message::Assistant(attache_core::AssistantMessage::new([call.clone().into()])).shared(),
        Message::ToolResults(ToolResultsMessage::new([ToolResult::new(&call, ResultStatus::Ok, tree)]))
            .shared(),
    ];
    ChatRequest::new(messages).with_tools(tools)
}
