//! Probable mistakes of a configuration that may be used all the same.

use attache_config::{Config, ConfigFile};
use attache_models::Registry;

use crate::{config, variable};

fn warnings(text: &str) -> Vec<String> {
    let config = config(text).unwrap();
    // It is refused for none of them.
    config.registry(Registry::bundled()).unwrap();
    config.warnings().iter().map(|warning| warning.to_string().replace("/project/", "")).collect()
}

#[test]
fn folders_and_programs_that_are_not_there_are_warned_of() {
    let text = "\
[tools]
files = ['.', '/no/such/folder']

[mcp.a]
command = ['no-such-program-of-anybody', '--key', '${TOKEN}']
[mcp.b]
command = 'sh'
[mcp.c]
command = './no-such-program'
[mcp.d]
command = 'sh'
folder = '/no/such/folder'
[mcp.off]
enabled = false
command = 'no-such-program-of-anybody'
";
    let text = text.replace("'.'", "'/'");
    assert_eq!(
        warnings(&text),
        [
            "attache.toml:2: tools.files[1] names /no/such/folder, which is not there; create it, or check the path",
            "attache.toml:5: mcp.a.command starts no-such-program-of-anybody, which is not a program in PATH; install it, \
             or check its name",
            "attache.toml:9: mcp.c.command starts ./no-such-program, which is not a program; install it, or check its name",
            "attache.toml:12: mcp.d.folder names /no/such/folder, which is no folder; create it, or check the path",
        ]
    );
}

#[test]
fn approvals_that_never_count_are_warned_of() {
    let text = "\
[mcp.files]
url = 'https://files.example'
[mcp.off]
enabled = false
[approvals]
allow = ['mcp_flies___read', 'mcp_files___read', 'mcp_*___x', 'mcp_off___a', 'write_file']
ask = ['write_file', 'fetch']
deny = ['mcp_files___read', 'fetch']
";
    assert_eq!(
        warnings(text),
        [
            "attache.toml:6: approvals.allow[0] is about \"mcp_flies___read\", but there is no MCP server \"flies\"; did \
             you mean `files`?",
            "attache.toml:6: approvals.allow[1] has no effect: \"mcp_files___read\" is in `deny` too, which counts more; \
             remove it from one of them",
            "attache.toml:6: approvals.allow[4] has no effect: \"write_file\" is in `ask` too, which counts more; remove \
             it from one of them",
            "attache.toml:7: approvals.ask[1] has no effect: \"fetch\" is in `deny` too, which counts more; remove it from \
             one of them",
        ]
    );
}

// A78
#[test]
fn media_types_that_no_document_has_are_warned_of() {
    let text = "\
[capabilities.openai-chat]
user.media = ['text', 'image/*', '*/*', 'txt', 'pdf']
[capabilities.openai-chat.models.'a*']
user.media = ['+aplication/pdf', '-image/jpg', 'x-world/x-vrml']
";
    let text = text.replace("'x-world", "'+x-world");
    assert_eq!(
        warnings(&text),
        [
            "attache.toml:2: capabilities.openai-chat.user.media[3] is \"txt\", which is not a media type; did you mean \
             `text`?",
            "attache.toml:2: capabilities.openai-chat.user.media[4] is \"pdf\", which is not a media type; such as \
             `application/pdf`, `image/*`, or `text` for everything that can be read as text",
            "attache.toml:4: capabilities.openai-chat.models.a*.user.media[0] is \"+aplication/pdf\", which is no known \
             media type; did you mean `application/pdf`?",
            "attache.toml:4: capabilities.openai-chat.models.a*.user.media[1] is \"-image/jpg\", which no document has in \
             this form; write `image/jpeg`",
        ]
    );
}

#[test]
fn all_stages_are_checked_in_one_go() {
    let text = "\
[limits]
stepz = 5
[mcp.a]
url = 'ftp://a.example'
[server]
host = 'nowhere'
[providers.n]
like = 'opnai-chat'
[capabilities.openai-chat]
context_windw = 5
[models]
default = 'n/large'
[http.a]
base_url = 'https://a.example'
[[http.a.endpoints]]
name = 'a'
path = '/a'
method = 'PSOT'
";
    let file = ConfigFile::parse("attache.toml", text).unwrap();
    let problems = Config::check([file], &variable, Registry::bundled()).unwrap_err();
    let lines: Vec<usize> = problems.iter().filter_map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 4, 6, 8, 10, 18], "{problems}");
}
