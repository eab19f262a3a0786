//! Tools and the choice among them (anthropic.md 6).

use serde_json::{Value, json};

use super::{breaks, keeps};

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "d", "input_schema": {"type": "object", "properties": {}}})
}

fn with_schema(schema: Value) -> impl FnOnce(&mut Value) {
    move |body| body["tools"] = json!([{"name": "f", "input_schema": schema}])
}

fn tools(tools: Value) -> impl FnOnce(&mut Value) {
    move |body| body["tools"] = tools
}

fn choice(choice: Value) -> impl FnOnce(&mut Value) {
    move |body| {
        body["tools"] = json!([tool("add")]);
        body["tool_choice"] = choice;
    }
}

// anthropic.md (a) 16
#[test]
fn names_are_plain_and_unique() {
    keeps(tools(json!([tool("a-B_9"), tool(&"x".repeat(128))])));
    for name in ["a.b", "a b", "", &"x".repeat(129)] {
        let change = tools(json!([tool(name)]));
        breaks("tools.0.custom.name", "", change);
    }
    breaks("tools", "must be unique", tools(json!([tool("add"), tool("add")])));
    breaks("tools.0.custom.parameters", "Extra inputs", tools(json!([{"name": "f", "parameters": {}}])));
}

// anthropic.md (a) 15
#[test]
fn schemas_have_an_object_at_the_root() {
    let path = "tools.0.custom.input_schema";
    keeps(with_schema(json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}})));
    breaks(path, "Field required", tools(json!([{"name": "f"}])));
    breaks(&format!("{path}.type"), "Field required", with_schema(json!({"properties": {}})));
    breaks(&format!("{path}.type"), "'object'", with_schema(json!({"type": "string"})));
    for key in ["oneOf", "anyOf", "allOf"] {
        breaks(path, "at the top level", with_schema(json!({"type": "object", key: []})));
    }
}

#[test]
fn strict_tools_take_a_subset_and_are_few() {
    let strict = |name: &str, schema: &Value| json!({"name": name, "strict": true, "input_schema": schema});
    let good = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let many = |count: usize| tools((0..count).map(|number| strict(&format!("t{number}"), &good)).collect());
    keeps(many(20));
    breaks("tools", "Too many strict tools", many(21));
    let open = json!({"type": "object", "properties": {}});
    breaks("tools.0.custom.input_schema", "'additionalProperties'", tools(json!([strict("f", &open)])));
}

#[test]
fn typed_tools_have_no_schema() {
    keeps(tools(json!([{"type": "web_search_20260318", "name": "web_search", "max_uses": 3}])));
    breaks(
        "tools.0.bash_20250124.input_schema",
        "Extra inputs",
        tools(json!([{"type": "bash_20250124", "name": "bash", "input_schema": {}}])),
    );
}

#[test]
fn a_choice_needs_tools_and_names_one_of_them() {
    keeps(choice(json!({"type": "tool", "name": "add", "disable_parallel_tool_use": true})));
    keeps(choice(json!({"type": "none"})));
    breaks("tool_choice", "while providing tools", |body| body["tool_choice"] = json!({"type": "auto"}));
    breaks("tool_choice", "'sub' not found", choice(json!({"type": "tool", "name": "sub"})));
    breaks("tool_choice.tool.name", "Field required", choice(json!({"type": "tool"})));
    breaks("tool_choice.type", "'any'", choice(json!({"type": "required"})));
    breaks("tool_choice", "valid dictionary", choice(json!("auto")));
    breaks(
        "tool_choice.none.disable_parallel_tool_use",
        "Extra inputs",
        choice(json!({
            "type": "none", "disable_parallel_tool_use": true,
        })),
    );
}

#[test]
fn some_models_and_manual_thinking_refuse_forced_tools() {
    let forced = |model: &'static str, kind: &'static str| {
        move |body: &mut Value| {
            choice(json!({"type": kind}))(body);
            body["model"] = json!(model);
        }
    };
    keeps(forced("claude-opus-5", "any"));
    keeps(forced("claude-fable-5", "auto"));
    breaks("tool_choice", "not supported for this model", forced("claude-fable-5", "any"));
    let thinking = |kind: &'static str, thinking: Value| {
        move |body: &mut Value| {
            choice(json!({"type": kind}))(body);
            body["max_tokens"] = json!(4000);
            body["thinking"] = thinking;
        }
    };
    let manual = json!({"type": "enabled", "budget_tokens": 2000});
    keeps(thinking("auto", manual.clone()));
    keeps(thinking("any", json!({"type": "adaptive"})));
    breaks("", "forces tool use", thinking("any", manual));
}

// anthropic.md 6, and a recording
#[test]
fn strict_tools_with_many_optional_properties_are_too_complex() {
    let strict = |names: std::ops::Range<usize>, required: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            names.clone().map(|number| (format!("p{number}"), json!({"type": "string"}))).collect();
        json!({"name": format!("t{}", names.start), "strict": true, "input_schema": {"type": "object",
            "properties": properties, "required": required, "additionalProperties": false}})
    };
    keeps(tools(json!([strict(0..23, &[])])));
    breaks("", "too complex for compilation", tools(json!([strict(0..24, &[])])));
    keeps(tools(json!([strict(0..24, &["p3"])])));
    // They are counted over all tools, and inside of properties too.
    breaks("", "too complex", tools(json!([strict(0..12, &[]), strict(100..112, &[])])));
    let mut deep = strict(0..20, &[]);
    deep["input_schema"]["properties"]["deep"] = strict(0..3, &[])["input_schema"].clone();
    breaks("", "too complex", tools(json!([deep])));
    let mut lax = strict(0..24, &[]);
    lax["strict"] = json!(false);
    keeps(tools(json!([lax])));
    // The schema of the answer counts with them.
    let both = |of_tool: usize, of_answer: usize| {
        let schema = strict(0..of_answer, &[])["input_schema"].clone();
        let tools = json!([strict(0..of_tool, &[])]);
        move |body: &mut Value| {
            body["tools"] = tools;
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        }
    };
    keeps(both(12, 11));
    breaks("", "too complex", both(13, 11));
    // And places of several types, of which the documents allow 16.
    let several = |count: usize| {
        let mut tool = strict(0..count, &[]);
        for property in tool["input_schema"]["properties"].as_object_mut().unwrap().values_mut() {
            property["type"] = json!(["string", "null"]);
        }
        tools(json!([tool]))
    };
    keeps(several(16));
    breaks("", "too complex", several(17));
}
