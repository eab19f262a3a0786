//! Kills of real processes over the stores, of a server, and of a run with remote tools.

use crate::shell::{Failure, run_with};

/// The stores, each with a part of the name of its test.
const STORES: [(&str, &str); 3] =
    [("file", "over_files"), ("sqlite", "over_sqlite"), ("postgres", "over_postgres")];

/// The word for a server with clients, and the test of it.
const SERVER: (&str, &str) = ("server", "a_server_killed");

/// The same for a run whose tools are elsewhere.
const REMOTE: (&str, &str) = ("remote", "a_run_with_remote_tools_killed");

/// The kills where no number is given, as many as the test suite has over all stores.
const KILLS: u64 = 300;

/// `crashes [--kills N] [--store NAME]`.
pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    let (mut kills, mut only) = (KILLS, None);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match (*word, rest.next()) {
            ("--kills", Some(number)) => {
                kills = number.parse().map_err(|_| format!("{number} is no number of kills"))?;
            }
            ("--store", Some(name)) => {
                let known = STORES.iter().chain([&SERVER, &REMOTE]).find(|(store, _)| store == name);
                only = Some(known.ok_or_else(|| {
                    format!(
                        "there is no store {name}: {}, server, remote",
                        STORES.map(|(store, _)| store).join(", ")
                    )
                })?);
            }
            (other, _) => return Err(format!("crashes knows --kills N and --store NAME, and no {other}")),
        }
    }
    let test = |package: &str, program: &str, name: &str, kills: u64| {
        let words = ["test", "-p", package, "--test", program, "--", name, "--nocapture"];
        run_with("cargo", &words, &[("ATTACHE_KILLS".to_owned(), kills.to_string())])
    };
    let server = |kills: u64| test("attache-server", "nodes", SERVER.1, kills);
    let remote = |kills: u64| test("attache-tests", "gateways", REMOTE.1, kills);
    if only == Some(&SERVER) {
        return server(kills);
    }
    if only == Some(&REMOTE) {
        return remote(kills);
    }
    let stores = only.map_or(STORES.as_slice(), std::slice::from_ref);
    let each = kills.div_ceil(u64::try_from(stores.len()).unwrap_or(1));
    let mut words = vec!["test", "-p", "attache-stores", "--test", "crash", "--"];
    words.extend(stores.iter().map(|(_, test)| *test));
    words.push("--nocapture");
    run_with("cargo", &words, &[("ATTACHE_KILLS".to_owned(), each.to_string())])?;
    if only.is_some() {
        return Ok(());
    }
    server(each)?;
    remote(each)
}
