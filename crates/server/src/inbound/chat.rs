//! Requests of Chat Completions.

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ContentTree, Effort, Message, ModelSettings, Reasoning,
    ResponseFormat, ResultStatus, Role, ToolCall, ToolCallId, ToolResult, ToolResultsMessage, UserMessage,
};
use serde::Deserialize;
use serde_json::Value;

use super::parts::Content;
use super::tools::{ClientTool, FunctionTool};
use super::turn::Disconnect;
use crate::documents::Documents;
use crate::fault::Fault;

/// The most messages of a request.
const MOST: usize = 4096;

/// The body, as far as anything follows from it; other members are left alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Body {
    pub(crate) model: String,
    messages: Vec<Said>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) stream: bool,
    stream_options: Option<StreamOptions>,
    tools: Option<Vec<FunctionTool>>,
    tool_choice: Option<Value>,
    functions: Option<Value>,
    function_call: Option<Value>,
    n: Option<u32>,
    logprobs: Option<bool>,
    modalities: Option<Vec<String>>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop: Option<Stop>,
    seed: Option<i64>,
    presence_penalty: Option<f64>,
    frequency_penalty: Option<f64>,
    parallel_tool_calls: Option<bool>,
    reasoning_effort: Option<String>,
    response_format: Option<Value>,
    metadata: Option<Metadata>,
    attache: Extension,
}

#[derive(Debug, Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    session: Option<String>,
}

/// The member for what OpenAI's API has no words for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Extension {
    /// True if chunks have the events of the run.
    pub(crate) events: bool,
    pub(crate) session: Option<String>,
    pub(crate) on_disconnect: Option<Disconnect>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Stop {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
struct Said {
    role: String,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    tool_calls: Option<Vec<Called>>,
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Called {
    id: String,
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: String,
}

fn nullable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::<bool>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The conversation of a request.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// The client's instructions.
    pub(crate) system: Option<String>,
    /// The messages up to the model's last reply.
    pub(crate) history: Vec<Arc<Message>>,
    /// Those behind it: results, and what the user says.
    pub(crate) new: Vec<Arc<Message>>,
}

impl Conversation {
    /// The results that the client brings.
    pub(crate) fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.new.iter().flat_map(|message| match &**message {
            Message::ToolResults(message) => message.results.as_slice(),
            _ => &[],
        })
    }
}

impl Body {
    /// True if the tokens are to be told at the end of a stream.
    pub(crate) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    pub(crate) fn extension(&self) -> Extension {
        let mut extension = self.attache.clone();
        if extension.session.is_none() {
            extension.session = self.metadata.as_ref().and_then(|metadata| metadata.session.clone());
        }
        extension
    }

    /// The options for the model; an option that cannot be honoured is refused.
    pub(crate) fn settings(&self) -> Result<Option<ModelSettings>, Fault> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(Fault::unsupported("n", "there is one answer to a request"));
        }
        if self.logprobs == Some(true) {
            return Err(Fault::unsupported("logprobs", "probabilities of tokens are not told"));
        }
        if self.modalities.as_ref().is_some_and(|forms| forms.iter().any(|form| form != "text")) {
            return Err(Fault::unsupported("modalities", "answers are text"));
        }
        if self.functions.is_some() || self.function_call.is_some() {
            return Err(Fault::unsupported("functions", "functions are given as tools"));
        }
        let mut settings = ModelSettings::new();
        settings.max_tokens = self.max_completion_tokens.or(self.max_tokens);
        settings.temperature = self.temperature;
        settings.top_p = self.top_p;
        settings.stop = self.stop.as_ref().map(|stop| match stop {
            Stop::One(stop) => vec![stop.clone()],
            Stop::Many(stops) => stops.clone(),
        });
        settings.seed = self.seed;
        settings.presence_penalty = self.presence_penalty;
        settings.frequency_penalty = self.frequency_penalty;
        // Without tools of its own a client says nothing about the agent's.
        settings.parallel_tool_calls = self.parallel_tool_calls.filter(|_| self.has_tools());
        settings.reasoning = self.reasoning_effort.as_deref().map(reasoning).transpose()?;
        settings.response_format = self.response_format.as_ref().map(response_format).transpose()?;
        Ok((settings != ModelSettings::new()).then_some(settings))
    }

    fn has_tools(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| !tools.is_empty())
    }

    /// The tools that the client answers.
    pub(crate) fn take_tools(&mut self) -> Result<Vec<ClientTool>, Fault> {
        let tools = self.tools.take().unwrap_or_default();
        match self.tool_choice.as_ref().map(|choice| choice.as_str()) {
            None | Some(Some("auto")) => {}
            Some(Some("none")) => return Ok(Vec::new()),
            Some(_) => {
                let message = "the agent chooses its tools itself: \"auto\" and \"none\" are known";
                return Err(Fault::unsupported("tool_choice", message));
            }
        }
        tools.into_iter().map(FunctionTool::into_tool).collect()
    }

    /// The conversation.
    pub(crate) async fn take_conversation(
        &mut self,
        principal: &str,
        documents: &Documents,
    ) -> Result<Conversation, Fault> {
        let said = std::mem::take(&mut self.messages);
        if said.len() > MOST {
            return Err(Fault::invalid(format!("there are more than {MOST} messages")).at("messages"));
        }
        let mut reading = Reading::default();
        for message in said {
            reading.read(message, principal, documents).await?;
        }
        reading.end_results();
        let Reading { system, mut messages, .. } = reading;
        let last_reply = messages.iter().rposition(|message| message.role() == Role::Assistant);
        let new = messages.split_off(last_reply.map_or(0, |at| at + 1));
        if new.is_empty() {
            return Err(Fault::invalid("the last message must be the user's or a tool's").at("messages"));
        }
        Ok(Conversation { system, history: messages, new })
    }
}

