//! Counterparts that are not ours: programs in Python and JavaScript, each in an environment that
//! `cargo xtask counterparts` makes.

mod listening;
mod llama;
mod node;
mod official;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use listening::Listening;
pub use llama::LlamaServer;
pub use node::Node;
pub use official::{Asked, judge};

/// An environment of Python with the packages that a counterpart needs.
#[derive(Clone, Debug)]
pub struct Python {
    program: PathBuf,
    folder: PathBuf,
}

impl Python {
    /// The environment of `tests/real/NAME.txt` under `target`.
    ///
    /// # Errors
    /// If it is not there, or holds other packages.
    pub fn installed(name: &str, target: &Path) -> Result<Self, String> {
        let base = target.join("python");
        let program = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        let python =
            Self { program: base.join(name).join(program), folder: base.join(format!("{name}.files")) };
        let requirements = script(&format!("{name}.txt"));
        let wanted = fs::read_to_string(&requirements)
            .map_err(|error| format!("{} cannot be read: {error}", requirements.display()))?;
        // Written last: an environment without it is a torn one.
        let ready = base.join(format!("{name}.ready"));
        if fs::read_to_string(ready).is_ok_and(|packages| packages == wanted) && python.program.exists() {
            Ok(python)
        } else {
            Err(format!("the packages of tests/real/{name}.txt are not installed: cargo xtask counterparts"))
        }
    }

    /// A command that runs `tests/real/FILE`.
    pub fn command(&self, file: &str) -> Command {
        let mut command = self.bare();
        command.arg(script(file));
        command
    }

    /// A command that runs Python, with nothing said yet.
    pub fn bare(&self) -> Command {
        let mut command = on_this_machine(&self.program);
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        command
    }

    /// The program that runs Python.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A folder for files of the programs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// A command that talks to this machine, wherever a proxy of the environment leads.
fn on_this_machine(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("NO_PROXY", "127.0.0.1,localhost").env("no_proxy", "127.0.0.1,localhost");
    command
}

/// The path of `tests/real/FILE`.
pub fn script(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("real").join(file)
}
