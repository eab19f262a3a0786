//! RTF to text: paragraphs, tables, notes and comments. Deleted and hidden text is left out.

pub(crate) mod charsets;
mod document;
mod form;
mod group;
mod instructions;
mod tokens;
mod words;

use bytes::Bytes;

use crate::flow::Flow;
use crate::guarded::Clock;
use crate::output::Output;
use crate::{ConvertError, Converted, Limits, Note, Unit};

use self::document::Document;
use self::tokens::{Token, Tokens};

/// After how many tokens the clock is looked at.
const TOKENS_PER_LOOK: usize = 1024;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    if !bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Err(ConvertError::Malformed { reason: "it cannot be read as RTF" });
    }
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    render(bytes, &mut output, clock)?;
    output.finish()
}

/// Writes the text of a document.
///
/// # Errors
/// The time is over.
pub(crate) fn render(bytes: &[u8], output: &mut Output, clock: Clock) -> Result<(), ConvertError> {
    let mut document = Document::new(Flow::new(output));
    read(&mut document, bytes, clock)?;
    let whole = document.depth == 0;
    let Document { flow, asides, objects, .. } = document;
    flow.finish();
    for aside in asides {
        output.line(&aside);
    }
    for (index, digits) in objects.iter().enumerate() {
        clock.check()?;
        crate::embedded::of_digits(digits, &format!("object{}", index + 1), output);
    }
    if !whole {
        output.note(Note::EndsEarly);
        output.truncated();
    }
    Ok(())
}

/// Carries out the tokens of a document.
fn read(document: &mut Document<'_>, bytes: &[u8], clock: Clock) -> Result<(), ConvertError> {
    let mut in_table = false;
    for (count, token) in (1_usize..).zip(Tokens::new(bytes)) {
        if count.is_multiple_of(TOKENS_PER_LOOK) {
            clock.check()?;
            if document.flow.is_full() {
                document.depth = 0;
                break;
            }
        }
        match token {
            Token::Open => {
                document.open();
                document.at_start = true;
            }
            Token::Close => {
                in_table = document.group.in_table;
                document.close();
                if document.depth == 0 {
                    break;
                }
            }
            Token::Nothing => {}
            _ if document.to_skip > 0 => document.to_skip -= 1,
            Token::Word(word, value) => words::carry_out(document, word, value),
            Token::Symbol(symbol) => carry_out_symbol(document, symbol),
            Token::Hex(byte) => {
                if let Some(byte) = byte {
                    document.byte(byte);
                }
            }
            Token::Byte(byte) => {
                document.at_start = false;
                document.byte(byte);
            }
        }
    }
    document.end(in_table);
    Ok(())
}

