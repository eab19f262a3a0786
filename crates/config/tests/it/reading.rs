use std::fs;
use std::path::Path;
use std::sync::Arc;

use attache_agent::{Agent, EntryKind, MemoryJournal, RunInput, Verdict};
use attache_config::{BusySetting, Config, ConfigFile, DisconnectSetting, SessionsPlace, schema};
use attache_core::{Effect, Message};
use attache_models::Registry;

use crate::{config, variable};

#[test]
fn variables_stand_for_texts_and_numbers() {
    let config =
        config("[limits]\nsteps = '${STEPS}'\n[models]\nfast = '${WHO:-offline}/extractive'\n").unwrap();
    assert_eq!(config.max_steps(), Some(7));
    let registry = config.registry(Registry::bundled()).unwrap();
    assert_eq!(registry.model("fast").unwrap().id(), "offline/extractive");
}

#[test]
fn a_later_file_counts_where_both_say_something() {
    let file = |path: &str, text: &str| ConfigFile::parse(path, text).unwrap();
    let user = file(
        "/u/attache.toml",
        "[models]\ndefault = 'a/one'\nfast = 'a/two'\n[limits]\nsteps = 5\n[approvals]\nallow = ['read']\n\
         [mcp.files]\ncommand = 'one'\n[mcp.more]\ncommand = 'more'\n[mcp.off]\ncommand = 'off'\n[stores]\nsessions = '~/s.db'\n",
    );
    let project = file(
        "/p/attache.toml",
        "[models]\ndefault = 'b/one'\n[approvals]\ndeny = ['write']\n[mcp.files]\ncommand = './two'\n\
         [mcp.off]\nenabled = false\n",
    );
    let config = Config::of([user, project], &variable).unwrap();
    assert_eq!(config.model_names()["default"], "b/one");
    assert_eq!(config.model_names()["fast"], "a/two");
    assert_eq!(config.max_steps(), Some(5));
    let place = config.sessions_place().unwrap();
    assert!(matches!(&place, SessionsPlace::File(path) if *path == Path::new("/home/ann/s.db")), "{place:?}");
    let servers: Vec<(&str, String)> =
        config.server_names().map(|(name, _, shown)| (name, shown.replace("/./", "/"))).collect();
    assert_eq!(servers, [("files", "/p/two".to_owned()), ("more", "more".to_owned())]);
    let approvals = config.approvals();
    assert_eq!(approvals.verdict("read", Effect::SideEffect), Verdict::Run);
    assert!(matches!(approvals.verdict("write", Effect::Read), Verdict::Deny(_)));
}

#[test]
fn approvals_ask_about_effects_unless_told_otherwise() {
    let plain = config("").unwrap().approvals();
    assert_eq!(plain.verdict("x", Effect::Read), Verdict::Run);
    for effect in [Effect::SideEffect, Effect::Idempotent] {
        assert!(matches!(plain.verdict("x", effect), Verdict::Ask(_)));
    }
    let lists = "[approvals]\ndefault = 'always'\nallow = ['a*']\nask = ['ab']\ndeny = ['abc']\n";
    let lists = config(lists).unwrap().approvals();
    assert!(matches!(lists.verdict("x", Effect::Read), Verdict::Ask(_)));
    assert_eq!(lists.verdict("a", Effect::SideEffect), Verdict::Run);
    assert!(matches!(lists.verdict("ab", Effect::Read), Verdict::Ask(_)));
    assert!(matches!(lists.verdict("abc", Effect::Read), Verdict::Deny(_)));
    // A person names the tool that they saw.
    let seen = config("[approvals]\ndeny = ['leases_all_9']\n").unwrap().approvals();
    assert!(matches!(seen.verdict("leases/all 9", Effect::Read), Verdict::Deny(_)));
    let never = config("[approvals]\ndefault = 'never'\n").unwrap().approvals();
    assert_eq!(never.verdict("x", Effect::SideEffect), Verdict::Run);
}

#[test]
fn nothing_is_asked_about_where_the_default_says_so_and_no_list_says_otherwise() {
    let approvals =
        config("[approvals]\ndefault = 'never'\nask = ['pay']\ndeny = ['drop']\n").unwrap().approvals();
    for (tool, runs) in [("write_file", true), ("pay", false), ("drop", false)] {
        assert_eq!(approvals.allows(tool), runs, "{tool}");
    }
    assert!(!config("").unwrap().approvals().allows("write_file"));
}

