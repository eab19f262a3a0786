//! Documents show more than their text: headers and footers of sheets, controls of forms, what formats add to
//! texts, and less where it is hidden. The files are made by `fixtures/shown.py`.

use attache_convert::{Converted, Limits, Note, convert};
use bytes::Bytes;

use crate::common::{DOCX, ODP, ODS, XLSX, docx, office, open_document, relations, xlsx, zip};

const DOC: &str = "application/msword";
const XLS: &str = "application/vnd.ms-excel";
const PPT: &str = "application/vnd.ms-powerpoint";

#[track_caller]
fn read(media: &str, bytes: impl Into<Bytes>) -> Converted {
    convert(media, bytes.into(), &Limits::new()).expect("the document can be read")
}

#[track_caller]
fn text(media: &str, bytes: impl Into<Bytes>) -> String {
    read(media, bytes).text
}

#[test]
fn headers_and_footers_of_sheets_stand_behind_their_rows() {
    let [rows, odd] = [
        "[sheet 1: Costs]\n1: Rent | 12 kg | Item: Widget\n[header: Acme | Report Costs]\n",
        "[footer: Page of | Confidential]\n",
    ];
    let [even, first] = ["[header: Even head]\n", "[footer: First foot]\n"];
    let plain = "\n[sheet 2: Plain]\n1: x\n";
    let read = |media: &str, name: &str| text(media, office(&format!("shown/{name}")));
    assert_eq!(read(XLSX, "margins.xlsx"), [rows, odd, even, first, plain].concat());
    assert_eq!(read(ODS, "margins.ods"), [rows, even, odd, first, plain].concat());
    // LibreOffice does not write those of other pages.
    assert_eq!(read(XLS, "margins.xls"), [rows, odd, plain].concat());
}

// [MS-XLS] 2.4.137
#[test]
fn sheets_of_excel_97_have_headers_of_even_pages_and_of_the_first_one() {
    let record = |id: u16, data: &[u8]| {
        let len = u16::try_from(data.len()).unwrap();
        [&id.to_le_bytes()[..], &len.to_le_bytes(), data].concat()
    };
    let words =
        |text: &str| [&u16::try_from(text.len()).unwrap().to_le_bytes()[..], &[0], text.as_bytes()].concat();
    let begin = record(0x0809, &[0, 6, 5, 0]);
    let others = |flags: u8| {
        let lens = [4, 0, 0, 5].map(|len: u16| len.to_le_bytes()).concat();
        record(0x089c, &[&[0; 28][..], &[flags, 0], &lens, &words("Even"), &words("First")].concat())
    };
    let read = |flags: u8| {
        let listed = |at: u32| record(0x0085, &[&at.to_le_bytes()[..], &[0, 0, 3, 0], b"One"].concat());
        let at = u32::try_from(begin.len() + listed(0).len() + 4).unwrap();
        let sheet = [
            begin.clone(),
            record(0x0014, &words("&LOdd")),
            record(0x0015, &[]),
            others(flags),
            record(0x01aa, &[]),
            record(0x0014, &words("of a view")),
            record(0x01ab, &[]),
            record(0x0203, &[&[0; 6][..], &1_f64.to_le_bytes()].concat()),
            record(0x000a, &[]),
        ];
        let stream = [begin.clone(), listed(at), record(0x000a, &[]), sheet.concat()].concat();
        let mut file = cfb::CompoundFile::create(std::io::Cursor::new(Vec::new())).unwrap();
        std::io::Write::write_all(&mut file.create_stream("/Workbook").unwrap(), &stream).unwrap();
        text(XLS, file.into_inner().into_inner())
    };
    let rows = "[sheet 1: One]\n1: 1\n[header: Odd]\n";
    assert_eq!(read(0), rows);
    assert_eq!(read(3), format!("{rows}[header: Even]\n[footer: First]\n"));
}

