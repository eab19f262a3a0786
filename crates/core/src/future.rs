//! Boxed futures.

use std::future::Future;
use std::pin::Pin;

/// A boxed future, for traits that are used as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
