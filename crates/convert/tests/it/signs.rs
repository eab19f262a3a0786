//! Signs, raised digits, formulas and form fields of office files say what a reader sees.

use crate::common::{DOCX, ODS, ODT, PPTX, docx, open_document, relations, zip};
use attache_convert::{Converted, Limits, Note, convert};

fn read(media: &str, bytes: Vec<u8>) -> Converted {
    convert(media, bytes.into(), &Limits::new()).expect("the document can be read")
}

fn run(properties: &str, text: &str) -> String {
    format!("<w:r><w:rPr>{properties}</w:rPr>{text}</w:r>")
}

/// A slide with this paragraph.
fn slide(paragraph: &str) -> Vec<u8> {
    let slide = format!("<p:sld><p:sp><p:txBody><a:p>{paragraph}</a:p></p:txBody></p:sp></p:sld>");
    zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", &relations(&[("r1", "officeDocument", "ppt/presentation.xml")])),
        ("ppt/presentation.xml", b"<p:presentation xmlns:r='r'><p:sldId r:id='a'/></p:presentation>"),
        ("ppt/_rels/presentation.xml.rels", &relations(&[("a", "slide", "slides/slide1.xml")])),
        ("ppt/slides/slide1.xml", slide.as_bytes()),
    ])
}

#[test]
fn signs_of_fonts_that_hold_no_letters_are_read() {
    let symbol = |font: &str, code: &str| format!("<w:r><w:sym w:font='{font}' w:char='{code}'/></w:r>");
    let plain = |text: &str| run("", &format!("<w:t>{text}</w:t>"));
    let body = [
        plain("10 "),
        symbol("Symbol", "F06D"),
        plain("g, 10 k"),
        symbol("Symbol", "F057"),
        plain(" "),
        symbol("Symbol", "F0B1"),
        plain("5"),
        symbol("Symbol", "00B0"),
        plain(" "),
        symbol("Wingdings", "F0A8"),
        symbol("Wingdings", "F0FD"),
        symbol("Wingdings", "F0FC"),
        symbol("Wingdings 2", "F052"),
        symbol("Wingdings 2", "F053"),
        symbol("Segoe UI Symbol", "2713"),
        plain(" 10 "),
        run("<w:rFonts w:ascii='Symbol' w:hAnsi='Symbol'/>", "<w:t>&#xF06D;</w:t>"),
        plain("g "),
    ];
    let letter = |body: &str| read(DOCX, docx(&format!("<w:p>{body}</w:p>"), &[]));
    let converted = letter(&body.concat());
    assert_eq!(converted.text, "10 µg, 10 kΩ ±5° ☐☒✓☑☒✓ 10 µg\n");
    assert_eq!(converted.notes, []);
    // One that nobody knows is said to be unreadable, and is no letter.
    let unknown = [plain("a "), symbol("Wingdings", "F081"), plain("&#xF06D;"), symbol("Webdings", "F061")];
    let converted = letter(&unknown.concat());
    assert_eq!(converted.text, "a \u{fffd}\u{fffd}\u{fffd}\n");
    assert_eq!(converted.notes, [Note::UnreadableCharacters { count: 3 }]);

    let paragraph = "<a:r><a:rPr><a:latin typeface='Arial'/><a:sym typeface='Symbol'/></a:rPr><a:t>10 &#xF06D;</a:t></a:r>\
                     <a:r><a:t>g &#xF06D;</a:t></a:r>";
    let converted = read(PPTX, slide(paragraph));
    assert_eq!(converted.text, "[slide 1]\n10 µg \u{fffd}\n");
    assert_eq!(converted.notes, [Note::UnreadableCharacters { count: 1 }]);
}

