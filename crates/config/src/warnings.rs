//! Probable mistakes of a configuration that may be used as it is.

use std::path::{Path, PathBuf};

use attache_core::MediaType;
use attache_core::near::near;
use serde_json::{Map, Value};

use crate::config::Config;
use crate::mcp_servers::{Reach, Server};
use crate::problem::{Problem, Problems, meant};
use crate::read::Read;

/// The types before the slash, of IANA's registry and of those in use beside it.
const TYPES: [&str; 12] = [
    "application",
    "audio",
    "chemical",
    "example",
    "font",
    "haptics",
    "image",
    "message",
    "model",
    "multipart",
    "text",
    "video",
];

impl Config {
    /// Probable mistakes, with which the configuration may be used all the same: folders and programs that are not there
    /// yet, approvals for servers that no file names or that another list overrides, and media types that no document
    /// has. It looks at the file system.
    pub fn warnings(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        for read in &self.files {
            for (at, written) in read.sections.tools.files.iter().enumerate() {
                let place = read.place(written);
                if !place.exists() {
                    let message = format!("names {}, which is not there", place.display());
                    let hint = "create it, or check the path".to_owned();
                    found.push(read.problem(&format!("tools.files[{at}]"), &message, Some(hint)));
                }
            }
            self.approved(read, &mut found);
            for (family, row) in &read.sections.capabilities {
                media(read, &format!("capabilities.{family}"), row, &mut found);
            }
        }
        for (name, server) in &self.servers {
            if let Some((member, message, hint)) = unstartable(server) {
                let own = self.files.iter().rev().find(|read| read.sections.mcp.servers.contains_key(name));
                found.push(match own {
                    Some(read) => read.problem(&format!("mcp.{name}.{member}"), &message, Some(hint)),
                    None => Problem::of_file(&server.origin, format!("{name}.{member} {message}; {hint}")),
                });
            }
        }
        Problems::of(found).into_vec()
    }

    /// Approvals that never count.
    fn approved(&self, read: &Read, found: &mut Vec<Problem>) {
        let section = &read.sections.approvals;
        let lists = [("allow", &section.allow), ("ask", &section.ask), ("deny", &section.deny)];
        let own = self.files.iter().flat_map(|read| read.sections.mcp.servers.keys());
        let unset = self.files.iter().flat_map(|read| &read.unset).map(|unset| &unset.name);
        let known: Vec<&str> = own.chain(self.servers.keys()).chain(unset).map(String::as_str).collect();
        for (nth, (list, tools)) in lists.iter().enumerate() {
            for (at, tool) in tools.iter().enumerate() {
                let path = format!("approvals.{list}[{at}]");
                let server = tool.strip_prefix("mcp_").and_then(|rest| rest.split_once("___"));
                if let Some((server, _)) = server.filter(|(server, _)| !server.contains('*'))
                    && !known.contains(&server)
                {
                    let message = format!("is about {tool:?}, but there is no MCP server {server:?}");
                    found.push(read.problem(&path, &message, meant(server, known.iter().copied())));
                }
                let later = lists.iter().skip(nth + 1).rfind(|(_, others)| others.contains(tool));
                if let Some((winner, _)) = later {
                    let message = format!("has no effect: {tool:?} is in `{winner}` too, which counts more");
                    found.push(read.problem(&path, &message, Some("remove it from one of them".to_owned())));
                }
            }
        }
    }
}

/// The member, problem and hint of a server whose program cannot be started.
fn unstartable(server: &Server) -> Option<(&'static str, String, String)> {
    let Reach::Command { program, folder, .. } = &server.reach else { return None };
    if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
        let message = format!("names {}, which is no folder", folder.display());
        return Some(("folder", message, "create it, or check the path".to_owned()));
    }
    let is_path = program.components().count() > 1;
    let is_there = match is_path {
        // It is looked for in the folder of the server.
        true => program.is_relative() && folder.is_some() || is_program(program),
        false => {
            let own = server.section.env.get("PATH").map(Into::into);
            let folders = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
            std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
        }
    };
    if is_there {
        return None;
    }
    let place = if is_path { "" } else { " in PATH" };
    let message = format!("starts {}, which is not a program{place}", server.shown);
    Some(("command", message, "install it, or check its name".to_owned()))
}

/// True for the file of a program.
fn is_program(path: &Path) -> bool {
    let is_file = |path: &Path| match path.metadata() {
        #[cfg(unix)]
        Ok(data) => {
            use std::os::unix::fs::PermissionsExt;
            data.is_file() && data.permissions().mode() & 0o111 != 0
        }
        #[cfg(not(unix))]
        Ok(data) => data.is_file(),
        Err(_) => false,
    };
    let with = |ending: &str| {
        let mut whole = path.as_os_str().to_owned();
        whole.push(ending);
        PathBuf::from(whole)
    };
    is_file(path) || cfg!(windows) && [".exe", ".com", ".cmd", ".bat"].iter().any(|end| is_file(&with(end)))
}

/// Media types of rows that no document has.
fn media(read: &Read, path: &str, row: &Map<String, Value>, found: &mut Vec<Problem>) {
    for (name, value) in row {
        let path = format!("{path}.{name}");
        match (name.as_str(), value) {
            (_, Value::Object(inner)) => media(read, &path, inner, found),
            ("media" | "references" | "citations" | "urls" | "url_only", Value::Array(types)) => {
                for (at, written) in types.iter().enumerate() {
                    let Some(written) = written.as_str() else { continue };
                    if let Some((problem, hint)) =
                        no_media(written.strip_prefix(['+', '-']).unwrap_or(written))
                    {
                        let message = format!("is {written:?}, which {problem}");
                        found.push(read.problem(&format!("{path}[{at}]"), &message, Some(hint)));
                    }
                }
            }
            _ => {}
        }
    }
}

/// The problem of a media type, and a hint.
fn no_media(written: &str) -> Option<(&'static str, String)> {
    if written == "text" {
        return None;
    }
    let Some(pattern) = MediaType::pattern(written) else {
        let hint = match near(written, ["text"]).first() {
            Some(_) => "did you mean `text`?",
            None => "such as `application/pdf`, `image/*`, or `text` for everything that can be read as text",
        };
        return Some(("is not a media type", hint.to_owned()));
    };
    if pattern != written {
        return Some(("no document has in this form", format!("write `{pattern}`")));
    }
    let (kind, subtype) = written.split_once('/')?;
    if kind == "*" || kind.starts_with("x-") || TYPES.contains(&kind) {
        return None;
    }
    let hint = match near(kind, TYPES).first() {
        Some(kind) => format!("did you mean `{kind}/{subtype}`?"),
        None => format!("the types before the slash are {}", TYPES.join(", ")),
    };
    Some(("is no known media type", hint))
}
