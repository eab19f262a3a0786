//! Holds the answer of a run against what its model was shown.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_citations::{Options, Shown, check};
use attache_core::blocking::on_thread;
use attache_core::calendar::date_of;
use attache_core::citation::{Checked, Citation, How, Source};
use attache_core::message::UserOrigin;
use attache_core::{
    Document, DocumentId, DocumentSource, MediaKind, Message, MessageId, UserMessage, UserPart,
};
use attache_documents::{ReadLabel, decode_text, fence_text, gather, route, unfence};

use crate::driver::Driver;
use crate::driver::citable::source;
use crate::driver::stop::Fault;
use crate::event::EventKind;
use crate::log::Ended;
use crate::memory::look::Look;
use crate::memory::marks::Marks;
use crate::memory::past::Past;
use crate::outcome::EndReason;

/// So many bytes of texts are searched at once; more of them on a thread of their own.
const SMALL: usize = 64 * 1024;
const DAY: u64 = 24 * 60 * 60 * 1000;

impl Driver {
    /// Records the end of the run with what was found out about its answer, and tells it. An end that another
    /// driver recorded before stands.
    pub(super) async fn end_checked(&mut self, mut ended: Ended) -> Result<Vec<EventKind>, Fault> {
        let says_nothing =
            matches!(ended.reason, EndReason::Refusal | EndReason::ReturnDirect | EndReason::ContentFilter);
        if !says_nothing && !self.run.text().trim().is_empty() {
            ended.checked = self.check().await.map(Box::new);
        }
        self.record_end(ended, self.has_looked()).await?;
        let Some(checked) = self.run.checked() else { return Ok(Vec::new()) };
        // Those of the provider were told with the reply, unless it came before this drive.
        let is_told = self.citable.is_some();
        let notes =
            checked.notes.iter().map(|note| EventKind::Warning { code: "citations", message: note.clone() });
        let news = checked.citations.iter().filter(|citation| !is_told || citation.how != How::Native);
        let sources = news.map(|citation| EventKind::Source(Box::new(citation.clone())));
        Ok(notes.chain(sources).collect())
    }

    /// The sources that the answer rests on. All of it is a function of the log, the documents and the
    /// converters, so that whoever resumes the run finds the same.
    async fn check(&mut self) -> Option<Checked> {
        let text = self.run.text().to_owned();
        let (place, native) = self.answer(&text)?;
        let messages = self.seen(place).await?;
        let mut shown = Texts { driver: self, known: Vec::new(), fences: HashMap::new(), texts: Vec::new() };
        shown.read(&messages).await;
        let texts = shown.texts;
        let (year, month, day) = date_of(i64::try_from(self.run.asked_at() / DAY).unwrap_or_default());
        let options = match (year.try_into(), month.try_into(), day.try_into()) {
            (Ok(year), Ok(month), Ok(day)) => Options::new().with_today(year, month, day),
            _ => Options::new(),
        };
        let size =
            texts.iter().filter_map(|shown| shown.text.as_deref()).map(str::len).sum::<usize>() + text.len();
        let note = self.setup.uncited();
        let with_note = |mut checked: Checked| {
            checked.notes.extend(note.map(str::to_owned));
            checked
        };
        if size < SMALL {
            return Some(with_note(check(&text, &native, &texts, &options)));
        }
        // A long answer over long documents takes its time.
        let checked = on_thread("attache-citations", move || check(&text, &native, &texts, &options)).await;
        checked
            .inspect_err(|error| tracing::error!(%error, "the answer could not be checked"))
            .ok()
            .map(with_note)
    }

    /// The place of the message that is the answer, and its provider's citations. A value that a call gave is the text of
    /// no message: the last reply gave it, and what that reply cites is of its own text.
    fn answer(&self, text: &str) -> Option<(usize, Vec<Citation>)> {
        let replies = || {
            self.run.history().iter().enumerate().rev().filter_map(|(place, message)| match &**message {
                Message::Assistant(reply) => Some((place, reply)),
                _ => None,
            })
        };
        let said = replies().find(|(_, reply)| reply.text() == text);
        said.map(|(place, reply)| (place, reply.citations.clone()))
            .or_else(|| replies().next().map(|(place, _)| (place, Vec::new())))
    }

