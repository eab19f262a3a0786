//! Counterparts that are not ours: programs in Python, each in an environment that `cargo xtask counterparts` makes.

mod llama;
mod official;

use std::fs::{self, File};
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

/// The environments that tests run in, each with its packages in `tests/real/NAME.txt`.
pub const ENVIRONMENTS: [&str; 2] = ["llama", "sdks"];

impl Python {
    /// The environment of `tests/real/NAME.txt` under `target`.
    ///
    /// # Errors
    /// If it is not there, or holds other packages.
    pub fn installed(name: &str, target: &Path) -> Result<Self, String> {
        let python = Self::at(name, target);
        let wanted = wanted(name)?;
        if fs::read_to_string(python.ready()).is_ok_and(|packages| packages == wanted)
            && python.program.exists()
        {
            Ok(python)
        } else {
            Err(format!("the packages of tests/real/{name}.txt are not installed: cargo xtask counterparts"))
        }
    }

    /// Makes and fills the environment of `tests/real/NAME.txt` under `target`, unless it is there.
    ///
    /// # Errors
    /// Why it cannot be had here: no Python, no `venv`, no network.
    pub fn install(name: &str, target: &Path) -> Result<Self, String> {
        let python = Self::at(name, target);
        fs::create_dir_all(target.join("python"))
            .map_err(|error| format!("{} cannot be made: {error}", target.display()))?;
        // Somebody else may install it at this moment; the lock goes with the file handle.
        let lock = File::create(target.join("python").join(format!("{name}.lock")))
            .map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| format!("the lock of {name} fails: {error}"))?;
        if let Ok(python) = Self::installed(name, target) {
            return Ok(python);
        }
        let environment = target.join("python").join(name);
        let _ = fs::remove_dir_all(&environment);
        let system = ["python3", "python"]
            .into_iter()
            .find(|program| run(Command::new(program).arg("--version")).is_ok())
            .ok_or("there is no Python 3 here")?;
        run(Command::new(system).args(["-m", "venv"]).arg(&environment))?;
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
        let requirements = script(&format!("{name}.txt"));
        run(Command::new(&python.program).args(pip).arg("--requirement").arg(&requirements))?;
        fs::write(python.ready(), wanted(name)?)
            .map_err(|error| format!("{} cannot be written: {error}", python.ready().display()))?;
        Ok(python)
    }

    fn at(name: &str, target: &Path) -> Self {
        let base = target.join("python");
        let program = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        Self { program: base.join(name).join(program), folder: base.join(format!("{name}.files")) }
    }

    /// A file that is written last: an environment without it is a torn one.
    fn ready(&self) -> PathBuf {
        self.folder.with_extension("ready")
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

/// The packages of an environment, as its file lists them.
fn wanted(name: &str) -> Result<String, String> {
    let requirements = script(&format!("{name}.txt"));
    fs::read_to_string(&requirements)
        .map_err(|error| format!("{} cannot be read: {error}", requirements.display()))
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
