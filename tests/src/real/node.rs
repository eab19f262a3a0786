//! Programs in JavaScript, in a folder that `cargo xtask counterparts` fills.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{on_this_machine, script};

/// A folder of npm packages that a counterpart needs, with a Node.js of its own.
#[derive(Clone, Debug)]
pub struct Node {
    folder: PathBuf,
}

impl Node {
    /// The packages of `tests/real/NAME/package-lock.json` under `target`.
    ///
    /// # Errors
    /// If they are not there, or others are.
    pub fn installed(name: &str, target: &Path) -> Result<Self, String> {
        let base = target.join("node");
        let folder = base.join(name);
        let lock = script(&format!("{name}/package-lock.json"));
        let wanted = fs::read_to_string(&lock)
            .map_err(|error| format!("{} cannot be read: {error}", lock.display()))?;
        let ready = base.join(format!("{name}.ready"));
        if fs::read_to_string(ready).is_ok_and(|packages| packages == wanted) {
            Ok(Self { folder })
        } else {
            Err(format!("the packages of tests/real/{name} are not installed: cargo xtask counterparts"))
        }
    }

    /// The program that runs JavaScript.
    pub fn program(&self) -> PathBuf {
        self.file(if cfg!(windows) { "node/bin/node.exe" } else { "node/bin/node" })
    }

    /// A command that runs JavaScript, with nothing said yet.
    pub fn bare(&self) -> Command {
        on_this_machine(&self.program())
    }

    /// A file of a package.
    pub fn file(&self, path: &str) -> PathBuf {
        self.folder.join("node_modules").join(path)
    }
}
