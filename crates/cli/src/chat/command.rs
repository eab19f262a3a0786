//! The commands that begin with a slash.

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
pub(super) const NAMES: [&str; 11] = [
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
            "" => Err(format!("{name} of what? /help says it")),
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
            name => Err(format!("there is no {name}; /help names what there is")),
        })
    }
}

/// The text of `/help`.
pub(super) fn help() -> String {
    let lines =
        COMMANDS.iter().map(|(name, takes, about)| format!("  {:<18} {about}\n", format!("{name} {takes}")));
    lines.collect::<String>()
        + "  A line that ends with \\ goes on in the next one, and so does text between \"\"\" and \"\"\".\n  \
           Ctrl-C stops an answer, Ctrl-D leaves.\n"
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
            assert!(help().contains(about.2));
        }
    }
}
