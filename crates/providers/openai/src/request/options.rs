//! Options as members of a request body, whichever of OpenAI's APIs is spoken.

use attache_core::capability::Caching;
use attache_core::settings::CachePolicy;
use attache_core::structured::OutputSchema;
use attache_core::tool::wire_name;
use attache_core::{ChatRequest, ModelCapabilities, ModelSettings};
use attache_transport::{Ask, Refusals, forces_tool, set_member};
use serde_json::{Map, Value, json};

use super::tools::{self, allowed, allowed_functions, reference};
use crate::codec::ServerCodec;
use crate::error::Result;
use crate::profile::Profile;

/// The things that options are held against, and the members that they have become.
pub(crate) struct Writer<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) capabilities: &'a ModelCapabilities,
    pub(crate) request: &'a ChatRequest,
    pub(crate) settings: &'a ModelSettings,
    /// The tools of the server's own that are offered beside the request's.
    pub(crate) hosted: &'a [&'a Value],
    /// Tools are offered, of the request or of the server's own.
    pub(crate) has_tools: bool,
    pub(crate) members: Map<String, Value>,
    /// The schema of the answer is said in the strict subset.
    pub(crate) strict_answer: bool,
    pub(crate) refusals: Refusals<'a>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new<D>(ask: Ask<'a, ServerCodec<D>>, hosted: &'a [&'a Value], dropped: bool) -> Self {
        let (request, settings, server) = (ask.request, ask.settings, &ask.codec.server);
        let capabilities = &*server.capabilities;
        Self {
            profile: &server.profile,
            capabilities,
            request,
            settings,
            hosted,
            has_tools: (!request.tools.is_empty() || !hosted.is_empty()) && !dropped,
            members: Map::new(),
            strict_answer: false,
            refusals: Refusals::new(&capabilities.model, settings.unsupported).saying("left out"),
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    /// The reason for which no sampling options are taken: some models have none while they reason, some never.
    /// (openai.md A.6)
    pub(crate) fn no_sampling(&self, reasons: bool) -> Option<&'static str> {
        match (self.capabilities.sampling, self.capabilities.sampling_without_reasoning) {
            (false, false) => Some("the model has a fixed one"),
            (false, true) if reasons => Some("it has none while the model reasons"),
            _ => None,
        }
    }

    /// Says whether several calls may come in one reply.
    pub(crate) fn parallel(&mut self, asked: Option<bool>) -> Result<()> {
        let option = "parallel_tool_calls";
        let Some(parallel) = asked.filter(|_| self.has_tools) else { return Ok(()) };
        let known = self.capabilities.parallel_choice;
        match (parallel, self.capabilities.parallel_tools) {
            // One call at a time is all that such a model does.
            (false, false) => {}
            (true, false) => self.refusals.leave_out(option, "it makes one call at a time")?,
            (_, true) if known => self.set(option, parallel),
            (_, true) => self.refusals.leave_out(option, "it cannot be chosen")?,
        }
        Ok(())
    }

    /// Says which tools may be called: `choice`, or `among` those that are allowed, each as `function` writes its name.
    /// A call that is demanded and cannot be forced is refused, where `unforced` says why.
    pub(crate) fn choose(
        &mut self,
        choice: Option<Value>,
        unforced: Option<&str>,
        function: fn(&str) -> Value,
        among: fn(&str, Vec<Value>) -> Value,
    ) -> Result<()> {
        let request = self.request;
        let mode = allowed(request, self.capabilities, unforced.is_none(), &mut self.refusals)?;
        let among = mode.map(|mode| {
            let hosted = self.hosted.iter().map(|tool| reference(tool));
            among(mode, allowed_functions(request).map(function).chain(hosted).collect())
        });
        let choice = match unforced.filter(|_| forces_tool(&request.tool_choice)) {
            Some(why) => {
                self.refusals.refuse("tool_choice", why, "the model decides")?;
                among
            }
            None => among.or(choice),
        };
        set_member(&mut self.members, "tool_choice", choice);
        Ok(())
    }

    /// Name and schema of an answer, and whether it is enforced.
    pub(crate) fn schema(
        &mut self,
        name: &str,
        schema: &OutputSchema,
        strict: bool,
    ) -> Result<Map<String, Value>> {
        let fitted = tools::answer(schema, strict, self.profile.tool_schemas, &mut self.refusals)?;
        self.strict_answer = fitted.is_some();
        let mut members = Map::new();
        set_member(&mut members, "name", Some(wire_name(name)));
        set_member(&mut members, "schema", Some(fitted.unwrap_or(schema.value()).clone()));
        set_member(&mut members, "strict", Some(self.strict_answer));
        Ok(members)
    }

    /// Automatic caching needs nothing but a stable prefix; a key brings requests with the same one together.
    pub(crate) fn caching(&mut self, key: impl FnOnce() -> Value) -> Result<()> {
        let policy = match self.settings.cache {
            None | Some(CachePolicy::Off) => return Ok(()),
            Some(policy) => policy,
        };
        if self.capabilities.caching != Caching::Automatic {
            let why = "it caches no prompts, or only by markers that this API has not";
            return self.refusals.leave_out("cache", why);
        }
        if self.profile.prompt_cache_key {
            self.set(CACHE_KEY, key());
        }
        match policy {
            CachePolicy::Long if self.capabilities.long_cache => {
                self.set("prompt_cache_retention", "24h");
                Ok(())
            }
            CachePolicy::Long => {
                let why = "it chooses itself how long it keeps prompts";
                self.refusals.refuse("cache", why, "kept as long as it does")
            }
            _ => Ok(()),
        }
    }
}

/// The member for the cache key.
pub(crate) const CACHE_KEY: &str = "prompt_cache_key";

/// A form of answers that is any JSON object.
pub(crate) fn any_object() -> Value {
    json!({"type": "json_object"})
}