#[test]
fn codes_of_headers_are_no_text() {
    let sheet = |margins: &str| {
        format!(
            "<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row></sheetData>{margins}</worksheet>"
        )
    };
    for (code, expected) in [
        ("&amp;LR&amp;&amp;D&amp;R&amp;&quot;Arial,Bold&quot;&amp;K01+000&amp;12Q4", "[header: R&D | Q4]\n"),
        ("Fernwick &amp;P+2 &amp;G", "[header: Fernwick]\n"),
        ("&amp;C&amp;A&amp;RPage_x000D__x000A_two&amp;", "[header: One | Page / two]\n"),
        ("&amp;L&amp;A&amp;C&amp;&quot;Times&quot;&amp;12&amp;P/&amp;", "[header: One | /]\n"),
        ("&amp;C&amp;A&amp;R&amp;D &amp;T", ""),
        ("", ""),
    ] {
        let margins = format!(
            "<customSheetViews><customSheetView><headerFooter><oddFooter>old</oddFooter></headerFooter></customSheetView>\
             </customSheetViews><headerFooter><oddHeader>{code}</oddHeader><evenHeader>unused</evenHeader></headerFooter>"
        );
        let file = xlsx(sheet(&margins).as_bytes(), b"", "<styleSheet/>");
        assert_eq!(text(XLSX, file), format!("[sheet 1: One]\n1: 1\n{expected}"), "{code}");
    }
}

#[test]
fn pictures_in_headers_and_notes_are_counted() {
    let header =
        "<w:hdr><w:p><w:r><w:t>Acme</w:t></w:r><w:r><w:drawing><a:blip/></w:drawing></w:r></w:p></w:hdr>";
    let note = "<w:footnotes><w:footnote w:id='2'><w:p><w:r><w:t>see</w:t><w:drawing><a:blip/></w:drawing></w:r></w:p>\
                </w:footnote></w:footnotes>";
    let body = "<w:p><w:r><w:t>Offer</w:t><w:footnoteReference w:id='2'/></w:r></w:p>";
    let converted =
        read(DOCX, docx(body, &[("header", "header1.xml", header), ("footnotes", "footnotes.xml", note)]));
    assert_eq!(converted.text, "Offer [footnote: see]\n[header: Acme]\n");
    assert_eq!(converted.notes, [Note::NotShown { what: "image", count: 2 }]);
}

#[test]
fn controls_of_sheets_have_their_captions_and_states() {
    assert_eq!(
        text(XLSX, office("shown/button.xlsx")),
        "[sheet 1: Form]\n1: x\n[button on B3: Recalculate & send]\n"
    );
    let shape = |style: &str, kind: &str, caption: &str, state: &str| {
        format!(
            "<v:shape style='{style}'><v:textbox><div><font>{caption}</font><br></div></v:textbox><x:ClientData \
             ObjectType='{kind}'><x:Anchor>\n 0, 15, 4, 2, 1, 31, 5, 3</x:Anchor>{state}</x:ClientData></v:shape>"
        )
    };
    let vml = [
        shape("", "Checkbox", "Approved", "<x:Checked>1</x:Checked>"),
        shape("", "Radio", "Later", ""),
        shape("", "GBox", "Choose  one", ""),
        shape("", "Drop", "", "<x:Sel>2</x:Sel>"),
        shape("", "Note", "a comment", ""),
        shape("", "Label", "far away", "")
            .replace("0, 15, 4", "18446744073709551615, 15, 18446744073709551615"),
        shape("position:absolute; visibility: hidden", "Button", "secret", ""),
    ];
    let vml = format!("<xml>{}</xml>", vml.concat());
    // Excel has a hidden shape for each control, too.
    let drawing = "<xdr:wsDr><xdr:sp><xdr:nvSpPr><xdr:cNvPr id='1025' name='Check Box 1' hidden='1'/></xdr:nvSpPr><xdr:txBody>\
                   <a:p><a:r><a:t>Approved</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>";
    let file = zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", &relations(&[("r1", "officeDocument", "xl/workbook.xml")])),
        (
            "xl/workbook.xml",
            b"<workbook xmlns:r='r'><sheets><sheet name='One' r:id='r1'/></sheets></workbook>",
        ),
        ("xl/_rels/workbook.xml.rels", &relations(&[("r1", "worksheet", "worksheets/sheet1.xml")])),
        ("xl/worksheets/sheet1.xml", b"<worksheet><sheetData/></worksheet>"),
        (
            "xl/worksheets/_rels/sheet1.xml.rels",
            &relations(&[("r1", "drawing", "../drawing1.xml"), ("r2", "vmlDrawing", "../vmlDrawing1.vml")]),
        ),
        ("xl/drawing1.xml", drawing.as_bytes()),
        ("xl/vmlDrawing1.vml", vml.as_bytes()),
    ]);
    assert_eq!(
        text(XLSX, file),
        "[sheet 1: One]\n[check box on A5: ☒ Approved]\n[option button on A5: ☐ Later]\n[group box on A5: Choose one]\n\
         [list on A5: choice 2]\n[label: far away]\n"
    );
}