fn carry_out_symbol(document: &mut Document<'_>, symbol: u8) {
    document.at_start &= symbol == b'*';
    match symbol {
        b'*' => document.starred = true,
        b'~' => document.text(" "),
        b'_' => document.text("-"),
        b'\r' | b'\n' => document.paragraph(),
        b'\\' | b'{' | b'}' => document.byte(symbol),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::convert;
    use crate::guarded::Clock;
    use crate::{ConvertError, Limits, Note};

    #[track_caller]
    fn text(rtf: &str) -> String {
        let bytes = rtf.to_owned().into_bytes().into();
        convert(&bytes, &Limits::new(), Clock::start(Duration::from_secs(60))).unwrap().text
    }

    #[test]
    fn charsets_fonts_and_unicode() {
        assert_eq!(text(r"{\rtf1\ansi\ansicpg1252 gr\'f6\'dfe\par x}"), "größe\nx\n");
        assert_eq!(
            text(r"{\rtf1{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f1\'cf\'f0\f0\'e9}"),
            "Прé\n"
        );
        assert_eq!(text(r"{\rtf1\uc1 \u8364?5 \u-10179?\u-8704?\uc2\u233 xxz}"), "€5 😀éz\n");
        // A code page counts without a charset, too.
        assert_eq!(text(r"{\rtf{\fonttbl{\f1\cpg1251 A;}}\f1\'c8\'ec\'ff}"), "Имя\n");
        assert_eq!(text(r"{\rtf1{\fonttbl{\f3\fcharset2 Symbol;}}{\f3\'b7} item}"), "• item\n");
        // Each font of signs has its own; one that is not known is said to be unreadable.
        let signs = r"{\rtf1{\fonttbl{\f3\fcharset2 Symbol;}{\f4\fcharset2{\*\panose 05}Wingdings;}}10 {\f3\'6d}g {\f3\'b1 \u-3913 ?}5 {\f4 \'a8\'fe}}";
        assert_eq!(text(signs), "10 µg ± •5 ☐☑\n");
        let converted = convert(
            &br"{\rtf1{\fonttbl{\f4\fcharset2 Wingdings;}}a {\f4\'81}}"[..].into(),
            &Limits::new(),
            Clock::start(Duration::from_secs(60)),
        );
        assert_eq!(converted.unwrap().notes, [Note::UnreadableCharacters { count: 1 }]);
        assert_eq!(text(r"{\rtf1{\fonttbl{\f1\fcharset128 M;}}\f1\'93\'fa\'96\'7b}"), "日本\n");
    }

    #[test]
    fn words_that_shapes_draw_are_read() {
        let shape = r"{\shp{\*\shpinst{\sp{\sn shapeType}{\sv 136}}{\sp{\sn gtextUNICODE}{\sv DRAFT 2}}{\sp{\sn gtextFont}{\sv Arial}}}}";
        assert_eq!(
            text(&format!(r"{{\rtf1{{\header {shape}}}one{shape}two}}")),
            "one DRAFT 2 two\n[header: DRAFT 2]\n"
        );
    }

    #[test]
    fn tables_notes_and_what_is_not_text() {
        let table = r"{\rtf1 before\par\trowd\intbl a\cell b\par c\cell\row\trowd\intbl 1\cell 2\cell\row\pard after\par}";
        assert_eq!(text(table), "before\n\na | b / c\n1 | 2\n\nafter\n");
        let notes = r"{\rtf1 one{\footnote\pard see {\b two}\par} three{\*\atnauthor Ann}{\*\annotation {\*\annotationdate 1}why?}\par
            {\header Head\par}{\*\unknown gone}{\v hidden}{\deleted old}{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}}";
        assert_eq!(
            text(notes),
            "one [footnote: see two] three [comment by Ann: why?]\nlink\n[header: Head]\n"
        );
        assert_eq!(
            text(r"{\rtf1\bin5 }}}}}x\par{\pict\bin3 {{{00}\outlinelevel1 Head\par}"),
            "x\n\n## Head\n"
        );
    }

    #[test]
    fn tables_of_notes_stand_in_the_notes() {
        let cells = r"\trowd\cellx900\pard\intbl Acme\cell\cell Page 1\cell\row\pard\par";
        let body =
            r"\trowd\cellx1000\cellx2000\intbl a\cell b\cell\row\trowd\cellx1000\cellx2000\intbl 1\cell";
        let head =
            format!(r"{{\rtf1{{\header{{{cells}}}}}{body} 2{{\footnote {cells}}}\cell\row\pard after\par}}");
        // In a cell the mark between cells is text.
        assert_eq!(
            text(&head),
            "a | b\n1 | 2 [footnote: Acme \\| \\| Page 1]\n\nafter\n[header: Acme | | Page 1]\n"
        );
        let rows = r"{\rtf1 x{\footer\trowd\intbl\cell\cell\row}{\footnote\trowd\intbl a\cell b\cell\row\trowd c\cell\row}\par}";
        assert_eq!(text(rows), "x [footnote: a | b | c]\n");
    }

    #[test]
    fn plain_text_is_in_the_font_of_the_document() {
        let fonts = r"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}";
        assert_eq!(text(&format!(r"{{\rtf1\deff0{fonts}\f1\'cf\plain\'e9}}")), "Пé\n");
        assert_eq!(text(&format!(r"{{\rtf1\ansi\ansicpg1251\deff1{fonts}\f0\'e9\plain\'cf}}")), "éП\n");
    }

    #[test]
    fn what_ends_early_is_shown_with_a_note() {
        let bytes = br"{\rtf1 text {\b bold".to_vec().into();
        let converted = convert(&bytes, &Limits::new(), Clock::start(Duration::from_secs(60))).unwrap();
        assert_eq!((converted.text.as_str(), converted.notes), ("text bold\n", vec![Note::EndsEarly]));
        let bytes = b"no rtf".to_vec().into();
        let result = convert(&bytes, &Limits::new(), Clock::start(Duration::from_secs(60)));
        assert!(matches!(result, Err(ConvertError::Malformed { .. })));
    }

    #[test]
    fn cells_that_no_row_ends_are_kept() {
        let row = r"\trowd\cellx1000\cellx2000\intbl 1\cell 2\cell\row";
        assert_eq!(text(&format!(r"{{\rtf1{row}\trowd\intbl a\cell b\cell}}")), "1 | 2\na | b\n");
        assert_eq!(text(&format!(r"{{\rtf1{row}\trowd\intbl a\cell b}}")), "1 | 2\na | b\n");
        let before_text = format!(r"{{\rtf1{row}\trowd\intbl a\cell b\cell\pard after\par more}}");
        assert_eq!(text(&before_text), "1 | 2\na | b\n\nafter\nmore\n");
        assert_eq!(text(r"{\rtf1\trowd a\cell b\cell"), "a | b\n");
    }

    #[test]
    fn a_destination_without_a_group_does_not_hide_the_document() {
        for word in
            [r"\*\nosuchword", r"\*\nosuchword7 ", r"\tc ", r"\private", r"\bin99999999 ", r"\*\background "]
        {
            let expected =
                if word.starts_with(r"\tc") || word.starts_with(r"\p") { "more\n" } else { "text\nmore\n" };
            assert_eq!(text(&format!(r"{{\rtf1\ansi{word} text\par more}}")), expected, "{word}");
            let inside = format!(r"{{\rtf1\ansi {{\b bold{word} text}}\par more}}");
            assert!(text(&inside).contains("more\n"), "{word}");
        }
        assert_eq!(text(r"{\rtf1 {\b bold\info text} more}"), "boldtext more\n");
        assert_eq!(text(r"{\rtf1\fonttbl{\f0\fswiss Arial;}\pard text\par}"), "text\n");
        assert_eq!(text(r"{\rtf1\stylesheet{\s0 Normal;}\pard text\par}"), "text\n");
        assert_eq!(text(r"{\rtf1\pict\wmetafile8 0100ff\par text}"), "text\n");
        assert_eq!(text(r"{\rtf1{\*\nosuchword hidden}{\info{\title x}}text}"), "text\n");
    }

    #[test]
    fn groups_without_end_are_bounded() {
        let deep = format!(r"{{\rtf1 text{}deep{}tail}}", "{".repeat(100_000), "}".repeat(100_000));
        assert_eq!(text(&deep), "texttail\n");
    }
}
