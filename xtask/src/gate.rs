//! Holds the costs of everyday work to budgets: instructions by callgrind, allocations by DHAT.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shell::{Failure, output, report, root, run_with, target};
use crate::tools;

/// The budgets: a line for each cost, with the reason why it is what it is.
const BUDGETS: &str = "tests/gate/budgets.txt";

const HEAD: &str = "\
# What everyday work may cost: instructions, allocations and allocated bytes. `cargo xtask bench --gate` fails above 2 %.
# `cargo xtask bench --gate --write REASON` writes what is measured now, with the reason where a figure rises.
";

/// The share by which a cost may pass its budget, in thousandths: other processors take other paths through libc.
const SLACK: u64 = 20;

/// The work whose one allocation stands behind a hundred callers. Where it is not counted, most others are not either.
const DEEP: &str = "callers/hundred";

/// The work over a network, of which the most bytes at once are gated: its instructions depend on when packets come.
const HELD: &str = "held/";

/// The cost of one piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    instructions: u64,
    allocations: u64,
    bytes: u64,
}

const NAMES: [&str; 3] = ["instructions", "allocations", "bytes"];

impl Cost {
    fn figures(self) -> [u64; 3] {
        [self.instructions, self.allocations, self.bytes]
    }

    /// The names of the figures that pass those of a budget.
    fn beyond(self, budget: Self, slack: u64) -> Vec<&'static str> {
        let pairs = self.figures().into_iter().zip(budget.figures()).zip(NAMES);
        let beyond = pairs.filter(|((cost, budget), _)| cost * 1_000 > budget * (1_000 + slack));
        beyond.map(|(_, name)| name).collect()
    }
}

/// A budget and its reason.
struct Budget {
    cost: Cost,
    reason: String,
}

/// Measures all, and compares with the budgets; or writes new ones, with the reason of what rises.
pub(crate) fn gate(write: Option<&str>) -> Result<(), Failure> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err("the budgets are in instructions of x86_64, and this is another processor".to_owned());
    }
    let file = root().join(BUDGETS);
    let budgets = match fs::read_to_string(&file) {
        Ok(text) => read(&text)?,
        Err(_) if write.is_some() => BTreeMap::new(),
        Err(error) => return Err(format!("{BUDGETS} cannot be read: {error}")),
    };
    let costs = measure()?;
    let mut beyond = Vec::new();
    if costs.get(DEEP).is_none_or(|cost| cost.allocations == 0) {
        beyond.push(format!("{DEEP}: its allocation is not counted, so the gate is blind"));
    }
    report(
        "\nwork                     instructions   of budget  allocations   of budget        bytes   of budget",
    );
    for (name, cost) in &costs {
        let budget = budgets.get(name).map(|budget| budget.cost);
        let against = budget.map_or([0; 3], Cost::figures);
        let figures: Vec<String> = cost
            .figures()
            .into_iter()
            .zip(against)
            .map(|(cost, budget)| match (cost * 1_000).checked_div(budget) {
                Some(share) => format!("{cost:>12} {:>7}.{} %", share / 10, share % 10),
                None => format!("{cost:>12} {:>11}", "-"),
            })
            .collect();
        report(&format!("{name:<24} {}", figures.join(" ")));
        match budget {
            None => beyond.push(format!("{name} has no budget")),
            Some(budget) => {
                let names = cost.beyond(budget, SLACK);
                beyond.extend(names.into_iter().map(|figure| format!("{name}: too many {figure}")));
            }
        }
    }
    let gone = budgets.keys().filter(|name| !costs.contains_key(*name));
    beyond.extend(gone.map(|name| format!("{name} has a budget and is not measured")));
    match write {
        Some(reason) => {
            let text = told(&costs, &budgets, reason)?;
            fs::write(&file, text).map_err(|error| format!("{BUDGETS} cannot be written: {error}"))
        }
        None if beyond.is_empty() => Ok(()),
        None => Err(beyond.join("\n       ")),
    }
}

/// The budgets of a file.
fn read(text: &str) -> Result<BTreeMap<String, Budget>, Failure> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let budget = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let mut figure = || words.next()?.replace('_', "").parse().ok();
        let cost = Cost { instructions: figure()?, allocations: figure()?, bytes: figure()? };
        let reason = words.collect::<Vec<_>>().join(" ");
        (!reason.is_empty()).then_some((name, Budget { cost, reason }))
    };
    lines
        .map(|line| {
            budget(line).ok_or_else(|| format!("{BUDGETS}: `{line}` is no name, three figures and a reason"))
        })
        .collect()
}

