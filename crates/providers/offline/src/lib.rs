//! A deterministic extractive model for attache: no key, no network, no weights.
