//! Formulas of MathML as they are written on one line: `1/2`, `c^2`. Without their marks they would be other numbers.

use crate::flow::{Flow, grouped};

/// Elements inside each other that are told apart.
const MAX_DEPTH: usize = 100;

/// The formula that is being read.
#[derive(Default)]
pub(super) struct Math {
    open: Vec<Element>,
}

struct Element {
    name: Vec<u8>,
    children: usize,
    /// Where its text begins.
    at: usize,
}

impl Math {
    /// True inside of a formula.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// An element begins in a formula, or a formula itself.
    pub(super) fn open(&mut self, name: &[u8], flow: &mut Flow<'_>) {
        if !self.is_open() && name != b"math" || self.open.len() >= MAX_DEPTH {
            return;
        }
        if let Some(around) = self.open.last_mut() {
            around.children += 1;
            flow.text(between(&around.name, around.children));
        }
        if name == b"mfrac" && flow.ends_in_digit() {
            flow.text(" ");
        }
        if name == b"msqrt" {
            flow.text("√");
        }
        self.open.push(Element { name: name.to_vec(), children: 0, at: flow.len() });
    }

    /// An element ends.
    pub(super) fn close(&mut self, name: &[u8], flow: &mut Flow<'_>) {
        let Some(at) = self.open.iter().rposition(|element| element.name == name) else { return };
        self.open.truncate(at + 1);
        let Some(element) = self.open.pop() else { return };
        if element.name == b"mroot" && element.children > 1 {
            flow.text(")");
        }
        let parts = self.open.last().is_some_and(|around| has_parts(&around.name));
        if parts || element.name == b"msqrt" {
            let mut text = flow.take();
            let part =
                if text.is_char_boundary(element.at) { text.split_off(element.at) } else { String::new() };
            text.push_str(&grouped(part.trim()));
            flow.put_back(text);
        }
    }
}

/// The sign before a child, by its number.
fn between(name: &[u8], child: usize) -> &'static str {
    match (name, child) {
        (b"mfrac", 2) => "/",
        (b"msup" | b"mover", 2) | (b"msubsup" | b"munderover", 3) => "^",
        (b"msub" | b"munder" | b"msubsup" | b"munderover", 2) => "_",
        // The degree of a root.
        (b"mroot", 2) => "^(1/",
        (b"mtr" | b"mlabeledtr", 2..) => ", ",
        (b"mtable", 2..) => "; ",
        _ => "",
    }
}

/// True of an element whose children stand in different places.
fn has_parts(name: &[u8]) -> bool {
    matches!(
        name,
        b"mfrac" | b"msup" | b"msub" | b"msubsup" | b"mover" | b"munder" | b"munderover" | b"mroot"
    )
}
