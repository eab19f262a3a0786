//! Anthropic Messages: headers, rules and rendering.

mod blocks;
mod cache;
mod context;
mod history;
mod models;
mod problems;
mod render;
mod thinking;
mod tools;
mod validate;

#[cfg(test)]
mod tests;

use http::HeaderMap;
use serde_json::{Value, json};

pub(crate) use self::models::Model as Claude;
pub(crate) use self::render::{render, render_stream};
pub(crate) use self::validate::check_parameters;

use super::answer::{ErrorAnswer, request_id};
use super::rules::{Rules, Violation};

/// The largest request, 32 MB.
pub(crate) const MAX_REQUEST_BYTES: usize = 32_000_000;

/// The API versions that exist.
const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// Judges the body of a Messages request by the strict rules.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_messages(body: &Value) -> Result<(), Violation> {
    validate::check(body, &Rules::new())
}

/// Judges the body of a Messages request by rules of your own.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_messages_with(body: &Value, rules: &Rules) -> Result<(), Violation> {
    validate::check(body, rules)
}

/// Checks key, version and betas; returns the rules with the latter two in them.
pub(crate) fn check_headers(headers: &HeaderMap, rules: &Rules) -> Result<Rules, Violation> {
    let text =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim();
    let key = !text("x-api-key").is_empty();
    let bearer = text("authorization").strip_prefix("Bearer ").is_some_and(|token| !token.trim().is_empty());
    if rules.authentication() && !key && !bearer {
        return Err(Violation::new(401, "authentication_error", "x-api-key header is required"));
    }
    if key && bearer {
        let message = "x-api-key and authorization must not both be sent";
        return Err(Violation::new(401, "authentication_error", message));
    }
    let version = text("anthropic-version");
    if version.is_empty() {
        return Err(Violation::invalid("anthropic-version: header is required"));
    }
    if !VERSIONS.contains(&version) {
        return Err(Violation::invalid(format!("anthropic-version: \"{version}\" is not a valid version")));
    }
    let betas = headers.get_all("anthropic-beta").into_iter().filter_map(|value| value.to_str().ok());
    let betas = betas.flat_map(|value| value.split(',')).map(str::trim).filter(|beta| !beta.is_empty());
    Ok(rules.clone().with_anthropic_version(version).with_anthropic_betas(betas))
}

pub(crate) fn too_large() -> Violation {
    Violation::new(413, "request_too_large", "Request exceeds the maximum size")
}

pub(crate) fn error_body(error: &ErrorAnswer<'_>, index: usize) -> Value {
    let kind = error.kind.unwrap_or(match error.status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    });
    json!({
        "type": "error",
        "error": {"type": kind, "message": error.message},
        "request_id": request_id(index),
    })
}
