//! The OpenDocument formats to text: ODT, ODS and ODP.

mod lists;
mod margins;
mod objects;
mod sheets;
mod styles;
mod text;

use crate::archive::Archive;
use crate::guarded::Clock;
use crate::ooxml::settle;
use crate::output::Output;
use crate::xml::{Stop, Xml, whole};
use crate::{ConvertError, Converted, Limits, Unit};

use self::objects::Objects;
use self::styles::Styles;

pub(crate) fn convert(
    bytes: &[u8],
    unit: Unit,
    limits: &Limits,
    clock: Clock,
) -> Result<Converted, ConvertError> {
    let archive = Archive::open(bytes, limits)?;
    let open = |name: &str| Some(archive.part(name)?.map(|part| Xml::new(part, clock)).map_err(Stop::from));
    if let Some(Ok(manifest)) = open("META-INF/manifest.xml")
        && is_encrypted(manifest)?
    {
        return Err(ConvertError::Encrypted { reason: "it needs a password" });
    }
    let Some(content) = open("content.xml") else {
        return Err(ConvertError::Malformed { reason: "it has no content inside" });
    };
    let mut output = Output::new(unit, limits);
    let mut objects = Objects::new(&archive, limits, clock);
    let read = match (unit, content) {
        (_, Err(stop)) => Err(stop),
        (Unit::Sheet, Ok(xml)) => {
            let mut found = margins::Margins::default();
            let ended = match open("styles.xml") {
                Some(Ok(styles)) => margins::read(styles, &mut found),
                _ => Ok(()),
            };
            sheets::read(xml, &mut objects, &found, &mut output, clock).and(ended)
        }
        (_, Ok(xml)) => {
            let mut styles = Styles::default();
            if let Some(Ok(xml)) = open("styles.xml") {
                whole(styles.read(xml))?;
            }
            let read = text::read(xml, styles, &mut objects, unit, &mut output);
            match (unit, read, open("styles.xml")) {
                (Unit::Whole, Ok(()), Some(Ok(xml))) => text::margins(xml, &mut objects, &mut output),
                (_, read, _) => read,
            }
        }
    };
    settle(read, &mut output)?;
    archive.tell(&mut output);
    output.finish()
}

fn is_encrypted(mut manifest: Xml<'_>) -> Result<bool, ConvertError> {
    Ok(manifest.find(|tag| (tag.name() == "encryption-data").then_some(()))?.is_some())
}
