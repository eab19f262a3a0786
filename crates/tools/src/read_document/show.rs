//! A part of a document's text as the model reads it: where it stands, the text in a fence, what follows.

use std::ops::Range as Bytes;

use attache_core::{DocumentId, ToolError, ToolErrorKind};
use attache_documents::{fence_text, tame};

use super::ranges::{self, Range};
use super::request::Part;
use super::search::{self, Passage, Query};
use super::text::Reading;

/// The maximum number of passages of an answer.
const MAX_PASSAGES: usize = 10;
/// Characters that the fence of one piece takes, about.
const FENCE: usize = 180;
/// Characters of the sentences before it, and of its fence.
const HEAD: usize = 400;
/// Characters of text that an answer has room for, whatever the limit is.
const LEAST: usize = 200;

/// The part, in at most `max_chars` characters.
///
/// # Errors
/// The model reads that there is no such part.
pub(super) fn show(
    id: &DocumentId,
    reading: &Reading,
    part: &Part,
    query: Option<&Query>,
    max_chars: usize,
) -> Result<String, ToolError> {
    let about: usize = reading.about.iter().map(|about| about.chars().count().min(300) + 2).sum();
    let mut room = max_chars.saturating_sub(HEAD + about).max(LEAST);
    loop {
        let Shown { head, pieces } = match query {
            Some(query) => passages(reading, part, query, room)?,
            None => match reading.units_held() > 0 && !matches!(part, Part::Lines(_)) {
                true => units(reading, part, room)?,
                false => lines(reading, part, room)?,
            },
        };
        let answer = fenced(id, reading, head, pieces);
        // Text that imitates a fence grows when it is disarmed.
        let over = answer.chars().count().saturating_sub(max_chars);
        if over == 0 || room == LEAST {
            return Ok(answer);
        }
        room = room.saturating_sub(over + 50).max(LEAST);
    }
}

/// Where the pieces stand and what follows, as sentences; each piece with what its fence says of it.
struct Shown<'r> {
    head: String,
    pieces: Vec<(Option<String>, &'r str)>,
}

fn fenced(id: &DocumentId, reading: &Reading, head: String, pieces: Vec<(Option<String>, &str)>) -> String {
    let mut answer = head;
    let mut about: &[String] = &reading.about;
    let mut blank = !pieces.is_empty();
    for (place, text) in pieces {
        let remarks = place.iter().chain(about).map(String::as_str);
        if let Some(text) = fence_text(id, text, remarks) {
            answer.extend(["\n", &text]);
            // Said once, it is said.
            about = &[];
            blank = false;
        }
    }
    if blank {
        answer.push_str(" There is no text in it.");
    }
    answer
}

fn misfit(problem: String) -> ToolError {
    ToolError::new(problem).with_kind(ToolErrorKind::InvalidArguments)
}

