//! Documents made to break their reader: each ends in an error or in a text, soon and in little memory.
//!
//! These tests are a process of their own, so that its peak of memory is theirs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "it/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use attache_convert::{ConvertError, Converted, Limits, Note, convert};
use common::{Builder, PDF, bomb, deflate, object_stream, read, text};

/// Far below what any of the bombs here would take; tests that run at the same time add up.
#[cfg(target_os = "linux")]
const MEMORY: usize = 500 << 20;

const HELLO: &str = "BT /F1 12 Tf 72 700 Td (Hello) Tj ET";

/// Converts under the default limits, and checks what it took.
#[track_caller]
fn survive(pdf: Vec<u8>) -> Result<Converted, ConvertError> {
    let start = Instant::now();
    let result = read(pdf);
    assert!(start.elapsed() < Limits::new().max_time + Duration::from_secs(5));
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib << 10 < MEMORY, "{} MiB", kib >> 10);
    }
    assert_ne!(result, Err(ConvertError::Failed));
    result
}

#[track_caller]
fn assert_too_large(pdf: Vec<u8>) {
    let result = survive(pdf);
    assert!(matches!(result, Err(ConvertError::TooLarge { .. })), "{result:?}");
}

#[track_caller]
fn assert_malformed(pdf: Vec<u8>) {
    let result = survive(pdf);
    assert!(matches!(result, Err(ConvertError::Malformed { .. })), "{result:?}");
}

/// The page is read; what is hostile about it is not.
#[track_caller]
fn assert_hello(pdf: Vec<u8>) {
    let text = survive(pdf).expect("the page can be read").text;
    assert!(text.contains("Hello"), "{text}");
}

