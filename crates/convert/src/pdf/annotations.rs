//! Annotations: their appearances, the values of form fields, and comments.

use hayro_font::kurbo::{Affine, Point, Vec2};
use hayro_syntax::object::{Dict, MaybeRef, Name, Object, Rect, Stream, String as PdfString};
use hayro_syntax::page::{Page, Resources};

use super::attachments::file;
use super::content::{Reader, matrix};
use super::found::Found;
use super::runs::Place;
use super::state::State;
use super::text_string::text_string;
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

/// Flags of annotations: they are not shown; and of fields: a password.
const HIDDEN: u32 = 1 << 1 | 1 << 5;
const PASSWORD: u32 = 1 << 13;

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
    if annotation.get::<u32>("F").is_some_and(|flags| flags & HIDDEN != 0) {
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
        let shown = std::mem::replace(&mut reader.found.runs, page);
        // An appearance that shows something else was made before the value was set.
        if shown.shows(&lines.concat()) || (shown.is_text() && is_choice(annotation)) {
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
        let mut x = target.x0 + 2.0;
        for word in line.split_whitespace() {
            let width = 0.5 * size * word.chars().count() as f64;
            let place = Place {
                start: state.ctm * Point::new(x, y),
                end: state.ctm * Point::new(x + width, y),
                direction: turned(state, Vec2::new(1.0, 0.0)),
                size: turned(state, Vec2::new(0.0, size)).hypot(),
            };
            found.runs.add(word, place);
            found.runs.add(" ", place);
            x += width + 0.3 * size;
        }
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

/// An entry of a field, or of the nearest field above that has it.
fn inherited<'a>(field: &Dict<'a>, key: &str) -> Option<Object<'a>> {
    let mut field = field.clone();
    for _ in 0..MAX_PARENTS {
        if let Some(found) = field.get::<Object<'a>>(key) {
            return Some(found);
        }
        field = field.get::<Dict<'a>>("Parent")?;
    }
    None
}

fn is_choice(field: &Dict<'_>) -> bool {
    matches!(inherited(field, "FT"), Some(Object::Name(kind)) if kind.as_ref() == b"Ch")
}

/// The lines of what was typed into a field, or chosen in it.
fn field_value(field: &Dict<'_>) -> Vec<String> {
    let is_text = matches!(inherited(field, "FT"), Some(Object::Name(kind)) if kind.as_ref() == b"Tx");
    let flags = match inherited(field, "Ff") {
        Some(Object::Number(flags)) => u32::try_from(flags.as_i64()).unwrap_or_default(),
        _ => 0,
    };
    if !(is_text || is_choice(field)) || flags & PASSWORD != 0 && is_text {
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

/// The lines of a text string that are not blank.
fn lines(text: &[u8]) -> Vec<String> {
    // Both encodings of text strings leave the bytes of line ends alone.
    let is_wide = text.starts_with(&[0xfe, 0xff]);
    let marked: Vec<u8> = if is_wide {
        let units = text.as_chunks::<2>().0.iter();
        units.flat_map(|unit| if matches!(unit, [0, b'\r' | b'\n']) { [0x20, 0x28] } else { *unit }).collect()
    } else {
        text.to_vec()
    };
    let end = |c: char| c == '\u{2028}';
    let decoded = if is_wide {
        text_string(&marked)
    } else {
        let parts: Vec<String> = match text.strip_prefix(&[0xef, 0xbb, 0xbf]) {
            Some(utf8) => utf8
                .split(|byte| matches!(byte, b'\r' | b'\n'))
                .map(|line| String::from_utf8_lossy(line).into_owned())
                .collect(),
            None => text.split(|byte| matches!(byte, b'\r' | b'\n')).map(text_string).collect(),
        };
        parts.join("\u{2028}")
    };
    decoded
        .split(end)
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .take(MAX_LINES)
        .collect()
}
