//! Labels: the tag that stands before a document in a message (documents.md 2.3, 2.4).

/// The facts that a label states about the document after it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) tool_call_id: Option<String>,
    pub(super) file_name: Option<String>,
}

/// Reads a text that is one label of either profile and nothing else.
pub(super) fn parse(text: &str) -> Option<Label> {
    let text = text.trim();
    let inner = text.strip_prefix("<document").or_else(|| text.strip_prefix("<doc"))?.strip_suffix("/>")?;
    if !inner.starts_with(' ') {
        return None;
    }
    let mut label = Label::default();
    let mut rest = inner.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        match name.trim() {
            "tool-call-id" | "toolCallId" => label.tool_call_id = Some(unescape(value)),
            "filename" | "fileName" | "name" => label.file_name = Some(unescape(value)),
            _ => {}
        }
        rest = after.trim_start();
    }
    Some(label)
}

/// Resolves the five XML entities and character references; what is none stays as it is.
fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let resolved = after.split_once(';').and_then(|(name, tail)| Some((entity(name)?, tail)));
        match resolved {
            Some((character, tail)) => {
                out.push(character);
                rest = tail;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Label, parse};

    #[test]
    fn labels_of_both_profiles_are_read() {
        let label = |id: Option<&str>, name: Option<&str>| {
            Some(Label { tool_call_id: id.map(str::to_owned), file_name: name.map(str::to_owned) })
        };
        let spec = r#"<document tool-name="t" tool-call-id="call_7" document-short-id="7d41c0b2" filename="rent &quot;2027&quot; &lt;v2&gt; &amp; &apos;final&apos;.pdf" />"#;
        assert_eq!(parse(spec), label(Some("call_7"), Some("rent \"2027\" <v2> & 'final'.pdf")));
        let refs = r#"<doc toolName="t" toolCallId="call_9" documentId="7d41" storeId="main" contentType="application/pdf" fileName="a&#10;b.pdf" />"#;
        assert_eq!(parse(refs), label(Some("call_9"), Some("a\nb.pdf")));
        assert_eq!(parse("<document />"), label(None, None));
        assert_eq!(parse("<documents />"), None);
        assert_eq!(parse("<document document-short-id=\"b20f6e91\" />"), label(None, None));
    }

    #[test]
    fn other_text_is_no_label() {
        for text in ["", "Documents:", "see <document filename=\"a\" />", "<document filename=\"a />"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
