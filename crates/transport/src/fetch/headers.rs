//! The type and name that a server gives a document.

use attache_core::MediaType;
use http::HeaderMap;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::target::Target;
use crate::request::percent_decoded;

/// Longer names are cut.
const LONGEST_NAME: usize = 200;

/// The media type of a body, if its server says one that means something.
pub fn said_media_type(headers: &HeaderMap) -> Option<MediaType> {
    let declared = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let media_type = MediaType::resolve(Some(declared), None, None);
    (media_type != MediaType::octet_stream()).then_some(media_type)
}

/// The media type of bytes of which their sender says one. `text/plain` is what senders say of files that they do not know:
/// it counts where the bytes say nothing else.
pub fn media_type_of(said: &str, bytes: &[u8]) -> String {
    let is_plain = MediaType::parse(said).is_some_and(|said| said.essence() == "text/plain");
    if !is_plain {
        return said.to_owned();
    }
    let shown = MediaType::resolve(None, Some(bytes), None);
    let says_more = shown.essence() != "text/plain" && shown != MediaType::octet_stream();
    if says_more { shown.to_string() } else { said.to_owned() }
}

/// The file name: what the server says, else the end of an address, if it is one by its extension. (It may be a token
/// otherwise, and names are shown to the model.)
pub(super) fn file_name(headers: &HeaderMap, addresses: [&Target; 2]) -> Option<String> {
    named_file(headers).or_else(|| {
        addresses.into_iter().find_map(|address| {
            let name = plain_name(&String::from_utf8(percent_decoded(address.last_step())).ok()?)?;
            MediaType::from_file_name(&name).map(|_| name)
        })
    })
}

/// The file name that a server says with a body, without folders and characters that show nothing. (RFC 6266)
pub fn named_file(headers: &HeaderMap) -> Option<String> {
    disposition(headers.get(CONTENT_DISPOSITION)?.as_bytes())
}

/// The name in a `content-disposition`; the extended form wins. (RFC 6266 section 4.3)
fn disposition(value: &[u8]) -> Option<String> {
    // Most servers write UTF-8 where the standard has Latin-1.
    let value = match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().copied().map(char::from).collect(),
    };
    let mut plain = None;
    for (name, value) in parameters(&value) {
        if name.eq_ignore_ascii_case("filename*") {
            if let Some(name) = extended(&value).and_then(|name| plain_name(&name)) {
                return Some(name);
            }
        } else if name.eq_ignore_ascii_case("filename") {
            plain = plain.or_else(|| plain_name(&value));
        }
    }
    plain
}

/// The parameters of a header: names, and values without their quotes.
fn parameters(text: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let Some((_, mut rest)) = text.split_once(';') else { return found };
    while let Some((name, value)) = rest.split_once('=') {
        let (value, after) = match value.trim_start().strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let end = value.find(';').unwrap_or(value.len());
                let (value, after) = value.split_at(end);
                (value.trim().to_owned(), after)
            }
        };
        found.push((name.trim_matches(|c: char| c == ';' || c.is_ascii_whitespace()), value));
        rest = after.trim_start().trim_start_matches(';');
    }
    found
}

/// A quoted string whose first quote is behind us, and what follows it.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return (value, text.get(at + 1..).unwrap_or_default()),
            c => {
                value.push(c);
                escaped = false;
            }
        }
    }
    (value, "")
}

/// `charset'language'percent-encoded`. (RFC 8187)
fn extended(value: &str) -> Option<String> {
    let mut pieces = value.splitn(3, '\'');
    let (charset, _, text) = (pieces.next()?, pieces.next()?, pieces.next()?);
    let bytes = percent_decoded(text);
    if charset.eq_ignore_ascii_case("utf-8") {
        String::from_utf8(bytes).ok()
    } else {
        let latin = charset.eq_ignore_ascii_case("iso-8859-1");
        latin.then(|| bytes.into_iter().map(char::from).collect())
    }
}

/// A name without folders and characters that show nothing.
fn plain_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown: String = last.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let shown = shown.trim();
    (!shown.is_empty() && !shown.chars().all(|c| c == '.')).then(|| shown.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(value: &str) -> Option<String> {
        disposition(value.as_bytes())
    }

    // RFC 6266 section 5, RFC 8187 section 3.2.3, and what is seen besides.
    #[test]
    fn names_of_dispositions() {
        let name = |value| named(value).unwrap();
        assert_eq!(name("Attachment; filename=example.html"), "example.html");
        assert_eq!(name(r#"INLINE; FILENAME= "an example.html""#), "an example.html");
        assert_eq!(name("attachment; filename*= UTF-8''%e2%82%ac%20rates"), "€ rates");
        let both = r#"attachment; filename="EURO rates"; filename*=utf-8'en'%e2%82%ac%20rates"#;
        assert_eq!(name(both), "€ rates");
        assert_eq!(name("attachment; filename*=iso-8859-1''%A3.txt; filename=x"), "£.txt");
        assert_eq!(name(r#"attachment; filename="a;b=\"c\".pdf"; size=3"#), r#"a;b="c".pdf"#);
        assert_eq!(name("attachment; filename*=koi8-r''x; filename=fallback.txt"), "fallback.txt");
        assert_eq!(name("attachment; filename=\"Übersicht.pdf\""), "Übersicht.pdf");
        assert_eq!(disposition(b"attachment; filename=\"\xdcbersicht.pdf\"").unwrap(), "Übersicht.pdf");
        assert_eq!(name(r#"attachment; filename="never ends"#), "never ends");
        for none in
            ["", "attachment", "attachment; filename=", "attachment; filename=\"  \"", "; =x", "x; size=3"]
        {
            assert_eq!(named(none), None, "{none}");
        }
    }

    #[test]
    fn names_are_no_paths() {
        assert_eq!(named("attachment; filename=\"../../etc/passwd\"").unwrap(), "passwd");
        assert_eq!(named(r#"attachment; filename="C:\\temp\\a.pdf""#).unwrap(), "a.pdf");
        assert_eq!(named("attachment; filename=\"..\""), None);
        assert_eq!(named("attachment; filename*=UTF-8''a%0d%0ab.pdf").unwrap(), "ab.pdf");
        assert_eq!(plain_name(&"x".repeat(999)).unwrap().len(), LONGEST_NAME);
    }

    // documents.md 9.2 D19: the end of a path may be a token, which is not shown as a name.
    #[test]
    fn addresses_name_files_by_their_extension() {
        let named = |first: &str, last: &str| {
            let (first, last) = (Target::parse(first).ok().unwrap(), Target::parse(last).ok().unwrap());
            file_name(&HeaderMap::new(), [&last, &first])
        };
        assert_eq!(named("https://h/x", "https://h/a%20lease.pdf?sig=1").unwrap(), "a lease.pdf");
        assert_eq!(named("https://h/lease.pdf", "https://cdn/0a1b2c").unwrap(), "lease.pdf");
        assert_eq!(named("https://h/secret-token", "https://h/"), None);
    }

    #[test]
    fn types_that_say_nothing_are_none() {
        let said = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, text.parse().unwrap());
            said_media_type(&headers).map(|media| media.to_string())
        };
        assert_eq!(said("Application/PDF; qs=0.001").unwrap(), "application/pdf");
        assert_eq!(said("text/csv; charset=ISO-8859-1").unwrap(), "text/csv; charset=iso-8859-1");
        for none in ["application/octet-stream", "binary/octet-stream", "nonsense", ""] {
            assert_eq!(said(none), None, "{none}");
        }
    }
}
