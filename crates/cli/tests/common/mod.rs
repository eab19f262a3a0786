//! The command in an environment of its own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The command at the root of the workspace, without input. It sees no variable of whoever runs the tests: no key,
/// proxy, configuration or width of a terminal.
pub(crate) fn attache(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    command.args(arguments).current_dir(root).stdin(Stdio::null()).env_clear();
    // Temporary folders, and what a program needs to start on Windows.
    for needed in ["TMPDIR", "TEMP", "TMP", "SystemRoot"] {
        if let Some(value) = std::env::var_os(needed) {
            command.env(needed, value);
        }
    }
    command
}
