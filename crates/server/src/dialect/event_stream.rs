//! The stream of a run's events in the server's own form: `GET /v1/runs/{id}/events`.

use std::io::Write as _;
use std::sync::Arc;

use super::event_json as event;
use crate::dialect::{Shown, Tell};
use crate::live::{Entry, Live, View};

/// Each event with its id, by which a client that lost its connection goes on.
pub(crate) struct Events {
    /// The beginning of each id.
    prefix: String,
    shown: Shown,
    /// The event that is written.
    body: Vec<u8>,
}

impl Events {
    pub(crate) fn new(run: &str, epoch: &str, shown: Shown) -> Self {
        Self { prefix: format!("{run}.{epoch}"), shown, body: Vec::new() }
    }

    fn send(&mut self, seq: u64, word: &str, out: &mut Vec<u8>) {
        let _ = write!(out, "id: {}.{seq}\nevent: {word}\ndata: ", self.prefix);
        out.append(&mut self.body);
        out.extend_from_slice(b"\n\n");
    }
}

impl Tell for Events {
    fn entry(&mut self, entry: &Arc<Entry>, out: &mut Vec<u8>) {
        self.body.clear();
        if let Some(word) = event::entry(entry, self.shown, &mut self.body) {
            self.send(entry.seq, word, out);
        }
    }

    fn moved(&mut self, live: &Live) {
        self.prefix = format!("{}.{}", live.id, live.epoch);
    }

    fn view(&mut self, view: &View, last: u64, out: &mut Vec<u8>) {
        self.body.clear();
        event::view(view, last, self.shown, &mut self.body);
        self.send(last, "snapshot", out);
    }
}
