//! The tool with which a model runs commands from an allow list.

mod process;
mod rule;
#[cfg(feature = "sandbox")]
mod sandbox;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use attache_core::blocking::on_thread;
use attache_core::tool::ToolSpec;
use attache_core::{
    Arguments, BoxFuture, Capture, Effect, ResultStatus, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput,
};
use serde_json::{Map, Value, json};

use process::{Done, Group, Job, run};
pub use rule::{Argument, Command};
#[cfg(feature = "sandbox")]
use sandbox::Walls;
#[cfg(feature = "sandbox")]
pub use sandbox::{Confinement, Sandbox};

/// Lets a model run programs from an allow list, with allowed arguments, in one folder.
///
/// A call is checked against the list before anything runs; the model is told if it is not allowed. No shell is
/// involved: arguments are passed to the program unchanged. The environment contains only variables that are
/// [set](Self::with_variable) or [passed](Self::with_passed); standard input is empty. Output beyond a limit is cut in
/// the middle. The program runs in its own process group, which is killed on timeout, when the program ends, and when
/// the call is cancelled.
///
/// Without a `Sandbox` (feature `sandbox`), an allowed program can do everything that this process can: allow only
/// programs with few effects, and no options that name files or programs. A process that leaves the group is not
/// killed. Unix only.
///
/// ```
/// use attache_tools::{Argument, Command, CommandTool};
/// # fn example(folder: &std::path::Path) -> Result<(), attache_tools::CommandError> {
/// let git = Command::new("git").exact("log").exact("--oneline").exact("--").argument(Argument::File.optional());
/// let tool = CommandTool::new(folder, [git])?; // Agent::builder(model).tool(tool)
/// # let _ = tool; Ok(()) }
/// ```
#[derive(Clone)]
pub struct CommandTool {
    spec: ToolSpec,
    folder: PathBuf,
    /// With the file of each program.
    allowed: Arc<[(Command, PathBuf)]>,
    environment: Vec<(OsString, OsString)>,
    most: usize,
    limit: Duration,
    #[cfg(feature = "sandbox")]
    walls: Option<(Arc<Walls>, Confinement)>,
}

/// The reason why a command tool cannot be created.
#[derive(Debug)]
#[non_exhaustive]
pub enum CommandError {
    /// The folder does not exist or is not a folder.
    Folder(io::Error),
    /// The program does not exist.
    Program {
        /// Its name.
        name: String,
    },
    /// No command is allowed.
    Nothing,
    /// The system has no sandbox, or not the requested one.
    #[cfg(feature = "sandbox")]
    NoSandbox(Box<dyn std::error::Error + Send + Sync>),
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(_) => f.write_str("the folder for commands cannot be entered"),
            Self::Program { name } => write!(f, "there is no program {name:?}"),
            Self::Nothing => f.write_str("no command is allowed"),
            #[cfg(feature = "sandbox")]
            Self::NoSandbox(why) => write!(f, "commands cannot be confined: {why}"),
        }
    }
}

impl std::error::Error for CommandError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Folder(error) => Some(error),
            #[cfg(feature = "sandbox")]
            Self::NoSandbox(why) => Some(&**why),
            Self::Program { .. } | Self::Nothing => None,
        }
    }
}

/// The time that a command may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The maximum number of bytes of each output that the model reads.
const MOST: usize = 32 * 1024;

