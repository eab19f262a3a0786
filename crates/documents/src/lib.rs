//! Which document reaches which model how, as pure functions.
