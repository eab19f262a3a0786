//! The merged configuration of all files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use attache_core::Secret;

use crate::checked::{Checked, checked};
use crate::mcp_servers::{Server, is_address, is_header, is_name, of_file, plain};
use crate::problem::{Problem, Problems};
use crate::read::Read;
use crate::sections::{McpServerSection, Sections};
use crate::source::ConfigFile;

/// The configuration: one file, or several merged files.
///
/// ```
/// use attache_config::{Config, ConfigFile};
///
/// let file = ConfigFile::parse("attache.toml", "[limits]\nstepz = 5\n\n[approvals]\nallow = 'all'\n")?;
/// let problems = Config::of([file], &|_| None).unwrap_err();
/// let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
/// assert_eq!(lines[0], "attache.toml:2: limits.stepz is not known; did you mean `steps`?");
/// assert!(lines[1].starts_with("attache.toml:5: approvals.allow must be"));
/// # Ok::<(), attache_config::Problems>(())
/// ```
#[derive(Default)]
pub struct Config {
    pub(crate) files: Vec<Read>,
    pub(crate) servers: BTreeMap<String, Server>,
    notes: Vec<Problem>,
    left_out: Vec<Problem>,
    /// True if sections that are wrong are left out.
    #[cfg(feature = "models")]
    pub(crate) is_partial: bool,
}

