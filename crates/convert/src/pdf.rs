//! PDF to text.
//!
//! The file is read with the `hayro` family of crates: its syntax, decryption and fonts. The text of a page and its
//! places are worked out here ([`content`], [`runs`]), and put into lines, cells and columns ([`layout`]).

mod accents;
mod annotations;
mod attachments;
mod audit;
mod cells;
mod columns;
mod content;
mod cost;
pub(crate) mod decoded;
mod defined;
mod encrypted;
pub(crate) mod expand;
mod filters;
pub(crate) mod font;
mod found;
mod guess;
mod layers;
mod layout;
mod line;
mod object_number;
mod page;
mod pages;
mod passage;
mod refusal;
mod rows;
mod rtl;
mod ruled_tables;
mod ruling_lines;
mod runs;
mod state;
mod strips;
mod text_string;
mod unruled_tables;
mod values;

use std::sync::Arc;

use bytes::Bytes;
use hayro_syntax::Pdf;
use memchr::memmem;

use self::attachments::Attached;
use self::defined::Defined;
use self::found::Found;
use self::layers::Layers;
pub(crate) use self::pages::Numbered;
pub(crate) use self::passage::areas;
use self::refusal::refusal;
use crate::guarded::Clock;
use crate::output::attachment_marker;
use crate::{ConvertError, Converted, Label, Limits, Note, Unit};

/// The distance of the end marker from the end of a file, at most.
const END_MARKER_WITHIN: usize = 2048;

/// The part of a page that images cover and the characters of its text from which on, and below which, the page is seen
/// rather than read: a scan with a stamp, or the picture of a title page.
const COVERED: f64 = 0.7;
const FEW_CHARS: usize = 100;

/// The words under the marker of a page of which parts were left out.
const INCOMPLETE: &str = "[parts of this page could not be read]\n";

/// The words under the marker of a page that is not there.
const UNREAD: &str = "[this page could not be read]\n";

/// An opened file, with its pages counted.
pub(crate) struct Opened {
    pub(crate) pdf: Pdf,
    pub(crate) pages: Numbered,
}

/// Opens a file that does not ask for more than the limits allow.
pub(crate) fn open(bytes: Bytes, limits: &Limits, clock: Clock) -> Result<Opened, ConvertError> {
    audit::check(&bytes, limits, clock)?;
    clock.check()?;
    let pdf = Pdf::new(Arc::new(bytes)).map_err(refusal)?;
    let pages = pages::number(&pdf, clock)?;
    if pages.total == 0 {
        return Err(ConvertError::Malformed { reason: "it has no pages" });
    }
    Ok(Opened { pdf, pages })
}

pub(crate) fn convert(bytes: Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let ends_early = {
        let tail = bytes.get(bytes.len().saturating_sub(END_MARKER_WITHIN)..).unwrap_or_default();
        memmem::find(tail, b"%%EOF").is_none()
    };
    let Opened { pdf, pages: numbered } = open(bytes, limits, clock)?;
    let pages = pdf.pages();

    let mut defined = Defined::default();
    let mut files = Vec::new();
    let layers = Layers::of(&pdf);
    let mut fonts = font::Fonts::new(limits.max_decoded_bytes, clock);
    let mut output = Output::new(numbered.total, limits);
    for (index, place) in numbered.pages().enumerate().take(limits.max_units) {
        clock.check()?;
        let mut found = match place.and_then(|place| pages.get(place)) {
            Some(page) => Some(page::read(page, &mut fonts, &layers, limits.max_decoded_bytes, clock)?),
            None => None,
        };
        if let Some(found) = found.as_mut().filter(|found| !found.dangling.is_empty()) {
            // The content of the missing end is lost.
            found.partial |=
                ends_early || defined.any(&pdf, &found.dangling, limits.max_decoded_bytes, clock)?;
        }
        files.extend(found.as_mut().map(|found| std::mem::take(&mut found.files)).unwrap_or_default());
        if !output.add(index + 1, found, clock)? {
            break;
        }
    }
    // A page that was left out as the time was over is not missing, but not looked at.
    clock.check()?;
    output.attach(attachments::read(&pdf, files, limits.max_decoded_bytes, clock)?);
    output.finish(ends_early, numbered.guessed)
}

/// The text so far.
struct Output<'l> {
    limits: &'l Limits,
    text: String,
    starts: Vec<usize>,
    total: usize,
    read: usize,
    cut: bool,
    has_text: bool,
    images: usize,
    /// Files that are attached, and how many more there are that could not be given on.
    attached: Attached,
    /// Those of them that are on pages with text: a page without text is named as one.
    images_beside_text: usize,
    unreadable: usize,
    unread: Vec<usize>,
    partial: Vec<usize>,
    empty: Vec<usize>,
    /// Pages that images cover, with little text.
    covered: Vec<usize>,
}

