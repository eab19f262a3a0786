//! The imports of TypeScript files from one another, those of types alone included: they must be read together as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::files;
use crate::shell::Failure;

/// The files below a folder by their paths from there, each with those that it imports.
pub(super) fn imports(source: &Path) -> Result<BTreeMap<PathBuf, BTreeSet<PathBuf>>, Failure> {
    let mut found = BTreeMap::new();
    for file in files::below(source)? {
        if file.extension().is_some_and(|extension| extension == "ts") {
            let path = source.join(&file);
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let imported = named(&file, &text);
            found.insert(file, imported);
        }
    }
    if found.is_empty() { Err(format!("{} has no scripts", source.display())) } else { Ok(found) }
}

/// The files of ours that a file imports, or exports again.
fn named(file: &Path, text: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut pieces = text.split(['\'', '"']);
    let mut before = pieces.next().unwrap_or_default();
    for piece in pieces {
        let head = before.trim_end().trim_end_matches('(').trim_end();
        let is_import = ["from", "import"].iter().any(|word| head.ends_with(word));
        if is_import && piece.starts_with('.') {
            let mut path = file.parent().unwrap_or(file).to_path_buf();
            for part in piece.split('/') {
                match part {
                    "." => {}
                    ".." => {
                        path.pop();
                    }
                    name => path.push(name),
                }
            }
            found.insert(path);
        }
        before = piece;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_every_kind_are_read() {
        let text = "import type { A } from '../state/a.ts';\nimport { b,\n  c } from \"./b.ts\";\n\
                    import './styles/c.css';\nexport * from './d.ts';\nconst late = await import('./e.ts');\n\
                    import { html } from 'lit';\nconst told = 'it came from', no = './f.ts';\n";
        let found = named(Path::new("parts/one.ts"), text);
        let expected = ["parts/b.ts", "parts/d.ts", "parts/e.ts", "parts/styles/c.css", "state/a.ts"];
        assert_eq!(found, expected.map(PathBuf::from).into());
    }
}
