//! The parts of a message that ask one thing each.

use crate::passages::sentences;
use crate::words::{among, head, is_stopword, words};

/// The maximum number of facts that are looked for in one message.
pub(super) const MAX_FACETS: usize = 8;
/// The maximum number of bytes of a message in which questions are looked for.
const MAX_QUESTION: usize = 8 << 10;
/// From this length on, a message that holds a question also holds material.
const MATERIAL_FROM: usize = 400;

const REQUESTS: &str = "tell give show list find look name summarise summarize what who when where which how nenne \
    zeige gib liste finde fasse fass";

const QUESTION_WORDS: &str = "what who whom whose when where which how why is are was were did does wer wen wem wann \
    wo wie wieviel welche welcher warum";

/// Words that stand before a question word.
const LEADS: &str = "by until till for to from at with bis seit ab von";

const PREPOSITIONS: &str = "of for in on from to with by at about von vom für im der des";

/// The sentences that ask, and the text beside them.
pub(super) fn asked(text: &str) -> (Vec<String>, String) {
    let whole = head(text, MAX_QUESTION);
    let all: Vec<&str> = whole.lines().flat_map(sentences).collect();
    let asking: Vec<&str> = all
        .iter()
        .copied()
        .filter(|sentence| sentence.ends_with('?') || is_request(sentence))
        .take(MAX_FACETS)
        .collect();
    if asking.is_empty() || text.len() < MATERIAL_FROM {
        let chosen = if asking.is_empty() { all.iter().copied().take(MAX_FACETS).collect() } else { asking };
        return (chosen.into_iter().map(str::to_owned).collect(), String::new());
    }
    let mut beside = text.to_owned();
    for sentence in &asking {
        beside = beside.replacen(sentence, "", 1);
    }
    (asking.into_iter().map(str::to_owned).collect(), beside)
}

fn is_request(sentence: &str) -> bool {
    let mut start =
        words(sentence).map(str::to_lowercase).skip_while(|word| matches!(word.as_str(), "please" | "bitte"));
    start.next().is_some_and(|word| among(REQUESTS, &word))
}

/// The parts of a sentence that ask one thing each: "What is …, and when is …?"
pub(super) fn clauses(sentence: &str) -> Vec<String> {
    let tokens: Vec<&str> = sentence.split_whitespace().collect();
    let lower: Vec<String> = tokens.iter().map(|token| bare(token).to_lowercase()).collect();
    let mut clauses: Vec<Vec<&str>> = vec![Vec::new()];
    for (at, token) in tokens.iter().enumerate() {
        let word = lower.get(at).map_or("", String::as_str);
        let follows_pause = at > 0 && tokens.get(at - 1).is_some_and(|before| before.ends_with([',', ';']));
        // "and when", "and by when"
        let asks = |at: usize| lower.get(at).is_some_and(|word| among(QUESTION_WORDS, word));
        let leads = lower.get(at + 1).is_some_and(|word| among(LEADS, word));
        let next_asks = asks(at + 1) || leads && asks(at + 2);
        let joins = matches!(word, "and" | "und" | "sowie" | "&") && next_asks;
        // After a comma only a word that cannot stand in the middle of a clause starts another one.
        let starts = follows_pause
            && among(QUESTION_WORDS, word)
            && !matches!(word, "is" | "are" | "was" | "were" | "which");
        if (joins || starts) && clauses.last().is_some_and(|clause| !clause.is_empty()) {
            clauses.push(Vec::new());
        }
        if !joins && let Some(clause) = clauses.last_mut() {
            clause.push(token);
        }
    }
    let text = |clause: Vec<&str>| {
        clause.join(" ").trim_matches(|c: char| matches!(c, ',' | ';' | '?' | '.' | '!' | ' ')).to_owned()
    };
    clauses.into_iter().map(text).filter(|clause| !clause.is_empty()).collect()
}

fn bare(token: &str) -> &str {
    token.trim_matches(|c: char| !c.is_alphanumeric())
}

/// "What are the net amount and the VAT of X" as two clauses about X.
pub(super) fn listed(clause: &str) -> Vec<String> {
    let tokens: Vec<&str> = clause.split_whitespace().collect();
    let lower: Vec<String> = tokens.iter().map(|token| bare(token).to_lowercase()).collect();
    let at = |index: usize| lower.get(index).map_or("", String::as_str);
    let whole = || vec![clause.to_owned()];
    let mut start = match (at(0), at(1)) {
        ("what" | "was", "is" | "are" | "was" | "were" | "ist" | "sind" | "war" | "waren") => 2,
        ("tell" | "give" | "show", "me" | "us") => 2,
        ("give" | "show" | "list" | "name" | "nenne" | "zeige", _) => 1,
        _ => return whole(),
    };
    while matches!(at(start), "the" | "both" | "all" | "der" | "die" | "das" | "mir") {
        start += 1;
    }
    let tail = (start..tokens.len()).find(|index| among(PREPOSITIONS, at(*index))).unwrap_or(tokens.len());
    let mut items: Vec<Vec<&str>> = vec![Vec::new()];
    for index in start..tail {
        let Some(token) = tokens.get(index) else { continue };
        if matches!(at(index), "and" | "und" | "sowie" | "&") {
            items.push(Vec::new());
            continue;
        }
        if let Some(item) = items.last_mut() {
            item.push(token);
        }
        if token.ends_with(',') {
            items.push(Vec::new());
        }
    }
    items.retain(|item| !item.is_empty());
    let says_something =
        |item: &Vec<&str>| item.len() <= 5 && item.iter().any(|word| !is_stopword(bare(word)));
    if !(2..=6).contains(&items.len()) || !items.iter().all(says_something) {
        return whole();
    }
    let tail = tokens.get(tail..).unwrap_or_default().join(" ");
    let text = |item: Vec<&str>| format!("{} {tail}", item.join(" ").trim_end_matches(',')).trim().to_owned();
    items.into_iter().map(text).collect()
}
