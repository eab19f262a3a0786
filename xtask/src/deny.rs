//! Our dependencies, held to `deny.toml` by cargo-deny: known vulnerabilities, licences, duplicates, sources.

use crate::shell::{Failure, report, root, run};
use crate::tools;

const VERSION: &str = "0.20.2";

/// Runs every check; without a network to the advisory database the others, and says so.
pub(crate) fn run_all(without_advisories: bool) -> Result<(), Failure> {
    let program = tools::installed("cargo-deny", VERSION)?.display().to_string();
    // The crate of fuzzing has a lock file of its own.
    // deny.toml is that of both, so each lacks what it says of the other.
    let manifests: [(&str, &[&str]); 2] = [
        ("Cargo.toml", &["-A", "license-exception-not-encountered"]),
        ("fuzz/Cargo.toml", &["-A", "unmatched-skip", "-A", "license-not-encountered"]),
    ];
    let mut failures = Vec::new();
    let fetched = if without_advisories {
        report("advisories are left out, as you say");
        false
    } else {
        let fetched = run(&program, &["fetch", "db"]);
        if fetched.is_err() {
            failures.push(
                "advisories: the database cannot be fetched, so they are NOT checked; \
                           --without-advisories leaves them out",
            );
        }
        fetched.is_ok()
    };
    for (manifest, elsewhere) in manifests {
        let manifest = root().join(manifest).display().to_string();
        let head = ["--manifest-path", &manifest, "--all-features", "check", "--hide-inclusion-graph"];
        for (check, failure) in [
            ("licenses", "a licence that deny.toml does not allow"),
            ("bans", "a crate that deny.toml does not allow, or two versions of one"),
            ("sources", "a crate from elsewhere than the registry"),
        ] {
            if run(&program, &[&head[..], elsewhere, &[check]].concat()).is_err() {
                failures.push(failure);
            }
        }
        if fetched && run(&program, &[&head[..], elsewhere, &["advisories"]].concat()).is_err() {
            failures.push("a dependency with a known fault");
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n       ")) }
}
