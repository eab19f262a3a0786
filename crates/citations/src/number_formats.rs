//! The values of digits, in the forms of many countries.

/// Values are counted in billionths.
pub(crate) const ONE: i128 = 1_000_000_000;
const DECIMALS: usize = 9;
/// The maximum number of digits before the decimals; what has more is a name, not a number.
const MAX_DIGITS: usize = 18;
/// The maximum number of groups of digits of one figure.
const MAX_GROUPS: usize = 12;

/// One value of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// In billionths.
    pub(crate) value: i128,
    /// The value of one in the last digit that is shown.
    pub(crate) step: i128,
    pub(crate) is_signed: bool,
}

impl Reading {
    /// Zeros at the end of a number that is about right say nothing, up to a tenth of it.
    pub(crate) fn loosen(&mut self) {
        let most = self.value.saturating_abs() / 5;
        while self.value != 0 && self.step < most && self.value % self.step.saturating_mul(10) == 0 {
            self.step = self.step.saturating_mul(10).min(most);
            if self.step == most {
                break;
            }
        }
    }

    /// True if a value is this one, rounded to the digits that are shown.
    pub(crate) fn is(&self, value: i128) -> bool {
        let value =
            if self.is_signed || (value < 0) == (self.value < 0) { value } else { value.saturating_neg() };
        let distance = value.saturating_sub(self.value).unsigned_abs();
        distance.saturating_mul(2) <= self.step.unsigned_abs() && (distance == 0 || self.step > 1)
    }

    /// The number of digits that say something.
    pub(crate) fn significant(&self) -> u32 {
        let mut value = self.value.unsigned_abs();
        while value != 0 && value.is_multiple_of(10) {
            value /= 10;
        }
        value.checked_ilog10().map_or(1, |digits| digits + 1)
    }
}

/// The digits and what stands between them.
pub(crate) fn groups(text: &str, start: usize, joins: bool) -> (Vec<(char, &str)>, usize) {
    let mut groups: Vec<(char, &str)> = Vec::new();
    let mut at = start;
    let mut separator = '\0';
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let len = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
        let group = rest.get(..len).unwrap_or_default();
        groups.push((separator, group));
        at += len;
        let mut behind = text.get(at..).unwrap_or_default().chars();
        let (next, then) = (behind.next(), behind.next());
        let goes_on = groups.len() < MAX_GROUPS && then.is_some_and(|char| char.is_ascii_digit());
        let Some(next) = next.filter(|_| goes_on) else { break };
        let blank = matches!(next, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}');
        let tail = text.get(at + next.len_utf8()..).unwrap_or_default();
        let tail = tail.find(|char: char| !char.is_ascii_digit()).unwrap_or(tail.len());
        let fits = match next {
            _ if blank => {
                (joins || next != ' ')
                    && tail == 3
                    && group.len() <= 3
                    && groups
                        .iter()
                        .skip(1)
                        .all(|(separator, group)| is_blank(*separator) && group.len() == 3)
            }
            '.' | ',' => true,
            '\'' | '’' => tail == 3,
            _ => false,
        };
        if !fits {
            break;
        }
        separator = next;
        at += next.len_utf8();
    }
    (groups, at)
}

fn is_blank(separator: char) -> bool {
    matches!(separator, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// The values of groups of digits; none for versions and the like.
pub(crate) fn read(groups: &[(char, &str)]) -> Vec<Reading> {
    let digits: Vec<&str> = groups.iter().map(|(_, digits)| *digits).collect();
    let mut readings = Vec::new();
    let Some(((_, first), rest)) = groups.split_first() else { return readings };
    let Some(((last_mark, last), middle)) = rest.split_last() else {
        readings.extend(value(first, ""));
        return readings;
    };
    let marks: Vec<char> = rest.iter().map(|(mark, _)| *mark).collect();
    let is_decimal_mark = matches!(last_mark, '.' | ',');
    let inner = digits.get(..digits.len() - 1).unwrap_or_default();
    // The last mark is another one than those before it, which part thousands.
    let decimal = is_decimal_mark
        && (middle.is_empty()
            || !marks.iter().rev().skip(1).any(|mark| mark == last_mark) && thousands(inner));
    // All are one mark.
    let whole = marks.iter().all(|mark| mark == last_mark || is_blank(*mark) && is_blank(*last_mark))
        && thousands(&digits);
    if whole && *first != "0" {
        readings.extend(value(&digits.concat(), ""));
    }
    let is_grouped = !middle.is_empty() || !whole || last.len() == 3;
    if decimal && is_grouped {
        readings.extend(value(&inner.concat(), last));
    }
    readings.dedup();
    readings
}

/// `1|234|567`, and `12|34|567` as India writes it.
fn thousands(groups: &[&str]) -> bool {
    let Some((first, rest)) = groups.split_first() else { return false };
    let Some((last, middle)) = rest.split_last() else { return true };
    (1..=3).contains(&first.len())
        && last.len() == 3
        && (middle.iter().all(|group| group.len() == 3)
            || first.len() <= 2 && middle.iter().all(|group| group.len() == 2))
}

pub(crate) fn value(whole: &str, decimals: &str) -> Option<Reading> {
    let kept = decimals.get(..decimals.len().min(DECIMALS))?;
    if whole.len() > MAX_DIGITS {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let power = u32::try_from(kept.len()).ok()?;
    let step = ONE / 10_i128.pow(power);
    let decimals: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    Some(Reading { value: whole * ONE + decimals * step, step, is_signed: false })
}
