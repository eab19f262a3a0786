//! Problems in a configuration.

use std::fmt;
use std::path::{Path, PathBuf};

use attache_core::near::near;

/// One problem in a configuration: its place, and advice. Values that come from variables are shown as written,
/// `${NAME}`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; `None` if the problem concerns the whole file.
    pub line: Option<usize>,
    /// The path in the file, such as `mcp.files.command`; empty for the file itself.
    pub path: String,
    /// The problem, with the invalid value.
    pub message: String,
    /// Advice.
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn of_file(file: &Path, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, path: String::new(), message: message.into(), hint: None }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if !self.path.is_empty() {
            write!(f, "{} ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// All problems found, in the order of files and lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// These, in order, each once.
    pub(crate) fn of(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.line);
        problems.sort_by(|one, other| one.file.cmp(&other.file));
        problems.dedup();
        Self(problems)
    }

    pub(crate) fn into_vec(self) -> Vec<Problem> {
        self.0
    }

    /// The problems.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    /// One line for each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            write!(f, "{end}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The hint that names the one of `known` that was perhaps meant; all of them, where they are few and none is alike.
pub(crate) fn meant<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    const FEW: usize = 8;
    let known: Vec<&str> = known.collect();
    match near(written, known.iter().copied()).first() {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if (1..=FEW).contains(&known.len()) => Some(format!("known here: `{}`", known.join("`, `"))),
        None => None,
    }
}
