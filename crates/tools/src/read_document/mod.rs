//! The tool with which a model reads more of a document.

mod images;
mod memo;
mod native;
mod ranges;
mod request;
mod search;
mod show;
mod text;

use std::sync::Arc;

use attache_core::tool::{DocumentView, ToolSpec};
use attache_core::{
    Arguments, BoxFuture, ContentTree, Document, DocumentRef, DocumentSource, Effect, MediaKind, MediaType,
    Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolOutput,
};
use attache_documents::{decode_text, tame};
use bytes::Bytes;
use serde_json::{Map, Value};

use memo::{Memo, Text};
use request::{Part, Request};
use search::Query;
pub(crate) use text::Reading;

/// The name of the tool.
const NAME: &str = "read_document";

const DESCRIPTION: &str = "Reads more of a document of this conversation, such as one that was cut, left out or is no \
    longer shown: pages, sheets or slides by number, lines of its text, or the passages that match a query. Without \
    any of these it begins at the start. What it returns says what follows; an id that does not exist is answered \
    with those that do.";

/// The maximum number of characters of an answer, whatever the limit for results is.
const MAX_CHARS: usize = 100_000;
/// Characters of text beside images that the remark on them holds, of the 300 that a remark may have.
const MAX_BESIDE: usize = 200;
/// Bytes of a line at most; longer ones count as several.
const MAX_LINE: usize = 2_000;

/// The tool `read_document`, with which a model reads more of a document of the conversation: pages, sheets or slides,
/// lines of its text, or passages that match a query.
///
/// It reads documents as the run shows them, with the agent's converters; see [`DocumentView`]. If there is no text, a
/// model that accepts PDFs or images is shown the pages. Notes about omitted content mention the tool.
///
/// ```
/// use attache_agent::{Agent, NoArguments, tool_fn};
/// use attache_core::{Document, ToolError};
/// use attache_tools::ReadDocument;
///
/// # let model = attache_testkit::ScriptedModel::new([]);
/// let lease = tool_fn("fetch_lease", "Fetches the lease", |_: NoArguments| async {
///     Ok::<_, ToolError>(Document::read("lease.pdf").await?)
/// });
/// let agent = Agent::builder(model).tool(lease).tool(ReadDocument::new()).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadDocument {
    spec: ToolSpec,
}

impl Default for ReadDocument {
    fn default() -> Self {
        Self::new()
    }
}

impl ReadDocument {
    /// Creates the tool.
    pub fn new() -> Self {
        let definition = ToolDefinition::new(NAME, DESCRIPTION, request::schema());
        let mut spec = ToolSpec::new(definition).with_effect(Effect::Read).with_origin("attache");
        spec.metadata.reads_documents = true;
        Self { spec }
    }
}

/// One call, with how the run shows documents.
struct Reader<'c> {
    context: &'c ToolContext,
    view: &'c DocumentView,
    /// The maximum number of characters of the answer.
    max_chars: usize,
}

impl<'c> Reader<'c> {
    fn of(context: &'c ToolContext) -> Result<Self, ToolError> {
        let view = context.require::<DocumentView>()?;
        Ok(Self { context, view, max_chars: view.max_result_chars.min(MAX_CHARS) })
    }

    async fn read(&self, arguments: &Map<String, Value>) -> Result<ToolOutput, ToolError> {
        let Request { document, part, query } = request::read(arguments)?;
        let document = self.context.document(&document)?;
        let query = match query {
            None => None,
            Some(text) => Some(Query::new(&text).ok_or_else(|| {
                ToolError::new("`query` holds no words to look for")
                    .with_kind(ToolErrorKind::InvalidArguments)
            })?),
        };
        let why = match self.text(&document).await? {
            Ok(reading) => match self.without_text(&reading, &part, &document).filter(|_| query.is_none()) {
                Some(why) => why,
                None => return self.show(document, reading, part, query).await,
            },
            Err(why) => why.to_string(),
        };
        let takes = native::takes(self.view.model.capabilities(), document.media_type());
        let painter =
            images::painter(self.view.model.capabilities(), document.media_type(), &self.view.converters);
        if (takes || painter.is_some()) && query.is_none() {
            let (document, bytes) = load(&document, self.context).await?;
            return match painter.filter(|_| !takes) {
                Some(painter) => images::show(&document, bytes, &part, &why, painter).await,
                None => native::show(&document, bytes, &part, &why, &self.view.converters).await,
            };
        }
        let mut problem = format!("this document has no readable text: {}", tame(&why));
        problem.push_str(match takes || painter.is_some() {
            true => "; ask for it, or for its pages, without a query",
            false => ", and this model does not take it as it is",
        });
        Err(ToolError::new(problem))
    }

    /// The text of a document, decoded or converted once in a run.
    async fn text(&self, document: &Document) -> Result<Text, ToolError> {
        let slot = self.context.run_value::<Memo>().slot(document.id());
        // A document that could not be loaded may be there next time.
        let text = slot.get_or_try_init(|| async {
            let (document, bytes) = load(document, self.context).await?;
            Ok::<_, ToolError>(self.make_text(&document, bytes).await)
        });
        text.await.cloned()
    }

