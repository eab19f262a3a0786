//! The parts of office files besides their text: charts, diagrams and text boxes, which stand in parts of their own.

use std::collections::{BTreeMap, BTreeSet};

use crate::ConvertError;
use crate::ooxml::{Package, of_kind, settle};
use crate::output::{Output, one_line};
use crate::shapes::of_parts;
use crate::table::push_row;
use crate::xml::{Node, Stop, Xml};

/// Most series of a chart, most points of all of them, and the longest text in it.
const MAX_SERIES: usize = 256;
const MAX_POINTS: usize = 20_000;
const MAX_TEXT: usize = 4 << 10;

/// A chart as it was last drawn.
#[derive(Default)]
struct Chart {
    titles: Vec<String>,
    series: Vec<Series>,
    /// Points that are kept, and whether there were more.
    points: usize,
    full: bool,
    /// True if its points have numbers of their own instead of common categories.
    scattered: bool,
}

#[derive(Default)]
struct Series {
    name: String,
    categories: BTreeMap<usize, String>,
    values: BTreeMap<usize, String>,
    trends: Vec<Trend>,
}

/// A trend line, which is computed from the values of its series.
#[derive(Default)]
struct Trend {
    kind: String,
    name: String,
    /// The equation and the like, if it is shown.
    label: String,
}

/// The part of a series that a value belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Name,
    Categories,
    Values,
    Sizes,
}

/// Writes a chart as a table: its titles, and a row for each category with the values of all series; then the texts of shapes
/// that are drawn into it.
///
/// # Errors
/// The time is over.
pub(crate) fn chart(package: &Package<'_>, name: &str, output: &mut Output) -> Result<(), ConvertError> {
    let Some(Ok(xml)) = package.xml(name) else {
        output.not_shown("chart");
        return Ok(());
    };
    let mut chart = Chart::default();
    settle(chart.read(xml), output)?;
    // Bare numbers say nothing.
    let named = |series: &Series| !series.name.is_empty() || !series.categories.is_empty();
    if chart.titles.is_empty() && !chart.series.iter().any(named) {
        output.not_shown("chart");
    } else {
        if chart.full {
            output.truncated();
        }
        output.end_line();
        for line in chart.lines() {
            output.line(&line);
        }
    }
    // Shapes that are drawn into the chart.
    of_parts(package, &package.references(name)?, "chartUserShapes", output)
}

/// Writes the charts that a part refers to.
///
/// # Errors
/// The time is over.
pub(crate) fn charts(package: &Package<'_>, part: &str, output: &mut Output) -> Result<(), ConvertError> {
    let references = package.references(part)?;
    for kind in ["chart", "chartEx"] {
        for name in of_kind(&references, kind) {
            package.clock.check()?;
            chart(package, name, output)?;
        }
    }
    Ok(())
}

