//! The profiles by name: bundled, and those of a configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use attache_core::json::{insert_member, merge_members, table_lines};
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Profile;

/// Profiles by name, as TOML: `[name]` holds what differs from a server of which nothing is known, or from the profile
/// that `like` names, without its variables for address and headers where `base_url` is said, and without those for
/// tokens where `key.variables` are. A configuration has the same form; it adds profiles, and its entries win over the
/// bundled ones, member by member.
///
/// ```
/// use attache_openai::Profiles;
/// let profiles = Profiles::bundled().merged_with(
///     "[work]\nlike = 'openai-chat'\nbase_url = 'https://llm.example/v1'\nkey.variables = ['WORK_LLM_KEY']",
/// )?;
/// let work = profiles.get("work").unwrap();
/// assert_eq!((work.name.as_str(), work.family.as_str()), ("work", "openai-chat"));
/// # Ok::<(), attache_openai::ProfileError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profiles {
    tables: Table,
    profiles: BTreeMap<String, Arc<Profile>>,
}

/// The members of a profile, or profiles by name, as they are written.
type Table = Map<String, Value>;

/// Why text holds no profiles.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// It is not TOML.
    #[error("the profiles are not valid TOML: {0}")]
    Syntax(String),
    /// A profile has a member that is unknown or of the wrong type, or is like one that is not there.
    #[error("the profile {name} is not valid: {problem}")]
    Profile {
        /// The name of the profile.
        name: String,
        /// The problem.
        problem: String,
    },
}

/// The longest chain of profiles that are like each other.
const MAX_CHAIN: usize = 8;

static BUNDLED: OnceLock<Profiles> = OnceLock::new();
const BUNDLED_TEXT: &str = include_str!("bundled.toml");

impl Profiles {
    /// The profiles that come with this crate, read at first use.
    pub fn bundled() -> &'static Self {
        // A test reads them, so that no program has to at its start.
        BUNDLED.get_or_init(|| {
            let tables = names().map(|name| {
                let mut members = Table::new();
                add_members(section(name).unwrap_or_default(), &mut members);
                (name.to_owned(), Value::Object(members))
            });
            Self::of(tables.collect()).unwrap_or_else(|_| Self::none())
        })
    }

    /// One bundled profile. Those that it is not like are not read: a program that knows its server starts sooner.
    pub(crate) fn bundled_alone(name: &str) -> Option<Arc<Profile>> {
        static READ: Mutex<BTreeMap<String, Arc<Profile>>> = Mutex::new(BTreeMap::new());
        if let Some(all) = BUNDLED.get() {
            return all.get(name).cloned();
        }
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(profile) = read.get(name) {
            return Some(Arc::clone(profile));
        }
        let profile = Self::read_alone(name)?;
        read.insert(name.to_owned(), Arc::clone(&profile));
        Some(profile)
    }

    fn read_alone(name: &str) -> Option<Arc<Profile>> {
        let mut sections = vec![section(name)?];
        while let Some(base) = sections.last().and_then(|section| like(section)) {
            sections.push(section(base).filter(|_| sections.len() <= MAX_CHAIN)?);
        }
        let mut members = Table::new();
        let mut sections = sections.into_iter().rev();
        // Nothing is below the first one, and most are like no other.
        add_members(sections.next().unwrap_or_default(), &mut members);
        for section in sections {
            let mut own = Table::new();
            add_members(section, &mut own);
            lay_over(&mut members, &own);
        }
        members.shift_remove("like");
        members.insert("name".to_owned(), name.into());
        Profile::deserialize(Value::Object(members)).ok().map(Arc::new)
    }

    /// No profiles.
    pub fn none() -> Self {
        Self { tables: Table::new(), profiles: BTreeMap::new() }
    }

    /// These profiles with others on top. It needs the feature `toml`.
    ///
    /// # Errors
    /// [`ProfileError`] names the profile and what is wrong with it.
    #[cfg(feature = "toml")]
    pub fn merged_with(&self, text: &str) -> Result<Self, ProfileError> {
        let over: Table =
            toml::from_str(text).map_err(|error| ProfileError::Syntax(error.message().to_owned()))?;
        let mut tables = self.tables.clone();
        merge_members(&mut tables, &over);
        Self::of(tables)
    }

    fn of(tables: Table) -> Result<Self, ProfileError> {
        let mut profiles = BTreeMap::new();
        for name in tables.keys() {
            let invalid = |problem: String| ProfileError::Profile { name: name.clone(), problem };
            if name.is_empty() || name.contains('/') {
                return Err(invalid("a name is not empty and holds no slash".to_owned()));
            }
            let mut whole = whole(&tables, name, 0).map_err(invalid)?;
            whole.insert("name".to_owned(), Value::String(name.clone()));
            let profile =
                Profile::deserialize(Value::Object(whole)).map_err(|error| invalid(error.to_string()))?;
            profiles.insert(name.clone(), Arc::new(profile));
        }
        Ok(Self { tables, profiles })
    }

    /// The profile of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.profiles.get(name)
    }

    /// The profiles by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.profiles.values()
    }
}

/// The names of the bundled profiles.
fn names() -> impl Iterator<Item = &'static str> {
    let heads = BUNDLED_TEXT.lines().filter_map(|line| line.strip_prefix('[')?.split(['.', ']']).next());
    let mut known = BTreeSet::new();
    heads.filter(move |name| known.insert(*name))
}

