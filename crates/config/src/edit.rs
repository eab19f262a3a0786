//! Adds servers to a file and removes them. Everything else stays as written, including comments.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use crate::checked::is_secret_name;

/// A server to add.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NewServer {
    /// The program and its arguments; empty for a server over HTTP.
    pub command: Vec<String>,
    /// The URL of a server over HTTP.
    pub url: Option<String>,
    /// Environment variables of the program, such as `GITHUB_TOKEN` with `${GITHUB_TOKEN}`.
    pub env: Vec<(String, String)>,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
    /// The token of each request, such as `${SEARCH_TOKEN}`.
    pub bearer: Option<String>,
}

impl NewServer {
    /// Creates a server from a program and its arguments.
    pub fn command(line: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { command: line.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Creates a server from a URL.
    pub fn url(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::default() }
    }
}

/// Adds a server to the text of a configuration.
///
/// # Errors
/// The text is not TOML or already has a server of that name, or a secret is written into the arguments or the URL
/// instead of a variable.
pub fn with_mcp_server(text: &str, name: &str, server: &NewServer) -> Result<String, String> {
    if let Some((of, variable)) = written_secret(server) {
        return Err(format!(
            "the value of {of} is a secret, which is not written into the file: set the variable {variable} to it, and \
             write '${{{variable}}}' in its place"
        ));
    }
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mcp = document.entry("mcp").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let mcp = mcp.as_table_like_mut().ok_or("`mcp` is not a table")?;
    if mcp.contains_key(name) {
        return Err(format!(
            "there is an MCP server {name} already; remove it with `attache mcp remove {name}`"
        ));
    }
    let mut table = Table::new();
    let mut words = server.command.iter();
    if let Some(program) = words.next() {
        table.insert("command", toml_edit::value(program.as_str()));
        let args: Array = words.map(String::as_str).collect();
        if !args.is_empty() {
            table.insert("args", toml_edit::value(args));
        }
    }
    if let Some(url) = &server.url {
        table.insert("url", toml_edit::value(url.as_str()));
    }
    if let Some(bearer) = &server.bearer {
        table.insert("bearer", toml_edit::value(bearer.as_str()));
    }
    for (member, pairs) in [("env", &server.env), ("headers", &server.headers)] {
        if !pairs.is_empty() {
            let pairs = pairs.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str())));
            table.insert(member, toml_edit::value(pairs.collect::<InlineTable>()));
        }
    }
    mcp.insert(name, Item::Table(table));
    Ok(document.to_string())
}

/// Removes a server from the text of a configuration; returns `None` if there is none of that name.
///
/// # Errors
/// The text is not TOML.
pub fn without_mcp_server(text: &str, name: &str) -> Result<Option<String>, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mcp = document.get_mut("mcp").and_then(Item::as_table_like_mut);
    let taken = mcp.and_then(|mcp| mcp.remove(name).filter(Item::is_table_like));
    Ok(taken.map(|_| document.to_string()))
}

/// The name of a secret that stands among the arguments or in the address, and of a variable for it.
fn written_secret(server: &NewServer) -> Option<(String, String)> {
    let variable = |name: &str| -> String {
        let name = name.trim_start_matches('-');
        let sign = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        name.chars().map(sign).collect()
    };
    let named = |name: &str| (format!("`{name}`"), variable(name));
    let mut before = "";
    for word in &server.command {
        let is_option = before.starts_with('-') && !before.contains('=');
        if is_option && is_secret_name(before.trim_start_matches('-')) && !is_variable(word) {
            return Some(named(before));
        }
        // An option with its value, or a header.
        if let Some((name, value)) = word.split_once(['=', ':'])
            && is_secret_name(name.trim_start_matches('-'))
            && !is_variable(value)
        {
            return Some(named(name));
        }
        if let Some(found) = secret_of_address(word) {
            return Some(found);
        }
        before = word;
    }
    server.url.as_deref().and_then(secret_of_address)
}

/// The password of an address, or a value of its query that is called a secret.
fn secret_of_address(address: &str) -> Option<(String, String)> {
    let (_, rest) = address.split_once("://")?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split(['/', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    if let Some((_, password)) = user.and_then(|user| user.split_once(':'))
        && !is_variable(password)
    {
        return Some(("the password in the address".to_owned(), "PASSWORD".to_owned()));
    }
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (name, _) = pairs.find(|(name, value)| is_secret_name(name) && !is_variable(value))?;
    Some((format!("`{name}` in the address"), name.to_ascii_uppercase().replace('-', "_")))
}

/// True if a text takes what is secret in it from a variable or a file, or is blank.
fn is_variable(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text.contains("${")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_written_among_arguments_or_into_an_address() {
        let words = |line: &str| NewServer::command(line.split(' '));
        for (server, variable) in [
            (words("serve --api-key canary"), "API_KEY"),
            (words("serve --api-key=canary -v"), "API_KEY"),
            (words("serve --header Authorization:canary"), "AUTHORIZATION"),
            (words("serve GITHUB_TOKEN=canary"), "GITHUB_TOKEN"),
            (words("serve https://ann:canary@books.example/"), "PASSWORD"),
            (NewServer::url("https://books.example/mcp?access_token=canary"), "ACCESS_TOKEN"),
        ] {
            let error = with_mcp_server("", "books", &server).unwrap_err();
            assert!(error.contains(&format!("'${{{variable}}}'")) && !error.contains("canary"), "{error}");
        }
        for server in [
            words("serve --api-key ${KEY} --key=${KEY} --token ${file:/run/token} --depth 3 key"),
            words("serve https://ann@books.example/?page=3"),
            NewServer::url("https://books.example/mcp?api_key=${KEY}"),
        ] {
            assert!(with_mcp_server("", "books", &server).is_ok());
        }
    }
}
