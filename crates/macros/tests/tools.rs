//! The behaviour of the expansions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_core::schemars::JsonSchema;
use attache_core::tool::ConversationDocuments;
use attache_core::tree::NO_RESULT;
use attache_core::{
    Arguments, Document, DocumentId, DocumentRef, Effect, Message, Tool, ToolContext, ToolError,
    ToolErrorKind, ToolOutput, UserMessage,
};
use attache_macros::{tool, toolbox};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

async fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
    tool.call(&Arguments::new(arguments.to_string()), ToolContext::new()).await
}

async fn text(tool: &dyn Tool, arguments: Value) -> String {
    match call(tool, arguments).await {
        Ok(output) => output.tree.model_text().into_owned(),
        Err(error) => error.for_model().to_owned(),
    }
}

fn schema(tool: &dyn Tool) -> &Value {
    tool.spec().definition.input_schema()
}

/// A period of time.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
struct Period {
    /// The first day.
    from: String,
    /// The last day, if there is one.
    to: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(tag = "by", rename_all = "snake_case")]
enum Filter {
    /// Those of a period.
    Period(Period),
    Amount {
        above: f64,
        #[serde(default)]
        currencies: Vec<String>,
    },
    All,
}

/// Finds invoices.
///
/// Newest first.
#[tool(name = "books.find", effect = "read", timeout = "30s", return_direct, sequential, blocking)]
pub(crate) async fn find(
    /// As printed
    /// on the invoice.
    number: String,
    #[arg(description = "which ones")] filter: Option<Filter>,
    #[arg(rename = "type", example = "invoice")] r#type: Option<String>,
    #[arg(default = 10)] limit: u32,
    #[arg(default)] labels: BTreeMap<String, bool>,
    #[arg(default = "EUR")] currency: String,
    context: ToolContext,
) -> Result<Value, ToolError> {
    let principal = context.principal.unwrap_or_default();
    Ok(json!([number, filter, r#type, limit, labels, currency, principal]))
}

// A01, A02, A03, S07
#[test]
fn a_function_says_what_the_tool_is() {
    let tool = find_tool();
    let spec = tool.spec();
    assert_eq!(spec.definition.name(), "books.find");
    assert_eq!(spec.definition.description(), "Finds invoices.\n\nNewest first.");
    let metadata = &spec.metadata;
    assert_eq!((metadata.effect, metadata.timeout), (Effect::Read, Some(Duration::from_secs(30))));
    assert!(metadata.return_direct && metadata.sequential && metadata.blocking && metadata.enabled);
    assert_eq!(metadata.origin, "tools::find");
    assert!(std::ptr::eq(spec, find_tool().spec()), "made once");
    assert_eq!(format!("{tool:?}"), "Function(\"books.find\")");
}

// A04, A05, S21, S22
#[test]
fn parameters_become_a_schema() {
    let tool = find_tool();
    let mut schema = schema(&tool).clone();
    let definitions = schema["$defs"].take();
    let expected = json!({
        "type": "object",
        "properties": {
            "number": {"type": "string", "description": "As printed\non the invoice."},
            "filter": {"anyOf": [{"$ref": "#/$defs/Filter"}, {"type": "null"}], "description": "which ones"},
            "type": {"type": ["string", "null"], "examples": ["invoice"]},
            "limit": {"type": "integer", "format": "uint32", "minimum": 0, "default": 10},
            "labels": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "currency": {"type": "string", "default": "EUR"},
        },
        "required": ["number"],
        "$defs": null,
    });
    assert_eq!(schema.to_string(), expected.to_string(), "and the order is that of the parameters");
    assert_eq!(
        definitions["Period"]["properties"]["from"],
        json!({"description": "The first day.", "type": "string"})
    );
    assert_eq!(definitions["Period"]["required"], json!(["from"]));
    assert_eq!(definitions["Filter"]["oneOf"][0]["description"], "Those of a period.");
    let text = tool.spec().definition.input_schema().to_string();
    assert!(!text.contains("$schema") && !text.contains("\"title\""), "{text}");
}

#[tokio::test]
async fn arguments_reach_the_function() {
    let tool = find_tool();
    assert_eq!(text(&tool, json!({"number": "7"})).await, r#"["7",null,null,10,{},"EUR",""]"#);
    let full = json!({
        "number": "7", "filter": {"by": "amount", "above": 1.5, "currencies": "CHF"}, "type": "receipt",
        "limit": "3", "labels": {"paid": true}, "currency": "USD", "unknown": 1
    });
    assert_eq!(
        text(&tool, full).await,
        r#"["7",{"by":"amount","above":1.5,"currencies":["CHF"]},"receipt",3,{"paid":true},"USD",""]"#
    );
    let mut context = ToolContext::new();
    context.principal = Some("ada".to_owned());
    let output = tool.call(&Arguments::new(r#"{"number": "7"}"#), context).await.unwrap();
    assert!(output.tree.json().ends_with(r#""ada"]"#));
    // the function is still what it was
    assert!(find("8".into(), None, None, 1, BTreeMap::new(), "EUR".into(), ToolContext::new()).await.is_ok());
}

// runtime.md 4
#[tokio::test]
async fn arguments_that_do_not_fit_are_explained() {
    let error =
        call(&find_tool(), json!({"filter": {"by": "period", "from": 3}, "limit": -1})).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
    assert_eq!(
        error.for_model(),
        "the arguments of books.find do not fit: `number` is missing (a string); `filter.from` must be a string, \
         not 3; `limit` must be at least 0, not -1; allowed: number, filter, type, limit, labels, currency"
    );
}

mod inner {
    /// Adds.
    #[attache_macros::tool]
    pub(crate) fn add(a: f64, b: f64) -> f64 {
        a + b
    }

    /// Is disabled, strict and private.
    #[attache_macros::tool(enabled = false, strict)]
    fn hidden(mut list: Vec<u16>) -> Vec<u16> {
        list.reverse();
        list
    }

    pub(crate) fn private_tool() -> impl attache_core::Tool {
        hidden_tool()
    }
}

#[tokio::test]
async fn functions_of_any_visibility() {
    assert_eq!(text(&inner::add_tool(), json!({"a": 1, "b": "2.5"})).await, "3.5");
    let hidden = inner::private_tool();
    assert!(!hidden.spec().metadata.enabled);
    assert!(hidden.spec().definition.is_strict() && !inner::add_tool().spec().definition.is_strict());
    assert_eq!(text(&hidden, json!({"list": [1, 2]})).await, "[2,1]");
    assert!(call(&hidden, json!({"list": 1})).await.is_err(), "strict");
}

/// Answers nothing.
#[tool]
async fn touch() {}

/// Fails.
#[tool]
fn fail(#[arg(required)] why: Option<String>, context: &ToolContext) -> std::io::Result<()> {
    assert_eq!(context.step, 0);
    match why {
        Some(why) => Err(std::io::Error::other(why)),
        None => Ok(()),
    }
}

#[tokio::test]
async fn nothing_and_errors() {
    let touch = touch_tool();
    assert_eq!(schema(&touch), &json!({"type": "object", "properties": {}}));
    assert_eq!(text(&touch, json!({})).await, NO_RESULT);
    assert_eq!(text(&touch, json!(null)).await, NO_RESULT);
    let fail = fail_tool();
    assert_eq!(schema(&fail)["required"], json!(["why"]));
    let error = call(&fail, json!({"why": "canary"})).await.unwrap_err();
    assert_eq!(error.for_model(), "the tool failed");
    assert!(error.source().unwrap().to_string().contains("canary"));
    assert_eq!(text(&fail, json!({"why": null})).await, NO_RESULT);
}

/// Makes a report with documents in a value and in JSON of its own.
#[tool]
async fn report() -> Value {
    let inner = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name("in.pdf");
    tokio::task::yield_now().await;
    json!({"pages": [{"pdf": inner}]})
}

// Capture inside the body (invariant 16), and the store of the context.
#[tokio::test]
async fn documents_of_the_body_are_captured() {
    let mut context = ToolContext::new();
    context.store_id = Some("main".to_owned());
    let output = report_tool().call(&Arguments::new(""), context).await.unwrap();
    assert_eq!(output.documents.len(), 1);
    assert_eq!(
        (output.documents[0].file_name(), output.documents[0].store_id()),
        (Some("in.pdf"), Some("main"))
    );
    assert!(output.tree.json().contains(r#""storeId":"main""#), "{}", output.tree.json());
    assert!(output.tree.unresolved().is_empty());
}

/// Takes many.
#[tool]
#[expect(clippy::too_many_arguments, reason = "that is the case")]
fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8, j: u8, k: u8, l: u8) -> u32 {
    [a, b, c, d, e, f, g, h, i, j, k, l].into_iter().map(u32::from).sum()
}

/// Everything has an example.
#[tool]
fn exemplary(
    #[arg(example = "R-17")] number: String,
    #[arg(example = 3)] page: u8,
    hint: Option<String>,
) -> String {
    format!("{number}/{page}{}", hint.unwrap_or_default())
}

/// Takes the fields of a struct, and one more.
#[tool]
fn flat(#[arg(flat)] period: Period, strict: bool) -> String {
    format!("{} {:?} {strict}", period.from, period.to)
}

/// Takes the struct as one argument.
#[tool]
fn nested(period: Period) -> String {
    period.from
}

#[tokio::test]
async fn shapes_of_parameters() {
    let all: Value = ('a'..='l').map(|name| (name.to_string(), json!(2))).collect();
    assert_eq!(text(&many_tool(), all).await, "24");
    assert_eq!(exemplary_tool().spec().definition.examples(), [json!({"number": "R-17", "page": 3})]);
    let flat = flat_tool();
    assert_eq!(schema(&flat)["required"], json!(["from", "strict"]));
    assert_eq!(text(&flat, json!({"strict": true, "from": "May"})).await, "May None true");
    assert_eq!(text(&nested_tool(), json!({"period": {"from": "May"}})).await, "May");
    assert_eq!(text(&nested_tool(), json!({"period": "{\"from\": \"May\"}"})).await, "May");
}

/// Takes what has no fields.
#[tool]
fn shapeless(#[arg(flat)] names: std::collections::BTreeMap<String, u8>) -> usize {
    names.len()
}

// The model would see a tool without arguments, and never give one.
#[test]
fn what_is_flat_must_have_fields() {
    let definition = shapeless_tool().spec().definition.clone();
    assert!(definition.problem().is_some_and(|problem| problem.contains("BTreeMap")), "{definition:?}");
    let error = attache_core::ToolSet::new([definition]).unwrap_err();
    assert!(error.to_string().starts_with("the tool \"shapeless\" cannot be offered: "), "{error}");
    assert_eq!(flat_tool().spec().definition.problem(), None);
}

struct Files {
    names: Vec<String>,
    calls: AtomicUsize,
}

#[toolbox]
impl Files {
    fn new(names: &[&str]) -> Self {
        Self { names: names.iter().map(|name| (*name).to_owned()).collect(), calls: AtomicUsize::new(0) }
    }

    /// Lists the files.
    #[tool(name = "files.list", effect = "read")]
    async fn list(&self, #[arg(default = 100)] limit: usize) -> Vec<String> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.names.iter().take(limit).cloned().collect()
    }

    /// Reads a file.
    #[attache_macros::tool]
    fn read(self: Arc<Self>, path: String, _context: ToolContext) -> Result<Document, ToolError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let known = self.names.contains(&path);
        known
            .then(|| Document::inline("text").with_file_name(path))
            .ok_or_else(|| ToolError::new("no such file"))
    }

    /// Counts the calls.
    #[tool]
    fn count(self: &Arc<Self>) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Says what a period is called.
    #[tool]
    fn nested(period: Period) -> String {
        period.from
    }
}

#[tokio::test]
async fn methods_share_their_value() {
    let files = Arc::new(Files::new(&["a", "b"]));
    let tools = files.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().definition.name()).collect();
    assert_eq!(names, ["files.list", "read", "count", "nested"]);
    assert_eq!(tools[0].spec().metadata.origin, "tools::list");
    assert_eq!(text(&*tools[0], json!({"limit": 1})).await, r#"["a"]"#);
    assert_eq!(call(&*tools[1], json!({"path": "b"})).await.unwrap().documents.len(), 1);
    assert_eq!(text(&*tools[1], json!({"path": "c"})).await, "no such file");
    assert_eq!(text(&*tools[2], json!({})).await, "3");
    assert_eq!(files.list(1).await, ["a"]);
    assert_eq!(Files::new(&[]).into_tools().len(), 4);
}

mod renamed {
    pub(crate) use attache_core as core;

    /// Finds the core under another name.
    #[attache_macros::tool(crate = "crate::renamed::core")]
    pub(crate) fn elsewhere() -> u8 {
        7
    }

    pub(crate) struct Box;

    #[attache_macros::toolbox(crate = "crate::renamed::core")]
    impl Box {
        /// Is in a box.
        #[tool]
        fn inside(&self) -> u8 {
            8
        }
    }
}

#[tokio::test]
async fn the_core_may_have_another_name() {
    assert_eq!(text(&renamed::elsewhere_tool(), json!({})).await, "7");
    assert_eq!(text(&*renamed::Box.into_tools()[0], json!({})).await, "8");
}

// S25
#[test]
fn functions_and_methods_have_one_schema() {
    let method = &Files::new(&[]).into_tools()[3];
    assert_eq!(schema(&**method), schema(&nested_tool()));
    assert_eq!(method.spec().definition.name(), nested_tool().spec().definition.name());
}

/// A parameter that counts how often its schema is made.
#[derive(Deserialize)]
struct Counted;

static SCHEMAS: AtomicUsize = AtomicUsize::new(0);

impl JsonSchema for Counted {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Counted".into()
    }

    fn json_schema(_: &mut attache_core::schemars::SchemaGenerator) -> attache_core::schemars::Schema {
        SCHEMAS.fetch_add(1, Ordering::SeqCst);
        attache_core::schemars::json_schema!({"type": "null"})
    }
}

struct Counting;

#[toolbox]
impl Counting {
    /// Counts.
    #[tool]
    fn count(&self, counted: Option<Counted>) -> bool {
        counted.is_some()
    }
}

// A12
#[test]
fn schemas_are_made_when_they_are_asked_for_and_once() {
    let counting = Arc::new(Counting);
    let tools: Vec<_> = (0..250).flat_map(|_| counting.tools()).collect();
    assert_eq!((tools.len(), SCHEMAS.load(Ordering::SeqCst)), (250, 0));
    assert_eq!(tools[0].spec().definition.name(), "count");
    let made = SCHEMAS.load(Ordering::SeqCst);
    assert!(made > 0);
    assert!(tools.iter().all(|tool| schema(&**tool)["properties"]["counted"].is_object()));
    assert_eq!(SCHEMAS.load(Ordering::SeqCst), made, "all of them share it");
}

type Answer<T> = Result<T, std::io::Error>;

/// Transfers.
#[tool]
fn transfer(eur: u32) -> Answer<String> {
    if eur > 10 { Err(std::io::Error::other("blocked")) } else { Ok("done".to_owned()) }
}

/// Transfers later.
#[tool]
async fn transfer_later(eur: u32) -> Answer<()> {
    transfer(eur).map(drop)
}

#[tokio::test]
async fn an_alias_of_result_is_a_result() {
    assert_eq!(text(&transfer_tool(), json!({"eur": 1})).await, "done");
    for tool in [&transfer_tool() as &dyn Tool, &transfer_later_tool()] {
        let error = call(tool, json!({"eur": 100})).await.unwrap_err();
        assert_eq!(error.for_model(), "the tool failed");
    }
    assert_eq!(text(&transfer_later_tool(), json!({"eur": 1})).await, NO_RESULT);
}

/// Refuses what it does not know.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(deny_unknown_fields)]
struct Page {
    limit: u8,
}

/// Lists.
#[tool]
fn list(#[arg(flat)] period: Period, #[arg(flat)] page: Page) -> String {
    format!("{} {:?} {}", period.from, period.to, page.limit)
}

/// Cannot be called.
#[tool]
fn clash(#[arg(flat)] period: Period, from: String) -> String {
    format!("{}{from}", period.from)
}

#[tokio::test]
async fn flat_structs_side_by_side() {
    assert_eq!(text(&list_tool(), json!({"from": "May", "limit": 3})).await, "May None 3");
    let problem = clash_tool().spec().definition.problem().map(str::to_owned);
    assert!(problem.is_some_and(|problem| problem.contains("two of its arguments are named `from`")));
}

// S10
#[tokio::test]
async fn the_metadata_of_a_tool_can_be_changed() {
    let slow = inner::add_tool().with_metadata(|metadata| {
        metadata.effect = Effect::Read;
        metadata.timeout = Some(Duration::from_secs(5));
    });
    assert_eq!(slow.spec().metadata.effect, Effect::Read);
    assert_eq!(slow.spec().definition, inner::add_tool().spec().definition);
    assert_eq!(inner::add_tool().spec().metadata.effect, Effect::SideEffect, "the tool itself is as it was");
    assert_eq!(text(&slow, json!({"a": 1, "b": "2"})).await, "3.0");
    let shared = Files::new(&["a"]).into_tools().remove(0);
    let hidden = shared.with_metadata(|metadata| metadata.enabled = false);
    assert!(!hidden.spec().metadata.enabled);
    assert_eq!(text(&hidden, json!({"limit": 1})).await, r#"["a"]"#);
}

/// Two leases and what is attached to one.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
struct Pair {
    old: DocumentRef,
    /// The lease that replaces it.
    new: DocumentRef,
}

/// Compares leases.
#[tool(effect = "read")]
async fn compare(
    /// The lease that counts.
    lease: DocumentRef,
    others: Vec<DocumentRef>,
    pair: Option<Pair>,
    draft: Option<DocumentRef>,
    context: ToolContext,
) -> Result<Vec<String>, ToolError> {
    let pair = pair.into_iter().flat_map(|pair| [pair.old, pair.new]);
    let mut names = Vec::new();
    for reference in [lease].into_iter().chain(others).chain(pair).chain(draft) {
        let document = context.load(&reference).await?;
        names.push(document.file_name().unwrap_or_default().to_owned());
    }
    Ok(names)
}

// A document is an argument like any other: a string for the model, or the reference that it read somewhere
#[tokio::test]
async fn documents_are_arguments() {
    let hint =
        "The id of a document of this conversation, as its label or the result that it came in shows it";
    let tool = compare_tool();
    let schema = schema(&tool);
    let string = json!({"type": "string", "description": hint});
    assert_eq!(
        schema["properties"]["lease"],
        json!({"type": "string", "description": format!("The lease that counts. {hint}")})
    );
    assert_eq!(schema["properties"]["others"], json!({"type": "array", "items": string}));
    assert_eq!(schema["properties"]["draft"], json!({"type": ["string", "null"], "description": hint}));
    assert_eq!(schema["$defs"]["Pair"]["properties"]["old"], string);
    assert_eq!(schema["required"], json!(["lease", "others"]));

    let named = |id: &str, name: &str| {
        let id = DocumentId::parse(id).unwrap();
        Document::inline("text").with_id(id).with_file_name(name)
    };
    let documents = [named("a-1", "a.txt"), named("b-1", "b.txt"), named("b-2", "c.txt")];
    let message = Message::User(UserMessage::new(documents.map(Into::into))).shared();
    let mut context = ToolContext::new();
    context.documents = ConversationDocuments::of(&[message]);
    let ask = async |arguments: Value| {
        let called = tool.call(&Arguments::new(arguments.to_string()), context.clone()).await;
        called
            .map(|output| output.tree.json().to_owned())
            .map_err(|error| (error.kind(), error.for_model().to_owned()))
    };
    let reference =
        |id: &str| json!({"attache.document": "stored", "documentId": id, "metadata": {"size": 4}});
    let all = json!({
        "lease": reference("a-1"),
        "others": ["b-1", reference("b-2")],
        "pair": {"old": "a", "new": reference("b-1")},
        "draft": reference("b-2").to_string(),
    });
    assert_eq!(ask(all).await.unwrap(), r#"["a.txt","b.txt","c.txt","a.txt","b.txt","c.txt"]"#);
    assert_eq!(
        ask(json!({"lease": "a", "others": reference("b-2"), "draft": null})).await.unwrap(),
        r#"["a.txt","c.txt"]"#
    );
    let (kind, problem) = ask(json!({"lease": "a", "others": ["b"]})).await.unwrap_err();
    assert_eq!(kind, ToolErrorKind::InvalidArguments);
    assert!(problem.ends_with("give the whole id: b-1 (b.txt), b-2 (c.txt)"), "{problem}");
    let (kind, problem) = ask(json!({"lease": {"document": "a-1"}, "others": []})).await.unwrap_err();
    assert_eq!(kind, ToolErrorKind::InvalidArguments);
    assert!(problem.contains("`lease` must be a string"), "{problem}");
}
