//! The life of a file, by the moments that an API tells.

use attache_core::calendar::rfc3339;

/// The whole seconds from one moment to another, both as RFC 3339 writes them (`2026-11-01T12:00:00.5Z`,
/// `2026-11-01T13:00:00+01:00`); `None` if either is none. Negative where the second comes first.
///
/// ```
/// use attache_transport::seconds_between;
/// assert_eq!(seconds_between("2026-02-28T23:59:00Z", "2026-03-01T00:00:00.25Z"), Some(60));
/// assert_eq!(seconds_between("2026-03-01T01:00:00+01:00", "2026-03-01T00:00:01Z"), Some(1));
/// assert_eq!(seconds_between("yesterday", "2026-03-01T00:00:01Z"), None);
/// ```
pub fn seconds_between(from: &str, to: &str) -> Option<i64> {
    Some(rfc3339(to)? - rfc3339(from)?)
}
