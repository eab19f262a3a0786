//! A conversation as people and snapshots read it.

use attache_core::{AssistantMessage, AssistantPart, Document, Message, ResultStatus};

use crate::exchange::{Exchange, Shown, content};

/// The exchanges of a model with each message once.
pub(crate) fn transcript(exchanges: &[Exchange]) -> String {
    let mut out = String::new();
    let mut offered = String::new();
    let mut told: Vec<String> = Vec::new();
    for exchange in exchanges {
        let tools: Vec<&str> = exchange.request.tools.iter().map(|(_, tool)| tool.name()).collect();
        let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
        if tools != offered && !(offered.is_empty() && tools == "none") {
            out.push_str(&format!("tools: {tools}\n"));
        }
        offered = tools;
        let messages: Vec<String> = exchange.request.messages.iter().map(|message| one(message)).collect();
        let same = told.iter().zip(&messages).take_while(|(told, now)| told == now).count();
        match same {
            _ if same == told.len() => {}
            0 => out.push_str("--- another conversation:\n"),
            _ => out.push_str(&format!("--- the conversation changed from message {} on:\n", same + 1)),
        }
        messages.iter().skip(same).for_each(|message| out.push_str(message));
        told = messages;
        match (&exchange.reply, &exchange.failure) {
            (Some(reply), _) => {
                let reply = assistant(reply);
                out.push_str(&reply);
                told.push(reply);
            }
            (None, Some(failure)) => out.push_str(&entry("the model failed", failure)),
            (None, None) => out.push_str("the model did not come to the end of its reply\n"),
        }
    }
    out
}

fn one(message: &Message) -> String {
    match message {
        Message::System(system) => system.parts.iter().map(|part| entry("system", part.text())).collect(),
        Message::User(user) => {
            let who = if message.is_tool_call_documents() { "user (documents)" } else { "user" };
            user.shown().iter().map(|part| shown(who, &content(part))).collect()
        }
        Message::Assistant(reply) => assistant(reply),
        Message::ToolResults(results) => {
            let results = results.results.iter().map(|result| {
                let name = result.tool_name.as_deref().unwrap_or("unknown");
                let who = match result.status {
                    ResultStatus::Ok => format!("tool {name}"),
                    ResultStatus::Cancelled => format!("tool {name} (cancelled)"),
                    _ => format!("tool {name} (failed)"),
                };
                let text = entry(&who, &result.tree.model_text());
                let attached = result.attached().iter().map(|part| shown(&who, &content(part)));
                std::iter::once(text).chain(attached).collect::<String>()
            });
            results.collect()
        }
        _ => String::new(),
    }
}

fn shown(who: &str, part: &Shown<'_>) -> String {
    match part {
        Shown::Text(text) => entry(who, text),
        Shown::Document(document) => entry(who, &format!("[{}]", described(document))),
    }
}

fn assistant(reply: &AssistantMessage) -> String {
    let parts = reply.parts.iter().map(|part| match part {
        AssistantPart::Text(text) if text.is_refusal() => entry("assistant (refuses)", text.text()),
        AssistantPart::Text(text) => entry("assistant", text.text()),
        AssistantPart::Reasoning(reasoning) => entry("assistant (thinks)", reasoning.text()),
        AssistantPart::ToolCall(call) => {
            entry("assistant", &format!("{}({})", call.name, call.arguments.raw()))
        }
        AssistantPart::Document(made) => entry("assistant", &format!("[{}]", described(&made.document))),
        _ => entry("assistant", "[a block that only its provider understands]"),
    });
    let parts: String = parts.collect();
    if parts.is_empty() { "assistant: (nothing)\n".to_owned() } else { parts }
}

/// A line, or an indented block of them.
fn entry(who: &str, text: &str) -> String {
    let text = text.trim_end();
    if !text.contains('\n') {
        return format!("{who}: {text}\n");
    }
    let lines =
        text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
    format!("{who}:\n{}", lines.collect::<String>())
}

/// A document in a few words, without its id.
pub(crate) fn described(document: &Document) -> String {
    let name = document.file_name().unwrap_or("a document");
    let size = document.size().map(|size| format!(", {size} bytes")).unwrap_or_default();
    format!("{name}, {}{size}", document.media_type())
}
