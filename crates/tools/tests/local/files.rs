//! Files are listed, read and searched, below their folders and nowhere else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use attache_core::Tool;
use attache_tools::{FileFilter, Folders, file_tools};
use serde_json::json;

use super::{call, json};

const CANARY: &str = "canary-7f3a";

fn folder(build: impl FnOnce(&Path)) -> (tempfile::TempDir, Vec<Arc<dyn Tool>>) {
    let kept = tempfile::tempdir().unwrap();
    let inbox = kept.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    fs::write(kept.path().join("secret.txt"), CANARY).unwrap();
    build(&inbox);
    let tools = file_tools(Folders::open([&inbox], FileFilter::new()).unwrap());
    (kept, tools)
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[tokio::test]
async fn a_file_is_read_as_a_document_with_its_name() {
    let (_kept, tools) = folder(|inbox| {
        fs::create_dir(inbox.join("sub")).unwrap();
        fs::write(inbox.join("sub/lease"), b"%PDF-1.7 lease").unwrap();
        fs::write(inbox.join("scan.txt"), PNG).unwrap();
        fs::write(inbox.join("notes.txt"), "rent").unwrap();
    });
    // The content says what it is, whatever the name says.
    for (path, name, media) in [
        ("sub/lease", "lease", "application/pdf"),
        ("scan.txt", "scan.txt", "image/png"),
        ("notes.txt", "notes.txt", "text/plain"),
    ] {
        let output = call(&tools, "read_file", json!({"path": path})).await.unwrap();
        let [document] = output.documents.as_slice() else { panic!("{output:?}") };
        assert_eq!((document.file_name(), document.media_type().essence()), (Some(name), media));
    }
}

#[tokio::test]
async fn lines_are_read_by_number_in_any_charset() {
    let (_kept, tools) = folder(|inbox| {
        let text: String = (1..=5_000).map(|line| format!("line {line}\r\n")).collect();
        fs::write(inbox.join("long.log"), text).unwrap();
        fs::write(inbox.join("latin.txt"), b"gr\xf6\xdfe\nna\xefve\n").unwrap();
        let wide: Vec<u8> =
            [0xfeff].into_iter().chain("eins\r\nzwölf".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        fs::write(inbox.join("wide.txt"), wide).unwrap();
        fs::write(inbox.join("a.pdf"), b"%PDF-1.7 text\n").unwrap();
    });
    let lines = |path: &str, from: u64, to: u64| json!({"path": path, "from_line": from, "to_line": to});
    let part = json(&tools, "read_file", lines("long.log", 4_998, 4_999)).await;
    assert_eq!(
        part,
        json!({"path": "long.log", "lines": "4998\tline 4998\n4999\tline 4999\n", "nextLine": 5_000})
    );
    let all = json(&tools, "read_file", json!({"path": "long.log", "from_line": 1})).await;
    assert_eq!(all["nextLine"], 2_001, "an answer is bounded");
    assert_eq!(json(&tools, "read_file", lines("latin.txt", 1, 9)).await["lines"], "1\tgröße\n2\tnaïve\n");
    assert_eq!(json(&tools, "read_file", lines("wide.txt", 2, 2)).await["lines"], "2\tzwölf\n");
    let end = call(&tools, "read_file", lines("latin.txt", 3, 4)).await.unwrap_err();
    assert!(end.contains("it has 2 lines"), "{end}");
    let no_text = call(&tools, "read_file", lines("a.pdf", 1, 2)).await.unwrap_err();
    assert!(no_text.contains("no text"), "{no_text}");
}

#[tokio::test]
async fn a_file_too_large_to_be_read_whole_is_read_by_lines_and_searched() {
    let kept = tempfile::tempdir().unwrap();
    let mut text = "filler\n".repeat(50_000);
    text.push_str("the needle\n");
    fs::write(kept.path().join("huge.log"), text).unwrap();
    let folders = Folders::open([kept.path()], FileFilter::new()).unwrap().with_max_file_bytes(1_000);
    let tools = file_tools(folders);
    let whole = call(&tools, "read_file", json!({"path": "huge.log"})).await.unwrap_err();
    assert!(whole.contains("350011 bytes, more than the 1000"), "{whole}");
    let part = json(&tools, "read_file", json!({"path": "huge.log", "from_line": 50_001})).await;
    assert_eq!(part, json!({"path": "huge.log", "lines": "50001\tthe needle\n"}));
    let found = json(&tools, "search_files", json!({"query": "needle"})).await;
    assert_eq!(found["matches"], json!([{"path": "huge.log", "line": 50_001, "text": "the needle"}]));
}

#[tokio::test]
async fn files_are_found_by_pattern_and_lines_by_words() {
    let (_kept, tools) = folder(|inbox| {
        fs::create_dir_all(inbox.join("a/b")).unwrap();
        fs::write(inbox.join("a/b/x.md"), "one\nRent: 5 €\n").unwrap();
        fs::write(inbox.join("a/y.md"), "rent.\n").unwrap();
        fs::write(inbox.join("z.txt"), "rent (yearly)\n").unwrap();
        fs::write(inbox.join("scan.png"), PNG).unwrap();
        fs::write(inbox.join(".hidden.md"), "rent").unwrap();
    });
    let listed = json(&tools, "list_files", json!({"pattern": "*.md"})).await;
    assert_eq!(
        (&listed["files"][0]["path"], &listed["files"][1]["path"]),
        (&json!("a/y.md"), &json!("a/b/x.md"))
    );
    assert_eq!(json(&tools, "list_files", json!({"pattern": "a/*.md"})).await["files"][0]["path"], "a/y.md");
    // A folder stands for what is in it.
    for (pattern, expected) in [("a/", 2), ("b/", 1), ("/b/", 0), ("a/b/", 1), (" a/b/ ", 1)] {
        let listed = json(&tools, "list_files", json!({ "pattern": pattern })).await;
        assert_eq!(listed["files"].as_array().map_or(0, Vec::len), expected, "{pattern:?}: {listed}");
    }
    assert!(call(&tools, "list_files", json!({"pattern": "//"})).await.is_err());
    let search = |asked| json(&tools, "search_files", asked);
    let words = search(json!({"query": "rent (yearly)"})).await;
    assert_eq!(words["matches"], json!([{"path": "z.txt", "line": 1, "text": "rent (yearly)"}]));
    assert_eq!(words["filesWithoutText"], 1, "nothing is left out in silence");
    let any = search(json!({"query": "rent", "ignore_case": true, "pattern": "*.md"})).await;
    assert_eq!(any["matches"].as_array().unwrap().len(), 2);
    let regex = search(json!({"query": "^Rent: \\d", "is_regex": true, "path": "a"})).await;
    assert_eq!(regex["matches"], json!([{"path": "a/b/x.md", "line": 2, "text": "Rent: 5 €"}]));
    let one = search(json!({"query": "rent", "path": "z.txt"})).await;
    assert_eq!(one["matches"].as_array().unwrap().len(), 1);
    let wrong = call(&tools, "search_files", json!({"query": "(", "is_regex": true})).await.unwrap_err();
    assert!(wrong.contains("no regular expression"), "{wrong}");
}

#[tokio::test]
async fn hidden_files_are_there_by_choice() {
    let (kept, _) = folder(|inbox| fs::write(inbox.join(".env.md"), "x").unwrap());
    let open = |filter| file_tools(Folders::open([kept.path().join("inbox")], filter).unwrap());
    assert!(call(&open(FileFilter::new()), "read_file", json!({"path": ".env.md"})).await.is_err());
    let tools = open(FileFilter::new().with_hidden(true));
    assert!(call(&tools, "read_file", json!({"path": ".env.md"})).await.is_ok());
    assert_eq!(json(&tools, "list_files", json!({})).await["files"][0]["path"], ".env.md");
}

// A84
#[tokio::test]
async fn nothing_outside_is_read_listed_searched_or_named() {
    let (kept, tools) = folder(|inbox| {
        symlink("../secret.txt", inbox.join("link.txt")).unwrap();
        symlink("..", inbox.join("up")).unwrap();
        symlink("/proc/self", inbox.join("me")).unwrap();
    });
    let absolute = kept.path().join("secret.txt").display().to_string();
    for path in [
        "../secret.txt",
        "link.txt",
        "up/secret.txt",
        "./../secret.txt",
        "me/environ",
        "up/inbox/../secret.txt",
        "..\\secret.txt",
        "%2e%2e/secret.txt",
        "secret.txt\0",
        &absolute,
    ] {
        for asked in [json!({"path": path}), json!({"path": path, "from_line": 1})] {
            let error = call(&tools, "read_file", asked).await.unwrap_err();
            let outside = kept.path().display().to_string();
            assert!(!error.contains(CANARY), "{path}: {error}");
            assert!(path == absolute || !error.contains(&outside), "{path}: {error}");
        }
        for asked in [json!({"query": "canary", "path": path}), json!({"query": "canary"})] {
            if let Ok(found) = call(&tools, "search_files", asked).await {
                assert!(!found.tree.json().contains(CANARY), "{path}: {}", found.tree.json());
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_system_says_as_files_is_not_read() {
    for path in ["/proc", "/proc/self/environ", "/sys", "/proc/self/cmdline"] {
        assert!(Folders::open([path], FileFilter::new()).is_err(), "{path}");
    }
    let tools = file_tools(Folders::open(["/"], FileFilter::new()).unwrap());
    for path in
        ["proc/self/environ", "proc/version", "sys/kernel/mm/transparent_hugepage/enabled", "dev/null"]
    {
        let error = call(&tools, "read_file", json!({"path": path})).await.unwrap_err();
        assert!(error.contains("not a regular file") || error.contains("no file"), "{path}: {error}");
        assert!(call(&tools, "read_file", json!({"path": path, "from_line": 1})).await.is_err(), "{path}");
    }
}

/// A file that turns into a link and back, as fast as it can, never leads out.
#[tokio::test]
async fn a_link_that_takes_a_files_place_leads_nowhere() {
    let (kept, tools) = folder(|inbox| fs::write(inbox.join("a.txt"), "inside").unwrap());
    let over = Arc::new(AtomicBool::new(false));
    let (inbox, secret) = (kept.path().join("inbox"), kept.path().join("secret.txt"));
    let swapping = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                _ = fs::remove_file(inbox.join("b"));
                symlink(&secret, inbox.join("b")).unwrap();
                fs::rename(inbox.join("b"), inbox.join("a.txt")).unwrap();
                fs::write(inbox.join("c"), "inside").unwrap();
                fs::rename(inbox.join("c"), inbox.join("a.txt")).unwrap();
            }
        })
    };
    let start = Instant::now();
    let mut read = 0;
    // A busy machine may swap it before each look for longer than the others need.
    while start.elapsed().as_millis() < 300 || read == 0 && start.elapsed().as_secs() < 30 {
        if let Ok(output) = call(&tools, "read_file", json!({"path": "a.txt"})).await {
            assert_eq!(output.documents[0].bytes().unwrap(), b"inside".as_slice());
            read += 1;
        }
    }
    over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(read > 0, "it was never read");
}
