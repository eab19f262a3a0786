//! Pages as images: what is on them, how many, in which form, and what hostile ones cost.
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

use attache_convert::{ConvertError, DocumentConverter, Limits, can_render, render_pages};
use attache_core::converter::{MediaLimits, PageImage, RenderedPages};
use attache_core::{Converter, Document, MediaType};
use common::{Builder, deflate, fixture};

/// The limits, for a machine that does much else.
fn patient() -> Limits {
    Limits::new().with_max_time(Duration::from_secs(120))
}

fn form() -> MediaLimits {
    MediaLimits::of(["image/png", "image/jpeg"])
}

fn render(pdf: impl Into<bytes::Bytes>) -> Result<RenderedPages, ConvertError> {
    render_pages(pdf.into(), &[1..=usize::MAX], &form(), &patient())
}

/// The pixels of an image: width, height, and red, green and blue of a place.
struct Pixels(image::RgbImage);

impl Pixels {
    fn of(image: &PageImage) -> Self {
        Self::decoded(&image.bytes, &image.media_type)
    }

    fn decoded(bytes: &[u8], media_type: &MediaType) -> Self {
        // Decoders that had no part in the making of the images.
        if media_type.essence() == "image/png" {
            let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
            decoder.set_transformations(png::Transformations::EXPAND);
            let mut reader = decoder.read_info().unwrap();
            let mut data = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut data).unwrap();
            let channels = info.color_type.samples();
            let rgb = data[..info.buffer_size()].chunks_exact(channels).flat_map(|pixel| match channels {
                1 => [pixel[0]; 3],
                _ => [pixel[0], pixel[1], pixel[2]],
            });
            return Self(image::RgbImage::from_raw(info.width, info.height, rgb.collect()).unwrap());
        }
        Self(image::load_from_memory_with_format(bytes, image::ImageFormat::Jpeg).unwrap().to_rgb8())
    }

    /// The colour at a place, in parts of the width and height, from the top left.
    #[track_caller]
    fn assert(&self, (across, down): (f32, f32), colour: [u8; 3]) {
        let (width, height) = self.0.dimensions();
        let at = ((width as f32 * across) as u32, (height as f32 * down) as u32);
        let found = self.0.get_pixel(at.0, at.1).0;
        let apart = found.iter().zip(colour).map(|(a, b)| a.abs_diff(b)).max().unwrap();
        assert!(apart <= 12, "{found:?} at {at:?} of {width} × {height}, not {colour:?}");
    }
}

const WHITE: [u8; 3] = [255; 3];
const RED: [u8; 3] = [255, 0, 0];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];

/// A PDF whose pages show these contents, with the resources and the entries of each page given.
fn pages(contents: &[&str], resources: &str, entries: &str) -> Builder {
    let kids: Vec<String> = (0..contents.len()).map(|at| format!("{} 0 R", 100 + 2 * at)).collect();
    let mut builder = Builder::new()
        .object(1, "<< /Type /Catalog /Pages 2 0 R >>")
        .object(2, &format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), contents.len()));
    for (at, content) in contents.iter().enumerate() {
        let number = 100 + 2 * at as u32;
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] {entries} /Contents {} 0 R \
             /Resources << {resources} >> >>",
            number + 1
        );
        builder = builder.object(number, &page).stream(number + 1, "", content.as_bytes());
    }
    builder
}

/// A scan: a page that is one image of two columns, green and blue.
fn scan() -> Vec<u8> {
    let pixels = deflate(&[GREEN, BLUE].concat().repeat(40));
    pages(&["q 600 0 0 800 0 0 cm /Im Do Q"], "/XObject << /Im 9 0 R >>", "")
        .stream(
            9,
            "/Type /XObject /Subtype /Image /Width 2 /Height 40 /BitsPerComponent 8 /ColorSpace /DeviceRGB \
             /Filter /FlateDecode",
            &pixels,
        )
        .finish()
}

