//! Comparisons of JSON values: equal, in order, a multiple, one of several.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use serde_json::{Number, Value};

/// The largest whole number up to which a fraction in binary holds every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A whole number that is written as one.
fn written_whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// True if a number has no fraction, however it is written.
pub(crate) fn is_whole(number: &Number) -> bool {
    written_whole(number).is_some() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// True if a number is written as an integer of 64 bits.
pub(crate) fn is_written_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64()
}

/// `5.0` as 5; `None` if it has a fraction or is too large to be known exactly.
pub(crate) fn as_integer(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)?;
    format!("{float:.0}").parse::<i64>().ok().map(Number::from)
}

pub(crate) fn order(a: &Number, b: &Number) -> Option<Ordering> {
    match (written_whole(a), written_whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

pub(crate) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (written_whole(number), written_whole(step)) {
        return step == 0 || number % step == 0;
    }
    let (Some(number), Some(step)) = (number.as_f64(), step.as_f64()) else { return true };
    let quotient = number / step;
    // Decimal fractions are none in binary: 0.3 is a multiple of 0.1.
    !quotient.is_finite()
        || (quotient - quotient.round()).abs() <= 4.0 * f64::EPSILON * quotient.abs().max(1.0)
}

/// True if two values are the same in JSON, where 1 and 1.0 are one number and members have no order.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// A whole number that cannot be told from its neighbours as a fraction, or the bits of a fraction.
fn digits(number: &Number) -> (i128, u64) {
    let float = number.as_f64().unwrap_or_default();
    let large = (float.abs() >= EXACT).then(|| {
        // Beyond 128 bits it is a fraction only.
        written_whole(number).or_else(|| format!("{float:.0}").parse().ok())
    });
    match large.flatten() {
        Some(whole) => (whole, 0),
        // Zero has two signs and is one number.
        None => (0, (float + 0.0).to_bits()),
    }
}

/// The steps that reading, comparing or copying a value costs beside one: some for what it holds.
pub(crate) fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => bytes(text),
        Value::Array(items) => of_items(items),
        Value::Object(members) => members.iter().map(|(name, value)| 1 + bytes(name) + weight(value)).sum(),
        _ => 0,
    }
}

/// The steps that the items of a list cost.
pub(crate) fn of_items(items: &[Value]) -> u64 {
    items.iter().map(|item| 1 + weight(item)).sum()
}

/// The steps that reading a text costs.
pub(crate) fn bytes(text: &str) -> u64 {
    u64::try_from(text.len() / 64).unwrap_or(u64::MAX)
}

/// The steps that looking at some names or places costs, which are cheap.
pub(crate) fn glances(count: usize) -> u64 {
    u64::try_from(count / 8).unwrap_or(u64::MAX)
}

/// A number that values which are the same share.
fn digest(keys: &RandomState, value: &Value) -> u64 {
    let mut hasher = keys.build_hasher();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(truth) => truth.hash(&mut hasher),
        Value::Number(number) => digits(number).hash(&mut hasher),
        Value::String(text) => text.hash(&mut hasher),
        Value::Array(items) => {
            items.len().hash(&mut hasher);
            items.iter().for_each(|item| digest(keys, item).hash(&mut hasher));
        }
        Value::Object(members) => {
            let one = |(name, value): (&String, &Value)| keys.hash_one((name, digest(keys, value)));
            members.iter().map(one).fold(0_u64, u64::wrapping_add).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// The places of values that stand at an earlier place already.
pub(crate) fn repeated(items: &[Value]) -> impl Iterator<Item = usize> {
    let keys = RandomState::new();
    let mut known: HashMap<u64, Vec<&Value>> = HashMap::with_capacity(items.len());
    items.iter().enumerate().filter_map(move |(at, item)| {
        let alike = known.entry(digest(&keys, item)).or_default();
        let is_known = alike.iter().any(|before| same(before, item));
        if !is_known {
            alike.push(item);
        }
        is_known.then_some(at)
    })
}

/// Values of which one is asked for.
pub(crate) struct Choices {
    values: Vec<Value>,
    /// The places of many values, by their digests.
    index: Option<(RandomState, HashMap<u64, Vec<usize>>)>,
}

impl Choices {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        let index = (values.len() > 8).then(|| {
            let keys = RandomState::new();
            let mut index: HashMap<u64, Vec<usize>> = HashMap::with_capacity(values.len());
            for (at, value) in values.iter().enumerate() {
                index.entry(digest(&keys, value)).or_default().push(at);
            }
            (keys, index)
        });
        Self { values, index }
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(crate) fn has(&self, value: &Value) -> bool {
        match &self.index {
            None => self.values.iter().any(|choice| same(choice, value)),
            Some((keys, index)) => index.get(&digest(keys, value)).is_some_and(|alike| {
                alike.iter().filter_map(|at| self.values.get(*at)).any(|choice| same(choice, value))
            }),
        }
    }
}
