//! Hooks: programs of the user's that look at a run at fixed points, and may change what the point allows.

mod hook;
mod run;

pub use hook::{CallVerdict, Draft, HookContext, HookError, InputVerdict, ReplyVerdict, RunHook};
pub(crate) use run::Hooks;
