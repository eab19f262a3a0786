//! A new provider crate: a copy of the worked example of the guide under another name, with a recording of its own.
//! The code that is copied is built and tested with every change, so a scaffold is never older than the code around it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files;
use crate::shell::{Failure, report, root, run_with, target};
use crate::workspace::{self, Package};

/// The worked example of `docs/guide/your-own-provider.md`.
const MODEL: &str = "crates/providers/cohere";

/// Files of the example that are about the example.
const LEFT_OUT: [&str; 2] = ["tests/it/guide.rs", "tests/it/recordings.rs"];

/// The table of models, which says when somebody last looked at the vendor's page.
const TABLE: &str = "src/capabilities.toml";

const LIB: &str = include_str!("scaffold/lib.rs.txt");
const RECORDINGS: &str = include_str!("scaffold/recordings.rs.txt");
const RECORDING: &str = include_str!("scaffold/hello.json");

/// The forms of a provider's name.
struct Name {
    /// `my-llm`: of the crate, the family and the registry.
    plain: String,
    /// `MyLlm`: of types.
    types: String,
    /// `my_llm`: of the library.
    snake: String,
    /// `MY_LLM`: of variables.
    upper: String,
}

impl Name {
    fn parse(name: &str) -> Result<Self, Failure> {
        let words: Vec<&str> = name.split('-').collect();
        let is_word = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        if !words.iter().all(is_word) {
            return Err(format!("`{name}` is no name such as `acme` or `my-llm`"));
        }
        let title = |word: &&str| {
            let (first, rest) = word.split_at(1);
            format!("{}{rest}", first.to_ascii_uppercase())
        };
        let snake = words.join("_");
        Ok(Self {
            plain: name.to_owned(),
            types: words.iter().map(title).collect(),
            upper: snake.to_ascii_uppercase(),
            snake,
        })
    }

    /// A file of the example, with this name in it.
    fn said(&self, text: &str) -> String {
        uncited(text)
            .replace("COHERE_API_KEY", &format!("{}_KEY", self.upper))
            .replace("CO_API_", &format!("{}_API_", self.upper))
            .replace("attache_cohere", &format!("attache_{}", self.snake))
            .replace("api.cohere.com", &format!("api.{}.example", self.plain))
            .replace("docs.cohere.com", &format!("docs.{}.example", self.plain))
            .replace("COHERE", &self.upper)
            .replace("Cohere", &self.types)
            .replace("cohere", &self.plain)
    }
}

