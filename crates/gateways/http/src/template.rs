//! Paths with parameters in braces.

use attache_transport::{percent_decoded, percent_encoded};

use crate::error::HttpToolsError;

/// A path below a base URL, such as `/orders/{id}/items`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Name(String),
}

impl Template {
    /// Reads a path. Characters that must be encoded in its texts are; encoded ones stay.
    pub(crate) fn parse(path: &str) -> Result<Self, HttpToolsError> {
        let bad = |why: &str| Err(HttpToolsError::new(format!("its path {path:?} {why}")));
        if path.contains("://") || path.starts_with("//") {
            return bad("is an address; the base URL is for the set of tools to say");
        }
        if path.contains(['?', '#', '\\']) || path.chars().any(char::is_control) {
            return bad("holds more than a path");
        }
        let mut pieces =
            vec![Piece::Text(if path.starts_with('/') { String::new() } else { "/".to_owned() })];
        let mut rest = path;
        while let Some((text, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return bad("has a brace that does not end");
            };
            if name.is_empty() || name.contains('{') {
                return bad("has braces without a name in them");
            }
            pieces.push(Piece::Text(kept(text)));
            pieces.push(Piece::Name(name.to_owned()));
            rest = after;
        }
        pieces.push(Piece::Text(kept(rest)));
        let this = Self(pieces);
        match this.write(|_| Some("x".to_owned())) {
            Ok(_) => Ok(this),
            Err(_) => bad("has `.` or `..` in it"),
        }
    }

    /// The names in braces, in order, each once.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for piece in &self.0 {
            if let Piece::Name(name) = piece
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        names
    }

    /// The path with `value` in place of each name, encoded already.
    ///
    /// # Errors
    /// The name that has no value, or whose value would make another path of it: a step that is `.` or `..`, which
    /// servers and proxies take out, encoded or not.
    pub(crate) fn write(&self, value: impl Fn(&str) -> Option<String>) -> Result<String, Unfit> {
        let mut path = String::new();
        // The step that is being written: where it begins, and the last name in it.
        let (mut begins, mut within): (usize, Option<&String>) = (0, None);
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => {
                    for (at, step) in text.split('/').enumerate() {
                        if at > 0 {
                            check_step(path.get(begins..), within)?;
                            path.push('/');
                            (begins, within) = (path.len(), None);
                        }
                        path.push_str(step);
                    }
                }
                Piece::Name(name) => {
                    let value = value(name).filter(|value| !leads_away(value));
                    path.push_str(&value.ok_or_else(|| Unfit { name: Some(name.clone()) })?);
                    within = Some(name);
                }
            }
        }
        check_step(path.get(begins..), within)?;
        Ok(path)
    }
}

fn check_step(step: Option<&str>, within: Option<&String>) -> Result<(), Unfit> {
    match step.is_some_and(|step| is_dots(step) || leads_away(step)) {
        true => Err(Unfit { name: within.cloned() }),
        false => Ok(()),
    }
}

/// The parameter whose value cannot stand in a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub(crate) name: Option<String>,
}

/// True if a proxy that decodes slashes too early would see a step up in it.
fn leads_away(value: &str) -> bool {
    let decoded = percent_decoded(value);
    let mut steps = decoded.split(|byte| matches!(byte, b'/' | b'\\')).peekable();
    let first = steps.next();
    steps.peek().is_some() && first.into_iter().chain(steps).any(|step| named(step) == b"..")
}

fn is_dots(step: &str) -> bool {
    matches!(named(&percent_decoded(step)), b"." | b"..")
}

/// A step without its parameters, which some servers take away before they look at it.
fn named(step: &[u8]) -> &[u8] {
    step.split(|byte| *byte == b';').next().unwrap_or_default()
}

/// A text of a path as it stands in a request.
fn kept(text: &str) -> String {
    let mut kept = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/%".contains(c) {
            kept.push(c);
        } else {
            kept.push_str(&percent_encoded(c.to_string().as_bytes()));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &str, value: &str) -> Result<String, Unfit> {
        Template::parse(path).unwrap().write(|_| Some(percent_encoded(value.as_bytes())))
    }

    // A20
    #[test]
    fn values_stay_one_step() {
        for (value, path) in [
            ("7", "/orders/7/items"),
            ("a/b", "/orders/a%2Fb/items"),
            ("a?b#c", "/orders/a%3Fb%23c/items"),
            ("100%", "/orders/100%25/items"),
            ("%2e%2e", "/orders/%252e%252e/items"),
            ("ü&=+;", "/orders/%C3%BC%26%3D%2B%3B/items"),
            ("...", "/orders/.../items"),
        ] {
            assert_eq!(written("/orders/{id}/items", value).as_deref(), Ok(path));
        }
        for dots in [".", "..", "../..", "a/../../b", "..\\x", "/.."] {
            assert!(written("orders/{id}", dots).is_err(), "{dots}");
        }
        assert!(written("/files/.{name}", ".").is_err(), "dots meet dots");
        assert!(written("/files/.{name}", "./x").is_err(), "dots meet a step up");
        assert!(
            written("/{id};v=1", "..").is_err() && written("/a/{id}", "..;x").is_err(),
            "with parameters"
        );
        assert_eq!(written("/{id};v=1", "7").as_deref(), Ok("/7;v=1"));
        assert_eq!(written("/files/{name}.json", "..").as_deref(), Ok("/files/...json"));
    }

    #[test]
    fn paths_that_are_none_are_refused() {
        for bad in
            ["https://h/x", "//h/x", "/a?b", "/a#b", "/a/../b", "/{", "/{}", "/a/./b", "/a\nb", "/{a{b}}"]
        {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Template::parse("/{a}/{b}/{a}").unwrap().names(), ["a", "b"]);
        assert_eq!(written("/a b/%20/{x}", "1").as_deref(), Ok("/a%20b/%20/1"));
    }
}
