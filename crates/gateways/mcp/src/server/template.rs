//! Documents at addresses that have a form.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use attache_core::{BoxFuture, Document, ToolError};
use regex_lite::Regex;
use rmcp::model::ResourceTemplate;

use super::values::Values;

/// Longer addresses have no form.
const LONGEST: usize = 8 << 10;

type Read =
    dyn Fn(BTreeMap<String, String>) -> BoxFuture<'static, Result<Option<Document>, ToolError>> + Send + Sync;

/// Documents at addresses of one form, which a function of yours reads when a client asks for one.
///
/// The form is one of RFC 6570 with plain expressions: `{name}` stands for one or more characters without `/`, `?` and
/// `#`, and `{+name}` for any. Of several ways to read an address the first `{name}` is as short as can be, and the first
/// `{+name}` as long. The function gets them decoded, as the client wrote them: check them as you check what
/// strangers send.
///
/// ```
/// use attache_core::Document;
/// use attache_mcp::{McpService, McpTemplate};
///
/// let invoices = McpTemplate::new("invoices://{year}/{number}", "Invoices", |values| async move {
///     let number = values.get("number").cloned().unwrap_or_default();
///     Ok((number == "7").then(|| Document::new("An invoice.").with_file_name("7.txt")))
/// })?
/// .with_values("year", ["2025", "2026"]);
/// let service = McpService::new("books").with_template(invoices);
/// # let _ = service;
/// # Ok::<_, attache_mcp::McpTemplateError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct McpTemplate {
    form: String,
    parts: Vec<Part>,
    pattern: Regex,
    name: String,
    description: Option<String>,
    media_type: Option<String>,
    pub(super) values: Values,
    read: Arc<Read>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Name { name: String, is_greedy: bool },
}

/// The form of addresses is none that this crate understands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{form:?} is not a valid URI template: {problem}")]
#[non_exhaustive]
pub struct McpTemplateError {
    /// The form as it was given.
    pub form: String,
    /// The reason.
    pub problem: &'static str,
}

impl McpTemplate {
    /// Documents at addresses of this form; `read` returns none where there is no document.
    ///
    /// # Errors
    /// [`McpTemplateError`] if the form has other expressions than `{name}` and `{+name}`, two of them without text
    /// between, or a name twice.
    pub fn new<F, D>(
        form: impl Into<String>,
        name: impl Into<String>,
        read: F,
    ) -> Result<Self, McpTemplateError>
    where
        F: Fn(BTreeMap<String, String>) -> D + Send + Sync + 'static,
        D: Future<Output = Result<Option<Document>, ToolError>> + Send + 'static,
    {
        let form = form.into();
        let read_form = |form: &str| {
            let parts = parts(form)?;
            pattern(&parts).map(|pattern| (parts, pattern))
        };
        let wrong = |problem| McpTemplateError { form: form.clone(), problem };
        let (parts, pattern) = read_form(&form).map_err(wrong)?;
        Ok(Self {
            form,
            parts,
            pattern,
            name: name.into(),
            description: None,
            media_type: None,
            values: Values::default(),
            read: Arc::new(move |values| Box::pin(read(values))),
        })
    }

    /// Tells clients which documents these are.
    pub fn with_description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Tells clients the media type that all of them have.
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Offers values for one of the names, for clients that complete what their user types.
    pub fn with_values(mut self, name: &str, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.values.add(name, values);
        self
    }

    pub(super) fn form(&self) -> &str {
        &self.form
    }

    pub(super) fn described(&self) -> ResourceTemplate {
        let mut described = ResourceTemplate::new(self.form.clone(), self.name.clone());
        described.description.clone_from(&self.description);
        described.mime_type.clone_from(&self.media_type);
        described
    }

    /// The values of an address of this form.
    pub(super) fn values_of(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        if uri.len() > LONGEST {
            return None;
        }
        // It takes time in proportion to the address, however many ways there are to read it.
        let found = self.pattern.captures(uri)?;
        let names = self.parts.iter().filter_map(|part| match part {
            Part::Name { name, .. } => Some(name.clone()),
            Part::Text(_) => None,
        });
        let values = found.iter().skip(1).map(|value| decoded(value?.as_str()));
        names.zip(values).map(|(name, value)| Some((name, value?))).collect()
    }

    pub(super) async fn read(&self, values: BTreeMap<String, String>) -> Result<Option<Document>, ToolError> {
        (self.read)(values).await
    }
}

