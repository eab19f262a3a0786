//! Answers that are held against what the model was shown.

use std::sync::Arc;

use crate::common::Number;
use crate::common::kit::{all, end, holding, warnings};
use attache_agent::{
    Agent, AgentBuilder, EntryKind, EventKind, MemoryDocumentStore, MemoryJournal, NoArguments, OutputMode,
    Run, RunInput, RunOptions, tool_fn,
};
use attache_core::citation::{AnswerSpan, Citation, FigureState, How, Place, Source, Span};
use attache_core::converter::{ConvertedText, ConverterError, Units};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{
    BoxFuture, ChatRequest, Converter, Document, DocumentId, Effect, MediaType, Message, ModelSettings, Tool,
    ToolError, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use attache_tools::ReadDocument;
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize, JsonSchema)]
struct Costs {
    rent: String,
    #[serde(rename = "heat")]
    _heat: String,
}

const LEASE: &str = "[page 1]\nLease of a flat.\n[page 2]\nThe rent is EUR 900 a month.\n";
const ANSWER: &str = "The lease says \"The rent is EUR 900 a month\", so you pay EUR 900, and EUR 731 for heat. You have 5,000.";

fn lease(media_type: &str) -> Document {
    Document::from_bytes(LEASE.as_bytes(), media_type)
        .with_file_name("lease")
        .with_id(DocumentId::parse("11111111-0000-4000-8000-000000000001").unwrap())
}

fn fetch(document: Document) -> impl Tool + 'static {
    tool_fn("fetch", "", move |_: NoArguments| {
        let document = document.clone();
        async move { Ok::<_, ToolError>(json!({"found": 1, "file": document})) }
    })
    .with_effect(Effect::Read)
}

/// Reads the text that stands in the bytes of a PDF.
struct Reader;

impl Converter for Reader {
    fn converts(&self, media: &MediaType) -> bool {
        media.essence() == "application/pdf"
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        bytes: bytes::Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let starts = text.match_indices("[page").map(|(at, _)| at).collect();
        let converted = ConvertedText::new(text).with_units(Units::new("page", starts, 2));
        Box::pin(std::future::ready(Ok(converted)))
    }
}

fn turns(answer: Turn) -> Vec<Turn> {
    vec![Turn::call("fetch", json!({})), answer]
}

fn asking(model: &ScriptedModel, document: Document) -> AgentBuilder {
    Agent::builder(model.clone()).tool(fetch(document)).store(Arc::new(MemoryDocumentStore::default()))
}

fn question() -> RunInput {
    RunInput::from("What is the rent? I have 5,000.").with_run_id("r")
}

fn words(outcome: &attache_agent::Outcome) -> Vec<(String, String)> {
    let word = |state: &FigureState| match state {
        FigureState::Unsupported { .. } => "unsupported".to_owned(),
        state => format!("{state:?}").to_lowercase(),
    };
    outcome.figures.iter().map(|figure| (figure.text.to_string(), word(&figure.state))).collect()
}

fn expected(heat: &str) -> Vec<(String, String)> {
    [("EUR 900", "supported"), ("EUR 900", "supported"), ("EUR 731", heat), ("5,000", "given")]
        .map(|(figure, state)| (figure.to_owned(), state.to_owned()))
        .into()
}

#[tokio::test]
async fn an_answer_is_held_against_the_documents_of_tools() {
    let model = ScriptedModel::new(turns(Turn::text(ANSWER)));
    let mut run = asking(&model, lease("text/plain")).citations(true).build().unwrap().run(question());
    let events = all(&mut run).await;
    let outcome = end(&events);
    let [citation] = &*outcome.citations else { panic!("{:?}", outcome.citations) };
    assert_eq!(citation.source, Source::Document { id: lease("").id().clone(), name: Some("lease".into()) });
    assert_eq!((citation.how, &citation.place), (How::Exact, &Some(Place::Pages(2, 2))));
    assert_eq!(citation.quote.as_deref(), Some("The rent is EUR 900 a month"));
    assert_eq!(citation.in_answer.unwrap().span().of(&outcome.text), citation.quote.as_deref());
    assert_eq!(words(&outcome), expected("unsupported"));
    assert_eq!(outcome.unsupported().map(|figure| &*figure.text).collect::<Vec<_>>(), ["EUR 731"]);
    let told: Vec<Citation> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Source(citation) => Some((**citation).clone()),
            _ => None,
        })
        .collect();
    assert_eq!(told, outcome.citations);
}