#[test]
fn controls_of_pages_show_their_values() {
    for (form, expected) in [
        ("Name <input value='Ann &amp; Ben'> is", "Name Ann & Ben is\n"),
        ("a<input type=hidden value=t0ken>b<input type=PASSWORD value=pw><input type=file value=x>", "ab\n"),
        ("<input type=checkbox checked>Yes<input type=radio>No", "☒ Yes ☐ No\n"),
        ("<input type=submit value=Send><input type=image alt=Go>", "Send Go\n"),
        ("Notes<textarea>\none\n  two &lt;b></textarea>after", "Notes\none\n  two <b> after\n"),
        ("<select><option>One<option selected>Two<option>Three</select>x", "Two x\n"),
        (
            "<p>Size<select><optgroup label=g><option>S</option><option>M</option></optgroup></select>",
            "Size S\n",
        ),
        ("<select multiple><option selected>A<option>B</select>", "☒ A ☐ B\n"),
        // One that does not end holds no more than itself.
        ("<select><option>One<p>after", "One\nafter\n"),
        ("<select><option>One<input value=two>after", "One two after\n"),
        ("<div hidden><input value=x><textarea>y</textarea></div>z", "z\n"),
        ("<ol start=3><li value=7>a<li>b</ol>", "7. a\n8. b\n"),
    ] {
        assert_eq!(text("text/html", form.to_owned().into_bytes()), expected, "{form}");
    }
    let page = "<?xml version='1.0'?><html><body><textarea/><input value='x'/>y</body></html>";
    assert_eq!(text("application/xhtml+xml", page.as_bytes().to_vec()), "x y\n");
}

#[test]
fn formats_add_words_to_texts_of_cells() {
    let codes =
        ["@&quot; kg&quot;", "0;-0;0;&quot;Nr. &quot;@\\!", "@", ";;;", "0 &quot;@&quot;", "[Red]@_)", "@-@"];
    let formats: String = (164..)
        .zip(codes)
        .map(|(id, code)| format!("<numFmt numFmtId='{id}' formatCode='{code}'/>"))
        .collect();
    let styles: String = (164..171).map(|id| format!("<xf numFmtId='{id}'/>")).collect();
    let styles = format!("<styleSheet><numFmts>{formats}</numFmts><cellXfs>{styles}</cellXfs></styleSheet>");
    let row = |kind: &str, value: &str| {
        let cells: String =
            (0..codes.len()).map(|style| format!("<c s='{style}' t='{kind}'>{value}</c>")).collect();
        format!("<row>{cells}</row>")
    };
    let sheet = [
        row("s", "<v>0</v>"),
        row("inlineStr", "<is><t>b</t></is>"),
        row("str", "<f>A1</f><v>c</v>"),
        row("e", "<v>#N/A</v>"),
        row("b", "<v>1</v>"),
    ];
    let sheet = format!("<worksheet><sheetData>{}</sheetData></worksheet>", sheet.concat());
    let line = |letter: &str| {
        format!(
            "{letter} kg | Nr. {letter}! | {letter} | {letter} | {letter} | {letter} | {letter}-{letter}\n"
        )
    };
    let alike = |word: &str| vec![word; codes.len()].join(" | ");
    let expected = format!(
        "[sheet 1: One]\n1: {}2: {}3: {}4: {}\n5: {}\n",
        line("a"),
        line("b"),
        line("c"),
        alike("#N/A"),
        alike("TRUE")
    );
    assert_eq!(text(XLSX, xlsx(sheet.as_bytes(), b"<sst><si><t>a</t></si></sst>", &styles)), expected);
}