impl CommandTool {
    /// Creates a tool that runs these commands in that folder. Programs are looked up now, in the `PATH` of this
    /// process.
    ///
    /// # Errors
    /// [`CommandError`] if the folder or a program is missing, or nothing is allowed.
    pub fn new(
        folder: impl AsRef<Path>,
        allowed: impl IntoIterator<Item = Command>,
    ) -> Result<Self, CommandError> {
        let folder = folder.as_ref().canonicalize().map_err(CommandError::Folder)?;
        let found = allowed.into_iter().map(|command| {
            let file =
                found(&command.name).ok_or_else(|| CommandError::Program { name: command.name.clone() })?;
            Ok((command, file))
        });
        let allowed: Vec<(Command, PathBuf)> = found.collect::<Result<_, _>>()?;
        if allowed.is_empty() {
            return Err(CommandError::Nothing);
        }
        let mut names: Vec<&str> = Vec::new();
        for (command, _) in &allowed {
            if !names.contains(&command.name.as_str()) {
                names.push(&command.name);
            }
        }
        let lines: Vec<String> = allowed.iter().map(|(command, _)| format!("\n{command}")).collect();
        let text =
            format!("Runs one of these commands, without a shell, and shows its output:{}", lines.concat());
        let schema = json!({
            "type": "object",
            "properties": {
                "program": {"type": "string", "enum": names},
                "arguments": {"type": "array", "items": {"type": "string"}, "description": "One text for each argument"},
            },
            "required": ["program", "arguments"],
        });
        let spec =
            ToolSpec::new(ToolDefinition::new("run_command", text, schema)).with_origin("attache-tools");
        // The tool ends the command itself, and has its output then.
        let spec = spec.with_timeout(LIMIT + Duration::from_secs(5));
        Ok(Self {
            spec,
            folder,
            allowed: allowed.into(),
            environment: Vec::new(),
            most: MOST,
            limit: LIMIT,
            #[cfg(feature = "sandbox")]
            walls: None,
        })
    }

    /// Sandboxes the commands. The sandbox is tested now, on its own thread, so that a problem is not found only by the
    /// first call.
    ///
    /// # Errors
    /// [`CommandError::NoSandbox`] if the system has none and the sandbox is not optional.
    #[cfg(feature = "sandbox")]
    pub fn with_sandbox(mut self, sandbox: Sandbox) -> Result<Self, CommandError> {
        let is_optional = sandbox.is_optional;
        let programs = self.allowed.iter().map(|(_, file)| file.clone());
        let walls = Arc::new(sandbox.walls(&self.folder, programs));
        let tried = Arc::clone(&walls);
        let trying = std::thread::Builder::new().name("attache-command".to_owned());
        let entered = match trying.spawn(move || tried.enter()).map(std::thread::JoinHandle::join) {
            Ok(Ok(entered)) => entered,
            Ok(Err(_)) => Err("it failed".into()),
            Err(error) => Err(error.into()),
        };
        self.walls = match entered {
            Ok(confinement) => Some((walls, confinement)),
            Err(_) if is_optional => None,
            Err(why) => return Err(CommandError::NoSandbox(why)),
        };
        Ok(self)
    }

    /// The restrictions that the system enforces.
    #[cfg(feature = "sandbox")]
    pub fn confinement(&self) -> Confinement {
        self.walls.as_ref().map(|(_, confinement)| *confinement).unwrap_or_default()
    }

    /// Sets the side effects of the commands. [`Effect::SideEffect`] by default.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.spec = self.spec.with_effect(effect);
        self
    }

    /// Sets the timeout of a command. 60 s by default.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self.spec = self.spec.with_timeout(limit.saturating_add(Duration::from_secs(5)));
        self
    }

    /// Sets the maximum number of bytes of each output that the model reads. 32 KiB by default.
    #[must_use]
    pub fn with_max_output(mut self, bytes: usize) -> Self {
        self.most = bytes;
        self
    }

    /// Sets an environment variable for the commands.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Passes environment variables of this process to the commands, with their current values.
    #[must_use]
    pub fn with_passed(mut self, names: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        for name in names {
            let name = name.into();
            if let Some(value) = std::env::var_os(&name) {
                self.environment.push((name, value));
            }
        }
        self
    }

    fn job(&self, program: PathBuf, arguments: Vec<String>) -> Job {
        Job {
            program,
            arguments,
            folder: self.folder.clone(),
            environment: self.environment.clone(),
            most: self.most,
            limit: self.limit,
            #[cfg(feature = "sandbox")]
            walls: self.walls.as_ref().map(|(walls, _)| Arc::clone(walls)),
        }
    }
}

