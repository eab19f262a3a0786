//! Fuzzing of what takes input from anybody, by libFuzzer. The crate `fuzz` is a workspace of its own.
//!
//! The pass of LLVM that counts what runs belongs to the stable compiler, so no other toolchain is needed; libFuzzer
//! itself is C++, which asks for a compiler of that. Address sanitizing would find little where `unsafe` is forbidden.

use std::fs;
use std::path::Path;

use crate::shell::{Failure, output, root, run_with, target};

/// How long each target is fuzzed unless it is said, in seconds.
const SECONDS: &str = "60";

/// The flags of the compiler, so that libFuzzer sees which code ran and what was compared with what.
const FLAGS: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// The targets, as `fuzz/src/main.rs` has them.
const TARGETS: [&str; 14] = [
    "sse",
    "chat",
    "responses",
    "ollama",
    "messages",
    "generate",
    "converse",
    "cohere",
    "schema",
    "tree",
    "conversation",
    "entries",
    "cassette",
    "convert",
];

/// Fuzzes one target, or each in turn.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Failure> {
    let (only, seconds) = read(arguments)?;
    let targets: Vec<&str> =
        TARGETS.into_iter().filter(|target| only.is_none_or(|only| only == *target)).collect();
    let about = output("rustc", &["-vV"])?;
    let host =
        about.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not tell its host")?;
    let folder = target().join("fuzz");
    let manifest = root().join("fuzz/Cargo.toml").display().to_string();
    let built = folder.display().to_string();
    let mut build = vec!["build", "--release", "--locked", "--manifest-path", &manifest];
    // With a target named, build scripts and procedural macros go without the flags.
    build.extend(["--target", host, "--target-dir", &built]);
    if targets.contains(&"convert") {
        build.extend(["--features", "convert"]);
    }
    run_with("cargo", &build, &[("RUSTFLAGS".to_owned(), FLAGS.join(" "))])?;
    let program = folder.join(host).join("release/attache-fuzz").display().to_string();

    let seeds = folder.join("seeds");
    let variable = [("ATTACHE_FUZZ_SEEDS".to_owned(), seeds.display().to_string())];
    run_with(&program, &[], &variable)?;
    let mut failures = Vec::new();
    for target in targets {
        // Findings of fuzzing are kept for the next time; its seeds are made anew.
        let corpus = folder.join("corpus").join(target);
        let found = folder.join("found").join(target);
        for folder in [&corpus, &found] {
            fs::create_dir_all(folder)
                .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        }
        let options = [
            format!("-max_total_time={seconds}"),
            "-timeout=30".to_owned(),
            "-rss_limit_mb=3072".to_owned(),
            "-verbosity=0".to_owned(),
            "-max_len=65536".to_owned(),
            "-print_final_stats=1".to_owned(),
            format!("-artifact_prefix={}/", found.display()),
            corpus.display().to_string(),
            seeds.join(target).display().to_string(),
        ];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let variable = [("ATTACHE_FUZZ_TARGET".to_owned(), target.to_owned())];
        if run_with(&program, &options, &variable).is_err() {
            failures.push(format!("{target}: an input breaks it, see {}", shown(&found)));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n       ")) }
}

/// `[TARGET] [--seconds N]`.
fn read<'a>(arguments: &[&'a str]) -> Result<(Option<&'a str>, &'a str), Failure> {
    let (only, rest) = match arguments {
        [first, rest @ ..] if !first.starts_with("--") => (Some(*first), rest),
        rest => (None, rest),
    };
    if let Some(unknown) = only.filter(|only| !TARGETS.contains(only)) {
        return Err(format!("there is no target {unknown}; there are {}", TARGETS.join(", ")));
    }
    match rest {
        [] => Ok((only, SECONDS)),
        ["--seconds", seconds] if seconds.parse::<u32>().is_ok_and(|seconds| seconds > 0) => {
            Ok((only, seconds))
        }
        _ => Err("fuzz takes [TARGET] [--seconds N]".to_owned()),
    }
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_and_a_time_are_optional() {
        assert_eq!(read(&[]), Ok((None, SECONDS)));
        assert_eq!(read(&["sse"]), Ok((Some("sse"), SECONDS)));
        assert_eq!(read(&["--seconds", "5"]), Ok((None, "5")));
        assert_eq!(read(&["sse", "--seconds", "5"]), Ok((Some("sse"), "5")));
        for wrong in [&["nothing"][..], &["--seconds"], &["--seconds", "0"], &["sse", "chat"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_targets_are_those_of_the_program() {
        let program = fs::read_to_string(root().join("fuzz/src/main.rs")).unwrap();
        let named: Vec<&str> =
            program.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split('"').next()).collect();
        assert_eq!(named, TARGETS);
    }
}
