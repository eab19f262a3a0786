//! Prints the viability table: `cargo xtask viability [--json]`.

use std::io::{self, Write};
use std::process::ExitCode;

use attache_tests::viability::{table, viability};

fn main() -> ExitCode {
    let json = std::env::args().skip(1).any(|argument| argument == "--json");
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    let cells = runtime.block_on(viability());
    let mut out = io::stdout().lock();
    let written = if json {
        cells.iter().try_for_each(|cell| writeln!(out, "{}", serde_json::to_string(cell)?))
    } else {
        write!(out, "{}", table(&cells))
    };
    if let Err(error) = written {
        return failed(&error.to_string());
    }
    let wrong: Vec<_> = cells.iter().filter(|cell| !cell.ok).collect();
    if wrong.is_empty() {
        return ExitCode::SUCCESS;
    }
    for cell in &wrong {
        let _ = writeln!(io::stderr(), "{} {} {}: {}", cell.fixture, cell.api, cell.place, cell.reason);
    }
    failed(&format!("{} of {} cells are not as they should be", wrong.len(), cells.len()))
}

fn failed(why: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "viability: {why}");
    ExitCode::FAILURE
}
