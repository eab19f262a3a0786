//! The effects of RTF's control words.

use super::document::{Document, Font, MAX_CELLS};
use super::form::Form;
use super::group::{Kind, NO_FONT};
use super::instructions::Instructions;
use crate::code_pages::Charset;
use crate::eq;

/// Fonts whose charsets are kept, and styles that make headings.
const MAX_FONTS: usize = 10_000;

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
    &["do", "shpinst", "shptxt", "shppict", "annotation", "atnauthor", "listtext", "pntext", "footnote"];

/// Carries out a control word.
pub(super) fn carry_out(document: &mut Document<'_>, word: &str, value: Option<i32>) {
    let starred = std::mem::take(&mut document.starred);
    let at_start = std::mem::take(&mut document.at_start);
    if word == "objdata" && document.depth > 1 && document.is_text() {
        document.flush();
        document.group.kind = Kind::Object;
        return;
    }
    if word == "fldinst" && document.depth > 1 && document.is_text() {
        document.flush();
        document.instructions = Instructions::default();
        document.group.kind = Kind::Instructions;
        return;
    }
    match word {
        "formfield" => document.form = Form::default(),
        "ffl" if document.depth > 1 => {
            document.form.begin_choice();
            document.group.kind = Kind::Choice;
            return;
        }
        _ => {}
    }
    let known = SKIPPED.contains(&word);
    if known || starred && !SHOWN.contains(&word) {
        // A destination is a group. A word of one in the midst of text is nothing.
        if document.depth <= 1 && known || document.depth > 1 && (at_start || starred) {
            document.skip();
        }
        return;
    }
    if matches!(word, "par" | "pard" | "sect" | "sectd" | "page" | "trowd") {
        document.end_stray();
    }
    let on = value != Some(0);
    match word {
        "u" => {
            document.flush();
            document.unicode(value.unwrap_or(0));
        }
        "uc" => document.group.stand_ins = usize::try_from(value.unwrap_or(1)).unwrap_or(0).min(100),
        "par" | "sect" | "page" | "column" => document.paragraph(),
        "line" | "lbr" => document.text("\n"),
        "tab" if document.group.kind == Kind::Label => document.text(" "),
        "tab" => document.text("\t"),
        "cell" if document.is_text() => document.cell(),
        "row" if document.is_text() => document.row(),
        "nestcell" => document.text("\t"),
        "nestrow" => document.text("\n"),
        "intbl" => document.group.in_table = true,
        "pard" => {
            document.flush();
            document.group.in_table = false;
            document.group.heading = None;
        }
        "stylesheet" => document.group.kind = Kind::Styles,
        "s" if document.group.kind == Kind::Styles => document.style = value.unwrap_or(0),
        "s" => document.group.heading = value.and_then(|style| document.styles.get(&style).copied()),
        "outlinelevel" if document.group.kind == Kind::Styles => {
            let level = usize::try_from(value.unwrap_or(9)).unwrap_or(9);
            if level < 9 && document.styles.len() < MAX_FONTS {
                document.styles.insert(document.style, level + 1);
            }
        }
        // The rows of a note have no part in the grid of the document's.
        "trowd" | "cellx" if document.in_note() => {}
        "trowd" => document.edges.clear(),
        "cellx" if document.edges.len() < MAX_CELLS => document.edges.push(value.unwrap_or(0)),
        "super" => {
            document.flush();
            document.group.raised = on;
        }
        "nosupersub" => {
            document.flush();
            document.group.raised = false;
        }
        "listtext" | "pntext" => document.group.kind = Kind::Label,
        "outlinelevel" => {
            let level = usize::try_from(value.unwrap_or(9)).unwrap_or(9);
            document.group.heading = (level < 9).then_some(level + 1);
        }
        "plain" => {
            document.flush();
            document.group.raised = false;
            document.group.hidden = false;
            if document.default_font != NO_FONT {
                document.group.font = document.default_font;
            }
        }
        "v" | "deleted" => {
            document.flush();
            document.group.hidden = on;
        }
        "f" => {
            document.flush();
            document.group.font = value.unwrap_or(NO_FONT);
        }
        "deff" if document.default_font == NO_FONT => {
            document.default_font = value.unwrap_or(NO_FONT);
            document.group.font = document.default_font;
        }
        "fcharset" | "cpg" if document.group.kind == Kind::Fonts && document.fonts.len() < MAX_FONTS => {
            let font = document.fonts.entry(document.group.font).or_insert(Font {
                charset: 1,
                code_page: None,
                name: String::new(),
            });
            if word == "cpg" {
                font.code_page = value.and_then(Charset::of_code_page);
            } else {
                // A font may be defined again.
                *font = Font { charset: value.unwrap_or(1), code_page: None, name: String::new() };
            }
        }
        "ansicpg" => {
            // Zero is that of the system.
            let number = value.filter(|number| *number != 0);
            document.is_unknown = number.is_some_and(|number| !document.set_code_page(number));
        }
        "pc" | "pca" | "mac" => {
            document.set_code_page(match word {
                "pc" => 437,
                "pca" => 850,
                _ => 10_000,
            });
        }
        "fonttbl" => document.group.kind = Kind::Fonts,
        "pict" => {
            if document.is_text() {
                document.flow.output.not_shown("image");
            }
            document.skip();
        }
        "fftype" | "ffres" | "ffdefres" => document.form.set(word, value),
        // The result of a field inside the instructions of another one is part of these.
        "fldrslt" if document.group.kind != Kind::Instructions => {
            let shown = std::mem::take(&mut document.form).shown(document.charset);
            document.text(&shown);
            let instructions = std::mem::take(&mut document.instructions).finish(document.charset);
            if eq::is_silent(&instructions) {
                document.skip();
            } else if document.is_text()
                && let Some(equation) = eq::shown(&instructions)
            {
                document.flush();
                document.flow.formula(&equation);
            }
        }
        "footnote" => document.aside(Kind::Note("footnote")),
        "annotation" => document.aside(Kind::Note("comment")),
        "atnauthor" => document.aside(Kind::Author),
        // A property of a shape, which may be the words that it draws, such as a watermark.
        "sn" => document.aside(Kind::Property),
        "sv" if std::mem::take(&mut document.draws_words) => document.aside(Kind::Words),
        "sv" => document.skip(),
        "header" | "headerl" | "headerr" | "headerf" => document.aside(Kind::Aside("header")),
        "footer" | "footerl" | "footerr" | "footerf" => document.aside(Kind::Aside("footer")),
        _ => {
            if let Some(sign) = sign(word) {
                document.text(sign);
            }
        }
    }
}

/// The sign that a word stands for.
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
