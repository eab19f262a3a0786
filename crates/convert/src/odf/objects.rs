//! Documents inside OpenDocument files: charts and formulas, which are read where they stand, and
//! whole documents, which are given on.

use std::collections::HashMap;

use crate::archive::{Archive, join};
use crate::drawings;
use crate::embedded::Embedded;
use crate::guarded::Clock;
use crate::numbers::plain;
use crate::output::{Output, one_line};
use crate::table::push_row;
use crate::xml::{Node, Stop, Tag, Xml};
use crate::{Attachment, ConvertError, Limits};

/// Objects of one slide or sheet, cells of one chart, and the longest text in it.
const MAX_OBJECTS: usize = 1_000;
const MAX_CELLS: usize = 20_000;
/// Trend lines of one chart, and styles of them.
const MAX_TRENDS: usize = 1_000;
const MAX_TEXT: usize = 4 << 10;

/// The objects of a file.
pub(super) struct Objects<'a, 'b> {
    archive: &'a Archive<'b>,
    clock: Clock,
    embedded: Embedded,
    /// Those that were referred to and are not written yet.
    pending: Vec<String>,
}

/// The kind of an object.
enum Kind {
    Chart,
    Formula,
    /// A document of this media type, with its extension.
    Document(&'static str, &'static str),
    Unknown,
}

impl<'a, 'b> Objects<'a, 'b> {
    pub(super) fn new(archive: &'a Archive<'b>, limits: &Limits, clock: Clock) -> Self {
        Self { archive, clock, embedded: Embedded::new(limits), pending: Vec::new() }
    }

    /// An object stands here, in this file or folder of the archive.
    pub(super) fn refer(&mut self, target: Option<String>, output: &mut Output) {
        match target {
            Some(target) if self.pending.len() < MAX_OBJECTS => self.pending.push(join("", &target)),
            _ => output.not_shown("embedded object"),
        }
    }

    /// Writes what was referred to so far.
    pub(super) fn write(&mut self, output: &mut Output) -> Result<(), Stop> {
        for name in std::mem::take(&mut self.pending) {
            let content = format!("{name}/content.xml");
            let kind = match self.open(&content) {
                Some(xml) => kind(xml)?,
                None if self.archive.has(&name) => {
                    self.embedded.part(self.archive, &name, self.clock, output)?;
                    continue;
                }
                None => Kind::Unknown,
            };
            match (kind, self.open(&content)) {
                (Kind::Chart, Some(xml)) => chart(xml, output)?,
                (Kind::Formula, Some(xml)) => formula(xml, output)?,
                (Kind::Document(media_type, extension), _) => {
                    if !self.embedded.is_new(&name) {
                        continue;
                    }
                    match self.archive.folder(&name, media_type, self.embedded.room(), self.clock)? {
                        Some(bytes) => {
                            self.embedded.take(bytes.len());
                            output.attach(Attachment {
                                bytes: bytes.into(),
                                media_type: media_type.to_owned(),
                                file_name: Some(format!("{name}.{extension}")),
                            });
                        }
                        None => output.not_shown("embedded document"),
                    }
                }
                _ => output.not_shown("embedded object"),
            }
        }
        Ok(())
    }

    fn open(&self, name: &str) -> Option<Xml<'a>> {
        Some(Xml::new(self.archive.part(name)?.ok()?, self.clock))
    }
}

fn kind(mut xml: Xml<'_>) -> Result<Kind, ConvertError> {
    let mut in_body = false;
    let document = |kind, extension| Some(Kind::Document(kind, extension));
    let found = xml.find(|tag| match tag.name() {
        "math" => Some(Kind::Formula),
        "body" => {
            in_body = true;
            None
        }
        _ if !in_body => None,
        "chart" => Some(Kind::Chart),
        "text" => document("application/vnd.oasis.opendocument.text", "odt"),
        "spreadsheet" => document("application/vnd.oasis.opendocument.spreadsheet", "ods"),
        "presentation" => document("application/vnd.oasis.opendocument.presentation", "odp"),
        _ => Some(Kind::Unknown),
    })?;
    Ok(found.unwrap_or(Kind::Unknown))
}

