//! Options as members of the request body (openai.md B.1, B.4, B.5).

use attache_core::capability::StructuredOutput;
use attache_core::json::merge_members;
use attache_core::{Degradation, ModelSettings, Reasoning, ResponseFormat};
use attache_transport::{ANY, Codec as _, StrictForms, can_reason, knows, set_member};
use serde_json::{Map, Value, json};

use super::tools::tool_choice;
use crate::error::Result;
use crate::profile::Profile;
use crate::request::options::{Writer, any_object};
use crate::request::tools;
use crate::responses::codec::Ask;

/// The members of a request body that follow the items, in order.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) members: Map<String, Value>,
    /// The schema of the answer is said in the strict subset.
    pub(super) strict_answer: bool,
    pub(super) degradations: Vec<Degradation>,
}

/// Turns options into members. `hosted` are the tools of the server's own that are offered beside the request's. One
/// that cannot be honoured is an error, or recorded where the caller allowed to leave it out (invariant 12).
pub(super) fn options(
    ask: Ask<'_>,
    hosted: &[&Value],
    forms: Option<&StrictForms>,
    cache_key: &str,
) -> Result<Options> {
    let (request, settings) = (ask.request, ask.settings);
    let (profile, capabilities) = (ask.codec.profile(), ask.codec.capabilities());
    let mut writer = Writer::new(ask, hosted, false);
    tools::may_loosen(capabilities, &request.tools, profile.tool_schemas, forms, &mut writer.refusals)?;
    // Nothing is kept at the server, so reasoning comes to us, encrypted, and goes back (openai.md B.7, D 24).
    if profile.responses.stores {
        writer.set("store", false);
    }
    if profile.responses.encrypted_reasoning && can_reason(capabilities) {
        writer.set(INCLUDE, json!(["reasoning.encrypted_content"]));
    }
    if request.streaming {
        writer.set("stream", true);
    }
    limits(&mut writer)?;
    let reasons = reasoning(&mut writer)?;
    sampling(&mut writer, reasons)?;
    tool_choice(&mut writer)?;
    format(&mut writer)?;
    writer.caching(|| Value::from(cache_key))?;
    for extra in [&profile.extra_body, &settings.extra_body] {
        let ours = extra.get(INCLUDE).and_then(|_| writer.members.get(INCLUDE).cloned());
        merge_members(&mut writer.members, extra);
        join_included(ours, &mut writer.members);
    }
    writer.members.shift_remove("tools");
    let Writer { members, strict_answer, refusals, .. } = writer;
    Ok(Options { members, strict_answer, degradations: refusals.into_recorded() })
}

/// The member that asks for more of an answer.
const INCLUDE: &str = "include";

/// Puts what was asked for before in front of what is asked for now. An empty list asks for nothing.
fn join_included(before: Option<Value>, members: &mut Map<String, Value>) {
    let (Some(Value::Array(mut all)), Some(Value::Array(now))) = (before, members.get_mut(INCLUDE)) else {
        return;
    };
    if !now.is_empty() {
        now.retain(|asked| !all.contains(asked));
        all.append(now);
        *now = all;
    }
}

/// True if answers are kept at the server, as only members from outside can say.
pub(super) fn is_stored(profile: &Profile, settings: &ModelSettings) -> bool {
    let said = settings.extra_body.get("store").or_else(|| profile.extra_body.get("store"));
    profile.responses.stores && said == Some(&Value::Bool(true))
}

fn limits(writer: &mut Writer<'_>) -> Result<()> {
    let Some(tokens) = writer.settings.max_tokens else { return Ok(()) };
    let least = writer.profile.responses.least_tokens;
    if tokens < least {
        let why = format!("the API knows no limit below {least}");
        writer.refusals.refuse("max_tokens", &why, &format!("{least} was taken"))?;
    }
    writer.set("max_output_tokens", tokens.max(least));
    Ok(())
}

