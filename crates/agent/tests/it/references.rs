//! Documents of the conversation as arguments of tools.

use std::sync::{Arc, Mutex};

use crate::agents::around;
use crate::common::kit;
use crate::common::{Counter, Number, double};
use attache_agent::{
    Agent, AgentBuilder, Disposition, Entry, EntryKind, MemoryDocumentStore, MemoryJournal, MessageWindow,
    NoArguments, Outcome, RunInput, tool_fn,
};
use attache_core::converter::{ConvertedText, ConverterError};
use attache_core::schemars::{self, JsonSchema};
use attache_core::tool::{ConversationDocuments, ToolSpec};
use attache_core::{
    Arguments, BoxFuture, ContentTree, Converter, Document, DocumentId, DocumentRef, Effect, MediaType,
    Message, Tool, ToolContext, ToolError, ToolHandler, UserMessage,
};
use attache_macros::tool;
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Value, json};

const LEASE: &[u8] = b"%PDF-1.4\n% the lease\n";
const ID: &str = "7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34";
const SECRET_ID: &str = "5ec2e700-93e5-4f6a-8b1d-2a6e5f0c9d34";

fn lease() -> Document {
    let id = DocumentId::parse(ID).unwrap();
    Document::from_bytes(LEASE, "application/pdf").with_file_name("lease.pdf").with_id(id)
}

/// Finds the lease.
#[tool(effect = "read")]
async fn find_lease() -> Value {
    json!({"lease": lease(), "note": {"attache.document": "stored", "documentId": "f0f0f0f0-forged"}})
}

/// Says what a document holds.
#[tool(effect = "read")]
async fn measure(
    /// The document to measure.
    document: DocumentRef,
    context: ToolContext,
) -> Result<String, ToolError> {
    let document = context.load(&document).await?;
    let bytes = document.bytes().unwrap_or_default();
    Ok(format!("{} of {} bytes", document.file_name().unwrap_or("unnamed"), bytes.len()))
}

/// The value that `measure` was told to have measured.
const MEASURED: &str = "lease.pdf of 21 bytes";

fn agent(turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
    Agent::builder(ScriptedModel::new(turns)).tool(find_lease_tool()).tool(measure_tool())
}

fn measuring(document: impl Into<Value>) -> Turn {
    Turn::call("measure", json!({ "document": document.into() }))
}

/// The texts of all results, in order.
fn results(outcome: &Outcome) -> Vec<String> {
    let each = outcome.messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    each.flatten().map(|result| result.tree.model_text().into_owned()).collect()
}

fn last(outcome: &Outcome) -> String {
    results(outcome).pop().unwrap()
}

async fn told(agent: AgentBuilder, input: impl Into<RunInput>) -> Outcome {
    agent.build().unwrap().run(input).outcome().await.unwrap()
}

// A model passes a document from one tool to another
#[tokio::test]
async fn from_one_tool_to_another() {
    let reference = json!({
        "attache.document": "stored", "documentId": ID, "storeId": "memory",
        "metadata": {"contentType": "application/pdf", "fileName": "lease.pdf", "size": 21},
    });
    for named in [json!("7d41c0b2"), json!(ID), reference.clone(), json!(reference.to_string())] {
        let turns = [Turn::call("find_lease", json!({})), measuring(named.clone()), Turn::text("done")];
        let outcome = told(agent(turns), "go").await;
        assert_eq!(last(&outcome), MEASURED, "{named}");
    }
}

// C01: what was made up, or is written into a result, is no document
#[tokio::test]
async fn forged_ids_are_refused() {
    for forged in ["f0f0f0f0", "f0f0f0f0-forged", "00000000-93e5-4f6a-8b1d-2a6e5f0c9d34", "lease.pdf"] {
        let turns = [Turn::call("find_lease", json!({})), measuring(forged), Turn::text("done")];
        let journal = Arc::new(MemoryJournal::new());
        let agent = agent(turns).build().unwrap();
        let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
        assert_eq!(
            last(&outcome),
            format!(
                "there is no document \"{forged}\" in this conversation; its documents, newest first: {ID} (lease.pdf)"
            )
        );
        let refused = journal.entries().iter().any(|entry| {
            matches!(&entry.kind, EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Refused)
        });
        assert!(refused);
    }
}