#[tokio::test]
async fn an_agent_has_all_that_the_file_says_of_agents() {
    let text = "[limits]\nsteps = 3\n[tools]\ncalculator = true\n[prices]\ncurrency = 'USD'\nmodels = {}\n\
                [http.weather]\nbase_url = 'https://weather.example'\n[[http.weather.endpoints]]\n\
                name = 'weather.now'\npath = '/now'\ndescription = 'Tells the weather.'\n";
    let config = config(text).unwrap();
    let model = Registry::bundled().model("offline/extractive").unwrap();
    let agent = config.agent(Agent::builder(model)).unwrap().build().unwrap();
    let set = agent.tool_manager().await.unwrap().tools();
    let names: Vec<&str> = set.iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"calculate") && names.contains(&"weather_now"), "{names:?}");
    let journal = Arc::new(MemoryJournal::new());
    let outcome = agent.run_in(journal.clone(), "What is it?").outcome().await.unwrap();
    // All steps have no price, and there are prices.
    assert!(outcome.cost.unknown_steps > 0);
    let entries = journal.entries();
    assert!(matches!(&entries[0].kind, EntryKind::Started(started) if started.limits.max_steps == 3));
}

// A47
#[tokio::test]
async fn a_conversation_is_compacted_above_the_tokens_that_the_file_says() {
    let long = "word ".repeat(100);
    for (limits, compacts) in [("compact_above = 300", true), ("", false)] {
        let config = config(&format!("[limits]\n{limits}\n")).unwrap();
        let model = Registry::bundled().model("offline/extractive").unwrap();
        let agent = config.agent(Agent::builder(model)).unwrap().build().unwrap();
        let history = (0..20).map(|at| match at % 2 {
            0 => Message::user(&*long).shared(),
            _ => Message::assistant(&*long).shared(),
        });
        let journal = Arc::new(MemoryJournal::new());
        let input = RunInput::from("What is it?").with_history(history);
        agent.run_in(journal.clone(), input).outcome().await.unwrap();
        let acted = journal.entries().iter().any(|entry| matches!(entry.kind, EntryKind::Compacted(_)));
        assert_eq!(acted, compacts, "{limits}");
    }
}

#[test]
fn servers_of_other_clients_are_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("claude.json"),
        r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server", "${STEPS}"], "env": {"API_KEY": "canary-literal"}},
            "off": {"command": "x", "disabled": true},
            "old": {"type": "sse", "url": "https://old.example/sse"},
            "web": {"type": "http", "url": "https://web.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"},
                    "alwaysAllow": ["a"]}
        }}"#,
    )
    .unwrap();
    fs::write(
        folder.path().join("editor.json"),
        r#"{"inputs": [], "servers": {"editor": {"command": "e", "cwd": "/tmp", "env": {"A": "${env:TOKEN}"}},
            "files": {"command": "other"}}}"#,
    )
    .unwrap();
    let path = folder.path().join("attache.toml");
    fs::write(&path, "[mcp]\nimport = ['claude.json', 'editor.json']\n[mcp.web]\nenabled = false\n").unwrap();
    let config = Config::of([ConfigFile::read(&path).unwrap()], &variable).unwrap();
    let names: Vec<(&str, String)> = config.server_names().map(|(name, _, shown)| (name, shown)).collect();
    assert_eq!(names, [("editor", "e".to_owned()), ("files", "other".to_owned())]);
    assert!(config.notes()[0].to_string().contains("old transport"), "{:?}", config.notes());
    assert!(!format!("{:?}", config.mcp_servers()).contains("canary"));

    fs::write(
        folder.path().join("claude.json"),
        "{\"mcpServers\": {\"a\":\n {\"command\": \"${input:key}\"}}}",
    )
    .unwrap();
    fs::write(folder.path().join("editor.json"), "{\n\n,}").unwrap();
    let told = Config::of([ConfigFile::read(&path).unwrap()], &variable).unwrap_err().to_string();
    assert!(told.contains("claude.json:1: mcpServers.a contains ${input:key}"), "{told}");
    assert!(told.contains("editor.json:3: is no JSON"), "{told}");
}

