//! An agent's answer as a value of a type, in each mode, on every API, beside tools and without.

use std::collections::BTreeMap;

use attache::agent::{OutputMode, TypedItem};
use attache::{Agent, Effect, tool_fn};
use attache_conformance::{MockProvider, Reply};
use attache_core::ModelSettings;
use attache_tests::{Api, STRICT_APIS};
use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Code, Folder, Invoice, Line, Payment, folder, invoice, schema_in, written_by};

/// The arguments of the output tool, as the API takes its schema.
fn output_tool(api: Api, body: &Value) -> Value {
    let tools = match api {
        Api::Gemini => &body["tools"][0]["functionDeclarations"],
        Api::Bedrock => &body["toolConfig"]["tools"],
        _ => &body["tools"],
    };
    let is_output = |tool: &&Value| tool.to_string().contains("\"final_answer\"");
    let tool =
        tools.as_array().unwrap().iter().find(is_output).unwrap_or_else(|| panic!("{}: {body}", api.name()));
    match api {
        Api::OpenAi => &tool["parameters"],
        Api::OpenAiChat | Api::Cohere | Api::Ollama => &tool["function"]["parameters"],
        Api::Anthropic => &tool["input_schema"],
        Api::Gemini => &tool["parametersJsonSchema"],
        Api::Bedrock => &tool["toolSpec"]["inputSchema"]["json"],
    }
    .clone()
}

/// An agent of a provider that gives `value` in the form that it is asked for, after a call of a tool.
async fn typed<T>(api: Api, mode: OutputMode, has_tools: bool, streaming: bool, value: &Value)
where
    T: JsonSchema + DeserializeOwned + Serialize + Send + 'static,
{
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with({
        let value = value.clone();
        move |request| {
            let body = request.json();
            if has_tools && !api.messages(body).to_string().contains("EUR 900") {
                return Reply::new().call("call_1", "rent", json!({}));
            }
            match mode {
                OutputMode::Tool => {
                    let schema = output_tool(api, body);
                    let arguments =
                        written_by(&schema, &value).or_else(|| written_by(&schema, &json!({"value": value})));
                    let arguments = arguments.unwrap_or_else(|| panic!("{}: {schema}", api.name()));
                    Reply::new().call("call_2", "final_answer", arguments)
                }
                OutputMode::Native => {
                    let written = written_by(&schema_in(api, body), &value).unwrap();
                    Reply::new().text(written.to_string())
                }
                _ => Reply::new().text(format!("So:\n```json\n{value}\n```")),
            }
        }
    });
    let model = api.connected(mock.url(), ModelSettings::new()).unwrap();
    let mut agent = Agent::builder(model).streaming(streaming);
    if has_tools {
        agent = agent.tool(tool_fn("rent", "The rent.", || Ok("EUR 900")).with_effect(Effect::Read));
    }
    let run = agent.build().unwrap().run("Read the invoice.").typed::<T>().with_mode(mode);
    let (mut stream, mut done) = (run.stream(), None);
    let mut partials = 0;
    while let Some(item) = stream.next().await {
        match item.unwrap_or_else(|error| panic!("{} {mode:?}: {error}: {}", api.name(), error.text())) {
            TypedItem::Partial(_) => partials += 1,
            TypedItem::Done(typed) => done = Some(typed),
            _ => {}
        }
    }
    assert!(mock.violations().is_empty(), "{} {mode:?}: {:?}", api.name(), mock.violations());
    let typed = done.unwrap();
    assert_eq!(serde_json::to_value(&typed.value).unwrap(), *value, "{} {mode:?}", api.name());
    assert_eq!(mock.requests().len(), if has_tools { 2 } else { 1 }, "{} {mode:?}", api.name());
    assert!(partials > 0 || !value.is_object(), "{} {mode:?}", api.name());
}

async fn in_each_mode<T>(value: &Value)
where
    T: JsonSchema + DeserializeOwned + Serialize + Send + 'static,
{
    for api in STRICT_APIS {
        for mode in [OutputMode::Native, OutputMode::Tool, OutputMode::Prompted] {
            for (has_tools, streaming) in [(false, true), (true, false)] {
                typed::<T>(api, mode, has_tools, streaming, value).await;
            }
        }
    }
}

#[tokio::test]
async fn a_typed_answer_comes_from_every_api_in_each_mode() {
    in_each_mode::<Invoice>(&invoice()).await;
}

#[tokio::test]
async fn a_typed_answer_that_is_no_object_comes_from_every_api_in_each_mode() {
    in_each_mode::<Vec<Line>>(&invoice()["lines"]).await;
    in_each_mode::<BTreeMap<String, f64>>(&json!({"a": 1.5})).await;
    in_each_mode::<Payment>(&json!("Open")).await;
    in_each_mode::<Code>(&json!("K")).await;
}

// anthropic.md 6: what the API does not enforce, a tool takes that is held to its schema here.
#[tokio::test]
async fn a_type_that_holds_itself_is_an_answer_on_every_api() {
    for api in STRICT_APIS {
        let mode =
            if matches!(api, Api::Anthropic | Api::Bedrock) { OutputMode::Tool } else { OutputMode::Native };
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(move |request| match mode {
            OutputMode::Tool => {
                let schema = output_tool(api, request.json());
                Reply::new().call(
                    "call_1",
                    "final_answer",
                    written_by(&schema, &folder()).unwrap_or_else(folder),
                )
            }
            _ => {
                Reply::new().text(written_by(&schema_in(api, request.json()), &folder()).unwrap().to_string())
            }
        });
        let model = api.connected(mock.url(), ModelSettings::new()).unwrap();
        let agent = Agent::builder(model).build().unwrap();
        let typed = agent.run("Go.").typed::<Folder>().await.unwrap();
        assert_eq!(serde_json::to_value(&typed.value).unwrap(), folder(), "{}", api.name());
        assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
    }
}
