//! Tools and the choice among them (openai.md A.3).

use serde_json::{Value, json};

use super::{breaks, keeps};

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}})
}

fn tools(tools: Value) -> impl FnOnce(&mut Value) {
    move |body| body["tools"] = tools
}

fn choice(choice: Value) -> impl FnOnce(&mut Value) {
    move |body| {
        body["tools"] = json!([tool("add"), {"type": "custom", "custom": {"name": "free"}}]);
        body["tool_choice"] = choice;
    }
}

#[test]
fn tools_have_legal_unique_names() {
    keeps(tools(json!([tool("add"), tool(&"x".repeat(64))])));
    keeps(tools(json!([{"type": "function", "function": {"name": "no_arguments"}}])));
    breaks("tools", "empty array", tools(json!([])));
    breaks("tools[0].function.name", "match pattern", tools(json!([tool("a.b")])));
    breaks("tools[0].function.name", "string too long", tools(json!([tool(&"x".repeat(65))])));
    breaks("tools[1]", "duplicate", tools(json!([tool("add"), tool("add")])));
    breaks("tools[0].type", "Invalid value: 'web_search'", tools(json!([{"type": "web_search"}])));
    breaks(
        "tools[0].input_schema",
        "Unknown",
        tools(json!([{"type": "function", "function": {"name": "f"}, "input_schema": {}}])),
    );
    breaks("tools", "too long", tools((0..129).map(|number| tool(&format!("t{number}"))).collect()));
}

#[test]
fn parameters_are_an_object_schema() {
    let with = |parameters: Value, strict: bool| {
        tools(
            json!([{"type": "function", "function": {"name": "f", "parameters": parameters, "strict": strict}}]),
        )
    };
    let path = "tools[0].function.parameters";
    let branches = json!({"type": "object", "properties": {"a": {"oneOf": []}}});
    keeps(with(branches, false));
    breaks(path, "at the top level", with(json!({"type": "object", "oneOf": []}), false));
    let array = json!({"type": "object", "properties": {"a": {"type": "array"}}});
    breaks(path, "array schema missing items", with(array, false));
    keeps(with(json!({"type": "object", "properties": {}, "additionalProperties": false}), true));
    breaks(path, "got 'type: \"None\"'", with(json!({"properties": {}}), false));
    breaks(path, "got 'type: \"string\"'", with(json!({"type": "string"}), false));
    breaks(path, "additionalProperties", with(json!({"type": "object", "properties": {}}), true));
}

#[test]
fn a_choice_needs_tools_and_names_one_of_them() {
    keeps(choice(json!("required")));
    keeps(choice(json!({"type": "function", "function": {"name": "add"}})));
    keeps(choice(json!({"type": "custom", "custom": {"name": "free"}})));
    let allowed = |name: &str| {
        json!({"type": "allowed_tools", "allowed_tools": {
            "mode": "auto", "tools": [{"type": "function", "function": {"name": name}}],
        }})
    };
    keeps(choice(allowed("add")));
    breaks("tool_choice", "only allowed when 'tools'", |body| body["tool_choice"] = json!("auto"));
    breaks("parallel_tool_calls", "only allowed when 'tools'", |body| {
        body["parallel_tool_calls"] = json!(true)
    });
    breaks("tool_choice", "Invalid value: 'any'", choice(json!("any")));
    breaks(
        "tool_choice",
        "'sub' not found",
        choice(json!({"type": "function", "function": {"name": "sub"}})),
    );
    breaks("tool_choice", "'sub' not found", choice(allowed("sub")));
    breaks("tool_choice.function", "Missing", choice(json!({"type": "function"})));
}
