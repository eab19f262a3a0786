//! Reasoning between tags at the start of the answer text.

/// The tags of most servers, and those of Google's dialect (openai.md C.18).
const PAIRS: [Pair; 2] = [Pair::new("<think>", "</think>"), Pair::new("<thought>", "</thought>")];

/// A tag, and the one that closes it.
#[derive(Clone, Copy, Debug)]
struct Pair {
    open: &'static str,
    close: &'static str,
}

/// Splits a text, as it streams in, into reasoning between tags at its start and the rest (openai.md D 64).
///
/// Tags count only at the start of the reply: one in the middle of an answer, or in code, is text. Text that may still
/// become a tag is held back.
#[derive(Debug)]
pub(super) struct TagSplitter {
    state: State,
    /// The server's template has written the opening tag.
    opened: bool,
    /// The pair that opened, or that of the template.
    pair: Pair,
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

impl Pair {
    const fn new(open: &'static str, close: &'static str) -> Self {
        Self { open, close }
    }

    /// The pair that a text opens.
    fn of(text: &str) -> Option<Self> {
        PAIRS.into_iter().find(|pair| text.starts_with(pair.open))
    }

    /// True if a text may still open one.
    fn may_be(text: &str) -> bool {
        PAIRS.iter().any(|pair| pair.open.starts_with(text))
    }
}

impl TagSplitter {
    /// `opened` says that the server's template has written the opening tag already.
    pub(super) fn new(opened: bool) -> Self {
        let [pair, ..] = PAIRS;
        Self {
            state: State::Start,
            opened,
            pair,
            held: String::new(),
            open: String::new(),
            close: String::new(),
        }
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
                    if let Some(pair) = Pair::of(rest) {
                        self.pair = pair;
                        self.open = self.held.drain(..blank + pair.open.len()).collect();
                        self.state = State::Inside;
                    } else if Pair::may_be(rest) {
                        return split;
                    } else {
                        // The model may write the tag although the template did: it opens once.
                        self.state = if self.opened { State::Inside } else { State::Text };
                    }
                }
                State::Inside => {
                    let close = self.pair.close;
                    if let Some(end) = self.held.find(close) {
                        split.thinking.extend(self.held.drain(..end));
                        self.close = self.held.drain(..close.len()).collect();
                        self.state = State::Gap;
                    } else {
                        let keep = partial_tag(&self.held, close);
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
        match self.state == State::Inside || self.opened && self.state == State::Start {
            true => Split { thinking: held, text: String::new() },
            false => Split { thinking: String::new(), text: held },
        }
    }

    /// The texts around the reasoning.
    pub(super) fn around(&self) -> (&str, &str) {
        (&self.open, &self.close)
    }
}

/// The number of bytes at the end that may be the start of the closing tag.
fn partial_tag(text: &str, close: &str) -> usize {
    (1..close.len())
        .rev()
        .find(|len| close.get(..*len).is_some_and(|start| text.ends_with(start)))
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
                ("<thought>a</think>b</thought>Hi", ("a</think>b", "Hi")),
                ("<think>a</thought>b</think>Hi", ("a</thought>b", "Hi")),
                ("<thoughts>", ("", "<thoughts>")),
            ];
            for (text, expected) in cases {
                let (thinking, answer) = split(text, false, size);
                assert_eq!((thinking.as_str(), answer.as_str()), expected, "{text} by {size}");
            }
            let opened = [
                ("a</think>\nHi", ("a", "Hi")),
                ("<think>a</think>Hi", ("a", "Hi")),
                ("<b></think>", ("<b>", "")),
                ("a <thought>b</think>Hi", ("a <thought>b", "Hi")),
                ("<thi", ("<thi", "")),
                ("<thought>a</thought>Hi", ("a", "Hi")),
            ];
            for (text, expected) in opened {
                let (thinking, answer) = split(text, true, size);
                assert_eq!((thinking.as_str(), answer.as_str()), expected, "{text} by {size}, opened");
            }
        }
    }
}
