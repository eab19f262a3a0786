//! The session that is meant.

use clap::Args;

/// The conversation that a question belongs to.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Choice {
    /// Go on with the session that was used last
    #[arg(short = 'c', long = "continue", conflicts_with = "session")]
    pub(crate) last: bool,
    /// Go on with the session of this id, or of the only id that begins so; a new id begins a session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

impl Choice {
    /// True if a session is named.
    pub(crate) fn is_chosen(&self) -> bool {
        self.last || self.session.is_some()
    }
}
