//! Programs of others that tasks use. They are installed under the target folder when a task first needs them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::shell::{Failure, run, run_with, target};

/// The program of that package and version from the registry.
pub(crate) fn installed(package: &str, version: &str) -> Result<PathBuf, Failure> {
    let folder = target().join("tools");
    let program = folder.join("bin").join(package);
    // Cargo's own list of the programs that it installed.
    let known = fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
    if !program.exists() || !known.contains(&format!("\"{package} {version} (")) {
        let folder = folder.display().to_string();
        // Optimised further it would run seconds shorter, and be built minutes longer.
        let light = ["opt-level=1", "lto=false", "debug=false", "codegen-units=16"];
        let light: Vec<String> = light.iter().map(|setting| format!("profile.release.{setting}")).collect();
        let mut install =
            vec!["install", "--locked", "--quiet", "--root", &folder, "--version", version, package];
        install.extend(light.iter().flat_map(|setting| ["--config", setting]));
        // Flags for our code are none for theirs.
        let plain = ["RUSTFLAGS", "RUSTC_WRAPPER"].map(|name| (name.to_owned(), String::new()));
        run_with("cargo", &install, &plain)?;
    }
    Ok(program)
}

/// A folder with what these Debian packages hold, unpacked under the target folder, which asks for no rights.
pub(crate) fn unpacked(name: &str, packages: &[&str]) -> Result<PathBuf, Failure> {
    let folder = target().join("tools").join(name);
    let whole = folder.join("whole");
    if whole.exists() {
        return Ok(folder);
    }
    fs::create_dir_all(&folder).map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    let mut download = Command::new("apt-get");
    let fetched = download.arg("download").args(packages).current_dir(&folder).status();
    if !fetched.is_ok_and(|status| status.success()) {
        return Err(format!("{name} is not installed, and its packages cannot be fetched"));
    }
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files: Vec<PathBuf> = files
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .collect();
    if files.len() < packages.len() {
        return Err(format!("the packages of {name} were not fetched"));
    }
    let shown = folder.display().to_string();
    for file in files {
        run("dpkg-deb", &["--extract", &file.display().to_string(), &shown])?;
    }
    fs::write(&whole, "").map_err(|error| format!("{} cannot be written: {error}", whole.display()))?;
    Ok(folder)
}
