//! Archives to the list of what they hold.

use crate::archive::Archive;
use crate::guarded::Clock;
use crate::output::{Output, marker_name};
use crate::{ConvertError, Converted, Limits, Note, Unit};

pub(crate) fn convert(bytes: &[u8], limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let archive = Archive::open(bytes, limits)?;
    let files = || archive.entries().iter().filter(|entry| !entry.name.ends_with(['/', '\\']));
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    let count = files().count();
    output.line(&format!("archive, {count} {}:", if count == 1 { "file" } else { "files" }));
    for entry in files() {
        clock.check()?;
        if output.is_full() {
            break;
        }
        let locked = if entry.encrypted { ", encrypted" } else { "" };
        output.line(&format!("- {} ({} bytes{locked})", marker_name(&entry.name), entry.len));
    }
    if archive.guesses_names() {
        output.note(Note::Charset { charset: "IBM437" });
    }
    archive.tell(&mut output);
    output.finish()
}
