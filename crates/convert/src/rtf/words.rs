//! What the control words of RTF do.

use super::{Group, Kind, MAX_CELLS, MAX_FONTS, Reader, charsets};

/// Destinations whose content is no text.
const SKIPPED: &[&str] = &[
    "colortbl",
    "info",
    "objclass",
    "objname",
    "themedata",
    "colorschememapping",
    "datastore",
    "latentstyles",
    "generator",
    "xmlnstbl",
    "mmathPr",
    "sp",
    "shprslt",
    "nonshppict",
    "fldinst",
    "datafield",
    "bkmkstart",
    "bkmkend",
    "tc",
    "xe",
    "rxe",
    "template",
    "listtable",
    "listoverridetable",
    "filetbl",
    "revtbl",
    "rsidtbl",
    "ftnsep",
    "ftnsepc",
    "ftncn",
    "aftnsep",
    "aftnsepc",
    "aftncn",
    "pgptbl",
    "userprops",
    "listpicture",
    "private",
    "keycode",
    "atnid",
    "atndate",
    "atnref",
    "atntime",
    "atrfstart",
    "atrfend",
    "annotationdate",
];

/// Starred destinations whose content is text.
const SHOWN: &[&str] =
    &["shpinst", "shptxt", "shppict", "annotation", "atnauthor", "listtext", "pntext", "footnote"];

impl Reader<'_> {
    pub(super) fn word(&mut self, word: &str, value: Option<i32>) {
        let starred = std::mem::take(&mut self.starred);
        let at_start = std::mem::take(&mut self.at_start);
        if word == "objdata" && self.depth > 1 && self.is_text() {
            self.flush();
            self.group.kind = Kind::Object;
            return;
        }
        let known = SKIPPED.contains(&word);
        if known || starred && !SHOWN.contains(&word) {
            // A destination is a group. A word of one in the midst of text is nothing.
            if self.depth <= 1 && known || self.depth > 1 && (at_start || starred) {
                self.skip();
            }
            return;
        }
        if matches!(word, "par" | "pard" | "sect" | "sectd" | "page" | "trowd") {
            self.end_stray();
        }
        let on = value != Some(0);
        match word {
            "u" => {
                self.flush();
                self.unicode(value.unwrap_or(0));
            }
            "uc" => self.group.stand_ins = usize::try_from(value.unwrap_or(1)).unwrap_or(0).min(100),
            "par" | "sect" | "page" | "column" => self.paragraph(),
            "line" | "lbr" => self.text("\n"),
            "tab" if self.group.kind == Kind::Label => self.text(" "),
            "tab" => self.text("\t"),
            "cell" if self.is_text() => self.cell(),
            "row" if self.is_text() => self.row(),
            "nestcell" => self.text("\t"),
            "nestrow" => self.text("\n"),
            "intbl" => self.group.in_table = true,
            "pard" => {
                self.flush();
                self.group.in_table = false;
                self.group.heading = None;
            }
            "stylesheet" => self.group.kind = Kind::Styles,
            "s" if self.group.kind == Kind::Styles => self.style = value.unwrap_or(0),
            "s" => self.group.heading = value.and_then(|style| self.styles.get(&style).copied()),
            "outlinelevel" if self.group.kind == Kind::Styles => {
                let level = usize::try_from(value.unwrap_or(9)).unwrap_or(9);
                if level < 9 && self.styles.len() < MAX_FONTS {
                    self.styles.insert(self.style, level + 1);
                }
            }
            "trowd" => self.edges.clear(),
            "cellx" if self.edges.len() < MAX_CELLS => self.edges.push(value.unwrap_or(0)),
            "super" => {
                self.flush();
                self.group.raised = on;
            }
            "nosupersub" => {
                self.flush();
                self.group.raised = false;
            }
            "listtext" | "pntext" => self.group.kind = Kind::Label,
            "outlinelevel" => {
                let level = usize::try_from(value.unwrap_or(9)).unwrap_or(9);
                self.group.heading = (level < 9).then_some(level + 1);
            }
            "plain" => {
                self.flush();
                self.group.raised = false;
                self.group.hidden = false;
            }
            "v" | "deleted" => {
                self.flush();
                self.group.hidden = on;
            }
            "f" => {
                self.flush();
                self.group.font = value.unwrap_or(-1);
            }
            "deff" if self.group.font < 0 => self.group.font = value.unwrap_or(-1),
            "fcharset" if self.group.kind == Kind::Fonts && self.fonts.len() < MAX_FONTS => {
                self.fonts.insert(self.group.font, value.unwrap_or(1));
            }
            "ansicpg" => {
                if let Some(encoding) = value.and_then(charsets::of_code_page) {
                    self.encoding = encoding;
                }
            }
            "mac" => self.encoding = encoding_rs::MACINTOSH,
            "fonttbl" => self.group.kind = Kind::Fonts,
            "pict" => {
                if self.is_text() {
                    self.flow.output.not_shown("image");
                }
                self.skip();
            }
            "footnote" => self.aside(Kind::Note("footnote")),
            "annotation" => self.aside(Kind::Note("comment")),
            "atnauthor" => self.aside(Kind::Author),
            "header" | "headerl" | "headerr" | "headerf" => self.aside(Kind::Aside("header")),
            "footer" | "footerl" | "footerr" | "footerf" => self.aside(Kind::Aside("footer")),
            _ => {
                if let Some(sign) = sign(word) {
                    self.text(sign);
                }
            }
        }
    }

    /// Passes over the rest of the group; of the document itself, only up to the next paragraph.
    fn skip(&mut self) {
        self.flush();
        self.group.skipped = true;
        self.stray = self.depth <= 1;
    }

    /// What has no group of its own ends with its paragraph.
    fn end_stray(&mut self) {
        if self.depth > 1 {
            return;
        }
        if std::mem::take(&mut self.stray) {
            self.group.skipped = false;
        }
        if matches!(self.group.kind, Kind::Fonts | Kind::Styles) {
            self.group.kind = Kind::Text;
        }
    }

    /// This group is a note: the paragraph waits for its end.
    fn aside(&mut self, kind: Kind) {
        if !self.is_text() || self.group.saved.is_some() {
            return;
        }
        self.flush();
        let saved = Some(self.flow.take());
        self.group = Group { kind, saved, ..self.group.clone() };
    }
}

fn sign(word: &str) -> Option<&'static str> {
    Some(match word {
        "emdash" => "\u{2014}",
        "endash" => "\u{2013}",
        "lquote" => "\u{2018}",
        "rquote" => "\u{2019}",
        "ldblquote" => "\u{201c}",
        "rdblquote" => "\u{201d}",
        "bullet" => "\u{2022}",
        "emspace" | "enspace" | "qmspace" => " ",
        _ => return None,
    })
}
