//! The public API of each published library, as a list that is committed and reviewed, and rules for what is in it.

mod lint;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::shell::{Failure, report, root, run_with, target};
use crate::stand_in::Role;
use crate::workspace::{self, Package};

/// A file for each crate, with a line for each item.
const FOLDER: &str = "docs/api";

/// Holds the public API of these crates, or of all, against the lists that are committed, and against the rules; or
/// writes new lists.
pub(crate) fn run(accept: bool, only: &[&str]) -> Result<(), Failure> {
    let packages = workspace::libraries(only)?;
    // Nobody else documents those that are not published.
    let inner = if only.is_empty() { workspace::inner_libraries()? } else { Vec::new() };
    document(packages.iter().chain(&inner))?;
    let mut problems = Vec::new();
    let mut exceptions = lint::Exceptions::read(&root().join(FOLDER).join("exceptions.txt"))?;
    for package in &packages {
        let json = json(package);
        let text = list(&json)?;
        let file = root().join(FOLDER).join(format!("{}.txt", package.name));
        if accept {
            fs::create_dir_all(root().join(FOLDER))
                .and_then(|()| fs::write(&file, &text))
                .map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
        } else if let Some(changed) = changed(&fs::read_to_string(&file).unwrap_or_default(), &text) {
            problems.push(format!("{}: its public API is not the one of {FOLDER}:\n{changed}", package.name));
        }
        let written = fs::read_to_string(&json).map_err(|error| format!("{}: {error}", json.display()))?;
        let documented: Value =
            serde_json::from_str(&written).map_err(|error| format!("{}: {error}", json.display()))?;
        problems.extend(lint::problems(&documented, &mut exceptions));
    }
    if only.is_empty() {
        problems.extend(exceptions.unused());
        problems.extend(strays(&packages));
    }
    report(&format!("{} public APIs, {} problems", packages.len(), problems.len()));
    if problems.is_empty() {
        return Ok(());
    }
    let shown = problems.join("\n");
    Err(format!("{shown}\n{} problems; `cargo xtask api --accept` takes changes of lists", problems.len()))
}

/// Lets rustdoc write what it knows of these packages. It refuses broken links, as it does where it writes pages.
fn document<'p>(packages: impl IntoIterator<Item = &'p Package>) -> Result<(), Failure> {
    let mut arguments = vec!["doc", "--no-deps", "--lib", "--all-features"];
    arguments.extend(packages.into_iter().flat_map(|package| ["-p", package.name.as_str()]));
    let mut variables = Role::Rustdoc.variables()?;
    let flags = "-Z unstable-options --output-format json -D warnings";
    variables.push(("RUSTDOCFLAGS".to_owned(), flags.to_owned()));
    run_with("cargo", &arguments, &variables)
}

fn json(package: &Package) -> PathBuf {
    target().join("doc").join(format!("{}.json", package.name.replace('-', "_")))
}

/// The items, each in a line. Not those that each type has: blanket implementations, and what a derive writes.
fn list(json: &PathBuf) -> Result<String, Failure> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| format!("{}: {error}", json.display()))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// The lines that went and came.
fn changed(old: &str, new: &str) -> Option<String> {
    let lost = old.lines().filter(|line| !new.lines().any(|other| other == *line));
    let come = new.lines().filter(|line| !old.lines().any(|other| other == *line));
    let lines = lost.map(|line| format!("  - {line}")).chain(come.map(|line| format!("  + {line}")));
    let lines: Vec<String> = lines.collect();
    (old != new)
        .then(|| if lines.is_empty() { "  the order is another".to_owned() } else { lines.join("\n") })
}

/// Lists of crates that are gone.
fn strays(packages: &[Package]) -> Vec<String> {
    let files = fs::read_dir(root().join(FOLDER)).into_iter().flatten().filter_map(Result::ok);
    let names = files.filter_map(|file| file.file_name().to_str()?.strip_suffix(".txt").map(str::to_owned));
    names
        .filter(|name| name != "exceptions" && !packages.iter().any(|package| package.name == *name))
        .map(|name| format!("{FOLDER}/{name}.txt: there is no such published library"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_list_is_told_by_what_went_and_what_came() {
        let changed = changed("pub fn a::old()\npub fn a::same()\n", "pub fn a::new()\npub fn a::same()\n");
        assert_eq!(changed.as_deref(), Some("  - pub fn a::old()\n  + pub fn a::new()"));
    }

    #[test]
    fn an_unchanged_list_is_no_problem() {
        assert_eq!(changed("pub fn a::same()\n", "pub fn a::same()\n"), None);
    }

    #[test]
    fn lines_in_another_order_are_a_change() {
        assert_eq!(changed("a\nb\n", "b\na\n").as_deref(), Some("  the order is another"));
    }
}
