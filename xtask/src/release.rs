//! The conditions that hold before the crates are published, and the order in which they are.

use std::collections::BTreeSet;
use std::fs;

use crate::api;
use crate::shell::{Failure, output, report, root, run};
use crate::workspace::{self, Package};

/// Checks everything and publishes nothing.
pub(crate) fn dry_run() -> Result<(), Failure> {
    let packages: Vec<Package> =
        workspace::packages()?.into_iter().filter(|package| package.is_published).collect();
    let mut problems = Vec::new();
    problems.extend(incomplete(&packages));
    problems.extend(packages.iter().flat_map(|package| unpublishable(package, &packages)));
    let versions: BTreeSet<&str> = packages.iter().map(|package| package.version.as_str()).collect();
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap_or_default();
    match versions.iter().collect::<Vec<_>>().as_slice() {
        [version] => {
            problems.extend(untold(&changelog, version));
            let tag = format!("v{version}");
            if !output("git", &["tag", "--list", &tag])?.trim().is_empty() {
                problems.push(format!("{tag} is tagged already"));
            }
        }
        _ => problems.push(format!("the crates have several versions: {versions:?}")),
    }
    if !output("git", &["status", "--porcelain"])?.trim().is_empty() {
        problems.push("there are changes that are not committed".to_owned());
    }
    if let Err(failure) = api::run(false, &[]) {
        problems.push(format!("the public API: {}", failure.lines().last().unwrap_or_default()));
    }
    // Cargo packs them against each other, as if those before were published. It does not build: CI did.
    let mut pack = vec!["package", "--no-verify", "--allow-dirty", "--quiet"];
    pack.extend(packages.iter().flat_map(|package| ["-p", package.name.as_str()]));
    if let Err(failure) = run("cargo", &pack) {
        problems.push(failure);
    }
    match order(&packages) {
        Ok(order) => {
            report("\nthe order of publishing:");
            for (at, name) in (1..).zip(order) {
                report(&format!("{at:>3}. {name}"));
            }
        }
        Err(failure) => problems.push(failure),
    }
    if problems.is_empty() {
        report("\nnothing stands in the way of a release");
        return Ok(());
    }
    Err(format!("not ready for a release:\n  {}", problems.join("\n  ")))
}

/// A field of a manifest, and how it is read.
type Field = (&'static str, fn(&Package) -> Option<&String>);

/// The demands of a registry, or its reader, on a package.
const FIELDS: [Field; 4] = [
    ("description", |package| package.description.as_ref()),
    ("license", |package| package.license.as_ref()),
    ("repository", |package| package.repository.as_ref()),
    ("readme", |package| package.readme.as_ref()),
];

/// Each field that packages lack, with these.
fn incomplete(packages: &[Package]) -> Vec<String> {
    let lacking = |field: &Field| {
        let lacks = |package: &&Package| field.1(package).is_none_or(|value| value.trim().is_empty());
        let names: Vec<&str> = packages.iter().filter(lacks).map(|package| package.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("no {}: {}", field.0, names.join(", ")))
    };
    FIELDS.iter().filter_map(lacking).collect()
}

/// Dependencies of ours that nobody could fetch.
fn unpublishable(package: &Package, published: &[Package]) -> Vec<String> {
    let gone = package.needs.iter().filter(|name| !published.iter().any(|other| other.name == **name));
    gone.map(|name| format!("{} needs {name}, which is not published", package.name)).collect()
}

/// Readers of the changelog look for the version, and for nothing that waits for one.
fn untold(changelog: &str, version: &str) -> Option<String> {
    let heads: Vec<&str> = changelog.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let told = heads.iter().any(|head| {
        let word = head.split_whitespace().next().unwrap_or_default();
        word.trim_matches(['[', ']']).trim_start_matches('v') == version
    });
    (!told).then(|| {
        format!(
            "CHANGELOG.md has no section of {version}; its first is {:?}",
            heads.first().unwrap_or(&"none")
        )
    })
}

/// The packages, each behind those that it needs; those of one rank by name.
fn order(packages: &[Package]) -> Result<Vec<&str>, Failure> {
    let mut left: Vec<&Package> = packages.iter().collect();
    left.sort_by(|a, b| a.name.cmp(&b.name));
    let mut order: Vec<&str> = Vec::new();
    while !left.is_empty() {
        let is_ready = |package: &&Package| {
            package.needs.iter().all(|need| !left.iter().any(|other| other.name == *need))
        };
        let Some(at) = left.iter().position(is_ready) else {
            let names: Vec<&str> = left.iter().map(|package| package.name.as_str()).collect();
            return Err(format!("these need each other in a circle: {}", names.join(", ")));
        };
        order.push(left.remove(at).name.as_str());
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, needs: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            is_published: true,
            has_library: true,
            is_macro: false,
            features: Vec::new(),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
            description: Some("it".to_owned()),
            license: Some("MIT".to_owned()),
            repository: Some("https://code.example/it".to_owned()),
            readme: Some("README.md".to_owned()),
        }
    }

    #[test]
    fn a_crate_is_published_behind_those_that_it_needs() {
        let packages =
            [package("agent", &["core", "documents"]), package("core", &[]), package("documents", &["core"])];
        assert_eq!(order(&packages).unwrap(), ["core", "documents", "agent"]);
    }

    #[test]
    fn a_circle_has_no_order() {
        let packages = [package("a", &["b"]), package("b", &["a"]), package("c", &[])];
        assert_eq!(order(&packages).unwrap_err(), "these need each other in a circle: a, b");
    }

    #[test]
    fn a_package_without_its_fields_is_found() {
        let bare = Package { license: None, readme: Some(" ".to_owned()), ..package("core", &[]) };
        let packages = [bare, package("agent", &[])];
        assert_eq!(incomplete(&packages), ["no license: core", "no readme: core"]);
        assert_eq!(incomplete(&packages[1..]), [""; 0]);
    }

    #[test]
    fn a_package_that_needs_an_unpublished_one_is_found() {
        let packages = [package("agent", &["core", "conformance"]), package("core", &[])];
        assert_eq!(
            unpublishable(&packages[0], &packages),
            ["agent needs conformance, which is not published"]
        );
    }

    #[test]
    fn a_version_without_a_section_in_the_changelog_is_found() {
        let changelog = "# Changelog\n\n## Unreleased\n\n## [0.2.0] - 2026-01-01\n";
        assert_eq!(untold(changelog, "0.2.0"), None);
        assert!(untold(changelog, "0.3.0").unwrap().contains("Unreleased"));
    }
}
