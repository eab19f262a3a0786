//! Content parts (openai.md A.2).

use serde_json::{Value, json};

use super::{breaks, keeps};
use crate::testing::{PDF, base64, png};

/// Sets the parts of the user's message.
fn parts(parts: Value) -> impl FnOnce(&mut Value) {
    move |body| body["messages"][0]["content"] = parts
}

fn image(url: &str) -> impl FnOnce(&mut Value) {
    parts(json!([{"type": "image_url", "image_url": {"url": url, "detail": "auto"}}]))
}

fn file(file: &Value) -> impl FnOnce(&mut Value) {
    parts(json!([{"type": "file", "file": file}]))
}

fn uri(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", base64(bytes))
}

#[test]
fn each_role_has_its_part_types() {
    let text = json!({"type": "text", "text": "x"});
    keeps(parts(json!([text, {"type": "text", "text": ""}])));
    keeps(|body| body["messages"][0] = json!({"role": "system", "content": [text]}));
    keeps(|body| {
        body["messages"][0] = json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]})
    });
    breaks("messages[0].content[0].type", "Invalid value: 'thinking'", parts(json!([{"type": "thinking"}])));
    breaks("messages[0].content[0].type", "Invalid value: 'image_url'", |body| {
        body["messages"][0] = json!({"role": "system", "content": [{"type": "image_url"}]});
    });
    breaks("messages[0].content[0].text", "Missing", parts(json!([{"type": "text"}])));
    breaks("messages[0].content[0].text", "a string", parts(json!([{"type": "text", "text": null}])));
    breaks(
        "messages[0].content[0].extra",
        "Unknown",
        parts(json!([{"type": "text", "text": "x", "extra": 1}])),
    );
}

#[test]
fn tool_messages_hold_text_only() {
    let with = |content: Value| {
        move |body: &mut Value| {
            body["messages"].as_array_mut().expect("an array").extend([
                json!({"role": "assistant", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                ]}),
                json!({"role": "tool", "tool_call_id": "a", "content": content}),
            ]);
        }
    };
    keeps(with(json!([{"type": "text", "text": "x"}])));
    keeps(with(json!("")));
    let image = json!([{"type": "image_url", "image_url": {"url": uri("image/png", &png(1, 1))}}]);
    breaks("messages[2].content[0].type", "Supported values are: 'text'", with(image));
}

#[test]
fn images_are_links_or_data_that_is_what_it_says() {
    let url = "messages[0].content[0].image_url.url";
    keeps(image("https://host/a.png"));
    keeps(image(&uri("image/png", &png(1, 1))));
    keeps(image(&uri("image/gif", b"GIF89a\x01\x00\x01\x00")));
    breaks(url, "Invalid image URL", image("file:///a.png"));
    breaks(url, "Invalid image URL", image("data:image/png,raw"));
    breaks(url, "not valid base64", image("data:image/png;base64,%%%"));
    breaks(url, "not valid base64", image("data:image/png;base64,"));
    breaks(url, "the bytes are 'image/png'", image(&uri("image/jpeg", &png(1, 1))));
    breaks(url, "unsupported image", image(&uri("image/bmp", b"BM")));
    breaks(url, "unsupported image", image(&uri("image/png", PDF)));
    breaks(url, "unsupported image", image(&uri("application/pdf", PDF)));
    breaks("messages[0].content[0].image_url.detail", "Invalid value: 'max'", |body| {
        image("https://h/a.png")(body);
        body["messages"][0]["content"][0]["image_url"]["detail"] = json!("max");
    });
}

#[test]
fn files_are_named_pdfs_or_ids() {
    let data = "messages[0].content[0].file.file_data";
    keeps(file(&json!({"filename": "a.pdf", "file_data": uri("application/pdf", PDF)})));
    keeps(file(&json!({"file_id": "file-1"})));
    breaks(data, "Missing", file(&json!({"filename": "a.pdf"})));
    breaks(
        "messages[0].content[0].file.filename",
        "Missing",
        file(&json!({"file_data": uri("application/pdf", PDF)})),
    );
    breaks(
        "messages[0].content[0].file.filename",
        "empty",
        file(&json!({"filename": " ", "file_data": uri("application/pdf", PDF)})),
    );
    breaks(data, "data URL", file(&json!({"filename": "a.pdf", "file_data": base64(PDF)})));
    breaks(
        data,
        "unsupported MIME type",
        file(&json!({"filename": "a.csv", "file_data": uri("text/csv", b"a,b")})),
    );
    breaks(
        data,
        "not a PDF",
        file(&json!({"filename": "a.pdf", "file_data": uri("application/pdf", b"hello")})),
    );
}

#[test]
fn audio_goes_to_audio_models() {
    let with = |model: &'static str, audio: Value| {
        move |body: &mut Value| {
            body["model"] = json!(model);
            body["messages"][0]["content"] = json!([{"type": "input_audio", "input_audio": audio}]);
        }
    };
    let audio = json!({"data": base64(b"RIFF"), "format": "wav"});
    keeps(with("gpt-4o-audio-preview", audio.clone()));
    breaks("messages[0]", "either text or image_url", with("gpt-4o", audio));
    let data = json!({"data": "data:audio/wav;base64,AAAA", "format": "wav"});
    breaks("messages[0].content[0].input_audio.data", "base64", with("gpt-4o-audio-preview", data));
    let format = json!({"data": "AAAA", "format": "ogg"});
    breaks(
        "messages[0].content[0].input_audio.format",
        "Invalid value: 'ogg'",
        with("gpt-4o-audio-preview", format),
    );
}

#[test]
fn cache_breakpoints_are_explicit() {
    let with =
        |mode: &str| parts(json!([{"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": mode}}]));
    keeps(with("explicit"));
    breaks("messages[0].content[0].prompt_cache_breakpoint.mode", "Invalid value", with("auto"));
}
