//! The probes, and the requests that they make.

use attache_core::capability::{Caching, Place};
use attache_core::settings::CachePolicy;
use attache_core::{
    Arguments, AssistantMessage, Capture, ChatRequest, ContentTree, Document, Effort, Message,
    ModelCapabilities, ModelSettings, Reasoning, ResponseFormat, ResultStatus, ToolCall, ToolChoice,
    ToolDefinition, ToolResult, ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use serde_json::{Value, json};

use super::cell::{Cell, Form, Switch};
use super::media::{Code, Kind};

/// The tool that is offered.
pub(super) const TOOL: &str = "open_drawer";

/// The tokens of a budget for reasoning; no API takes less.
const BUDGET: u32 = 1_024;

/// One request, and what its reply must show.
#[derive(Debug)]
pub(super) struct Probe {
    /// The word in JSON.
    pub(super) id: String,
    /// The same for people.
    pub(super) title: String,
    pub(super) cell: Cell,
    /// The cells that must be set in the row for the request to be sent.
    pub(super) needs: Vec<Cell>,
    pub(super) request: ChatRequest,
    pub(super) proof: Proof,
    /// The place at which its document must stand for the probe to mean what it says.
    pub(super) place: Option<Place>,
    /// About how many tokens are read.
    pub(super) tokens: u64,
}

/// The behaviour that a reply must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// Any text.
    Answer,
    /// Text in more than one piece.
    Streams,
    /// The number that the document holds.
    Code(Code),
    /// At least so many calls of the tool, with arguments as its schema says.
    Calls(usize),
    /// Text and no call.
    NoCall,
    /// A JSON object.
    Object,
    /// The object that the schema describes.
    Schema,
    /// Tokens from a cache, of the second reply.
    Cached,
    /// Reasoning, as text or as tokens.
    Reasoning,
    /// None of either.
    NoReasoning,
}

impl Probe {
    fn new(id: &str, title: &str, cell: Cell, request: ChatRequest, proof: Proof) -> Self {
        let (id, title, needs) = (id.to_owned(), title.to_owned(), vec![cell]);
        Self { id, title, cell, needs, request, proof, place: None, tokens: 150 }
    }

    fn needing(mut self, cell: Cell) -> Self {
        self.needs.push(cell);
        self
    }

    /// The number of times that it is sent.
    pub(super) fn times(&self) -> u64 {
        if self.proof == Proof::Cached { 2 } else { 1 }
    }
}

/// All probes in order, for a model of which the table says `row`.
pub(super) fn plan(row: &ModelCapabilities, max_tokens: u32) -> Vec<Probe> {
    let mut probes = basics();
    probes.push(in_user_message(Kind::Text));
    probes.extend(tools());
    let others = || Kind::ALL.into_iter().filter(|kind| *kind != Kind::Text);
    probes.extend(others().map(in_user_message));
    probes.extend(Kind::ALL.map(in_tool_result));
    probes.extend(forms());
    probes.push(caching(row.caching));
    probes.extend(reasoning(row));
    for probe in &mut probes {
        let budget = if probe.cell == Cell::Reasoning(Switch::Budget) { BUDGET } else { 0 };
        let most = row.max_output_tokens.and_then(|most| u32::try_from(most).ok()).unwrap_or(u32::MAX);
        probe.request.settings.max_tokens = Some(max_tokens.saturating_add(budget).min(most));
    }
    probes
}

fn basics() -> Vec<Probe> {
    let hello = asking("Reply with the word hello.").streaming(false);
    let count = asking("Count from one to thirty in words, one number a line.");
    vec![
        Probe::new("answer", "a whole answer", Cell::None, hello, Proof::Answer),
        Probe::new("stream", "a streamed answer", Cell::None, count, Proof::Streams),
    ]
}

fn tools() -> Vec<Probe> {
    let left = "Call the tool open_drawer for the left drawer.";
    let both = "Call the tool open_drawer for the left drawer and for the right drawer. Make both calls in this one \
        reply, without waiting for a result.";
    let code = Code::new();
    let read = told("What is the number in the left drawer? Reply with the number alone.", &code_tree(&code));
    let (calls, forced) =
        (Proof::Calls(1), offering(asking("Say hello.")).with_tool_choice(ToolChoice::Required));
    let none = offering(asking(left)).with_tool_choice(ToolChoice::None);
    vec![
        Probe::new("tools", "a tool call", Cell::Tools, offering(asking(left)), calls.clone()),
        Probe::new("tools.forced", "a forced tool call", Cell::Forced, forced, calls).needing(Cell::Tools),
        Probe::new("tools.none", "no call where none is allowed", Cell::None, none, Proof::NoCall)
            .needing(Cell::Tools),
        Probe::new(
            "tools.parallel",
            "two calls in one reply",
            Cell::Parallel,
            offering(asking(both)),
            Proof::Calls(2),
        )
        .needing(Cell::Tools),
        Probe::new("tools.result", "a tool result is read", Cell::None, read, Proof::Code(code))
            .needing(Cell::Tools),
    ]
}

fn in_user_message(kind: Kind) -> Probe {
    let code = Code::new();
    let question = "Which number stands in this document? Reply with the number alone.";
    let parts = [UserPart::text(question), kind.document(&code).into()];
    let request = ChatRequest::new([Message::User(UserMessage::new(parts)).shared()]);
    document_probe(kind, Place::User, "in a user message", request, code)
}

fn in_tool_result(kind: Kind) -> Probe {
    let code = Code::new();
    let question = "Which number stands in the document in the left drawer? Reply with the number alone.";
    let request = told(question, &document_tree(&kind.document(&code)));
    document_probe(kind, Place::ToolResult, "in a tool result", request, code).needing(Cell::Tools)
}

