//! Expressions.

use super::exact::Exact;

/// The maximum number of bytes of an expression, and the maximum number of parentheses in one another.
const LONGEST: usize = 2_000;
const DEEPEST: usize = 50;

/// The value of an expression.
///
/// # Errors
/// A text for the model says where it is wrong.
pub(super) fn value(text: &str) -> Result<Exact, String> {
    if text.len() > LONGEST {
        return Err(format!("the expression has more than {LONGEST} bytes"));
    }
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(',') => {
            let hint = "a comma stands between the arguments of functions; write numbers without separators";
            Err(reader.wrong(hint))
        }
        Some(_) => Err(reader.wrong("an operator is missing")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|next| wanted.contains(next))?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.take(&[wanted]) {
            Some(_) => Ok(()),
            None => Err(self.wrong(&format!("`{wanted}` is missing"))),
        }
    }

    /// The place, counted in characters from 1.
    fn wrong(&self, problem: &str) -> String {
        let at = self.text.get(..self.at).unwrap_or_default().chars().count() + 1;
        format!("{problem}, at character {at} of the expression")
    }

    fn said<T>(&self, value: Result<T, &'static str>) -> Result<T, String> {
        value.map_err(|problem| self.wrong(problem))
    }

    fn sum(&mut self) -> Result<Exact, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-', '−']) {
            let other = self.product()?;
            value = self.said(value.add(&if sign == '+' { other } else { other.negated() }))?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Exact, String> {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(&['*', '/', '×', '·', '÷', ':']) {
            let other = self.signed()?;
            let done =
                if matches!(sign, '/' | '÷' | ':') { value.over(&other) } else { value.times(&other) };
            value = self.said(done)?;
        }
        Ok(value)
    }

    /// A power binds before its sign: -2^2 is -4.
    fn signed(&mut self) -> Result<Exact, String> {
        let mut is_negative = false;
        while let Some(sign) = self.take(&['+', '-', '−']) {
            is_negative ^= sign != '+';
        }
        let value = self.power()?;
        Ok(if is_negative { value.negated() } else { value })
    }

    fn power(&mut self) -> Result<Exact, String> {
        let base = self.percent()?;
        self.peek();
        let sign = ["**", "^"].into_iter().find(|sign| self.rest().starts_with(sign));
        let Some(sign) = sign else { return Ok(base) };
        self.at += sign.len();
        let exponent = self.deeper(Self::signed)?;
        self.said(base.power(&exponent))
    }

    fn percent(&mut self) -> Result<Exact, String> {
        let mut value = self.operand()?;
        while self.take(&['%']).is_some() {
            value = self.said(value.over(&Exact::whole(100)))?;
        }
        Ok(value)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("too many parentheses and powers stand in one another"));
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Result<Exact, String> {
        match self.peek() {
            Some('(') => {
                self.expect('(')?;
                let value = self.deeper(Self::sum)?;
                self.expect(')')?;
                Ok(value)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == 'π' => self.name(),
            Some(_) => Err(self.wrong("a number is missing")),
            None => Err(self.wrong("a number is missing at the end")),
        }
    }

    fn number(&mut self) -> Result<Exact, String> {
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').len();
        let rest = self.rest();
        let whole = digits(rest);
        let (whole, rest) = rest.split_at_checked(whole).unwrap_or((rest, ""));
        let behind = rest.strip_prefix('.').map_or("", |rest| rest.get(..digits(rest)).unwrap_or_default());
        let point = usize::from(rest.starts_with('.'));
        let rest = rest.get(point + behind.len()..).unwrap_or_default();
        let exponent = exponent(rest).unwrap_or_default();
        let all: String = whole.chars().chain(behind.chars()).filter(char::is_ascii_digit).collect();
        if all.is_empty() {
            return Err(self.wrong("a number has no digits"));
        }
        let places = behind.chars().filter(char::is_ascii_digit).count();
        let power: i64 = exponent.get(1..).unwrap_or_default().parse().unwrap_or_default();
        let power = power.saturating_sub(i64::try_from(places).unwrap_or(i64::MAX));
        let value = self.said(Exact::of_digits(&all, power))?;
        self.at += whole.len() + point + behind.len() + exponent.len();
        if self.rest().starts_with('.') {
            return Err(self.wrong("a number has two points"));
        }
        Ok(value)
    }

    fn name(&mut self) -> Result<Exact, String> {
        let rest = self.rest();
        let length =
            rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == 'π').len();
        let name = rest.get(..length).unwrap_or_default().to_ascii_lowercase();
        let constant = match name.as_str() {
            "pi" | "π" => Some(std::f64::consts::PI),
            "e" => Some(std::f64::consts::E),
            _ => None,
        };
        if let Some(constant) = constant {
            self.at += length;
            return self.said(Exact::whole(0).through(|_| constant));
        }
        if !FUNCTIONS.contains(&name.as_str()) {
            let known = FUNCTIONS.join(", ");
            return Err(self.wrong(&format!("nothing is named {name:?}; there are pi, e, {known}")));
        }
        let begin = self.at;
        self.at += length;
        self.expect('(')?;
        let mut arguments = vec![self.deeper(Self::sum)?];
        while self.take(&[',']).is_some() {
            arguments.push(self.deeper(Self::sum)?);
        }
        self.expect(')')?;
        applied(&name, &arguments).map_err(|problem| {
            self.at = begin;
            self.wrong(problem)
        })
    }
}

/// An exponent at the beginning of a text: a letter, perhaps a sign, digits.
fn exponent(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let count = digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    // A longer one is no number that can be held, and nothing is made of its beginning.
    (1..=9).contains(&count).then(|| text.get(..text.len() - digits.len() + count)).flatten()
}

const FUNCTIONS: [&str; 14] =
    ["abs", "ceil", "cos", "exp", "floor", "ln", "log10", "max", "min", "mod", "round", "sin", "sqrt", "tan"];

fn applied(name: &str, arguments: &[Exact]) -> Result<Exact, &'static str> {
    let positive = |x: &Exact, value: f64| match x.is_less(&Exact::whole(0)) || *x == Exact::whole(0) {
        true => f64::NAN,
        false => value,
    };
    match (name, arguments) {
        ("max" | "min", [first, rest @ ..]) => Ok(rest
            .iter()
            .fold(first, |best, next| match best.is_less(next) == (name == "max") {
                true => next,
                false => best,
            })
            .clone()),
        ("abs", [x]) => Ok(x.clone().abs()),
        ("floor", [x]) => Ok(x.floor()),
        ("ceil", [x]) => Ok(x.clone().negated().floor().negated()),
        ("round", [x]) => x.round(&Exact::whole(0)),
        ("round", [x, digits]) => x.round(digits),
        ("mod", [x, by]) => x.add(&by.times(&x.over(by)?.floor())?.negated()),
        ("sqrt", [x]) => x.sqrt(),
        ("exp", [x]) => x.through(f64::exp),
        ("ln", [x]) => x.through(|value| positive(x, value.ln())),
        ("log10", [x]) => x.through(|value| positive(x, value.log10())),
        ("sin", [x]) => x.through(f64::sin),
        ("cos", [x]) => x.through(f64::cos),
        ("tan", [x]) => x.through(f64::tan),
        _ => Err("the function takes another number of arguments"),
    }
}
