//! The text of a document as it grows, with its units and what is to be said about them.

use std::collections::BTreeMap;

use crate::{Attachment, ConvertError, Converted, Label, Limits, Note, Unit};

/// The words under the marker of a unit of which parts were left out.
const INCOMPLETE: &str = "[parts of this {} could not be read]\n";

/// The words under the marker of a unit that could not be read.
const UNREAD: &str = "[this {} could not be read]\n";

/// Documents inside one document that are given on.
pub(crate) const MAX_ATTACHMENTS: usize = 200;

/// Names in markers are cut after so many characters.
const MAX_NAME: usize = 200;

/// The text so far. It never grows beyond its limit.
pub(crate) struct Output {
    limit: usize,
    max_units: usize,
    unit: Unit,
    text: String,
    starts: Vec<usize>,
    labels: Vec<Label>,
    total: usize,
    /// Where the text of the present unit begins, behind its marker.
    body: usize,
    cut: bool,
    has_text: bool,
    unread: Vec<usize>,
    partial: Vec<usize>,
    empty: Vec<usize>,
    not_shown: BTreeMap<&'static str, usize>,
    unreadable: usize,
    notes: Vec<Note>,
    attachments: Vec<Attachment>,
    /// Attachments so far, those that are left out included.
    attached: usize,
    truncated: bool,
}

impl Output {
    /// A text in units of this kind. Text that is not divided has the one unit [`Unit::Whole`] without a marker.
    pub(crate) fn new(unit: Unit, limits: &Limits) -> Self {
        Self {
            limit: limits.max_output_bytes,
            max_units: limits.max_units,
            unit,
            text: String::new(),
            starts: Vec::new(),
            labels: Vec::new(),
            total: 0,
            body: 0,
            cut: false,
            has_text: false,
            unread: Vec::new(),
            partial: Vec::new(),
            empty: Vec::new(),
            not_shown: BTreeMap::new(),
            unreadable: 0,
            notes: Vec::new(),
            attachments: Vec::new(),
            attached: 0,
            truncated: false,
        }
    }

    /// Begins the next unit; `false` if no more fits. `name` is put into its marker.
    pub(crate) fn begin(&mut self, name: &str) -> bool {
        self.begin_labelled(name, false)
    }

    /// Begins the next unit, whose marker says that it is hidden if it is; `false` if no more fits.
    pub(crate) fn begin_labelled(&mut self, name: &str, is_hidden: bool) -> bool {
        let name = marker_name(name);
        let told = match (name.as_str(), is_hidden) {
            ("", false) => String::new(),
            ("", true) => ": hidden".to_owned(),
            (name, false) => format!(": {name}"),
            (name, true) => format!(": {name}, hidden"),
        };
        let marker = format!("[{} {}{told}]", self.unit, self.starts.len() + 1);
        self.begin_with(&marker, Label { name, is_hidden })
    }

    /// Begins the next unit with this marker; `false` if no more fits.
    pub(crate) fn begin_marked(&mut self, marker: &str) -> bool {
        self.begin_with(marker, Label::default())
    }

    fn begin_with(&mut self, marker: &str, label: Label) -> bool {
        self.end_unit();
        self.total = self.total.max(self.starts.len() + 1);
        if self.cut || self.starts.len() >= self.max_units {
            return false;
        }
        let is_marked = self.unit != Unit::Whole;
        if is_marked && !self.text.is_empty() {
            self.end_line();
            if !self.text.ends_with("\n\n") {
                self.push("\n");
            }
        }
        self.starts.push(self.text.len());
        self.labels.push(label);
        if is_marked {
            self.line(marker);
        }
        self.body = self.text.len();
        true
    }

    /// Text that was not divided so far turns out to have pages: what there is becomes the first.
    pub(crate) fn divide_into_pages(&mut self) {
        if self.unit == Unit::Whole {
            const FIRST: &str = "[page 1]\n";
            self.unit = Unit::Page;
            self.text.insert_str(0, FIRST);
            self.body += FIRST.len();
            self.cut |= self.text.len() > self.limit;
            self.note(Note::PagesAsSaved);
        }
    }