/// Sets effort and summary. Yields whether the model reasons then.
fn reasoning(writer: &mut Writer<'_>) -> Result<bool> {
    let (option, capabilities) = ("reasoning", writer.capabilities);
    let knows_off = knows(capabilities, "off");
    let mut effort = None;
    match &writer.settings.reasoning {
        None => {}
        // A model that cannot reason has it off already.
        Some(Reasoning::Off) if !can_reason(capabilities) => {}
        Some(Reasoning::Off) if knows_off => {
            writer.set(option, json!({"effort": "none"}));
            return Ok(false);
        }
        Some(Reasoning::Off) => {
            writer.refusals.refuse(option, "it cannot be switched off here", "it may reason")?
        }
        Some(Reasoning::Effort(asked)) if knows(capabilities, "effort") => {
            effort = writer.refusals.effort(*asked, &capabilities.efforts, "left out")?;
        }
        Some(Reasoning::Effort(_)) => writer.refusals.leave_out(option, "it knows no effort")?,
        Some(Reasoning::Budget(_)) => writer.refusals.leave_out(option, "it knows no token budget")?,
        Some(_) => writer.refusals.leave_out(option, "this way of reasoning is unknown here")?,
    }
    if let Some(effort) = effort {
        let mut members = Map::from_iter([("effort".to_owned(), Value::from(effort.as_str()))]);
        // Summaries are for organisations that OpenAI has verified, so only who asks for reasoning asks for them.
        set_member(&mut members, "summary", writer.profile.responses.summaries.then_some("auto"));
        writer.set(option, members);
    }
    let on_request = knows_off && !capabilities.reasons_unasked;
    Ok(can_reason(capabilities) && (effort.is_some() || !on_request))
}

/// The options besides these two only Chat Completions has. (openai.md D 21)
fn sampling(writer: &mut Writer<'_>, reasons: bool) -> Result<()> {
    let settings = writer.settings;
    let why = writer.no_sampling(reasons);
    for (name, value) in [("temperature", settings.temperature), ("top_p", settings.top_p)] {
        let value = writer.refusals.number(name, value, why, ANY)?;
        set_member(&mut writer.members, name, value);
    }
    let unknown = Some("the API does not know it");
    let refusals = &mut writer.refusals;
    refusals.number("presence_penalty", settings.presence_penalty, unknown, ANY)?;
    refusals.number("frequency_penalty", settings.frequency_penalty, unknown, ANY)?;
    refusals.keep("top_k", settings.top_k, unknown)?;
    let cites = settings.citations.filter(|cites| *cites);
    refusals.keep("citations", cites, Some("the API cites no documents of a request"))?;
    refusals.keep("seed", settings.seed, unknown)?;
    refusals.keep("stop", settings.stop.as_ref().filter(|stop| !stop.is_empty()), unknown)?;
    Ok(())
}

fn format(writer: &mut Writer<'_>) -> Result<()> {
    let option = "response_format";
    let takes = match writer.capabilities.structured_output {
        _ if !writer.profile.responses.text_format => StructuredOutput::None,
        StructuredOutput::JsonSchemaAlone if writer.has_tools => StructuredOutput::JsonObject,
        StructuredOutput::JsonSchemaAlone => StructuredOutput::JsonSchema,
        takes => takes,
    };
    let takes_object = takes != StructuredOutput::None;
    let format = match &writer.settings.response_format {
        None | Some(ResponseFormat::Text) => return Ok(()),
        Some(ResponseFormat::JsonObject) if takes_object => any_object(),
        Some(ResponseFormat::JsonSchema { name, schema, strict })
            if takes == StructuredOutput::JsonSchema =>
        {
            let mut format = Map::from_iter([("type".to_owned(), Value::from("json_schema"))]);
            format.extend(writer.schema(name, schema, *strict)?);
            Value::Object(format)
        }
        Some(ResponseFormat::JsonSchema { .. }) if takes_object => {
            writer.refusals.refuse(option, "it takes no schema here", "a JSON object of any form")?;
            any_object()
        }
        Some(_) => return writer.refusals.leave_out(option, "it promises no form of answers"),
    };
    writer.set("text", json!({"format": format}));
    Ok(())
}
