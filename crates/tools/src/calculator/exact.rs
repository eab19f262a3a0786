//! Numbers as fractions, so that nothing is lost but where it must be.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer as _;
use num_traits::{One as _, Signed as _, ToPrimitive as _, Zero as _};

/// The maximum number of bits of each side of a fraction.
const MAX_BITS: u64 = 4_096;
/// The maximum number of digits behind the point that are shown of a number that has an end.
const MAX_FRACTION: u32 = 60;
/// The digits that a rounded number shows, and those that functions of floating point yield.
const DIGITS: usize = 34;
const FLOAT_DIGITS: usize = 15;

/// A fraction in lowest terms; the denominator is positive.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exact {
    numerator: BigInt,
    denominator: BigInt,
    /// True if it is not the whole truth.
    pub(super) is_rounded: bool,
}

type Result<T> = std::result::Result<T, &'static str>;

const TOO_LARGE: &str = "the number has too many digits";
const NO_NUMBER: &str = "the result is no real number";

impl Exact {
    pub(super) fn whole(value: impl Into<BigInt>) -> Self {
        Self { numerator: value.into(), denominator: BigInt::one(), is_rounded: false }
    }

    fn new(numerator: BigInt, denominator: BigInt, is_rounded: bool) -> Result<Self> {
        if denominator.is_zero() {
            return Err("a division by zero");
        }
        let divisor = numerator.gcd(&denominator);
        let (mut numerator, mut denominator) = (numerator / &divisor, denominator / divisor);
        if denominator.is_negative() {
            (numerator, denominator) = (-numerator, -denominator);
        }
        if numerator.bits().max(denominator.bits()) > MAX_BITS {
            return Err(TOO_LARGE);
        }
        Ok(Self { numerator, denominator, is_rounded })
    }

