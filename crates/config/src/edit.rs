//! Servers that are added to a file and taken out of it. Everything else stays as it is written, comments included.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

/// A server to add.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NewServer {
    /// The program and its arguments; empty for a server over HTTP.
    pub command: Vec<String>,
    /// The address of a server over HTTP.
    pub url: Option<String>,
    /// Variables of the program, such as `GITHUB_TOKEN` with `${GITHUB_TOKEN}`.
    pub env: Vec<(String, String)>,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
    /// The token of each request, such as `${SEARCH_TOKEN}`.
    pub bearer: Option<String>,
}

impl NewServer {
    /// A program and its arguments.
    pub fn command(line: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { command: line.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// An address.
    pub fn url(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::default() }
    }
}

/// The text of a configuration with a server in it.
///
/// # Errors
/// The text is no TOML, or has a server of that name.
pub fn with_mcp_server(text: &str, name: &str, server: &NewServer) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mcp = document.entry("mcp").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let mcp = mcp.as_table_like_mut().ok_or("`mcp` is no table")?;
    if mcp.contains_key(name) {
        return Err(format!(
            "there is an MCP server {name} already; `attache mcp remove {name}` takes it out"
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

/// The text of a configuration without a server; `None` if it has none of that name.
///
/// # Errors
/// The text is no TOML.
pub fn without_mcp_server(text: &str, name: &str) -> Result<Option<String>, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mcp = document.get_mut("mcp").and_then(Item::as_table_like_mut);
    let taken = mcp.and_then(|mcp| mcp.remove(name).filter(Item::is_table_like));
    Ok(taken.map(|_| document.to_string()))
}
