//! The text of the shapes of a drawing: slides, text boxes and diagrams.

use crate::flow::Flow;
use crate::output::{Output, one_line};
use crate::xml::{Node, Stop, Xml};

/// The text of all shapes, in their order. Of a page of notes only the notes.
pub(crate) fn shapes(mut xml: Xml<'_>, output: &mut Output, notes: bool) -> Result<(), Stop> {
    let mut flow = Flow::new(output);
    let ended = read_shapes(&mut xml, &mut flow, notes);
    flow.finish();
    ended
}

fn read_shapes(xml: &mut Xml<'_>, flow: &mut Flow<'_>, notes: bool) -> Result<(), Stop> {
    let (mut title, mut level, mut in_text) = (false, 0_usize, false);
    // The fields of every slide: numbers, dates, and on pages of notes the picture of the slide.
    let mut unwanted = false;
    let mut bullet: Option<bool> = None;
    loop {
        if flow.is_full() {
            return Ok(());
        }
        let skip = match xml.next()? {
            Node::End => return Ok(()),
            Node::Open(tag) => match tag.name() {
                "Fallback" => true,
                "sp" | "graphicFrame" | "pic" | "cxnSp" | "grpSp" => {
                    (title, unwanted) = (false, false);
                    false
                }
                "ph" => {
                    let kind = tag.attr("type").unwrap_or_default();
                    title = matches!(kind.as_str(), "title" | "ctrTitle");
                    unwanted =
                        matches!(kind.as_str(), "sldNum" | "dt" | "hdr" | "sldImg") || notes && kind == "ftr";
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
                    flow.text(&text);
                }
                false
            }
            Node::Close(name) => {
                match &*name {
                    "t" => in_text = false,
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
    }
}
