//! Makes the probes, one after the other.

use std::sync::Arc;
use std::time::Duration;

use attache_core::capability::Place;
use attache_core::{
    ChatRequest, ErrorKind, FinishReason, Message, ModelCapabilities, ModelHandle, ModelSettings,
    ProviderError, Secret, StreamChunk, ToolSet, Usage,
};
use attache_documents::{DocumentOutcome, Materials, RouteOptions, Routing, route};
use attache_models::Registry;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::cell::{Cell, Form};
use super::finding::{Ended, Finding, Verdict};
use super::judge::{Answer, Trouble, judge, trouble};
use super::plan::{Probe, Proof};
use super::reach;
use crate::model_by_name::SetupError;

/// So many probes in a row that meet their time limit end the examination.
const PATIENCE: usize = 3;

/// The model that is examined.
#[derive(Debug)]
pub(super) struct Patient<'r> {
    registry: &'r Registry,
    /// `provider/model`.
    name: String,
    /// The row of the table.
    pub(super) row: ModelCapabilities,
    /// The address to which requests go.
    pub(super) url: String,
    model: ModelHandle,
    limit: Duration,
}

/// A probe that can be made, or why it cannot.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) probe: Probe,
    /// The model with a row that lets the request through, and the request with its documents in place.
    pub(super) sent: Result<(ModelHandle, ChatRequest), String>,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Examination {
    pub(super) findings: Vec<Finding>,
    /// The usage that the replies report in all.
    pub(super) usage: Usage,
    /// The reason why it ended early.
    pub(super) stopped: Option<Stop>,
}

/// The reason why an examination ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// An address, a key or a model must be set right first.
    Setup,
    /// The server does not answer as it should.
    Silent,
}

impl<'r> Patient<'r> {
    /// The model of that name. Nothing is sent.
    pub(super) fn new(registry: &'r Registry, name: &str, limit: Duration) -> Result<Self, SetupError> {
        let model = registry.model(name)?;
        let row = model.capabilities().clone();
        let codec = registry.codec(name)?;
        let hello = ChatRequest::new([Message::user("Hello").shared()]);
        let encoded =
            codec.encode(attache_transport::Ask::new(&hello, &ModelSettings::new(), Some(&Secret::new("…"))));
        let url = encoded.map_err(|error| SetupError::new(error.to_string()))?.parts.url;
        Ok(Self { registry, name: model.id().to_owned(), row, url, model, limit })
    }

