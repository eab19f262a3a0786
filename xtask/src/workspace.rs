//! The packages of the workspace, as cargo tells them.

use serde_json::Value;

use crate::shell::{Failure, output};

/// A package of ours.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// True if it goes to the registry.
    pub(crate) is_published: bool,
    pub(crate) has_library: bool,
    /// True if its library is procedural macros.
    pub(crate) is_macro: bool,
    /// Its features, `default` apart.
    pub(crate) features: Vec<String>,
    /// Packages of ours that must be published before it: normal and build dependencies.
    pub(crate) needs: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) readme: Option<String>,
}

/// Every package of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>, Failure> {
    let metadata = output("cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo writes no JSON: {error}"))?;
    Ok(list(&metadata, "packages").map(package).collect())
}

/// Those that go to the registry and have a library: what others can name.
pub(crate) fn libraries(only: &[&str]) -> Result<Vec<Package>, Failure> {
    let mut packages = packages()?;
    packages.retain(|package| package.is_published && package.has_library);
    if let Some(unknown) = only.iter().find(|name| !packages.iter().any(|package| package.name == **name)) {
        return Err(format!("there is no published library {unknown}"));
    }
    packages.retain(|package| only.is_empty() || only.contains(&package.name.as_str()));
    Ok(packages)
}

/// Libraries that only the workspace itself uses.
pub(crate) fn inner_libraries() -> Result<Vec<Package>, Failure> {
    let mut packages = packages()?;
    packages.retain(|package| !package.is_published && package.has_library);
    Ok(packages)
}

fn package(value: &Value) -> Package {
    let word = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let kinds = list(value, "targets").flat_map(|target| list(target, "kind"));
    let kinds: Vec<&str> = kinds.filter_map(Value::as_str).collect();
    let of_ours = list(value, "dependencies").filter(|dependency| {
        dependency.get("path").is_some() && dependency.get("kind").is_none_or(|kind| kind != "dev")
    });
    let mut needs: Vec<String> =
        of_ours.filter_map(|dependency| dependency.get("name")?.as_str()).map(str::to_owned).collect();
    needs.sort();
    needs.dedup();
    let features = value.get("features").and_then(Value::as_object);
    Package {
        name: word("name").unwrap_or_default(),
        version: word("version").unwrap_or_default(),
        // `publish = false` is an empty list of registries, no word of it is null.
        is_published: value.get("publish").is_none_or(Value::is_null),
        has_library: kinds.iter().any(|kind| matches!(*kind, "lib" | "proc-macro")),
        is_macro: kinds.contains(&"proc-macro"),
        features: features
            .into_iter()
            .flat_map(|all| all.keys())
            .filter(|name| *name != "default")
            .cloned()
            .collect(),
        needs,
        description: word("description"),
        license: word("license"),
        repository: word("repository"),
        readme: word("readme"),
    }
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}
