//! Similar names, for hints such as "did you mean".

/// The least likeness, from 0 to 1, of a name that is offered.
const NEAR: f64 = 0.8;
/// The least likeness of a known name that has all words of the one that was asked for.
const HAS_ALL_WORDS: f64 = 0.9;
/// The maximum number of names that are offered.
const OFFERED: usize = 3;

/// The names most similar to `name`, at most three, best first; empty if none is similar.
///
/// Names are similar by their letters, ignoring case, or if the known name contains all words of `name`.
///
/// ```
/// use attache_core::near::near;
/// let tools = ["read_document", "find_invoices", "search"];
/// assert_eq!(near("readDocument", tools), ["read_document"]);
/// assert_eq!(near("invoices", tools), ["find_invoices"]);
/// assert!(near("weather", tools).is_empty());
/// ```
pub fn near<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let asked = name.to_lowercase();
    let mut near: Vec<(f64, &str)> = names
        .into_iter()
        .map(|known| (likeness(&asked, &known.to_lowercase()), known))
        .filter(|(score, _)| *score >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().map(|(_, known)| known).take(OFFERED).collect()
}

fn likeness(asked: &str, known: &str) -> f64 {
    let words = |name| str::split(name, |c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let has_all = words(asked).next().is_some() && words(asked).all(|word| words(known).any(|w| w == word));
    jaro_winkler(asked, known).max(if has_all { HAS_ALL_WORDS } else { 0.0 })
}

/// The likeness of Jaro and Winkler, from 0 to 1: letters that both have at about the same place, the more of them in the
/// same order the better, and better still where both begin alike.
#[expect(clippy::cast_precision_loss, reason = "names are short")]
fn jaro_winkler(one: &str, other: &str) -> f64 {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    // Without the least reach, two letters of a name of three could never be swapped.
    let reach = (one.len().max(other.len()) / 2).saturating_sub(1).max(1);
    let mut is_taken = vec![false; other.len()];
    let mut shared = Vec::new();
    for (at, c) in one.iter().enumerate() {
        let places = other.iter().zip(&mut is_taken).enumerate().skip(at.saturating_sub(reach));
        let mut places = places.take_while(|(place, _)| *place <= at + reach);
        if let Some((_, (_, taken))) = places.find(|(_, (same, taken))| *same == c && !**taken) {
            *taken = true;
            shared.push(*c);
        }
    }
    if shared.is_empty() {
        return 0.0;
    }
    let in_other = other.iter().zip(&is_taken).filter(|(_, taken)| **taken).map(|(c, _)| *c);
    let turned = shared.iter().zip(in_other).filter(|(a, b)| *a != b).count() / 2;
    let count = shared.len() as f64;
    let jaro =
        (count / one.len() as f64 + count / other.len() as f64 + (count - turned as f64) / count) / 3.0;
    let beginning = one.iter().zip(&other).take(4).take_while(|(a, b)| a == b).count();
    jaro + 0.1 * beginning as f64 * (1.0 - jaro)
}

#[cfg(test)]
mod tests {
    use super::{jaro_winkler, near};

    /// The values are those of the literature, by Winkler's own examples.
    #[test]
    fn likeness_is_that_of_jaro_and_winkler() {
        for (one, other, expected) in [
            ("martha", "marhta", 0.961),
            ("dwayne", "duane", 0.840),
            ("dixon", "dicksonx", 0.813),
            ("jones", "johnson", 0.832),
            ("abroms", "abrams", 0.922),
            ("same", "same", 1.0),
            ("abc", "xyz", 0.0),
            ("", "abc", 0.0),
            ("", "", 0.0),
        ] {
            let likeness = jaro_winkler(one, other);
            assert!((likeness - expected).abs() < 0.000_6, "{one} {other}: {likeness}");
        }
    }

    #[test]
    fn names_of_three_letters_with_two_swapped_are_near() {
        assert_eq!(near("mpc", ["a2a", "http", "mcp"]), ["mcp"]);
        assert_eq!(near("aks", ["ask", "keys"]), ["ask"]);
    }

    #[test]
    fn the_nearest_names_come_first_and_are_three_at_most() {
        let names = ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4", "claude-sonnet-4-5"];
        let found = near("GPT-4O-min", names);
        assert_eq!((found.first(), found.len()), (Some(&"gpt-4o-mini"), 3));
        assert!(near("", names).is_empty() && near("gpt", []).is_empty());
    }
}
