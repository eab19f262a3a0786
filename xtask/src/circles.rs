//! Files that need each other. A file uses another if it takes a name that the other defines; a re-export stands for the
//! file that defines the name. Two files that use each other, directly or through others, cannot be read one by one.
//!
//! It reads the text: what macros write and what methods call is not seen.

mod scripts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::Failure;

/// A module by its names below the crate's root.
type Module = Vec<String>;

/// One file: what it defines, what it imports under which name, and the paths that it takes.
#[derive(Default)]
struct File {
    path: PathBuf,
    defines: BTreeSet<String>,
    imports: Vec<(Vec<String>, String)>,
    takes: Vec<Vec<String>>,
}

struct Crate(BTreeMap<Module, File>);

enum Found {
    /// A name that this module's file defines.
    Name(Module),
    /// A module itself.
    Module(Module),
}

/// The sources of the chat in the browser.
const SCRIPTS: &str = "crates/server/web/src";

/// The circles below `root`, in a line each.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for source in sources(root)? {
        let files = Crate::read(&source)?;
        let arrows = files.arrows();
        for circle in circles(&arrows) {
            let names = circle.iter().filter_map(|module| files.0.get(*module));
            problems.push(told(names.map(|file| file.path.clone()), root));
        }
    }
    let scripts = root.join(SCRIPTS);
    let files = scripts::imports(&scripts)?;
    let known = |imported: &BTreeSet<PathBuf>| {
        imported.iter().filter_map(|name| files.get_key_value(name)).map(|(name, _)| name).collect()
    };
    let arrows = files.iter().map(|(file, imported)| (file, known(imported))).collect();
    for circle in circles(&arrows) {
        problems.push(told(circle.iter().map(|file| scripts.join(file)), root));
    }
    Ok(problems)
}

fn told(files: impl Iterator<Item = PathBuf>, root: &Path) -> String {
    let names = files.map(|file| file.strip_prefix(root).unwrap_or(&file).display().to_string());
    format!("these files need each other: {}", names.collect::<Vec<_>>().join(", "))
}

/// The `src` folders of the workspace, and that of the fuzzers beside it.
fn sources(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = vec![root.join("xtask/src"), root.join("tests/src"), root.join("fuzz/src")];
    for folder in ["crates", "crates/gateways", "crates/providers", "tests"] {
        for entry in entries(&root.join(folder))? {
            if entry.join("Cargo.toml").is_file() && entry.join("src").is_dir() {
                found.push(entry.join("src"));
            }
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read =
        fs::read_dir(folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    let mut entries: Vec<PathBuf> = read.filter_map(Result::ok).map(|entry| entry.path()).collect();
    entries.sort();
    Ok(entries)
}

impl Crate {
    fn read(source: &Path) -> Result<Self, Failure> {
        let mut files = BTreeMap::new();
        let mut folders = vec![source.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for path in entries(&folder)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if path.is_dir() && !["tests", "bin"].contains(&name.as_str()) {
                    folders.push(path);
                } else if name.ends_with(".rs") && name != "tests.rs" {
                    let text = fs::read_to_string(&path)
                        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
                    let below = path.strip_prefix(source).unwrap_or(&path).with_extension("");
                    let mut module: Module =
                        below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                        module.pop();
                    }
                    files.insert(module, File::of(path, &text));
                }
            }
        }
        Ok(Self(files))
    }

    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let mut arrows: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
        for (module, file) in &self.0 {
            let to = arrows.entry(module).or_default();
            for path in &file.takes {
                if let Some(Found::Name(found)) = self.find(module, path, 0)
                    && found != *module
                    && let Some((found, _)) = self.0.get_key_value(&found)
                {
                    to.insert(found);
                }
            }
        }
        arrows
    }

    /// The file that defines what `path` means in `module`; `None` for what other crates define.
    fn find(&self, module: &Module, path: &[String], depth: usize) -> Option<Found> {
        const DEEP: usize = 12;
        let (first, rest) = path.split_first()?;
        if depth > DEEP {
            return None;
        }
        match first.as_str() {
            "crate" => return self.walk(Module::new(), rest, depth),
            "self" => return self.walk(module.clone(), rest, depth),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let above = module.get(..module.len().checked_sub(ups)?)?.to_vec();
                return self.walk(above, path.get(ups..)?, depth);
            }
            _ => {}
        }
        let mut child = module.clone();
        child.push(first.clone());
        if self.0.contains_key(&child) {
            return self.walk(child, rest, depth);
        }
        let imports = &self.0.get(module)?.imports;
        let (import, _) = imports.iter().find(|(import, name)| name == first && import.as_slice() != path)?;
        match self.find(module, import, depth + 1)? {
            Found::Module(found) if !rest.is_empty() => self.walk(found, rest, depth + 1),
            found @ Found::Module(_) => Some(found),
            Found::Name(_) => None,
        }
    }

    /// Follows `path` from `module` down.
    fn walk(&self, mut module: Module, path: &[String], depth: usize) -> Option<Found> {
        for (at, name) in path.iter().enumerate() {
            let mut child = module.clone();
            child.push(name.clone());
            if self.0.contains_key(&child) {
                module = child;
                continue;
            }
            let file = self.0.get(&module)?;
            if file.defines.contains(name) {
                return Some(Found::Name(module));
            }
            if let Some((import, _)) = file.imports.iter().find(|(_, known)| known == name) {
                let found = self.find(&module, import, depth + 1)?;
                return match (found, path.get(at + 1..).unwrap_or_default()) {
                    (Found::Module(found), rest) if !rest.is_empty() => self.walk(found, rest, depth + 1),
                    (found, _) => Some(found),
                };
            }
            for (import, _) in file.imports.iter().filter(|(_, known)| known == "*") {
                if let Some(Found::Module(found)) = self.find(&module, import, depth + 1)
                    && found != module
                    && self.0.get(&found).is_some_and(|file| file.defines.contains(name))
                {
                    return Some(Found::Name(found));
                }
            }
            return Some(Found::Name(module));
        }
        Some(Found::Module(module))
    }
}