#[test]
fn raised_digits_are_no_part_of_the_number_before_them() {
    let paragraph = "<a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline='30000'/><a:t>1</a:t></a:r>\
                     <a:r><a:rPr baseline='30000'/><a:t>2</a:t></a:r><a:r><a:rPr baseline='-25000'/><a:t> units</a:t></a:r>";
    assert_eq!(read(PPTX, slide(paragraph)).text, "[slide 1]\n10^12 units\n");

    let content = "<office:document-content><office:automatic-styles>\
        <style:style style:name='T1'><style:text-properties style:text-position='super 58%'/></style:style>\
        <style:style style:name='T2'><style:text-properties style:text-position='sub 58%'/></style:style>\
        </office:automatic-styles><office:body><office:text><text:p>10<text:span text:style-name='T1'>6</text:span> units, \
        H<text:span text:style-name='T2'>2</text:span>O</text:p></office:text></office:body></office:document-content>";
    assert_eq!(read(ODT, open_document(ODT, content.as_bytes())).text, "10^6 units, H2O\n");
}

#[test]
fn formulas_are_written_on_one_line() {
    let t = |text: &str| format!("<m:r><m:t>{text}</m:t></m:r>");
    let half = format!("<m:f><m:num>{}</m:num><m:den>{}</m:den></m:f>", t("1"), t("2"));
    let raised = |base: &str, by: &str| format!("<m:sSup><m:e>{base}</m:e><m:sup>{by}</m:sup></m:sSup>");
    let brackets = |of: &str| format!("<m:d><m:dPr/><m:e>{of}</m:e></m:d>");
    for (formula, expected) in [
        (half.clone(), "1/2"),
        (t("2") + &half, "2 1/2"),
        (t("5·") + &raised(&t("10"), &t("6")), "5·10^6"),
        (raised(&t("10"), &t("-6")), "10^(-6)"),
        (raised(&brackets(&t("a+b")), &half), "(a+b)^(1/2)"),
        (format!("<m:rad><m:deg/><m:e>{}</m:e></m:rad>", t("2")), "√2"),
        (format!("<m:rad><m:deg>{}</m:deg><m:e>{}</m:e></m:rad>", t("3"), t("x+1")), "3√(x+1)"),
        (format!("<m:nary><m:sub/><m:sup/><m:e>{}</m:e></m:nary>", t("x")), "∫ x"),
        (
            format!(
                "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{}</m:sub><m:sup>{}</m:sup><m:e>{}</m:e></m:nary>",
                t("i=1"),
                t("n"),
                raised(&t("x"), &t("i"))
            ),
            "∑_(i=1)^n x^i",
        ),
        (format!("<m:sSub><m:e>{}</m:e><m:sub>{}</m:sub></m:sSub>", t("x"), t("1")), "x1"),
        (format!("<m:eqArr><m:e>{}</m:e><m:e>{}</m:e></m:eqArr>", t("x=1"), t("y=2")), "x=1; y=2"),
        (brackets(&half.replace("<m:num>", "<m:fPr><m:type m:val='noBar'/></m:fPr><m:num>")), "(1¦2)"),
        (format!("<m:acc><m:accPr/><m:e>{}</m:e></m:acc>", t("x")), "x\u{302}"),
        (
            format!("<m:acc><m:accPr><m:chr m:val='\u{20d7}'/></m:accPr><m:e>{}</m:e></m:acc>", t("AB")),
            "(AB)\u{20d7}",
        ),
        (format!("<m:bar><m:barPr><m:pos m:val='top'/></m:barPr><m:e>{}</m:e></m:bar>", t("x")), "x\u{305}"),
        (
            format!(
                "<m:func><m:fName><m:limLow><m:e>{}</m:e><m:lim>{}</m:lim></m:limLow></m:fName><m:e>{}</m:e></m:func>",
                t("lim"),
                t("n→∞"),
                t("x")
            ),
            "lim_(n→∞) x",
        ),
        (
            format!(
                "<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e>{}</m:e><m:e>{}</m:e></m:d>",
                t("1"),
                t("2")
            ),
            "[1|2]",
        ),
    ] {
        let body = format!(
            "<w:p><w:r><w:t>is </w:t></w:r><m:oMath>{formula}</m:oMath><w:r><w:t> so</w:t></w:r></w:p>"
        );
        assert_eq!(read(DOCX, docx(&body, &[])).text, format!("is {expected} so\n"), "{formula}");
        let paragraph = format!(
            "<a:r><a:t>is </a:t></a:r><mc:AlternateContent><mc:Choice Requires='a14'><a14:m><m:oMath>{formula}</m:oMath>\
             </a14:m></mc:Choice><mc:Fallback><a:r><a:t>picture</a:t></a:r></mc:Fallback></mc:AlternateContent>\
             <a:r><a:t> so</a:t></a:r>"
        );
        let expected = format!("[slide 1]\nis {expected} so\n");
        assert_eq!(read(PPTX, slide(&paragraph)).text, expected, "{formula}");
    }
}

