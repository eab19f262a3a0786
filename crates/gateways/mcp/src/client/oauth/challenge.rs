//! The words in which a server says that it wants a token, or one with more rights.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

const SCHEME: &str = "bearer";

/// A challenge of the scheme `Bearer`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// The place at which the server names the givers of its tokens.
    pub(crate) metadata: Option<String>,
    /// The rights that it wants.
    pub(crate) scope: Option<String>,
    pub(crate) error: Option<String>,
}

impl Challenge {
    /// The challenge of an answer, if it has one.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        headers.get_all(WWW_AUTHENTICATE).iter().find_map(|value| Self::parse(value.to_str().ok()?))
    }

    /// True if the token is good, and has too few rights.
    pub(crate) fn lacks_rights(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let (at, _) = lower.match_indices(SCHEME).find(|(at, _)| {
            // A scheme stands at the beginning, or behind the parameters of another, and in no quotes.
            let before = text.get(..*at).unwrap_or_default().trim_end();
            let ends = text.get(at + SCHEME.len()..).unwrap_or_default();
            (before.is_empty() || before.ends_with(','))
                && !is_in_quotes(before)
                && !ends.starts_with(|c: char| !c.is_whitespace() && c != ',')
        })?;
        let mut challenge = Self::default();
        for (name, value) in parameters(text.get(at + SCHEME.len()..).unwrap_or_default()) {
            match &*name {
                "resource_metadata" => challenge.metadata = Some(value),
                "scope" => challenge.scope = Some(value),
                "error" => challenge.error = Some(value),
                _ => {}
            }
        }
        Some(challenge)
    }
}

/// True if a quoted text is open at the end of this one.
fn is_in_quotes(text: &str) -> bool {
    let (mut is_open, mut chars) = (false, text.chars());
    while let Some(c) = chars.next() {
        match c {
            '"' => is_open = !is_open,
            '\\' if is_open => drop(chars.next()),
            _ => {}
        }
    }
    is_open
}

/// Parameters such as `a="b c", d=e`, as far as the challenge of another scheme.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((name, behind)) = rest.split_once('=') {
        let name = name.trim_matches(|c: char| c == ',' || c.is_whitespace()).to_ascii_lowercase();
        if name.contains(|c: char| c == ',' || c.is_whitespace()) {
            break;
        }
        let behind = behind.trim_start();
        let (value, next) = match behind.strip_prefix('"') {
            Some(quoted) => {
                let mut value = String::new();
                let mut chars = quoted.char_indices();
                let mut end = quoted.len();
                while let Some((at, c)) = chars.next() {
                    match c {
                        '"' => {
                            end = at + 1;
                            break;
                        }
                        '\\' => value.extend(chars.next().map(|(_, c)| c)),
                        c => value.push(c),
                    }
                }
                (value, quoted.get(end..).unwrap_or_default())
            }
            None => {
                let end = behind.find([',', ' ']).unwrap_or(behind.len());
                let (value, next) = behind.split_at(end);
                (value.to_owned(), next)
            }
        };
        found.push((name, value));
        rest = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_as_rfc_9110_writes_them() {
        for (text, metadata, scope, error) in [
            ("Bearer", None, None, None),
            (r#"Bearer realm="x, y", scope="a b""#, None, Some("a b"), None),
            (
                r#"bearer resource_metadata="https://a/b?c=d",error=invalid_token"#,
                Some("https://a/b?c=d"),
                None,
                Some("invalid_token"),
            ),
            (
                r#"Basic realm="x", Bearer error="insufficient_scope" , scope = "a\"b""#,
                None,
                Some("a\"b"),
                Some("insufficient_scope"),
            ),
            (r#"Bearer scope="never ends"#, None, Some("never ends"), None),
            // Others stand beside it.
            (r#"Bearer scope="a", DPoP algs="x", scope="b", error="c""#, None, Some("a"), None),
            (r#"Bearer error="invalid_token", Bearer scope="b""#, None, None, Some("invalid_token")),
            (r#"Bearer scope="a", Negotiate, Basic realm="x", error="b""#, None, Some("a"), None),
            (r#"Basic realm="no bearer, bearer", Bearer scope="a" error=b"#, None, Some("a"), Some("b")),
        ] {
            let read = Challenge::parse(text).unwrap();
            assert_eq!(
                (read.metadata.as_deref(), read.scope.as_deref(), read.error.as_deref()),
                (metadata, scope, error),
                "{text}"
            );
        }
        assert_eq!(Challenge::parse(r#"Basic realm="x""#), None);
        assert_eq!(Challenge::parse("NotBearer x=y"), None);
        assert_eq!(Challenge::parse("BearerOfNews x=y"), None);
    }
}
