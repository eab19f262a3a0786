use attache_config::{Config, ConfigFile};
use attache_models::Registry;

use crate::{config, mistakes, variable};

#[test]
fn every_mistake_is_told_with_its_line_value_and_hint() {
    let text = "\
[models]
default = 5

[mcp.files]
comand = 'npx'
args = ['-y', 3]

[limits]
steps = 'many'
tokns = 9

[aprovals]
";
    assert_eq!(
        mistakes(text),
        [
            "attache.toml:2: models.default must be a string, not 5",
            "attache.toml:5: mcp.files.comand is not known; did you mean `command`?",
            "attache.toml:6: mcp.files.args[1] must be a string, not 3",
            "attache.toml:9: limits.steps must be an integer, not \"many\"",
            "attache.toml:10: limits.tokns is not known; did you mean `tokens`?",
            "attache.toml:12: aprovals is not known; did you mean `approvals`?",
        ]
    );
}

#[test]
fn each_line_that_is_no_toml_is_told() {
    let problems = ConfigFile::parse("a.toml", "[models\nx = 1\n\ny = = 2\nz = 'open\n").unwrap_err();
    let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
    assert!(lines.len() >= 3 && lines.contains(&Some(1)) && lines.contains(&Some(4)), "{problems}");
}

#[test]
fn a_variable_that_is_not_set_is_told_with_its_line() {
    let text =
        "[mcp.a]\nurl = 'https://a.example'\nbearer = '${NOT_SET}'\n[mcp.b]\ncommand = '${ALSO NOT}'\n";
    let told = mistakes(text);
    assert_eq!(
        told[0],
        "attache.toml:3: mcp.a.bearer needs the variable NOT_SET, which is not set; set it, or write \
         ${NOT_SET:-default}"
    );
    assert!(told[1].starts_with("attache.toml:5: mcp.b.command contains ${ALSO NOT}"), "{}", told[1]);
}

#[test]
fn secrets_are_not_written_into_the_file_and_not_shown() {
    let text = "\
[mcp.a]
url = 'https://a.example'
bearer = 'canary-literal'
headers = { X-Api-Key = 'canary-header', X-Team = 'leases' }
[mcp.b]
command = 'b'
env = { GITHUB_TOKEN = 'canary-env', LEVEL = 'debug' }
";
    let told = mistakes(text);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains("mcp.a.bearer is a secret"), "{}", told[0]);
    assert!(!told.concat().contains("canary"), "{told:?}");
}

#[test]
fn keys_of_providers_and_in_commands_are_not_written_into_the_file_and_not_shown() {
    let head = "[providers.work]\nlike = 'openai-chat'\nbase_url = 'https://llm.example/v1'\n";
    for (member, place) in [
        ("key = 'sk-canary'", "key is a secret"),
        ("key = ['sk-canary']", "key[0] is a secret"),
        ("api_key = 'sk-canary'", "api_key is a secret"),
        ("headers.authorization = 'Bearer sk-canary'", "headers.authorization is a secret"),
    ] {
        let told = mistakes(&format!("{head}{member}\n"));
        assert!(told.len() == 1 && told[0].contains(&format!("4: providers.work.{place}")), "{told:?}");
        assert!(!told[0].contains("canary"), "{told:?}");
    }
    // A text in the place of a table is repeated to nobody.
    for member in ["headers = \"Authorization: Bearer \\\"sk-canary\\\"\"", "temperature = 'sk-canary'"] {
        let config = config(&format!("{head}{member}\n")).unwrap();
        let told = config.registry(Registry::bundled()).unwrap_err().to_string();
        assert!(told.contains("a text") && !told.contains("canary"), "{told}");
    }
    assert!(
        config(&format!("{head}headers = {{ authorization = '${{TOKEN}}', x-team = 'leases' }}\n")).is_ok()
    );
    let told = mistakes("[mcp.x]\ncommand = 'npx server --api-key sk-canary'\n").concat();
    assert!(told.contains("mcp.x.command is not a program") && !told.contains("canary"), "{told}");
}

