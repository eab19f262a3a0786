//! Office files, books and e-mails of real producers come out as a reader sees them, with markers to cite.

use crate::common::{DOCX, EPUB, ODP, ODS, ODT, PPTX, XLSX, docx, office, relations, zip};
use attache_convert::{ConvertError, Converted, Limits, Note, Unit, can_convert, convert};
use bytes::Bytes;

#[track_caller]
fn read(media: &str, bytes: impl Into<Bytes>) -> Converted {
    let converted = convert(media, bytes.into(), &Limits::new()).expect("the document can be read");
    // Each unit starts where its marker does.
    for (at, start) in converted.starts.iter().enumerate() {
        let marker = converted.text[*start..].lines().next().unwrap();
        let expected = match converted.unit {
            Unit::RowBlock => "[".to_owned(),
            unit => format!("[{unit} {}", at + 1),
        };
        assert!(marker.starts_with(&expected) && marker.ends_with(']'), "{marker}");
    }
    converted
}

#[track_caller]
fn text(media: &str, bytes: impl Into<Bytes>) -> String {
    read(media, bytes).text
}

const LEASE: &str = "# Lease of the office
The rent is EUR 4,950.00 [footnote: From July.] a month, due on the first [comment by Ann Example: Was the third.].
1. Term
  1.1 Two years.
  1.2 Renewed by word.
2. Deposit
- Heating
- Water, größer & später

## Rooms

Room | Floor | Area
Hall | 1 | 40
Total |  | 240

Signed on the second page,
with   care.
";

#[test]
fn the_same_document_in_three_formats_reads_the_same() {
    assert_eq!(text(ODT, office("libreoffice.odt")), LEASE);
    assert_eq!(text(DOCX, office("libreoffice.docx")), LEASE);
    // RTF has its labels as text.
    let flat = LEASE.replace("  1.", "1.").replace("- ", "• ");
    assert_eq!(text("application/rtf", office("libreoffice.rtf")), flat);
}

#[test]
fn word_documents_keep_lists_tables_comments_and_headers() {
    assert_eq!(
        text(DOCX, office("python-docx.docx")),
        "# Supply agreement\n\n# Scope\nThe supplier delivers office furniture.\n- Desks\n- Chairs\n1. Order\n\
         2. Delivery\n\nItem | Quantity | Amount\nDesk \\| oak | 12 | 4,668.00\nChair | 12 | 2,940.00 / net\n\
         Total |  | 7,608.00\n\nPayment is due within 30 days [comment by Ann Example: Was 14 days before.]\n\n\
         ## Signatures\n[header: Fernwick Office Supply Ltd]\n"
    );
}

#[test]
fn what_was_deleted_or_hidden_is_gone_and_what_was_inserted_stays() {
    let body = "<w:p><w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>\
                <w:ins><w:r><w:t> inserted</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>\
                <w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:vanish w:val='0'/></w:rPr>\
                <w:t> shown</w:t></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>\
                <w:p><w:r><w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>6</w:t></w:r></w:p>";
    assert_eq!(text(DOCX, docx(body, &[])), "kept inserted shown\n10^6\n");
}

