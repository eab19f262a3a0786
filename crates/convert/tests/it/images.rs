//! The same picture in many encodings, brought into the forms that models take.

use std::io::Cursor;

use attache_convert::{ConvertError, DocumentConverter, Limits, can_transcode, transcode};
use attache_core::converter::{MediaLimits, Transcoded};
use attache_core::{Converter, Document, MediaType};
use bytes::Bytes;

const WIDTH: usize = 96;
const HEIGHT: usize = 64;

fn fixture(name: &str) -> Bytes {
    let path = format!("{}/tests/fixtures/images/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")).into()
}

fn media_type(name: &str) -> String {
    format!("image/{}", name.rsplit('.').next().unwrap().replace("jpg", "jpeg"))
}

fn fit_fixture(name: &str, form: &MediaLimits) -> Result<Transcoded, ConvertError> {
    transcode(&media_type(name), fixture(name), form, &Limits::new())
}

/// Red, green, blue and alpha of what the fixtures show; as `fixtures/images/make.py` says.
fn colour(x: usize, y: usize) -> [u8; 3] {
    if x < 16 && y < 16 {
        [0; 3]
    } else if x >= WIDTH - 16 && y >= HEIGHT - 16 {
        [255; 3]
    } else {
        let part = |of: usize, all: usize| u8::try_from(of * 255 / all).unwrap();
        [255 - part(x, WIDTH), part(x, WIDTH), part(y, HEIGHT)]
    }
}

/// A decoded PNG: width, height, and red, green, blue and alpha of each pixel.
fn pixels(png: &[u8]) -> (usize, usize, Vec<[u8; 4]>) {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::ALPHA);
    let mut reader = decoder.read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    let colours = match info.color_type {
        png::ColorType::GrayscaleAlpha => data.chunks_exact(2).map(|p| [p[0], p[0], p[0], p[1]]).collect(),
        png::ColorType::Rgba => data.chunks_exact(4).map(|p| [p[0], p[1], p[2], p[3]]).collect(),
        other => panic!("{other:?}"),
    };
    (info.width as usize, info.height as usize, colours)
}

/// The mean difference from what the fixtures show, of all that can be seen; greys are compared as greys.
fn difference(shown: &[[u8; 4]], grey: bool) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (index, pixel) in shown.iter().enumerate().filter(|(_, pixel)| pixel[3] > 0) {
        let mut expected = colour(index % WIDTH, index / WIDTH).map(f64::from);
        if grey {
            expected = [expected[0] * 0.299 + expected[1] * 0.587 + expected[2] * 0.114; 3];
        }
        for (have, want) in pixel.iter().zip(expected) {
            sum += (f64::from(*have) - want).abs();
            count += 1.0;
        }
    }
    sum / count
}

