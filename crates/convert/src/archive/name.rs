//! The names of entries, whose charset an archive says only sometimes.

use rawzip::extra_fields::{ExtraFieldId, ExtraFields};

use crate::code_pages::Charset;

/// The code page of names whose charset is not said (APPNOTE, appendix D).
const CODE_PAGE: i32 = 437;

/// A name, and whether its charset is a guess.
pub(super) fn read(name: &[u8], is_utf_8: bool, extra: ExtraFields<'_>) -> (String, bool) {
    if let Ok(name) = str::from_utf8(name) {
        return (name.to_owned(), false);
    }
    if let Some(name) = unicode(name, extra) {
        return (name, false);
    }
    match Charset::of_code_page(CODE_PAGE).filter(|_| !is_utf_8) {
        Some(charset) => (charset.decode(name).into_owned(), true),
        None => (String::from_utf8_lossy(name).into_owned(), false),
    }
}

/// The name that Info-ZIP adds in UTF-8, unless the entry was renamed since (APPNOTE, section 4.6.9).
fn unicode(name: &[u8], mut extra: ExtraFields<'_>) -> Option<String> {
    let (_, field) = extra.find(|(id, _)| *id == ExtraFieldId::INFO_ZIP_UNICODE_PATH)?;
    let (head, unicode) = field.split_first_chunk::<5>()?;
    let [1, sum @ ..] = *head else { return None };
    let unicode = str::from_utf8(unicode).ok()?;
    (rawzip::crc32(name) == u32::from_le_bytes(sum)).then(|| unicode.to_owned())
}
