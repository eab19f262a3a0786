//! The request's own fields (gemini.md 1, 2, 4, 6, 10).

use serde_json::{Value, json};

use super::{ANY, NEW, OLD, VERTEX, breaks, keeps, set};

// gemini.md 1, (a) 12: the real wording.
#[test]
fn unknown_names_are_refused_in_googles_words() {
    breaks(
        ANY,
        "foo",
        "Invalid JSON payload received. Unknown name \"foo\": Cannot find field.",
        set("foo", json!(1)),
    );
    breaks(
        ANY,
        "contents[0].parts[0].type",
        "Unknown name \"type\" at 'contents[0].parts[0]': Cannot find field.",
        |body| body["contents"][0]["parts"][0]["type"] = json!("text"),
    );
    breaks(
        ANY,
        "generation_config.maxTokens",
        "Unknown name \"maxTokens\" at 'generation_config'",
        set("generationConfig", json!({"maxTokens": 1})),
    );
    breaks(ANY, "contents[0].role", "Invalid value at 'contents[0].role' (TYPE_STRING), 42", |body| {
        body["contents"][0]["role"] = json!(42)
    });
    breaks(
        ANY,
        "cached_content",
        "Unknown name \"cached_content\": Proto field is not repeating, cannot start list.",
        set("cached_content", json!([])),
    );
}

#[test]
fn both_spellings_and_nulls_are_taken() {
    keeps(
        ANY,
        set("generation_config", json!({"max_output_tokens": "5", "topP": 1, "stop_sequences": null})),
    );
    keeps(ANY, set("systemInstruction", Value::Null));
}

// gemini.md 13
#[test]
fn platforms_know_their_own_fields() {
    keeps(VERTEX, set("modelArmorConfig", json!({"promptTemplateName": "x"})));
    breaks(NEW, "modelArmorConfig", "Cannot find field", set("modelArmorConfig", json!({})));
    keeps(NEW, set("toolConfig", json!({"includeServerSideToolInvocations": true})));
    breaks(
        VERTEX,
        "tool_config.includeServerSideToolInvocations",
        "Cannot find field",
        set("toolConfig", json!({"includeServerSideToolInvocations": true})),
    );
}

#[test]
fn numbers_have_their_ranges() {
    let config = |key: &'static str, value: Value| {
        move |body: &mut Value| body["generationConfig"] = json!({key: value})
    };
    keeps(ANY, config("temperature", json!(2)));
    breaks(ANY, "generation_config.temperature", "range [0, 2]", config("temperature", json!(2.1)));
    breaks(ANY, "generation_config.top_p", "range [0, 1]", config("topP", json!(-1)));
    breaks(ANY, "generation_config.max_output_tokens", "range [1", config("maxOutputTokens", json!(0)));
    keeps(ANY, config("stopSequences", json!(["a", "b", "c", "d", "e"])));
    breaks(
        ANY,
        "generation_config.stop_sequences",
        "at most 5",
        config("stopSequences", json!(["a", "b", "c", "d", "e", "f"])),
    );
    keeps(OLD, config("candidateCount", json!(2)));
    breaks(
        NEW,
        "generation_config.candidate_count",
        "Multiple candidates",
        config("candidateCount", json!(2)),
    );
}

// gemini.md 4
#[test]
fn thinking_is_steered_as_the_model_wants() {
    let thinking = |config: Value| set("generationConfig", json!({"thinkingConfig": config}));
    let budget = "generation_config.thinking_config.thinking_budget";
    let level = "generation_config.thinking_config.thinking_level";
    keeps(OLD, thinking(json!({"thinkingBudget": 0})));
    keeps(OLD, thinking(json!({"thinkingBudget": -1, "includeThoughts": true})));
    keeps(NEW, thinking(json!({"thinkingLevel": "MINIMAL"})));
    keeps(NEW, thinking(json!({"thinkingLevel": "high"})));
    breaks(ANY, level, "only one of", thinking(json!({"thinkingLevel": "low", "thinkingBudget": 5})));
    breaks(OLD, level, "not supported", thinking(json!({"thinkingLevel": "low"})));
    breaks(OLD, budget, "between 0 and 24576", thinking(json!({"thinkingBudget": 30_000})));
    let pro = "models/gemini-2.5-pro";
    breaks(pro, budget, "only works in thinking mode", thinking(json!({"thinkingBudget": 0})));
    breaks(pro, budget, "between 128 and 32768", thinking(json!({"thinkingBudget": 100})));
    breaks(
        "gemini-3-pro-preview",
        level,
        "level MINIMAL is not",
        thinking(json!({"thinkingLevel": "minimal"})),
    );
    breaks("gemini-3.8-flash", level, "level MINIMAL is not", thinking(json!({"thinkingLevel": "minimal"})));
    let whole = "generation_config.thinking_config";
    breaks(
        "gemini-2.0-flash",
        whole,
        "thinking is not supported",
        thinking(json!({"includeThoughts": true})),
    );
}

// gemini.md 6, (a) 11
#[test]
fn json_output_has_one_schema_and_no_tools_on_old_models() {
    let output = |config: Value| set("generationConfig", config);
    let json_type = "application/json";
    keeps(OLD, output(json!({"responseMimeType": json_type, "responseJsonSchema": {"type": "object"}})));
    keeps(OLD, output(json!({"responseMimeType": json_type, "responseSchema": {"type": "STRING"}})));
    breaks(
        OLD,
        "generation_config.response_json_schema",
        "Only one of",
        output(
            json!({"responseMimeType": json_type, "responseJsonSchema": {}, "responseSchema": {"type": "STRING"}}),
        ),
    );
    breaks(
        OLD,
        "generation_config.response_mime_type",
        "only allowed when",
        output(json!({"responseJsonSchema": {}})),
    );
    breaks(
        OLD,
        "generation_config.response_mime_type",
        "allowed mimetypes",
        output(json!({"responseMimeType": "text/html"})),
    );
    let with_tools = |body: &mut Value| {
        body["tools"] = json!([{"functionDeclarations": [{"name": "f"}]}]);
        body["generationConfig"] = json!({"responseMimeType": json_type});
    };
    keeps(NEW, with_tools);
    breaks(
        OLD,
        "generation_config.response_mime_type",
        "Function calling with a response mime type: 'application/json' is unsupported",
        with_tools,
    );
}

// gemini.md 10, (a) 10
#[test]
fn a_request_with_cached_content_must_not_repeat_it() {
    keeps(ANY, set("cachedContent", json!("cachedContents/a")));
    for (key, value) in [
        ("systemInstruction", json!({"parts": [{"text": "x"}]})),
        ("tools", json!([{"functionDeclarations": [{"name": "f"}]}])),
        ("toolConfig", json!({"functionCallingConfig": {"mode": "AUTO"}})),
    ] {
        breaks(ANY, "cached_content", "CachedContent can not be used with GenerateContent", |body| {
            body["cachedContent"] = json!("cachedContents/a");
            body[key] = value;
        });
    }
    keeps(ANY, |body| {
        body["cachedContent"] = json!("cachedContents/a");
        body["contents"] = json!([{"role": "model", "parts": [{"text": "x"}]}]);
    });
}
