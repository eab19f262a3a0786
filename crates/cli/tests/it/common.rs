//! The command in an environment of its own.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

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

pub(crate) fn run(arguments: &[&str]) -> Output {
    attache(arguments).output().unwrap()
}

pub(crate) fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    fed(&mut attache(arguments), input)
}

/// The command with input from a pipe; without any it has none at all.
pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that does not read its input closes it.
    let _closed = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
