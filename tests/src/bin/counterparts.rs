//! Installs what tests run against: `cargo xtask counterparts`. The argument is the folder that tests look into.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use attache_tests::real::{ENVIRONMENTS, Python};

fn main() -> ExitCode {
    let Some(target) = std::env::args_os().nth(1) else {
        let _ = writeln!(io::stderr(), "counterparts: name a folder");
        return ExitCode::FAILURE;
    };
    for name in ENVIRONMENTS {
        let _ = writeln!(io::stderr(), "the Python packages of tests/real/{name}.txt");
        if let Err(error) = Python::install(name, Path::new(&target)) {
            let _ = writeln!(io::stderr(), "counterparts: {name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
