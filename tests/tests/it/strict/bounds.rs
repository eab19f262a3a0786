//! The bounds of APIs over all strict schemas of one request.

use std::sync::Arc;

use attache_conformance::{MockProvider, Reply};
use attache_core::{ModelSettings, ToolDefinition, ToolSet, Transcript};
use attache_tests::{Api, STRICT_APIS};
use serde_json::{Value, json};

use super::{asking, format, model, tool_in};

// anthropic.md 6: at most 20 strict tools
#[tokio::test]
async fn more_strict_tools_than_an_api_takes_are_sent_without() {
    for api in STRICT_APIS {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let tools = (0..25).map(|at| {
            let schema =
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
            ToolDefinition::new(format!("tool_{at}"), "", schema).with_strict(true)
        });
        let tools = ToolSet::new(tools).unwrap().with_validation(true);
        let model = model(api, &mock);
        let loosened = model.check_tools(&tools, &ModelSettings::new()).loosened;
        let most = matches!(api, Api::Anthropic | Api::Bedrock);
        assert_eq!(loosened.len(), if most { 5 } else { 0 }, "{}", api.name());
        model.complete(asking(ModelSettings::new()).with_tools(tools)).await.unwrap();
        assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
    }
}

// anthropic.md 6: properties that may be left out, and places of several types, over all tools and the answer
#[tokio::test]
async fn strict_tools_and_an_answer_share_the_bounds_of_a_request() {
    let tool = |name: &str, optional: usize, unions: usize| {
        let plain = (0..optional).map(|at| (format!("p{at}"), json!({"type": "string"})));
        let several = (0..unions).map(|at| (format!("u{at}"), json!({"type": ["string", "integer"]})));
        let required: Vec<String> = (0..unions).map(|at| format!("u{at}")).collect();
        let properties: serde_json::Map<String, Value> = plain.chain(several).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        ToolDefinition::new(name, "", schema).with_strict(true)
    };
    // Tools, an answer, and the number of those that are strict at Claude, in the order of the tools.
    let small = || tool("small", 2, 2);
    let cases = [
        (vec![tool("a", 8, 0), tool("b", 8, 0), tool("c", 8, 0), small()], None, vec!["a", "b", "small"]),
        (vec![tool("a", 0, 8), tool("b", 0, 9), small()], None, vec!["a", "small"]),
        (vec![tool("a", 8, 0), tool("b", 9, 0), small()], Some(tool("answer", 6, 0)), vec!["a", "small"]),
        (vec![tool("a", 0, 10), small()], Some(tool("answer", 0, 8)), vec!["small"]),
    ];
    for api in [Api::Anthropic, Api::Bedrock] {
        let mock = MockProvider::start().await.unwrap();
        let model = model(api, &mock);
        for (tools, answer, expected) in cases.clone() {
            mock.respond_with(|_| Reply::new().text("{}"));
            let config =
                answer.map_or_else(ModelSettings::new, |answer| format(answer.input_schema().clone()));
            let tools = ToolSet::new(tools).unwrap().with_validation(true);
            model.complete(asking(config).with_tools(tools)).await.unwrap();
            assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
            let body: Value = serde_json::from_slice(&mock.requests().pop().unwrap().body).unwrap();
            let sent = body.pointer("/tools").or_else(|| body.pointer("/toolConfig/tools")).unwrap();
            let strict: Vec<&str> = (sent.as_array().unwrap().iter())
                .map(|tool| tool.get("toolSpec").unwrap_or(tool))
                .filter(|tool| tool["strict"] == true)
                .map(|tool| tool["name"].as_str().unwrap())
                .collect();
            assert_eq!(strict, expected, "{}", api.name());
        }
        // One conversation, with an answer that is asked for last: the tools are said again.
        let transcript = Transcript::default();
        let tools = ToolSet::new([tool("a", 12, 0)]).unwrap().with_validation(true);
        let tools = Arc::new(tools);
        for (config, strict) in [
            (ModelSettings::new(), true),
            (format(tool("answer", 12, 0).input_schema().clone()), false),
            (ModelSettings::new(), true),
        ] {
            let request = asking(ModelSettings::new()).with_tools(Arc::clone(&tools));
            let request = request.with_transcript(transcript.clone());
            let encoded = api.codec().encode(attache_transport::Ask::new(&request, &config, None)).unwrap();
            let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
            assert_eq!(tool_in(api, &body).1, strict, "{}", api.name());
        }
    }
}
