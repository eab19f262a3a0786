//! Tools and the choice among them (bedrock.md 3, 11).

use serde_json::{Value, json};

use super::{
    CLAUDE, GPT_OSS, LLAMA_4, NOVA, NOVA_2, assistant, breaks, call, keeps, result, tool, user,
    validate_converse,
};

fn tools(tools: Value) -> impl FnOnce(&mut Value) {
    move |body| body["toolConfig"] = json!({"tools": tools})
}

fn spec(change: impl FnOnce(&mut Value)) -> impl FnOnce(&mut Value) {
    let mut tool = tool();
    change(&mut tool["toolSpec"]);
    tools(json!([tool]))
}

fn choice(choice: Value) -> impl FnOnce(&mut Value) {
    move |body| body["toolConfig"] = json!({"tools": [tool()], "toolChoice": choice})
}

// bedrock.md (a) 6
#[test]
fn a_history_with_tools_needs_them() {
    let body = json!({"messages": [
        {"role": "user", "content": [{"text": "hi"}]}, assistant(&[call("a")]), user(&[result("a")]),
    ]});
    let violation = validate_converse(CLAUDE, &body).expect_err("a broken rule");
    let words = "The toolConfig field must be defined when using toolUse and toolResult content blocks.";
    assert_eq!((violation.path.as_str(), violation.message.as_str()), ("toolConfig", words));
}

#[test]
fn there_is_at_least_one_tool() {
    breaks(CLAUDE, "toolConfig.tools", "greater than or equal to 1", tools(json!([])));
    let only_point = json!([{"cachePoint": {"type": "default"}}]);
    breaks(CLAUDE, "toolConfig.tools", "greater than or equal to 1", tools(only_point));
    breaks(CLAUDE, "toolConfig.tools", "must not be null", |body| body["toolConfig"] = json!({}));
    breaks("us.deepseek.r1-v1:0", "toolConfig", "doesn't support tool use", tools(json!([tool()])));
    breaks(CLAUDE, "toolConfig.tools.1.toolSpec.name", "more than once", tools(json!([tool(), tool()])));
}

#[test]
fn a_tool_has_a_name_a_schema_and_no_empty_description() {
    let at = "toolConfig.tools.0.toolSpec";
    keeps(NOVA, spec(|tool| tool["description"] = "d".into()));
    let empty = spec(|tool| tool["description"] = "".into());
    breaks(NOVA, &format!("{at}.description"), "greater than or equal to 1", empty);
}

#[test]
fn names_and_schemas_are_checked() {
    let at = "toolConfig.tools.0.toolSpec";
    breaks(NOVA, &format!("{at}.name"), "regular expression", spec(|tool| tool["name"] = "a.b".into()));
    let one_of = "must be one of the following: object";
    let schema = format!("{at}.inputSchema.json.type");
    breaks(NOVA, &schema, one_of, spec(|tool| tool["inputSchema"]["json"] = json!({})));
    breaks(NOVA, &schema, one_of, spec(|tool| tool["inputSchema"]["json"]["type"] = "string".into()));
    breaks(NOVA, &format!("{at}.inputSchema.type"), "extraneous", |body| {
        spec(|tool| tool["inputSchema"] = json!({"type": "object"}))(body);
    });
}

#[test]
fn strict_tools_keep_the_subset_and_need_a_model_that_compiles() {
    let strict = |schema: Value| {
        spec(move |tool| {
            tool["strict"] = true.into();
            tool["inputSchema"]["json"] = schema;
        })
    };
    let good = || {
        let name = json!({"type": "string", "minLength": 1, "maxLength": 9});
        json!({"type": "object", "properties": {"name": name}, "additionalProperties": false})
    };
    keeps(CLAUDE, strict(good()));
    let at = "toolConfig.tools.0.toolSpec";
    for model in [NOVA, LLAMA_4, "anthropic.claude-3-haiku-20240307-v1:0"] {
        breaks(model, &format!("{at}.strict"), "doesn't support", strict(good()));
    }
    let path = format!("{at}.inputSchema.json");
    breaks(CLAUDE, &path, "additionalProperties", strict(json!({"type": "object", "properties": {}})));
    for (key, value) in
        [("minimum", json!(1)), ("multipleOf", json!(2)), ("maxItems", json!(3)), ("minItems", json!(2))]
    {
        let mut schema = good();
        schema["properties"]["name"][key] = value;
        breaks(CLAUDE, &path, key, strict(schema));
    }
    let many = |count: usize| {
        let tools = (0..count).map(|number| {
            json!({"toolSpec": {"name": format!("t{number}"), "strict": true, "inputSchema": {"json": good()}}})
        });
        tools.collect::<Value>()
    };
    keeps(CLAUDE, tools(many(20)));
    breaks(CLAUDE, "toolConfig.tools", "Too many strict tools (21)", tools(many(21)));
}

#[test]
fn choices_follow_the_family() {
    let any = || json!({"any": {}});
    for model in [CLAUDE, NOVA, "zai.glm-4.7", "moonshot.kimi-k2-thinking"] {
        keeps(model, choice(json!({"auto": {}})));
        keeps(model, choice(any()));
        keeps(model, choice(json!({"tool": {"name": "add"}})));
    }
    keeps("mistral.mistral-large-2407-v1:0", choice(any()));
    let at = "toolConfig.toolChoice";
    breaks(
        "mistral.mistral-large-2407-v1:0",
        &format!("{at}.tool"),
        "doesn't support",
        choice(json!({"tool": {"name": "add"}})),
    );
    let words = "This model doesn't support the toolConfig.toolChoice.auto field.";
    for model in [LLAMA_4, GPT_OSS] {
        breaks(model, &format!("{at}.auto"), words, choice(json!({"auto": {}})));
        keeps(model, tools(json!([tool()])));
    }
    keeps("us.anthropic.claude-fable-5", choice(json!({"auto": {}})));
    breaks("us.anthropic.claude-fable-5", &format!("{at}.any"), "doesn't support", choice(any()));
    breaks(CLAUDE, &format!("{at}.tool.name"), "is not among", choice(json!({"tool": {"name": "x"}})));
    breaks(CLAUDE, &format!("{at}.none"), "extraneous", choice(json!({"none": {}})));
    breaks(CLAUDE, &format!("{at}.any"), "exactly one", choice(json!({"auto": {}, "any": {}})));
}

#[test]
fn system_tools_are_nova_2s() {
    let with = || tools(json!([tool(), {"systemTool": {"name": "nova_code_interpreter"}}]));
    keeps(NOVA_2, with());
    breaks(NOVA, "toolConfig.tools.1.systemTool", "doesn't support", with());
}
