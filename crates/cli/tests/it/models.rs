//! `attache models --refresh`: lists as servers send them, and a file that says of unknown models what their server says.
use std::process::Output;

use serde_json::{Value, json};
use wiremock::matchers::{body_json, header, method, path, query_param, query_param_is_missing};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::common::attache;

/// Runs the command against a server, with one variable.
async fn refreshed(server: &MockServer, base: &str, key: (&str, &str), arguments: &[&str]) -> Output {
    let url = format!("{}{base}", server.uri());
    let mut all: Vec<String> =
        ["models", "--base-url", &url].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
    all.push("--json".to_owned());
    let (name, value) = (key.0.to_owned(), key.1.to_owned());
    tokio::task::spawn_blocking(move || {
        let arguments: Vec<&str> = all.iter().map(String::as_str).collect();
        attache(&arguments).env(name, value).env("AWS_REGION", "us-east-1").output().unwrap()
    })
    .await
    .unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The command's knowledge of a model with a file that it wrote.
fn known(file: &str, model: &str) -> Value {
    let output = attache(&["models", "--capabilities", file, model, "--json"]).output().unwrap();
    let rows = lines(&output);
    let row = rows.iter().find(|row| row["id"] == model).unwrap_or_else(|| panic!("{rows:?}"));
    row["capabilities"].clone()
}

/// A list at a path, for who shows this key.
fn list(at: &str, key: &str, body: &Value) -> Mock {
    let given = Mock::given(method("GET")).and(path(at)).and(header("authorization", key));
    given.respond_with(ResponseTemplate::new(200).set_body_json(body))
}

// OpenRouter says most: windows, what is shown, and what is taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_with_abilities_fills_what_the_table_does_not_know() {
    let server = MockServer::start().await;
    let model = |id: &str, inputs: Value, parameters: Value| {
        json!({"id": id, "canonical_slug": id, "name": id, "created": 1_760_000_000, "context_length": 262_144,
            "architecture": {"modality": "text->text", "input_modalities": inputs, "output_modalities": ["text"],
                "tokenizer": "Other", "instruct_type": null},
            "pricing": {"prompt": "0.0000002", "completion": "0.000001"},
            "top_provider": {"context_length": 262_144, "max_completion_tokens": 32_768, "is_moderated": false},
            "per_request_limits": null, "supported_parameters": parameters})
    };
    let taken =
        json!(["max_tokens", "response_format", "structured_outputs", "temperature", "tool_choice", "tools"]);
    let body = json!({"data": [
        model("acme/seer-1", json!(["text", "image", "file"]), taken),
        model("acme/scribe-1", json!(["text"]), json!(["max_tokens", "temperature"])),
    ]});
    list("/api/v1/models", "Bearer sk-or", &body).mount(&server).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openrouter.toml");
    let file = file.to_str().unwrap();
    let arguments = ["--refresh", "openrouter", "--save", file];
    let output = refreshed(&server, "/api/v1", ("OPENROUTER_API_KEY", "sk-or"), &arguments).await;
    let models = lines(&output);
    assert_eq!((models.len(), &models[0]["id"]), (2, &json!("openrouter/acme/seer-1")));
    assert_eq!(models[0]["has_row"], json!(false));

    let seer = known(file, "openrouter/acme/seer-1");
    assert_eq!((&seer["context_window"], &seer["max_output_tokens"]), (&json!(262_144), &json!(32_768)));
    assert_eq!((&seer["tools"], &seer["structured_output"]), (&json!(true), &json!("json_schema")));
    let media = seer["user"]["media"].to_string();
    assert!(media.contains("image/png") && media.contains("application/pdf"), "{media}");
    let scribe = known(file, "openrouter/acme/scribe-1");
    assert_eq!((&scribe["tools"], &scribe["structured_output"]), (&json!(false), &json!("none")));
    assert!(!scribe["user"]["media"].to_string().contains("image"), "{scribe}");

    // A file of ours is written again, another is not.
    let again = refreshed(&server, "/api/v1", ("OPENROUTER_API_KEY", "sk-or"), &arguments).await;
    assert!(again.status.success());
    std::fs::write(file, "[openrouter]\n").unwrap();
    let refused = refreshed(&server, "/api/v1", ("OPENROUTER_API_KEY", "sk-or"), &arguments).await;
    assert_eq!(refused.status.code(), Some(3));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "[openrouter]\n");
}

