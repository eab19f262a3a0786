//! The support of each figure of an answer.

use attache_core::citation::{Citation, Derivation, Figure, FigureState, How, Ignored, Span};

use crate::answer::Parts;
use crate::derive::{Operand, adds_up_column, derivation};
use crate::index::{Index, Text, words_near};
use crate::names::Names;
use crate::number::{Kind, Number, numbers};
use crate::number_formats::{ONE, Reading};
use crate::sources::Options;
use crate::tables::{Sum, sums};

/// The least digits that say something by which a figure is known without words or a unit.
const DISTINCT: u32 = 3;
/// The least digits of an identifier that is looked for.
const IDENTIFIER: usize = 3;

/// The figures of the sources and of the messages.
pub(crate) struct Sources<'t> {
    pub(crate) texts: &'t [Text<'t>],
    pub(crate) given: &'t [Text<'t>],
    /// A document was shown that nobody can read.
    pub(crate) is_partial: bool,
}

/// The figures of the answer, each with its state; and how many were left out.
pub(crate) fn figures(
    answer: &str,
    parts: &Parts,
    sources: &Sources<'_>,
    options: &Options,
) -> (Vec<Figure>, usize) {
    let mut all = numbers(answer);
    let left_out = all.len().saturating_sub(options.max_figures);
    all.truncate(options.max_figures);
    if all.is_empty() {
        return (Vec::new(), 0);
    }
    let shown = Index::of(sources.texts);
    let given = Index::of(sources.given);
    let pages = sources.texts.iter().map(|text| text.layout.pages).max().unwrap_or_default();
    let (names, given_names) = (Names::new(sources.texts), Names::new(sources.given));
    // Figures side by side are one unless each of them stands somewhere and the one that they make does not.
    let is_known = |number: &Number| {
        structural(answer, number, parts, pages).is_some()
            || supported(answer, number, &shown, &names).is_some()
            || supported(answer, number, &given, &given_names).is_some()
    };
    let all: Vec<Number> = all
        .into_iter()
        .flat_map(|number| {
            let row = crate::number::parts(answer, &number);
            let is_one = row.is_empty()
                || !matches!(number.kind, Kind::Version) && (is_known(&number) || !row.iter().all(is_known));
            if is_one { vec![number] } else { row }
        })
        .collect();
    let mut states: Vec<Option<(FigureState, Option<Citation>)>> = Vec::with_capacity(all.len());
    for number in &all {
        let structure = structural(answer, number, parts, pages).map(|why| (FigureState::Ignored(why), None));
        let found = || supported(answer, number, &shown, &names).map(|at| (FigureState::Supported, at));
        states.push(structure.or_else(found));
    }
    let is_given = |number: &Number| supported(answer, number, &given, &given_names).is_some();
    // The operands are those that are known by themselves, so that nothing follows from what follows.
    let operands: Vec<(usize, Operand)> = all
        .iter()
        .zip(&states)
        .filter(|(number, state)| {
            matches!(state, Some((FigureState::Supported, _))) || state.is_none() && is_given(number)
        })
        .flat_map(|(number, _)| match number.kind {
            Kind::Version => cells(answer, number),
            _ => vec![number.clone()],
        })
        .filter_map(|number| {
            let value = number.readings().first()?.value;
            let (unit, start) = (number.unit, number.start);
            let operand = Operand { value, unit, start, line: line_of(answer, start) };
            Some((parts.paragraph(start), operand))
        })
        .collect();
    let mut totals: Option<Vec<(usize, Sum)>> = None;
    let mut out = Vec::with_capacity(all.len());
    for (number, state) in all.iter().zip(states) {
        let Some(in_answer) = Span::new(number.start, number.end) else { continue };
        let (state, found) = state.unwrap_or_else(|| {
            let totals = totals.get_or_insert_with(|| {
                let of = |(at, text): (usize, &Text<'_>)| {
                    sums(text.text).into_iter().map(move |sum| (at, sum)).collect::<Vec<_>>()
                };
                sources.texts.iter().enumerate().flat_map(of).collect()
            });
            explained(number, answer, parts, sources, &operands, totals)
                .or_else(|| is_given(number).then_some((FigureState::Given, None)))
                .or_else(|| {
                    late(answer, number, sources, options).map(|why| (FigureState::Ignored(why), None))
                })
                .unwrap_or_else(|| {
                    if sources.is_partial {
                        return (FigureState::Unchecked, None);
                    }
                    let nearest =
                        number.readings().first().and_then(|reading| shown.nearest(reading, number.unit));
                    let nearest =
                        nearest.and_then(|(of, near)| Some(near.text(sources.texts.get(*of)?.text).into()));
                    (FigureState::Unsupported { nearest }, None)
                })
        });
        out.push(Figure::new(number.text(answer), in_answer, state).with_found(found));
    }
    (out, left_out)
}

