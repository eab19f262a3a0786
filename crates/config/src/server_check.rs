//! Mistakes in the section of a server: its address, the headers of pages, the types of uploads, and the issuer of its
//! tokens.

use std::net::IpAddr;

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
    if let Some(host) = section.host.as_deref().filter(|host| host.parse::<IpAddr>().is_err()) {
        let hint = "such as `127.0.0.1`, or `0.0.0.0` for all addresses of the machine";
        told("server.host", format!("must be an IP address, not {host:?}"), hint);
    }
    if let Some(url) = section.public_url.as_deref().filter(|url| !is_address(url)) {
        let message = format!("must begin with https:// or http://, not {url:?}");
        told("server.public_url", message, "set the URL that clients use");
    }
    if let Some(path) = section.base_path.as_deref().filter(|path| !is_path(path)) {
        let message = format!("is not a plain path: {path:?}");
        told("server.base_path", message, "letters, digits and `-._~` between slashes, such as `/agents`");
    }
    let pages = [("server.origins", &section.origins, ""), ("server.frames", &section.frames, "http")];
    for (path, origins, scheme) in pages {
        let is_wrong = |origin: &&String| !is_origin(origin) || !origin.starts_with(scheme);
        for origin in origins.iter().filter(is_wrong) {
            let message =
                format!("contains {origin:?}, which is not an origin in the form that browsers send");
            told(
                path,
                message,
                "a scheme and a host, with a port if it is not the usual one: `https://app.example.org`",
            );
        }
    }
    for name in section.headers.iter().filter(|name| !is_header(name)) {
        told(
            "server.headers",
            format!("contains {name:?}, which is not a valid header name"),
            "such as `x-tenant`",
        );
    }
    for name in section.limits.upload_types.iter().filter(|name| MediaType::pattern(name).is_none()) {
        let message = format!("contains {name:?}, which is not a media type");
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
        let hint = "a token for another server would be accepted; set the audience of this one";
        told("server.jwt.audience", "contains no audience".to_owned(), hint);
    }
    if jwt.scope_prefix.is_some() && jwt.scopes.is_none() {
        let hint = "set the claim with the scopes as `scopes`";
        told("server.jwt.scope_prefix", "requires `scopes`".to_owned(), hint);
    }
    for unknown in jwt.algorithms.iter().filter(|name| !ALGORITHMS.contains(&name.as_str())) {
        let hint = format!("supported: {}", ALGORITHMS.join(", "));
        told("server.jwt.algorithms", format!("contains {unknown:?}, which is not supported"), &hint);
    }
}

/// True for a path that stands for itself alone.
fn is_path(path: &str) -> bool {
    let is_plain = |sign: u8| sign.is_ascii_alphanumeric() || b"-._~".contains(&sign);
    let path = path.trim_matches('/');
    path.is_empty() || path.split('/').all(|step| !step.is_empty() && step.bytes().all(is_plain))
}

/// True for an origin as browsers write it: in small letters, without the usual port and without a path. (RFC 6454, section
/// 6.2)
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let is_word = |text: &str, signs: &[u8]| {
        let is_sign = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit() || signs.contains(&sign);
        !text.is_empty() && text.bytes().all(is_sign)
    };
    let usual = [("https", ":443"), ("http", ":80")];
    is_word(scheme, b"+-.")
        && is_word(host, b".-:[]_")
        && !usual.iter().any(|(known, port)| scheme == *known && host.ends_with(port))
}

/// Says that headers are allowed to pages where no file names one that may ask.
pub(crate) fn check_origins(files: &[Read], problems: &mut Vec<Problem>) {
    if files.iter().any(|read| !read.sections.server.origins.is_empty()) {
        return;
    }
    if let Some(read) = files.iter().rfind(|read| !read.sections.server.headers.is_empty()) {
        let hint = "set the pages that may send them as `origins`".to_owned();
        problems.push(read.problem("server.headers", "requires `origins`", Some(hint)));
    }
}