/// The text without what it cites of the example's API: the page about another API is yet to be written.
fn uncited(text: &str) -> String {
    let mut pieces = text.split(" (cohere.md ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once(')').map_or(piece, |(_, rest)| rest))
}

/// Writes the crate and makes it a member of the workspace.
pub(crate) fn new_provider(name: &str) -> Result<(), Failure> {
    let name = Name::parse(name)?;
    let folder = root().join("crates/providers").join(&name.plain);
    refuse_known(&name, &workspace::packages()?)?;
    if folder.exists() {
        return Err(format!("{} is there already", folder.display()));
    }
    let files = write(&folder, &name)?;
    for (file, mark) in [
        ("Cargo.toml", "    \"crates/providers/cohere\",\n"),
        ("Cargo.toml", "attache-cohere = { path = \"crates/providers/cohere\", version = \"0.1.0\" }\n"),
        ("xtask/src/layers.rs", "    \"attache-cohere\",\n"),
    ] {
        extend(&root().join(file), mark, &name)?;
    }
    report(&format!(
        "{} files under crates/providers/{plain}, a member of the workspace and of the rules of the layers.\n\
         It compiles, and speaks the API of the example until you write yours. Its tests pass once the table of models\n\
         says when you looked at the vendor's page (`checked`): cargo test -p attache-{plain}\n\n\
         What to change, in the order of docs/guide/your-own-provider.md:\n\
         \x20 src/codec.rs          base URL, variables of the key, the path of the endpoint\n\
         \x20 src/capabilities.toml which models there are and what they take; its test in src/capabilities.rs\n\
         \x20 src/request/*.rs      messages and options as this API has them\n\
         \x20 src/stream.rs         its events; src/response.rs and src/response/*.rs: finish reasons, usage\n\
         \x20 src/error.rs          what its statuses mean\n\
         \x20 tests/fixtures        a recording of the real API (`Recorder` of attache-testkit) for tests/it/recordings.rs\n\
         \x20 docs/wire, docs/api   the facts about the API with their sources; `cargo xtask api --accept attache-{plain}`\n\
         \x20 crates/cli            `with_codec(\"{plain}\", \"{plain}\", {types}Codec::new)` in src/model_by_name.rs, a row in src/replay.rs",
        files.len(),
        plain = name.plain,
        types = name.types,
    ));
    Ok(())
}

/// Two crates of one name make no workspace.
fn refuse_known(name: &Name, packages: &[Package]) -> Result<(), Failure> {
    let known = format!("attache-{}", name.plain);
    let is_known = packages.iter().any(|package| package.name == known);
    if is_known { Err(format!("there is a crate {known} already")) } else { Ok(()) }
}

/// Writes a scaffold to a workspace under the target folder, and runs its tests there.
pub(crate) fn try_out() -> Result<(), Failure> {
    let name = Name::parse("trial-run")?;
    let folder = target().join("scaffold");
    let _ = fs::remove_dir_all(&folder);
    let made = folder.join("crates/providers").join(&name.plain);
    write(&made, &name)?;
    // As its author would: its tests refuse a table that nobody has held against its source.
    let table = fs::read_to_string(made.join(TABLE)).map_err(|error| format!("{TABLE}: {error}"))?;
    save(&made.join(TABLE), &dated(&table, "2026-01-01"))?;
    let read = |file: &str| fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"));
    save(&folder.join("Cargo.toml"), &workspace_of(&read("Cargo.toml")?, &name)?)?;
    for file in ["Cargo.lock", "clippy.toml"] {
        save(&folder.join(file), &read(file)?)?;
    }
    let manifest = folder.join("Cargo.toml").display().to_string();
    let built = target().display().to_string();
    let variables = [("INSTA_UPDATE".to_owned(), "no".to_owned())];
    let manifest = ["--manifest-path", &manifest, "--target-dir", &built, "--offline"];
    run_with(
        "cargo",
        &[&["clippy", "--all-targets"], &manifest[..], &["--", "-D", "warnings"]].concat(),
        &variables,
    )?;
    run_with("cargo", &[&["test"], &manifest[..]].concat(), &variables)
}

/// The workspace's manifest with the new crate alone, which finds the others by whole paths.
fn workspace_of(manifest: &str, name: &Name) -> Result<String, Failure> {
    let (head, rest) = manifest.split_once("members = [").ok_or("Cargo.toml has no members")?;
    let (_, rest) = rest.split_once("]\n").ok_or("Cargo.toml has members without an end")?;
    let rest: String = rest
        .lines()
        .filter(|line| !line.starts_with("default-members"))
        .map(|line| format!("{line}\n"))
        .collect();
    let crates = root().join("crates").display().to_string();
    let rest = rest.replace("path = \"crates", &format!("path = \"{crates}"));
    Ok(format!("{head}members = [\"crates/providers/{}\"]\n{rest}", name.plain))
}

/// Writes the files of a crate, and names them.
fn write(folder: &Path, name: &Name) -> Result<Vec<PathBuf>, Failure> {
    let model = root().join(MODEL);
    let mut written = Vec::new();
    for file in files::below(&model)? {
        let shown = file.display().to_string();
        if LEFT_OUT.contains(&shown.as_str()) {
            continue;
        }
        let text = fs::read_to_string(model.join(&file)).map_err(|error| format!("{shown}: {error}"))?;
        let text = match shown.as_str() {
            "src/lib.rs" => name.said(&lib(&text)?),
            "Cargo.toml" => name.said(&text.replace(", the worked example of the guide", "")),
            TABLE => name.said(&dated(&text, "")),
            "tests/it/main.rs" => {
                let text = text.replace(
                    ", errors and recordings, and the page of the guide that shows its code",
                    ", errors and recordings",
                );
                name.said(&text.replace("mod guide;\n", ""))
            }
            _ => name.said(&text),
        };
        save(&folder.join(&file), &text)?;
        written.push(file);
    }
    for (file, text) in [("tests/it/recordings.rs", RECORDINGS), ("tests/fixtures/hello.json", RECORDING)] {
        save(&folder.join(file), &name.said(text))?;
        written.push(PathBuf::from(file));
    }
    Ok(written)
}

/// A table of models that was held against its source that day; of a new one nobody has done so.
fn dated(table: &str, day: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("checked = ") { format!("checked = \"{day}\"") } else { line.to_owned() }
    };
    table.lines().map(|given| line(given) + "\n").collect()
}