    /// `provider/model`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn registry(&self) -> &Registry {
        self.registry
    }

    /// Puts the documents of a probe in their place, and finds out whether the API has a form for it.
    pub(super) fn ready(&self, probe: Probe) -> Ready {
        let sent = self.prepare(&probe);
        Ready { probe, sent }
    }

    fn prepare(&self, probe: &Probe) -> Result<(ModelHandle, ChatRequest), String> {
        let registry = self.lenient(&probe.needs)?;
        let model = match &registry {
            Some(registry) => registry.model(&self.name).map_err(|error| error.to_string())?,
            None => self.model.clone(),
        };
        let codec = registry
            .as_ref()
            .unwrap_or(self.registry)
            .codec(&self.name)
            .map_err(|error| error.to_string())?;
        let mut request = probe.request.clone();
        request.messages = placed(probe, model.capabilities())?;
        let said = |error: ProviderError| error.to_string();
        codec
            .encode(attache_transport::Ask::new(&request, &request.settings, Some(&Secret::new("…"))))
            .map_err(said)?;
        Ok((model, request))
    }

    /// A registry whose table lets through what the probe needs; `None` if the table does already.
    fn lenient(&self, needs: &[Cell]) -> Result<Option<Registry>, String> {
        let mut row = self.row.clone();
        for cell in needs.iter().filter(|cell| cell.expects(&self.row) == Some(false)) {
            cell.set(&mut row, true);
        }
        if row == self.row {
            return Ok(None);
        }
        let overlay = crate::overlay::overlay(self.registry, &self.name, &self.row, &row)?;
        let matrix =
            self.registry.matrix().merged_with(&overlay.to_string()).map_err(|error| error.to_string())?;
        Ok(Some(self.registry.clone().with_matrix(matrix)))
    }

    /// Makes the probes in order and tells of each as soon as it is known.
    pub(super) async fn examine(&self, probes: Vec<Ready>, mut tell: impl FnMut(&Finding)) -> Examination {
        let mut examination = Examination::default();
        let mut late = 0;
        let mut told = 0;
        for ready in probes {
            let (probe, sent) = (ready.probe, ready.sent);
            match (examination.stopped, sent) {
                (Some(_), _) => examination.skip(&probe, &self.row, None, "nothing more was asked"),
                (None, Err(why)) => {
                    let why = format!("not sent, since this API has no form for it: {why}");
                    let works = (probe.cell != Cell::None).then_some(false);
                    examination.skip(&probe, &self.row, works, &why);
                }
                (None, Ok((model, request))) => {
                    let outcome = self.ask(&model, &request, &probe.proof, &mut examination.usage).await;
                    late = if matches!(outcome, Err(None)) { late + 1 } else { 0 };
                    self.conclude(&mut examination, &probe, outcome).await;
                    if late >= PATIENCE {
                        examination.stopped = Some(Stop::Silent);
                    }
                }
            }
            examination.findings.iter().skip(told).for_each(&mut tell);
            told = examination.findings.len();
        }
        examination
    }

    /// The reply to a request; `None` as error if its time ran out.
    async fn ask(
        &self,
        model: &ModelHandle,
        request: &ChatRequest,
        proof: &Proof,
        usage: &mut Usage,
    ) -> Result<Answer, Option<ProviderError>> {
        let mut answer = self.reply(model, request).await?;
        usage.add(&answer.completion.usage);
        if *proof == Proof::Cached {
            answer = self.reply(model, request).await?;
            usage.add(&answer.completion.usage);
        }
        Ok(answer)
    }

    async fn reply(
        &self,
        model: &ModelHandle,
        request: &ChatRequest,
    ) -> Result<Answer, Option<ProviderError>> {
        let reading = async {
            let mut stream = model.stream(request.clone());
            let mut pieces = 0;
            while let Some(chunk) = stream.next().await {
                match chunk? {
                    StreamChunk::Done(completion) => return Ok(Answer { completion: *completion, pieces }),
                    StreamChunk::Content(_) => pieces += 1,
                    _ => {}
                }
            }
            Err(ProviderError::new(ErrorKind::StreamCut, "the reply ended without its last chunk"))
        };
        match timeout(self.limit, Box::pin(reading)).await {
            Ok(outcome) => outcome.map_err(Some),
            Err(_) => Err(None),
        }
    }

    async fn conclude(
        &self,
        examination: &mut Examination,
        probe: &Probe,
        outcome: Result<Answer, Option<ProviderError>>,
    ) {
        if probe.proof == Proof::Answer {
            self.begin(examination, outcome.as_ref()).await;
        }
        let (ended, detail) = match &outcome {
            Ok(answer) => judge(&probe.proof, answer),
            Err(None) => (Ended::Failed, format!("no reply within {} s", self.limit.as_secs_f64())),
            Err(Some(error)) => match trouble(error) {
                Trouble::Refused(why) => (Ended::Refused, why),
                Trouble::Failed(why) => (Ended::Failed, why),
                Trouble::Hopeless(why) => {
                    examination.stopped.get_or_insert(Stop::Silent);
                    (Ended::Failed, why)
                }
            },
        };
        let observed = match ended {
            Ended::Works => Some(true),
            // A beginning as long as that may be refused for its length.
            Ended::Refused if probe.cell == Cell::Caching => {
                detail.to_ascii_lowercase().contains("cache").then_some(false)
            }
            Ended::Refused => examination.may_blame(probe.cell).then_some(false),
            Ended::NotSeen => self.absent(examination, probe, outcome.ok().as_ref()),
            Ended::Failed | Ended::Skipped => None,
        };
        let names = (probe.id.as_str(), probe.title.as_str());
        let finding = Finding::new(names, probe.cell, &self.row, (ended, observed, detail));
        let fails = matches!(ended, Ended::Refused | Ended::Failed);
        examination.findings.push(finding);
        // If neither a whole nor a streamed answer comes, nothing else will.
        if probe.proof == Proof::Streams && fails && examination.ended("answer") != Some(Ended::Works) {
            examination.stopped.get_or_insert(Stop::Silent);
        }
    }

    /// Notes the news that the first request brings of the way to the model.
    async fn begin(&self, examination: &mut Examination, outcome: Result<&Answer, &Option<ProviderError>>) {
        let ways = [
            ("reach", "the server is reached"),
            ("key", "the key is accepted"),
            ("model", "the model exists"),
        ];
        let [reach, key, model] =
            ways.map(|(id, title)| move |ended, detail: &str| Finding::plain(id, title, ended, detail));
        let (works, skipped) = (Ended::Works, Ended::Skipped);
        let (findings, stop) = match outcome {
            Ok(_) => ([reach(works, ""), key(works, ""), model(works, "")], None),
            Err(error) => {
                let status = error.as_ref().and_then(ProviderError::status);
                let Some(status) = status else {
                    let is_spoken = error.as_ref().is_some_and(|error| {
                        !matches!(
                            error.kind(),
                            ErrorKind::Network | ErrorKind::Timeout | ErrorKind::Configuration
                        )
                    });
                    if is_spoken {
                        // An answer came, though none that is understood.
                        let unknown = "the answer does not show it";
                        examination.findings.extend([
                            reach(works, ""),
                            key(skipped, unknown),
                            model(skipped, unknown),
                        ]);
                        return;
                    }
                    let why = reach::diagnose(&self.url, error.as_ref(), self.limit).await;
                    examination.stopped = Some(Stop::Setup);
                    let unknown = "the server was not reached";
                    let failed = [reach(Ended::Failed, &why), key(skipped, unknown), model(skipped, unknown)];
                    examination.findings.extend(failed);
                    return;
                };
                let reached = reach(works, &format!("it answers with HTTP {status}"));
                let why = error.as_ref().map(trouble).map(|trouble| match trouble {
                    Trouble::Refused(why) | Trouble::Failed(why) | Trouble::Hopeless(why) => why,
                });
                let why = why.unwrap_or_default();
                match error.as_ref().map(ProviderError::kind) {
                    Some(ErrorKind::Authentication | ErrorKind::Permission) => {
                        let unknown = "the key is not accepted";
                        ([reached, key(Ended::Refused, &why), model(skipped, unknown)], Some(Stop::Setup))
                    }
                    Some(ErrorKind::NotFound) => {
                        let why = format!("{why}; either the model's name or the address is wrong");
                        (
                            [reached, key(works, "it was not objected to"), model(Ended::Refused, &why)],
                            Some(Stop::Setup),
                        )
                    }
                    Some(ErrorKind::InvalidRequest | ErrorKind::Unsupported | ErrorKind::QuotaExceeded) => {
                        let unknown = "the answer does not show it";
                        ([reached, key(works, "it was not objected to"), model(skipped, unknown)], None)
                    }
                    _ => {
                        let unknown = "the answer does not show it";
                        ([reached, key(skipped, unknown), model(skipped, unknown)], None)
                    }
                }
            }
        };
        examination.findings.extend(findings);
        examination.stopped = stop;
    }

    /// The verdict of a reply that shows nothing of what was asked for. A model that does not even repeat a number from
    /// a plain text proves nothing by not naming one in a picture.
    fn absent(&self, examination: &Examination, probe: &Probe, answer: Option<&Answer>) -> Option<bool> {
        let works = |id: &str| examination.ended(id) == Some(Ended::Works);
        let follows = works("user.text");
        match probe.cell {
            Cell::None => None,
            Cell::Media(Place::ToolResult, _) => works("tool_result.text").then_some(false),
            Cell::Media(..) => follows.then_some(false),
            // That nothing was cached once is no proof that nothing is; that nothing was expected agrees with it.
            Cell::Caching | Cell::Reasoning(_) => {
                let expected = probe.cell.expects(&self.row) == Some(true);
                (!expected || probe.proof == Proof::NoReasoning).then_some(false)
            }
            Cell::Parallel => {
                (works("tools") || probe.cell.expects(&self.row) == Some(false)).then_some(false)
            }
            Cell::Tools | Cell::Forced | Cell::Form(Form::Object | Form::Schema | Form::BesideTools) => {
                let cut =
                    answer.is_some_and(|answer| answer.completion.finish_reason == FinishReason::Length);
                (follows && !cut).then_some(false)
            }
        }
    }
}

