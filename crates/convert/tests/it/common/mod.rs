//! Builders of documents for tests.
#![allow(dead_code, reason = "every test file uses a part of this")]

use attache_convert::{ConvertError, Converted, Limits, convert};
use bytes::Bytes;

pub(crate) const PDF: &str = "application/pdf";

/// A document made by one of the producers in `fixtures/make.py`.
pub(crate) fn fixture(name: &str) -> Bytes {
    let path = format!("{}/tests/fixtures/{name}.pdf", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")).into()
}

pub(crate) fn read(bytes: impl Into<Bytes>) -> Result<Converted, ConvertError> {
    convert(PDF, bytes.into(), &Limits::new())
}

pub(crate) fn text(bytes: impl Into<Bytes>) -> String {
    read(bytes).expect("the document can be read").text
}

/// A PDF under construction, with a cross-reference table at its end.
#[derive(Default)]
pub(crate) struct Builder {
    bytes: Vec<u8>,
    offsets: Vec<(u32, usize)>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { bytes: b"%PDF-1.7\n".to_vec(), offsets: Vec::new() }
    }

    /// A document of one page with this content, a catalog (1), a page tree (2), the page (3), its content
    /// (4), and Helvetica as `/F1` (5).
    pub(crate) fn page(content: &str) -> Self {
        Self::page_with(content, "/Font << /F1 5 0 R >>")
    }

    /// The same with the page's resources given.
    pub(crate) fn page_with(content: &str, resources: &str) -> Self {
        Self::new()
            .object(1, "<< /Type /Catalog /Pages 2 0 R >>")
            .object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
            .object(
                3,
                &format!(
                    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
                     /Resources << {resources} >> >>"
                ),
            )
            .stream(4, "", content.as_bytes())
            .object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    }

    pub(crate) fn object(mut self, number: u32, body: &str) -> Self {
        self.offsets.push((number, self.bytes.len()));
        self.bytes.extend_from_slice(format!("{number} 0 obj\n{body}\nendobj\n").as_bytes());
        self
    }

    pub(crate) fn stream(mut self, number: u32, entries: &str, data: &[u8]) -> Self {
        self.offsets.push((number, self.bytes.len()));
        let head = format!("{number} 0 obj\n<< {entries} /Length {} >>\nstream\n", data.len());
        self.bytes.extend_from_slice(head.as_bytes());
        self.bytes.extend_from_slice(data);
        self.bytes.extend_from_slice(b"\nendstream\nendobj\n");
        self
    }

    /// Anything between objects.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Where the next object will start.
    pub(crate) fn position(&self) -> usize {
        self.bytes.len()
    }

    /// Lists an object that was written by [`raw`](Self::raw).
    pub(crate) fn listed(mut self, number: u32, offset: usize) -> Self {
        self.offsets.push((number, offset));
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.finish_with("")
    }

    /// Ends the document with a table and further trailer entries.
    pub(crate) fn finish_with(mut self, entries: &str) -> Vec<u8> {
        let start = self.bytes.len();
        let mut table = String::from("xref\n0 1\n0000000000 65535 f \n");
        for (number, offset) in &self.offsets {
            table.push_str(&format!("{number} 1\n{offset:010} 00000 n \n"));
        }
        let size = self.offsets.iter().map(|(number, _)| number + 1).max().unwrap_or(1);
        table.push_str(&format!("trailer\n<< /Root 1 0 R /Size {size} {entries} >>\n"));
        table.push_str(&format!("startxref\n{start}\n%%EOF\n"));
        self.bytes.extend_from_slice(table.as_bytes());
        self.bytes
    }

    /// Ends the document with a cross-reference stream, numbered 90, in which the objects of `inside` are
    /// entries of the object stream `container`.
    pub(crate) fn finish_with_stream(mut self, container: u32, inside: &[u32]) -> Vec<u8> {
        let start = self.bytes.len();
        let mut index = String::new();
        let mut rows = Vec::new();
        for (number, offset) in &self.offsets {
            index.push_str(&format!("{number} 1 "));
            rows.push(1);
            rows.extend_from_slice(&u32::try_from(*offset).expect("fits").to_be_bytes());
            rows.push(0);
        }
        for (position, number) in inside.iter().enumerate() {
            index.push_str(&format!("{number} 1 "));
            rows.push(2);
            rows.extend_from_slice(&container.to_be_bytes());
            rows.push(u8::try_from(position).expect("fits"));
        }
        let entries = format!("/Type /XRef /W [1 4 1] /Index [{index}] /Size 91 /Root 1 0 R");
        self = self.stream(90, &entries, &rows);
        self.bytes.extend_from_slice(format!("startxref\n{start}\n%%EOF\n").as_bytes());
        self.bytes
    }
}