fn document_probe(kind: Kind, place: Place, name: &str, request: ChatRequest, code: Code) -> Probe {
    let (id, title) =
        (format!("{}.{}", place.as_str(), kind.pattern()), format!("{} {name}", kind.pattern()));
    let mut probe = Probe::new(&id, &title, Cell::Media(place, kind), request, Proof::Code(code));
    probe.place = Some(place);
    probe.tokens += kind.tokens();
    probe
}

fn forms() -> Vec<Probe> {
    let schema = json!({
        "type": "object",
        "properties": {"mood": {"type": "string", "enum": ["calm", "stormy"]}, "knots": {"type": "integer"}},
        "required": ["mood", "knots"],
        "additionalProperties": false
    });
    let held = |form| ModelSettings::new().with_response_format(form);
    let by_schema =
        ResponseFormat::JsonSchema { name: "sea".to_owned(), schema: schema.into(), strict: true };
    let object =
        asking("How is the sea today? Make it up, as a JSON object with the members mood and knots.")
            .with_settings(held(ResponseFormat::JsonObject));
    // Nothing but the schema says what the answer must look like.
    let alone = asking("How is the sea today? Make it up.").with_settings(held(by_schema.clone()));
    let beside = offering(asking("How is the sea today? Make it up, and call no tool."))
        .with_settings(held(by_schema));
    let cell = Cell::Form;
    vec![
        Probe::new("form.object", "any JSON object", cell(Form::Object), object, Proof::Object),
        Probe::new("form.schema", "JSON of a schema", cell(Form::Schema), alone, Proof::Schema),
        Probe::new(
            "form.beside_tools",
            "JSON of a schema beside tools",
            cell(Form::BesideTools),
            beside,
            Proof::Schema,
        )
        .needing(Cell::Tools),
    ]
}

/// The same twice, with a beginning that is long enough for all providers to keep.
fn caching(how: Caching) -> Probe {
    let lines =
        (1..=330).map(|n| format!("Rule {n}: boats of quay {n} leave before those of quay {}.\n", n + 1));
    let rules: String = lines.collect();
    let tokens = rules.len() as u64 / 3;
    let mut request = ChatRequest::new([
        Message::system(rules).shared(),
        Message::user("Reply with the word hello.").shared(),
    ]);
    if matches!(how, Caching::Explicit | Caching::Resource) {
        request.settings.cache = Some(CachePolicy::Short);
    }
    let title = "the second of two equal beginnings is cached";
    let mut probe = Probe::new("caching", title, Cell::Caching, request, Proof::Cached);
    // A row without caching is no hindrance: nothing is asked for.
    probe.needs.clear();
    probe.tokens += tokens;
    probe
}

/// Off and on, as far as the table knows a way; where it knows none, whether there is one after all.
fn reasoning(row: &ModelCapabilities) -> Vec<Probe> {
    let question = "How many of the numbers from 1 to 40 have the digit 3? Reply with the count alone.";
    let probe = |switch: Switch, how: Reasoning| {
        let request = asking(question).with_settings(ModelSettings::new().with_reasoning(how));
        let proof = if switch == Switch::Off { Proof::NoReasoning } else { Proof::Reasoning };
        let title = match switch {
            Switch::Off => "reasoning switched off".to_owned(),
            on => format!("reasoning by {}", on.as_str()),
        };
        Probe::new(&format!("reasoning.{}", switch.as_str()), &title, Cell::Reasoning(switch), request, proof)
    };
    let least = row.efforts.iter().min().copied().unwrap_or(Effort::Low);
    let on = [
        (Switch::Effort, Reasoning::Effort(least)),
        (Switch::Adaptive, Reasoning::Effort(least)),
        (Switch::Budget, Reasoning::Budget(BUDGET)),
    ];
    let known = |switch: Switch| Cell::Reasoning(switch).expects(row) == Some(true);
    let off = known(Switch::Off).then(|| probe(Switch::Off, Reasoning::Off));
    let on = on.into_iter().find(|(switch, _)| known(*switch) || row.reasoning.is_empty());
    off.into_iter().chain(on.map(|(switch, how)| probe(switch, how))).collect()
}

fn asking(text: &str) -> ChatRequest {
    ChatRequest::new([Message::user(text).shared()])
}

fn offering(request: ChatRequest) -> ChatRequest {
    let schema = json!({
        "type": "object",
        "properties": {"drawer": {"type": "string", "enum": ["left", "right"]}},
        "required": ["drawer"],
        "additionalProperties": false
    });
    let tool = ToolDefinition::new(TOOL, "Opens a drawer and says what is in it", schema);
    // One tool of a plain name is always a set.
    request.with_tools(ToolSet::new([tool]).unwrap_or_default())
}

/// A question, the call that it led to, and what the call returned.
fn told(question: &str, tree: &ContentTree) -> ChatRequest {
    let call = ToolCall::new(TOOL, Arguments::new(r#"{"drawer":"left"}"#));
    let result = ToolResult::new(&call, ResultStatus::Ok, tree.clone());
    let messages = [
        Message::user(question),
        Message::Assistant(AssistantMessage::new([call.into()])),
        Message::ToolResults(ToolResultsMessage::new([result])),
    ];
    offering(ChatRequest::new(messages.map(Message::shared)))
}

fn code_tree(code: &Code) -> ContentTree {
    ContentTree::value(&json!({"drawer": "left", "number": code.as_str()}))
}

fn document_tree(document: &Document) -> ContentTree {
    let mut capture = Capture::new();
    let output: Value = capture.run_blocking(|| json!({"drawer": "left", "document": document}));
    // A value of this size always becomes a tree; an empty one would show at once.
    capture.finish(&output).unwrap_or_else(|_| ContentTree::text(""))
}
