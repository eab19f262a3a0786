//! The errors that each API documents.

use attache_core::ErrorKind as K;
use attache_tests::Api;

/// An error by status, type and code, and what it means.
pub(super) type Documented = (u16, &'static str, &'static str, &'static str, K, bool);

/// openai.md 0.3
const OPENAI: &[Documented] = &[
    (400, "invalid_request_error", "", "no", K::InvalidRequest, false),
    (400, "invalid_request_error", "context_length_exceeded", "too long", K::ContextTooLong, false),
    (400, "invalid_request_error", "unsupported_parameter", "no such", K::Unsupported, false),
    (400, "invalid_request_error", "model_not_found", "no such model", K::NotFound, false),
    (400, "invalid_request_error", "invalid_prompt", "not allowed", K::Refused, false),
    (401, "invalid_request_error", "invalid_api_key", "wrong key", K::Authentication, false),
    (403, "request_forbidden", "unsupported_country_region_territory", "not here", K::Permission, false),
    (404, "invalid_request_error", "model_not_found", "no such model", K::NotFound, false),
    (408, "timeout", "", "too slow", K::Timeout, true),
    (409, "conflict", "", "locked", K::Overloaded, true),
    (413, "invalid_request_error", "", "too large", K::InvalidRequest, false),
    (422, "invalid_request_error", "", "no", K::InvalidRequest, false),
    (429, "requests", "rate_limit_exceeded", "slow down", K::RateLimited, true),
    (429, "tokens", "rate_limit_exceeded", "slow down", K::RateLimited, true),
    (429, "insufficient_quota", "insufficient_quota", "used up", K::QuotaExceeded, false),
    (500, "server_error", "", "sorry", K::Overloaded, true),
    (503, "server_error", "", "busy", K::Overloaded, true),
];

/// anthropic.md 11
const ANTHROPIC: &[Documented] = &[
    (400, "invalid_request_error", "", "no", K::InvalidRequest, false),
    (400, "invalid_request_error", "", "prompt is too long: 9 > 8 maximum", K::ContextTooLong, false),
    (400, "invalid_request_error", "", "Your credit balance is too low", K::QuotaExceeded, false),
    (401, "authentication_error", "", "wrong key", K::Authentication, false),
    (402, "billing_error", "", "unpaid", K::QuotaExceeded, false),
    (403, "permission_error", "", "no", K::Permission, false),
    (404, "not_found_error", "", "no such model", K::NotFound, false),
    (413, "request_too_large", "", "too large", K::InvalidRequest, false),
    (429, "rate_limit_error", "", "slow down", K::RateLimited, true),
    (500, "api_error", "", "sorry", K::Overloaded, true),
    (504, "timeout_error", "", "too slow", K::Timeout, true),
    (529, "overloaded_error", "", "busy", K::Overloaded, true),
];

/// gemini.md 9
const GEMINI: &[Documented] = &[
    (400, "INVALID_ARGUMENT", "", "no", K::InvalidRequest, false),
    (
        400,
        "INVALID_ARGUMENT",
        "",
        "API key not valid. Please pass a valid API key.",
        K::Authentication,
        false,
    ),
    (
        400,
        "INVALID_ARGUMENT",
        "",
        "The input token count (9) exceeds the maximum number of tokens allowed (8)",
        K::ContextTooLong,
        false,
    ),
    (400, "FAILED_PRECONDITION", "", "User location is not supported", K::Permission, false),
    (401, "UNAUTHENTICATED", "", "wrong key", K::Authentication, false),
    (403, "PERMISSION_DENIED", "", "no", K::Permission, false),
    (404, "NOT_FOUND", "", "no such model", K::NotFound, false),
    (429, "RESOURCE_EXHAUSTED", "", "slow down", K::RateLimited, true),
    (500, "INTERNAL", "", "sorry", K::Overloaded, true),
    (503, "UNAVAILABLE", "", "busy", K::Overloaded, true),
    (504, "DEADLINE_EXCEEDED", "", "too slow", K::Timeout, true),
];

/// bedrock.md 8
const CONVERSE: &[Documented] = &[
    (400, "ValidationException", "", "no", K::InvalidRequest, false),
    (400, "ValidationException", "", "Input is too long for requested model.", K::ContextTooLong, false),
    (400, "ValidationException", "", "The provided model identifier is invalid.", K::NotFound, false),
    (400, "ServiceQuotaExceededException", "", "used up", K::QuotaExceeded, false),
    (403, "AccessDeniedException", "", "no", K::Permission, false),
    (403, "UnrecognizedClientException", "", "wrong key", K::Authentication, false),
    (404, "ResourceNotFoundException", "", "no such model", K::NotFound, false),
    (408, "ModelTimeoutException", "", "too slow", K::Timeout, true),
    (424, "ModelErrorException", "", "sorry", K::Overloaded, true),
    (429, "ThrottlingException", "", "Too many requests", K::RateLimited, true),
    (429, "ModelNotReadyException", "", "cold", K::Overloaded, true),
    (500, "InternalServerException", "", "sorry", K::Overloaded, true),
    (503, "ServiceUnavailableException", "", "busy", K::Overloaded, true),
];

/// cohere.md 7
const COHERE: &[Documented] = &[
    (400, "", "", "no", K::InvalidRequest, false),
    (400, "", "", "too many tokens: size limit exceeded by 9 tokens", K::ContextTooLong, false),
    (401, "", "", "invalid api token", K::Authentication, false),
    (402, "", "", "please add a payment method", K::QuotaExceeded, false),
    (403, "", "", "no", K::Permission, false),
    (404, "", "", "no such model", K::NotFound, false),
    (422, "", "", "no", K::InvalidRequest, false),
    (429, "", "", "slow down", K::RateLimited, true),
    (429, "", "", "a Trial key is limited to 1000 API calls / month", K::QuotaExceeded, false),
    (498, "", "", "the request contains a deny-listed token", K::Refused, false),
    (499, "", "", "request cancelled by user", K::Cancelled, false),
    (500, "", "", "sorry", K::Overloaded, true),
    (503, "", "", "busy", K::Overloaded, true),
    (504, "", "", "too slow", K::Timeout, true),
];

/// openai.md C.13
const OLLAMA: &[Documented] = &[
    (400, "", "", "model is required", K::InvalidRequest, false),
    (400, "", "", "prompt too long; exceeded max context length by 9 tokens", K::ContextTooLong, false),
    (400, "", "", "library/x:latest does not support tools", K::Unsupported, false),
    (401, "", "", "unauthorized", K::Authentication, false),
    (402, "", "", "unpaid", K::QuotaExceeded, false),
    (404, "", "", "model 'x' not found", K::NotFound, false),
    (429, "", "", "slow down", K::RateLimited, true),
    (500, "", "", "model runner has unexpectedly stopped", K::Overloaded, true),
    (502, "", "", "the cloud cannot be reached", K::Overloaded, true),
    (503, "", "", "server busy, please try again", K::Overloaded, true),
];

/// The errors of an API.
pub(super) fn documented(api: Api) -> &'static [Documented] {
    match api {
        Api::OpenAi | Api::OpenAiChat => OPENAI,
        Api::Anthropic => ANTHROPIC,
        Api::Gemini => GEMINI,
        Api::Bedrock => CONVERSE,
        Api::Cohere => COHERE,
        Api::Ollama => OLLAMA,
    }
}
