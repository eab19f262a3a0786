//! Endpoints that an OpenAPI document describes, 3.0, 3.1 and 3.2.

mod description;
mod document;
mod file;
mod names;
mod operation;
mod parameters;
mod path_item;
mod reference;
mod request_body;
mod schema;
mod security;
#[cfg(feature = "yaml")]
mod yaml;

use crate::endpoint::Endpoint;
use crate::error::HttpToolsError;
use crate::skipped::Skipped;
use crate::tools::HttpTools;

pub use self::document::{OpenApi, Operation};

use self::names::Names;
use self::operation::Reader;

impl OpenApi {
    /// The operations as a family of tools.
    ///
    /// # Errors
    /// If no base URL is known, or a credential is of no scheme of the document, or a variable of none of its servers.
    pub fn tools(&self, name: impl Into<String>) -> Result<HttpTools, HttpToolsError> {
        let (endpoints, skipped) = self.read()?;
        let mut tools = HttpTools::new(name, &self.base()?.url)?.with_endpoints(endpoints)?;
        tools.skipped = skipped;
        Ok(tools)
    }

    /// The operations as endpoints.
    ///
    /// # Errors
    /// See [`tools`](Self::tools).
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, HttpToolsError> {
        Ok(self.read()?.0)
    }

    /// The operations that became no tool, but for those that the filter left out, and the paths that could not be read as a
    /// whole.
    ///
    /// # Errors
    /// See [`tools`](Self::tools).
    pub fn skipped(&self) -> Result<Vec<Skipped>, HttpToolsError> {
        Ok(self.read()?.1)
    }

    /// All operations, in the order of the document.
    pub(crate) fn operations(&self) -> Result<Vec<Operation>, HttpToolsError> {
        Ok(Reader::new(self)?.operations().0.into_iter().map(|found| found.operation).collect())
    }

    pub(crate) fn read(&self) -> Result<(Vec<Endpoint>, Vec<Skipped>), HttpToolsError> {
        let reader = Reader::new(self)?;
        let mut endpoints = Vec::new();
        let (all, mut skipped) = reader.operations();
        let mut names = Names::default();
        for found in all {
            let operation = &found.operation;
            if self.filter.as_ref().is_some_and(|filter| !filter(operation)) {
                continue;
            }
            let skip = |why: String| Skipped { operation: operation.id.clone(), why };
            if operation.is_deprecated && !self.deprecated {
                skipped.push(skip("it is deprecated".to_owned()));
                continue;
            }
            let name = names.free(&format!("{}{}", self.prefix, operation.id));
            match reader.endpoint(&found, name) {
                Ok(endpoint) => endpoints.push(endpoint),
                Err(error) => skipped.push(skip(error.to_string())),
            }
        }
        for skipped in &skipped {
            tracing::debug!(operation = skipped.operation, why = skipped.why, "an operation is no tool");
        }
        Ok((endpoints, skipped))
    }
}
