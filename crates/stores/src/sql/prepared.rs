//! Appends as databases take them.

use attache_agent::{Append, Beginning, Entry, EntryKind};
use attache_core::Message;

use super::error::SqlError;
use super::row::{int, json, ranges_text};

/// An append.
pub(crate) struct Prepared {
    pub(crate) session: String,
    pub(crate) run: String,
    pub(crate) fence: i64,
    pub(crate) number: i64,
    pub(crate) now: i64,
    pub(crate) until: i64,
    pub(crate) kept_until: Option<i64>,
    pub(crate) ends: bool,
    /// False if nothing but a question to the model is lost with it.
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "PostgreSQL waits for the disk each time")
    )]
    pub(crate) syncs: bool,
    pub(crate) documents: Vec<String>,
    pub(crate) keys: Vec<String>,
    pub(crate) bodies: Vec<String>,
    pub(crate) begins: Option<Begins>,
}

/// The beginning of a run.
pub(crate) struct Begins {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) first: i64,
    pub(crate) messages: Vec<String>,
    pub(crate) ranges: String,
    /// The run before it, with the keys and bodies of its end.
    pub(crate) closes: Option<(String, Vec<(String, String)>)>,
}

impl Prepared {
    pub(crate) fn new(append: &Append) -> Result<Self, SqlError> {
        Ok(Self {
            session: append.session.as_str().to_owned(),
            run: append.run.to_string(),
            fence: int(append.fence),
            number: int(append.number),
            now: int(append.now),
            until: int(append.until),
            kept_until: append.kept_until.map(int),
            ends: append.ends,
            syncs: append.begins.is_some() || append.ends || !append.entries.iter().all(is_last_word),
            documents: append.documents.iter().map(|id| id.as_str().to_owned()).collect(),
            keys: append.entries.iter().map(|entry| entry.key.as_str().to_owned()).collect(),
            bodies: append.entries.iter().map(json).collect::<Result<_, _>>()?,
            begins: append.begins.as_deref().map(Begins::new).transpose()?,
        })
    }
}

/// True for a reply without calls, and for the routing that is recorded with it: nothing is done because of them before
/// something else is recorded.
fn is_last_word(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Reply(reply) => match &*reply.message {
            Message::Assistant(message) => message.tool_calls().next().is_none(),
            _ => false,
        },
        EntryKind::Routed(_) => true,
        _ => false,
    }
}

impl Begins {
    fn new(begins: &Beginning) -> Result<Self, SqlError> {
        let pair = |entry: &Entry| Ok((entry.key.as_str().to_owned(), json(entry)?));
        let end = |(run, entries): &(String, Vec<Entry>)| -> Result<_, SqlError> {
            Ok((run.clone(), entries.iter().map(pair).collect::<Result<_, SqlError>>()?))
        };
        Ok(Self {
            name: begins.name.to_string(),
            title: begins.title.clone(),
            first: int(begins.first),
            messages: begins.messages.iter().map(json).collect::<Result<_, _>>()?,
            ranges: ranges_text(&begins.ranges)?,
            closes: begins.closes.as_ref().map(end).transpose()?,
        })
    }
}

#[cfg(feature = "sqlite")]
#[cfg(test)]
mod tests {
    use attache_agent::SessionId;
    use attache_core::{Arguments, AssistantMessage, AssistantPart, ToolCall};
    use serde_json::json;

    use super::*;

    fn entry(key: &str, kind: &serde_json::Value) -> Entry {
        serde_json::from_value(json!({"schemaVersion": 1, "key": key, "kind": kind})).unwrap()
    }

    // A last word that is lost is asked for again; a call that is lost may have been run.
    #[test]
    fn a_last_word_does_not_wait_for_the_disk_whether_documents_were_routed_or_not() {
        let reply = |part: Option<AssistantPart>| {
            let message = Message::Assistant(AssistantMessage::new([part]));
            entry("model/1", &json!({"reply": {"message": message, "finishReason": "stop", "usage": {}}}))
        };
        let word = || reply(AssistantPart::text("900."));
        let call = || reply(Some(AssistantPart::ToolCall(ToolCall::new("pay", Arguments::new("{}")))));
        let routed = || entry("routed/1", &json!({"routed": {"kept": 0, "decisions": []}}));
        let noted = || entry("inbox/1", &json!({"inbox": []}));
        for (entries, syncs) in [
            (vec![word()], false),
            (vec![routed(), word()], false),
            (vec![call()], true),
            (vec![routed(), call()], true),
            (vec![noted(), word()], true),
        ] {
            let append = Append {
                session: SessionId::parse("one").unwrap(),
                run: "run".into(),
                fence: 1,
                number: 2,
                now: 20,
                until: 40,
                ends: false,
                entries,
                begins: None,
                documents: Vec::new(),
                kept_until: None,
            };
            let prepared = Prepared::new(&append).unwrap();
            assert_eq!(prepared.syncs, syncs, "{:?}", prepared.keys);
        }
    }
}
