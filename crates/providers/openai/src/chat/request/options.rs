//! Options as members of the request body.

use attache_core::capability::{Caching, ReasoningExcludes, StructuredOutput};
use attache_core::json::merge_members;
use attache_core::settings::CachePolicy;
use attache_core::{Degradation, ErrorKind, Message, ProviderError, ResponseFormat, ToolChoice};
use attache_transport::{ANY, Codec as _, StrictForms, knows, set_member};
use serde_json::{Map, Value, json};

use super::reasoning::Reasons;
use super::tools::tool_choice;
use crate::chat::codec::Ask;
use crate::error::Result;
use crate::profile::{JsonObject, ToolsOff};
use crate::request::head::Offered;
use crate::request::options::{Writer, any_object};
use crate::request::tools;

/// The options of a request.
#[derive(Debug)]
pub(super) struct Options {
    /// The members that follow the messages, in order.
    pub(super) members: Map<String, Value>,
    /// The tools that are offered.
    pub(super) offered: Offered,
    /// The words to the model that no member can say.
    pub(super) instruction: Option<String>,
    /// The member that marks a part up to which prompts are kept.
    pub(super) marker: Option<&'static str>,
    /// The schemas that are said in the strict subset.
    pub(super) forms: Option<StrictForms>,
    pub(super) degradations: Vec<Degradation>,
}

/// The markers of prompts that are kept for minutes and for an hour. (openai.md C.9)
const SHORT_MARKER: &str = r#","cache_control":{"type":"ephemeral"}"#;
const LONG_MARKER: &str = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;

/// Turns options into members. `hosted` are the tools of the server's own that are offered beside the request's. One
/// that cannot be honoured is an error, or recorded where the caller allowed to leave it out (invariant 12).
pub(super) fn options(ask: Ask<'_>, hosted: &[&Value], forms: Option<StrictForms>) -> Result<Options> {
    let (request, settings) = (ask.request, ask.settings);
    let (profile, capabilities) = (ask.codec.profile(), ask.codec.capabilities());
    let dropped = request.tool_choice == ToolChoice::None && profile.tools_off == ToolsOff::Dropped;
    let mut writer = Writer::new(ask, hosted, dropped);
    writer.members = profile.extra_body.clone();
    let mut reasons = Reasons::new(capabilities, settings, &mut writer.refusals)?;
    let schemas = profile.tool_schemas;
    tools::may_loosen(capabilities, &request.tools, schemas, forms.as_ref(), &mut writer.refusals)?;
    // openai.md A.6, D 20
    if writer.has_tools && reasons.exclude(ReasoningExcludes::Tools) {
        if !knows(capabilities, "off") {
            let text = format!(
                "{} takes no tools over this API, since its reasoning cannot be switched off; use the Responses API (openai/)",
                capabilities.model
            );
            return Err(ProviderError::new(ErrorKind::Unsupported, text).with_param("tools".to_owned()));
        }
        let why =
            "this API does not combine it with tools; switch it off, or use the Responses API (openai/)";
        writer.refusals.refuse("reasoning", why, "switched off")?;
        reasons.switch_off();
    }
    streaming(&mut writer, reasons, !request.streaming);
    set_member(&mut writer.members, profile.max_tokens.as_str(), settings.max_tokens);
    reasons.write(&profile.thinking, &mut writer.members);
    sampling(&mut writer, reasons)?;
    let stop = settings.stop.as_deref().filter(|stop| !stop.is_empty());
    let why = (!capabilities.stop).then_some("the model does not know it");
    if writer.refusals.keep("stop", stop, why)?.is_some() {
        let most = profile.max_stops.unwrap_or(usize::MAX);
        let stops = writer.refusals.stops(settings, "empty", str::is_empty, most)?;
        set_member(&mut writer.members, "stop", Some(stops).filter(|stops| !stops.is_empty()));
    }
    let cites = settings.citations.filter(|cites| *cites);
    writer.refusals.keep("citations", cites, Some("the API cites no documents of a request"))?;
    let offered = tool_choice(&mut writer, reasons)?;
    let instruction = response_format(&mut writer, reasons)?;
    let marker = caching(&mut writer)?;
    merge_members(&mut writer.members, &settings.extra_body);
    writer.members.shift_remove("tools");
    let offered = if dropped { Offered::None } else { offered };
    let forms = if writer.strict_answer {
        Some(StrictForms::with_answer(forms, profile.tool_schemas.subset()))
    } else {
        forms
    };
    let degradations = writer.refusals.into_recorded();
    Ok(Options { members: writer.members, offered, instruction, marker, forms, degradations })
}

fn streaming(writer: &mut Writer<'_>, reasons: Reasons<'_>, whole: bool) {
    let profile = writer.profile;
    let has_schema = matches!(writer.settings.response_format, Some(ResponseFormat::JsonSchema { .. }));
    let must = reasons.exclude(ReasoningExcludes::WholeAnswers);
    let cannot = has_schema && profile.schemas_whole;
    // The reply is the same either way, so nothing is lost.
    if must || !whole && !cannot {
        writer.set("stream", true);
        if profile.stream_usage {
            writer.set("stream_options", json!({"include_usage": true}));
        }
    }
}

