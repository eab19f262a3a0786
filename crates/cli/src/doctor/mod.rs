//! `attache doctor`: what works at an endpoint, beside what the capability table says.
//!
//! [`plan`] makes the probes, [`examine`] puts and judges them, [`profile`] writes down what differs. A document
//! counts as read only where the reply names the number that it holds.

mod cell;
mod examine;
mod finding;
mod judge;
mod media;
mod plan;
mod profile;
mod reach;

use std::path::Path;
use std::time::Duration;

use attache_models::{Registry, Unresolved};
use serde_json::json;

use self::examine::{Examination, Patient, Ready, Stop};
use self::finding::{Ended, Finding, Verdict};
use crate::args;
use crate::exit::Exit;
use crate::model_by_name::{self, SetupError};
use crate::output::{answer, fail, harmless, line, short, written};
use crate::overlay::{may_write, overlay};
use crate::replace_file::put;
use crate::show::table::{Table, filled};
use crate::show::width::terminal_width;

/// The tokens that may be spent without `--yes`.
const MODEST: u64 = 200_000;

/// Runs the command. Ctrl-C ends it at once.
pub(crate) async fn run(doctor: &args::Doctor, capabilities: Option<&Path>, registry: &Registry) -> Exit {
    tokio::select! {
        exit = Box::pin(visit(doctor, capabilities, registry)) => exit,
        Ok(()) = tokio::signal::ctrl_c() => {
            line("attache: cancelled; nothing was saved");
            Exit::Cancelled
        }
    }
}

async fn visit(doctor: &args::Doctor, capabilities: Option<&Path>, registry: &Registry) -> Exit {
    let registry = model_by_name::at(registry, doctor.base_url.as_deref());
    if let Err(error) = registry.codec(&doctor.model)
        && matches!(error.reason, Unresolved::NoWire)
        && doctor.base_url.is_none()
    {
        return inside(doctor, &registry);
    }
    let limit = Duration::from_secs(doctor.timeout);
    let patient = match Patient::new(&registry, &doctor.model, limit) {
        Ok(patient) => patient,
        Err(error) => {
            fail(&error.to_string());
            return Exit::Setup;
        }
    };
    if let Some(file) = doctor.save.as_deref()
        && let Err((exit, problem)) = may_write(file, profile::MARK, capabilities)
    {
        fail(&format!("{}: {problem}", file.display()));
        return exit;
    }
    let probes = plan::plan(&patient.row, doctor.max_tokens);
    let probes: Vec<Ready> = probes.into_iter().map(|probe| patient.ready(probe)).collect();
    let cost = Cost::of(&probes);
    let host = host(&patient.url);
    line(&format!(
        "· {} at {}: at most {} requests, about {} tokens read and {} written at most",
        harmless(patient.name()),
        harmless(&host),
        cost.requests,
        cost.read,
        cost.written
    ));
    if cost.read + cost.written > MODEST && !doctor.yes {
        line("attache: this may be expensive; confirm it with --yes, or reduce it with --max-tokens");
        return Exit::Usage;
    }
    let mut shown = Ok(());
    let examination = patient.examine(probes, |finding| {
        if doctor.json {
            shown = answer(&format!("{}\n", finding.json()));
        } else if finding.ended != Ended::Skipped {
            line(&format!("· {}: {}", finding.title, finding.ended));
        }
    });
    let examination = Box::pin(examination).await;
    if shown.is_err() {
        return written(shown);
    }
    conclude(doctor, &patient, &host, &examination)
}

fn conclude(doctor: &args::Doctor, patient: &Patient<'_>, host: &str, examination: &Examination) -> Exit {
    let told = if doctor.json {
        answer(&format!("{}\n", summary(patient, examination)))
    } else {
        answer(&format!(
            "{}\n{}",
            rows(&examination.findings).render(terminal_width()),
            footer(patient, examination)
        ))
    };
    if told.is_err() {
        return written(told);
    }
    if let Some(file) = doctor.save.as_deref()
        && let Err(problem) = save(file, patient, host, examination)
    {
        fail(&format!("{}: {problem}", file.display()));
        return Exit::Setup;
    }
    exit(examination)
}

/// The exit status of an examination.
fn exit(examination: &Examination) -> Exit {
    match examination.stopped {
        Some(Stop::Setup) => Exit::Setup,
        _ if examination.count(Verdict::Differs) > 0 => Exit::Failed,
        Some(Stop::Silent) => Exit::Incomplete,
        None if examination.count(Verdict::Unclear) > 0 => Exit::Incomplete,
        None => Exit::Done,
    }
}

