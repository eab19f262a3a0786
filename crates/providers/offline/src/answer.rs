//! The answer: quotes with the file that they come from, or what was looked at in vain.

use crate::index::Index;
use crate::material::{Material, Note, SourceKind};
use crate::pieces::{Form, Table};
use crate::question::{Facet, Kind, Question};
use crate::rank::{self, Hit};
use crate::values::{Decimal, is_currency};
use crate::words::{head, stems, words};

/// Rows of one table that are quoted.
const MAX_ROWS: usize = 20;
/// Files that are named in a list.
const MAX_NAMES: usize = 12;
/// Sources that are quoted for one fact.
const MAX_SOURCES: usize = 3;
/// Sentences of a summary.
const MAX_SUMMARY: usize = 5;

/// Answers from what was read. `unread` names what could have been read and was not.
pub(crate) fn answer(
    question: &Question,
    material: &Material,
    index: &Index<'_>,
    unread: &[String],
) -> String {
    if question.facets.is_empty() {
        return "I am no language model: I quote what documents and tool results say. Ask for something that may be \
                written there."
            .to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    let mut missing: Vec<&Facet> = Vec::new();
    for facet in &question.facets {
        let found = match facet.kind {
            Kind::Summary => summary(facet, index),
            Kind::Files => files(material),
            _ => match (quotes(facet, index), facet.of_rows()) {
                (found, Some(of_rows)) if found.is_empty() => quotes(&of_rows, index),
                (found, _) => found,
            },
        };
        if found.is_empty() {
            missing.push(facet);
        }
        for line in found {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    for facet in question.facets.iter().filter(|facet| !missing.contains(facet)) {
        // A file that the question names and nobody could read is said, also beside an answer.
        for note in material.notes.iter().filter(|note| missing.is_empty() && names(facet, &note.name)) {
            let line = not_shown(note);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    for facet in &missing {
        lines.push(format!("I found nothing that answers “{}”.", head(&facet.text, 200)));
    }
    if !missing.is_empty() {
        lines.extend(looked_at(material, unread));
    }
    lines.join("\n")
}

/// True if every part of a question has an answer that reading more would not improve.
pub(crate) fn is_answered(question: &Question, material: &Material, index: &Index<'_>) -> bool {
    question.facets.iter().all(|facet| match facet.kind {
        Kind::Files => !files(material).is_empty(),
        Kind::Summary => rank::most_about(index, facet).is_some(),
        _ => rank::hits(index, facet)
            .first()
            .is_some_and(|hit| hit.is_strong(facet) && !material.is_lead(hit.source, &hit.passage.text)),
    })
}

/// The quotes that answer one part of a question.
fn quotes(facet: &Facet, index: &Index<'_>) -> Vec<String> {
    let hits = rank::hits(index, facet);
    let Some(best) = hits.first().filter(|hit| hit.is_found(facet)) else { return Vec::new() };
    let best = read_itself(best, &hits, facet).unwrap_or(best);
    if let Form::Row { table, .. } = best.passage.form {
        let same = |hit: &&Hit<'_>| {
            std::ptr::eq(hit.source, best.source)
                && matches!(hit.passage.form, Form::Row { table: other, .. } if other == table)
                && hit.covers_like(best)
        };
        let rows: Vec<&Hit<'_>> = hits.iter().filter(same).collect();
        let alike = rows.iter().filter(|hit| hit.is_as_good_as(best)).count();
        if rows.len() > 1 && (facet.many || facet.sum || alike > 1) {
            let all = facet.many || facet.sum;
            let rows = rows.into_iter().filter(|hit| all || hit.is_as_good_as(best)).collect();
            return table_rows(facet, rows, best.source.pieces.tables.get(table));
        }
    }
    if facet.many
        && let Some(listed) = below_heading(facet, best)
    {
        return listed;
    }
    // The same fact may stand in several files; each says it once.
    let mut chosen: Vec<&Hit<'_>> = Vec::new();
    for hit in hits.iter().filter(|hit| hit.is_found(facet) && hit.is_as_good_as(best)) {
        let is_known = |known: &&Hit<'_>| known.source.name == hit.source.name || repeats(hit, known);
        if chosen.len() < MAX_SOURCES && !chosen.iter().any(is_known) {
            chosen.push(read_itself(hit, &hits, facet).unwrap_or(hit));
        }
    }
    chosen.into_iter().flat_map(|hit| opened(hit).unwrap_or_else(|| vec![quote(hit)])).collect()
}

/// True if a passage of data, such as the line that a search found, holds a passage of a file.
fn repeats(data: &Hit<'_>, file: &Hit<'_>) -> bool {
    data.source.kind == SourceKind::Data
        && file.source.kind == SourceKind::File
        && data.passage.text.contains(file.passage.text.as_str())
}

/// The passage of the file that a search found, if it was read since: people look it up there.
fn read_itself<'h, 'm>(hit: &Hit<'m>, hits: &'h [Hit<'m>], facet: &Facet) -> Option<&'h Hit<'m>> {
    hits.iter().filter(|other| repeats(hit, other)).find(|other| other.is_found(facet))
}

/// The items below a heading that names what is asked for, if there is more than one.
fn below_heading(facet: &Facet, best: &Hit<'_>) -> Option<Vec<String>> {
    let heading = &best.passage.heading;
    if heading.is_empty() || !names(facet, heading) {
        return None;
    }
    let below = best.source.pieces.passages.iter().filter(|passage| passage.heading == *heading);
    let quotes: Vec<String> = below.take(MAX_ROWS).map(|passage| format!("“{}”", passage.text)).collect();
    let title = format!("From {}, below “{heading}”:", best.source.name);
    (quotes.len() > 1).then(|| std::iter::once(title).chain(quotes).collect())
}

/// Passages below a heading that are quoted for it.
const MAX_BELOW: usize = 3;

/// The text below a heading, for one that is found itself.
fn opened(hit: &Hit<'_>) -> Option<Vec<String>> {
    if hit.passage.form != Form::Heading {
        return None;
    }
    let is_below = |heading: &str| !heading.is_empty() && hit.passage.text.ends_with(heading);
    let below = hit.source.pieces.passages.iter().filter(|passage| is_below(&passage.heading));
    let quotes: Vec<String> = below.take(MAX_BELOW).map(|passage| quote(&hit.at(passage))).collect();
    (!quotes.is_empty()).then_some(quotes)
}

/// One quote and where it comes from; of a row also what its columns are.
fn quote(hit: &Hit<'_>) -> String {
    let page = hit.passage.page.map(|page| format!(", page {page}")).unwrap_or_default();
    let columns = match &hit.passage.form {
        Form::Row { table, .. } if hit.source.kind != SourceKind::Data => {
            hit.source.pieces.tables.get(*table).map(|table| table.line.as_str()).unwrap_or_default()
        }
        _ => "",
    };
    let columns =
        if columns.is_empty() { String::new() } else { format!("; columns: {}", head(columns, 300)) };
    format!("“{}” ({}{page}{columns})", hit.passage.text, hit.source.name)
}

/// Rows of one table in its order, with the sums of their amounts if those are asked for.
fn table_rows(facet: &Facet, mut rows: Vec<&Hit<'_>>, table: Option<&Table>) -> Vec<String> {
    rows.sort_by_key(|hit| hit.position);
    let columns = table.map(|table| table.line.as_str()).filter(|line| !line.is_empty());
    let mut lines: Vec<String> = Vec::new();
    let name = rows.first().map(|hit| hit.source.name.as_str()).unwrap_or_default();
    lines.push(match columns {
        Some(columns) => format!("From {name} (columns: {}):", head(columns, 300)),
        None => format!("From {name}:"),
    });
    lines.extend(rows.iter().take(MAX_ROWS).map(|hit| format!("“{}”", hit.passage.text)));
    if rows.len() > MAX_ROWS {
        lines.push(format!("and {} more rows like these", rows.len() - MAX_ROWS));
    }
    if facet.sum
        && let Some(sums) = sums(&rows, table)
    {
        lines.push(format!("Added up over these {} rows: {sums}", rows.len()));
        if let Some((name, cut)) =
            rows.first().and_then(|hit| Some((&hit.source.name, hit.source.cut.as_ref()?)))
        {
            lines.push(format!("{name} is not whole: {cut}"));
        }
    }
    lines
}

/// The sums of the columns that hold amounts.
fn sums(rows: &[&Hit<'_>], table: Option<&Table>) -> Option<String> {
    let cells: Vec<&[String]> = rows
        .iter()
        .filter_map(|hit| match &hit.passage.form {
            Form::Row { cells, .. } => Some(cells.as_slice()),
            _ => None,
        })
        .collect();
    let width = cells.iter().map(|cells| cells.len()).max()?;
    let sums: Vec<String> = (0..width)
        .filter_map(|column| {
            let name = table.and_then(|table| table.columns.get(column)).map_or("", String::as_str);
            let values: Vec<&str> =
                cells.iter().filter_map(|cells| cells.get(column)).map(String::as_str).collect();
            let given: Vec<&str> = values.iter().copied().filter(|value| !value.is_empty()).collect();
            let numbers: Vec<Decimal> = given.iter().map(|value| amount(value)).collect::<Option<_>>()?;
            let is_amount = numbers.iter().any(|number| number.has_places()) || words(name).any(is_currency);
            let sum =
                numbers.into_iter().try_fold(Decimal::default(), Decimal::plus).filter(|_| is_amount)?;
            let gaps = values.len() - given.len();
            let gaps = if gaps > 0 { format!(" ({gaps} without a value)") } else { String::new() };
            Some(format!("{name} {sum}{gaps}").trim().to_owned())
        })
        .collect();
    (!sums.is_empty()).then(|| sums.join(", "))
}

/// A cell as an amount, its currency aside.
fn amount(cell: &str) -> Option<Decimal> {
    let bare = cell.trim_matches(|c: char| c.is_whitespace() || matches!(c, '€' | '$' | '£' | '¥'));
    let digits = bare.split_whitespace().filter(|word| !is_currency(word)).collect::<Vec<_>>();
    match digits.as_slice() {
        [digits] => Decimal::parse(digits),
        _ => None,
    }
}

/// The headings and first sentences of the document that is asked about.
fn summary(facet: &Facet, index: &Index<'_>) -> Vec<String> {
    let Some(source) = rank::most_about(index, facet) else { return Vec::new() };
    let passages = &source.pieces.passages;
    let mut chosen: Vec<&str> = Vec::new();
    let mut headings: Vec<&str> = Vec::new();
    for passage in
        passages.iter().filter(|passage| passage.form == Form::Prose && words(&passage.text).count() > 4)
    {
        if chosen.len() < MAX_SUMMARY && !headings.contains(&passage.heading.as_str()) {
            headings.push(&passage.heading);
            chosen.push(&passage.text);
        }
    }
    if chosen.len() < 2 {
        chosen = passages.iter().take(MAX_SUMMARY).map(|passage| passage.text.as_str()).collect();
    }
    let mut lines = vec![format!("I cannot summarise, only quote. From {}:", source.name)];
    lines.extend(chosen.into_iter().map(|text| format!("“{text}”")));
    lines
}

/// The files that listings name.
fn files(material: &Material) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, item) in &material.items {
        if let Some(name) = item.name().filter(|name| !names.iter().any(|known| known == name)) {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() { Vec::new() } else { vec![format!("These were listed: {}", some(&names, 100))] }
}

/// The files that were looked at, and those that could not be.
fn looked_at(material: &Material, unread: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let read = material.read_names();
    lines.push(if read.is_empty() {
        "There was no text to look at.".to_owned()
    } else {
        format!("I looked at: {}", some(&read, MAX_NAMES))
    });
    for note in material.notes.iter().take(MAX_NAMES) {
        lines.push(not_shown(note));
    }
    if material.notes.len() > MAX_NAMES {
        lines.push(format!("and {} more were not shown to me", material.notes.len() - MAX_NAMES));
    }
    if !unread.is_empty() {
        lines.push(format!("Not read: {}", some(unread, MAX_NAMES)));
    }
    for (tool, said) in material.failures.iter().take(3) {
        lines.push(format!("{tool} failed: {said}"));
    }
    lines
}

fn not_shown(note: &Note) -> String {
    format!("Not shown to me: {} ({})", note.name, note.reason)
}

/// True if the name of a document holds most of the words of a question.
fn names(facet: &Facet, name: &str) -> bool {
    let stems: Vec<String> = stems(name).collect();
    let asked: Vec<_> = facet.terms.iter().filter(|term| !term.soft && !term.inherited).collect();
    let held =
        asked.iter().filter(|term| stems.windows(term.stems.len().max(1)).any(|window| window == term.stems));
    held.count() * 3 >= asked.len() * 2 && !asked.is_empty()
}

fn some(names: &[String], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(String::as_str).collect();
    let more = names.len().saturating_sub(most);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}
