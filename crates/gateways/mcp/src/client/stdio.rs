//! Servers that are child processes and speak over their standard streams.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use attache_core::Secret;
use attache_transport::Redactor;
use futures_util::future::select;
use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::secrets::{of_arguments, of_given, of_variable};
use super::too_deep::ShallowLines;

/// The variables that a child inherits: the places of programs, homes, temporary files and certificates, and the language.
/// Those of proxies may hold passwords.
const INHERITED: [&str; 22] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "APPDATA",
    "PATHEXT",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// The time that a child has to end by itself once its input is closed.
const FAREWELL: Duration = Duration::from_secs(2);
/// Longer lines of its error stream are cut.
const LONGEST_LINE: usize = 4 << 10;
/// The last lines of it that are kept.
const LAST_LINES: usize = 5;
/// Keys that are known by their looks are shorter.
const LONGEST_KEY: usize = 512;
/// The maximum number of messages that answer nothing, such as pings, within [`UNASKED_TIME`].
const MOST_UNASKED: u32 = 10_000;
const UNASKED_TIME: Duration = Duration::from_secs(10);

/// The command that starts a server as a child process.
///
/// The child gets the environment that is named here and a short list of harmless variables (`PATH`, `HOME`, the
/// language, the places of temporary files and of certificates, such as `NODE_EXTRA_CA_CERTS`), nothing else: keys of this process stay here. Its error stream goes to
/// [`tracing`] under the target `attache_mcp::stderr`. It leads a process group, which is killed with it.
///
/// ```
/// use attache_mcp::McpCommand;
/// let files = McpCommand::new("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "/srv/files"]);
/// # let _ = files;
/// ```
#[derive(Clone)]
pub struct McpCommand {
    program: OsString,
    args: Vec<OsString>,
    env: BTreeMap<String, Secret>,
    inherited: Vec<String>,
    folder: Option<PathBuf>,
}

impl McpCommand {
    /// A program, looked up in `PATH` unless it is a path.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherited: INHERITED.map(str::to_owned).to_vec(),
            folder: None,
        }
    }

    /// Adds an argument. The values of options such as `--api-key` and the keys in addresses are secrets.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the child's environment. Its value is shown nowhere, and where the server repeats it, a mask
    /// stands if it has 8 bytes or more, or 6 if the variable is called so (`DB_PASSWORD`). Shorter ones may be words, such
    /// as `sqlite`. Passwords in addresses are masked by themselves, too.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), Secret::new(value));
        self
    }

    /// Lets the child inherit a variable of this process. Its value is a secret, as one of [`env`](Self::env) is, if it is
    /// called so (`GITHUB_TOKEN`, `API_KEY`) or looks like a key.
    #[must_use]
    pub fn inherit(mut self, name: impl Into<String>) -> Self {
        self.inherited.push(name.into());
        self
    }

    /// Sets the folder in which the child works.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    pub(crate) fn secrets(&self) -> Vec<String> {
        let given = self.env.iter().flat_map(|(name, value)| of_given(name, value.expose()));
        let named = self.inherited.iter().filter(|name| !INHERITED.contains(&&***name));
        let inherited = named.filter_map(|name| Some(of_variable(name, &std::env::var(name).ok()?)));
        let arguments = of_arguments(self.args.iter().filter_map(|argument| argument.to_str()));
        given.chain(inherited.flatten()).chain(arguments).collect()
    }

    /// The bytes of the longest text that may be a secret.
    fn longest_secret(&self) -> usize {
        self.secrets().iter().map(String::len).max().unwrap_or_default().clamp(LONGEST_KEY, LONGEST_LINE)
    }

    /// Why the child cannot be started.
    pub(crate) fn unstarted(&self, error: &io::Error) -> String {
        let why = match error.kind() {
            // The system says the same of both.
            io::ErrorKind::NotFound => match self.folder.as_ref().filter(|folder| !folder.is_dir()) {
                Some(folder) => format!("its folder {} is not there", folder.display()),
                None => "there is no such program".to_owned(),
            },
            kind => kind.to_string(),
        };
        format!("its program {:?} cannot be started: {why}", self.program.display())
    }

    /// Starts the child. The task ends a little behind it, with the last lines of its error stream.
    pub(crate) fn start(
        &self,
        server: &str,
        redactor: &Redactor,
        longest: usize,
    ) -> io::Result<(ChildServer, JoinHandle<Vec<String>>)> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear();
        for name in &self.inherited {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value.expose())));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let taken = || io::Error::other("the child has no standard streams");
        let (stdin, stdout) = (child.stdin.take().ok_or_else(taken)?, child.stdout.take().ok_or_else(taken)?);
        let stderr = child.stderr.take().ok_or_else(taken)?;
        let (runs, gone) = oneshot::channel();
        let (name, redactor, longest_secret) = (server.to_owned(), redactor.clone(), self.longest_secret());
        let log = tokio::spawn(async move {
            let mut last = VecDeque::new();
            {
                let telling = pin!(tell_stderr(stderr, name, redactor, longest_secret, &mut last));
                let ended = pin!(async {
                    let _: Result<(), _> = gone.await;
                    // Something that it started may hold the stream for ever.
                    tokio::time::sleep(FAREWELL).await;
                });
                select(telling, ended).await;
            }
            last.into()
        });
        let streams =
            AsyncRwTransport::new_client(ShallowLines::new(stdout), stdin).with_max_line_length(longest);
        let group = Group { id: child.id(), child, _runs: runs };
        Ok((ChildServer { streams, unasked: 0, since: Instant::now(), group }, log))
    }
}