    /// The messages before the answer as its model saw them: what the window showed last, and all of this run.
    async fn seen(&mut self, answer: usize) -> Option<Vec<Arc<Message>>> {
        let setup = Arc::clone(&self.setup);
        self.library.catch_up(&self.run);
        let history = self.run.history().get(..answer)?;
        let mut messages = self.remembered(history);
        let reader = setup.routing.read_tool.as_deref();
        self.library.shorten(&mut messages, self.run.limits().max_result_chars, reader);
        if !self.library.needs_routing() {
            return Some(messages);
        }
        let capabilities = setup.model.capabilities();
        let (store, fetcher) = (&*setup.store, setup.fetcher.as_deref());
        let materials = &mut self.library.materials;
        gather(materials, &messages, capabilities, &setup.routing, store, fetcher, &setup.converters).await;
        let routed =
            route(&messages, capabilities, &self.toolbox.set, &self.library.materials, &setup.routing);
        routed
            .inspect_err(|error| tracing::error!(%error, "the answer could not be checked"))
            .ok()
            .map(|routed| routed.messages)
    }
}

impl Driver {
    /// The messages of a history that the memory showed, and all of this run: those that left the window
    /// since were shown before.
    fn remembered(&self, history: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let Some(memory) = &self.setup.memory else { return history.to_vec() };
        let past = Past {
            history,
            task: self.run.task(),
            tools: &self.toolbox.set,
            capabilities: self.setup.model.capabilities(),
            result_chars: self.run.limits().max_result_chars,
            reader: self.setup.routing.read_tool.as_deref(),
            read_tokens: None,
            counted: None,
            failed_at: None,
            is_full: false,
        };
        // Marks of this drive alone would make another drive of the run see something else.
        let Look::Show { messages: seen, .. } = memory.look(&past, &mut Marks::default()) else {
            return history.to_vec();
        };
        let seen: HashSet<&MessageId> = seen.iter().map(|message| message.id()).collect();
        let shown = history
            .iter()
            .enumerate()
            .filter(|(place, message)| *place >= self.run.task() || seen.contains(message.id()));
        shown.map(|(_, message)| Arc::clone(message)).collect()
    }
}

/// The texts of what a model was shown, as it was shown.
struct Texts<'d> {
    driver: &'d Driver,
    /// All documents of the conversation that may be shown.
    known: Vec<Document>,
    /// Those whose text may stand in a fence, by how the fence begins.
    fences: HashMap<String, Source>,
    texts: Vec<Shown>,
}

