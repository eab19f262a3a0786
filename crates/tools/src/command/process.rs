//! Runs a program in a process group of its own, and ends the whole group with it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// The longest wait for output that somebody outside the group holds open.
const REST: Duration = Duration::from_millis(500);

/// A program to run.
pub(super) struct Job {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The maximum number of bytes that are kept of each output.
    pub(super) most: usize,
    pub(super) limit: Duration,
    #[cfg(feature = "sandbox")]
    pub(super) walls: Option<Arc<super::sandbox::Walls>>,
}

/// The outcome of a program.
pub(super) struct Done {
    /// The exit code; `None` if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) output: String,
    pub(super) errors: String,
}

/// The group of a program, which ends when this is dropped.
#[derive(Default)]
pub(super) struct Group(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    #[default]
    New,
    Running(Pid),
    /// Nothing is to be ended any more, or nothing is to begin.
    Over,
}

impl Group {
    pub(super) fn share(&self) -> Shared {
        Shared(Arc::clone(&self.0))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.share().end();
    }
}

/// The group as the thread has it that runs the program.
pub(super) struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all processes of the group. Its number belongs to nobody else before the program was waited for.
    fn end(&self) {
        let mut state = self.lock();
        match *state {
            State::Running(pid) => _ = kill_process_group(pid, Signal::KILL),
            State::New => *state = State::Over,
            State::Over => {}
        }
    }

    fn start(&self, command: &mut Command) -> io::Result<(Child, Pid)> {
        let mut state = self.lock();
        if matches!(*state, State::Over) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "it was cancelled"));
        }
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        *state = State::Running(pid);
        Ok((child, pid))
    }

    /// Ends what the program left behind, and waits for it.
    fn finish(&self, child: &mut Child) -> io::Result<std::process::ExitStatus> {
        let mut state = self.lock();
        if let State::Running(pid) = *state {
            _ = kill_process_group(pid, Signal::KILL);
        }
        *state = State::Over;
        child.wait()
    }
}

/// Runs the program to its end. It blocks, and belongs on a thread that does nothing else: walls stay around it.
pub(super) fn run(job: Job, group: &Shared) -> io::Result<Done> {
    #[cfg(feature = "sandbox")]
    if let Some(walls) = &job.walls {
        walls.enter().map_err(io::Error::other)?;
    }
    let mut command = Command::new(&job.program);
    command
        .args(&job.arguments)
        .current_dir(&job.folder)
        .env_clear()
        .envs(job.environment)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let (mut child, pid) = group.start(&mut command)?;
    let (output, errors) = (Kept::new(job.most), Kept::new(job.most));
    let (read, all_read) = channel();
    let pipes: [(Option<Box<dyn Read + Send>>, &Kept); 2] = [
        (child.stdout.take().map(|pipe| Box::new(pipe) as _), &output),
        (child.stderr.take().map(|pipe| Box::new(pipe) as _), &errors),
    ];
    let mut readers = 0;
    for (pipe, kept) in pipes {
        let Some(pipe) = pipe else { continue };
        let (kept, read) = (kept.clone(), read.clone());
        let reader = thread::Builder::new().name("attache-output".to_owned());
        if reader.spawn(move || kept.read(pipe, &read)).is_ok() {
            readers += 1;
        }
    }
    let (ended, end) = channel();
    let waits = move || {
        // It stays a process until it is waited for, so that its number is its own.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
        _ = ended.send(());
    };
    let waiter = thread::Builder::new().name("attache-command".to_owned()).spawn(waits);
    let timed_out = waiter.is_ok() && end.recv_timeout(job.limit) == Err(RecvTimeoutError::Timeout);
    let status = group.finish(&mut child)?;
    for _ in 0..readers {
        if all_read.recv_timeout(REST).is_err() {
            break;
        }
    }
    Ok(Done {
        code: status.code(),
        signal: status.signal(),
        timed_out,
        output: output.text(),
        errors: errors.text(),
    })
}

/// The beginning and the end of an output.
#[derive(Clone)]
struct Kept(Arc<Mutex<Bytes>>);

struct Bytes {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    left_out: usize,
}

impl Kept {
    fn new(most: usize) -> Self {
        let bytes = Bytes { head: Vec::new(), tail: VecDeque::new(), half: most / 2, left_out: 0 };
        Self(Arc::new(Mutex::new(bytes)))
    }

    /// Reads to the end, so that the program is not held up by what is left out.
    fn read(&self, mut pipe: impl Read, read: &Sender<()>) {
        let mut buffer = vec![0; 8_192];
        loop {
            let count = match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            self.lock().keep(buffer.get(..count).unwrap_or_default());
        }
        _ = read.send(());
    }

    fn text(&self) -> String {
        let bytes = self.lock();
        let tail: Vec<u8> = bytes.tail.iter().copied().collect();
        if bytes.left_out == 0 {
            return String::from_utf8_lossy(&[bytes.head.as_slice(), &tail].concat()).into_owned();
        }
        // A character that is cut is left out with the rest.
        let (head, begun) = bytes.head.split_at(bytes.head.len() - begun_at_the_end(&bytes.head));
        let rest = tail.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
        let (rest, tail) = tail.split_at(rest);
        let count = bytes.left_out + begun.len() + rest.len();
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}\n[… {count} bytes left out …]\n{tail}")
    }

    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes at the end of a text that begin a character and do not end it.
fn begun_at_the_end(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        // An error at the very end, of a length that a character has, is one that goes on.
        Some(last) if last.invalid().first().is_some_and(|first| *first >= 0xc2) => last.invalid().len(),
        _ => 0,
    }
}

impl Bytes {
    fn keep(&mut self, new: &[u8]) {
        let (head, tail) = new.split_at(self.half.saturating_sub(self.head.len()).min(new.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.left_out += over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(most: usize, output: &[u8]) -> String {
        let kept = Kept::new(most);
        for piece in output.chunks(5) {
            kept.lock().keep(piece);
        }
        kept.text()
    }

    #[test]
    fn output_that_is_kept_whole_is_not_broken_in_the_middle() {
        assert_eq!(kept(10, "abcdä€f".as_bytes()), "abcdä€f");
    }

    #[test]
    fn characters_that_are_cut_are_left_out_and_counted() {
        // The fifth byte is the first of an ä, and the fifth from the end the last of a €.
        assert_eq!(kept(10, "abcdä..........€fghi".as_bytes()), "abcd\n[… 15 bytes left out …]\nfghi");
        assert_eq!(kept(4, b"\xffb----cd"), "\u{fffd}b\n[… 4 bytes left out …]\ncd");
    }
}
