//! Fields of a head: their names and values, and the parameters of structured ones (RFC 2045, RFC 2231).

use std::borrow::Cow;
use std::collections::BTreeMap;

use encoding_rs::WINDOWS_1252;

use super::{transfer, words};
use crate::charset;

/// The name of a field and its value as it stands there. `None` if it is no field.
pub(super) fn name_and_value(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr2(b':', b'\n', field)?;
    let value = field.get(colon..)?.strip_prefix(b":")?;
    Some((field.get(..colon)?.trim_ascii(), value))
}

/// A value as text on one line. One that is neither ASCII nor UTF-8, against all rules, is in a charset that is
/// guessed.
pub(super) fn unfolded(value: &[u8]) -> String {
    let text = match str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => match charset::decode(value, None) {
            Some(decoded) => decoded.text,
            None => WINDOWS_1252.decode_without_bom_handling(value).0,
        },
    };
    let mut line = String::with_capacity(text.len());
    for piece in text.lines() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(piece.trim_start());
    }
    line.truncate(line.trim_end().len());
    line
}

/// A structured value: what stands first, such as a media type, and the parameters by their names in lower case.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Structured {
    /// In lower case.
    pub(super) first: String,
    pub(super) parameters: BTreeMap<String, String>,
}

impl Structured {
    pub(super) fn read(line: &str) -> Self {
        let mut scanner = Scanner { rest: line, comments: true };
        scanner.skip(";,");
        let end = scanner.rest.find(|c: char| c.is_whitespace() || ";,(".contains(c));
        let (first, behind) = scanner.rest.split_at(end.unwrap_or(scanner.rest.len()));
        // Some programs forget it, and begin with a parameter.
        let forgotten = first.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
        let first = if forgotten { "" } else { first };
        if !forgotten {
            scanner.rest = behind;
        }
        Self {
            first: first.trim_matches('"').to_ascii_lowercase(),
            parameters: collect(scanner.parameters()),
        }
    }
}

/// Reads parameters, also where separators are missing or something else stands between them.
struct Scanner<'t> {
    rest: &'t str,
    /// False behind one that does not end: nothing is looked through twice.
    comments: bool,
}

impl Scanner<'_> {
    fn parameters(mut self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        loop {
            self.skip(";,");
            if self.rest.is_empty() {
                return found;
            }
            let name = self.take(|c| c.is_whitespace() || ";,=".contains(c)).to_ascii_lowercase();
            self.skip("");
            if let Some(value) = self.rest.strip_prefix('=') {
                self.rest = value.trim_start();
                found.push((name, self.value()));
            }
        }
    }

    /// Takes all before the first such character.
    fn take(&mut self, ends: impl Fn(char) -> bool) -> &str {
        let (taken, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Passes over blanks, comments and these.
    fn skip(&mut self, separators: &str) {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || separators.contains(c));
            match self.comment(self.rest) {
                Some(behind) => self.rest = behind,
                None => return,
            }
        }
    }
}

impl<'t> Scanner<'t> {
    /// The text behind a comment that it begins with; `None` if it begins with none that ends.
    fn comment(&mut self, text: &'t str) -> Option<&'t str> {
        if !self.comments || !text.starts_with('(') {
            return None;
        }
        let (mut depth, mut escaped) = (0_usize, false);
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'(' => depth += 1,
                b')' if depth == 1 => return text.get(at + 1..),
                b')' => depth -= 1,
                _ => {}
            }
        }
        self.comments = false;
        None
    }

    fn value(&mut self) -> String {
        if let Some(quoted) = self.rest.strip_prefix('"') {
            let end = closing(quoted);
            self.rest = quoted.get(end + 1..).unwrap_or_default();
            return unescaped(quoted.get(..end).unwrap_or_default());
        }
        let whole = self.rest;
        let mut rest = whole;
        loop {
            let at = rest.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(rest.len());
            rest = rest.get(at..).unwrap_or_default();
            let value = whole.get(..whole.len() - rest.len()).unwrap_or_default();
            let behind = rest.trim_start();
            let comment = self.comment(behind);
            let ended = |text: &str| matches!(text.trim_start().bytes().next(), None | Some(b';'));
            if ended(rest) || begins_parameter(behind) || comment.is_some_and(ended) {
                self.rest = behind;
                return value.trim_end_matches(',').to_owned();
            }
            // The blanks are part of it, and so is what looked like a comment.
            rest = comment.unwrap_or(behind);
        }
    }
}