/// The head of a scaffold, with the modules of the example.
fn lib(text: &str) -> Result<String, Failure> {
    let (_, modules) = text.split_once("\n\n").ok_or("the example has no head")?;
    Ok(format!("{LIB}\n{modules}"))
}

/// A line of the new crate behind that of the example.
fn extend(file: &Path, mark: &str, name: &Name) -> Result<(), Failure> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let (before, after) =
        text.split_once(mark).ok_or_else(|| format!("{} does not hold {mark}", file.display()))?;
    save(file, &format!("{before}{mark}{}{after}", name.said(mark)))
}

fn save(file: &Path, text: &str) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(file, text))
        .map_err(|error| format!("{} cannot be written: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_form_in_each_place() {
        let name = Name::parse("my-llm").unwrap();
        let text = "CohereCodec attache_cohere \"cohere/a\" COHERE_API_KEY CO_API_KEY attache-cohere";
        assert_eq!(
            name.said(text),
            "MyLlmCodec attache_my_llm \"my-llm/a\" MY_LLM_KEY MY_LLM_API_KEY attache-my-llm"
        );
        assert_eq!(
            name.said("/// The most (cohere.md 2).\n/// Less (cohere.md 3) of it"),
            "/// The most.\n/// Less of it"
        );
        for wrong in ["", "My", "my_llm", "-a", "a--b", "1a", "a/b"] {
            assert!(Name::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_that_a_crate_of_the_workspace_has_is_refused() {
        let packages = workspace::packages().unwrap();
        let refused = |name: &str| refuse_known(&Name::parse(name).unwrap(), &packages).is_err();
        for name in ["core", "agent", "http-tools", "cohere", "tests"] {
            assert!(refused(name), "{name}");
        }
        assert!(!refused("acme"));
    }

    #[test]
    fn a_scaffold_has_the_files_of_a_provider_and_nothing_of_the_example() {
        let folder = std::env::temp_dir().join(format!("attache-scaffold-{}", std::process::id()));
        write(&folder, &Name::parse("acme").unwrap()).unwrap();
        let made = files::below(&folder).unwrap();
        let sources = |files: Vec<PathBuf>| -> Vec<PathBuf> {
            files.into_iter().filter(|file| file.starts_with("src")).collect()
        };
        assert_eq!(sources(made.clone()), sources(files::below(&root().join(MODEL)).unwrap()));
        assert!(made.contains(&PathBuf::from("tests/fixtures/hello.json")));
        assert!(!made.contains(&PathBuf::from("tests/it/guide.rs")), "the page shows the example alone");
        for file in made {
            let text = fs::read_to_string(folder.join(&file)).unwrap().to_lowercase();
            assert!(!text.contains("cohere"), "{}", file.display());
        }
        let table = fs::read_to_string(folder.join(TABLE)).unwrap();
        assert!(table.contains("\nchecked = \"\"\n"), "nobody has looked at the vendor's page");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_line_for_the_new_crate_stands_behind_that_of_the_example() {
        let file = std::env::temp_dir().join(format!("attache-members-{}", std::process::id()));
        fs::write(&file, "[\n    \"attache-cohere\",\n]\n").unwrap();
        extend(&file, "    \"attache-cohere\",\n", &Name::parse("acme").unwrap()).unwrap();
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "[\n    \"attache-cohere\",\n    \"attache-acme\",\n]\n"
        );
        assert!(extend(&file, "\"nothing\"", &Name::parse("acme").unwrap()).is_err());
        fs::remove_file(file).unwrap();
    }

    #[test]
    fn the_lines_that_a_new_crate_stands_behind_are_there() {
        for (file, mark) in [
            ("Cargo.toml", "    \"crates/providers/cohere\",\n"),
            ("xtask/src/layers.rs", "    \"attache-cohere\",\n"),
        ] {
            assert!(fs::read_to_string(root().join(file)).unwrap().contains(mark), "{file}");
        }
    }
}
