//! Formulas of Office as they are written on one line: `1/2`, `10^6`, `√(a+b)`.

use crate::flow::{Flow, grouped};
use crate::xml::Tag;

/// The elements for which [`Formula::open`] keeps a part.
const PARTS: [&str; 20] = [
    "oMath", "deg", "fName", "d", "f", "nary", "acc", "bar", "limLow", "limUpp", "func", "rad", "mr",
    "eqArr", "num", "den", "lim", "sub", "sup", "e",
];

/// The formula that is being read.
#[derive(Default)]
pub(crate) struct Formula {
    /// The elements that are open, as far as they matter.
    open: Vec<Part>,
}

enum Part {
    /// A part that its place tells from the others: what stands before it, and its mark.
    Apart {
        before: String,
        mark: &'static str,
    },
    /// A part that has this sign above or below it, with what stands before it.
    Marked {
        before: String,
        sign: String,
    },
    /// A part that follows the others.
    Plain,
    Fraction {
        has_bar: bool,
    },
    /// A sum, an integral or the like, and its sign until that is written.
    Sum {
        sign: Option<String>,
    },
    Accent {
        sign: String,
    },
    /// An expression with its limit below it, or above it.
    Limit {
        is_below: bool,
    },
    /// The application of a function.
    Function,
    /// An expression in brackets, of so many parts so far.
    Brackets {
        begin: String,
        end: String,
        parts: usize,
    },
    Root,
    /// A row of a matrix.
    Row,
    /// Formulas below each other, of which so many have begun.
    Rows(usize),
}

impl Part {
    fn apart(flow: &mut Flow<'_>, mark: &'static str) -> Self {
        Self::Apart { before: flow.take(), mark }
    }
}

impl Formula {
    /// True if the text is outside of all formulas.
    pub(crate) fn is_none(&self) -> bool {
        self.open.is_empty()
    }

    /// An element begins inside a formula, or a formula itself.
    pub(crate) fn open(&mut self, tag: &Tag<'_>, flow: &mut Flow<'_>) {
        let part = match tag.name() {
            "oMath" | "deg" | "fName" => Part::Plain,
            "d" => Part::Brackets { begin: "(".to_owned(), end: ")".to_owned(), parts: 0 },
            "f" => Part::Fraction { has_bar: true },
            "nary" => Part::Sum { sign: Some("\u{222b}".to_owned()) },
            "acc" => Part::Accent { sign: "\u{302}".to_owned() },
            "bar" => Part::Accent { sign: "\u{332}".to_owned() },
            name @ ("limLow" | "limUpp") => Part::Limit { is_below: name == "limLow" },
            "func" => Part::Function,
            "rad" => Part::Root,
            "mr" => Part::Row,
            "eqArr" => Part::Rows(0),
            // So that 2 and a half is not read as 21 halves.
            "num" => {
                let before = flow.take();
                let mark = if before.ends_with(|c: char| c.is_ascii_digit()) { " " } else { "" };
                Part::Apart { before, mark }
            }
            "den" => match self.open.last() {
                // One above the other without a bar, as in a binomial.
                Some(Part::Fraction { has_bar: false }) => Part::apart(flow, "\u{a6}"),
                _ => Part::apart(flow, "/"),
            },
            "lim" => match self.open.last() {
                Some(Part::Limit { is_below: true }) => Part::apart(flow, "_"),
                _ => Part::apart(flow, "^"),
            },
            "sub" => match self.sum(flow) {
                true => Part::apart(flow, "_"),
                false => Part::Plain,
            },
            "sup" => {
                self.sum(flow);
                Part::apart(flow, "^")
            }
            "e" => self.expression(flow),
            name => return self.property(name, tag),
        };
        self.open.push(part);
    }

    /// Begins an expression, set apart from what stands before it where that is needed.
    fn expression(&mut self, flow: &mut Flow<'_>) -> Part {
        self.sum(flow);
        match self.open.last_mut() {
            Some(Part::Root) => return Part::apart(flow, ""),
            Some(Part::Accent { sign }) => {
                return Part::Marked { before: flow.take(), sign: std::mem::take(sign) };
            }
            Some(Part::Brackets { begin, parts, .. }) => {
                flow.text(if *parts == 0 { begin } else { "|" });
                *parts += 1;
            }
            Some(Part::Rows(rows)) => {
                flow.text(if *rows == 0 { "" } else { "; " });
                *rows += 1;
            }
            Some(Part::Row | Part::Sum { .. } | Part::Function) => flow.text(" "),
            _ => {}
        }
        Part::Plain
    }

    /// Writes the sign of a sum before its first part. True if the part that begins is one of a sum.
    fn sum(&mut self, flow: &mut Flow<'_>) -> bool {
        let Some(Part::Sum { sign }) = self.open.last_mut() else { return false };
        flow.text(&sign.take().unwrap_or_default());
        true
    }

    fn property(&mut self, name: &str, tag: &Tag<'_>) {
        let value = || tag.attr("val").unwrap_or_default();
        match (name, self.open.last_mut()) {
            ("begChr", Some(Part::Brackets { begin, .. })) => *begin = value(),
            ("endChr", Some(Part::Brackets { end, .. })) => *end = value(),
            ("type", Some(Part::Fraction { has_bar })) => *has_bar = value() != "noBar",
            ("chr", Some(Part::Sum { sign })) => *sign = Some(value()),
            ("chr", Some(Part::Accent { sign })) => *sign = value(),
            ("pos", Some(Part::Accent { sign })) if value() == "top" => *sign = "\u{305}".to_owned(),
            _ => {}
        }
    }

    /// An element ends inside a formula, or the formula itself.
    pub(crate) fn close(&mut self, name: &str, flow: &mut Flow<'_>) {
        if !PARTS.contains(&name) {
            return;
        }
        match self.open.pop() {
            Some(Part::Apart { before, mark }) => {
                let text = flow.take();
                flow.put_back(before);
                let text = text.trim();
                if !text.is_empty() {
                    flow.text(mark);
                    flow.text(&grouped(text));
                }
            }
            Some(Part::Marked { before, sign }) => {
                let text = flow.take();
                flow.put_back(before);
                let text = text.trim();
                if !text.is_empty() {
                    match text.chars().nth(1) {
                        None => flow.text(text),
                        Some(_) => flow.text(&format!("({text})")),
                    }
                    flow.text(&sign);
                }
            }
            Some(Part::Brackets { end, .. }) => flow.text(&end),
            Some(Part::Plain) if name == "deg" => flow.text("\u{221a}"),
            Some(Part::Row) => flow.text(";"),
            _ => {}
        }
    }

    /// Gives back what stood before the parts of a formula that breaks off.
    pub(crate) fn finish(&mut self, flow: &mut Flow<'_>) {
        while let Some(part) = self.open.pop() {
            if let Part::Apart { before, .. } | Part::Marked { before, .. } = part {
                let text = flow.take();
                flow.put_back(before);
                flow.text(&text);
            }
        }
    }
}
