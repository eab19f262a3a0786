//! Archives to the list of what they hold.

use crate::archive::Archive;
use crate::guarded::Clock;
use crate::output::{Output, marker_name};
use crate::{ConvertError, Converted, Limits, Note, Unit};

pub(crate) fn convert(bytes: &[u8], limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let archive = Archive::open(bytes, limits)?;
    let files = archive.entries().iter().filter(|entry| !entry.name.ends_with(['/', '\\']));
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    let files =
        files.map(|entry| (entry.name.as_str(), entry.len, if entry.encrypted { ", encrypted" } else { "" }));
    list(files, clock, &mut output)?;
    if archive.guesses_names() {
        output.note(Note::Charset { charset: "IBM437" });
    }
    archive.tell(&mut output);
    output.finish()
}

/// Writes the files of an archive: their names, their lengths, and what else is to be said about each.
///
/// # Errors
/// The time is over.
pub(crate) fn list<'f>(
    files: impl Iterator<Item = (&'f str, u64, &'f str)> + Clone,
    clock: Clock,
    output: &mut Output,
) -> Result<(), ConvertError> {
    let count = files.clone().count();
    output.line(&format!("archive, {count} {}:", if count == 1 { "file" } else { "files" }));
    for (name, len, more) in files {
        clock.check()?;
        if output.is_full() {
            break;
        }
        output.line(&format!("- {} ({len} bytes{more})", marker_name(name)));
    }
    Ok(())
}
