//! Documents inside office files are given on as documents of their own, and charts, formulas and diagrams are read.

use std::io::Write;

use crate::common::{Builder, DOCX, ODP, ODS, ODT, PPTX, XLSX, docx, office, relations, zip};
use attache_convert::{Converted, Limits, Note, convert};

const OCTETS: &str = "application/octet-stream";

fn read(media_type: &str, bytes: impl Into<bytes::Bytes>) -> Converted {
    convert(media_type, bytes.into(), &Limits::new()).expect("the document can be read")
}

/// Name, type and content of what is given on.
fn attached(converted: &Converted) -> Vec<(&str, &str, &[u8])> {
    let attachments = converted.attachments.iter();
    attachments.map(|a| (a.file_name.as_deref().unwrap_or_default(), &*a.media_type, &a.bytes[..])).collect()
}

/// A compound file of these streams.
fn compound(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = cfb::CompoundFile::create(std::io::Cursor::new(Vec::new())).unwrap();
    for (path, bytes) in streams {
        if let Some((storage, _)) = path.rsplit_once('/').filter(|(storage, _)| !storage.is_empty()) {
            file.create_storage_all(storage).unwrap();
        }
        file.create_stream(path).unwrap().write_all(bytes).unwrap();
    }
    file.flush().unwrap();
    file.into_inner().into_inner()
}

