//! MCP servers, as a configuration or another client's file says them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::checked::{Masks, Unset};
use crate::import::imported;
use crate::problem::Problem;
use crate::read::Read;
use crate::sections::{CommandLine, McpServerSection};
use crate::variables::Lookup;

/// A server with everything that it is started or reached with.
#[derive(Clone)]
#[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "it is named and never reached"))]
pub(crate) struct Server {
    pub(crate) origin: PathBuf,
    pub(crate) reach: Reach,
    pub(crate) section: McpServerSection,
    /// The folders in which it may work.
    pub(crate) roots: Vec<PathBuf>,
    /// Its command or address, for people: without arguments, parameters and values of variables, which may be secret.
    pub(crate) shown: String,
}

/// The way to a server.
#[derive(Clone)]
#[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "it is named and never reached"))]
pub(crate) enum Reach {
    Command { program: PathBuf, args: Vec<String>, folder: Option<PathBuf> },
    Url(String),
}

/// True for the name of a server: it is a part of the names of tools, between `_` and `___`.
pub(crate) fn is_name(name: &str) -> bool {
    let is_apart = !name.is_empty() && !name.contains("___") && !name.ends_with('_');
    is_apart && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// True for an address over HTTP.
pub(crate) fn is_address(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
}

/// True for the name of a header.
pub(crate) fn is_header(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// An address without user and parameters.
pub(crate) fn plain(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://").map(|(scheme, rest)| (scheme, rest.split_once('/').unwrap_or((rest, "")))) {
        Some((scheme, (host, path))) => {
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{scheme}://{host}/{path}").trim_end_matches('/').to_owned()
        }
        None => plain.to_owned(),
    }
}

/// The servers of a file, and the words on them.
#[derive(Default)]
pub(crate) struct OfFile {
    pub(crate) servers: BTreeMap<String, Server>,
    /// Words about those that cannot be taken over.
    pub(crate) notes: Vec<Problem>,
    /// Those of imported files that lack variables or files.
    pub(crate) unset: Vec<Unset>,
}

/// The servers of a file.
pub(crate) fn of_file(read: &Read, lookup: Lookup<'_>, problems: &mut Vec<Problem>) -> OfFile {
    let OfFile { mut servers, mut notes, mut unset } = OfFile::default();
    let mcp = &read.sections.mcp;
    for (at, _) in mcp.import.iter().enumerate() {
        let path = format!("mcp.import[{at}]");
        let Some(named) = read.file.named(&path) else { continue };
        match &named.text {
            Ok(text) => {
                let (found, said) = imported(&named.place, text, lookup);
                for (name, section) in found {
                    let mut told = |member: &str, message: &str, hint: Option<String>| {
                        let member = if member.is_empty() { String::new() } else { format!(".{member}") };
                        let message = said.masks.apply(message);
                        let message = format!("{}: {name}{member} {message}", named.place.display());
                        problems.push(read.problem(
                            &path,
                            &message,
                            hint.map(|hint| said.masks.apply(&hint)),
                        ));
                    };
                    let folder = named.place.parent().map(PathBuf::from).unwrap_or_default();
                    let place = |written: &str| folder.join(written);
                    unset.retain(|unset: &Unset| unset.name != name);
                    let server = server(&name, &section, &named.place, &said.masks, &place, &mut told);
                    servers.extend(server.map(|server| (name, server)));
                }
                for unset in &said.unset {
                    servers.remove(&unset.name);
                }
                unset.extend(said.unset);
                notes.extend(said.notes);
                problems.extend(said.problems);
            }
            Err(problem) => {
                let message = format!("names {}, which cannot be read: {problem}", named.place.display());
                problems.push(read.problem(&path, &message, Some("check the path".to_owned())));
            }
        }
    }
    for (name, section) in &mcp.servers {
        let mut told = |member: &str, message: &str, hint: Option<String>| {
            let path = if member.is_empty() { format!("mcp.{name}") } else { format!("mcp.{name}.{member}") };
            problems.push(read.problem(&path, message, hint));
        };
        unset.retain(|unset| unset.name != *name);
        let place = |written: &str| read.place(written);
        let server = server(name, section, read.file.path(), &read.masks, &place, &mut told);
        match server {
            Some(server) => servers.insert(name.clone(), server),
            // One that is switched off here is not taken from an import either.
            None => servers.remove(name),
        };
    }
    OfFile { servers, notes, unset }
}

/// A server of its section; `None` if it is switched off, or wrong.
fn server(
    name: &str,
    section: &McpServerSection,
    origin: &std::path::Path,
    masks: &Masks,
    place: &dyn Fn(&str) -> PathBuf,
    told: &mut dyn FnMut(&str, &str, Option<String>),
) -> Option<Server> {
    if section.enabled == Some(false) {
        return None;
    }
    if !is_name(name) {
        told(
            "",
            &format!("{name:?} is not a valid server name"),
            Some("use letters, digits, - and _".to_owned()),
        );
        return None;
    }
    let line = match &section.command {
        Some(CommandLine::Program(program)) => Some(vec![program.clone()]),
        Some(CommandLine::Line(line)) => Some(line.clone()),
        None => None,
    };
    let reach = match (line, section.url.as_deref().filter(|url| !url.is_empty())) {
        (Some(_), Some(_)) => {
            told("url", "is set together with `command`", Some("a server has only one of them".to_owned()));
            return None;
        }
        (None, None) => {
            told(
                "",
                "has neither `command` nor `url`",
                Some("set the program to start, or the URL".to_owned()),
            );
            return None;
        }
        (Some(line), None) => {
            let mut line = line.into_iter();
            let Some(program) = line.next().filter(|program| !program.trim().is_empty()) else {
                told("command", "contains no program", None);
                return None;
            };
            if program.contains(' ') && section.args.is_empty() && !place(&program).is_file() {
                // A key may be among the arguments.
                let first = program.split_whitespace().next().unwrap_or_default();
                let hint = format!("write arguments as separate items: command = [{first:?}, …]");
                told("command", "is not a program, since it contains spaces", Some(hint));
                return None;
            }
            for member in [
                ("bearer", section.bearer.is_some()),
                ("headers", !section.headers.is_empty()),
                ("public_only", section.public_only),
            ] {
                if member.1 {
                    told(member.0, "requires `url`, but this server has a `command`", None);
                }
            }
            let program = if program.contains('/') { place(&program) } else { PathBuf::from(program) };
            let folder = section.folder.as_deref().map(place);
            Reach::Command { program, args: line.chain(section.args.iter().cloned()).collect(), folder }
        }
        (None, Some(url)) => {
            if !is_address(url) {
                told("url", &format!("must begin with https:// or http://, not {:?}", plain(url)), None);
            }
            for member in [
                ("args", !section.args.is_empty()),
                ("env", !section.env.is_empty()),
                ("inherit", !section.inherit.is_empty()),
                ("folder", section.folder.is_some()),
            ] {
                if member.1 {
                    told(member.0, "requires `command`, but this server has a `url`", None);
                }
            }
            for header in section.headers.keys().filter(|header| !is_header(header)) {
                told(&format!("headers.{header}"), "is not a valid header name", None);
            }
            Reach::Url(url.to_owned())
        }
    };
    let roots = section.roots.iter().map(|root| place(root)).collect();
    let shown = masks.apply(&match &reach {
        Reach::Command { program, .. } => program.display().to_string(),
        Reach::Url(url) => plain(url),
    });
    Some(Server { origin: origin.to_owned(), reach, section: section.clone(), roots, shown })
}
