//! Links of pages: each leads to a file, and to a heading that the file has.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use super::page::Page;

/// Links that lead nowhere, and those that leave what the site has.
pub(super) fn problems(root: &Path, pages: &[Page]) -> Vec<String> {
    let headings: BTreeMap<&Path, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_path(), anchors(&page.text))).collect();
    let mut problems = Vec::new();
    for page in pages {
        for link in links(&page.text) {
            let target = &page.text[link.clone()];
            let Some((path, anchor)) = resolve(&page.path, target) else { continue };
            let exists = headings.contains_key(path.as_path()) || root.join(&path).exists();
            let problem = if path.starts_with("..") || !exists {
                "there is no such file"
            } else if crate_of(&path).is_none() && !is_on_site(&path) {
                "the site has no such page: link to a page, or to the lib.rs of a crate"
            } else if anchor.is_some_and(|anchor| {
                headings.get(path.as_path()).is_some_and(|known| !known.contains(anchor))
            }) {
                "that page has no such heading"
            } else {
                continue;
            };
            let line = page.text[..link.start].lines().count();
            problems.push(format!("{}:{line}: {target}: {problem}", page.path.display()));
        }
    }
    problems
}

/// Pages of the guide that no other page of it leads to.
pub(super) fn unlisted(pages: &[Page]) -> Vec<String> {
    let listed: BTreeSet<PathBuf> =
        outline(pages).into_iter().flat_map(|(page, below)| [vec![page], below].concat()).collect();
    let is_missing = |page: &&Page| page.path.starts_with("docs/guide") && !listed.contains(&page.path);
    let missing = pages.iter().filter(is_missing);
    missing.map(|page| format!("{}: no page of the guide leads here", page.path.display())).collect()
}

/// The guide as its first page lists it: each page with those that it alone leads to.
pub(super) fn outline(pages: &[Page]) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let first = PathBuf::from("docs/guide/README.md");
    let mut seen = BTreeSet::from([first.clone()]);
    let mut new = |from: &Path| -> Vec<PathBuf> {
        let Some(page) = pages.iter().find(|page| page.path == from) else { return Vec::new() };
        let targets = links(&page.text).into_iter().filter_map(|link| resolve(from, &page.text[link]));
        let guide = targets.map(|(path, _)| path).filter(|path| path.starts_with("docs/guide"));
        let pages = guide.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        pages.filter(|path| seen.insert(path.clone())).collect()
    };
    let listed = new(&first);
    let below: Vec<_> = listed.iter().map(|page| new(page)).collect();
    [(first, Vec::new())].into_iter().chain(listed.into_iter().zip(below)).collect()
}

/// Where a link of a page leads: a path from the root, and a heading. `None` if it leaves the repository.
pub(super) fn resolve<'t>(page: &Path, target: &'t str) -> Option<(PathBuf, Option<&'t str>)> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    if path.is_empty() {
        return Some((page.to_owned(), anchor));
    }
    let mut resolved = page.parent().unwrap_or(page).to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if resolved.file_name().is_some_and(|name| name != "..") => {
                resolved.pop();
            }
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    Some((resolved, anchor))
}

/// The folder of the crate whose documentation a path stands for.
pub(super) fn crate_of(path: &Path) -> Option<&Path> {
    let is_library = path.starts_with("crates") && path.ends_with("src/lib.rs");
    is_library.then(|| path.ancestors().nth(2)).flatten()
}

fn is_on_site(path: &Path) -> bool {
    path.starts_with("docs") || path.parent().is_some_and(|folder| folder.as_os_str().is_empty())
}

/// The places of the targets of links in a page, code left out.
pub(super) fn links(text: &str) -> Vec<Range<usize>> {
    let prose = without_code(text);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = prose.get(from..).and_then(|rest| rest.find("](")) {
        let start = from + at + 2;
        let length = prose[start..].find([')', ' ', '\n']).unwrap_or(prose.len() - start);
        found.push(start..start + length);
        from = start + length;
    }
    found
}

/// The anchors of the headings of a page, as Markdown renderers make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = without_blocks(text);
    let mut anchors = BTreeSet::new();
    for line in prose.lines() {
        let Some(heading) = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        else {
            continue;
        };
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String =
            kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = (1..).map(|count| format!("{anchor}-{count}")).find(|other| !anchors.contains(other));
        anchors.insert(if anchors.contains(&anchor) { again.unwrap_or(anchor) } else { anchor });
    }
    anchors
}

/// The page with blanks in the place of its code, so that every byte keeps its place.
fn without_code(text: &str) -> String {
    let prose = without_blocks(text);
    let mut kept = String::with_capacity(prose.len());
    for line in prose.split_inclusive('\n') {
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('`') {
            let Some((code, behind)) = after.split_once('`') else { break };
            kept.push_str(before);
            kept.push_str(&" ".repeat(code.len() + 2));
            rest = behind;
        }
        kept.push_str(rest);
    }
    kept
}

/// The same, code blocks alone.
fn without_blocks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut is_code = false;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```");
        if is_code || fence {
            kept.push_str(&" ".repeat(line.trim_end_matches('\n').len()));
            kept.push_str(if line.ends_with('\n') { "\n" } else { "" });
        } else {
            kept.push_str(line);
        }
        is_code ^= fence;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Page {
        Page { path: path.into(), text: text.to_owned() }
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn a_dead_link_and_a_dead_anchor_are_found_with_their_lines() {
        let text = "# A\n\n[one](nowhere.md)\n[two](#a), [three](#b)\n[four](../guide/start.md#start)\n";
        let pages = [page("docs/guide/a.md", text), page("docs/guide/start.md", "# Start\n")];
        assert_eq!(
            problems(&root(), &pages),
            [
                "docs/guide/a.md:3: nowhere.md: there is no such file",
                "docs/guide/a.md:4: #b: that page has no such heading",
            ]
        );
    }

    #[test]
    fn links_in_code_are_none() {
        let text = "`[a](b.md)` é [c](d.md)\n```md\n[e](f.md)\n# no heading\n```\n![g](h.png \"title\")\n";
        let found: Vec<_> = links(text).into_iter().map(|link| &text[link]).collect();
        assert_eq!(found, ["d.md", "h.png"]);
        assert!(anchors(text).is_empty());
    }

    #[test]
    fn headings_have_the_anchors_that_renderers_give_them() {
        let text = "# `attache ask`\n## 1. See whether\n## Same\n## Same\n#none\n";
        let expected = ["attache-ask", "1-see-whether", "same", "same-1"];
        assert_eq!(anchors(text), expected.map(str::to_owned).into());
    }

    #[test]
    fn a_page_that_the_site_does_not_have_is_found() {
        let pages =
            [page("docs/a.md", "[x](../xtask/Cargo.toml) [y](../crates/core/src/lib.rs) [z](https://a.b/c)")];
        let problems = problems(&root(), &pages);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("xtask/Cargo.toml: the site has no such page"));
    }

    #[test]
    fn a_page_that_nothing_leads_to_is_found() {
        let pages = [
            page("docs/guide/README.md", "[b](b.md)"),
            page("docs/guide/b.md", "[c](deep/c.md)"),
            page("docs/guide/deep/c.md", ""),
            page("docs/guide/lost.md", ""),
        ];
        assert_eq!(unlisted(&pages), ["docs/guide/lost.md: no page of the guide leads here"]);
        let outline = outline(&pages);
        assert_eq!(outline[1], ("docs/guide/b.md".into(), vec!["docs/guide/deep/c.md".into()]));
    }
}
