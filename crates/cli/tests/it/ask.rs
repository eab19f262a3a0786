//! The options of `attache ask`, as users of such commands expect them.

use std::fs;
use std::path::Path;
use std::process::Output;

use attache_conformance::{MockProvider, Reply, ReplyUsage};
use http::HeaderValue;
use http::header::RETRY_AFTER;
use serde_json::{Value, json};

use crate::common::{attache, run, text, with_input};

const INBOX: &str = "docs/examples/inbox";
const INVOICE: &str = "docs/examples/inbox/invoice-2026-0417.pdf";
const DUE: &str = "When is the invoice due?";

/// `ask` of a model behind HTTP.
async fn asked(mock: &MockProvider, arguments: &[&str]) -> Output {
    asked_with(mock, arguments, b"").await
}

async fn asked_with(mock: &MockProvider, arguments: &[&str], input: &[u8]) -> Output {
    let url = format!("{}/v1", mock.url());
    let mut command = attache(&["ask", "-m", "openai-chat/gpt-4o", "--base-url", &url]);
    command.args(arguments).env("OPENAI_API_KEY", "sk-canary-1234567890");
    let input = input.to_vec();
    tokio::task::spawn_blocking(move || crate::common::fed(&mut command, &input)).await.unwrap()
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn folders_stand_behind_the_question_and_no_option_eats_it() {
    for arguments in [
        &["ask", DUE, INBOX][..],
        &["ask", "--files", INBOX, DUE],
        &["ask", "-f", INVOICE, DUE],
        &["ask", DUE, INVOICE, "docs/examples/inbox/expenses-2026-spring.csv"],
    ] {
        let output = run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("17 May 2026"), "{arguments:?}");
    }
}

