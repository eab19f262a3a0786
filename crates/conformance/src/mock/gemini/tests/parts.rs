//! Parts: one data field each, media that is what it says (gemini.md 3, 12).

use serde_json::{Value, json};

use super::{ANY, NEW, OLD, VERTEX, breaks, keeps, set, then};
use crate::testing::{PDF, base64, png};

fn part(part: Value) -> impl FnOnce(&mut Value) {
    move |body| body["contents"][0]["parts"] = json!([{"text": "see"}, part])
}

fn inline(media_type: &str, bytes: &[u8]) -> Value {
    json!({"inlineData": {"mimeType": media_type, "data": base64(bytes)}})
}

#[test]
fn a_part_has_one_data_field() {
    let at = "contents[0].parts[1]";
    keeps(ANY, part(json!({"text": "x", "thought": false, "inlineData": null})));
    breaks(
        ANY,
        at,
        "oneof field 'data' is already set. Cannot set 'inline_data'",
        part(json!({
            "text": "x", "inlineData": {"mimeType": "image/png", "data": base64(png(1, 1))},
        })),
    );
    breaks(ANY, "contents[0].parts[1].data", "required oneof field 'data'", part(json!({"thought": true})));
}

#[test]
fn a_content_says_something() {
    let blank = |parts: Value| set("contents", json!([{"role": "user", "parts": parts}]));
    breaks(ANY, "contents[0].parts", "at least one parts field", blank(json!([{"text": ""}])));
    breaks(
        ANY,
        "contents[0].parts",
        "at least one parts field",
        blank(json!([{"text": " \n"}, {"text": ""}])),
    );
    keeps(ANY, blank(json!([{"text": ""}, {"text": "x"}])));
    // gemini.md 4 4
    keeps(ANY, then(json!([{"role": "model", "parts": [{"text": "", "thoughtSignature": "c2ln"}]}])));
}

#[test]
fn the_system_instruction_is_text() {
    keeps(ANY, set("systemInstruction", json!({"parts": [{"text": "x"}]})));
    breaks(
        ANY,
        "system_instruction.parts[0]",
        "must be text",
        set("systemInstruction", json!({"parts": [inline("image/png", &png(1, 1))]})),
    );
    breaks(
        ANY,
        "system_instruction.parts",
        "must not be empty",
        set("systemInstruction", json!({"parts": []})),
    );
}

#[test]
fn media_is_of_a_known_type_and_what_it_says() {
    let data = "contents[0].parts[1].inline_data.data";
    let kind = "contents[0].parts[1].inline_data.mime_type";
    keeps(ANY, part(inline("image/png", &png(2, 2))));
    keeps(ANY, part(inline("application/pdf", PDF)));
    keeps(ANY, part(inline("audio/mpeg", b"x")));
    keeps(ANY, part(json!({"inlineData": {"mimeType": "text/plain", "data": "-_8"}})));
    breaks(ANY, kind, "Unsupported MIME type: image/gif", part(inline("image/gif", b"GIF89a")));
    let office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    breaks(ANY, kind, "Unsupported MIME type", part(inline(office, b"PK")));
    breaks(ANY, kind, "must be specified", part(json!({"inlineData": {"data": "AAAA"}})));
    breaks(ANY, data, "Unable to process input image", part(inline("image/png", b"x")));
    breaks(ANY, data, "no pages", part(inline("application/pdf", b"x")));
    breaks(ANY, data, "is empty", part(inline("text/plain", b"")));
    breaks(
        ANY,
        data,
        "(TYPE_BYTES), Base64 decoding failed",
        part(json!({"inlineData": {"mimeType": "image/png", "data": "data:image/png;base64,AA=="}})),
    );
}

#[test]
fn files_lie_where_the_platform_reaches_them() {
    let file = |uri: &str| part(json!({"fileData": {"mimeType": "application/pdf", "fileUri": uri}}));
    for model in [NEW, VERTEX] {
        keeps(model, file("https://host/a.pdf"));
        breaks(model, "contents[0].parts[1].file_data.file_uri", "Unsupported file URI", file("a.pdf"));
    }
    keeps(VERTEX, file("gs://bucket/a.pdf"));
    breaks(NEW, "contents[0].parts[1].file_data.file_uri", "Unsupported file URI", file("gs://bucket/a.pdf"));
    breaks(NEW, "contents[0].parts[1].file_data.file_uri", "Unsupported file URI", file("http://host/a.pdf"));
    let first = "models/gemini-2.0-flash";
    breaks(
        first,
        "contents[0].parts[1].file_data.file_uri",
        "Unsupported file URI",
        file("https://host/a.pdf"),
    );
    keeps(first, file("https://generativelanguage.googleapis.com/v1beta/files/a"));
    let untyped = || part(json!({"fileData": {"fileUri": "https://host/a"}}));
    keeps(NEW, untyped());
    breaks(VERTEX, "contents[0].parts[1].file_data.mime_type", "must be specified", untyped());
}

// gemini.md 3
#[test]
fn function_responses_hold_an_object_and_on_new_models_media() {
    let respond = |response: Value| {
        then(json!([
            {"role": "model", "parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [{"functionResponse": response}]},
        ]))
    };
    let at = "contents[2].parts[0].function_response";
    keeps(OLD, respond(json!({"name": "f", "response": {"output": "x"}})));
    breaks(
        OLD,
        &format!("{at}.response"),
        "(type.googleapis.com/google.protobuf.Struct), \"x\"",
        respond(json!({"name": "f", "response": "x"})),
    );
    breaks(OLD, &format!("{at}.response"), "must be specified", respond(json!({"name": "f"})));
    breaks(OLD, &format!("{at}.name"), "cannot be empty", respond(json!({"response": {}})));
    let with = |part: Value| respond(json!({"name": "f", "response": {}, "parts": [part]}));
    keeps(NEW, with(inline("image/png", &png(1, 1))));
    keeps(NEW, with(inline("application/pdf", PDF)));
    breaks(
        OLD,
        &format!("{at}.parts"),
        "not supported for model gemini-2.5-flash",
        with(inline("image/png", &png(1, 1))),
    );
    breaks(
        NEW,
        &format!("{at}.parts[0].inline_data.mime_type"),
        "Unsupported MIME type: audio/wav",
        with(inline("audio/wav", b"x")),
    );
    let file = json!({"fileData": {"mimeType": "image/png", "fileUri": "https://host/a.png"}});
    keeps(VERTEX, with(file.clone()));
    breaks(NEW, &format!("{at}.parts[0].fileData"), "Cannot find field", with(file));
    breaks(NEW, &format!("{at}.parts[0].data"), "required oneof", with(json!({})));
    breaks(NEW, &format!("{at}.parts[0].text"), "Cannot find field", with(json!({"text": "x"})));
}
