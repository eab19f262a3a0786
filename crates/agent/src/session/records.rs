//! The requests to a store of sessions, and its answers.

#![allow(clippy::exhaustive_structs, reason = "stores of others make and read them")]

use std::ops::Range;
use std::sync::Arc;

use attache_core::{DocumentId, Message};

use super::id::SessionId;
use crate::log::Entry;

/// The sessions that have expired: nobody has used them since `before`, no run holds their lease at `now`, and no
/// approval or result that is still taken keeps them.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// The time since which nobody has used them.
    pub before: u64,
    /// The time.
    pub now: u64,
    /// The maximum number of sessions to delete.
    pub limit: usize,
}

/// A session to open.
#[derive(Clone, Copy, Debug)]
pub struct OpenSession<'a> {
    /// Its id.
    pub id: &'a SessionId,
    /// The principal who opens it.
    pub principal: &'a str,
    /// True if it is made where there is none.
    pub make: bool,
    /// The time.
    pub now: u64,
    /// A session that nobody has used since then has expired; none has where nothing is said.
    pub expired_before: Option<u64>,
}

/// A session to make from a run of another one.
#[derive(Clone, Copy, Debug)]
pub struct Fork<'a> {
    /// The owner of both sessions.
    pub principal: &'a str,
    /// The session that there is.
    pub session: &'a SessionId,
    /// The run; `None` if the new session begins before the first one, with nothing.
    pub run: Option<&'a str>,
    /// The number of messages of the user that both have.
    pub questions: u64,
    /// The id of the new session, which no other one has.
    pub id: &'a SessionId,
    /// The time.
    pub now: u64,
}

/// The lease to take.
#[derive(Clone, Copy, Debug)]
pub struct Take<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The owner of the session.
    pub principal: &'a str,
    /// The run that begins; `None` if the last one goes on.
    pub run: Option<&'a str>,
    /// A name for whoever takes it, which nobody else has.
    pub holder: &'a str,
    /// The time.
    pub now: u64,
    /// The end of the lease.
    pub until: u64,
}

/// A lease that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its fencing number.
    pub fence: u64,
    /// False if the session has no run yet, so that there is nothing to load. A store that would have to look says true.
    pub has_runs: bool,
}

/// Entries that were appended.
#[derive(Clone, Debug, PartialEq)]
pub struct Appended {
    /// The entries that stand in the place of given ones, each with the place of the one that was given.
    pub stand: Vec<(usize, Entry)>,
    /// False if nothing that was delivered to the run before the append waits for its driver, so that there is nothing to
    /// ask for. A store that would have to look says true.
    pub has_deliveries: bool,
}

/// A run that somebody asked to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopRequest {
    /// The owner of the session.
    pub principal: String,
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: String,
    /// The reason, for people.
    pub why: String,
}

/// Runs to take over.
#[derive(Clone, Copy, Debug)]
pub struct Adopt<'a> {
    /// The name under which their [sessions](crate::Sessions::with_name) were begun.
    pub name: &'a str,
    /// A name for whoever takes them over, which nobody else has.
    pub holder: &'a str,
    /// The time.
    pub now: u64,
    /// Until then nobody else takes them over.
    pub until: u64,
    /// The maximum number of runs.
    pub limit: usize,
    /// The number of times that somebody goes on with a run without anything being recorded.
    pub most: u32,
}

/// A run whose process is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The owner of the session.
    pub principal: String,
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: String,
}

/// A session that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The state of the session.
    pub state: SessionState,
    /// The sessions that went: the one of this id if it had expired, and those that made room for it.
    pub gone: Cleared,
}