/// Writes a chart as the table that it was drawn from.
fn chart(mut xml: Xml<'_>, output: &mut Output) -> Result<(), Stop> {
    let (mut titles, mut rows, mut cells) = (Vec::new(), Vec::<Vec<String>>::new(), 0_usize);
    // Paragraphs of shapes that are drawn into the chart, and of labels of values.
    let mut drawn = Vec::new();
    let mut damaged = false;
    let mut trends = Trends::default();
    loop {
        let (mut title, mut cell, mut equation, mut paragraph) = (false, None, false, false);
        match xml.next() {
            Ok(Node::Open(tag)) => match tag.name() {
                "title" | "subtitle" => title = true,
                "table-row" => rows.push(Vec::new()),
                "table-cell" => cell = Some(tag.exact("office:value")),
                "equation" => equation = true,
                "p" => paragraph = true,
                _ => trends.open(&tag),
            },
            Ok(Node::End) => break,
            Err(Stop::Damaged) => {
                damaged = true;
                break;
            }
            Err(over) => return Err(over),
            Ok(_) => {}
        }
        if equation {
            trends.equation(&xml.text(MAX_TEXT)?);
        }
        if title || paragraph || cell.is_some() {
            cells += 1;
            if cells > MAX_CELLS {
                output.truncated();
                damaged = true;
                break;
            }
            let text = one_line(&xml.text(MAX_TEXT)?);
            let value = cell.as_ref().and_then(Option::as_ref).and_then(|value| value.parse::<f64>().ok());
            let text = match value {
                Some(value) if value.is_finite() => plain(value),
                Some(_) => String::new(),
                None => text,
            };
            match rows.last_mut() {
                Some(row) if cell.is_some() => row.push(text),
                _ if text.is_empty() => {}
                _ if paragraph => drawn.push(text),
                _ => titles.push(text),
            }
        }
    }
    output.end_line();
    output.line(&drawings::head(&titles));
    for row in rows {
        let mut line = String::new();
        push_row(&mut line, row.iter().map(String::as_str).enumerate());
        if !line.is_empty() {
            output.line(&line);
        }
    }
    for Trend { kind, name, equation } in &trends.drawn {
        output.line(&drawings::trend("", kind, [name, equation]));
    }
    for line in drawn {
        output.line(&line);
    }
    if damaged {
        output.partial();
    }
    Ok(())
}

/// The trend lines of a chart, which say in their styles what they are.
#[derive(Default)]
struct Trends {
    style: String,
    by_style: HashMap<String, Trend>,
    drawn: Vec<Trend>,
}

#[derive(Default, Clone)]
struct Trend {
    kind: String,
    name: String,
    equation: String,
}

impl Trends {
    fn open(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "style" => self.style = tag.exact("style:name").unwrap_or_default(),
            "chart-properties" if self.by_style.len() < MAX_TRENDS => {
                let value = |name: &str| one_line(&tag.attr(name).unwrap_or_default());
                let (kind, name) = (value("regression-type"), value("regression-name"));
                if !matches!(kind.as_str(), "" | "none") {
                    self.by_style.insert(self.style.clone(), Trend { kind, name, ..Trend::default() });
                }
            }
            "regression-curve" if self.drawn.len() < MAX_TRENDS => {
                let style = tag.attr("style-name").and_then(|style| self.by_style.get(&style));
                self.drawn.push(style.cloned().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn equation(&mut self, text: &str) {
        if let Some(trend) = self.drawn.last_mut() {
            trend.equation = one_line(text);
        }
    }
}

/// Writes a formula as it was typed.
fn formula(mut xml: Xml<'_>, output: &mut Output) -> Result<(), Stop> {
    loop {
        match xml.next()? {
            Node::Open(tag) if tag.name() == "annotation" => break,
            Node::End => {
                output.not_shown("formula");
                return Ok(());
            }
            _ => {}
        }
    }
    let text = xml.text(MAX_TEXT)?;
    output.end_line();
    output.line(&format!("[formula: {}]", one_line(&text)));
    Ok(())
}
