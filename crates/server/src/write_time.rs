//! A connection that ends where its client takes nothing for too long.

use std::future::Future as _;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection whose client takes something of what is to be written within some time, or it fails.
pub(crate) struct Hurried<S> {
    stream: S,
    time: Duration,
    /// Comes to its end when that time is up. There is none while the client takes all.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> Hurried<S> {
    pub(crate) fn new(stream: S, time: Duration) -> Self {
        Self { stream, time, stuck: None }
    }

    fn judged(&mut self, written: Poll<Result<usize>>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let time = self.time;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(time)));
        let is_up = || Err(Error::new(ErrorKind::TimedOut, "the client takes nothing"));
        stuck.as_mut().poll(context).map(|()| is_up())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Hurried<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Hurried<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judged(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.judged(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
