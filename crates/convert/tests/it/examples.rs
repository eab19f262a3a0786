//! The examples do what they say of themselves.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A sample document. `docs/examples/make_inbox.py` says what stands on its pages.
fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/inbox").join(name)
}

/// Runs a built example.
fn run(name: &str, arguments: &[&str]) -> Output {
    // Cargo builds examples beside the folder of the tests.
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(program.exists(), "the example {name} is not built: `cargo test -p attache-convert` builds it");
    Command::new(program).args(arguments).output().unwrap()
}

fn text_of(path: &Path) -> String {
    let output = run("to_text", &[path.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_document_is_printed_as_text() {
    let text = text_of(&sample("invoice-2026-0417.pdf"));
    assert!(text.contains("2026-0417") && text.contains("20,904.97"), "{text}");
    let unnamed = run("to_text", &[]);
    assert!(!unnamed.status.success());
    assert!(String::from_utf8_lossy(&unnamed.stderr).contains("give the path of a document"));
}

#[test]
fn pages_are_taken_out_of_a_pdf() {
    let whole = sample("supply-agreement-SA-2025-11.pdf");
    let cut = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages_example.pdf");
    let output = run("pages", &[whole.to_str().unwrap(), "2", "2", cut.to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "pages 2 to 2 of 3\n");
    let text = text_of(&cut);
    assert!(text.contains("Invoices are payable within 30 days") && text.contains("Page 2 of 3"), "{text}");
    assert!(!text.contains("Page 1 of 3") && !text.contains("Page 3 of 3"), "{text}");
}
