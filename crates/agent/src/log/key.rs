//! Where an entry belongs.

use std::fmt;
use std::sync::Arc;

use attache_core::ToolCallId;
use serde::{Deserialize, Serialize};

/// Where an entry belongs: the same for each attempt at the same thing, so that nothing is recorded twice.
///
/// The runs inside a tool have keys of their own in the same journal: the scope of the run, `>`, and the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(Arc<str>);

/// The beginning of all scopes.
const SCOPES: &str = "tool/";
/// The beginning of the keys of what comes behind the end of a run.
const LATE: &str = "late/";

impl Key {
    /// The beginning of the run.
    pub(crate) fn start() -> Self {
        Self(Arc::from("start"))
    }

    /// The messages that the run took from its inbox at its `number`-th look that found some, from 0.
    pub(crate) fn inbox(number: u32) -> Self {
        Self::numbered("inbox/", number)
    }

    /// The reply of a step, from 1.
    pub(crate) fn model(step: u32) -> Self {
        Self::numbered("model/", step)
    }

    /// The limit at which a step is the last one.
    pub(crate) fn landing(step: u32) -> Self {
        Self::numbered("landing/", step)
    }

    /// The verdicts of hooks at that point.
    pub(crate) fn hook(point: &str) -> Self {
        Self(Arc::from(format!("hook/{point}")))
    }

    /// The verdicts of hooks before a step, from 1.
    pub(crate) fn hook_model(step: u32) -> Self {
        Self::hook(&format!("model/{step}"))
    }

    /// The verdict of hooks about the reply of a step, from 1.
    pub(crate) fn hook_reply(step: u32) -> Self {
        Self::hook(&format!("reply/{step}"))
    }

    /// The verdict of hooks about a call whose arguments people have changed `edits` times.
    pub(crate) fn hook_call(call: &ToolCallId, edits: usize) -> Self {
        match edits {
            0 => Self::hook(&format!("call/{}", call.as_str().replace('>', "%3e"))),
            _ => Self::hook(&format!("edit/{}/{edits}", Plain(call.as_str()))),
        }
    }

    /// The verdict of hooks about the result of a call that came from elsewhere.
    pub(crate) fn hook_result(call: &ToolCallId) -> Self {
        Self::of_call("hook/result/", call)
    }

    /// The intent to run a call.
    pub(crate) fn begun(call: &ToolCallId) -> Self {
        Self::of_call("begun/", call)
    }

    /// The result of a call. A caller who knows the id of the call can deliver its result under this key; see
    /// [`deliver`](crate::deliver).
    pub fn result(call: &ToolCallId) -> Self {
        Self::of_call("tool/", call)
    }

    /// True for the key of the result of that call.
    pub(crate) fn is_result_of(&self, call: &ToolCallId) -> bool {
        match self.0.strip_prefix("tool/") {
            // The usual id stands in the key as it is, and no other key is made to compare with.
            Some(id) if id == call.as_str() && is_plain(id) => true,
            _ => *self == Self::result(call),
        }
    }

    /// The result of a call that came after the call was recorded as of unknown outcome.
    pub(crate) fn receipt(call: &ToolCallId) -> Self {
        Self::of_call("receipt/", call)
    }

    /// The word about a call of unknown outcome that came behind the end of the last run of a session.
    pub(crate) fn late(call: &ToolCallId) -> Self {
        Self::of_call(LATE, call)
    }

    pub(crate) fn is_late(&self) -> bool {
        self.0.starts_with(LATE)
    }

    /// The `number`-th question whether a call may run, from 0.
    pub(crate) fn asked(call: &ToolCallId, number: usize) -> Self {
        Self(Arc::from(format!("asked/{}/{number}", Plain(call.as_str()))))
    }

    /// The word of a tool that the result of a call comes later.
    pub(crate) fn deferred(call: &ToolCallId) -> Self {
        Self::of_call("deferred/", call)
    }

    /// The decision on an approval.
    pub(crate) fn decided(approval: &str) -> Self {
        Self(Arc::from(format!("decided/{}", Plain(approval))))
    }

    /// A key of a call. Several are made for each call of each run, so the usual id is copied and not formatted.
    fn of_call(kind: &str, call: &ToolCallId) -> Self {
        let id = call.as_str();
        match is_plain(id) {
            true => Self::joined(kind, id),
            false => Self(Arc::from(format!("{kind}{}", Plain(id)))),
        }
    }

    fn numbered(kind: &str, number: u32) -> Self {
        Self::joined(kind, Digits::of(number.into()).as_str())
    }

    fn joined(kind: &str, rest: &str) -> Self {
        Self(with_joined(&[kind, rest], |key| Arc::from(key)))
    }

    /// The `number`-th synthetic message of the run, from 0.
    pub(crate) fn documents(number: u32) -> Self {
        Self::numbered("documents/", number)
    }

    /// The way in which the documents of the request of a step, from 1, were routed.
    pub(crate) fn routed(step: u32) -> Self {
        Self::numbered("routed/", step)
    }

    /// The documents that were found inside others at the `number`-th time, from 0.
    pub(crate) fn found(number: u32) -> Self {
        Self::numbered("found/", number)
    }

    /// The `number`-th decision of the memory, from 0.
    pub(crate) fn memory(number: u32) -> Self {
        Self::numbered("memory/", number)
    }

    /// The tokens of the conversation before the first reply.
    pub(crate) fn counted() -> Self {
        Self(Arc::from("counted"))
    }

    /// The tools that are offered from then on, at the `number`-th time, from 0.
    pub(crate) fn offered(number: u32) -> Self {
        Self::numbered("offered/", number)
    }

