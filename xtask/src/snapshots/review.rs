//! Changed snapshots, shown one by one as a diff and accepted or not.

use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::collect;
use crate::shell::{Failure, report, root, run_with};

const HELP: &str = "a: accept, r: reject, s: skip, A: accept all that are left, q: quit";

/// Runs the tests of these packages, or all, and asks about each snapshot that changed and whose path holds `filter`.
pub(crate) fn run(filter: &str, packages: &[&str]) -> Result<(), Failure> {
    // Left over from an earlier run, when the code was another.
    for old in pending()? {
        remove(&old)?;
    }
    let settings = [("INSTA_UPDATE", "new"), ("INSTA_FORCE_PASS", "1"), ("INSTA_OUTPUT", "none")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut arguments = vec!["test", "--tests", "--no-fail-fast", "--quiet"];
    match packages {
        [] => arguments.push("--workspace"),
        _ => arguments.extend(packages.iter().flat_map(|package| ["-p", package])),
    }
    // Tests may fail otherwise too; what they say of snapshots is asked all the same.
    let tested = run_with("cargo", &arguments, &settings);
    let all = pending()?;
    let (files, inline): (Vec<PathBuf>, _) = all.into_iter().partition(|path| has_end(path, "new"));
    for path in inline {
        report(&format!("{}: an inline snapshot changed, which is edited by hand", shown(&path)));
        remove(&path)?;
    }
    let files: Vec<PathBuf> = files.into_iter().filter(|path| shown(path).contains(filter)).collect();
    let tally = review(&files, &mut std::io::stdin().lock(), &mut |line| report(line))?;
    report(&format!(
        "{} accepted, {} rejected, {} left as they are",
        tally.accepted, tally.rejected, tally.left
    ));
    tested
}

/// The number of each answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    accepted: usize,
    rejected: usize,
    left: usize,
}

/// Asks about each file. The end of the answers is the answer `q`.
fn review(files: &[PathBuf], answers: &mut dyn BufRead, say: &mut dyn FnMut(&str)) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    let mut all = false;
    for (at, new) in files.iter().enumerate() {
        let old = new.with_extension("");
        let after = kept(&read(new)?);
        write(new, &after)?;
        if !all {
            say(&format!("\n{} of {}: {}", at + 1, files.len(), shown(&old)));
            say(&diff(&old, new)?);
        }
        let answer = if all { 'a' } else { ask(answers, say)? };
        match answer {
            'a' | 'A' => {
                all = all || answer == 'A';
                write(&old, &after)?;
                remove(new)?;
                tally.accepted += 1;
            }
            'r' => {
                remove(new)?;
                tally.rejected += 1;
            }
            's' => tally.left += 1,
            _ => {
                tally.left += files.len() - at;
                break;
            }
        }
    }
    Ok(tally)
}

/// The next answer that is one.
fn ask(answers: &mut dyn BufRead, say: &mut dyn FnMut(&str)) -> Result<char, Failure> {
    loop {
        say(HELP);
        let mut line = String::new();
        let read = answers.read_line(&mut line).map_err(|error| format!("no answer: {error}"))?;
        match (read, line.trim()) {
            (0, _) => return Ok('q'),
            (_, "a" | "r" | "s" | "q" | "A") => return Ok(line.trim().chars().next().unwrap_or('q')),
            _ => {}
        }
    }
}

