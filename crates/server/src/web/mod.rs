//! The chat as files: a page, a script, words. They are built from `crates/server/web` and embedded as they are.

mod files;

use std::sync::Arc;

use attache_core::hash::hex;
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::fault::Fault;
use files::{FILES, File, PAGE};

/// The things that the page may load: its own script, what the script makes, documents that it has fetched.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// Marks an answer that some page may hold in a frame, and whose policy says which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framed;

/// The page of the chat, for a server whose routes stand under `base`, which pages of the origins `frames` may hold.
pub(crate) fn page<S: Clone + Send + Sync + 'static>(base: &str, frames: &[String]) -> MethodRouter<S> {
    let page = PAGE.replace("{base}", &escaped(base));
    let tag = tag(page.as_bytes());
    let page = Bytes::from(page);
    let frames: Vec<&str> = frames.iter().map(String::as_str).filter(|frame| is_origin(frame)).collect();
    let is_framed = !frames.is_empty();
    let frames = if is_framed { frames.join(" ") } else { "'none'".to_owned() };
    // The signs of origins make a header.
    let policy = HeaderValue::try_from(format!("{POLICY}; frame-ancestors {frames}"));
    let policy = policy.unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    get(move |headers: HeaderMap| async move {
        let mut response = file(&headers, &tag, "text/html; charset=utf-8", page, None);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        if is_framed {
            response.extensions_mut().insert(Framed);
        }
        response
    })
}

/// True for the origin of a page, which says nothing else within a policy. (RFC 6454, section 6.2)
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_sign = |sign: u8| sign.is_ascii_alphanumeric() || matches!(sign, b'.' | b'-' | b':' | b'[' | b']');
    host.is_some_and(|host| !host.is_empty() && host.bytes().all(is_sign))
}

/// The routes of the chat, whose page pages of the origins `frames` may hold.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>(base: &str, frames: &[String]) -> Router<S> {
    let tags: Arc<[HeaderValue]> = FILES.iter().map(|file| self::tag(file.bytes)).collect();
    let router = Router::new().route("/", page(base, frames));
    let router = FILES.iter().enumerate().filter(|(_, file)| !file.name.contains('/')).fold(
        router,
        |router, (at, found)| {
            let tags = Arc::clone(&tags);
            let answer = get(move |headers: HeaderMap| async move { open(&headers, at, found, &tags) });
            router.route(&format!("/{}", found.name), answer)
        },
    );
    let words = get(move |headers: HeaderMap, Path(name): Path<String>| async move {
        let name = format!("words/{name}");
        match FILES.iter().enumerate().find(|(_, file)| file.name == name) {
            Some((at, found)) => open(&headers, at, found, &tags),
            None => Fault::not_found("route").into_response(),
        }
    });
    router.route("/words/{name}", words)
}

/// A file that pages of any origin may load: it holds nothing of anybody.
fn open(headers: &HeaderMap, at: usize, found: &'static File, tags: &[HeaderValue]) -> Response {
    let Some(tag) = tags.get(at) else { return Fault::not_found("route").into_response() };
    let bytes = Bytes::from_static(found.bytes);
    let response = file(headers, tag, found.kind, bytes, found.packed);
    let response = with(response, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    with(response, header::HeaderName::from_static("cross-origin-resource-policy"), "cross-origin")
}

fn file(
    headers: &HeaderMap,
    tag: &HeaderValue,
    kind: &'static str,
    bytes: Bytes,
    packed: Option<&'static [u8]>,
) -> Response {
    let given = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let is_known = |tags: &str| {
        tags.split(',').any(|known| known.trim().trim_start_matches("W/").as_bytes() == tag.as_bytes())
    };
    let mut response = match given(header::IF_NONE_MATCH).is_some_and(is_known) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => {
            let unpacks = given(header::ACCEPT_ENCODING).is_some_and(takes_gzip);
            match packed.filter(|_| unpacks) {
                Some(packed) => {
                    let response = Response::new(Body::from(Bytes::from_static(packed)));
                    with(response, header::CONTENT_ENCODING, "gzip")
                }
                None => Response::new(Body::from(bytes)),
            }
        }
    };
    response.headers_mut().insert(header::ETAG, tag.clone());
    let response = with(response, header::CONTENT_TYPE, kind);
    let response = with(response, header::VARY, "accept-encoding");
    // The names stay the same from version to version: a browser asks whether it has the newest.
    with(response, header::CACHE_CONTROL, "no-cache")
}

