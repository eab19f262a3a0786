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
