//! HTTP endpoints as tools of agents: declared in code, in a configuration, or by an OpenAPI document.
//!
//! | need | type |
//! | --- | --- |
//! | one endpoint, and what the model writes of it | [`Endpoint`], [`Parameter`] |
//! | the endpoints of a service as a family of tools | [`HttpTools`] |
//! | the endpoints that an OpenAPI document describes | [`OpenApi`] |
//! | a service in a configuration | [`HttpToolsConfig`] |
//! | headers and cookies of the caller that a tool passes on | [`CallerHeaders`] |
//! | a router of axum in this process in place of the network | [`HttpTools::with_service`], feature `tower` |
//!
//! A file that an endpoint answers with becomes a document of the tool's result, so that the model sees it.
//! Decisions are in `docs/adr/0024-endpoints-as-tools.md`.

mod base;
mod body;
mod caller;
mod config;
mod endpoint;
mod error;
mod fixed_values;
mod members;
mod openapi;
mod parameter;
mod request;
mod response;
mod send;
mod service;
mod skipped;
mod template;
mod tools;
mod write;

pub use caller::CallerHeaders;
pub use config::{EndpointConfig, HttpToolsConfig};
pub use endpoint::{BodyFormat, Endpoint};
pub use error::HttpToolsError;
pub use openapi::{OpenApi, Operation};
pub use parameter::{Parameter, Place, Style};
pub use response::HttpOutput;
pub use send::Redirects;
pub use skipped::Skipped;
pub use tools::HttpTools;