#[test]
fn a_hidden_mark_hides_no_more_than_itself() {
    let cell = |text: &str| format!("<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
    let mark = "<w:p><w:pPr><w:tabs><w:tab w:val='left' w:pos='720'/></w:tabs><w:rPr><w:vanish/>\
                <w:vertAlign w:val='superscript'/><w:rFonts w:ascii='Symbol'/></w:rPr></w:pPr></w:p>";
    let body = format!(
        "{mark}<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>{}<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:drawing>\
         <wps:txbx><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></wps:txbx></w:drawing></w:r>\
         <w:r><w:t>behind</w:t></w:r></w:p>",
        cell("A"),
        cell("B"),
        cell("C"),
        cell("D"),
        mark.replace("</w:p>", "<w:r><w:t>x</w:t></w:r></w:p>")
    );
    assert_eq!(text(DOCX, docx(&body, &[])), "A | B\nC | D\n\nx\nbehind\n");
}

#[test]
fn breaks_and_tabs_part_words() {
    let body = "<w:p><w:r><w:t>one</w:t><w:br w:type='page'/><w:t>two</w:t><w:br w:type='column'/><w:t>three</w:t>\
                <w:br/><w:t>four</w:t><w:ptab w:alignment='right'/><w:t>five</w:t></w:r></w:p>\
                <w:p><w:r><w:br w:type='page'/></w:r></w:p><w:p><w:r><w:t>six</w:t></w:r></w:p>";
    assert_eq!(text(DOCX, docx(body, &[])), "one\ntwo\nthree\nfour\tfive\nsix\n");
}

#[test]
fn fields_show_their_results_alone() {
    let mark = |kind: &str| format!("<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>");
    let code = |text: &str| format!("<w:r><w:instrText>{text}</w:instrText></w:r>");
    let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
    let (begin, separate, end) = (mark("begin"), mark("separate"), mark("end"));
    let inner = format!("{begin}{}{separate}{}{end}", code("MERGEFIELD sex"), run("M"));
    let outer = format!("{begin}{}{inner}{}{separate}{}{end}", code("IF "), code(" = M Mr Ms"), run("Mr"));
    let body = format!("<w:p>{}{outer}{}</w:p>", run("Dear "), run(" Smith"));
    assert_eq!(text(DOCX, docx(&body, &[])), "Dear Mr Smith\n");
    // A field in a result, one over several paragraphs, one without a result, and one that does not end.
    let body = format!(
        "<w:p>{begin}{}{separate}{}{inner}</w:p><w:p>{}{end}{}</w:p><w:p>{}{begin}{inner}{end}</w:p>\
         <w:p>{begin}{}</w:p><w:p>{}</w:p>",
        code("TOC"),
        run("Contents "),
        run("Scope"),
        run(" behind"),
        run("none"),
        run("kept"),
        run("rest")
    );
    assert_eq!(text(DOCX, docx(&body, &[])), "Contents M\nScope behind\nnone\nkept\nrest\n");
}

#[test]
fn points_of_charts_stand_beside_their_own_numbers() {
    let numbers = |name: &str, values: &[&str]| {
        let points = values.iter().enumerate();
        let points: String =
            points.map(|(at, v)| format!("<c:pt idx='{at}'><c:v>{v}</c:v></c:pt>")).collect();
        format!("<c:{name}><c:numRef><c:numCache>{points}</c:numCache></c:numRef></c:{name}>")
    };
    let series = |name: &str, x: &[&str], y: &[&str], more: &str| {
        let named = format!(
            "<c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>{name}</c:v></c:pt></c:strCache></c:strRef></c:tx>"
        );
        let errors = format!("<c:errBars>{}</c:errBars>", numbers("plus", &["0.5"]));
        format!("<c:ser>{named}{errors}{}{}{more}</c:ser>", numbers("xVal", x), numbers("yVal", y))
    };
    let read = |series: &[String]| {
        let chart = format!("<c:chartSpace><c:plotArea>{}</c:plotArea></c:chartSpace>", series.concat());
        text(DOCX, docx("<w:p/>", &[("chart", "chart1.xml", &chart)]))
    };
    let one = series("One", &["1", "2"], &["10", "20"], "");
    assert_eq!(
        read(&[one.clone(), series("Two", &["1", "2"], &["3", "4"], "")]),
        "[chart]\n | One | Two\n1 | 10 | 3\n2 | 20 | 4\n"
    );
    let sizes = numbers("bubbleSize", &["7"]);
    assert_eq!(
        read(&[one, series("Two", &["5", "9"], &["3", "4"], &sizes)]),
        "[chart]\n | One\n1 | 10\n2 | 20\n | Two\n5 | 3 (size 7)\n9 | 4\n"
    );
}

#[test]
fn text_boxes_symbols_and_merged_cells_stand_where_they_belong() {
    let body = "<w:p><w:r><w:t>before </w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r>\
                <w:t>boxed</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r>\
                <w:t>boxed</w:t></w:r></w:p></w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>\
                <w:r><w:t>after</w:t><w:sym w:font='Wingdings' w:char='F0FE'/></w:r></w:p>\
                <w:tbl><w:tr><w:tc><w:tcPr><w:vMerge w:val='restart'/></w:tcPr><w:p><w:r><w:t>tall</w:t></w:r></w:p></w:tc>\
                <w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr><w:p><w:r><w:t>wide</w:t></w:r></w:p></w:tc>\
                <w:tc><w:p><w:r><w:t>end</w:t></w:r></w:p></w:tc></w:tr>\
                <w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>\
                <w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>";
    assert_eq!(text(DOCX, docx(body, &[])), "boxed\nbefore after☑\n\ntall | wide |  | end\n | a | b | c\n");
}

#[test]
fn pages_are_those_of_the_last_layout() {
    let body = "<w:p><w:r><w:t>one</w:t></w:r></w:p>\
                <w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>\
                <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr>\
                <w:tr><w:tc><w:p><w:r><w:t>c</w:t><w:lastRenderedPageBreak/></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>d</w:t></w:r></w:p></w:tc></w:tr>\
                <w:tr><w:tc><w:p><w:r><w:t>e</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>f</w:t></w:r></w:p></w:tc></w:tr></w:tbl>";
    let converted = read(DOCX, docx(body, &[]));
    assert_eq!(converted.text, "[page 1]\none\n\n[page 2]\ntwo\n\na | b\nc | d\n\n[page 3]\ne | f\n");
    assert_eq!((converted.unit, converted.units), (Unit::Page, 3));
    assert_eq!(converted.notes, [Note::PagesAsSaved]);

    let limits = Limits::new().with_max_output_bytes(20);
    let cut = convert(DOCX, docx(body, &[]).into(), &limits).unwrap();
    assert_eq!((cut.units, cut.truncated), (3, true));
    assert!(cut.notes.contains(&Note::UnitsLeftOut { unit: Unit::Page, read: 1, total: 3 }), "{cut:?}");
}

#[test]
fn notes_that_nothing_refers_to_are_not_lost() {
    let notes = "<w:footnotes xmlns:w='w'><w:footnote w:type='separator' w:id='-1'><w:p><w:r><w:t>---</w:t></w:r></w:p>\
                 </w:footnote><w:footnote w:id='2'><w:p><w:r><w:t>stray</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let file = docx("<w:p><w:r><w:t>text</w:t></w:r></w:p>", &[("footnotes", "footnotes.xml", notes)]);
    assert_eq!(text(DOCX, file), "text\n[footnote: stray]\n");
}

#[test]
fn headers_footers_and_hidden_text_of_open_documents() {
    let styles = "<office:document-styles><office:styles>\
        <style:style style:name='Secret' style:family='text'><style:text-properties text:display='none'/></style:style>\
        <style:style style:name='Up' style:family='text'><style:text-properties style:text-position='super 58%'/></style:style>\
        </office:styles><office:automatic-styles>\
        <style:style style:name='P1' style:family='paragraph'><style:text-properties text:display='none'/></style:style>\
        </office:automatic-styles><office:master-styles><style:master-page style:name='Standard'>\
        <style:header><text:p>Fernwick<text:tab/>Offer 77</text:p><text:p>Draft</text:p></style:header>\
        <style:header-left style:display='false'><text:p>unused</text:p></style:header-left>\
        <style:footer><text:p>Page <text:page-number>1</text:page-number></text:p>\
        <text:p text:style-name='P1'>not shown</text:p></style:footer></style:master-page>\
        <style:master-page style:name='First'><style:header><text:p>Fernwick<text:tab/>Offer 77</text:p><text:p>Draft</text:p>\
        </style:header><style:footer-first><table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>\
        <table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table></style:footer-first>\
        </style:master-page></office:master-styles></office:document-styles>";
    let content = "<office:document-content><office:automatic-styles>\
        <style:style style:name='T1' style:family='text' style:parent-style-name='Secret'/>\
        <style:style style:name='T2' style:family='text'><style:text-properties text:display='true'/></style:style>\
        <style:style style:name='P2' style:family='paragraph'><style:text-properties text:display='none'/></style:style>\
        </office:automatic-styles><office:body><office:text>\
        <text:p text:style-name='P1'>seen<text:span text:style-name='T1'> secret<text:tab/><text:span> more</text:span></text:span>\
        , 10<text:span text:style-name='Up'>6</text:span><text:span text:style-name='T1'><text:note><text:note-body>\
        <text:p>hidden note</text:p></text:note-body></text:note></text:span></text:p>\
        <text:p text:style-name='P2'>whole<text:span text:style-name='T2'>but this</text:span></text:p>\
        <text:section text:display='none'><text:p>section</text:p></text:section>\
        <text:section text:display='condition' text:is-hidden='true'><text:p>condition</text:p></text:section>\
        <text:section text:display='condition'><text:p>open section</text:p></text:section>\
        <text:p>gone<text:hidden-paragraph text:is-hidden='true'/></text:p>\
        <text:p>here<text:hidden-paragraph text:is-hidden='false'/><text:hidden-text text:is-hidden='true'> not</text:hidden-text></text:p>\
        </office:text></office:body></office:document-content>";
    let file = zip(&[
        ("mimetype", ODT.as_bytes()),
        ("content.xml", content.as_bytes()),
        ("styles.xml", styles.as_bytes()),
    ]);
    assert_eq!(
        text(ODT, file),
        "seen, 10^6\nbut this\nopen section\nhere\n[header: Fernwick\tOffer 77 / Draft]\n[footer: Page]\n[footer: a | b]\n"
    );
}

const BUDGET: &str = "[sheet 1: Budget]
1: Item | Quantity | Price | Amount | Share | Ordered
2: Desk [comment: Oak top] | 12 | 389 | 4,668.00 EUR | 61.3565% | 2026-04-17
3: Chair | 12 | 245 | 2,940.00 EUR | 38.6435% | 2026-04-18 09:30
4: Total |  |  | 7,608.00 EUR | 100.0%
6: Checked by |  |  | Bob |  | 16:45 | 30:05:00 | TRUE
300: far below

[sheet 2: Internal, hidden]
2:  | margin 12%

[sheet 3: Empty]
";

#[test]
fn sheets_show_values_dates_comments_and_rows() {
    let converted = read(XLSX, office("libreoffice.xlsx"));
    assert_eq!(converted.text, BUDGET);
    assert_eq!((converted.unit, converted.units, converted.truncated), (Unit::Sheet, 3, false));
    assert_eq!(converted.notes, [Note::WithoutText { unit: Unit::Sheet, numbers: vec![3] }]);
    assert_eq!(text(ODS, office("libreoffice.ods")), BUDGET.replace("16:45", "16:45:00"));
}

#[test]
fn formulas_that_were_never_computed_are_shown_with_a_note() {
    let converted = read(XLSX, office("openpyxl.xlsx"));
    assert!(converted.text.contains("Desk [comment: Oak top] | 12 | 389 | =B2*C2 | =D2/D4 | 2026-04-17\n"));
    assert!(converted.notes.contains(&Note::FormulasWithoutValues { count: 6 }), "{:?}", converted.notes);
}

#[test]
fn the_far_corner_of_a_sheet_is_a_line_away() {
    let converted = read(XLSX, office("xlsxwriter.xlsx"));
    assert_eq!(
        converted.text,
        "[sheet 1: Edges]\n1: first\n2:  | rich text | #DIV/0! | 1999-12-31 | two / lines \\| and a bar\n\
         1048576: [column XFD] last\n"
    );
    assert_eq!(converted.notes, [Note::NotShown { what: "chart", count: 1 }]);
}

#[test]
fn slides_have_titles_tables_notes_and_hidden_ones_say_so() {
    let expected = "[slide 1]\n# Quarterly review\n- Revenue is up\n  - by 12%\n\n[speaker notes]\nPause here.\n\
                    Then go on.\n\n[slide 2]\n# Figures\n\nQuarter | Revenue\nQ1 | 1,200\nQ2 | 1,344\n\n\
                    [slide 3: hidden]\nBackup\n";
    assert_eq!(text(PPTX, office("libreoffice.pptx")), expected);
    assert_eq!(text(PPTX, office("python-pptx.pptx")), expected.replace("- Revenue", "Revenue"));
    let named = expected
        .replace("[slide 1]", "[slide 1: Quarterly review]")
        .replace("[slide 2]", "[slide 2: Figures]");
    assert_eq!(text(ODP, office("libreoffice.odp")), named);
}

#[test]
fn a_comment_stands_before_the_replies_to_it() {
    let body = |text: &str| format!("<p188:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p188:txBody>");
    let comments = format!(
        "<p188:cmLst><p188:cm authorId='a'><p188:replyLst><p188:reply authorId='b'>{}</p188:reply>\
         <p188:reply authorId='a'>{}</p188:reply></p188:replyLst>{}</p188:cm>\
         <p:cm authorId='b'><p:text>Old</p:text></p:cm></p188:cmLst>",
        body("Yes"),
        body("Good"),
        body("Is this final?")
    );
    let file = zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", &relations(&[("r1", "officeDocument", "ppt/presentation.xml")])),
        ("ppt/presentation.xml", b"<p:presentation xmlns:r='r'><p:sldId r:id='s'/></p:presentation>"),
        (
            "ppt/_rels/presentation.xml.rels",
            &relations(&[("s", "slide", "slides/slide1.xml"), ("a", "authors", "authors.xml")]),
        ),
        ("ppt/authors.xml", b"<p188:author id='a' name='Ann'/><p188:author id='b' name='Ben'/>"),
        ("ppt/slides/slide1.xml", b"<p:sld/>"),
        ("ppt/slides/_rels/slide1.xml.rels", &relations(&[("c", "comments", "../comments/c.xml")])),
        ("ppt/comments/c.xml", comments.as_bytes()),
    ]);
    assert_eq!(
        text(PPTX, file),
        "[slide 1]\n[comment by Ann: Is this final?]\n[comment by Ben: Yes]\n[comment by Ann: Good]\n[comment by Ben: Old]\n"
    );
}

