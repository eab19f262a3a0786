//! The two places that the command writes to: answers to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};

use attache_core::line::one_line;

use crate::exit::Exit;
use crate::show::width::terminal_width;
use crate::show::wrap::hung;

/// Writes to stdout at once. A reader that went away ends the output, not the process with a panic; see [`written`].
pub(crate) fn answer(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a text for people to stdout, on a terminal in lines that fit it. Programs and files get its lines as they are.
pub(crate) fn page(text: &str) -> io::Result<()> {
    match io::stdout().is_terminal() {
        true => answer(&hung(text, terminal_width())),
        false => answer(text),
    }
}

/// The end of a command whose output was written or not. A reader that has read enough, such as `head`, is no failure;
/// a full disk is one, and is told.
pub(crate) fn written(result: io::Result<()>) -> Exit {
    match result {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            fail(&format!("stdout cannot be written: {error}"));
            Exit::Failed
        }
    }
}

/// Says what went wrong.
pub(crate) fn fail(problem: &str) {
    line(&format!("attache: {}", harmless(problem)));
}

/// One line to stderr, on a terminal in as many as it takes. If even that cannot be written, there is nobody to tell.
pub(crate) fn line(text: &str) {
    let mut err = io::stderr();
    let _unwritten = match err.is_terminal() {
        true => writeln!(err.lock(), "{}", hung(text, terminal_width())),
        false => writeln!(err, "{text}"),
    };
}

/// A piece to stderr, without a line break.
pub(crate) fn piece(text: &str) {
    let mut err = io::stderr().lock();
    let _unwritten = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Text from a model, a tool or a file, safe for a terminal: control characters other than line breaks and tabs are
/// shown as `�`, so that no document can move the cursor or rename the window, and so are those that turn the direction
/// of what follows. Lines that end as on Windows end as all others, also where a piece of a text ends inside of that.
pub(crate) fn harmless(text: &str) -> String {
    let bad = |c: char| is_harmful(c) && !matches!(c, '\n' | '\t');
    if !text.contains(bad) {
        return text.to_owned();
    }
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix('\r').unwrap_or(&text);
    text.chars().map(|c| if bad(c) { '\u{fffd}' } else { c }).collect()
}

/// True for control characters and those that override the direction of text.
pub(crate) fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// At most `max` characters of a text on one line.
pub(crate) fn short(text: &str, max: usize) -> String {
    one_line(&harmless(text), max)
}

/// An error with its causes, in one line. A server's word on itself is among them.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    short(&text, usize::MAX)
}

/// The word that JSON has for a value.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_cannot_drive_the_terminal() {
        assert_eq!(harmless("a\x1b[2Jb\tc\n"), "a\u{fffd}[2Jb\tc\n");
        assert_eq!(harmless("a\r\nb\rc\r"), "a\nb\u{fffd}c");
        assert_eq!(short("ab  \n cd ef", 5), "ab cd…");
        let error = std::io::Error::other("no\x1b[2J\nway");
        assert_eq!(with_causes(&error), "no\u{fffd}[2J way");
    }
}