/// The figures of a quoted row of a table, `64.00,12.80`, which stands as it is: each may be reckoned with.
fn cells(answer: &str, row: &Number) -> Vec<Number> {
    let (mut cells, mut from) = (Vec::new(), row.start);
    for cell in row.text(answer).split([',', ';']) {
        let moved = |cell: Number| Number { start: from + cell.start, end: from + cell.end, ..cell };
        cells.extend(numbers(cell).into_iter().map(moved));
        from += cell.len() + 1;
    }
    cells
}

/// The figure of a source that this one is, if there is one: of the same value as it is rounded, with a unit or a word
/// nearby in common, or so many digits that it can be no other.
fn supported(answer: &str, number: &Number, index: &Index, names: &Names<'_>) -> Option<Option<Citation>> {
    let texts = names.texts;
    let readings = match &number.kind {
        Kind::Amount(readings) => readings,
        Kind::Date(days) => return index.date(days).map(|figure| index.citation(figure, texts)),
        Kind::Word => {
            let name = number.text(answer);
            let year = || Some(index.citation(index.alike(&fiscal_year(name)?).first()?.0, texts));
            return names.find(name).map(Some).or_else(year);
        }
        Kind::Version => return names.find(number.text(answer)).map(Some),
    };
    // Text that is no number is looked for as it is written.
    if readings.is_empty() {
        return names.find(number.text(answer)).map(Some);
    }
    let mut words: Option<Vec<String>> = None;
    // "-5 %" may stand as "fell by 5 %".
    let fall = |reading: &Reading| {
        let is_fall = reading.is_signed && reading.value < 0;
        is_fall.then(|| Reading { value: reading.value.saturating_neg(), ..*reading })
    };
    let falls = readings.iter().filter_map(fall).map(|reading| (reading, true));
    for (reading, is_fall) in readings.iter().map(|reading| (*reading, false)).chain(falls) {
        let reading = &reading;
        for (figure, known) in index.alike(reading) {
            let Some((of, other)) = index.numbers.get(figure) else { continue };
            if is_fall && !texts.get(*of).is_some_and(|text| says_fall(text.text, other)) {
                continue;
            }
            let agrees = match (number.unit, other.unit) {
                (Some(one), Some(other)) => one == other,
                _ if is_distinct(reading) && is_distinct(&known) => true,
                _ => {
                    let Some(text) = texts.get(*of) else { continue };
                    let words = words.get_or_insert_with(|| words_near(answer, number.start, number.end));
                    let near = words_near(text.text, other.start, other.end);
                    near.is_empty()
                        || words.is_empty()
                        || near.iter().any(|word| words.binary_search(word).is_ok())
                }
            };
            if agrees {
                return Some(index.citation(figure, texts));
            }
        }
    }
    None
}

fn is_distinct(reading: &Reading) -> bool {
    reading.significant() >= DISTINCT || reading.value.unsigned_abs() >= 1000 * ONE.unsigned_abs()
}

/// True if the words before a figure say that something became less.
fn says_fall(text: &str, number: &Number) -> bool {
    const FALLS: [&str; 17] = [
        "fell",
        "fall",
        "drop",
        "decline",
        "decrease",
        "down",
        "lost",
        "loss",
        "shrank",
        "sank",
        "reduc",
        "lower",
        "minus",
        "rückgang",
        "gesunken",
        "gefallen",
        "baisse",
    ];
    let before = text.get(..number.start).unwrap_or_default();
    let before =
        before.get(before.floor_char_boundary(before.len().saturating_sub(40))..).unwrap_or_default();
    let before = before.to_lowercase();
    FALLS.iter().any(|word| before.contains(word))
}

/// The year of `FY2024`, which the sources may call a fiscal year.
fn fiscal_year(name: &str) -> Option<Reading> {
    let (head, year) = name.split_at_checked(name.len().checked_sub(4)?)?;
    let head = head.trim_end_matches(['-', '/']);
    let is_fiscal = ["FY", "CY", "GJ"].iter().any(|word| head.eq_ignore_ascii_case(word));
    let year: i128 = year.parse().ok().filter(|year| is_fiscal && (1900..2200).contains(year))?;
    Some(Reading { value: year * ONE, step: ONE, is_signed: false })
}

