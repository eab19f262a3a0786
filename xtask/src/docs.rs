//! The guide: its links lead somewhere, its programs are the examples, the crates it counts are those that cargo counts;
//! and the site that is made of it.

mod links;
mod page;
mod programs;
mod site;

pub(crate) use page::pages;

use crate::shell::{Failure, report, root};

/// `cargo xtask docs`: checks the pages and builds the site; `--check` does no more than the first, `--write` copies the
/// examples into the pages that show them.
pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    let root = root();
    match words {
        [] => {
            check()?;
            site::build(&root, &pages(&root)?)
        }
        ["--check"] => check(),
        ["--write"] => programs::write(&root, pages(&root)?),
        _ => Err("docs takes --check or --write".to_owned()),
    }
}

/// Checks what needs no other program than cargo.
pub(crate) fn check() -> Result<(), Failure> {
    let root = root();
    let pages = pages(&root)?;
    let mut problems = links::problems(&root, &pages);
    problems.extend(links::unlisted(&pages));
    problems.extend(programs::problems(&root, &pages)?);
    problems.extend(programs::unread(&root, &pages)?);
    problems.extend(programs::untold_features(&root)?);
    problems.extend(programs::wrong_counts(&pages)?);
    report(&format!("{} pages", pages.len()));
    if problems.is_empty() { Ok(()) } else { Err(format!("docs:\n  {}", problems.join("\n  "))) }
}
