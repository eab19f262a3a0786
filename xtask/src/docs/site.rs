//! The site: the pages by mdBook, with search, and the documentation of the API beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::links;
use super::page::{Page, files, read, write};
use crate::shell::{Failure, output, report, run, target};

const MDBOOK: &str = "0.5.4";

/// Builds the site under the target folder.
pub(super) fn build(root: &Path, pages: &[Page]) -> Result<(), Failure> {
    let mdbook = install()?;
    let packages = published()?;
    let book = target().join("docs");
    // Files of an earlier build would be found again.
    if book.exists() {
        fs::remove_dir_all(&book).map_err(|error| format!("{} stays: {error}", book.display()))?;
    }
    let source = book.join("src");
    let mut others = Vec::new();
    files(root, Path::new("docs"), &mut others)?;
    others.extend(["LICENSE-APACHE", "LICENSE-MIT"].map(PathBuf::from));
    for path in others.iter().filter(|path| !pages.iter().any(|page| page.path == **path)) {
        let to = source.join(path);
        make_folder(to.parent().unwrap_or(&source))?;
        fs::copy(root.join(path), &to).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    for page in pages {
        let to = source.join(on_site(&page.path));
        make_folder(to.parent().unwrap_or(&source))?;
        write(&to, &with_site_links(page, &packages))?;
    }
    write(&source.join("SUMMARY.md"), &summary(pages))?;
    write(&source.join("API.md"), &api_page(&packages))?;
    fs::copy(root.join("docs/book.toml"), book.join("book.toml"))
        .map_err(|error| format!("book.toml: {error}"))?;
    let shown = book.display().to_string();
    run(&mdbook.display().to_string(), &["build", &shown])?;

    let names: Vec<&str> = packages.values().flat_map(|name| ["-p", name.as_str()]).collect();
    run("cargo", &[&["doc", "--no-deps"], &names[..]].concat())?;
    let site = book.join("site");
    copy_folder(&target().join("doc"), &site.join("api"))?;
    let dead = dead_links(&site)?;
    if !dead.is_empty() {
        return Err(format!("dead links on the site:\n  {}", dead.join("\n  ")));
    }
    report(&format!("the site: {}", site.join("index.html").display()));
    Ok(())
}

/// mdBook, installed at first use, without the server and the watcher.
fn install() -> Result<PathBuf, Failure> {
    let folder = target().join("tools");
    let program = folder.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    let is_there = program.exists()
        && output(&program.display().to_string(), &["--version"])?.contains(&format!("v{MDBOOK}"));
    if !is_there {
        let folder = folder.display().to_string();
        let install = ["install", "--locked", "--quiet", "--root", &folder, "--version", MDBOOK];
        let small = ["--no-default-features", "--features", "search", "mdbook"];
        run("cargo", &[&install[..], &small].concat())?;
    }
    Ok(program)
}

/// The packages that are published, by their folders.
fn published() -> Result<BTreeMap<PathBuf, String>, Failure> {
    let metadata = output("cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let root = PathBuf::from(metadata.get("workspace_root").and_then(Value::as_str).unwrap_or_default());
    let packages = metadata.get("packages").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut found = BTreeMap::new();
    for package in &packages {
        let text = |member: &str| package.get(member).and_then(Value::as_str).unwrap_or_default();
        let has_library = package.pointer("/targets").and_then(Value::as_array).is_some_and(|targets| {
            targets.iter().any(|target| {
                target.pointer("/kind/0").is_some_and(|kind| kind == "lib" || kind == "proc-macro")
            })
        });
        // `publish = false` is an empty list.
        if has_library && package.get("publish").is_none_or(Value::is_null) {
            let folder = Path::new(text("manifest_path")).parent().unwrap_or(&root).to_owned();
            let folder = folder.strip_prefix(&root).unwrap_or(&folder).to_owned();
            found.insert(folder, text("name").to_owned());
        }
    }
    if found.is_empty() { Err("cargo names no package".to_owned()) } else { Ok(found) }
}

/// Where a page stands on the site: the first of a folder is its index.
fn on_site(path: &Path) -> PathBuf {
    if path.ends_with("README.md") { path.with_file_name("index.md") } else { path.to_owned() }
}

/// The page with links as the site needs them: to pages by their names there, to crates by their documentation.
fn with_site_links(page: &Page, packages: &BTreeMap<PathBuf, String>) -> String {
    let mut text = page.text.clone();
    for link in links::links(&page.text).into_iter().rev() {
        let Some((path, _)) = links::resolve(&page.path, &page.text[link.clone()]) else { continue };
        if path.ends_with("README.md") && page.text[link.clone()].contains("README.md") {
            let renamed = page.text[link.clone()].replace("README.md", "index.md");
            text.replace_range(link, &renamed);
        } else if let Some(package) = links::crate_of(&path).and_then(|folder| packages.get(folder)) {
            let up = "../".repeat(page.path.components().count() - 1);
            text.replace_range(link, &format!("{up}api/{}/index.html", package.replace('-', "_")));
        }
    }
    text
}

/// The table of contents.
fn summary(pages: &[Page]) -> String {
    let title = |path: &Path| {
        let page = pages.iter().find(|page| page.path == path);
        let heading = page.and_then(|page| page.text.lines().find_map(|line| line.strip_prefix("# ")));
        heading.unwrap_or_default().replace(['[', ']'], "")
    };
    let line = |depth: usize, path: &Path| {
        format!("{}- [{}]({})\n", "    ".repeat(depth), title(path), on_site(path).display())
    };
    let mut text = "# Summary\n\n[attache](index.md)\n\n# Guide\n\n".to_owned();
    for (page, below) in links::outline(pages) {
        text += &line(0, &page);
        text.extend(below.iter().map(|page| line(1, page)));
    }
    text += "\n# Reference\n\n- [The API](API.md)\n";
    for (path, folder) in [
        ("docs/ARCHITECTURE.md", ""),
        ("docs/adr/README.md", "docs/adr"),
        ("docs/wire/README.md", "docs/wire"),
        ("docs/coverage.md", ""),
        ("CHANGELOG.md", ""),
        ("CONTRIBUTING.md", ""),
    ] {
        text += &line(0, Path::new(path));
        let below = pages.iter().filter(|page| !folder.is_empty() && page.path.starts_with(folder));
        text.extend(below.filter(|page| page.path != Path::new(path)).map(|page| line(1, &page.path)));
    }
    text
}

fn api_page(packages: &BTreeMap<PathBuf, String>) -> String {
    let mut names: Vec<&String> = packages.values().collect();
    names.sort();
    let mut text =
        "# The API\n\nBegin with [attache](api/attache/index.html), which gathers the others.\n\n".to_owned();
    text.extend(names.iter().map(|name| format!("- [{name}](api/{}/index.html)\n", name.replace('-', "_"))));
    text
}

/// Links of the built pages to files that the site does not have. Those of the API's documentation are rustdoc's.
fn dead_links(site: &Path) -> Result<Vec<String>, Failure> {
    let mut paths = Vec::new();
    files(site, Path::new(""), &mut paths)?;
    let mut dead = Vec::new();
    let is_ours = |path: &&PathBuf| {
        !path.starts_with("api") && path.extension().is_some_and(|extension| extension == "html")
    };
    for path in paths.iter().filter(is_ours).filter(|path| *path != Path::new("404.html")) {
        for piece in read(&site.join(path))?.split("href=\"").skip(1) {
            let target = piece.split('"').next().unwrap_or_default();
            let Some((to, _)) = links::resolve(path, target) else { continue };
            if !site.join(&to).exists() {
                dead.push(format!("{}: {target}", path.display()));
            }
        }
    }
    Ok(dead)
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| format!("{} cannot be made: {error}", folder.display()))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut paths = Vec::new();
    files(from, Path::new(""), &mut paths)?;
    for path in paths {
        let target = to.join(&path);
        make_folder(target.parent().unwrap_or(to))?;
        fs::copy(from.join(&path), &target).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Page {
        Page { path: path.into(), text: text.to_owned() }
    }

    #[test]
    fn links_lead_to_the_names_that_pages_and_crates_have_on_the_site() {
        let packages = BTreeMap::from([(PathBuf::from("crates/core"), "attache-core".to_owned())]);
        let text = "[a](../wire/README.md#b) [c](../../crates/core/src/lib.rs) [d](https://e.f/README.md) `[g](README.md)`";
        assert_eq!(
            with_site_links(&page("docs/guide/start.md", text), &packages),
            "[a](../wire/index.md#b) [c](../../api/attache_core/index.html) [d](https://e.f/README.md) `[g](README.md)`"
        );
    }

    #[test]
    fn the_contents_follow_the_first_page_of_the_guide() {
        let pages = [
            page("docs/guide/README.md", "# Guide\n\n| [B](b.md) |\n| [A](a.md) |"),
            page("docs/guide/a.md", "# Page A\n"),
            page("docs/guide/b.md", "# Page B\n[c](deep/c.md)"),
            page("docs/guide/deep/c.md", "# Page C\n"),
        ];
        let guide = "- [Guide](docs/guide/index.md)\n- [Page B](docs/guide/b.md)\n    - [Page C](docs/guide/deep/c.md)\n\
                     - [Page A](docs/guide/a.md)\n\n# Reference";
        assert!(summary(&pages).contains(guide), "{}", summary(&pages));
    }
}
