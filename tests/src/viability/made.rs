//! Files, made here so that nothing of them is anybody's.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// A PDF with one page for each text.
pub(super) fn pdf(texts: &[&str]) -> Vec<u8> {
    let owned: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    written(&owned, "", "")
}

/// A page of a [`PDF`](mixed_pdf).
pub(super) enum Page {
    /// It says this.
    Text(&'static str),
    /// It is an image, as a scanner makes them, of one colour on the left and white on the right.
    Scan([u8; 3]),
}

/// A PDF of these pages.
pub(super) fn mixed_pdf(pages: &[Page]) -> Vec<u8> {
    let texts: Vec<String> = pages
        .iter()
        .map(|page| match page {
            Page::Text(text) => (*text).to_owned(),
            // An image in the content itself, of two pixels.
            Page::Scan([red, green, blue]) => format!(
                "%scan\nq 612 0 0 792 0 0 cm BI /W 2 /H 1 /BPC 8 /CS /RGB /F /AHx ID \
                 {red:02x}{green:02x}{blue:02x}ffffff> EI Q"
            ),
        })
        .collect();
    written(&texts, "", "")
}

/// A PDF with a ruled table of three columns, given row by row; empty texts are empty cells.
pub(super) fn table_pdf(rows: &[[&str; 3]]) -> Vec<u8> {
    const LEFT: [u32; 4] = [72, 232, 392, 540];
    let mut content = "%table\n".to_owned();
    for (line, row) in rows.iter().enumerate() {
        let bottom = 700 - 24 * line;
        for ((text, left), right) in row.iter().zip(LEFT).zip(LEFT.into_iter().skip(1)) {
            let _ = writeln!(content, "{left} {bottom} {} 24 re S", right - left);
            if !text.is_empty() {
                let _ = writeln!(content, "BT /F1 12 Tf {} {} Td ({text}) Tj ET", left + 6, bottom + 8);
            }
        }
    }
    written(&[content], "", "")
}

/// A PDF of so many pages that say their numbers.
pub(super) fn long_pdf(pages: usize) -> Vec<u8> {
    let texts: Vec<String> = (1..=pages).map(|page| format!("the number of this page is {page}")).collect();
    written(&texts, "", "")
}

/// A PDF whose one page holds so many bytes and no text.
pub(super) fn heavy_pdf(bytes: usize) -> Vec<u8> {
    // A remark in what the page shows, so that nobody can leave it out.
    written(&[format!("%{}", "x".repeat(bytes))], "", "")
}

/// A PDF that is encrypted with RC4 of 128 bits under a password that nobody knows.
pub(super) fn encrypted_pdf() -> Vec<u8> {
    let key = "aa".repeat(32);
    let encrypt = format!("<< /Filter /Standard /V 2 /R 3 /Length 128 /P -3904 /O <{key}> /U <{key}> >>");
    written(
        &["secret".to_owned()],
        &encrypt,
        "/ID [<01020304050607080910111213141516> <01020304050607080910111213141516>]",
    )
}

/// Objects one after the other, and a table of where they are.
fn written(texts: &[String], encrypt: &str, trailer: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..texts.len()).map(|at| format!("{} 0 R", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Count {} /Kids [{}] >>", texts.len(), kids.join(" ")),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (at, text) in texts.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + 2 * at
        ));
        let content = match text.as_str() {
            remark if remark.is_empty() || remark.starts_with('%') => remark.to_owned(),
            text => format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET"),
        };
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut trailer = trailer.to_owned();
    if !encrypt.is_empty() {
        objects.push(encrypt.to_owned());
        let _ = write!(trailer, " /Encrypt {} 0 R", objects.len());
    }
    let mut out = "%PDF-1.7\n".to_owned();
    let mut places = String::new();
    for (at, object) in objects.iter().enumerate() {
        let _ = writeln!(places, "{:010} 00000 n ", out.len());
        let _ = write!(out, "{} 0 obj\n{object}\nendobj\n", at + 1);
    }
    let start = out.len();
    let count = objects.len() + 1;
    let _ = write!(
        out,
        "xref\n0 {count}\n0000000000 65535 f \n{places}trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    );
    out.into_bytes()
}

/// Office before 2007, as the tests of the converters have them.
pub(super) const DOC: &[u8] = include_bytes!("../../../crates/convert/tests/fixtures/legacy.doc");
pub(super) const XLS: &[u8] = include_bytes!("../../../crates/convert/tests/fixtures/legacy.xls");

/// A PNG in black and white: a checkerboard of 8 pixels.
pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    png_of(width, height, 0)
}

