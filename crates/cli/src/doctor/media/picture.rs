//! A number in pixels.

/// The height and width of a cell of the font in pixels; a block of JPEG is as large.
pub(super) const CELL: u32 = 8;
/// The blank cells around the digits.
const MARGIN: u32 = 2;
const DIGIT_WIDTH: u32 = 5;
const DIGIT_HEIGHT: u32 = 7;

/// The rows of each digit from 0 to 9, five bits each.
const FONT: [[u8; 7]; 10] = [
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
    [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
    [0b01110, 0b10001, 0b00001, 0b00110, 0b00001, 0b10001, 0b01110],
    [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
    [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
    [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
    [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
    [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
];

/// Black digits on white.
#[derive(Debug)]
pub(super) struct Picture {
    /// The rows of each digit.
    digits: Vec<[u8; 7]>,
}

impl Picture {
    /// The picture of a number; what is no digit is left blank.
    pub(super) fn of(number: &str) -> Self {
        let rows = |c: char| c.to_digit(10).and_then(|digit| FONT.get(digit as usize)).copied();
        Self { digits: number.chars().map(|c| rows(c).unwrap_or_default()).collect() }
    }

    /// Cells from left to right.
    pub(super) fn columns(&self) -> u32 {
        let digits = u32::try_from(self.digits.len()).unwrap_or_default();
        2 * MARGIN + digits * (DIGIT_WIDTH + 1) - 1
    }

    /// Cells from top to bottom.
    pub(super) fn rows(&self) -> u32 {
        2 * MARGIN + DIGIT_HEIGHT
    }

    /// Pixels from left to right.
    pub(super) fn width(&self) -> u32 {
        self.columns() * CELL
    }

    /// Pixels from top to bottom.
    pub(super) fn height(&self) -> u32 {
        self.rows() * CELL
    }

    /// True if a cell is black.
    pub(super) fn is_cell_black(&self, column: u32, row: u32) -> bool {
        let black = || {
            let (column, row) = (column.checked_sub(MARGIN)?, row.checked_sub(MARGIN)?);
            let bits = self.digits.get((column / (DIGIT_WIDTH + 1)) as usize)?.get(row as usize)?;
            let shift = (DIGIT_WIDTH - 1).checked_sub(column % (DIGIT_WIDTH + 1))?;
            Some((bits >> shift) & 1 == 1)
        };
        black().unwrap_or(false)
    }

    /// The pixels, row by row: whether each is black.
    pub(super) fn pixels(&self) -> impl Iterator<Item = bool> {
        let pixel = move |y: u32| (0..self.width()).map(move |x| self.is_cell_black(x / CELL, y / CELL));
        (0..self.height()).flat_map(pixel)
    }
}
