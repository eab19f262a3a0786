//! Which code the tests run: a share for each crate, and a folder of pages that show the lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::shell::{Failure, output, report, root, run_with, target};
use crate::stand_in::Role;
use crate::tools;

/// Lines or regions: all of them, and those that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    count: u64,
    covered: u64,
}

impl Share {
    fn of(summary: &Value, kind: &str) -> Self {
        let figure = |name: &str| summary.pointer(&format!("/{kind}/{name}")).and_then(Value::as_u64);
        Self { count: figure("count").unwrap_or_default(), covered: figure("covered").unwrap_or_default() }
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.covered += other.covered;
    }

    fn text(self) -> String {
        let share = (self.covered * 1_000).checked_div(self.count).unwrap_or_default();
        format!("{:>3}.{} %", share / 10, share % 10)
    }
}

/// Runs the tests of these packages, or of all, and tells the share of each crate. Doc tests do not count.
pub(crate) fn run(packages: &[&str]) -> Result<(), Failure> {
    let tools = Tools::find()?;
    let folder = target().join("coverage");
    let _ = fs::remove_dir_all(&folder);
    let raw = folder.join("raw");
    fs::create_dir_all(&raw).map_err(|error| format!("{} cannot be made: {error}", raw.display()))?;

    let mut variables = Role::Coverage.variables()?;
    // Four files for each program, which its processes share; this program and build scripts leave none.
    let file = raw.join("%4m.profraw").display().to_string();
    variables.push(("LLVM_PROFILE_FILE".to_owned(), file));
    variables.push(("INSTA_UPDATE".to_owned(), "no".to_owned()));
    let mut test = vec!["test", "--tests", "--no-fail-fast"];
    match packages {
        [] => test.extend(["--workspace", "--exclude", "xtask"]),
        _ => test.extend(packages.iter().flat_map(|package| ["-p", package])),
    }
    // Failures are told after all stages ran.
    let tested = run_with("cargo", &test, &variables);
    let programs = programs(&test, &variables)?;

    let whole = folder.join("all.profdata").display().to_string();
    let raw = fs::read_dir(&raw).map_err(|error| format!("{}: {error}", raw.display()))?;
    let raw: Vec<String> = raw.filter_map(Result::ok).map(|file| file.path().display().to_string()).collect();
    if raw.is_empty() {
        return tested.and(Err("no test wrote what it ran".to_owned()));
    }
    let mut merge = vec!["merge", "-sparse", "-o", &whole];
    merge.extend(raw.iter().map(String::as_str));
    tools.run("llvm-profdata", &merge)?;

    let profile = format!("-instr-profile={whole}");
    // Code of others, and tests.
    let root = root().display().to_string().replace('.', r"\.");
    let ignore = format!(
        r"--ignore-filename-regex=(/\.cargo/|/rustc/|/crates/.*/tests/|^{root}/(target|tests|xtask)/)"
    );
    let mut objects: Vec<String> =
        programs.into_iter().flat_map(|program| ["-object".to_owned(), program]).collect();
    // The first needs no flag before it, and may have none.
    objects.remove(0);
    let with = |head: &[&str]| -> Vec<String> {
        let head = head.iter().map(|word| (*word).to_owned());
        head.chain(objects.iter().cloned()).chain([profile.clone(), ignore.clone()]).collect()
    };
    let told = tools.run("llvm-cov", &with(&["export", "--summary-only"]))?;
    let told: Value = serde_json::from_str(&told).map_err(|error| format!("llvm-cov: {error}"))?;
    table(&shares(&told, &crate::shell::root()));
    let pages = folder.join("html").display().to_string();
    let output = format!("-output-dir={pages}");
    tools.run("llvm-cov", &with(&["show", "-format=html", "-show-line-counts-or-regions", &output]))?;
    report(&format!("the lines: {pages}/index.html"));
    tested
}