/// Adds the members of a bundled profile, as they are written.
fn add_members(section: &str, members: &mut Table) {
    for (path, value) in table_lines(section) {
        insert_member(members, path, value);
    }
}

/// The lines of a bundled profile. A start looks through the whole file for them, many bytes at once.
fn section(name: &str) -> Option<&'static str> {
    let is_own = |at: &usize| {
        let head = BUNDLED_TEXT.get(*at..).and_then(|text| text.strip_prefix('[')?.strip_prefix(name));
        head.is_some_and(|rest| rest.starts_with(['.', ']']))
    };
    let mut heads = iter::once(0).chain(memmem::find_iter(BUNDLED_TEXT.as_bytes(), "\n[").map(|at| at + 1));
    let begin = heads.find(is_own)?;
    let end = heads.find(|at| !is_own(at)).unwrap_or(BUNDLED_TEXT.len());
    BUNDLED_TEXT.get(begin..end)
}

/// The name of the profile that one is like: its first member.
fn like(section: &str) -> Option<&str> {
    let (_, members) = section.split_once('\n')?;
    Some(members.strip_prefix("like = \"")?.split_once('"')?.0)
}

/// The entry with what it is like below it.
fn whole(tables: &Table, name: &str, depth: usize) -> Result<Table, String> {
    let Some(Value::Object(own)) = tables.get(name) else { return Err("it is not a table".to_owned()) };
    let mut own = own.clone();
    let base = match own.shift_remove("like") {
        None => return Ok(own),
        Some(Value::String(base)) => base,
        Some(_) => return Err("like is not the name of a profile".to_owned()),
    };
    if depth >= MAX_CHAIN || base == name {
        return Err(format!("it is like {base}, which comes back to it or goes on too long"));
    }
    if !tables.contains_key(&base) {
        return Err(format!("it is like {base}, which is not there"));
    }
    let mut whole = whole(tables, &base, depth + 1)?;
    lay_over(&mut whole, &own);
    Ok(whole)
}

/// Lays an entry over what it is like. Where it says its own address, the variables that move the other one, and those
/// that are sent there as headers, are not its own; nor are those of tokens where it says those of its keys.
fn lay_over(base: &mut Table, own: &Table) {
    if own.contains_key("base_url") {
        for of_address in ["base_url_variable", "addresses", "header_variables"] {
            base.shift_remove(of_address);
        }
    }
    let names_keys = own.get("key").is_some_and(|key| key.get("variables").is_some());
    if let Some(Value::Object(key)) = base.get_mut("key").filter(|_| names_keys) {
        key.shift_remove("token_variables");
    }
    merge_members(base, own);
}

impl Profile {
    /// OpenAI's own Responses: `openai/<model>`. (openai.md B)
    pub fn openai() -> Arc<Self> {
        Self::named("openai")
    }

    /// OpenAI's own Chat Completions: `openai-chat/<model>`. (openai.md A)
    pub fn openai_chat() -> Arc<Self> {
        Self::named("openai-chat")
    }

    /// A bundled profile; under a name that is not there, a server of which nothing is known and which has no address.
    pub(crate) fn named(name: &str) -> Arc<Self> {
        Profiles::bundled_alone(name).unwrap_or_else(|| Arc::new(Self::compatible(name, "")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_profiles_are_valid() {
        let profiles = Profiles::none().merged_with(BUNDLED_TEXT).unwrap();
        assert_eq!(&profiles, Profiles::bundled());
        assert!(profiles.get("openai-chat").is_some());
        for profile in profiles.iter() {
            assert!(
                profile.base_url.starts_with("http") || !profile.base_url_variable.is_empty(),
                "{}",
                profile.name
            );
            assert!(!profile.key.required || !profile.key.variables.is_empty(), "{}", profile.name);
        }
    }

    #[test]
    fn a_bundled_profile_that_is_read_alone_is_the_same() {
        let all = Profiles::none().merged_with(BUNDLED_TEXT).unwrap();
        for profile in all.iter() {
            assert_eq!(Profiles::read_alone(&profile.name).as_ref(), Some(profile));
        }
        assert_eq!(Profiles::read_alone("nobody"), None);
    }

    // A78
    #[test]
    fn a_profile_may_be_like_another() {
        let text = "[a]\nbase_url = 'http://a'\nkey.header = 'x-key'\n[b]\nlike = 'a'\nbase_url = 'http://b'\nkey.required = true\n[c]\nlike = 'b'";
        let profiles = Profiles::none().merged_with(text).unwrap();
        let c = profiles.get("c").unwrap();
        assert_eq!((c.name.as_str(), c.base_url.as_str(), c.key.header.as_str()), ("c", "http://b", "x-key"));
        let changed = profiles.merged_with("[a]\nkey.header = 'y-key'").unwrap();
        assert_eq!(changed.get("c").unwrap().key.header, "y-key");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let problem = |text: &str| Profiles::none().merged_with(text).unwrap_err().to_string();
        assert!(problem("[a").starts_with("the profiles are not valid TOML"));
        assert!(
            problem("[a]\nlike = 'b'").contains("profile a is not valid: it is like b, which is not there")
        );
        assert!(problem("[a]\nlike = 'b'\n[b]\nlike = 'a'").contains("comes back"));
        assert!(problem("[a]\nlike = 'a'").contains("comes back"));
        assert!(problem("[a]\nsystem_rolle = 'system'").contains("unknown field `system_rolle`"));
        assert!(problem("['a/b']\n").contains("slash"));
        assert!(problem("a = 1").contains("not a table"));
    }
}