#[tokio::test]
async fn it_is_off_by_default() {
    let model = ScriptedModel::new(turns(Turn::text(ANSWER)));
    let journal = Arc::new(MemoryJournal::new());
    let agent = asking(&model, lease("text/plain")).build().unwrap();
    let outcome = agent.run_in(journal.clone(), question()).outcome().await.unwrap();
    assert!(outcome.citations.is_empty() && outcome.figures.is_empty());
    let entries = journal.entries();
    let EntryKind::Ended(ended) = &entries.last().unwrap().kind else { panic!() };
    assert_eq!(ended.checked, None);
}

#[tokio::test]
async fn a_pdf_that_the_model_sees_as_it_is_is_read_by_a_converter() {
    let ask = |builder: AgentBuilder| async move {
        let outcome = builder.citations(true).build().unwrap().run(question()).outcome().await.unwrap();
        (words(&outcome), outcome.citations)
    };
    let model =
        || ScriptedModel::new(turns(Turn::text(ANSWER))).with_capabilities_of("anthropic", "claude-opus-4-8");
    let (figures, citations) = ask(asking(&model(), lease("application/pdf")).converter(Reader)).await;
    assert_eq!(figures, expected("unsupported"));
    assert_eq!(citations[0].place, Some(Place::Pages(2, 2)));
    // Nobody can read it, so nothing is said to stand nowhere.
    let (figures, citations) = ask(asking(&model(), lease("application/pdf"))).await;
    let states: Vec<_> = figures.iter().map(|(_, state)| &**state).collect();
    assert_eq!(states, ["unchecked", "unchecked", "unchecked", "given"]);
    assert_eq!(citations, []);
}

#[tokio::test]
async fn a_provider_s_citation_names_our_document() {
    let cited = Citation::new(Source::Nth { index: 0, title: None }, How::Native)
        .with_quote(Some("The rent is EUR 900 a month. "))
        .with_place(Place::Pages(2, 2));
    let model = ScriptedModel::new(turns(Turn::text("It is EUR 900.").citing(cited)))
        .with_capabilities_of("anthropic", "claude-opus-4-8");
    let agent = asking(&model, lease("application/pdf")).converter(Reader).citations(true).build().unwrap();
    let outcome = agent.run(question()).outcome().await.unwrap();
    let [citation] = &*outcome.citations else { panic!("{:?}", outcome.citations) };
    assert_eq!(citation.source, Source::Document { id: lease("").id().clone(), name: Some("lease".into()) });
    assert_eq!(citation.how, How::Native);
    assert_eq!(citation.in_document.unwrap().of(LEASE), Some("The rent is EUR 900 a month"));
}

// Streamed or whole, in one go or cut at any entry: the same is told, and recorded once.
#[tokio::test]
async fn what_was_found_is_recorded_once_and_told_again() {
    let store = Arc::new(MemoryDocumentStore::default());
    let agent = |asked: usize, streaming: bool| {
        let model = ScriptedModel::new(turns(Turn::text(ANSWER)).into_iter().skip(asked));
        let builder = Agent::builder(model).tool(fetch(lease("text/plain"))).store(store.clone());
        builder.streaming(streaming).citations(true).build().unwrap()
    };
    let journal = Arc::new(MemoryJournal::new());
    let uncut = agent(0, true).run_in(journal.clone(), question()).outcome().await.unwrap();
    assert!(!uncut.citations.is_empty());
    let whole = agent(0, false).run(question()).outcome().await.unwrap();
    assert_eq!((&whole.citations, &whole.figures), (&uncut.citations, &uncut.figures));
    let entries = journal.entries();
    for cut in 1..=entries.len() {
        let kept = &entries[..cut];
        let asked = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let journal = holding(kept.to_vec());
        let resumed = agent(asked, true).resume(journal.clone()).outcome().await.unwrap();
        assert_eq!(
            (&resumed.citations, &resumed.figures),
            (&uncut.citations, &uncut.figures),
            "cut at {cut}"
        );
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), resumed);
    }
    // Whoever resumes a run that has ended need not check, nor have the documents.
    let model = ScriptedModel::new([]);
    let again = Agent::builder(model).build().unwrap().resume(journal).outcome().await.unwrap();
    assert_eq!(again.citations, uncut.citations);
}

