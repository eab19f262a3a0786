//! Models by name, and wrappers around models.
