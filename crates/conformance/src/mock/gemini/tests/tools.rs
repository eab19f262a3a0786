//! Tools, how they are called, and their schemas (gemini.md 5).

use serde_json::{Value, json};

use super::{ANY, NEW, OLD, breaks, keeps, set};

#[expect(clippy::needless_pass_by_value, reason = "a borrow would only add noise to the cases below")]
fn declare(declaration: Value) -> impl FnOnce(&mut Value) {
    set("tools", json!([{"functionDeclarations": [declaration]}]))
}

#[expect(clippy::needless_pass_by_value, reason = "a borrow would only add noise to the cases below")]
fn parameters(schema: Value) -> impl FnOnce(&mut Value) {
    declare(json!({"name": "f", "parameters": schema}))
}

const AT: &str = "tools[0].function_declarations[0]";

#[test]
fn declarations_have_legal_unique_names() {
    keeps(ANY, declare(json!({"name": "_a.b:c-d", "description": ""})));
    keeps(
        ANY,
        set(
            "tools",
            json!([{"functionDeclarations": [{"name": "a"}]}, {"functionDeclarations": [{"name": "b"}]}]),
        ),
    );
    for name in ["", "1a", "a b", "ä", "a".repeat(129).as_str()] {
        breaks(ANY, &format!("{AT}.name"), "Invalid function name", declare(json!({"name": name})));
    }
    breaks(
        ANY,
        "tools[1].function_declarations[0]",
        "Duplicate function declaration found: a",
        set(
            "tools",
            json!([{"functionDeclarations": [{"name": "a"}]}, {"functionDeclarations": [{"name": "a"}]}]),
        ),
    );
    let many: Vec<Value> = (0..513).map(|number| json!({"name": format!("t{number}")})).collect();
    breaks(ANY, "tools", "At most 512", set("tools", json!([{"functionDeclarations": many}])));
}

#[test]
fn parameters_come_one_way() {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false, "$schema": "x"});
    keeps(ANY, declare(json!({"name": "f", "parametersJsonSchema": schema})));
    keeps(ANY, declare(json!({"name": "f", "parameters_json_schema": schema})));
    breaks(
        ANY,
        &format!("{AT}.parameters_json_schema"),
        "Only one of parameters and parameters_json_schema",
        declare(json!({"name": "f", "parameters": {"type": "OBJECT"}, "parametersJsonSchema": {}})),
    );
    breaks(
        ANY,
        &format!("{AT}.parameters_json_schema"),
        "`#/$defs/none` cannot be resolved",
        declare(
            json!({"name": "f", "parametersJsonSchema": {"properties": {"a": {"$ref": "#/$defs/none"}}}}),
        ),
    );
    breaks(
        ANY,
        &format!("{AT}.parameters_json_schema"),
        "must be an object",
        declare(json!({"name": "f", "parametersJsonSchema": "x"})),
    );
}

// gemini.md (a) 12, 13, 14
#[test]
fn the_protobuf_schema_is_a_subset() {
    let property = |schema: Value| parameters(json!({"type": "OBJECT", "properties": {"a": schema}}));
    let at = |rest: &str| format!("{AT}.parameters.properties[0].value{rest}");
    keeps(ANY, property(json!({"type": "string", "format": "date-time", "nullable": true})));
    keeps(ANY, property(json!({"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]})));
    keeps(ANY, parameters(json!({"type": "object", "properties": {}, "required": []})));
    for key in ["additionalProperties", "$ref", "const", "oneOf", "exclusiveMinimum", "patternProperties"] {
        let mut schema = json!({"type": "STRING"});
        schema[key] = json!(1);
        breaks(ANY, &at(&format!(".{key}")), &format!("Unknown name \"{key}\""), property(schema));
    }
    breaks(
        ANY,
        &at(".type"),
        "Unknown name \"type\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Proto field is not \
         repeating, cannot start list.",
        property(json!({"type": ["string", "null"]})),
    );
    breaks(ANY, &at(".type"), "TYPE_ENUM", property(json!({"type": "text"})));
    breaks(ANY, &at(".type"), "must be specified", property(json!({"description": "d"})));
    breaks(ANY, &at(".enum[0]"), "TYPE_STRING", property(json!({"type": "INTEGER", "enum": [1]})));
    breaks(
        ANY,
        &at(".enum"),
        "only allowed for STRING type",
        property(json!({"type": "INTEGER", "enum": ["1"]})),
    );
    breaks(
        ANY,
        &at(".format"),
        "only 'enum' and 'date-time'",
        property(json!({"type": "STRING", "format": "uri"})),
    );
    breaks(
        ANY,
        &at(".items"),
        "parameters.properties[a].items: missing field.",
        property(json!({"type": "ARRAY"})),
    );
    breaks(
        ANY,
        &format!("{AT}.parameters.required[0]"),
        "property is not defined",
        parameters(json!({"type": "OBJECT", "properties": {}, "required": ["a"]})),
    );
    breaks(ANY, &format!("{AT}.parameters.type"), "must be OBJECT", parameters(json!({"type": "STRING"})));
    let nested =
        (0..120).fold(json!({"type": "STRING"}), |inner, _| json!({"type": "ARRAY", "items": inner}));
    let mut body = super::body();
    property(nested)(&mut body);
    assert!(crate::validate_gemini(ANY, &body).is_err());
}

#[test]
fn a_calling_config_needs_functions() {
    let config = |config: Value| {
        move |body: &mut Value| {
            body["tools"] = json!([{"functionDeclarations": [{"name": "f"}]}]);
            body["toolConfig"] = json!({"functionCallingConfig": config});
        }
    };
    keeps(ANY, config(json!({"mode": "ANY", "allowedFunctionNames": ["f"]})));
    keeps(ANY, config(json!({"mode": "VALIDATED"})));
    breaks(
        ANY,
        "tool_config.function_calling_config",
        "Function calling config is set without function_declarations.",
        set("toolConfig", json!({"functionCallingConfig": {"mode": "NONE"}})),
    );
    let names = "tool_config.function_calling_config.allowed_function_names";
    breaks(
        ANY,
        names,
        "mode is ANY or VALIDATED",
        config(json!({"mode": "AUTO", "allowedFunctionNames": ["f"]})),
    );
    breaks(ANY, names, "`g` is not found", config(json!({"mode": "ANY", "allowedFunctionNames": ["g"]})));
    breaks(ANY, "tool_config.function_calling_config.mode", "TYPE_ENUM", config(json!({"mode": "REQUIRED"})));
}

#[test]
fn built_in_tools_go_with_functions_on_new_models() {
    let both = set("tools", json!([{"googleSearch": {}}, {"functionDeclarations": [{"name": "f"}]}]));
    breaks(OLD, "tools", "Tool use with function calling is unsupported", both);
    let both = || set("tools", json!([{"googleSearch": {}, "functionDeclarations": [{"name": "f"}]}]));
    keeps(NEW, both());
    keeps(OLD, set("tools", json!([{"googleSearch": {}}])));
    keeps(OLD, set("tools", json!([{"codeExecution": null, "functionDeclarations": [{"name": "f"}]}])));
}