    /// A text beside this one, without units, that grows no larger than what this one still takes.
    #[cfg(any(feature = "office", feature = "epub"))]
    pub(crate) fn beside(&self) -> Self {
        let mut beside = Self::new(Unit::Whole, &Limits::new().with_max_output_bytes(self.room()));
        beside.begin("");
        beside
    }

    /// Adds a text that was made beside this one, with what is to be said about it.
    #[cfg(any(feature = "office", feature = "epub"))]
    pub(crate) fn absorb(&mut self, beside: &Self) {
        self.push(&beside.text);
        self.cut |= beside.cut;
        self.take_remarks(beside);
    }

    /// Takes over what is to be said about a text.
    #[cfg(any(feature = "office", feature = "epub"))]
    pub(crate) fn take_remarks(&mut self, beside: &Self) {
        self.truncated |= beside.truncated;
        self.unreadable += beside.unreadable;
        for (what, count) in &beside.not_shown {
            *self.not_shown.entry(what).or_default() += count;
        }
        for note in &beside.notes {
            self.note(note.clone());
        }
    }

    /// The text so far.
    #[cfg(any(feature = "office", feature = "epub"))]
    pub(crate) fn so_far(&self) -> &str {
        &self.text
    }

    /// Writes the text of a header or footer, unless it was written before.
    #[cfg(feature = "office")]
    pub(crate) fn margin(&mut self, kind: &str, text: &str, shown: &mut Vec<String>) {
        let line = format!("[{kind}: {text}]");
        if !text.is_empty() && !shown.contains(&line) {
            self.end_line();
            self.line(&line);
            shown.push(line);
        }
    }

    /// The text alone.
    #[cfg(feature = "office")]
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Says how many units there are, whether or not all are begun.
    pub(crate) fn set_total(&mut self, total: usize) {
        self.total = total;
    }

    /// The number of the present unit, from 1.
    pub(crate) fn number(&self) -> usize {
        self.starts.len()
    }

