//! Sheets show numbers as their formats do, with all digits that matter, and each row its number; XLSB reads as XLSX.

use crate::common::{ODS, XLSX, open_document, relations, xlsx, zip};
use attache_convert::{ConvertError, Converted, Limits, Note, can_convert, convert};

const XLSB: &str = "application/vnd.ms-excel.sheet.binary.macroEnabled.12";

fn read(media_type: &str, bytes: Vec<u8>) -> Result<Converted, ConvertError> {
    convert(media_type, bytes.into(), &Limits::new())
}

#[test]
fn cells_show_currency_decimals_and_thousands_and_rows_their_numbers() {
    let styles = "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='&quot;€&quot;#,##0.00'/>\
                  <numFmt numFmtId='165' formatCode='00000'/></numFmts><cellXfs><xf numFmtId='0'/><xf numFmtId='2'/>\
                  <xf numFmtId='164'/><xf numFmtId='10'/><xf numFmtId='3'/><xf numFmtId='165'/></cellXfs></styleSheet>";
    let cell = |at: &str, style: u32, value: &str| format!("<c r='{at}' s='{style}'><v>{value}</v></c>");
    let row = |number: u32, cells: &[String]| format!("<row r='{number}'>{}</row>", cells.concat());
    let sheet = format!(
        "<worksheet><sheetData>{}{}{}</sheetData></worksheet>",
        row(1, &[cell("A1", 1, "741.200000000001"), cell("B1", 2, "741.200000000001"), cell("C1", 3, "0.5")]),
        row(2, &[cell("A2", 4, "4950"), cell("B2", 5, "1234"), cell("C2", 1, "4.33333333333333")]),
        row(7, &[cell("B7", 2, "-1250")]),
    );
    let text = read(XLSX, xlsx(sheet.as_bytes(), b"", styles)).unwrap().text;
    assert_eq!(
        text,
        "[sheet 1: One]\n1: 741.20 | €741.20 | 50.00%\n2: 4,950 | 01234 | 4.33333333333333\n7:  | -€1,250.00\n"
    );
}

#[test]
fn sheets_of_open_document_show_numbers_in_one_notation() {
    let cell = |kind: &str, value: &str, text: &str| {
        format!(
            "<table:table-cell office:value-type='{kind}' office:value='{value}'><text:p>{text}</text:p></table:table-cell>"
        )
    };
    let cells = [
        cell("float", "741.200000000001", "741,20"),
        cell("currency", "-1234.5", "-1.234,50 €"),
        cell("percentage", "0.5", "50,00 %"),
        cell("float", "1.234", "1,234"),
        cell("float", "1234", "1,234"),
        cell("float", "4.33333333333333", "4,33"),
        cell("float", "0.5", "1/2"),
    ];
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet><table:table table:name='A'><table:table-row>{}\
         </table:table-row></table:table></office:spreadsheet></office:body></office:document-content>",
        cells.concat()
    );
    let text = read(ODS, open_document(ODS, content.as_bytes())).unwrap().text;
    assert_eq!(
        text,
        "[sheet 1: A]\n1: 741.20 | -1,234.50 € | 50.00 % | 1.234 | 1,234 | 4.33333333333333 | 0.5\n"
    );
}

#[test]
fn cells_that_share_a_formula_are_counted_and_truth_may_be_a_word() {
    let sheet = "<worksheet><sheetData><row r='1'><c r='A1'><v>10</v></c><c r='B1'><f t='shared' ref='B1:B2' si='0'>A1*2</f></c></row>\
                 <row r='2'><c r='A2' t='b'><v>true</v></c><c r='B2'><f t='shared' si='0'/></c></row></sheetData></worksheet>";
    let converted = read(XLSX, xlsx(sheet.as_bytes(), b"", "<styleSheet/>")).unwrap();
    assert!(converted.text.ends_with("\n1: 10 | =A1*2\n2: TRUE | =…\n"), "{}", converted.text);
    assert!(converted.notes.contains(&Note::FormulasWithoutValues { count: 2 }), "{:?}", converted.notes);
}