/// A snapshot as it is committed: without the line of the test, which every edit of a test would change.
fn kept(text: &str) -> String {
    let mut marks = 0;
    let lines = text.lines().filter(|line| {
        marks += usize::from(*line == "---");
        marks != 1 || !line.starts_with("assertion_line:")
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The lines that differ, by git, which is there.
fn diff(old: &Path, new: &Path) -> Result<String, Failure> {
    let old = if old.exists() { old } else { Path::new("/dev/null") };
    let colour = if std::io::IsTerminal::is_terminal(&std::io::stderr()) { "always" } else { "never" };
    let mut command = Command::new("git");
    command.args(["diff", "--no-index", "--no-ext-diff", &format!("--color={colour}")]).arg(old).arg(new);
    let output = command.output().map_err(|error| format!("git cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Its head names the files, which was said.
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.contains("@@ ")).collect();
    Ok(lines.join("\n"))
}

/// The files that insta wrote beside snapshots and tests: new forms, and those of inline snapshots.
fn pending() -> Result<Vec<PathBuf>, Failure> {
    let mut files = std::collections::BTreeSet::new();
    for folder in ["crates", "tests"] {
        collect(&root().join(folder), &mut files, &|path| {
            has_end(path, "new") && has_end(&path.with_extension(""), "snap") || has_end(path, "pending-snap")
        })?;
    }
    Ok(files.into_iter().collect())
}

fn has_end(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|extension| extension == end)
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

fn remove(path: &Path) -> Result<(), Failure> {
    fs::remove_file(path).map_err(|error| format!("{} cannot be removed: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "---\nsource: tests/a.rs\nexpression: text\n---\nbefore\n";
    const NEW: &str =
        "---\nsource: tests/a.rs\nassertion_line: 7\nexpression: text\n---\nafter\nassertion_line: 1\n";
    const KEPT: &str = "---\nsource: tests/a.rs\nexpression: text\n---\nafter\nassertion_line: 1\n";

    /// Snapshots with a new form each, asked about with these answers: the tally, what was said, and each snapshot with
    /// whether its new form is still there.
    fn asked(count: usize, answers: &str) -> (Tally, String, Vec<(String, bool)>) {
        // Each test has a thread, and so a folder, of its own.
        let name = format!("attache-review-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let files: Vec<PathBuf> = (0..count).map(|at| folder.join(format!("case{at}.snap.new"))).collect();
        for file in &files {
            fs::write(file.with_extension(""), OLD).unwrap();
            fs::write(file, NEW).unwrap();
        }
        let mut said = String::new();
        let tally = review(&files, &mut answers.as_bytes(), &mut |line| {
            said.push_str(line);
            said.push('\n');
        });
        let left = files
            .iter()
            .map(|file| (fs::read_to_string(file.with_extension("")).unwrap(), file.exists()))
            .collect();
        fs::remove_dir_all(&folder).unwrap();
        (tally.unwrap(), said, left)
    }

    #[test]
    fn an_accepted_snapshot_is_the_new_one_without_the_line_of_its_test() {
        let (tally, said, left) = asked(1, "a\n");
        assert_eq!((tally.accepted, left), (1, vec![(KEPT.to_owned(), false)]));
        assert!(said.contains("\n-before\n") && said.contains("\n+after\n"), "{said}");
    }

    #[test]
    fn a_rejected_snapshot_is_the_old_one_and_a_skipped_one_waits() {
        let (tally, _, left) = asked(2, "r\ns\n");
        assert_eq!((tally.rejected, tally.left), (1, 1));
        assert_eq!(left, [(OLD.to_owned(), false), (OLD.to_owned(), true)]);
    }

    #[test]
    fn the_end_of_answers_leaves_the_rest() {
        let (tally, _, left) = asked(3, "a\n");
        assert_eq!(tally, Tally { accepted: 1, rejected: 0, left: 2 });
        assert_eq!(left[2], (OLD.to_owned(), true));
    }

    #[test]
    fn all_that_are_left_are_accepted_at_once() {
        let (tally, said, _) = asked(3, "s\nA\n");
        assert_eq!(tally, Tally { accepted: 2, rejected: 0, left: 1 });
        assert_eq!(said.matches(HELP).count(), 2);
    }

    #[test]
    fn an_answer_that_is_none_is_asked_again() {
        let (tally, said, _) = asked(1, "yes\n\nr\n");
        assert_eq!((tally.rejected, said.matches(HELP).count()), (1, 3));
    }
}