#[test]
fn books_are_read_chapter_by_chapter() {
    let converted = read(EPUB, office("ebooklib.epub"));
    assert_eq!(
        converted.text,
        "title: A short book\nauthor: Ann Example\n\n[chapter 1: The beginning]\n# The beginning\n\
         It was a quiet morning.\n\n[chapter 2: The end]\nNobody knew why.\n\na | b\n1 | 2\n"
    );
    assert_eq!((converted.unit, converted.units), (Unit::Chapter, 2));
    assert!(text(EPUB, office("libreoffice.epub")).contains("[chapter 1: Lease of the office]\n"));
    // Scripts and titles may end in their own tags in XHTML.
    let file = crate::common::epub(&[
        b"<html><head><title/><script src='x'/></head><body><p>seen</p></body></html>",
    ]);
    assert_eq!(text(EPUB, file), "[chapter 1]\nseen\n");
}

#[test]
fn books_that_are_locked_say_so() {
    let locked = b"<encryption><EncryptedData><EncryptionMethod Algorithm='aes'/><CipherData>\
                   <CipherReference URI='c1.xhtml'/></CipherData></EncryptedData></encryption>";
    let file = zip(&[
        ("META-INF/container.xml", b"<rootfile full-path='book.opf'/>"),
        ("META-INF/encryption.xml", locked),
        ("book.opf", b"<package><item id='a' href='c1.xhtml' media-type='application/xhtml+xml'/><itemref idref='a'/></package>"),
        ("c1.xhtml", b"\x12\x34"),
    ]);
    let result = convert(EPUB, file.into(), &Limits::new());
    assert!(matches!(result, Err(ConvertError::Encrypted { .. })), "{result:?}");
}