/// A conversation while it is read.
#[derive(Default)]
struct Reading {
    system: Option<String>,
    messages: Vec<Arc<Message>>,
    /// The calls of the last reply.
    calls: HashMap<String, ToolCall>,
    /// Their results.
    results: Vec<ToolResult>,
}

impl Reading {
    async fn read(&mut self, said: Said, principal: &str, documents: &Documents) -> Result<(), Fault> {
        let Said { role, content, tool_calls, tool_call_id } = said;
        if role == "tool" {
            let id = tool_call_id.ok_or_else(|| Fault::invalid("a tool message needs tool_call_id"))?;
            let Some(call) = self.calls.get(&id) else {
                let message = format!("the tool message {id:?} answers no call of the message before it");
                return Err(Fault::invalid(message).at("messages"));
            };
            let text = content.into_text("a tool message")?;
            self.results.push(ToolResult::new(call, ResultStatus::Ok, ContentTree::text(&text)));
            return Ok(());
        }
        self.end_results();
        match role.as_str() {
            "system" | "developer" => {
                let text = content.into_text("a system message")?;
                match &mut self.system {
                    Some(system) => {
                        system.push_str("\n\n");
                        system.push_str(&text);
                    }
                    None => self.system = Some(text),
                }
            }
            "user" => {
                let message = UserMessage::new(content.into_parts(principal, documents).await?);
                self.messages.push(Message::User(message).shared());
            }
            "assistant" => {
                let text = content.into_text("an assistant message")?;
                let calls: Vec<ToolCall> =
                    tool_calls.unwrap_or_default().into_iter().map(call).collect::<Result<_, _>>()?;
                self.calls = calls.iter().map(|call| (call.id.as_str().to_owned(), call.clone())).collect();
                let parts = [AssistantPart::text(text)].into_iter().chain(calls.into_iter().map(Into::into));
                self.messages.push(Message::Assistant(AssistantMessage::new(parts)).shared());
            }
            _ => return Err(Fault::invalid(format!("the role {role:?} is not known")).at("messages")),
        }
        Ok(())
    }

    fn end_results(&mut self) {
        if !self.results.is_empty() {
            let results = std::mem::take(&mut self.results);
            self.messages.push(Message::ToolResults(ToolResultsMessage::new(results)).shared());
        }
    }
}

fn call(called: Called) -> Result<ToolCall, Fault> {
    let id = ToolCallId::parse(&called.id).ok_or_else(|| Fault::invalid("the id of a call is blank"))?;
    Ok(ToolCall::new(called.function.name, Arguments::new(called.function.arguments)).with_id(id))
}

fn reasoning(effort: &str) -> Result<Reasoning, Fault> {
    Ok(match effort {
        "none" => Reasoning::Off,
        "minimal" => Reasoning::Effort(Effort::Minimal),
        "low" => Reasoning::Effort(Effort::Low),
        "medium" => Reasoning::Effort(Effort::Medium),
        "high" => Reasoning::Effort(Effort::High),
        "xhigh" => Reasoning::Effort(Effort::XHigh),
        _ => return Err(Fault::unsupported("reasoning_effort", "this effort is not known")),
    })
}

fn response_format(format: &Value) -> Result<ResponseFormat, Fault> {
    let wrong = |message: &str| Fault::unsupported("response_format", message);
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(ResponseFormat::Text),
        Some("json_object") => Ok(ResponseFormat::JsonObject),
        Some("json_schema") => {
            let form = format.get("json_schema").unwrap_or(&Value::Null);
            let schema = form.get("schema").cloned().ok_or_else(|| wrong("the schema is missing"))?;
            Ok(ResponseFormat::JsonSchema {
                name: form.get("name").and_then(Value::as_str).unwrap_or("answer").to_owned(),
                schema: schema.into(),
                strict: form.get("strict").and_then(Value::as_bool).unwrap_or(false),
            })
        }
        _ => Err(wrong("text, json_object and json_schema are known")),
    }
}
