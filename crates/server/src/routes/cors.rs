//! Pages of other origins: which may ask, what they may send and read (CORS).

use http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowCredentials, AllowOrigin, CorsLayer};

/// The headers that pages of other origins may send: those of the routes, of other protocols beside them, and those that the
/// official SDKs for JavaScript send with each request.
const TAKEN: [&str; 27] = [
    "anthropic-version",
    "x-attache-session",
    "x-attache-events",
    "x-request-id",
    "last-event-id",
    "x-api-key",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "a2a-version",
    "openai-organization",
    "openai-project",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "x-stainless-arch",
    "x-stainless-custom-poll-interval",
    "x-stainless-helper",
    "x-stainless-helper-method",
    "x-stainless-lang",
    "x-stainless-os",
    "x-stainless-package-version",
    "x-stainless-poll-helper",
    "x-stainless-retry-count",
    "x-stainless-runtime",
    "x-stainless-runtime-version",
    "x-stainless-timeout",
];
/// The headers of answers that they may read beside the usual ones.
const GIVEN: [&str; 11] = [
    "x-attache-session",
    "x-request-id",
    "request-id",
    "x-should-retry",
    "x-vercel-ai-ui-message-stream",
    "retry-after",
    "content-disposition",
    "content-range",
    "etag",
    "www-authenticate",
    "mcp-session-id",
];

/// Lets pages of these origins ask, with these headers beside those of the server, and with cookies where those may count.
pub(super) fn layer(origins: &[String], headers: &[String], takes_cookies: bool) -> CorsLayer {
    let origins: Vec<HeaderValue> = origins
        .iter()
        .filter_map(|origin| HeaderValue::from_str(origin).ok())
        .filter(|it| it != "*")
        .collect();
    let known = origins.clone();
    let others = headers.iter().filter_map(|name| HeaderName::try_from(name.as_str()).ok());
    CorsLayer::new()
        .allow_credentials(AllowCredentials::predicate(move |origin, _| {
            takes_cookies && known.contains(origin)
        }))
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers(
            [header::AUTHORIZATION, header::CONTENT_TYPE, header::RANGE]
                .into_iter()
                .chain(TAKEN.map(HeaderName::from_static))
                .chain(others)
                .collect::<Vec<_>>(),
        )
        .expose_headers(GIVEN.map(HeaderName::from_static))
}
