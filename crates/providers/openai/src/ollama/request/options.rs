//! Options as members of the request body.

use attache_core::capability::StructuredOutput;
use attache_core::json::merge_members;
use attache_core::settings::CachePolicy;
use attache_core::{Degradation, ResponseFormat, ToolChoice};
use attache_transport::{ANY, Codec as _, Refusals, check_choice, forces_tool, refuse_allowed, set_member};
use serde_json::{Map, Value, json};

use crate::chat::Reasons;
use crate::error::Result;
use crate::ollama::codec::Ask;
use crate::profile::{Thinking, ToolSchemas};
use crate::request::head::Offered;

/// The options of a request.
#[derive(Debug)]
pub(super) struct Options {
    /// The members that follow the messages, in order.
    pub(super) members: Map<String, Value>,
    /// The tools that are offered: all or none.
    pub(super) offered: Offered,
    pub(super) degradations: Vec<Degradation>,
}

/// Turns options into members. One that cannot be honoured is an error, or recorded where the caller allowed to
/// leave it out (invariant 12).
pub(super) fn options(ask: Ask<'_>) -> Result<Options> {
    let (request, settings, capabilities) = (ask.request, ask.settings, ask.codec.capabilities());
    let mut refusals = Refusals::new(&capabilities.model, settings.unsupported).saying("left out");
    crate::request::tools::may_loosen(
        capabilities,
        &request.tools,
        ToolSchemas::AsGiven,
        None,
        &mut refusals,
    )?;
    // Left out it means that the server streams.
    let mut members = Map::from_iter([("stream".to_owned(), Value::from(request.streaming))]);
    let reasons = Reasons::new(capabilities, settings, &mut refusals)?;
    reasons.write(&thinking(), &mut members);
    set_member(&mut members, "format", format(ask, &mut refusals)?);
    let sampling = sampling(ask, reasons.perhaps(), &mut refusals)?;
    set_member(&mut members, "options", (!sampling.is_empty()).then_some(sampling));
    let offered = tools(ask, &mut refusals)?;
    if settings.cache == Some(CachePolicy::Long) {
        let why = "it keeps prompts as long as the model is loaded";
        refusals.refuse("cache", why, "kept as long as it does")?;
    }
    merge_members(&mut members, &settings.extra_body);
    Ok(Options { members, offered, degradations: refusals.into_recorded() })
}

/// `think` is a boolean, or an effort for models that know one.
fn thinking() -> Thinking {
    let mut thinking = Thinking::default();
    let switch = |on: bool| Map::from_iter([("think".to_owned(), Value::from(on))]);
    (thinking.on, thinking.off) = (switch(true), switch(false));
    thinking.effort = "think".to_owned();
    thinking
}

fn sampling(ask: Ask<'_>, reasons: bool, refusals: &mut Refusals<'_>) -> Result<Map<String, Value>> {
    let (settings, capabilities) = (ask.settings, ask.codec.capabilities());
    let mut options = Map::new();
    let numbers = [
        ("temperature", settings.temperature),
        ("top_p", settings.top_p),
        ("presence_penalty", settings.presence_penalty),
        ("frequency_penalty", settings.frequency_penalty),
    ];
    let why = (reasons && !capabilities.sampling).then_some("it has none while the model reasons");
    for (name, value) in numbers {
        set_member(&mut options, name, refusals.number(name, value, why, ANY)?);
    }
    let stop = settings.stop.as_ref().filter(|stop| !stop.is_empty());
    set_member(&mut options, "top_k", settings.top_k);
    set_member(&mut options, "seed", settings.seed);
    set_member(&mut options, "stop", stop.map(Vec::as_slice));
    set_member(&mut options, "num_predict", settings.max_tokens);
    // The server's own default is small, and what is longer is cut in silence.
    set_member(&mut options, "num_ctx", capabilities.context_window);
    Ok(options)
}

/// The tools that are offered. The API knows no choice: all that can be chosen is not to offer them.
fn tools(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Offered> {
    let Ask { request, settings, codec, .. } = ask;
    refuse_allowed(request, refusals)?;
    let cites = settings.citations.filter(|cites| *cites);
    refusals.keep("citations", cites, Some("the API cites no documents of a request"))?;
    let has_tools = !request.tools.is_empty();
    check_choice(&request.tool_choice, &request.tools, has_tools, codec.capabilities())?;
    if request.tool_choice == ToolChoice::None {
        return Ok(Offered::None);
    }
    if forces_tool(&request.tool_choice) {
        refusals.refuse("tool_choice", "no tool can be forced", "the model decides")?;
    }
    if has_tools && settings.parallel_tool_calls == Some(false) {
        refusals.leave_out("parallel_tool_calls", "it cannot be chosen")?;
    }
    Ok(Offered::All)
}

fn format(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Option<Value>> {
    let takes = ask.codec.capabilities().structured_output;
    Ok(match &ask.settings.response_format {
        None | Some(ResponseFormat::Text) => None,
        Some(ResponseFormat::JsonObject) if takes != StructuredOutput::None => Some(json!("json")),
        Some(ResponseFormat::JsonSchema { schema, .. }) if takes == StructuredOutput::JsonSchema => {
            Some(schema.value().clone())
        }
        Some(_) => {
            refusals.leave_out("response_format", "it promises no form of answers")?;
            None
        }
    })
}
