//! Benches, as ratios to a floor that does the same work in the same run.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::shell::{Failure, report, root, run as command};

/// Runs the criterion benches and prints each group's median next to that of its `floor`.
pub(crate) fn run(only: &[&str]) -> Result<(), Failure> {
    let mut arguments = vec!["bench", "-p", "attache-tests", "--bench", "floors", "--"];
    arguments.extend(only);
    command("cargo", &arguments)?;
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root().join("target"), Into::into);
    let folder = target.join("criterion");
    let groups =
        fs::read_dir(&folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    let mut groups: Vec<_> = groups.filter_map(Result::ok).map(|group| group.path()).collect();
    groups.sort();
    report("\nbench                              attache       floor   ratio");
    for group in groups {
        let (Some(ours), Some(floor)) = (median(&group.join("attache")), median(&group.join("floor"))) else {
            continue;
        };
        let name = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
        report(&format!("{name:<30} {:>8.1} us {:>8.1} us {:>7.2}", ours / 1e3, floor / 1e3, ours / floor));
    }
    Ok(())
}

/// The median of a bench in nanoseconds.
fn median(bench: &Path) -> Option<f64> {
    let text = fs::read_to_string(bench.join("new/estimates.json")).ok()?;
    serde_json::from_str::<Value>(&text).ok()?.pointer("/median/point_estimate")?.as_f64()
}
