//! Text for people: styles, tables, and a run as it goes.

mod closing;
pub(crate) mod markdown;
pub(crate) mod number;
pub(crate) mod routed;
pub(crate) mod status;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod watch;
pub(crate) mod width;
pub(crate) mod wrap;
