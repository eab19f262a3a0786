//! The headers of a provider's response, parsed on demand.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;

use crate::calendar::rfc3339;
use crate::fresh;

/// The head of an HTTP response: the request id for the provider's support, the remaining rate limits, and all headers.
/// It is parsed only on demand. `Debug` shows the request id and no other value.
///
/// ```
/// use attache_core::response::ResponseInfo;
/// use http::{HeaderMap, HeaderValue};
///
/// let mut headers = HeaderMap::new();
/// headers.insert("request-id", HeaderValue::from_static("req_1"));
/// headers.insert("anthropic-ratelimit-input-tokens-remaining", HeaderValue::from_static("1900"));
/// let info = ResponseInfo::new(headers);
/// assert_eq!(info.request_id(), Some("req_1"));
/// let limits = info.rate_limits();
/// assert_eq!((limits[0].of.as_str(), limits[0].remaining), ("input-tokens", Some(1900)));
/// ```
#[derive(Clone, PartialEq)]
pub struct ResponseInfo {
    headers: HeaderMap,
    received: SystemTime,
}

/// The state of one of a provider's rate limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimitStatus {
    /// The counted unit, as the provider names it: `requests`, `tokens`, `input-tokens`, `output-tokens` and others.
    pub of: String,
    /// The maximum number per period.
    pub limit: Option<u64>,
    /// The remaining number.
    pub remaining: Option<u64>,
    /// The time at which the limit is fully reset.
    pub reset: Option<SystemTime>,
}

/// The names under which providers send the id of a request: OpenAI and most, Anthropic, Azure, Amazon, Google.
const REQUEST_IDS: [&str; 5] =
    ["x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "x-goog-request-id"];

impl ResponseInfo {
    /// Creates the head of a response received now. Cookies are removed, since they are always secret.
    pub fn new(mut headers: HeaderMap) -> Self {
        headers.remove(http::header::SET_COOKIE);
        Self { headers, received: fresh::now() }
    }

    /// The provider's id of the request, which its support team asks for.
    pub fn request_id(&self) -> Option<&str> {
        REQUEST_IDS.iter().find_map(|name| text(&self.headers, name))
    }

    /// The headers as received, without cookies and with `***` in place of values that repeat a secret of the request.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The time at which the response was received.
    pub fn received(&self) -> SystemTime {
        self.received
    }

    /// The provider's rate limits, in the order of their names: `x-ratelimit-…` of OpenAI and most compatible servers,
    /// `anthropic-ratelimit-…` and `anthropic-priority-…` of Anthropic. Google and Amazon do not send any.
    pub fn rate_limits(&self) -> Vec<RateLimitStatus> {
        let mut limits = std::collections::BTreeMap::<&str, RateLimitStatus>::new();
        for (name, value) in &self.headers {
            let Ok(value) = value.to_str() else { continue };
            let Some((of, member)) = member_of(name.as_str()) else { continue };
            let known = limits.entry(of).or_insert_with(|| RateLimitStatus {
                of: of.to_owned(),
                limit: None,
                remaining: None,
                reset: None,
            });
            match member {
                Member::Limit => known.limit = value.trim().parse().ok(),
                Member::Remaining => known.remaining = value.trim().parse().ok(),
                Member::Reset => known.reset = self.moment(value.trim()),
            }
        }
        limits.into_values().collect()
    }

    /// A time, or a time from now on: RFC 3339 (Anthropic), a duration as Go writes it or seconds (OpenAI), or
    /// milliseconds since 1970 (OpenRouter).
    fn moment(&self, text: &str) -> Option<SystemTime> {
        /// More seconds than any limit lasts: it is a date.
        const DATES: u64 = 1_000_000_000;
        if let Some(seconds) = rfc3339(text) {
            return UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?));
        }
        let wait = go_duration(text)?;
        match wait.as_secs() {
            0..DATES => self.received.checked_add(wait),
            seconds if seconds >= DATES * 100 => UNIX_EPOCH.checked_add(Duration::from_millis(seconds)),
            _ => UNIX_EPOCH.checked_add(wait),
        }
    }
}

impl fmt::Debug for ResponseInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseInfo")
            .field("request_id", &self.request_id())
            .field("headers", &self.headers.len())
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy)]
enum Member {
    Limit,
    Remaining,
    Reset,
}