/// The file of new budgets. Figures that fall take the old reason along, those that rise need a new one.
fn told(
    costs: &BTreeMap<String, Cost>,
    budgets: &BTreeMap<String, Budget>,
    reason: &str,
) -> Result<String, Failure> {
    let mut text = HEAD.to_owned();
    for (name, cost) in costs {
        let reason = match budgets.get(name) {
            Some(budget) if cost.beyond(budget.cost, 0).is_empty() => &budget.reason,
            _ if reason.trim().is_empty() => return Err(format!("{name} rises; say why")),
            _ => reason.trim(),
        };
        let Cost { instructions, allocations, bytes } = cost;
        let _ = writeln!(text, "{name:<24} {instructions:>12} {allocations:>9} {bytes:>12}  {reason}");
    }
    Ok(text)
}

/// Runs the benches under valgrind.
fn measure() -> Result<BTreeMap<String, Cost>, Failure> {
    let folder = target().join("gungraun");
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .map_err(|error| format!("{} cannot be removed: {error}", folder.display()))?;
    }
    let mut variables = valgrind()?;
    variables.push(("GUNGRAUN_RUNNER".to_owned(), runner()?.display().to_string()));
    variables.push(("GUNGRAUN_SAVE_SUMMARY".to_owned(), "json".to_owned()));
    run_with("cargo", &["bench", "--package", "attache-gate", "--bench", "gate"], &variables)?;
    let mut costs = BTreeMap::new();
    for summary in summaries(&folder)? {
        let read = fs::read_to_string(&summary).map_err(|error| error.to_string());
        let read = read.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        let summary: Value = read.map_err(|error| format!("{}: {error}", summary.display()))?;
        let word = |name: &str| summary.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = format!("{}/{}", word("function_name"), word("id"));
        let cost =
            cost(&summary, name.starts_with(HELD)).ok_or_else(|| format!("{name} was not measured"))?;
        costs.insert(name, cost);
    }
    if costs.is_empty() { Err("nothing was measured".to_owned()) } else { Ok(costs) }
}

/// The cost that a summary tells; of work over a network the blocks and bytes that it has at its peak.
fn cost(summary: &Value, at_peak: bool) -> Option<Cost> {
    let profiles = summary.get("profiles")?.as_array()?;
    let figure = |tool: &str, metric: &str| {
        let profile =
            profiles.iter().find(|profile| profile.get("tool").and_then(Value::as_str) == Some(tool))?;
        profile.pointer(&format!("/data/total/metrics/{metric}/values/new"))?.as_u64()
    };
    if at_peak {
        let (allocations, bytes) = (figure("DHAT", "AtTGmaxBlocks")?, figure("DHAT", "AtTGmaxBytes")?);
        return (bytes > 0).then_some(Cost { instructions: 0, allocations, bytes });
    }
    let instructions = figure("Callgrind", "Ir").filter(|count| *count > 0)?;
    Some(Cost {
        instructions,
        allocations: figure("DHAT", "TotalBlocks")?,
        bytes: figure("DHAT", "TotalBytes")?,
    })
}

/// The summaries under a folder.
fn summaries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        let entries =
            fs::read_dir(&folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name == "summary.json") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// The harness's runner, of the version of its library, under the target folder.
fn runner() -> Result<PathBuf, Failure> {
    let lock =
        fs::read_to_string(root().join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
    let version = lock
        .split("[[package]]")
        .find_map(|package| package.trim_start().strip_prefix("name = \"gungraun\"\nversion = \""))
        .and_then(|rest| rest.split('"').next())
        .ok_or("Cargo.lock does not know gungraun")?;
    tools::installed("gungraun-runner", version)
}

/// The variables by which valgrind is found: none if it is installed, else those of a package that is unpacked under the
/// target folder, which asks for no rights.
fn valgrind() -> Result<Vec<(String, String)>, Failure> {
    if output("valgrind", &["--version"]).is_ok() {
        return Ok(Vec::new());
    }
    let folder = tools::unpacked("valgrind", &["valgrind"])?;
    let path = std::env::var("PATH").unwrap_or_default();
    let programs = folder.join("usr/bin").display().to_string();
    let library = folder.join("usr/libexec/valgrind").display().to_string();
    Ok(vec![("PATH".to_owned(), format!("{programs}:{path}")), ("VALGRIND_LIB".to_owned(), library)])
}
