//! A server that reads what it is sent, as far as it is told to: it finds numbers in pixels.

use std::collections::HashSet;

use attache_conformance::{MockProvider, RecordedRequest, Reply, ReplyUsage};
use serde_json::{Value, json};

use super::super::media::Kind;
use super::super::media::tests::read_picture;

/// The server's treatment of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Reads,
    /// It takes it and says nothing of it.
    Blind,
    /// It answers with 400.
    Refuses,
}

/// Lets `mock` answer every probe; `sight` says what becomes of a document of a kind, in a tool result or not.
pub(super) fn serve(mock: &MockProvider, sight: impl Fn(Kind, bool) -> Sight + Send + 'static) {
    let mut seen = HashSet::new();
    mock.respond_with(move |request| answer(request, &sight, &mut seen));
}

/// The answer of a server that does everything, but for documents.
pub(super) fn answer(
    request: &RecordedRequest,
    sight: &impl Fn(Kind, bool) -> Sight,
    seen: &mut HashSet<bytes::Bytes>,
) -> Reply {
    let body = request.json();
    let mut strings = Vec::new();
    collect(body, &mut strings);
    let asks = |words: &str| strings.iter().any(|text| text.contains(words));
    let is_named = body.get("cachedContent").is_some();
    if asks("Rule 17: ") || is_named {
        let cached = if seen.insert(request.body.clone()) && !is_named { 0 } else { 4_000 };
        return Reply::new().text("hello").usage(ReplyUsage::new(5_000, 3).with_cached(cached));
    }
    if asks("Which number stands") || asks("What is the number") {
        let in_result = asks("in the left drawer");
        let Some((kind, number)) = strings.iter().find_map(|text| number(text)) else {
            return Reply::error(400, "there is nothing to read here");
        };
        return match sight(kind, in_result) {
            Sight::Reads => Reply::new().text(format!("It is {number}.")),
            Sight::Blind => Reply::new().text("I see a picture of a pleasant door."),
            Sight::Refuses => Reply::error(400, format!("no {} in this place", kind.media_type())),
        };
    }
    if asks("How is the sea") {
        return Reply::new().text(r#"{"mood":"calm","knots":3}"#);
    }
    if asks("How many of the numbers") {
        let reply = Reply::new();
        return match reasons(body) {
            true => reply
                .signed_thinking("Let me count", "c2ln")
                .text("13")
                .usage(ReplyUsage::new(40, 90).with_reasoning(60)),
            false => reply.text("13"),
        };
    }
    let call =
        |reply: Reply, id: &str, drawer: &str| reply.call(id, "open_drawer", json!({ "drawer": drawer }));
    if offers(body) && asks("Make both calls") {
        return call(call(Reply::new(), "call_0000", "left"), "call_0001", "right");
    }
    if offers(body) && (asks("Call the tool") || asks("Say hello.")) {
        return call(Reply::new(), "call_0000", "left");
    }
    if asks("Count from one") {
        return Reply::new().text("one\ntwo\nthree\n");
    }
    Reply::new().text("hello")
}

fn collect(value: &Value, strings: &mut Vec<String>) {
    match value {
        Value::String(text) => strings.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, strings)),
        Value::Object(members) => {
            // A result may be an object of its own, or the text of one.
            strings.extend(members.get("number").map(|number| format!("\"number\":{number}")));
            members.values().for_each(|member| collect(member, strings));
        }
        _ => {}
    }
}

/// The number in a text, or in what is base64 of a document.
fn number(text: &str) -> Option<(Kind, String)> {
    for before in ["cellar door is ", "\"number\":\"", "\"number\": \""] {
        if let Some((_, after)) = text.split_once(before) {
            return Some((Kind::Text, after.chars().take_while(char::is_ascii_digit).collect()));
        }
    }
    let data = text.rsplit_once("base64,").map_or(text, |(_, data)| data);
    let bytes = decoded(data).filter(|bytes| bytes.len() > 100)?;
    let kind = match bytes.as_slice() {
        [0x89, b'P', ..] => Kind::Png,
        [0xff, 0xd8, ..] => Kind::Jpeg,
        [b'R', b'I', b'F', b'F', ..] => Kind::WebP,
        [b'G', b'I', b'F', ..] => Kind::Gif,
        _ => {
            let text = String::from_utf8_lossy(&bytes);
            let (_, after) = text.strip_prefix("%PDF-")?.split_once("cellar door is ")?;
            return Some((Kind::Pdf, after.chars().take_while(char::is_ascii_digit).collect()));
        }
    };
    Some((kind, read_picture(&bytes)?))
}

fn decoded(data: &str) -> Option<Vec<u8>> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let (mut bytes, mut held, mut count) = (Vec::new(), 0_u32, 0);
    for byte in data.trim_end_matches('=').bytes() {
        held = (held << 6) | value(byte)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((held >> count) & 0xff).unwrap());
        }
    }
    Some(bytes)
}

/// True if a tool may be called.
fn offers(body: &Value) -> bool {
    let tools =
        ["tools", "toolConfig"].iter().any(|key| body.get(*key).is_some_and(|tools| !tools.is_null()));
    let choice = &body["tool_choice"];
    let mode = &body["toolConfig"]["functionCallingConfig"]["mode"];
    tools && *choice != "none" && choice["type"] != "none" && *mode != "NONE"
}

/// True if the model is asked to reason.
fn reasons(body: &Value) -> bool {
    let thinking = &body["thinking"]["type"];
    let fields = &body["additionalModelRequestFields"]["thinking"]["type"];
    let config = &body["generationConfig"]["thinkingConfig"];
    let budget = config["thinkingBudget"].as_i64().is_some_and(|budget| budget != 0);
    let is_on = |word: &Value| word.is_string() && word != "disabled";
    is_on(thinking) || is_on(fields) || budget || config["thinkingLevel"].is_string()
}
