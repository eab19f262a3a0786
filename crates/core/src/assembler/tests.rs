use proptest::prelude::*;
use serde_json::json;

use super::*;

type Row<'a> = (Option<u64>, Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn assemble(rows: &[Row<'_>]) -> Vec<(Option<String>, String, String)> {
    let mut assembler = ToolCallAssembler::new();
    for (index, id, name, arguments) in rows {
        let fragment = ToolCallFragment::new()
            .with_index(*index)
            .with_id(*id)
            .with_name(*name)
            .with_arguments(*arguments);
        assembler.push(&fragment);
    }
    let calls = assembler.finish().into_iter();
    calls
        .map(|call| {
            let id = call.provider_id.map(|id| id.as_str().to_owned());
            (id, call.name, call.arguments.json().unwrap_or("invalid").to_owned())
        })
        .collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (Option<String>, String, String) {
    (Some(id.to_owned()).filter(|id| !id.is_empty()), name.to_owned(), arguments.to_owned())
}

#[test]
fn the_usual_order() {
    let rows = [
        (Some(0), Some("a"), Some("f"), Some("")),
        (Some(0), None, None, Some("{\"x\":")),
        (Some(0), None, None, Some("1}")),
        (Some(1), Some("b"), Some("g"), Some("")),
    ];
    assert_eq!(assemble(&rows), [call("a", "f", "{\"x\":1}"), call("b", "g", "{}")]);
}

#[test]
fn interleaved() {
    let rows = [
        (Some(1), Some("b"), Some("g"), Some("{")),
        (Some(0), Some("a"), Some("f"), Some("{\"x\"")),
        (Some(1), None, None, Some("}")),
        (Some(0), None, None, Some(":1}")),
    ];
    assert_eq!(assemble(&rows), [call("b", "g", "{}"), call("a", "f", "{\"x\":1}")]);
}

// openai.md D 5, 6
#[test]
fn later_blanks_erase_nothing() {
    let rows = [
        (Some(0), Some("a"), Some("f"), Some("{")),
        (Some(0), Some(""), Some(""), Some("}")),
        (Some(0), None, None, None),
    ];
    assert_eq!(assemble(&rows), [call("a", "f", "{}")]);
}

// openai.md D 7
#[test]
fn one_index_for_all_calls() {
    let rows =
        [(Some(0), Some("a"), Some("f"), Some("{}")), (Some(0), Some("b"), Some("f"), Some("{\"y\":2}"))];
    assert_eq!(assemble(&rows), [call("a", "f", "{}"), call("b", "f", "{\"y\":2}")]);
}

#[test]
fn one_index_and_no_ids() {
    let rows = [(Some(0), None, Some("f"), Some("{\"x\":1}")), (Some(0), None, Some("g"), Some("{\"y\":2}"))];
    assert_eq!(assemble(&rows), [call("", "f", "{\"x\":1}"), call("", "g", "{\"y\":2}")]);
}

// openai.md D 8, 9
#[test]
fn no_index() {
    let rows = [
        (None, Some("a"), Some("f"), Some("{")),
        (None, None, None, Some("}")),
        (None, Some("b"), Some("g"), None),
        (None, Some("a"), None, Some(" ")),
    ];
    assert_eq!(assemble(&rows), [call("a", "f", "{}"), call("b", "g", "{}")]);
}

#[test]
fn no_index_and_no_ids() {
    let rows = [
        (None, None, Some("f"), Some("{}")),
        (None, None, Some("g"), Some("{\"y\"")),
        (None, None, None, Some(":2}")),
    ];
    assert_eq!(assemble(&rows), [call("", "f", "{}"), call("", "g", "{\"y\":2}")]);
}

// openai.md D 10
#[test]
fn arguments_before_the_name() {
    let rows = [(Some(0), None, None, Some("{\"x\":1}")), (Some(0), Some("a"), Some("f"), None)];
    assert_eq!(assemble(&rows), [call("a", "f", "{\"x\":1}")]);
    let rows = [(None, None, None, Some("{\"x\":1}")), (None, None, Some("f"), None)];
    assert_eq!(assemble(&rows), [call("", "f", "{\"x\":1}")]);
}

// openai.md A.7, D 68: pieces of a call under other indexes and ids than its first one
#[test]
fn later_pieces_may_change_index_or_id() {
    let known_id = [
        (Some(0), Some("a"), Some("f"), Some("{\"x\":1}")),
        (Some(0), Some("b"), Some("g"), Some("")),
        (Some(1), Some("b"), None, Some("{\"y\":")),
        (Some(1), None, None, Some("2}")),
    ];
    assert_eq!(assemble(&known_id), [call("a", "f", "{\"x\":1}"), call("b", "g", "{\"y\":2}")]);
    let other_index = [
        (Some(0), Some("a"), Some("f"), Some("")),
        (Some(1), None, None, Some("{\"x\":")),
        (Some(2), None, None, Some("1}")),
    ];
    assert_eq!(assemble(&other_index), [call("a", "f", "{\"x\":1}")]);
    let other_id = [
        (Some(0), Some("A"), Some("f"), Some("")),
        (Some(0), Some("B"), None, Some("{\"x\":")),
        (Some(0), Some("C"), None, Some("1}")),
    ];
    assert_eq!(assemble(&other_id), [call("A", "f", "{\"x\":1}")]);
}

// openai.md D 10: behind complete arguments they are those of the next call
#[test]
fn pieces_of_an_index_behind_a_complete_call_wait_for_their_name() {
    let rows = [
        (Some(0), Some("a"), Some("f"), Some("{\"x\":1}")),
        (Some(1), None, None, Some("{\"y\":2}")),
        (Some(1), Some("b"), Some("g"), None),
        (Some(1), Some("c"), None, Some("{}")),
    ];
    let expected = [call("a", "f", "{\"x\":1}"), call("b", "g", "{\"y\":2}"), call("c", "", "{}")];
    assert_eq!(assemble(&rows), expected);
}

// openai.md D 11; C.6: the literal "null"
#[test]
fn empty_ids() {
    let rows = [(Some(0), Some(""), Some("f"), Some("{}")), (Some(1), Some("null"), Some("g"), Some("{}"))];
    assert_eq!(assemble(&rows), [call("", "f", "{}"), call("", "g", "{}")]);
}

// openai.md D 32, P10
#[test]
fn empty_arguments_are_no_arguments() {
    for empty in [None, Some(""), Some("null"), Some(" ")] {
        assert_eq!(assemble(&[(Some(0), Some("a"), Some("f"), empty)]), [call("a", "f", "{}")]);
    }
}

#[test]
fn a_repeated_name_is_not_appended() {
    let rows =
        [(Some(0), Some("a"), Some("f"), Some("{\"x\"")), (Some(0), Some("a"), Some("f"), Some(":1}"))];
    assert_eq!(assemble(&rows), [call("a", "f", "{\"x\":1}")]);
}

// The id comes once, the name with every piece, and the last one is empty.
#[test]
fn a_name_repeated_behind_complete_arguments_is_no_call() {
    let pay = |id, arguments| (Some(0), id, Some("pay"), Some(arguments));
    let rows = [pay(Some("call_1"), "{\"to\":\"bob\","), pay(None, "\"eur\":100}"), pay(None, "")];
    let expected = [call("call_1", "pay", "{\"to\":\"bob\",\"eur\":100}")];
    assert_eq!(assemble(&rows), expected);
    assert_eq!(assemble(&[&rows[..], &[pay(None, " "), pay(None, "\n")]].concat()), expected);
}

#[test]
fn a_name_repeated_before_further_arguments_is_the_next_call() {
    let rows = [
        (Some(0), None, Some("f"), Some("{\"x\":1}")),
        (Some(0), None, Some("f"), Some("")),
        (Some(0), None, None, Some("{\"x\":")),
        (Some(0), None, None, Some("2}")),
        (Some(0), None, Some("f"), Some("{\"x\":3}")),
    ];
    let expected = ["{\"x\":1}", "{\"x\":2}", "{\"x\":3}"].map(|arguments| call("", "f", arguments));
    assert_eq!(assemble(&rows), expected);
}

// P10: one malformed call leaves its sibling alone
#[test]
fn malformed_arguments_stay_with_their_call() {
    let rows =
        [(Some(0), Some("a"), Some("f"), Some("{\"x\":")), (Some(1), Some("b"), Some("g"), Some("{}"))];
    assert_eq!(assemble(&rows), [call("a", "f", "invalid"), call("b", "g", "{}")]);
}

#[test]
fn a_nameless_call_is_visible() {
    assert_eq!(assemble(&[(Some(0), Some("a"), None, Some("{}"))]), [call("a", "", "{}")]);
}

// openai.md D 35
#[test]
fn arguments_as_an_object() {
    let mut assembler = ToolCallAssembler::new();
    let object = json!({"b": 1, "a": 2});
    assembler.push(&ToolCallFragment::new().with_name("f").with_object(&object));
    assert_eq!(assembler.finish()[0].arguments.raw(), r#"{"b":1,"a":2}"#);
}

// P09
#[test]
fn every_delta_has_our_id_and_the_name_comes_once() {
    let mut assembler = ToolCallAssembler::new();
    let first = assembler.push(&ToolCallFragment::new().with_index(0).with_name("f"));
    let second = assembler
        .push(&ToolCallFragment::new().with_index(0).with_id("x").with_name("f").with_arguments("{}"));
    let StreamChunk::ToolCallDelta { id: a, name: Some(_), provider_id: None, .. } = first else {
        panic!("{first:?}")
    };
    let StreamChunk::ToolCallDelta { id: b, name: None, provider_id: Some(_), .. } = second else {
        panic!("{second:?}")
    };
    assert_eq!(a, b);
}

#[derive(Clone, Debug)]
struct Planned {
    arguments: String,
    cuts: Vec<usize>,
}

fn pieces(planned: &Planned) -> Vec<&str> {
    let text = planned.arguments.as_str();
    let mut at: Vec<usize> = planned
        .cuts
        .iter()
        .map(|cut| cut % (text.len() + 1))
        .filter(|at| text.is_char_boundary(*at))
        .collect();
    at.extend([0, text.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

proptest! {
    // P09, P10: any interleaving of indexed calls, ids sent once
    #[test]
    fn any_interleaving(
        calls in prop::collection::vec(("[a-zé\"]{0,9}", prop::collection::vec(any::<usize>(), 0..5)), 1..5),
        picks in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        let planned: Vec<Planned> = calls.iter().map(|(value, cuts)| Planned { arguments: json!({"v": value}).to_string(), cuts: cuts.clone() }).collect();
        let queues: Vec<Vec<&str>> = planned.iter().map(pieces).collect();
        let mut sent = vec![0_usize; planned.len()];
        let mut order: Vec<usize> = picks.iter().map(|pick| pick % planned.len()).collect();
        order.extend(0..planned.len());
        let mut assembler = ToolCallAssembler::new();
        let mut seen: Vec<usize> = Vec::new();
        for call in order.into_iter().chain((0..planned.len()).flat_map(|call| std::iter::repeat_n(call, 8))) {
            let Some(piece) = queues[call].get(sent[call]) else { continue };
            let id = format!("id{call}");
            let mut fragment = ToolCallFragment::new().with_index(call as u64).with_arguments(*piece);
            if sent[call] == 0 {
                fragment = fragment.with_id(id.as_str()).with_name("f");
                seen.push(call);
            }
            assembler.push(&fragment);
            sent[call] += 1;
        }
        let assembled = assembler.finish();
        prop_assert_eq!(assembled.len(), planned.len());
        for (call, at) in assembled.iter().zip(seen) {
            prop_assert_eq!(call.provider_id.as_ref().unwrap().as_str(), format!("id{at}"));
            prop_assert_eq!(call.arguments.raw(), planned[at].arguments.as_str());
        }
    }
}