#[test]
fn comments_on_cells_that_hold_nothing_stand_behind_the_rows() {
    let sheet = b"<worksheet><sheetData><row r='2'><c><v>1</v></c><c><v>2</v></c></row><row r='3'><c r='C3'/></row></sheetData></worksheet>";
    let comment =
        |at: &str, text: &str| format!("<comment ref='{at}'><text><r><t>{text}</t></r></text></comment>");
    let thread = "[Threaded comment]\n\nYour version of Excel allows you to read this threaded comment; however, any \
                  edits to it will get removed. Learn more: https://go.microsoft.com/fwlink/?linkid=870924\n\n\
                  Comment:\n    Who pays?\nReply:\n    We do.";
    let comments = [
        comment("AA10", "last"),
        comment("D9", "two_x000D_\nlines"),
        comment("B2", "on two"),
        comment("C3", thread),
        comment("C9", "first of nine"),
        comment("E9", " "),
    ];
    let comments = format!("<comments><commentList>{}</commentList></comments>", comments.concat());
    let main = relations(&[("r1", "officeDocument", "xl/workbook.xml")]);
    let file = zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", &main),
        (
            "xl/workbook.xml",
            b"<workbook xmlns:r='r'><sheets><sheet name='One' r:id='r1'/></sheets></workbook>",
        ),
        ("xl/_rels/workbook.xml.rels", &relations(&[("r1", "worksheet", "worksheets/sheet1.xml")])),
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/worksheets/_rels/sheet1.xml.rels", &relations(&[("c", "comments", "../comments1.xml")])),
        ("xl/comments1.xml", comments.as_bytes()),
    ]);
    assert_eq!(
        read(XLSX, file).unwrap().text,
        "[sheet 1: One]\n2: 1 | 2 [comment: on two]\n3:  |  | [comment: Who pays? Reply: We do.]\n\
         [comment on C9: first of nine]\n[comment on D9: two lines]\n[comment on AA10: last]\n"
    );
}

#[test]
fn characters_that_no_xml_can_hold_are_what_they_are() {
    let sheet = b"<worksheet><sheetData><row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' t='s'><v>1</v></c>\
                  <c r='C1' t='inlineStr'><is><t>a_x000A_b</t></is></c><c r='D1' t='str'><f>A1</f><v>_x0041__x00</v></c>\
                  </row></sheetData></worksheet>";
    let strings = b"<sst><si><t>one_x000D_\ntwo &amp; _x005F_x000D_</t></si><si><t>_x00</t></si></sst>";
    let text = read(XLSX, xlsx(sheet, strings, "<styleSheet/>")).unwrap().text;
    assert_eq!(text, "[sheet 1: One]\n1: one / two & _x000D_ | _x00 | a / b | A_x00\n");
}

#[test]
fn rows_in_another_order_are_not_lost() {
    let row = |number: u32| format!("<row r='{number}'><c r='A{number}'><v>{number}</v></c></row>");
    let sheet = format!("<worksheet><sheetData>{}{}{}</sheetData></worksheet>", row(5), row(2), row(9));
    let converted = read(XLSX, xlsx(sheet.as_bytes(), b"", "<styleSheet/>")).unwrap();
    assert_eq!((&*converted.text, converted.truncated), ("[sheet 1: One]\n5: 5\n2: 2\n9: 9\n", false));
}

#[test]
fn numbers_that_no_format_can_hold_are_shown_plain() {
    let long = format!("0,{}", "5".repeat(70_000));
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet><table:table table:name='A'><table:table-row>\
         <table:table-cell office:value-type='float' office:value='0.5'><text:p>{long}</text:p></table:table-cell>\
         <table:table-cell office:value-type='percentage' office:value='1e307'><text:p>1 %</text:p></table:table-cell>\
         </table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    );
    let text = read(ODS, open_document(ODS, content.as_bytes())).unwrap().text;
    assert_eq!(text, "[sheet 1: A]\n1: 0.5 | 1e307\n");
}