#[test]
fn e_mails_have_heads_the_best_text_and_attachments() {
    let converted = read("message/rfc822", office("python.eml"));
    assert_eq!(
        converted.text,
        "From: Jürgen Müller <jm@example.com>\nTo: Ann Example <ann@example.com>, Bob <bob@example.com>\n\
         Cc: team@example.com\nDate: Fri, 17 Apr 2026 10:30:00 +0200\n\
         Subject: Rechnung für März – über 20.904,97 €\n\nGuten Tag,\n\n\
         die Rechnung über 20.904,97 € hängt an.\n\nViele Grüße\nJürgen Müller\n\
         [attachment 1: Rechnung März 2026.pdf, application/pdf, 19 bytes]\n\n[attached message 1]\n\
         From: Carol <carol@example.org>\nDate: Fri, 17 Apr 2026 08:00:00 +0000\nSubject: The original\n\n\
         Please see the order.\n[attachment 2: order.csv, text/csv, 8 bytes]\n"
    );
    let attached: Vec<_> = converted
        .attachments
        .iter()
        .map(|a| (a.file_name.as_deref().unwrap(), a.media_type.as_str(), &a.bytes[..]))
        .collect();
    assert_eq!(
        attached,
        [
            ("Rechnung März 2026.pdf", "application/pdf", &b"%PDF-1.4 not really"[..]),
            ("order.csv", "text/csv", &b"a,b\n1,2\n"[..]),
        ]
    );
    assert_eq!(converted.notes, []);
}

