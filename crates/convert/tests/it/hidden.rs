//! Hidden text is left out, however it is hidden; hidden sheets, rows, columns and slides are shown and say so.

use attache_convert::{Limits, convert};

use crate::common::{DOCX, ODS, ODT, PPTX, XLSX, docx, open_document, relations, xlsx, zip};

#[track_caller]
fn text(media: &str, bytes: Vec<u8>) -> String {
    convert(media, bytes.into(), &Limits::new()).expect("the document can be read").text
}

const STYLES: &str = "<w:styles><w:docDefaults><w:rPrDefault><w:rPr/></w:rPrDefault></w:docDefaults>\
    <w:style w:type='paragraph' w:default='1' w:styleId='Normal'><w:name w:val='Normal'/></w:style>\
    <w:style w:type='paragraph' w:styleId='Internal'><w:name w:val='Internal'/><w:rPr><w:vanish/></w:rPr></w:style>\
    <w:style w:type='paragraph' w:styleId='Remark'><w:basedOn w:val='Internal'/></w:style>\
    <w:style w:type='paragraph' w:styleId='Open'><w:basedOn w:val='Remark'/><w:rPr><w:vanish w:val='0'/></w:rPr></w:style>\
    <w:style w:type='character' w:styleId='Secret'><w:rPr><w:vanish w:val='true'/></w:rPr></w:style>\
    <w:style w:type='character' w:styleId='Inner'><w:basedOn w:val='Secret'/></w:style>\
    <w:style w:type='table' w:styleId='Grid'><w:tblStylePr w:type='firstRow'><w:rPr><w:vanish/></w:rPr></w:tblStylePr>\
    </w:style></w:styles>";

fn paragraph(style: &str, runs: &str) -> String {
    let style = if style.is_empty() { String::new() } else { format!("<w:pStyle w:val='{style}'/>") };
    format!("<w:p><w:pPr>{style}</w:pPr>{runs}</w:p>")
}

fn run(properties: &str, text: &str) -> String {
    format!("<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>")
}

#[test]
fn text_that_a_style_hides_is_left_out_of_word_documents() {
    let inner = "<w:rStyle w:val='Inner'/>";
    let body = [
        paragraph(
            "",
            &(run("", "price 5") + &run("<w:rStyle w:val='Secret'/>", " cost 3") + &run(inner, " cost 2")),
        ),
        paragraph("Internal", &run("", "margin 40%")),
        paragraph("Remark", &(run("", "ask for more") + &run("<w:vanish w:val='0'/>", "except this"))),
        paragraph("Open", &run("", "open again")),
        // A style that hides inside of another that hides shows, as properties that toggle do.
        paragraph(
            "Internal",
            &(run(inner, "twice is shown") + &run(&format!("{inner}<w:vanish/>"), " not here")),
        ),
        paragraph("Grid", &run("", "table")),
    ];
    let header = paragraph("Remark", &run("", "internal")) + &paragraph("", &run("", "Fernwick"));
    let header = format!("<w:hdr>{header}</w:hdr>");
    let file = docx(&body.concat(), &[("styles", "styles.xml", STYLES), ("header", "header1.xml", &header)]);
    assert_eq!(
        text(DOCX, file),
        "price 5\nexcept this\nopen again\ntwice is shown\ntable\n[header: Fernwick]\n"
    );
}

#[test]
fn paragraphs_that_a_style_hides_do_not_count() {
    let numbering = "<w:numbering><w:abstractNum w:abstractNumId='1'><w:lvl w:ilvl='0'><w:start w:val='1'/>\
        <w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl></w:abstractNum>\
        <w:num w:numId='1'><w:abstractNumId w:val='1'/></w:num></w:numbering>";
    let item = |style: &str, text: &str| {
        format!(
            "<w:p><w:pPr><w:pStyle w:val='{style}'/><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr></w:pPr>\
             {}</w:p>",
            run("", text)
        )
    };
    let body = [item("Normal", "Scope"), item("Remark", "Fees"), item("Normal", "Term")].concat();
    let parts = [("styles", "styles.xml", STYLES), ("numbering", "numbering.xml", numbering)];
    assert_eq!(text(DOCX, docx(&body, &parts)), "1. Scope\n2. Term\n");
}

#[test]
fn the_default_of_a_word_document_may_be_hidden() {
    let styles = "<w:styles><w:docDefaults><w:rPrDefault><w:rPr><w:vanish/></w:rPr></w:rPrDefault></w:docDefaults></w:styles>";
    let body = paragraph("", &(run("", "hidden") + &run("<w:vanish w:val='0'/>", "shown")));
    assert_eq!(text(DOCX, docx(&body, &[("styles", "styles.xml", styles)])), "shown\n");
    let styles = "<w:styles><w:style w:type='paragraph' w:default='1' w:styleId='N'><w:rPr><w:vanish/></w:rPr></w:style></w:styles>";
    assert_eq!(text(DOCX, docx(&body, &[("styles", "styles.xml", styles)])), "shown\n");
}

