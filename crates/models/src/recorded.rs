//! The codec that reads a recorded reply.

#[cfg(feature = "openai")]
use std::sync::Arc;

#[cfg(feature = "openai")]
use attache_openai::{Api, ChatCodec, Profile, Profiles, ResponsesCodec};
use attache_transport::Codec;
use attache_transport::cassette::RecordedCall;

use crate::registry::Registry;

/// The name only tags what would go back: what the table says of single models is not asked for.
const MODEL: &str = "recorded";

impl Registry {
    /// Returns the protocol of a recorded model call, and a codec that reads the reply. `None` for calls to other
    /// endpoints, such as those of files and token counts, and for APIs whose provider is left out of this registry.
    ///
    /// `provider` is what the recording says of its origin, such as `groq`. For Chat Completions and Responses it tells
    /// the bundled profile, if the call does not name the host; profiles of this registry's own do not count there.
    ///
    /// ```
    /// use attache_models::Registry;
    /// use attache_transport::cassette::RecordedCall;
    /// let call = RecordedCall::new("POST", "https://api.anthropic.com/v1/messages");
    /// let known = Registry::bundled().recorded(&call, "anthropic").map(|(protocol, _)| protocol);
    /// # #[cfg(feature = "anthropic")]
    /// assert_eq!(known, Some("anthropic"));
    /// ```
    pub fn recorded(&self, call: &RecordedCall, provider: &str) -> Option<(&'static str, Box<dyn Codec>)> {
        let protocol = protocol(call)?;
        let of = |name: &str| self.codec(&format!("{name}/{MODEL}")).ok();
        let codec = match protocol {
            "openai-chat" => chat(&call.uri, provider),
            "openai-responses" => responses(&call.uri, provider),
            "bedrock-converse" => of("bedrock"),
            // Their protocols have the names of their providers.
            name => of(name),
        };
        Some((protocol, codec?))
    }
}

/// The protocol that a call speaks, by its path; `None` if it asks no model.
fn protocol(call: &RecordedCall) -> Option<&'static str> {
    let (address, query) = call.uri.split_once('?').unwrap_or((&call.uri, ""));
    let path = address.split('#').next().unwrap_or_default().trim_end_matches('/');
    if !call.method.eq_ignore_ascii_case("POST") {
        // An answer that is made in the background, taken up again.
        let (before, id) = path.rsplit_once('/').unwrap_or_default();
        let is_streamed = query.split('&').any(|part| part == "stream=true");
        let is_answer = before.ends_with("/responses") && !id.is_empty() && is_streamed;
        return (call.method.eq_ignore_ascii_case("GET") && is_answer).then_some("openai-responses");
    }
    // Claude on Vertex AI.
    if let Some((_, model)) = path.split_once("/publishers/anthropic/models/") {
        let asks = model.ends_with(":rawPredict") || model.ends_with(":streamRawPredict");
        return (asks && !model.starts_with("count-tokens:")).then_some("anthropic");
    }
    let endings = [
        ("/chat/completions", "openai-chat"),
        ("/responses", "openai-responses"),
        ("/messages", "anthropic"),
        (":generateContent", "gemini"),
        (":streamGenerateContent", "gemini"),
        ("/converse", "bedrock-converse"),
        ("/converse-stream", "bedrock-converse"),
        ("/api/chat", "ollama"),
        ("/v2/chat", "cohere"),
    ];
    endings.into_iter().find(|(ending, _)| path.ends_with(ending)).map(|(_, protocol)| protocol)
}

#[cfg(feature = "openai")]
fn chat(uri: &str, provider: &str) -> Option<Box<dyn Codec>> {
    let known = profile(Api::Chat, uri, provider);
    let mut profile = known.map_or_else(|| Profile::compatible(MODEL, ""), |known| (**known).clone());
    // The counts of a recording are told as they were sent.
    profile.reasoning_in_total = false;
    Some(Box::new(ChatCodec::new(profile, MODEL)))
}

#[cfg(feature = "openai")]
fn responses(uri: &str, provider: &str) -> Option<Box<dyn Codec>> {
    let profile = profile(Api::Responses, uri, provider).map_or_else(Profile::openai, Arc::clone);
    Some(Box::new(ResponsesCodec::new(profile, MODEL)))
}

/// The quirks of the server that answered. A recording may hold traffic with several servers, so that the host counts
/// before the provider's name; most recordings have no host.
#[cfg(feature = "openai")]
fn profile(api: Api, uri: &str, provider: &str) -> Option<&'static Arc<Profile>> {
    fn host(url: &str) -> Option<&str> {
        url.split_once("://")?.1.split(['/', '?', '#']).next().filter(|host| !host.is_empty())
    }
    let is_there = |profile: &&Arc<Profile>| profile.api == api && host(&profile.base_url) == host(uri);
    let by_host = host(uri).and_then(|_| Profiles::bundled().iter().find(is_there));
    by_host.or_else(|| Profiles::bundled().get(provider))
}

#[cfg(not(feature = "openai"))]
fn chat(_: &str, _: &str) -> Option<Box<dyn Codec>> {
    None
}

#[cfg(not(feature = "openai"))]
fn responses(_: &str, _: &str) -> Option<Box<dyn Codec>> {
    None
}