#[test]
fn what_is_no_pdf_is_malformed() {
    assert_malformed(Vec::new());
    assert_malformed(vec![0; 1000]);
    assert_malformed(b"%PDF-1.7".to_vec());
    assert_malformed(b"<!doctype html><title>No PDF</title>".to_vec());
    assert_malformed(vec![b'<'; 3_000]);
    assert_malformed(b"<</A".repeat(3_000));
    assert_malformed((0..=255).cycle().take(1 << 20).collect());
    assert_malformed(b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj trailer<</Root 1 0 R>>".to_vec());
}

#[test]
fn a_document_cut_anywhere_ends_in_a_text_or_an_error() {
    for name in ["typst-report", "latex-article", "fpdf2-scripts"] {
        let whole = common::fixture(name);
        for cut in 1..24 {
            let _ = survive(whole[..whole.len() * cut / 24].to_vec());
        }
    }
}

#[test]
fn page_trees_that_run_in_circles_end() {
    let tree = |kids: &str| {
        Builder::page(HELLO).object(2, &format!("<< /Type /Pages /Kids [{kids}] /Count 9999 >>"))
    };
    assert_hello(tree("2 0 R 3 0 R 2 0 R 1 0 R").finish());
    assert_hello(tree("6 0 R 3 0 R").object(6, "<< /Type /Pages /Kids [2 0 R 6 0 R] >>").finish());
    let deep = format!("{}3 0 R{}", "<< /Type /Pages /Kids [".repeat(1000), "] >>".repeat(1000));
    let _ = survive(tree(&deep).finish());

    let mut chain = tree("10 0 R");
    for number in 10..5000 {
        chain = chain.object(number, &format!("<< /Type /Pages /Kids [{} 0 R] >>", number + 1));
    }
    assert_hello(chain.object(5000, "<< /Type /Pages /Kids [3 0 R] >>").finish());
}

#[test]
fn a_million_pages_in_a_few_bytes_are_too_many() {
    let kids = "<<>>".repeat(1 << 20);
    assert_too_large(Builder::page(HELLO).object(2, &format!("<< /Kids [{kids}] >>")).finish());

    let (entries, data) = object_stream(&[(2, &format!("<< /Kids [{kids}] >>"))]);
    let pdf = Builder::page(HELLO).stream(
        80,
        &format!("/Type /ObjStm /Filter /FlateDecode {entries}"),
        &deflate(&data),
    );
    assert_too_large(pdf.finish_with_stream(80, &[2]));
}

#[test]
fn content_that_grows_is_left_out() {
    for (entries, data) in [
        ("/Filter /FlateDecode", bomb(1 << 30)),
        ("/Filter [/FlateDecode /FlateDecode]", deflate(&bomb(1 << 30))),
        ("/Filter [/FlateDecode /FlateDecode /FlateDecode]", deflate(&deflate(&bomb(1 << 30)))),
        ("/Filter [/RunLengthDecode /RunLengthDecode]", literally(&run_length(1 << 27))),
        ("/Filter /LZWDecode", lzw_bomb(2_000_000)),
    ] {
        let pdf = Builder::page("").stream(4, entries, &data).finish();
        let result = survive(pdf);
        assert!(matches!(result, Err(ConvertError::NothingRead { .. })), "{entries}: {result:?}");
    }

    // It is their size that is refused: shorter ones of the same make are read to their end, and hold only spaces.
    for (entries, data) in [
        ("/Filter /FlateDecode", bomb(1 << 20)),
        ("/Filter [/RunLengthDecode /RunLengthDecode]", literally(&run_length(1 << 20))),
        ("/Filter /LZWDecode", lzw_bomb(3 * LZW_CYCLE)),
    ] {
        let result = survive(Builder::page("").stream(4, entries, &data).finish());
        assert!(matches!(result, Err(ConvertError::NoText { .. })), "{entries}: {result:?}");
    }

    // Two spaces hold the mark of the end for LZW: what follows is no content.
    let pdf =
        Builder::page("").stream(4, "/Filter [/LZWDecode /LZWDecode]", &lzw_bomb(3 * LZW_CYCLE)).finish();
    assert!(matches!(survive(pdf), Err(ConvertError::NoText { .. })));

    // One page does not spoil the others.
    let pdf = Builder::page(HELLO)
        .object(2, "<< /Type /Pages /Kids [3 0 R 6 0 R] >>")
        .object(6, "<< /Type /Page /Parent 2 0 R /Contents 7 0 R >>")
        .stream(7, "/Filter /FlateDecode", &bomb(1 << 30));
    let converted = survive(pdf.finish()).unwrap();
    assert!(converted.truncated);
    assert!(
        matches!(&converted.notes[0], Note::PartsLeftOut { numbers, .. } if numbers == &[2]),
        "{converted:?}"
    );
}

/// So many spaces as runs: two bytes for 127 of them, and a mark of the end.
fn run_length(spaces: usize) -> Vec<u8> {
    let mut bytes = [257_u16.wrapping_sub(127).to_le_bytes()[0], b' '].repeat(spaces / 127);
    bytes.push(128);
    bytes
}

/// Bytes as they are, but in the runs of the same filter.
fn literally(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for run in bytes.chunks(128) {
        out.push(u8::try_from(run.len() - 1).unwrap());
        out.extend_from_slice(run);
    }
    out.push(128);
    out
}

/// After how many codes a bomb of LZW starts anew, before there are codes of 13 bits.
const LZW_CYCLE: usize = 3800;

/// A code that is not known yet again and again: each stands for one byte more than the last one.
fn lzw_bomb(codes: usize) -> Vec<u8> {
    let (mut bytes, mut held, mut count) = (Vec::new(), 0_u64, 0_u32);
    let mut push = |code: u64, width: u32| {
        held = held << width | code;
        count += width;
        while count >= 8 {
            count -= 8;
            bytes.push((held >> count) as u8);
            held &= (1 << count) - 1;
        }
    };
    let mut width = 9;
    for index in 0..codes {
        let step = index % LZW_CYCLE;
        let code = match step {
            // Said in the width of what was, and begins with the least.
            0 => {
                push(256, width);
                width = 9;
                continue;
            }
            1 => 32,
            _ => 256 + step,
        };
        // The next entry is the number of the code itself; a code earlier than needed it is a bit longer.
        width = match 256 + step + 1 {
            2048.. => 12,
            1024.. => 11,
            512.. => 10,
            _ => 9,
        };
        push(code as u64, width);
    }
    // The table behind the last code is one entry longer.
    push(257, width);
    push(0, 7);
    bytes
}

#[test]
fn the_same_stream_a_hundred_thousand_times_is_left_out() {
    let contents = "4 0 R ".repeat(100_000);
    let pdf = Builder::page("")
        .object(3, &format!("<< /Type /Page /Parent 2 0 R /Contents [{contents}] >>"))
        .stream(4, "/Filter /FlateDecode", &bomb(1 << 20));
    assert!(matches!(survive(pdf.finish()), Err(ConvertError::NothingRead { .. })));
}

#[test]
fn object_tables_that_grow_are_refused_before_the_file_is_opened() {
    let catalog = "<< /Type /Catalog /Pages 2 0 R >>";
    let (entries, _) = object_stream(&[(1, catalog)]);
    let flate = format!("/Filter /FlateDecode {entries}");
    let with = |number: u32, entries: &str, data: &[u8]| {
        Builder::page(HELLO).stream(number, entries, data).finish_with_stream(number, &[1])
    };
    // Said to be an object stream or not, in one filter or several, cut off or damaged.
    assert_too_large(with(80, &format!("/Type /ObjStm {flate}"), &bomb(1 << 30)));
    assert_too_large(with(80, &flate, &bomb(1 << 30)));
    assert_too_large(with(80, &format!("/Type 81 0 R {flate}"), &bomb(1 << 30)));
    let chain = format!("/Type /ObjStm /Filter [/FlateDecode /FlateDecode] {entries}");
    assert_too_large(with(80, &chain, &deflate(&bomb(1 << 30))));
    assert_too_large(with(80, &flate, &bomb(1 << 30)[..4 << 20]));
    // A stored block whose length is denied: strict decoders stop, the library's does not.
    let damaged = [&[0x00, 1, 0, 0, 0, b' '], &bomb(1 << 24)[2..]].concat();
    let limits = Limits::new().with_max_decoded_bytes(1 << 20);
    let result = convert(PDF, with(80, &flate, &damaged).into(), &limits);
    assert!(matches!(result, Err(ConvertError::TooLarge { .. })), "{result:?}");
    // Numbered 180, but 80 for whoever starts reading one byte later.
    let pdf = Builder::page(HELLO).raw(b"1");
    let pdf = pdf.stream(80, &flate, &bomb(1 << 30)).finish_with_stream(80, &[1]);
    assert_too_large(pdf);
    // A comment hides the number.
    let pdf = Builder::page(HELLO);
    let at = pdf.position();
    let hidden = format!("80 0 obj % it\n<< {flate} /Length 7000000 >>\nstream\n");
    let pdf = pdf.raw(hidden.as_bytes()).raw(&bomb(1 << 30)).raw(b"\nendstream\nendobj\n");
    assert_too_large(pdf.listed(80, at).finish_with_stream(80, &[1]));
    // Filters out of sight.
    assert_malformed(with(80, &format!("/Type /ObjStm /Filter 81 0 R {entries}"), &bomb(1 << 30)));
    let parameters = format!("/Type /ObjStm {flate} /DecodeParms << /Predictor 12 /Columns 81 0 R >>");
    assert_malformed(with(80, &parameters, &deflate(b"1 0 x")));
}

#[test]
fn cross_reference_streams_that_grow_are_refused() {
    let pdf = |entries: &str, data: &[u8]| {
        let pdf = Builder::page(HELLO);
        let start = pdf.position();
        let pdf = pdf.stream(90, &format!("/Type /XRef /Root 1 0 R {entries}"), data);
        pdf.raw(format!("startxref\n{start}\n%%EOF\n").as_bytes()).into_bytes()
    };
    assert_too_large(pdf("/W [1 4 1] /Size 91 /Filter /FlateDecode", &bomb(1 << 30)));
    // One byte an entry.
    assert_too_large(pdf("/W [0 1 0] /Size 9999999 /Filter /FlateDecode", &bomb(16 << 20)));
    // Rows so wide that nobody could hold one.
    let wide = "/W [1 4 1] /Size 91 /Filter /FlateDecode /DecodeParms << /Predictor 12 /Colors 5 /Columns 1000000000000000 >>";
    assert_malformed(pdf(wide, &deflate(&[2; 1000])));
    // A circle of updates.
    let pdf = Builder::page(HELLO);
    let start = pdf.position();
    assert_hello(pdf.finish_with(&format!("/Prev {start}")));
}

#[test]
fn fonts_that_grow_are_left_out() {
    let font = |font: &str, parts: Builder| {
        let pdf = parts.object(6, font).object(
            3,
            "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
        );
        assert_hello(pdf.finish());
    };
    let page = || Builder::page(&format!("{HELLO} BT /F2 12 Tf 72 600 Td (Bomb) Tj ET"));
    let flate = "/Filter /FlateDecode";
    let descriptor = "<< /Type /FontDescriptor /Flags 4 /FontFile2 8 0 R >>";
    font(
        "<< /Type /Font /Subtype /TrueType /BaseFont /X /FontDescriptor 7 0 R >>",
        page().object(7, descriptor).stream(8, flate, &bomb(1 << 30)),
    );
    let map = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 7 0 R >>";
    font(map, page().stream(7, flate, &bomb(1 << 30)));
    // Predictor rows of a petabyte.
    let parameters = format!("{flate} /DecodeParms << /Predictor 12 /Colors 5 /Columns 1000000000000000 >>");
    font(map, page().stream(7, &parameters, &deflate(&[2; 1000])));
    // A character map that loads a large one again and again.
    font(map, page().stream(7, "", &b"/UniJIS-UTF16-H usecmap ".repeat(20_000)));
    // Four thousand million widths, and as many before the first.
    let composite =
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [7 0 R] >>";
    for widths in ["/W [0 4294967295 500]", "/W2 [0 4294967295 1 2 3]", "/W [1 [2] 0 4294967295 500]"] {
        let descendant = format!("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X {widths} >>");
        font(composite, page().object(7, &descendant));
    }
    let widths = "<< /Type /Font /Subtype /Type1 /BaseFont /X /FirstChar 99999999999 /LastChar 99999999999 /Widths [1] >>";
    font(widths, page());
}

#[test]
fn forms_that_call_themselves_end() {
    let form = |number: u32, content: &str, resources: &str| {
        (
            number,
            format!("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << {resources} >>"),
            content.to_owned(),
        )
    };
    let build = |forms: &[(u32, String, String)]| {
        let mut pdf =
            Builder::page_with(&format!("{HELLO} /X Do"), "/Font << /F1 5 0 R >> /XObject << /X 10 0 R >>");
        for (number, entries, content) in forms {
            pdf = pdf.stream(*number, entries, content.as_bytes());
        }
        pdf.finish()
    };
    assert_hello(build(&[form(10, "/X Do", "/XObject << /X 10 0 R >>")]));

    // Each calls the next one, once, or ten times: more often than will ever end.
    let chain = |times: usize| {
        let forms: Vec<_> = (10..30)
            .map(|n| form(n, &"/X Do ".repeat(times), &format!("/XObject << /X {} 0 R >>", n + 1)))
            .collect();
        build(&forms)
    };
    let result = survive(chain(1)).unwrap();
    assert!(matches!(result.notes[..], [Note::PartsLeftOut { .. }]), "{:?}", result.notes);
    let limit = Duration::from_millis(500);
    let result = convert(PDF, chain(10).into(), &Limits::new().with_max_time(limit));
    assert_eq!(result, Err(ConvertError::TimedOut { limit }));
}

#[test]
fn a_page_of_endless_text_is_cut() {
    let shown = "0 -1 Td (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ";
    let content = format!("BT /F1 1 Tf 72 700 Td (Hello) Tj {} ET", shown.repeat(20_000));
    let pdf = Builder::page("").stream(4, "/Filter /FlateDecode", &deflate(content.as_bytes())).finish();
    let converted = survive(pdf).unwrap();
    assert!(converted.truncated && converted.text.len() <= Limits::new().max_output_bytes);

    // As many places, none beside another.
    let content = format!("BT /F1 1 Tf {} ET", "7 3 Td (a) Tj ".repeat(200_000));
    let pdf = Builder::page("").stream(4, "/Filter /FlateDecode", &deflate(content.as_bytes())).finish();
    let _ = survive(pdf);
    let content = format!("BT /F1 1 Tf {} ET", "7 0 Td (a) Tj ".repeat(200_000));
    let pdf = Builder::page("").stream(4, "/Filter /FlateDecode", &deflate(content.as_bytes())).finish();
    let _ = survive(pdf);
}

#[test]
fn lines_of_endless_cells_and_endless_raised_letters_are_read() {
    let page = |content: String| {
        let content = deflate(format!("BT /F1 1 Tf {content} ET").as_bytes());
        text_of(Builder::page("").stream(4, "/Filter /FlateDecode", &content).finish())
    };
    // Two lines that could be a table of 40,000 columns.
    let line = "3 0 Td (a) Tj ".repeat(40_000);
    assert!(page(format!("{line} -120000 -1.2 Td {line}")).contains("a | a | a"));
    // As many texts, each in a column of its own.
    let row = "3 0 Td (b) Tj ".repeat(40);
    assert!(page(format!("{row} -119.9 -1.2 Td ").repeat(2_000)).contains("b | b"));
    // Each line has a small letter that stands in a row of its own.
    let marked = "/F1 1 Tf (c) Tj /F1 0.4 Tf 0.6 0.85 Td (2) Tj -0.6 -3 Td ".repeat(45_000);
    assert!(page(marked).contains("c2"));
}

/// The text of a document that is read soon.
#[track_caller]
fn text_of(pdf: Vec<u8>) -> String {
    survive(pdf).expect("it is read in time").text
}

#[test]
fn nonsense_in_content_is_passed_over() {
    for nonsense in [
        "q ".repeat(100_000),
        "Q ".repeat(1000),
        "[".repeat(100_000),
        "<< /A ".repeat(1000),
        "/Span << /ActualText (x) >> BDC ".repeat(100_000),
        "EMC ".repeat(1000),
        "1e999 0 0 1e999 0 0 cm BT /F1 1e308 Tf 1e308 Tc (x) Tj ET Q".to_owned(),
        "BT /F1 -0 Tf 0 Tz (x) Tj /None 1 Tf (\u{e9}) Tj ET".to_owned(),
        "0 0 0 0 0 0 cm BT /F1 12 Tf (x) Tj ET".to_owned(),
        "BI /W 99999 /H 99999 ID EI".to_owned(),
        "(".repeat(10_000),
    ] {
        let pdf = Builder::page(&format!("{HELLO} q {nonsense}")).finish();
        assert_hello(pdf);
    }
}

#[test]
fn annotations_that_run_in_circles_end() {
    let pdf = Builder::page(HELLO).object(
        3,
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> \
         /Annots [6 0 R 6 0 R 3 0 R] >>",
    );
    let pdf = pdf.object(6, "<< /Type /Annot /Subtype /Widget /Rect [0 0 0 0] /AP << /N 7 0 R >> >>").stream(
        7,
        "/Subtype /Form /BBox [0 0 0 0] /Resources << /XObject << /X 7 0 R >> >>",
        b"/X Do",
    );
    assert_hello(pdf.finish());
}

#[test]
fn objects_nested_too_deep_do_not_overflow_the_stack() {
    for (open, close, depth) in
        [("[", "]", 100_000), ("(", ")", 100_000), ("<< /A ", " >>", 2_000), ("[ << /A ", " >> ]", 2_000)]
    {
        let deep = format!("{}0{}", open.repeat(depth), close.repeat(depth));
        let _ = survive(Builder::page(HELLO).object(9, &deep).finish());
        let resources = format!("/Font << /F1 5 0 R >> /ExtGState {deep}");
        let _ = survive(Builder::page_with(HELLO, &resources).finish());
        assert_hello(Builder::page(&format!("{HELLO} {deep} gs")).finish());
    }
}

#[test]
fn lengths_and_offsets_that_lie_are_repaired() {
    let good = Builder::page(HELLO).finish();
    let source = String::from_utf8(good).unwrap();
    assert_eq!(text(source.replace("/Length 36", "/Length 99999999")), "[page 1]\nHello\n");
    assert_eq!(text(source.replace("/Length 36", "/Length -1")), "[page 1]\nHello\n");
    assert_eq!(text(source.replace("startxref\n", "startxref\n9999")), "[page 1]\nHello\n");
    assert_eq!(text(source.replace("0000000009 00000 n", "0000000010 00000 n")), "[page 1]\nHello\n");
}

#[test]
fn time_is_kept_even_when_there_is_hardly_any() {
    let limit = Duration::from_nanos(1);
    let result = convert(PDF, common::fixture("latex-article"), &Limits::new().with_max_time(limit));
    assert_eq!(result, Err(ConvertError::TimedOut { limit }));
}
