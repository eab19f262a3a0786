//! A run shown to its end.

use std::time::Duration;

use attache_agent::{AgentRun, EndReason, EventKind, Outcome, RunError};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval};

use crate::exit::Exit;
use crate::json;
use crate::model_by_name;
use crate::output::{answer, fail, line, with_causes, written};
use crate::show::terminal::Terminal;
use crate::show::watch::Notice;
use crate::signals::LookedAfter;

/// The time between two looks at what is waited for.
const TICK: Duration = Duration::from_millis(200);

/// The end of a run that was shown.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) exit: Exit,
    /// `None` if nobody reads any more.
    pub(crate) result: Option<Result<Box<Outcome>, RunError>>,
}

/// Shows the run to its end. Ctrl-C cancels it: what was said so far stays, and the end is told.
pub(crate) async fn follow(
    mut run: AgentRun,
    terminal: &mut Terminal,
    notices: &mut UnboundedReceiver<Notice>,
    as_json: bool,
) -> Followed {
    let control = run.control();
    let signals = LookedAfter::interrupts();
    let mut interrupted = std::pin::pin!(signals.asked());
    let mut listening = true;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let event = tokio::select! {
            biased;
            _ = &mut interrupted, if listening => {
                listening = false;
                control.cancel_because("Ctrl-C");
                continue;
            }
            Some(notice) = notices.recv() => {
                tell(notice, terminal, as_json);
                continue;
            }
            event = run.next() => event,
            _ = ticks.tick(), if terminal.is_waiting() => {
                terminal.tick();
                continue;
            }
        };
        let Some(event) = event else {
            fail("the run ended without an end");
            return Followed { exit: Exit::Failed, result: None };
        };
        if let EventKind::Finished(_) = event.kind {
            // The end is the last line.
            while let Ok(notice) = notices.try_recv() {
                tell(notice, terminal, as_json);
            }
        }
        let shown = terminal.show(&event);
        let shown = if as_json { shown.and_then(|()| answer(&json::line(&event))) } else { shown };
        if shown.is_err() {
            return Followed { exit: written(shown), result: None };
        }
        if let EventKind::Finished(result) = event.kind {
            return Followed { exit: conclude(&result), result: Some(result) };
        }
    }
}

fn tell(notice: Notice, terminal: &mut Terminal, as_json: bool) {
    if let (Notice::Warned(text), true) = (&notice, as_json) {
        // A reader that has enough is told apart with the next event.
        let _unwritten = answer(&json::warning("log", text));
    }
    terminal.notice(notice);
}

fn conclude(result: &Result<Box<Outcome>, RunError>) -> Exit {
    match result {
        Ok(outcome) => match &outcome.reason {
            reason if reason.is_answer() => Exit::Done,
            EndReason::Cancelled => Exit::Cancelled,
            _ => Exit::Incomplete,
        },
        Err(error) => {
            fail(&with_causes(error));
            if let Some(advice) = error.provider_error().and_then(model_by_name::advice) {
                line(&format!("        {advice}"));
            }
            Exit::Failed
        }
    }
}
