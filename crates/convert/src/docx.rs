//! DOCX to text: headings, numbered clauses, tables, notes and comments where they stand.

mod body;
mod form;
pub(crate) mod numbering;
mod parts;
mod styles;

use std::collections::HashMap;

use crate::archive::Archive;
use crate::embedded::Embedded;
use crate::flow::Flow;
use crate::guarded::Clock;
use crate::ooxml::{Package, References, of_kind, settle};
use crate::output::{Output, joined_lines};
use crate::shapes::of_parts;
use crate::xml::{Node, Stop};
use crate::{ConvertError, Converted, Limits, Unit};

use self::body::Body;
use self::numbering::Numbering;
use self::parts::{Aside, Parts};
use self::styles::Styles;

/// Notes and comments that are kept.
const MAX_NOTES: usize = 20_000;

pub(crate) fn convert(bytes: &[u8], limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let package = Package { archive: Archive::open(bytes, limits)?, clock };
    let name = package.main("word/document.xml")?;
    if !package.archive.has(&name) {
        return Err(ConvertError::Malformed { reason: "it has no document inside" });
    }
    let references = package.references(&name)?;
    let mut parts = Parts {
        styles: Styles::read(&package, &references)?,
        numbering: Numbering::read(&package, &references)?,
        notes: HashMap::new(),
        unread: false,
    };
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    for (kind, element) in [("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment")] {
        read_notes(&package, &references, (kind, element), limits, &mut parts, &mut output)?;
        parts.numbering.restart();
    }
    match package.xml(&name) {
        Some(Ok(mut xml)) => {
            let mut body = Body::new(Flow::new(&mut output), &mut parts, true);
            let ended = body.read(&mut xml);
            body.finish();
            settle(ended, &mut output)?;
        }
        _ => output.unread(),
    }
    if parts.unread {
        output.partial();
    }
    // Notes that nothing in the text refers to.
    let mut rest: Vec<_> = parts.notes.into_iter().filter(|(_, note)| !note.shown).collect();
    rest.sort_by(|(one, _), (other, _)| {
        (one.0, one.1.len(), &one.1).cmp(&(other.0, other.1.len(), &other.1))
    });
    for (_, note) in rest {
        output.line(&note.text);
    }
    margins(&package, &references, parts.styles.only_hiding(), limits, &mut output)?;
    // Where a chart or diagram stands in the text, only its frame is.
    of_parts(&package, &references, "diagramData", &mut output)?;
    crate::drawings::charts(&package, &name, &mut output)?;
    let mut embedded = Embedded::new(limits);
    embedded.give_on(&package, &name, &mut output)?;
    for kind in ["header", "footer", "footnotes", "endnotes", "comments"] {
        for part in of_kind(&references, kind) {
            embedded.give_on(&package, part, &mut output)?;
        }
    }
    package.archive.tell(&mut output);
    output.finish()
}

fn read_notes(
    package: &Package<'_>,
    references: &References,
    (kind, element): (&str, &'static str),
    limits: &Limits,
    parts: &mut Parts,
    output: &mut Output,
) -> Result<(), ConvertError> {
    for name in of_kind(references, kind) {
        let Some(Ok(mut xml)) = package.xml(name) else {
            parts.unread |= package.archive.has(name);
            continue;
        };
        let mut kept = 0;
        loop {
            let opened = match xml.next() {
                Ok(Node::Open(tag)) if tag.name() == element => {
                    // Lines that separate notes from the text.
                    let is_note = tag.attr("type").is_none_or(|kind| kind == "normal");
                    tag.attr("id").filter(|_| is_note).map(|id| (id, tag.attr("author").unwrap_or_default()))
                }
                Ok(Node::End) => break,
                Ok(_) => None,
                Err(Stop::Over(error)) => return Err(error),
                Err(Stop::Damaged) => {
                    parts.unread = true;
                    break;
                }
            };
            let Some((id, author)) = opened else { continue };
            let mut inside = Output::new(Unit::Whole, limits);
            inside.begin("");
            let mut body = Body::new(Flow::new(&mut inside), parts, false);
            let ended = body.read(&mut xml);
            body.finish();
            settle(ended, &mut inside)?;
            output.take_remarks(&inside);
            let text = joined_lines(&inside.into_text());
            kept += text.len();
            if kept > limits.max_output_bytes || parts.notes.len() >= MAX_NOTES {
                parts.unread = true;
                break;
            }
            let by = if author.is_empty() { String::new() } else { format!(" by {}", joined_lines(&author)) };
            if !text.is_empty() {
                let text = format!("[{element}{by}: {text}]");
                parts.notes.insert((element, id), Aside { text, shown: false });
            }
        }
    }
    Ok(())
}

/// The headers and footers of all pages, once each.
fn margins(
    package: &Package<'_>,
    references: &References,
    mut styles: Styles,
    limits: &Limits,
    output: &mut Output,
) -> Result<(), ConvertError> {
    let mut shown: Vec<String> = Vec::new();
    for kind in ["header", "footer"] {
        for name in of_kind(references, kind).into_iter().take(100) {
            let Some(Ok(mut xml)) = package.xml(name) else { continue };
            let mut parts =
                Parts { styles, numbering: Numbering::default(), notes: HashMap::new(), unread: false };
            let mut inside = Output::new(Unit::Whole, limits);
            inside.begin("");
            let mut body = Body::new(Flow::new(&mut inside), &mut parts, false);
            let ended = body.read(&mut xml);
            body.finish();
            styles = parts.styles;
            output.take_remarks(&inside);
            output.margin(kind, &joined_lines(inside.so_far()), &mut shown);
            settle(ended, output)?;
        }
    }
    Ok(())
}
