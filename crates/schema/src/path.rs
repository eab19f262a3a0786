//! Places inside values.

use std::fmt::Write as _;

/// The place of a part inside the whole value.
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(outer, name) => {
                outer.write(out);
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Self::Index(outer, at) => {
                outer.write(out);
                let _ = write!(out, "[{at}]");
            }
        }
    }
}