/// The state of a session when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionState {
    /// It was made.
    New,
    /// It was there.
    Continued,
    /// It was there and had expired: it begins anew.
    Expired,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id.
    pub id: SessionId,
    /// The first words of its first question, unless it was renamed.
    pub title: String,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When somebody last wrote in it or looked at it, in milliseconds since 1970: it expires by that.
    pub accessed: u64,
    /// When its last run began, or it was made, in milliseconds since 1970: lists have the latest first.
    pub updated: u64,
    /// The number of its runs.
    pub runs: u64,
    /// The run that is under way, or was when its process died, or waits for somebody.
    pub open_run: Option<String>,
    /// Until when calls that wait for somebody keep it, in milliseconds since 1970; 0 if no call of the open run waits.
    pub kept_until: u64,
    /// The end of the lease, in milliseconds since 1970; 0 if it was let go, 1 if others may [take the run
    /// over](super::store::SessionStore::adopt).
    pub leased_until: u64,
    /// The session that it was made of; where that one is gone, the one of which that was made.
    pub forked_from: Option<ForkedFrom>,
}

/// The place at which a session left the one that it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedFrom {
    /// The other session.
    pub session: SessionId,
    /// The number of messages of the user that both have.
    pub questions: u64,
}

/// A run of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// When it ended, in milliseconds since 1970; `None` if it has not.
    pub ended: Option<u64>,
    /// The [name](crate::Sessions::with_name) of the sessions in which it began; empty where nobody gave one.
    pub name: String,
}

/// A run as it is kept.
#[derive(Clone, Debug, Default)]
pub struct StoredRun {
    /// Its id.
    pub id: String,
    /// The messages that it began with, as ranges of `messages`.
    pub ranges: Vec<Range<u64>>,
    /// Its log. The messages are left out of its beginning.
    pub entries: Vec<Entry>,
    /// All messages of the session.
    pub messages: Vec<Arc<Message>>,
    /// The entries that were [left behind its end](Delivery::behind_end), whose keys begin with `late/`.
    pub late: Vec<Entry>,
}

/// An entry for the driver of a run.
#[derive(Debug)]
pub struct Delivery<'a> {
    /// The owner of the session.
    pub principal: &'a str,
    /// The session.
    pub session: &'a SessionId,
    /// The run.
    pub run: &'a str,
    /// The entry.
    pub entry: Entry,
    /// Documents that it refers to.
    pub documents: Vec<DocumentId>,
    /// The time, if the entry must not go beside another run that holds the lease: that one has looked already at
    /// what came for this one, and closes it.
    pub alone_at: Option<u64>,
    /// True if the entry is also left where the run has ended, as long as it is the last one of its session: the next one
    /// finds it in [`StoredRun::late`].
    pub behind_end: bool,
}

/// Entries to append.
#[derive(Debug)]
pub struct Append {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: Arc<str>,
    /// The number of the lease under which they are written.
    pub fence: u64,
    /// The number of this append under the lease, from 1. One that comes behind a later one is refused, since its caller
    /// may have given it up. A caller that has not appends again under a new number.
    pub number: u64,
    /// The time, with which they are stamped.
    pub now: u64,
    /// The end of the lease from now on; a time that is over lets it go.
    pub until: u64,
    /// The entries.
    pub entries: Vec<Entry>,
    /// The beginning of the run, if it begins with them.
    pub begins: Option<Box<Beginning>>,
    /// True if the run ends with them.
    pub ends: bool,
    /// Documents that they refer to.
    pub documents: Vec<DocumentId>,
    /// The session does not expire before then, if they say so.
    pub kept_until: Option<u64>,
}

/// The beginning of a run.
#[derive(Debug)]
pub struct Beginning {
    /// The name of the [sessions](crate::Sessions::with_name) in which it begins; empty without one.
    pub name: Arc<str>,
    /// The first words of the question.
    pub title: String,
    /// The place of the first of `messages` among those of the session: how many it had.
    pub first: u64,
    /// The messages that are new to the session.
    pub messages: Vec<Arc<Message>>,
    /// The messages that the run begins with, as ranges of those of the session.
    pub ranges: Vec<Range<u64>>,
    /// A run that did not come to its end, and the end that its log is given: the results of its calls that nobody answers
    /// any more, and the end itself. A result that was delivered stands in the place of the one here.
    pub closes: Option<(String, Vec<Entry>)>,
}

/// Sessions that were deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// The sessions.
    pub sessions: Vec<SessionId>,
    /// Their documents that no other session refers to.
    pub documents: Vec<DocumentId>,
}
