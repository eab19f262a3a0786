//! The environment of somebody else's machine: proxies that are dead, keys that are wrong, a configuration that is
//! broken, no network. A suite that is green here depends on none of them.

use std::fs;

use crate::shell::{Failure, root, target};

/// Nobody listens at the port "discard".
const DEAD: &str = "http://127.0.0.1:9";

/// Keys that providers with an API of their own read.
const KEYS: [&str; 9] = [
    "ANTHROPIC_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "COHERE_API_KEY",
    "CO_API_KEY",
    "GOOGLE_ACCESS_TOKEN",
    "GOOGLE_API_KEY",
];

/// The file that names the variables of OpenAI and compatible servers.
const PROFILES: &str = "crates/providers/openai/src/profile/bundled.toml";

/// Addresses.
const ADDRESSES: [&str; 8] = [
    "ANTHROPIC_BASE_URL",
    "GOOGLE_GEMINI_BASE_URL",
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

/// The variables of that machine.
pub(crate) fn hostile() -> Result<Vec<(String, String)>, Failure> {
    let broken = target().join("broken.toml");
    fs::create_dir_all(target())
        .and_then(|()| fs::write(&broken, "this = is no configuration ["))
        .map_err(|error| format!("{} cannot be written: {error}", broken.display()))?;
    let broken = broken.display().to_string();
    let profiles = root().join(PROFILES);
    let profiles = fs::read_to_string(&profiles)
        .map_err(|error| format!("{} cannot be read: {error}", profiles.display()))?;
    let words = || profiles.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    let keys = words().filter(|word| word.ends_with("_KEY") || word.ends_with("_TOKEN"));
    let urls = words().filter(|word| ["_URL", "_HOST", "_ENDPOINT"].iter().any(|end| word.ends_with(end)));
    let keys = keys.chain(KEYS).map(|key| (key, "a-key-of-nobody".to_owned()));
    let addresses = urls.chain(ADDRESSES).map(|address| (address, DEAD.to_owned()));
    let others = [
        ("no_proxy", String::new()),
        ("NO_PROXY", String::new()),
        ("ATTACHE_CONFIG", broken.clone()),
        ("AWS_CONFIG_FILE", broken.clone()),
        ("AWS_SHARED_CREDENTIALS_FILE", broken.clone()),
        ("AWS_PROFILE", "nobody".to_owned()),
        ("GOOGLE_APPLICATION_CREDENTIALS", broken),
        ("COLUMNS", "17".to_owned()),
        ("CARGO_NET_OFFLINE", "true".to_owned()),
    ];
    let all = keys.chain(addresses).chain(others);
    Ok(all.map(|(name, value)| (name.to_owned(), value)).collect())
}
