//! Clauses and lists have the numbers that their program shows.

use crate::common::{DOCX, ODT, docx, open_document};
use attache_convert::{Limits, convert};

#[track_caller]
fn text(media_type: &str, bytes: Vec<u8>) -> String {
    convert(media_type, bytes.into(), &Limits::new()).expect("the document can be read").text
}

/// A paragraph of a list at a level.
fn item(list: u32, level: usize, text: &str) -> String {
    marked(list, level, text, "")
}

/// The same with properties of its mark.
fn marked(list: u32, level: usize, text: &str, mark: &str) -> String {
    format!(
        "<w:p><w:pPr><w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{list}'/></w:numPr><w:rPr>{mark}</w:rPr></w:pPr>\
         <w:r><w:t>{text}</w:t></w:r></w:p>"
    )
}

/// A level of a list, with further properties.
fn level(at: usize, format: &str, text: &str, more: &str) -> String {
    format!(
        "<w:lvl w:ilvl='{at}'><w:start w:val='1'/><w:numFmt w:val='{format}'/>{more}<w:lvlText w:val='{text}'/></w:lvl>"
    )
}

fn kind(id: u32, levels: &str) -> String {
    format!("<w:abstractNum w:abstractNumId='{id}'>{levels}</w:abstractNum>")
}

fn list(id: u32, kind: u32, own: &str) -> String {
    format!("<w:num w:numId='{id}'><w:abstractNumId w:val='{kind}'/>{own}</w:num>")
}

#[track_caller]
fn word(numbering: &[String], body: &[String]) -> String {
    let numbering = format!("<w:numbering>{}</w:numbering>", numbering.concat());
    text(DOCX, docx(&body.concat(), &[("numbering", "numbering.xml", &numbering)]))
}

#[test]
fn lists_of_a_style_have_its_levels_and_count_with_it() {
    let numbering = [
        kind(1, "<w:numStyleLink w:val='Clauses'/>"),
        kind(2, &format!("<w:styleLink w:val='Clauses'/>{}", level(0, "decimal", "§ %1", ""))),
        list(1, 1, ""),
        list(2, 2, ""),
    ];
    let body = [item(1, 0, "Scope"), item(2, 0, "Term"), item(1, 0, "Law")];
    assert_eq!(word(&numbering, &body), "§ 1 Scope\n§ 2 Term\n§ 3 Law\n");
}

// A chapter that begins with the break of a page is one heading.
#[test]
fn a_numbered_heading_behind_a_page_break_is_whole() {
    let numbering = [kind(1, &level(0, "decimal", "%1.", "")), list(1, 1, "")];
    let body = "<w:p><w:pPr><w:outlineLvl w:val='0'/><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr></w:pPr>\
                <w:r><w:br w:type='page'/></w:r><w:r><w:t>Scope</w:t></w:r></w:p>";
    assert_eq!(word(&numbering, &[body.to_owned()]), "# 1. Scope\n");
}

#[test]
fn legal_levels_have_figures_alone() {
    let levels = level(0, "upperRoman", "Article %1.", "")
        + &level(1, "decimalZero", "Section %1.%2", "<w:isLgl/>")
        + &level(2, "lowerLetter", "%1.%2.%3", "<w:isLgl w:val='0'/>");
    let body = [item(1, 0, "Scope"), item(1, 1, "Goods"), item(1, 2, "Desks"), item(1, 0, "Term")];
    assert_eq!(
        word(&[kind(1, &levels), list(1, 1, "")], &body),
        "Article I. Scope\n  Section 1.01 Goods\n    I.01.a Desks\nArticle II. Term\n"
    );
}

#[test]
fn levels_begin_anew_where_they_say() {
    let levels = level(0, "decimal", "Part %1", "")
        + &level(1, "decimal", "%2.", "<w:lvlRestart w:val='0'/>")
        + &level(2, "lowerLetter", "(%3)", "<w:lvlRestart w:val='1'/>");
    let body = [
        item(1, 0, "A"),
        item(1, 1, "b"),
        item(1, 2, "c"),
        item(1, 1, "d"),
        item(1, 2, "e"),
        item(1, 0, "F"),
        item(1, 1, "g"),
        item(1, 2, "h"),
    ];
    assert_eq!(
        word(&[kind(1, &levels), list(1, 1, "")], &body),
        "Part 1 A\n  1. b\n    (a) c\n  2. d\n    (b) e\nPart 2 F\n  3. g\n    (a) h\n"
    );
}

