//! The offline model as an agent sees it.

mod contract;
mod hostile;
mod inbox;
mod support;