// documents.md 9.2 D8: what no provider takes is not sent raw
#[test]
fn every_encoding_shows_the_same_picture() {
    let form = MediaLimits::of(["image/png"]);
    for (name, most, note) in [
        ("baseline-444.jpg", 3.0, "re-encoded from image/jpeg"),
        ("baseline-420.jpg", 5.0, "re-encoded from image/jpeg"),
        ("baseline-422-restarts.jpg", 4.0, "re-encoded from image/jpeg"),
        ("progressive-420.jpg", 5.0, "re-encoded from image/jpeg"),
        ("progressive-444.jpg", 3.0, "re-encoded from image/jpeg"),
        ("grey.jpg", 3.0, "re-encoded from image/jpeg"),
        ("grey-progressive.jpg", 3.0, "re-encoded from image/jpeg"),
        ("cmyk.jpg", 4.0, "re-encoded from image/jpeg"),
        ("turned.jpg", 3.0, "re-encoded from image/jpeg"),
        ("lossy.webp", 6.0, "re-encoded from image/webp"),
        ("lossy-alpha.webp", 6.0, "re-encoded from image/webp"),
        ("lossless.webp", 0.0, "re-encoded from image/webp"),
        ("lossless-alpha.webp", 0.0, "re-encoded from image/webp"),
        ("animated.webp", 0.0, "re-encoded from image/webp, only the first of 2 frames"),
        ("plain.tiff", 0.0, "re-encoded from image/tiff"),
        ("lzw.tiff", 0.0, "re-encoded from image/tiff"),
        ("deflate.tiff", 0.0, "re-encoded from image/tiff"),
        ("jpeg.tiff", 5.0, "re-encoded from image/tiff"),
        ("cmyk.tiff", 2.0, "re-encoded from image/tiff"),
        ("alpha.tiff", 0.0, "re-encoded from image/tiff"),
        ("palette.tiff", 12.0, "re-encoded from image/tiff"),
        ("grey-16.tiff", 1.0, "re-encoded from image/tiff"),
        ("pages.tiff", 0.0, "re-encoded from image/tiff, only the first of 3 pages"),
        ("turned.tiff", 0.0, "re-encoded from image/tiff"),
        ("animated.gif", 12.0, "re-encoded from image/gif, only the first of 2 frames"),
        ("interlaced.gif", 12.0, "re-encoded from image/gif"),
        ("plain.bmp", 0.0, "re-encoded from image/bmp"),
        ("palette.bmp", 12.0, "re-encoded from image/bmp"),
        ("spare-byte.bmp", 0.0, "re-encoded from image/bmp"),
    ] {
        let fitted = fit_fixture(name, &form).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(fitted.note.as_deref(), Some(note), "{name}");
        let (bytes, media) = fitted.content.unwrap();
        assert_eq!(media.essence(), "image/png", "{name}");
        let (width, height, shown) = pixels(&bytes);
        assert_eq!((width, height), (WIDTH, HEIGHT), "{name}");
        let apart = difference(&shown, name.starts_with("grey"));
        assert!(apart <= most, "{name}: {apart}");
        // The left third of what has alpha cannot be seen, and all of the others can.
        let hidden = shown.iter().filter(|pixel| pixel[3] == 0).count();
        let expected = if name.contains("alpha") { WIDTH * HEIGHT / 3 } else { 0 };
        assert_eq!(hidden, expected, "{name}");
    }
}

#[test]
fn black_and_white_stay_black_and_white() {
    for name in ["fax.tiff", "bits.bmp"] {
        let (bytes, _) = fit_fixture(name, &MediaLimits::of(["image/png"])).unwrap().content.unwrap();
        let (_, _, shown) = pixels(&bytes);
        assert_eq!(shown[0], [0, 0, 0, 255], "{name}");
        assert_eq!(shown[WIDTH * HEIGHT - 1], [255; 4], "{name}");
        assert!(shown.iter().all(|pixel| matches!(pixel[0], 0 | 255)), "{name}");
    }
}

#[test]
fn what_fits_stays_as_it_is() {
    let form = MediaLimits::of(["image/png", "image/jpeg", "image/gif", "image/webp"])
        .with_max_pixels(96)
        .with_max_bytes(5_000);
    for name in
        ["baseline-420.jpg", "progressive-444.jpg", "lossy.webp", "lossless-alpha.webp", "animated.gif"]
    {
        assert_eq!(fit_fixture(name, &form), Ok(Transcoded::unchanged()), "{name}");
    }
    // documents.md 9.2 D22: what the bytes are counts, not what somebody said
    let fitted = transcode("image/png", fixture("lossy.webp"), &form, &Limits::new()).unwrap();
    assert_eq!(fitted.note.as_deref(), Some("it is image/webp, not image/png"));
    assert_eq!(fitted.content, Some((fixture("lossy.webp"), MediaType::parse("image/webp").unwrap())));
}

