//! The documents are what they claim to be, and can be read.

use attache_convert::DocumentConverter;
use attache_core::Converter;

use super::picture::{CELL, Picture};
use super::*;

/// The number in a picture, found by its pixels.
pub(crate) fn read_picture(bytes: &[u8]) -> Option<String> {
    let picture = image::load_from_memory(bytes).ok()?.to_luma8();
    let (columns, rows) = (picture.width() / CELL, picture.height() / CELL);
    let is_black = |column: u32, row: u32| {
        let shades = (0..CELL * CELL).map(|at| {
            let (x, y) = (column * CELL + at % CELL, row * CELL + at / CELL);
            i32::from(picture.get_pixel(x, y).0[0])
        });
        // A cell is of one colour, and lossy formats may be off by little.
        let shades: Vec<i32> = shades.collect();
        assert!(shades.iter().all(|shade| (shade - shades[0]).abs() < 3 && (*shade < 3 || *shade > 252)));
        shades[0] < 128
    };
    let cells = |picture: &dyn Fn(u32, u32) -> bool, from: u32| -> Vec<bool> {
        (0..rows)
            .flat_map(|row| (from..from + 5).map(move |column| (column, row)))
            .map(|(c, r)| picture(c, r))
            .collect()
    };
    (0..(columns - 3) / 6)
        .map(|digit| {
            let seen = cells(&is_black, 2 + digit * 6);
            ('0'..='9').find(|c| {
                let known = Picture::of(&c.to_string());
                cells(&|column, row| known.is_cell_black(column, row), 2) == seen
            })
        })
        .collect()
}

#[test]
fn pictures_show_their_number() {
    for code in ["234567", "892222", "013456"] {
        let picture = Picture::of(code);
        let files = [
            ("png", png::encode(&picture)),
            ("jpeg", jpeg::encode(&picture)),
            ("gif", gif::encode(&picture)),
            ("webp", webp::encode(&picture)),
        ];
        for (name, file) in files {
            assert_eq!(read_picture(&file).as_deref(), Some(code), "{name}");
            assert!(file.len() < 4_000, "{name} has {} bytes", file.len());
        }
    }
}

// A table of codes that fills up is begun again.
#[test]
fn long_numbers_fit_gif() {
    let code: String =
        (0..1_300_u64).map(|n| char::from(b'0' + u8::try_from(n * n * 7 / 3 % 10).unwrap())).collect();
    let file = gif::encode(&Picture::of(&code));
    assert_eq!(read_picture(&file).unwrap(), code);
}

#[tokio::test]
async fn the_pdf_says_its_number() {
    let code = Code::new();
    let document = Kind::Pdf.document(&code);
    let text = DocumentConverter::default().convert(&document, document.bytes().unwrap()).await.unwrap();
    assert!(
        text.text.contains(&format!("The number of the cellar door is {}.", code.as_str())),
        "{}",
        text.text
    );
}

#[test]
fn a_number_is_found_in_what_people_write() {
    let code = Code("482936".to_owned());
    for reply in ["482936", "It is 482,936.", "4 8 2 9 3 6", "**482 936**"] {
        assert!(code.is_in(reply), "{reply}");
    }
    for reply in ["", "482935", "I cannot see it", "48293"] {
        assert!(!code.is_in(reply), "{reply}");
    }
    let many: std::collections::HashSet<String> = (0..50).map(|_| Code::new().0).collect();
    assert!(many.len() > 45 && many.iter().all(|code| code.len() == LENGTH));
}