/// A record of XLSB: its number and its length in groups of seven bits, the lowest first.
fn record(id: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for mut number in [id, u32::try_from(data.len()).unwrap()] {
        while number >= 0x80 {
            bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes.extend(data);
    bytes
}

fn int(number: u32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// A text with its length in characters.
fn wide(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    [int(units.len() as u32), units.iter().flat_map(|unit| unit.to_le_bytes()).collect()].concat()
}

/// A cell: its record, its column, its style, and what it holds.
fn cell(id: u32, column: u32, style: u32, body: &[u8]) -> Vec<u8> {
    record(id, &[&int(column), &int(style), body].concat())
}

/// A workbook of two sheets, the second hidden, with the numbers of records of [MS-XLSB] 2.3.2.
fn workbook(first: &[u8]) -> Vec<u8> {
    let sheet = |state: u32, number: u32, id: &str, name: &str| {
        record(156, &[int(state), int(number), wide(id), wide(name)].concat())
    };
    let book = [
        record(131, &[]),
        record(153, &[int(0), int(0), wide("ThisWorkbook")].concat()),
        record(143, &[]),
        sheet(0, 1, "rId1", "Costs ü"),
        sheet(1, 2, "rId2", "Texts"),
        record(144, &[]),
        record(132, &[]),
    ]
    .concat();
    let strings = [
        record(159, &[int(2), int(2)].concat()),
        record(19, &[&[0][..], &wide("Rent")].concat()),
        record(19, &[&[1][..], &wide("größe 水"), &int(1), &[0; 4]].concat()),
        record(160, &[]),
    ]
    .concat();
    let format = |id: u16, code: &str| record(44, &[id.to_le_bytes().to_vec(), wide(code)].concat());
    let style = |format: u16| record(47, &[&[0, 0][..], &format.to_le_bytes(), &[0; 12]].concat());
    let styles = [
        record(615, &int(2)),
        format(164, "\"€\"#,##0.00"),
        format(165, "yyyy\\-mm\\-dd"),
        format(166, "\"Text \"@"),
        record(616, &[]),
        // Styles of cells come behind those that have names.
        record(626, &int(1)),
        style(165),
        record(627, &[]),
        record(617, &int(3)),
        style(0),
        style(164),
        style(165),
        style(166),
        record(618, &[]),
    ]
    .concat();
    let second = [
        record(129, &[]),
        record(148, &[int(1), int(1), int(1), int(4)].concat()),
        record(145, &[]),
        record(0, &[int(1), int(0)].concat()),
        cell(62, 1, 0, &[&[1][..], &wide("rich")].concat()),
        cell(8, 2, 3, &[wide("of a formula"), int(0)].concat()),
        cell(11, 3, 0, &[0x07]),
        cell(10, 4, 0, &[1]),
        record(146, &[]),
        // Different first pages, none of even ones (2.4.55).
        record(
            479,
            &[&[2, 0][..], &wide("&LOdd"), &[0xff; 4], &wide("Even"), &wide(""), &[0xff; 4], &wide("First")]
                .concat(),
        ),
    ]
    .concat();
    let comment = [
        record(635, &[int(0), int(0), int(0), int(0), int(0), vec![0; 16]].concat()),
        record(637, &[&[0][..], &wide("Due on\nthe third")].concat()),
        record(635, &[int(0), int(8), int(8), int(3), int(3), vec![0; 16]].concat()),
        record(637, &[&[0][..], &wide("empty")].concat()),
    ]
    .concat();
    let main = relations(&[("r1", "officeDocument", "xl/workbook.bin")]);
    let own = relations(&[
        ("rId1", "worksheet", "worksheets/sheet1.bin"),
        ("rId2", "worksheet", "worksheets/sheet2.bin"),
        ("rId3", "sharedStrings", "sharedStrings.bin"),
        ("rId4", "styles", "styles.bin"),
    ]);
    zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", &main),
        ("xl/workbook.bin", &book),
        ("xl/_rels/workbook.bin.rels", &own),
        ("xl/worksheets/sheet1.bin", first),
        ("xl/worksheets/_rels/sheet1.bin.rels", &relations(&[("c", "comments", "../comments1.bin")])),
        ("xl/worksheets/sheet2.bin", &second),
        ("xl/sharedStrings.bin", &strings),
        ("xl/styles.bin", &styles),
        ("xl/comments1.bin", &comment),
    ])
}

fn costs() -> Vec<u8> {
    [
        record(129, &[]),
        record(148, &[int(0), int(299), int(0), int(16_383)].concat()),
        record(145, &[]),
        record(0, &[int(0), int(0), vec![0; 9]].concat()),
        cell(7, 0, 0, &int(0)),
        cell(7, 1, 0, &int(1)),
        // An integer, one in hundredths, the upper half of a float.
        record(0, &[int(1), int(0)].concat()),
        cell(2, 0, 2, &int(46_129 << 2 | 2)),
        cell(2, 1, 1, &int(495_050 << 2 | 3)),
        cell(2, 2, 0, &int((0.5_f64.to_bits() >> 32) as u32)),
        cell(1, 3, 0, &[]),
        cell(5, 4, 0, &741.25_f64.to_le_bytes()),
        // Cells behind the one before have no column.
        record(16, &[int(1), (-2.0_f64).to_le_bytes().to_vec()].concat()),
        record(0, &[int(299), int(0)].concat()),
        cell(9, 1, 1, &[&12.0_f64.to_le_bytes()[..], &[0; 6]].concat()),
        cell(4, 2, 0, &[0]),
        cell(3, 3, 0, &[0x2a]),
        cell(6, 16_383, 0, &wide("far")),
        record(146, &[]),
        record(0, &[int(900), int(0)].concat()),
        cell(6, 0, 0, &wide("behind the cells")),
        record(130, &[]),
    ]
    .concat()
}

#[test]
fn binary_workbooks_read_as_others_do() {
    assert!(can_convert(XLSB));
    let expected = "[sheet 1: Costs ü]\n1: Rent [comment: Due on the third] | größe 水\n\
                    2: 2026-04-17 | €4,950.50 | 0.5 |  | 741.25 | -€2.00\n\
                    300:  | €12.00 | FALSE | #N/A | [column XFD] far\n[comment on D9: empty]\n\n[sheet 2: Texts, hidden]\n\
                    2:  | rich | Text of a formula | #DIV/0! | TRUE\n[header: Odd]\n[footer: First]\n";
    for media_type in [XLSB, XLSX, "application/vnd.ms-excel", "application/octet-stream"] {
        let converted = read(media_type, workbook(&costs())).unwrap();
        assert_eq!((converted.text.as_str(), converted.units), (expected, 2));
        let labels = converted.labels.iter().map(|label| (label.name.as_str(), label.is_hidden));
        assert_eq!(labels.collect::<Vec<_>>(), [("Costs ü", false), ("Texts", true)]);
        assert_eq!(converted.notes.iter().filter(|note| !matches!(note, Note::ReadAs { .. })).count(), 0);
    }
}

#[test]
fn binary_workbooks_that_are_damaged_are_read_as_far_as_they_go() {
    let whole = costs();
    for end in 0..whole.len() {
        let converted = read(XLSB, workbook(&whole[..end])).unwrap();
        assert!(converted.text.contains("[sheet 2: Texts, hidden]\n2:  | rich"), "{end}: {}", converted.text);
    }
    let cut = read(XLSB, workbook(&whole[..whole.len() / 2])).unwrap();
    assert!(
        cut.truncated && cut.text.contains("1: Rent") && cut.text.contains("parts of this sheet"),
        "{cut:?}"
    );
    // A record that is said to be longer than the file, and one longer than any.
    for length in [&[0xff, 0x7f][..], &[0xff, 0xff, 0xff, 0x7f]] {
        let sheet = [&record(145, &[])[..], &[7], length, &[0; 100]].concat();
        let converted = read(XLSB, workbook(&sheet)).unwrap();
        assert!(converted.truncated && converted.text.contains("rich"), "{}", converted.text);
    }
    let mut state = 0x9e37_79b9_u64;
    for round in 0..400 {
        let mut sheet = whole.clone();
        for _ in 0..1 + round % 8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 20).unwrap() % sheet.len();
            sheet[at] = (state >> 8) as u8;
        }
        let result = read(XLSB, workbook(&sheet));
        assert!(!matches!(result, Err(ConvertError::Failed | ConvertError::TimedOut { .. })), "{round}");
    }
}
