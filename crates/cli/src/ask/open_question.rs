//! A question whose run asks the user something.

use attache_agent::AgentRun;
use attache_config::Approvals;
use attache_core::tool::wire_name;
use tokio::sync::mpsc::UnboundedReceiver;

use super::follow::{Followed, follow};
use crate::config_tools::ASKS_ITSELF;
use crate::model_by_name::SetupError;
use crate::output::{harmless, line};
#[cfg(feature = "chat")]
use crate::prompt::approve::answered;
#[cfg(feature = "chat")]
use crate::prompt::reader::{Reader, is_attended};
#[cfg(feature = "chat")]
use crate::show::style::Style;
use crate::show::style::When;
use crate::show::terminal::Terminal;
use crate::show::watch::Notice;

/// The places where a run is shown.
pub(super) struct Shows<'n> {
    pub(super) terminal: Terminal,
    pub(super) notices: &'n mut UnboundedReceiver<Notice>,
    pub(super) as_json: bool,
    #[cfg_attr(not(feature = "chat"), expect(dead_code, reason = "nobody is asked"))]
    pub(super) color: When,
    /// The approvals, with all that is allowed beforehand.
    pub(super) approvals: Approvals,
    pub(super) asks_first: bool,
}

/// Shows a run, asks the user what it asks, and goes on with it until it ends. A call stays open
/// where nobody is there to decide.
pub(super) async fn followed(
    run: AgentRun,
    again: impl Fn() -> AgentRun,
    mut shows: Shows<'_>,
) -> Result<Followed, SetupError> {
    #[cfg(feature = "chat")]
    if !shows.as_json && is_attended() {
        return asked(run, again, shows).await;
    }
    let _nobody = again;
    let followed = follow(run, &mut shows.terminal, shows.notices, shows.as_json).await;
    if let (Some(Ok(outcome)), false) = (&followed.result, shows.as_json) {
        for request in &outcome.approvals {
            let name = &request.call.name;
            // The name that `attache tools` lists.
            let shown = wire_name(name);
            let allows = |approvals: &Approvals| approvals.allows(name);
            // `--ask-first` and lists that ask count more, and some tools ask by themselves.
            let helps = !allows(&shows.approvals)
                && !shows.asks_first
                && allows(&shows.approvals.clone().with_allowed([name.as_str()]));
            let reason = match &request.reason {
                _ if helps => format!("`--allow {shown}` lets it run without asking"),
                Some(reason) => reason.clone(),
                None => ASKS_ITSELF.to_owned(),
            };
            line(&harmless(&format!("! {shown} was not run: it requires approval; {reason}")));
        }
    }
    Ok(followed)
}

#[cfg(feature = "chat")]
async fn asked(
    mut run: AgentRun,
    again: impl Fn() -> AgentRun,
    shows: Shows<'_>,
) -> Result<Followed, SetupError> {
    let Shows { terminal, notices, as_json, color, .. } = shows;
    let style = Style::of_stderr(color);
    let mut terminal = terminal.in_chat();
    let mut reader = None;
    loop {
        terminal.begin();
        let followed = follow(run, &mut terminal, notices, as_json).await;
        let Some(Ok(outcome)) = &followed.result else { return Ok(followed) };
        if outcome.approvals.is_empty() && outcome.deferred.is_empty() {
            return Ok(followed);
        }
        let reader = match &mut reader {
            Some(reader) => reader,
            none => none.insert(Reader::new(style).map_err(SetupError::new)?),
        };
        match answered(outcome, again(), reader, style).await {
            Some(next) => run = next,
            None => {
                line(&style.dim("· left open, and not run"));
                return Ok(followed);
            }
        }
    }
}