/// The same with its first rows all black, so many, so that no two are the same.
pub(super) fn png_of(width: u32, height: u32, black: u32) -> Vec<u8> {
    let row = width.div_ceil(8) as usize;
    let mut pixels = Vec::with_capacity((row + 1) * height as usize);
    for line in 0..height {
        pixels.push(0);
        let odd = (line / 8) % 2 == 1;
        let is_white = |at: usize| line >= black && (at % 2 == 1) == odd;
        pixels.extend((0..row).map(|at| if is_white(at) { 0xff } else { 0 }));
    }
    encoded(width, height, 1, 0, &pixels, Compression::fast())
}

/// A PNG of noise in full colour, which no compression makes smaller.
pub(super) fn noise_png(width: u32, height: u32) -> Vec<u8> {
    let row = width as usize * 3 + 1;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut pixels: Vec<u8> = Vec::with_capacity(row * height as usize + 8);
    while pixels.len() < row * height as usize {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pixels.extend_from_slice(&state.to_le_bytes());
    }
    pixels.truncate(row * height as usize);
    pixels.iter_mut().step_by(row).for_each(|filter| *filter = 0);
    encoded(width, height, 8, 2, &pixels, Compression::none())
}

fn encoded(width: u32, height: u32, depth: u8, colour: u8, pixels: &[u8], level: Compression) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), level);
    // Writing into memory cannot fail.
    let _ = packed.write_all(pixels);
    let data = packed.finish().unwrap_or_default();
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, colour, 0, 0, 0]].concat();
    for (name, body) in [(b"IHDR", &*head), (b"IDAT", &*data), (b"IEND", &[])] {
        out.extend_from_slice(&(body.len() as u32).to_be_bytes());
        let chunk = [&name[..], body].concat();
        out.extend_from_slice(&chunk);
        out.extend_from_slice(&crc32fast::hash(&chunk).to_be_bytes());
    }
    out
}

/// A BMP of 24 bits, all of it one colour.
pub(super) fn bmp(width: u32, height: u32) -> Vec<u8> {
    let row = (width as usize * 3).next_multiple_of(4);
    let size = row * height as usize;
    let mut out = b"BM".to_vec();
    out.extend_from_slice(&(54 + size as u32).to_le_bytes());
    out.extend_from_slice(&[0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0]);
    out.extend_from_slice(&width.to_le_bytes());
    out.extend_from_slice(&height.to_le_bytes());
    out.extend_from_slice(&[1, 0, 24, 0, 0, 0, 0, 0]);
    out.extend_from_slice(&(size as u32).to_le_bytes());
    out.extend_from_slice(&[0; 16]);
    out.resize(54 + size, 0x7f);
    out
}

/// A DOCX of one paragraph.
pub(super) fn docx(text: &str) -> Vec<u8> {
    const NAMES: &str = "http://schemas.openxmlformats.org";
    let types = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><Types xmlns="{NAMES}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"#
    );
    let relations = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="{NAMES}/package/2006/relationships"><Relationship Id="r1" Type="{NAMES}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"#
    );
    let document = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="{NAMES}/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>"#
    );
    zip(&[
        ("[Content_Types].xml", types.as_bytes()),
        ("_rels/.rels", relations.as_bytes()),
        ("word/document.xml", document.as_bytes()),
    ])
}

/// An archive whose files are stored as they are.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in files {
        let start = out.len() as u32;
        let (size, length) = ((data.len() as u32).to_le_bytes(), (name.len() as u16).to_le_bytes());
        // Version, flags, method, time, date; then checksum, both sizes, the name's length and no extra field.
        let head = [
            &[20, 0, 0, 0, 0, 0, 0, 0, 33, 0][..],
            &crc32fast::hash(data).to_le_bytes(),
            &size,
            &size,
            &length,
            &[0, 0],
        ]
        .concat();
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&head);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(data);
        directory.extend_from_slice(b"PK\x01\x02\x14\0");
        directory.extend_from_slice(&head);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&start.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let start = (out.len() as u32).to_le_bytes();
    let (count, size) = ((files.len() as u16).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    out.extend_from_slice(&directory);
    out.extend_from_slice(&[&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &start, &[0, 0]].concat());
    out
}

/// Text in UTF-16, little end first, with its mark.
pub(super) fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// Japanese text in Shift JIS.
pub(super) fn shift_jis() -> Vec<u8> {
    let text = "件名：お見積りの件\n請求書の合計は二万円です。お支払いは来月の末日までにお願いいたします。\nご不明な点がございましたら、お気軽にお問い合わせください。\n";
    encoding_rs::SHIFT_JIS.encode(text).0.into_owned()
}
