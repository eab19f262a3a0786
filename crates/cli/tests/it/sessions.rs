//! Sessions across commands.

use std::path::Path;
use std::process::Output;

use attache_conformance::{MockProvider, Reply};
use serde_json::Value;

use crate::common::{attache, fed, text};

const INBOX: &str = "docs/examples/inbox";

fn at(home: &Path, arguments: &[&str]) -> Output {
    attache(arguments).env("ATTACHE_HOME", home).output().unwrap()
}

fn ids(home: &Path) -> Vec<String> {
    let listed = text(&at(home, &["sessions", "list", "--json"]).stdout);
    let lines = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_go_on_in_a_session() {
    let mock = MockProvider::start().await.unwrap();
    for answer in ["Berlin.", "About 3.9 million.", "Paris.", "Again Berlin."] {
        mock.enqueue(Reply::new().text(answer));
    }
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    let (bodies, listed) = tokio::task::spawn_blocking(move || {
        let ask = |arguments: &[&str]| {
            let mut command = attache(&["ask", "-q", "-m", "openai-chat/gpt-4o", "--base-url", &url]);
            command
                .args(arguments)
                .env("OPENAI_API_KEY", "sk-canary-1234567890")
                .env("ATTACHE_HOME", home.path());
            let output = fed(&mut command, b"");
            assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        };
        ask(&["The capital of Germany?", "--session", "geo"]);
        ask(&["How many live there?", "-c"]);
        ask(&["The capital of France?", "--session", "other"]);
        ask(&["And of Germany?", "--session", "ge"]);
        let bodies: Vec<String> =
            mock.requests().iter().map(|request| request.json()["messages"].to_string()).collect();
        (bodies, ids(home.path()))
    })
    .await
    .unwrap();
    assert!(bodies[1].contains("The capital of Germany?") && bodies[1].contains("Berlin."), "{}", bodies[1]);
    assert!(!bodies[2].contains("Germany"), "{}", bodies[2]);
    assert!(bodies[3].contains("3.9 million") && !bodies[3].contains("Paris"), "{}", bodies[3]);
    assert_eq!(listed, ["geo", "other"], "the latest comes first");
}

#[test]
fn sessions_are_listed_shown_searched_exported_and_deleted() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let ask = |question: &str, id: &str| {
        let output = at(home, &["ask", question, INBOX, "--session", id, "-q"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    assert!(ids(home).is_empty());
    ask("When is the invoice due?", "invoice");
    ask("Who is the landlord?", "landlord");
    let table = text(&at(home, &["sessions", "list"]).stdout);
    assert!(table.contains("began with") && table.contains("When is the invoice due?"), "{table}");
    let shown = text(&at(home, &["sessions", "show", "inv"]).stdout);
    assert!(shown.starts_with("> When is the invoice due?\n") && shown.contains("17 May 2026"), "{shown}");
    let found = text(&at(home, &["sessions", "search", "MAY", "invoice"]).stdout);
    assert!(found.starts_with("invoice  When") && !found.contains("landlord  "), "{found}");
    assert_eq!(at(home, &["sessions", "search", "xyzzy"]).status.code(), Some(4));
    let exported = at(home, &["sessions", "export", "invoice"]).stdout;
    let wire = fed(&mut attache(&["wire", "-m", "anthropic/claude-opus-4-8", "--report"]), &exported);
    let request: Value = serde_json::from_slice(&wire.stdout).unwrap();
    let pdf = request["report"].as_array().unwrap().iter().find(|row| row["media_type"] == "application/pdf");
    assert_eq!(pdf.unwrap()["outcome"], "native", "its bytes are in the export");
    assert_eq!(at(home, &["sessions", "show", "nothing"]).status.code(), Some(3));
    assert!(at(home, &["sessions", "delete", "invoice"]).status.success());
    assert_eq!(ids(home), ["landlord"]);
    assert!(at(home, &["sessions", "delete", "--all"]).status.success());
    assert!(ids(home).is_empty());
    assert_eq!(at(home, &["ask", "x", "-c"]).status.code(), Some(3), "there is nothing to go on with");
}

// No server runs that would try again.
#[test]
fn documents_whose_deletion_failed_go_with_the_next_one() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    asked_in(home, "one", "When is the invoice due?");
    assert!(at(home, &["ask", "Hello", "--session", "other", "-q"]).status.success());
    let folder = home.join("documents");
    let documents = || std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let documents: Vec<_> =
        documents().filter(|path| path.extension().is_some_and(|end| end == "doc")).collect();
    assert!(!documents.is_empty());
    for document in &documents {
        std::fs::rename(document, document.with_extension("kept")).unwrap();
        // A folder cannot be removed as a file.
        std::fs::create_dir(document).unwrap();
    }
    assert_eq!(at(home, &["sessions", "delete", "one"]).status.code(), Some(3));
    for document in &documents {
        std::fs::remove_dir(document).unwrap();
        std::fs::rename(document.with_extension("kept"), document).unwrap();
    }
    assert!(at(home, &["sessions", "delete", "other"]).status.success());
    assert!(documents.iter().all(|document| !document.exists()));
}

#[test]
fn a_chat_reads_its_lines_from_a_pipe_too() {
    let home = tempfile::tempdir().unwrap();
    let mut command = attache(&["chat", INBOX]);
    let output = fed(command.env("ATTACHE_HOME", home.path()), b"When is the invoice due?\n/cost\n");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("17 May 2026") && said.contains("tokens in"), "{said}");
    assert!(!said.contains('\x1b'), "{said}");
}

#[cfg(unix)]
#[test]
fn nobody_else_may_look_into_the_folder() {
    use std::os::unix::fs::PermissionsExt;
    let outer = tempfile::tempdir().unwrap();
    let home = outer.path().join("new");
    assert!(at(&home, &["sessions", "list"]).status.success());
    assert_eq!(home.metadata().unwrap().permissions().mode() & 0o077, 0);
    let nowhere = attache(&["sessions", "list"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(text(&nowhere.stderr).contains("ATTACHE_HOME"), "{}", text(&nowhere.stderr));
}

fn asked_in(home: &Path, session: &str, question: &str) {
    let output = at(home, &["ask", question, INBOX, "--session", session, "-q"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_look_at_a_session_is_no_use_of_it_and_an_empty_one_is_not_the_last() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    asked_in(home, "old", "When is the invoice due?");
    asked_in(home, "new", "Who is the landlord?");
    for look in
        [&["sessions", "show", "old"][..], &["sessions", "search", "invoice"], &["sessions", "export", "old"]]
    {
        assert!(at(home, look).status.success(), "{look:?}");
        assert_eq!(ids(home), ["new", "old"], "{look:?}");
    }
    let left = fed(attache(&["chat", INBOX]).env("ATTACHE_HOME", home), b"");
    assert!(left.status.success() && !text(&left.stderr).contains("chat -c"), "{}", text(&left.stderr));
    assert_eq!(ids(home), ["new", "old"], "a chat without a question is not listed");
    let last = at(home, &["ask", "And the rent?", INBOX, "-c"]);
    assert!(text(&last.stderr).contains("in the session new"), "{}", text(&last.stderr));
}

#[test]
fn an_id_that_fits_several_sessions_or_none_neither_begins_nor_deletes_one() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    asked_in(home, "lease-a", "When is the invoice due?");
    let refused = |arguments: &[&str]| {
        let output = at(home, arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        text(&output.stderr)
    };
    refused(&["sessions", "delete", ""]);
    refused(&["sessions", "delete", "lease"]);
    refused(&["sessions", "show", ""]);
    assert_eq!(ids(home), ["lease-a"]);
    asked_in(home, "lease-b", "When is the invoice due?");
    let told = refused(&["ask", "x", INBOX, "--session", "lease"]);
    assert!(told.contains("2 sessions begin with \"lease\""), "{told}");
    assert_eq!(ids(home), ["lease-b", "lease-a"]);
}

#[test]
fn a_chat_on_a_pipe_ends_as_its_last_question_did() {
    let home = tempfile::tempdir().unwrap();
    let run =
        |arguments: &[&str], input: &[u8]| fed(attache(arguments).env("ATTACHE_HOME", home.path()), input);
    let nobody = ["chat", INBOX, "-m", "openai-chat/gpt-4o", "--base-url", "http://127.0.0.1:1/v1"];
    let mut command = attache(&nobody);
    command.env("ATTACHE_HOME", home.path()).env("OPENAI_API_KEY", "sk-canary-1234567890");
    assert_eq!(fed(&mut command, b"When?\n").status.code(), Some(1));
    let garbled = run(&["chat", INBOX], b"caf\xe9\n");
    assert_eq!(garbled.status.code(), Some(1));
    assert!(text(&garbled.stderr).contains("stdin cannot be read"), "{}", text(&garbled.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resume_on_a_pipe_ends_as_its_answer_did() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().call("call_1", "list_files", serde_json::json!({})));
    mock.respond_with(|_| Reply::error(401, "no such key"));
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    tokio::task::spawn_blocking(move || {
        let run = |arguments: &[&str]| {
            let mut command = attache(arguments);
            command.args(["-m", "openai-chat/gpt-4o", "--base-url", &url, "--ask-first"]);
            command.env("OPENAI_API_KEY", "sk-canary-1234567890").env("ATTACHE_HOME", home.path());
            let output = fed(&mut command, b"");
            (output.status.code().unwrap(), text(&output.stderr))
        };
        let (code, told) = run(&["ask", "How many?", INBOX, "--session", "open"]);
        assert_eq!(code, 4, "{told}");
        let (code, told) = run(&["resume", "open", "--files", INBOX]);
        assert_eq!(code, 4, "{told}");
        // Nor is the open call passed over by the next question.
        let (code, told) = run(&["ask", "Are there?", INBOX, "-c"]);
        assert!(code == 4 && told.contains("`attache resume open`"), "{told}");
        let (code, told) = run(&["ask", "How many?", INBOX, "--session", "failed"]);
        assert_eq!(code, 1, "{told}");
        let (code, told) = run(&["resume", "failed", "--files", INBOX]);
        assert_eq!(code, 1, "{told}");
    })
    .await
    .unwrap();
}

#[test]
fn files_of_others_are_not_overwritten_by_an_export() {
    let home = tempfile::tempdir().unwrap();
    asked_in(home.path(), "invoice", "When is the invoice due?");
    let file = home.path().join("out.json");
    let export = ["sessions", "export", "invoice", file.to_str().unwrap()];
    assert!(at(home.path(), &export).status.success());
    assert!(at(home.path(), &export).status.success(), "an export is written anew");
    std::fs::write(&file, "my notes").unwrap();
    assert_ne!(at(home.path(), &export).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "my notes");
}

#[test]
fn a_home_that_is_relative_is_refused() {
    for arguments in [&["sessions", "list"] as &[&str], &["config", "check"], &["mcp", "add", "a", "--", "b"]]
    {
        let output = at(Path::new("home"), arguments);
        let told = text(&output.stderr);
        assert!(
            output.status.code() == Some(3) && told.contains("ATTACHE_HOME is a relative path"),
            "{arguments:?}: {told}"
        );
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use super::{INBOX, at, ids, text};

    #[test]
    fn sessions_are_kept_in_the_database_that_the_configuration_names() {
        let database = crate::server::Server::shared().database();
        // Two machines: each has files of its own.
        let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for home in &homes {
            let documents = homes[0].path().join("documents");
            let text =
                format!("[stores]\nsessions = '${{file:address}}'\ndocuments = '{}'\n", documents.display());
            std::fs::write(home.path().join("attache.toml"), text).unwrap();
            std::fs::write(home.path().join("address"), &database.url).unwrap();
        }
        let asked = at(homes[0].path(), &["ask", "What is the rent?", INBOX, "--session", "lease", "-q"]);
        assert!(asked.status.success(), "{}", text(&asked.stderr));
        assert_eq!(ids(homes[1].path()), ["lease"]);
        let again = at(homes[1].path(), &["ask", "And the total of the invoice?", INBOX, "-c", "-q"]);
        assert!(again.status.success(), "{}", text(&again.stderr));
        let shown = text(&at(homes[0].path(), &["sessions", "show", "lease"]).stdout);
        assert!(shown.contains("What is the rent?") && shown.contains("And the total"), "{shown}");
        assert!(homes.iter().all(|home| !home.path().join("sessions.db").exists()));
        let checked = text(&at(homes[0].path(), &["config", "check"]).stderr);
        assert!(checked.contains("PostgreSQL"), "{checked}");
    }

    #[test]
    fn a_database_that_is_not_there_is_told_without_its_password() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("password"), "canary-word\n").unwrap();
        let text_of = "[stores]\nsessions = 'postgres://ann:${file:password}@127.0.0.1:1/none'\n";
        std::fs::write(home.path().join("attache.toml"), text_of).unwrap();
        let failed = at(home.path(), &["sessions", "list"]);
        let told = text(&failed.stderr);
        assert_eq!(failed.status.code(), Some(3), "{told}");
        assert!(told.contains("stores.sessions") && !told.contains("canary"), "{told}");
    }
}