impl<'l> Output<'l> {
    fn new(total: usize, limits: &'l Limits) -> Self {
        Self {
            limits,
            text: String::new(),
            starts: Vec::new(),
            total,
            read: 0,
            cut: false,
            has_text: false,
            images: 0,
            attached: Attached::default(),
            images_beside_text: 0,
            unreadable: 0,
            unread: Vec::new(),
            partial: Vec::new(),
            empty: Vec::new(),
            covered: Vec::new(),
        }
    }

    /// Adds a page, which is `None` if it cannot be read; `false` when no more fits.
    fn add(&mut self, number: usize, found: Option<Found>, clock: Clock) -> Result<bool, ConvertError> {
        self.read = number;
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.starts.push(self.text.len());
        self.text.push_str(&format!("[page {number}]\n"));
        match found {
            Some(found) => self.add_found(number, found, clock)?,
            None => {
                self.unread.push(number);
                self.text.push_str(UNREAD);
            }
        }
        self.cut = self.text.len() > self.limits.max_output_bytes;
        if self.cut {
            self.cut_text();
        }
        Ok(!self.cut)
    }

    fn add_found(&mut self, number: usize, found: Found, clock: Clock) -> Result<(), ConvertError> {
        self.images += found.images;
        self.unreadable += found.unreadable;
        if found.partial {
            self.partial.push(number);
            self.text.push_str(INCOMPLETE);
        }
        let start = self.text.len();
        let rules = found.drawing.into_rules();
        for (angle, runs) in found.runs.into_frames() {
            let text = layout::text(runs, &rules.in_frame(angle), clock)?;
            self.text.push_str(&text);
        }
        let said = |text: &str| {
            text.chars().filter(|c| !c.is_whitespace() && *c != char::REPLACEMENT_CHARACTER).count()
        };
        // Comments say nothing of what is on the page.
        let chars = said(self.text.get(start..).unwrap_or_default());
        self.text.push_str(&found.comments);
        if chars > 0 || said(&found.comments) > 0 {
            self.has_text = true;
            if (1..FEW_CHARS).contains(&chars) && found.covered >= COVERED {
                self.covered.push(number);
            } else {
                self.images_beside_text += found.images;
            }
        } else if !found.partial {
            self.empty.push(number);
        }
        Ok(())
    }

    /// Adds the files that are attached.
    fn attach(&mut self, attached: Attached) {
        for (index, attachment) in attached.files.iter().enumerate().filter(|_| !self.cut) {
            self.text.push_str(&attachment_marker(index + 1, attachment));
            self.text.push('\n');
        }
        if self.text.len() > self.limits.max_output_bytes {
            self.cut = true;
            self.cut_text();
        }
        self.attached = attached;
    }

    /// Cuts the text at the last line that fits, or, if that is none, at the last character.
    fn cut_text(&mut self) {
        let end = self.text.floor_char_boundary(self.limits.max_output_bytes);
        self.text.truncate(end);
        if let Some(line) = self.text.rfind('\n') {
            self.text.truncate(line + 1);
        }
        self.starts.retain(|start| *start < self.text.len());
    }

    fn finish(self, ends_early: bool, order_guessed: bool) -> Result<Converted, ConvertError> {
        let unit = Unit::Page;
        let damaged = !self.unread.is_empty() || !self.partial.is_empty();
        let none = !self.has_text && self.attached.files.is_empty();
        if none && (damaged || (ends_early && self.images == 0)) {
            return Err(ConvertError::NothingRead { unit, units: self.read });
        }
        // A file that is attached and cannot be given on is something to say, which an error has no place for.
        if none && self.attached.lost == 0 {
            return Err(ConvertError::NoText { unit, units: self.read, images: self.images > 0 });
        }
        let left_out = self.read < self.total;
        let truncated = left_out || self.cut || damaged;
        let notes = [
            ends_early.then_some(Note::EndsEarly),
            order_guessed.then_some(Note::OrderGuessed { unit }),
            left_out.then_some(Note::UnitsLeftOut { unit, read: self.read, total: self.total }),
            self.cut.then_some(Note::TextCut { limit: self.limits.max_output_bytes }),
            (!self.unread.is_empty()).then_some(Note::Unread { unit, numbers: self.unread }),
            (!self.partial.is_empty()).then_some(Note::PartsLeftOut { unit, numbers: self.partial }),
            (!self.empty.is_empty()).then_some(Note::WithoutText { unit, numbers: self.empty }),
            (!self.covered.is_empty()).then_some(Note::CoveredByImages { unit, numbers: self.covered }),
            (self.images_beside_text > 0)
                .then_some(Note::NotShown { what: "image", count: self.images_beside_text }),
            (self.attached.lost > 0)
                .then_some(Note::NotShown { what: "embedded document", count: self.attached.lost }),
            (self.unreadable > 0).then_some(Note::UnreadableCharacters { count: self.unreadable }),
        ];
        Ok(Converted {
            text: self.text,
            unit,
            units: self.total,
            labels: vec![Label::default(); self.starts.len()],
            starts: self.starts,
            truncated,
            notes: notes.into_iter().flatten().collect(),
            attachments: self.attached.files,
        })
    }
}