impl File {
    fn of(path: PathBuf, text: &str) -> Self {
        let text = without_tests(&plain(text));
        let mut file = Self { path, ..Self::default() };
        let words: Vec<&str> = words(&text);
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            match *word {
                "use" => {
                    let begin = at;
                    while words.get(at).is_some_and(|word| *word != ";") {
                        at += 1;
                    }
                    let is_public = begin
                        .checked_sub(2)
                        .and_then(|before| words.get(before))
                        .is_some_and(|word| *word == "pub" || *word == ")");
                    let tree = words.get(begin..at).unwrap_or_default();
                    let imports = imports(tree);
                    if !is_public {
                        file.takes.extend(imports.iter().map(|(path, _)| path.clone()));
                    }
                    file.imports.extend(imports);
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                    file.defines.extend(words.get(at).map(|name| (*name).to_owned()));
                }
                "macro_rules" => file.defines.extend(words.get(at + 1).map(|name| (*name).to_owned())),
                _ if is_name(word) && words.get(at) == Some(&"::") => {
                    let mut path = vec![(*word).to_owned()];
                    while words.get(at) == Some(&"::") && words.get(at + 1).is_some_and(|word| is_name(word))
                    {
                        path.extend(words.get(at + 1).map(|word| (*word).to_owned()));
                        at += 2;
                    }
                    file.takes.push(path);
                }
                _ => {}
            }
        }
        file
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Names, `::`, and single signs.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if is_name(rest) {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (word, more) = rest.split_at(end);
        words.push(word);
        rest = more.trim_start();
    }
    words
}

/// The paths of a `use`, each with the name that it has here.
fn imports(tree: &[&str]) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    collect(tree, &[], &mut found);
    found
}

fn collect(tree: &[&str], above: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let open = tree.iter().position(|word| *word == "{");
    let names = |words: &[&str]| -> Vec<String> {
        words.iter().filter(|word| **word != "::").map(|word| (*word).to_owned()).collect()
    };
    if let Some(open) = open {
        let above: Vec<String> =
            above.iter().cloned().chain(names(tree.get(..open).unwrap_or_default())).collect();
        let inner = tree.get(open + 1..tree.len().saturating_sub(1)).unwrap_or_default();
        let (mut depth, mut begin) = (0_i32, 0);
        for (at, word) in inner.iter().enumerate() {
            depth += i32::from(*word == "{") - i32::from(*word == "}");
            if *word == "," && depth == 0 {
                collect(inner.get(begin..at).unwrap_or_default(), &above, found);
                begin = at + 1;
            }
        }
        collect(inner.get(begin..).unwrap_or_default(), &above, found);
        return;
    }
    let (path, alias) = match tree.iter().position(|word| *word == "as") {
        Some(at) => (tree.get(..at).unwrap_or_default(), tree.get(at + 1)),
        None => (tree, None),
    };
    let mut path: Vec<String> = above.iter().cloned().chain(names(path)).collect();
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let Some(last) = path.last().cloned() else { return };
    if last == "*" {
        path.pop();
    }
    found.push((path, alias.map_or(last, |alias| (*alias).to_owned())));
}

