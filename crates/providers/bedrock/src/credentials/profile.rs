//! Profiles in the files that AWS tools share.

use std::collections::HashMap;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use attache_core::{BoxFuture, ErrorKind, ProviderError};
use attache_transport::Environment;

use super::source::{CredentialSource, Credentials};
use crate::error::{self, Result};

/// The maximum number of bytes of a file that are read.
const MAX_FILE: u64 = 1 << 20;

/// The names of the keys of a profile, and settings that stand for credentials which must be fetched.
const ID: &str = "aws_access_key_id";
const SECRET: &str = "aws_secret_access_key";
const TOKEN: &str = "aws_session_token";
const ELSEWHERE: [&str; 7] = [
    "role_arn",
    "sso_session",
    "sso_start_url",
    "credential_process",
    "credential_source",
    "web_identity_token_file",
    "login_session",
];

/// The chosen profile of the two files.
pub(crate) struct Profiles {
    place: Place,
    settings: HashMap<String, String>,
    /// True if the caller named the profile.
    named: bool,
    found: bool,
}

/// Where a profile stands.
#[derive(Clone)]
struct Place {
    profile: String,
    credentials: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl Profiles {
    /// Reads the profile that `environment` names, or `default`. Files that are not there are empty.
    pub(crate) fn load(environment: &Environment) -> Self {
        let home = environment.first(["HOME", "USERPROFILE"]).map(PathBuf::from);
        let file = |variable: &str, name: &str| match (environment.get(variable), &home) {
            (Some(path), Some(home)) => Some(match path.strip_prefix("~/") {
                Some(rest) => home.join(rest),
                None => PathBuf::from(path),
            }),
            (Some(path), None) => Some(PathBuf::from(path)),
            (None, home) => home.as_ref().map(|home| home.join(".aws").join(name)),
        };
        let named = environment.first(["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]);
        let place = Place {
            profile: named.clone().unwrap_or_else(|| "default".to_owned()),
            credentials: file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            config: file("AWS_CONFIG_FILE", "config"),
        };
        let settings = place.read();
        let found = settings.is_some();
        Self { place, settings: settings.unwrap_or_default(), named: named.is_some(), found }
    }

    /// A setting of the profile.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The source of the profile's keys, if it holds them.
    ///
    /// # Errors
    /// If the caller named a profile that is not there.
    pub(crate) fn keys(&self) -> Result<Option<Keys>> {
        if self.named && !self.found {
            let message = format!("the AWS profile {:?} is in none of the files", self.place.profile);
            return Err(error::configuration(message));
        }
        if self.needs_more().is_some() {
            return Ok(None);
        }
        Ok(keys(&self.settings).map(|_| Keys(self.place.clone())))
    }

    /// The settings of the profile besides keys, in words.
    pub(crate) fn needs_more(&self) -> Option<String> {
        let setting = ELSEWHERE.into_iter().find(|name| self.get(name).is_some())?;
        Some(format!("the AWS profile {:?} has {setting}", self.place.profile))
    }

    /// The name of the profile, if the caller gave it.
    #[cfg(feature = "aws-config")]
    pub(crate) fn chosen(&self) -> Option<String> {
        self.named.then(|| self.place.profile.clone())
    }
}

impl Place {
    /// The profile's settings; those of the credentials file win.
    fn read(&self) -> Option<HashMap<String, String>> {
        let text = |path: &Option<PathBuf>| path.as_deref().and_then(read_file).unwrap_or_default();
        let (config, credentials) = (text(&self.config), text(&self.credentials));
        let prefixed = format!("profile {}", self.profile);
        let own: &[&str] = match self.profile.as_str() {
            "default" => &["default", "profile default"],
            _ => &[&prefixed],
        };
        let (config, credentials) = (section(&config, own), section(&credentials, &[&self.profile]));
        match (config, credentials) {
            (None, None) => None,
            (config, credentials) => {
                let mut settings = config.unwrap_or_default();
                settings.extend(credentials.unwrap_or_default());
                Some(settings)
            }
        }
    }
}

/// The keys of a profile, read anew whenever they are fetched: other tools renew them there.
pub(crate) struct Keys(Place);

impl CredentialSource for Keys {
    fn fetch(&self) -> BoxFuture<'_, Result<Credentials>> {
        let place = self.0.clone();
        let name = place.profile.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || keys(&place.read()?)).await;
            read.ok().flatten().ok_or_else(|| {
                let message = format!("the AWS profile {name:?} holds no keys any more");
                ProviderError::new(ErrorKind::Authentication, message)
            })
        })
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keys").field(&self.0.profile).finish()
    }
}

fn keys(settings: &HashMap<String, String>) -> Option<Credentials> {
    let get = |name: &str| settings.get(name).filter(|value| !value.is_empty()).cloned();
    // A blank token is none.
    Some(Credentials::new(get(ID)?, get(SECRET)?).with_session_token(get(TOKEN).unwrap_or_default()))
}

fn read_file(path: &Path) -> Option<String> {
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The settings under the headings, names in lower case. `None` if no heading is there.
fn section(text: &str, headings: &[&str]) -> Option<HashMap<String, String>> {
    let mut settings = None;
    let mut inside = false;
    for line in text.lines() {
        // An indented line belongs to the setting above it.
        let nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(heading) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let words: Vec<&str> = heading.split_whitespace().collect();
            inside = headings.contains(&words.join(" ").as_str());
            if inside {
                settings.get_or_insert_with(HashMap::new);
            }
        } else if let (Some(settings), Some((name, value)), false) =
            (&mut settings, line.split_once('='), nested)
            && inside
        {
            let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|mark| value.find(mark)).min();
            let value = value.get(..end.unwrap_or(value.len())).unwrap_or(value).trim();
            settings.insert(name.trim().to_ascii_lowercase(), value.to_owned());
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_other_tools_write_them() {
        let text = "# mine\n[default]\naws_access_key_id=AKIA1\nAWS_SECRET_ACCESS_KEY = a=b/c+ # old\n\n\
                    [profile  work ]\nregion = eu-west-1\ns3 =\n  max_concurrent_requests = 20\n  region = nested\n\
                    ; x\n[sso-session work]\nregion = us-east-1\n[other]\nregion=x\n";
        let default = section(text, &["default"]).unwrap();
        assert_eq!(default["aws_secret_access_key"], "a=b/c+");
        assert_eq!(keys(&default), Some(Credentials::new("AKIA1", "a=b/c+")));
        let work = section(text, &["profile work"]).unwrap();
        assert_eq!((work["region"].as_str(), work["s3"].as_str(), work.len()), ("eu-west-1", "", 2));
        assert!(section(text, &["work"]).is_none() && section("", &["default"]).is_none());
    }
}