impl Chart {
    fn read(&mut self, mut xml: Xml<'_>) -> Result<(), Stop> {
        let mut of = None;
        let mut in_series = false;
        let mut at = 0_usize;
        loop {
            let (mut wanted, mut is_skipped, mut is_trend) = (false, false, false);
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "ser" | "series" => {
                        in_series = true;
                        if self.series.len() < MAX_SERIES {
                            self.series.push(Series::default());
                        } else {
                            self.full = true;
                        }
                    }
                    "tx" if in_series && of.is_none() && self.is_unnamed() => of = Some(Of::Name),
                    kind @ ("cat" | "xVal" | "strDim") => {
                        of = Some(Of::Categories);
                        self.scattered |= kind == "xVal";
                    }
                    "val" | "yVal" | "numDim" => of = Some(Of::Values),
                    "bubbleSize" => of = Some(Of::Sizes),
                    // They say how far a value may be wrong.
                    "errBars" => is_skipped = true,
                    "trendline" => is_trend = true,
                    "pt" => {
                        at = tag.number("idx").unwrap_or(at + 1);
                    }
                    "v" | "t" => wanted = true,
                    _ => {}
                },
                Node::Close(name) => match &*name {
                    "ser" | "series" => in_series = false,
                    "tx" if of == Some(Of::Name) => of = None,
                    "cat" | "xVal" | "val" | "yVal" | "strDim" | "numDim" | "bubbleSize" => of = None,
                    _ => {}
                },
                Node::End => return Ok(()),
                _ => {}
            }
            if is_skipped {
                xml.skip()?;
            }
            if is_trend {
                let trend = Trend::read(&mut xml)?;
                self.add_trend(trend);
            }
            if wanted {
                let text = xml.text(MAX_TEXT)?;
                self.add(of, at, one_line(&text));
            }
        }
    }

    fn add_trend(&mut self, trend: Trend) {
        self.points += 1;
        if self.points > MAX_POINTS {
            self.full = true;
        } else if let Some(series) = self.series.last_mut() {
            series.trends.push(trend);
        }
    }

    /// True if the last series has neither name nor values yet; labels of values come behind them.
    fn is_unnamed(&self) -> bool {
        self.series.last().is_some_and(|series| series.name.is_empty() && series.values.is_empty())
    }

    fn add(&mut self, of: Option<Of>, at: usize, text: String) {
        if text.is_empty() || self.full {
            return;
        }
        self.points += 1;
        if self.points > MAX_POINTS {
            self.full = true;
            return;
        }
        match (of, self.series.last_mut()) {
            (None, _) | (_, None) if self.titles.len() >= MAX_SERIES => self.full = true,
            (None, _) | (_, None) => self.titles.push(text),
            (Some(Of::Name), Some(series)) => {
                let space = if series.name.is_empty() { "" } else { " " };
                series.name.push_str(space);
                series.name.push_str(&text);
            }
            (Some(Of::Categories), Some(series)) => {
                // Categories of several levels: the innermost comes first.
                let entry = series.categories.entry(at).or_default();
                *entry = if entry.is_empty() { text } else { format!("{text} / {entry}") };
            }
            (Some(Of::Values), Some(series)) => {
                series.values.insert(at, shown(&text));
            }
            (Some(Of::Sizes), Some(series)) => {
                if let Some(value) = series.values.get_mut(&at) {
                    value.push_str(&format!(" (size {})", shown(&text)));
                }
            }
        }
    }

    /// The series that share their categories.
    fn groups(&self) -> impl Iterator<Item = &[Series]> {
        let mut others = self.series.iter().skip(1).map(|series| &series.categories);
        let first = self.series.first().map(|series| &series.categories);
        let is_shared = !self.scattered || others.all(|categories| Some(categories) == first);
        self.series.chunks(if is_shared { self.series.len().max(1) } else { 1 })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![head(&self.titles)];
        let mut row = |cells: Vec<&str>| {
            let mut line = String::new();
            push_row(&mut line, cells.into_iter().enumerate());
            if !line.is_empty() {
                lines.push(line);
            }
        };
        for group in self.groups() {
            if group.iter().any(|series| !series.name.is_empty()) {
                row([""].into_iter().chain(group.iter().map(|series| series.name.as_str())).collect());
            }
            let points = group.iter().flat_map(|series| series.categories.keys().chain(series.values.keys()));
            for at in points.copied().collect::<BTreeSet<usize>>() {
                let category = group.iter().find_map(|series| series.categories.get(&at));
                let values = group.iter().map(|series| series.values.get(&at).map_or("", String::as_str));
                row([category.map_or("", String::as_str)].into_iter().chain(values).collect());
            }
        }
        let trends =
            self.series.iter().flat_map(|series| series.trends.iter().map(|trend| trend.shown(&series.name)));
        lines.extend(trends);
        lines
    }
}

impl Trend {
    /// Reads the element that began last.
    fn read(xml: &mut Xml<'_>) -> Result<Self, Stop> {
        let outside = xml.depth().saturating_sub(1);
        let mut trend = Self::default();
        let mut in_label = false;
        loop {
            let (mut is_name, mut is_text, mut is_style) = (false, false, false);
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "name" => is_name = true,
                    "trendlineType" => trend.kind = one_line(&tag.attr("val").unwrap_or_default()),
                    "trendlineLbl" => in_label = true,
                    "txPr" => is_style = true,
                    "p" if !trend.label.is_empty() => trend.label.push_str("; "),
                    "t" | "v" => is_text = in_label,
                    _ => {}
                },
                Node::End => return Ok(trend),
                _ => {}
            }
            if xml.depth() <= outside {
                return Ok(trend);
            }
            if is_style {
                xml.skip()?;
            } else if is_name {
                trend.name = one_line(&xml.text(MAX_TEXT)?);
            } else if is_text && trend.label.len() < MAX_TEXT {
                trend.label.push_str(&one_line(&xml.text(MAX_TEXT)?));
            }
        }
    }

    fn shown(&self, series: &str) -> String {
        trend(series, &self.kind, [&self.name, &self.label])
    }
}

/// The line of a trend line, of the series of this name.
pub(crate) fn trend(series: &str, kind: &str, words: [&str; 2]) -> String {
    let mut line = "[trend line".to_owned();
    if !series.is_empty() {
        line.push_str(&format!(" of {series}"));
    }
    if !kind.is_empty() {
        line.push_str(&format!(" ({kind})"));
    }
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        line.push_str(&format!(": {}", words.join(", ")));
    }
    line.push(']');
    line
}

/// The line above the values of a chart.
pub(crate) fn head(titles: &[String]) -> String {
    match titles.split_first() {
        Some((title, [])) => format!("[chart: {title}]"),
        Some((title, rest)) => format!("[chart: {title} ({})]", rest.join(", ")),
        None => "[chart]".to_owned(),
    }
}

/// A value with the digits that a reader sees.
fn shown(value: &str) -> String {
    value.parse().map_or_else(|_| value.to_owned(), crate::numbers::plain)
}