    async fn make_text(&self, document: &Document, bytes: Bytes) -> Text {
        if bytes.is_empty() {
            return Err(Arc::from("the document is empty"));
        }
        let media_type = document.media_type();
        // A line must not fill an answer.
        let max_line = MAX_LINE.min(self.max_chars / 4);
        let is_text = media_type.kind() == MediaKind::Text
            || matches!(document.source(), DocumentSource::Inline { .. });
        let decoded = match is_text {
            false => None,
            true => {
                let (bytes, media_type) = (bytes.clone(), media_type.clone());
                let decoded = off_the_workers(move || {
                    let (text, guessed) = decode_text(&bytes, &media_type)?;
                    let about = guessed.map(|charset| format!("read as {charset} (guessed)"));
                    let lost = text.matches(char::REPLACEMENT_CHARACTER).count();
                    let lost = (lost > 0).then(|| format!("{lost} characters could not be read"));
                    let about = about.into_iter().chain(lost).collect();
                    Some((guessed, Reading::new(Arc::from(text), about, max_line)))
                });
                Some(decoded.await.ok_or_else(|| Arc::<str>::from("its bytes fit no known charset")))
            }
        };
        let converter = self.view.converters.iter().find(|converter| converter.converts(media_type));
        let (converter, decoded) = match (converter, decoded) {
            (_, Some(Ok((None, reading)))) if !self.reads_better(media_type, &reading) => {
                return checked(reading);
            }
            (Some(converter), decoded) => (converter, decoded),
            (None, Some(decoded)) => return decoded.and_then(|(_, reading)| checked(reading)),
            (None, None) => return Err(format!("there is no converter for {}", media_type.essence()).into()),
        };
        match (converter.convert(document, bytes).await, decoded) {
            // A converter that guesses the same charset reads the same, and routing shows the text as it is.
            (Ok(converted), Some(Ok((Some(guessed), reading))))
                if !self.reads_better(media_type, &reading)
                    && converted.notes.iter().any(|note| note.contains(guessed)) =>
            {
                checked(reading)
            }
            (Ok(converted), _) => {
                let from = media_type.essence().to_owned();
                checked(off_the_workers(move || Reading::converted(converted, &from, max_line)).await)
            }
            (Err(_), Some(Ok((_, reading)))) => checked(reading),
            (Err(why), _) => Err(why.to_string().into()),
        }
    }

    /// True if a converter's text is what routing shows of a text document: that of HTML, and of tables and JSON which
    /// are too long to be shown whole.
    fn reads_better(&self, media_type: &MediaType, reading: &Reading) -> bool {
        match media_type.essence() {
            "text/html" | "application/xhtml+xml" => !self.view.html_source,
            "text/csv" | "text/tab-separated-values" | "application/json" => {
                reading.text.len() > self.view.max_text_bytes
            }
            _ => false,
        }
    }

    /// Why a part of a document with text has none, where the model could be shown that part as it is.
    fn without_text(&self, reading: &Reading, part: &Part, document: &Document) -> Option<String> {
        let Part::Units(asked) = part else { return None };
        let asked = ranges::within(asked, reading.unit_count());
        let held = reading.units_held();
        let says = |(first, last): &ranges::Range| {
            (*first..=(*last).min(held))
                .any(|unit| reading.unit_says_something(unit) && !reading.unit_is_covered(unit))
        };
        let (capabilities, media_type) = (self.view.model.capabilities(), document.media_type());
        let is_seen = native::takes(capabilities, media_type)
            || images::painter(capabilities, media_type, &self.view.converters).is_some();
        if asked.is_empty() || asked.iter().any(says) || !is_seen {
            return None;
        }
        if asked.iter().all(|(first, _)| *first > held) {
            return Some("the text that was made of the document ends before them".to_owned());
        }
        // Stamps, and comments, which no image shows.
        let units = asked.iter().flat_map(|(first, last)| *first..=(*last).min(held));
        let beside = units.filter(|unit| reading.unit_says_something(*unit)).flat_map(|unit| {
            let text = reading.text.get(reading.unit(unit)).unwrap_or_default();
            text.split_whitespace()
        });
        let beside = beside.collect::<Vec<_>>().join(" ");
        Some(match beside.is_empty() {
            true => "there is none on them".to_owned(),
            false => match beside.char_indices().nth(MAX_BESIDE) {
                Some((end, _)) => {
                    let begin = beside.get(..end).unwrap_or_default();
                    format!(
                        "images cover them; their other text begins (ask for its lines to read the rest): {begin}…"
                    )
                }
                None => format!("images cover them; their other text is: {beside}"),
            },
        })
    }

    async fn show(
        &self,
        document: Document,
        reading: Arc<Reading>,
        part: Part,
        query: Option<Query>,
    ) -> Result<ToolOutput, ToolError> {
        let max_chars = self.max_chars;
        let work = move || show::show(document.id(), &reading, &part, query.as_ref(), max_chars);
        let answer = off_the_workers(work).await?;
        Ok(ToolOutput::new(ContentTree::text(&answer)))
    }
}

fn checked(reading: Reading) -> Text {
    match reading.text.trim().is_empty() {
        true => Err(Arc::from("it holds no text")),
        false => Ok(Arc::new(reading)),
    }
}

/// The document as its bytes show it to be.
async fn load(document: &Document, context: &ToolContext) -> Result<(Document, Bytes), ToolError> {
    let document = context.load(&DocumentRef::from(document)).await?;
    let bytes = document.bytes().unwrap_or_default();
    Ok((document, bytes))
}

/// Does what takes long with a large document where nobody else waits for it.
async fn off_the_workers<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime shuts down, so nobody waits any more.
        Err(_) => std::future::pending().await,
    }
}

impl Tool for ReadDocument {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn arguments(&self, written: &Arguments) -> Result<Map<String, Value>, ToolError> {
        let named = request::named(written)?;
        request::read(&named)?;
        Ok(named)
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Reader::of(&context)?.read(&arguments).await })
    }
}