/// The stream of the packager for a file, as [MS-OLEDS] 2.3.6 and Windows have it.
fn packed(label: &str, unicode: Option<&str>, data: &[u8]) -> Vec<u8> {
    let len = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
    let mut inner = vec![2, 0];
    inner.extend(label.bytes().chain([0]));
    inner.extend(format!("C:\\Users\\a\\{label}\0").bytes());
    inner.extend([0, 0, 3, 0]);
    let kept = format!("C:\\Temp\\{label}\0");
    inner.extend(len(kept.len()));
    inner.extend(kept.bytes());
    inner.extend(len(data.len()));
    inner.extend(data);
    for text in unicode.map(|name| [r"C:\Temp\x", name, r"C:\x"]).into_iter().flatten() {
        inner.extend(len(text.encode_utf16().count()));
        inner.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
    [&len(inner.len()), inner.as_slice()].concat()
}

const WEB_PAGE: &[u8] = b"MIME-Version: 1.0\nContent-Type: text/html\n\n<p>Page</p>";

const PDF: &[u8] = b"%PDF-1.4 a small one";

/// A part of an office file with what it refers to: name, content, and identifiers, kinds, targets.
type Part<'p> = (&'p str, &'p [u8], &'p [(&'p str, &'p str, &'p str)]);

fn package(main: &str, parts: &[Part<'_>]) -> Vec<u8> {
    let root = relations(&[("r1", "officeDocument", main)]);
    let lists: Vec<_> = parts
        .iter()
        .map(|(name, _, of)| {
            let (folder, file) = name.rsplit_once('/').unwrap();
            (format!("{folder}/_rels/{file}.rels"), relations(of))
        })
        .collect();
    let mut files: Vec<(&str, &[u8])> = vec![("[Content_Types].xml", b"<Types/>"), ("_rels/.rels", &root)];
    for ((name, content, of), (list, references)) in parts.iter().zip(&lists) {
        files.push((name, content));
        if !of.is_empty() {
            files.push((list, references));
        }
    }
    zip(&files)
}

fn letter(embedded: &[(&str, &str, &[u8])]) -> Vec<u8> {
    let document = b"<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>See the order.</w:t></w:r></w:p></w:body></w:document>";
    let names: Vec<_> = embedded.iter().map(|(_, file, _)| format!("word/embeddings/{file}")).collect();
    let targets: Vec<_> = embedded.iter().map(|(_, file, _)| format!("embeddings/{file}")).collect();
    let ids: Vec<_> = (0..embedded.len()).map(|n| format!("rId{}", n + 10)).collect();
    let of: Vec<_> = embedded
        .iter()
        .zip(&targets)
        .zip(&ids)
        .map(|(((kind, ..), target), id)| (&**id, *kind, &**target))
        .collect();
    let mut parts: Vec<Part<'_>> = vec![("word/document.xml", document, &of)];
    parts.extend(names.iter().zip(embedded).map(|(name, (_, _, bytes))| (&**name, *bytes, &[][..])));
    package("word/document.xml", &parts)
}

#[test]
fn embedded_documents_are_attachments_whatever_they_are_wrapped_in() {
    let sheet = office("libreoffice.xlsx");
    let old = office("legacy.doc");
    let note = b"From the packager\n".as_slice();
    let wrapped_pdf = compound(&[("/CONTENTS", PDF), ("/\u{1}Ole", b"x")]);
    let wrapped_sheet = compound(&[("/Package", &sheet)]);
    let named = compound(&[("/\u{1}Ole10Native", &packed("note.txt", None, note))]);
    let wide = compound(&[("/\u{1}Ole10Native", &packed("?.txt", Some("größe 水.txt"), note))]);
    let blob = compound(&[("/\u{1}Ole10Native", &packed("tool.dat", None, &[7, 0, 9]))]);
    let unknown = compound(&[("/Equation Native", b"x")]);
    let file = letter(&[
        ("package", "Microsoft_Excel_Sheet1.xlsx", &sheet),
        ("oleObject", "oleObject2.bin", &wrapped_pdf),
        ("oleObject", "oleObject3.bin", &wrapped_sheet),
        ("oleObject", "oleObject4.bin", &named),
        ("oleObject", "oleObject5.bin", &wide),
        ("oleObject", "oleObject6.bin", &blob),
        ("oleObject", "oleObject7.bin", &old),
        ("aFChunk", "chunk.html", b"<p>Part of the letter</p>"),
        ("aFChunk", "page.mht", WEB_PAGE),
        ("oleObject", "oleObject8.bin", &unknown),
        ("package", "Microsoft_Excel_Sheet1.xlsx", &sheet),
    ]);
    let converted = read(DOCX, file);
    let (attached, expected) = (
        attached(&converted),
        [
            ("Microsoft_Excel_Sheet1.xlsx", XLSX, &sheet[..]),
            ("oleObject2.pdf", "application/pdf", PDF),
            ("oleObject3.xlsx", XLSX, &sheet[..]),
            ("note.txt", "text/plain", note),
            ("größe 水.txt", "text/plain", note),
            ("tool.dat", OCTETS, &[7, 0, 9]),
            ("oleObject7.doc", "application/msword", &old[..]),
            ("chunk.html", "text/html", b"<p>Part of the letter</p>"),
            ("page.mht", "message/rfc822", WEB_PAGE),
        ],
    );
    let heads = |all: &[(&str, &str, &[u8])]| -> Vec<String> {
        all.iter().map(|(name, media_type, bytes)| format!("{name} {media_type} {}", bytes.len())).collect()
    };
    assert_eq!(heads(&attached), heads(&expected));
    assert!(attached == expected);
    let start = "See the order.\n[attachment 1: Microsoft_Excel_Sheet1.xlsx, ";
    assert!(converted.text.starts_with(start), "{}", converted.text);
    assert!(
        converted.text.contains("[attachment 4: note.txt, text/plain, 18 bytes]\n"),
        "{}",
        converted.text
    );
    assert_eq!(converted.notes, [Note::NotShown { what: "embedded document", count: 1 }]);
}

#[test]
fn embedded_documents_stand_under_their_slides_and_sheets() {
    let pdf = compound(&[("/CONTENTS", PDF)]);
    let slide = b"<p:sld xmlns:p='p'><a:t>Sales</a:t></p:sld>".as_slice();
    let slides = package(
        "ppt/presentation.xml",
        &[
            (
                "ppt/presentation.xml",
                b"<p:presentation xmlns:r='r'><p:sldId r:id='a'/><p:sldId r:id='b'/></p:presentation>",
                &[("a", "slide", "slides/slide1.xml"), ("b", "slide", "slides/slide2.xml")],
            ),
            ("ppt/slides/slide1.xml", slide, &[("x", "oleObject", "../embeddings/oleObject1.bin")]),
            ("ppt/slides/slide2.xml", slide, &[]),
            ("ppt/embeddings/oleObject1.bin", &pdf, &[]),
        ],
    );
    let converted = read(PPTX, slides);
    let line = "[attachment 1: oleObject1.pdf, application/pdf, 20 bytes]\n";
    assert_eq!(converted.text, format!("[slide 1]\nSales\n{line}\n[slide 2]\nSales\n"));
    assert_eq!((attached(&converted)[0].2, converted.notes.len()), (PDF, 0));

    let sheet =
        b"<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row></sheetData></worksheet>".as_slice();
    let book = package(
        "xl/workbook.xml",
        &[
            (
                "xl/workbook.xml",
                b"<workbook xmlns:r='r'><sheet name='One' r:id='a'/></workbook>",
                &[("a", "worksheet", "worksheets/sheet1.xml")],
            ),
            ("xl/worksheets/sheet1.xml", sheet, &[("x", "oleObject", "../embeddings/oleObject1.bin")]),
            ("xl/embeddings/oleObject1.bin", &pdf, &[]),
        ],
    );
    let converted = read(XLSX, book);
    assert!(converted.text.ends_with(line), "{}", converted.text);
    assert_eq!(attached(&converted)[0].2, PDF);
}

#[test]
fn embedded_documents_are_bounded_in_number_and_bytes() {
    let text = b"a short text".as_slice();
    let names: Vec<_> = (0..250).map(|n| format!("n{n:03}.txt")).collect();
    let many: Vec<_> = names.iter().map(|name| ("package", name.as_str(), text)).collect();
    let converted = read(DOCX, letter(&many));
    assert_eq!((converted.attachments.len(), converted.truncated), (200, true));
    assert_eq!(converted.notes, [Note::EntriesLeftOut]);

    let large = vec![b'a'; 1 << 20];
    let file =
        letter(&[("package", "a.txt", &large), ("package", "b.txt", &large), ("package", "c.txt", text)]);
    let limits = Limits::new().with_max_decoded_bytes((3 << 20) / 2);
    let converted = convert(DOCX, file.into(), &limits).unwrap();
    let names: Vec<_> = attached(&converted).iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(names, ["a.txt", "c.txt"]);
    assert_eq!(converted.notes, [Note::NotShown { what: "embedded document", count: 1 }]);
}

#[test]
fn objects_of_old_documents_are_attachments() {
    let native = packed("order.csv", None, b"a,b\n1,2\n");
    // A letter with an object, made of a real one.
    let letter = office("legacy.doc");
    let mut file = cfb::CompoundFile::open(std::io::Cursor::new(letter.to_vec())).unwrap();
    file.create_storage_all("/ObjectPool/_1234").unwrap();
    file.create_stream("/ObjectPool/_1234/\u{1}Ole10Native").unwrap().write_all(&native).unwrap();
    file.flush().unwrap();
    let converted = read("application/msword", file.into_inner().into_inner());
    assert_eq!(attached(&converted), [("order.csv", "text/csv", &b"a,b\n1,2\n"[..])]);

    let book = office("legacy.xls");
    let mut file = cfb::CompoundFile::open(std::io::Cursor::new(book.to_vec())).unwrap();
    file.create_storage("/MBD00A1").unwrap();
    file.create_stream("/MBD00A1/CONTENTS").unwrap().write_all(PDF).unwrap();
    file.flush().unwrap();
    let converted = read("application/vnd.ms-excel", file.into_inner().into_inner());
    assert_eq!(attached(&converted), [("MBD00A1.pdf", "application/pdf", PDF)]);
}

#[test]
fn messages_and_objects_inside_a_message_of_outlook_are_read() {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let inner = "/__attach_version1.0_#00000000/__substg1.0_3701000D";
    let object = "/__attach_version1.0_#00000001/__substg1.0_3701000D";
    let bytes = compound(&[
        ("/__properties_version1.0", b""),
        ("/__substg1.0_0037001F", &wide("Forwarded")),
        (&format!("{inner}/__properties_version1.0"), b""),
        (&format!("{inner}/__substg1.0_0037001F"), &wide("The original")),
        (&format!("{inner}/__substg1.0_1000001F"), &wide("Please see the order.")),
        (&format!("{inner}/__attach_version1.0_#00000000/__substg1.0_37010102"), b"a,b\n1,2\n"),
        (&format!("{inner}/__attach_version1.0_#00000000/__substg1.0_3707001F"), &wide("order.csv")),
        (&format!("{inner}/__attach_version1.0_#00000000/__substg1.0_370E001F"), &wide("text/csv")),
        (&format!("{object}/CONTENTS"), PDF),
    ]);
    let converted = read("application/vnd.ms-outlook", bytes);
    assert_eq!(
        converted.text,
        "Subject: Forwarded\n\n[attached message 1]\nSubject: The original\n\nPlease see the order.\n\
         [attachment 1: order.csv, text/csv, 8 bytes]\n[attachment 2: object.pdf, application/pdf, 20 bytes]\n"
    );
    assert_eq!(converted.attachments.len(), 2);
}

/// An OpenDocument file with this body, and files inside.
fn open(media: &str, body: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let content =
        format!("<office:document-content><office:body>{body}</office:body></office:document-content>");
    let mut all: Vec<(&str, &[u8])> =
        vec![("mimetype", media.as_bytes()), ("content.xml", content.as_bytes())];
    all.extend(files);
    zip(&all)
}

const CHART: &[u8] = b"<office:document-content><office:body><office:chart><chart:chart>\
    <chart:title><text:p>Costs</text:p></chart:title><chart:axis><chart:title><text:p>EUR</text:p></chart:title></chart:axis>\
    <table:table table:name='local-table'><table:table-header-rows><table:table-row><table:table-cell><text:p/></table:table-cell>\
    <table:table-cell><text:p>2026</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-row>\
    <table:table-cell><text:p>North</text:p></table:table-cell><table:table-cell office:value-type='float' office:value='22.3'>\
    <text:p>22,30</text:p></table:table-cell></table:table-row></table:table></chart:chart></office:chart></office:body>\
    </office:document-content>";

#[test]
fn objects_of_open_documents_are_read_or_given_on() {
    let frame = |n: u32| {
        format!(
            "<draw:frame><draw:object xlink:href='./Object {n}'/><draw:image xlink:href='x'/></draw:frame>"
        )
    };
    let formula = b"<math xmlns='m'><semantics><mi>E</mi><annotation encoding='StarMath 5.0'>E = m c^2</annotation></semantics></math>";
    let table = b"<office:document-content><office:body><office:spreadsheet><table:table table:name='In'><table:table-row>\
        <table:table-cell office:value-type='float' office:value='7'/></table:table-row></table:table></office:spreadsheet>\
        </office:body></office:document-content>";
    let pdf = compound(&[("/CONTENTS", PDF)]);
    let files: &[(&str, &[u8])] = &[
        ("Object 1/content.xml", CHART),
        ("Object 2/content.xml", formula),
        ("Object 3/content.xml", table),
        ("Object 4", &pdf),
    ];
    let ole = "<draw:frame><draw:object-ole xlink:href='./Object 4'/></draw:frame>";
    let objects = format!("{}{}{}{ole}", frame(1), frame(2), frame(3));
    let shown =
        "[chart: Costs (EUR)]\n | 2026\nNorth | 22.3\n[formula: E = m c^2]\n[attachment 1: Object 3.ods, ";
    let text = format!("<office:text><text:p>Before</text:p><text:p>{objects}</text:p></office:text>");
    let slides = format!(
        "<office:presentation><draw:page><text:p>Before</text:p>{objects}</draw:page><draw:page><text:p>Next</text:p>\
         </draw:page></office:presentation>"
    );
    let sheets = format!(
        "<office:spreadsheet><table:table table:name='A'><table:shapes>{objects}<draw:custom-shape><text:p>Approved</text:p>\
         </draw:custom-shape></table:shapes><table:table-row><table:table-cell office:value-type='string'><text:p>Before</text:p>\
         </table:table-cell></table:table-row></table:table></office:spreadsheet>"
    );
    for (media, body) in [(ODT, text), (ODP, slides), (ODS, sheets)] {
        let converted = read(media, open(media, &body, files));
        assert!(converted.text.contains(shown), "{}", converted.text);
        assert!(converted.text.find("Before") < converted.text.find("[chart"), "{}", converted.text);
        let [(_, sheet, bytes), (name, ..)] = attached(&converted)[..] else { panic!("{converted:?}") };
        assert_eq!((sheet, name), (ODS, "Object 4.pdf"));
        assert!(read(ODS, bytes.to_vec()).text.starts_with("[sheet 1: In]\n"));
        assert_eq!(converted.notes, []);
        match media {
            ODP => assert!(converted.text.ends_with("[slide 2]\nNext\n"), "{}", converted.text),
            ODS => assert!(converted.text.contains("Before\nApproved\n"), "{}", converted.text),
            _ => {}
        }
    }
}

#[test]
fn a_document_in_an_open_document_is_given_on_once_however_often_it_stands_there() {
    let table = b"<office:document-content><office:body><office:spreadsheet><table:table table:name='In'/>\
        </office:spreadsheet></office:body></office:document-content>";
    let frame = "<draw:frame><draw:object xlink:href='./Object 1'/></draw:frame>";
    let pages = format!("<draw:page><text:p>See</text:p>{}</draw:page>", frame.repeat(3)).repeat(2);
    let body = format!("<office:presentation>{pages}</office:presentation>");
    let converted = read(ODP, open(ODP, &body, &[("Object 1/content.xml", table)]));
    assert_eq!(attached(&converted).len(), 1, "{}", converted.text);
    assert_eq!(converted.notes, []);
}

#[test]
fn diagrams_are_read_in_letters_slides_and_sheets() {
    let data = "<dgm:dataModel><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt>\
                <dgm:t><a:p><a:r><a:t>Build</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>";
    let body = "<w:p><w:r><w:t>Steps</w:t></w:r></w:p>";
    let letter = docx(body, &[("diagramData", "data1.xml", data)]);
    assert_eq!(read(DOCX, letter).text, "Steps\nPlan\nBuild\n");

    let slides = package(
        "ppt/presentation.xml",
        &[
            (
                "ppt/presentation.xml",
                b"<p:presentation xmlns:r='r'><p:sldId r:id='a'/></p:presentation>",
                &[("a", "slide", "slides/slide1.xml")],
            ),
            (
                "ppt/slides/slide1.xml",
                b"<p:sld><a:p><a:t>Steps</a:t></a:p></p:sld>",
                &[("x", "diagramData", "../diagrams/data1.xml")],
            ),
            ("ppt/diagrams/data1.xml", data.as_bytes(), &[]),
        ],
    );
    assert_eq!(read(PPTX, slides).text, "[slide 1]\nSteps\nPlan\nBuild\n");

    let book = package(
        "xl/workbook.xml",
        &[
            (
                "xl/workbook.xml",
                b"<workbook xmlns:r='r'><sheet name='One' r:id='a'/></workbook>",
                &[("a", "worksheet", "worksheets/sheet1.xml")],
            ),
            ("xl/worksheets/sheet1.xml", b"<worksheet/>", &[("x", "drawing", "../drawings/drawing1.xml")]),
            ("xl/drawings/drawing1.xml", b"<xdr:wsDr/>", &[("x", "diagramData", "../diagrams/data1.xml")]),
            ("xl/diagrams/data1.xml", data.as_bytes(), &[]),
        ],
    );
    assert_eq!(read(XLSX, book).text, "[sheet 1: One]\nPlan\nBuild\n");
}

#[test]
fn files_attached_to_a_pdf_are_given_on() {
    let xml = b"<invoice total='4950.00'/>".as_slice();
    let packed = crate::common::deflate(xml);
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Annots [9 0 R] \
                /Resources << /Font << /F1 5 0 R >> >> >>";
    let pdf = |contents: &str| {
        Builder::new()
            .object(
                1,
                "<< /Type /Catalog /Pages 2 0 R /AF [7 0 R] \
                 /Names << /EmbeddedFiles << /Kids [<< /Names [(factur-x.xml) 7 0 R (lost) 8 0 R] >>] >> >> >>",
            )
            .object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
            .object(3, page)
            .stream(4, "", contents.as_bytes())
            .object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
            .stream(6, "/Type /EmbeddedFile /Subtype /text#2Fxml /Filter /FlateDecode", &packed)
            .object(7, "<< /Type /Filespec /F (factur-x.xml) /UF (factur-x.xml) /EF << /F 6 0 R >> >>")
            .object(8, "<< /Type /Filespec /F (lost.txt) /EF << /F 99 0 R >> >>")
            .object(9, "<< /Subtype /FileAttachment /Rect [0 0 9 9] /FS << /F (C:/notes.txt) /EF << /F 10 0 R >> >> >>")
            .stream(10, "", b"See the order")
            .finish()
    };
    let files = "[attachment 1: factur-x.xml, application/xml, 26 bytes]\n[attachment 2: notes.txt, text/plain, 13 bytes]\n";
    let converted = read(crate::common::PDF, pdf("BT /F1 12 Tf 72 700 Td (Invoice) Tj ET"));
    assert_eq!(converted.text, format!("[page 1]\nInvoice\n{files}"));
    assert_eq!(attached(&converted)[0], ("factur-x.xml", "application/xml", xml));
    assert_eq!(converted.notes, [Note::NotShown { what: "embedded document", count: 1 }]);
    // A page without text says so, and what is attached is not lost.
    let converted = read(crate::common::PDF, pdf(""));
    assert_eq!((converted.text, converted.attachments.len()), (format!("[page 1]\n{files}"), 2));
}

/// A PDF of one page, whose catalog has these entries.
fn pdf_with(catalog: &str, contents: &str) -> Builder {
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
                /Resources << /Font << /F1 5 0 R >> >> >>";
    Builder::new()
        .object(1, &format!("<< /Type /Catalog /Pages 2 0 R {catalog} >>"))
        .object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
        .object(3, page)
        .stream(4, "", contents.as_bytes())
        .object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
        .stream(6, "/Type /EmbeddedFile", b"See the order")
        .object(7, "<< /Type /Filespec /F (notes.txt) /EF << /F 6 0 R >> >>")
}

#[test]
fn a_damaged_file_in_a_pdf_is_said_to_be_lost() {
    let packed = crate::common::deflate("1 2 3 4 5 67 ".repeat(9_999).as_bytes());
    let with = |data: &[u8]| {
        let pdf = pdf_with("/AF [7 0 R]", "BT /F1 12 Tf 72 700 Td (Order) Tj ET");
        read(crate::common::PDF, pdf.stream(6, "/Filter /FlateDecode", data).finish())
    };
    assert_eq!((with(&packed).attachments.len(), with(&packed).notes), (1, vec![]));
    let lost = vec![Note::NotShown { what: "embedded document", count: 1 }];
    let mut broken = packed.clone();
    broken[packed.len() / 2..].fill(0xff);
    assert_eq!((with(&broken).attachments.len(), with(&broken).notes), (0, lost));
}

#[test]
fn a_tree_of_files_is_gone_through_once_however_often_it_refers_to_its_parts() {
    // The file stands behind five levels, each of which refers to the next ten thousand times.
    let catalog = "/Names << /EmbeddedFiles << /Kids [100 0 R 99 0 R] >> >>";
    let mut pdf = pdf_with(catalog, "BT /F1 12 Tf 72 700 Td (Hello) Tj ET")
        .object(99, "<< /Names [(notes.txt) 7 0 R] >>");
    for level in 100..105 {
        let next = format!("{} 0 R ", level + 1).repeat(10_000);
        pdf = pdf.object(level, &format!("<< /Kids [{next}] >>"));
    }
    // The last one leads back.
    let pdf = pdf.object(105, "<< /Kids [100 0 R 105 0 R] >>").finish();
    let start = std::time::Instant::now();
    let converted = read(crate::common::PDF, pdf);
    assert_eq!(attached(&converted), [("notes.txt", "text/plain", b"See the order".as_slice())]);
    assert!(start.elapsed() < std::time::Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn a_page_without_text_does_not_hide_that_its_attachment_cannot_be_read() {
    let pdf = pdf_with("/AF [8 0 R]", "")
        .object(8, "<< /Type /Filespec /F (lost.txt) /EF << /F 98 0 R >> >>")
        .finish();
    let converted = read(crate::common::PDF, pdf);
    assert_eq!((converted.text.as_str(), converted.attachments.len()), ("[page 1]\n", 0));
    let lost = Note::NotShown { what: "embedded document", count: 1 };
    assert!(converted.notes.contains(&lost), "{:?}", converted.notes);
}

/// A presentation of PowerPoint 97 with further records of embedded objects behind its own, each of which is packed or not.
fn old_presentation(objects: &[(bool, &[u8])]) -> Vec<u8> {
    let record = |instance: u8, data: &[u8]| {
        let len = u32::try_from(data.len()).unwrap().to_le_bytes();
        [&[instance << 4, 0, 0x11, 0x10][..], &len, data].concat()
    };
    let mut gz = flate2::read::GzDecoder::new(std::io::Cursor::new(office("legacy.ppt.gz")));
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut gz, &mut bytes).unwrap();
    let mut file = cfb::CompoundFile::open(std::io::Cursor::new(bytes)).unwrap();
    let mut stream = Vec::new();
    std::io::Read::read_to_end(&mut file.open_stream("/PowerPoint Document").unwrap(), &mut stream).unwrap();
    for (packed, object) in objects {
        let len = u32::try_from(object.len()).unwrap().to_le_bytes();
        stream.extend(match packed {
            true => record(1, &[&len[..], &crate::common::deflate(object)].concat()),
            false => record(0, object),
        });
    }
    file.create_stream("/PowerPoint Document").unwrap().write_all(&stream).unwrap();
    file.flush().unwrap();
    file.into_inner().into_inner()
}

const OLD_SLIDES: &str = "application/vnd.ms-powerpoint";

#[test]
fn objects_of_old_presentations_are_attachments() {
    let object = compound(&[("/CONTENTS", PDF)]);
    let converted = read(OLD_SLIDES, old_presentation(&[(true, &object), (false, &object)]));
    let expected = [("object1.pdf", "application/pdf", PDF), ("object2.pdf", "application/pdf", PDF)];
    assert_eq!(attached(&converted), expected);
}

#[test]
fn packed_objects_of_old_presentations_are_given_on_whole_and_within_one_limit() {
    const LIMIT: usize = 4 << 20;
    let limits = Limits::new().with_max_decoded_bytes(LIMIT);
    let of = |len: usize| [PDF, &vec![b' '; len - PDF.len()]].concat();
    let missing = |count| vec![Note::NotShown { what: "embedded document", count }];
    let read = |objects: &[(bool, &[u8])]| {
        let converted = convert(OLD_SLIDES, old_presentation(objects).into(), &limits).unwrap();
        let lengths: Vec<_> = converted.attachments.iter().map(|a| a.bytes.len()).collect();
        (lengths, converted.notes)
    };
    // Two of which each fits, and a small one behind them.
    let (large, small) = (of(LIMIT / 4 * 3), of(1_000));
    let all = [(true, &large[..]), (true, &large[..]), (true, &small[..])];
    assert_eq!(read(&all), (vec![large.len(), small.len()], missing(1)));
    assert_eq!(read(&[(true, &of(LIMIT))]), (vec![LIMIT], vec![]));
    assert_eq!(read(&[(true, &of(LIMIT + 1))]), (vec![], missing(1)));
}

#[test]
fn damaged_objects_end_in_an_attachment_or_a_note() {
    let whole = compound(&[
        ("/\u{1}Ole10Native", &packed("note.txt", Some("note.txt"), b"text")),
        ("/Package", b"PK"),
    ]);
    let mut state = 0x9e37_79b9_u64;
    for round in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..1 + round % 8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 20).unwrap() % bytes.len();
            bytes[at] = (state >> 8) as u8;
        }
        let converted = read(DOCX, letter(&[("oleObject", "o.bin", &bytes)]));
        assert_eq!(converted.attachments.len() + converted.notes.len(), 1, "{round}: {converted:?}");
    }
}

#[test]
fn objects_of_rtf_are_attachments() {
    // An object as programs kept it before compound files ([MS-OLEDS] 2.2.5).
    let object = |class: &str, data: &[u8]| {
        let len = |n: usize| u32::try_from(n).unwrap().to_le_bytes().to_vec();
        let class = [len(class.len() + 1), class.bytes().chain([0]).collect()].concat();
        [len(0x501), len(2), class, len(0), len(0), len(data.len()), data.to_vec()].concat()
    };
    let digits = |bytes: &[u8]| {
        let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.chunks(40).map(<[String]>::concat).collect::<Vec<_>>().join("\r\n")
    };
    let note = &packed("note.txt", None, b"From the packager")[4..];
    let shown: String =
        [object("Package", note), object("AcroExch", &compound(&[("/CONTENTS", PDF)])), b"?".to_vec()]
            .iter()
            .map(|object| {
                format!(
                    r"{{\object\objemb{{\*\objclass x}}{{\*\objdata {}}}{{\result{{\pict 00ff}}}}}}",
                    digits(object)
                )
            })
            .collect();
    let rtf = format!(r"{{\rtf1 Before {shown}behind\par}}");
    let converted = read("application/rtf", rtf.into_bytes());
    assert_eq!(
        converted.text,
        "Before behind\n[attachment 1: note.txt, text/plain, 17 bytes]\n[attachment 2: object2.pdf, application/pdf, 20 bytes]\n"
    );
    assert_eq!(attached(&converted)[1].2, PDF);
    let notes = [("embedded document", 1), ("image", 3)].map(|(what, count)| Note::NotShown { what, count });
    assert_eq!(converted.notes, notes);
}