// The file of an editor is not ours to change: what is for the editor alone costs its own server.
#[test]
fn files_of_editors_have_comments_and_variables_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let servers = "// Servers of \"us\"\n{\n\"inputs\": [{\"id\": \"key\",},],\n/* { */ \"servers\": {\n\
        \"a\": {\"command\": \"a//b\\\" /*\", \"args\": [\"x\", /* é\n */ \"1,]\", ]},\n\
        \"b\": {\"url\": \"https://b.example/mcp\", \"headers\": {\"X-Api-Key\": \"${input:key}\"}},\n\
        \"c\": {\"command\": \"c\", \"args\": [\"${workspaceFolder}\"]}, // the end\n}}";
    fs::write(folder.path().join("mcp.json"), servers).unwrap();
    let path = folder.path().join("attache.toml");
    fs::write(&path, "[mcp]\nimport = ['mcp.json']\n").unwrap();
    let config = Config::usable([ConfigFile::read(&path).unwrap()], &variable).unwrap();
    let shown: Vec<String> = config.server_names().map(|(_, _, shown)| shown).collect();
    assert!(shown.len() == 1 && shown[0].ends_with("a//b\" /*"), "{shown:?}");
    assert!(format!("{:?}", config.mcp_servers()).contains("args: 2,"), "{:?}", config.mcp_servers());
    let told: Vec<String> = config.left_out().iter().map(ToString::to_string).collect();
    assert!(told[0].contains("mcp.json:7: servers.b contains ${input:key}"), "{told:?}");
    assert!(told[1].contains("mcp.json:8: servers.c needs the variable workspaceFolder"), "{told:?}");
    // An unfinished comment is an unfinished file.
    for broken in
        ["{\"servers\": {} /* ", "{\"servers\": {,}}", "{\"servers\": {\"a", "/", "{\"servers\": {}} x"]
    {
        fs::write(folder.path().join("mcp.json"), broken).unwrap();
        let told = Config::of([ConfigFile::read(&path).unwrap()], &variable).unwrap_err().to_string();
        assert!(told.contains("is no JSON"), "{broken}: {told}");
    }
}

#[test]
fn a2a_agents_are_tools_by_their_names() {
    let text = "[a2a.leases]\nurl = 'https://leases.example'\nbearer = '${TOKEN}'\nonly = ['find']\n\
                questions = 'model'\ncall_seconds = 5\n[a2a.off]\nenabled = false\nurl = 'https://off.example'\n";
    let agents = config(text).unwrap().a2a_agents();
    assert_eq!(agents.iter().map(|agent| agent.alias()).collect::<Vec<_>>(), ["leases"]);
    assert!(!format!("{agents:?}").contains("canary"));
}

#[test]
fn services_are_declared_or_described() {
    let folder = tempfile::tempdir().unwrap();
    let document = r#"{"openapi": "3.1.0", "servers": [{"url": "https://api.example.com"}], "paths": {"/orders": {"get":
        {"operationId": "list", "summary": "Lists orders."}}}}"#;
    fs::write(folder.path().join("orders.json"), document).unwrap();
    let path = folder.path().join("attache.toml");
    let text = "[http.orders]\nopenapi = 'orders.json'\nheaders = { X-Api-Key = '${TOKEN}' }\n[http.weather]\n\
                base_url = 'https://weather.example'\n[[http.weather.endpoints]]\nname = 'weather.now'\n\
                path = '/now/{city}'\ndescription = 'The weather.'\narguments.city = { type = 'string' }\n";
    fs::write(&path, text).unwrap();
    let config = Config::of([ConfigFile::read(&path).unwrap()], &variable).unwrap();
    let services = config.http_tools().unwrap();
    assert_eq!(services.iter().map(|service| service.endpoints().len()).collect::<Vec<_>>(), [1, 1]);
    fs::write(folder.path().join("orders.json"), "{").unwrap();
    let told = Config::of([ConfigFile::read(&path).unwrap()], &variable).unwrap_err().to_string();
    assert!(told.contains("attache.toml:1: http.orders cannot be made"), "{told}");
}

