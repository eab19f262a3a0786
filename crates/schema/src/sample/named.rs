//! Values that the name of a member suggests.

use serde_json::{Value, json};

/// Values for a member of that name, the likeliest first; they may not fit its schema.
pub(super) fn suggestions(name: &str) -> Vec<Value> {
    let words = words(name);
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let mut values = Vec::new();
    let mut suggest = |any: &[&str], of: &[Value]| {
        if has(any) {
            values.extend_from_slice(of);
        }
    };
    suggest(&["email", "mail"], &[json!("ann@example.org")]);
    suggest(&["url", "uri", "link", "website", "homepage"], &[json!("https://example.org")]);
    suggest(&["phone", "telephone", "mobile"], &[json!("+49 30 1234567")]);
    suggest(&["uuid", "guid"], &[json!("0b6a3a1e-5c5d-4d2b-9f5e-8f6f1f0e7c11")]);
    suggest(&["timestamp", "datetime"], &[json!("2026-01-31T12:00:00Z"), json!(1_769_860_800)]);
    suggest(&["date", "day", "birthday", "deadline"], &[json!("2026-01-31"), json!("2026-01-31T12:00:00Z")]);
    suggest(&["time"], &[json!("12:00:00"), json!("12:00"), json!("2026-01-31T12:00:00Z")]);
    suggest(&["file", "filename", "path"], &[json!("report.pdf")]);
    suggest(&["city", "town", "place", "location"], &[json!("Berlin")]);
    suggest(&["country"], &[json!("Germany"), json!("DE")]);
    suggest(&["street", "address"], &[json!("Main Street 1, Berlin")]);
    suggest(&["zip", "postcode"], &[json!("10115"), json!(10115)]);
    suggest(&["language", "lang", "locale"], &[json!("en")]);
    suggest(&["currency"], &[json!("EUR")]);
    suggest(&["query", "search", "question"], &[json!("open invoices")]);
    suggest(&["title", "subject"], &[json!("An example")]);
    suggest(&["name", "author", "customer", "person", "user"], &[json!("Ann Example")]);
    suggest(&["id", "number", "key", "code"], &[json!("A-17"), json!(17)]);
    suggest(&["year"], &[json!(2026), json!("2026")]);
    suggest(&["latitude", "lat"], &[json!(52.52)]);
    suggest(&["longitude", "lon", "lng"], &[json!(13.4)]);
    suggest(&["price", "amount", "total", "cost"], &[json!(12.5), json!(12)]);
    suggest(&["age"], &[json!(30)]);
    suggest(&["limit", "count", "quantity"], &[json!(10), json!(1)]);
    values
}

/// The words of a name, such as `dueDate` or `due-date`, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let starts = !c.is_alphanumeric() || (c.is_uppercase() && was_small);
        if starts {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase() || c.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}