#[test]
fn a_password_of_a_database_is_a_secret_and_other_addresses_are_none_of_sessions() {
    for written in
        ["postgres://ann:canary@db.example/attache", "postgres://db.example/attache?user=ann&password=canary"]
    {
        let told = mistakes(&format!("[stores]\nsessions = '{written}'\n"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("stores.sessions is a secret") && !told[0].contains("canary"), "{told:?}");
    }
    for written in ["mysql://db.example/attache", "sqlite://s.db"] {
        let told = mistakes(&format!("[stores]\nsessions = '{written}'\n")).concat();
        assert!(told.contains("the path of a file, or an address that begins with postgres://"), "{told}");
    }
    let unset = mistakes("[stores]\nsessions = '${ADDRESS_THAT_IS_NOT_SET}'\n").concat();
    assert!(unset.contains("which is not set"), "sessions go nowhere else: {unset}");
}

#[test]
fn what_a_variable_holds_is_in_no_message_and_no_debug() {
    let wrong = [
        "[mcp.a]\nurl = '${TOKEN}'\n",
        "[limits]\nsteps = '${TOKEN}'\n",
        "[mcp.a]\nurl = 'https://a.example'\nera = '${TOKEN}'\n",
        "[mcp.a]\nargs = { x = '${TOKEN}' }\n",
        "[http.a]\nbase_url = '${TOKEN}'\n",
        "[http.a]\nbase_url = 'https://a.example'\n[[http.a.endpoints]]\nname = 'x'\npath = '/{a'\ndescription = 'd'\n\
         method = '${TOKEN}'\n",
    ];
    for text in wrong {
        let told = mistakes(text).concat();
        assert!(!told.contains("canary"), "{told}");
    }
    let fine =
        config("[mcp.a]\nurl = 'https://u:${TOKEN}@a.example/mcp?key=${TOKEN}'\nbearer = '${TOKEN}'\n")
            .unwrap();
    assert!(!format!("{fine:?}").contains("canary"));
    let (_, _, shown) = fine.server_names().next().unwrap();
    assert_eq!(shown, "https://a.example/mcp");
    assert!(!format!("{:?}", fine.mcp_servers()).contains("canary"));
}

#[test]
fn values_of_variables_are_masked_in_addresses_and_in_files_of_other_clients() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("attache.toml");
    let import = |text: &str| {
        std::fs::write(folder.path().join("mcp.json"), text).unwrap();
        std::fs::write(&path, "[mcp]\nimport = ['mcp.json']\n").unwrap();
        Config::of([ConfigFile::read(&path).unwrap()], &variable)
    };
    let told = import(r#"{"mcpServers": {"a": {"url": "${TOKEN}"}}}"#).unwrap_err().to_string();
    assert!(told.contains("a.url must begin with") && !told.contains("canary"), "{told}");
    let fine = import(r#"{"mcpServers": {"a": {"url": "https://a.example/${TOKEN}/mcp"}}}"#).unwrap();
    assert_eq!(fine.server_names().next().unwrap().2, "https://a.example/${TOKEN}/mcp");
    let own = config("[mcp.a]\nurl = 'https://a.example/s/${TOKEN}'\n").unwrap();
    assert_eq!(own.server_names().next().unwrap().2, "https://a.example/s/${TOKEN}");
}

#[test]
fn a_server_that_lacks_a_variable_costs_the_others_nothing() {
    let text = "[mcp.a]\nurl = 'https://a.example'\nbearer = '${NOT_SET}'\n[mcp.b]\ncommand = 'b'\n\
                [a2a.c]\nurl = 'https://${NOT_SET}'\n[a2a.d]\nurl = 'https://d.example'\n\
                [http.e]\nbase_url = '${file:/no/such/file}'\n[mcp.off]\nenabled = false\nurl = '${NOT_SET}'\n";
    let file = |text: &str| ConfigFile::parse("/project/attache.toml", text).unwrap();
    let usable = Config::usable([file(text)], &variable).unwrap();
    assert_eq!(usable.server_names().map(|(name, ..)| name).collect::<Vec<_>>(), ["b"]);
    assert_eq!(usable.a2a_agents().iter().map(|agent| agent.alias()).collect::<Vec<_>>(), ["d"]);
    assert!(usable.http_tools().unwrap().is_empty());
    let left_out: Vec<String> = usable.left_out().iter().map(ToString::to_string).collect();
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    assert!(left_out[0].contains(":3: mcp.a.bearer needs the variable NOT_SET"), "{left_out:?}");
    // Where nobody asks for less, it is a mistake.
    assert_eq!(mistakes(text).len(), 3);
    // It does not fall back to another file's server of that name, and a later file may say it anew.
    let (good, bad) = ("[mcp.a]\ncommand = 'mine'\n", "[mcp.a]\ncommand = '${NOT_SET}'\n");
    let both = Config::usable([file(good), file(bad)], &variable).unwrap();
    assert_eq!((both.server_names().count(), both.left_out().len()), (0, 1));
    let both = Config::usable([file(bad), file(good)], &variable).unwrap();
    assert_eq!((both.server_names().count(), both.left_out().len()), (1, 0));
    // A variable of anything else is needed.
    let told = Config::usable([file("[limits]\nsteps = '${NOT_SET}'\n")], &variable).unwrap_err();
    assert!(told.to_string().contains("limits.steps needs the variable"), "{told}");
}

#[test]
fn a_server_of_another_client_that_lacks_a_variable_may_be_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    let servers = r#"{"mcpServers": {"a": {"command": "${NOT_SET}"}, "b": {"command": "b"}}}"#;
    std::fs::write(folder.path().join("mcp.json"), servers).unwrap();
    let path = folder.path().join("attache.toml");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Config::usable([ConfigFile::read(&path).unwrap()], &variable).unwrap()
    };
    let config = read("[mcp]\nimport = ['mcp.json']\n");
    assert_eq!((config.server_names().count(), config.left_out().len()), (1, 1));
    let config = read("[mcp]\nimport = ['mcp.json']\n[mcp.a]\nenabled = false\n");
    assert_eq!((config.server_names().count(), config.left_out().len()), (1, 0));
}

