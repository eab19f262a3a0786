//! The results of a turn, which stand together in one content (gemini.md 2, 3).

use attache_core::{
    AssistantMessage, ContentTree, Document, ToolCall, ToolResult, ToolResultsMessage, ToolSet, UserPart,
};
use attache_transport::Fill::Text;
use attache_transport::{ItemWriter, Shown, check_result_routed, comma, place_of_result, template, wire_ids};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::documents::{as_text, shown_filled, write_media};
use crate::codec::GenerateCodec;
use crate::error::{Result, configuration};

/// Writes the results of the calls of `asked`, in call order, by which the API matches them too.
pub(super) fn render(
    codec: &GenerateCodec,
    tools: &ToolSet,
    asked: &AssistantMessage,
    message: &ToolResultsMessage,
    item: &mut ItemWriter<'_>,
) -> Result<()> {
    let calls: Vec<&ToolCall> = asked.tool_calls().collect();
    let ids = wire_ids(&calls, str::to_owned);
    for (call, id) in calls.iter().zip(ids) {
        let Some(result) = message.results.iter().find(|result| result.call_id == call.id) else { continue };
        check_result_routed(result)?;
        let attached = attached(codec, result)?;
        comma(item);
        item.fill(
            template!(r#"{"functionResponse":{"id":$,"name":$,"response":"#),
            &[Text(&id), Text(&tools.wire_name(&call.name))],
        );
        response(result, &attached.texts, item);
        for (at, (document, media)) in attached.media.iter().enumerate() {
            item.raw(if at == 0 { r#","parts":["# } else { "," });
            write_media(document, media, item);
        }
        if !attached.media.is_empty() {
            item.raw("]");
        }
        item.raw("}}");
    }
    Ok(())
}

/// The content that routing put behind the text of a result.
#[derive(Default)]
struct Attached<'a> {
    texts: Vec<String>,
    media: Vec<(&'a Document, Shown<'a>)>,
}

fn attached<'a>(codec: &GenerateCodec, result: &'a ToolResult) -> Result<Attached<'a>> {
    let place = place_of_result(result);
    let mut attached = Attached::default();
    for content in result.attached() {
        match content {
            UserPart::Text(part) => attached.texts.push(part.text().to_owned()),
            UserPart::Object(tree) if tree.is_blank() => {}
            UserPart::Object(tree) => attached.texts.push(tree.model_text().into_owned()),
            UserPart::Document(document) => match shown_filled(codec, document, place, false, None)? {
                Shown::Text(bytes) => {
                    attached.texts.push(as_text(codec, document, place, &bytes)?.to_owned());
                }
                media => attached.media.push((document, media)),
            },
            _ => return Err(configuration("this kind of content is not known here")),
        }
    }
    Ok(attached)
}

/// The response, which must be an object: `output` and `error` are the words that mean success and failure, any other
/// object is the output itself. (E19)
fn response(result: &ToolResult, texts: &[String], item: &mut ItemWriter<'_>) {
    let tree = &result.tree;
    if !result.is_error() && texts.is_empty() && stands_alone(tree) {
        item.raw(tree.json());
        return;
    }
    item.raw(if result.is_error() { r#"{"error":"# } else { r#"{"output":"# });
    if tree.is_blank() {
        // A text in place of nothing.
        item.raw(&tree.model_text_literal());
    } else {
        item.raw(tree.json());
    }
    // Parts of a response hold no text.
    for (at, text) in texts.iter().enumerate() {
        item.raw(if at == 0 { r#","attached":["# } else { "," });
        item.string(text);
    }
    item.raw(if texts.is_empty() { "}" } else { "]}" });
}

/// True if a tree is an object that means nothing else than itself.
fn stands_alone(tree: &ContentTree) -> bool {
    #[derive(Default, Deserialize)]
    struct Words {
        output: Option<IgnoredAny>,
        error: Option<IgnoredAny>,
    }
    let json = tree.json();
    if !json.starts_with('{') {
        return false;
    }
    if !json.contains(r#""output":"#) && !json.contains(r#""error":"#) {
        return true;
    }
    // A word that is there with `null` reads like one that is not.
    serde_json::from_str::<Words>(json).is_ok_and(|words| words.output.is_none() && words.error.is_none())
}