    /// True if nothing more is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.cut
    }

    /// The number of bytes that are still taken.
    pub(crate) fn room(&self) -> usize {
        if self.cut { 0 } else { self.limit.saturating_sub(self.text.len()) }
    }

    /// Takes no more: what would come next does not fit.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
    }

    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        if self.cut {
            return;
        }
        if memchr::memchr(0, text.as_bytes()).is_some() {
            // No text holds it, and not everything that takes text takes it.
            return self.push(&text.replace('\0', "\u{FFFD}"));
        }
        let room = self.limit.saturating_sub(self.text.len());
        if text.len() <= room {
            self.text.push_str(text);
            return;
        }
        self.cut = true;
        // Room for the end of the line stays.
        let end = text.floor_char_boundary(room.saturating_sub(1));
        self.text.push_str(text.get(..end).unwrap_or_default());
        // A line that is cut is better than none.
        match self.text.rfind('\n') {
            Some(line) if line >= self.body => self.text.truncate(line + 1),
            _ => {}
        }
        self.starts.retain(|start| *start < self.text.len());
        self.labels.truncate(self.starts.len());
        self.body = self.body.min(self.text.len());
    }

    /// Adds a line, or lines.
    pub(crate) fn line(&mut self, line: &str) {
        self.push(line);
        self.push("\n");
    }

    /// Ends the present line, if it has begun.
    pub(crate) fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.push("\n");
        }
    }

    /// Separates what follows by one blank line.
    pub(crate) fn blank(&mut self) {
        self.end_line();
        if self.text.len() > self.body && !self.text.ends_with("\n\n") {
            self.push("\n");
        }
    }

    /// Parts of the present unit were left out.
    pub(crate) fn partial(&mut self) {
        let number = self.number().max(1);
        if self.partial.last() != Some(&number) && !self.unread.contains(&number) {
            self.partial.push(number);
            self.end_line();
            if self.unit != Unit::Whole {
                self.note_body();
                self.push(&INCOMPLETE.replace("{}", &self.unit.to_string()));
                self.body = self.text.len();
            }
        }
    }

    /// The present unit could not be read at all.
    pub(crate) fn unread(&mut self) {
        self.unread.push(self.number().max(1));
        self.push(&UNREAD.replace("{}", &self.unit.to_string()));
        self.body = self.text.len();
    }

    /// Something that stands at this place is not in the text: an `image`, a `chart`.
    pub(crate) fn not_shown(&mut self, what: &'static str) {
        *self.not_shown.entry(what).or_default() += 1;
    }

    /// Counts the characters of a text that could not be read.
    #[cfg(any(feature = "office", feature = "epub"))]
    pub(crate) fn unreadable(&mut self, text: &str) {
        self.unreadable += text.matches(char::REPLACEMENT_CHARACTER).count();
    }

    /// Adds a remark. Characters that could not be read are counted together.
    pub(crate) fn note(&mut self, note: Note) {
        if let Note::UnreadableCharacters { count } = note {
            self.unreadable += count;
        } else if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Text is missing, for a reason that a remark gives.
    pub(crate) fn truncated(&mut self) {
        self.truncated = true;
    }

    /// Gives on a document that is inside the document, and says so where it stands.
    #[cfg(any(feature = "email", feature = "office"))]
    pub(crate) fn attach(&mut self, attachment: Attachment) {
        self.attached += 1;
        if self.attached > MAX_ATTACHMENTS {
            self.note(Note::EntriesLeftOut);
            self.truncated();
            return;
        }
        self.end_line();
        self.line(&attachment_marker(self.attached, &attachment));
        self.attachments.push(attachment);
    }

    /// Says that a document is inside that cannot be given on.
    #[cfg(feature = "legacy")]
    pub(crate) fn attach_unread(&mut self, file_name: Option<&str>) {
        self.attached += 1;
        let name = marker_name(file_name.unwrap_or("without a name"));
        self.end_line();
        self.line(&format!("[attachment {}: {name}, which cannot be read]", self.attached));
        self.not_shown("embedded document");
    }

    /// Remembers whether the text so far of this unit says anything.
    fn note_body(&mut self) -> bool {
        let body = self.text.get(self.body..).unwrap_or_default();
        let says = body.chars().any(|c| !c.is_whitespace() && c != char::REPLACEMENT_CHARACTER);
        self.has_text |= says;
        says
    }

    fn end_unit(&mut self) {
        let number = self.number();
        if number == 0 {
            return;
        }
        let says = self.note_body();
        let told = [&self.partial, &self.unread].iter().any(|list| list.last() == Some(&number));
        if !says && !told && !self.cut {
            self.empty.push(number);
        }
    }

    /// The text with all remarks.
    ///
    /// # Errors
    /// There is no text.
    pub(crate) fn finish(mut self) -> Result<Converted, ConvertError> {
        self.end_unit();
        self.text.truncate(self.text.trim_end_matches('\n').len());
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let (unit, units) = (self.unit, self.starts.len().max(1));
        let total = self.total.max(self.starts.len());
        let damaged = !self.unread.is_empty() || !self.partial.is_empty();
        let none = self.starts.is_empty();
        if none || !self.has_text && self.attachments.is_empty() {
            return Err(match (damaged, self.cut) {
                (true, _) => ConvertError::NothingRead { unit, units },
                (_, true) => ConvertError::TooLarge { what: "bytes of text", limit: self.limit },
                _ => ConvertError::NoText { unit, units, images: self.not_shown.contains_key("image") },
            });
        }
        let left_out = self.starts.len() < total && unit != Unit::Whole;
        let numbered = |numbers: Vec<usize>| (!numbers.is_empty()).then_some(numbers);
        let mut notes = self.notes;
        let count = self.unreadable;
        notes.extend((count > 0).then_some(Note::UnreadableCharacters { count }));
        notes.extend(left_out.then_some(Note::UnitsLeftOut { unit, read: self.starts.len(), total }));
        notes.extend(self.cut.then_some(Note::TextCut { limit: self.limit }));
        notes.extend(numbered(self.unread).map(|numbers| Note::Unread { unit, numbers }));
        notes.extend(numbered(self.partial).map(|numbers| Note::PartsLeftOut { unit, numbers }));
        if unit != Unit::Whole {
            notes.extend(numbered(self.empty).map(|numbers| Note::WithoutText { unit, numbers }));
        }
        notes.extend(self.not_shown.into_iter().map(|(what, count)| Note::NotShown { what, count }));
        let (starts, labels) =
            if unit == Unit::Whole { Default::default() } else { (self.starts, self.labels) };
        Ok(Converted {
            text: self.text,
            unit,
            units: total,
            starts,
            labels,
            truncated: left_out || self.cut || damaged || self.truncated,
            notes,
            attachments: self.attachments,
        })
    }
}

