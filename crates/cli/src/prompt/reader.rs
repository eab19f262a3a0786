//! The lines that the user types.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::{Completer, Pair};
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Behavior, Context, Editor, Helper};

use crate::output::{is_harmful, line};
use crate::show::style::Style;
use crate::show::width::terminal_width;
use crate::show::wrap::hung;

/// The lines of the history.
const MAX_HISTORY: usize = 1_000;

/// The user's action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Said(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
    /// The input cannot be read.
    Failed(String),
}

/// The terminal of the process, whatever its streams are.
const TERMINAL: &str = if cfg!(windows) { "CONOUT$" } else { "/dev/tty" };
/// Terminals in which lines are not edited: the editor writes to stdout there.
const PLAIN: [&str; 3] = ["dumb", "cons25", "emacs"];

/// The place where somebody sees what they are asked.
#[derive(Clone)]
enum Screen {
    /// The streams of the process.
    Streams,
    /// Its terminal: a stream leads elsewhere, and a question that goes there is answered blindly.
    Terminal(Arc<File>),
}

impl Screen {
    /// `None` if nobody is there: the lines of a pipe are questions, and no answers to what a run asks.
    fn found() -> Option<Self> {
        let is_seen = io::stdout().is_terminal();
        if !io::stdin().is_terminal() {
            return None;
        }
        if is_seen && io::stderr().is_terminal() {
            return Some(Self::Streams);
        }
        let is_plain = std::env::var("TERM").is_ok_and(|term| PLAIN.contains(&&*term.to_ascii_lowercase()));
        let terminal = OpenOptions::new().read(cfg!(windows)).write(true).open(TERMINAL).ok()?;
        (is_seen || !is_plain).then(|| Self::Terminal(Arc::new(terminal)))
    }
}

/// True if somebody is there to decide, and sees about what.
pub(crate) fn is_attended() -> bool {
    Screen::found().is_some()
}

/// Reads lines, with editing and history where a terminal writes them.
#[derive(Clone)]
pub(crate) struct Reader {
    /// `None` if nobody is there.
    screen: Option<Screen>,
    editor: Arc<Mutex<Editor<Help, FileHistory>>>,
    /// `None` if nothing is found again.
    history: Option<PathBuf>,
}

impl Reader {
    /// A reader without a history.
    pub(crate) fn new(style: Style) -> Result<Self, String> {
        let screen = Screen::found();
        let behavior = match &screen {
            Some(Screen::Terminal(_)) => Behavior::PreferTerm,
            Some(Screen::Streams) | None => Behavior::Stdio,
        };
        let config = rustyline::Config::builder().behavior(behavior).build();
        let mut editor = Editor::with_config(config).map_err(|error| error.to_string())?;
        editor.set_helper(Some(Help { style, completed: |_| None }));
        editor.set_max_history_size(MAX_HISTORY).map_err(|error| error.to_string())?;
        Ok(Self { screen, editor: Arc::new(Mutex::new(editor)), history: None })
    }

    /// True if somebody is there to decide, and sees about what.
    pub(crate) fn is_attended(&self) -> bool {
        self.screen.is_some()
    }

    /// Tells a line to whoever is asked next.
    pub(crate) fn tell(&self, text: &str) {
        match &self.screen {
            Some(Screen::Terminal(terminal)) => {
                let _unwritten = writeln!(&**terminal, "{}", hung(text, terminal_width()));
            }
            Some(Screen::Streams) | None => line(text),
        }
    }

    /// The reader with a history in that file, and completions of what is typed.
    pub(crate) fn with_history(mut self, history: PathBuf, completed: Completed) -> Self {
        let mut editor = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
        // The first time there is none.
        let _none = editor.load_history(&history);
        if let Some(help) = editor.helper_mut() {
            help.completed = completed;
        }
        drop(editor);
        self.history = Some(history);
        self
    }

    /// The next line, which may be changed from `initial`. With `in_history`, the arrow keys find it again.
    pub(crate) async fn read(&self, prompt: &str, initial: &str, in_history: bool) -> Line {
        let (reader, prompt, initial) = (self.clone(), prompt.to_owned(), initial.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let mut editor = reader.editor.lock().unwrap_or_else(PoisonError::into_inner);
            let read = editor.readline_with_initial(&prompt, (&initial, ""));
            if let (true, Ok(line)) = (in_history, &read)
                && !line.trim().is_empty()
            {
                // A history that cannot be written is no reason to stop talking.
                let _unkept = editor.add_history_entry(line.as_str());
                let _unkept = reader.history.as_ref().map(|history| editor.append_history(history));
            }
            read
        });
        match read.await {
            Ok(Ok(line)) => Line::Said(joined(&line)),
            Ok(Err(ReadlineError::Interrupted)) => Line::Interrupted,
            Ok(Err(ReadlineError::Eof)) => Line::End,
            Ok(Err(error)) => Line::Failed(error.to_string()),
            Err(error) => Line::Failed(error.to_string()),
        }
    }
}

/// The text of a line that may be several.
fn joined(line: &str) -> String {
    let line = line.trim();
    let block = line.strip_prefix(BLOCK).and_then(|rest| rest.strip_suffix(BLOCK));
    block.map_or_else(|| line.replace("\\\n", "\n"), |block| block.trim_matches('\n').to_owned())
}

/// The mark around a text of several lines.
const BLOCK: &str = "\"\"\"";

/// The texts that what was typed may become, and the place from which on they stand.
pub(crate) type Completed = fn(&str) -> Option<(usize, Vec<String>)>;

struct Help {
    style: Style,
    completed: Completed,
}

impl Helper for Help {}

impl Hinter for Help {
    type Hint = String;
}

impl Validator for Help {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let is_open = text.trim_start().starts_with(BLOCK) && text.matches(BLOCK).count() % 2 == 1;
        Ok(if is_open || text.ends_with('\\') {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Highlighter for Help {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(self.style.asks(prompt))
    }
}

impl Completer for Help {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let line = line.get(..at).unwrap_or(line);
        let (from, texts) = (self.completed)(line).unwrap_or_default();
        let pair = |text: String| Pair { display: text.clone(), replacement: text };
        // The editor writes them as they are.
        let texts = texts.into_iter().filter(|text| !text.contains(is_harmful));
        Ok((from, texts.map(pair).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_drive_the_terminal_are_not_completed() {
        fn completed(_: &str) -> Option<(usize, Vec<String>)> {
            Some((0, vec!["a.txt".to_owned(), "a\x1b]0;owned\x07.txt".to_owned()]))
        }
        let help = Help { style: Style::default(), completed };
        let history = FileHistory::new();
        let (_, found) = help.complete("a", 1, &Context::new(&history)).unwrap();
        let found: Vec<&str> = found.iter().map(|pair| &*pair.replacement).collect();
        assert_eq!(found, ["a.txt"]);
    }

    #[test]
    fn lines_are_joined() {
        assert_eq!(joined("one\\\ntwo"), "one\ntwo");
        assert_eq!(joined("\"\"\"\none\n\ntwo\n\"\"\""), "one\n\ntwo");
        assert_eq!(joined(" one "), "one");
    }
}
