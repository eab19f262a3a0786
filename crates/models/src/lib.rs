//! Models by name, and wrappers around models.
//!
//! [`Registry`] turns `provider/model` into a [`ModelHandle`](attache_core::ModelHandle), or into the codec that shows
//! what would be sent. It contains the providers whose features are enabled, every bundled profile of a compatible
//! server, and additions from a configuration or from code:
//!
//! ```
//! use attache_models::Registry;
//! let registry = Registry::bundled().with_config(
//!     "[providers.work]\nlike = 'openai-chat'\nbase_url = 'https://llm.example/v1'\nkey.required = false\n\
//!      [models]\nfast = 'work/small'",
//! )?;
//! assert_eq!(registry.model("fast")?.id(), "work/small");
//! let unknown = registry.model("wrok/small").unwrap_err();
//! assert!(unknown.to_string().contains("did you mean work/small?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bundled;
mod config;
mod error;
mod http;
mod layer;
mod recorded;
mod registry;
mod uploads;

pub use config::ConfigError;
pub use error::{RegistryError, Unresolved};
pub use http::HttpSettings;
pub use layer::{
    ConcurrencyLimit, Fallback, Layer, LeakedCalls, Logged, RateLimit, Retry, SwitchRule, TextTools, layered,
};
pub use registry::{Registry, Settings};

#[doc(inline)]
pub use attache_transport::{
    Auth, EndedExchange, Hook, HttpClient, RequestParts, RetryPolicy, Timeouts, UploadedFile, Uploads,
};