impl fmt::Debug for McpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments often hold keys.
        f.debug_struct("McpCommand")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// A child that runs, with its streams.
pub(crate) struct ChildServer {
    streams: AsyncRwTransport<RoleClient, ShallowLines<ChildStdout>, ChildStdin>,
    group: Group,
    /// The messages that answer nothing, since then.
    unasked: u32,
    since: Instant,
}

impl Transport<RoleClient> for ChildServer {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.streams.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.streams.receive().await?;
        if !matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
            if self.since.elapsed() > UNASKED_TIME {
                (self.unasked, self.since) = (0, Instant::now());
            }
            self.unasked += 1;
            if self.unasked > MOST_UNASKED {
                tracing::warn!("a server sends more than anybody asked for, and is left");
                self.group.kill();
                return None;
            }
        }
        Some(message)
    }

    async fn close(&mut self) -> io::Result<()> {
        self.streams.close().await?;
        if tokio::time::timeout(FAREWELL, self.group.child.wait()).await.is_err() {
            tracing::debug!("a server did not end when its input was closed");
        }
        self.group.kill();
        Ok(())
    }
}

/// A child with all that it started. Dropping it kills them, also while a runtime shuts down.
struct Group {
    child: Child,
    id: Option<u32>,
    /// Its end is that of the child.
    _runs: oneshot::Sender<()>,
}

impl Group {
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.id.take()
            && let Some(group) = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw)
        {
            // It fails if nobody of the group is left.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Writes what a child says on its error stream to the log, and keeps the last of it.
async fn tell_stderr(
    stderr: ChildStderr,
    server: String,
    redactor: Redactor,
    longest_secret: usize,
    last: &mut VecDeque<String>,
) {
    let mut stderr = BufReader::new(stderr);
    while let Some(text) = told_line(&mut stderr, &redactor, longest_secret).await {
        if !text.is_empty() {
            tracing::info!(target: "attache_mcp::stderr", server = server.as_str(), "{text}");
            last.push_back(text);
            if last.len() > LAST_LINES {
                last.pop_front();
            }
        }
    }
}

/// The next line of a stream as the log may have it; `None` at its end.
async fn told_line(
    stream: &mut (impl AsyncBufRead + Unpin),
    redactor: &Redactor,
    longest_secret: usize,
) -> Option<String> {
    let mut line = Vec::new();
    let most = LONGEST_LINE + longest_secret;
    let read = (&mut *stream).take(most as u64).read_until(b'\n', &mut line).await;
    read.ok().filter(|read| *read > 0)?;
    let is_cut = line.len() >= most && !line.ends_with(b"\n");
    if is_cut && !skip_line(stream).await {
        return None;
    }
    let text = String::from_utf8_lossy(&line);
    let text = redactor.redact(text.trim_end());
    if !is_cut {
        return Some(text.into_owned());
    }
    // The begin of a secret may stand where it is cut, so as much is left out as a secret may have.
    let kept = text.floor_char_boundary(text.len().saturating_sub(longest_secret));
    Some(format!("{}… (cut)", text.get(..kept).unwrap_or_default()))
}

/// Reads to the end of a line; false if the stream is broken.
async fn skip_line(stream: &mut (impl AsyncBufRead + Unpin)) -> bool {
    loop {
        let Ok(piece) = stream.fill_buf().await else { return false };
        if piece.is_empty() {
            return true;
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(piece.len(), |at| at + 1);
        stream.consume(taken);
        if end.is_some() {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_part_of_a_secret_stands_where_a_long_line_is_cut() {
        let redactor = Redactor::new().with_secret("canary-canary-canary");
        for before in LONGEST_LINE..LONGEST_LINE + LONGEST_KEY {
            let said = format!("{}canary-canary-canary{}\nnext\n", "x".repeat(before), "y".repeat(9_000));
            let mut stream = BufReader::with_capacity(64, said.as_bytes());
            let line = told_line(&mut stream, &redactor, LONGEST_KEY).await.unwrap();
            assert!(
                line.ends_with("… (cut)") && line.len() <= LONGEST_LINE + 20 && !line.contains("ca"),
                "{before}"
            );
            assert_eq!(told_line(&mut stream, &redactor, LONGEST_KEY).await.as_deref(), Some("next"));
            assert_eq!(told_line(&mut stream, &redactor, LONGEST_KEY).await, None);
        }
    }
}
