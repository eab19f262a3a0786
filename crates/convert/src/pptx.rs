//! PPTX to text: slide by slide, with tables, the speaker's notes and comments.

use std::collections::HashMap;

use crate::archive::Archive;
use crate::drawings;
use crate::embedded::Embedded;
use crate::guarded::Clock;
use crate::ooxml::{Package, Reference, References, of_kind, settle};
use crate::output::{Output, one_line};
use crate::shapes::{On, of_parts, shapes};
use crate::xml::{Node, Stop, Xml};
use crate::{ConvertError, Converted, Limits, Note, Unit};

/// Slides that are listed.
const MAX_SLIDES: usize = 20_000;

/// Authors of comments that are kept.
const MAX_AUTHORS: usize = 10_000;

/// Longest comment.
const MAX_COMMENT: usize = 64 << 10;

pub(crate) fn convert(bytes: &[u8], limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let package = Package { archive: Archive::open(bytes, limits)?, clock };
    let name = package.main("ppt/presentation.xml")?;
    let mut references = package.references(&name)?;
    let mut slides = match package.xml(&name) {
        Some(Ok(xml)) => match listed(xml) {
            Ok(slides) => slides,
            Err(Stop::Over(error)) => return Err(error),
            Err(Stop::Damaged) if package.archive.recovered => Vec::new(),
            Err(Stop::Damaged) => {
                return Err(ConvertError::Malformed { reason: "its list of slides is damaged" });
            }
        },
        _ if package.archive.recovered => Vec::new(),
        _ => return Err(ConvertError::Malformed { reason: "it has no presentation inside" }),
    };
    let guessed = package.archive.recovered && !slides.iter().any(|id| references.contains_key(id));
    if guessed {
        // The list of the slides is lost, or that of where they are.
        slides.clear();
        for target in package.archive.numbered("ppt/slides/", ".xml").into_iter().take(MAX_SLIDES) {
            slides.push(target.to_owned());
            let reference = Reference { kind: "slide".to_owned(), target: target.to_owned() };
            references.insert(target.to_owned(), reference);
        }
    }
    let authors = authors(&package, &references)?;
    let mut output = Output::new(Unit::Slide, limits);
    output.set_total(slides.len());
    package.archive.tell(&mut output);
    if guessed {
        output.note(Note::OrderGuessed { unit: Unit::Slide });
    }
    let mut embedded = Embedded::new(limits);
    for id in &slides {
        clock.check()?;
        let slide = references.get(id).map(|reference| reference.target.as_str());
        let hidden = match slide {
            Some(slide) => is_hidden(&package, slide)?,
            None => false,
        };
        if !output.begin_labelled("", hidden) {
            break;
        }
        let Some((slide, Some(Ok(xml)))) = slide.map(|slide| (slide, package.xml(slide))) else {
            output.unread();
            continue;
        };
        settle(shapes(xml, &mut output, On::Drawing), &mut output)?;
        extras(&package, slide, &authors, &mut embedded, &mut output)?;
    }
    output.finish()
}

/// The slides in order, by identifier.
fn listed(mut xml: Xml<'_>) -> Result<Vec<String>, Stop> {
    let mut slides = Vec::new();
    loop {
        match xml.next()? {
            Node::Open(tag) if tag.name() == "sldId" && slides.len() < MAX_SLIDES => {
                slides.extend(tag.prefixed("id"));
            }
            Node::End => return Ok(slides),
            _ => {}
        }
    }
}

/// True if a slide is left out when the presentation is shown. Its first element says so.
fn is_hidden(package: &Package<'_>, slide: &str) -> Result<bool, ConvertError> {
    let Some(Ok(mut xml)) = package.xml(slide) else { return Ok(false) };
    let shown = xml.find(|tag| Some(tag.is_not_off("show")))?;
    Ok(!shown.unwrap_or(true))
}

/// The parts of a slide besides its shapes: diagrams, charts, notes, comments.
fn extras(
    package: &Package<'_>,
    slide: &str,
    authors: &HashMap<String, String>,
    embedded: &mut Embedded,
    output: &mut Output,
) -> Result<(), ConvertError> {
    let references = package.references(slide)?;
    of_parts(package, &references, "diagramData", output)?;
    drawings::charts(package, slide, output)?;
    embedded.give_on(package, slide, output)?;
    for notes in of_kind(&references, "notesSlide") {
        let Some(Ok(xml)) = package.xml(notes) else { continue };
        let mut inside = output.beside();
        let ended = shapes(xml, &mut inside, On::Notes);
        settle(ended, output)?;
        if !inside.so_far().trim().is_empty() {
            output.blank();
            output.line("[speaker notes]");
            output.absorb(&inside);
        }
    }
    for name in of_kind(&references, "comments") {
        let Some(Ok(xml)) = package.xml(name) else { continue };
        settle(comments(xml, authors, output), output)?;
    }
    Ok(())
}

/// The authors of comments, by identifier.
fn authors(package: &Package<'_>, references: &References) -> Result<HashMap<String, String>, ConvertError> {
    let mut authors = HashMap::new();
    for name in of_kind(references, "commentAuthors").into_iter().chain(of_kind(references, "authors")) {
        let Some(Ok(mut xml)) = package.xml(name) else { continue };
        xml.find(|tag| {
            authors.extend(tag.attr("id").zip(tag.attr("name")));
            (authors.len() >= MAX_AUTHORS).then_some(())
        })?;
    }
    Ok(authors)
}

fn comments(mut xml: Xml<'_>, authors: &HashMap<String, String>, output: &mut Output) -> Result<(), Stop> {
    // The comment, which may stand behind the replies to it, and these: their authors and texts.
    let mut said: Vec<(String, String)> = Vec::new();
    // The one of them that is being read.
    let (mut of, mut in_text) = (0, false);
    loop {
        match xml.next()? {
            Node::Open(tag) => match tag.name() {
                kind @ ("cm" | "reply") => {
                    if kind == "cm" {
                        write_comments(&mut said, output);
                    }
                    of = said.len();
                    let author = tag.attr("authorId").and_then(|id| authors.get(&id).cloned());
                    said.push((author.unwrap_or_default(), String::new()));
                }
                "text" | "t" => in_text = true,
                _ => {}
            },
            Node::Text(more) if in_text => {
                let has_room = |(_, text): &&mut (String, String)| text.len() + more.len() <= MAX_COMMENT;
                if let Some((_, text)) = said.get_mut(of).filter(has_room) {
                    text.push_str(&more);
                }
            }
            Node::Close(name) => match &*name {
                "text" | "t" => in_text = false,
                "p" => {
                    if let Some((_, text)) = said.get_mut(of) {
                        text.push(' ');
                    }
                }
                "reply" => of = 0,
                "cm" => write_comments(&mut said, output),
                _ => {}
            },
            Node::End => {
                write_comments(&mut said, output);
                return Ok(());
            }
            _ => {}
        }
    }
}

/// Writes a comment and the replies to it.
fn write_comments(said: &mut Vec<(String, String)>, output: &mut Output) {
    for (author, text) in said.drain(..) {
        let text = one_line(&text);
        if !text.is_empty() {
            let by = if author.is_empty() { String::new() } else { format!(" by {author}") };
            output.end_line();
            output.line(&format!("[comment{by}: {text}]"));
        }
    }
}
