//! The user's configuration, and the folders of the platform.

use std::path::{Path, PathBuf};

use attache_agent::Prices;
use toml::Table;

use crate::args::Args;

/// The configuration as far as it is the command's; the rest is the registry's.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The text for the registry.
    pub(crate) registry: Option<String>,
    /// The prices of models.
    pub(crate) prices: Option<Prices>,
}

impl Config {
    /// Reads the file that the user names, else `config.toml` in their folder, if there is one.
    pub(crate) fn load(args: &Args) -> Result<Self, String> {
        let home = std::env::var_os("ATTACHE_HOME").filter(|home| !home.is_empty());
        if home.is_some_and(|home| Path::new(&home).is_relative()) {
            return Err("ATTACHE_HOME is a relative path; set it to an absolute one".to_owned());
        }
        let file = match &args.config {
            Some(file) => file.clone(),
            None => match folder(Folder::Config).map(|folder| folder.join("config.toml")) {
                Some(file) if file.is_file() => file,
                _ => return Ok(Self::default()),
            },
        };
        let wrong = |error: String| format!("{}: {error}", file.display());
        let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&text).map_err(wrong)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut table: Table = toml::from_str(text).map_err(|error: toml::de::Error| {
            format!("the configuration is not valid: {}", error.message())
        })?;
        let prices = match table.remove("prices") {
            Some(prices) => Some(
                prices
                    .try_into()
                    .map_err(|error: toml::de::Error| format!("[prices]: {}", error.message()))?,
            ),
            None => None,
        };
        let registry = toml::to_string(&table).map_err(|error| error.to_string())?;
        Ok(Self { registry: Some(registry), prices })
    }
}

/// A folder of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    /// The settings that the user writes.
    Config,
    /// The data that the command keeps.
    #[cfg(feature = "chat")]
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
        #[cfg(feature = "chat")]
        Folder::Data => {
            variable("XDG_DATA_HOME").filter(|path| path.is_absolute()).or_else(|| of_home(".local/share"))
        }
    };
    base.map(|base| base.join("attache"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_sections_are_taken_out() {
        let config = Config::parse(
            "[models]\nfast = 'groq/a'\n[prices]\ncurrency = 'USD'\n[prices.models.'groq/a']\ninput = 1.5\noutput = 2\n",
        )
        .unwrap();
        assert_eq!(config.prices.unwrap().currency(), "USD");
        let rest = config.registry.unwrap();
        assert!(rest.contains("groq/a") && !rest.contains("prices"), "{rest}");
        assert!(Config::parse("[prices]\ncurrency = 3\n").unwrap_err().contains("[prices]"));
        assert!(Config::parse("[[").is_err());
    }

    // https://specifications.freedesktop.org/basedir-spec/latest/
    #[cfg(all(target_os = "linux", feature = "chat"))]
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
