//! Names that are near another one.

/// The names that are nearest to `name`, at most three; none if none is near.
pub(crate) fn near<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut near: Vec<(f64, &str)> = names.map(|known| (likeness(name, known), known)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().filter(|(score, _)| *score > 0.8).map(|(_, known)| known).take(3).collect()
}

/// The likeness of two names, whatever the case of their letters: by their letters, or because one has the
/// other's words.
fn likeness(one: &str, other: &str) -> f64 {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    let words = |name: &str| -> Vec<String> {
        name.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (wanted, known) = (words(&one), words(&other));
    let has_all = !wanted.is_empty() && wanted.iter().all(|word| known.contains(word));
    let by_letters = strsim::jaro_winkler(&one, &other);
    if has_all { by_letters.max(0.9) } else { by_letters }
}

/// `; did you mean a or b?`, or nothing.
pub(crate) fn did_you_mean(near: &[impl AsRef<str>]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let near: Vec<&str> = near.iter().map(AsRef::as_ref).collect();
    format!("; did you mean {}?", near.join(" or "))
}
