//! Content blocks (anthropic.md 4, 12).

use serde_json::{Value, json};

use super::{Rules, after_user, assistant, breaks, breaks_with, call, judged, keeps, text, user};
use crate::testing::{PDF, base64, png};

/// Sets the blocks of the user's message.
fn blocks(blocks: Value) -> impl FnOnce(&mut Value) {
    move |body| body["messages"][0]["content"] = blocks
}

fn image(bytes: &[u8]) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64(bytes)}})
}

fn document(source: &Value) -> Value {
    json!({"type": "document", "source": source})
}

fn pdf() -> Value {
    document(&json!({"type": "base64", "media_type": "application/pdf", "data": base64(PDF)}))
}

/// A tool result with this content behind its call.
fn result_with(content: &Value, is_error: bool) -> impl FnOnce(&mut Value) + use<> {
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": is_error});
    after_user(vec![assistant(&[call("t")]), user(&[result])])
}

// anthropic.md (a) 9, 32
#[test]
fn blank_text_follows_the_table() {
    let empty = "text content blocks must be non-empty";
    let blank = "text content blocks must contain non-whitespace text";
    keeps(blocks(json!([text("x"), text(" \n")])));
    keeps(blocks(json!([pdf()])));
    breaks("messages.0.content.0.text", empty, blocks(json!([text("")])));
    breaks("messages.0.content.1.text", empty, blocks(json!([text("x"), text("")])));
    breaks("messages.0.content", blank, blocks(json!([text(" "), text("\t")])));
    breaks("messages.0.content", blank, blocks(json!([text(" "), image(&png(1, 1))])));
    breaks("messages.0.content", empty, blocks(json!("")));
    breaks("messages.0.content", blank, blocks(json!(" ")));
    breaks("messages.0.content.0.text", "cache_control cannot be set", |body| {
        blocks(json!([{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]))(body);
    });
    breaks("messages.1.content", blank, after_user(vec![assistant(&[text(" "), call("t")])]));
    breaks("messages.2.content.0.tool_result.content.0.text", empty, result_with(&json!([text("")]), false));
}

#[test]
fn content_is_never_empty() {
    breaks("messages.0.content", "non-empty content", blocks(json!([])));
    breaks("messages.0.content", "Field required", |body| body["messages"][0] = json!({"role": "user"}));
    breaks("messages.0.content", "valid list", blocks(Value::Null));
    breaks("messages.2.content.0.tool_result.content", "at least 1 item", result_with(&json!([]), false));
    keeps(result_with(&json!(""), false));
    let bare = json!({"type": "tool_result", "tool_use_id": "t"});
    keeps(after_user(vec![assistant(&[call("t")]), user(&[bare])]));
}

#[test]
fn each_place_has_its_block_types() {
    let words = "is not allowed here";
    breaks(
        "messages.0.content.0",
        words,
        blocks(json!([{"type": "thinking", "thinking": "", "signature": "s"}])),
    );
    breaks("messages.0.content.0", words, blocks(json!([call("t")])));
    breaks("messages.0.content.0", words, blocks(json!([{"type": "video"}])));
    breaks("messages.1.content.0", words, after_user(vec![assistant(&[image(&png(1, 1))])]));
    breaks("messages.2.content.0.tool_result.content.0", words, result_with(&json!([call("x")]), false));
    keeps(result_with(&json!([text("a"), image(&png(1, 1)), pdf()]), false));
}

#[test]
fn failed_results_hold_text_only() {
    keeps(result_with(&json!([text("it broke")]), true));
    keeps(result_with(&json!("it broke"), true));
    breaks(
        "messages.2.content.0.tool_result.content.1",
        "all content must be type \"text\" if \"is_error\" is true",
        result_with(&json!([text("it broke"), pdf()]), true),
    );
}

#[test]
fn images_are_what_they_say() {
    let source = "messages.0.content.0.image.source";
    let with = |source: Value| blocks(json!([{"type": "image", "source": source}]));
    let base = |media_type: &str, data: String| {
        with(json!({"type": "base64", "media_type": media_type, "data": data}))
    };
    keeps(base("image/png", base64(png(1, 1))));
    keeps(with(json!({"type": "url", "url": "https://host/a.png"})));
    keeps(with(json!({"type": "file", "file_id": "file_1"})));
    breaks(&format!("{source}.base64.media_type"), "'image/webp'", base("image/bmp", base64(b"BM")));
    breaks(&format!("{source}.base64"), "the bytes are image/png", base("image/jpeg", base64(png(1, 1))));
    breaks(&format!("{source}.base64"), "Could not process", base("image/png", base64(PDF)));
    breaks(&format!("{source}.base64.data"), "Invalid base64", base("image/png", "iVBO\nRw0K".to_owned()));
    breaks(
        &format!("{source}.base64.data"),
        "`data:` prefix",
        base("image/png", "data:image/png;base64,AA".to_owned()),
    );
    breaks(&format!("{source}.url.url"), "HTTP and HTTPS", with(json!({"type": "url", "url": "file:///a"})));
    breaks(&format!("{source}.type"), "'base64'", with(json!({"type": "s3"})));
    breaks(source, "Field required", blocks(json!([{"type": "image"}])));
}

// anthropic.md (a) 29
#[test]
fn an_image_has_at_most_five_megabytes_of_base64() {
    let of = |bytes: usize| {
        let mut image_bytes = png(1, 1);
        image_bytes.resize(bytes, 0);
        blocks(json!([image(&image_bytes)]))
    };
    keeps(of(3_932_160));
    breaks("messages.0.content.0.image.source.base64", "exceeds 5 MB maximum: 5242884 bytes", of(3_932_161));
}

// anthropic.md (a) 29, 30
#[test]
fn image_sizes_are_bounded_and_more_so_when_there_are_many() {
    let of = |count: usize, side: u32| blocks(vec![image(&png(1, side)); count].into());
    keeps(of(1, 8000));
    keeps(of(20, 8000));
    keeps(of(21, 2000));
    breaks("messages.0.content.0.image.source", "max allowed size: 8000 pixels", of(1, 8001));
    breaks("messages.0.content.0.image.source", "many-image requests: 2000 pixels", of(21, 2001));
    breaks("", "too many images: 101 > 100", |body| {
        body["model"] = json!("claude-haiku-4-5");
        of(101, 1)(body);
    });
}

#[test]
fn documents_have_five_sources() {
    let source = "messages.0.content.0.document.source";
    let with = |source: Value| blocks(json!([document(&source)]));
    keeps(blocks(json!([pdf()])));
    keeps(with(json!({"type": "text", "media_type": "text/plain", "data": "a,b"})));
    keeps(with(json!({"type": "url", "url": "https://host/a.pdf"})));
    keeps(with(json!({"type": "file", "file_id": "file_1"})));
    keeps(with(json!({"type": "content", "content": [text("chunk"), image(&png(1, 1))]})));
    breaks(
        &format!("{source}.base64.media_type"),
        "'application/pdf'",
        with(json!({"type": "base64", "media_type": "text/csv", "data": "YQ=="})),
    );
    breaks(
        &format!("{source}.base64"),
        "not valid",
        with(json!({"type": "base64", "media_type": "application/pdf", "data": base64("hello")})),
    );
    breaks(
        &format!("{source}.text.media_type"),
        "'text/plain'",
        with(json!({"type": "text", "media_type": "text/csv", "data": "a"})),
    );
    breaks(
        &format!("{source}.content.content"),
        "non-empty",
        with(json!({"type": "content", "content": ""})),
    );
    let mut titled = document(&json!({"type": "text", "media_type": "text/plain", "data": "x"}));
    titled["title"] = "a".repeat(501).into();
    breaks("messages.0.content.0.document.title", "at most 500 characters", blocks(json!([titled])));
    breaks("messages.0.content.0.document.name", "Extra inputs", |body| {
        blocks(json!([{"type": "document", "name": "a.pdf", "source": {}}]))(body);
    });
}

#[test]
fn documents_in_assistant_messages_depend_on_the_version() {
    let change = || after_user(vec![assistant(&[text("x"), pdf()]), user(&[text("go")])]);
    keeps(change());
    let rules = Rules::new().with_anthropic_version("2026-10-21");
    breaks_with(&rules, "messages.1.content.1", "is not allowed here", change());
}

#[test]
fn cited_text_of_the_user_depends_on_the_version() {
    let change = || blocks(json!([{"type": "text", "text": "x", "citations": [{"type": "char_location"}]}]));
    keeps(change());
    let rules = Rules::new().with_anthropic_version("2026-10-21");
    breaks_with(&rules, "messages.0.content.0.text.citations", "citations are not allowed", change());
    assert_eq!(judged(&rules, blocks(json!([{"type": "text", "text": "x", "citations": []}]))), Ok(()));
}

#[test]
fn citations_and_output_formats_exclude_each_other() {
    let cited = || {
        json!([{
            "type": "search_result", "source": "kb://1", "title": "T", "content": [text("x")], "citations": {"enabled": true},
        }])
    };
    keeps(blocks(cited()));
    breaks("messages.0.content.0.search_result.citations", "output_config.format", |body| {
        blocks(cited())(body);
        let schema = json!({"type": "object", "additionalProperties": false});
        body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
    });
}

// anthropic.md (a) 17
#[test]
fn calls_have_plain_ids_and_an_object_for_input() {
    let with = |id: &str, input: Value| {
        let call = json!({"type": "tool_use", "id": id, "name": "add", "input": input});
        after_user(vec![assistant(&[call]), user(&[super::result(id)])])
    };
    keeps(with("call_1-x", json!({})));
    breaks("messages.1.content.0.tool_use.id", "should match pattern", with("functions.x:0", json!({})));
    breaks("messages.1.content.0.tool_use.input", "valid dictionary", with("t", Value::Null));
    breaks("messages.1.content.0.tool_use.input", "valid dictionary", with("t", json!("{}")));
    let bare = json!({"type": "tool_use", "id": "t", "name": "add"});
    breaks("messages.1.content.0.tool_use.input", "Field required", after_user(vec![assistant(&[bare])]));
}