    /// Digits, and the power of ten that they are multiplied with.
    pub(super) fn of_digits(digits: &str, power: i64) -> Result<Self> {
        let numerator = digits.parse().map_err(|_| TOO_LARGE)?;
        let scale = ten(u32::try_from(power.unsigned_abs()).map_err(|_| TOO_LARGE)?)?;
        if power < 0 {
            Self::new(numerator, scale, false)
        } else {
            Self::new(numerator * scale, BigInt::one(), false)
        }
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self> {
        let numerator = &self.numerator * &other.denominator + &other.numerator * &self.denominator;
        Self::new(numerator, &self.denominator * &other.denominator, self.is_rounded || other.is_rounded)
    }

    pub(super) fn negated(self) -> Self {
        Self { numerator: -self.numerator, ..self }
    }

    pub(super) fn abs(self) -> Self {
        Self { numerator: self.numerator.abs(), ..self }
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self> {
        let is_rounded = self.is_rounded || other.is_rounded;
        Self::new(&self.numerator * &other.numerator, &self.denominator * &other.denominator, is_rounded)
    }

    pub(super) fn over(&self, other: &Self) -> Result<Self> {
        let is_rounded = self.is_rounded || other.is_rounded;
        Self::new(&self.numerator * &other.denominator, &self.denominator * &other.numerator, is_rounded)
    }

    pub(super) fn is_less(&self, other: &Self) -> bool {
        &self.numerator * &other.denominator < &other.numerator * &self.denominator
    }

    /// The largest whole number that is not above it.
    pub(super) fn floor(&self) -> Self {
        let whole = self.numerator.div_floor(&self.denominator);
        Self { numerator: whole, denominator: BigInt::one(), is_rounded: self.is_rounded }
    }

    /// Rounded to digits behind the point, halves away from zero. Nothing is lost that was not asked to be.
    pub(super) fn round(&self, digits: &Self) -> Result<Self> {
        let digits = digits.as_small().filter(|digits| (-1_000..=1_000).contains(digits));
        let digits = digits.ok_or("`round` takes a whole number of digits, at most 1000")?;
        let scale = ten(digits.unsigned_abs())?;
        let (scale, unscale) = if digits < 0 { (BigInt::one(), scale) } else { (scale, BigInt::one()) };
        let numerator = &self.numerator * &scale;
        let denominator = &self.denominator * &unscale;
        let doubled: BigInt = numerator.abs() * 2 + &denominator;
        let half = doubled.div_floor(&(denominator * 2));
        let half = if self.numerator.is_negative() { -half } else { half };
        Self::new(half * unscale, scale, self.is_rounded)
    }

    /// A power: exact for whole exponents.
    pub(super) fn power(&self, exponent: &Self) -> Result<Self> {
        let Some(whole) = exponent.as_small() else {
            if !exponent.denominator.is_one() {
                return Self::of_float(self.float()?.powf(exponent.float()?));
            }
            let is_unit = self.denominator.is_one() && self.numerator.abs() <= BigInt::one();
            if !is_unit {
                return Err(TOO_LARGE);
            }
            let is_even = exponent.numerator.is_even();
            return Ok(if is_even { self.clone().abs() } else { self.clone() });
        };
        let times = whole.unsigned_abs();
        let bits = self.numerator.bits().max(self.denominator.bits()).saturating_sub(1);
        if bits.saturating_mul(u64::from(times)) > MAX_BITS {
            return Err(TOO_LARGE);
        }
        let (up, down) = (self.numerator.pow(times), self.denominator.pow(times));
        let (numerator, denominator) = if whole < 0 { (down, up) } else { (up, down) };
        Self::new(numerator, denominator, self.is_rounded || exponent.is_rounded)
    }

    /// The root: exact where it is a fraction, else with 34 digits.
    pub(super) fn sqrt(&self) -> Result<Self> {
        if self.numerator.is_negative() {
            return Err("the root of a negative number is no real number");
        }
        let root = Self {
            numerator: self.numerator.sqrt(),
            denominator: self.denominator.sqrt(),
            is_rounded: self.is_rounded,
        };
        let is_exact = &root.numerator * &root.numerator == self.numerator
            && &root.denominator * &root.denominator == self.denominator;
        if is_exact {
            return Ok(root);
        }
        // Small numbers get more places, so that all have the same digits.
        let small = self.denominator.bits().saturating_sub(self.numerator.bits()) / 6;
        let places = u32::try_from(small).unwrap_or(u32::MAX).saturating_add(40);
        let scale = ten(places)?;
        let scaled = (&self.numerator * &scale * &scale) / &self.denominator;
        Self::new(scaled.sqrt(), scale, true)
    }

    /// The result of a function of floating point.
    pub(super) fn through(&self, function: impl FnOnce(f64) -> f64) -> Result<Self> {
        Self::of_float(function(self.float()?))
    }

    fn of_float(value: f64) -> Result<Self> {
        if !value.is_finite() {
            return Err(NO_NUMBER);
        }
        let text = format!("{value:.*e}", FLOAT_DIGITS - 1);
        let (digits, power) = text.split_once('e').ok_or(NO_NUMBER)?;
        let power: i64 = power.parse().map_err(|_| NO_NUMBER)?;
        let digits = digits.replace('.', "");
        let behind = i64::try_from(FLOAT_DIGITS - 1).map_err(|_| NO_NUMBER)?;
        Ok(Self { is_rounded: true, ..Self::of_digits(&digits, power - behind)? })
    }

    fn float(&self) -> Result<f64> {
        // Both sides may be beyond what a float can hold, and their quotient not.
        let shift = self.numerator.bits().max(self.denominator.bits()).saturating_sub(1_000);
        let (numerator, denominator) = (&self.numerator >> shift, &self.denominator >> shift);
        let (numerator, denominator) = (numerator.to_f64(), denominator.to_f64());
        let quotient = numerator.zip(denominator).map(|(numerator, denominator)| numerator / denominator);
        quotient.filter(|quotient| quotient.is_finite()).ok_or(TOO_LARGE)
    }

    /// It as a small whole number, if it is one.
    fn as_small(&self) -> Option<i32> {
        self.denominator.is_one().then(|| self.numerator.to_i32()).flatten()
    }

    /// Its digits, and true if they are not all.
    pub(super) fn shown(&self) -> (String, bool) {
        if let Some(places) = self.places().filter(|places| *places <= MAX_FRACTION && !self.is_rounded) {
            let digits = match ten(places) {
                Ok(scale) => &self.numerator * (scale / &self.denominator),
                Err(_) => return (String::new(), true),
            };
            return (plain(&digits, -i64::from(places)), false);
        }
        let digits = if self.is_rounded { FLOAT_DIGITS } else { DIGITS };
        (self.to_digits(digits), true)
    }

    /// The digits behind the point, if they end.
    fn places(&self) -> Option<u32> {
        let mut rest = self.denominator.magnitude().clone();
        let mut counts = [0_u32, 0];
        for (count, factor) in counts.iter_mut().zip([2_u32, 5]) {
            while (&rest % factor).is_zero() {
                rest /= factor;
                *count += 1;
            }
        }
        rest.is_one().then_some(counts[0].max(counts[1]))
    }

    /// It with that many digits, halves away from zero.
    fn to_digits(&self, digits: usize) -> String {
        if self.numerator.is_zero() {
            return "0".to_owned();
        }
        let (numerator, denominator) = (self.numerator.magnitude(), self.denominator.magnitude());
        let length = |number: &BigUint| i64::try_from(number.to_str_radix(10).len()).unwrap_or_default();
        let wanted = i64::try_from(digits).unwrap_or_default();
        // One digit more or fewer, by which of both begins with the larger digits.
        let mut power = length(numerator) - length(denominator) - wanted;
        loop {
            let scale = u32::try_from(power.unsigned_abs()).unwrap_or_default();
            let scale = BigUint::from(10_u32).pow(scale);
            let (up, down) = match power < 0 {
                true => (numerator * scale, denominator.clone()),
                false => (numerator.clone(), denominator * scale),
            };
            let rounded = (up * 2_u32 + &down) / (down * 2_u32);
            if length(&rounded) > wanted {
                power += 1;
                continue;
            }
            return plain(&BigInt::from_biguint(self.numerator.sign(), rounded), power);
        }
    }
}

/// Digits and a power of ten, without zeros at the end behind the point; with an exponent where there would be many.
fn plain(digits: &BigInt, power: i64) -> String {
    let sign = if digits.sign() == Sign::Minus { "-" } else { "" };
    let all = digits.magnitude().to_str_radix(10);
    if power >= 0 && power <= i64::from(MAX_FRACTION) {
        let zeros = "0".repeat(usize::try_from(power).unwrap_or_default());
        return format!("{sign}{all}{zeros}");
    }
    let trimmed = all.trim_end_matches('0');
    if trimmed.is_empty() {
        return "0".to_owned();
    }
    // The power of the first digit.
    let first = power + i64::try_from(all.len()).unwrap_or_default() - 1;
    if power > 0 || first < -20 {
        let (head, rest) = trimmed.split_at_checked(1).unwrap_or((trimmed, ""));
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{head}{point}{rest}e{first}");
    }
    let behind = usize::try_from(-power).unwrap_or_default();
    let all = format!("{all:0>width$}", width = behind + 1);
    let (whole, fraction) = all.split_at_checked(all.len() - behind).unwrap_or((&all, ""));
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

fn ten(power: u32) -> Result<BigInt> {
    // Ten has more than three bits.
    if u64::from(power) * 3 > MAX_BITS {
        return Err(TOO_LARGE);
    }
    Ok(BigInt::from(10).pow(power))
}
