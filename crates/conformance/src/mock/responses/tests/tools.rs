//! Tools and the choice among them (openai.md B.4).

use serde_json::{Value, json};

use super::{breaks, keeps, set};

fn tool(name: &str) -> Value {
    json!({"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}})
}

fn tools(tools: Value) -> impl FnOnce(&mut Value) {
    set("tools", tools)
}

fn choice(choice: Value) -> impl FnOnce(&mut Value) {
    move |body| {
        body["tools"] = json!([tool("add"), {"type": "web_search"}]);
        body["tool_choice"] = choice;
    }
}

#[test]
fn tools_are_flat_and_have_legal_unique_names() {
    keeps(tools(json!([])));
    keeps(tools(json!([tool("add"), {"type": "custom", "name": "free"}, {"type": "web_search", "more": 1}])));
    breaks(
        "tools[0].name",
        "Missing required parameter: 'tools[0].name'",
        tools(json!([{"type": "function", "function": {"name": "add"}}])),
    );
    breaks("tools[0].name", "match pattern", tools(json!([tool("a.b")])));
    breaks("tools[0].name", "string too long", tools(json!([tool(&"x".repeat(65))])));
    breaks("tools[1]", "duplicate", tools(json!([tool("add"), tool("add")])));
    breaks("tools[0].type", "Invalid value: 'retrieval'", tools(json!([{"type": "retrieval"}])));
    breaks("tools[0].input_schema", "Unknown", |body| {
        body["tools"] = json!([tool("add")]);
        body["tools"][0]["input_schema"] = json!({});
    });
}

#[test]
fn parameters_are_an_object_schema_and_strict_ones_a_subset() {
    let with = |parameters: Value, strict: Value| {
        tools(json!([{"type": "function", "name": "f", "parameters": parameters, "strict": strict}]))
    };
    let path = "tools[0].parameters";
    let branches = json!({"type": "object", "properties": {"a": {"oneOf": []}}});
    keeps(with(branches.clone(), json!(false)));
    // Left out, the server goes without strict mode where the schema does not fit.
    keeps(with(branches, json!(null)));
    breaks(path, "at the top level", with(json!({"type": "object", "oneOf": []}), json!(false)));
    keeps(with(json!({"type": "object", "properties": {}, "additionalProperties": false}), json!(true)));
    breaks(path, "Invalid schema for function 'f'", with(json!({"properties": {}}), json!(false)));
    breaks(path, "additionalProperties", with(json!({"type": "object", "properties": {}}), json!(true)));
    breaks("tools[0].strict", "a boolean", with(json!({"type": "object"}), json!("yes")));
}

#[test]
fn a_choice_names_a_tool() {
    keeps(set("tool_choice", json!("auto")));
    keeps(choice(json!("required")));
    keeps(choice(json!({"type": "function", "name": "add"})));
    keeps(choice(json!({"type": "web_search"})));
    let allowed = |name: &str| json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": name}]});
    keeps(choice(allowed("add")));
    breaks("tool_choice", "Tool choice 'required' not found", set("tool_choice", json!("required")));
    breaks("tool_choice", "Invalid value: 'any'", choice(json!("any")));
    breaks("tool_choice", "'sub' not found", choice(json!({"type": "function", "name": "sub"})));
    breaks("tool_choice.tools[0]", "'sub' not found", choice(allowed("sub")));
    breaks("tool_choice.name", "Missing", choice(json!({"type": "function", "function": {"name": "add"}})));
}
