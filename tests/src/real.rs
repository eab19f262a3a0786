//! Counterparts that are not ours: programs in Python, each in an environment that is made on first use.

mod llama;
mod official;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use llama::LlamaServer;
pub use official::{Asked, judge};

/// An environment of Python with the packages that a counterpart needs.
#[derive(Clone, Debug)]
pub struct Python {
    program: PathBuf,
    folder: PathBuf,
}

impl Python {
    /// The environment of `tests/real/NAME.txt` under `target`, made and filled if it is not there yet.
    ///
    /// # Errors
    /// Why it cannot be had here: no Python, no `venv`, no network.
    pub fn with(name: &str, target: &Path) -> Result<Self, String> {
        let requirements = script(&format!("{name}.txt"));
        let wanted = fs::read_to_string(&requirements)
            .map_err(|error| format!("{} cannot be read: {error}", requirements.display()))?;
        let base = target.join("python");
        let folder = base.join(name);
        fs::create_dir_all(&base).map_err(|error| format!("{} cannot be made: {error}", base.display()))?;
        // Other tests may need it at this moment; the lock goes with the file handle.
        let lock = File::create(base.join(format!("{name}.lock"))).map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| format!("the lock of {} fails: {error}", folder.display()))?;
        let program = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        let python = Self { program: folder.join(program), folder: base.join(format!("{name}.files")) };
        // Written last: an environment without it is a torn one.
        let ready = folder.join("ready.txt");
        if fs::read_to_string(&ready).is_ok_and(|packages| packages == wanted) && python.program.exists() {
            return Ok(python);
        }
        say(&format!("installing Python packages of tests/real/{name}.txt"));
        let _ = fs::remove_dir_all(&folder);
        let system = ["python3", "python"]
            .into_iter()
            .find(|program| run(Command::new(program).arg("--version")).is_ok())
            .ok_or("there is no Python 3 here")?;
        run(Command::new(system).args(["-m", "venv"]).arg(&folder))?;
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
        run(Command::new(&python.program).args(pip).arg("--requirement").arg(&requirements))?;
        fs::write(&ready, wanted)
            .map_err(|error| format!("{} cannot be written: {error}", ready.display()))?;
        Ok(python)
    }

    /// A command that runs `tests/real/FILE`.
    pub fn command(&self, file: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(script(file)).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        command
    }

    /// A folder for files of the programs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// What is there, or `None` after the reason was said. Under `CI` nothing may be missing.
///
/// # Panics
/// If it is missing and `CI` is set.
pub fn or_skip<'a, T>(counterpart: &str, found: &'a Result<T, String>) -> Option<&'a T> {
    let in_ci = std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false");
    match found {
        Ok(found) => Some(found),
        Err(reason) => {
            assert!(!in_ci, "{counterpart} is missing: {reason}");
            say(&format!("SKIPPED: tests against {counterpart}, since {reason}"));
            None
        }
    }
}

/// Says a line on the terminal, past the test harness, which keeps what passing tests print to itself.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "\n{line}");
}

fn script(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("real").join(file)
}

/// Runs a command to its end. The error has the last of what it said.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{program} does not run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join("; ");
    Err(format!("{program} failed: {last}"))
}
