//! Numbers for whoever watches the server, in the text format of Prometheus (version 0.0.4). Labels are routes and words
//! of ours: nothing that a client chooses is one, so that their number is bounded.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Display, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attache_agent::{Money, Outcome, RunError};
use attache_core::Usage;
use http::{Method, StatusCode};

/// The bounds of the histogram of times, in seconds.
const BOUNDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// The maximum number of runs whose cost so far is remembered: those that go on later tell it again.
const MOST_OPEN: usize = 4096;

/// The things that are counted by a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Count {
    Runs,
    Tokens,
    ToolCalls,
    ModelErrors,
    AuthFailures,
    Approvals,
    Limited,
}

impl Count {
    /// Its name, its label, and what it is.
    fn told(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Runs => ("attache_runs_ended_total", "reason", "Runs that ended or wait for somebody."),
            Self::Tokens => ("attache_tokens_total", "kind", "Tokens that models read and wrote."),
            Self::ToolCalls => ("attache_tool_calls_total", "outcome", "Calls of tools that have a result."),
            Self::ModelErrors => ("attache_model_errors_total", "kind", "Runs that a model's failure ended."),
            Self::AuthFailures => ("attache_auth_failures_total", "reason", "Requests of nobody known."),
            Self::Approvals => ("attache_approvals_total", "decision", "Approvals that are settled."),
            Self::Limited => ("attache_limited_total", "limit", "Requests beyond a limit."),
        }
    }
}

/// The numbers that change with what happens.
#[derive(Default)]
pub(crate) struct Metrics {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    routes: BTreeMap<Arc<str>, Route>,
    counts: BTreeMap<(Count, &'static str), u64>,
    cost: f64,
    /// The cost of runs that may go on, as it is counted already.
    open: VecDeque<(String, Money)>,
}

/// The requests of a route.
#[derive(Default)]
struct Route {
    answers: BTreeMap<(&'static str, u16), u64>,
    /// Those within each bound and above the one before; the last ones are above all.
    times: [u64; BOUNDS.len() + 1],
    seconds: f64,
}

/// The numbers of this moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) runs: usize,
    pub(crate) viewers: usize,
    pub(crate) ring_bytes: usize,
    /// In seconds since 1970.
    pub(crate) since: u64,
}

impl Metrics {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, count: Count, word: &'static str, by: u64) {
        *self.lock().counts.entry((count, word)).or_default() += by;
    }

    /// A request without a known principal.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.add(Count::AuthFailures, reason, 1);
    }

    /// A request beyond a limit.
    pub(crate) fn limited(&self, limit: &'static str) {
        self.add(Count::Limited, limit, 1);
    }

    /// A request whose answer began after that time.
    pub(crate) fn answered(&self, route: &str, method: &Method, status: StatusCode, time: Duration) {
        let seconds = time.as_secs_f64();
        let mut state = self.lock();
        let known = match state.routes.get_mut(route) {
            Some(known) => known,
            None => state.routes.entry(route.into()).or_default(),
        };
        *known.answers.entry((word(method), status.as_u16())).or_default() += 1;
        let bound = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        if let Some(times) = known.times.get_mut(bound) {
            *times += 1;
        }
        known.seconds += seconds;
    }

    pub(super) fn tokens(&self, usage: &Usage) {
        let kinds = [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cached", usage.cached_tokens),
            ("cache_write", usage.cache_write_tokens),
            ("reasoning", usage.reasoning_tokens),
        ];
        let mut state = self.lock();
        for (kind, tokens) in kinds {
            if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
                *state.counts.entry((Count::Tokens, kind)).or_default() += tokens;
            }
        }
    }

    pub(super) fn finished(&self, run: &str, ended: &Result<Box<Outcome>, RunError>) {
        let (outcome, reason) = match ended {
            Ok(outcome) => (&**outcome, &outcome.reason),
            Err(error) => (error.partial(), error.reason()),
        };
        let model = ended.as_ref().err().and_then(RunError::provider_error);
        let mut state = self.lock();
        *state.counts.entry((Count::Runs, reason.as_str())).or_default() += 1;
        if let Some(error) = model {
            *state.counts.entry((Count::ModelErrors, error.kind().as_str())).or_default() += 1;
        }
        let at = state.open.iter().position(|(known, _)| known == run);
        let counted = at.and_then(|at| state.open.remove(at)).map_or(0.0, |(_, cost)| cost.units());
        state.cost += (outcome.cost.known.units() - counted).max(0.0);
        if !outcome.pending.is_empty() || ended.is_err() {
            state.open.push_back((run.to_owned(), outcome.cost.known));
            while state.open.len() > MOST_OPEN {
                state.open.pop_front();
            }
        }
    }

    /// All of it as text.
    pub(crate) fn text(&self, gauges: Gauges) -> String {
        let state = self.lock();
        let mut out = Text(String::with_capacity(4096));
        let name = "attache_http_requests_total";
        out.about(name, "counter", "Answers by route and status.");
        for (route, known) in &state.routes {
            for ((method, status), count) in &known.answers {
                let status = status.to_string();
                out.sample(name, &[("route", route), ("method", method), ("status", &status)], count);
            }
        }
        let name = "attache_http_request_seconds";
        out.about(
            name,
            "histogram",
            "The time until an answer begins; a stream begins with its first event.",
        );
        for (route, known) in &state.routes {
            let mut below = 0;
            let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            for (bound, count) in bounds.zip(known.times) {
                below += count;
                let bucket = format!("{name}_bucket");
                out.sample(&bucket, &[("route", route), ("le", &bound)], below);
            }
            out.sample(&format!("{name}_sum"), &[("route", route)], known.seconds);
            out.sample(&format!("{name}_count"), &[("route", route)], below);
        }
        let mut last = None;
        for ((count, word), number) in &state.counts {
            let (name, label, help) = count.told();
            if last != Some(*count) {
                out.about(name, "counter", help);
                last = Some(*count);
            }
            out.sample(name, &[(label, word)], number);
        }
        out.about("attache_cost_total", "counter", "The known cost of runs, in the currency of the prices.");
        out.sample("attache_cost_total", &[], state.cost);
        let Gauges { runs, viewers, ring_bytes, since } = gauges;
        out.gauge("attache_runs", "Runs under way.", runs);
        out.gauge("attache_viewers", "Streams that look at runs.", viewers);
        out.gauge("attache_ring_bytes", "About the bytes of events that are kept for viewers.", ring_bytes);
        out.gauge("attache_start_time_seconds", "The start of the server, in seconds since 1970.", since);
        out.0
    }
}

/// The methods that are known here; a client may make up others.
fn word(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

struct Text(String);

impl Text {
    fn about(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string never fails.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.about(name, "gauge", help);
        self.sample(name, &[], value);
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, word)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{before}{label}=\"{word}\"");
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }
}