// ISO 32000-1, 8.3.2.3: the origin is at the lower left, a unit is 1/72 of an inch.
#[test]
fn a_rectangle_stands_where_the_page_puts_it() {
    let rendered = render(pages(&["1 0 0 rg 60 640 180 80 re f"], "", "").finish()).unwrap();
    assert_eq!((rendered.total, rendered.images.len()), (1, 1));
    let pixels = Pixels::of(&rendered.images[0]);
    assert_eq!(pixels.0.dimensions(), (1500, 2000), "2,000 pixels on the longer side");
    pixels.assert((0.25, 0.15), RED);
    // Just inside and just outside of each edge: from 10 to 40 % across, 10 to 20 % down.
    for (inside, outside) in [
        ((0.102, 0.15), (0.098, 0.15)),
        ((0.398, 0.15), (0.402, 0.15)),
        ((0.25, 0.102), (0.25, 0.098)),
        ((0.25, 0.198), (0.25, 0.202)),
    ] {
        pixels.assert(inside, RED);
        pixels.assert(outside, WHITE);
    }
}

#[test]
fn a_scan_is_seen_upright_and_in_its_colours() {
    let pixels = Pixels::of(&render(scan()).unwrap().images[0]);
    pixels.assert((0.2, 0.5), GREEN);
    pixels.assert((0.8, 0.5), BLUE);
    // 7.7.3.3: Rotate turns a page clockwise, so that what is on its left is at the top.
    let turned = pages(&["0 1 0 rg 0 0 300 800 re f"], "", "/Rotate 90").finish();
    let pixels = Pixels::of(&render(turned).unwrap().images[0]);
    assert_eq!(pixels.0.dimensions(), (2000, 1500));
    pixels.assert((0.5, 0.25), GREEN);
    pixels.assert((0.5, 0.75), WHITE);
}

#[test]
fn a_photo_in_a_page_is_drawn() {
    let path = format!("{}/tests/fixtures/images/baseline-444.jpg", env!("CARGO_MANIFEST_DIR"));
    let jpeg = std::fs::read(path).unwrap();
    let direct = Pixels::decoded(&jpeg, &MediaType::parse("image/jpeg").unwrap());
    let (width, height) = direct.0.dimensions();
    let entries = format!(
        "/Type /XObject /Subtype /Image /Width {width} /Height {height} /BitsPerComponent 8 \
         /ColorSpace /DeviceRGB /Filter /DCTDecode"
    );
    let page = pages(&["q 600 0 0 800 0 0 cm /Im Do Q"], "/XObject << /Im 9 0 R >>", "");
    let rendered = render(page.stream(9, &entries, &jpeg).finish()).unwrap();
    let pixels = Pixels::of(&rendered.images[0]);
    for place in [(0.03, 0.03), (0.3, 0.4), (0.7, 0.6), (0.95, 0.9)] {
        let at = ((width as f32 * place.0) as u32, (height as f32 * place.1) as u32);
        pixels.assert(place, direct.0.get_pixel(at.0, at.1).0);
    }
}

