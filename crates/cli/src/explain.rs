//! `attache explain`: what each of several models would see of the documents of a conversation, and why.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_core::message::UserOrigin;
use attache_core::{
    Conversation, Document, DocumentId, Message, ModelCapabilities, ToolSet, UserMessage, UserPart,
};
use attache_documents::{DocumentDecision, DocumentOutcome, RouteOptions, RoutingReport};
use attache_models::Registry;
use serde_json::{Value, json};

use crate::args;
use crate::ask::file;
use crate::exit::Exit;
use crate::model_by_name::SetupError;
use crate::output::{answer, fail, short, with_causes, written};
use crate::show::table::{Table, filled};
use crate::show::width::terminal_width;
use crate::wire::{gathered, returned};

/// The maximum number of bytes of a document.
const MAX_BYTES: u64 = 256 << 20;

/// Runs the command.
pub(crate) async fn run(explain: &args::Explain, registry: &Registry) -> Exit {
    let mut rows = Vec::new();
    for name in &explain.models {
        match registry.capabilities(name) {
            Ok(row) => rows.push((name.as_str(), row)),
            Err(error) => {
                fail(&SetupError::from(error).to_string());
                return Exit::Setup;
            }
        }
    }
    match told(&explain.files, explain.attached, &rows, explain.json).await {
        Ok(text) => written(answer(&text)),
        Err(problem) => {
            fail(&problem);
            Exit::Failed
        }
    }
}

type Row<'a> = (&'a str, ModelCapabilities);

async fn told(files: &[PathBuf], attached: bool, rows: &[Row<'_>], as_json: bool) -> Result<String, String> {
    let conversation = conversation(files, attached)?;
    let tools = ToolSet::new(conversation.tools).map_err(|error| error.to_string())?;
    let (messages, options) = (&conversation.messages, RouteOptions::new());
    let mut reports = Vec::new();
    for (_, row) in rows {
        let materials = gathered(messages, row, &options, false).await;
        reports.push(attache_documents::explain(messages, row, &tools, &materials, &options));
    }
    let found = Found::new(messages, &reports);
    if as_json {
        return Ok(found.json(rows));
    }
    let width = terminal_width();
    let notes = notes(rows, &reports);
    let notes = notes.iter().map(|note| format!("\n{}", filled(note, width)));
    Ok(found.table(rows).render(width) + &notes.collect::<String>())
}

/// The conversation of a file; of documents one in which a tool has returned them, or the user attached them.
fn conversation(files: &[PathBuf], attached: bool) -> Result<Conversation, String> {
    if let [file] = files {
        let wrong = |problem: String| format!("{}: {problem}", file.display());
        let text = match file.as_path() == Path::new("-") {
            true => {
                let mut text = String::new();
                let read = std::io::stdin().lock().read_to_string(&mut text);
                read.map_err(|error| wrong(error.to_string()))?;
                Some(text)
            }
            false => may_be_conversation(file).map_err(|error| wrong(error.to_string()))?,
        };
        if let Some(text) = text {
            return Conversation::from_json(&text).map_err(|error| wrong(with_causes(&error)));
        }
    }
    let documents: Vec<Document> = files
        .iter()
        .map(|path| file(path, MAX_BYTES).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    if !attached {
        return Ok(returned(&documents));
    }
    let documents = documents.into_iter().map(|document| Some(UserPart::Document(document)));
    let question =
        UserMessage::new([UserPart::text("What do these documents say?")].into_iter().chain(documents));
    Ok(Conversation::new([Message::User(question).shared()]))
}

/// The text of a file that says itself that it is a conversation, or that is JSON by its name alone.
fn may_be_conversation(file: &Path) -> std::io::Result<Option<String>> {
    let is_named = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if !is_named || file.metadata()?.is_dir() {
        return Ok(None);
    }
    let text = String::from_utf8(std::fs::read(file)?).ok();
    Ok(text
        .filter(|text| serde_json::from_str::<Value>(text).is_ok_and(|json| json.get("messages").is_some())))
}

/// A document where it stands.
#[derive(Debug)]
struct Standing<'m> {
    id: &'m DocumentId,
    /// The index of its message.
    message: usize,
    /// `None` for what was found inside another document.
    document: Option<&'m Document>,
    from: From,
}

/// The person or tool that brought a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Tool,
    Event,
    Author,
}