impl Examination {
    fn skip(&mut self, probe: &Probe, row: &ModelCapabilities, works: Option<bool>, why: &str) {
        let names = (probe.id.as_str(), probe.title.as_str());
        let mut finding = Finding::new(names, probe.cell, row, (Ended::Skipped, works, why.to_owned()));
        if works.is_none() {
            finding.verdict = Verdict::Nothing;
        }
        self.findings.push(finding);
    }

    /// True if a refusal is about the document. If text is refused as well, or tools are, it is about more.
    fn may_blame(&self, cell: Cell) -> bool {
        let refuses = |id: &str| self.ended(id) == Some(Ended::Refused);
        match cell {
            Cell::Media(Place::ToolResult, _) => !refuses("tools") && !refuses("tool_result.text"),
            Cell::Media(..) => !refuses("user.text"),
            _ => true,
        }
    }

    /// The way in which a probe ended.
    pub(super) fn ended(&self, id: &str) -> Option<Ended> {
        self.findings.iter().find(|finding| finding.id == id).map(|finding| finding.ended)
    }

    /// The number of findings that have a verdict.
    pub(super) fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }
}

/// The messages of a probe with its document in the very place that is probed.
fn placed(probe: &Probe, row: &ModelCapabilities) -> Result<Vec<Arc<Message>>, String> {
    let Some(place) = probe.place else { return Ok(probe.request.messages.clone()) };
    let (materials, options, tools) = (Materials::new(), RouteOptions::new(), ToolSet::default());
    let Routing { messages, report, .. } = route(&probe.request.messages, row, &tools, &materials, &options)
        .map_err(|error| error.to_string())?;
    match report.decisions.as_slice() {
        [one]
            if one.place == Some(place)
                && matches!(one.outcome, DocumentOutcome::Native | DocumentOutcome::Text) =>
        {
            Ok(messages)
        }
        [one] => Err(format!("it would be shown as {}: {}", one.outcome, one.reason)),
        _ => Err("routing did not report exactly one document".to_owned()),
    }
}