#[test]
fn styles_of_open_documents_may_come_before_those_they_are_based_on() {
    let style = |name: &str, family: &str, parent: &str, display: &str| {
        let display = if display.is_empty() {
            String::new()
        } else {
            format!("<style:text-properties text:display='{display}'/>")
        };
        format!(
            "<style:style style:name='{name}' style:family='{family}' style:parent-style-name='{parent}'>{display}</style:style>"
        )
    };
    let styles = format!(
        "<office:document-styles><office:styles>{}{}{}{}{}</office:styles></office:document-styles>",
        style("Aside", "paragraph", "Base", ""),
        style("Base", "paragraph", "Root", ""),
        style("Root", "paragraph", "", "none"),
        style("Again", "paragraph", "Root", "true"),
        style("Code", "text", "Root", "none"),
    );
    let content = "<office:document-content><office:automatic-styles>\
        <style:style style:name='P1' style:family='paragraph' style:parent-style-name='Aside'/>\
        <style:style style:name='T1' style:family='text' style:parent-style-name='Code'/></office:automatic-styles>\
        <office:body><office:text><text:p text:style-name='P1'>hidden</text:p><text:p text:style-name='Base'>hidden too</text:p>\
        <text:p text:style-name='Again'>shown<text:span text:style-name='T1'> hidden</text:span></text:p>\
        </office:text></office:body></office:document-content>";
    let file = zip(&[
        ("mimetype", ODT.as_bytes()),
        ("content.xml", content.as_bytes()),
        ("styles.xml", styles.as_bytes()),
    ]);
    assert_eq!(text(ODT, file), "shown\n");
}

#[test]
fn hidden_rows_and_columns_of_sheets_are_shown_and_named() {
    let row = |number: usize, hidden: &str| {
        format!(
            "<row r='{number}' {hidden}><c r='A{number}'><v>{number}</v></c><c r='C{number}'><v>5</v></c></row>"
        )
    };
    let sheet = format!(
        "<worksheet><cols><col min='3' max='3' hidden='1'/><col min='5' max='16384' hidden='1'/></cols><sheetData>{}{}{}{}{}\
         <row r='9' hidden='1'/></sheetData></worksheet>",
        row(1, ""),
        row(2, "hidden='1'"),
        row(3, "hidden='true'"),
        row(4, "hidden='0'"),
        row(7, "hidden='1'"),
    );
    assert_eq!(
        text(XLSX, xlsx(sheet.as_bytes(), b"<sst/>", "<styleSheet/>")),
        "[sheet 1: One]\n1: 1 |  | 5\n2: 2 |  | 5\n3: 3 |  | 5\n4: 4 |  | 5\n7: 7 |  | 5\n[hidden: rows 2-3, 7; columns C]\n"
    );

    let cell = |text: &str| {
        format!("<table:table-cell office:value-type='string'><text:p>{text}</text:p></table:table-cell>")
    };
    let row = |visibility: &str, repeated: usize| {
        format!(
            "<table:table-row table:visibility='{visibility}' table:number-rows-repeated='{repeated}'>{}{}</table:table-row>",
            cell("a"),
            cell("b")
        )
    };
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet><table:table table:name='One'>\
         <table:table-column/><table:table-column table:visibility='collapse' table:number-columns-repeated='2'/>{}{}{}\
         </table:table></office:spreadsheet></office:body></office:document-content>",
        row("visible", 1),
        row("collapse", 2),
        row("filter", 1),
    );
    assert_eq!(
        text(ODS, open_document(ODS, content.as_bytes())),
        "[sheet 1: One]\n1: a | b\n2: a | b\n3: a | b\n4: a | b\n[hidden: rows 2-4; columns B]\n"
    );
}

#[test]
fn hidden_shapes_of_slides_are_left_out() {
    let shape = |hidden: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:cNvPr id='2' name='Box' descr='of {text}' {hidden}><a:hlinkClick/></p:cNvPr><p:cNvSpPr/></p:nvSpPr>\
             <p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    let group = |hidden: &str, inside: &str| {
        format!(
            "<p:grpSp><p:nvGrpSpPr><p:cNvPr id='3' name='Group' {hidden}/></p:nvGrpSpPr>{inside}</p:grpSp>"
        )
    };
    let slide = format!(
        "<p:sld><p:cSld><p:spTree>{}{}{}{}</p:spTree></p:cSld></p:sld>",
        shape("hidden='1'", "secret"),
        group("hidden='true'", &shape("", "secret, too")),
        group("", &(shape("hidden='1'", "secret") + &shape("hidden='0'", "one"))),
        shape("", "two"),
    );
    let file = zip(&[
        ("_rels/.rels", &relations(&[("r1", "officeDocument", "ppt/presentation.xml")])),
        (
            "ppt/presentation.xml",
            b"<p:presentation xmlns:r='r'><p:sldIdLst><p:sldId id='1' r:id='s1'/></p:sldIdLst></p:presentation>",
        ),
        ("ppt/_rels/presentation.xml.rels", &relations(&[("s1", "slide", "slides/slide1.xml")])),
        ("ppt/slides/slide1.xml", slide.as_bytes()),
    ]);
    assert_eq!(text(PPTX, file), "[slide 1]\n[image: of one]\none\n[image: of two]\ntwo\n");
}
