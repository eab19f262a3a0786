//! The description of the routes, by OpenAPI 3.1. It is a file; a test holds it against the router, another one asks every
//! route what the description says.

use bytes::Bytes;
use serde_json::Value;

use crate::dialect::Dialect;

/// The description, for a server without a base path on which all dialects are on.
const FILE: &str = include_str!("openapi.json");

/// The description of the routes under a base path, which is empty or begins with `/`, without those of the dialects that
/// are off, and of features that this server was built without.
pub(crate) fn described(base: &str, off: &[Dialect]) -> Bytes {
    let has_previews = cfg!(feature = "previews");
    if base.is_empty() && off.is_empty() && has_previews {
        return Bytes::from_static(FILE.as_bytes());
    }
    let mut description: Value = serde_json::from_str(FILE).unwrap_or_default();
    if let Some(url) = description.pointer_mut("/servers/0/url").filter(|_| !base.is_empty()) {
        *url = base.into();
    }
    if let Some(paths) = description.get_mut("paths").and_then(Value::as_object_mut) {
        let is_off = |path: &str| off.iter().any(|dialect| path.starts_with(place(*dialect)));
        let is_preview = |path: &str| path.ends_with("/text") || path.contains("/pages/{page}");
        paths.retain(|path, _| !is_off(path) && (has_previews || !is_preview(path)));
    }
    Bytes::from(description.to_string())
}

/// The beginning of the paths of a dialect.
fn place(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::ChatCompletions => "/v1/chat/completions",
        Dialect::Messages => "/v1/messages",
        Dialect::Responses => "/v1/responses",
        Dialect::AgUi => "/v1/ag-ui",
        Dialect::UiMessages => "/v1/ui",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_that_of_its_server() {
        let told =
            |base: &str, off: &[Dialect]| -> Value { serde_json::from_slice(&described(base, off)).unwrap() };
        assert_eq!(told("", &[])["servers"][0]["url"], "/");
        assert_eq!(told("/agents", &[])["servers"][0]["url"], "/agents");
        let all = [
            Dialect::ChatCompletions,
            Dialect::Messages,
            Dialect::Responses,
            Dialect::AgUi,
            Dialect::UiMessages,
        ];
        for dialect in all {
            let has = |told: Value| {
                told["paths"].as_object().unwrap().keys().any(|path| path.starts_with(place(dialect)))
            };
            assert!(has(told("", &[])) && !has(told("", &[dialect])), "{dialect:?}");
        }
    }
}
