//! `attache explain` over the sample conversation. A change here is one for everybody who reads it.

use std::process::Output;

use serde_json::Value;

const SAMPLE: &str = "docs/examples/conversation.json";
const MODELS: [&str; 3] = ["openai-chat/gpt-4.1", "anthropic/claude-opus-4-8", "llamacpp/some-model"];

fn attache(arguments: &[&str], columns: &str) -> Output {
    crate::common::attache(arguments).env("COLUMNS", columns).output().unwrap()
}

fn explained(columns: &str, more: &[&str]) -> String {
    let models = MODELS.iter().flat_map(|model| ["--model", model]);
    let arguments: Vec<&str> =
        ["explain", SAMPLE].into_iter().chain(models).chain(more.iter().copied()).collect();
    let output = attache(&arguments, columns);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

// No key is needed, and an author's image that a model cannot take is told, not a failure of the command.
#[test]
fn side_by_side() {
    insta::assert_snapshot!(explained("110", &[]));
}

#[test]
fn in_blocks_where_it_is_narrow() {
    let text = explained("50", &[]);
    assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn as_json_lines() {
    let text = explained("110", &["--json"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5 * MODELS.len(), "a line for each document and model");
    let outcomes = |model: &str| -> Vec<&str> {
        lines
            .iter()
            .filter(|line| line["model"] == model)
            .map(|line| line["outcome"].as_str().unwrap())
            .collect()
    };
    assert_eq!(outcomes(MODELS[0]), ["native", "synthetic", "synthetic", "text", "note"]);
    assert_eq!(outcomes(MODELS[1]), ["native", "native", "native", "text", "note"]);
    assert_eq!(outcomes(MODELS[2])[..2], ["error", "converted"]);
    insta::assert_snapshot!(lines[3..6].iter().map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn wrong_arguments_and_files_are_reported() {
    let cases: [(&[&str], i32, &str); 4] = [
        (&["explain", SAMPLE, "--model", "antropic/x"], 3, "did you mean anthropic/x"),
        (&["explain", "no-such.json", "--model", "openai/gpt-4.1"], 1, "no-such.json"),
        (&["explain", "docs", "--model", "openai/gpt-4.1"], 1, "a folder cannot be attached"),
        (&["explain", SAMPLE], 2, "--model"),
    ];
    for (arguments, code, word) in cases {
        let output = attache(arguments, "80");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(word) && output.stdout.is_empty(), "{arguments:?}: {told}");
    }
}

#[test]
fn plain_files_are_explained_as_results_of_a_tool_or_as_attached() {
    let pdf = "docs/examples/inbox/invoice-2026-0417.pdf";
    let files = [
        "explain",
        pdf,
        "docs/examples/inbox/expenses-2026-spring.csv",
        "--json",
        "-m",
        "openai-chat/gpt-4.1",
    ];
    let seen = |more: &[&str]| -> Vec<(String, String)> {
        let output = attache(&[&files[..], more].concat(), "80");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let word = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
        lines.map(|line| (word(&line, "from"), word(&line, "outcome"))).collect()
    };
    let pairs =
        |from: &str, outcomes: [&str; 2]| outcomes.map(|outcome| (from.to_owned(), outcome.to_owned()));
    assert_eq!(seen(&[]), pairs("tool", ["synthetic", "text"]));
    assert_eq!(seen(&["--attached"]), pairs("author", ["native", "text"]));
}