#[test]
fn form_fields_and_dates_are_text() {
    let field = |data: &str| {
        format!(
            "<w:r><w:fldChar w:fldCharType='begin'><w:ffData>{data}</w:ffData></w:fldChar></w:r>\
             <w:r><w:fldChar w:fldCharType='end'/></w:r>"
        )
    };
    let list =
        "<w:ddList><w:result w:val='1'/><w:listEntry w:val='One'/><w:listEntry w:val='Two'/></w:ddList>";
    let body = [
        field("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>"),
        field("<w:checkBox><w:default/><w:checked w:val='0'/></w:checkBox>"),
        field("<w:checkBox><w:default w:val='1'/></w:checkBox>"),
        field(list),
        field(&list.replace("result w:val='1'", "default w:val='0'")),
        "<w:r><w:t> </w:t><w:ruby><w:rubyPr><w:lid w:val='ja'/></w:rubyPr><w:rt><w:r><w:t>やまだ</w:t></w:r></w:rt>\
         <w:rubyBase><w:r><w:t>山田</w:t></w:r></w:rubyBase></w:ruby></w:r>"
            .to_owned(),
    ];
    assert_eq!(read(DOCX, docx(&format!("<w:p>{}</w:p>", body.concat()), &[])).text, "☒☐☒TwoOne 山田\n");

    let field = |data: &str| format!(r"{{\field{{\*\fldinst FORM {{\*\formfield{{{data}}}}}}}{{\fldrslt}}}}");
    let rtf = [
        field(r"\fftype1\ffres1\ffdefres0"),
        field(r"\fftype1\ffres0\ffdefres1"),
        field(r"\fftype1\ffres25\ffdefres1"),
        field(r"\fftype2\ffres1{\*\ffname Dropdown1}{\*\ffl One}{\*\ffl Zw\'f6lf}"),
        r"{\field{\*\fldinst PAGE}{\fldrslt 7}}".to_owned(),
    ];
    let rtf = format!(r"{{\rtf1\ansi {} Agreed\par}}", rtf.concat());
    assert_eq!(read("application/rtf", rtf.into_bytes()).text, "☒☐☒Zwölf7 Agreed\n");

    let comment = "<office:annotation><dc:creator>Ann</dc:creator><dc:date>2026-04-18T00:00:00</dc:date>\
                   <text:p>why?</text:p></office:annotation>";
    let date = "<text:date text:fixed='true'>17. April 2026</text:date>";
    let letter = format!(
        "<office:document-content><office:body><office:text><text:p>Berlin, {date}{comment}</text:p></office:text>\
         </office:body></office:document-content>"
    );
    assert_eq!(
        read(ODT, open_document(ODT, letter.as_bytes())).text,
        "Berlin, 17. April 2026 [comment by Ann: why?]\n"
    );
    let sheet = format!(
        "<office:document-content><office:body><office:spreadsheet><table:table table:name='A'><table:table-row>\
         <table:table-cell office:value-type='string'>{comment}<text:p>As of {date}</text:p></table:table-cell>\
         </table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    );
    let text = read(ODS, open_document(ODS, sheet.as_bytes())).text;
    assert!(text.contains("As of 17. April 2026") && !text.contains("2026-04-18"), "{text}");
}
