//! Annotations: their appearances, the values of form fields, and comments.

use attache_core::line::one_line;
use hayro_font::kurbo::{Affine, Point, Vec2};
use hayro_syntax::object::{Dict, MaybeRef, Name, Object, Rect, Stream, String as PdfString};
use hayro_syntax::page::{Page, Resources};

use super::attachments::file;
use super::content::{Reader, matrix};
use super::found::Found;
use super::runs::Place;
use super::state::State;
use super::text_string::{self, text_string};
use super::values::{Unreadable, is_whole, value};
use crate::ConvertError;

/// Most annotations of a page whose appearance is read, and most bytes of their comments.
const MAX_ANNOTATIONS: usize = 10_000;
const MAX_COMMENTS: usize = 256 << 10;

/// Most lines of a value of a field, and most fields that one may belong to.
const MAX_LINES: usize = 1_000;
const MAX_PARENTS: usize = 16;

/// The height of letters whose field does not say it.
const SIZE: f64 = 10.0;

/// Annotations whose contents somebody wrote as a comment.
const COMMENTS: [&[u8]; 15] = [
    b"Text",
    b"FreeText",
    b"Line",
    b"Square",
    b"Circle",
    b"Polygon",
    b"PolyLine",
    b"Highlight",
    b"Underline",
    b"Squiggly",
    b"StrikeOut",
    b"Stamp",
    b"Caret",
    b"Ink",
    b"FileAttachment",
];

/// Flags of annotations: they are not shown; and of fields: a password, and buttons of which one alone is on, or none.
const HIDDEN: u32 = 1 << 1 | 1 << 5;
const PASSWORD: u32 = 1 << 13;
const RADIO: u32 = 1 << 15;
const PUSHED: u32 = 1 << 16;

/// Carries out the annotations of a page.
pub(super) fn read<'a>(
    reader: &mut Reader<'_, 'a>,
    page: &Page<'a>,
    state: &State<'a>,
) -> Result<(), ConvertError> {
    let list = match value(page.raw(), "Annots") {
        None => return Ok(()),
        Some(Ok(Object::Array(list))) => list,
        found => {
            if let (Some(Err(_)), Some(MaybeRef::Ref(id))) =
                (&found, page.raw().get_raw::<Object<'_>>("Annots"))
            {
                reader.found.dangling.push(id.obj_number);
                return Ok(());
            }
            reader.found.partial = true;
            return Ok(());
        }
    };
    for (index, annotation) in list.raw_iter().enumerate() {
        reader.step()?;
        let annotation = match annotation {
            _ if index >= MAX_ANNOTATIONS => None,
            MaybeRef::NotRef(annotation) => Some(annotation),
            MaybeRef::Ref(id) => match page.xref().get(id.into()) {
                None => {
                    reader.found.dangling.push(id.obj_number);
                    continue;
                }
                annotation => annotation,
            },
        };
        match annotation {
            Some(Object::Null(_)) => {}
            Some(Object::Dict(annotation)) => read_one(reader, &annotation, page.resources(), state)?,
            _ => reader.found.partial = true,
        }
    }
    reader.found.partial |= !is_whole(&list);
    Ok(())
}

fn read_one<'a>(
    reader: &mut Reader<'_, 'a>,
    annotation: &Dict<'a>,
    resources: &Resources<'a>,
    state: &State<'a>,
) -> Result<(), ConvertError> {
    let is_hidden = annotation.get::<u32>("F").is_some_and(|flags| flags & HIDDEN != 0);
    if is_hidden || reader.layers.hide(annotation, "OC") {
        return Ok(());
    }
    let kind = annotation.get::<Name<'_>>("Subtype");
    let kind = kind.as_ref().map(|kind| kind.as_ref()).unwrap_or_default();
    // Text that is typed onto a page, or into a field, is read where it stands.
    let lines = match kind {
        b"Widget" => field_value(annotation),
        b"FreeText" => text_at(annotation, "Contents").map(|text| lines(&text)).unwrap_or_default(),
        _ => Vec::new(),
    };
    if lines.is_empty() {
        carry_out(reader, annotation, resources, state)?;
    } else {
        let page = std::mem::take(&mut reader.found.runs);
        carry_out(reader, annotation, resources, state)?;
        let mut shown = std::mem::replace(&mut reader.found.runs, page);
        // An appearance that shows something else was made before the value was set. That of a choice may have other
        // words than the value, and that of a box another mark; that of a number or a date is put as a script says.
        if shown.shows(&lines.concat())
            || (shown.is_text() && (is_chosen(annotation) || is_formatted(annotation, &lines, &shown.text())))
        {
            reader.found.runs.append(shown);
        } else {
            put_lines(&mut reader.found, &lines, annotation, state);
        }
    }
    if kind == b"FileAttachment" {
        reader.found.files.extend(file(annotation, "FS"));
    }
    if COMMENTS.contains(&kind) && kind != b"FreeText" {
        comment(&mut reader.found, annotation);
    }
    Ok(())
}

