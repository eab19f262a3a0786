//! The command in a real terminal.

use std::time::Duration;

use attache_conformance::{MockProvider, Reply};

use crate::screen::{Screen, arguments, with};

const KEY: (&str, &str) = ("OPENAI_API_KEY", "sk-canary-1234567890");

#[tokio::test(flavor = "multi_thread")]
async fn waiting_is_shown_with_its_time_and_taken_away() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text("Hello **there**.").delay_first(Duration::from_millis(1_500)));
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    with(move || {
        let screen = Screen::new(&arguments("ask", &url, &["Hi"]), 80, home.path(), &[KEY]);
        screen.wait("a second of waiting", |text| text.contains("asking openai-chat/gpt-4o… 1."));
        let written = screen.written();
        let (code, last) = screen.end();
        assert_eq!(code, 0, "{last}");
        assert!(last.contains("Hello there.") && !last.contains("asking"), "{last}");
        assert!(!written.contains('\n') || !written.starts_with("asking"), "{written}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_set_to_the_width_of_the_terminal() {
    let text =
        "# Rents\n\n- The **Harbour Bakery** pays EUR 1,200 a month, and 租约 runs until 30 June 2031.\n";
    for (columns, colour) in [(40, None), (100, Some(("NO_COLOR", "1")))] {
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(Reply::new().text_pieces(text.split_inclusive(' ').map(str::to_owned)));
        let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
        with(move || {
            let variables: Vec<_> = [KEY].into_iter().chain(colour).collect();
            let screen =
                Screen::new(&arguments("ask", &url, &["Hi", "-q"]), columns, home.path(), &variables);
            screen.wait_for("2031.");
            let written = screen.written();
            let (_, last) = screen.end();
            assert!(last.contains("Rents\n") && last.contains("• The Harbour Bakery pays"), "{last}");
            assert!(!last.contains('#') && !last.contains('*'), "{last}");
            assert_eq!(written.contains("\x1b[1m"), colour.is_none(), "{written:?}");
            let is_wrapped = last.lines().any(|line| line.starts_with("  ") && !line.trim().is_empty());
            assert_eq!(is_wrapped, columns == 40, "what is wrapped stands below its item: {last}");
        })
        .await;
    }
}

/// The lines that were written, without what sets them.
fn plain(written: &str) -> Vec<String> {
    let mut is_escape = false;
    let shown = written.chars().filter(|c| {
        let was_escape = is_escape;
        is_escape = *c == '\x1b' || (is_escape && !c.is_ascii_alphabetic());
        !is_escape && !was_escape
    });
    // The line about waiting is drawn over itself.
    let lines = shown.collect::<String>().replace("\r\n", "\n");
    lines.lines().map(|line| line.rsplit('\r').next().unwrap().to_owned()).collect()
}

#[test]
fn no_line_is_broken_inside_a_word_in_a_narrow_terminal() {
    let question = "What is the total of the invoice, and when is it due?";
    for arguments in [
        &["ask", question, "docs/examples/inbox"][..],
        &["ask", question, "docs/examples/inbox", "--dry-run"],
        &["ask", "x", "-m", "nobody/knows-this-model"],
        &["models", "offline/extractive"],
        &["tools", "show", "read_file", "-f", "docs/examples/inbox"],
        &["explain", "docs/examples/inbox/invoice-2026-0417.pdf", "-m", "openai-chat/gpt-4.1"],
    ] {
        let home = tempfile::tempdir().unwrap();
        let narrow = Screen::new(arguments, 44, home.path(), &[]);
        let written = narrow.ended();
        let lines = plain(&written);
        for line in &lines {
            assert!(
                line.chars().count() <= 44,
                "{arguments:?}: {line:?} is broken by the terminal: {written}"
            );
        }
        let wide = plain(&Screen::new(arguments, 250, home.path(), &[]).ended()).join(" ");
        let known: Vec<&str> = wide.split_whitespace().collect();
        // A word that fits is one of those that stand in a terminal where nothing is broken.
        // The short ids of documents are others each time.
        let is_id = |word: &str| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
        let is_known = |word: &&str| is_id(word) || known.iter().any(|known| known.contains(*word));
        // So are the seconds that a run took: `0.1 s`.
        let is_time = |word: &str, next: Option<&&str>| {
            word.parse::<f64>().is_ok() && next.is_some_and(|next| next.trim_end_matches(',') == "s")
        };
        let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        let numbered = words.iter().enumerate().filter(|(at, word)| !is_time(word, words.get(at + 1)));
        let foreign: Vec<&str> = numbered.map(|(_, word)| *word).filter(|word| !is_known(word)).collect();
        assert!(foreign.iter().all(|word| word.ends_with(|c: char| !c.is_alphanumeric())), "{foreign:?}");
    }
}

#[cfg(feature = "chat")]
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_where_they_do_not_see_about_what() {
    for (script, answers) in
        [("\"$@\" > \"$OUT\"", true), ("\"$@\" 2> \"$OUT\"", false), ("\"$@\" > \"$OUT\" 2>&1", true)]
    {
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(Reply::new().call("call_1", "list_files", serde_json::json!({ "folder": "docs" })));
        mock.enqueue(Reply::new().text("Six files."));
        let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
        with(move || {
            let out = home.path().join("out");
            let variables = [KEY, ("OUT", out.to_str().unwrap())];
            let asked = arguments("ask", &url, &["How many?", "docs/examples/inbox", "--ask-first"]);
            let mut screen = Screen::of_script(script, &asked, home.path(), &variables);
            let seen = screen.wait_for("run it? [y]es");
            assert!(seen.contains("? list_files {\"folder\":\"docs\"}"), "{script}: {seen}");
            screen.press("y\r");
            let (code, last) = screen.end();
            let written = std::fs::read_to_string(&out).unwrap();
            assert_eq!(code, 0, "{script}: {last}{written}");
            assert!(!written.contains("run it?") && written.contains("Six files.") == answers, "{written}");
        })
        .await;
    }
    // The editor cannot leave stdout alone there.
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().call("call_1", "list_files", serde_json::json!({})));
    let (url, home) = (format!("{}/v1", mock.url()), tempfile::tempdir().unwrap());
    with(move || {
        let out = home.path().join("out");
        let variables = [KEY, ("OUT", out.to_str().unwrap()), ("TERM", "dumb")];
        let asked = arguments("ask", &url, &["How many?", "docs/examples/inbox", "--ask-first"]);
        let screen = Screen::of_script("\"$@\" > \"$OUT\"", &asked, home.path(), &variables);
        let (code, last) = screen.end();
        assert!(code == 4 && last.contains("it requires approval"), "{last}");
    })
    .await;
}

#[cfg(feature = "chat")]
#[test]
fn tools_and_help_of_a_chat_fit_a_narrow_terminal() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = Screen::new(&["chat", "docs/examples/inbox"], 44, home.path(), &[]);
    for command in ["/tools", "/help", "/modle"] {
        screen.say(command);
    }
    screen.wait_for("lists the commands");
    screen.say("/quit");
    let written = screen.ended();
    let lines = plain(&written);
    let is_long = |line: &&String| line.chars().count() > 44;
    assert!(!lines.iter().any(|line| is_long(&line)), "{lines:#?}");
    assert!(lines.iter().any(|line| line == "  read_file"), "{lines:#?}");
}