// documents.md 9.2 D18
#[test]
fn what_is_too_large_is_scaled() {
    let form = MediaLimits::of(["image/png", "image/jpeg"]).with_max_pixels(48);
    let fitted = fit_fixture("baseline-444.jpg", &form).unwrap();
    assert_eq!(fitted.note.as_deref(), Some("scaled from 96 × 64 to 48 × 32 pixels"));
    // A photo stays one.
    assert_eq!(fitted.content.unwrap().1.essence(), "image/jpeg");
    let fitted = fit_fixture("plain.bmp", &form).unwrap();
    let note = "scaled from 96 × 64 to 48 × 32 pixels, re-encoded from image/bmp";
    assert_eq!(fitted.note.as_deref(), Some(note));
    let (bytes, media) = fitted.content.unwrap();
    assert_eq!(media.essence(), "image/png");
    assert_eq!(pixels(&bytes).0, 48);
    // A turned image is measured upright.
    let fitted = fit_fixture("turned.jpg", &form).unwrap();
    assert_eq!(fitted.note.as_deref(), Some("scaled from 96 × 64 to 48 × 32 pixels"));
}

/// A BMP of noise, which nothing makes shorter.
fn noise(width: u32, height: u32) -> Bytes {
    let mut bytes = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend(b"\x01\0\x18\0");
    bytes.extend([0; 24]);
    let mut state = 1_u32;
    bytes.extend((0..width * height * 3).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    }));
    bytes.into()
}

#[test]
fn bytes_are_kept_to_by_quality_first_and_size_then() {
    let transcode =
        |form: &MediaLimits| transcode("image/bmp", noise(400, 300), form, &Limits::new()).unwrap();
    let both = MediaLimits::of(["image/png", "image/jpeg"]);
    let free = transcode(&both);
    assert_eq!(free.note.as_deref(), Some("re-encoded from image/bmp"));
    let (whole, media) = free.content.unwrap();
    assert_eq!(media.essence(), "image/jpeg");
    // Lower quality is enough.
    let most = whole.len() / 2;
    let coarse = transcode(&both.clone().with_max_bytes(most as u64));
    assert_eq!(coarse.note.as_deref(), Some("re-encoded from image/bmp"));
    assert!(coarse.content.unwrap().0.len() <= most);
    // It has to be smaller.
    let small = transcode(&both.with_max_bytes(10_000));
    assert!(small.note.unwrap().starts_with("scaled from 400 × 300 to "));
    assert!(small.content.unwrap().0.len() <= 10_000);
    let png = transcode(&MediaLimits::of(["image/png"]).with_max_bytes(10_000));
    let (bytes, media) = png.content.unwrap();
    assert_eq!(media.essence(), "image/png");
    assert!(bytes.len() <= 10_000 && pixels(&bytes).0 < 100);
}

#[test]
fn what_cannot_be_made_short_enough_is_an_error() {
    let form = MediaLimits::of(["image/png", "image/jpeg"]).with_max_bytes(99);
    let result = transcode("image/bmp", noise(400, 300), &form, &Limits::new());
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "the document is too large: more than 99 bytes, however small it is made");
}

#[test]
fn transparency_is_kept_or_said_to_be_gone() {
    let fitted = fit_fixture("alpha.tiff", &MediaLimits::of(["image/png", "image/jpeg"])).unwrap();
    assert_eq!(fitted.content.unwrap().1.essence(), "image/png");
    let fitted = fit_fixture("alpha.tiff", &MediaLimits::of(["image/jpeg"])).unwrap();
    assert_eq!(fitted.note.as_deref(), Some("re-encoded from image/tiff, what was transparent is white"));
}

