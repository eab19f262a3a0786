//! A part of a page.

/// A part of a page as displayed, after any rotation: fractions of its width and height, from its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageArea {
    /// The distance from the left edge.
    pub left: f64,
    /// The distance from the upper edge.
    pub top: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}