/// The text without comments and without what literals hold.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_string(rest).filter(|_| !out.ends_with(is_part_of_name)) {
            length
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' && is_char(rest) {
            quoted(rest, '\'')
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        };
        out.push(' ');
        rest = rest.get(skipped..).unwrap_or_default();
    }
    out
}

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a raw string that begins here.
fn raw_string(text: &str) -> Option<usize> {
    let signs = text.strip_prefix('r')?;
    let hashes = signs.len() - signs.trim_start_matches('#').len();
    let body = signs.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(2 + hashes + body.find(&end).map_or(body.len(), |at| at + end.len()))
}

/// The length of a literal between two quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// True for a character, false for a lifetime.
fn is_char(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// The text without what `#[cfg(test)]` stands before.
fn without_tests(text: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(MARK) {
        out.push_str(before);
        let body = behind.find(['{', ';']).unwrap_or(behind.len());
        let mut depth = 0_i32;
        let mut end = behind.len();
        for (at, c) in behind.char_indices().skip_while(|(at, _)| *at < body) {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth == 0 {
                end = at + 1;
                break;
            }
        }
        rest = behind.get(end..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The sets of files that reach each other.
fn circles<'f, F: Ord>(arrows: &BTreeMap<&'f F, BTreeSet<&'f F>>) -> Vec<Vec<&'f F>> {
    let reach = |from: &'f F| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            for to in arrows.get(module).into_iter().flatten() {
                if reached.insert(*to) {
                    open.push(to);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&F, BTreeSet<&F>> = arrows.keys().map(|module| (*module, reach(module))).collect();
    let mut told: BTreeSet<&F> = BTreeSet::new();
    let mut circles = Vec::new();
    for (module, of) in &reached {
        if of.contains(module) && !told.contains(module) {
            let circle: Vec<&F> = of
                .iter()
                .copied()
                .filter(|other| reached.get(other).is_some_and(|of| of.contains(module)))
                .collect();
            told.extend(circle.iter().copied());
            circles.push(circle);
        }
    }
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn krate(files: &[(&str, &str)]) -> Crate {
        let module =
            |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Crate(files.iter().map(|(path, text)| (module(path), File::of(PathBuf::from(path), text))).collect())
    }

    fn count(files: &[(&str, &str)]) -> usize {
        circles(&krate(files).arrows()).len()
    }

    #[test]
    fn two_files_that_take_names_of_each_other_are_a_circle() {
        assert_eq!(
            count(&[("a", "use crate::b::B; struct A;"), ("b", "struct B; fn f() { super::a::A }")]),
            1
        );
        assert_eq!(count(&[("a", "use crate::b::B; struct A;"), ("b", "struct B;")]), 0);
        assert_eq!(
            count(&[("a", "use crate::{b::{self, C}}; struct A;"), ("b", "use super::a::A; struct C;")]),
            1
        );
    }

    #[test]
    fn a_re_export_stands_for_the_file_that_defines_the_name() {
        let face = "mod b; pub use b::B;";
        assert_eq!(count(&[("", face), ("a", "use crate::B; struct A;"), ("b", "struct B;")]), 0);
        assert_eq!(
            count(&[("", face), ("a", "use crate::B; struct A;"), ("b", "use crate::a::A; struct B;")]),
            1
        );
    }

    #[test]
    fn tests_comments_and_literals_are_no_arrows() {
        let plain = "struct B; // crate::a::A\nconst T: &str = \"crate::a::A\"; const C: char = '\"';";
        assert_eq!(count(&[("a", "use crate::b::B; struct A;"), ("b", plain)]), 0);
        let tested = "struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; fn f() { let _ = '}'; } }";
        assert_eq!(count(&[("a", "use crate::b::B; struct A;"), ("b", tested)]), 0);
    }
}