#[test]
fn ignored_files_take_no_place_and_a_listing_that_is_cut_says_so() {
    let modules: Vec<String> = (0..600).map(|number| format!("node_modules/m{number}/index.js")).collect();
    let mut files: Vec<(&str, &str)> = modules.iter().map(|path| (path.as_str(), "x")).collect();
    files.extend([
        (".gitignore", "node_modules/\n"),
        ("notes.md", "The caretaker is reached at extension 42.\n"),
    ]);
    let folder = folder(&files);
    let question = "How is the caretaker reached?";
    let ignoring = run(&["ask", question, shown(folder.path())]);
    let (answer, told) = (text(&ignoring.stdout), text(&ignoring.stderr));
    assert!(answer.contains("extension 42"), "{answer}");
    assert!(!told.contains("node_modules") && !told.contains("was cut"), "{told}");
    let all = text(&run(&["ask", question, shown(folder.path()), "--no-ignore"]).stderr);
    assert!(
        all.contains("the listing was cut: the model sees 500 files, and 101 more are left out"),
        "{all}"
    );
    let chosen = run(&["ask", question, shown(folder.path()), "--no-ignore", "--include", "*.md"]);
    assert!(text(&chosen.stdout).contains("extension 42") && !text(&chosen.stderr).contains("was cut"));
    let excluded = run(&["ask", question, shown(folder.path()), "--exclude", "*.md"]);
    assert_eq!(excluded.status.code(), Some(3), "{}", text(&excluded.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_request_after_a_failure_is_told_with_its_reason() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::error(429, "slow down").header(RETRY_AFTER, HeaderValue::from_static("0")));
    mock.enqueue(Reply::new().text("Hello."));
    let output = asked(&mock, &["Hi"]).await;
    assert_eq!(text(&output.stdout), "Hello.\n");
    let told = text(&output.stderr);
    assert!(told.contains("asked again after HTTP 429"), "{told}");
    mock.enqueue(Reply::error(429, "slow down").header(RETRY_AFTER, HeaderValue::from_static("0")));
    mock.enqueue(Reply::new().text("Hello."));
    assert_eq!(text(&asked(&mock, &["Hi", "-q"]).await.stderr), "", "nothing where nothing is to be told");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_document_is_told_once() {
    let names: Vec<String> = (0..12).map(|number| format!("n{number:02}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "Words.")).collect();
    let folder = folder(&files);
    let answers = |mock: &MockProvider| {
        for round in names.chunks(6) {
            let reply = round.iter().enumerate().fold(Reply::new(), |reply, (at, name)| {
                reply.call(format!("call_{name}_{at}"), "read_file", json!({ "path": name }))
            });
            mock.enqueue(reply);
        }
        mock.enqueue(Reply::new().text("Done."));
    };
    let mock = MockProvider::start().await.unwrap();
    answers(&mock);
    let told = text(&asked(&mock, &["Read all", shown(folder.path())]).await.stderr);
    let routed: Vec<&str> = told.lines().filter(|line| line.contains("documents: ")).collect();
    assert_eq!(
        routed,
        [
            "· 6 documents: 6 text (n00.txt, n01.txt, n02.txt, …)",
            "· 6 documents: 6 text (n06.txt, n07.txt, n08.txt, …)"
        ],
        "{told}"
    );
    answers(&mock);
    let told = text(&asked(&mock, &["Read all", shown(folder.path()), "--verbose"]).await.stderr);
    for name in &names {
        assert_eq!(told.lines().filter(|line| line.starts_with(&format!("· {name}: "))).count(), 1, "{told}");
    }
    answers(&mock);
    let quiet = asked(&mock, &["Read all", shown(folder.path()), "-q"]).await;
    assert_eq!((text(&quiet.stdout).as_str(), text(&quiet.stderr).as_str()), ("Done.\n", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn stdin_is_a_document_or_the_question() {
    let lease = b"The lease of the Harbour Bakery runs until 30 June 2031.\n";
    for arguments in [
        &["ask", "Until when does the lease run?"][..],
        &["ask", "Until when does the lease run?", "-a", "-"],
    ] {
        let output = with_input(arguments, lease);
        assert!(text(&output.stdout).contains("30 June 2031"), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("stdin"), "{}", text(&output.stdout));
        assert!(!text(&output.stderr).contains("list_files"), "the current folder is not opened beside it");
    }
    let output = with_input(&["ask", "-", INBOX], DUE.as_bytes());
    assert!(text(&output.stdout).contains("17 May 2026"), "{}", text(&output.stderr));
    let cases: [(&[&str], &[u8], &str); 4] = [
        (&["ask", "-", "-a", "-"], b"x", "stdin cannot be both the question and a document"),
        (&["ask", "-"], b" \n", "no question"),
        (&["ask", "x", "-a", "-"], b"", "stdin is empty"),
        (&["ask", "x", "--files", "-"], b"x", "attach it with -a -"),
    ];
    for (arguments, input, word) in cases {
        let output = with_input(arguments, input);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(word), "{arguments:?}: {}", text(&output.stderr));
    }
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text("A PDF."));
    let pdf = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(INVOICE)).unwrap();
    let output = asked_with(&mock, &["What is it?"], &pdf).await;
    assert_eq!(text(&output.stdout), "A PDF.\n", "{}", text(&output.stderr));
    assert!(
        mock.requests()[0].json().to_string().contains("application/pdf"),
        "its type is told by its bytes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_attached_to_the_question() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text("Two."));
    let output =
        asked(&mock, &["Compare", "-a", INVOICE, "-a", "docs/examples/inbox/expenses-2026-spring.csv"]).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let body = mock.requests()[0].json().to_string();
    assert!(body.contains("invoice-2026-0417.pdf") && body.contains("expenses-2026-spring.csv"), "{body}");
    assert!(!body.contains("list_files"), "nothing else is opened");
    let cases = [("no-such.pdf", "no-such.pdf"), (INBOX, "name it behind the question")];
    for (name, word) in cases {
        let output = run(&["ask", "x", "-a", name]);
        assert_eq!(output.status.code(), Some(3));
        assert!(text(&output.stderr).contains(word), "{}", text(&output.stderr));
    }
}

#[test]
fn the_default_model_comes_from_the_option_the_variable_or_the_configuration() {
    let home =
        folder(&[("attache.toml", "[models]\ndefault = 'fast'\nfast = 'groq/llama-3.3-70b-versatile'\n")]);
    let told = |arguments: &[&str], model: Option<&str>| {
        let mut command = attache(&["ask", "x"]);
        command.args(arguments).env("ATTACHE_HOME", home.path());
        command.envs(model.map(|model| ("ATTACHE_MODEL", model)));
        text(&command.output().unwrap().stderr)
    };
    assert!(told(&[], None).contains("GROQ_API_KEY"), "{}", told(&[], None));
    assert!(told(&[], Some("anthropic/claude-opus-4-8")).contains("ANTHROPIC_API_KEY"));
    let named = told(&["-m", "openai-chat/gpt-4o"], Some("anthropic/claude-opus-4-8"));
    assert!(named.contains("OPENAI_API_KEY"), "{named}");
    assert!(told(&["-m", "fats"], None).contains("did you mean fast?"), "{}", told(&["-m", "fats"], None));
    let own = folder(&[("own.toml", "[models]\ndefault = 'anthropic/claude-opus-4-8'\n")]);
    let own = own.path().join("own.toml");
    assert!(
        told(&["--config", shown(&own)], None).contains("ANTHROPIC_API_KEY"),
        "it stands in for the user's"
    );
    fs::write(&own, "[modles]\n").unwrap();
    assert!(told(&["--config", shown(&own)], None).contains("modles"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_saved_for_wire_explain_and_replay() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().call("call_1", "read_file", json!({"path": "invoice-2026-0417.pdf"})));
    mock.enqueue(Reply::new().text("On 17 May 2026."));
    let kept = tempfile::tempdir().unwrap();
    let (run_file, tape) = (kept.path().join("run.json"), kept.path().join("tape.json"));
    let output = asked(&mock, &[DUE, INBOX, "--save", shown(&run_file), "--record", shown(&tape)]).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let saved = fs::read(&run_file).unwrap();
    let wire = with_input(&["wire", "-m", "anthropic/claude-sonnet-4-5", "--report"], &saved);
    let request: Value = serde_json::from_slice(&wire.stdout).unwrap();
    assert_eq!(request["report"][0]["outcome"], "native", "{request}");
    assert!(request["body"]["tools"].to_string().contains("read_file"), "the tools are in it");
    let explained = text(&run(&["explain", shown(&run_file), "-m", "openai-chat/gpt-4o", "--json"]).stdout);
    assert!(explained.contains("invoice-2026-0417.pdf") && explained.contains("synthetic"), "{explained}");
    let replayed = text(&run(&["replay", shown(&tape)]).stdout);
    let lines: Vec<Value> = replayed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]["text"]), (2, &json!("On 17 May 2026.")));
    assert!(!fs::read_to_string(&tape).unwrap().contains("sk-canary"), "no key is in it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_an_attached_document_is_read_by_wire_as_it_was_asked() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text("On 17 May 2026."));
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join("run.json");
    let output = asked(&mock, &[DUE, "-a", INVOICE, "--save", shown(&file)]).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Of PDFs this model reads the text.
    let wire = with_input(&["wire", "-m", "groq/llama-3.3-70b-versatile"], &fs::read(&file).unwrap());
    assert!(text(&wire.stdout).contains("invoice-2026-0417.pdf"), "{}", text(&wire.stderr));
}

#[test]
fn one_file_cannot_be_the_conversation_and_the_recording() {
    let kept = tempfile::tempdir().unwrap();
    let (one, other) = (kept.path().join("a.json"), kept.path().join("./a.json"));
    let output = run(&["ask", DUE, INBOX, "--save", shown(&one), "--record", shown(&other)]);
    assert!(output.status.code() == Some(2) && !one.exists(), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_with_lines_of_windows_is_written_with_lines_of_all() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text_pieces(["one\r", "\ntwo\r\n", "three"].map(str::to_owned)));
    let output = asked(&mock, &["Count", "-a", INVOICE]).await;
    assert_eq!(text(&output.stdout), "one\ntwo\nthree\n", "{}", text(&output.stderr));
}

#[test]
fn an_empty_variable_is_none() {
    let mut command = attache(&["ask", DUE, INBOX]);
    let output = command.env("ATTACHE_CONFIG", "").env("ATTACHE_MODEL", "").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_a_schema_is_the_answer() {
    let schema = r#"{"type":"object","properties":{"total":{"type":"number"}},"required":["total"],"additionalProperties":false}"#;
    let kept = folder(&[("schema.json", schema)]);
    let file = kept.path().join("schema.json");
    for given in [schema, shown(&file)] {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|request| match request.json()["tools"].to_string().contains("final_answer") {
            true => Reply::new().call("call_1", "final_answer", json!({"total": 12.5})),
            false => Reply::new().text(r#"{"total": 12.5}"#),
        });
        let output = asked(&mock, &["The total?", "-a", INVOICE, "--schema", given]).await;
        let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        assert_eq!(value, json!({"total": 12.5}), "{} {}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success());
    }
    for wrong in ["{", "no-such.json", "Cargo.toml", r#"{"type": "nonsense"}"#] {
        let output = run(&["ask", "x", "--schema", wrong]);
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains("--schema: "), "{wrong}: {told}");
    }
}

#[test]
fn a_dry_run_says_what_would_be_sent_and_needs_no_key() {
    let home = folder(&[(
        "attache.toml",
        "[prices]\ncurrency = 'USD'\n[prices.models.'anthropic/claude-opus-4-8']\ninput = 5\noutput = 25\n",
    )]);
    let arguments = ["ask", "Total?", INBOX, "-a", INVOICE, "--dry-run", "-m", "anthropic/claude-opus-4-8"];
    let output = attache(&arguments).env("ATTACHE_HOME", home.path()).output().unwrap();
    let told = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for word in [
        "Nothing is sent",
        "anthropic/claude-opus-4-8",
        "invoice-2026-0417.pdf",
        "native",
        "may list and read 6 files",
        "The first request has about",
        "costs about USD 0.0",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    let tokens = |told: &str| {
        let count = told.split("has about ").nth(1).unwrap().split(' ').next().unwrap();
        count.replace(',', "").parse::<u64>().unwrap()
    };
    // Each tool counts as in the list of tools.
    let listed =
        attache(&["tools", "--json", "-f", INBOX]).env("ATTACHE_HOME", home.path()).output().unwrap();
    let listed: Vec<Value> =
        text(&listed.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let all: u64 = listed.iter().map(|tool| tool["tokens"].as_u64().unwrap()).sum();
    let bare = [&arguments[..3], &arguments[5..]].concat();
    let bare = attache(&bare).env("ATTACHE_HOME", home.path()).output().unwrap();
    assert!(tokens(&text(&bare.stdout)) > all, "{all}: {}", text(&bare.stdout));
    let unknown = text(&run(&["ask", "Total?", "--dry-run", "-m", "llamacpp/some-model"]).stdout);
    assert!(unknown.contains("not in the table") && unknown.contains("no [prices]"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_line_tells_tokens_and_money() {
    let home = folder(&[(
        "attache.toml",
        "[prices]\ncurrency = 'EUR'\n[prices.models.'openai-chat/gpt-4o']\ninput = 1000\noutput = 1000\n",
    )]);
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text("Hello.").usage(ReplyUsage::new(1_500, 500)));
    let config = home.path().join("attache.toml");
    let told = text(&asked(&mock, &["Hi", "--config", shown(&config)]).await.stderr);
    let last = told.lines().last().unwrap();
    assert!(
        last.starts_with("· answer after 1 step, ")
            && last.ends_with(" 1,500 tokens in, 500 out, EUR 2.0000"),
        "{last}"
    );
}

#[test]
fn what_cannot_be_read_is_no_success() {
    let empty = tempfile::tempdir().unwrap();
    let large = folder(&[("a.txt", "0123456789"), ("b.txt", "0123456789")]);
    let cases: [(&[&str], i32, &str); 6] = [
        (&["ask", "x", shown(empty.path())], 3, "hold no files"),
        (&["ask", "x", shown(large.path()), "--max-file-bytes", "5"], 3, "all 2 files exceed the 5 bytes"),
        (&["ask", "x", "--max-file-bytes", "some"], 2, "500k, 1M"),
        (&["ask", ""], 2, "says nothing"),
        (&["ask", " \n"], 2, "says nothing"),
        (&["ask", "x", "--include", ""], 3, "no pattern"),
    ];
    for (arguments, code, word) in cases {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(word), "{arguments:?}: {}", text(&output.stderr));
    }
    assert!(run(&["ask", "9?", shown(large.path()), "--max-file-bytes", "1M"]).status.success());
    assert!(run(&["ask", "x", "-q"]).status.success(), "the folder that nobody named may be anything");
}

#[test]
fn a_failure_is_told_as_json_too() {
    let output = run(&["ask", "x", "--json", "-m", "anthropic/claude-opus-4-8"]);
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&line["type"], &line["exit_code"]), (&json!("error"), &json!(3)));
    assert!(line["message"].as_str().unwrap().contains("ANTHROPIC_API_KEY"), "{line}");
    assert_eq!(output.status.code(), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_blames_the_address() {
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with(|_| Reply::html(404));
    let told = text(&asked(&mock, &["Hi"]).await.stderr);
    assert!(told.contains("check --base-url"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_a_reader_that_has_enough_is_not() {
    use std::process::Stdio;
    for arguments in [&["models"][..], &["ask", "x", INBOX, "-q"], &["wire", "--example"]] {
        if Path::new("/dev/full").exists() {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = attache(arguments)
                .stdout(full)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
                .wait_with_output()
                .unwrap();
            assert_eq!(output.status.code(), Some(1), "{arguments:?}");
            assert!(text(&output.stderr).contains("stdout cannot be written"), "{}", text(&output.stderr));
        }
        let mut child = attache(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn the_last_step_is_an_answer_to_the_question() {
    let output = run(&["ask", DUE, INBOX, "--max-steps", "2"]);
    let answer = text(&output.stdout);
    assert!(!answer.to_lowercase().contains("step"), "no hint to the model is answered: {answer}");
}

#[test]
fn models_are_a_table_that_fits() {
    for width in ["200", "120", "80", "40"] {
        let output = attache(&["models", "anthropic/"]).env("COLUMNS", width).output().unwrap();
        let table = text(&output.stdout);
        let width: usize = width.parse().unwrap();
        assert!(table.lines().all(|line| line.chars().count() <= width), "{width}: {table}");
        assert_eq!(
            table.starts_with("model "),
            width >= 80,
            "where nothing else fits there are blocks: {table}"
        );
        if width >= 120 {
            assert_eq!(table.lines().filter(|line| line.contains("claude-opus-4-8*")).count(), 1);
            assert!(table.contains("window") && table.contains("PDF"), "{table}");
        }
    }
    let one = text(&run(&["models", "anthropic/claude-opus-4-8"]).stdout);
    assert!(one.contains("tool result:"), "all that is known of one: {one}");
}

#[test]
fn shells_and_manuals_know_the_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = text(&run(&["completions", shell]).stdout);
        assert!(text.contains("attache") && text.contains("max-file-bytes"), "{shell}");
    }
    let manual = text(&run(&["man"]).stdout);
    for word in [".TH", "attache\\-ask", "\\-\\-dry\\-run", "Exit codes"] {
        assert!(manual.contains(word), "{word}");
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let plain = run(&["ask", DUE, INBOX]);
    assert!(!text(&plain.stderr).contains('\x1b'));
    let forced = attache(&["ask", DUE, INBOX]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(text(&forced.stderr).contains("\x1b[2m"), "{}", text(&forced.stderr));
    assert!(text(&run(&["ask", DUE, INBOX, "--color", "always"]).stderr).contains("\x1b[2m"));
    let never =
        attache(&["ask", DUE, INBOX, "--color", "never"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(!text(&never.stderr).contains('\x1b'));
}

// Every command of the guide is one that the command takes.
#[cfg(feature = "chat")]
#[test]
fn the_commands_of_the_guide_are_understood() {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/command.md"))
        .unwrap();
    let blocks = guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let commands =
        blocks.flat_map(str::lines).filter_map(|line| Some(line.split_at(line.find("attache ")?).1));
    let mut count = 0;
    for command in commands.filter(|command| !command.starts_with("attache-")) {
        let words = words(command.split([';', '>', '<']).next().unwrap());
        // Behind -- stands another program.
        let own = words.iter().skip(1).map(String::as_str).take_while(|word| *word != "--");
        let arguments: Vec<&str> = own.chain(["--help"]).collect();
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", text(&output.stderr));
        count += 1;
    }
    assert!(count > 30, "{count}");
}

/// The words of a line, whose quotes are simple.
#[cfg(feature = "chat")]
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            (' ', None) => words.push(String::new()),
            (c, _) => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_others_are_refused_before_anything_is_asked() {
    let mock = MockProvider::start().await.unwrap();
    for _ in 0..2 {
        mock.enqueue(Reply::new().text("17 May 2026."));
    }
    let kept = folder(&[("notes.md", "my notes")]);
    let (notes, run, tape) =
        (kept.path().join("notes.md"), kept.path().join("run.json"), kept.path().join("tape.json"));
    for option in ["--save", "--record"] {
        for file in [notes.as_path(), kept.path(), &kept.path().join("nowhere/run.json")] {
            let refused = asked(&mock, &[DUE, INBOX, option, shown(file)]).await;
            assert_eq!(refused.status.code(), Some(1), "{option} {}", file.display());
        }
    }
    assert_eq!((fs::read_to_string(&notes).unwrap().as_str(), mock.requests().len()), ("my notes", 0));
    for _ in 0..2 {
        let again = asked(&mock, &[DUE, INBOX, "--save", shown(&run), "--record", shown(&tape)]).await;
        assert!(again.status.success(), "{}", text(&again.stderr));
    }
}

#[test]
fn a_conversation_that_is_not_written_is_no_success() {
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join("run.json");
    let mut command = attache(&["ask", DUE, INBOX, "--save", shown(&file)]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("was not written"), "{}", text(&output.stderr));
    assert!(!file.exists());
}

#[test]
fn a_configuration_that_is_broken_is_told_to_programs() {
    let kept = folder(&[("attache.toml", "[[")]);
    let output = run(&["--config", shown(&kept.path().join("attache.toml")), "ask", "--json", DUE, INBOX]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((told["type"].as_str(), told["exit_code"].as_i64()), (Some("error"), Some(3)));
}
