//! The names of a server's tools: ours, `mcp_ALIAS___TOOL`, and the server's own; and the tools that are offered by name.

use super::config::Config;

impl Config {
    /// The problem with the alias, if there is one: with it, tools of two servers could have one name.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let is_apart = !self.alias.contains("___") && !self.alias.ends_with('_');
        (!is_apart).then_some("its alias must neither hold `___` nor end with `_`")
    }

    /// True if a tool of the server is offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let among = |patterns: &[String]| patterns.iter().any(|pattern| covers(pattern, tool));
        self.only.as_deref().is_none_or(among) && !among(&self.without)
    }

    /// The internal name of a tool of the server.
    pub(crate) fn internal(&self, tool: &str) -> String {
        let renamed = self.renamed.iter().find(|(theirs, _)| theirs == tool);
        format!("{}{}", self.prefix, renamed.map_or(tool, |(_, ours)| ours))
    }

    /// The server's name of a tool, so that a run that is resumed needs no list.
    pub(crate) fn theirs<'a>(&'a self, internal: &'a str) -> Option<&'a str> {
        let ours = internal.strip_prefix(&*self.prefix)?;
        let renamed = self.renamed.iter().find(|(_, name)| name == ours);
        Some(renamed.map_or(ours, |(theirs, _)| theirs))
    }

    /// True if the name that models see of a tool leads back to it, and not to another that is renamed to its name.
    pub(crate) fn leads_back(&self, theirs: &str) -> bool {
        self.theirs(&self.internal(theirs)) == Some(theirs)
    }
}

/// True if a pattern, in which one `*` stands for anything, covers a name.
fn covers(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::config::Door;
    use crate::client::stdio::McpCommand;

    fn config() -> Config {
        Config::new("files".to_owned(), Door::Command(McpCommand::new("x")))
    }

    // C34
    #[test]
    fn names_map_back_to_those_of_the_server() {
        let mut config = config();
        config.renamed.push(("read_file".to_owned(), "read".to_owned()));
        for (theirs, ours) in [("read_file", "mcp_files___read"), ("a.b", "mcp_files___a.b")] {
            assert_eq!(config.internal(theirs), ours);
            assert_eq!(config.theirs(ours), Some(theirs));
        }
        assert_eq!(config.theirs("mcp_other___read"), None);
        assert!(config.leads_back("read_file") && config.leads_back("a.b") && !config.leads_back("read"));
        // Two that change places.
        config.renamed.push(("read".to_owned(), "read_file".to_owned()));
        assert!(config.leads_back("read_file") && config.leads_back("read"));
    }

    #[test]
    fn filters_name_tools_with_one_wildcard() {
        let mut config = config();
        config.only = Some(vec!["read_*".to_owned(), "*_tree".to_owned(), "move".to_owned()]);
        config.without = vec!["read_secret*".to_owned()];
        let offered = ["read_file", "directory_tree", "move"];
        assert!(offered.iter().all(|tool| config.offers(tool)));
        assert!(!["write", "read_secrets", "moved", "read"].iter().any(|tool| config.offers(tool)));
    }
}