/// An object stream's directory and data for these objects: its entries, its data.
pub(crate) fn object_stream(objects: &[(u32, &str)]) -> (String, Vec<u8>) {
    let (mut directory, mut data) = (String::new(), String::new());
    for (number, body) in objects {
        directory.push_str(&format!("{number} {} ", data.len()));
        data.push_str(body);
        data.push(' ');
    }
    let entries = format!("/N {} /First {}", objects.len(), directory.len());
    (entries, (directory + &data).into_bytes())
}

/// Deflates bytes, with the header of zlib.
pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut compress = flate2::Compress::new(flate2::Compression::fast(), true);
    let mut out = Vec::with_capacity(bytes.len() + 1024);
    let status = compress.compress_vec(bytes, &mut out, flate2::FlushCompress::Finish);
    assert_eq!(status.ok(), Some(flate2::Status::StreamEnd));
    out
}

/// A deflate stream that makes at least this many spaces, written by hand: one literal, then copies of 258
/// bytes, 13 bits each.
pub(crate) fn bomb(len: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    // The last block, with fixed codes.
    bits.push(0b1, 1);
    bits.push(0b01, 2);
    // Codes go in with their first bit first. A space is 0x50, length 258 is 0b1100_0101, distance 1 is 0.
    bits.push_code(0x30 + 0x20, 8);
    for _ in 0..len.div_ceil(258) {
        bits.push_code(0b1100_0101, 8);
        bits.push_code(0, 5);
    }
    bits.push_code(0, 7);
    [&[0x78, 0x9c], bits.finish().as_slice()].concat()
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u32, len: u32) {
        self.held |= value << self.count;
        self.count += len;
        while self.count >= 8 {
            self.bytes.push(self.held.to_le_bytes()[0]);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    fn push_code(&mut self, code: u32, len: u32) {
        self.push(code.reverse_bits() >> (32 - len), len);
    }

    fn finish(mut self) -> Vec<u8> {
        self.push(0, 7);
        self.bytes
    }
}

/// A zip archive of these files, deflated.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in files {
        let method = rawzip::CompressionMethod::DEFLATE;
        let (mut entry, config) =
            archive.new_file(*name).compression_method(method).start().expect("an entry begins");
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
        let mut writer = config.wrap(encoder);
        std::io::Write::write_all(&mut writer, content).expect("memory takes it");
        let (encoder, descriptor) = writer.finish().expect("memory takes it");
        encoder.finish().expect("memory takes it");
        entry.finish(descriptor).expect("memory takes it");
    }
    archive.finish().expect("memory takes it");
    bytes
}

/// The media types of the formats that are archives.
pub(crate) const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
pub(crate) const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
pub(crate) const PPTX: &str = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
pub(crate) const ODT: &str = "application/vnd.oasis.opendocument.text";
pub(crate) const ODS: &str = "application/vnd.oasis.opendocument.spreadsheet";
pub(crate) const ODP: &str = "application/vnd.oasis.opendocument.presentation";
pub(crate) const EPUB: &str = "application/epub+zip";

/// A file of `fixtures/`, made by one of the scripts there, perhaps packed.
pub(crate) fn office(name: &str) -> Bytes {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let unpacked = |_| {
        let mut bytes = Vec::new();
        let packed = flate2::read::GzDecoder::new(std::fs::File::open(format!("{path}.gz"))?);
        std::io::Read::read_to_end(&mut { packed }, &mut bytes)?;
        Ok(bytes)
    };
    let bytes = std::fs::read(&path).or_else(unpacked);
    bytes.unwrap_or_else(|error: std::io::Error| panic!("{path}: {error}")).into()
}

