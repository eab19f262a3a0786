//! Which commands are allowed.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The most arguments of a command, and the most bytes of one.
const MOST: usize = 64;
const LONGEST: usize = 4_096;

/// A program with the arguments that it may be given, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Command {
    pub(super) name: String,
    arguments: Vec<Argument>,
}

/// One argument that a command may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// This text.
    Exact(String),
    /// One of these texts.
    OneOf(Vec<String>),
    /// Any text that does not begin with `-`, so that it is no option.
    Text,
    /// A whole number.
    Number,
    /// A relative path that leads to no place outside the folder, now that the command begins; it does not begin with
    /// `-`.
    File,
    /// The argument, or none.
    Optional(Box<Argument>),
    /// The argument as often as one likes, also never.
    Repeated(Box<Argument>),
}

impl Command {
    /// A program without arguments, by its name or an absolute path.
    pub fn new(program: impl Into<String>) -> Self {
        Self { name: program.into(), arguments: Vec::new() }
    }

    /// Adds an argument that is given as it is.
    pub fn exact(self, argument: impl Into<String>) -> Self {
        self.argument(Argument::Exact(argument.into()))
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: Argument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// True if it may be given these arguments in that folder.
    pub(super) fn allows(&self, given: &[String], folder: &Path) -> bool {
        let is_sane = |argument: &String| argument.len() <= LONGEST && !argument.contains('\0');
        given.len() <= MOST && given.iter().all(is_sane) && allow(&self.arguments, given, folder)
    }
}

impl Argument {
    /// The argument, or none.
    #[must_use]
    pub fn optional(self) -> Self {
        Self::Optional(Box::new(self))
    }

    /// The argument as often as one likes.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self::Repeated(Box::new(self))
    }

    fn is(&self, given: &str, folder: &Path) -> bool {
        match self {
            Self::Exact(text) => text == given,
            Self::OneOf(texts) => texts.iter().any(|text| text == given),
            Self::Text => !given.starts_with('-'),
            Self::Number => given.parse::<i64>().is_ok(),
            Self::File => !given.starts_with('-') && is_inside(given, folder),
            Self::Optional(inner) | Self::Repeated(inner) => inner.is(given, folder),
        }
    }
}

fn allow(rules: &[Argument], given: &[String], folder: &Path) -> bool {
    let Some((rule, rules)) = rules.split_first() else { return given.is_empty() };
    let takes = given.split_first().filter(|(first, _)| rule.is(first, folder)).map(|(_, rest)| rest);
    match rule {
        Argument::Optional(_) => {
            takes.is_some_and(|rest| allow(rules, rest, folder)) || allow(rules, given, folder)
        }
        Argument::Repeated(_) => {
            // As many as fit, then fewer: each is tried once.
            let most = given.iter().take_while(|given| rule.is(given, folder)).count();
            (0..=most).rev().any(|count| given.get(count..).is_some_and(|rest| allow(rules, rest, folder)))
        }
        _ => takes.is_some_and(|rest| allow(rules, rest, folder)),
    }
}

/// True if a path leads to no place outside, as far as it exists.
fn is_inside(path: &str, folder: &Path) -> bool {
    let path = Path::new(path);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.as_os_str().is_empty() || !path.components().all(plain) {
        return false;
    }
    // What does not exist yet is where its folder is.
    let mut place: PathBuf = folder.join(path);
    loop {
        match place.symlink_metadata() {
            Ok(_) => return place.canonicalize().is_ok_and(|real| real.starts_with(folder)),
            Err(_) if !place.pop() => return false,
            Err(_) => {}
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(text) => f.write_str(text),
            Self::OneOf(texts) => write!(f, "({})", texts.join("|")),
            Self::Text => f.write_str("<text>"),
            Self::Number => f.write_str("<number>"),
            Self::File => f.write_str("<file>"),
            Self::Optional(inner) => write!(f, "[{inner}]"),
            Self::Repeated(inner) => write!(f, "[{inner} …]"),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}
