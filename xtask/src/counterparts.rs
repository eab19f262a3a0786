//! What tests run against that is not ours: programs in Python, each in an environment of its own under the target
//! folder. `attache_tests::real::Python` finds them there.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::shell::{Failure, report, root, target};

/// The environments, each with its packages in `tests/real/NAME.txt`.
const ENVIRONMENTS: [&str; 2] = ["llama", "sdks"];

/// Makes and fills every environment that is not there.
pub(crate) fn install() -> Result<(), Failure> {
    // The folder that cargo names to integration tests.
    let base = target().join("tmp/python");
    fs::create_dir_all(&base).map_err(|error| format!("{} cannot be made: {error}", base.display()))?;
    for name in ENVIRONMENTS {
        let requirements = root().join(format!("tests/real/{name}.txt"));
        let wanted = fs::read_to_string(&requirements)
            .map_err(|error| format!("{} cannot be read: {error}", requirements.display()))?;
        // Somebody else may install it at this moment; the lock goes with the file handle.
        let lock = File::create(base.join(format!("{name}.lock"))).map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| format!("the lock of {name} fails: {error}"))?;
        let ready = base.join(format!("{name}.ready"));
        if fs::read_to_string(&ready).is_ok_and(|packages| packages == wanted) {
            continue;
        }
        report(&format!("installing the Python packages of tests/real/{name}.txt"));
        fill(&base.join(name), &requirements)?;
        // Written last: an environment without it is a torn one.
        fs::write(&ready, wanted)
            .map_err(|error| format!("{} cannot be written: {error}", ready.display()))?;
    }
    Ok(())
}

fn fill(environment: &Path, requirements: &Path) -> Result<(), Failure> {
    let _ = fs::remove_dir_all(environment);
    let system = ["python3", "python"]
        .into_iter()
        .find(|program| run(Command::new(program).arg("--version")).is_ok())
        .ok_or("there is no Python 3 here")?;
    run(Command::new(system).args(["-m", "venv"]).arg(environment))?;
    let program = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
    run(Command::new(environment.join(program)).args(pip).arg("--requirement").arg(requirements))
}

/// Runs a command to its end. The error has the last of what it said.
fn run(command: &mut Command) -> Result<(), Failure> {
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