impl Texts<'_> {
    async fn read(&mut self, messages: &[Arc<Message>]) {
        let found = self.driver.run.found().iter().map(|(_, message)| message);
        let held = messages.iter().chain(found).flat_map(|message| message.documents());
        let mut ids: HashSet<&DocumentId> = HashSet::new();
        self.known = held.filter(|document| ids.insert(document.id())).cloned().collect();
        let fences = self.known.iter().filter_map(|known| Some((fence_of(known)?.0, source(known))));
        self.fences = fences.collect();
        for message in messages {
            match &**message {
                Message::System(system) => {
                    self.texts.extend(system.parts.iter().map(|part| Shown::given(part.text())));
                }
                Message::User(user) => self.user(user).await,
                Message::ToolResults(results) => {
                    for result in &results.results {
                        let source = Source::ToolResult {
                            call_id: result.call_id.clone(),
                            tool: result.tool_name.clone(),
                        };
                        let text = result.tree.model_text();
                        let reader = self.driver.setup.routing.read_tool.as_deref();
                        let is_read = reader.is_some() && result.tool_name.as_deref() == reader;
                        if !is_read || !self.unfenced(&text) {
                            self.texts.push(Shown::text(source, text.into_owned()));
                        }
                        self.parts(result.attached(), false).await;
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes the pieces of documents out of what the reading tool says. Says whether all fences in it were of documents
    /// that are known, and whole.
    fn unfenced(&mut self, text: &str) -> bool {
        let mut texts = Vec::new();
        let mut begun = 0;
        for document in &self.known {
            let Some((begin, end)) = fence_of(document) else { continue };
            let mut inner: Vec<&str> = Vec::new();
            for (at, _) in text.match_indices(&*begin) {
                begun += 1;
                let rest = text.get(at..).unwrap_or_default();
                let len = rest.find(&*end).map_or(0, |at| at + end.len());
                inner.extend(rest.get(..len).and_then(unfence));
            }
            begun -= inner.len();
            if !inner.is_empty() {
                texts.push(Shown::text(source(document), inner.join("\n")));
            }
        }
        let is_whole = begun == 0 && !texts.is_empty();
        if is_whole {
            self.texts.append(&mut texts);
        }
        is_whole
    }

    async fn user(&mut self, user: &UserMessage) {
        let is_given = user.origin != UserOrigin::ToolCallDocuments;
        self.parts(user.shown(), is_given).await;
    }

    /// Labels say which document the texts behind them are of.
    async fn parts(&mut self, parts: &[UserPart], is_given: bool) {
        let mut current: Option<Source> = None;
        for part in parts {
            match part {
                UserPart::Text(text) => {
                    let text = text.text();
                    let (label, rest) = ReadLabel::split(text)
                        .map_or((None, text), |(label, rest)| (Some(label), rest.trim_start()));
                    if let Some(label) = &label {
                        current = label.document_id().and_then(|id| self.labelled(id));
                    }
                    let fenced = rest.split_once(':').and_then(|(begin, _)| self.fences.get(begin));
                    match (unfence(rest), fenced.or(current.as_ref())) {
                        (Some(inner), Some(source)) => self.texts.push(Shown::text(source.clone(), inner)),
                        (Some(inner), None) => self.texts.push(Shown::given(inner)),
                        (None, _) if is_given && label.is_none() => self.texts.push(Shown::given(rest)),
                        (None, _) => {}
                    }
                }
                UserPart::Object(tree) if is_given => {
                    self.texts.push(Shown::given(tree.model_text().into_owned()))
                }
                UserPart::Object(_) => {}
                UserPart::Document(document) => self.document(document, current.as_ref()).await,
                _ => {}
            }
        }
    }

    /// The document that a label means. Its short id tells the documents of one message apart, so that others of the
    /// conversation may begin like it.
    fn labelled(&self, id: &str) -> Option<Source> {
        let exact = self.known.iter().find(|document| document.id().as_str() == id);
        let mut alike = self.known.iter().filter(|document| document.id().as_str().starts_with(id));
        let only = || alike.next().filter(|_| alike.next().is_none());
        exact.or_else(only).map(source)
    }

    /// A document that stands there as it is. Images say nothing that can be read here.
    async fn document(&mut self, document: &Document, current: Option<&Source>) {
        let is_known = self.known.iter().any(|known| known.id() == document.id());
        let source = current.filter(|_| !is_known).cloned().unwrap_or_else(|| source(document));
        if document.media_type().kind() == MediaKind::Image {
            self.texts.push(Shown::unread(source));
            return;
        }
        // Text that is to be cited stands there as it was shown.
        if let (DocumentSource::Inline { text }, MediaKind::Text) =
            (document.source(), document.media_type().kind())
        {
            self.texts.push(Shown::text(source, text.to_string()));
            return;
        }
        let setup = &self.driver.setup;
        let media_type = document.media_type();
        let bytes = match document.bytes() {
            Some(bytes) => Some(bytes),
            None => setup.store.get(document.id()).await.ok().filter(|bytes| document.may_have(bytes)),
        };
        let converter = setup.converters.iter().find(|converter| converter.converts(media_type));
        let converted = match (converter, bytes.clone()) {
            (Some(converter), Some(bytes)) => converter.convert(document, bytes).await.ok(),
            _ => None,
        };
        let Some(converted) = converted else {
            let text = bytes
                .as_ref()
                .filter(|_| media_type.kind() == MediaKind::Text)
                .and_then(|bytes| decode_text(bytes, media_type));
            self.texts.push(match text {
                Some(text) => Shown::text(source, text.0.into_owned()),
                None => Shown::unread(source),
            });
            return;
        };
        // Pages that are pictures may say anything.
        if !converted.units_without_text().is_empty() || converted.text.trim().is_empty() {
            self.texts.push(Shown::unread(source.clone()));
        }
        self.texts.push(Shown::text(source, converted.text));
    }
}

/// The beginning and the end of a fence around text of a document.
fn fence_of(document: &Document) -> Option<(String, String)> {
    let fence = fence_text(document.id(), ".", [])?;
    let ((begin, _), (_, end)) = (fence.split_once(':')?, fence.rsplit_once('\n')?);
    Some((begin.to_owned(), end.to_owned()))
}