    /// The `number`-th hand-off, from 0.
    pub(crate) fn handed_off(number: u32) -> Self {
        Self::numbered("handoff/", number)
    }

    /// The `number`-th failure of a model that ended a drive, from 0.
    pub(crate) fn failed(number: u32) -> Self {
        Self::numbered("failed/", number)
    }

    /// The end of the run.
    pub(crate) fn end() -> Self {
        Self(Arc::from("end"))
    }

    /// The scope of the `number`-th run that a tool starts while it answers `call`, from 0.
    pub(crate) fn scope(call: &ToolCallId, number: u32) -> String {
        format!("{}{number}>", Self::scopes(call))
    }

    /// The beginning of the scopes of the runs that a tool starts while it answers `call`.
    pub(crate) fn scopes(call: &ToolCallId) -> String {
        format!("{SCOPES}{}/run/", Plain(call.as_str()))
    }

    /// True if it is that kind, such as `model/`, and that number; nothing is allocated.
    pub(crate) fn is_numbered(&self, kind: &str, number: u32) -> bool {
        self.0.strip_prefix(kind) == Some(Digits::of(number.into()).as_str())
    }

    /// The key of that text.
    pub(crate) fn of_text(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The key inside a scope.
    pub(crate) fn within(&self, scope: &str) -> Self {
        if scope.is_empty() { self.clone() } else { Self(Arc::from(format!("{scope}{}", self.0))) }
    }

    /// The key without the scope, if it is of that scope or of one inside it.
    pub(crate) fn strip(&self, scope: &str) -> Option<Self> {
        if scope.is_empty() {
            Some(self.clone())
        } else {
            self.0.strip_prefix(scope).map(|key| Self(Arc::from(key)))
        }
    }

    /// The scope of the run inside a tool that it belongs to, the outermost one.
    pub(crate) fn outer_scope(&self) -> Option<&str> {
        // Every scope begins with the call whose tool started the run.
        if !self.0.starts_with(SCOPES) {
            return None;
        }
        self.0.find('>').and_then(|end| self.0.get(..=end))
    }

    /// The scope that it is of, the innermost one; empty for the outermost run.
    pub(crate) fn scope_text(&self) -> &str {
        self.0.rfind('>').and_then(|end| self.0.get(..=end)).unwrap_or_default()
    }

    /// The key as text, such as `model/3`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Gives `take` the pieces as one text. Nothing is allocated for one that is not long.
pub(crate) fn with_joined<T>(pieces: &[&str], take: impl FnOnce(&str) -> T) -> T {
    let mut room = [0; 96];
    let mut length = 0;
    for piece in pieces {
        let Some(place) = room.get_mut(length..length + piece.len()) else { return take(&pieces.concat()) };
        place.copy_from_slice(piece.as_bytes());
        length += piece.len();
    }
    match room.get(..length).and_then(|text| std::str::from_utf8(text).ok()) {
        Some(text) => take(text),
        None => take(&pieces.concat()),
    }
}

/// A number in decimal digits.
pub(crate) struct Digits {
    room: [u8; 20],
    start: usize,
}

impl Digits {
    pub(crate) fn of(mut number: u64) -> Self {
        let mut digits = Self { room: [b'0'; 20], start: 20 };
        for (at, place) in digits.room.iter_mut().enumerate().rev() {
            // A remainder of ten fits.
            *place = b'0' + (number % 10) as u8;
            digits.start = at;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        digits
    }

    pub(crate) fn as_str(&self) -> &str {
        self.room.get(self.start..).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default()
    }
}

/// True for an id that stands in a key as it is. One byte is looked for sixteen bytes at a time, one of two is not.
fn is_plain(id: &str) -> bool {
    [b'>', b'%'].iter().all(|byte| !id.as_bytes().contains(byte))
}

/// An id without the character that ends a scope: ids come from providers, too.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in self.0.split_inclusive(['>', '%']) {
            match piece.strip_suffix('>') {
                Some(piece) => write!(f, "{piece}%3e")?,
                None => match piece.strip_suffix('%') {
                    Some(piece) => write!(f, "{piece}%25")?,
                    None => f.write_str(piece)?,
                },
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_keys_are_written_as_numbers_are() {
        for number in [0, 7, 10, 999, 1_000, u32::MAX] {
            let key = Key::model(number);
            assert_eq!(key.as_str(), format!("model/{number}"));
            assert!(key.is_numbered("model/", number) && !key.is_numbered("inbox/", number));
            assert!(!key.is_numbered("model/", number ^ 1));
        }
        let long = "x".repeat(200);
        assert_eq!(Key::receipt(&ToolCallId::parse(&long).unwrap()).as_str(), format!("receipt/{long}"));
    }

    #[test]
    fn ids_of_providers_forge_no_scope() {
        let key = |id: &str| Key::result(&ToolCallId::parse(id).unwrap());
        assert!(key("a/run/0>end").outer_scope().is_none());
        assert_eq!(key("a/run/0>end").as_str(), "tool/a/run/0%3eend");
        assert_ne!(key("a>"), key("a%3e"));
        let scope = Key::scope(&ToolCallId::parse("a").unwrap(), 1);
        assert_eq!(Key::end().within(&scope).as_str(), "tool/a/run/1>end");
        assert_eq!(Key::end().within(&scope).strip(&scope), Some(Key::end()));
        assert_eq!(Key::end().within(&scope).outer_scope(), Some(&*scope));
        assert_eq!(Key::end().strip(&scope), None);
    }
}