/// The line that says where an attachment stands.
pub(crate) fn attachment_marker(number: usize, attachment: &Attachment) -> String {
    let name = marker_name(attachment.file_name.as_deref().unwrap_or("without a name"));
    format!("[attachment {number}: {name}, {}, {} bytes]", attachment.media_type, attachment.bytes.len())
}

/// A name on one line without brackets that would end its marker.
pub(crate) fn marker_name(name: &str) -> String {
    let mut out = String::new();
    for c in
        name.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).take(4 * MAX_NAME)
    {
        let c = match c {
            '[' => '(',
            ']' => ')',
            c => c,
        };
        if c != ' ' || !out.is_empty() && !out.ends_with(' ') {
            out.push(c);
        }
    }
    let mut out: String = out.chars().take(MAX_NAME).collect();
    out.truncate(out.trim_end().len());
    out
}

/// The words of a text on one line, a blank between two.
#[cfg(any(feature = "office", feature = "html", feature = "email"))]
pub(crate) fn one_line(text: &str) -> String {
    attache_core::line::one_line(text, usize::MAX)
}

/// Lines as one, each told from the next.
#[cfg(feature = "office")]
pub(crate) fn joined_lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::{Output, marker_name};
    use crate::{ConvertError, Limits, Note, Unit};

    #[test]
    fn units_are_marked_and_start_at_their_markers() {
        let mut output = Output::new(Unit::Sheet, &Limits::new());
        assert!(output.begin("Budget"));
        output.line("a | b");
        assert!(output.begin("x]\n[sheet 9: y"));
        assert!(output.begin(""));
        output.partial();
        let converted = output.finish().unwrap();
        assert_eq!(
            converted.text,
            "[sheet 1: Budget]\na | b\n\n[sheet 2: x) (sheet 9: y]\n\n[sheet 3]\n[parts of this sheet could not be read]\n"
        );
        let at = |n: usize| &converted.text[converted.starts[n]..];
        assert!(at(1).starts_with("[sheet 2") && at(2).starts_with("[sheet 3"));
        assert_eq!(
            converted.notes,
            [
                Note::PartsLeftOut { unit: Unit::Sheet, numbers: vec![3] },
                Note::WithoutText { unit: Unit::Sheet, numbers: vec![2] },
            ]
        );
        assert!(converted.truncated);
        let names: Vec<&str> = converted.labels.iter().map(|label| label.name.as_str()).collect();
        assert_eq!(names, ["Budget", "x) (sheet 9: y", ""]);
    }

    #[test]
    fn text_is_cut_at_a_line_and_no_unit_starts_beyond_it() {
        let mut output = Output::new(Unit::Slide, &Limits::new().with_max_output_bytes(20));
        output.begin("");
        output.line("123456");
        output.begin("");
        assert!(output.is_full());
        assert!(!output.begin(""));
        output.set_total(3);
        let converted = output.finish().unwrap();
        assert_eq!((converted.text.as_str(), converted.starts.as_slice()), ("[slide 1]\n123456\n", &[0][..]));
        assert_eq!(converted.labels.len(), 1);
        assert_eq!(
            converted.notes,
            [Note::UnitsLeftOut { unit: Unit::Slide, read: 1, total: 3 }, Note::TextCut { limit: 20 },]
        );
    }

    #[test]
    fn nothing_is_an_error() {
        let mut output = Output::new(Unit::Whole, &Limits::new());
        output.begin("");
        output.line("  ");
        let error = output.finish().unwrap_err();
        assert_eq!(error, ConvertError::NoText { unit: Unit::Whole, units: 1, images: false });
    }

    #[test]
    fn names_in_markers_are_tame() {
        assert_eq!(marker_name(" a\n\t b] "), "a b)");
        assert_eq!(marker_name(&"x".repeat(1000)).len(), 200);
    }
}
