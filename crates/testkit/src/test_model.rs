//! A model that calls every tool.

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::message::UserOrigin;
use attache_core::schema::sample;
use attache_core::{
    ChatRequest, ChunkStream, LlmProvider, Message, ResponseFormat, ToolChoice, ToolDefinition,
};
use serde_json::{Map, Value};

use crate::double::{Double, methods, provider};
use crate::turn::Turn;

/// A model that calls every offered tool once, all in one reply, with arguments generated from their schemas, and then
/// answers with the results, one line per tool: the shortest test that everything works together. It is deterministic.
///
/// The arguments are valid and contain only what the schema requires. If none can be generated (because of a pattern,
/// for example), an example of the schema or the tool is used; without one it panics, and you set them with
/// [`with_arguments`](Self::with_arguments). If the request asks for JSON of a schema, the answer is a value of it; a
/// tool that takes the answer is called separately, after the results of the others. Each user question causes the
/// tools to be called again.
///
/// ```
/// use attache_agent::{Agent, tool_fn};
/// use attache_testkit::TestModel;
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Booking { guest: String, nights: u8 }
/// let book = tool_fn("book", "Books a room.", |booking: Booking| {
///     Ok(format!("{} stays {}", booking.guest, booking.nights))
/// });
/// let model = TestModel::new();
/// let outcome = Agent::builder(model.clone()).tool(book).build()?.run("Book me a room.").outcome().await?;
/// assert_eq!(model.asked().called("book"), [json!({"guest": "a", "nights": 1})]);
/// assert_eq!(outcome.text, "book: a stays 1");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct TestModel {
    double: Double,
    settings: Arc<Settings>,
}

#[derive(Clone, Debug, Default)]
struct Settings {
    arguments: HashMap<String, Value>,
    only: Option<Vec<String>>,
    answer: Option<String>,
}

impl Default for TestModel {
    fn default() -> Self {
        Self::new()
    }
}

impl TestModel {
    /// Creates a model that calls each tool, then answers with their results.
    pub fn new() -> Self {
        Self { double: Double::new("TestModel", "test", Default::default()), settings: Arc::default() }
    }

    methods!();

    /// Calls only these tools, in this order.
    #[must_use]
    pub fn calling<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        Arc::make_mut(&mut self.settings).only = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Calls that tool with these arguments.
    #[must_use]
    pub fn with_arguments(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        Arc::make_mut(&mut self.settings).arguments.insert(tool.into(), arguments);
        self
    }

    /// Answers with this text.
    #[must_use]
    pub fn answering(mut self, text: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.settings).answer = Some(text.into());
        self
    }
}

impl LlmProvider for TestModel {
    provider!();

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let settings = Arc::clone(&self.settings);
        self.double.stream(request, move |_, request, _| Some(settings.turn(request)))
    }
}

impl Settings {
    #[expect(clippy::panic, reason = "a model that a test cannot use is a failed test")]
    fn turn(&self, request: &ChatRequest) -> Turn {
        let said = said_since_the_question(request);
        if request.tool_choice != ToolChoice::None {
            let names = self.tools(request, &said);
            if !names.is_empty() {
                let call = |turn: Turn, name: &String| turn.and_call(name, self.arguments(request, name));
                return names.iter().fold(Turn::empty(), call);
            }
        }
        if let Some(answer) = &self.answer {
            return Turn::text(answer);
        }
        match &request.settings.response_format {
            Some(ResponseFormat::JsonSchema { schema, .. }) => match sample(schema.value()) {
                Ok(value) => Turn::text(&value.to_string()),
                Err(problem) => panic!("TestModel can make no answer: {problem}; `.answering(…)` gives one"),
            },
            Some(ResponseFormat::JsonObject) => {
                let lines = said.into_iter().map(|(tool, text)| (tool, Value::String(text)));
                Turn::text(&Value::Object(lines.collect::<Map<_, _>>()).to_string())
            }
            _ if said.is_empty() => Turn::text("no tool was called"),
            _ => {
                let lines: Vec<String> =
                    said.into_iter().map(|(tool, text)| format!("{tool}: {text}")).collect();
                Turn::text(&lines.join("\n"))
            }
        }
    }

    /// The tools to call now.
    fn tools(&self, request: &ChatRequest, said: &[(String, String)]) -> Vec<String> {
        let may_call = |name: &str| {
            request.allowed_tools.as_ref().is_none_or(|allowed| allowed.iter().any(|known| known == name))
        };
        let offered = request.tools.iter().map(|(_, tool)| tool).filter(|tool| may_call(tool.name()));
        // A call beside the answer is not executed.
        let (answer, others): (Vec<_>, Vec<_>) = offered.partition(|tool| tool.takes_answer());
        let names =
            |tools: Vec<&ToolDefinition>| tools.into_iter().map(|tool| tool.name().to_owned()).collect();
        let now: Vec<String> = match (&request.tool_choice, &self.only) {
            _ if !said.is_empty() => Vec::new(),
            (ToolChoice::Tool(name), _) => vec![name.clone()],
            (_, Some(only)) => only.clone(),
            _ => names(others),
        };
        let is_given = |tool: &&ToolDefinition| said.iter().any(|(name, _)| name == tool.name());
        if now.is_empty() && !answer.iter().any(is_given) { names(answer) } else { now }
    }

    fn arguments(&self, request: &ChatRequest, name: &str) -> Value {
        match (self.arguments.get(name), request.tools.get(name)) {
            (Some(given), _) => given.clone(),
            (None, Some(tool)) => arguments(tool),
            // It is told as a call of a tool that is not offered.
            (None, None) => Value::Object(Map::new()),
        }
    }
}

#[expect(clippy::panic, reason = "a tool that a test cannot call is a failed test")]
fn arguments(tool: &ToolDefinition) -> Value {
    let fits = |example: &&Value| tool.schema().is_ok_and(|schema| schema.check(example).is_empty());
    match (sample(tool.input_schema()), tool.examples().iter().find(fits)) {
        (Ok(arguments), _) => arguments,
        (Err(_), Some(example)) => example.clone(),
        (Err(problem), None) => panic!(
            "TestModel can make no arguments for `{name}`: {problem}; `.with_arguments({name:?}, …)` gives them",
            name = tool.name()
        ),
    }
}

/// The names and texts of the results behind the last question.
fn said_since_the_question(request: &ChatRequest) -> Vec<(String, String)> {
    let asks =
        |message: &Message| matches!(message, Message::User(user) if user.origin == UserOrigin::Author);
    let since = request.messages.iter().rposition(|message| asks(message)).map_or(0, |at| at + 1);
    let results = request.messages.iter().skip(since).filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    let said = results.flatten().map(|result| {
        let name = result.tool_name.clone().unwrap_or_else(|| "unknown".to_owned());
        (name, result.tree.model_text().into_owned())
    });
    said.collect()
}
