use std::fs;

use super::super::listing::MAX_NOT_LISTED;
use super::*;

/// A file that git leaves out is there.
fn open() -> FileFilter {
    FileFilter::new().with_ignore_files(false)
}

fn folders(build: impl FnOnce(&Path)) -> (tempfile::TempDir, Folders) {
    let outside = tempfile::tempdir().unwrap();
    let inbox = outside.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    fs::write(outside.path().join("secret.txt"), "canary").unwrap();
    build(&inbox);
    let folders = Folders::open([inbox], open()).unwrap().with_max_file_bytes(100);
    (outside, folders)
}

#[test]
fn lists_and_reads_in_a_stable_order() {
    let (_kept, folders) = folders(|inbox| {
        fs::create_dir(inbox.join("sub")).unwrap();
        fs::write(inbox.join("sub/b.csv"), "a,b").unwrap();
        fs::write(inbox.join("a.pdf"), "%PDF").unwrap();
        fs::write(inbox.join(".hidden"), "x").unwrap();
    });
    let listing = folders.list(None).unwrap();
    let seen: Vec<_> =
        listing.files.iter().map(|file| (file.path.as_str(), file.size, file.media_type.as_str())).collect();
    assert_eq!(seen, [("a.pdf", 4, "application/pdf"), ("sub/b.csv", 3, "text/csv")]);
    assert_eq!(folders.list(Some("sub")).unwrap().files.len(), 1);
    assert_eq!(folders.read("sub/b.csv").unwrap(), ("sub/b.csv".to_owned(), b"a,b".to_vec()));
    assert_eq!(folders.read("./a.pdf").unwrap().1, b"%PDF");
    assert!(matches!(folders.read("c.pdf"), Err(FileError::NotFound(_))));
    assert!(matches!(folders.list(Some("nowhere")), Err(FileError::NotFound(_))));
}

#[cfg(unix)]
#[test]
fn nothing_outside_can_be_reached() {
    let (kept, folders) = folders(|inbox| {
        std::os::unix::fs::symlink("../secret.txt", inbox.join("link.txt")).unwrap();
        std::os::unix::fs::symlink("..", inbox.join("up")).unwrap();
        std::os::unix::fs::symlink("/etc", inbox.join("etc")).unwrap();
    });
    let absolute = kept.path().join("secret.txt").display().to_string();
    let ways = [
        "../secret.txt",
        "x/../../secret.txt",
        "link.txt",
        "up/secret.txt",
        "etc/hostname",
        "/etc/hostname",
        absolute.as_str(),
        "..",
        "",
    ];
    for way in ways {
        let error = folders.read(way).unwrap_err().to_string();
        assert!(!error.contains("canary"), "{way}: {error}");
    }
    for way in ["..", "up", "etc", "/etc"] {
        assert!(folders.list(Some(way)).map_or(true, |listing| listing.files.is_empty()), "{way}");
    }
    assert!(folders.list(None).unwrap().files.is_empty(), "links are not listed");
}

#[cfg(unix)]
#[test]
fn pipes_folders_and_huge_files_are_refused() {
    let (_kept, folders) = folders(|inbox| {
        fs::create_dir(inbox.join("folder")).unwrap();
        fs::write(inbox.join("huge.txt"), vec![b'x'; 101]).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(inbox.join("pipe")).status().unwrap().success());
    });
    assert!(matches!(folders.read("folder"), Err(FileError::NotAFile(_))));
    assert!(matches!(folders.read("pipe"), Err(FileError::NotAFile(_))), "it does not block either");
    assert!(matches!(folders.read("huge.txt"), Err(FileError::TooLarge { size: 101, limit: 100, .. })));
}

