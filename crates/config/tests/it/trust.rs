use std::fs;
use std::path::Path;

use attache_config::{ConfigFile, Trusted, project_file};

#[test]
fn a_file_is_trusted_until_it_or_what_it_imports_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, import) = (folder.path().join("attache.toml"), folder.path().join("mcp.json"));
    fs::write(&path, "[mcp]\nimport = ['mcp.json']\n").unwrap();
    fs::write(&import, r#"{"mcpServers": {"a": {"command": "one"}}}"#).unwrap();
    let trusted = Trusted::in_folder(folder.path().join("trusted"));
    let read = || ConfigFile::read(&path).unwrap();
    assert!(!trusted.has(&read()));
    trusted.add(&read()).unwrap();
    assert!(trusted.has(&read()));
    // A program that somebody slips in is not run.
    fs::write(&import, r#"{"mcpServers": {"a": {"command": "two"}}}"#).unwrap();
    assert!(!trusted.has(&read()));
    fs::remove_file(&import).unwrap();
    assert!(!trusted.has(&read()));
    fs::write(&import, r#"{"mcpServers": {"a": {"command": "one"}}}"#).unwrap();
    assert!(trusted.has(&read()));
    fs::write(&path, "[mcp]\nimport = ['mcp.json']\n\n").unwrap();
    assert!(!trusted.has(&read()));
    trusted.add(&read()).unwrap();
    assert!(trusted.remove(&read()).unwrap() && !trusted.has(&read()) && !trusted.remove(&read()).unwrap());
    // Nor is it trusted again as it was before.
    fs::write(&path, "[mcp]\nimport = ['mcp.json']\n").unwrap();
    assert!(!trusted.has(&read()));
}

#[test]
fn a_file_is_trusted_by_whichever_way_it_is_named() {
    // The tests run in the folder of the crate.
    let folder = tempfile::tempdir_in(".").unwrap();
    let relative = Path::new(folder.path().file_name().unwrap()).join("attache.toml");
    let whole = fs::canonicalize(&folder).unwrap().join("attache.toml");
    fs::write(&whole, "[mcp]\nimport = ['mcp.json']\n[http.a]\nopenapi = 'api.json'\n").unwrap();
    fs::write(whole.with_file_name("mcp.json"), r#"{"mcpServers": {"a": {"command": "one"}}}"#).unwrap();
    let trusted = Trusted::in_folder(folder.path().join("trusted"));
    let [one, other] = [&relative, &whole].map(|path| ConfigFile::read(path).unwrap());
    trusted.add(&one).unwrap();
    assert!(trusted.has(&other));
    assert!(trusted.remove(&other).unwrap() && !trusted.has(&one));
}

#[test]
fn a_file_that_cannot_be_read_any_more_can_be_trusted_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("attache.toml");
    let fine = "[mcp.a]\ncommand = 'one'\n";
    fs::write(&path, fine).unwrap();
    let trusted = Trusted::in_folder(folder.path().join("trusted"));
    assert!(!trusted.remove_path(&path).unwrap());
    trusted.add(&ConfigFile::read(&path).unwrap()).unwrap();
    fs::write(&path, "[mcp.a\n").unwrap();
    assert!(ConfigFile::read(&path).is_err() && trusted.remove_path(&path).unwrap());
    fs::write(&path, fine).unwrap();
    assert!(!trusted.has(&ConfigFile::read(&path).unwrap()));
}

#[test]
fn the_same_text_elsewhere_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = Trusted::in_folder(folder.path().join("trusted"));
    let files = ["a", "b"].map(|name| {
        fs::create_dir(folder.path().join(name)).unwrap();
        let path = folder.path().join(name).join("attache.toml");
        fs::write(&path, "[mcp.a]\ncommand = './run'\n").unwrap();
        ConfigFile::read(path).unwrap()
    });
    trusted.add(&files[0]).unwrap();
    assert!(trusted.has(&files[0]) && !trusted.has(&files[1]));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_trusted_file_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = Trusted::in_folder(folder.path().join("trusted"));
    let (own, theirs) = (folder.path().join("own"), folder.path().join("theirs"));
    fs::create_dir(&own).unwrap();
    fs::create_dir(&theirs).unwrap();
    fs::write(own.join("attache.toml"), "[mcp.a]\ncommand = './run'\n").unwrap();
    trusted.add(&ConfigFile::read(own.join("attache.toml")).unwrap()).unwrap();
    // Paths are relative to the link: it would start another program.
    std::os::unix::fs::symlink("../own/attache.toml", theirs.join("attache.toml")).unwrap();
    assert!(!trusted.has(&ConfigFile::read(theirs.join("attache.toml")).unwrap()));
    // The same folder by another way is the same place.
    std::os::unix::fs::symlink(&own, folder.path().join("way")).unwrap();
    assert!(trusted.has(&ConfigFile::read(folder.path().join("way/attache.toml")).unwrap()));
}

#[test]
fn a_project_ends_at_its_repository_and_at_the_home() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("home/project/src/deep");
    fs::create_dir_all(&deep).unwrap();
    let home = folder.path().join("home");
    fs::write(home.join("attache.toml"), "").unwrap();
    assert_eq!(project_file(&deep, Some(&home)), None);
    let file = home.join("project/attache.toml");
    fs::write(&file, "").unwrap();
    assert_eq!(project_file(&deep, Some(&home)), Some(file));
    fs::create_dir(home.join("project/src/.git")).unwrap();
    assert_eq!(project_file(&deep, Some(&home)), None);
}