impl From {
    fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Event => "event",
            Self::Author => "author",
        }
    }
}

/// Every document with what each model makes of it.
#[derive(Debug)]
struct Found<'m> {
    documents: Vec<(Standing<'m>, Vec<Option<&'m DocumentDecision>>)>,
}

impl<'m> Found<'m> {
    fn new(messages: &'m [Arc<Message>], reports: &'m [RoutingReport]) -> Self {
        let mut documents: Vec<(Standing<'m>, Vec<Option<&'m DocumentDecision>>)> = Vec::new();
        for (model, report) in reports.iter().enumerate() {
            let mut places = Places::new(messages);
            // The number of times that a document was met so far in its message: models need not agree on what is in
            // it.
            let mut met: HashMap<(&DocumentId, usize), usize> = HashMap::new();
            for decision in &report.decisions {
                let standing = places.of(decision);
                let count = met.entry((standing.id, standing.message)).or_default();
                let mut same = documents
                    .iter_mut()
                    .filter(|(known, _)| (known.id, known.message) == (standing.id, standing.message));
                let slot = match same.nth(*count) {
                    Some((_, decisions)) => decisions.get_mut(model),
                    None => {
                        let at = documents.partition_point(|(known, _)| known.message <= standing.message);
                        documents.insert(at, (standing, vec![None; reports.len()]));
                        documents.get_mut(at).and_then(|(_, decisions)| decisions.get_mut(model))
                    }
                };
                *count += 1;
                if let Some(slot) = slot {
                    *slot = Some(decision);
                }
            }
        }
        Self { documents }
    }

    fn table(&self, rows: &[Row<'_>]) -> Table {
        let heads = std::iter::once("document").chain(rows.iter().map(|(name, _)| *name));
        let mut table = Table::new(heads);
        for (standing, decisions) in &self.documents {
            let first = decisions.iter().flatten().next();
            let cells = decisions.iter().map(|decision| decision.map_or_else(|| "-".to_owned(), seen));
            table.row(first.map(|first| standing.described(first)).into_iter().chain(cells));
        }
        table
    }

    fn json(&self, rows: &[Row<'_>]) -> String {
        let mut lines = String::new();
        for (standing, decisions) in &self.documents {
            for ((name, row), decision) in rows.iter().zip(decisions) {
                let Some(decision) = decision else { continue };
                lines.push_str(&format!("{}\n", standing.json(decision, name, row)));
            }
        }
        lines
    }
}

impl Standing<'_> {
    /// Name, short id, type, size and origin, for people.
    fn described(&self, decision: &DocumentDecision) -> String {
        let name = decision
            .file_name
            .as_deref()
            .map_or_else(|| "a document without a name".to_owned(), |name| short(name, 60));
        let size =
            self.document.and_then(Document::size).map(|size| format!(", {size} bytes")).unwrap_or_default();
        let from = match (&decision.inside, self.from) {
            (Some(around), _) => format!("inside {}", around.short()),
            (None, From::Tool) => {
                let tool = decision.tool_name.as_deref().unwrap_or("a tool");
                format!("{}, messages[{}]", short(tool, 60), self.message)
            }
            (None, from) => format!("{}, messages[{}]", from.as_str(), self.message),
        };
        format!(
            "{name}\n{}\n{}{size}\n{from}",
            short(self.id.short(), 40),
            short(decision.media_type.essence(), 60)
        )
    }

    fn json(&self, decision: &DocumentDecision, name: &str, row: &ModelCapabilities) -> Value {
        let mut line = json!({
            "model": name,
            "row": row.row,
            "from": self.from.as_str(),
            "message": self.message,
            "short_id": self.id.short(),
            "size": self.document.and_then(Document::size),
        });
        if let (Value::Object(line), Value::Object(decision)) = (&mut line, json!(decision)) {
            line.extend(decision);
        }
        line
    }
}

/// A model's view of a document, for people.
fn seen(decision: &DocumentDecision) -> String {
    let place = decision.place.map(|place| match place.as_str() {
        "tool_result" => " in the tool result",
        "failed_result" => " in the failed tool result",
        "beside_result" => " in a user message after the results",
        _ => " in the user message",
    });
    // An error stands nowhere: the request is not made.
    let place = place.filter(|_| decision.outcome != DocumentOutcome::Error).unwrap_or_default();
    let outcome = decision.outcome;
    let cost = match (decision.bytes, decision.tokens) {
        (0, 0) => String::new(),
        (bytes, tokens) => format!("\n{bytes} bytes, about {tokens} tokens"),
    };
    format!("{outcome}{place}{cost}\n{}", short(decision.reason.as_str(), 300))
}

/// The places of the documents of decisions. Both are in the order of the messages.
struct Places<'m> {
    open: Vec<Standing<'m>>,
    /// The place of the last document that was asked for.
    last: (usize, From),
}

