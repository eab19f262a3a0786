//! The session that is meant.

use clap::Args;

/// The conversation that a question belongs to.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Choice {
    /// Continue the most recently used session
    #[arg(short = 'c', long = "continue", conflicts_with = "session")]
    pub(crate) last: bool,
    /// Continue the session with this id, or with the only id that begins with it; a new id starts a session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

impl Choice {
    /// True if a session is named.
    pub(crate) fn is_chosen(&self) -> bool {
        self.last || self.session.is_some()
    }
}