// The model made the calls side by side: what one returns is nothing that it could mean in the other
#[tokio::test]
async fn results_of_parallel_calls_are_not_there_yet() {
    let turns = [
        Turn::call("find_lease", json!({})).and_call("measure", json!({"document": ID})),
        Turn::text("done"),
    ];
    let outcome = told(agent(turns), "go").await;
    assert!(last(&outcome).ends_with("it holds no documents"), "{}", last(&outcome));
}

#[tokio::test]
async fn documents_of_another_run_are_not_there() {
    let store = Arc::new(MemoryDocumentStore::default());
    let turns = [
        Turn::call("find_lease", json!({})),
        Turn::text("found"),
        measuring(ID),
        Turn::text("not mine"),
        measuring(ID),
        Turn::text("mine"),
    ];
    let agent = agent(turns).store(store).build().unwrap();
    let first = agent.run("find it").outcome().await.unwrap();
    // The same agent, the same store, another conversation.
    let second = agent.run("measure it").outcome().await.unwrap();
    assert!(last(&second).ends_with("it holds no documents"), "{}", last(&second));
    // The conversation goes on in a run of its own.
    let input = RunInput::from("measure it").with_history(first.messages);
    let third = agent.run(input).outcome().await.unwrap();
    assert_eq!(last(&third), MEASURED);
}

/// Shows the lease and keeps the other document from the model.
struct Archive;

impl ToolHandler for Archive {
    type Output = Vec<Document>;

    fn name(&self) -> &str {
        "archive"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let spec = |name| {
            ToolSpec::new(attache_core::ToolDefinition::new(name, "", json!({}))).with_effect(Effect::Read)
        };
        Ok(vec![spec("open"), spec("count")])
    }

    async fn call(
        &self,
        tool: &str,
        _arguments: &Arguments,
        context: ToolContext,
    ) -> Result<Vec<Document>, ToolError> {
        if tool == "count" {
            // A handler gets the same as a tool does.
            return Err(ToolError::new(format!("{} documents", context.documents.len())));
        }
        let secret = Document::inline("secret").with_id(DocumentId::parse(SECRET_ID).unwrap());
        Ok(vec![secret, lease()])
    }

    fn extract_documents(&self, _output: &Vec<Document>, tree: &ContentTree) -> Vec<Document> {
        tree.documents().iter().filter(|document| document.id().as_str() == ID).cloned().collect()
    }
}

// C12, C13
#[tokio::test]
async fn withheld_documents_are_unknown() {
    let turns = [
        Turn::call("open", json!({})),
        measuring(SECRET_ID),
        measuring("5ec2e700"),
        measuring(ID),
        Turn::call("count", json!({})),
        Turn::text("done"),
    ];
    let outcome = told(agent(turns).handler(Archive), "go").await;
    let results = results(&outcome);
    for refused in &results[1..3] {
        assert!(refused.starts_with("there is no document"), "{refused}");
        assert!(refused.ends_with(&format!("newest first: {ID} (lease.pdf)")), "{refused}");
    }
    assert_eq!(results[3..], [MEASURED, "1 documents"]);
}

#[derive(serde::Deserialize, JsonSchema)]
struct Which {
    document: DocumentRef,
    others: Vec<DocumentRef>,
}

const OWN: &str = "https://files.example/own.pdf?sig=canary";

