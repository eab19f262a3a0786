//! Which changes of the public API break those who use it, by cargo-semver-checks.

use crate::shell::{Failure, output, report, root, run};
use crate::tools;
use crate::workspace;

const VERSION: &str = "0.51.0";

/// Compares these published libraries, or all, with those of a revision: the newest tag of a release, or `main` before the first.
pub(crate) fn run_all(baseline: Option<&str>, only: &[&str]) -> Result<(), Failure> {
    let program = tools::installed("cargo-semver-checks", VERSION)?.display().to_string();
    let baseline = match baseline {
        Some(baseline) => baseline.to_owned(),
        None => newest_release()?.unwrap_or_else(|| "main".to_owned()),
    };
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
