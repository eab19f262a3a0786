//! The configuration: the user's, the project's that they trust, or the file that they name; and the folders of the
//! platform.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_agent::Prices;
use attache_config::{ConfigFile, FILE_NAME, Problems, Trusted, project_file};

use crate::args::Args;
use crate::output::harmless;

/// The configuration, as far as a run needs it.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// All that it says.
    pub(crate) said: Arc<attache_config::Config>,
    /// The prices of models.
    pub(crate) prices: Option<Prices>,
    /// The project's file, if the user does not trust it.
    pub(crate) untrusted: Option<PathBuf>,
}

impl Config {
    /// Reads the files that count.
    pub(crate) fn load(args: &Args) -> Result<Self, String> {
        let Files { read, untrusted } = Files::read(args).map_err(|problems| told(&problems))?;
        let said = attache_config::Config::usable(read, &|name| std::env::var(name).ok());
        let said = said.map_err(|problems| told(&problems))?;
        let prices = said.prices();
        Ok(Self { said: Arc::new(said), prices, untrusted })
    }

    /// True if it gives an agent tools of this machine beside those that read files.
    #[cfg(feature = "server")]
    pub(crate) fn has_tools(&self) -> bool {
        #[cfg(feature = "local-tools")]
        if self.said.local_tools().is_ok_and(|tools| !tools.is_empty()) {
            return true;
        }
        self.said.writes_files()
    }

    /// A line about a file of the project that does not count.
    pub(crate) fn notice(&self) -> Option<String> {
        let Some(file) = &self.untrusted else { return renamed() };
        Some(format!(
            "! {} is ignored, since you do not trust it yet: read it, then run `attache config trust`",
            harmless(&file.display().to_string())
        ))
    }
}

/// The files that count, and the one of the project that does not.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) read: Vec<ConfigFile>,
    pub(crate) untrusted: Option<PathBuf>,
}

impl Files {
    /// Reads the file that the user names; else their own, and the project's on top, if they trust it.
    pub(crate) fn read(args: &Args) -> Result<Self, Problems> {
        if let Some(file) = &args.config {
            return Ok(Self { read: vec![ConfigFile::read(file)?], untrusted: None });
        }
        let mut files = Self::default();
        if let Some(own) = own_file().filter(|file| file.is_file()) {
            files.read.push(ConfigFile::read(own)?);
        }
        if let Some(path) = of_project() {
            // Nobody is told of mistakes in a file that nobody trusts.
            match ConfigFile::read(&path) {
                Ok(file) if trusted().is_some_and(|trusted| trusted.has(&file)) => files.read.push(file),
                _ => files.untrusted = Some(path),
            }
        }
        Ok(files)
    }
}

/// Mistakes, a line each.
pub(crate) fn told(problems: &Problems) -> String {
    match problems.iter().count() {
        0 | 1 => problems.to_string(),
        count => format!("the configuration has {count} problems\n{problems}"),
    }
}

/// The user's own file, also where it is not there yet.
pub(crate) fn own_file() -> Option<PathBuf> {
    folder(Folder::Config).map(|folder| folder.join(FILE_NAME))
}

/// The file of the project that the user stands in. Their own is none.
pub(crate) fn of_project() -> Option<PathBuf> {
    let folder = std::env::current_dir().ok()?;
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
    let same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    let found = project_file(&folder, home.as_deref());
    found.filter(|found| own_file().is_none_or(|own| !same(found, &own)))
}

/// A line about the user's own file, where it still has its first name.
fn renamed() -> Option<String> {
    let own = own_file().filter(|own| !own.is_file())?;
    let first = own.with_file_name("config.toml");
    first.is_file().then(|| format!("! {} is not read: rename it to {FILE_NAME}", first.display()))
}

/// The files that the user trusts.
pub(crate) fn trusted() -> Option<Trusted> {
    folder(Folder::Data).map(|folder| Trusted::in_folder(folder.join("trusted")))
}

/// Says so where the folder that a variable names depends on the working folder.
pub(crate) fn home_is_absolute() -> Result<(), String> {
    let home = std::env::var_os("ATTACHE_HOME").filter(|home| !home.is_empty());
    match home.is_some_and(|home| Path::new(&home).is_relative()) {
        true => Err("ATTACHE_HOME is a relative path; set it to an absolute one".to_owned()),
        false => Ok(()),
    }
}

/// A folder of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    /// The settings that the user writes.
    Config,
    /// The data that the command keeps.
    Data,
}

/// The command's own folder: `ATTACHE_HOME`, else where the platform has such folders. `None` where nobody says whose
/// home it is.
pub(crate) fn folder(kind: Folder) -> Option<PathBuf> {
    folder_of(kind, |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

fn folder_of(kind: Folder, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(home) = variable("ATTACHE_HOME") {
        return Some(home);
    }
    let of_home = |path: &str| variable("HOME").map(|home| home.join(path));
    let base = match kind {
        _ if cfg!(windows) => variable("APPDATA"),
        _ if cfg!(target_os = "macos") => of_home("Library/Application Support"),
        // A relative path is to be ignored, as the specification of these variables has it.
        Folder::Config => {
            variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or_else(|| of_home(".config"))
        }
        Folder::Data => {
            variable("XDG_DATA_HOME").filter(|path| path.is_absolute()).or_else(|| of_home(".local/share"))
        }
    };
    base.map(|base| base.join("attache"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // https://specifications.freedesktop.org/basedir-spec/latest/
    #[cfg(target_os = "linux")]
    #[test]
    fn folders_are_where_the_platform_has_them() {
        let set = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| PathBuf::from(value))
            }
        };
        let home = set(&[("HOME", "/home/ann")]);
        assert_eq!(folder_of(Folder::Data, home), Some("/home/ann/.local/share/attache".into()));
        assert_eq!(folder_of(Folder::Config, home), Some("/home/ann/.config/attache".into()));
        let set_all = set(&[("HOME", "/h"), ("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "relative")]);
        assert_eq!(folder_of(Folder::Data, set_all), Some("/d/attache".into()));
        assert_eq!(folder_of(Folder::Config, set_all), Some("/h/.config/attache".into()));
        let own = set(&[("HOME", "/h"), ("ATTACHE_HOME", "/own")]);
        assert_eq!(folder_of(Folder::Data, own), Some("/own".into()));
        assert_eq!(folder_of(Folder::Data, set(&[])), None);
    }
}
