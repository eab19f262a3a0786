//! Questions of servers to people.

use attache_core::tool::Deferred;
use attache_schema::Schema;
use http::Uri;
use http::uri::Authority;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

use super::config::Config;

/// Longer questions are cut.
const LONGEST: usize = 4_000;
/// Longer addresses are none.
const LONGEST_URL: usize = 2_000;
/// The words with which people answer a question about an address.
const DONE: &str = "done";
const DECLINE: &str = "decline";

/// A question of a server, as people read it.
pub(crate) struct Elicitation {
    pub(crate) prompt: String,
    schema: Value,
    /// The values of members that nobody gives; `None` where an address is shown.
    form: Option<Map<String, Value>>,
}

impl Elicitation {
    /// Reads a question; `None` if nobody could answer it.
    pub(crate) fn new(config: &Config, asked: &ElicitRequestParams) -> Option<Self> {
        let alias = &config.alias;
        let said = |message: &str| config.quoted(message, LONGEST);
        match asked {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let mut schema = serde_json::to_value(requested_schema).ok()?;
                if schema.to_string().len() > config.limits.schema_bytes {
                    return None;
                }
                let defaults = defaults(&schema);
                // Nobody has to say what goes without saying.
                if let Some(Value::Array(required)) = schema.get_mut("required") {
                    required.retain(|name| name.as_str().is_none_or(|name| !defaults.contains_key(name)));
                }
                Schema::new(&schema).ok()?;
                let prompt = format!("The server {alias:?} asks: {}", said(message));
                Some(Self { prompt, schema, form: Some(defaults) })
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let is_plain = url.chars().all(|c| c.is_ascii_graphic()) && url.len() <= LONGEST_URL;
                let address: Uri = url.parse().ok().filter(|_| is_plain)?;
                let place = address.authority().map(Authority::as_str)?;
                // `https://bank.example@elsewhere.example/` deceives those who read it.
                if !matches!(address.scheme_str(), Some("https" | "http")) || place.contains('@') {
                    return None;
                }
                let prompt = format!(
                    "The server {alias:?} asks you to open an address of {place}:\n{url}\nAnswer `{DONE}` once you did what \
                     it says there, or `{DECLINE}`. The server says: {}",
                    said(message)
                );
                Some(Self { prompt, schema: json!({"type": "string", "enum": [DONE, DECLINE]}), form: None })
            }
            _ => None,
        }
    }

    /// The question for the people behind the run.
    pub(crate) fn question(&self, handle: Option<String>) -> Deferred {
        let mut question = Deferred::ask(self.prompt.clone()).with_schema(self.schema.clone());
        question.handle = handle;
        question
    }

    /// The answer as the server reads it; a refusal if it does not fit.
    pub(crate) fn answered(self, answer: Value) -> ElicitResult {
        let fits = Schema::new(&self.schema).is_ok_and(|schema| schema.check(&answer).is_empty());
        match (self.form, answer) {
            (Some(mut all), Value::Object(given)) if fits => {
                all.extend(given);
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(all))
            }
            (None, Value::String(word)) if word == DONE => ElicitResult::new(ElicitationAction::Accept),
            _ => declined(),
        }
    }
}

/// A question that nobody answers.
pub(crate) fn declined() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Decline)
}

/// The defaults of the members of a form.
fn defaults(schema: &Value) -> Map<String, Value> {
    let members = schema.get("properties").and_then(Value::as_object);
    let default = |(name, member): (&String, &Value)| Some((name.clone(), member.get("default")?.clone()));
    members.into_iter().flatten().filter_map(default).collect()
}