#[test]
fn agents_that_cannot_be_are_told() {
    let told = mistakes(
        "[a2a.a]\n[a2a.b]\nurl = 'ftp://b.example'\n[a2a.c___d]\nurl = 'https://c.example'\n[a2a.e]\n\
         url = 'https://e.example'\nbearer = 'canary-literal'\n",
    );
    for (line, part) in told.iter().zip([
        ":1: a2a.a has no `url`",
        ":3: a2a.b.url must begin with https://",
        ":4: a2a.c___d \"c___d\" is not a valid agent name",
        ":8: a2a.e.bearer is a secret",
    ]) {
        assert!(line.contains(part), "{part}: {told:#?}");
    }
    assert_eq!(told.len(), 4);
}

#[test]
fn servers_that_do_not_fit_together_are_told() {
    let text = "\
[mcp.a]
[mcp.b]
command = 'x'
url = 'https://b.example'
[mcp.c]
command = 'npx -y server'
[mcp.d]
url = 'ftp://d.example'
env = { A = 'b' }
[mcp.'e f']
command = 'x'
[mcp.g]
url = 'https://g.example'
headers = { 'a b' = 'c' }
[mcp.h]
command = 'x'
bearer = '${TOKEN}'
[mcp]
import = ['none.json']
";
    let told = mistakes(text);
    for part in [
        ":1: mcp.a has neither `command` nor `url`",
        ":4: mcp.b.url is set together with `command`",
        ":6: mcp.c.command is not a program, since it contains spaces; write arguments as separate items: command = [\"npx\", …]",
        ":8: mcp.d.url must begin with https://",
        ":9: mcp.d.env requires `command`",
        ":10: mcp.e f \"e f\" is not a valid server name",
        ":14: mcp.g.headers.a b is not a valid header name",
        ":17: mcp.h.bearer requires `url`",
        ":19: mcp.import[0] names /project/none.json",
    ] {
        let part = part.replace("/project/", "");
        assert!(told.iter().any(|line| line.contains(&part)), "{part}: {told:#?}");
    }
}

