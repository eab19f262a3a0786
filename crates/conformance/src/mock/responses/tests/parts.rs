//! Content parts: who may carry what, and that media is what it says (openai.md B.2).

use serde_json::{Value, json};

use super::{breaks, call, keeps};
use crate::testing::{PDF, base64, png};

fn user(part: Value) -> impl FnOnce(&mut Value) {
    move |body| body["input"][0]["content"] = json!([part])
}

#[expect(clippy::needless_pass_by_value, reason = "a borrow would only add noise to the cases below")]
fn output(part: Value) -> impl FnOnce(&mut Value) {
    super::then(json!([call("a"), {"type": "function_call_output", "call_id": "a", "output": [part]}]))
}

fn uri(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", base64(bytes))
}

#[test]
fn roles_have_their_own_parts() {
    let says = |role: &'static str, kind: &'static str| {
        super::then(json!([{"role": role, "content": [{"type": kind, "text": "x"}]}]))
    };
    keeps(says("user", "input_text"));
    keeps(says("system", "input_text"));
    keeps(says("assistant", "output_text"));
    breaks("input[1].content[0].type", "'input_text'. Supported", says("assistant", "input_text"));
    breaks("input[1].content[0].type", "'output_text'. Supported", says("user", "output_text"));
    breaks("input[1].content[0].type", "Invalid value: 'text'", says("user", "text"));
    breaks("input[0].content[0].type", "Invalid value: 'input_audio'", user(json!({"type": "input_audio"})));
    keeps(output(json!({"type": "input_text", "text": "x"})));
}

#[test]
fn images_are_urls_as_plain_strings() {
    let image = |url: Value| user(json!({"type": "input_image", "image_url": url}));
    let path = "input[0].content[0].image_url";
    keeps(image(json!("https://host/a.png")));
    keeps(image(json!(uri("image/png", &png(2, 2)))));
    keeps(output(
        json!({"type": "input_image", "image_url": uri("image/png", &png(2, 2)), "detail": "auto"}),
    ));
    breaks(path, "expected an image URL, but got an object", image(json!({"url": "https://host/a.png"})));
    breaks(path, "Invalid image URL", image(json!("a.png")));
    breaks(path, "unsupported image", image(json!(uri("image/tiff", &png(2, 2)))));
    breaks(path, "the bytes are 'image/png'", image(json!(uri("image/jpeg", &png(2, 2)))));
    breaks(path, "not valid base64", image(json!("data:image/png;base64,%%")));
    breaks(
        "input[0].content[0]",
        "needs one of 'image_url', 'file_id'",
        user(json!({"type": "input_image"})),
    );
}

// D 31; the wording of the MIME type's refusal is recorded.
#[test]
fn files_come_one_way() {
    let file = |members: Value| {
        let mut part = json!({"type": "input_file"});
        part.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
        user(part)
    };
    let pdf = uri("application/pdf", PDF);
    let data = "input[0].content[0].file_data";
    keeps(file(json!({"filename": "a.pdf", "file_data": pdf})));
    keeps(file(json!({"filename": "a.csv", "file_data": uri("text/csv", b"a,b")})));
    keeps(file(json!({"file_url": "https://host/a.pdf"})));
    keeps(file(json!({"file_url": "https://mp3.host/get?name=a.mp3"})));
    breaks("input", "not supported. Please try again", file(json!({"file_url": "https://host/a.MP3?b=c"})));
    keeps(file(json!({"file_id": "file-1"})));
    breaks("input[0].content[0].filename", "Missing", file(json!({"file_data": pdf})));
    breaks(data, "valid file MIME type", file(json!({"filename": "a.pdf", "file_data": base64(PDF)})));
    breaks(
        data,
        "but got unsupported MIME type 'audio/mpeg'",
        file(json!({"filename": "a.mp3", "file_data": uri("audio/mpeg", b"x")})),
    );
    breaks(data, "not a PDF", file(json!({"filename": "a.pdf", "file_data": uri("application/pdf", b"x")})));
    breaks(
        "input[0].content[0].filename",
        "Mutually exclusive parameters",
        file(json!({"filename": "a.pdf", "file_url": "https://host/a.pdf"})),
    );
    breaks(
        "input[0].content[0]",
        "only providing one of: 'file_data', 'file_url', 'file_id'",
        file(json!({"filename": "a.pdf", "file_data": pdf, "file_id": "file-1"})),
    );
    breaks("input[0].content[0].file_url", "http(s) URL", file(json!({"file_url": "gs://a"})));
}