/// True if a client unpacks gzip. (RFC 9110, section 12.5.3)
fn takes_gzip(codings: &str) -> bool {
    codings.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn with(mut response: Response, name: header::HeaderName, value: &'static str) -> Response {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

/// The tag of a content: a part of its hash.
fn tag(bytes: &[u8]) -> HeaderValue {
    let hash = hex(Sha256::digest(bytes).iter().take(12));
    // Digits and letters make a header.
    HeaderValue::try_from(format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// A path in an attribute of HTML.
fn escaped(path: &str) -> String {
    path.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path as FilePath, PathBuf};

    use super::*;

    fn hash(bytes: &[u8]) -> String {
        hex(&Sha256::digest(bytes))
    }

    fn folder(name: &str) -> PathBuf {
        FilePath::new(env!("CARGO_MANIFEST_DIR")).join("web").join(name)
    }

    /// Every file under a folder by its path, with `/`.
    fn all(folder: &FilePath, prefix: &str, into: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => all(&entry.path(), &format!("{name}/"), into),
                false => drop(into.insert(name, fs::read(entry.path()).unwrap())),
            }
        }
    }

    fn under(name: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        all(&folder(name), "", &mut files);
        files
    }

    fn manifest() -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder("dist/manifest.json")).unwrap()).unwrap()
    }

    // If this fails: `cargo xtask web`.
    #[test]
    fn the_files_are_what_these_sources_build() {
        let mut said = String::new();
        for name in ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"] {
            said += &format!("{name}\n{}\n", hash(&fs::read(folder(name)).unwrap()));
        }
        let sources = walked(&folder("src"), "src/");
        for (name, bytes) in sources {
            said += &format!("{name}\n{}\n", hash(&bytes));
        }
        assert_eq!(manifest()["sources"], hash(said.as_bytes()));
    }

    /// Files in the order of the build: folders by their names among the files.
    fn walked(folder: &FilePath, prefix: &str) -> Vec<(String, Vec<u8>)> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let mut files = Vec::new();
        for name in names {
            let path = folder.join(&name);
            match path.is_dir() {
                true => files.extend(walked(&path, &format!("{prefix}{name}/"))),
                false => files.push((format!("{prefix}{name}"), fs::read(path).unwrap())),
            }
        }
        files
    }

    #[test]
    fn every_file_that_is_built_is_embedded() {
        let manifest = manifest();
        let hashes = manifest["files"].as_object().unwrap();
        let mut built = under("dist");
        built.remove("manifest.json");
        built.retain(|name, _| !name.ends_with(".gz"));
        assert_eq!(built.keys().collect::<Vec<_>>(), hashes.keys().collect::<Vec<_>>());
        for (name, bytes) in &built {
            assert_eq!(hashes[name], hash(bytes), "{name}");
        }
        built.remove("index.html");
        let mut embedded: Vec<_> = FILES.iter().map(|file| file.name).collect();
        embedded.sort_unstable();
        assert_eq!(embedded, built.keys().collect::<Vec<_>>());
        for file in FILES {
            assert_eq!(file.bytes, built[file.name], "{}", file.name);
        }
    }

    #[test]
    fn gzip_is_for_those_who_take_it() {
        for (codings, takes) in [
            ("gzip, br", true),
            ("br;q=1, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("br", false),
            ("", false),
        ] {
            assert_eq!(takes_gzip(codings), takes, "{codings}");
        }
    }
}
