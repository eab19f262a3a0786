//! PPT to text: the presentations of PowerPoint 97 to 2003, slide by slide with their notes.

use std::collections::HashMap;
use std::io::Read;

use bytes::Bytes;

use crate::compound::Compound;
use crate::embedded::Embedded;
use crate::fields::{narrow, place_at, u16_at, u32_at, wide};
use crate::guarded::Clock;
use crate::output::Output;
use crate::records::{Record, drawn_words, inside, record, top};
use crate::{ConvertError, Converted, Limits, Unit};

/// Slides that are listed.
const MAX_SLIDES: usize = 20_000;

/// Objects whose places are kept.
const MAX_OBJECTS: usize = 1 << 18;

/// Numbers of records.
const DOCUMENT: u16 = 1000;
const SLIDE_PLACE: u16 = 1011;
const NOTES_OF: u16 = 1009;
const SHOW: u16 = 1017;
const WIDE_TEXT: u16 = 4000;
const NARROW_TEXT: u16 = 4008;
const SLIDES: u16 = 4080;
const OBJECTS: u16 = 6002;
const EMBEDDED: u16 = 4113;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let mut file = Compound::open(bytes, limits)?;
    let damaged = ConvertError::Malformed { reason: "it has no presentation inside" };
    let stream = file.stream("/PowerPoint Document").ok_or(damaged.clone())?;
    if file.has("/EncryptedSummary") {
        return Err(ConvertError::Encrypted { reason: "it needs a password" });
    }
    let objects = objects(&stream, clock)?;
    // Of documents that were saved several times, the last one counts.
    let document = top(&stream).filter(|record| record.id == DOCUMENT).last().ok_or(damaged)?;
    let slides = listed(&document, 0, clock)?;
    let mut notes: HashMap<u32, Vec<String>> = HashMap::new();
    for listed in listed(&document, 2, clock)? {
        let Some(record) = objects.get(&listed.object).and_then(|at| record(stream.get(*at..)?)) else {
            continue;
        };
        let of = inside(&record).find(|inner| inner.id == NOTES_OF).and_then(|inner| u32_at(inner.data, 0));
        let mut texts = listed.texts;
        texts.extend(texts_of(&record, clock)?);
        notes.entry(of.unwrap_or(0)).or_default().extend(texts);
    }
    let mut output = Output::new(Unit::Slide, limits);
    output.set_total(slides.len());
    for slide in slides {
        clock.check()?;
        let record = objects.get(&slide.object).and_then(|at| record(stream.get(*at..)?));
        if !output.begin_labelled("", record.as_ref().is_some_and(is_hidden)) {
            break;
        }
        for text in &slide.texts {
            write(text, &mut output);
        }
        match record {
            Some(record) => {
                for text in texts_of(&record, clock)? {
                    write(&text, &mut output);
                }
            }
            None => output.partial(),
        }
        let notes = notes
            .get(&slide.number)
            .filter(|texts| texts.iter().flat_map(|text| lines(text)).next().is_some());
        if let Some(texts) = notes {
            output.blank();
            output.line("[speaker notes]");
            for text in texts {
                write(text, &mut output);
            }
        }
    }
    let mut embedded = Embedded::new(limits);
    for (number, object) in top(&stream).filter(|record| record.id == EMBEDDED).enumerate() {
        clock.check()?;
        match unpacked(&object, embedded.room()) {
            Some(bytes) => {
                embedded.take(bytes.len());
                crate::embedded::give_on(bytes, &format!("object{}", number + 1), &mut output);
            }
            None => output.not_shown("embedded document"),
        }
    }
    output.finish()
}

/// The compound file of an object that another program made; `None` if it is larger than the room there is.
fn unpacked(object: &Record<'_>, room: usize) -> Option<Bytes> {
    if object.instance == 0 {
        return (object.data.len() <= room).then(|| Bytes::copy_from_slice(object.data));
    }
    // One byte more tells an object that is too large from one that just fits.
    let limit = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let packed = flate2::bufread::ZlibDecoder::new(object.data.get(4..)?);
    packed.take(limit).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= room).then(|| bytes.into())
}

/// Where objects stand in the stream, by their numbers. Later lists say more.
fn objects(stream: &[u8], clock: Clock) -> Result<HashMap<u32, usize>, ConvertError> {
    let mut found = HashMap::new();
    for list in top(stream).filter(|record| record.id == OBJECTS) {
        clock.check()?;
        let mut at = 0;
        while let Some(bits) = u32_at(list.data, at) {
            at += 4;
            for offset in 0..bits >> 20 {
                let Some(place) = place_at(list.data, at) else { break };
                at += 4;
                if found.len() < MAX_OBJECTS {
                    found.insert((bits & 0xf_ffff) + offset, place);
                }
            }
        }
    }
    Ok(found)
}

/// A slide in the list of slides, or its notes.
struct Listed {
    object: u32,
    number: u32,
    texts: Vec<String>,
}

/// The slides of a list, with the texts of their outline.
fn listed(document: &Record<'_>, instance: u16, clock: Clock) -> Result<Vec<Listed>, ConvertError> {
    let mut slides: Vec<Listed> = Vec::new();
    for list in top(document.data).filter(|record| record.id == SLIDES && record.instance == instance) {
        for inner in top(list.data) {
            clock.check()?;
            match inner.id {
                SLIDE_PLACE if slides.len() < MAX_SLIDES => slides.push(Listed {
                    object: u32_at(inner.data, 0).unwrap_or(0),
                    number: u32_at(inner.data, 12).unwrap_or(0),
                    texts: Vec::new(),
                }),
                _ => {
                    if let (Some(text), Some(slide)) = (text(&inner), slides.last_mut()) {
                        slide.texts.push(text);
                    }
                }
            }
        }
    }
    Ok(slides)
}

fn text(record: &Record<'_>) -> Option<String> {
    match record.id {
        // Its content is read as records.
        _ if record.holds_records => None,
        WIDE_TEXT => Some(wide(record.data)),
        NARROW_TEXT => Some(narrow(record.data)),
        _ => None,
    }
}

/// The texts of the shapes of a slide.
fn texts_of(slide: &Record<'_>, clock: Clock) -> Result<Vec<String>, ConvertError> {
    let mut texts = Vec::new();
    for inner in inside(slide) {
        clock.check()?;
        texts.extend(text(&inner).or_else(|| drawn_words(&inner)));
    }
    Ok(texts)
}

/// Writes the lines of a text. A lone mark stands where every slide has its number or date.
fn write(text: &str, output: &mut Output) {
    lines(text).for_each(|line| output.line(line));
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\r', '\n', '\x0b']).map(str::trim).filter(|line| !line.is_empty() && *line != "*")
}

/// True if a slide is left out when the presentation is shown ([MS-PPT] 2.6.6).
fn is_hidden(slide: &Record<'_>) -> bool {
    let show = top(slide.data).find(|inner| inner.id == SHOW);
    show.and_then(|show| u16_at(show.data, 10)).is_some_and(|flags| flags & 4 != 0)
}
