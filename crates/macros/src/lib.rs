//! The #[tool] and #[toolbox] attributes of attache.