impl<'m> Places<'m> {
    fn new(messages: &'m [Arc<Message>]) -> Self {
        let mut open = Vec::new();
        for (message, whole) in
            messages.iter().enumerate().filter(|(_, message)| !message.is_tool_call_documents())
        {
            let from = match &**whole {
                Message::ToolResults(_) => From::Tool,
                Message::User(user) if user.origin == UserOrigin::Event => From::Event,
                _ => From::Author,
            };
            let documents = whole.documents().into_iter();
            open.extend(documents.map(|document| Standing {
                id: document.id(),
                message,
                document: Some(document),
                from,
            }));
        }
        Self { open, last: (0, From::Author) }
    }

    fn of(&mut self, decision: &'m DocumentDecision) -> Standing<'m> {
        let found = match decision.inside {
            Some(_) => None,
            None => self.open.iter().position(|standing| *standing.id == decision.document_id),
        };
        let standing = found.map(|at| self.open.remove(at));
        let (message, from) =
            standing.as_ref().map_or(self.last, |standing| (standing.message, standing.from));
        self.last = (message, from);
        standing.unwrap_or(Standing { id: &decision.document_id, message, document: None, from })
    }
}

/// The notes that the table above leaves out.
fn notes(rows: &[Row<'_>], reports: &[RoutingReport]) -> Vec<String> {
    let mut notes = Vec::new();
    if reports.iter().all(|report| report.decisions.is_empty()) {
        notes.push("The conversation holds no documents.".to_owned());
    }
    for (name, row) in rows {
        match row.row.as_str() {
            "default" => notes.push(format!(
                "{name} is not in the table: what is known of {} in general applies.",
                row.family
            )),
            "unknown" => notes.push(format!(
                "{name}: the family {} is not in the table, so it is taken to read text alone.",
                row.family
            )),
            _ => {}
        }
    }
    for ((name, _), report) in rows.iter().zip(reports) {
        if report.count(DocumentOutcome::Error) > 0 {
            notes.push(format!(
                "{name} would not be asked: it cannot take what an author attached. `attache ask` shows it the text, as \
                 a program does that allows it (`with_convert_author_documents`)."
            ));
        }
    }
    if let Some(report) = reports.first().filter(|report| !report.unresolved.is_empty()) {
        let ids: Vec<&str> =
            report.unresolved.iter().map(|reference| reference.document_id.short()).collect();
        notes.push(format!(
            "References that stand for no document of this conversation: {}.",
            short(&ids.join(", "), 300)
        ));
    }
    notes
}