#[test]
fn e_mails_in_html_alone_and_with_stubs_are_read_as_html() {
    let alone = "From: a@b.c\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
                 <p>gr=C3=B6=\r\n=C3=9Fer</p><style>p{}</style>";
    assert_eq!(text("message/rfc822", alone), "From: a@b.c\n\ngrößer\n");
    let stub = format!(
        "From: a@b.c\nContent-Type: multipart/alternative; boundary=x\n\npreamble\n--x\n\nOpen in a browser.\n--x\n\
         Content-Type: text/html\n\n<p>{}</p>\n--x--\nepilogue",
        "The whole letter. ".repeat(50)
    );
    let read = text("message/rfc822", stub);
    assert!(
        read.contains("The whole letter.") && !read.contains("browser") && !read.contains("epilogue"),
        "{read}"
    );
}

// A stub with the address of the page on which the letter can be read is long, and says nothing.
#[test]
fn an_address_makes_no_letter_of_a_stub() {
    let address = format!("https://click.example.com/?qs={}", "a1b2c3".repeat(40));
    let items: String = (0..30).map(|n| format!("<p>Position {n}: EUR {n}00</p>")).collect();
    let mail = |plain: &str, rich: &str| {
        let mail = format!(
            "From: a@b.c\nContent-Type: multipart/alternative; boundary=x\n\n--x\n\n{plain}\n--x\n{rich}\n--x--\n"
        );
        text("message/rfc822", mail)
    };
    let html = format!("Content-Type: text/html\n\n<style>p {{}}</style>{items}");
    let related = format!("Content-Type: multipart/related; boundary=y\n\n--y\n{html}\n--y--");
    for rich in [&html, &related] {
        assert!(mail(&format!("Please view this in a browser.\n{address}"), rich).contains("Position 29"));
        let signed = "-- \nFernwick Office Supply Ltd, Example Street 1, Sample Town, VAT GB123456789";
        assert!(mail(signed, rich).contains("Position 29"));
    }
    // Markup and hidden text make no letter of HTML.
    let styled =
        format!("Content-Type: text/html\n\n<p style='{}'>See you at nine.", "color:red;".repeat(500));
    assert_eq!(mail("See you at nine. Ann", &styled), "From: a@b.c\n\nSee you at nine. Ann\n");
}

