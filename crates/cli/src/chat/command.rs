//! The commands that begin with a slash.

use super::dropped;
use crate::show::table::named;
use crate::show::wrap::hung;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Attach(String),
    Model(Option<String>),
    Tools,
    History,
    Save(String),
    New,
    Sessions,
    Undo,
    Cost,
    Quit,
}

/// The names, each with what it is for.
const COMMANDS: [(&str, &str, &str); 11] = [
    ("/help", "", "say this"),
    (
        "/attach",
        "FILE|URL",
        "attach a document to the next question; a path that is typed or dropped alone does it too",
    ),
    ("/model", "[NAME]", "ask another model from now on, or say which one is asked"),
    ("/tools", "", "say what the model may do"),
    ("/history", "", "show what was said"),
    ("/save", "FILE", "write the conversation, for `attache wire` and `attache explain`"),
    ("/new", "", "begin a new session"),
    ("/sessions", "", "list the sessions"),
    ("/undo", "", "take back the last question and its answer; the session as it was stays"),
    ("/cost", "", "say what this chat cost so far"),
    ("/quit", "", "leave; Ctrl-D does it too"),
];

/// The names, for completion.
const NAMES: [&str; 11] = [
    "/help",
    "/attach ",
    "/model ",
    "/tools",
    "/history",
    "/save ",
    "/new",
    "/sessions",
    "/undo",
    "/cost",
    "/quit",
];

impl Command {
    /// Reads a line; `None` if it is no command.
    ///
    /// # Errors
    /// The name that is none, or what is missing.
    pub(super) fn parse(line: &str) -> Option<Result<Self, String>> {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        // A path begins with a slash too, and has more of them.
        let is_name = name
            .strip_prefix('/')
            .is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphabetic()) || name == "?");
        if !is_name {
            return None;
        }
        let rest = rest.trim();
        let given = |make: fn(String) -> Self| match rest {
            "" => Err(format!("{name} needs an argument; see /help")),
            rest => Ok(make(rest.to_owned())),
        };
        Some(match name {
            "/help" | "/?" => Ok(Self::Help),
            "/attach" => given(Self::Attach),
            "/model" => Ok(Self::Model(Some(rest.to_owned()).filter(|rest| !rest.is_empty()))),
            "/tools" => Ok(Self::Tools),
            "/history" => Ok(Self::History),
            "/save" => given(Self::Save),
            "/new" => Ok(Self::New),
            "/sessions" => Ok(Self::Sessions),
            "/undo" => Ok(Self::Undo),
            "/cost" => Ok(Self::Cost),
            "/quit" | "/exit" => Ok(Self::Quit),
            name => Err(format!("there is no {name}; /help lists the commands")),
        })
    }
}

/// The commands and paths that a line may become, and the place from which on they stand.
pub(super) fn completed(line: &str) -> Option<(usize, Vec<String>)> {
    if let Some(path) = line.strip_prefix("/attach ") {
        return Some((line.len() - path.len(), dropped::completions(path)));
    }
    let names = NAMES.iter().filter(|name| line.starts_with('/') && name.starts_with(line));
    Some((0, names.map(|name| (*name).to_owned()).collect()))
}

/// The text of `/help`, in lines of at most `width`.
pub(super) fn help(width: usize) -> String {
    let commands = COMMANDS.map(|(name, takes, about)| (format!("{name} {takes}"), about));
    let keys = [
        "  A line that ends with \\ goes on in the next one, and so does text between \"\"\" and \"\"\".",
        "  Ctrl-C stops an answer, Ctrl-D leaves.",
    ];
    format!("{}{}\n", named(&commands, width), keys.map(|about| hung(about, width)).join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_questions_and_paths() {
        assert_eq!(Command::parse("/attach  a b.pdf "), Some(Ok(Command::Attach("a b.pdf".to_owned()))));
        assert_eq!(Command::parse("/model"), Some(Ok(Command::Model(None))));
        assert!(Command::parse("/save").is_some_and(|command| command.is_err()));
        assert!(Command::parse("/modle x").is_some_and(|command| command.is_err()));
        for line in ["What is /help?", "/home/ann/lease.pdf", "", "1/2", "/tmp/a b.pdf and more"] {
            assert_eq!(Command::parse(line), None, "{line}");
        }
        for (name, about) in NAMES.iter().zip(COMMANDS) {
            assert_eq!(name.trim(), about.0);
            assert!(help(200).contains(about.2));
        }
        for width in [44, 60, 90] {
            let help = help(width);
            assert!(help.lines().all(|line| line.chars().count() <= width), "{help}");
            // Only at blanks: the words are those of the wide one.
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&help), words(&super::help(200)));
        }
    }
}
