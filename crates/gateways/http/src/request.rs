//! Arguments of a call as a request.

use std::borrow::Cow;

use attache_core::hash::hex;
use attache_core::{Effect, ToolContext, ToolError, ToolErrorKind};
use attache_transport::{Origin, RequestParts, SHORTEST_SECRET, percent_encoded};
use http::HeaderName;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, COOKIE};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::base::Base;
use crate::body::body;
use crate::endpoint::Endpoint;
use crate::fixed_values::{Dressing, Sent};
use crate::parameter::Place;
use crate::template::Template;
use crate::write::{in_path, in_query, line};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Longer addresses are refused by servers, and by whoever reads what was sent.
const LONGEST: usize = 16 << 10;

/// A request that is ready, and what must not come back of it.
pub(crate) struct Outgoing {
    pub(crate) parts: RequestParts,
    pub(crate) origin: Origin,
    pub(crate) secrets: Secrets,
}

/// The texts of a request that no answer may repeat to the model.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    fn of(secrets: Vec<String>) -> Self {
        let mut long: Vec<String> = Vec::new();
        for secret in secrets.into_iter().filter(|text| text.len() >= SHORTEST_SECRET) {
            // As it may stand in a text that cannot be read as JSON, and in an address.
            let quoted = Value::String(secret.clone()).to_string();
            let inside = quoted.trim_matches('"');
            let forms = [inside.to_owned(), inside.replace('/', "\\/"), percent_encoded(secret.as_bytes())];
            for form in std::iter::once(secret).chain(forms) {
                if !long.contains(&form) {
                    long.push(form);
                }
            }
        }
        // One that contains another must go first, or its rest would stay.
        long.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(long)
    }

    /// True if nothing secret was sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text that was answered, without what was sent in secret.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "***").into();
            }
        }
        text
    }

    /// The same of a value. Texts may be escaped in JSON in more ways than one, so they are looked at unescaped.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.redact(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(object) => {
                if object.keys().any(|key| matches!(self.redact(key), Cow::Owned(_))) {
                    *object = std::mem::take(object)
                        .into_iter()
                        .map(|(key, value)| (self.redact(&key).into_owned(), value))
                        .collect();
                }
                object.values_mut().for_each(|value| self.redact_value(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The request that a call makes. Whatever an argument holds, the path has the steps and the query the names that are
/// declared.
pub(crate) async fn request(
    endpoint: &Endpoint,
    template: &Template,
    base: &Base,
    shared: Option<&Sent>,
    mut arguments: Map<String, Value>,
    context: &ToolContext,
) -> Result<Outgoing, ToolError> {
    let path = path(endpoint, template, &mut arguments)?;
    let mut query = Vec::new();
    for parameter in endpoint.parameters.iter().filter(|parameter| parameter.place == Place::Query) {
        if let Some(value) = arguments.remove(&parameter.argument) {
            in_query(parameter, &value, &mut query)?;
        }
    }
    let mut dressing = Dressing::default();
    if let Some(shared) = shared {
        dressing.add(shared, context);
    }
    dressing.add(&endpoint.sent, context);
    // No member of an object is taken for what is fixed.
    query.retain(|(name, _)| !dressing.query.iter().any(|(fixed, _)| fixed == name));
    query.append(&mut dressing.query);

    let mut url = format!("{}{path}", base.url);
    if !query.is_empty() {
        url.push('?');
        url.push_str(&line(&query));
    }
    if url.len() > LONGEST {
        let text = "the arguments are too long for an address";
        return Err(ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments));
    }
    let mut parts = RequestParts::get(url);
    parts.method = endpoint.method.clone();
    if let Some(written) = body(endpoint, &mut arguments, context).await? {
        parts.body = written.body;
        parts = parts.with_header(CONTENT_TYPE, written.media_type);
    }
    let accept = endpoint.accept.as_deref().unwrap_or("application/json, */*;q=0.9");
    parts = parts.with_header(ACCEPT, accept).with_header(ACCEPT_ENCODING, "identity");
    if let Some(key) = &context.idempotency_key
        && endpoint.effect() != Effect::Read
    {
        parts = parts.with_header(IDEMPOTENCY_KEY, key_of(key));
    }
    for (name, prefix, secret) in &dressing.headers {
        parts = parts.with_secret_header(name.clone(), prefix, secret);
    }
    if let Some(cookies) = dressing.cookies() {
        parts = parts.with_secret_header(COOKIE, "", &cookies);
    }
    Ok(Outgoing { parts, origin: base.origin.clone(), secrets: Secrets::of(dressing.secrets) })
}

fn path(
    endpoint: &Endpoint,
    template: &Template,
    arguments: &mut Map<String, Value>,
) -> Result<String, ToolError> {
    let values =
        endpoint.parameters.iter().filter(|parameter| parameter.place == Place::Path).map(|parameter| {
            let value = arguments.remove(&parameter.argument);
            let written = value.map(|value| in_path(parameter, &value)).transpose()?.flatten();
            Ok((parameter.name.as_str(), parameter.argument.as_str(), written))
        });
    let values: Vec<(&str, &str, Option<String>)> = values.collect::<Result<_, ToolError>>()?;
    let find = |name: &str| values.iter().find(|(known, _, _)| *known == name);
    template.write(|name| find(name)?.2.clone()).map_err(|unfit| {
        let argument =
            unfit.name.as_deref().and_then(find).map_or("an argument", |(_, argument, _)| *argument);
        let text =
            format!("{argument} must be a value that can stand in a path: not empty, and no `.` or `..`");
        ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments)
    })
}

/// A key says nothing of the run that it comes from.
fn key_of(key: &str) -> String {
    hex(Sha256::digest(key.as_bytes()).iter().take(16))
}

/// The request after a redirect to another origin: an address, and nothing of a caller.
pub(crate) fn stripped(url: String) -> RequestParts {
    RequestParts::get(url).with_header(ACCEPT, "*/*").with_header(ACCEPT_ENCODING, "identity")
}