#[tokio::test]
async fn a_document_that_is_only_named_supports_nothing() {
    // No place takes an archive, so the model reads a note.
    let archive = Document::from_bytes(&b"PK\x03\x04 731 EUR"[..], "application/zip").with_file_name("a.zip");
    let model = ScriptedModel::new(turns(Turn::text("It costs 731 EUR.")));
    let outcome =
        asking(&model, archive).citations(true).build().unwrap().run(question()).outcome().await.unwrap();
    assert_eq!(words(&outcome), [("731 EUR".to_owned(), "unsupported".to_owned())]);
}

#[tokio::test]
async fn a_typed_answer_that_a_call_gives_is_checked() {
    let answer = json!({"rent": "EUR 900", "heat": "EUR 731"});
    let model = ScriptedModel::new(turns(Turn::call("final_answer", answer)));
    let agent = asking(&model, lease("text/plain")).citations(true).build().unwrap();
    let typed = agent.run(question()).typed::<Costs>().with_mode(OutputMode::Tool).await.unwrap();
    let figures = words(&typed.outcome);
    let expected = [("EUR 731", "unsupported"), ("EUR 900", "supported")];
    assert!(
        expected.iter().all(|(figure, state)| figures.contains(&((*figure).to_owned(), (*state).to_owned()))),
        "{figures:?}"
    );
    assert_eq!((typed.value.rent.as_str(), figures.len()), ("EUR 900", 2));
}

#[tokio::test]
async fn text_that_was_read_with_the_reading_tool_is_the_document_s() {
    let id = lease("").id().to_string();
    let model = ScriptedModel::new([
        Turn::call("fetch", json!({})),
        Turn::call("read_document", json!({"id": id, "pages": "2"})),
        Turn::text("It says \"The rent is EUR 900 a month\"."),
    ]);
    let agent = asking(&model, lease("application/pdf")).tool(ReadDocument::new()).converter(Reader);
    let outcome = agent.citations(true).build().unwrap().run(question()).outcome().await.unwrap();
    let [citation] = &*outcome.citations else { panic!("{:?}", outcome.citations) };
    assert_eq!(citation.source, Source::Document { id: lease("").id().clone(), name: Some("lease".into()) });
    assert_eq!((&citation.place, citation.ambiguous), (&Some(Place::Pages(2, 2)), false));
}

/// A reply that rests on the lease, as a provider says it that was shown it as a search result.
fn citing() -> Turn {
    let source = Source::Foreign { id: lease("").id().to_string(), title: Some("lease".to_owned()) };
    let claim = Span::new(0, 16).map(AnswerSpan::Claim);
    let citation = Citation::new(source, How::Native);
    let citation = citation.with_quote(Some("The rent is EUR 900 a month.")).with_answer_span(claim);
    Turn::text("You pay EUR 900.").citing(citation)
}

fn claude(turns: Vec<Turn>) -> ScriptedModel {
    ScriptedModel::new(turns).with_capabilities_of("anthropic", "claude-opus-4-8")
}

/// The documents that the results of a request show as they are.
fn attached(request: &ChatRequest) -> Vec<DocumentId> {
    let results = request.messages.iter().flat_map(|message| match &**message {
        Message::ToolResults(results) => results.results.clone(),
        _ => Vec::new(),
    });
    let parts: Vec<UserPart> = results.flat_map(|result| result.attached().to_vec()).collect();
    let id = |part: &UserPart| match part {
        UserPart::Document(document) => Some(document.id().clone()),
        _ => None,
    };
    parts.iter().filter_map(id).collect()
}

