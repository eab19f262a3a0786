//! The words of response headers about errors.

use std::time::{Duration, SystemTime};

use attache_core::calendar::days_since_1970;
use attache_core::response::ResponseInfo;
use http::{HeaderMap, StatusCode};

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}

/// The server's own word about asking again.
pub(super) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match text(headers, "x-should-retry")? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The time that the server asks to wait: `retry-after-ms` or `x-amz-retry-after`, then `retry-after` in seconds or as a
/// date, then, for 429, the reset of a limit of which nothing is left. No time, and a date that has passed, ask for
/// nothing. (openai.md 0.3, bedrock.md 8)
pub(super) fn retry_after(response: &ResponseInfo, status: StatusCode) -> Option<Duration> {
    let headers = response.headers();
    let number = |name| text(headers, name).and_then(|text| text.parse::<f64>().ok());
    let millis = number("retry-after-ms").or_else(|| number("x-amz-retry-after"));
    let millis = millis.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    let seconds = || number("retry-after").and_then(|s| Duration::try_from_secs_f64(s).ok());
    let date = || {
        let then = http_date(text(headers, "retry-after")?)?;
        // The server's own clock, where it tells the time, spares us the difference to ours.
        let now = text(headers, "date").and_then(http_date).unwrap_or(response.received());
        Some(then.duration_since(now).unwrap_or_default())
    };
    let reset = || {
        let limits = (status == StatusCode::TOO_MANY_REQUESTS).then(|| response.rate_limits())?;
        let used_up = limits.iter().filter(|limit| limit.remaining == Some(0));
        used_up.filter_map(|limit| limit.reset?.duration_since(response.received()).ok()).max()
    };
    let is_any = |wait: &Duration| !wait.is_zero();
    let asked = millis.filter(is_any).or_else(|| seconds().filter(is_any)).or_else(|| date().filter(is_any));
    asked.or_else(reset)
}

/// A date such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, the form that is sent today).
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace();
    let _weekday = words.next().filter(|day| day.ends_with(','))?;
    let day: i64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let name = words.next()?;
    let month = i64::try_from(MONTHS.iter().position(|month| *month == name)?).ok()? + 1;
    let year: i64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next() != Some("GMT") || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = u64::try_from(days_since_1970(year, month, day)).ok()?;
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(days * 86_400 + hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn wait(pairs: &[(&'static str, &'static str)]) -> Option<Duration> {
        let clock = [("date", "Sun, 06 Nov 1994 08:49:37 GMT")];
        let told = pairs.iter().any(|(name, _)| *name == "date");
        let headers = headers(if told { &[] } else { &clock }).into_iter().chain(headers(pairs));
        let headers = headers.filter_map(|(name, value)| Some((name?, value))).collect();
        retry_after(&ResponseInfo::new(headers), StatusCode::TOO_MANY_REQUESTS)
    }

    // openai.md 0.3
    #[test]
    fn waits_that_servers_ask_for() {
        let seconds = |s| Some(Duration::from_secs_f64(s));
        assert_eq!(wait(&[("retry-after-ms", "1500.5"), ("retry-after", "9")]), seconds(1.5005));
        assert_eq!(wait(&[("x-amz-retry-after", "1500"), ("retry-after", "9")]), seconds(1.5));
        assert_eq!(wait(&[("retry-after", "2.5")]), seconds(2.5));
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")]), seconds(60.0));
        for none in ["0", "0.0", "Sun, 06 Nov 1994 08:40:00 GMT"] {
            assert_eq!(wait(&[("retry-after", none)]), None, "{none}");
            let reset = ("x-ratelimit-reset-requests", "20ms");
            let used_up = [("retry-after", none), ("x-ratelimit-remaining-requests", "0"), reset];
            assert_eq!(wait(&used_up), seconds(0.02), "{none}");
        }
        let skewed =
            [("retry-after", "Fri, 01 Mar 2024 00:00:10 GMT"), ("date", "Wed, 28 Feb 2024 23:59:50 GMT")];
        assert_eq!(wait(&skewed), seconds(86_420.0));
        for nonsense in ["-1", "NaN", "inf", "soon", "1e300", "Sun, 99 Nov 1994 08:50:37 GMT"] {
            let value = HeaderValue::from_static(nonsense);
            let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, value)]);
            assert_eq!(retry_after(&ResponseInfo::new(headers), StatusCode::OK), None, "{nonsense}");
        }
    }

    #[test]
    fn a_limit_that_is_used_up_says_when_it_is_reset() {
        let seconds = |s| Some(Duration::from_secs_f64(s));
        let used_up = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "20ms"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(wait(&used_up), seconds(360.0));
        assert_eq!(wait(&[("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "1s")]), None);
    }

    #[test]
    fn orders() {
        assert_eq!(should_retry(&headers(&[("x-should-retry", "false")])), Some(false));
        assert_eq!(should_retry(&headers(&[("x-should-retry", "maybe")])), None);
    }
}