/// The limit that a header is about, and what it says of it.
fn member_of(name: &str) -> Option<(&str, Member)> {
    const MEMBERS: [(&str, Member); 3] =
        [("limit", Member::Limit), ("remaining", Member::Remaining), ("reset", Member::Reset)];
    // anthropic-ratelimit-tokens-remaining
    let anthropic = name
        .strip_prefix("anthropic-ratelimit-")
        .or_else(|| name.strip_prefix("anthropic-").filter(|rest| rest.starts_with("priority-")));
    if let Some(rest) = anthropic {
        return MEMBERS.iter().find_map(|(word, member)| {
            let of = rest.strip_suffix(word)?.strip_suffix('-')?;
            Some((of, *member))
        });
    }
    // x-ratelimit-remaining-tokens, x-ratelimit-remaining
    let rest = name.strip_prefix("x-ratelimit-")?;
    MEMBERS.iter().find_map(|(word, member)| match rest.strip_prefix(word)? {
        "" => Some(("requests", *member)),
        of => Some((of.strip_prefix('-')?, *member)),
    })
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}

/// `1h2m3.5s`, `6m0s`, `20ms`; a bare number counts as seconds.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at_checked(digits)?;
        let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_end)?;
        let scale = match unit {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" | "" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * scale;
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds).ok().filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn info(pairs: &[(&'static str, &'static str)]) -> ResponseInfo {
        let headers =
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        ResponseInfo { received: at(1_000), ..ResponseInfo::new(headers.collect()) }
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    type Known = (String, Option<u64>, Option<u64>, Option<SystemTime>);

    fn limits(pairs: &[(&'static str, &'static str)]) -> Vec<Known> {
        let limits = info(pairs).rate_limits().into_iter();
        limits.map(|limit| (limit.of, limit.limit, limit.remaining, limit.reset)).collect()
    }

    // platform.openai.com/docs/guides/rate-limits, "Rate limits in headers", with its values
    #[test]
    fn limits_of_openai() {
        let headers = [
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        let requests = ("requests".to_owned(), Some(60), Some(59), Some(at(1_001)));
        let tokens = ("tokens".to_owned(), Some(150_000), Some(149_984), Some(at(1_360)));
        assert_eq!(limits(&headers), [requests, tokens]);
    }

    // platform.claude.com/docs/en/api/rate-limits, "Response headers"
    #[test]
    fn limits_of_anthropic() {
        let headers = [
            ("anthropic-ratelimit-output-tokens-limit", "8000"),
            ("anthropic-ratelimit-output-tokens-remaining", "7900"),
            ("anthropic-ratelimit-output-tokens-reset", "1970-01-02T00:00:05Z"),
            ("anthropic-priority-input-tokens-remaining", "5"),
            ("anthropic-organization-id", "o"),
        ];
        let output = ("output-tokens".to_owned(), Some(8000), Some(7900), Some(at(86_405)));
        let priority = ("priority-input-tokens".to_owned(), None, Some(5), None);
        assert_eq!(limits(&headers), [output, priority]);
    }

    // openrouter.ai/docs/api/reference/limits: one limit, its reset in milliseconds since 1970
    #[test]
    fn limits_of_openrouter() {
        let headers = [
            ("x-ratelimit-limit", "20"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1741305600000"),
        ];
        assert_eq!(limits(&headers), [("requests".to_owned(), Some(20), Some(0), Some(at(1_741_305_600)))]);
    }

    #[test]
    fn nonsense_is_left_out() {
        let headers = [
            ("x-ratelimit-reset-tokens", "soon"),
            ("x-ratelimit-remaining-tokens", "-1"),
            ("x-ratelimit-bucket", "1"),
            ("anthropic-ratelimit-x", "1"),
        ];
        assert_eq!(limits(&headers), [("tokens".to_owned(), None, None, None)]);
        for nonsense in ["", "s", "1x", "m5", "-1s", "1.2.3s", "99999999999999999999999h"] {
            assert_eq!(go_duration(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn times_are_read() {
        let seconds = |s| Some(Duration::from_secs_f64(s));
        assert_eq!(go_duration("1h2m3.5s"), seconds(3723.5));
        assert_eq!(go_duration("20ms"), seconds(0.02));
        assert_eq!(go_duration("7"), seconds(7.0));
    }

    #[test]
    fn debug_shows_no_value_and_cookies_are_gone() {
        let info = info(&[("set-cookie", "canary"), ("x-echo", "canary"), ("x-request-id", "req_1")]);
        assert!(info.headers().get("set-cookie").is_none());
        let shown = format!("{info:?}");
        assert!(shown.contains("req_1") && !shown.contains("canary"), "{shown}");
    }
}
