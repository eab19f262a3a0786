//! The programs of tests, side by side. Cargo runs one after the other, and a test that is alone in its program, as those
//! are that watch the memory of their process, leaves all processors but one idle.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{env, iter, thread};

use serde_json::{Value, json};

use crate::shell::{Failure, output, report, run_with, target};

/// Names the file for programs.
const LIST: &str = "ATTACHE_XTASK_PROGRAMS";

/// The programs that took longest, of which the report tells.
const SLOWEST: usize = 12;

/// A program of tests, as cargo would run it.
#[derive(Clone, Debug)]
struct Program {
    name: String,
    arguments: Vec<String>,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
}

/// Runs the tests that cargo runs with these arguments, doc tests apart, and tells of all that fail.
pub(crate) fn run(arguments: &[&str], variables: &[(String, String)]) -> Result<(), Failure> {
    let programs = ask(arguments, variables)?;
    let mut counted = Vec::new();
    for program in programs {
        counted.push((program.tests()? > 1, program));
    }
    // Those with one test use one processor; the others fill what they leave idle.
    counted.sort_by_key(|(many, _)| *many);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut told = run_all(counted.into_iter().map(|(_, program)| program).collect(), processors);
    told.sort_by_key(|(_, tenths, _)| std::cmp::Reverse(*tenths));
    report(&format!("\n{} programs of tests; the slowest:", told.len()));
    for (name, tenths, _) in told.iter().take(SLOWEST) {
        report(&format!("{:>6}.{} s  {name}", tenths / 10, tenths % 10));
    }
    let failed: Vec<&str> =
        told.iter().filter(|(.., passed)| !passed).map(|(name, ..)| name.as_str()).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("tests fail in\n  {}", failed.join("\n  "))) }
}

/// Lets cargo name the programs: it builds them, and runs this program in their place.
fn ask(arguments: &[&str], variables: &[(String, String)]) -> Result<Vec<Program>, Failure> {
    let list = target().join("programs.jsonl");
    let written = fs::create_dir_all(target()).and_then(|()| fs::write(&list, ""));
    written.map_err(|error| format!("{} cannot be written: {error}", list.display()))?;
    let mut variables = variables.to_vec();
    let own = env::current_exe().map_err(|error| format!("this program: {error}"))?;
    variables.push((runner()?, own.display().to_string()));
    variables.push((LIST.to_owned(), list.display().to_string()));
    run_with("cargo", arguments, &variables)?;
    let text = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let programs: Option<Vec<Program>> = text.lines().map(read).collect();
    let programs = programs.ok_or("the list of the programs is torn")?;
    if programs.is_empty() { Err("cargo names no program of tests".to_owned()) } else { Ok(programs) }
}

/// The variable by which cargo takes another program to run what it has built for this platform.
fn runner() -> Result<String, Failure> {
    let told = output("rustc", &["--version", "--verbose"])?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc names no platform")?;
    Ok(format!("CARGO_TARGET_{}_RUNNER", host.to_ascii_uppercase().replace(['-', '.'], "_")))
}

/// Takes the place of a program of tests, if that is asked: writes down how cargo runs it.
pub(crate) fn write_down(arguments: &[String]) -> Option<ExitCode> {
    let list = env::var_os(LIST)?;
    let variables: BTreeMap<String, String> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name != LIST && !(name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER")))
        .collect();
    let folder = env::current_dir().unwrap_or_default();
    let line = json!({ "arguments": arguments, "folder": folder, "variables": variables });
    let file = OpenOptions::new().append(true).open(list);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    Some(if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(line: &str) -> Option<Program> {
    let value: Value = serde_json::from_str(line).ok()?;
    let arguments = value.get("arguments")?.as_array()?.iter();
    let mut arguments: Vec<String> = arguments.filter_map(Value::as_str).map(str::to_owned).collect();
    if arguments.is_empty() {
        return None;
    }
    let name = arguments.remove(0);
    let variables = value.get("variables")?.as_object()?.iter();
    let variables = variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Some(Program {
        name,
        arguments,
        folder: value.get("folder")?.as_str()?.into(),
        variables: variables.collect(),
    })
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (OsString::from(name), value)));
        command
    }

    /// The number of its tests.
    fn tests(&self) -> Result<usize, Failure> {
        let listed = self.command().args(["--list", "--format", "terse"]).output();
        let listed = listed.map_err(|error| format!("{} cannot be started: {error}", self.name))?;
        Ok(String::from_utf8_lossy(&listed.stdout).lines().filter(|line| line.ends_with(": test")).count())
    }

    /// Runs it to its end: its output, and whether it passed. Its output is a file: a pipe would stay open for as long as
    /// a program that a failed test has left behind.
    fn run(&self) -> io::Result<(Vec<u8>, bool)> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = target().join(format!("program-{}-{number}.log", std::process::id()));
        let file = File::create(&path)?;
        let status = self.command().stdout(file.try_clone()?).stderr(file).status();
        let said = fs::read(&path);
        fs::remove_file(&path)?;
        Ok((said?, status?.success()))
    }

    /// The package and the name of the program without the hash that cargo adds.
    fn title(&self) -> String {
        let package = self.variables.get("CARGO_PKG_NAME").map(String::as_str).unwrap_or_default();
        let file = self.name.rsplit(['/', '\\']).next().unwrap_or_default();
        format!("{package} {}", file.rsplit_once('-').map_or(file, |(name, _)| name))
    }
}

/// Runs them in their order, as many at once as there are processors: a program waits for servers, disks and its own
/// threads for a third of its time. Shows the output of each when it has ended, and yields its title, the tenths of
/// seconds that it took, and whether it passed.
fn run_all(programs: Vec<Program>, processors: usize) -> Vec<(String, u64, bool)> {
    let programs = Mutex::new(programs.into_iter());
    let told = Mutex::new(Vec::new());
    let next = || programs.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                for program in iter::from_fn(next) {
                    let started = Instant::now();
                    let title = program.title();
                    // If it hangs, this is all that is known of it.
                    report(&format!("    Starting {title}"));
                    let ran = program.run();
                    let tenths = u64::try_from(started.elapsed().as_millis() / 100).unwrap_or(u64::MAX);
                    let (said, passed) = ran.unwrap_or_else(|error| (error.to_string().into_bytes(), false));
                    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                    report(&format!(
                        "     Running {title} ({})\n{}",
                        program.name,
                        String::from_utf8_lossy(&said)
                    ));
                    told.push((title, tenths, passed));
                }
            });
        }
    });
    told.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_ended_though_it_leaves_another_one_behind() {
        let script = "sleep 20 & echo said; exit 3";
        let program = Program {
            name: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            folder: PathBuf::from("/"),
            variables: env::vars().collect(),
        };
        let started = Instant::now();
        let (said, passed) = program.run().unwrap();
        assert_eq!((String::from_utf8_lossy(&said).as_ref(), passed), ("said\n", false));
        assert!(started.elapsed().as_secs() < 20, "it was waited for");
    }
}