#[test]
fn the_schema_of_the_docs_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/attache.schema.json");
    let written = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("WRITE").is_some() {
        fs::write(path, &written).unwrap();
    }
    let known = fs::read_to_string(path).unwrap_or_default();
    assert!(known == written, "`attache config schema > docs/attache.schema.json` writes it anew");
}

#[test]
fn tools_of_this_machine_are_off_unless_asked_for() {
    let names = |text: &str| {
        let tools = config(text).unwrap().local_tools().unwrap();
        tools.iter().map(|tool| tool.spec().definition.name().to_owned()).collect::<Vec<_>>()
    };
    assert!(names("").is_empty());
    let on = names("[tools]\nfetch = true\ncalculator = true\ntime = true\n");
    assert!(on.len() >= 3 && on.contains(&"calculate".to_owned()), "{on:?}");
    let files = config("[tools]\nfiles = ['docs', '~/notes']\nwrite = true\n").unwrap();
    assert_eq!(files.tool_folders(), ["/project/docs", "/home/ann/notes"].map(std::path::PathBuf::from));
    assert!(files.writes_files());
}

// A85: what the list allows may be more than the folder, and the system keeps it from that.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[tokio::test]
async fn commands_in_the_sandbox_read_nothing_but_the_folder_and_programs() {
    for (more, exit) in [("", 0), ("sandbox = true\n", 1)] {
        let text = format!("[tools]\ncommand = ['cat /etc/passwd']\n{more}");
        let tools = config(&text).unwrap().local_tools().unwrap();
        let arguments = serde_json::json!({"program": "cat", "arguments": ["/etc/passwd"]});
        let arguments = arguments.as_object().unwrap().clone();
        let output = tools[0].run(arguments, attache_core::ToolContext::new()).await.unwrap();
        let told: serde_json::Value = serde_json::from_str(output.tree.json()).unwrap();
        assert_eq!(told["exitCode"], exit, "{told}");
        assert_eq!(told.to_string().contains("root:"), exit == 0, "{told}");
    }
}

#[test]
fn sessions_are_in_a_file_or_in_postgresql_whose_password_is_in_no_message() {
    let place = |text: &str| config(&format!("[stores]\nsessions = '{text}'\n")).unwrap().sessions_place();
    for file in ["s.db", "a:b.db", "~/s.db"] {
        assert!(matches!(place(file), Some(SessionsPlace::File(_))), "{file}");
    }
    for address in
        ["postgres://ann@db.example/attache", "postgresql:///attache", "postgres://ann:${TOKEN}@db.example/a"]
    {
        let Some(SessionsPlace::Postgres(found)) = place(address) else { panic!("{address}") };
        assert!(found.expose().starts_with("postgres") && !found.expose().contains("${"), "{address}");
        assert_eq!(format!("{found:?}"), "Secret(…)");
    }
    assert!(config("").unwrap().sessions_place().is_none());
}

#[test]
fn a_server_has_an_issuer_switches_and_limits() {
    let file = |path: &str, text: &str| ConfigFile::parse(path, text).unwrap();
    let one = file(
        "/u/attache.toml",
        "[server]\nmcp = true\n[server.jwt]\nissuer = 'https://a.example'\naudience = 'one'\n\
         [server.dialects]\nresponses = false\nag_ui = false\n[server.limits]\nhead_seconds = 3\n",
    );
    let other = file(
        "/p/attache.toml",
        "[server.jwt]\nissuer = 'https://b.example'\naudience = ['one', 'two']\nscopes = 'scope'\n\
         [server.dialects]\nag_ui = true\n",
    );
    let settings = Config::of([one, other], &variable).unwrap().server();
    let jwt = settings.jwt.unwrap();
    assert_eq!((jwt.issuer.as_str(), jwt.audiences), ("https://b.example", vec!["one".into(), "two".into()]));
    assert_eq!(jwt.scopes, Some(("scope".to_owned(), String::new())));
    assert_eq!((settings.dialects.responses, settings.dialects.ag_ui), (Some(false), Some(true)));
    assert_eq!((settings.mcp, settings.a2a, settings.head_seconds), (Some(true), None, Some(3)));
}

