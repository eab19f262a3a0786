//! Kills of real processes over the stores.

use crate::shell::{Failure, run_with};

/// The stores, each with a part of the name of its test.
const STORES: [(&str, &str); 3] =
    [("file", "over_files"), ("sqlite", "over_sqlite"), ("postgres", "over_postgres")];

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
                let known = STORES.iter().find(|(store, _)| store == name);
                only = Some(known.ok_or_else(|| {
                    format!("there is no store {name}: {}", STORES.map(|(store, _)| store).join(", "))
                })?);
            }
            (other, _) => return Err(format!("crashes knows --kills N and --store NAME, and no {other}")),
        }
    }
    let stores = only.map_or(STORES.as_slice(), std::slice::from_ref);
    let each = kills.div_ceil(u64::try_from(stores.len()).unwrap_or(1));
    let mut words = vec!["test", "-p", "attache-stores", "--test", "crash", "--"];
    words.extend(stores.iter().map(|(_, test)| *test));
    words.push("--nocapture");
    run_with("cargo", &words, &[("ATTACHE_KILLS".to_owned(), each.to_string())])
}
