//! The object streams of an encrypted file, decrypted.
//!
//! The library decrypts what it reads of an open file, and an open file has its object streams read. So these
//! are put into a file of their own, in which they are streams as any other, and only decrypted.

use std::collections::HashSet;

use attache_core::hash::hex;
use bytes::Bytes;
use hayro_syntax::Pdf;
use hayro_syntax::object::{Dict, FromBytes, MaybeRef, Name, Object, ObjectIdentifier, Stream};
use memchr::memmem;

use super::object_number::object_number;
use super::refusal::refusal;
use crate::ConvertError;

/// Where an object stream starts, behind its number, and its length.
pub(super) struct Sealed {
    pub(super) at: usize,
    pub(super) number: u32,
    pub(super) len: usize,
}

/// A file that cannot be told to be harmless before it is open.
pub(super) const UNCLEAR: ConvertError =
    ConvertError::Encrypted { reason: "its object tables are encrypted in a way that is not supported" };

/// A file with only these streams, and the number under which each stands.
pub(super) fn unseal(file: &[u8], sealed: &[Sealed]) -> Result<Pdf, ConvertError> {
    let trailer = agreed(file)?;
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut offsets: Vec<(u32, usize)> = Vec::new();
    for Sealed { at, number, len } in sealed {
        offsets.push((*number, out.len()));
        out.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
        out.extend_from_slice(file.get(*at..at + len).unwrap_or_default());
        out.extend_from_slice(b"\nendstream\nendobj\n");
    }
    if let Some((number, dict)) = trailer.object {
        offsets.push((number, out.len()));
        out.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
        out.extend_from_slice(dict);
        out.extend_from_slice(b"\nendobj\n");
    }
    let used: HashSet<u32> = offsets.iter().map(|(number, _)| *number).collect();
    let mut free = (1..).filter(|number| !used.contains(number));
    let (Some(root), Some(pages), Some(page)) = (free.next(), free.next(), free.next()) else {
        return Err(UNCLEAR);
    };
    for (number, body) in [
        (root, format!("<< /Type /Catalog /Pages {pages} 0 R >>")),
        (pages, format!("<< /Type /Pages /Kids [{page} 0 R] /Count 1 >>")),
        (page, format!("<< /Type /Page /Parent {pages} 0 R /MediaBox [0 0 9 9] >>")),
    ] {
        offsets.push((number, out.len()));
        out.extend_from_slice(format!("{number} 0 obj\n{body}\nendobj\n").as_bytes());
    }
    let start = out.len();
    out.extend_from_slice(b"xref\n0 1\n0000000000 65535 f \n");
    for (number, offset) in &offsets {
        out.extend_from_slice(format!("{number} 1\n{offset:010} 00000 n \n").as_bytes());
    }
    out.extend_from_slice(format!("trailer\n<< /Root {root} 0 R /Size 9999999 /Encrypt ").as_bytes());
    out.extend_from_slice(&trailer.encrypt);
    let id = hex(&trailer.id);
    out.extend_from_slice(format!(" /ID [<{id}>] >>\nstartxref\n{start}\n%%EOF\n").as_bytes());
    Pdf::new(std::sync::Arc::new(Bytes::from(out))).map_err(refusal)
}

/// The stream of this number.
pub(super) fn stream(pdf: &Pdf, number: u32) -> Option<Stream<'_>> {
    pdf.xref().get::<Stream<'_>>(ObjectIdentifier::new(number, 0))
}

/// The entries about encryption in the trailers of a file.
struct Trailer<'f> {
    /// The value of `Encrypt`.
    encrypt: Vec<u8>,
    /// The object that it refers to.
    object: Option<(u32, &'f [u8])>,
    /// The first half of the identifier, which does not change when a file is saved again.
    id: Vec<u8>,
}

/// The entries that all trailers of a file agree on. If they do not, nobody knows which one the library takes.
fn agreed(file: &[u8]) -> Result<Trailer<'_>, ConvertError> {
    let mut trailers = Vec::new();
    let mut standard: Vec<(usize, Dict<'_>)> = Vec::new();
    for at in memmem::find_iter(file, b"<<") {
        let Some(dict) = file.get(at..).and_then(Dict::from_bytes) else { continue };
        if dict.contains_key("Encrypt") {
            let id = match dict.get_raw::<Object<'_>>("ID") {
                None => None,
                Some(MaybeRef::NotRef(Object::Array(list))) => list.raw_iter().next(),
                Some(_) => return Err(UNCLEAR),
            };
            // The library takes no text for an empty one.
            let id = match id {
                Some(MaybeRef::Ref(_)) => return Err(UNCLEAR),
                Some(MaybeRef::NotRef(Object::String(id))) => id.to_vec(),
                _ => Vec::new(),
            };
            let value = dict.get_raw::<Object<'_>>("Encrypt");
            if trailers.first().is_some_and(|(_, other)| *other != id) {
                return Err(UNCLEAR);
            }
            trailers.push((value, id));
        }
        let is_handler = dict.contains_key("O") && dict.contains_key("U") && dict.contains_key("P");
        if is_handler && dict.get::<Name<'_>>("Filter").is_some() {
            standard.push((at, dict));
        }
    }
    let (Some((_, id)), [(at, handler)]) = (trailers.first(), standard.as_slice()) else {
        return Err(UNCLEAR);
    };
    let mut agreed = Trailer { encrypt: handler.data().to_vec(), object: None, id: id.clone() };
    for (value, _) in &trailers {
        match value {
            Some(MaybeRef::NotRef(Object::Dict(dict))) if dict.data() == handler.data() => {}
            Some(MaybeRef::Ref(reference)) => {
                let number = file.get(..*at).and_then(object_number).and_then(|number| number.parse().ok());
                let number: u32 = number.ok_or(UNCLEAR)?;
                if reference.obj_number != number {
                    return Err(UNCLEAR);
                }
                agreed.encrypt = format!("{number} 0 R").into_bytes();
                agreed.object = Some((number, handler.data()));
            }
            _ => return Err(UNCLEAR),
        }
    }
    Ok(agreed)
}
