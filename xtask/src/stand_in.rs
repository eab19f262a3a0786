//! This program in place of a compiler: cargo runs it, it adds what a task needs, and runs the compiler. So flags reach
//! our crates alone, and cargo takes what it has built of others as it is.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::shell::Failure;

/// Says whose place this program takes.
const ROLE: &str = "ATTACHE_XTASK_ROLE";

/// The compiler whose place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// rustdoc, with the options that a stable one keeps to itself. Cargo itself must not know of it: build scripts ask,
    /// and would be run anew.
    Rustdoc,
    /// rustc for members of the workspace, which counts the regions of code that run.
    Coverage,
}

impl Role {
    const ALL: [(Self, &'static str); 2] = [(Self::Rustdoc, "rustdoc"), (Self::Coverage, "coverage")];

    /// The variables by which cargo runs this program in that role.
    pub(crate) fn variables(self) -> Result<Vec<(String, String)>, Failure> {
        let program: PathBuf = env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let name = Self::ALL.iter().find(|(role, _)| *role == self).map_or("", |(_, name)| name);
        let place = match self {
            Self::Rustdoc => "RUSTDOC",
            Self::Coverage => "RUSTC_WORKSPACE_WRAPPER",
        };
        let pairs = [(place, program.display().to_string()), (ROLE, name.to_owned())];
        Ok(pairs.map(|(name, value)| (name.to_owned(), value)).to_vec())
    }

    /// The command that the role asks for.
    fn command(self, arguments: &[String]) -> Option<Command> {
        match self {
            Self::Rustdoc => {
                let mut command = Command::new("rustdoc");
                command.args(arguments).env("RUSTC_BOOTSTRAP", "1");
                Some(command)
            }
            Self::Coverage => {
                let (compiler, arguments) = arguments.split_first()?;
                let mut command = Command::new(compiler);
                command.args(arguments).args(["-C", "instrument-coverage"]);
                Some(command)
            }
        }
    }
}

/// Takes the place of a compiler, if that is asked.
pub(crate) fn run(arguments: &[String]) -> Option<ExitCode> {
    let role = env::var(ROLE).ok()?;
    let (role, _) = Role::ALL.into_iter().find(|(_, name)| *name == role)?;
    let status = role.command(arguments)?.status();
    let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    Some(ExitCode::from(code.unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_adds_one_flag_behind_what_cargo_says() {
        let arguments = ["rustc", "--crate-name", "attache_core"].map(str::to_owned);
        let command = Role::Coverage.command(&arguments).expect("a compiler is named");
        assert_eq!(command.get_program(), "rustc");
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["--crate-name", "attache_core", "-C", "instrument-coverage"]);
    }

    #[test]
    fn coverage_without_a_compiler_is_refused() {
        assert!(Role::Coverage.command(&[]).is_none());
    }
}