/// Where a quoted string ends. A quote that should have been escaped shows by what follows it.
fn closing(text: &str) -> usize {
    let mut escaped = false;
    let mut ends = text.bytes().enumerate().filter_map(|(at, byte)| {
        let quote = !escaped && byte == b'"';
        escaped = !escaped && byte == b'\\';
        quote.then_some(at)
    });
    ends.find(|at| {
        let behind = text.get(at + 1..).unwrap_or_default().trim_start();
        let next = behind.bytes().find(|byte| matches!(byte, b';' | b'"'));
        next != Some(b'"') || begins_parameter(behind)
    })
    .unwrap_or(text.len())
}

/// True if a parameter begins here, so that the one before it has ended without a semicolon.
fn begins_parameter(text: &str) -> bool {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-_*".contains(c));
    behind.len() < text.len() && behind.starts_with('=')
}

/// A quoted string without escapes. Backslashes before letters and digits are those of paths, which no program
/// escapes.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, behind)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut chars = behind.chars();
        match chars.next().filter(|c| c.is_ascii_punctuation() || *c == ' ') {
            Some(escaped) => {
                out.push(escaped);
                rest = chars.as_str();
            }
            None => {
                out.push('\\');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}

/// One value for each name: that in another charset before that for programs that know none, else the first. Empty
/// ones say nothing.
fn collect(found: Vec<(String, String)>) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    let mut extended: BTreeMap<String, BTreeMap<u32, Segment>> = BTreeMap::new();
    for (name, text) in found.into_iter().filter(|(_, text)| !text.is_empty()) {
        let (name, encoded) = match name.strip_suffix('*') {
            Some(name) => (name, true),
            None => (&*name, false),
        };
        let (name, number) = match name.rsplit_once('*').map(|(name, number)| (name, number.parse().ok())) {
            Some((name, Some(number))) => (name, Some(number)),
            _ => (name, None),
        };
        if number.is_some() || encoded {
            let segments = extended.entry(name.to_owned()).or_default();
            segments.entry(number.unwrap_or_default()).or_insert(Segment { text, encoded });
        } else {
            parameters.entry(name.to_owned()).or_insert(text);
        }
    }
    for (name, value) in &mut parameters {
        // Against all rules, programs write encoded words in names of files.
        if name != "boundary" {
            *value = words::decode(value);
        }
    }
    for (name, segments) in extended {
        match joined(&segments) {
            Some(value) if value.is_empty() => {}
            Some(value) => drop(parameters.insert(name, value)),
            // Nobody knows what it stands for in that charset.
            None => {
                let value = segments.into_values().map(|segment| segment.text).collect();
                parameters.entry(name).or_insert(value);
            }
        }
    }
    parameters
}

/// A piece of a value that is divided.
struct Segment {
    text: String,
    /// Its octets are written as `%` and two digits.
    encoded: bool,
}

