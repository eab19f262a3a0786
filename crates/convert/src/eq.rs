//! Fields of Word whose text stands in their instructions: `EQ \f(1,2)` shows a fraction, and `EQ \o\ad(…)` a word with
//! its reading above it (ECMA-376 part 1, 17.16.5.18 names it; the switches are those of Word's help).

use crate::flow::{grouped, runs_on};

/// Longest instructions that are looked at.
pub(crate) const MAX_CODE: usize = 4 << 10;

/// Arguments inside each other.
const MAX_DEPTH: usize = 20;

/// True of a field that shows nothing: its result is the text of a bookmark, which shows where others refer to it
/// (ECMA-376 part 1, 17.16.5, `SET` and `ASK`).
pub(crate) fn is_silent(code: &str) -> bool {
    let name = code.split_whitespace().next().unwrap_or_default();
    name.eq_ignore_ascii_case("SET") || name.eq_ignore_ascii_case("ASK")
}

/// The text that a field shows by these instructions; `None` unless it is an equation.
pub(crate) fn shown(code: &str) -> Option<String> {
    let (name, rest) = code.trim_start().split_at_checked(2)?;
    if !name.eq_ignore_ascii_case("EQ") || !rest.starts_with(|c: char| c.is_whitespace() || c == '\\') {
        return None;
    }
    let mut reader = Reader { rest: rest.trim_end() };
    Some(reader.sequence(0, false).trim().to_owned())
}

struct Reader<'c> {
    rest: &'c str,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Text and switches, up to the end of an argument if it is one.
    fn sequence(&mut self, depth: usize, is_argument: bool) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek() {
            match c {
                ',' | ';' | ')' if is_argument => break,
                '\\' => {
                    self.next();
                    match self.peek() {
                        Some(c) if c.is_ascii_alphabetic() && depth < MAX_DEPTH => {
                            let function = self.function(depth);
                            if runs_on(&text, &function) {
                                text.push(' ');
                            }
                            text.push_str(&function);
                        }
                        // All fields may have a format, and readings a font.
                        Some('*') => {
                            self.next();
                            self.skip_word();
                        }
                        _ => text.extend(self.next()),
                    }
                }
                _ => text.extend(self.next()),
            }
        }
        text
    }

    fn skip_word(&mut self) {
        self.rest = self.rest.trim_start();
        let end = match self.rest.strip_prefix('"') {
            Some(quoted) => quoted.find('"').map(|end| end + 2),
            None => self.rest.find(|c: char| c.is_whitespace() || c == '\\'),
        };
        self.rest = end.and_then(|end| self.rest.get(end..)).unwrap_or_default();
    }

    /// The letters of a switch.
    fn word(&mut self) -> String {
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        word.to_ascii_lowercase()
    }

    /// A switch behind its backslash, with those that change it and its arguments.
    fn function(&mut self, depth: usize) -> String {
        let name = self.word();
        let (mut options, mut brackets) = (Vec::new(), ["(".to_owned(), ")".to_owned()]);
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ' || c == '-');
            let Some(rest) = self.rest.strip_prefix('\\') else { break };
            self.rest = rest;
            let option = self.word();
            if matches!(option.as_str(), "bc" | "lc" | "rc") {
                let sign = self.rest.strip_prefix('\\').unwrap_or(self.rest);
                self.rest = sign;
                if let Some(sign) = self.next() {
                    let [left, right] = &mut brackets;
                    match option.as_str() {
                        "lc" => *left = sign.into(),
                        "rc" => *right = sign.into(),
                        _ => [*left, *right] = [sign.into(), closing(sign).into()],
                    }
                }
            }
            options.push(option);
        }
        let arguments = self.arguments(depth + 1);
        let has = |wanted: &str| options.iter().any(|option| option == wanted);
        let [left, right] = brackets;
        match (name.as_str(), arguments.as_slice()) {
            ("f", [above, below]) => format!("{}/{}", grouped(above), grouped(below)),
            ("r", [what]) => format!("√{}", grouped(what)),
            ("r", [degree, what]) if degree.is_empty() => format!("√{}", grouped(what)),
            ("r", [degree, what]) => format!("{degree}√{}", grouped(what)),
            ("s", [what]) if has("do") => format!("_{}", grouped(what)),
            ("s", [what]) => format!("^{}", grouped(what)),
            // A word with its reading above it.
            ("o", [reading, word]) if reading.starts_with('^') => word.clone(),
            ("o" | "x", _) => arguments.concat(),
            ("i", [from, to, what]) => {
                let sign = if has("su") {
                    "∑"
                } else if has("pr") {
                    "∏"
                } else {
                    "∫"
                };
                format!("{sign}_{}^{} {what}", grouped(from), grouped(to))
            }
            ("b", _) => format!("{left}{}{right}", arguments.join(", ")),
            ("d", _) => String::new(),
            _ => arguments.join(", "),
        }
    }

    fn arguments(&mut self, depth: usize) -> Vec<String> {
        let mut arguments = Vec::new();
        let Some(rest) = self.rest.strip_prefix('(') else { return arguments };
        self.rest = rest;
        loop {
            let argument = self.sequence(depth, true);
            arguments.push(argument.trim().to_owned());
            match self.next() {
                Some(',' | ';') => {}
                _ => return arguments,
            }
        }
    }
}

fn closing(sign: char) -> char {
    match sign {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        sign => sign,
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn equations_are_written_on_one_line() {
        for (code, expected) in [
            (r" EQ \f(1,2) ", "1/2"),
            (r"eq \f(a+b;c)", "(a+b)/c"),
            (r#" EQ \* jc2 \* "Font:MS Mincho" \* hps10 \o\ad(\s\up 9(かんじ),漢字)"#, "漢字"),
            (r"EQ \r(3,x)", "3√x"),
            (r"EQ \r(,x+1) + y", "√(x+1) + y"),
            (r"EQ x\s\up8(2) + a\s\do8(i)", "x^2 + a_i"),
            (r"EQ \i\su(1,5,n)", "∑_1^5 n"),
            (r"EQ \b\bc\[(\f(1,x))", "[1/x]"),
            (r"EQ \x\to\bo(\a\al\co2\vs3(a,b,c))", "a, b, c"),
            (r"EQ f\(x\, y\)", "f(x, y)"),
            (r"EQ \f(1", "1"),
            ("EQ ", ""),
        ] {
            assert_eq!(shown(code).as_deref(), Some(expected), "{code}");
        }
        for code in ["", "E", "EQUAL 1", "PAGE", "é", "REF eq"] {
            assert_eq!(shown(code), None, "{code}");
        }
        let deep = format!("EQ {}1", r"\f(".repeat(5_000));
        assert!(shown(&deep).is_some());
    }
}