/// The programs that the tests are, and the binaries that they start.
fn programs(test: &[&str], variables: &[(String, String)]) -> Result<BTreeSet<String>, Failure> {
    let mut command = crate::shell::command(
        "cargo",
        &[test, &["--no-run", "--quiet", "--message-format", "json"]].concat(),
    );
    let output = command.envs(variables.iter().map(|(name, value)| (name, value))).output();
    let output = output.map_err(|error| format!("cargo cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs: BTreeSet<String> =
        messages.filter_map(|message| Some(message.get("executable")?.as_str()?.to_owned())).collect();
    if programs.is_empty() { Err("cargo names no program of tests".to_owned()) } else { Ok(programs) }
}

/// The shares of lines and of regions for each crate.
fn shares(told: &Value, root: &Path) -> BTreeMap<String, [Share; 2]> {
    let mut shares = BTreeMap::<String, [Share; 2]>::new();
    for file in told.pointer("/data/0/files").and_then(Value::as_array).into_iter().flatten() {
        let name = file.get("filename").and_then(Value::as_str).unwrap_or_default();
        let Ok(path) = Path::new(name).strip_prefix(root) else { continue };
        let folders: Vec<_> =
            path.iter().take_while(|part| *part != "src").map(|part| part.to_string_lossy()).collect();
        let Some(summary) = file.get("summary") else { continue };
        let [lines, regions] = shares.entry(folders.join("/")).or_default();
        lines.add(Share::of(summary, "lines"));
        regions.add(Share::of(summary, "regions"));
    }
    shares
}

fn table(shares: &BTreeMap<String, [Share; 2]>) {
    report("\ncrate                             lines   covered   regions");
    let mut all = [Share::default(); 2];
    for (name, [lines, regions]) in shares {
        report(&format!("{name:<30} {:>8}   {}   {}", lines.count, lines.text(), regions.text()));
        all[0].add(*lines);
        all[1].add(*regions);
    }
    let [lines, regions] = all;
    report(&format!("{:<30} {:>8}   {}   {}\n", "all", lines.count, lines.text(), regions.text()));
}

/// The programs of LLVM that read what our rustc writes: of its version or a later one.
struct Tools {
    folder: Option<PathBuf>,
    suffix: String,
    libraries: Option<String>,
}

impl Tools {
    fn find() -> Result<Self, Failure> {
        let about = output("rustc", &["-vV"])?;
        let line = |name: &str| about.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let host = line("host:").ok_or("rustc does not tell its host")?;
        let version = line("LLVM version:").and_then(|version| version.split('.').next());
        let version = version.ok_or("rustc does not tell its LLVM")?;
        // The component `llvm-tools` of the toolchain.
        let system = output("rustc", &["--print", "sysroot"])?;
        let component = Path::new(system.trim()).join("lib/rustlib").join(host).join("bin");
        if component.join("llvm-profdata").exists() {
            return Ok(Self { folder: Some(component), suffix: String::new(), libraries: None });
        }
        let suffix = format!("-{version}");
        if Command::new(format!("llvm-cov{suffix}")).arg("--version").output().is_ok() {
            return Ok(Self { folder: None, suffix, libraries: None });
        }
        let packages = [format!("llvm-{version}"), format!("libllvm{version}")];
        let folder =
            tools::unpacked("llvm", &packages.each_ref().map(String::as_str)).map_err(|failure| {
                format!("{failure}; `rustup component add llvm-tools` would be another way")
            })?;
        let libraries = folder.join("usr/lib");
        // Each architecture has a folder of its own there.
        let below =
            fs::read_dir(&libraries).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
        let libraries: Vec<String> =
            below.chain([libraries]).map(|path| path.display().to_string()).collect();
        let programs = folder.join(format!("usr/lib/llvm{suffix}/bin"));
        Ok(Self { folder: Some(programs), suffix: String::new(), libraries: Some(libraries.join(":")) })
    }

    fn run<S: AsRef<str>>(&self, program: &str, arguments: &[S]) -> Result<String, Failure> {
        let program = format!("{program}{}", self.suffix);
        let path =
            self.folder.as_ref().map_or_else(|| PathBuf::from(&program), |folder| folder.join(&program));
        let mut command = Command::new(path);
        command.args(arguments.iter().map(AsRef::as_ref));
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let output = command.output().map_err(|error| format!("{program} cannot be started: {error}"))?;
        if output.status.success() {
            return String::from_utf8(output.stdout).map_err(|_| format!("{program} writes no text"));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{program} failed: {}", said.lines().last().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_count_for_the_crate_that_they_are_of() {
        let file = |name: &str, count: u64, covered: u64| {
            let share = json!({"count": count, "covered": covered});
            json!({"filename": name, "summary": {"lines": share, "regions": share}})
        };
        let told = json!({"data": [{"files": [
            file("/w/crates/core/src/lib.rs", 10, 5),
            file("/w/crates/core/src/tool/bind.rs", 30, 20),
            file("/w/crates/providers/openai/src/lib.rs", 8, 8),
            file("/elsewhere/src/lib.rs", 100, 0),
        ]}]});
        let shares = shares(&told, Path::new("/w"));
        let lines: Vec<_> = shares.iter().map(|(name, [lines, _])| (name.as_str(), lines.text())).collect();
        assert_eq!(
            lines,
            [("crates/core", " 62.5 %".to_owned()), ("crates/providers/openai", "100.0 %".to_owned())]
        );
    }

    #[test]
    fn a_crate_without_lines_has_a_share_of_none() {
        assert_eq!(Share::default().text(), "  0.0 %");
    }
}
