//! Reasoning between tags at the start of the answer text.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Splits a text, as it streams in, into reasoning between tags at its start and the rest (openai.md D 64).
///
/// Tags count only at the start of the reply: one in the middle of an answer, or in code, is text. Text that may still
/// become a tag is held back.
#[derive(Debug)]
pub(super) struct TagSplitter {
    state: State,
    /// The server's template has written the opening tag.
    opened: bool,
    held: String,
    /// The texts before and after the reasoning, tags included.
    open: String,
    close: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Start,
    Inside,
    /// After the closing tag, before the first visible character.
    Gap,
    Text,
}

/// The kind that a piece of text turned out to be.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Split {
    pub(super) thinking: String,
    pub(super) text: String,
}

impl TagSplitter {
    /// `opened` says that the server's template has written the opening tag already.
    pub(super) fn new(opened: bool) -> Self {
        let state = if opened { State::Inside } else { State::Start };
        Self { state, opened, held: String::new(), open: String::new(), close: String::new() }
    }

    /// One at the start of the same text.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.opened)
    }

    /// The text that may still become a tag.
    pub(super) fn held(&self) -> &str {
        &self.held
    }

    pub(super) fn push(&mut self, piece: &str) -> Split {
        let mut split = Split::default();
        if self.state == State::Text {
            piece.clone_into(&mut split.text);
            return split;
        }
        self.held.push_str(piece);
        loop {
            match self.state {
                State::Start => {
                    let blank = self.held.len() - self.held.trim_start().len();
                    let rest = self.held.get(blank..).unwrap_or_default();
                    if rest.starts_with(OPEN) {
                        self.open = self.held.drain(..blank + OPEN.len()).collect();
                        self.state = State::Inside;
                    } else if OPEN.starts_with(rest) {
                        return split;
                    } else {
                        self.state = State::Text;
                    }
                }
                State::Inside => {
                    // A model that writes the tag although the template did already: it opens once.
                    if self.open.is_empty() && OPEN.starts_with(self.held.as_str()) && self.held != OPEN {
                        return split;
                    }
                    if self.open.is_empty() && self.held.starts_with(OPEN) {
                        self.open = self.held.drain(..OPEN.len()).collect();
                    }
                    if let Some(end) = self.held.find(CLOSE) {
                        split.thinking.extend(self.held.drain(..end));
                        self.close = self.held.drain(..CLOSE.len()).collect();
                        self.state = State::Gap;
                    } else {
                        let keep = partial_tag(&self.held);
                        split.thinking.extend(self.held.drain(..self.held.len() - keep));
                        return split;
                    }
                }
                State::Gap => {
                    let blank = self.held.len() - self.held.trim_start().len();
                    self.close.extend(self.held.drain(..blank));
                    if self.held.is_empty() {
                        return split;
                    }
                    self.state = State::Text;
                }
                State::Text => {
                    split.text.push_str(&std::mem::take(&mut self.held));
                    return split;
                }
            }
        }
    }

    /// The text that was held back when the whole ended.
    pub(super) fn finish(&mut self) -> Split {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Inside => Split { thinking: held, text: String::new() },
            State::Start | State::Gap | State::Text => Split { thinking: String::new(), text: held },
        }
    }

    /// The texts around the reasoning.
    pub(super) fn around(&self) -> (&str, &str) {
        (&self.open, &self.close)
    }
}

/// The number of bytes at the end that may be the start of the closing tag.
fn partial_tag(text: &str) -> usize {
    (1..CLOSE.len())
        .rev()
        .find(|len| CLOSE.get(..*len).is_some_and(|start| text.ends_with(start)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::TagSplitter;

    fn split(text: &str, opened: bool, size: usize) -> (String, String) {
        let mut tags = TagSplitter::new(opened);
        let (mut thinking, mut answer) = (String::new(), String::new());
        let chars: Vec<char> = text.chars().collect();
        let pieces = chars.chunks(size).map(|piece| piece.iter().collect::<String>());
        let mut parts: Vec<_> = pieces.map(|piece| tags.push(&piece)).collect();
        parts.push(tags.finish());
        for part in parts {
            thinking.push_str(&part.thinking);
            answer.push_str(&part.text);
        }
        let (open, close) = tags.around();
        assert_eq!(format!("{open}{thinking}{close}{answer}"), text, "nothing is lost");
        (thinking, answer)
    }

    // openai.md D 64
    #[test]
    fn d64_tags_at_the_start_only() {
        for size in [1, 2, 3, 5, 8, 100] {
            let cases = [
                ("<think>a < b</think>\n\nHi", ("a < b", "Hi")),
                ("\n<think>é</think>Hi", ("é", "Hi")),
                ("Hi <think>x</think>", ("", "Hi <think>x</think>")),
                ("`</think>`", ("", "`</think>`")),
                ("<thinking>", ("", "<thinking>")),
                ("<think>cut </thi", ("cut </thi", "")),
                ("<think>a</think>b</think>", ("a", "b</think>")),
                ("<thi", ("", "<thi")),
                ("  ", ("", "  ")),
            ];
            for (text, expected) in cases {
                let (thinking, answer) = split(text, false, size);
                assert_eq!((thinking.as_str(), answer.as_str()), expected, "{text} by {size}");
            }
            let opened = [
                ("a</think>\nHi", ("a", "Hi")),
                ("<think>a</think>Hi", ("a", "Hi")),
                ("<b></think>", ("<b>", "")),
            ];
            for (text, expected) in opened {
                let (thinking, answer) = split(text, true, size);
                assert_eq!((thinking.as_str(), answer.as_str()), expected, "{text} by {size}, opened");
            }
        }
    }
}