impl Config {
    /// Merges the configuration of these files; a later file overrides an earlier one. Variables come from `lookup`.
    ///
    /// # Errors
    /// All problems of all files.
    pub fn of(
        files: impl IntoIterator<Item = ConfigFile>,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Problems> {
        let config = Self::usable(files, lookup)?;
        match config.left_out.is_empty() {
            true => Ok(config),
            false => Err(Problems::of(config.left_out)),
        }
    }

    /// Reads a configuration like [`of`](Self::of), but a server, agent or service that lacks a variable or a secret
    /// file is not an error: it is left out and listed in [`left_out`](Self::left_out).
    ///
    /// # Errors
    /// All other problems, together with these.
    pub fn usable(
        files: impl IntoIterator<Item = ConfigFile>,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Problems> {
        let (mut config, problems) = Self::gathered(files, lookup);
        match problems.is_empty() {
            true => Ok(config),
            false => Err(Problems::of([problems, std::mem::take(&mut config.left_out)].concat())),
        }
    }

    /// Reads a configuration like [`of`](Self::of), and checks what it says of models like [`registry`](Self::registry):
    /// all problems are found in one go.
    ///
    /// # Errors
    /// All problems of all files.
    #[cfg(feature = "models")]
    pub fn check(
        files: impl IntoIterator<Item = ConfigFile>,
        lookup: &dyn Fn(&str) -> Option<String>,
        registry: attache_models::Registry,
    ) -> Result<Self, Problems> {
        let (mut config, mut problems) = Self::gathered(files, lookup);
        config.is_partial = !problems.is_empty();
        problems.append(&mut config.left_out);
        problems.extend(config.registry(registry).err().into_iter().flat_map(Problems::into_vec));
        if problems.is_empty() { Ok(config) } else { Err(Problems::of(problems)) }
    }

    /// The files as far as they are right, with all problems but those of parts that are left out.
    fn gathered(
        files: impl IntoIterator<Item = ConfigFile>,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> (Self, Vec<Problem>) {
        let (mut config, mut problems) = (Self::default(), Vec::new());
        // By section and name: a later file may say it anew.
        let mut left_out = BTreeMap::new();
        for file in files {
            let (checked, found) = checked(&file, lookup);
            problems.extend(found);
            if let Some(Checked { sections, masks, unset }) = checked {
                let home = lookup("HOME").or_else(|| lookup("USERPROFILE"));
                let mut read = Read { file, sections, masks, home, unset };
                let found = of_file(&read, lookup, &mut problems);
                crate::server_check::check(&read, &mut problems);
                for name in found.servers.keys().chain(read.sections.mcp.servers.keys()) {
                    left_out.remove(&("mcp", name.clone()));
                }
                for name in read.sections.a2a.keys() {
                    left_out.remove(&("a2a", name.clone()));
                }
                for name in read.sections.http.keys() {
                    left_out.remove(&("http", name.clone()));
                }
                // One that is switched off here may be another file's.
                let off = |(_, server): &(_, &McpServerSection)| server.enabled == Some(false);
                for (name, _) in read.sections.mcp.servers.iter().filter(off) {
                    config.servers.remove(name);
                }
                config.servers.extend(found.servers);
                config.notes.extend(found.notes);
                read.unset.extend(found.unset);
                for unset in &read.unset {
                    if unset.section == "mcp" {
                        config.servers.remove(&unset.name);
                    }
                    left_out.insert((unset.section, unset.name.clone()), unset.problems.clone());
                }
                config.files.push(read);
            }
        }
        // A section that is wrong may say what others need.
        if problems.is_empty() {
            crate::server_check::check_origins(&config.files, &mut problems);
            #[cfg(feature = "agent")]
            config.unpriced(&mut problems);
        }
        config.agents(&mut problems);
        config.unbuilt(&mut problems);
        #[cfg(feature = "http-tools")]
        problems.extend(config.http_tools().err().into_iter().flatten());
        #[cfg(feature = "tools")]
        problems.extend(config.local_tools().err().into_iter().flatten());
        config.left_out = Problems::of(left_out.into_values().flatten().collect()).into_vec();
        (config, problems)
    }

    /// Reads one file like [`of`](Self::of), with the environment variables of the process.
    ///
    /// # Errors
    /// All problems.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Problems> {
        Self::of([ConfigFile::read(path)?], &|name| std::env::var(name).ok())
    }

    /// The files, in order of ascending precedence.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|read| read.file.path())
    }

    /// The files that they import.
    pub fn imported(&self) -> Vec<PathBuf> {
        self.files.iter().flat_map(|read| read.file.imported().map(Path::to_owned)).collect()
    }

    /// Remarks that are not errors: servers of other clients that cannot be imported.
    pub fn notes(&self) -> &[Problem] {
        &self.notes
    }

    /// The servers, agents and services that [`usable`](Self::usable) left out, each with the missing variable or file.
    pub fn left_out(&self) -> &[Problem] {
        &self.left_out
    }

    /// The names of the MCP servers, each with its file and its command or URL.
    pub fn server_names(&self) -> impl Iterator<Item = (&str, &Path, String)> {
        self.servers
            .iter()
            .map(|(name, server)| (name.as_str(), server.origin.as_path(), server.shown.clone()))
    }

    /// The storage of sessions, if configured.
    pub fn sessions_place(&self) -> Option<SessionsPlace> {
        let found =
            self.files.iter().rev().find_map(|read| Some((read, read.sections.stores.sessions.as_ref()?)));
        found.map(|(read, written)| match is_postgres(written) {
            true => SessionsPlace::Postgres(Secret::new(written.as_str())),
            false => SessionsPlace::File(read.place(written)),
        })
    }

    /// The folder of documents, if configured.
    pub fn documents_folder(&self) -> Option<PathBuf> {
        self.store(|sections| sections.stores.documents.as_deref())
    }

    /// True if a server removes documents from that folder that no session mentions; false by default.
    pub fn collects_documents(&self) -> bool {
        self.last(|sections| sections.stores.collect_documents).unwrap_or(false)
    }

    /// The folders whose files the model may list, read and search.
    pub fn tool_folders(&self) -> Vec<PathBuf> {
        let named =
            self.files.iter().flat_map(|read| read.sections.tools.files.iter().map(|path| read.place(path)));
        named.collect()
    }

    /// True if the model may also change these files.
    pub fn writes_files(&self) -> bool {
        self.files.iter().any(|read| read.sections.tools.write)
    }

    fn store(&self, of: impl Fn(&Sections) -> Option<&str>) -> Option<PathBuf> {
        let found = self.files.iter().rev().find_map(|read| Some((read, of(&read.sections)?)));
        found.map(|(read, written)| read.place(written))
    }

    /// The value of the last file that says one.
    pub(crate) fn last<T>(&self, of: impl Fn(&Sections) -> Option<T>) -> Option<T> {
        self.files.iter().rev().find_map(|read| of(&read.sections))
    }

    /// Limits of cost that nothing can hold.
    #[cfg(feature = "agent")]
    fn unpriced(&self, problems: &mut Vec<Problem>) {
        let has_prices = self.files.iter().any(|read| read.sections.prices.is_some());
        for read in self.files.iter().filter(|read| read.sections.limits.cost.is_some() && !has_prices) {
            let hint = Some("add [prices], or limit tokens".to_owned());
            problems.push(read.problem(
                "limits.cost",
                "cannot be enforced: there are no prices of models",
                hint,
            ));
        }
    }

    /// Addresses and names of A2A agents that cannot be.
    fn agents(&self, problems: &mut Vec<Problem>) {
        for read in &self.files {
            for (name, section) in &read.sections.a2a {
                let mut told = |member: &str, message: &str, hint: Option<&str>| {
                    let hint = hint.map(str::to_owned);
                    problems.push(read.problem(&format!("a2a.{name}{member}"), message, hint));
                };
                if !is_name(name) {
                    let message = format!("{name:?} is not a valid agent name");
                    told("", &message, Some("use letters, digits, - and _"));
                }
                if section.enabled == Some(false) {
                    continue;
                }
                let url = section.url.as_deref().unwrap_or_default();
                if url.is_empty() {
                    told("", "has no `url`", Some("set the URL of the agent, or of its card"));
                } else if !is_address(url) {
                    let message = format!("must begin with https:// or http://, not {:?}", plain(url));
                    told(".url", &message, None);
                }
                for header in section.headers.keys().filter(|header| !is_header(header)) {
                    told(&format!(".headers.{header}"), "is not a valid header name", None);
                }
            }
        }
    }

    /// Sections for which this program was not built.
    fn unbuilt(&self, problems: &mut Vec<Problem>) {
        for read in &self.files {
            #[cfg(not(feature = "http-tools"))]
            if !read.sections.http.is_empty() {
                problems.push(read.file.problem(
                    "http",
                    "is not supported: this program was built without HTTP tools",
                    None,
                ));
            }
            #[cfg(not(feature = "a2a"))]
            if !read.sections.a2a.is_empty() {
                problems.push(read.file.problem(
                    "a2a",
                    "is not supported: this program was built without A2A",
                    None,
                ));
            }
            #[cfg(not(feature = "mcp"))]
            if !self.servers.is_empty() && read.file.located.value.get("mcp").is_some() {
                problems.push(read.file.problem(
                    "mcp",
                    "is not supported: this program was built without MCP",
                    None,
                ));
            }
            #[cfg(not(feature = "tools"))]
            {
                let tools = &read.sections.tools;
                if tools.fetch || tools.calculator || tools.time || !tools.command.is_empty() {
                    let message = "is not supported: this program was built without tools of this machine";
                    problems.push(read.problem("tools", message, None));
                }
            }
            let sessions = read.sections.stores.sessions.as_deref();
            if sessions.is_some_and(|place| place.contains("://") && !is_postgres(place)) {
                let message = "must be the path of a file, or an address that begins with postgres://";
                problems.push(read.file.problem("stores.sessions", message, None));
            }
        }
    }
}

/// The storage of sessions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionsPlace {
    /// An SQLite file.
    File(PathBuf),
    /// The URL of a PostgreSQL database, which may contain a password.
    Postgres(Secret),
}

fn is_postgres(place: &str) -> bool {
    place.starts_with("postgres://") || place.starts_with("postgresql://")
}

/// The files alone: what they say may be secret.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("files", &self.files().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