/// The reason why a number states nothing, if its place alone says so.
fn structural(answer: &str, number: &Number, parts: &Parts, pages: u32) -> Option<Ignored> {
    if parts.is_url(number.start) {
        return Some(Ignored::Url);
    }
    if parts.is_code(number.start) {
        return Some(Ignored::Code);
    }
    if parts.is_name(number.start) {
        return Some(Ignored::Marker);
    }
    let (before, behind) = (answer.get(..number.start)?, answer.get(number.end..)?);
    if before.ends_with(['[', '【', '†']) && behind.starts_with([']', '†', '】', ',', ':'])
        || before.ends_with("[^")
        || before.ends_with(", ") && behind.starts_with(']') && before.get(before.rfind('[')?..)?.len() < 40
    {
        return Some(Ignored::Marker);
    }
    let line = before.get(before.rfind('\n').map_or(0, |end| end + 1)..)?;
    let is_head = line.trim_matches([' ', '\t', '#', '*', '>', '(', '-', '+']).is_empty();
    let value = number.readings().first().map_or(0, |reading| reading.value / ONE);
    let is_whole = matches!(number.kind, Kind::Version)
        || number.readings().iter().any(|reading| reading.value % ONE == 0);
    let has_mark = behind.starts_with(['.', ')', ':'])
        && behind.get(1..).is_none_or(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '*']))
        && is_item_number(answer, number, value);
    if is_head
        && is_whole
        && number.unit.is_none()
        && (has_mark && !line.trim_start().starts_with('-') || line.trim_start().starts_with('#'))
    {
        return Some(Ignored::ListNumber);
    }
    let is_page = follows(
        before,
        number,
        answer,
        &["page", "pages", "p.", "pp.", "seite", "seiten", "s.", "slide", "folie", "página", "pagina"],
    );
    let exists = pages == 0 || u32::try_from(value).is_ok_and(|page| (1..=pages).contains(&page));
    (is_page && is_whole && exists).then_some(Ignored::Place)
}

/// True if a number with a mark behind it at the head of a line is one of a list, not an answer of one number: words
/// stand behind it, or an item of the next number around it.
fn is_item_number(answer: &str, number: &Number, value: i128) -> bool {
    const MAX_ITEM: i128 = 100;
    const AROUND: usize = 2000;
    let behind = answer.get(number.end..).unwrap_or_default();
    let has_text = behind
        .lines()
        .next()
        .and_then(|line| line.get(1..))
        .is_some_and(|line| line.contains(char::is_alphanumeric));
    if has_text && value < MAX_ITEM {
        return true;
    }
    let from = answer.floor_char_boundary(number.start.saturating_sub(AROUND));
    let to = answer.ceil_char_boundary((number.end + AROUND).min(answer.len()));
    answer.get(from..to).unwrap_or_default().lines().any(|line| {
        let line = line.trim_start_matches([' ', '\t', '#', '*', '>', '(']);
        let digits = line.len() - line.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let (Some(other), Some(behind)) = (line.get(..digits), line.get(digits..)) else { return false };
        behind.starts_with(['.', ')', ':'])
            && other.parse().is_ok_and(|other: i128| other == value + 1 || other == value - 1)
    })
}

/// True if one of these words stands before a bare number, perhaps with another one of a range between. Abbreviations
/// need their dot: "s" ends many words.
fn follows(before: &str, number: &Number, answer: &str, words: &[&str]) -> bool {
    let digits = answer.get(number.digits.0..number.digits.1).unwrap_or_default();
    if number.unit.is_some() || digits.contains([',', ' ', '\u{a0}', '\'', '’']) {
        return false;
    }
    let from = before.floor_char_boundary(before.len().saturating_sub(40));
    let tail = before.get(from..).unwrap_or_default().to_lowercase();
    let blanks = [' ', '\u{a0}', '\u{202f}'];
    let tail = tail.trim_end_matches(blanks);
    let named = |tail: &str| {
        words.iter().any(|word| {
            let head = tail.strip_suffix(word).map(|head| head.chars().next_back());
            head.is_some_and(|before| match before {
                Some(char) if word.ends_with('.') => char.is_whitespace() || char == '(',
                Some(char) => !char.is_alphanumeric() && !matches!(char, '\'' | '’'),
                None => true,
            })
        })
    };
    let first = || {
        let marks = ["-", "–", " and", " to", " und", " bis", " &"];
        let tail = marks.iter().find_map(|mark| tail.strip_suffix(mark))?.trim_end_matches(blanks);
        let head = tail.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
        (head.len() < tail.len()).then(|| head.trim_end_matches(blanks))
    };
    named(tail) || first().is_some_and(named)
}

