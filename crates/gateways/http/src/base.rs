//! Base URLs, to whose origin credentials are bound.

use attache_transport::Origin;
use http::Uri;

use crate::error::HttpToolsError;

/// The URL that the paths of endpoints stand behind. It comes from configuration, and from nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) origin: Origin,
}

impl Base {
    pub(crate) fn parse(text: &str) -> Result<Self, HttpToolsError> {
        let no_base = |why: &str| HttpToolsError::new(format!("the base URL {why}"));
        let text = text.trim();
        if text.contains(['?', '#']) {
            return Err(no_base(
                "has a query or a fragment; parameters that never change are `with_fixed_query`",
            ));
        }
        let uri: Uri = text.parse().map_err(|_| no_base("is none"))?;
        let origin = Origin::of(&uri)
            .ok_or_else(|| no_base("must begin with http:// or https://, and name a host"))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(no_base("holds a user name; credentials are given apart"));
        }
        let has_dots = uri.path().split('/').any(|step| matches!(step, "." | ".."));
        if has_dots {
            return Err(no_base("has `.` or `..` in its path"));
        }
        Ok(Self { url: text.trim_end_matches('/').to_owned(), origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_that_are_none_are_refused() {
        assert_eq!(Base::parse(" https://h/v1/ ").unwrap().url, "https://h/v1");
        for bad in ["", "/v1", "ftp://h", "https://u:p@h/", "https://h/?a=1", "https://h/a/../b", "https://"]
        {
            assert!(Base::parse(bad).is_err(), "{bad}");
        }
    }
}