#[test]
fn the_pages_that_are_asked_for_and_no_others() {
    let contents =
        ["1 0 0 rg 0 0 600 400 re f", "", "0 1 0 rg 0 0 600 400 re f", "0 0 1 rg 0 0 600 400 re f"];
    let pdf = bytes::Bytes::from(pages(&contents, "", "").finish());
    let of = |asked: &[std::ops::RangeInclusive<usize>], form: &MediaLimits| {
        render_pages(pdf.clone(), asked, form, &patient())
    };
    let rendered = of(&[2..=3], &form()).unwrap();
    assert_eq!((rendered.total, &*rendered.blank, &*rendered.failed), (4, &[2][..], &[][..]));
    assert_eq!(rendered.images.iter().map(|image| image.page).collect::<Vec<_>>(), [3]);
    Pixels::of(&rendered.images[0]).assert((0.5, 0.75), GREEN);
    let rendered = of(&[1..=1, 4..=900], &form()).unwrap();
    assert_eq!(rendered.images.iter().map(|image| image.page).collect::<Vec<_>>(), [1, 4]);
    // A limit leaves out the last ones.
    let rendered = of(&[1..=usize::MAX], &form().with_max_pages(2)).unwrap();
    assert_eq!(rendered.images.iter().map(|image| image.page).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(rendered, of(&[1..=usize::MAX], &form().with_max_pages(2)).unwrap(), "the same each time");
    assert_eq!(of(&[5..=9], &form()).unwrap(), RenderedPages::new(Vec::new(), 4), "there are no such pages");
    let many = vec!["1 0 0 rg 0 0 600 400 re f"; 25];
    assert_eq!(render(pages(&many, "", "").finish()).unwrap().images.len(), 20, "however many are asked for");
}

#[test]
fn images_keep_the_limits_of_the_form() {
    let mut state = 1_u32;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    let noise: Vec<u8> = (0..1_500 * 2_000 * 3).map(|_| noise()).collect();
    let entries =
        "/Type /XObject /Subtype /Image /Width 1500 /Height 2000 /BitsPerComponent 8 /ColorSpace /DeviceRGB";
    let pdf = pages(&["q 600 0 0 800 0 0 cm /Im Do Q"], "/XObject << /Im 9 0 R >>", "");
    let pdf = bytes::Bytes::from(pdf.stream(9, entries, &noise).finish());
    let of =
        |form: MediaLimits| render_pages(pdf.clone(), &[1..=1], &form, &patient()).unwrap().images.remove(0);
    assert_eq!(of(form()).media_type.essence(), "image/jpeg", "a photo");
    let small = of(form().with_max_pixels(400));
    assert_eq!(Pixels::of(&small).0.dimensions(), (300, 400));
    let short = of(form().with_max_bytes(60_000));
    assert!(short.bytes.len() <= 60_000, "{}", short.bytes.len());
    assert_eq!(of(MediaLimits::of(["image/png"]).with_max_pixels(200)).media_type.essence(), "image/png");
    assert!(can_render("application/pdf; version=1.7", &form()));
    assert!(!can_render("application/pdf", &MediaLimits::of(["image/webp"])));
    assert!(!can_render("image/png", &form()));
    // A small page is not blown up: 200 pixels for an inch.
    let card = scan_of("[0 0 144 72]");
    assert_eq!(Pixels::of(&render(card).unwrap().images[0]).0.dimensions(), (400, 200));
}

fn scan_of(media_box: &str) -> Vec<u8> {
    Builder::new()
        .object(1, "<< /Type /Catalog /Pages 2 0 R >>")
        .object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
        .object(3, &format!("<< /Type /Page /Parent 2 0 R /MediaBox {media_box} /Contents 4 0 R >>"))
        .stream(4, "", b"1 0 0 rg 0 0 30 30 re f")
        .finish()
}

#[test]
fn pages_of_absurd_size_are_named_and_others_stay() {
    for absurd in ["[0 0 0 0]", "[0 0 99999999999999 9999999999999]", "[0 0 0.0000001 5]", "[5 5 5 900]"] {
        let rendered = render(scan_of(absurd)).unwrap();
        assert!(
            rendered.images.len() + rendered.failed.len() + rendered.blank.len() == 1,
            "{absurd}: {rendered:?}"
        );
    }
    let contents = ["1 0 0 rg 0 0 600 400 re f", "q /Fm Do Q", "0 1 0 rg 0 0 600 400 re f"];
    let pdf = pages(&contents, "/XObject << /Fm 9 0 R >>", "");
    let pdf = pdf.stream(9, "/Type /XObject /Subtype /Form /BBox [0 0 9 9]", b"/Fm Do").finish();
    let rendered = render(pdf).unwrap();
    assert_eq!(rendered.images.iter().map(|image| image.page).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(rendered.failed, [2]);
}

#[test]
fn an_image_that_cannot_be_decoded_is_said_to_be_missing() {
    let broken = pages(&["q 600 0 0 800 0 0 cm /Im Do Q"], "/XObject << /Im 9 0 R >>", "").stream(
        9,
        "/Type /XObject /Subtype /Image /Width 20 /Height 20 /BitsPerComponent 8 /ColorSpace /DeviceRGB /Filter /DCTDecode",
        b"no photo",
    );
    let rendered = render(broken.finish()).unwrap();
    assert_eq!((rendered.failed.as_slice(), rendered.images.len()), (&[1][..], 0));
    let half = pages(&["1 0 0 rg 0 0 600 400 re f q 600 0 0 800 0 0 cm /Im Do Q"], "/XObject << /Im 9 0 R >>", "")
        .stream(
            9,
            "/Type /XObject /Subtype /Image /Width 20 /Height 20 /BitsPerComponent 8 /ColorSpace /DeviceRGB /Filter /DCTDecode",
            b"no photo",
        );
    let rendered = render(half.finish()).unwrap();
    assert_eq!((rendered.partial.as_slice(), rendered.images.len()), (&[1][..], 1));
}

#[test]
fn protected_files_open_only_without_a_password() {
    for name in ["encrypted-restricted-aes128", "encrypted-restricted-aes256", "encrypted-restricted-rc4"] {
        let rendered = render(fixture(name)).unwrap();
        assert!(!rendered.images.is_empty() && rendered.failed.is_empty(), "{name}: {rendered:?}");
    }
    let locked = render(fixture("encrypted-password"));
    assert!(matches!(locked, Err(ConvertError::Encrypted { .. })), "{locked:?}");
    assert!(matches!(render(&b"no PDF"[..]), Err(ConvertError::Malformed { .. })));
    assert!(matches!(render(&b""[..]), Err(ConvertError::Malformed { .. })));
}

#[test]
fn pages_of_usual_programs_are_drawn_whole() {
    for name in [
        "typst-report",
        "latex-article",
        "reportlab-form",
        "reportlab-cjk",
        "matplotlib-chart",
        "libreoffice-letter",
        "weasyprint-columns",
        "weasyprint-hebrew",
        "ghostscript-expenses",
        "reportlab-scan",
        "fpdf2-scripts",
    ] {
        let rendered = render(fixture(name)).unwrap();
        assert_eq!(
            (&*rendered.failed, &*rendered.partial),
            (&[][..], &[][..]),
            "{name}: {:?}",
            rendered.total
        );
        assert!(!rendered.images.is_empty(), "{name}");
        for image in &rendered.images {
            let ink = Pixels::of(image).0.pixels().filter(|pixel| pixel.0 != WHITE).count();
            assert!(ink > 500, "{name}, page {}: {ink}", image.page);
        }
    }
}

/// The page is refused, soon and in little memory.
#[track_caller]
fn assert_refused(what: &str, pdf: Vec<u8>) {
    let start = Instant::now();
    let rendered = render(pdf).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (took, shown) = (start.elapsed(), rendered.images.len());
    assert_eq!((rendered.failed.as_slice(), shown), (&[1][..], 0), "{what}");
    assert!(took < Duration::from_secs(10), "{what}: {took:?}");
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib < 700 << 10, "{what}: {} MiB", kib >> 10);
    }
}

