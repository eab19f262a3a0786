//! The programs of others that tests run against, in Python and JavaScript, each in an environment of its own
//! under the target folder. `attache_tests::real` finds them there.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::shell::{Failure, report, root, target};

/// The environments of Python, each with its packages in `tests/real/NAME.txt`.
const PYTHON: [&str; 11] =
    ["a2a", "clients", "litellm", "llama", "mcp", "openapi", "otel", "routes", "s3", "sdks", "sqlite"];

/// Those of JavaScript, each with its packages in `tests/real/NAME`.
const NODE: [&str; 5] = ["a2a", "clients", "mcp", "openapi", "web"];

/// Makes and fills every environment that is not there.
pub(crate) fn install() -> Result<(), Failure> {
    install_postgres()?;
    install_chromium()?;
    install_nginx()?;
    for name in PYTHON {
        install_python(name)?;
    }
    for name in NODE {
        environment("node", name, &root().join(format!("tests/real/{name}/package-lock.json")), fill_node)?;
    }
    Ok(())
}

/// One environment of Python.
pub(crate) fn install_python(name: &str) -> Result<(), Failure> {
    environment("python", name, &root().join(format!("tests/real/{name}.txt")), fill_python)
}

/// PostgreSQL, of which tests start servers of their own.
fn install_postgres() -> Result<(), Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin")).chain(std::env::split_paths(&path));
    if folders.into_iter().any(|folder| folder.join("initdb").is_file()) {
        return Ok(());
    }
    install_package("postgresql", "PostgreSQL")
}

/// The browser in which the chat is tried, and letters for its languages.
fn install_chromium() -> Result<(), Failure> {
    if Path::new("/usr/bin/chromium").is_file() {
        return Ok(());
    }
    install_package("fonts-noto-core", "Noto")?;
    install_package("chromium", "Chromium")
}

/// The reverse proxy of the guide. Tests start servers of their own.
fn install_nginx() -> Result<(), Failure> {
    if Path::new("/usr/sbin/nginx").is_file() {
        return Ok(());
    }
    install_package("nginx", "nginx")
}

/// Installs a package of Debian's.
fn install_package(package: &str, name: &str) -> Result<(), Failure> {
    report(&format!("installing {name}"));
    let apt = |arguments: &[&str]| {
        run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "-qq"])
        .and_then(|()| apt(&["install", "-qq", "-y", "--no-install-recommends", package]))
        .map_err(|error| format!("{name} is not here, and cannot be installed: {error}"))
}

/// Fills an environment if it holds something else than `packages` says.
fn environment(
    language: &str,
    name: &str,
    packages: &Path,
    fill: fn(&Path, &Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // The folder that cargo names to integration tests.
    let base = target().join("tmp").join(language);
    fs::create_dir_all(&base).map_err(|error| format!("{} cannot be made: {error}", base.display()))?;
    let wanted = fs::read_to_string(packages)
        .map_err(|error| format!("{} cannot be read: {error}", packages.display()))?;
    // Somebody else may install it at this moment; the lock goes with the file handle.
    let lock = File::create(base.join(format!("{name}.lock"))).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| format!("the lock of {name} fails: {error}"))?;
    let ready = base.join(format!("{name}.ready"));
    if fs::read_to_string(&ready).is_ok_and(|packages| packages == wanted) {
        return Ok(());
    }
    report(&format!(
        "installing the packages of {}",
        packages.strip_prefix(root()).unwrap_or(packages).display()
    ));
    fill(&base.join(name), packages)?;
    // Written last: an environment without it is a torn one.
    fs::write(&ready, wanted).map_err(|error| format!("{} cannot be written: {error}", ready.display()))
}

/// Packages of npm, in the versions of their lock file.
fn fill_node(environment: &Path, lock: &Path) -> Result<(), Failure> {
    let _ = fs::remove_dir_all(environment);
    fs::create_dir_all(environment).map_err(|error| error.to_string())?;
    for file in ["package.json", "package-lock.json"] {
        let from = lock.with_file_name(file);
        fs::copy(&from, environment.join(file))
            .map_err(|error| format!("{} cannot be copied: {error}", from.display()))?;
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let ci = ["ci", "--no-audit", "--no-fund", "--loglevel", "error"];
    run(Command::new(npm).args(ci).current_dir(environment))
}

fn fill_python(environment: &Path, requirements: &Path) -> Result<(), Failure> {
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
