//! The text of the shapes of a drawing: slides, text boxes and diagrams.

use crate::ConvertError;
use crate::flow::Flow;
use crate::formula::Formula;
use crate::ooxml::{Package, References, of_kind, settle};
use crate::output::{Output, one_line};
use crate::symbol_fonts::shown;
use crate::xml::{Node, Stop, Tag, Xml};

/// The place of shapes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// A slide, a sheet or a diagram.
    Drawing,
    /// A page of notes, of which only the notes are read.
    Notes,
}

/// True of a shape in VML that is hidden.
pub(crate) fn is_invisible(tag: &Tag<'_>) -> bool {
    let style: String = tag.attr("style").unwrap_or_default().split_whitespace().collect();
    style.to_ascii_lowercase().contains("visibility:hidden")
}

/// Writes the text of the shapes of the parts of one kind to which a part refers, such as diagrams.
///
/// # Errors
/// The time is over.
pub(crate) fn of_parts(
    package: &Package<'_>,
    references: &References,
    kind: &str,
    output: &mut Output,
) -> Result<(), ConvertError> {
    for name in of_kind(references, kind) {
        if let Some(Ok(xml)) = package.xml(name) {
            settle(shapes(xml, output, On::Drawing), output)?;
        }
    }
    Ok(())
}

/// The text of all shapes, in their order.
pub(crate) fn shapes(mut xml: Xml<'_>, output: &mut Output, on: On) -> Result<(), Stop> {
    let mut flow = Flow::new(output);
    let mut formula = Formula::default();
    let ended = read_shapes(&mut xml, &mut flow, &mut formula, on);
    formula.finish(&mut flow);
    flow.finish();
    ended
}

fn read_shapes(xml: &mut Xml<'_>, flow: &mut Flow<'_>, formula: &mut Formula, on: On) -> Result<(), Stop> {
    let (mut title, mut level, mut in_text) = (false, 0_usize, false);
    // The fields of every slide: numbers, dates, and on pages of notes the picture of the slide.
    let mut unwanted = false;
    let mut bullet: Option<bool> = None;
    // Of the text of the present run, and of that before it.
    let (mut raised, mut was_raised, mut font) = (false, false, String::new());
    loop {
        if flow.is_full() {
            return Ok(());
        }
        let mut is_hidden = false;
        let skip = match xml.next()? {
            Node::End => return Ok(()),
            Node::Open(tag) => match tag.name() {
                "Fallback" => true,
                name if name == "oMath" || !formula.is_none() => {
                    formula.open(&tag, flow);
                    match name {
                        "t" => in_text = true,
                        "r" => raised = false,
                        _ => {}
                    }
                    false
                }
                "sp" | "graphicFrame" | "pic" | "cxnSp" | "grpSp" => {
                    (title, unwanted) = (false, false);
                    false
                }
                "ph" => {
                    let kind = tag.attr("type").unwrap_or_default();
                    title = matches!(kind.as_str(), "title" | "ctrTitle");
                    unwanted = matches!(kind.as_str(), "sldNum" | "dt" | "hdr" | "sldImg")
                        || on == On::Notes && kind == "ftr";
                    false
                }
                // Excel hides shapes of controls, and draws them by other means.
                "cNvPr" if tag.is_on("hidden") => {
                    is_hidden = true;
                    false
                }
                "cNvPr" => {
                    let description = tag.attr("descr").unwrap_or_default();
                    let description = one_line(&description);
                    if !description.is_empty() {
                        flow.text(&format!("[image: {description}]"));
                        flow.end_paragraph();
                    }
                    false
                }
                "blip" => {
                    flow.output.not_shown("image");
                    false
                }
                "txBody" => unwanted,
                "p" => {
                    (level, bullet) = (0, None);
                    false
                }
                "pPr" => {
                    level = tag.number("lvl").unwrap_or(0).min(8);
                    false
                }
                "buNone" => {
                    bullet = Some(false);
                    false
                }
                "buChar" | "buAutoNum" => {
                    bullet = Some(true);
                    false
                }
                "r" | "fld" => {
                    raised = false;
                    font.clear();
                    false
                }
                "rPr" => {
                    raised = tag.number("baseline").is_some_and(|percent: i32| percent > 0);
                    false
                }
                "sym" | "latin" => {
                    if tag.name() == "sym" || font.is_empty() {
                        font = tag.attr("typeface").unwrap_or_default();
                    }
                    false
                }
                "t" => {
                    in_text = true;
                    false
                }
                "br" => {
                    flow.text("\n");
                    false
                }
                "tab" => {
                    flow.text("\t");
                    false
                }
                "tbl" => {
                    flow.open_table();
                    false
                }
                "tr" => {
                    flow.open_row();
                    false
                }
                "tc" => {
                    flow.open_cell(1, 1);
                    false
                }
                "videoFile" | "audioFile" => {
                    flow.output.not_shown("recording");
                    false
                }
                _ => false,
            },
            Node::Text(text) => {
                if in_text {
                    // So that 10 and a raised 6 are not read as 106.
                    if raised && !was_raised && !flow.ends_blank() {
                        flow.text("^");
                    }
                    was_raised = raised;
                    let text = shown(&font, &text, flow.output);
                    flow.text(&text);
                }
                false
            }
            Node::Close(name) => {
                match &*name {
                    "t" => in_text = false,
                    name if !formula.is_none() && name != "p" => formula.close(name, flow),
                    "p" if title => flow.end_heading(1),
                    "p" => {
                        let indent = "  ".repeat(level);
                        let mark =
                            if bullet == Some(true) || level > 0 && bullet.is_none() { "- " } else { "" };
                        flow.end(&format!("{indent}{mark}"), &indent);
                    }
                    "tc" => flow.close_cell(),
                    "tr" => flow.close_row(),
                    "tbl" => flow.close_table(),
                    _ => {}
                }
                false
            }
            Node::Nothing => false,
        };
        if skip {
            xml.skip()?;
        }
        if is_hidden {
            // They stand in the first part of their shape.
            xml.leave(3)?;
        }
    }
}