// OpenAI says nothing but names. The table's knowledge stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_names_adds_nothing() {
    let server = MockServer::start().await;
    let model =
        |id: &str| json!({"id": id, "object": "model", "created": 1_686_935_002, "owned_by": "openai"});
    let body = json!({"object": "list", "data": [model("gpt-5.1"), model("a-model-of-tomorrow")]});
    list("/v1/models", "Bearer sk-1", &body).mount(&server).await;
    let models =
        lines(&refreshed(&server, "/v1", ("OPENAI_API_KEY", "sk-1"), &["--refresh", "openai"]).await);
    let rows: Vec<_> = models.iter().map(|model| model["has_row"].clone()).collect();
    assert_eq!(rows, [json!(true), json!(false)]);
    assert!(models.iter().all(|model| model["adds"] == json!({})), "{models:?}");
}

// anthropic.md 14; two pages
#[tokio::test(flavor = "multi_thread")]
async fn pages_are_followed_and_abilities_read() {
    let server = MockServer::start().await;
    let is = |supported: bool| json!({"supported": supported});
    let capabilities = json!({"batch": is(true), "citations": is(true), "image_input": is(true), "pdf_input": is(false),
        "structured_outputs": is(true),
        "effort": {"supported": true, "low": is(true), "medium": is(true), "high": is(true), "max": is(false)},
        "thinking": {"supported": true, "types": {"adaptive": is(true), "enabled": is(false), "disabled": is(true)}}});
    let model = |id: &str, capabilities: Value| {
        json!({"type": "model", "id": id, "display_name": id, "created_at": "2026-10-01T00:00:00Z",
            "max_input_tokens": 500_000, "max_tokens": 64_000, "capabilities": capabilities})
    };
    let pages = [
        json!({"data": [model("claude-sonnet-4-5", Value::Null)], "has_more": true, "first_id": "claude-sonnet-4-5",
            "last_id": "claude-sonnet-4-5"}),
        json!({"data": [model("poet-1", capabilities)], "has_more": false, "first_id": "poet-1", "last_id": "poet-1"}),
    ];
    let [first, second] = pages;
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .and(header("x-api-key", "sk-ant"))
        .and(header("anthropic-version", "2023-06-01"))
        .and(query_param_is_missing("after_id"))
        .respond_with(ResponseTemplate::new(200).set_body_json(first))
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .and(query_param("after_id", "claude-sonnet-4-5"))
        .respond_with(ResponseTemplate::new(200).set_body_json(second))
        .mount(&server)
        .await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("anthropic.toml");
    let file = file.to_str().unwrap();
    let arguments = ["--refresh", "anthropic", "--save", file];
    let models = lines(&refreshed(&server, "", ("ANTHROPIC_API_KEY", "sk-ant"), &arguments).await);
    assert_eq!((models.len(), &models[0]["adds"]), (2, &json!({})), "a row of the table keeps what it knows");
    let poet = known(file, "anthropic/poet-1");
    assert_eq!((&poet["context_window"], &poet["max_output_tokens"]), (&json!(500_000), &json!(64_000)));
    assert_eq!(poet["reasoning"], json!(["adaptive", "off"]));
    assert_eq!(poet["efforts"], json!(["low", "medium", "high"]));
    let media = poet["user"]["media"].to_string();
    assert!(media.contains("image/png") && !media.contains("application/pdf"), "{media}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gemini_lists_what_answers() {
    let server = MockServer::start().await;
    let model = |name: &str, methods: Value| {
        json!({"name": name, "version": "001", "displayName": name, "description": "…", "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536, "supportedGenerationMethods": methods, "temperature": 1, "topP": 0.95,
            "topK": 64, "maxTemperature": 2, "thinking": true})
    };
    let pages = [
        json!({"models": [model("models/gemini-9-ultra", json!(["generateContent", "countTokens"]))],
            "nextPageToken": "Ch+/=x"}),
        json!({"models": [model("models/gemini-embedding-001", json!(["embedContent"]))]}),
    ];
    for (page, token) in pages.iter().zip([None, Some("Ch+/=x")]) {
        let given =
            Mock::given(method("GET")).and(path("/v1beta/models")).and(header("x-goog-api-key", "AIza"));
        let given = match token {
            None => given.and(query_param_is_missing("pageToken")),
            Some(token) => given.and(query_param("pageToken", token)),
        };
        given.respond_with(ResponseTemplate::new(200).set_body_json(page)).mount(&server).await;
    }
    let models = lines(&refreshed(&server, "", ("GEMINI_API_KEY", "AIza"), &["--refresh", "gemini"]).await);
    assert_eq!(models.len(), 1);
    assert_eq!(models[0]["id"], json!("gemini/gemini-9-ultra"));
    assert_eq!(models[0]["said"], json!("window 1048576, reply 65536"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bedrock_lists_its_foundation_models() {
    let server = MockServer::start().await;
    let model = |id: &str, inputs: Value, outputs: Value| {
        json!({"modelArn": format!("arn:aws:bedrock:us-east-1::foundation-model/{id}"), "modelId": id, "modelName": id,
            "providerName": "Acme", "inputModalities": inputs, "outputModalities": outputs,
            "responseStreamingSupported": true, "customizationsSupported": [],
            "inferenceTypesSupported": ["ON_DEMAND"], "modelLifecycle": {"status": "ACTIVE"}})
    };
    let body = json!({"modelSummaries": [
        model("acme.talker-v1:0", json!(["TEXT"]), json!(["TEXT"])),
        model("acme.painter-v1:0", json!(["TEXT"]), json!(["IMAGE"])),
    ]});
    list("/foundation-models", "Bearer ABSK", &body).mount(&server).await;
    let arguments = ["--refresh", "bedrock"];
    let models = lines(&refreshed(&server, "", ("AWS_BEARER_TOKEN_BEDROCK", "ABSK"), &arguments).await);
    let ids: Vec<_> = models.iter().map(|model| model["id"].clone()).collect();
    assert_eq!(ids, [json!("bedrock/acme.talker-v1:0")]);
}

// openai.md C.13
#[tokio::test(flavor = "multi_thread")]
async fn ollama_is_asked_about_each_of_its_models() {
    let server = MockServer::start().await;
    let tag = |name: &str| {
        json!({"name": name, "model": name, "modified_at": "2026-11-01T10:00:00Z", "size": 2_600_000_000_u64,
            "digest": "sha256:0", "details": {"format": "gguf", "family": "qwen3", "parameter_size": "4B"}})
    };
    list("/api/tags", "Bearer k", &json!({"models": [tag("seer:4b"), tag("gone:1b")]})).mount(&server).await;
    let shown = json!({"modelfile": "FROM x", "parameters": "num_ctx                        16384\nstop \"<|im_end|>\"",
        "template": "{{ .Prompt }}", "details": {"family": "qwen3"},
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 262_144},
        "capabilities": ["completion", "tools", "vision"]});
    Mock::given(method("POST"))
        .and(path("/api/show"))
        .and(body_json(json!({"model": "seer:4b"})))
        .respond_with(ResponseTemplate::new(200).set_body_json(shown))
        .mount(&server)
        .await;
    Mock::given(method("POST"))
        .and(path("/api/show"))
        .and(body_json(json!({"model": "gone:1b"})))
        .respond_with(ResponseTemplate::new(404).set_body_json(json!({"error": "model 'gone:1b' not found"})))
        .mount(&server)
        .await;
    let models = lines(&refreshed(&server, "", ("OLLAMA_API_KEY", "k"), &["--refresh", "ollama"]).await);
    let said: Vec<_> = models.iter().map(|model| model["said"].clone()).collect();
    // The window is the one that the server sets: what is known is asked for, and memory reserved for it.
    assert_eq!(said, [json!("window 16384, images, tools"), json!("")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_without_a_list_and_an_error_are_told_apart() {
    let server = MockServer::start().await;
    let none = refreshed(&server, "", ("X", "x"), &["--refresh", "offline"]).await;
    assert_eq!(none.status.code(), Some(3));
    let unknown = refreshed(&server, "", ("X", "x"), &["--refresh", "opnai"]).await;
    assert_eq!(unknown.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean openai/"));
    let keyless = refreshed(&server, "/v1", ("X", "x"), &["--refresh", "openai"]).await;
    assert_eq!(keyless.status.code(), Some(3));
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(401).set_body_json(
            json!({"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}),
        ))
        .mount(&server)
        .await;
    let refused = refreshed(&server, "/v1", ("OPENAI_API_KEY", "sk-wrong"), &["--refresh", "openai"]).await;
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("check it") && !told.contains("sk-wrong"), "{told}");
}

/// A server whose only model the table does not know, and a file that says what the server says of it.
async fn saved(folder: &std::path::Path) -> (MockServer, String) {
    let server = MockServer::start().await;
    let body = json!({"data": [{"id": "acme/seer-1", "context_length": 262_144}]});
    list("/api/v1/models", "Bearer sk-or", &body).mount(&server).await;
    let file = folder.join("openrouter.toml").to_str().unwrap().to_owned();
    let arguments = ["--refresh", "openrouter", "--save", &file];
    lines(&refreshed(&server, "/api/v1", ("OPENROUTER_API_KEY", "sk-or"), &arguments).await);
    assert_eq!(known(&file, "openrouter/acme/seer-1")["context_window"], json!(262_144));
    (server, file)
}

// All of its rows are known then, so it would be written without them.
#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_capabilities_is_not_saved_to() {
    let folder = tempfile::tempdir().unwrap();
    let (server, file) = saved(folder.path()).await;
    let before = std::fs::read_to_string(&file).unwrap();
    let other = folder.path().join(".").join("..").join(folder.path().file_name().unwrap());
    let other = other.join("openrouter.toml").to_str().unwrap().to_owned();
    for given in [&file, &other] {
        let arguments = ["--refresh", "openrouter", "--capabilities", given, "--save", &file];
        let refused = refreshed(&server, "/api/v1", ("OPENROUTER_API_KEY", "sk-or"), &arguments).await;
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains("--capabilities"), "{told}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 1, "nothing is asked before");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_where_no_model_adds_anything() {
    let folder = tempfile::tempdir().unwrap();
    let (server, file) = saved(folder.path()).await;
    let before = std::fs::read_to_string(&file).unwrap();
    let fresh = folder.path().join("fresh.toml").to_str().unwrap().to_owned();
    let empty = MockServer::start().await;
    list("/api/v1/models", "Bearer sk-or", &json!({"data": []})).mount(&empty).await;
    for (server, more, file) in [
        (&server, ["--capabilities", &file].as_slice(), &fresh),
        (&server, ["no-such-model"].as_slice(), &file),
        (&empty, [].as_slice(), &file),
        (&empty, [].as_slice(), &fresh),
    ] {
        let arguments = [["--refresh", "openrouter", "--save", file].as_slice(), more].concat();
        let done = refreshed(server, "/api/v1", ("OPENROUTER_API_KEY", "sk-or"), &arguments).await;
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{told}");
        assert!(told.contains("nothing to add") && !told.contains("saved to"), "{told}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    assert!(!std::path::Path::new(&fresh).exists());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_replaced_at_once_and_nothing_is_left_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let (server, file) = saved(folder.path()).await;
    // A reader of the old file still reads all of it, and a link stays one.
    let mut old = std::fs::File::open(&file).unwrap();
    std::fs::create_dir(folder.path().join("links")).unwrap();
    let link = folder.path().join("links").join("link.toml");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let arguments = ["--refresh", "openrouter", "--save", link.to_str().unwrap()];
    lines(&refreshed(&server, "/api/v1", ("OPENROUTER_API_KEY", "sk-or"), &arguments).await);
    std::fs::write(&file, "").unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut old, &mut text).unwrap();
    assert!(text.contains("seer-1"), "{text}");
    assert!(link.is_symlink());
    let names = |folder: &std::path::Path| std::fs::read_dir(folder).unwrap().count();
    assert_eq!((names(folder.path()), names(&folder.path().join("links"))), (2, 1));
}