/// The program's file and the arguments, if the list allows them; without a folder, as far as their text says.
fn chosen(
    allowed: &[(Command, PathBuf)],
    arguments: &Map<String, Value>,
    folder: Option<&Path>,
) -> Result<(PathBuf, Vec<String>), ToolError> {
    let program = arguments.get("program").and_then(Value::as_str).unwrap_or_default();
    let given = arguments.get("arguments").and_then(Value::as_array).into_iter().flatten();
    let given: Vec<String> = given.filter_map(Value::as_str).map(str::to_owned).collect();
    let of_program = || allowed.iter().filter(|(command, _)| command.name == program);
    if let Some((_, file)) = of_program().find(|(command, _)| command.allows(&given, folder)) {
        return Ok((file.clone(), given));
    }
    let forms: Vec<String> = of_program().map(|(command, _)| command.to_string()).collect();
    let text = format!("not allowed, and not run; allowed is: {}", forms.join("; "));
    Err(ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments))
}

/// Names of variables, and no values.
impl std::fmt::Debug for CommandTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandTool")
            .field("folder", &self.folder)
            .field("allowed", &self.allowed)
            .field("environment", &self.environment.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("most", &self.most)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn arguments(&self, written: &Arguments) -> Result<Map<String, Value>, ToolError> {
        let arguments = self.spec.definition.coerce(written)?;
        // Files are looked at off this thread, by the run.
        chosen(&self.allowed, &arguments, None)?;
        Ok(arguments)
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        _: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (allowed, folder) = (Arc::clone(&self.allowed), self.folder.clone());
            let look = move || chosen(&allowed, &arguments, Some(&folder));
            let unlooked = |error| ToolError::new("the command could not be run").with_source(error);
            let (program, arguments) = on_thread("attache-command", look).await.map_err(unlooked)??;
            let job = self.job(program, arguments);
            // Dropping this future ends the group.
            let group = Group::default();
            let shared = group.share();
            let done = on_thread("attache-command", move || run(job, &shared)).await.and_then(|done| done);
            let done =
                done.map_err(|error| ToolError::new("the command could not be run").with_source(error))?;
            told(&done, self.limit)
        })
    }
}

fn told(done: &Done, limit: Duration) -> Result<ToolOutput, ToolError> {
    let end = match (done.timed_out, done.code, done.signal) {
        (true, ..) => Some(format!("stopped after {} s", limit.as_secs_f64())),
        (false, Some(_), _) => None,
        (false, None, signal) => Some(format!("ended by signal {}", signal.unwrap_or_default())),
    };
    let mut said = Map::new();
    if let Some(code) = done.code {
        said.insert("exitCode".to_owned(), code.into());
    }
    if let Some(end) = end {
        said.insert("end".to_owned(), end.into());
    }
    for (name, text) in [("output", &done.output), ("errors", &done.errors)] {
        if !text.is_empty() {
            said.insert(name.to_owned(), text.as_str().into());
        }
    }
    let output = ToolOutput::new(Capture::new().finish(&Value::Object(said))?);
    let is_well = done.code == Some(0) && !done.timed_out;
    Ok(output.with_status(if is_well { ResultStatus::Ok } else { ResultStatus::Error }))
}

/// The file of a program: an absolute path, or a name in one of the absolute folders of `PATH`.
fn found(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;

    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let path = Path::new(name);
    if path.is_absolute() {
        return Some(path.to_owned()).filter(is_program);
    }
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let folders = std::env::var_os("PATH")?;
    // A relative folder is another one wherever the process stands. The program's own name stays as it is: some do what
    // the name of the link says.
    let folders = std::env::split_paths(&folders).filter(|folder| folder.is_absolute());
    folders.filter_map(|folder| Some(folder.canonicalize().ok()?.join(name))).find(is_program)
}