#[test]
fn pages_that_ask_for_too_much_are_refused() {
    let form = "/Type /XObject /Subtype /Form /BBox [0 0 600 800]";
    // Ten forms, each of which shows the next ten times.
    let mut tower = pages(&["/F0 Do"], "/XObject << /F0 200 0 R >>", "");
    for level in 0..10 {
        let entries = format!("{form} /Resources << /XObject << /N {} 0 R >> >>", 201 + level);
        tower = tower.stream(200 + level, &entries, "/N Do ".repeat(10).as_bytes());
    }
    assert_refused("forms in forms", tower.stream(210, form, b"0 0 9 9 re f").finish());

    for dashes in [
        "[0.00001] 0 d 0 0 m 600 800 l S",
        "[0] 0 d 0 0 m 90000 90000 l S",
        "[-1 1] 0 d 0 0 m 600 800 l S",
        "[1] 0 d 0 0 m 900000000 900000000 l S",
        "/Gs gs 0 0 m 600 800 l S",
    ] {
        let resources = "/ExtGState << /Gs << /D [[0.00001] 0] >> >>";
        assert_refused(dashes, pages(&[dashes], resources, "").finish());
    }

    let tile = |entries: &str| {
        let paint = "/Pattern cs /P scn 0 0 600 800 re f";
        let entries = format!("/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 {entries}");
        pages(&[paint], "/Pattern << /P 9 0 R >>", "").stream(9, &entries, b"1 0 0 rg 0 0 5 5 re f").finish()
    };
    assert_refused("steps in a cell", tile("/BBox [0 0 10000 10000] /XStep 0.01 /YStep 0.01"));
    assert_refused("a flat cell", tile("/BBox [0 0 10 10] /XStep 10 /YStep 10 /Matrix [1 1 1 1.000001 0 0]"));

    let image = |entries: &str, data: &[u8]| {
        let entries = format!("/Type /XObject /Subtype /Image /ColorSpace /DeviceGray {entries}");
        let page = pages(&["q 600 0 0 800 0 0 cm /Im Do Q"], "/XObject << /Im 9 0 R >>", "");
        page.stream(9, &entries, data).finish()
    };
    let huge = "/Width 60000 /Height 60000 /BitsPerComponent 1";
    assert_refused("a bitmap", image(&format!("{huge} /Filter /FlateDecode"), &common::bomb(64 << 20)));
    assert_refused("a fax", image(&format!("{huge} /Filter /CCITTFaxDecode"), b"\0\0"));
    let wide = "/Width 9 /Height 60000 /BitsPerComponent 1 /Filter /CCITTFaxDecode /DecodeParms << /Columns 60000 /K -1 >>";
    assert_refused("a wide fax", image(wide, b"\0\0"));
    // Information about a page: number, type, no references, page 1, 19 bytes; 60,000 by 60,000.
    let side = 60_000_u32.to_be_bytes();
    let jbig2 = [&[0, 0, 0, 0, 48, 0, 1, 0, 0, 0, 19][..], &side, &side, &[0; 11]].concat();
    assert_refused("JBIG2", image("/Width 9 /Height 9 /BitsPerComponent 1 /Filter /JBIG2Decode", &jbig2));
    // Dictionaries: 16,777,216 patterns of 255 by 255, and a million symbols in 34 bytes.
    let one = |kind: u8, data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        let page = [&[0, 0, 0, 0, 48, 0, 1, 0, 0, 0, 19][..], &[0, 0, 0, 9, 0, 0, 0, 9], &[0; 11]].concat();
        [&page, &[0, 0, 0, 1, kind, 0, 1][..], &length, data].concat()
    };
    let patterns = [&[0, 255, 255, 0, 255, 255, 255][..], &[0; 30]].concat();
    let many = 1_000_000_u32.to_be_bytes();
    let coded = [&[0; 2][..], &[0; 8], &many, &many, &[0; 12]].concat();
    let huffman = [&[0, 1][..], &many, &many, &[0; 20]].concat();
    for (what, kind, data) in
        [("patterns", 16, patterns), ("symbols", 0, coded), ("symbols of Huffman", 0, huffman)]
    {
        let entries = "/Width 9 /Height 9 /BitsPerComponent 1 /Filter /JBIG2Decode";
        assert_refused(what, image(entries, &one(kind, &data)));
    }
    // A state is kept for each of them.
    assert_refused("states", pages(&[&"q ".repeat(100_000)], "", "").finish());
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
    let jpx = [
        &b"\xff\x4f\xff\x51\0\x29\0\0"[..],
        &numbers(&[60_000, 60_000, 0, 0, 60_000, 60_000, 0, 0]),
        &[0, 1, 7, 1, 1],
    ]
    .concat();
    assert_refused("JPEG 2000", image("/Width 9 /Height 9 /Filter /JPXDecode", &jpx));
    let names = format!("[/DeviceN [{}] /DeviceRGB 8 0 R]", "/A ".repeat(30));
    let entries = format!(
        "/Type /XObject /Subtype /Image /ColorSpace {names} /Width 5000 /Height 5000 /BitsPerComponent 8 /Filter /FlateDecode"
    );
    let inks = pages(&["q 600 0 0 800 0 0 cm /Im Do Q"], "/XObject << /Im 9 0 R >>", "");
    assert_refused("inks", inks.stream(9, &entries, &common::bomb(1 << 20)).finish());
    // A megabyte of blanks, two hundred times.
    let blanks = format!("/Contents [{}]", "9 0 R ".repeat(200));
    let mut often = Builder::new()
        .object(1, "<< /Type /Catalog /Pages 2 0 R >>")
        .object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
        .object(3, &format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] {blanks} >>"));
    often = often.stream(9, "/Filter /FlateDecode", &common::bomb(1 << 20));
    assert_refused("content again and again", often.finish());
    // The same image again and again.
    let often = "q 600 0 0 800 0 0 cm /Im Do Q ".repeat(50);
    let page = pages(&[&often], "/XObject << /Im 9 0 R >>", "").stream(
        9,
        "/Type /XObject /Subtype /Image /ColorSpace /DeviceGray /Width 6000 /Height 6000 /BitsPerComponent 8 /Filter /FlateDecode",
        &common::bomb(36_000_000),
    );
    assert_refused("an image fifty times", page.finish());
}

