//! The common ground of the formats of Office: parts that refer to each other.

use std::collections::HashMap;

use crate::ConvertError;
use crate::archive::{Archive, join};
use crate::guarded::Clock;
use crate::output::Output;
use crate::xml::{Stop, Xml, whole};

/// References of one part that are kept.
const MAX_REFERENCES: usize = 20_000;

/// An office file.
pub(crate) struct Package<'b> {
    pub(crate) archive: Archive<'b>,
    pub(crate) clock: Clock,
}

/// A target that a part refers to.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    /// The last piece of the type, such as `slide`.
    pub(crate) kind: String,
    /// The name of the part.
    pub(crate) target: String,
}

/// The targets that a part refers to, by identifier.
pub(crate) type References = HashMap<String, Reference>;

impl Package<'_> {
    /// The main part: the one that the package says, or the usual one.
    pub(crate) fn main(&self, usual: &str) -> Result<String, ConvertError> {
        let references = self.references("")?;
        let said = references.values().find(|reference| reference.kind == "officeDocument");
        Ok(said
            .map(|said| said.target.clone())
            .filter(|name| self.archive.has(name))
            .unwrap_or_else(|| usual.into()))
    }

    /// A part as XML; `None` if it is not there.
    pub(crate) fn xml(&self, name: &str) -> Option<Result<Xml<'_>, Stop>> {
        let part = self.archive.part(name)?;
        Some(part.map(|part| Xml::new(part, self.clock)).map_err(Stop::from))
    }

    /// The targets that a part refers to. A damaged list is as long as it could be read.
    ///
    /// # Errors
    /// The time is over.
    pub(crate) fn references(&self, name: &str) -> Result<References, ConvertError> {
        let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
        let list = join(folder, &format!("_rels/{file}.rels"));
        let mut found = References::new();
        let Some(Ok(mut xml)) = self.xml(&list) else { return Ok(found) };
        xml.find(|tag| {
            let outside = tag.attr("TargetMode").is_some_and(|mode| mode.eq_ignore_ascii_case("external"));
            if tag.name() == "Relationship"
                && let (Some(id), Some(target), false) = (tag.attr("Id"), tag.attr("Target"), outside)
            {
                let kind = tag.attr("Type").unwrap_or_default();
                let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                found.insert(id, Reference { kind, target: join(folder, &target) });
            }
            (found.len() >= MAX_REFERENCES).then_some(())
        })?;
        Ok(found)
    }
}

/// The targets of one kind, in the order of their identifiers' numbers.
pub(crate) fn of_kind<'r>(references: &'r References, kind: &str) -> Vec<&'r str> {
    of_kinds(references, &[kind])
}

/// The targets of these kinds, in the order of their identifiers' numbers.
pub(crate) fn of_kinds<'r>(references: &'r References, kinds: &[&str]) -> Vec<&'r str> {
    let of = |reference: &Reference| kinds.contains(&reference.kind.as_str());
    let mut found: Vec<_> = references.iter().filter(|(_, reference)| of(reference)).collect();
    found.sort_by_key(|(id, _)| (id.len(), id.as_str()));
    found.into_iter().map(|(_, reference)| reference.target.as_str()).collect()
}

/// Says of a part that breaks off that it does.
///
/// # Errors
/// The time is over.
pub(crate) fn settle(ended: Result<(), Stop>, output: &mut Output) -> Result<(), ConvertError> {
    if whole(ended)?.is_none() {
        output.partial();
    }
    Ok(())
}