#[test]
fn heads_of_e_mails_are_whole_however_programs_write_them() {
    let message = "From: \"=?utf-8?Q?M=C3=BCller=2C_J=C3=BCrgen?=\" <jm@example.com>\r\nTo: =?iso-8859-1?Q?Andr=E9?=\r\n\
                   \t<a@example.com>\r\nSubject: =?UTF-8?B?UmVjaG51bmcgZsO8ciBN?=\r\n =?UTF-8?B?w6RyeiDi?=\r\n \
                   =?UTF-8?B?gqwgNTA=?=\r\nno header\r\nContent-Type: multipart/mixed boundary=\"=_x \"\r\n\r\n--=_x\r\n\
                   Content-Type: text/plain; charset='iso-8859-15' (Latin 9)\r\n\
                   Content-Transfer-Encoding: quoted-printable (text)\r\n\r\n5 =A4\r\n--=_x\r\n\
                   Content-Type: application/pdf; name=\"Rechnung.pdf\"\r\nContent-Disposition: attachment;\r\n \
                   filename*0*=utf-8''Rechnung%20M%C3;\r\n filename*1*=%A4rz.pdf\r\n\r\n%PDF\r\n--=_x--\r\n";
    assert_eq!(
        text("message/rfc822", message),
        "From: \"Müller, Jürgen\" <jm@example.com>\nTo: André <a@example.com>\nSubject: Rechnung für März € 50\n\n\
         5 €\n[attachment 1: Rechnung März.pdf, application/pdf, 4 bytes]\n"
    );

    // A header that is cut at the limit is cut between two characters.
    let endless = format!("From: a@b.c\nSubject: {}\n\nx", "ä".repeat(40_000));
    let subject = text("message/rfc822", endless);
    assert!(subject.starts_with("From: a@b.c\nSubject: ääää") && !subject.contains(['Ã', '\u{fffd}']));
}

