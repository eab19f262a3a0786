//! Dialects that tell an answer by its pieces and nothing else.

use std::sync::Arc;

use super::Tell;
use super::answer::{Answer, Piece};
use crate::live::{Entry, View};

/// A dialect that is a projection of the pieces of an answer.
pub(super) trait TellPieces: Send + 'static {
    /// The answer so far.
    fn answer(&mut self) -> &mut Answer;

    /// Writes what a client is told of a piece.
    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<u8>);
}

impl<T: TellPieces> Tell for T {
    fn entry(&mut self, entry: &Arc<Entry>, out: &mut Vec<u8>) {
        let mut answer = std::mem::take(self.answer());
        answer.entry(entry, &mut |piece| self.piece(piece, out));
        *self.answer() = answer;
    }

    fn view(&mut self, view: &View, _: u64, out: &mut Vec<u8>) {
        let mut answer = std::mem::take(self.answer());
        answer.view(view, &mut |piece| self.piece(piece, out));
        *self.answer() = answer;
    }
}
