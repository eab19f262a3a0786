//! Requests of Chat Completions.

use attache_core::{Effort, ModelSettings, Reasoning, ResponseFormat, UserPart};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::body::nullable;
use super::conversation::{self, Conversation, Reading};
use super::known_documents::KnownDocuments;
use super::parts::{Content, Part};
use super::tools::{ClientTool, FunctionTool};
use crate::fault::Fault;
use crate::live::OnDisconnect;

/// The body, as far as anything follows from it; other members are left alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Body {
    #[serde(deserialize_with = "nullable")]
    pub(crate) model: String,
    #[serde(deserialize_with = "nullable")]
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
    logit_bias: Option<Box<Map<String, Value>>>,
    web_search_options: Option<IgnoredAny>,
    moderation: Option<IgnoredAny>,
    #[serde(deserialize_with = "nullable")]
    attache: Extension,
}

#[derive(Debug, Default, Deserialize)]
struct StreamOptions {
    #[serde(default, deserialize_with = "nullable")]
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
    pub(crate) on_disconnect: Option<OnDisconnect>,
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
    refusal: Option<String>,
    function_call: Option<IgnoredAny>,
    audio: Option<IgnoredAny>,
    /// Documents of an earlier answer, as answers have them.
    #[serde(default)]
    images: Option<Vec<Part>>,
    #[serde(default)]
    files: Option<Vec<Part>>,
}

#[derive(Debug, Deserialize)]
struct Called {
    id: String,
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    #[serde(default, deserialize_with = "nullable")]
    arguments: String,
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
            return Err(Fault::unsupported("n", "a request gets one answer: leave `n` out, or set it to 1"));
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
        if self.logit_bias.as_ref().is_some_and(|bias| !bias.is_empty()) {
            return Err(Fault::unsupported("logit_bias", "tokens have no weights here"));
        }
        if self.web_search_options.is_some() {
            return Err(Fault::unsupported("web_search_options", "the agent has its own tools"));
        }
        if self.moderation.is_some() {
            return Err(Fault::unsupported("moderation", "answers are not moderated here"));
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

    /// The conversation; `in_session` says that a session has what was said before.
    pub(crate) async fn take_conversation(
        &mut self,
        mut known: KnownDocuments<'_>,
        in_session: bool,
    ) -> Result<Conversation, Fault> {
        let said = std::mem::take(&mut self.messages);
        conversation::bound(said.len(), "messages")?;
        let mut reading = Reading::default();
        let replied = said.iter().rposition(|said| said.role == "assistant");
        for (at, message) in said.into_iter().enumerate() {
            known.at(at, replied);
            let read = message.read(&mut reading, &known, in_session).await;
            read.map_err(|fault| fault.at("messages"))?;
        }
        reading.finish("messages")
    }
}

impl Said {
    async fn read(
        self,
        reading: &mut Reading,
        known: &KnownDocuments<'_>,
        in_session: bool,
    ) -> Result<(), Fault> {
        let Self { role, content, tool_calls, tool_call_id, refusal, function_call, audio, images, files } =
            self;
        if function_call.is_some() {
            return Err(Fault::unsupported("messages", "a function_call is given in tool_calls"));
        }
        if audio.is_some() {
            return Err(Fault::unsupported("messages", "the sound of an earlier answer is not kept here"));
        }
        match role.as_str() {
            "tool" => {
                let id = tool_call_id.ok_or_else(|| Fault::invalid("a tool message needs tool_call_id"))?;
                let tree = content.into_tree(known).await?;
                reading.result(&id, tree, false)?;
            }
            "system" | "developer" => reading.system(&content.into_text("a system message")?),
            "user" => reading.user(content.into_parts(known).await?),
            "assistant" => {
                let mut text = content.into_text("an assistant message")?;
                text.push_str(&refusal.unwrap_or_default());
                let calls = tool_calls.unwrap_or_default();
                let calls = calls.into_iter().map(|called| {
                    let Function { name, arguments } = called.function;
                    conversation::call(&called.id, name, arguments)
                });
                let calls = calls.collect::<Result<_, _>>()?;
                // A session has them already, and a request cannot refer to documents by its addresses.
                let made = images.into_iter().chain(files).filter(|_| !in_session).flatten().collect();
                let mut documents = Vec::new();
                for part in Content::Parts(made).into_parts(known).await?.into_iter().flatten() {
                    match part {
                        UserPart::Document(document) => documents.push(document),
                        UserPart::Text(words) => text.push_str(words.text()),
                        _ => {}
                    }
                }
                reading.reply(&text, calls, documents);
            }
            _ => return Err(Fault::invalid(format!("the role {role:?} is not known"))),
        }
        Ok(())
    }
}

pub(super) fn reasoning(effort: &str) -> Result<Reasoning, Fault> {
    Ok(match effort {
        "none" => Reasoning::Off,
        "minimal" => Reasoning::Effort(Effort::Minimal),
        "low" => Reasoning::Effort(Effort::Low),
        "medium" => Reasoning::Effort(Effort::Medium),
        "high" => Reasoning::Effort(Effort::High),
        "xhigh" => Reasoning::Effort(Effort::XHigh),
        "max" => Reasoning::Effort(Effort::Max),
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