// A78
#[test]
fn mistakes_in_profiles_capabilities_and_names_are_told_together() {
    let text = "\
[models]
default = 'opnai/gpt'
fine = 'work/large'

[providers.work]
like = 'openai-chat'
base_url = 'https://llm.example/v1'

[providers.typo]
like = 'openai-chat'
bse_url = 'https://llm.example/v1'

[providers.word]
like = 'openai-chat'
system_role = 'sytem'

[capabilities.openai-chat]
context_windw = 3
";
    let config = config(text).unwrap();
    let told = config.registry(Registry::bundled()).unwrap_err().to_string();
    for part in [
        "attache.toml:2: models.default = \"opnai/gpt\": ",
        "attache.toml:11: providers.typo.bse_url is wrong: unknown field `bse_url`; did you mean `base_url`?",
        "attache.toml:15: providers.word.system_role is wrong: unknown variant `sytem`",
        "attache.toml:18: capabilities.openai-chat.context_windw is not known; did you mean `context_window`?",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(told.lines().count(), 4, "{told}");
}

#[test]
fn a_name_that_stands_for_itself_is_not_offered_for_itself() {
    for names in ["default = 'default'", "default = 'defaults'\ndefaults = 'default'"] {
        let text = format!("[models]\nfast = 'groq/large'\n{names}\n");
        let told = config(&text).unwrap().registry(Registry::bundled()).unwrap_err().to_string();
        assert!(told.contains("models.default") && !told.contains("did you mean"), "{told}");
    }
}

// A78
#[test]
fn capabilities_that_count_for_no_model_are_told() {
    let text = "\
[capabilities.wrok]
context_window = 32000

[providers.work]
like = 'openai-chat'
base_url = 'https://llm.example/v1'
family = 'work'
";
    let told = config(text).unwrap().registry(Registry::bundled()).unwrap_err().to_string();
    assert!(told.contains("attache.toml:1: capabilities.wrok applies to no model"), "{told}");
    assert!(told.contains("did you mean `work`?"), "{told}");
    assert!(config(&text.replace("wrok", "work")).unwrap().registry(Registry::bundled()).is_ok());
}

#[test]
fn a_limit_of_cost_needs_prices() {
    assert!(mistakes("[limits]\ncost = 0.5\n")[0].contains("there are no prices of models"));
    assert!(config("[limits]\ncost = 0.5\n[prices]\ncurrency = 'USD'\nmodels = {}\n").is_ok());
}

#[test]
fn a_file_that_cannot_be_read_is_told() {
    let problems = ConfigFile::read("/nowhere/attache.toml").unwrap_err().to_string();
    assert!(problems.starts_with("/nowhere/attache.toml: "), "{problems}");
    // A path that never ends is no file.
    assert!(ConfigFile::read("/dev/zero").unwrap_err().to_string().contains("no regular file"));
    let endless =
        "[mcp]\nimport = ['/dev/zero']\n[mcp.a]\ncommand = 'x'\nenv = { A = '${file:/dev/zero}' }\n";
    let file = ConfigFile::parse("/project/attache.toml", endless).unwrap();
    let told = Config::of([file], &variable).unwrap_err().to_string();
    assert!(told.contains("no regular file"), "{told}");
}

#[cfg(unix)]
#[test]
fn commands_that_cannot_be_allowed_are_told() {
    let text = "[tools]\ncommand = [\n  'ls <file>...',\n  'no-such-program-of-anybody',\n  'ls <path>',\n  '',\n]\n";
    let told = mistakes(text);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].starts_with("attache.toml:4: tools.command[1]"), "{told:?}");
    assert!(told[1].contains("<path> is not one of <text>"), "{told:?}");
}

#[test]
fn types_of_uploads_are_media_types() {
    let told = mistakes("[server.limits]\nupload_types = ['.pdf', 'pdf', 'image/*', '*/png']\n");
    let expected = [".pdf", "pdf", "*/png"].map(|name| {
        format!(
            ":2: server.limits.upload_types contains {name:?}, which is not a media type; such as `application/pdf`"
        )
    });
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for line in expected {
        assert!(told.iter().any(|told| told.contains(&line)), "{line}: {told:#?}");
    }
    let file = ConfigFile::parse("attache.toml", "[server.limits]\nupload_types = ['Image/JPG', 'TEXT/*']\n");
    let settings = Config::of([file.unwrap()], &|_| None).unwrap().server();
    assert_eq!(settings.upload_types, ["image/jpeg", "text/*"]);
}
