//! The resource `cachedContents`: created, read, prolonged, deleted, used (gemini.md 10).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::Method;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::context::Context;
use super::fields;
use super::models::{self, Model};
use super::proto::{self, Platform, invalid};
use super::timestamp;
use super::validate::check_contents;
use crate::members::{list, member, text};
use crate::mock::record::RecordedRequest;
use crate::mock::rules::{Path, Rules, Violation};
use crate::paths::CACHED_CONTENTS;

const DEFAULT_TTL: Duration = Duration::from_secs(3600);
/// The maximum number of caches that a mock keeps; the oldest ones leave first.
const MAX_ENTRIES: usize = 1000;
/// The fewest tokens that any model caches.
const MIN_TOKENS: u64 = 1024;
/// The tokens that an image or a page counts for.
const TOKENS_OF_MEDIA: usize = 258;

/// The caches of a running mock.
#[derive(Default)]
pub(crate) struct Caches {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    /// The number of the next one.
    next: u64,
}

struct Entry {
    name: String,
    model: String,
    display_name: Option<String>,
    tokens: u64,
    created: SystemTime,
    updated: SystemTime,
    /// When it expires, as it is told.
    expires: SystemTime,
    /// When it expires, as it is measured.
    deadline: Instant,
}

impl Entry {
    fn is_alive(&self) -> bool {
        self.deadline > Instant::now()
    }

    /// Sets when it expires, seen from now.
    fn live_until(&mut self, expires: SystemTime, now: SystemTime) {
        self.updated = now;
        self.expires = expires;
        self.deadline = Instant::now() + expires.duration_since(now).unwrap_or_default();
    }

    fn json(&self) -> Value {
        let mut body = Map::new();
        body.insert("name".to_owned(), Value::from(self.name.as_str()));
        body.insert("model".to_owned(), Value::from(self.model.as_str()));
        if let Some(name) = &self.display_name {
            body.insert("displayName".to_owned(), Value::from(name.as_str()));
        }
        for (key, time) in
            [("createTime", self.created), ("updateTime", self.updated), ("expireTime", self.expires)]
        {
            body.insert(key.to_owned(), Value::from(timestamp::format(time)));
        }
        body.insert("usageMetadata".to_owned(), json!({"totalTokenCount": self.tokens}));
        Value::Object(body)
    }
}

impl Caches {
    /// The names of those that are neither deleted nor expired, oldest first.
    pub(crate) fn names(&self) -> Vec<String> {
        let state = self.lock();
        state.entries.iter().filter(|entry| entry.is_alive()).map(|entry| entry.name.clone()).collect()
    }

    /// Lets all of them expire now.
    pub(crate) fn expire(&self) {
        let now = Instant::now();
        for entry in &mut self.lock().entries {
            entry.deadline = now;
        }
    }

    /// Answers a request to the resource.
    pub(crate) fn answer(&self, request: &RecordedRequest, rules: &Rules) -> Result<Value, Violation> {
        let path = request.uri.path().trim_end_matches('/');
        let platform = models::platform(path);
        // Whatever stands before the resource name (a version, a gateway's prefix) is free.
        let start = match platform {
            Platform::Vertex => path.find("projects/"),
            Platform::Developer => None,
        };
        let start = start.or_else(|| path.rfind(CACHED_CONTENTS)).unwrap_or(0);
        let name = path.get(start..).unwrap_or_default();
        if name.ends_with(CACHED_CONTENTS) {
            return match request.method {
                Method::POST => self.create(name, platform, request.json(), rules),
                Method::GET => {
                    let state = self.lock();
                    let alive = state.entries.iter().filter(|entry| entry.is_alive());
                    Ok(json!({"cachedContents": alive.map(Entry::json).collect::<Vec<_>>()}))
                }
                _ => Err(unknown_method(request)),
            };
        }
        let mut state = self.lock();
        let at = state.find(name, platform)?;
        match request.method {
            Method::GET => Ok(state.entries.get(at).map(Entry::json).unwrap_or_default()),
            Method::DELETE => {
                state.entries.remove(at);
                Ok(json!({}))
            }
            Method::PATCH => {
                let now = SystemTime::now();
                let expires = new_expiry(request, now)?;
                let Some(entry) = state.entries.get_mut(at) else { return Ok(json!({})) };
                entry.live_until(expires, now);
                Ok(entry.json())
            }
            _ => Err(unknown_method(request)),
        }
    }

    fn create(
        &self,
        parent: &str,
        platform: Platform,
        body: &Value,
        rules: &Rules,
    ) -> Result<Value, Violation> {
        proto::check(&fields::CACHED_CONTENT, body, &Path::Root, platform)?;
        let model = text(body, "model");
        let start = match platform {
            Platform::Developer => "models/",
            Platform::Vertex => "projects/",
        };
        if !model.starts_with(start) {
            let message = "* CreateCachedContentRequest.model: unexpected model name format\n";
            return Err(invalid(&Path::Root.key("model"), message));
        }
        let context = Context { platform, model: models::model(model), id: models::id(model) };
        check_contents(body, "CreateCachedContentRequest.cached_content", false, &context)?;
        let now = SystemTime::now();
        let expires = expiry(body, now)?.unwrap_or(now + DEFAULT_TTL);
        let tokens = count_tokens(body);
        let min = rules
            .cached_content_minimum()
            .unwrap_or_else(|| context.model.map_or(MIN_TOKENS, Model::min_cached_tokens));
        if tokens < min {
            let message = format!(
                "Cached content is too small. total_token_count={tokens}, min_total_token_count={min}"
            );
            return Err(Violation::new(400, "INVALID_ARGUMENT", message));
        }
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let mut entry = Entry {
            name: format!("{parent}/mock{number}"),
            model: model.to_owned(),
            display_name: member(body, "display_name").and_then(Value::as_str).map(str::to_owned),
            tokens,
            created: now,
            updated: now,
            expires: now,
            deadline: Instant::now(),
        };
        entry.live_until(expires, now);
        let answer = entry.json();
        if state.entries.len() == MAX_ENTRIES {
            state.entries.remove(0);
        }
        state.entries.push(entry);
        Ok(answer)
    }

