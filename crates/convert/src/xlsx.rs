//! XLSX and XLSB to text: each sheet row by row, formulas as their values, dates as ISO dates.

mod book;
mod bounds;
mod cells;
mod comments;
mod controls;
mod escapes;
mod margins;
mod records;
mod strings;
mod styles;

use crate::archive::Archive;
use crate::drawings;
use crate::embedded::Embedded;
use crate::guarded::Clock;
use crate::ooxml::{Package, References, of_kind, settle};
use crate::output::Output;
use crate::shapes::of_parts;
use crate::xml::whole;
use crate::{ConvertError, Converted, Limits, Note, Unit};

use self::book::Book;
use self::cells::Cells;
use self::records::{Records, is_binary};
use self::strings::Strings;

pub(crate) fn convert(bytes: &[u8], limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let package = Package { archive: Archive::open(bytes, limits)?, clock };
    let name = package.main("xl/workbook.xml")?;
    let name = if package.archive.has(&name) { name } else { "xl/workbook.bin".to_owned() };
    let mut references = package.references(&name)?;
    let mut book = Book::default();
    let missing = ConvertError::Malformed { reason: "it has no workbook inside" };
    let ended = if package.archive.recovered && !package.archive.has(&name) {
        Ok(())
    } else if is_binary(&name) {
        book.read_binary(&mut Records::open(&package, &name).ok_or(missing.clone())?)
    } else {
        let Some(Ok(xml)) = package.xml(&name) else { return Err(missing) };
        book.read(xml)
    };
    if whole(ended)?.is_none() && book.sheets.is_empty() && !package.archive.recovered {
        return Err(ConvertError::Malformed { reason: "its list of sheets is damaged" });
    }
    let mut output = Output::new(Unit::Sheet, limits);
    if package.archive.recovered && book.find(&package, &mut references) {
        output.note(Note::OrderGuessed { unit: Unit::Sheet });
    }
    if book.sheets.is_empty() && package.archive.recovered {
        return Err(missing);
    }
    let formats = styles::read(&package, &references, book.since_1904)?;
    let (strings, strings_whole) = Strings::read(&package, &references, limits)?;
    output.set_total(book.sheets.len());
    let mut embedded = Embedded::new(limits);
    let mut formulas = 0;
    for sheet in &book.sheets {
        clock.check()?;
        if !output.begin_labelled(&sheet.name, sheet.hidden) {
            break;
        }
        let Some(reference) = references.get(&sheet.id) else {
            output.unread();
            continue;
        };
        let own = package.references(&reference.target)?;
        if reference.kind == "chartsheet" {
            drawn(&package, &own, &mut output)?;
            let mut found = Vec::new();
            if let Some(Ok(mut xml)) = package.xml(&reference.target) {
                settle(margins::read(&mut xml, &mut found), &mut output)?;
            }
            crate::margins::write(&found, &sheet.name, &mut output);
            embedded.give_on(&package, &reference.target, &mut output)?;
            continue;
        }
        let comments = comments::read(&package, &own)?;
        let mut reader =
            Cells { formats: &formats, strings: &strings, comments, clock, formulas: 0, lost: false };
        let mut found = Vec::new();
        let ended = if is_binary(&reference.target) {
            Records::open(&package, &reference.target).map(|mut records| {
                reader.read_binary(&mut records, &mut output)?;
                if output.is_full() { Ok(()) } else { margins::read_binary(&mut records, &mut found) }
            })
        } else {
            match package.xml(&reference.target) {
                Some(Ok(mut xml)) => Some(reader.read(&mut xml, &mut output).and_then(|()| {
                    if output.is_full() { Ok(()) } else { margins::read(&mut xml, &mut found) }
                })),
                _ => None,
            }
        };
        let Some(ended) = ended else {
            output.unread();
            continue;
        };
        // A cell may have its text in the damaged part of the shared texts.
        if whole(ended)?.is_none() || reader.lost && !strings_whole {
            output.partial();
        }
        formulas += reader.formulas;
        reader.comments.write(&mut output);
        crate::margins::write(&found, &sheet.name, &mut output);
        drawn(&package, &own, &mut output)?;
        embedded.give_on(&package, &reference.target, &mut output)?;
    }
    package.archive.tell(&mut output);
    if formulas > 0 {
        output.note(Note::FormulasWithoutValues { count: formulas });
    }
    output.finish()
}

/// Writes what a sheet shows besides its cells: controls, charts, diagrams and text boxes. Counts its images.
fn drawn(package: &Package<'_>, references: &References, output: &mut Output) -> Result<(), ConvertError> {
    controls::write(package, references, output)?;
    of_parts(package, references, "drawing", output)?;
    for drawing in of_kind(references, "drawing") {
        of_parts(package, &package.references(drawing)?, "diagramData", output)?;
        drawings::charts(package, drawing, output)?;
    }
    Ok(())
}
