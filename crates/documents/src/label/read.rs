//! Parsing of labels, for providers that are not language models and for tests.

use super::escape::resolve;

/// How the sentence after the label of a note begins.
pub(crate) const NOT_SHOWN: &str = "Content not shown here: ";

/// The attributes of a rendered label.
///
/// ```
/// use attache_documents::ReadLabel;
/// let note = "<document document-short-id=\"5ac3d7e8\" filename=\"a.zip\" status=\"unsupported\" />\nMore text.";
/// let (label, rest) = ReadLabel::split(note).unwrap();
/// assert_eq!((label.file_name(), label.status()), (Some("a.zip"), Some("unsupported")));
/// assert_eq!(rest, "\nMore text.");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadLabel {
    attributes: Vec<(String, String)>,
}

impl ReadLabel {
    /// Parses a label of either profile at the start of `text` and returns it with the rest of the text. `None` if the
    /// text does not start with a label.
    pub fn split(text: &str) -> Option<(Self, &str)> {
        let mut rest = text.strip_prefix("<document").or_else(|| text.strip_prefix("<doc"))?;
        let mut label = Self::default();
        loop {
            rest = rest.strip_prefix(' ')?;
            if let Some(rest) = rest.strip_prefix("/>") {
                return Some((label, rest));
            }
            let (name, after) = rest.split_once("=\"")?;
            let (value, after) = after.split_once('"')?;
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-') {
                return None;
            }
            label.attributes.push((name.to_owned(), resolve(value)));
            rest = after;
        }
    }

    /// Parses a note: its label and the reason why the content is not shown. `None` if `text` is not a note.
    ///
    /// ```
    /// use attache_documents::ReadLabel;
    /// let note = "<doc documentId=\"d-1\" status=\"missing\" />\nContent not shown here: it has expired.";
    /// assert_eq!(ReadLabel::split_note(note).unwrap().1, "it has expired");
    /// ```
    pub fn split_note(text: &str) -> Option<(Self, &str)> {
        let (label, rest) = Self::split(text)?;
        let reason = rest.strip_prefix('\n')?.strip_prefix(NOT_SHOWN)?.strip_suffix('.')?;
        label.status().is_some().then_some((label, reason))
    }

    fn one_of(&self, names: [&str; 2]) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(name, _)| names.contains(&name.as_str()))
            .map(|(_, value)| value.as_str())
    }

    /// The tool whose call returned the document, by its wire name.
    pub fn tool_name(&self) -> Option<&str> {
        self.one_of(["tool-name", "toolName"])
    }

    /// The call that returned the document, by its wire id.
    pub fn tool_call_id(&self) -> Option<&str> {
        self.one_of(["tool-call-id", "toolCallId"])
    }

    /// The document's id; in the `spec` profile a prefix of it.
    pub fn document_id(&self) -> Option<&str> {
        self.one_of(["document-short-id", "documentId"])
    }

    /// The file name.
    pub fn file_name(&self) -> Option<&str> {
        self.one_of(["filename", "fileName"]).or_else(|| self.one_of(["name", "name"]))
    }

    /// The reason why the content does not follow, in one word; `None` if it follows.
    pub fn status(&self) -> Option<&str> {
        self.one_of(["status", "status"])
    }
}