#[test]
fn a_server_says_what_becomes_of_runs_and_sessions_and_who_may_look() {
    let file = |path: &str, text: &str| ConfigFile::parse(path, text).unwrap();
    let one = || {
        file(
            "/u/attache.toml",
            "[server]\nweb = false\norigins = ['https://a.example']\nheaders = ['x-tenant']\ndisconnect = 'detach'\n\
             busy = 'refuse'\nexpiry_seconds = 60\nmodels = ['fast']\n",
        )
    };
    let other = file(
        "/p/attache.toml",
        "[server]\nheaders = ['x-plan']\nmodels = ['work/large']\ndisconnect = { grace_seconds = 5 }\nbusy = { queue = 8 }\n",
    );
    let none = config("").unwrap().server();
    assert_eq!((none.web, none.disconnect, none.busy, none.expiry_seconds), (None, None, None, None));
    let alone = Config::of([one()], &variable).unwrap().server();
    assert_eq!((alone.disconnect, alone.busy), (Some(DisconnectSetting::Detach), Some(BusySetting::Refuse)));
    let both = Config::of([one(), other], &variable).unwrap().server();
    assert_eq!((both.web, both.expiry_seconds), (Some(false), Some(60)));
    assert_eq!(both.headers, ["x-tenant", "x-plan"]);
    assert_eq!((both.models, none.models), (vec!["fast".to_owned(), "work/large".to_owned()], vec![]));
    assert_eq!(both.disconnect, Some(DisconnectSetting::GraceSeconds(5)));
    assert_eq!(both.busy, Some(BusySetting::Queue(8)));
}

#[test]
fn the_pages_and_paths_of_a_server_are_those_that_browsers_say() {
    let text = "[server]\nbase_path = '/agents/v2/'\nframes = ['http://[::1]:8080']\n\
        origins = ['https://app.example.org', 'http://localhost:5173', 'tauri://localhost']\n";
    let settings = config(text).unwrap().server();
    assert_eq!((settings.origins.len(), settings.frames.len()), (3, 1));
}

#[test]
fn mistakes_in_the_section_of_a_server_are_told() {
    for (text, message) in [
        ("[server]\npublic_url = 'papers.example.org'\n", "server.public_url must begin with https://"),
        ("[server.jwt]\nissuer = 'login'\naudience = 'a'\n", "server.jwt.issuer must begin with https://"),
        (
            "[server.jwt]\nissuer = 'https://a.example'\naudience = []\n",
            "server.jwt.audience contains no audience",
        ),
        ("[server.jwt]\nissuer = 'https://a.example'\n", "audience"),
        (
            "[server.jwt]\nissuer = 'https://a.example'\naudience = 'a'\nalgorithms = ['none']\n",
            "server.jwt.algorithms contains \"none\"",
        ),
        (
            "[server.jwt]\nissuer = 'https://a.example'\naudience = 'a'\nscope_prefix = 'a:'\n",
            "server.jwt.scope_prefix requires",
        ),
        ("[server.dialects]\nchat = false\n", "server.dialects.chat is not known"),
        ("[server]\ndisconnect = 'leave'\n", "server.disconnect"),
        ("[server]\nbusy = { queue = -1 }\n", "server.busy"),
        ("[server]\nexpiry_seconds = 0\n", "server.expiry_seconds"),
        (
            "[server]\norigins = ['https://a.example']\nheaders = ['x tenant']\n",
            "server.headers contains \"x tenant\", which is not a valid header name",
        ),
        ("[server]\nheaders = ['x-tenant']\n", "server.headers requires `origins`"),
        ("[server]\norigins = ['*']\n", "server.origins contains \"*\", which is not an origin"),
        ("[server]\norigins = ['https://app.example.org/']\n", "server.origins contains"),
        ("[server]\norigins = ['app.example.org']\n", "server.origins contains"),
        ("[server]\norigins = ['https://App.example.org']\n", "server.origins contains"),
        ("[server]\norigins = ['https://app.example.org:443']\n", "server.origins contains"),
        ("[server]\nframes = ['https://app.example.org/']\n", "server.frames contains"),
        ("[server]\nframes = ['tauri://localhost']\n", "server.frames contains"),
        ("[server]\nbase_path = '/*x'\n", "server.base_path is not a plain path"),
        ("[server]\nbase_path = '/a//{b}'\n", "server.base_path is not a plain path"),
    ] {
        let told = config(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
        assert!(told.contains(message), "{text}: {told}");
    }
}