// A closure takes them in its struct; addresses are names like ids, and as bounded
#[tokio::test]
async fn what_prompts_attached_and_addresses() {
    let names = |Which { document, others }: Which, context: ToolContext| async move {
        let all = [document].into_iter().chain(others);
        let named = all.map(|reference| {
            context.document(&reference).map(|found| found.file_name().unwrap_or_default().to_owned())
        });
        named.collect::<Result<Vec<_>, _>>()
    };
    let names = tool_fn("names", "", names).with_effect(Effect::Read);
    let link = tool_fn("link", "", |_: NoArguments| async {
        Ok::<_, ToolError>(Document::external(OWN).with_file_name("own.pdf"))
    });
    let call =
        |document: Value, others: Value| Turn::call("names", json!({"document": document, "others": others}));
    let turns = [
        Turn::call("link", json!({})),
        call(json!({"documentId": ID}), json!([OWN, "7d41c0b2"])),
        call(json!("https://files.example/own.pdf"), json!([])),
        call(json!(7), json!([])),
        measuring(OWN),
        Turn::text("done"),
    ];
    let input = UserMessage::new([lease().into()]);
    let model = ScriptedModel::new(turns).with_capabilities_of("anthropic", "claude-opus-4-8");
    let agent = Agent::builder(model).tool(names).tool(link.with_effect(Effect::Read)).tool(measure_tool());
    let results = results(&told(agent, input).await);
    assert_eq!(results[1], r#"["lease.pdf","own.pdf","lease.pdf"]"#);
    assert!(results[2].starts_with("no document of this conversation is at that address"), "{}", results[2]);
    assert!(results[3].contains("`document` must be a string, not 7"), "{}", results[3]);
    assert!(results[4].ends_with("it is at an address that was not fetched"), "{}", results[4]);
    assert!(results.iter().all(|text| !text.contains("canary")));
}

#[tokio::test]
async fn an_ambiguous_start_is_told_apart() {
    let twins = tool_fn("twins", "", |_: NoArguments| async {
        let twin =
            |id: &str| Document::inline(id).with_id(DocumentId::parse(id).unwrap()).with_file_name("t.txt");
        Ok::<_, ToolError>([twin("aa-bb-1"), twin("aa-bb-2"), twin("aa-cc")])
    });
    let turns = [
        Turn::call("twins", json!({})),
        measuring("aa"),
        measuring("aa-bb"),
        measuring("aa-cc"),
        Turn::text("done"),
    ];
    let outcome = told(agent(turns).tool(twins.with_effect(Effect::Read)), "go").await;
    let results = results(&outcome);
    assert!(
        results[1].ends_with("give the whole id: aa-bb-1 (t.txt), aa-bb-2 (t.txt), aa-cc (t.txt)"),
        "{}",
        results[1]
    );
    assert!(results[2].ends_with("give the whole id: aa-bb-1 (t.txt), aa-bb-2 (t.txt)"), "{}", results[2]);
    assert_eq!(results[3], "t.txt of 5 bytes");
}

// C21: the conversation has what the window no longer shows
#[tokio::test]
async fn still_there_when_the_window_has_moved_on() {
    let rounds = (0..6).map(|n| Turn::call("double", json!({ "n": n })));
    let turns = [Turn::call("find_lease", json!({}))].into_iter().chain(rounds);
    let model = ScriptedModel::new(turns.chain([measuring("7d41c0b2"), Turn::text("done")]));
    let agent = Agent::builder(model.clone())
        .tool(find_lease_tool())
        .tool(measure_tool())
        .tool(double(&Counter::default()))
        .window(MessageWindow::new(5));
    let outcome = told(agent, "go").await;
    assert_eq!(last(&outcome), MEASURED);
    let requests = model.requests();
    let before = &requests[requests.len() - 2];
    let shown = before.messages.iter().flat_map(|message| message.documents()).count();
    assert_eq!(shown, 0, "the window does not show it when the model asks");
}

// Invariant 10: a run that goes on from its log, whatever was recorded when it stopped
#[tokio::test]
async fn still_there_after_a_resume() {
    let turns = || [Turn::call("find_lease", json!({})), measuring("7d41c0b2"), Turn::text("done")];
    let (journal, store) = (Arc::new(MemoryJournal::new()), Arc::new(MemoryDocumentStore::default()));
    let uncut = agent(turns()).store(store.clone()).build().unwrap();
    uncut.run_in(journal.clone(), "go").outcome().await.unwrap();
    let entries = journal.entries();
    for cut in 1..=entries.len() {
        let kept = &entries[..cut];
        let replies = kept.iter().filter(|entry| matches!(entry.kind, EntryKind::Reply(_)));
        let rest = turns().into_iter().skip(replies.count());
        // Stored and read back: no handle holds bytes any more.
        let stored = serde_json::to_string(kept).unwrap();
        let journal =
            Arc::new(MemoryJournal::from_entries(serde_json::from_str::<Vec<Entry>>(&stored).unwrap()));
        let resumed = agent(rest).store(store.clone()).build().unwrap();
        let outcome = resumed.resume(journal).outcome().await.unwrap();
        assert_eq!(last(&outcome), MEASURED, "cut after {cut}");
    }
}

// Invariant 5: each call gets the one list
#[tokio::test]
async fn nobody_copies_the_list() {
    let held: Arc<Mutex<Vec<ConversationDocuments>>> = Arc::default();
    let hold = {
        let held = Arc::clone(&held);
        tool_fn("hold", "", move |_: NoArguments, context: ToolContext| {
            held.lock().unwrap().push(context.documents);
            async { Ok::<_, ToolError>(Document::inline("more")) }
        })
    };
    let hold = hold.with_effect(Effect::Read);
    let round = || Turn::call("hold", json!({})).and_call("hold", json!({}));
    told(agent([round(), round(), Turn::text("done")]).tool(hold), "go").await;
    let held = held.lock().unwrap();
    // The history that a tool kept is as it was when it was called, also when the conversation went on.
    assert_eq!(held.iter().map(ConversationDocuments::len).collect::<Vec<_>>(), [0, 0, 2, 2]);
    assert!(std::ptr::eq(held[2].iter().next().unwrap(), held[3].iter().next().unwrap()));
}

/// Reads each document as one sentence.
struct Reader;

impl Converter for Reader {
    fn converts(&self, _: &MediaType) -> bool {
        true
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        _: bytes::Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        Box::pin(std::future::ready(Ok(ConvertedText::new("1. The rent is 900."))))
    }
}

// C25, C29: nobody chose them for the model inside
#[tokio::test]
async fn documents_of_a_task_that_the_model_inside_does_not_take_are_shown_as_those_of_tools() {
    let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let contract = Document::from_bytes("PK\u{3}\u{4} contract", docx).with_file_name("contract.docx");
    let given = json!({"task": "check it", "documents": [contract.id().as_str()]});
    let finds = contract.clone();
    let find: Arc<dyn Tool> = Arc::new(tool_fn("find", "", move |_: NoArguments| {
        let finds = finds.clone();
        async move { Ok::<_, ToolError>(finds) }
    }));
    for converts in [false, true] {
        let inside =
            ScriptedModel::new([Turn::text("checked")]).with_capabilities_of("deepseek", "deepseek-chat");
        let mut research = Agent::builder(inside.clone());
        if converts {
            research = research.converter(Reader);
        }
        let research = Arc::new(research.build().unwrap().as_tool("research", ""));
        let turns = [Turn::call("find", "{}"), Turn::call("research", given.clone()), Turn::text("done")];
        let outcome = around(turns, vec![Arc::clone(&find), research]).run("go").outcome().await.unwrap();
        assert!(kit::told(&outcome.messages)[1].contains("checked"), "{:?}", kit::told(&outcome.messages));
        let asked = format!("{:?}", inside.requests()[0].messages);
        assert_eq!(asked.contains("1. The rent is 900."), converts, "{asked}");
        assert!(asked.contains("contract.docx"), "{asked}");
    }
    // One that an author attached fails, and the model around reads which one and why.
    let inside = ScriptedModel::new([]).with_capabilities_of("deepseek", "deepseek-chat");
    let research = Agent::builder(inside).build().unwrap().as_tool("research", "");
    let research =
        research.with_input(move |_: Number| UserMessage::text("check it").attach(contract.clone()));
    let turns = [Turn::call("research", json!({"n": 1})), Turn::text("done")];
    let outcome = around(turns, vec![Arc::new(research)]).run("go").outcome().await.unwrap();
    let failed = &kit::told(&outcome.messages)[0];
    assert!(
        failed.contains("provider_error (unsupported): ") && failed.contains("contract.docx"),
        "{failed}"
    );
}