#[test]
fn of_a_damaged_image_what_can_be_read_is_shown() {
    let form = MediaLimits::of(["image/png"]);
    for (name, note) in [
        ("plain.bmp", "re-encoded from image/bmp, damaged: only 31 of its 64 rows could be read"),
        ("lzw.tiff", "re-encoded from image/tiff, damaged: only"),
        ("interlaced.gif", "re-encoded from image/gif, damaged"),
    ] {
        let whole = fixture(name);
        let kept = if name == "lzw.tiff" { whole.len() * 9 / 10 } else { whole.len() / 2 };
        let result = transcode(&media_type(name), whole.slice(..kept), &form, &Limits::new());
        // A directory stands at the end of some files.
        match result {
            Ok(fitted) => assert!(fitted.note.as_deref().unwrap().starts_with(note), "{name}: {fitted:?}"),
            Err(error) => {
                assert_eq!(name, "lzw.tiff");
                assert!(matches!(error, ConvertError::Malformed { .. }), "{error}");
            }
        }
    }
    let result = transcode("image/gif", fixture("animated.gif").slice(..20), &form, &Limits::new());
    assert!(matches!(result, Err(ConvertError::Malformed { .. })), "{result:?}");
}

// An image that a provider takes and cannot open is a 400 of the whole request.
#[test]
fn what_was_cut_on_its_way_is_never_passed_on_as_it_is() {
    let form = MediaLimits::of(["image/png", "image/jpeg", "image/gif", "image/webp"]);
    let mut images: Vec<(&str, Bytes)> =
        ["baseline-420.jpg", "progressive-444.jpg", "animated.gif", "lossy.webp"]
            .into_iter()
            .map(|name| (name, fixture(name)))
            .collect();
    let png = transcode("image/bmp", fixture("plain.bmp"), &MediaLimits::of(["image/png"]), &Limits::new())
        .unwrap();
    images.push(("a.png", png.content.unwrap().0));
    for (name, whole) in images {
        let of = |bytes: Bytes| transcode(&media_type(name), bytes, &form, &Limits::new());
        assert_eq!(of(whole.clone()), Ok(Transcoded::unchanged()), "{name}");
        for part in [whole.len() / 2, whole.len() * 9 / 10, 12] {
            match of(whole.slice(..part)) {
                Ok(fitted) => assert!(fitted.note.unwrap().contains("damaged"), "{name} {part}"),
                Err(error) => {
                    assert!(matches!(error, ConvertError::Malformed { .. }), "{name} {part}: {error}")
                }
            }
        }
    }
}

#[test]
fn what_nobody_decodes_here_is_an_honest_error() {
    let form = MediaLimits::of(["image/png"]);
    let heic = Bytes::from_static(b"\0\0\0\x18ftypheic....\0\0\0\x14ispe\0\0\0\0\0\0\x01\0\0\0\x01\0");
    let error = transcode("image/heic", heic.clone(), &form, &Limits::new()).unwrap_err();
    assert_eq!(error.to_string(), "no converter reads `image/heic`; saved as JPEG or PNG it can be shown");
    // Where it is taken, it goes as it is.
    let gemini = MediaLimits::of(["image/heic", "image/png"]).with_max_pixels(256);
    assert_eq!(transcode("image/heic", heic.clone(), &gemini, &Limits::new()), Ok(Transcoded::unchanged()));
    assert!(transcode("image/heic", heic, &gemini.with_max_pixels(255), &Limits::new()).is_err());
    assert!(can_transcode("IMAGE/BMP; x=y", &form) && !can_transcode("image/svg+xml", &form));
    assert!(
        !can_transcode("image/bmp", &MediaLimits::of(["image/webp"]))
            && can_transcode("image/bmp", &MediaLimits::of(["image/*"]))
    );
}

#[test]
fn the_converter_fits_too() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let converter = DocumentConverter::default();
    let form = MediaLimits::of(["image/png"]);
    let bytes = fixture("plain.bmp");
    let document = Document::from_bytes(bytes.clone(), "image/bmp");
    assert!(converter.transcodes(document.media_type(), &form));
    let fitted = runtime.block_on(converter.transcode(&document, bytes, &form)).unwrap();
    assert_eq!(fitted.note.as_deref(), Some("re-encoded from image/bmp"));
    let empty = runtime.block_on(converter.transcode(&document, Bytes::new(), &form));
    assert_eq!(empty.unwrap_err().to_string(), "the document is malformed: it is empty");
}
