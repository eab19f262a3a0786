//! HTTP services whose endpoints are tools.

use std::collections::BTreeMap;

use attache_http_tools::{HttpTools, HttpToolsError};

use crate::config::Config;
use crate::problem::Problem;

impl Config {
    /// The services, sorted by name.
    ///
    /// # Errors
    /// All invalid services. [`Config::of`] has already reported them.
    pub fn http_tools(&self) -> Result<Vec<HttpTools>, Vec<Problem>> {
        let mut services = BTreeMap::new();
        for read in &self.files {
            services.extend(read.sections.http.iter().map(|(name, service)| (name, (read, service))));
            for unset in read.unset.iter().filter(|unset| unset.section == "http") {
                services.remove(&unset.name);
            }
        }
        let (mut made, mut problems) = (Vec::new(), Vec::new());
        for (name, (read, service)) in services {
            let path = format!("http.{name}.openapi");
            let document = |_: &str| match read.file.named(&path).map(|named| (&named.place, &named.text)) {
                Some((_, Ok(text))) => Ok(text.clone()),
                Some((place, Err(problem))) => {
                    Err(HttpToolsError::new(format!("{} cannot be read: {problem}", place.display())))
                }
                None => Err(HttpToolsError::new("the OpenAPI document was not read")),
            };
            match service.checked_tools(name, document) {
                Ok(tools) => made.push(tools),
                Err(errors) => problems.extend(errors.into_iter().map(|error| match error.place() {
                    "" => read.problem(&format!("http.{name}"), &format!("cannot be made: {error}"), None),
                    place if place.ends_with(']') && !place.contains('.') => read.problem(
                        &format!("http.{name}.{place}"),
                        &format!("cannot be made: {error}"),
                        None,
                    ),
                    place => read.problem(&format!("http.{name}.{place}"), error.message(), None),
                })),
            }
        }
        if problems.is_empty() { Ok(made) } else { Err(problems) }
    }
}
