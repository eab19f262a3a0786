//! Cohere's chat API, version 2, for attache.
