//! Hooks: programs of the user's that look at a run at fixed points, and may change what the point allows.

mod hook;
mod recall;
mod run;

pub use hook::{CallVerdict, Draft, HookContext, HookError, InputVerdict, ReplyVerdict, RunHook};
pub use recall::{RECALLED, Recall};
pub(crate) use run::{Hooks, changed};