/// The names that a listing leaves out, and the reasons that it gives.
fn not_listed(listing: &Listing) -> Vec<(&str, &str)> {
    listing.not_listed.iter().map(|entry| (entry.entry.as_str(), entry.problem.as_str())).collect()
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_listed_as_such() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

    let (kept, folders) = folders(|inbox| {
        fs::write(inbox.join("a.txt"), "a").unwrap();
        fs::create_dir(inbox.join("sub")).unwrap();
        fs::write(inbox.join("sub").join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt")), "b").unwrap();
        fs::write(inbox.join(std::ffi::OsStr::from_bytes(b".hidden\xe9")), "c").unwrap();
        std::os::unix::fs::symlink("a.txt", inbox.join("link.txt")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(inbox.join("pipe")).status().unwrap().success());
        fs::create_dir(inbox.join("locked")).unwrap();
        fs::set_permissions(inbox.join("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    });
    let locked = kept.path().join("inbox/locked");
    // The superuser may read everything.
    let is_locked = fs::read_dir(&locked).is_err();
    let listing = folders.list(None).unwrap();
    let inside = folders.list(Some("locked"));
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();

    assert_eq!(listing.files.len(), 1);
    let mut expected = vec![
        ("link.txt", "it is a link, and links are not followed"),
        ("pipe", "it is no regular file"),
        ("locked", "permission denied"),
        ("sub/caf\u{FFFD}.txt", "its name is not UTF-8"),
    ];
    expected.retain(|(entry, _)| is_locked || *entry != "locked");
    assert_eq!(not_listed(&listing), expected);
    let json = serde_json::to_value(&listing).unwrap();
    assert_eq!(json["notListed"][1]["entry"], "pipe");
    if is_locked {
        let error = inside.unwrap_err();
        assert!(matches!(&error, FileError::Unreadable { path, .. } if path == "locked"), "{error}");
    }
}

#[test]
fn unreadable_files_beyond_a_limit_are_counted() {
    let mut listing = Listing::default();
    for number in 0..=MAX_NOT_LISTED {
        listing.leave_out(number.to_string(), "it is no regular file");
    }
    assert_eq!((listing.not_listed.len(), listing.omitted), (MAX_NOT_LISTED, 1));
}

#[cfg(unix)]
#[test]
fn special_files_and_names_that_cannot_be_shown_are_not_opened() {
    use std::os::unix::ffi::OsStrExt;

    let (kept, _) = folders(|inbox| {
        assert!(std::process::Command::new("mkfifo").arg(inbox.join("pipe")).status().unwrap().success());
        fs::write(inbox.join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt")), "b").unwrap();
    });
    let inbox = kept.path().join("inbox");
    for (name, said) in [
        (b"pipe".as_slice(), "it is neither a folder nor a regular file"),
        (b"caf\xe9.txt", "its name is not UTF-8"),
    ] {
        let error = Folders::open([inbox.join(std::ffi::OsStr::from_bytes(name))], open()).unwrap_err();
        assert!(matches!(&error, FileError::Open { problem, .. } if problem == said), "{error}");
    }
    assert!(Folders::open(["/dev/null"], open()).is_err());
}

#[test]
fn a_folder_or_file_that_went_away_does_not_hide_the_others() {
    let (kept, _) = folders(|inbox| fs::write(inbox.join("a.txt"), "a").unwrap());
    let (one, two) = (kept.path().join("inbox/a.txt"), kept.path().join("other"));
    fs::create_dir(&two).unwrap();
    fs::write(two.join("b.txt"), "b").unwrap();
    let folders = Folders::open([one.clone(), two], open()).unwrap();
    fs::remove_file(one).unwrap();
    let listing = folders.list(None).unwrap();
    assert_eq!(listing.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["other/b.txt"]);
    assert_eq!(not_listed(&listing)[0].0, "inbox/a.txt");
}

#[test]
fn several_folders_and_single_files() {
    let (kept, _) = folders(|inbox| fs::write(inbox.join("a.txt"), "a").unwrap());
    let one = kept.path().join("inbox");
    let two = kept.path().join("other");
    fs::create_dir(&two).unwrap();
    fs::write(two.join("b.txt"), "b").unwrap();
    fs::write(two.join("c.txt"), "c").unwrap();
    let folders = Folders::open([one, two.join("b.txt")], open()).unwrap();
    let seen: Vec<_> = folders.list(None).unwrap().files.into_iter().map(|file| file.path).collect();
    assert_eq!(seen, ["inbox/a.txt", "other/b.txt"]);
    assert!(folders.read("other/b.txt").is_ok());
    assert!(
        matches!(folders.read("other/c.txt"), Err(FileError::NotFound(_))),
        "only the file that was opened"
    );
    assert!(matches!(Folders::open([kept.path().join("none")], open()), Err(FileError::Open { .. })));
}

fn paths(listing: &Listing) -> Vec<&str> {
    listing.files.iter().map(|file| file.path.as_str()).collect()
}

/// A folder with what git and its user leave out.
fn repository(chosen: FileFilter) -> (tempfile::TempDir, Folders) {
    let kept = tempfile::tempdir().unwrap();
    let top = kept.path().join("top");
    for folder in [".git/info", "src/node_modules/x", "src/build", "src/deep"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    fs::write(top.join(".git/info/exclude"), "*.bak\n").unwrap();
    fs::write(top.join(".gitignore"), "node_modules/\n/src/build\n*.log\n").unwrap();
    fs::write(top.join("src/.gitignore"), "!kept.log\n/deep/own.txt\n").unwrap();
    let files = [
        "a.md",
        "a.bak",
        "a.log",
        "kept.log",
        "node_modules/x/y.js",
        "build/z.o",
        "deep/own.txt",
        "deep/b.log",
    ];
    for file in files {
        fs::write(top.join("src").join(file), "x").unwrap();
    }
    let folders = Folders::open([top.join("src")], chosen).unwrap();
    (kept, folders)
}

// The rules stand above the opened folder, in it, and in the repository's own file.
#[test]
fn what_git_leaves_out_is_neither_listed_nor_read() {
    let (kept, folders) = repository(FileFilter::new());
    assert_eq!(paths(&folders.list(None).unwrap()), ["a.md", "kept.log"]);
    assert!(folders.list(Some("deep")).unwrap().files.is_empty());
    assert!(folders.read("a.md").is_ok() && folders.read("kept.log").is_ok());
    for hidden in ["a.log", "node_modules/x/y.js", "build/z.o", "deep/own.txt", ".gitignore"] {
        assert!(matches!(folders.read(hidden), Err(FileError::NotFound(_))), "{hidden}");
    }
    let named = Folders::open([kept.path().join("top/src/a.log")], FileFilter::new());
    assert!(named.unwrap().read("a.log").is_ok(), "the user named it");
    let (_kept, folders) = repository(open());
    assert_eq!(folders.list(None).unwrap().files.len(), 8, "it may be switched off");
}

#[test]
fn patterns_of_the_user_choose_files() {
    let chosen =
        |include: &[&str], exclude: &[&str]| open().including(include).unwrap().excluding(exclude).unwrap();
    let (_kept, folders) = repository(chosen(&["*.log", "*.md"], &["deep/"]));
    assert_eq!(paths(&folders.list(None).unwrap()), ["a.log", "a.md", "kept.log"]);
    assert!(folders.read("deep/b.log").is_err() && folders.read("a.bak").is_err());
    assert!(FileFilter::new().including([""]).is_err());
}

#[test]
fn files_and_folders_that_are_left_out_can_be_neither_read_nor_listed() {
    let outside = tempfile::tempdir().unwrap();
    let inbox = outside.path().join("inbox");
    for folder in ["docs", ".git", "drafts"] {
        fs::create_dir_all(inbox.join(folder)).unwrap();
    }
    for file in ["docs/secret.txt", ".git/config", "drafts/a.txt", ".env", "docs/open.txt"] {
        fs::write(inbox.join(file), "canary").unwrap();
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(".env", inbox.join("notes.txt")).unwrap();
        std::os::unix::fs::symlink(".git", inbox.join("history")).unwrap();
    }
    let chosen = FileFilter::new().excluding(["docs/secret.txt", "drafts/"]).unwrap();
    let folders = Folders::open([inbox], chosen).unwrap();
    for way in [
        "docs/secret.txt",
        "docs//secret.txt",
        "docs/./secret.txt",
        "drafts/a.txt",
        "drafts//a.txt",
        ".env",
        "notes.txt",
        "history/config",
    ] {
        assert!(folders.read(way).is_err(), "{way}");
    }
    for way in [".git", "drafts", "./drafts", "history", "docs//"] {
        let listing = folders.list(Some(way));
        let names =
            listing.map(|listing| listing.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>());
        assert!(names.as_ref().map_or(true, |names| names == &["docs/open.txt"]), "{way}: {names:?}");
    }
    assert_eq!(folders.read("docs/open.txt").unwrap().1, b"canary");
}

// Patterns fit paths as a listing writes them; `docs/./secret.txt` is the same file by a path that none of them fits.
#[test]
fn a_path_that_is_written_otherwise_gets_by_no_pattern() {
    const LEFT_OUT: [&str; 4] = ["docs/secret.txt", "docs/ignored.txt", "docs/deep/key.pem", "docs/a.log"];
    let outside = tempfile::tempdir().unwrap();
    let (inbox, other) = (outside.path().join("inbox"), outside.path().join("other"));
    fs::create_dir_all(inbox.join("docs/deep")).unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(inbox.join(".gitignore"), "docs/ignored.txt\n*.log\n!*.log/\n").unwrap();
    for file in LEFT_OUT.into_iter().chain(["docs/open.txt"]) {
        fs::write(inbox.join(file), "canary").unwrap();
    }
    let mut got_by = Vec::new();
    for (shows_hidden, opened) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let chosen = FileFilter::new().with_hidden(shows_hidden);
        let chosen = chosen.excluding(["docs/secret.txt", "docs/deep/key.pem"]).unwrap();
        let folders = Folders::open([&inbox, &other].into_iter().take(opened), chosen).unwrap();
        let top = if opened > 1 { "inbox/" } else { "" };
        let written = |way: &str| [format!("{top}{way}"), format!("./{top}{way}"), format!("{top}./{way}")];
        for file in LEFT_OUT {
            let (folder, name) = file.rsplit_once('/').unwrap();
            let between = ["/", "/./", "/././", "//", "/.//", ".//", "/x/../", "/../docs/", "/\0/"];
            let behind = ["/", "//", "/.", "/./", "/..", "\0"];
            let ways = between.map(|between| format!("{folder}{between}{name}")).into_iter();
            let ways = ways.chain(behind.map(|behind| format!("{file}{behind}")));
            for way in ways.chain([format!(".//{file}"), format!("././{file}")]) {
                for way in written(&way) {
                    let is_open = folders.read(&way).is_ok() || folders.open_parent(&way).is_ok();
                    got_by.extend(is_open.then_some((shows_hidden, way)));
                }
            }
        }
        for way in ["", ".", "./", "././", "docs", "docs/", "docs//", "docs/.", "docs/./", "docs/./deep"] {
            for way in written(way) {
                let Ok(listing) = folders.list(Some(&way)) else { continue };
                let open = format!("{top}docs/open.txt");
                let own = |path: &&str| *path != open && !path.ends_with(".gitignore");
                got_by.extend(
                    paths(&listing).into_iter().filter(own).map(|path| (shows_hidden, path.to_owned())),
                );
            }
        }
        let open = format!("{top}docs/open.txt");
        assert_eq!(folders.read(&format!("./{open}")).unwrap(), (open.clone(), b"canary".to_vec()));
        assert!(matches!(folders.read(&format!("{open}/")), Err(FileError::NotFound(_))));
        assert_eq!(paths(&folders.list(Some(&format!("./{top}docs/"))).unwrap()), [open]);
    }
    assert!(got_by.is_empty(), "{got_by:?}");
}

// On macOS, on Windows and on mounts of their kind, the system finds an entry by other spellings than its own.
#[test]
fn an_entry_is_known_by_its_own_spelling_alone() {
    let (_kept, folders) = folders(|inbox| {
        fs::create_dir(inbox.join("docs")).unwrap();
        for file in ["docs/secrets.json", "docs/caf\u{e9}.txt", "docs/2024"] {
            fs::write(inbox.join(file), "canary").unwrap();
        }
    });
    let root = &folders.roots[0];
    for (name, is_there) in [
        ("secrets.json", true),
        ("Secrets.json", false),
        ("SECRET~1.JSO", false),
        ("caf\u{e9}.txt", true),
        ("cafe\u{301}.txt", false),
        ("2024", true),
        ("2024.", false),
    ] {
        assert_eq!(root.has_entry("docs", name), is_there, "{name}");
        let path = format!("docs/{name}");
        assert_eq!(root.dir.exists(&path) && root.is_spelled(&path), is_there, "{name}");
        assert_eq!(folders.read(&path).is_ok(), is_there, "{name}");
    }
    // Those whose spellings the system does not tell apart by their capitals are looked for among the entries.
    for name in ["SECRET~1.JSO", "caf\u{e9}.txt", "2024"] {
        assert!(!root.has_one_spelling("docs", name), "{name}");
    }
    assert_eq!(root.has_one_spelling("docs", "secrets.json"), !root.dir.exists("docs/SECRETS.JSON"));
    assert!(root.is_spelled("docs/new.txt") && folders.open_parent("docs/New.txt").is_ok());
}

#[test]
fn another_spelling_gets_by_no_filter() {
    let (kept, _) = folders(|inbox| {
        for folder in ["docs", "private"] {
            fs::create_dir(inbox.join(folder)).unwrap();
            fs::write(inbox.join(folder).join("secrets.json"), "canary").unwrap();
        }
        fs::write(inbox.join(".env"), "canary").unwrap();
    });
    let chosen = FileFilter::new().excluding(["secrets.json", "private/"]).unwrap();
    let folders = Folders::open([kept.path().join("inbox")], chosen).unwrap();
    for way in
        ["docs/Secrets.json", "docs/SECRET~1.JSO", "Private/Secrets.json", "Docs/secrets.json", "ENV~1"]
    {
        assert!(folders.read(way).is_err(), "{way}");
        // Where capitals make a difference, it is a new file.
        let is_there = kept.path().join("inbox").join(way).exists();
        assert!(!is_there || folders.open_parent(way).is_err(), "{way}");
    }
    assert!(folders.list(Some("Private")).is_err());
}
