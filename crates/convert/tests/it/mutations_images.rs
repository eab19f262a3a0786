//! Images with a few bytes changed, as damage and malice leave them: an image, or an error, and no panic.

use attache_convert::{ConvertError, Limits, transcode};
use attache_core::converter::MediaLimits;
use bytes::Bytes;

/// How often each image is changed.
const TIMES: u32 = 400;

#[test]
fn changed_images_are_images_or_errors() {
    let folder = format!("{}/tests/fixtures/images", env!("CARGO_MANIFEST_DIR"));
    let form = MediaLimits::of(["image/png", "image/jpeg"]).with_max_pixels(90);
    let mut state = 7_u32;
    let mut next = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    let (mut images, mut errors) = (0, 0);
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension != "py"));
    names.sort();
    for path in names {
        let whole = std::fs::read(&path).unwrap();
        let media_type =
            format!("image/{}", path.extension().unwrap().to_str().unwrap().replace("jpg", "jpeg"));
        for _ in 0..TIMES {
            let mut bytes = whole.clone();
            for _ in 0..=next(4) {
                // Headers are at the start, and count for more.
                let near = if next(2) == 0 { bytes.len().min(200) } else { bytes.len() };
                let at = next(near);
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, next(256) as u8][next(6)];
            }
            if next(5) == 0 {
                bytes.truncate(next(bytes.len()).max(1));
            }
            match transcode(&media_type, Bytes::from(bytes), &form, &Limits::new()) {
                Ok(_) => images += 1,
                Err(error) => {
                    errors += 1;
                    assert!(
                        !matches!(error, ConvertError::Busy | ConvertError::TimedOut { .. }),
                        "{path:?}: {error}"
                    );
                    assert_ne!(error, ConvertError::Failed, "{path:?}");
                }
            }
        }
    }
    assert!(images > 1_000 && errors > 1_000, "{images} images, {errors} errors");
}