/// `Page` or `Pages`.
fn unit_names(reading: &Reading, ranges: &[Range]) -> String {
    let one = matches!(ranges, [(first, last)] if first == last);
    let name = tame(&reading.unit_name(!one).unwrap_or_default());
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The units that are asked for, as far as the document has them.
fn asked_units(reading: &Reading, part: &Part) -> Result<Vec<Range>, ToolError> {
    let total = reading.unit_count();
    let Part::Units(asked) = part else { return Ok(vec![(1, total)]) };
    if total == 0 {
        let lines = reading.line_count();
        return Err(misfit(format!("this document has no pages; its text has {lines} lines: use range")));
    }
    let asked = ranges::within(asked, total);
    if asked.is_empty() {
        let name = tame(&reading.unit_name(total != 1).unwrap_or_default());
        return Err(misfit(format!("this document has {total} {name}")));
    }
    Ok(asked)
}

fn asked_lines(reading: &Reading, part: &Part) -> Result<Vec<Range>, ToolError> {
    let total = reading.line_count();
    let Part::Lines(asked) = part else { return Ok(vec![(1, total)]) };
    let asked = ranges::within(asked, total);
    if asked.is_empty() {
        return Err(misfit(format!("the text of this document has {total} lines")));
    }
    Ok(asked)
}

/// Whole units, as many as there is room for; of the first one a part if not even that fits.
fn units<'r>(reading: &'r Reading, part: &Part, room: usize) -> Result<Shown<'r>, ToolError> {
    let asked = asked_units(reading, part)?;
    let (held, total) = (reading.units_held(), reading.unit_count());
    let there = ranges::within(&asked, held);
    let mut pieces: Vec<(Option<String>, &str)> = Vec::new();
    let mut shown: Vec<Range> = Vec::new();
    let mut left = room;
    let mut stopped = None;
    'all: for (first, last) in &there {
        for number in *first..=*last {
            let piece = reading.piece(reading.unit(number));
            let size = piece.chars().count();
            if size > left {
                stopped = Some(number);
                break 'all;
            }
            left -= size;
            match shown.last_mut().filter(|run| run.1 + 1 == number) {
                Some(run) => {
                    run.1 = number;
                    if let Some((_, text)) = pieces.last_mut() {
                        let start = reading.unit(run.0).start;
                        *text = reading.piece(start..reading.unit(number).end);
                    }
                }
                None => {
                    // There is room for one fence anyway.
                    left = left.saturating_sub(if pieces.is_empty() { 0 } else { FENCE });
                    shown.push((number, number));
                    pieces.push((None, piece));
                }
            }
        }
    }
    let missing = match held < total {
        true => {
            let name = tame(&reading.unit_name(true).unwrap_or_default());
            format!(" Its text holds only the first {held} of them; {name} behind that are not in it.")
        }
        false => String::new(),
    };
    match (shown.last().copied(), stopped) {
        (Some((_, last)), _) => {
            let mut rest = ranges::from(&there, last + 1);
            if rest.is_empty() && last < held {
                rest = vec![(last + 1, held)];
            }
            let head = format!("{} {} of {total}.", unit_names(reading, &shown), ranges::written(&shown));
            let next = match rest.is_empty() {
                true => String::new(),
                false => format!(" Next: pages \"{}\".", ranges::written(&rest)),
            };
            Ok(Shown { head: head + &next + &missing, pieces })
        }
        (None, Some(number)) => {
            let unit = reading.unit(number);
            let end = reading.line_at(unit.end.saturating_sub(1).max(unit.start));
            let from = reading.line_at(unit.start);
            let (until, _) = fill(reading, (from, end), room);
            let piece = reading.piece(unit.start..reading.line(until).end.min(unit.end));
            let name = unit_names(reading, &[(number, number)]);
            let mut head = format!(
                "{name} {number} of {total}, too long to be shown whole: lines {from}-{until} of the text. \
                 Next: range \"{}\" for the rest of it",
                ranges::written(&[(until + 1, end)])
            );
            let after = ranges::from(&there, number + 1);
            if !after.is_empty() {
                head.push_str(&format!(", then pages \"{}\"", ranges::written(&after)));
            }
            Ok(Shown { head: format!("{head}.{missing}"), pieces: vec![(None, piece)] })
        }
        (None, None) => {
            let name = tame(&reading.unit_name(true).unwrap_or_default());
            Err(misfit(format!(
                "the text of this document holds only the first {held} of its {total} {name}"
            )))
        }
    }
}

/// The last line that there is room for, and the room that is left then. One line is always shown.
fn fill(reading: &Reading, (first, last): Range, room: usize) -> (usize, usize) {
    let (mut until, mut left) = (first, room);
    for number in first..=last {
        let size = reading.piece(reading.line(number)).chars().count();
        if size > left && number > first {
            break;
        }
        left = left.saturating_sub(size);
        until = number;
    }
    (until, left)
}