/// Puts lines where an annotation stands.
fn put_lines(found: &mut Found, lines: &[String], annotation: &Dict<'_>, state: &State<'_>) {
    let Some(target) = annotation.get::<Rect>("Rect") else {
        found.partial = true;
        return;
    };
    let size = font_size(annotation).unwrap_or(SIZE).min(target.height().max(4.0));
    // One line stands in the middle of its field, several begin at its top.
    let top = match lines {
        [_] => (target.y0 + target.y1) / 2.0 - 0.35 * size,
        _ => target.y1 - 1.1 * size,
    };
    for (index, line) in lines.iter().enumerate() {
        let y = top - 1.2 * size * index as f64;
        let x = target.x0 + 2.0;
        let place = Place {
            start: state.ctm * Point::new(x, y),
            end: state.ctm * Point::new(x + 0.5 * size * line.chars().count() as f64, y),
            direction: turned(state, Vec2::new(1.0, 0.0)),
            size: turned(state, Vec2::new(0.0, size)).hypot(),
        };
        found.runs.add(&one_line(line, usize::MAX), place);
        found.runs.add(" ", place);
    }
}

fn comment(found: &mut Found, annotation: &Dict<'_>) {
    let Some(text) = text_at(annotation, "Contents").map(|text| lines(&text).join(" / ")) else { return };
    if text.is_empty() {
        return;
    }
    if found.comments.len() + text.len() > MAX_COMMENTS {
        found.partial = true;
        return;
    }
    let by = text_at(annotation, "T").map(|by| lines(&by).concat()).filter(|by| !by.is_empty());
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    found.comments.push_str(&format!("[comment{by}: {text}]\n"));
}

/// Carries out the appearance of an annotation.
fn carry_out<'a>(
    reader: &mut Reader<'_, 'a>,
    annotation: &Dict<'a>,
    resources: &Resources<'a>,
    state: &State<'a>,
) -> Result<(), ConvertError> {
    let Some(stream) = appearance(annotation) else { return Ok(()) };
    let bounds = stream.as_ref().ok().and_then(|stream| stream.dict().get::<Rect>("BBox"));
    let (Ok(stream), Some(target)) = (stream, annotation.get::<Rect>("Rect")) else {
        reader.found.partial = true;
        return Ok(());
    };
    let bounds = bounds.unwrap_or(Rect::new(0.0, 0.0, target.width(), target.height()));
    // The appearance's box, where its matrix puts it, is fitted into the annotation's.
    let corners = [
        Point::new(bounds.x0, bounds.y0),
        Point::new(bounds.x1, bounds.y0),
        Point::new(bounds.x0, bounds.y1),
        Point::new(bounds.x1, bounds.y1),
    ]
    .map(|corner| matrix(stream.dict()) * corner);
    let (low, high) = corners.iter().fold((corners[0], corners[0]), |(low, high), p| {
        (Point::new(low.x.min(p.x), low.y.min(p.y)), Point::new(high.x.max(p.x), high.y.max(p.y)))
    });
    let scale = |from: f64, to: f64| if from > 0.0 { to / from } else { 1.0 };
    let (x, y) = (scale(high.x - low.x, target.width()), scale(high.y - low.y, target.height()));
    let fit = Affine::new([x, 0.0, 0.0, y, target.x0 - x * low.x, target.y0 - y * low.y]);
    let state = State { ctm: state.ctm * fit, ..State::default() };
    reader.object(&stream, resources, &state, 0)
}

/// A direction of the page where the matrix turns it to.
fn turned(state: &State<'_>, direction: Vec2) -> Vec2 {
    state.ctm * direction.to_point() - state.ctm * Point::ORIGIN
}

/// The appearance of an annotation in its state, if it shows anything.
fn appearance<'a>(annotation: &Dict<'a>) -> Option<Result<Stream<'a>, Unreadable>> {
    let normal = match value(annotation, "AP")? {
        Ok(Object::Dict(looks)) => value(&looks, "N")?,
        _ => Err(Unreadable),
    };
    let shown = match normal {
        // One for each state that shows anything.
        Ok(Object::Dict(looks)) => value(&looks, annotation.get::<Name<'_>>("AS")?)?,
        shown => shown,
    };
    Some(shown.and_then(|shown| shown.into_stream().ok_or(Unreadable)))
}