#[tokio::test]
async fn a_model_that_cites_is_told_to_and_what_it_cites_is_told_with_its_reply() {
    let model = claude(turns(citing()));
    let mut run = asking(&model, lease("text/plain")).citations(true).build().unwrap().run(question());
    let events = all(&mut run).await;
    let outcome = end(&events);
    let [citation] = &*outcome.citations else { panic!("{:?}", outcome.citations) };
    let lease_id = lease("").id().clone();
    assert_eq!(citation.source, Source::Document { id: lease_id.clone(), name: Some("lease".into()) });
    assert_eq!(citation.how, How::Native);
    assert_eq!(citation.in_document.unwrap().of(LEASE), Some("The rent is EUR 900 a month"));
    let place = |wanted: fn(&EventKind) -> bool| {
        events
            .iter()
            .enumerate()
            .filter(|(_, event)| wanted(&event.kind))
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    let told = place(|kind| matches!(kind, EventKind::Source(_)));
    let finished = place(|kind| matches!(kind, EventKind::StepFinished { .. }));
    assert_eq!(told.len(), 1, "it is told once");
    assert!(finished[0] < told[0] && told[0] < finished[1], "with the reply");
    let EventKind::Source(live) = &events[told[0]].kind else { panic!() };
    assert_eq!((&live.source, live.in_answer), (&citation.source, citation.in_answer));
    let requests = model.requests();
    assert!(requests.iter().all(|request| request.settings.citations == Some(true)));
    assert_eq!(attached(&requests[1]), [lease_id]);
}

// The switch holds for a whole run, and neither a schema nor a tool that takes the answer goes with it.
#[tokio::test]
async fn a_run_with_a_typed_answer_leaves_citing_to_matching_and_says_so() {
    let answer = json!({"rent": "EUR 900", "heat": "EUR 731"});
    for (mode, turn) in [
        (OutputMode::Tool, Turn::call("final_answer", answer.clone())),
        (OutputMode::Native, Turn::text(&answer.to_string())),
    ] {
        let model = claude(turns(turn));
        let agent = asking(&model, lease("text/plain")).citations(true).build().unwrap();
        let typed = agent.run(question()).typed::<Costs>().with_mode(mode).await.unwrap();
        assert!(!typed.outcome.figures.is_empty());
        let requests = model.requests();
        assert!(requests.iter().all(|request| request.settings.citations.is_none()));
        assert_eq!(attached(&requests[1]), []);
    }
    let format = attache_core::ResponseFormat::JsonObject;
    let settings = ModelSettings::new().with_response_format(format);
    let model = claude(turns(Turn::text("{\"rent\": \"EUR 900\"}")));
    let agent = asking(&model, lease("text/plain")).settings(settings).citations(true).build().unwrap();
    let events = all(&mut agent.run(question())).await;
    assert_eq!(warnings(&events), ["citations"]);
    assert_eq!(model.requests()[0].settings.citations, None);
}

#[tokio::test]
async fn native_citations_can_be_left_out_and_are_where_the_model_has_none() {
    let off = ModelSettings::new().with_citations(false);
    let plain = ScriptedModel::new(turns(Turn::text(ANSWER)));
    for (model, settings) in [(claude(turns(Turn::text(ANSWER))), off), (plain, ModelSettings::new())] {
        let agent = asking(&model, lease("text/plain")).settings(settings).citations(true).build().unwrap();
        let outcome = agent.run(question()).outcome().await.unwrap();
        assert_eq!((outcome.citations.len(), words(&outcome)), (1, expected("unsupported")));
        let requests = model.requests();
        assert!(requests.iter().all(|request| request.settings.citations != Some(true)));
        assert_eq!(attached(&requests[1]), []);
    }
}

// Invariant 13: a resumed run sends what the uncut one sent, and tells what nobody was told.
#[tokio::test]
async fn a_run_that_cites_cut_at_any_entry_goes_on_as_uncut() {
    let store = Arc::new(MemoryDocumentStore::default());
    let agent = |model: &ScriptedModel| {
        let builder = Agent::builder(model.clone()).tool(fetch(lease("text/plain"))).store(store.clone());
        builder.citations(true).build().unwrap()
    };
    let (journal, first) = (Arc::new(MemoryJournal::new()), claude(turns(citing())));
    let uncut = agent(&first).run_in(journal.clone(), question()).outcome().await.unwrap();
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let kept = &entries[..cut];
        let asked = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let model = claude(turns(citing()).into_iter().skip(asked).collect());
        let events = all(&mut agent(&model).resume(holding(kept.to_vec()))).await;
        assert_eq!(end(&events).citations, uncut.citations, "cut at {cut}");
        let told = events.iter().filter(|event| matches!(event.kind, EventKind::Source(_))).count();
        assert_eq!(told, 1, "cut at {cut}");
        // The call of a reply that is asked for again has another id.
        for (again, first) in model.requests().iter().zip(&first.requests()[asked..]).take(asked) {
            assert_eq!(again.messages, first.messages);
        }
    }
}

