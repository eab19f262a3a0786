//! Items: calls and outputs, ids, reasoning and what it produced (openai.md B.2, B.7).

use serde_json::{Value, json};

use super::{breaks, call, keeps, output, reasoning, set, then};
use crate::validate_responses;

fn assistant(id: &str) -> Value {
    json!({"type": "message", "role": "assistant", "id": id, "content": [{"type": "output_text", "text": "x"}]})
}

#[test]
fn calls_and_outputs_pair() {
    keeps(then(json!([call("a"), call("b"), output("b"), output("a")])));
    keeps(then(json!([call("a"), output("a"), call("b"), output("b")])));
    breaks("input", "No tool output found for function call a.", then(json!([call("a")])));
    breaks(
        "input",
        "No tool output found for function call b.",
        then(json!([call("a"), call("b"), output("a"), {"role": "user", "content": "x"}, output("b")])),
    );
    breaks(
        "input",
        "No tool call found for function call output with call_id a.",
        then(json!([output("a")])),
    );
    breaks("input", "No tool call found", then(json!([output("a"), call("a")])));
    breaks("input", "No tool call found", then(json!([call("a"), output("a"), output("a")])));
    breaks("input[3].call_id", "duplicate", then(json!([call("a"), output("a"), call("a"), output("a")])));
}

// D 19
#[test]
fn call_ids_and_names_have_their_lengths() {
    let long = "x".repeat(65);
    breaks("input[1].call_id", "string too long", then(json!([call(&long), output(&long)])));
    breaks("input[1].call_id", "empty string", then(json!([call(""), output("")])));
    let mut named = call("a");
    named["name"] = json!("a.b");
    breaks("input[1].name", "match pattern", then(json!([named, output("a")])));
    let mut object = call("a");
    object["arguments"] = json!({});
    breaks("input[1].arguments", "expected a string", then(json!([object, output("a")])));
    let mut cut = call("a");
    cut["arguments"] = json!("{\"a\"");
    breaks("input[1].arguments", "holds a JSON object", then(json!([cut, output("a")])));
}

// D 26
#[test]
fn item_ids_begin_with_their_kind_and_come_once() {
    let with_id = |id: &str| {
        let mut call = call("a");
        call["id"] = json!(id);
        then(json!([call, output("a")]))
    };
    keeps(with_id("fc_1"));
    breaks("input[1].id", "Expected an ID that begins with 'fc'", with_id("call_1"));
    breaks("input[1].id", "begins with 'msg'", then(json!([assistant("rs_1")])));
    breaks(
        "input",
        "Duplicate item found with id msg_1",
        then(json!([assistant("msg_1"), assistant("msg_1")])),
    );
}

// D 22
#[test]
fn reasoning_is_followed_by_what_it_produced() {
    keeps(then(json!([reasoning("rs_1"), call("a"), output("a")])));
    keeps(then(json!([reasoning("rs_1"), assistant("msg_1")])));
    let search = json!({"type": "web_search_call", "id": "ws_1"});
    keeps(then(json!([reasoning("rs_1"), search, reasoning("rs_2"), assistant("msg_1")])));
    let alone = "'rs_1' of type 'reasoning' was provided without its required following item";
    breaks("input", alone, then(json!([reasoning("rs_1")])));
    breaks("input", alone, then(json!([reasoning("rs_1"), {"role": "user", "content": "x"}])));
    breaks("input", alone, then(json!([reasoning("rs_1"), reasoning("rs_2"), assistant("msg_1")])));
    breaks("input", alone, then(json!([call("a"), reasoning("rs_1"), output("a")])));
}

// D 24
#[test]
fn reasoning_that_is_not_stored_brings_its_blob() {
    let bare = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    keeps(then(json!([bare, assistant("msg_1")])));
    let mut body = super::body();
    set("store", json!(false))(&mut body);
    then(json!([bare, assistant("msg_1")]))(&mut body);
    let violation = validate_responses(&body).expect_err("nothing is stored");
    assert_eq!((violation.status, violation.path.as_str()), (404, "input"));
    assert!(violation.message.contains("Item with id 'rs_1' not found"), "{violation}");
    let mut blob = reasoning("rs_1");
    blob.as_object_mut().expect("an object").remove("id");
    keeps(then(json!([blob, assistant("msg_1")])));
    breaks(
        "input[1].summary",
        "Missing",
        then(json!([{"type": "reasoning", "id": "rs_1"}, assistant("msg_1")])),
    );
}

// D 23: what the mock made out of reasoning names it in its id.
#[test]
fn a_product_of_the_mock_demands_its_reasoning() {
    let product = assistant("msg_1_needs_rs_1");
    keeps(then(json!([reasoning("rs_1"), product])));
    let without =
        "'msg_1_needs_rs_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'";
    breaks("input", without, then(json!([product])));
    breaks("input", without, then(json!([reasoning("rs_2"), product])));
    keeps(then(json!([{"role": "assistant", "content": "x"}])));
}

#[test]
fn items_and_roles_are_known() {
    keeps(then(
        json!([{"type": "compaction", "encrypted_content": "x"}, {"type": "mcp_list_tools", "id": "m"}]),
    ));
    breaks("input[1].type", "Invalid value: 'tool'", then(json!([{"type": "tool"}])));
    breaks("input[1].role", "'developer'", then(json!([{"role": "tool", "content": "x"}])));
    breaks(
        "input[1].tool_calls",
        "Unknown",
        then(json!([{"role": "assistant", "content": "x", "tool_calls": []}])),
    );
    breaks("input[1].content", "Missing", then(json!([{"role": "assistant"}])));
    breaks("input[1].content", "empty array", then(json!([{"role": "assistant", "content": []}])));
    breaks(
        "input[1].status",
        "'completed'",
        then(json!([{"role": "assistant", "content": "x", "status": "done"}])),
    );
}