/// A field, and those above it.
fn ancestors<'a>(field: &Dict<'a>) -> impl Iterator<Item = Dict<'a>> {
    let above = |field: &Dict<'a>| field.get::<Dict<'a>>("Parent");
    std::iter::successors(Some(field.clone()), above).take(MAX_PARENTS)
}

/// An entry of a field, or of the nearest field above that has it.
fn inherited<'a>(field: &Dict<'a>, key: &str) -> Option<Object<'a>> {
    ancestors(field).find_map(|field| field.get::<Object<'a>>(key))
}

/// True if a script puts the value of a field in another way, and the text that is shown may be that.
fn is_formatted(field: &Dict<'_>, value: &[String], shown: &str) -> bool {
    let has_script =
        |field: Dict<'_>| field.get::<Dict<'_>>("AA").is_some_and(|script| script.contains_key("F"));
    let number = value.concat().replace(',', ".").parse().ok();
    ancestors(field).any(has_script) && number.is_none_or(|number| is_put_as(number, shown))
}

/// True if a text has the digits of a number, rounded, whatever its unit and its signs.
fn is_put_as(number: f64, text: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let Ok(shown) = digits(text).parse::<f64>() else { return number.abs() < 0.005 };
    let behind = text.rsplit_once(['.', ',']).map_or(0, |(_, behind)| digits(behind).len());
    let percent = if text.contains('%') { 2 } else { 0 };
    let is_shown = |places: usize| {
        let places = i32::try_from(places + percent).unwrap_or(i32::MAX);
        (number.abs() * 10_f64.powi(places) - shown).abs() <= 0.51
    };
    // Three digits behind a sign may be thousands.
    is_shown(behind) || (behind == 3 && is_shown(0))
}

fn is_kind(field: &Dict<'_>, kind: &[u8]) -> bool {
    matches!(inherited(field, "FT"), Some(Object::Name(name)) if name.as_ref() == kind)
}

/// True if a value is no text that was typed.
fn is_chosen(field: &Dict<'_>) -> bool {
    is_kind(field, b"Ch") || is_kind(field, b"Btn")
}

/// The mark of a box that can be ticked.
fn mark(field: &Dict<'_>, is_radio: bool) -> &'static str {
    let is_on = match (field.get::<Name<'_>>("AS"), inherited(field, "V")) {
        (Some(state), _) => state.as_ref() != b"Off",
        // The buttons of one field have its value together; each shows its own.
        (None, Some(Object::Name(value))) => {
            let looks = field.get::<Dict<'_>>("AP").and_then(|looks| looks.get::<Dict<'_>>("N"));
            value.as_ref() != b"Off" && looks.map_or(!is_radio, |looks| looks.contains_key(value))
        }
        _ => false,
    };
    match (is_radio, is_on) {
        (false, true) => "\u{2612}",
        (false, false) => "\u{2610}",
        (true, true) => "\u{25c9}",
        (true, false) => "\u{25cb}",
    }
}

/// The lines of what was typed into a field, or chosen in it, or its mark.
fn field_value(field: &Dict<'_>) -> Vec<String> {
    let is_text = is_kind(field, b"Tx");
    let flags = match inherited(field, "Ff") {
        Some(Object::Number(flags)) => u32::try_from(flags.as_i64()).unwrap_or_default(),
        _ => 0,
    };
    if is_kind(field, b"Btn") && flags & PUSHED == 0 {
        return vec![mark(field, flags & RADIO != 0).to_owned()];
    }
    if !(is_text || is_kind(field, b"Ch")) || flags & PASSWORD != 0 && is_text {
        return Vec::new();
    }
    match inherited(field, "V") {
        Some(Object::String(text)) => lines(&text),
        Some(Object::Array(chosen)) if !is_text => {
            chosen.iter::<PdfString<'_>>().take(MAX_LINES).flat_map(|text| lines(&text)).collect()
        }
        _ => Vec::new(),
    }
}

/// The height of the letters of a field, as its default appearance says.
fn font_size(field: &Dict<'_>) -> Option<f64> {
    let Some(Object::String(look)) = inherited(field, "DA") else { return None };
    let look = text_string(&look);
    let words: Vec<&str> = look.split_ascii_whitespace().collect();
    let at = words.iter().position(|word| *word == "Tf")?;
    words.get(at.checked_sub(1)?)?.parse().ok().filter(|size| (1.0..500.0).contains(size))
}

fn text_at(dict: &Dict<'_>, key: &str) -> Option<Vec<u8>> {
    dict.get::<PdfString<'_>>(key).map(|text| text.to_vec())
}

/// The lines of a text string, so many of them at most.
fn lines(text: &[u8]) -> Vec<String> {
    let mut lines = text_string::lines(text);
    lines.truncate(MAX_LINES);
    lines
}
