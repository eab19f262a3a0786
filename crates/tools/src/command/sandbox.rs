//! Restrictions of commands.

use std::fmt;
use std::path::{Path, PathBuf};

/// Restrictions of what a command can access, enforced by the system.
///
/// On Linux 6.2 and later, Landlock and a system call filter are applied permanently to the command and all processes
/// that it starts:
///
/// - It can read and run files in the folders of the system's programs (`/usr`, `/bin`, `/lib` and the like), in the
///   tool's folder, and in [added paths](Self::with_readable); nothing else can be opened, including `/proc`, `/home`
///   and `/tmp`. It can still find out that a path exists, and its size.
/// - It can write only to [added paths](Self::with_writable), which do not include the tool's folder.
/// - It cannot create sockets, so it reaches neither the network nor services of this machine, unless that is
///   [allowed](Self::with_network).
/// - It cannot gain privileges by running a program (`no_new_privs`). From Linux 6.12 on it cannot send signals to
///   other processes.
///
/// Memory, processor time (except by the tool's timeout), the number of processes, and disk space in writable paths are
/// not limited. It runs as the user of this process.
///
/// If the system supports none of this, creating the tool fails, unless
/// [`where_there_is_one`](Self::where_there_is_one) allows it;
/// [`CommandTool::confinement`](crate::CommandTool::confinement) then reports what is enforced.
///
/// ```
/// use attache_tools::{Command, CommandTool, Sandbox};
/// # fn example(folder: &std::path::Path) -> Result<(), attache_tools::CommandError> {
/// let tests = Command::new("make").exact("test");
/// let sandbox = Sandbox::new().with_writable(folder.join("target"));
/// let tool = CommandTool::new(folder, [tests])?.with_sandbox(sandbox)?;
/// println!("{}", tool.confinement());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Sandbox {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    network: bool,
    pub(super) is_optional: bool,
}

/// The restrictions that the system enforces for a tool's commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Confinement {
    /// True if files outside the folders of the sandbox cannot be opened.
    pub files: bool,
    /// True if sockets cannot be created.
    pub network: bool,
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.files, self.network) {
            (true, true) => "commands are kept from other files and from the network",
            (true, false) => "commands are kept from other files, and may use the network",
            (false, true) => "commands are kept from the network, and may touch all files of this user",
            (false, false) => "commands may do all that this user may",
        })
    }
}

impl Sandbox {
    /// Creates a sandbox in which a command can read the system's programs and the tool's folder, but cannot write or
    /// use the network.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets commands read and run files at a path and below.
    pub fn with_readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Lets commands read, run and change files at a path and below. The path must exist when the tool is created.
    pub fn with_writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// Sets if commands may use the network; `false` by default.
    pub fn with_network(mut self, allowed: bool) -> Self {
        self.network = allowed;
        self
    }

    /// Lets commands run without a sandbox if the system has none.
    pub fn where_there_is_one(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// The walls that the commands of a tool stand behind.
    pub(super) fn walls(self, folder: &Path, programs: impl IntoIterator<Item = PathBuf>) -> Walls {
        let mut readable = self.readable;
        readable.push(folder.to_owned());
        readable.extend(programs);
        readable.extend(SYSTEM.map(PathBuf::from));
        Walls { readable, writable: self.writable, network: self.network }
    }
}

/// The folders and files without which programs do not begin.
const SYSTEM: [&str; 15] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
];

/// The limits of a command, which it enters on the thread that starts it.
#[derive(Debug)]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")),
    allow(dead_code)
)]
pub(super) struct Walls {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    network: bool,
}

type Entered = Result<Confinement, Box<dyn std::error::Error + Send + Sync>>;

impl Walls {
    /// Confines this thread for life, with all that it starts from now on.
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
    ))]
    pub(super) fn enter(&self) -> Entered {
        use landlock::{
            ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
            RulesetCreatedAttr as _, Scope, path_beneath_rules,
        };
        if let Some(absent) = self.writable.iter().find(|path| !path.exists()) {
            return Err(format!("{} is not there", absent.display()).into());
        }
        // Before the third version a file could be emptied by whoever may not write to it.
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V3))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V5))?
            .scope(Scope::from_all(ABI::V6))?;
        if !self.network {
            rules = rules.handle_access(AccessNet::from_all(ABI::V4))?;
        }
        rules
            .create()?
            .add_rules(path_beneath_rules(&self.readable, AccessFs::from_read(ABI::V5)))?
            .add_rules(path_beneath_rules(&self.writable, AccessFs::from_all(ABI::V5)))?
            .add_rules(path_beneath_rules(["/dev/null"], AccessFs::from_file(ABI::V5)))?
            .restrict_self()?;
        if !self.network {
            seccompiler::apply_filter(&without_sockets()?)?;
        }
        Ok(Confinement { files: true, network: !self.network })
    }

    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
    )))]
    #[expect(clippy::unused_self, reason = "as where there is one")]
    pub(super) fn enter(&self) -> Entered {
        Err("there is no sandbox on this system".into())
    }
}

/// Refuses to make sockets, and the rings through which the kernel would make them unseen by any filter.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
fn without_sockets() -> Result<seccompiler::BpfProgram, seccompiler::BackendError> {
    use seccompiler::{SeccompAction, SeccompFilter};
    /// The bit of calls of the x32 interface, which have the numbers of the others.
    const X32: i64 = 0x4000_0000;
    let calls = [libc::SYS_socket, libc::SYS_io_uring_setup];
    let refused = calls.into_iter().flat_map(|call| [(call, Vec::new()), (call | X32, Vec::new())]);
    let no = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter =
        SeccompFilter::new(refused.collect(), SeccompAction::Allow, no, std::env::consts::ARCH.try_into()?)?;
    filter.try_into()
}