#[tokio::test]
async fn documents_are_cited_as_the_settings_of_the_run_say_in_the_end() {
    let citing = || ModelSettings::new().with_citations(true);
    // Nobody checks answers, and the documents are those of a model that cites.
    let model = claude(turns(Turn::text(ANSWER)));
    let agent = asking(&model, lease("text/plain")).settings(citing()).build().unwrap();
    agent.run(question()).outcome().await.unwrap();
    assert_eq!(model.requests()[1].settings.citations, Some(true));
    assert_eq!(attached(&model.requests()[1]), [lease("").id().clone()]);
    // Settings of one run say otherwise.
    for (agent_cites, run_cites) in [(true, false), (false, true)] {
        let model = claude(turns(Turn::text(ANSWER)));
        let agent = asking(&model, lease("text/plain")).citations(agent_cites).build().unwrap();
        let settings = ModelSettings::new().with_citations(run_cites);
        agent
            .run(question().with_options(RunOptions::new().with_settings(settings)))
            .outcome()
            .await
            .unwrap();
        assert_eq!(model.requests()[1].settings.citations, Some(run_cites));
        assert_eq!(attached(&model.requests()[1]).len(), usize::from(run_cites), "{run_cites}");
    }
}

// The run says whether answers are checked, and the next agent cites accordingly.
#[tokio::test]
async fn the_next_agent_cites_as_the_run_does() {
    for checks in [true, false] {
        let model = claude(turns(Turn::text(ANSWER)));
        let next = asking(&model, lease("text/plain")).citations(!checks).build().unwrap();
        let first = claude(vec![Turn::call("transfer_to_next", json!({}))]);
        let agent = Agent::builder(first).handoff(next.as_handoff("next", "")).citations(checks);
        agent.build().unwrap().run(question()).outcome().await.unwrap();
        let requests = model.requests();
        assert_eq!(requests[1].settings.citations, checks.then_some(true), "{checks}");
        assert_eq!(attached(&requests[1]).len(), usize::from(checks), "{checks}");
    }
}

// The provider counts the documents of the request that it got, and those of results are in it.
#[tokio::test]
async fn the_number_of_a_document_counts_those_that_were_sent() {
    let draft = Document::from_bytes(&b"%PDF-1.7 draft"[..], "application/pdf").with_file_name("draft");
    let cited = |index| Citation::new(Source::Nth { index, title: None }, How::Native);
    let answer = Turn::text("Page 2 says it.").citing(cited(0)).citing(cited(1));
    let model = claude(vec![Turn::call("fetch", json!({})), Turn::text("A lease."), answer]);
    let agent = asking(&model, lease("application/pdf")).citations(true).build().unwrap();
    let first = agent.run(question()).outcome().await.unwrap();
    let next = Message::User(UserMessage::text("And this?").attach(draft.clone())).shared();
    let input = RunInput::new([next]).with_history(first.messages.clone()).with_run_id("next");
    let events = all(&mut agent.run(input)).await;
    let named = |document: &Document| Source::Document {
        id: document.id().clone(),
        name: document.file_name().map(str::to_owned),
    };
    let expected = [named(&lease("")), named(&draft)];
    let told: Vec<Source> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Source(citation) => Some(citation.source.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(told, expected);
    let outcome = end(&events);
    assert_eq!(outcome.citations.iter().map(|cited| cited.source.clone()).collect::<Vec<_>>(), expected);
    let Some(Message::Assistant(reply)) = outcome.messages.last().map(|message| &**message) else { panic!() };
    assert_eq!(reply.citations.iter().map(|cited| cited.source.clone()).collect::<Vec<_>>(), expected);
}

// The short id of a label tells the documents of one message apart, and no others.
#[tokio::test]
async fn what_a_text_says_is_cited_of_its_own_document() {
    let text = |id: &str, text: &str| {
        Document::from_bytes(text.as_bytes().to_vec(), "text/plain").with_id(DocumentId::parse(id).unwrap())
    };
    for (one, other) in [("contract-41", "contract-42"), ("contract-42", "contract-4"), ("a-1", "a")] {
        let documents = [text(one, "The fee is low.\n"), text(other, "The rent is EUR 900 a month.\n")];
        let fetch = tool_fn("fetch", "", move |Number { n }: Number| {
            let document = documents[usize::try_from(n).unwrap()].clone();
            async move { Ok::<_, ToolError>(json!({"file": document})) }
        });
        let model = ScriptedModel::new([
            Turn::call("fetch", json!({"n": 0})),
            Turn::call("fetch", json!({"n": 1})),
            Turn::text("It says \"The rent is EUR 900 a month\"."),
        ]);
        let agent = Agent::builder(model).tool(fetch.with_effect(Effect::Read)).citations(true);
        let outcome = agent.build().unwrap().run(question()).outcome().await.unwrap();
        let [citation] = &*outcome.citations else { panic!("{:?}", outcome.citations) };
        let id = DocumentId::parse(other).unwrap();
        assert_eq!(citation.source, Source::Document { id, name: None });
    }
}
