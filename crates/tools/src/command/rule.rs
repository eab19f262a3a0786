//! The rules for allowed commands.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The maximum number of arguments of a command, and the maximum number of bytes of one.
const MOST: usize = 64;
const LONGEST: usize = 4_096;

/// A program with its allowed arguments, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Command {
    pub(super) name: String,
    arguments: Vec<Argument>,
}

/// One allowed argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// Exactly this text.
    Exact(String),
    /// One of these texts.
    OneOf(Vec<String>),
    /// Any text that does not begin with `-`, so that it is not an option.
    Text,
    /// A whole number without a sign: programs read one with a sign as an option.
    Number,
    /// A relative path that does not lead outside the folder at the start of the command; it must not begin with `-`,
    /// or with `:`, which git reads as more than a path.
    File,
    /// The argument or nothing.
    Optional(Box<Argument>),
    /// The argument any number of times, including zero.
    Repeated(Box<Argument>),
}

impl Command {
    /// Creates a rule for a program without arguments, by its name or an absolute path.
    pub fn new(program: impl Into<String>) -> Self {
        Self { name: program.into(), arguments: Vec::new() }
    }

    /// Adds an argument with exactly this text.
    pub fn exact(self, argument: impl Into<String>) -> Self {
        self.argument(Argument::Exact(argument.into()))
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: Argument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// True if it may be given these arguments in that folder.
    ///
    /// Without a folder, nothing is asked of the file system: a path is held against its text alone.
    pub(super) fn allows(&self, given: &[String], folder: Option<&Path>) -> bool {
        let is_sane = |argument: &String| argument.len() <= LONGEST && !argument.contains('\0');
        if given.len() > MOST || !given.iter().all(is_sane) {
            return false;
        }
        // All numbers of arguments that the rules so far may have taken, so that each rule meets each argument once.
        let start = BTreeSet::from([0]);
        let ends = self.arguments.iter().fold(start, |from, rule| rule.ends(&from, given, folder));
        ends.contains(&given.len())
    }
}

impl Argument {
    /// Makes the argument optional.
    #[must_use]
    pub fn optional(self) -> Self {
        Self::Optional(Box::new(self))
    }

    /// Allows the argument any number of times.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self::Repeated(Box::new(self))
    }

    /// The numbers of arguments that may be taken after this rule, for each that may be taken before it.
    fn ends(&self, from: &BTreeSet<usize>, given: &[String], folder: Option<&Path>) -> BTreeSet<usize> {
        match self {
            Self::Optional(inner) => from.union(&inner.ends(from, given, folder)).copied().collect(),
            Self::Repeated(inner) => {
                let (mut all, mut new) = (from.clone(), from.clone());
                while !new.is_empty() {
                    new = inner.ends(&new, given, folder).difference(&all).copied().collect();
                    all.extend(&new);
                }
                all
            }
            one => {
                let taken =
                    from.iter().filter(|at| given.get(**at).is_some_and(|given| one.is(given, folder)));
                taken.map(|at| at + 1).collect()
            }
        }
    }

    fn is(&self, given: &str, folder: Option<&Path>) -> bool {
        match self {
            Self::Exact(text) => text == given,
            Self::OneOf(texts) => texts.iter().any(|text| text == given),
            Self::Text => !given.starts_with('-'),
            Self::Number => given.bytes().all(|byte| byte.is_ascii_digit()) && given.parse::<u64>().is_ok(),
            Self::File => !given.starts_with(['-', ':']) && is_inside(given, folder),
            Self::Optional(inner) | Self::Repeated(inner) => inner.is(given, folder),
        }
    }
}

/// True if a path leads to no place outside, as far as it exists; without a folder, as far as its text says.
fn is_inside(path: &str, folder: Option<&Path>) -> bool {
    let path = Path::new(path);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.as_os_str().is_empty() || !path.components().all(plain) {
        return false;
    }
    let Some(folder) = folder else { return true };
    // A path that does not exist yet is where its folder is.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rules: &[Argument], given: &[&str]) -> bool {
        let command = rules.iter().cloned().fold(Command::new("x"), Command::argument);
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        command.allows(&given, None)
    }

    #[test]
    fn an_optional_repeated_argument_is_taken_as_often_as_one_likes() {
        let rules = [Argument::Text.repeated().optional(), Argument::Exact("--".to_owned())];
        for given in [&["--"][..], &["a", "--"], &["a", "b", "c", "--"]] {
            assert!(allows(&rules, given), "{given:?}");
        }
        assert!(!allows(&rules, &["a", "b"]) && !allows(&rules, &["a", "-b", "--"]));
    }

    // With steps back, 20 rules over 60 arguments take longer than anybody lives.
    #[test]
    fn many_repeated_arguments_are_looked_at_once_each() {
        let mut rules = vec![Argument::Text.repeated(); 20];
        rules.push(Argument::Exact("--end".to_owned()));
        assert!(!allows(&rules, &["a"; 60]));
        let nested = [Argument::Text.repeated().repeated().optional().repeated()];
        assert!(allows(&nested, &["a"; 60]));
    }

    #[test]
    fn numbers_and_files_are_no_options_and_no_magic() {
        for (number, is_one) in
            [("7", true), ("007", true), ("-1", false), ("+1", false), ("", false), ("1x", false)]
        {
            assert_eq!(allows(&[Argument::Number], &[number]), is_one, "{number}");
        }
        for (file, is_one) in
            [("a:b", true), (":/x", false), (":(top)x", false), ("-x", false), ("../x", false)]
        {
            assert_eq!(allows(&[Argument::File], &[file]), is_one, "{file}");
        }
    }
}
