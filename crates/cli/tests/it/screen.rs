//! A terminal with the command in it.

#![cfg_attr(not(feature = "chat"), allow(dead_code, reason = "nobody types"))]

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// The longest that a test waits for a sight.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Screen {
    seen: Arc<(Mutex<Seen>, Condvar)>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    // The terminal lives as long as this.
    _master: Box<dyn MasterPty + Send>,
}

struct Seen {
    screen: vt100::Parser,
    /// Everything that was written, as text.
    all: String,
    ended: bool,
}

impl Screen {
    /// Runs the command in a terminal of that many columns.
    pub(crate) fn new(arguments: &[&str], columns: u16, home: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_attache"));
        command.args(arguments);
        Self::with(command, columns, home, variables)
    }

    /// Runs a script of the shell in a terminal, in which `"$@"` is the command.
    pub(crate) fn of_script(
        script: &str,
        arguments: &[&str],
        home: &Path,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = CommandBuilder::new("/bin/sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_attache")]);
        command.args(arguments);
        Self::with(command, 100, home, variables)
    }

    fn with(mut command: CommandBuilder, columns: u16, home: &Path, variables: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: 40, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        command.env_clear();
        command.cwd(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        command.env("ATTACHE_HOME", home);
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let screen = vt100::Parser::new(40, columns, 1_000);
        let seen = Arc::new((Mutex::new(Seen { screen, all: String::new(), ended: false }), Condvar::new()));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let count = output.read(&mut bytes).unwrap_or(0);
                let mut seen = shared.0.lock().unwrap();
                seen.ended = count == 0;
                seen.screen.process(&bytes[..count]);
                seen.all.push_str(&String::from_utf8_lossy(&bytes[..count]));
                shared.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self { seen, keys, child, _master: pair.master }
    }

    /// The keys that are pressed.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a line once the prompt waits for it.
    pub(crate) fn say(&mut self, line: &str) {
        self.wait_for_prompt();
        self.press(line);
        // Keys that come before the next prompt are lost, so nobody may take this one for it.
        let typed = format!("› {line}");
        self.wait("the echo", |screen| {
            screen.trim_end().lines().last().is_some_and(|last| last.trim() == typed.trim())
        });
        self.press("\r");
    }

    /// Waits until the last line is the prompt of the chat and nothing else.
    pub(crate) fn wait_for_prompt(&self) {
        self.wait("the prompt", |screen| {
            screen.trim_end().lines().last().is_some_and(|line| line.trim() == "›")
        });
    }

    /// Waits until a text stands on the screen.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted, and returns it.
    pub(crate) fn wait(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().unwrap();
        loop {
            let screen = seen.screen.screen().contents();
            if is_there(&screen) {
                return screen;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.ended, "{what} did not come; the screen is\n{screen}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Everything that was written so far, control sequences included.
    pub(crate) fn written(&self) -> String {
        self.seen.0.lock().unwrap().all.clone()
    }

    /// Everything that was written until the end.
    pub(crate) fn ended(mut self) -> String {
        self.child.wait().unwrap();
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().unwrap();
        while !seen.ended && Instant::now() < until {
            seen = self.seen.1.wait_timeout(seen, Duration::from_secs(1)).unwrap().0;
        }
        seen.all.clone()
    }

    /// Waits for the end, and returns the exit code and the last screen.
    pub(crate) fn end(mut self) -> (u32, String) {
        let code = self.child.wait().unwrap().exit_code();
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().unwrap();
        while !seen.ended && Instant::now() < until {
            seen = self.seen.1.wait_timeout(seen, Duration::from_secs(1)).unwrap().0;
        }
        (code, seen.screen.screen().contents())
    }
}

/// The arguments of a command that asks a model behind HTTP.
pub(crate) fn arguments<'a>(command: &'a str, url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command, "-m", "openai-chat/gpt-4o", "--base-url", url], more].concat()
}

/// Work that blocks.
pub(crate) async fn with<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
