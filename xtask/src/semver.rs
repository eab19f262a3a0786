//! Which changes of the public API break those who use it, by cargo-semver-checks.

use crate::shell::{Failure, output, report, root, run};
use crate::tools;
use crate::workspace;

const VERSION: &str = "0.51.0";

/// Compares these published libraries, or all, with those of a revision: the newest tag of a release, or before the
/// first one what `main` holds, which says nothing on `main` itself.
pub(crate) fn run_all(baseline: Option<&str>, only: &[&str]) -> Result<(), Failure> {
    let baseline = match baseline {
        Some(baseline) => baseline.to_owned(),
        None => match newest_release()? {
            Some(release) => release,
            None => {
                let is_changed = !output("git", &["status", "--porcelain"])?.trim().is_empty();
                before_the_first(is_changed || revision("HEAD")? != revision("main")?)?
            }
        },
    };
    let program = tools::installed("cargo-semver-checks", VERSION)?.display().to_string();
    report(&format!("compared with {baseline}"));
    let manifest = root().join("Cargo.toml").display().to_string();
    let packages = workspace::libraries(only)?;
    let mut arguments =
        vec!["semver-checks", "--manifest-path", &manifest, "--baseline-rev", &baseline, "--all-features"];
    // A procedural macro has no API that rustdoc shows.
    let compared = packages.iter().filter(|package| !package.is_macro);
    arguments.extend(compared.flat_map(|package| ["-p", package.name.as_str()]));
    run(&program, &arguments)
}

fn newest_release() -> Result<Option<String>, Failure> {
    let tags = output("git", &["tag", "--list", "v[0-9]*", "--sort=-version:refname"])?;
    Ok(tags.lines().next().map(str::to_owned))
}

fn revision(name: &str) -> Result<String, Failure> {
    Ok(output("git", &["rev-parse", "--verify", name])?.trim().to_owned())
}

/// The baseline where there is no release yet.
fn before_the_first(differs_from_main: bool) -> Result<String, Failure> {
    let is_main = "there is no release, and this is `main` itself: name an older commit by --baseline REV";
    if differs_from_main { Ok("main".to_owned()) } else { Err(is_main.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_is_not_compared_with_itself() {
        assert!(before_the_first(false).unwrap_err().contains("--baseline"));
        assert_eq!(before_the_first(true), Ok("main".to_owned()));
    }
}
