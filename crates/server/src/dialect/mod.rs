//! Projections of a run: each is a pure function of what happens, and writes bytes.

pub(crate) mod ag_ui;
mod annotation;
pub(crate) mod answer;
pub(crate) mod chat;
mod chat_documents;
mod ending;
pub(crate) mod event_json;
pub(crate) mod event_stream;
pub(crate) mod location;
pub(crate) mod messages;
mod pieces;
pub(crate) mod response_item;
pub(crate) mod responses;
pub(crate) mod session_message;
pub(crate) mod snapshot;
pub(crate) mod typed_lines;
pub(crate) mod usage;
pub(crate) mod vercel_ui;

use std::sync::Arc;

use crate::live::{Entry, Live, View};

/// A form in which a run is told over a stream of server-sent events.
pub(crate) trait Tell: Send + 'static {
    /// Writes what a client is told of an entry, if anything.
    fn entry(&mut self, entry: &Arc<Entry>, out: &mut Vec<u8>);

    /// Writes what a client needs that is told of the run so far, in the place of entries that are gone.
    fn view(&mut self, view: &View, last: u64, out: &mut Vec<u8>);

    /// Learns that the entries from here on are those of another drive of the run. The run so far comes next.
    fn moved(&mut self, _live: &Live) {}
}

/// A dialect that clients speak, for [`Server::dialect`](crate::Server::dialect). The server's own routes have no switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's Chat Completions: `POST /v1/chat/completions`.
    ChatCompletions,
    /// OpenAI's Responses: `/v1/responses`.
    Responses,
    /// Anthropic's Messages: `POST /v1/messages`.
    Messages,
    /// AG-UI: `POST /v1/ag-ui`.
    AgUi,
    /// The UI message stream of Vercel's AI SDK: `POST /v1/ui`.
    UiMessages,
}

/// Writes a line of data.
fn line(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"data: ");
    write(out);
    out.extend_from_slice(b"\n\n");
}

/// The things that a client may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// The arguments and results of tools.
    pub(crate) details: bool,
    /// The model's reasoning.
    pub(crate) thinking: bool,
}
