//! Addresses of documents, as clients are told them and as they send them back.

use attache_core::DocumentId;

/// A text as one part of an address, or as a value of a header. (RFC 3986 section 2.1, RFC 8187 section 3.2.1)
pub(crate) fn encoded(text: &str) -> String {
    let mut coded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => coded.push(byte.into()),
            byte => coded.push_str(&format!("%{byte:02X}")),
        }
    }
    coded
}

/// True for an address with a host.
pub(crate) fn is_web(url: &str) -> bool {
    let begins =
        |scheme: &str| url.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
    begins("http://") || begins("https://")
}

/// The addresses of the documents of a session.
#[derive(Clone, Debug)]
pub(crate) struct Addresses(String);

impl Addresses {
    pub(crate) fn new(base: &str, session: &str) -> Self {
        Self(format!("{base}/v1/sessions/{}/documents/", encoded(session)))
    }

    pub(crate) fn of(&self, document: &DocumentId) -> String {
        format!("{}{}", self.0, encoded(document.as_str()))
    }
}

/// A document by the address that a client was told: an upload, or one of a session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Addressed {
    pub(crate) session: Option<String>,
    pub(crate) id: String,
}

impl Addressed {
    /// Reads an address, whatever stands before the version of the routes: pages may know them under another path.
    pub(crate) fn read(url: &str) -> Option<Self> {
        let path = url.split(['?', '#']).next()?;
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            [.., "v1", "sessions", session, "documents", id] => {
                Some(Self { session: Some(decoded(session)?), id: decoded(id)? })
            }
            [.., "v1", "documents", id] => Some(Self { session: None, id: decoded(id)? }),
            _ => None,
        }
    }
}

/// A part of an address as a text; `None` if it is none.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_told() {
        let id = DocumentId::parse("é 1/2").unwrap();
        for session in ["s", "of:a/b #1?", "100%", "é", "v1"] {
            let told = Addresses::new("/api/v1", session).of(&id);
            assert!(told.is_ascii() && !told.contains(['#', '?', ' ']), "{told}");
            let read = Addressed::read(&format!("https://h.example{told}?download#page=2"));
            assert_eq!(read, Some(Addressed { session: Some(session.to_owned()), id: id.to_string() }));
        }
        assert_eq!(
            Addressed::read("/v1/documents/1-2"),
            Some(Addressed { session: None, id: "1-2".to_owned() })
        );
        for none in [
            "/v1/documents/",
            "/v1/documents/%2",
            "/v1/documents/%ff",
            "/v1/documents/1/text",
            "/v2/documents/1",
            "",
        ] {
            assert_eq!(Addressed::read(none), None, "{none}");
        }
    }
}
