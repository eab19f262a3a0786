//! The OpenDocument formats to text: ODT, ODS and ODP.

mod lists;
mod objects;
mod sheets;
mod text;

use crate::archive::Archive;
use crate::guarded::Clock;
use crate::output::Output;
use crate::xml::{Node, Stop, Xml};
use crate::{ConvertError, Converted, Limits, Unit};

use self::lists::Lists;
use self::objects::Objects;

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
        (Unit::Sheet, Ok(xml)) => sheets::read(xml, &mut objects, &mut output, clock),
        (_, Ok(xml)) => {
            let mut lists = Lists::default();
            if let Some(Ok(styles)) = open("styles.xml")
                && let Err(Stop::Over(error)) = lists.read(styles)
            {
                return Err(error);
            }
            text::read(xml, lists, &mut objects, unit, &mut output)
        }
    };
    match read {
        Err(Stop::Over(error)) => return Err(error),
        Err(Stop::Damaged) => output.partial(),
        Ok(()) => {}
    }
    archive.tell(&mut output);
    output.finish()
}

fn is_encrypted(mut manifest: Xml<'_>) -> Result<bool, ConvertError> {
    loop {
        match manifest.next() {
            Ok(Node::Open(tag)) if tag.name() == "encryption-data" => return Ok(true),
            Ok(Node::End) | Err(Stop::Damaged) => return Ok(false),
            Err(Stop::Over(error)) => return Err(error),
            Ok(_) => {}
        }
    }
}
