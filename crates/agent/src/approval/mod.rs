//! Approvals: the policy that says which calls need one, and the decisions that people take about them.

mod decide;
mod error;
mod policy;

pub use decide::decide;
pub(crate) use decide::{deny_all, is_expired, settled, stands};
pub use error::DecideError;
pub(crate) use policy::judged;
pub use policy::{ApprovalPolicy, Ask, Proposal, Verdict};
