//! Requests of Anthropic's Messages.

use attache_core::{ContentTree, Document, ModelSettings, Reasoning, ResponseFormat, UserPart};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::body::nullable;
use super::chat::reasoning;
use super::conversation::{self, Conversation, Reading};
use super::known_documents::KnownDocuments;
use super::parts::{by_data, by_url, tree};
use super::tools::{ClientTool, FlatTool};
use crate::dialect::location::Citable;
use crate::fault::Fault;
use crate::live::OnDisconnect;

/// The body, as far as anything follows from it; other members are left alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Body {
    #[serde(deserialize_with = "nullable")]
    pub(crate) model: String,
    max_tokens: Option<u32>,
    #[serde(deserialize_with = "nullable")]
    messages: Vec<Said>,
    system: Option<Content>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) stream: bool,
    stop_sequences: Option<Vec<String>>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_k: Option<u32>,
    tools: Option<Vec<FlatTool>>,
    tool_choice: Option<Choice>,
    thinking: Option<Thinking>,
    output_config: Option<OutputConfig>,
    mcp_servers: Option<Vec<IgnoredAny>>,
    container: Option<IgnoredAny>,
    #[serde(deserialize_with = "nullable")]
    attache: Extension,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Extension {
    on_disconnect: Option<OnDisconnect>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(rename = "type")]
    kind: String,
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: String,
    budget_tokens: Option<u32>,
}

/// The effort that an answer is worth, and its form.
#[derive(Debug, Deserialize)]
struct OutputConfig {
    effort: Option<String>,
    format: Option<Format>,
}

#[derive(Debug, Deserialize)]
struct Format {
    #[serde(rename = "type")]
    kind: String,
    schema: Value,
}

#[derive(Debug, Deserialize)]
struct Said {
    role: String,
    content: Content,
}

/// Content: a text, or blocks.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

/// One block, of whatever kind, in one flat form.
#[derive(Debug, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    title: Option<String>,
    context: Option<String>,
    source: Option<Source>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
    tool_use_id: Option<String>,
    content: Option<Content>,
    is_error: Option<bool>,
}

/// The place of a document; the name of one, where the block is the result of a search.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Source {
    Object {
        #[serde(rename = "type")]
        kind: String,
        media_type: Option<String>,
        data: Option<String>,
        url: Option<String>,
        file_id: Option<String>,
        content: Option<Content>,
    },
    Name(String),
}

impl Body {
    pub(crate) fn on_disconnect(&self) -> Option<OnDisconnect> {
        self.attache.on_disconnect
    }

