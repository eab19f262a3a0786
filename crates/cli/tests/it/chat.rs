//! `attache chat` in a real terminal.

use std::time::Duration;

use attache_conformance::{MockProvider, Reply};
use serde_json::json;

use crate::screen::{Screen, arguments, with};

const INBOX: &str = "docs/examples/inbox";
const KEY: (&str, &str) = ("OPENAI_API_KEY", "sk-canary-1234567890");

#[test]
fn a_chat_over_files_needs_no_key_and_is_found_again() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = Screen::new(&["chat", INBOX], 100, home.path(), &[]);
    screen.wait_for("offline/extractive is not a language model");
    screen.say("When is the invoice due?");
    screen.wait_for("17 May 2026");
    screen.say("/cost");
    screen.wait_for("and no [prices] to count money by");
    screen.say("/nonsense");
    screen.wait_for("/help lists the commands");
    screen.say("/quit");
    let (code, last) = screen.end();
    assert_eq!(code, 0);
    assert!(last.contains("`attache chat -c` continues this session"), "{last}");

    let mut screen = Screen::new(&["chat", "-c", INBOX], 100, home.path(), &[]);
    let shown = screen.wait_for("continuing");
    screen.wait_for("17 May 2026");
    assert!(!shown.contains("a new session"), "{shown}");
    screen.wait_for_prompt();
    // The last line is found again with the arrow key.
    screen.press("\x1b[A\x1b[A\x1b[A\x1b[A");
    screen.wait_for("› When is the invoice due?");
    screen.press("\x15\x04");
    assert_eq!(screen.end().0, 0, "Ctrl-D leaves");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_answer_and_not_the_chat() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text_pieces(vec!["word "; 10_000]).delay_between(Duration::from_millis(5)));
    mock.enqueue(Reply::new().text("Still here."));
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    with(move || {
        let mut screen = Screen::new(&arguments("chat", &url, &[]), 80, home.path(), &[KEY]);
        screen.say("talk");
        screen.wait_for("word word");
        screen.press("\x03");
        screen.wait_for("cancelled");
        screen.say("are you there?");
        screen.wait_for("Still here.");
        screen.wait_for_prompt();
        screen.press("half a line\x03");
        screen.wait_for("Ctrl-D or /quit leaves");
        screen.say("/quit");
        assert_eq!(screen.end().0, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_approved_denied_and_changed_in_the_chat() {
    let mock = MockProvider::start().await.unwrap();
    let read = |path: &str| json!({ "path": path });
    mock.enqueue(Reply::new().call("call_1", "read_file", read("wrong.txt")).call(
        "call_2",
        "list_files",
        json!({}),
    ));
    mock.enqueue(Reply::new().text("Read one, was denied the other."));
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    let bodies = with(move || {
        let mut screen =
            Screen::new(&arguments("chat", &url, &[INBOX, "--ask-first"]), 100, home.path(), &[KEY]);
        screen.say("Look");
        screen.wait_for("run it? [y]es");
        screen.press("w\r");
        screen.wait_for("--ask-first requires approval of each call");
        screen.wait("asked again", |text| text.matches("run it?").count() == 2);
        screen.press("e\r");
        screen.wait_for("arguments: {\"path\":\"wrong.txt\"}");
        screen.press("\x15{\"path\":\"meeting-notes-2026-04-21.md\"}\r");
        screen.wait("the second call", |text| text.matches("run it?").count() == 3);
        screen.press("n\r");
        screen.wait_for("why not?");
        screen.press("not that one\r");
        screen.wait_for("Read one, was denied the other.");
        screen.say("/quit");
        assert_eq!(screen.end().0, 0);
        mock.requests().last().unwrap().json().to_string()
    })
    .await;
    assert!(bodies.contains("not that one") && bodies.contains("meeting-notes-2026-04-21.md"), "{bodies}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_asks_the_user() {
    let mock = MockProvider::start().await.unwrap();
    let asked = json!({ "question": "Which lease?", "choices": ["Bakery", "Books"] });
    mock.enqueue(Reply::new().call("call_1", "ask_user", asked));
    mock.enqueue(Reply::new().text("The lease of the bookshop."));
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    let body = with(move || {
        let mut screen = Screen::new(&arguments("chat", &url, &[]), 80, home.path(), &[KEY]);
        screen.say("Explain the lease");
        screen.wait_for("2. Books");
        screen.press("2\r");
        screen.wait_for("The lease of the bookshop.");
        screen.say("/quit");
        screen.end();
        mock.requests().last().unwrap().json().to_string()
    })
    .await;
    assert!(body.contains("Books"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_open_is_asked_again_by_resume() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().call("call_1", "list_files", json!({})));
    mock.enqueue(Reply::new().text("Six files."));
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    with(move || {
        let open = &[INBOX, "--ask-first"];
        let mut screen = Screen::new(&arguments("chat", &url, open), 100, home.path(), &[KEY]);
        screen.say("How many?");
        screen.wait_for("run it? [y]es");
        screen.press("\x03");
        screen.wait_for("left open");
        screen.say("/quit");
        screen.end();
        let open = &["--files", INBOX, "--ask-first"];
        let mut screen = Screen::new(&arguments("resume", &url, open), 100, home.path(), &[KEY]);
        screen.wait_for("run it? [y]es");
        screen.press("y\r");
        screen.wait_for("Six files.");
        screen.say("/quit");
        assert_eq!(screen.end().0, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_attached_by_command_and_by_dropping_them() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text("Two documents."));
    mock.enqueue(Reply::new().text("And no more."));
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    let bodies = with(move || {
        let mut screen = Screen::new(&arguments("chat", &url, &[]), 100, home.path(), &[KEY]);
        screen.say("/attach docs/examples/inbox/invoice-2026-0417.pdf");
        screen.wait_for("attached invoice-2026-0417.pdf");
        // As a terminal pastes it.
        screen.wait_for_prompt();
        screen.press("\x1b[200~'docs/examples/inbox/expenses-2026-spring.csv'\x1b[201~\r");
        screen.wait_for("attached expenses-2026-spring.csv");
        screen.say("/attach nowhere.pdf");
        screen.wait_for("nowhere.pdf: ");
        screen.say("What are they?");
        screen.wait_for("Two documents.");
        screen.say("Any more?");
        screen.wait_for("And no more.");
        screen.say("/quit");
        screen.end();
        mock.requests().iter().map(|request| request.json()["messages"].to_string()).collect::<Vec<_>>()
    })
    .await;
    assert!(bodies[0].contains("invoice-2026-0417.pdf") && bodies[0].contains("expenses-2026-spring.csv"));
    assert_eq!(
        bodies[1].matches("invoice-2026-0417.pdf").count(),
        bodies[0].matches("invoice-2026-0417.pdf").count()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_may_be_several_and_turns_are_taken_back() {
    let mock = MockProvider::start().await.unwrap();
    for answer in ["First.", "Second.", "Third."] {
        mock.enqueue(Reply::new().text(answer));
    }
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    let bodies = with(move || {
        let mut screen = Screen::new(&arguments("chat", &url, &[]), 80, home.path(), &[KEY]);
        screen.say("one \\");
        screen.press("two\r");
        screen.wait_for("First.");
        screen.say("a mistake");
        screen.wait_for("Second.");
        screen.say("/undo");
        screen.wait_for("taken back");
        screen.say("better");
        screen.wait_for("Third.");
        screen.say("/history");
        screen.wait("the history", |text| text.matches("> better").count() == 1);
        screen.say("/new");
        screen.wait_for("· a new session\n");
        screen.say("/quit");
        screen.end();
        mock.requests().iter().map(|request| request.json()["messages"].to_string()).collect::<Vec<_>>()
    })
    .await;
    assert!(bodies[0].contains("one \\ntwo"), "{}", bodies[0]);
    assert!(bodies[2].contains("First.") && bodies[2].contains("better"), "{}", bodies[2]);
    assert!(!bodies[2].contains("a mistake") && !bodies[2].contains("Second."), "{}", bodies[2]);
}
