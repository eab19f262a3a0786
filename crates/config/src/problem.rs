//! Mistakes in a configuration.

use std::fmt;
use std::path::{Path, PathBuf};

/// The likeness, of 1, from which on a name is offered for another.
const LIKENESS: f64 = 0.75;

/// One mistake: where it is, and what would be right. Values that came of variables stand in it as they are written,
/// `${NAME}`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1 on; `None` where the mistake is the whole file's.
    pub line: Option<usize>,
    /// The place in it, such as `mcp.files.command`; empty for the file itself.
    pub path: String,
    /// The mistake, with the value that is wrong.
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

/// Every mistake that was found, in the order of files and lines.
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
    let likeness = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &written.to_lowercase());
    let near = known.iter().map(|name| (likeness(name), *name)).filter(|(score, _)| *score >= LIKENESS);
    match near.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, name)) => Some(format!("did you mean `{name}`?")),
        None if (1..=FEW).contains(&known.len()) => Some(format!("known here: `{}`", known.join("`, `"))),
        None => None,
    }
}
