//! The request's own fields (openai.md B.1, B.5).

use serde_json::{Value, json};

use super::{breaks, keeps, set};

#[test]
fn the_smallest_bodies_are_enough() {
    keeps(|_| {});
    keeps(set("input", json!("hi")));
    breaks("model", "Missing required parameter: 'model'", |body| {
        body.as_object_mut().expect("an object").remove("model");
    });
    breaks("input", "must be provided", set("input", json!(null)));
    breaks("input", "empty array", set("input", json!([])));
    breaks("input", "expected one of a string", set("input", json!(1)));
}

#[test]
fn moved_parameters_are_named() {
    breaks("messages", "has moved to 'input'", set("messages", json!([])));
    breaks("max_tokens", "has moved to 'max_output_tokens'", set("max_tokens", json!(100)));
    breaks("response_format", "has moved to 'text.format'", set("response_format", json!({})));
    breaks("stop", "Unknown parameter: 'stop'", set("stop", json!("x")));
    breaks("seed", "Unknown parameter: 'seed'", set("seed", json!(1)));
}

#[test]
fn numbers_have_their_ranges() {
    keeps(set("max_output_tokens", json!(16)));
    breaks("max_output_tokens", ">= 16, but got 15", set("max_output_tokens", json!(15)));
    keeps(|body| {
        body["model"] = json!("gpt-4o");
        body["temperature"] = json!(2);
    });
    breaks("temperature", "<= 2", set("temperature", json!(2.1)));
    breaks("top_p", "a decimal", set("top_p", json!("1")));
    breaks("stream", "a boolean", set("stream", json!(1)));
    breaks("truncation", "'disabled'", set("truncation", json!("on")));
    breaks("stream_options", "only allowed when 'stream'", set("stream_options", json!({})));
    breaks("include[0]", "Supported values", set("include", json!(["everything"])));
}

// openai.md A.6: the rules that Chat Completions has too.
#[test]
fn reasoning_and_sampling_depend_on_the_model() {
    let with = |model: &'static str, key: &'static str, value: Value| {
        move |body: &mut Value| {
            body["model"] = json!(model);
            body[key] = value;
        }
    };
    keeps(with("gpt-5.6", "reasoning", json!({"effort": "none"})));
    keeps(with("gpt-4o", "reasoning", json!(null)));
    breaks(
        "reasoning.effort",
        "'reasoning.effort' is not supported with this model",
        with("gpt-4o", "reasoning", json!({"effort": "low"})),
    );
    breaks("reasoning.effort", "Invalid value: 'none'", with("o3", "reasoning", json!({"effort": "none"})));
    breaks(
        "reasoning.effort",
        "Invalid value: 'minimal'",
        with("gpt-5.6", "reasoning", json!({"effort": "minimal"})),
    );
    breaks("temperature", "not supported with this model", with("gpt-5", "temperature", json!(0.5)));
    keeps(with("gpt-5.1", "temperature", json!(0.5)));
    keeps(with("mock-model", "temperature", json!(0.5)));
    breaks(
        "include",
        "Encrypted content is not supported",
        with("gpt-4o", "include", json!(["reasoning.encrypted_content"])),
    );
    keeps(with("gpt-5.1", "include", json!(["reasoning.encrypted_content"])));
}

// openai.md B.5
#[test]
fn output_formats_are_flat() {
    let format = |format: Value| set("text", json!({"format": format}));
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    keeps(format(json!({"type": "text"})));
    keeps(format(json!({"type": "json_schema", "name": "Out", "schema": schema, "strict": true})));
    breaks(
        "text.format.name",
        "Missing",
        format(json!({"type": "json_schema", "json_schema": {"name": "Out", "schema": schema}})),
    );
    breaks(
        "text.format.schema",
        "additionalProperties",
        format(json!({"type": "json_schema", "name": "Out", "schema": {"type": "object"}, "strict": true})),
    );
    breaks("input", "must contain the word 'json'", format(json!({"type": "json_object"})));
    keeps(|body| {
        body["text"] = json!({"format": {"type": "json_object"}});
        body["input"][0]["content"] = json!([{"type": "input_text", "text": "answer in JSON"}]);
    });
    keeps(|body| {
        body["text"] = json!({"format": {"type": "json_object"}});
        body["input"] = json!("JSON please");
    });
}

// openai.md B.7
#[test]
fn the_server_remembers_one_way() {
    keeps(set("previous_response_id", json!("resp_1")));
    keeps(set("conversation", json!({"id": "conv_1"})));
    breaks("previous_response_id", "begins with 'resp'", set("previous_response_id", json!("call_1")));
    breaks("previous_response_id", "Mutually exclusive", |body| {
        body["previous_response_id"] = json!("resp_1");
        body["conversation"] = json!("conv_1");
    });
    keeps(|body| {
        body["previous_response_id"] = json!("resp_1");
        body["input"] = json!([{"type": "function_call_output", "call_id": "a", "output": "1"}]);
    });
    keeps(|body| {
        body["previous_response_id"] = json!("resp_1");
        body["input"] = json!([]);
    });
}
