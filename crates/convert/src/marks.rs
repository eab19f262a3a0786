//! The marks of boxes in forms.

/// The sign of a box that is checked, or of one that is not.
pub(crate) fn of_box(is_checked: bool) -> &'static str {
    if is_checked { "\u{2612}" } else { "\u{2610}" }
}
