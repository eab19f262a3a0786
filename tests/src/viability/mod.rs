//! The viability table: documents of all sorts, through one agent on each API, in both places, read back from the
//! requests as the provider would see them.

mod check;
mod converter;
mod fixture;
mod made;

use std::sync::Arc;

use attache_agent::{Agent, EventKind, NoArguments, RunInput, tool_fn};
use attache_conformance::Reply;
use attache_core::capability::Place;
use attache_core::{Converter, Message, ModelSettings, ToolError, UserMessage, UserPart};
use attache_documents::DocumentDecision;
use serde::Serialize;

use crate::Party;
use check::Sent;
use converter::{Remembering, Shared};
pub use fixture::{Fixture, fixtures};

/// One cell: a fixture, an API, a place, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cell {
    /// The fixture.
    pub fixture: &'static str,
    /// The API family, or the profile of a compatible server.
    pub api: &'static str,
    /// `user` for what an author attached, `tool_result` for what a tool returned.
    pub place: &'static str,
    /// The outcomes of its documents in order, each once where they are the same.
    pub outcome: String,
    /// The reasons, one for each document, or what is wrong.
    pub reason: String,
    /// True if the documents are in the request as the outcomes say, and these are the expected ones.
    pub ok: bool,
}

/// Every fixture on every API in both places.
pub async fn viability() -> Vec<Cell> {
    let mut cells = Vec::new();
    let converter = Arc::new(Remembering::default());
    for fixture in fixtures() {
        for party in parties() {
            for place in [Place::User, Place::ToolResult] {
                cells.push(cell(&fixture, party, place, &converter).await);
            }
        }
    }
    cells
}

/// The APIs, a server that takes images and no PDF, and one that takes text alone.
pub fn parties() -> Vec<Party> {
    let mut parties: Vec<_> = Party::all()
        .into_iter()
        .filter(|party| !party.is_compatible() || party.name() == "deepseek")
        .collect();
    parties.push(Party::of_images());
    parties
}

async fn cell(fixture: &Fixture, party: Party, place: Place, converter: &Arc<Remembering>) -> Cell {
    let (outcome, reason, ok) = match run(fixture, party, place, converter).await {
        Ok((decisions, wrong)) => {
            let mut outcomes: Vec<&str> = decisions.iter().map(|d| d.outcome.as_str()).collect();
            outcomes.dedup();
            let mut reasons: Vec<&str> = decisions.iter().map(|d| d.reason.as_str()).collect();
            reasons.dedup();
            match wrong {
                None => (outcomes.join(" + "), reasons.join("; "), true),
                Some(wrong) => (outcomes.join(" + "), wrong, false),
            }
        }
        Err(failure) => ("failed".to_owned(), failure, false),
    };
    Cell { fixture: fixture.name, api: party.name(), place: place.as_str(), outcome, reason, ok }
}

/// The decisions about the fixture's documents, and what is wrong with them.
async fn run(
    fixture: &Fixture,
    party: Party,
    place: Place,
    converter: &Arc<Remembering>,
) -> Result<(Vec<DocumentDecision>, Option<String>), String> {
    let mock = party.mock().await.map_err(|error| error.to_string())?;
    let model = party.connected(&mock, ModelSettings::new()).map_err(|error| error.to_string())?;
    let capabilities = model.capabilities().clone();
    let mut agent = Agent::builder(model.clone()).converter(Shared(Arc::clone(converter)));
    let input = match place {
        Place::User => {
            let documents = fixture.documents().into_iter().map(UserPart::Document).map(Some);
            let parts = [UserPart::text("Read this.")].into_iter().chain(documents);
            RunInput::new([Message::User(UserMessage::new(parts)).shared()])
        }
        _ => {
            let mut calls = Reply::new().text("I look.");
            for (at, output) in fixture.outputs().into_iter().enumerate() {
                let name = format!("look_{at}");
                calls = calls.call(format!("call0000{at}"), &name, serde_json::json!({}));
                agent = agent.tool(tool_fn(&name, "Looks for documents", move |_: NoArguments| {
                    let output = output.clone();
                    async move { Ok::<_, ToolError>(output) }
                }));
            }
            mock.enqueue(calls);
            RunInput::from("Look.")
        }
    };
    mock.enqueue(Reply::new().text("done"));
    let agent = agent.build().map_err(|error| error.to_string())?;
    let mut run = agent.run(input.clone());
    let mut report = None;
    let end = loop {
        match run.next().await.ok_or("the run had no end")?.kind {
            EventKind::DocumentsRouted(routed) => report = Some(routed),
            EventKind::Finished(result) => break result,
            _ => {}
        }
    };
    if let Some((_, violation)) = mock.violations().first() {
        return Err(format!("the provider refused the request: {violation:?}"));
    }
    let requests = mock.requests();
    let error = end.as_ref().err().and_then(attache_agent::RunError::provider_error);
    if let Some(error) = error {
        let sent = usize::from(place != Place::User);
        let decision = explained(&input, &capabilities, converter).await;
        let silent = requests.len() != sent;
        let wrong = check::refusal(fixture, &capabilities, error)
            .or_else(|| silent.then(|| "a request was sent all the same".to_owned()));
        return Ok((decision, wrong));
    }
    end.map_err(|error| error.to_string())?;
    let report = report.ok_or("no report was made")?;
    let last = requests.last().ok_or("nothing was sent")?;
    let sent = Sent::new(party.api, last.json(), place, &capabilities, converter);
    let wrong = sent.check(fixture, &report.decisions);
    Ok((report.decisions.clone(), wrong))
}

/// The report of a request that is not made.
async fn explained(
    input: &RunInput,
    capabilities: &attache_core::ModelCapabilities,
    converter: &Arc<Remembering>,
) -> Vec<DocumentDecision> {
    let store = attache_agent::MemoryDocumentStore::default();
    let (mut materials, options) =
        (attache_documents::Materials::new(), attache_documents::RouteOptions::new());
    let converters: [Arc<dyn Converter>; 1] = [Arc::new(Shared(Arc::clone(converter)))];
    let messages = &input.messages;
    attache_documents::gather(&mut materials, messages, capabilities, &options, &store, None, &converters)
        .await;
    let tools = attache_core::ToolSet::default();
    let report = attache_documents::explain(messages, capabilities, &tools, &materials, &options);
    report.decisions
}

/// The table for people: a row for each fixture and place, a column for each API.
pub fn table(cells: &[Cell]) -> String {
    let apis: Vec<&str> = parties().into_iter().map(Party::name).collect();
    let mut out =
        format!("| fixture | place | {} |\n|---|---|{}\n", apis.join(" | "), "---|".repeat(apis.len()));
    for fixture in fixtures() {
        for place in [Place::User, Place::ToolResult] {
            out.push_str(&format!("| {} | {} |", fixture.name, place.as_str()));
            for api in &apis {
                let cell = cells.iter().find(|cell| {
                    (cell.fixture, cell.api, cell.place) == (fixture.name, *api, place.as_str())
                });
                let text = match cell {
                    Some(cell) if cell.ok => cell.outcome.clone(),
                    Some(cell) => format!("**{}, not as it should be**", cell.outcome),
                    None => "**empty**".to_owned(),
                };
                out.push_str(&format!(" {text} |"));
            }
            out.push('\n');
        }
    }
    out
}
