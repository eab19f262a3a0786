//! Tasks of the workspace: `cargo xtask TASK`.

mod api;
mod bench;
mod ci;
mod circles;
mod citations;
mod counterparts;
mod coverage;
mod crashes;
mod deny;
mod docs;
mod environment;
mod files;
mod fuzz;
mod gate;
mod layers;
mod mutants;
mod programs;
mod release;
mod scaffold;
mod semver;
mod sentences;
mod shell;
mod snapshots;
mod stand_in;
mod suite;
mod tidy;
mod tools;
mod web;
mod wires;
mod workspace;

use std::env;
use std::process::ExitCode;

use shell::{Failure, quietly, report, root, run, run_with};

const USAGE: &str = "\
cargo xtask TASK

  test [ARGUMENT…]      every test of the workspace, doc tests and real counterparts included; with arguments, what
                        `cargo test --workspace` does with them
  counterparts          install what tests run against: servers and SDKs in Python, under the target folder
  snapshots [--accept] [PACKAGE…]
                        the snapshots: check them, or write what the code does now; of these packages, or all
  snapshots review [FILTER] [PACKAGE…]
                        each changed snapshot whose path holds FILTER, as a diff to accept or reject
  viability [--json]    which document reaches which model how; --json: a line for each cell
  cassettes             replay the recorded traffic of real providers
  docs [--check|--write]
                        the site: the guide and the API's documentation, with search, under the target folder; --check
                        its links, examples and counts alone; --write the examples into the pages
  tidy                  what no compiler checks: file lengths, names, citations, files that need each other, who may know
                        whom
  api [--accept] [CRATE…]
                        the public API of the published crates against docs/api and against rules, or write what it is
                        now
  deny [--without-advisories]
                        licences, sources, duplicates and known faults of dependencies, by deny.toml
  semver [--baseline REV] [CRATE…]
                        changes of the public API that break its users, since the last release or that revision
  coverage [PACKAGE…]   which lines the tests run: a share for each crate, and pages under target/coverage
  bench [NAME]          criterion benches; each figure is a ratio to a floor in the same run
  bench --gate [--write REASON]
                        instructions and allocations of everyday work against their budgets, or new budgets
  faults [N]            N random runs over journals that fail, and N kills of runs over the stores; 5,000 without N
                        (hours, nightly)
  crashes [--kills N] [--store NAME]
                        kills a real process at each point and at random ones, over each store or one of: file, sqlite,
                        postgres, server, remote; 300 without N, as in the tests; nightly: 5,000
  fuzz [TARGET] [--seconds N]
                        hostile input to one reader, or to each in turn, guided by what it runs; needs a C++ compiler
  fuzz-routes [--seconds N]
                        requests that schemathesis makes up for every route of a server, and what it holds before and
                        after; 25 minutes without N (nightly)
  mutants [PACKAGE…]    which mistakes in decisive code no test notices: the share, and the survivors (hours, nightly)
  new-provider NAME     a provider crate that compiles and replays a recording, to be changed into yours
  new-provider --try    one in a workspace of its own, and its tests (minutes, nightly)
  release --dry-run     what must be so before the crates are published, and the order in which they are
  web [--check]         builds the chat of the server, or checks that what is built is what its sources build; needs
                        Node.js
  ci [STAGE…]           everything that CI runs, or these stages: tidy, fmt, lint, crates, docs, api, gate,
                        test; and nightly, which is in none but itself: each feature and each crate's tests built
                        alone, tools found under link-time optimisation, the command's size, and the programs' docs
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Some(done) = programs::write_down(&arguments).or_else(|| stand_in::run(&arguments)) {
        return done;
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => suite::test(&[]),
        ["test", rest @ ..] => {
            let never = [("INSTA_UPDATE".to_owned(), "no".to_owned())];
            run_with("cargo", &[&["test", "--workspace"], rest].concat(), &never)
        }
        ["counterparts"] => counterparts::install(),
        ["snapshots", "review"] => snapshots::review::run("", &[]),
        ["snapshots", "review", filter, packages @ ..] => snapshots::review::run(filter, packages),
        ["snapshots", "--accept", packages @ ..] => snapshots::run(true, packages),
        ["snapshots", packages @ ..] => snapshots::run(false, packages),
        ["cassettes"] => {
            run("cargo", &["test", "-p", "attache-tests", "--test", "cassettes", "--", "--nocapture"])
        }
        ["viability", rest @ ..] => {
            let head = ["run", "--quiet", "-p", "attache-tests", "--bin", "viability", "--"];
            quietly("cargo", &[&head[..], rest].concat())
        }
        ["api", "--accept", packages @ ..] => api::run(true, packages),
        ["api", packages @ ..] => api::run(false, packages),
        ["coverage", packages @ ..] => coverage::run(packages),
        ["deny"] => deny::run_all(false),
        ["deny", "--without-advisories"] => deny::run_all(true),
        ["semver", "--baseline", revision, packages @ ..] => semver::run_all(Some(revision), packages),
        ["semver", packages @ ..] => semver::run_all(None, packages),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["fuzz-routes"] => routes("1500"),
        ["fuzz-routes", "--seconds", seconds] => routes(seconds),
        ["new-provider", "--try"] => scaffold::try_out(),
        ["new-provider", name] => scaffold::new_provider(name),
        ["release", "--dry-run"] => release::dry_run(),
        ["docs", rest @ ..] => docs::run(rest),
        ["tidy"] => tidy::run(&root()),
        ["bench", "--gate"] => gate::gate(None),
        ["bench", "--gate", "--write", reason @ ..] => gate::gate(Some(&reason.join(" "))),
        ["bench", rest @ ..] => bench::run(rest),
        ["crashes", rest @ ..] => crashes::run(rest),
        ["faults"] => faults("5000"),
        ["faults", times] => faults(times),
        ["mutants", packages @ ..] => mutants::run_all(packages),
        ["web"] => web::build(&[]),
        ["web", "--check"] => web::build(&["--check"]),
        ["ci", stages @ ..] => ci::run(stages),
        _ => Err(format!("there is no such task\n\n{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&format!("xtask: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Requests that are made up from the description of the server's routes, for that long; the test suite has a few of them.
fn routes(seconds: &str) -> Result<(), Failure> {
    if !seconds.parse::<u32>().is_ok_and(|seconds| seconds > 0) {
        return Err("fuzz-routes takes [--seconds N]".to_owned());
    }
    counterparts::install_python("routes")?;
    let test = ["test", "-p", "attache-server", "--test", "made_up", "--", "--nocapture"];
    run_with("cargo", &test, &[("ATTACHE_ROUTE_SECONDS".to_owned(), seconds.to_owned())])
}

/// Random faults in memory and kills of a real process, as often as that; the test suite has fewer of both.
fn faults(times: &str) -> Result<(), Failure> {
    let often = |name: &str| [(name.to_owned(), times.to_owned())];
    let test = ["test", "--release", "-p"];
    let memory = ["attache-agent", "--test", "faults", "--", "random", "--nocapture"];
    run_with("cargo", &[&test[..], &memory].concat(), &often("ATTACHE_FAULT_RUNS"))?;
    crashes::run(&["--kills", times])
}
