//! Tables of PDFs keep their rows and columns: a row with empty cells its columns, a text of several lines one cell.
//!
//! The expected cells are those that the producers were given (`fixtures/tables.py`).

use std::collections::HashSet;

use crate::common::{Builder, text};

/// Rows that were read as they were put in, and how many there are.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    whole: usize,
    of: usize,
}

impl Share {
    fn count(&mut self, whole: bool) {
        self.whole += usize::from(whole);
        self.of += 1;
    }

    fn percent(self) -> f64 {
        100.0 * self.whole as f64 / self.of as f64
    }
}

/// A row as it should read: empty cells keep their place, but for those at the end.
fn expected(row: &[String]) -> String {
    let len = row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
    row[..len].join(" | ")
}

/// True if a row has an empty cell before its last text.
fn has_gap(row: &[String]) -> bool {
    row.iter().rposition(|cell| !cell.is_empty()).is_some_and(|last| row[..last].iter().any(String::is_empty))
}

/// True if a text of a row does not fit on one line: the columns of descriptions and remarks are this narrow.
fn has_lines(row: &[String]) -> bool {
    row[2].len() > 48 || row[5].len() > 24
}

#[test]
fn rows_of_tables_keep_their_columns_and_cells_of_several_lines_are_one() {
    let folder = format!("{}/tests/fixtures/tables", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let (mut all, mut gaps, mut several) = (Share::default(), Share::default(), Share::default());
    for path in paths {
        let rows: Vec<Vec<String>> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let read = text(std::fs::read(path.with_extension("pdf")).unwrap());
        let lines: HashSet<&str> = read.lines().collect();
        let mut own = Share::default();
        for row in &rows {
            let whole = lines.contains(expected(row).as_str());
            own.count(whole);
            all.count(whole);
            if has_gap(row) {
                gaps.count(whole);
            }
            if has_lines(row) {
                several.count(whole);
            }
        }
        assert!(own.percent() >= 90.0, "{}: {own:?}\n{read}", path.display());
    }
    println!("all {all:?}, with empty cells {gaps:?}, of several lines {several:?}");
    assert!(gaps.of >= 150 && several.of >= 100, "{gaps:?} {several:?}");
    for share in [all, gaps, several] {
        assert!(share.percent() >= 90.0, "{share:?}");
    }
}

/// A page of texts at these places, in Helvetica of 10 points.
fn page(texts: &[(u32, u32, &str)]) -> String {
    let content: String =
        texts.iter().map(|(x, y, text)| format!("BT /F1 10 Tf {x} {y} Td ({text}) Tj ET\n")).collect();
    text(Builder::page(&content).finish())
}

#[test]
fn numbers_far_apart_are_cells_and_stretched_prose_is_not() {
    let row =
        |y: u32| (0..8).map(move |n| (50 + 43 * n, y, ["107.5", "295.8", "43.25", "11.35"][n as usize % 4]));
    let numbers: Vec<_> = row(700).chain(row(685)).collect();
    let line = "107.5 | 295.8 | 43.25 | 11.35 | 107.5 | 295.8 | 43.25 | 11.35\n";
    assert_eq!(page(&numbers), format!("[page 1]\n{line}{line}"));
    let words: Vec<_> = (0..8).map(|n| (50 + 36 * n, 700, "words")).collect();
    assert_eq!(page(&words), "[page 1]\nwords words words words words words words words\n");
}

#[test]
fn character_spacing_that_is_undone_destroys_no_number() {
    // Acrobat's tables: a spacing of 4 em, taken back between the letters of one number.
    let content = "BT /F1 10 Tf 40 Tc 50 700 Td [(0)4000(,)4000( )4000(2)4000(,)4000(2)4000(4)4000(8)] TJ \
                   0 -15 Td [(1)4000(,)4000(1)4000(3)4000(5)-2000(7)4000(8)] TJ ET";
    assert_eq!(text(Builder::page(content).finish()), "[page 1]\n0, 2,248\n1,135 | 78\n");
}

#[test]
fn letters_set_apart_are_one_word() {
    let content = "BT /F1 10 Tf 5 Tc 50 700 Td (TOTAL) Tj 0 -15 Td [(BA)20(LAN)10(CE)] TJ ET";
    assert_eq!(text(Builder::page(content).finish()), "[page 1]\nTOTAL\nBALANCE\n");
}

#[test]
fn spaces_count_however_narrow_they_are() {
    // A space that the spacing between characters makes narrower than a word gap.
    let content = "BT /F1 10 Tf -2.2 Tc 50 700 Td (one two) Tj ET";
    assert_eq!(text(Builder::page(content).finish()), "[page 1]\none two\n");
    // A space that is taken back is none.
    let content = "BT /F1 10 Tf 50 700 Td [(of)( )278(fice)] TJ ET";
    assert_eq!(text(Builder::page(content).finish()), "[page 1]\noffice\n");
}

#[test]
fn raised_and_lowered_letters_stay_on_their_line() {
    let content = "BT /F1 10 Tf 50 700 Td (E = mc) Tj /F1 6 Tf 6 Ts (2) Tj /F1 10 Tf 0 Ts ( holds, x) Tj \
                   /F1 6 Tf -4 Ts (i) Tj 0 Ts /F1 10 Tf ( too) Tj ET \
                   BT /F1 10 Tf 50 680 Td (a) Tj ET BT /F1 5 Tf 56 686 Td (2) Tj ET BT /F1 5 Tf 56 677 Td (1) Tj ET";
    let text = text(Builder::page(content).finish());
    assert!(text.contains("E = mc2 holds, xi too\n"), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn raised_digits_are_no_part_of_the_number_before_them() {
    let page = "BT /F1 12 Tf 72 700 Td (Revenue 1,000) Tj /F1 7 Tf 4.5 Ts (1) Tj 0 Ts /F1 12 Tf ( in total) Tj ET \
                BT /F1 12 Tf 72 680 Td (approx 10) Tj /F1 7 Tf 4.5 Ts (6) Tj 0 Ts /F1 12 Tf ( units, 50 m) Tj \
                /F1 7 Tf 4.5 Ts (2) Tj ET";
    assert_eq!(
        text(Builder::page(page).finish()),
        "[page 1]\nRevenue 1,000^1 in total\napprox 10^6 units, 50 m2\n"
    );
}

// Poor man's bold, glyph by glyph.
#[test]
fn characters_that_are_printed_twice_are_read_once() {
    let mut content = "BT /F1 10 Tf ".to_owned();
    for (at, letter) in (0_u8..).zip("00 1111 88".chars()) {
        for x in [72.0 + 5.56 * f64::from(at), 72.3 + 5.56 * f64::from(at)] {
            content.push_str(&format!("1 0 0 1 {x} 700 Tm ({letter}) Tj "));
        }
    }
    assert_eq!(text(Builder::page(&(content + "ET")).finish()), "[page 1]\n00 1111 88\n");
}

#[test]
fn tables_side_by_side_are_read_one_after_the_other() {
    let mut texts = Vec::new();
    for (n, (name, amount)) in
        [("Rent", "100"), ("Heat", "20"), ("Light", "7"), ("Water", "5")].iter().enumerate()
    {
        let y = 700 - 14 * n as u32;
        texts.extend([(50, y, *name), (120, y, *amount)]);
    }
    for (n, (name, amount)) in [("Staff", "9"), ("Cars", "3"), ("Bikes", "12")].iter().enumerate() {
        let y = 694 - 17 * n as u32;
        texts.extend([(320, y, *name), (400, y, *amount)]);
    }
    let text = page(&texts);
    let left = "Rent | 100\nHeat | 20\nLight | 7\nWater | 5\n";
    let right = "Staff | 9\nCars | 3\nBikes | 12\n";
    assert!(text.contains(left) && text.contains(right), "{text}");
}

#[test]
fn spanned_and_unruled_cells_of_a_ruled_table_stand_in_their_first_column() {
    let content = "50 640 300 60 re S 50 680 m 350 680 l S 50 660 m 350 660 l S 150 640 m 150 680 l S \
                   250 640 m 250 700 l S \
                   BT /F1 10 Tf 55 685 Td (Both) Tj 200 0 Td (C) Tj -200 -20 Td (a) Tj 200 0 Td (c) Tj \
                   -100 -20 Td (b) Tj ET";
    assert_eq!(text(Builder::page(content).finish()), "[page 1]\nBoth |  | C\na |  | c\n | b\n");
}
