//! Numbers and texts that fit a schema.

use serde_json::{Map, Value};

/// The `nth` integer: 1 where that fits, else the nearest that does.
pub(super) fn integer(schema: &Map<String, Value>, nth: usize) -> Option<Value> {
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let least = [bound("minimum").map(f64::ceil), above(schema).map(|bound| bound.floor() + 1.0)];
    let most =
        [bound("maximum").map(f64::floor), below(schema).map(|bound| bound.ceil() - 1.0), widest(schema)];
    let least = least.into_iter().flatten().reduce(f64::max);
    let most = most.into_iter().flatten().reduce(f64::min);
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    // A multiple of 0.5 that is whole is one of 1.
    let step = step.map_or(1.0, |step| if step < 1.0 { 1.0 } else { step });
    let value = within(least, most, step, nth)?;
    if (0.0..=1.8e19).contains(&value) {
        // Bounds that a schema writes are exact up to 2^53, and beyond that nobody asks for one number.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and in range"
        )]
        return Some(Value::from(value as u64));
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
    (-9.2e18..0.0).contains(&value).then(|| Value::from(value as i64))
}

/// The `nth` number.
pub(super) fn number(schema: &Map<String, Value>, nth: usize) -> Option<Value> {
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    let (above, below) = (above(schema), below(schema));
    let low = [least, above].into_iter().flatten().reduce(f64::max);
    let high = [most, below].into_iter().flatten().reduce(f64::min);
    let fits = |value: f64| {
        least.is_none_or(|bound| value >= bound)
            && most.is_none_or(|bound| value <= bound)
            && above.is_none_or(|bound| value > bound)
            && below.is_none_or(|bound| value < bound)
    };
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let whole = within(low.map(f64::ceil), high.map(f64::floor), 1.0, nth);
    let stepped = step.and_then(|step| within(low, high, step, nth));
    let middle = low.zip(high).map(|(low, high)| low + (high - low) / 2.0);
    let near = [low, high, low.map(|low| low + 1.0), high.map(|high| high - 1.0)];
    let candidates = [stepped, whole.filter(|_| step.is_none()), middle].into_iter().chain(near);
    let value = candidates.flatten().find(|value| fits(*value))?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    if value.fract() == 0.0 && value.abs() < 1e15 {
        Some(Value::from(value as i64))
    } else {
        Some(Value::from(value))
    }
}

/// 1, or what is nearest to it between the bounds, and the `nth` behind it where there is room.
fn within(least: Option<f64>, most: Option<f64>, step: f64, nth: usize) -> Option<f64> {
    let (low, high) = (least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY));
    let near = 1.0_f64.clamp(low, high.max(low));
    let up = (near / step).ceil() * step;
    let first = if up <= high { up } else { (near / step).floor() * step };
    if first < low || first > high {
        return None;
    }
    let nth = f64::from(u32::try_from(nth).ok()?);
    let after = first + nth * step;
    let before = first - nth * step;
    Some(if after <= high {
        after
    } else if before >= low {
        before
    } else {
        first
    })
}

/// Drafts before 6 say with `true` that the bound itself is excluded.
fn above(schema: &Map<String, Value>) -> Option<f64> {
    match schema.get("exclusiveMinimum") {
        Some(Value::Bool(true)) => schema.get("minimum").and_then(Value::as_f64),
        bound => bound.and_then(Value::as_f64),
    }
}

fn below(schema: &Map<String, Value>) -> Option<f64> {
    match schema.get("exclusiveMaximum") {
        Some(Value::Bool(true)) => schema.get("maximum").and_then(Value::as_f64),
        bound => bound.and_then(Value::as_f64),
    }
}

/// The largest number of small formats; larger ones hold all that is made here.
fn widest(schema: &Map<String, Value>) -> Option<f64> {
    match schema.get("format").and_then(Value::as_str)? {
        "uint8" => Some(255.0),
        "int8" => Some(127.0),
        "uint16" => Some(65_535.0),
        "int16" => Some(32_767.0),
        _ => None,
    }
}

/// The `nth` text: of its format if it has one that is known, else letters of the length that is demanded.
pub(super) fn text(schema: &Map<String, Value>, nth: usize) -> Value {
    let size =
        |word: &str| schema.get(word).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
    let (least, most) =
        (size("minLength").unwrap_or(0).min(1 << 16), size("maxLength").unwrap_or(usize::MAX));
    let formatted = schema.get("format").and_then(Value::as_str).and_then(|format| of_format(format, nth));
    if let Some(formatted) = formatted.filter(|text| (least..=most).contains(&text.chars().count())) {
        return Value::String(formatted);
    }
    // a, b, … z, aa, ba, …: short, and each other than the one before.
    let mut text = String::new();
    let mut left = nth;
    loop {
        text.push(char::from(b'a' + u8::try_from(left % 26).unwrap_or(0)));
        if left < 26 {
            break;
        }
        left = left / 26 - 1;
    }
    while text.len() < least {
        text.push('a');
    }
    text.truncate(most);
    Value::String(text)
}

fn of_format(format: &str, nth: usize) -> Option<String> {
    let day = 1 + nth % 28;
    Some(match format {
        "date-time" => format!("2026-01-{day:02}T00:00:00Z"),
        "date" => format!("2026-01-{day:02}"),
        "time" => format!("{:02}:00:00Z", nth % 24),
        "duration" => format!("P{day}D"),
        "email" | "idn-email" => format!("user{day}@example.com"),
        "hostname" | "idn-hostname" => format!("host{day}.example.com"),
        "ipv4" => format!("192.0.2.{day}"),
        "ipv6" => format!("2001:db8::{day}"),
        "ip" => format!("192.0.2.{day}"),
        "uri" | "iri" | "url" => format!("https://example.com/{day}"),
        "uri-reference" | "iri-reference" => format!("/{day}"),
        "uuid" => format!("00000000-0000-4000-8000-{day:012}"),
        "json-pointer" => format!("/{day}"),
        "regex" => "a".to_owned(),
        _ => return None,
    })
}
