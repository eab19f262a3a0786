//! The places of passages on pages.

use crate::common::{Builder, fixture};
use attache_convert::{ConvertError, Limits, PageArea, passage_areas};
use bytes::Bytes;

const AGREEMENT: &[u8] = include_bytes!("../../../../docs/examples/inbox/supply-agreement-SA-2025-11.pdf");

fn areas(bytes: impl Into<Bytes>, page: usize, passage: &str) -> Vec<PageArea> {
    passage_areas(bytes.into(), page, passage, &Limits::new()).unwrap().expect("there is such a page")
}

/// Holds areas against the boxes of the same words (left, top, right, bottom, in points) that `pdftotext -bbox` of
/// poppler 22.12 gave for the same file.
#[track_caller]
fn hold(found: &[PageArea], (width, height): (f64, f64), boxes: &[[f64; 4]]) {
    assert_eq!(found.len(), boxes.len(), "{found:?}");
    for (area, [left, top, right, bottom]) in found.iter().zip(boxes) {
        let mine = [area.left * width, area.top * height, area.width * width, area.height * height];
        let [x, y, wide, high] = mine;
        // Letters have about the width that the other program knows, and the middle of their line is in the mark.
        assert!((x - left).abs() < 2.0 && (x + wide - right).abs() < 3.5, "{mine:?} and {left} to {right}");
        let middle = (top + bottom) / 2.0;
        assert!((y + high / 2.0 - middle).abs() < 2.5, "{mine:?} and {top} to {bottom}");
        assert!((high - (bottom - top)).abs() < 4.0, "{mine:?} and {top} to {bottom}");
    }
}

const A4: (f64, f64) = (595.3, 841.9);

#[test]
fn a_passage_is_marked_where_another_program_sees_it() {
    let term = areas(AGREEMENT, 2, "begins on 1 December 2025 and runs for two years");
    hold(&term, A4, &[[171.1, 551.3, 410.2, 561.7]]);
    let late = "If a delivery is late by more than\ntwo weeks, the Customer may claim 0.5% of the net value of the late \
                goods for each full week";
    let boxes = [[378.6, 548.7, 532.6, 559.0], [96.7, 565.2, 532.6, 575.5]];
    hold(&areas(AGREEMENT, 1, late), A4, &boxes);
    // The page has other words.
    assert_eq!(areas(AGREEMENT, 3, "begins on 1 December 2025 and runs for two years"), []);
}

#[test]
fn columns_tables_ligatures_and_scripts_from_right_to_left_are_found() {
    let column = areas(
        fixture("weasyprint-columns"),
        1,
        "furniture to its staff. A floor plan that was drawn in five minutes",
    );
    hold(&column, A4, &[[62.7, 128.6, 283.4, 140.3], [62.7, 140.3, 173.6, 151.9]]);
    let ligatures = areas(fixture("latex-article"), 1, "ﬁve minutes is first filed");
    hold(&ligatures, A4, &[[133.8, 161.6, 236.4, 170.5]]);
    // The converter parts cells by a sign that is not on the page, and they stand too far apart for one mark.
    let row = areas(fixture("typst-report"), 1, "Desks | 12 | 4,668.00");
    let boxes = [[54.9, 108.2, 104.6, 120.7], [144.5, 108.2, 180.0, 120.7]];
    hold(&row, (419.5, 595.3), &boxes);
    let hebrew = areas(fixture("weasyprint-hebrew"), 1, "שלום עולם");
    hold(&hebrew, (419.5, 595.3), &[[301.3, 68.3, 357.3, 82.2]]);
}

#[test]
fn a_passage_that_leaves_words_out_is_marked_in_pieces() {
    let letter = "minutes is first filed … offer a flat fee for the first draft";
    let found = areas(fixture("libreoffice-letter"), 1, letter);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].top < found[1].top);
}

/// A page of 300 by 400 points, turned, with words that begin 72 points from its left and stand 300 above its foot.
fn turned(degrees: u16) -> Vec<u8> {
    Builder::new()
        .object(1, "<< /Type /Catalog /Pages 2 0 R >>")
        .object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
        .object(
            3,
            &format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [10 20 310 420] /Rotate {degrees} /Contents 4 0 R \
                 /Resources << /Font << /F1 5 0 R >> >> >>"
            ),
        )
        .stream(4, "", b"BT /F1 12 Tf 82 320 Td (The rent is EUR 900) Tj ET")
        .object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
        .finish()
}

#[test]
fn the_areas_of_a_page_that_is_turned_are_those_of_its_image() {
    // Where the words stand on the upright page, in points from its upper left corner.
    let upright = areas(turned(0), 1, "the rent is EUR 900");
    let [area] = upright.as_slice() else { panic!("{upright:?}") };
    let (x, y) = (area.left * 300.0, area.top * 400.0);
    let (wide, high) = (area.width * 300.0, area.height * 400.0);
    assert!((x - 72.0).abs() < 1.0 && (y..y + high).contains(&100.0), "{area:?}");
    // Turned with the clock, the left edge is the upper one, and so on.
    for (degrees, left, top, width, height) in [
        (90, 400.0 - y - high, x, high, wide),
        (180, 300.0 - x - wide, 400.0 - y - high, wide, high),
        (270, y, 300.0 - x - wide, high, wide),
    ] {
        let found = areas(turned(degrees), 1, "the rent is EUR 900");
        let [area] = found.as_slice() else { panic!("{degrees}: {found:?}") };
        let size = if degrees == 180 { (300.0, 400.0) } else { (400.0, 300.0) };
        let is = [area.left * size.0, area.top * size.1, area.width * size.0, area.height * size.1];
        let close = is.iter().zip([left, top, width, height]).all(|(is, wanted)| (is - wanted).abs() < 0.5);
        assert!(close, "{degrees}: {is:?} is not {left}, {top}, {width}, {height}");
    }
}

#[test]
fn bad_input_is_told() {
    let limits = Limits::new();
    assert_eq!(passage_areas(turned(0).into(), 2, "rent", &limits).unwrap(), None);
    assert_eq!(passage_areas(turned(0).into(), 0, "rent", &limits).unwrap(), None);
    assert_eq!(areas(turned(0), 1, ""), []);
    assert_eq!(areas(turned(0), 1, " | …"), []);
    let error = passage_areas("no PDF".into(), 1, "rent", &limits).unwrap_err();
    assert!(matches!(error, ConvertError::Malformed { .. }), "{error:?}");
}
