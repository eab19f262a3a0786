//! The addresses of files that agents name.

use attache_transport::{Origin, percent_encoded};

use crate::address::{has_user, is_below};
use crate::config::Config;

/// The scheme of files that an agent names itself: `a2a-file://ALIAS/ADDRESS`.
pub(crate) const SCHEME: &str = "a2a-file://";

/// True for a file that an agent may be asked for with what it was given: at its address or below, or at an origin that is
/// trusted like it. Another place of the same host may be somebody else's.
pub(crate) fn is_file_of(config: &Config, url: &str) -> bool {
    let trusted =
        |known: &String| Origin::parse(known).is_some_and(|known| Origin::parse(url) == Some(known));
    !has_user(url) && (is_below(&config.url, url) || config.origins.iter().any(trusted))
}

/// The address of a document for a file of an agent's own.
pub(crate) fn own_address(config: &Config, url: &str) -> Option<String> {
    let step = |text: &str| percent_encoded(text.as_bytes());
    is_file_of(config, url).then(|| format!("{SCHEME}{}/{}", step(&config.alias), step(url)))
}
