//! A PostgreSQL server for the tests of this process, on a port of its own. It stops when nobody uses it any more.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

/// The server of this process.
static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// The folder in which Debian and its kin keep the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A running server.
pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    databases: AtomicU32,
}

/// A database of a test.
pub(crate) struct Database {
    server: Arc<Server>,
    name: String,
    pub(crate) url: String,
}

impl Server {
    /// The server, which is started if it does not run.
    pub(crate) fn shared() -> Arc<Self> {
        let mut server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = server.upgrade() {
            return running;
        }
        let started = Arc::new(Self::start());
        *server = Arc::downgrade(&started);
        started
    }

    fn start() -> Self {
        let programs = programs().expect("PostgreSQL is not installed: cargo xtask counterparts");
        let folder = tempfile::tempdir().unwrap();
        if is_root() {
            // PostgreSQL refuses to run as root.
            let own = Command::new("chown").arg("postgres:").arg(folder.path()).output().unwrap();
            assert!(own.status.success(), "there is no user postgres: {own:?}");
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { folder, programs, port, databases: AtomicU32::new(0) };
        let data = server.data();
        server.run(
            "initdb",
            &["-D", &data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"],
        );
        let sockets = server.folder.path().display().to_string();
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={sockets} -c fsync=off -c max_connections=400"
        );
        let log = format!("{sockets}/log");
        server.run("pg_ctl", &["-D", &data, "-w", "-t", "60", "-l", &log, "-o", &options, "start"]);
        server
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    /// A new database. Its texts are in the order of a dictionary, as they are on most servers, where others have that of
    /// their bytes.
    pub(crate) fn database(self: Arc<Self>) -> Database {
        let name = format!("t{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let port = self.port.to_string();
        let order = ["-T", "template0", "--locale-provider=icu", "--icu-locale=en"];
        let at = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", &name];
        self.run("createdb", &[&order[..], &at].concat());
        let url = format!("postgres://postgres@127.0.0.1:{port}/{name}");
        Database { url, name, server: self }
    }

    /// Runs one of its programs to its end, as the user that it wants.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(&program);
            command
        } else {
            Command::new(&program)
        };
        // Variables of the machine may name another server.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PG")) {
            command.env_remove(name);
        }
        let folder = self.folder.path();
        // The server keeps what it inherits, so that nobody must wait for the end of a pipe.
        let said = folder.join(format!("said-{}", self.databases.load(Ordering::Relaxed)));
        let out = std::fs::File::create(&said).unwrap();
        let status = command
            .args(arguments)
            .current_dir(folder)
            .env("HOME", folder)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .status();
        let status = status.unwrap_or_else(|error| panic!("{} does not run: {error}", program.display()));
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(status.success(), "{} failed: {said}\n{log}", program.display());
    }
}

impl Database {
    /// A database that holds what this one does.
    pub(crate) fn copied(&self) -> Self {
        let copy = Arc::clone(&self.server).database();
        let (port, dump) = (self.server.port.to_string(), format!("{}.sql", self.name));
        let at = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres"];
        self.server.run("pg_dump", &[&at[..], &["-f", &dump, &self.name]].concat());
        let load = ["-q", "-v", "ON_ERROR_STOP=1", "-f", &dump, &copy.name];
        self.server.run("psql", &[&at[..], &load].concat());
        copy
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data();
        self.run("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout == b"0\n")
}

/// The folder of the newest PostgreSQL's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| Some((version.file_name().to_str()?.parse().ok()?, version.path().join("bin"))))
        .collect();
    versions.sort();
    let newest = versions.pop().map(|(_, programs)| programs);
    let path = std::env::var_os("PATH").unwrap_or_default();
    newest.into_iter().chain(std::env::split_paths(&path)).find(|folder| has(folder))
}

fn has(folder: &Path) -> bool {
    folder.join("initdb").is_file() && folder.join("pg_ctl").is_file()
}