#[test]
fn a_list_may_have_levels_of_its_own() {
    let own = format!(
        "<w:lvlOverride w:ilvl='0'><w:startOverride w:val='4'/>{}</w:lvlOverride>",
        level(0, "upperLetter", "Annex %1", "")
    );
    let numbering = [
        kind(1, &(level(0, "decimal", "%1.", "") + &level(1, "decimal", "%1.%2", ""))),
        list(1, 1, ""),
        list(2, 1, &own),
    ];
    let body = [item(1, 0, "Scope"), item(2, 0, "Prices"), item(2, 1, "Desks")];
    assert_eq!(word(&numbering, &body), "1. Scope\nAnnex D Prices\n  D.1 Desks\n");
}

#[test]
fn what_is_deleted_or_hidden_does_not_count() {
    let numbering = [kind(1, &level(0, "decimal", "%1.", "")), list(1, 1, "")];
    let gone = |mark: &str, run: &str| {
        format!(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr><w:rPr>{mark}</w:rPr></w:pPr>{run}</w:p>"
        )
    };
    let body = [
        item(1, 0, "Scope"),
        gone("<w:del w:id='1'/>", "<w:del><w:r><w:delText>Fees</w:delText></w:r></w:del>"),
        gone("<w:moveFrom w:id='1'/>", "<w:moveFrom><w:r><w:t>Moved</w:t></w:r></w:moveFrom>"),
        gone("<w:vanish/>", "<w:r><w:rPr><w:vanish/></w:rPr><w:t>Hidden</w:t></w:r>"),
        item(1, 0, "Term"),
        // A paragraph goes on with the next one if its mark is deleted.
        marked(1, 0, "Law and ", "<w:del w:id='1'/>"),
        item(1, 0, "courts"),
        marked(1, 0, "Last", "<w:ins w:id='1'/>"),
        marked(1, 0, "Left over", "<w:del w:id='1'/>"),
    ];
    assert_eq!(word(&numbering, &body), "1. Scope\n2. Term\n3. Law and courts\n4. Last\nLeft over\n");
}

#[test]
fn lists_in_notes_do_not_count_for_the_text() {
    let numbering =
        format!("<w:numbering>{}{}</w:numbering>", kind(1, &level(0, "decimal", "%1.", "")), list(1, 1, ""));
    let notes = format!(
        "<w:footnotes><w:footnote w:id='2'>{}{}</w:footnote></w:footnotes>",
        item(1, 0, "inside"),
        item(1, 0, "twice")
    );
    let comments =
        format!("<w:comments><w:comment w:id='1'>{}</w:comment></w:comments>", item(1, 0, "remark"));
    let body = "<w:p><w:r><w:t>See</w:t><w:footnoteReference w:id='2'/></w:r><w:r><w:commentReference w:id='1'/></w:r></w:p>"
        .to_owned()
        + &item(1, 0, "Scope");
    let parts = [
        ("numbering", "numbering.xml", &*numbering),
        ("footnotes", "footnotes.xml", &notes),
        ("comments", "comments.xml", &comments),
    ];
    assert_eq!(
        text(DOCX, docx(&body, &parts)),
        "See [footnote: 1. inside / 2. twice] [comment: 1. remark]\n1. Scope\n"
    );
}

#[test]
fn items_that_hold_no_more_than_a_list_have_no_number() {
    let levels = |first: &str| {
        format!(
            "<text:list-style style:name='L1'><text:list-level-style-number text:level='1' style:num-format='1' {first}/>\
             <text:list-level-style-number text:level='2' style:num-format='1' text:display-levels='2'/></text:list-style>"
        )
    };
    let list = |inside: &str| {
        format!("<text:list text:style-name='L1' text:continue-numbering='true'>{inside}</text:list>")
    };
    let item = |inside: &str| format!("<text:list-item>{inside}</text:list-item>");
    let p = |text: &str| format!("<text:p>{text}</text:p>");
    let below = |text: &str| list(&item(&format!("<text:list>{}</text:list>", item(&p(text)))));
    let read = |styles: &str, body: &[String]| {
        let content = format!(
            "<office:document-content><office:automatic-styles>{styles}</office:automatic-styles><office:body><office:text>\
             {}</office:text></office:body></office:document-content>",
            body.concat()
        );
        text(ODT, open_document(ODT, content.as_bytes()))
    };
    let body = [list(&item(&p("Scope"))), p("between"), below("Fees"), below("Term"), list(&item(&p("Law")))];
    assert_eq!(read(&levels(""), &body), "1 Scope\nbetween\n  1.1 Fees\n  1.2 Term\n2 Law\n");

    let items = item(&(p("one") + &p("goes on")))
        + "<text:list-item text:start-value='7'><text:p>seven</text:p></text:list-item>";
    assert_eq!(read(&levels(""), &[list(&items)]), "1 one\n  goes on\n7 seven\n");
    // Lists may begin with zero.
    assert_eq!(
        read(&levels("text:start-value='0'"), &[list(&(item(&p("a")) + &item(&p("b"))))]),
        "0 a\n1 b\n"
    );
}
