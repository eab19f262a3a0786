//! Recording what a provider says, and replaying it.

mod diff;
mod player;
mod recorder;

pub use self::player::Player;
pub use self::recorder::Recorder;

use attache_transport::{Redactor, RequestParts, shown_url};

/// The address of a request as recordings have it: without scheme and host, which may tell whose account it is, and
/// without the values of its query.
fn address(request: &RequestParts, clean: impl Fn(&str) -> String) -> String {
    let url = shown_url(&request.url);
    let rest = url.split_once("://").map_or(&*url, |(_, rest)| rest);
    clean(rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"))
}

/// `text` without what any of the redactors removes.
fn cleaned<'r>(text: &str, redactors: impl IntoIterator<Item = &'r Redactor>) -> String {
    redactors.into_iter().fold(text.to_owned(), |text, redactor| redactor.redact(&text).into_owned())
}
