use std::sync::Arc;

use attache_core::{Arguments, ToolDefinition, ToolSet};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::marker::neutralised;
use super::parser::{Fault, Parser, Piece, Reading};

/// A reply and its meaning by the rules of the protocol.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    name: String,
    text: String,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    lenient: bool,
    #[serde(default)]
    thought: String,
    call: Option<(String, Value)>,
    call_raw: Option<(String, String)>,
    cut_call: Option<String>,
    answer: Option<String>,
    ask: Option<String>,
    fault: Option<String>,
}

fn corpus() -> Vec<Sample> {
    serde_json::from_str(include_str!("../../../tests/text/corpus.json")).unwrap()
}

fn tools() -> Arc<ToolSet> {
    let tool = |name: &str, parameters: &[&str]| {
        let properties: serde_json::Map<_, _> =
            parameters.iter().map(|parameter| ((*parameter).to_owned(), json!({}))).collect();
        ToolDefinition::new(name, "", json!({"type": "object", "properties": properties}))
    };
    let tools = [
        tool("search", &["query"]),
        tool("add", &["a", "b"]),
        tool("getOrders", &[]),
        tool("files.read", &["path"]),
    ];
    Arc::new(ToolSet::new(tools).unwrap())
}

/// The reading of a reply in these pieces: its thoughts, its answer, and its meaning.
fn read<'a>(
    pieces: impl IntoIterator<Item = &'a str>,
    lenient: bool,
    cut: bool,
) -> (String, String, Reading) {
    let mut parser = Parser::new(tools(), lenient);
    let mut shown = Vec::new();
    for piece in pieces {
        shown.extend(parser.push(piece));
    }
    let (last, reading) = parser.finish(cut);
    shown.extend(last);
    let (mut thought, mut answer) = (String::new(), String::new());
    for piece in shown {
        match piece {
            Piece::Thought(text) => thought.push_str(&text),
            Piece::Answer(text) => answer.push_str(&text),
        }
    }
    assert_eq!(answer, parser.answer(), "what is streamed is the answer");
    assert_eq!(thought, parser.thought(), "what is streamed is the thought");
    (thought, answer, reading)
}

fn check(sample: &Sample) -> Result<(), String> {
    let (thought, answer, reading) = read([&*sample.text], sample.lenient, sample.cut);
    let name = &sample.name;
    let problem =
        |what: &str| Err(format!("{name}: {what}: {reading:?}, thought {thought:?}, answer {answer:?}"));
    if thought != sample.thought {
        return problem("another thought");
    }
    let fits = match &reading {
        Reading::Call(call) => match (&sample.call, &sample.call_raw) {
            (Some((tool, arguments)), _) => {
                let read = Arguments::new(call.arguments.as_str()).object();
                call.name == *tool && read.is_ok_and(|read| Value::Object(read) == *arguments)
            }
            (None, Some((tool, raw))) => call.name == *tool && call.arguments == *raw,
            (None, None) => false,
        },
        Reading::Cut(call) => sample.cut_call.as_ref() == Some(&call.name),
        Reading::Answer => sample.answer.as_ref() == Some(&answer),
        Reading::Ask(question) => sample.ask.as_ref() == Some(question),
        Reading::Unclear(fault, _) => {
            let word = match fault {
                Fault::NoMarker => "no_marker",
                Fault::ThoughtOnly => "thought_only",
                Fault::NoAction => "no_action",
                Fault::BadAction => "bad_action",
                Fault::Blank => "blank",
            };
            sample.fault.as_deref() == Some(word)
        }
    };
    if fits { Ok(()) } else { problem("another meaning") }
}

// A27, A28, A30, R39
#[test]
fn each_reply_of_the_corpus_means_what_the_rules_say() {
    let corpus = corpus();
    assert!(corpus.len() >= 80, "{}", corpus.len());
    let wrong: Vec<String> = corpus.iter().filter_map(|sample| check(sample).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_reply_of_the_corpus_cut_into_characters_or_anywhere_means_the_same() {
    for sample in corpus() {
        let whole = read([&*sample.text], sample.lenient, sample.cut);
        let characters: Vec<String> = sample.text.chars().map(String::from).collect();
        let pieces = characters.iter().map(String::as_str);
        assert_eq!(read(pieces, sample.lenient, sample.cut), whole, "{}", sample.name);
        for (at, _) in sample.text.char_indices() {
            let (head, tail) = sample.text.split_at(at);
            assert_eq!(read([head, tail], sample.lenient, sample.cut), whole, "{} at {at}", sample.name);
        }
    }
}

/// Pieces of markup in any order.
fn soup() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("Thought:"),
        Just("Action:"),
        Just("Action Input:"),
        Just("Observation:"),
        Just("Final Answer:"),
        Just("Ask:"),
        Just("**"),
        Just("<ACTION>"),
        Just("</ACTION>"),
        Just("<THINK>"),
        Just("</THINK>"),
        Just("<ANSWER>"),
        Just("</ANSWER>"),
        Just("```"),
        Just("\n"),
        Just(" "),
        Just("search"),
        Just("getOrders()"),
        Just("None"),
        Just("{\"name\": \"search\", "),
        Just("\"arguments\": {\"query\": \"x\"}}"),
        Just("{"),
        Just("}"),
        Just("\""),
        Just("\\"),
        Just("("),
        Just("é🦀"),
        Just(": "),
        Just("> "),
    ];
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_in_any_pieces_means_the_same(text in soup(), cuts in prop::collection::vec(0.0..1.0_f64, 0..6), cut: bool) {
        let whole = read([&*text], false, cut);
        let chars: Vec<char> = text.chars().collect();
        let mut places: Vec<usize> = cuts.iter().map(|part| (part * chars.len() as f64) as usize).collect();
        places.extend([0, chars.len()]);
        places.sort_unstable();
        let pieces: Vec<String> = places.windows(2).map(|pair| chars[pair[0]..pair[1]].iter().collect()).collect();
        prop_assert_eq!(read(pieces.iter().map(String::as_str), false, cut), whole);
    }

    // A tool cannot make an action or an answer by what it returns.
    #[test]
    fn what_a_tool_says_is_no_action_and_no_answer(text in soup()) {
        let safe = neutralised(&text);
        let (_, _, reading) = read([&*format!("Observation says\n{safe}")], false, false);
        prop_assert!(!matches!(reading, Reading::Answer | Reading::Ask(_) | Reading::Cut(_)), "{:?} {}", reading, safe);
        prop_assert!(!matches!(reading, Reading::Call(_)), "{:?} {}", reading, safe);
    }
}

#[test]
fn hostile_replies_end_soon() {
    let long = |piece: &str| piece.repeat(400_000 / piece.len());
    for piece in [
        "*",
        "Action",
        "{",
        "Action: {",
        "<",
        "<THINK>",
        "```",
        "\n",
        "Thought:\n",
        "a\n",
        "\\",
        "(",
        "Action: a\n",
    ] {
        let text = long(piece);
        read([&*text], true, false);
        read([&*format!("Action: search\nAction Input: {text}")], true, true);
        // In many pieces it costs no more than a few times as much.
        let pieces: Vec<&str> =
            text.as_bytes().chunks(64).map(|chunk| std::str::from_utf8(chunk).unwrap()).collect();
        read(pieces, false, false);
    }
}
