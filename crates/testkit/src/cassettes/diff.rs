//! The differences of two bodies, for people.

use attache_transport::cassette::{RecordedBody, json_differences};
use serde_json::Value;

/// The maximum number of differences, and the maximum number of characters of each side, that are told.
const MAX: usize = 10;
const WIDTH: usize = 160;

/// The places where the bodies differ, each with what was recorded and what is there now.
pub(super) fn differences(recorded: &RecordedBody, now: &RecordedBody, ignored: &[String]) -> Vec<String> {
    let (was, is) = (recorded.bytes(), now.bytes());
    let (Some(was), Some(is)) = (recorded.json(), now.json()) else {
        if was == is {
            return Vec::new();
        }
        let text = |bytes: &[u8]| Value::String(String::from_utf8_lossy(bytes).into_owned());
        return vec![told("the body", Some(&text(&was)), Some(&text(&is)))];
    };
    let found = json_differences(&was, &is, ignored);
    let mut lines: Vec<String> = found
        .iter()
        .take(MAX)
        .map(|found| {
            let place = if found.pointer.is_empty() { "the body" } else { &found.pointer };
            told(place, found.expected.as_ref(), found.actual.as_ref())
        })
        .collect();
    if found.len() > MAX {
        lines.push(format!("  and {} more places", found.len() - MAX));
    }
    lines
}

fn told(place: &str, recorded: Option<&Value>, now: Option<&Value>) -> String {
    let shown = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let (was, is) = (shown(recorded), shown(now));
    let same = was.chars().zip(is.chars()).take_while(|(was, is)| was == is).count();
    format!("  {place}\n    recorded  {}\n    now       {}", near(&was, same), near(&is, same))
}

/// The part of a text that begins a little before the character `at`.
fn near(text: &str, at: usize) -> String {
    let begin = if text.chars().count() <= WIDTH { 0 } else { at.saturating_sub(WIDTH / 4) };
    let mut shown: String = text.chars().skip(begin).take(WIDTH).collect();
    if begin > 0 {
        shown.insert(0, '…');
    }
    if text.chars().count() > begin + WIDTH {
        shown.push('…');
    }
    shown
}