#[test]
fn what_an_archive_is_shows_in_its_content() {
    for (name, start) in [
        ("libreoffice.docx", "# Lease"),
        ("libreoffice.xlsx", "[sheet 1: Budget]"),
        ("libreoffice.pptx", "[slide 1]"),
        ("libreoffice.odt", "# Lease"),
        ("libreoffice.ods", "[sheet 1: Budget]"),
        ("libreoffice.odp", "[slide 1"),
        ("libreoffice.epub", "title: "),
    ] {
        for media in ["application/zip", "application/octet-stream", "application/msword"] {
            let converted = read(media, office(name));
            assert!(converted.text.starts_with(start), "{name} as {media}: {}", converted.text);
            assert_eq!(converted.notes.iter().find(|note| matches!(note, Note::ReadAs { .. })), None);
        }
    }
    let wrong = read(DOCX, office("libreoffice.xlsx"));
    assert!(wrong.text.starts_with("[sheet 1") && wrong.notes.contains(&Note::ReadAs { format: "XLSX" }));
    assert!(text("application/msword", office("libreoffice.rtf")).starts_with("# Lease"));
    assert!(text("application/vnd.ms-excel", office("libreoffice.html")).starts_with("# Lease"));

    let archive = zip(&[("a.txt", b"hello"), ("folder/b[1]\n.bin", b"12")]);
    for media in ["application/zip", "application/octet-stream"] {
        assert_eq!(
            text(media, archive.clone()),
            "archive, 2 files:\n- a.txt (5 bytes)\n- folder/b(1) .bin (2 bytes)\n"
        );
    }
}

#[test]
fn old_and_locked_office_files_are_named() {
    let compound = |streams: &[&str]| {
        let mut bytes = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
        bytes.resize(1024, 0);
        for stream in streams {
            bytes.extend(stream.encode_utf16().flat_map(u16::to_le_bytes));
            bytes.extend([0; 64]);
        }
        bytes
    };
    for (stream, media, part) in [
        ("WordDocument", "application/msword", "Word before 2007"),
        ("Workbook", "application/vnd.ms-excel", "Excel before 2007"),
        ("PowerPoint Document", "application/octet-stream", "PowerPoint before 2007"),
        ("__properties_version1.0", "application/vnd.ms-outlook", "Outlook"),
    ] {
        assert!(can_convert(media));
        let error = convert(media, compound(&[stream]).into(), &Limits::new()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = convert("application/octet-stream", vec![7; 512].into(), &Limits::new()).unwrap_err();
    assert_eq!(error, ConvertError::UnknownFormat);
    let error = convert(DOCX, compound(&["EncryptedPackage"]).into(), &Limits::new()).unwrap_err();
    assert!(matches!(error, ConvertError::Encrypted { .. }));
}