/// Whole lines, as many as there is room for.
fn lines<'r>(reading: &'r Reading, part: &Part, room: usize) -> Result<Shown<'r>, ToolError> {
    if matches!(part, Part::Units(_)) {
        // Says that there are none.
        asked_units(reading, part)?;
    }
    let asked = asked_lines(reading, part)?;
    let total = reading.line_count();
    let (mut pieces, mut shown, mut left) = (Vec::new(), Vec::new(), room);
    for (first, last) in &asked {
        if !shown.is_empty() && left < LEAST {
            break;
        }
        let (until, rest) = fill(reading, (*first, *last), left);
        left = rest.saturating_sub(FENCE);
        shown.push((*first, until));
        let place = (asked.len() > 1).then(|| place(reading, *first, until));
        pieces.push((place, reading.piece(reading.line(*first).start..reading.line(until).end)));
        if until < *last {
            break;
        }
    }
    let last = shown.last().map_or(0, |(_, last)| *last);
    let mut rest = ranges::from(&asked, last + 1);
    if rest.is_empty() && last < total {
        rest = vec![(last + 1, total)];
    }
    let mut head = format!("Lines {} of {total}", ranges::written(&shown));
    if let ([(first, last)], Some(_)) = (shown.as_slice(), reading.unit_name(false)) {
        head = format!("{head}, on {}", units_of(reading, *first, *last));
    }
    head.push('.');
    if !rest.is_empty() {
        head.push_str(&format!(" Next: range \"{}\".", ranges::written(&rest)));
    }
    Ok(Shown { head, pieces })
}

/// `page 4, lines 210-216`.
fn place(reading: &Reading, first: usize, last: usize) -> String {
    let lines = match first == last {
        true => format!("line {first}"),
        false => format!("lines {first}-{last}"),
    };
    match reading.unit_name(false) {
        Some(_) => format!("{}, {lines}", units_of(reading, first, last)),
        None => lines,
    }
}

/// `page 4` or `pages 4-5`: where some lines are.
fn units_of(reading: &Reading, first: usize, last: usize) -> String {
    let at = |line: usize| reading.unit_at(reading.line(line).start).unwrap_or(1);
    let units = (at(first), at(last));
    let name = tame(&reading.unit_name(units.0 != units.1).unwrap_or_default());
    format!("{name} {}", ranges::written(&[units]))
}

/// The passages that match a query.
fn passages<'r>(
    reading: &'r Reading,
    part: &Part,
    query: &Query,
    room: usize,
) -> Result<Shown<'r>, ToolError> {
    let scope: Vec<Bytes<usize>> = match part {
        Part::All => std::iter::once(1..reading.line_count() + 1).collect(),
        Part::Lines(_) => asked_lines(reading, part)?.iter().map(|(first, last)| *first..last + 1).collect(),
        Part::Units(_) => {
            let there = ranges::within(&asked_units(reading, part)?, reading.units_held());
            let lines = there.iter().map(|(first, last)| {
                let (start, end) = (reading.unit(*first).start, reading.unit(*last).end);
                reading.line_at(start)..reading.line_at(end.saturating_sub(1)) + 1
            });
            lines.collect()
        }
    };
    let found = search::find(reading, &scope, query);
    let mut pieces = Vec::new();
    let mut left = room;
    for Passage { first, last } in found.iter().take(MAX_PASSAGES) {
        let (until, _) = fill(reading, (*first, *last), left);
        let text = reading.piece(reading.line(*first).start..reading.line(until).end);
        let size = text.chars().count() + if pieces.is_empty() { 0 } else { FENCE };
        if size > left && !pieces.is_empty() {
            break;
        }
        left = left.saturating_sub(size);
        pieces.push((Some(place(reading, *first, until)), text));
    }
    let head = match (found.len(), pieces.len()) {
        (0, _) => {
            let searched: usize = scope.iter().map(|lines| lines.len()).sum();
            format!("No passage of the {searched} lines that were searched holds any of these words.")
        }
        (1, _) => "One passage matches.".to_owned(),
        (all, shown) if all == shown => format!("{all} passages match, best first."),
        (all, shown) => format!("{all} passages match; the best {shown} follow."),
    };
    Ok(Shown { head, pieces })
}

#[cfg(test)]
mod tests;
