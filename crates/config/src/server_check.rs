//! Mistakes in the section of a server: its address, the headers of pages, the types of uploads, and the issuer of its
//! tokens.

use attache_core::MediaType;

use crate::mcp_servers::{is_address, is_header};
use crate::problem::Problem;
use crate::read::Read;
use crate::sections::Audience;

/// The algorithms that a server can check, by RFC 7518 and RFC 8037.
const ALGORITHMS: [&str; 9] =
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

/// Says what is wrong with the section of a file.
pub(crate) fn check(read: &Read, problems: &mut Vec<Problem>) {
    let section = &read.sections.server;
    let mut told = |path: &str, message: String, hint: &str| {
        problems.push(read.problem(path, &message, Some(hint.to_owned())));
    };
    if let Some(url) = section.public_url.as_deref().filter(|url| !is_address(url)) {
        let message = format!("must begin with https:// or http://, not {url:?}");
        told("server.public_url", message, "name the address that clients have");
    }
    for name in section.headers.iter().filter(|name| !is_header(name)) {
        told("server.headers", format!("names {name:?}, which is no name of a header"), "such as `x-tenant`");
    }
    for name in section.limits.upload_types.iter().filter(|name| MediaType::pattern(name).is_none()) {
        let message = format!("names {name:?}, which is no media type");
        told("server.limits.upload_types", message, "such as `application/pdf`, `image/*` or `*/*`");
    }
    let Some(jwt) = &section.jwt else { return };
    for (path, url) in [("server.jwt.issuer", Some(&jwt.issuer)), ("server.jwt.jwks", jwt.jwks.as_ref())] {
        if let Some(url) = url.filter(|url| !is_address(url)) {
            told(path, format!("must begin with https:// or http://, not {url:?}"), "name an address");
        }
    }
    let none = match &jwt.audience {
        Audience::One(one) => one.is_empty(),
        Audience::Several(several) => several.is_empty() || several.iter().any(String::is_empty),
    };
    if none {
        let hint = "a token for another server would count; name this one";
        told("server.jwt.audience", "names no audience".to_owned(), hint);
    }
    if jwt.scope_prefix.is_some() && jwt.scopes.is_none() {
        let hint = "`scopes` names the claim with the scopes";
        told("server.jwt.scope_prefix", "stands without `scopes`".to_owned(), hint);
    }
    for unknown in jwt.algorithms.iter().filter(|name| !ALGORITHMS.contains(&name.as_str())) {
        let hint = format!("known are {}", ALGORITHMS.join(", "));
        told("server.jwt.algorithms", format!("names {unknown:?}, which no server here checks"), &hint);
    }
}

/// Says that headers are allowed to pages where no file names one that may ask.
pub(crate) fn check_origins(files: &[Read], problems: &mut Vec<Problem>) {
    if files.iter().any(|read| !read.sections.server.origins.is_empty()) {
        return;
    }
    if let Some(read) = files.iter().rfind(|read| !read.sections.server.headers.is_empty()) {
        let hint = "`origins` names the pages that may send them".to_owned();
        problems.push(read.problem("server.headers", "stands without `origins`", Some(hint)));
    }
}
