//! The form controls of a sheet, which stand in a drawing in VML: their captions, and what is checked or chosen.

use super::bounds::{MAX_CELL, MAX_COLUMNS};
use crate::ConvertError;
use crate::marks;
use crate::ooxml::{Package, References, of_kind, settle};
use crate::output::{Output, one_line};
use crate::shapes::is_invisible;
use crate::table::column_name;
use crate::xml::{Node, Stop, Xml};

/// Writes the controls of a sheet.
///
/// # Errors
/// The time is over.
pub(super) fn write(
    package: &Package<'_>,
    references: &References,
    output: &mut Output,
) -> Result<(), ConvertError> {
    for name in of_kind(references, "vmlDrawing") {
        if let Some(Ok(xml)) = package.xml(name) {
            settle(read(xml, output), output)?;
        }
    }
    Ok(())
}

/// A control that is being read.
#[derive(Default)]
struct Control {
    kind: String,
    anchor: String,
    caption: String,
    /// The state of a box, or the number of the choice in a list.
    state: String,
}

impl Control {
    /// The field that the text of an element belongs to.
    fn field(&mut self, element: &str) -> Option<&mut String> {
        match element {
            "textbox" => Some(&mut self.caption),
            "Anchor" => Some(&mut self.anchor),
            "Checked" | "Sel" => Some(&mut self.state),
            _ => None,
        }
    }

    fn shown(&self) -> Option<String> {
        let is_on = !matches!(self.state.trim(), "" | "0");
        let caption = one_line(&self.caption);
        let mark = marks::of_box(is_on);
        let (name, text) = match self.kind.as_str() {
            "Checkbox" => ("check box", format!("{mark} {caption}")),
            "Radio" => ("option button", format!("{mark} {caption}")),
            "Button" => ("button", caption),
            "GBox" => ("group box", caption),
            "Label" => ("label", caption),
            "Edit" => ("text box", caption),
            "Drop" | "List" if is_on => ("list", format!("choice {}", self.state.trim())),
            _ => return None,
        };
        let mut places = self.anchor.split(',').map(|number| number.trim().parse::<usize>());
        let place = match (places.next(), places.nth(1)) {
            (Some(Ok(column)), Some(Ok(row))) if column < MAX_COLUMNS => {
                format!(" on {}{}", column_name(column), row.saturating_add(1))
            }
            _ => String::new(),
        };
        (!text.is_empty()).then(|| format!("[{name}{place}: {}]", text.trim_end()))
    }
}

fn read(mut xml: Xml<'_>, output: &mut Output) -> Result<(), Stop> {
    let (mut control, mut field) = (Control::default(), String::new());
    loop {
        let mut skip = false;
        match xml.next()? {
            Node::Open(tag) => match tag.name() {
                "shape" => {
                    control = Control::default();
                    skip = is_invisible(&tag);
                }
                "ClientData" => control.kind = tag.attr("ObjectType").unwrap_or_default(),
                "br" | "div" => control.caption.push(' '),
                name if control.field(name).is_some() => field = name.to_owned(),
                _ => {}
            },
            Node::Text(text) => {
                if let Some(field) = control.field(&field).filter(|field| field.len() < MAX_CELL) {
                    field.push_str(&text);
                }
            }
            Node::Close(name) if *name == *field => field.clear(),
            Node::Close(name) if name == "shape" => {
                if let Some(line) = std::mem::take(&mut control).shown() {
                    output.line(&line);
                }
            }
            Node::End => return Ok(()),
            _ => {}
        }
        if skip {
            xml.skip()?;
        }
    }
}