#[test]
fn damaged_files_end_in_images_or_in_errors() {
    let mut state = 11_u32;
    let mut next = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    let (small, limits) = (form().with_max_pixels(120), patient());
    let mut shown = 0;
    for name in ["reportlab-scan", "matplotlib-chart", "typst-report", "reportlab-form"] {
        let whole = fixture(name).to_vec();
        for _ in 0..40 {
            let mut bytes = whole.clone();
            for _ in 0..=next(4) {
                let at = next(bytes.len());
                bytes[at] = [0, 1, b'9', 0xff, next(256) as u8][next(5)];
            }
            let start = Instant::now();
            let result = render_pages(bytes.into(), &[1..=3], &small, &limits);
            assert!(start.elapsed() < Duration::from_secs(20), "{name}: {:?}", start.elapsed());
            assert_ne!(result, Err(ConvertError::Failed), "a panic is of one page");
            shown += result.map_or(0, |rendered| rendered.images.len());
        }
    }
    assert!(shown > 100, "{shown}");
}

// Stamped scans, as courts and archives make them.
#[test]
fn a_scan_with_a_stamp_is_a_scan() {
    let pixels = deflate(&[GREEN, BLUE].concat().repeat(40));
    let image = "/Type /XObject /Subtype /Image /Width 2 /Height 40 /BitsPerComponent 8 /ColorSpace /DeviceRGB \
                 /Filter /FlateDecode";
    let stamped = |image: &str, text: &str| format!("{image} BT /F 12 Tf 40 20 Td ({text}) Tj ET");
    let (whole, strips, third) = (
        "q 600 0 0 800 0 0 cm /Im Do Q",
        "q 600 0 0 400 0 400 cm /Im Do Q q 0 -400 600 0 0 400 cm /Im Do Q",
        "q 300 0 0 300 0 0 cm /Im Do Q",
    );
    let long = "The tenant pays the rent on the first of each month, in advance and free of charges, to the account \
                that the landlord names in writing.";
    let contents = [(whole, "B-0017"), (strips, "B-0018"), (third, "B-0019"), (whole, long), (whole, "")]
        .map(|(image, text)| stamped(image, text));
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    let resources =
        "/XObject << /Im 9 0 R >> /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";
    let bytes = pages(&contents, resources, "").stream(9, image, &pixels).finish();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let document = Document::from_bytes(bytes.clone(), "application/pdf");
    let converter = DocumentConverter::default();
    let text = runtime.block_on(converter.convert(&document, bytes.into())).unwrap();
    let units = text.units.as_ref().unwrap();
    assert_eq!((units.covered.as_slice(), text.units_without_text()), (&[1, 2][..], vec![5]));
    assert!(text.text.contains("B-0017") && text.text.contains("B-0018"), "{}", text.text);
    assert_eq!(
        text.notes,
        [
            "no text is on page 5",
            "images cover pages 1\u{2013}2, and the text does not say what they show",
            "2 images are not shown"
        ]
    );
}

#[test]
fn the_converter_renders_without_holding_up_anybody() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let converter = DocumentConverter::default();
    let document = Document::from_bytes(scan(), "application/pdf");
    assert!(converter.renders(document.media_type(), &form()));
    let bytes = document.bytes().unwrap();
    let rendered = runtime.block_on(converter.render(&document, bytes, &[1..=1], &form())).unwrap();
    assert_eq!(rendered.images[0].page, 1);
    let problem =
        runtime.block_on(converter.render(&document, fixture("encrypted-password"), &[1..=1], &form()));
    assert_eq!(problem.unwrap_err().to_string(), "it is encrypted: it needs a password");
}