/// A value from its pieces, in the charset that the first one names. Octets are joined before they are decoded, as
/// characters may be divided.
fn joined(segments: &BTreeMap<u32, Segment>) -> Option<String> {
    if !segments.values().any(|segment| segment.encoded) {
        return Some(words::decode(&segments.values().map(|segment| &*segment.text).collect::<String>()));
    }
    let (mut value, mut octets, mut charset) = (String::new(), Vec::new(), "");
    for (at, Segment { text, encoded }) in segments.values().enumerate() {
        if !encoded {
            value.push_str(&words::in_charset(&std::mem::take(&mut octets), charset)?);
            value.push_str(text);
            continue;
        }
        let mut text = &**text;
        let mut pieces = text.splitn(3, '\'');
        if at == 0
            && let (Some(named), Some(_), Some(rest)) = (pieces.next(), pieces.next(), pieces.next())
        {
            (charset, text) = (named, rest);
        }
        transfer::escapes(text.as_bytes(), b'%', &mut octets);
    }
    value.push_str(&words::in_charset(&octets, charset)?);
    // Without a charset it may be no such value at all.
    Some(if charset.is_empty() { words::decode(&value) } else { value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Structured, name_and_value, unfolded};

    /// A parameter of a header, written with its line ends.
    fn parameter(written: &str, name: &str) -> Option<String> {
        Structured::read(&unfolded(written.as_bytes())).parameters.remove(name)
    }

    /// Names of files as Python's `email.message.Message.get_filename` has them, with encoded words decoded by
    /// `email.header`.
    #[test]
    fn parameters_are_those_that_python_has() {
        for (written, name) in [
            (r#"filename="a;b.pdf"; size=3"#, "a;b.pdf"),
            (r#"filename="say \"hi\".pdf""#, r#"say "hi".pdf"#),
            (r#"filename="back\\slash.pdf""#, r"back\slash.pdf"),
            ("filename=my report (final).pdf; size=3", "my report (final).pdf"),
            ("FileName = report.pdf ;", "report.pdf"),
            (";; filename=report.pdf;;", "report.pdf"),
            ("filename=\"folded\r\n name.pdf\"", "folded name.pdf"),
            (r#"filename="50%.pdf""#, "50%.pdf"),
            (r#"filename="C:\Users\ann\report.pdf""#, r"C:\Users\ann\report.pdf"),
            (r#"filename="Re: "Offer".eml""#, r#"Re: "Offer".eml"#),
            ("filename=first.pdf; filename=second.pdf", "first.pdf"),
            ("filename*=\"=?utf-8?Q?Gr=C3=B6=C3=9Fe.pdf?=\"", "Größe.pdf"),
            // RFC 2231.
            ("filename*=utf-8'de'Gr%C3%B6%C3%9Fe.pdf", "Größe.pdf"),
            ("filename*=iso-8859-1''caf%e9.pdf", "café.pdf"),
            ("filename*=iso-2022-jp''%1B%24B%40A5a%3D%71%1B%28B.pdf", "請求書.pdf"),
            (r#"filename*="utf-8''a%20b.pdf""#, "a b.pdf"),
            ("filename*=''plain.pdf", "plain.pdf"),
            ("filename*=a%20b.pdf", "a b.pdf"),
            ("filename*=utf-8''50%.pdf", "50%.pdf"),
            ("filename*=x-none''a%20b.pdf", "a b.pdf"),
            (r#"filename*0="long na"; filename*1="me.pdf""#, "long name.pdf"),
            (r#"filename*1="me.pdf"; filename*0="long na""#, "long name.pdf"),
            ("filename*10=k; filename*2=c; filename*0=a; filename*1=b", "abck"),
            ("filename*0*=utf-8''Gr%C3;\r\n filename*1*=%B6%C3%9Fe;\r\n filename*2=.pdf", "Größe.pdf"),
            (r#"filename*0*=utf-8''a%20; filename*1="b%20c.pdf""#, "a b%20c.pdf"),
            // Encoded words.
            ("filename==?utf-8?Q?Gr=C3=B6=C3=9Fe=2Epdf?=", "Größe.pdf"),
            ("filename=\"=?utf-8?Q?Gr=C3?=\r\n =?utf-8?Q?=B6=C3=9Fe.pdf?=\"", "Größe.pdf"),
            (r#"filename*0="=?utf-8?Q?Gr=C3=B6"; filename*1="=C3=9Fe.pdf?=""#, "Größe.pdf"),
            // As its newer reader (`email.policy.default`) has them; the older one adds blanks, keeps what follows, or
            // finds none.
            (r#"filename="=?utf-8?B?R3LDtsOfZQ==?=.pdf""#, "Größe.pdf"),
            (r#"filename="Größe.pdf""#, "Größe.pdf"),
            ("filename=report.pdf (a comment); size=3", "report.pdf"),
            (r#"filename="report.pdf" size=3"#, "report.pdf"),
            ("filename=report.pdf size=3", "report.pdf"),
            (r#"filename="report.pdf" and more"#, "report.pdf"),
            (r#"filename="open.pdf"#, "open.pdf"),
            ("filename*=utf-8''Gr%C3%B6%C3%9Fe.pdf; filename=\"fallback.pdf\"", "Größe.pdf"),
        ] {
            let written = format!("attachment; {written}");
            assert_eq!(parameter(&written, "filename").as_deref(), Some(name), "{written}");
            assert_eq!(Structured::read(&written).first, "attachment", "{written}");
        }
    }

    /// Where Python is of no help, for the reasons given.
    #[test]
    fn parameters_stand_where_nothing_else_can_be_meant() {
        let name = |written| parameter(written, "filename");
        let report = Some("report.pdf".to_owned());
        // It has the comment as part of the disposition, and no parameter without a semicolon before it.
        assert_eq!(name("attachment (a; comment); filename=report.pdf"), report);
        assert_eq!(name("attachment filename=report.pdf"), report);
        assert_eq!(Structured::read("attachment filename=report.pdf").first, "attachment");
        // It has the parameter as the disposition as well.
        assert_eq!(name("filename=report.pdf"), report);
        assert_eq!(Structured::read("filename=report.pdf").first, "");
        // It takes whatever comes first. The other one is for programs that know no charsets (RFC 6266, section 4.3).
        assert_eq!(name("attachment; filename=x.pdf; filename*=utf-8''report.pdf"), report);
        // It takes backslashes of paths for escapes in one reader, and colons for ends of values.
        assert_eq!(name(r"attachment; filename=C:\new\x.pdf"), Some(r"C:\new\x.pdf".to_owned()));
        assert_eq!(name(r#"attachment; filename="a\(1\).pdf""#), Some("a(1).pdf".to_owned()));
        // Another charset than that of the first piece cannot be meant, nor one that nobody knows.
        assert_eq!(name("attachment; filename*=x-none''%00%ff; filename=report.pdf"), report);
        assert_eq!(name("attachment; filename*=x-none''%00%ff"), Some("x-none''%00%ff".to_owned()));
        // It takes an empty value for the name.
        assert_eq!(name("attachment; filename=; filename*=; filename*=utf-8''; filename=report.pdf"), report);
        assert_eq!(name("attachment; filename="), None);
        // A comment that does not end is none.
        assert_eq!(name("attachment; (; filename=report.pdf"), report);
    }

    /// Types as Python's newer reader has them, but for the comment behind a type, which it has as part of it, and the
    /// boundary without quotes, of which it has the hyphens alone.
    #[test]
    fn types_have_their_parameters() {
        for (written, first, parameters) in [
            ("text/plain; charset=us-ascii (Plain text)", "text/plain", &[("charset", "us-ascii")][..]),
            (
                "text/plain; charset=\"utf-8\"; format=flowed",
                "text/plain",
                &[("charset", "utf-8"), ("format", "flowed")],
            ),
            ("TEXT/HTML (web); Charset = \"ISO-8859-1\"", "text/html", &[("charset", "ISO-8859-1")]),
            ("text/plain charset=utf-8", "text/plain", &[("charset", "utf-8")]),
            (
                "text/plain; charset=utf-8 format=flowed",
                "text/plain",
                &[("charset", "utf-8"), ("format", "flowed")],
            ),
            (
                "text/plain; charset=\"utf-8\" garbage; format=\"flowed\"",
                "text/plain",
                &[("charset", "utf-8"), ("format", "flowed")],
            ),
            (
                "multipart/mixed; boundary=\"----=_Part_1;2 (x)\"",
                "multipart/mixed",
                &[("boundary", "----=_Part_1;2 (x)")],
            ),
            (
                "multipart/mixed; boundary=----=_NextPart_000_0001",
                "multipart/mixed",
                &[("boundary", "----=_NextPart_000_0001")],
            ),
            // Words are no boundaries.
            (
                "multipart/mixed; boundary=\"=?utf-8?Q?x?=\"",
                "multipart/mixed",
                &[("boundary", "=?utf-8?Q?x?=")],
            ),
            ("text/plain; charset*=us-ascii'en'utf-8", "text/plain", &[("charset", "utf-8")]),
            ("text", "text", &[]),
            ("", "", &[]),
        ] {
            let read = Structured::read(written);
            assert_eq!(read.first, first, "{written}");
            let read: Vec<_> = read.parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(read, parameters, "{written}");
        }
    }

    #[test]
    fn fields_are_divided_and_unfolded() {
        assert_eq!(name_and_value(b"Subject : a:b"), Some((&b"Subject"[..], &b" a:b"[..])));
        assert_eq!(name_and_value(b"no field\r\n a: b"), None);
        assert_eq!(unfolded(b" \r\n folded \r\n\t over\r\n   lines \r\n"), "folded  over lines");
        assert_eq!(unfolded("größer".as_bytes()), "größer");
    }

    #[test]
    fn values_in_no_charset_are_guessed_at_and_never_lost() {
        assert_eq!(unfolded(b"Rechnung f\xfcr M\xe4rz, Gr\xf6\xdfe 5"), "Rechnung für März, Größe 5");
        assert_eq!(unfolded(b"Caf\xe9"), "Café");
        assert_eq!(
            unfolded(
                "Счёт за март"
                    .chars()
                    .map(|c| match c {
                        ' ' => b' ',
                        'ё' => 0xb8,
                        c => u8::try_from(u32::from(c) - 0x350).unwrap(),
                    })
                    .collect::<Vec<_>>()
                    .as_slice()
            ),
            "Счёт за март"
        );
        assert_eq!(unfolded(b"\x01 noise \xff\xfe"), "\u{1} noise ÿþ");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Structured::read(&unfolded(&bytes));
        }

        /// Half a megabyte of any pattern: steps that grow with the square of its length would take minutes.
        #[test]
        fn patterns_of_parameters_take_no_time(
            pattern in proptest::collection::vec(
                prop_oneof!["[\"();,=\\\\*% a1'\n]", Just("; a*0*=".to_owned()), Just("a=b (".to_owned()),
                    Just("a=\"".to_owned()), Just("=?utf-8?Q?".to_owned()), Just("x=\"y\" z\"".to_owned())],
                1..6,
            ),
            start in "(a=|\\(|a=\"|a\\*=)?",
        ) {
            let pattern = pattern.concat();
            let text = format!("{start}{}", pattern.repeat((512 << 10) / pattern.len()));
            let begun = std::time::Instant::now();
            let _ = Structured::read(&unfolded(text.as_bytes()));
            prop_assert!(begun.elapsed().as_secs() < 20, "{}", pattern);
        }
    }
}