/// The reason why a number that nothing explains states nothing all the same.
fn late(answer: &str, number: &Number, sources: &Sources<'_>, options: &Options) -> Option<Ignored> {
    let before = answer.get(..number.start)?;
    let digits = number.text(answer).bytes().filter(u8::is_ascii_digit).count();
    match &number.kind {
        Kind::Date(days) => {
            return options.today.filter(|today| days.contains(today)).map(|_| Ignored::Today);
        }
        Kind::Version => return Some(Ignored::Version),
        Kind::Word if digits < IDENTIFIER => return Some(Ignored::Word),
        Kind::Word => {
            let name = number.text(answer);
            let is_version = name
                .strip_prefix(['v', 'V'])
                .is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
            return is_version.then_some(Ignored::Version);
        }
        Kind::Amount(_) => {}
    }
    if follows(before, number, answer, &["version", "release", "versions", "releases"]) {
        return Some(Ignored::Version);
    }
    const SECTIONS: [&str; 18] = [
        "section",
        "sections",
        "clause",
        "clauses",
        "articles",
        "article",
        "art.",
        "chapter",
        "paragraph",
        "§",
        "§§",
        "abschnitt",
        "artikel",
        "kapitel",
        "absatz",
        "table",
        "figure",
        "exhibit",
    ];
    if follows(before, number, answer, &SECTIONS) {
        let digits = answer.get(number.digits.0..number.digits.1)?;
        let exists = sources.texts.iter().any(|text| !crate::search::places(digits, text.text).is_empty());
        return exists.then_some(Ignored::Place);
    }
    let value = number.readings().first()?.value;
    let today =
        options.today.filter(|(year, _, _)| value == i128::from(*year) * ONE && number.unit.is_none());
    if today.is_some() {
        return Some(Ignored::Today);
    }
    let line = line_of(answer, number.start);
    let below = items(answer.get(number.end..)?, answer.get(line..)?);
    let is_quote = |row: &&str| row.trim_start().starts_with(['“', '"', '>']);
    let above = answer.get(..line)?.trim_end().lines().rev().take_while(is_quote).count();
    let is = |count: usize| count > 1 && i128::try_from(count).is_ok_and(|count| value == count * ONE);
    (number.unit.is_none() && (is(below) || is(above))).then_some(Ignored::Count)
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.len() - line.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    line.starts_with("- ")
        || line.starts_with("* ")
        || line.starts_with("• ")
        || digits > 0
            && line.get(digits..).is_some_and(|rest| rest.starts_with(". ") || rest.starts_with(") "))
}

/// The number of items of the first list behind a place, if one begins in the lines that follow and the
/// place's own line, with which `own` begins, is none of them.
fn items(behind: &str, own: &str) -> usize {
    let mut lines = behind.lines().skip(1).filter(|line| !line.trim().is_empty());
    let Some(first) = lines.next().filter(|line| is_item(line)) else { return 0 };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = own.lines().next().unwrap_or_default();
    if is_item(own) && indent(own) >= indent(first) {
        return 0;
    }
    let rest = lines.take_while(|line| is_item(line) || indent(line) > indent(first));
    1 + rest.filter(|line| is_item(line) && indent(line) == indent(first)).count()
}

/// The derivation of a figure from others.
fn explained(
    number: &Number,
    answer: &str,
    parts: &Parts,
    sources: &Sources<'_>,
    operands: &[(usize, Operand)],
    totals: &[(usize, Sum)],
) -> Option<(FigureState, Option<Citation>)> {
    let paragraph = parts.paragraph(number.start);
    let from = operands.partition_point(|(of, _)| *of < paragraph);
    let near: Vec<Operand> = operands
        .iter()
        .skip(from)
        .take_while(|(of, _)| *of == paragraph)
        .map(|(_, operand)| *operand)
        .collect();
    // A sum of a whole table stands for itself; one of little digits needs more than chance.
    for reading in number.readings() {
        let total = totals.iter().find(|(_, sum)| {
            let agrees = sum.unit == number.unit || sum.unit.is_none() || number.unit.is_none();
            agrees
                && reading.is(sum.value)
                && (is_distinct(reading) || reading.value != 0 && is_total(answer, number))
        });
        if let Some((of, sum)) = total {
            let citation = sources.texts.get(*of).map(|text| {
                let place = text.layout.place(text.text, sum.start, sum.end);
                Citation::new(text.source.clone(), How::Exact)
                    .with_place(place)
                    .with_document_span(Span::new(sum.start, sum.end))
            });
            return Some((FigureState::Derived(sum.what), citation));
        }
        let derived: Option<Derivation> = derivation(reading, number.unit, number.start, &near);
        if let Some(derived) = derived {
            return Some((FigureState::Derived(derived), None));
        }
        let is_sure = is_distinct(reading) || is_total(answer, number);
        if is_sure && adds_up_column(reading, number.unit, line_of(answer, number.start), &near) {
            return Some((FigureState::Derived(Derivation::Column), None));
        }
    }
    None
}

/// The start of the line of a place.
fn line_of(answer: &str, at: usize) -> usize {
    answer.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// True if the words around a figure call it a sum.
fn is_total(answer: &str, number: &Number) -> bool {
    const TOTALS: [&str; 12] = [
        "total", "sum", "summe", "gesam", "insge", "toget", "altog", "zusam", "overa", "somme", "suma",
        "celke",
    ];
    words_near(answer, number.start, number.end).iter().any(|word| TOTALS.contains(&word.as_str()))
}
