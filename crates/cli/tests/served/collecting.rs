//! A server that is told so removes documents that no session mentions, a week after they came, where nobody else has some.

use std::fs::{self, File};
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use attache_core::{Document, DocumentId, DocumentStore as _};
use attache_stores::FileDocumentStore;

use super::{Served, attache};

const EIGHT_DAYS: Duration = Duration::from_secs(8 * 24 * 60 * 60);

fn run(home: &Path, arguments: &[&str]) -> Output {
    let output = attache(home).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.is_file()).collect()
}

/// The documents, apart from those of `put`.
fn others(folder: &Path) -> usize {
    let is_other = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|end| end == "doc")
            && !path.ends_with("stray.doc")
            && !path.ends_with("young.doc")
    };
    files(folder).iter().filter(|path| is_other(path)).count()
}

async fn put(folder: &Path, id: &str) {
    let document = Document::inline("some words").with_id(DocumentId::parse(id).unwrap());
    FileDocumentStore::open(folder).unwrap().put(&document).await.unwrap();
}

/// Starts a server that collects.
fn started(home: tempfile::TempDir) -> Served {
    let config = home.path().join("collects.toml");
    fs::write(&config, "[stores]\ncollect_documents = true\n").unwrap();
    Served::start_in(home, &["--config", config.to_str().unwrap()])
}

/// Waits until the log of a server says so.
fn tells(served: &Served, words: &str) {
    let begun = Instant::now();
    while !served.log().contains(words) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{words} is not in {}", served.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn a_server_removes_what_no_session_mentions_where_nobody_else_has_documents() {
    let home = tempfile::tempdir().unwrap();
    let documents = home.path().join("documents");
    let lease = home.path().join("lease.txt");
    fs::write(&lease, "The rent is 900 a month.").unwrap();
    run(home.path(), &["ask", "-q", "What is the rent?", "-a", lease.to_str().unwrap(), "--session", "talk"]);
    let mentioned = others(&documents);
    assert!(mentioned > 0);
    put(&documents, "stray").await;
    for file in files(&documents) {
        let file = File::options().write(true).open(file).unwrap();
        file.set_modified(file.metadata().unwrap().modified().unwrap() - EIGHT_DAYS).unwrap();
    }
    put(&documents, "young").await;
    let served = started(home);
    tells(&served, "documents that no session mentions were removed");
    assert!(!documents.join("stray.doc").exists() && documents.join("young.doc").exists());
    assert_eq!(others(&documents), mentioned);
}

#[tokio::test]
async fn a_server_removes_nothing_from_a_folder_that_other_sessions_share() {
    let home = tempfile::tempdir().unwrap();
    let documents = home.path().join("documents");
    run(home.path(), &["ask", "-q", "Hello", "--session", "talk"]);
    let config = home.path().join("other.toml");
    fs::write(&config, "[stores]\nsessions = \"other.db\"\n").unwrap();
    run(home.path(), &["--config", config.to_str().unwrap(), "ask", "-q", "Hello", "--session", "talk"]);
    put(&documents, "stray").await;
    for file in files(&documents) {
        let file = File::options().write(true).open(file).unwrap();
        file.set_modified(file.metadata().unwrap().modified().unwrap() - EIGHT_DAYS).unwrap();
    }
    let served = started(home);
    tells(&served, "other sessions keep their documents in the same folder");
    assert!(documents.join("stray.doc").exists());
}

#[test]
fn a_look_at_sessions_leaves_no_mark_and_nobody_puts_documents_without_one() {
    let home = tempfile::tempdir().unwrap();
    let documents = home.path().join("documents");
    run(home.path(), &["sessions", "list"]);
    assert!(!documents.join(".owners").exists());
    // No folder can be made there.
    fs::write(documents.join(".owners"), "").unwrap();
    let asked = attache(home.path()).args(["ask", "-q", "Hello", "--session", "talk"]).output().unwrap();
    assert!(!asked.status.success());
    assert!(String::from_utf8_lossy(&asked.stderr).contains(".owners"), "{asked:?}");
    run(home.path(), &["sessions", "list"]);
}