fn sampling(writer: &mut Writer<'_>, reasons: Reasons<'_>) -> Result<()> {
    let (settings, profile, capabilities) = (writer.settings, writer.profile, writer.capabilities);
    let why = writer.no_sampling(reasons.perhaps());
    let unknown = (!capabilities.penalties).then_some("the API or the model does not know it");
    let penalties = why.or(unknown);
    let top_k = why.or((!profile.top_k).then_some("the API does not know it"));
    let numbers = [
        ("temperature", settings.temperature, profile.temperature, why),
        ("top_p", settings.top_p, profile.top_p, why),
        ("presence_penalty", settings.presence_penalty, None, penalties),
        ("frequency_penalty", settings.frequency_penalty, None, penalties),
    ];
    for (name, value, bounds, why) in numbers {
        if let Some(value) = writer.refusals.number(name, value, why, ANY)? {
            let value = bounded(writer, name, value, bounds)?;
            writer.set(name, value);
        }
    }
    let top_k = writer.refusals.keep("top_k", settings.top_k, top_k)?;
    set_member(&mut writer.members, "top_k", top_k);
    let unknown = profile.seed.is_empty().then_some("the API does not know it");
    let seed = writer.refusals.keep("seed", settings.seed, unknown)?;
    set_member(&mut writer.members, &profile.seed, seed);
    Ok(())
}

fn bounded(writer: &mut Writer<'_>, name: &str, value: f64, bounds: Option<(f64, f64)>) -> Result<f64> {
    let Some((least, most)) = bounds.filter(|(least, most)| !(least..=most).contains(&&value)) else {
        return Ok(value);
    };
    let nearest = value.max(least).min(most);
    let why = format!("it lies between {least} and {most}");
    writer.refusals.refuse(name, &why, &format!("{nearest} was taken"))?;
    Ok(nearest)
}

/// Sets the form of the answer; yields what the model must be told of it.
fn response_format(writer: &mut Writer<'_>, reasons: Reasons<'_>) -> Result<Option<String>> {
    let (option, profile) = ("response_format", writer.profile);
    let format = match &writer.settings.response_format {
        None | Some(ResponseFormat::Text) => return Ok(None),
        Some(format) => format,
    };
    let hindrance = if writer.has_tools && !writer.capabilities.json_beside_tools {
        Some("it promises no form of answers beside tools")
    } else if reasons.exclude(ReasoningExcludes::Json) {
        Some("it promises no form of answers while the model reasons")
    } else {
        None
    };
    let takes = writer.capabilities.structured_output;
    let takes_schema = match takes {
        StructuredOutput::JsonSchema => true,
        StructuredOutput::JsonSchemaAlone => !writer.has_tools,
        _ => false,
    };
    let hindrance =
        hindrance.or((takes == StructuredOutput::None).then_some("it promises no form of answers"));
    if let Some(why) = hindrance {
        writer.refusals.leave_out(option, why)?;
        return Ok(None);
    }
    let object = || match profile.json_object {
        JsonObject::Word => any_object(),
        JsonObject::Schema => {
            json!({"type": "json_schema", "json_schema": {"name": "object", "schema": {"type": "object"}}})
        }
    };
    let mut instruction = None;
    let format = match format {
        ResponseFormat::JsonSchema { name, schema, strict } if takes_schema => {
            json!({"type": "json_schema", "json_schema": writer.schema(name, schema, *strict)?})
        }
        // The instructions also say the word that servers demand beside a JSON object (openai.md A.4).
        ResponseFormat::JsonSchema { schema, .. } => {
            let instead = "a JSON object of any form, and the schema stands in the instructions";
            writer.refusals.refuse(option, "it takes no schema here", instead)?;
            instruction = Some(format!("Answer with a JSON object that follows this JSON Schema:\n{schema}"));
            object()
        }
        ResponseFormat::JsonObject => object(),
        _ => {
            writer.refusals.leave_out(option, "it promises no form of answers")?;
            return Ok(None);
        }
    };
    writer.set(option, format);
    Ok(instruction)
}

/// Yields the marker of prompts that are kept, for models that want one.
fn caching(writer: &mut Writer<'_>) -> Result<Option<&'static str>> {
    if writer.capabilities.caching != Caching::Explicit {
        // The key is known only when what stands before the messages is.
        return writer.caching(|| Value::Null).map(|()| None);
    }
    // Without a word of the caller the part that will be repeated is kept: writing it costs a quarter more, once.
    let goes_on = writer.has_tools
        || writer.request.messages.iter().any(|message| matches!(&**message, Message::Assistant(_)));
    Ok(match writer.settings.cache {
        Some(CachePolicy::Short) => Some(SHORT_MARKER),
        Some(CachePolicy::Long) => Some(LONG_MARKER),
        None if goes_on => Some(SHORT_MARKER),
        _ => None,
    })
}