    /// Checks that the cache which a request names is there and made for its model.
    pub(crate) fn check_use(&self, request: &RecordedRequest) -> Result<(), Violation> {
        let Some(name) = member(request.json(), "cached_content").and_then(Value::as_str) else {
            return Ok(());
        };
        let asked = models::resource(request.uri.path());
        let state = self.lock();
        let at = state.find(name, models::platform(asked))?;
        let made_for = state.entries.get(at).map_or("", |entry| entry.model.as_str());
        if models::id(made_for) == models::id(asked) {
            return Ok(());
        }
        let message = format!(
            "Model used by GenerateContent request (models/{}) and CachedContent (models/{}) has to be the same.",
            models::id(asked),
            models::id(made_for)
        );
        Err(invalid(&Path::Root.key("cached_content"), message))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn find(&self, name: &str, platform: Platform) -> Result<usize, Violation> {
        let found = self.entries.iter().position(|entry| entry.name == name && entry.is_alive());
        found.ok_or_else(|| match platform {
            Platform::Developer => {
                Violation::new(403, "PERMISSION_DENIED", "CachedContent not found (or permission denied)")
            }
            Platform::Vertex => {
                Violation::new(404, "NOT_FOUND", format!("Not found: cached content metadata for {name}."))
            }
        })
    }
}

fn unknown_method(request: &RecordedRequest) -> Violation {
    Violation::new(404, "NOT_FOUND", format!("method {} does not exist for this resource", request.method))
}

/// When a cache expires by its `ttl` or `expireTime`, where it has one.
fn expiry(body: &Value, now: SystemTime) -> Result<Option<SystemTime>, Violation> {
    let path = Path::Root;
    let (ttl, until) = (member(body, "ttl"), member(body, "expire_time"));
    if ttl.is_some() && until.is_some() {
        let message =
            "Invalid value (oneof), oneof field 'expiration' is already set. Cannot set 'expireTime'";
        return Err(invalid(&path.key("expire_time"), message));
    }
    if let Some(text) = ttl.and_then(Value::as_str) {
        let seconds = text.strip_suffix('s').and_then(|number| number.parse::<f64>().ok());
        let ttl = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        return ttl.and_then(|ttl| now.checked_add(ttl)).map(Some).ok_or_else(|| {
            let message = "Illegal duration format; duration must end with 's'";
            invalid(&path.key("ttl"), format!("Invalid value at 'ttl' (Duration), \"{text}\". {message}"))
        });
    }
    let Some(text) = until.and_then(Value::as_str) else { return Ok(None) };
    let path = path.key("expire_time");
    match timestamp::parse(text) {
        Some(until) if until > now => Ok(Some(until)),
        Some(_) => Err(invalid(&path, "expire_time must be in the future.")),
        None => Err(invalid(&path, format!("Invalid value at 'expire_time' (Timestamp), \"{text}\""))),
    }
}

/// The new moment of expiry that a PATCH asks for; nothing else can change.
fn new_expiry(request: &RecordedRequest, now: SystemTime) -> Result<SystemTime, Violation> {
    let refused = || Violation::new(400, "INVALID_ARGUMENT", "Only ttl or expire_time can be updated.");
    let is_lifetime = |field: &str| matches!(field, "ttl" | "expireTime" | "expire_time");
    let body = request.json();
    let mask = request.query("updateMask").unwrap_or_default();
    let masked = mask.split(',').all(|field| field.is_empty() || is_lifetime(field));
    if !masked || !body.as_object().is_some_and(|body| body.keys().all(|key| is_lifetime(key))) {
        return Err(refused());
    }
    proto::check(&fields::CACHED_CONTENT, body, &Path::Root, models::platform(request.uri.path()))?;
    expiry(body, now)?.ok_or_else(refused)
}

/// A rough count, by four bytes of text a token.
fn count_tokens(body: &Value) -> u64 {
    let mut bytes: usize = list(body, "tools").iter().map(|tool| tool.to_string().len()).sum();
    let mut media = 0;
    let contents = list(body, "contents").iter().chain(member(body, "system_instruction"));
    for part in contents.flat_map(|content| list(content, "parts")) {
        if member(part, "inline_data").or_else(|| member(part, "file_data")).is_some() {
            media += 1;
        } else {
            bytes +=
                part.get("text").and_then(Value::as_str).map_or_else(|| part.to_string().len(), str::len);
        }
    }
    u64::try_from(bytes / 4 + media * TOKENS_OF_MEDIA).unwrap_or(u64::MAX)
}
