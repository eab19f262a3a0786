//! Rust framework for LLM agents whose tools return documents.
