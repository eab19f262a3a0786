//! Files that are attached to a document: to all of it, or to a place on a page.

use std::collections::HashSet;

use attache_core::MediaType;
use hayro_syntax::Pdf;
use hayro_syntax::object::{
    Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, Stream, String as PdfString,
};

use super::decoded::Refused;
use super::expand::decode;
use super::text_string::text_string;
use super::values::entries;
use crate::guarded::Clock;
use crate::output::MAX_ATTACHMENTS;
use crate::{Attachment, ConvertError};

/// Nodes of the tree of names that are looked at.
const MAX_NODES: usize = 10_000;

/// An entry of a list of files: the stream of one, and its name.
pub(super) type File = (ObjectIdentifier, String);

/// The files that are given on, and how many are not.
#[derive(Default)]
pub(super) struct Attached {
    pub(super) files: Vec<Attachment>,
    pub(super) lost: usize,
}

/// The file that an entry of a dictionary leads to.
pub(super) fn file(holder: &Dict<'_>, key: &str) -> Option<File> {
    of_specification(&holder.get::<Dict<'_>>(key)?)
}

fn of_specification(specification: &Dict<'_>) -> Option<File> {
    let streams = specification.get::<Dict<'_>>("EF")?;
    let name = ["UF", "F"].iter().find_map(|key| specification.get::<PdfString<'_>>(key));
    let name = name.map(|name| text_string(&name)).unwrap_or_default();
    let stream = ["UF", "F"].iter().find_map(|key| match streams.get_raw::<Object<'_>>(key) {
        Some(MaybeRef::Ref(id)) => Some(ObjectIdentifier::from(id)),
        _ => None,
    })?;
    Some((stream, name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()))
}

/// Gives on the files of the document and those that its pages name, each once, at most `limit` bytes together.
///
/// # Errors
/// The time is over.
pub(super) fn read(
    pdf: &Pdf,
    of_pages: Vec<File>,
    mut limit: usize,
    clock: Clock,
) -> Result<Attached, ConvertError> {
    let mut found = Attached::default();
    let mut seen = HashSet::new();
    for (id, name) in of_document(pdf, clock)?.into_iter().chain(of_pages) {
        clock.check()?;
        if !seen.insert(id) {
            continue;
        }
        let stream = pdf.xref().get::<Stream<'_>>(id).filter(|_| found.files.len() < MAX_ATTACHMENTS);
        let decoded = stream.as_ref().map(|stream| decode(stream, limit, clock));
        match (stream, decoded) {
            (_, Some(Err(Refused::TimedOut))) => return Err(clock.over()),
            // A part of a file is taken for the whole by whoever gets it.
            (Some(stream), Some(Ok(decoded)))
                if !decoded.bytes.is_empty() && (decoded.whole || decoded.cut) =>
            {
                limit = limit.saturating_sub(decoded.bytes.len());
                let said = stream.dict().get::<Name<'_>>("Subtype");
                let said = said.map(|said| String::from_utf8_lossy(said.as_ref()).into_owned());
                let file_name = (!name.is_empty()).then_some(name);
                let media_type =
                    MediaType::resolve(said.as_deref(), Some(&decoded.bytes), file_name.as_deref())
                        .to_string();
                found.files.push(Attachment { bytes: decoded.bytes.into(), media_type, file_name });
            }
            _ => found.lost += 1,
        }
    }
    Ok(found)
}

/// The files that the catalog lists.
fn of_document(pdf: &Pdf, clock: Clock) -> Result<Vec<File>, ConvertError> {
    let xref = pdf.xref();
    let mut files = Vec::new();
    let Some(catalog) = xref.get::<Dict<'_>>(xref.root_id()) else { return Ok(files) };
    let tree = catalog.get::<Dict<'_>>("Names").and_then(|names| names.get::<Dict<'_>>("EmbeddedFiles"));
    // Nodes wait as references: a few bytes may refer to the same large node again and again.
    let mut open: Vec<MaybeRef<Object<'_>>> =
        tree.map(|tree| MaybeRef::NotRef(Object::Dict(tree))).into_iter().collect();
    let (mut seen, mut nodes) = (HashSet::new(), 0);
    while let Some(node) = open.pop() {
        clock.check()?;
        nodes += 1;
        let node = match node {
            MaybeRef::Ref(id) => xref.get::<Dict<'_>>(id.into()),
            MaybeRef::NotRef(node) => node.into_dict(),
        };
        let Some(node) = node else { continue };
        if let Some(names) = node.get::<Array<'_>>("Names") {
            // Each name stands before its file.
            let listed = entries(&names, xref).filter_map(|entry| entry.ok()?.into_dict());
            files.extend(listed.filter_map(|file| of_specification(&file)).take(MAX_NODES));
        }
        if let Some(kids) = node.get::<Array<'_>>("Kids") {
            let room = MAX_NODES.saturating_sub(nodes + open.len());
            let is_new = |kid: &MaybeRef<Object<'_>>| match kid {
                MaybeRef::Ref(id) => seen.insert(ObjectIdentifier::from(*id)),
                MaybeRef::NotRef(_) => true,
            };
            let kids: Vec<_> = kids.raw_iter().filter(is_new).take(room).collect();
            open.extend(kids.into_iter().rev());
        }
        if files.len() > MAX_NODES {
            break;
        }
    }
    if let Some(list) = catalog.get::<Array<'_>>("AF") {
        files.extend(list.iter::<Dict<'_>>().filter_map(|file| of_specification(&file)).take(MAX_NODES));
    }
    Ok(files)
}