/// A model without a wire.
fn inside(doctor: &args::Doctor, registry: &Registry) -> Exit {
    if let Err(error) = registry.model(&doctor.model) {
        fail(&SetupError::from(error).to_string());
        return Exit::Setup;
    }
    let name = short(&doctor.model, 200);
    let text = if doctor.json {
        json!({ "type": "summary", "model": doctor.model, "network": false }).to_string()
    } else {
        format!(
            "{name} runs inside this process: it needs no network and no key, and there is no endpoint to probe"
        )
    };
    written(answer(&format!("{text}\n")))
}

/// The maximum cost of the probes.
#[derive(Debug, Default)]
struct Cost {
    requests: u64,
    read: u64,
    written: u64,
}

impl Cost {
    fn of(probes: &[Ready]) -> Self {
        probes.iter().filter_map(|ready| Some((&ready.probe, ready.sent.as_ref().ok()?))).fold(
            Self::default(),
            |cost, (probe, (_, request))| {
                let written = u64::from(request.settings.max_tokens.unwrap_or_default());
                Self {
                    requests: cost.requests + probe.times(),
                    read: cost.read + probe.times() * probe.tokens,
                    written: cost.written + probe.times() * written,
                }
            },
        )
    }
}

fn rows(findings: &[Finding]) -> Table {
    let mut table = Table::new(["probe", "result", "matrix", "verdict", "what was seen"]);
    for finding in findings {
        table.row([
            &finding.title,
            finding.ended.as_str(),
            finding.says.unwrap_or("-"),
            finding.verdict.as_str(),
            &finding.detail,
        ]);
    }
    table
}

fn footer(patient: &Patient<'_>, examination: &Examination) -> String {
    let row = &patient.row;
    let source = match row.row.as_str() {
        "default" => format!("the default row of {}", row.family),
        "unknown" => format!("nothing, since the family {} is not in the table", row.family),
        pattern => format!("the row {pattern} of {}", row.family),
    };
    let spent = match (examination.usage.input_tokens, examination.usage.output_tokens) {
        (Some(input), Some(output)) => {
            format!("{input} tokens read and {output} written, as the server counts")
        }
        _ => "the server reports no tokens".to_owned(),
    };
    let early = match examination.stopped {
        Some(_) => "It ended early: what was skipped would have failed as well.\n",
        None => "",
    };
    let text = format!(
        "The matrix column is {source}. {} agree, {} differ, {} unclear; {spent}.\n{early}\
         Not probed: sizes, counts of documents, pages, the window, failed tool results.",
        examination.count(Verdict::Agrees),
        examination.count(Verdict::Differs),
        examination.count(Verdict::Unclear),
    );
    filled(&text, terminal_width())
}

fn summary(patient: &Patient<'_>, examination: &Examination) -> serde_json::Value {
    json!({
        "type": "summary",
        "model": patient.name(),
        "network": true,
        "row": patient.row.row,
        "family": patient.row.family,
        "agree": examination.count(Verdict::Agrees),
        "differ": examination.count(Verdict::Differs),
        "unclear": examination.count(Verdict::Unclear),
        "complete": examination.stopped.is_none(),
        "input_tokens": examination.usage.input_tokens,
        "output_tokens": examination.usage.output_tokens,
    })
}

fn save(file: &Path, patient: &Patient<'_>, host: &str, examination: &Examination) -> Result<(), String> {
    let wanted = profile::corrected(&patient.row, examination);
    let overlay = overlay(patient.registry(), patient.name(), &patient.row, &wanted)?;
    // A profile of an earlier time would lose what it says.
    let is_there = std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() > 0);
    let left = match examination.stopped {
        Some(_) if is_there || overlay.is_empty() => Some("it ended early"),
        None if is_there && overlay.is_empty() => Some("nothing differs"),
        _ => None,
    };
    if let Some(reason) = left {
        line(&format!("· {reason}; {} was not written", file.display()));
        return Ok(());
    }
    let text = profile::file(&overlay, patient.name(), host, examination);
    put(file, &text).map_err(|error| error.to_string())?;
    line(&match overlay.is_empty() {
        true => format!("· nothing differs; see {}", file.display()),
        false => format!("· the differences are in {}: pass it to --capabilities", file.display()),
    });
    Ok(())
}

/// The host and port of a URL, without anything that may be secret.
fn host(url: &str) -> String {
    let authority = url.parse::<http::Uri>().ok().and_then(|uri| uri.authority().cloned());
    let authority =
        authority.map(|authority| authority.as_str().rsplit('@').next().unwrap_or_default().to_owned());
    authority.unwrap_or_else(|| "an address that is none".to_owned())
}

#[cfg(test)]
mod tests;
