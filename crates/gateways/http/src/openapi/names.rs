//! Names and descriptions that fit.

use std::collections::HashSet;

/// Longer descriptions are cut.
const LONGEST_DESCRIPTION: usize = 1_500;

/// A name that no other has.
pub(super) fn free_name(taken: &mut HashSet<String>, name: &str) -> String {
    let mut free = name.to_owned();
    let mut count = 1_u32;
    while !taken.insert(free.clone()) {
        count += 1;
        free = format!("{name}_{count}");
    }
    free
}

/// A text that is not too long for a description.
pub(super) fn shortened(text: &str) -> String {
    let text = text.trim();
    let cut: String = text.chars().take(LONGEST_DESCRIPTION).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