/// The form as a pattern: text as it is, and a group for each name.
fn pattern(parts: &[Part]) -> Result<Regex, &'static str> {
    let mut pattern = "(?s)\\A".to_owned();
    for part in parts {
        match part {
            Part::Text(text) => pattern.push_str(&regex_lite::escape(text)),
            Part::Name { is_greedy: true, .. } => pattern.push_str("(.+)"),
            Part::Name { is_greedy: false, .. } => pattern.push_str("([^/?#]+?)"),
        }
    }
    pattern.push_str("\\z");
    Regex::new(&pattern).map_err(|_| "it is too long")
}

fn parts(form: &str) -> Result<Vec<Part>, &'static str> {
    let mut parts = Vec::new();
    let mut rest = form;
    while !rest.is_empty() {
        let Some((text, behind)) = rest.split_once('{') else {
            parts.push(Part::Text(rest.to_owned()));
            break;
        };
        let (expression, behind) = behind.split_once('}').ok_or("an expression does not end")?;
        match (text.is_empty(), parts.last()) {
            (true, Some(Part::Name { .. })) => return Err("two expressions have no text between them"),
            (true, _) => {}
            (false, _) => parts.push(Part::Text(text.to_owned())),
        }
        let (name, is_greedy) = match expression.strip_prefix('+') {
            Some(name) => (name, true),
            None => (expression, false),
        };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err("only {name} and {+name} are understood");
        }
        let is_same = |part: &Part| matches!(part, Part::Name { name: known, .. } if known == name);
        if parts.iter().any(is_same) {
            return Err("a name stands twice in it");
        }
        parts.push(Part::Name { name: name.to_owned(), is_greedy });
        rest = behind;
    }
    match parts.iter().any(|part| matches!(part, Part::Name { .. })) {
        true => Ok(parts),
        false => Err("it has no expression"),
    }
}

/// A text without its percent signs; none if they say no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

impl fmt::Debug for McpTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTemplate").field("form", &self.form).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(form: &str) -> Result<McpTemplate, McpTemplateError> {
        McpTemplate::new(form, "x", |_| async { Ok(None) })
    }

    #[test]
    fn addresses_have_the_form_or_have_not() {
        let template = template("a://{year}/{+path}/end").unwrap();
        for (uri, expected) in [
            ("a://2025/b/c/end", Some(("2025", "b/c"))),
            ("a://20%2F25/%C3%A4/end", Some(("20/25", "ä"))),
            ("a://2025/end/end", Some(("2025", "end"))),
            ("a:///b/end", None),
            ("a://2025//end", None),
            ("a://2025/b/end/", None),
            ("a://2025/%ff/end", None),
            ("a://2025/%4/end", None),
            ("b://2025/b/end", None),
            ("a://20?25/b/end", None),
            ("", None),
        ] {
            let values = template.values_of(uri);
            let found = values.as_ref().map(|values| (values["year"].as_str(), values["path"].as_str()));
            assert_eq!(found, expected, "{uri}");
        }
    }

    #[test]
    fn the_text_of_a_form_may_stand_in_a_value() {
        for (form, uri, expected) in [
            ("a://{b}.pdf", "a://x.pdf.pdf", &["x.pdf"] as &[_]),
            ("a://{b}.pdf", "a://.pdf.pdf", &[".pdf"]),
            ("a://{b}.pdf", "a://x.pdf/y.pdf", &[]),
            ("a://{b}-{c}", "a://x-y-z", &["x", "y-z"]),
            ("a://{b}-{c}.pdf", "a://x-.pdf-y.pdf", &["x", ".pdf-y"]),
            ("a://{b}.{c}.x", "a://1.2.x.3.x", &["1", "2.x.3"]),
            ("a://{+b}/{c}.pdf", "a://x/y/z.pdf.pdf", &["x/y", "z.pdf"]),
            ("a://{+b}/{c}", "a://x/y/", &[]),
        ] {
            let values = template(form).unwrap().values_of(uri).unwrap_or_default();
            assert_eq!(values.values().map(String::as_str).collect::<Vec<_>>(), expected, "{uri} as {form}");
        }
    }

    #[test]
    fn an_address_that_fits_in_many_ways_and_at_last_in_none_is_read_soon() {
        let form = template("a://{+b}a{+c}a{+d}a{+e}a{+f}!").unwrap();
        let begun = std::time::Instant::now();
        assert!(form.values_of(&format!("a://{}", "a".repeat(8_000))).is_none());
        assert!(form.values_of(&format!("a://{}!", "a".repeat(8_000))).is_some());
        assert!(form.values_of(&format!("a://{}!", "a".repeat(LONGEST))).is_none());
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn forms_that_are_not_understood_are_refused() {
        for form in
            ["a://b", "a://{b", "a://{}", "a://{?b}", "a://{b}{c}", "a://{b*}", "a://{b,c}", "a://{b}/{b}"]
        {
            assert_eq!(template(form).unwrap_err().form, form);
        }
    }
}