    /// Refuses a request for an answer that lacks what each needs.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match self.max_tokens {
            Some(_) => Ok(()),
            None => Err(Fault::invalid("max_tokens: field required").at("max_tokens")),
        }
    }

    /// The options for the model; an option that cannot be honoured is refused.
    pub(crate) fn settings(&self) -> Result<Option<ModelSettings>, Fault> {
        if self.top_k.is_some() {
            return Err(Fault::unsupported("top_k", "top_k is not known here"));
        }
        if self.mcp_servers.as_ref().is_some_and(|servers| !servers.is_empty()) {
            return Err(Fault::unsupported("mcp_servers", "the agent has its own tools"));
        }
        if self.container.is_some() {
            return Err(Fault::unsupported("container", "there are no containers here"));
        }
        let mut settings = ModelSettings::new();
        settings.max_tokens = self.max_tokens;
        settings.temperature = self.temperature;
        settings.top_p = self.top_p;
        settings.stop.clone_from(&self.stop_sequences);
        settings.reasoning = match &self.thinking {
            None => None,
            Some(thinking) => match (thinking.kind.as_str(), thinking.budget_tokens) {
                ("disabled", _) => Some(Reasoning::Off),
                ("enabled", Some(budget)) => Some(Reasoning::Budget(budget)),
                ("adaptive", _) => None,
                _ => return Err(Fault::unsupported("thinking", "this thinking is not known")),
            },
        };
        if let Some(OutputConfig { effort, format }) = &self.output_config {
            if settings.reasoning.is_none() {
                let effort = effort.as_deref().map(reasoning).transpose();
                settings.reasoning = effort.map_err(|fault| fault.at("output_config"))?;
            }
            settings.response_format = match format {
                None => None,
                Some(Format { kind, schema }) if kind == "json_schema" => {
                    let (name, schema) = ("answer".to_owned(), schema.clone().into());
                    Some(ResponseFormat::JsonSchema { name, schema, strict: true })
                }
                Some(_) => return Err(Fault::unsupported("output_config", "json_schema is known")),
            };
        }
        let has_tools = self.tools.as_ref().is_some_and(|tools| !tools.is_empty());
        let single = self.tool_choice.as_ref().and_then(|choice| choice.disable_parallel_tool_use);
        settings.parallel_tool_calls = single.filter(|_| has_tools).map(|single| !single);
        Ok((settings != ModelSettings::new()).then_some(settings))
    }

    /// The tools that the client answers.
    pub(crate) fn take_tools(&mut self) -> Result<Vec<ClientTool>, Fault> {
        let tools = self.tools.take().unwrap_or_default();
        match self.tool_choice.as_ref().map(|choice| choice.kind.as_str()) {
            None | Some("auto") => {}
            Some("none") => return Ok(Vec::new()),
            Some(_) => {
                let message = "the agent chooses its tools itself: auto and none are known";
                return Err(Fault::unsupported("tool_choice", message));
            }
        }
        tools.into_iter().map(|tool| tool.into_tool("custom")).collect()
    }

    /// The conversation, and the things that an answer can cite by their numbers.
    pub(crate) async fn take_conversation(
        &mut self,
        known: KnownDocuments<'_>,
    ) -> Result<(Conversation, Citable), Fault> {
        let said = std::mem::take(&mut self.messages);
        conversation::bound(said.len(), "messages")?;
        let mut reading = Reading::default();
        if let Some(system) = self.system.take() {
            reading.system(&text(system, INSTRUCTIONS)?);
        }
        let mut sources = Sources { known, citable: Citable::default() };
        let replied = said.iter().rposition(|said| said.role == "assistant");
        for (at, said) in said.into_iter().enumerate() {
            sources.known.at(at, replied);
            said.read(&mut reading, &mut sources).await.map_err(|fault| fault.at("messages"))?;
        }
        Ok((reading.finish("messages")?, sources.citable))
    }
}

/// The failure of instructions that are no text.
const INSTRUCTIONS: &str = "instructions have blocks of text alone";

/// The uploads that blocks may name, and the things that were counted so far.
struct Sources<'s> {
    known: KnownDocuments<'s>,
    citable: Citable,
}

impl Said {
    async fn read(self, reading: &mut Reading, sources: &mut Sources<'_>) -> Result<(), Fault> {
        let blocks = match self.content {
            Content::Text(said) => vec![Block::of_text(said)],
            Content::Blocks(blocks) => blocks,
        };
        match self.role.as_str() {
            "system" => reading.system(&text(Content::Blocks(blocks), INSTRUCTIONS)?),
            "assistant" => assistant(blocks, reading)?,
            "user" => {
                let mut parts = Vec::new();
                for block in blocks {
                    if block.kind != "tool_result" {
                        parts.extend(block.part(sources).await?);
                        continue;
                    }
                    let id =
                        block.tool_use_id.ok_or_else(|| Fault::invalid("a tool_result needs tool_use_id"))?;
                    let said = match block.content {
                        None => ContentTree::text(""),
                        Some(Content::Text(text)) => ContentTree::text(&text),
                        Some(Content::Blocks(blocks)) => {
                            let mut parts = Vec::new();
                            for block in blocks {
                                parts.extend(block.part(sources).await?);
                            }
                            tree(parts)?
                        }
                    };
                    reading.result_alone(&id, said, block.is_error.unwrap_or(false))?;
                }
                if parts.iter().any(Option::is_some) {
                    reading.user(parts);
                }
            }
            role => return Err(Fault::invalid(format!("the role {role:?} is not known"))),
        }
        Ok(())
    }
}