/// The list of what a part of an office file refers to: identifier, kind, target.
pub(crate) fn relations(of: &[(&str, &str, &str)]) -> Vec<u8> {
    let kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let list: String = of
        .iter()
        .map(|(id, kind, target)| {
            format!("<Relationship Id='{id}' Type='{kinds}/{kind}' Target='{target}'/>")
        })
        .collect();
    format!("<Relationships>{list}</Relationships>").into_bytes()
}

/// A DOCX with this body, and further parts that it refers to: kind, file in `word/`, content.
pub(crate) fn docx(body: &str, parts: &[(&str, &str, &str)]) -> Vec<u8> {
    let document = format!("<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
    let kinds: Vec<_> = parts.iter().map(|(kind, file, _)| (*kind, *kind, *file)).collect();
    let (main, own) = (relations(&[("r1", "officeDocument", "word/document.xml")]), relations(&kinds));
    let names: Vec<_> = parts.iter().map(|(_, file, _)| format!("word/{file}")).collect();
    let mut files: Vec<(&str, &[u8])> = vec![
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", &main),
        ("word/document.xml", document.as_bytes()),
        ("word/_rels/document.xml.rels", &own),
    ];
    for (name, (_, _, content)) in names.iter().zip(parts) {
        files.push((name, content.as_bytes()));
    }
    zip(&files)
}

/// An XLSX of one sheet with these rows, shared texts and styles.
pub(crate) fn xlsx(sheet: &[u8], strings: &[u8], styles: &str) -> Vec<u8> {
    let main = relations(&[("r1", "officeDocument", "xl/workbook.xml")]);
    let own = relations(&[
        ("rId1", "worksheet", "worksheets/sheet1.xml"),
        ("rId2", "sharedStrings", "sharedStrings.xml"),
        ("rId3", "styles", "styles.xml"),
    ]);
    zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", &main),
        (
            "xl/workbook.xml",
            b"<workbook xmlns:r='r'><sheets><sheet name='One' r:id='rId1'/></sheets></workbook>",
        ),
        ("xl/_rels/workbook.xml.rels", &own),
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/sharedStrings.xml", strings),
        ("xl/styles.xml", styles.as_bytes()),
    ])
}

/// An OpenDocument file with this content.
pub(crate) fn open_document(media: &str, content: &[u8]) -> Vec<u8> {
    zip(&[("mimetype", media.as_bytes()), ("content.xml", content)])
}

/// An EPUB of these chapters.
pub(crate) fn epub(chapters: &[&[u8]]) -> Vec<u8> {
    let names: Vec<_> = (1..=chapters.len()).map(|n| format!("c{n}.xhtml")).collect();
    let items: String = names
        .iter()
        .map(|name| format!("<item id='{name}' href='{name}' media-type='application/xhtml+xml'/>"))
        .collect();
    let spine: String = names.iter().map(|name| format!("<itemref idref='{name}'/>")).collect();
    let package = format!("<package><manifest>{items}</manifest><spine>{spine}</spine></package>");
    let container = b"<container><rootfiles><rootfile full-path='book.opf'/></rootfiles></container>";
    let mut files: Vec<(&str, &[u8])> = vec![
        ("mimetype", EPUB.as_bytes()),
        ("META-INF/container.xml", container),
        ("book.opf", package.as_bytes()),
    ];
    files.extend(names.iter().map(String::as_str).zip(chapters.iter().copied()));
    zip(&files)
}

/// The files of a zip archive, by their names.
pub(crate) fn unzip(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    use std::io::Read;
    let archive = rawzip::ZipArchive::from_slice(bytes).expect("an archive");
    let mut entries = archive.entries();
    let mut files = Vec::new();
    while let Some(entry) = entries.next_entry().expect("a whole list") {
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        let found = archive.get_entry(entry.wayfinder()).expect("an entry");
        let mut content = Vec::new();
        if entry.compression_method() == rawzip::CompressionMethod::STORE {
            content.extend_from_slice(found.data());
        } else {
            let mut decoder = flate2::bufread::DeflateDecoder::new(found.data());
            decoder.read_to_end(&mut content).expect("whole data");
        }
        if !name.ends_with('/') {
            files.push((name, content));
        }
    }
    files
}
