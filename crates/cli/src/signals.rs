//! The signals that end a command which may have started other programs.

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::exit::Exit;

/// The number of parts of the command that look after Ctrl-C themselves, and of those that do after every signal.
static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);
static ALL: AtomicUsize = AtomicUsize::new(0);
/// Tells them of the last one.
static ASKED: Notify = Notify::const_new();
static LAST: Mutex<Exit> = Mutex::new(Exit::Cancelled);

/// Runs a command until its end, or until a signal ends it. It is dropped then, and with it the programs that it has
/// started: they lead groups of their own, which no terminal sends its signals to.
pub(crate) async fn until_asked(command: impl Future<Output = Exit>) -> Exit {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        // They end the process as ever.
        Err(_) => return command.await,
    };
    let mut command = pin!(command);
    loop {
        // The signal comes first: whoever looks after it is told of it, and is not gone before.
        let asked = tokio::select! {
            biased;
            asked = signals.next() => asked,
            exit = &mut command => return exit,
        };
        let is_looked_after = ALL.load(Ordering::Relaxed) > 0
            || asked == Exit::Cancelled && INTERRUPTS.load(Ordering::Relaxed) > 0;
        if !is_looked_after {
            return asked;
        }
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = asked;
        ASKED.notify_waiters();
    }
}

/// As long as it is there, signals do not end the command: its part that holds it does what they ask for.
pub(crate) struct LookedAfter(&'static AtomicUsize);

impl LookedAfter {
    /// Ctrl-C.
    pub(crate) fn interrupts() -> Self {
        Self::by(&INTERRUPTS)
    }

    /// Every signal.
    #[cfg(feature = "mcp")]
    pub(crate) fn all() -> Self {
        Self::by(&ALL)
    }

    fn by(count: &'static AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }

    /// Waits for the signal, and says how it would have ended the command.
    pub(crate) async fn asked(&self) -> Exit {
        ASKED.notified().await;
        *LAST.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LookedAfter {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use std::io::IsTerminal;

        use tokio::signal::unix::{SignalKind, signal};
        // `nohup` takes both away, and what it starts goes on.
        let has_terminal = io::stdout().is_terminal() || io::stderr().is_terminal();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: has_terminal.then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    async fn next(&mut self) -> Exit {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Cancelled,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = hangup => Exit::HungUp,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Cancelled,
            Err(_) => std::future::pending().await,
        }
    }
}