fn assistant(blocks: Vec<Block>, reading: &mut Reading) -> Result<(), Fault> {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in blocks {
        match (block.kind.as_str(), block.text, block.id, block.name) {
            ("text", Some(piece), ..) => text.push_str(&piece),
            ("tool_use", _, Some(id), Some(name)) => {
                let input = block.input.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
                calls.push(conversation::call(&id, name, input.to_string())?);
            }
            // The model's own thoughts, which providers take back in forms of their own only.
            ("thinking" | "redacted_thinking", ..) => {}
            (kind, ..) => {
                return Err(Fault::invalid(format!("a block of the type {kind:?} is not known here")));
            }
        }
    }
    reading.assistant(&text, calls);
    Ok(())
}

/// The text of blocks; `rule` is the failure where one has none.
fn text(content: Content, rule: &str) -> Result<String, Fault> {
    let blocks = match content {
        Content::Text(text) => return Ok(text),
        Content::Blocks(blocks) => blocks,
    };
    let texts: Result<Vec<String>, Fault> =
        blocks.into_iter().map(|block| block.text.ok_or_else(|| Fault::invalid(rule))).collect();
    Ok(texts?.join("\n\n"))
}

impl Block {
    fn of_text(text: String) -> Self {
        Self {
            kind: "text".to_owned(),
            text: Some(text),
            title: None,
            context: None,
            source: None,
            id: None,
            name: None,
            input: None,
            tool_use_id: None,
            content: None,
            is_error: None,
        }
    }

    async fn part(self, sources: &mut Sources<'_>) -> Result<Vec<Option<UserPart>>, Fault> {
        let Self { kind, text: said, title, context, source, content, .. } = self;
        let mut images = Vec::new();
        let is_document = kind == "document";
        let has_blocks =
            is_document && matches!(&source, Some(Source::Object { kind, .. }) if kind == "content");
        let document = match (kind.as_str(), said, source) {
            ("text", Some(said), _) => return Ok(vec![UserPart::text(said)]),
            ("search_result", _, Some(Source::Name(source))) => {
                let said = content.map(|content| text(content, "a search result has text alone"));
                let said = said.transpose()?.unwrap_or_default();
                let name = title.as_deref().unwrap_or(&source);
                let found = Document::inline(said).with_file_name(name);
                sources.citable.search_result(&source, title.as_deref(), &found);
                return Ok(vec![found.into()]);
            }
            (
                "image" | "document",
                _,
                Some(Source::Object { kind, media_type, data, url, file_id, content }),
            ) => match (kind.as_str(), data, url, file_id, content) {
                ("base64", Some(data), ..) => {
                    by_data(&format!("data:{};base64,{data}", media_type.unwrap_or_default()))?
                }
                ("text", Some(data), ..) => Document::inline(data),
                ("url", _, Some(url), ..) => by_url(&url)?,
                ("file", _, _, Some(id), _) => match sources.known.by_id(&id, title.as_deref()).await? {
                    Some(UserPart::Document(upload)) => upload,
                    gone => {
                        // Those behind it keep their numbers.
                        if is_document {
                            sources.citable.document(Document::inline(""));
                        }
                        return Ok(vec![gone]);
                    }
                },
                ("content", .., Some(Content::Blocks(blocks))) => {
                    let (seen, read): (Vec<_>, Vec<_>) =
                        blocks.into_iter().partition(|block| block.kind == "image");
                    for image in seen {
                        images.extend(Box::pin(image.part(sources)).await?);
                    }
                    Document::inline(text(Content::Blocks(read), "a document has text and images alone")?)
                }
                ("content", .., Some(Content::Text(said))) => Document::inline(said),
                (kind, ..) => {
                    let message = format!("a source of the type {kind:?} is not known here");
                    return Err(Fault::invalid(message));
                }
            },
            (kind, ..) => {
                let message = format!("a block of the type {kind:?} is not known, or has not what it needs");
                return Err(Fault::invalid(message));
            }
        };
        let document = match title {
            Some(title) => document.with_file_name(title),
            None => document,
        };
        match has_blocks {
            // Its text here is none of the client's.
            true => sources.citable.document(document.clone().without_bytes()),
            false if is_document => sources.citable.document(document.clone()),
            false => {}
        }
        let context = context.map(|context| UserPart::text(format!("About the next document: {context}")));
        // One of images alone has no text.
        let is_blank = !images.is_empty() && document.size() == Some(0);
        let document = if is_blank { None } else { document.into() };
        Ok(context.into_iter().chain([document]).chain(images).collect())
    }
}