#[test]
fn fields_that_set_a_bookmark_show_nothing() {
    let mark = |kind: &str| format!("<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>");
    let run = |text: &str| format!("<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>");
    let field = |code: &str| {
        let code = format!("<w:r><w:instrText> {code} </w:instrText></w:r>");
        mark("begin") + &code + &mark("separate") + &run("Acme") + &mark("end")
    };
    let body = [
        run("Sold"),
        field("SET Buyer Acme"),
        "<w:fldSimple w:instr=' set Seller \"Ben\"'><w:r><w:t>Ben</w:t></w:r></w:fldSimple>".to_owned(),
        field("ASK Buyer Who?"),
        run(" to "),
        field("REF Buyer"),
        "<w:fldSimple w:instr='REF Seller'><w:r><w:t>, Ben</w:t></w:r></w:fldSimple>".to_owned(),
    ];
    assert_eq!(text(DOCX, docx(&format!("<w:p>{}</w:p>", body.concat()), &[])), "Sold to Acme, Ben\n");
    let rtf = br"{\rtf1 Sold{\field{\*\fldinst { SET Buyer Acme}}{\fldrslt {\b Acme}}} to {\field{\*\fldinst REF Buyer}{\fldrslt Acme}}.}";
    assert_eq!(text("application/rtf", rtf.to_vec()), "Sold to Acme.\n");
}

#[test]
fn letters_of_word_97_hide_what_their_styles_hide_and_show_signs() {
    assert_eq!(text(DOC, office("shown/letter.doc")), "Seen\nBoth ends\nSigns ☑ 10 µg\nSold to Acme.\n");
}

#[test]
fn hidden_shapes_are_left_out_wherever_they_are() {
    for (media, name) in [(ODP, "shown/hidden.odp"), (PPT, "shown/hidden.ppt")] {
        assert_eq!(text(media, office(name)), "[slide 1]\nShown box\n", "{name}");
    }
    let drawn = |hidden: &str, style: &str, word: &str| {
        let inside = format!("<w:txbxContent><w:p><w:r><w:t>{word}</w:t></w:r></w:p></w:txbxContent>");
        format!(
            "<w:drawing><wp:anchor><wp:docPr id='1' descr='picture of {word}' {hidden}/><a:graphic><wps:wsp><wps:txbx>{inside}\
             </wps:txbx></wps:wsp></a:graphic></wp:anchor></w:drawing>\
             <w:pict><v:shape style='{style}'><v:textbox>{inside}</v:textbox></v:shape></w:pict>"
        )
    };
    let body = format!(
        "<w:p><w:r><w:t>one</w:t>{}</w:r></w:p><w:p><w:r><w:t>two</w:t>{}</w:r></w:p>",
        drawn("hidden='1'", "left:0;visibility:hidden", "secret"),
        drawn("hidden='0'", "visibility:visible", "open")
    );
    assert_eq!(text(DOCX, docx(&body, &[])), "one\nopen\nopen\ntwo[image: picture of open]\n");
    let content = "<office:document-content><office:body><office:spreadsheet><table:table table:name='A'><table:shapes>\
        <draw:rect drawooo:display='none'><text:p>secret</text:p></draw:rect><draw:rect><text:p>open</text:p></draw:rect>\
        </table:shapes></table:table></office:spreadsheet></office:body></office:document-content>";
    assert_eq!(text(ODS, open_document(ODS, content.as_bytes())), "[sheet 1: A]\nopen\n");
}

// A row goes only where all that it holds is hidden (ECMA-376 part 1, 17.4.20).
#[test]
fn a_row_whose_mark_is_hidden_keeps_what_is_not() {
    let cell = |vanish: &str, text: &str| {
        format!(
            "<w:tc><w:p><w:pPr><w:rPr>{vanish}</w:rPr></w:pPr><w:r><w:rPr>{vanish}</w:rPr><w:t>{text}</w:t></w:r></w:p></w:tc>"
        )
    };
    let row = |cells: &str| format!("<w:tr><w:trPr><w:hidden/></w:trPr>{cells}</w:tr>");
    let gone = "<w:vanish/>";
    let table = [
        row(&(cell("", "a") + &cell("", "b"))),
        row(&(cell(gone, "c") + &cell(gone, "d"))),
        row(&(cell(gone, "e") + &cell("", "f"))),
    ];
    assert_eq!(text(DOCX, docx(&format!("<w:tbl>{}</w:tbl>", table.concat()), &[])), "a | b\n | f\n");
}
