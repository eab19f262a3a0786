//! The configuration, and tools that it brings.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use attache_conformance::{MockProvider, Reply};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::common::{attache, text};

const PDF: &[u8] = b"%PDF-1.4 canary";

/// The command with a home of its own.
fn at(home: &Path, arguments: &[&str]) -> Command {
    let mut command = attache(arguments);
    command.env("ATTACHE_HOME", home);
    command
}

fn output(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code().unwrap(), text(&stdout), text(&stderr))
}

#[test]
fn every_mistake_of_the_configuration_is_told_at_once() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("attache.toml");
    fs::write(&file, "[models]\ndefault = 'antropic/x'\n\n[limits]\nsteps = 3\n").unwrap();
    let (code, _, told) = output(&mut at(home.path(), &["config", "check"]));
    assert_eq!(code, 3);
    assert!(
        told.contains("attache.toml:2: models.default") && told.contains("did you mean anthropic/x?"),
        "{told}"
    );
    fs::write(&file, "[limits]\nstep = 3\n[mcp.a]\nurl = '${NOT_SET}'\n").unwrap();
    for arguments in [&["config", "check"] as &[&str], &["tools"], &["ask", "x", "docs/examples/inbox"]] {
        let (code, _, told) = output(&mut at(home.path(), arguments));
        assert_eq!(code, 3, "{arguments:?}");
        assert!(told.contains("the configuration has 2 problems"), "{told}");
        assert!(told.contains("attache.toml:2: limits.step is not known; did you mean `steps`?"), "{told}");
        assert!(told.contains("attache.toml:4: mcp.a.url needs the variable NOT_SET"), "{told}");
    }
    fs::write(&file, "[limits]\nsteps = 3\n").unwrap();
    let (code, told, _) = output(&mut at(home.path(), &["config", "check"]));
    assert!(code == 0 && told.contains("no problems"), "{told}");
    let (code, schema, _) = output(&mut at(home.path(), &["config", "schema"]));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(code == 0 && schema["properties"]["mcp"].is_object());
}

#[cfg(unix)]
#[test]
fn a_project_starts_nothing_until_it_is_trusted() {
    let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (file, mark) = (project.path().join("attache.toml"), project.path().join("started"));
    let line = format!("[mcp.bad]\ncommand = ['touch', '{}']\nconnect_seconds = 5\n", mark.display());
    fs::write(&file, &line).unwrap();
    fs::create_dir(project.path().join("src")).unwrap();
    let run = |arguments: &[&str]| {
        output(
            at(home.path(), arguments).current_dir(project.path().join("src")).env("PATH", "/usr/bin:/bin"),
        )
    };
    let (code, _, told) = run(&["tools"]);
    assert!(code == 0 && told.contains("is ignored, since you do not trust it yet"), "{told}");
    let (_, _, told) = run(&["ask", "x", "--dry-run", "-a", "/etc/hostname"]);
    assert!(!mark.exists(), "{told}");
    // A look at its mistakes starts nothing either.
    assert_eq!(run(&["config", "check"]).0, 0);
    assert!(!mark.exists());
    assert_eq!(run(&["config", "trust"]).0, 0);
    let (code, _, told) = run(&["tools"]);
    assert!(code == 1 && told.contains("the MCP server bad cannot be used"), "{told}");
    assert!(mark.exists());
    // Somebody else's change is not trusted.
    fs::remove_file(&mark).unwrap();
    fs::write(&file, format!("{line}\n")).unwrap();
    let (code, _, told) = run(&["tools"]);
    assert!(code == 0 && told.contains("is ignored") && !mark.exists(), "{told}");
    assert_eq!(run(&["config", "trust"]).0, 0);
    assert_eq!(run(&["config", "untrust"]).0, 0);
    run(&["tools"]);
    assert!(!mark.exists());
}

#[cfg(unix)]
#[test]
fn trust_is_taken_back_by_whichever_way_the_file_is_named() {
    let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (file, mark) = (project.path().join("attache.toml"), project.path().join("started"));
    fs::write(&file, "[mcp]\nimport = ['mcp.json']\n").unwrap();
    let imported = json!({ "mcpServers": { "bad": { "command": "touch", "args": [mark] } } });
    fs::write(project.path().join("mcp.json"), imported.to_string()).unwrap();
    let run = |arguments: &[&str]| {
        output(at(home.path(), arguments).current_dir(project.path()).env("PATH", "/usr/bin:/bin"))
    };
    assert_eq!(run(&["config", "trust"]).0, 0);
    let (code, _, told) = run(&["config", "untrust", "attache.toml"]);
    assert!(code == 0 && told.contains("is ignored from now on"), "{told}");
    let (_, _, told) = run(&["tools"]);
    assert!(told.contains("you do not trust it yet") && !mark.exists(), "{told}");
    assert_eq!(run(&["config", "trust", "attache.toml"]).0, 0);
    run(&["tools"]);
    assert!(mark.exists());
    // Also as long as it is no configuration.
    fs::write(&file, "[mcp\n").unwrap();
    let (code, _, told) = run(&["config", "untrust"]);
    assert!(code == 0 && told.contains("is ignored from now on"), "{told}");
}

#[test]
fn servers_are_added_listed_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("attache.toml");
    fs::write(&file, "# mine\n[limits]\nsteps = 3 # few\n").unwrap();
    let run = |arguments: &[&str]| output(&mut at(home.path(), arguments));
    assert_eq!(run(&["mcp", "add", "files", "--env", "API_TOKEN", "--", "npx", "-y", "server"]).0, 0);
    assert_eq!(run(&["mcp", "add", "web", "--url", "https://a.example/mcp", "--bearer", "${TOKEN}"]).0, 0);
    let (code, _, told) = run(&["mcp", "add", "web", "--url", "https://b.example/mcp"]);
    assert!(code == 3 && told.contains("already"), "{told}");
    // A secret does not go into the file.
    let (code, _, told) =
        run(&["mcp", "add", "other", "--url", "https://b.example/mcp", "--bearer", "canary"]);
    assert!(code == 3 && told.contains("nothing was written") && !told.contains("canary"), "{told}");
    let written = fs::read_to_string(&file).unwrap();
    assert!(
        written.starts_with("# mine\n[limits]\nsteps = 3 # few\n") && !written.contains("canary"),
        "{written}"
    );
    assert!(written.contains("API_TOKEN = \"${API_TOKEN}\""), "{written}");
    let list =
        at(home.path(), &["mcp", "list", "--json"]).env("TOKEN", "x").env("API_TOKEN", "y").output().unwrap();
    let names: Vec<String> = text(&list.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["files", "web"]);
    assert_eq!(run(&["mcp", "remove", "files"]).0, 0);
    assert_eq!(run(&["mcp", "remove", "files"]).0, 3);
    assert!(!fs::read_to_string(&file).unwrap().contains("npx"));
    assert_eq!(run(&["mcp", "add", "none"]).0, 2);
}

#[test]
fn servers_that_are_added_at_once_are_all_there() {
    let home = tempfile::tempdir().unwrap();
    let adding: Vec<_> = (0..8)
        .map(|number| {
            at(home.path(), &["mcp", "add", &format!("server{number}"), "--", "true"]).spawn().unwrap()
        })
        .collect();
    for mut child in adding {
        assert!(child.wait().unwrap().success());
    }
    let (code, listed, _) = output(&mut at(home.path(), &["mcp", "list", "--json"]));
    assert_eq!((code, listed.lines().count()), (0, 8), "{listed}");
    let removing: Vec<_> = (0..8)
        .map(|number| at(home.path(), &["mcp", "remove", &format!("server{number}")]).spawn().unwrap())
        .collect();
    for mut child in removing {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(output(&mut at(home.path(), &["mcp", "list", "--json"])).1, "");
}

#[test]
fn a_change_waits_for_another_and_not_without_an_end() {
    let home = tempfile::tempdir().unwrap();
    let lock = fs::File::create(home.path().join("attache.toml.lock")).unwrap();
    lock.lock().unwrap();
    let (code, _, told) = output(&mut at(home.path(), &["mcp", "add", "books", "--", "true"]));
    assert!(code == 3 && told.contains("another process has been changing it"), "{told}");
    assert!(!home.path().join("attache.toml").exists());
    drop(lock);
    assert_eq!(output(&mut at(home.path(), &["mcp", "add", "books", "--", "true"])).0, 0);
}

#[test]
fn a_secret_is_not_written_into_the_configuration() {
    let home = tempfile::tempdir().unwrap();
    for line in [
        &["--", "serve", "--api-key", "canary-key"] as &[&str],
        &["--url", "https://ann:canary-key@books.example/"],
    ] {
        let words: Vec<&str> = ["mcp", "add", "books"].iter().chain(line).copied().collect();
        let (code, said, told) = output(&mut at(home.path(), &words));
        assert!(code == 3 && told.contains("set the variable"), "{told}");
        assert!(!format!("{said}{told}").contains("canary"), "{told}");
    }
    assert!(!home.path().join("attache.toml").exists());
}

// The servers are waited for side by side, each within its own time, and the user is told for whom.
#[cfg(unix)]
#[test]
fn a_server_that_hangs_is_named_and_holds_nothing_for_long() {
    let home = tempfile::tempdir().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    // It takes requests and hangs up on each after a while.
    std::thread::spawn(move || {
        for socket in silent.incoming() {
            std::thread::sleep(std::time::Duration::from_secs(4));
            drop(socket);
        }
    });
    let servers = format!(
        "[mcp.slow]\ncommand = ['sleep', '60']\nconnect_seconds = 5\n\n\
         [mcp.slower]\ncommand = ['sleep', '60']\nconnect_seconds = 5\n\n\
         [mcp.dead]\ncommand = ['false']\nconnect_seconds = 5\n\n\
         [a2a.silent]\nurl = 'http://{address}'\n"
    );
    fs::write(home.path().join("attache.toml"), servers).unwrap();
    let begun = std::time::Instant::now();
    let (_, _, told) = output(&mut at(home.path(), &["tools"]));
    assert!(told.contains("· waiting for slow, slower, silent\n"), "{told}");
    for name in ["the MCP server slow", "the MCP server dead", "the A2A agent silent"] {
        assert!(told.contains(&format!("{name} cannot be used")), "{told}");
    }
    // One after the other they take 15 s at least.
    assert!(begun.elapsed() < std::time::Duration::from_secs(14), "{:?}", begun.elapsed());
}

/// A service that answers with a PDF, and its configuration.
async fn service() -> (MockServer, tempfile::TempDir) {
    let server = MockServer::start().await;
    let pdf = ResponseTemplate::new(200)
        .set_body_raw(PDF, "application/pdf")
        .insert_header("content-disposition", "attachment; filename=\"lease.pdf\"");
    Mock::given(method("GET")).and(path("/leases/7")).respond_with(pdf).mount(&server).await;
    let noted = ResponseTemplate::new(200).set_body_json(json!({ "noted": true }));
    Mock::given(method("POST")).and(path("/notes")).respond_with(noted).mount(&server).await;
    let home = tempfile::tempdir().unwrap();
    let file = format!(
        "[http.leases]\nbase_url = '{}'\nprivate_addresses = true\n[[http.leases.endpoints]]\nname = 'leases.get'\n\
         path = '/leases/{{id}}'\ndescription = 'Gets a lease.'\narguments.id = {{ type = 'integer' }}\n\
         [[http.leases.endpoints]]\nname = 'leases.note'\nmethod = 'POST'\npath = '/notes'\n\
         description = 'Notes something.'\narguments.text = {{ type = 'string' }}\n",
        server.uri()
    );
    fs::write(home.path().join("attache.toml"), file).unwrap();
    (server, home)
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_shown_and_called_with_their_documents() {
    let (server, home) = service().await;
    let run = |arguments: &[&str]| output(&mut at(home.path(), arguments));
    let (code, listed, _) = run(&["tools", "--json", "-f", "docs/examples/inbox"]);
    assert_eq!(code, 0);
    let tools: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{listed}"));
    let get = of("leases_get");
    assert_eq!((get["source"].as_str(), get["effect"].as_str()), (Some("http leases"), Some("read")));
    assert_eq!(get["before"], "runs");
    assert_eq!(of("leases_note")["before"], "asks you");
    assert!(get["tokens"].as_u64().unwrap() > 10 && get["input_schema"]["properties"]["id"].is_object());
    assert_eq!(of("read_file")["source"], "attache");
    let (_, table, _) = run(&["tools"]);
    assert!(table.contains("leases_get") && !table.contains("read_file"), "{table}");
    let (code, shown, _) = run(&["tools", "show", "leases_get"]);
    assert!(code == 0 && shown.contains("Gets a lease.") && shown.contains("\"id\""), "{shown}");
    let (code, _, told) = run(&["tools", "show", "leases"]);
    assert!(code == 3 && told.contains("did you mean leases_get"), "{told}");

    // Tools of this machine say what they do, too.
    let file = home.path().join("attache.toml");
    let before = fs::read_to_string(&file).unwrap();
    let more =
        "[tools]\nwrite = true\n[approvals]\ndeny = ['leases_note']\n[mcp.lacks]\nurl = '${NOT_SET}'\n";
    fs::write(&file, format!("{before}{more}")).unwrap();
    let (code, listed, told) = run(&["tools", "--json", "-f", "docs/examples/inbox"]);
    assert!(code == 1 && told.contains("left out:") && told.contains("NOT_SET"), "{told}");
    let tools: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let write = tools.iter().find(|tool| tool["name"] == "write_file").unwrap();
    assert_eq!(write["before"], "asks you");
    // A tool that never runs does not run by hand.
    let (code, said, _) = run(&["tools", "call", "leases_note", "{\"text\": \"x\"}"]);
    assert!(code == 1 && said.contains("does not allow this tool"), "{said}");
    assert!(server.received_requests().await.unwrap().is_empty());
    fs::write(&file, before).unwrap();

    let folder = home.path().join("out");
    let save = folder.to_str().unwrap();
    let (code, said, told) = run(&["tools", "call", "leases_get", "{\"id\": 7}", "--save", save]);
    assert!(code == 0 && said.contains("[lease.pdf: application/pdf, 15 bytes"), "{said}{told}");
    assert_eq!(fs::read(folder.join("lease.pdf")).unwrap(), PDF);
    // Nothing is written over.
    assert_eq!(run(&["tools", "call", "leases_get", "{\"id\": 7}", "--save", save]).0, 1);
    let (code, said, _) = run(&["tools", "call", "leases_get", "{\"id\": 8}"]);
    assert!(code == 1 && said.contains("404"), "{said}");
    let (code, said, _) = run(&["tools", "call", "leases_get", "{\"ID\": \"x\"}"]);
    assert!(code == 1 && said.contains("id"), "{said}");
    assert_eq!(run(&["tools", "call", "leases_get", "seven"]).0, 3);
    let (_, json, _) = run(&["tools", "call", "leases_get", "{\"id\": 7}", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["documents"][0]["media_type"], "application/pdf");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_effects_is_not_run_where_nobody_can_approve_it() {
    let (server, home) = service().await;
    let mock = MockProvider::start().await.unwrap();
    let url = format!("{}/v1", mock.url());
    let ask = |more: &[&str]| {
        mock.enqueue(Reply::new().call("call_1", "leases_note", json!({ "text": "hello" })));
        let arguments = [
            &[
                "ask",
                "Note it",
                "-a",
                "docs/examples/inbox/meeting-notes-2026-04-21.md",
                "-m",
                "openai-chat/gpt-4o",
                "--base-url",
                &url,
            ],
            more,
        ];
        let (home, arguments) =
            (home.path().to_owned(), arguments.concat().into_iter().map(str::to_owned).collect::<Vec<_>>());
        tokio::task::spawn_blocking(move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            output(at(&home, &arguments).env("OPENAI_API_KEY", "sk-canary-1234567890"))
        })
    };
    let noted = || async { server.received_requests().await.unwrap().len() };
    let (code, _, told) = ask(&[]).await.unwrap();
    assert!(code == 4 && told.contains("`--allow leases"), "{told}");
    assert_eq!(noted().await, 0);
    let (code, said, _) = ask(&["--json"]).await.unwrap();
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap_or_else(|| panic!("{said}"));
    let (asked, end) = (of("approval_requested"), of("finished"));
    assert_eq!(
        (code, &asked["name"], &asked["arguments"]["text"]),
        (4, &json!("leases.note"), &json!("hello"))
    );
    assert!(asked["expires_at"].is_u64() && asked["path"].as_array().unwrap().is_empty(), "{asked}");
    assert_eq!(end["reason"], "pending_approval");
    assert_eq!(end["approvals"][0]["approval_id"], asked["approval_id"]);
    assert_eq!(end["pending"][0]["call_id"], asked["call_id"]);
    assert_eq!((&end["cost"]["known"], &end["unknown"]), (&json!(0.0), &json!([])));
    assert!(of("step_started")["message_id"].is_string());
    let allowed = ask(&["--allow", "leases*"]);
    mock.enqueue(Reply::new().text("Noted."));
    let (code, said, told) = allowed.await.unwrap();
    assert!(code == 0 && said.contains("Noted."), "{told}");
    assert_eq!(noted().await, 1);
}

// A tool that asks by itself, too, is allowed by its name.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_written_without_a_question_where_the_user_allows_it() {
    let mock = MockProvider::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("attache.toml");
    fs::write(&file, "[tools]\nwrite = true\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "there is something to read").unwrap();
    let url = format!("{}/v1", mock.url());
    let place = folder.path().to_str().unwrap().to_owned();
    let ask = |more: &[&str], runs: bool| {
        let call = json!({ "path": "b.txt", "content": "hello" });
        mock.enqueue(Reply::new().call("call_1", "write_file", call));
        if runs {
            mock.enqueue(Reply::new().text("Written."));
        }
        let arguments =
            [&["ask", "Write it", &place, "-m", "openai-chat/gpt-4o", "--base-url", &url], more].concat();
        let (home, arguments) =
            (home.path().to_owned(), arguments.into_iter().map(str::to_owned).collect::<Vec<_>>());
        tokio::task::spawn_blocking(move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            output(at(&home, &arguments).env("OPENAI_API_KEY", "sk-canary-1234567890"))
        })
    };
    let (code, said, told) = ask(&["--allow", "write_file"], true).await.unwrap();
    assert!(code == 0 && said.contains("Written."), "{told}");
    assert_eq!(fs::read_to_string(folder.path().join("b.txt")).unwrap(), "hello");
    fs::remove_file(folder.path().join("b.txt")).unwrap();
    let (code, _, told) = ask(&[], false).await.unwrap();
    assert!(code == 4 && told.contains("`--allow write_file` lets it run without asking"), "{told}");
    // Where nothing is asked about, this is not, either.
    let never = "[tools]\nwrite = true\n[approvals]\ndefault = 'never'\n";
    fs::write(&file, never).unwrap();
    let (code, said, told) = ask(&[], true).await.unwrap();
    assert!(code == 0 && said.contains("Written."), "{told}");
    assert_eq!(fs::read_to_string(folder.path().join("b.txt")).unwrap(), "hello");
    let (code, _, told) = ask(&["--ask-first"], false).await.unwrap();
    assert!(code == 4, "{told}");
    assert!(told.contains("--ask-first requires approval of each call"), "{told}");
    fs::write(&file, format!("{never}ask = ['write_*']\n")).unwrap();
    let (code, _, told) = ask(&["--allow", "write_file"], false).await.unwrap();
    let why = "the configuration requires approval of each call of it";
    assert!(code == 4 && told.contains(why) && !told.contains("beforehand"), "{told}");
    fs::write(&file, "[tools]\nwrite = true\n[approvals]\nallow = ['write_*']\n").unwrap();
    let (_, listed, _) = output(&mut at(home.path(), &["tools", "--json", "-f", &place]));
    let of = |name: &str| {
        let tools = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        tools.into_iter().find(|tool| tool["name"] == name).unwrap()["before"].clone()
    };
    assert_eq!((of("write_file"), of("edit_file")), (json!("runs"), json!("asks you")));
}

// An answer without a server's tools is another answer, whoever reads it.
#[test]
fn a_server_that_cannot_be_used_is_told_also_to_programs_and_where_little_is() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("attache.toml"), "[mcp.gone]\ncommand = 'no-such-program-anywhere'\n")
        .unwrap();
    let ask = |option: &str| {
        output(&mut at(
            home.path(),
            &["ask", "What is it?", "docs/examples/inbox", "-m", "offline/extractive", option],
        ))
    };
    let (code, said, told) = ask("--json");
    assert_eq!(code, 0, "{told}");
    let first: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!((&first["type"], &first["code"]), (&json!("warning"), &json!("tools_missing")));
    assert!(first["message"].as_str().unwrap().contains("the MCP server gone cannot be used"), "{first}");
    let (code, _, told) = ask("-q");
    assert!(code == 0 && told.contains("! the MCP server gone cannot be used"), "{told}");
}

// The cause of a failure is for operators: the model does not read it.
#[tokio::test(flavor = "multi_thread")]
async fn warnings_of_the_library_are_told_once_and_the_log_where_it_is_asked_for() {
    const WARNING: &str = "a tool failed";
    let mock = MockProvider::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    // Nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let file = format!(
        "[http.gone]\nbase_url = 'http://127.0.0.1:{port}'\nprivate_addresses = true\n[[http.gone.endpoints]]\n\
         name = 'look'\npath = '/'\ndescription = 'Looks.'\n"
    );
    fs::write(home.path().join("attache.toml"), file).unwrap();
    let url = format!("{}/v1", mock.url());
    let ask = |options: &[&str], log: Option<&'static str>| {
        mock.enqueue(Reply::new().call("call_1", "look", json!({})).call("call_2", "look", json!({})));
        mock.enqueue(Reply::new().text("Nothing."));
        let arguments =
            ["ask", "Look", "docs/examples/inbox", "-m", "openai-chat/gpt-4o", "--base-url", &url];
        let arguments: Vec<String> = arguments.iter().chain(options).map(|&word| word.to_owned()).collect();
        let home = home.path().to_owned();
        tokio::task::spawn_blocking(move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let mut command = at(&home, &arguments);
            command.env("OPENAI_API_KEY", "sk-canary-1234567890").envs(log.map(|log| ("ATTACHE_LOG", log)));
            output(&mut command)
        })
    };
    let (code, said, told) = ask(&[], None).await.unwrap();
    assert_eq!((code, told.matches(WARNING).count()), (0, 1), "{told}");
    assert!(told.contains(&format!("! {WARNING} (tool: look")) && said == "Nothing.\n", "{said}{told}");
    let (code, _, told) = ask(&["-q"], None).await.unwrap();
    assert_eq!((code, &*told), (0, ""));
    let (code, said, told) = ask(&["--json"], None).await.unwrap();
    assert_eq!((code, &*told), (0, ""));
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let warnings: Vec<&Value> = lines.iter().filter(|line| line["code"] == "log").collect();
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(warnings[0]["type"] == "warning" && warnings[0]["message"].as_str().unwrap().contains(WARNING));
    assert_eq!(lines.last().unwrap()["type"], "finished");
    let (code, _, told) = ask(&["-q"], Some("attache=warn")).await.unwrap();
    assert!(code == 0 && told.contains("WARN attache_agent") && told.contains(WARNING), "{told}");
    let (code, _, told) = ask(&[], Some("attache=loud")).await.unwrap();
    assert!(code == 2 && told.contains("ATTACHE_LOG"), "{told}");
    let (code, said, _) = ask(&["--json"], Some("attache=loud")).await.unwrap();
    let failed: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &failed["type"], &failed["exit_code"]), (2, &json!("error"), &json!(2)), "{said}");
}

#[test]
fn tools_that_are_not_offered_are_told_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    let document = json!({"openapi": "3.1.0", "servers": [{"url": "https://h.example"}], "paths": {
        "/a": {"get": {"operationId": "new"}, "put": {"operationId": "old", "deprecated": true}},
    }});
    fs::write(home.path().join("api.json"), document.to_string()).unwrap();
    fs::write(home.path().join("attache.toml"), "[http.api]\nopenapi = 'api.json'\n").unwrap();
    let (code, listed, told) = output(&mut at(home.path(), &["tools"]));
    assert!(code == 0 && listed.contains("new"), "{told}");
    assert!(told.contains("! http api lacks old: it is deprecated"), "{told}");
    let (code, _, told) = output(&mut at(home.path(), &["config", "check"]));
    assert!(code == 0 && told.contains("http.api: the operation old: it is deprecated"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_a2a_agent_of_the_configuration_is_a_tool_with_its_documents() {
    let server = MockServer::start().await;
    let card = json!({
        "name": "Leases", "description": "Knows all leases.", "version": "1.0.0",
        "supportedInterfaces": [{"url": server.uri(), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": false},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "find", "name": "Find", "description": "Finds leases", "tags": ["leases"]}],
    });
    let card = ResponseTemplate::new(200).set_body_json(card);
    Mock::given(method("GET"))
        .and(path("/.well-known/agent-card.json"))
        .respond_with(card)
        .mount(&server)
        .await;
    let parts =
        json!([{"text": "here"}, {"raw": "aGVsbG8=", "filename": "a.txt", "mediaType": "text/plain"}]);
    let message = json!({"messageId": "m", "contextId": "c", "role": "ROLE_AGENT", "parts": parts});
    let reply = json!({"jsonrpc": "2.0", "id": "1", "result": {"message": message}});
    let reply = ResponseTemplate::new(200).set_body_json(reply);
    Mock::given(method("POST")).respond_with(reply).mount(&server).await;
    let home = tempfile::tempdir().unwrap();
    let file = format!(
        "[a2a.leases]\nurl = '{}'\nbearer = '${{LEASES_TOKEN}}'\n[a2a.gone]\nurl = 'http://127.0.0.1:1'\n",
        server.uri()
    );
    fs::write(home.path().join("attache.toml"), file).unwrap();
    let run = |arguments: &[&str]| {
        output(at(home.path(), arguments).env("LEASES_TOKEN", "canary-token-1234567890"))
    };
    // An agent that is not there costs its own tool.
    let (code, listed, told) = run(&["tools", "--json"]);
    assert!(code == 1 && told.contains("the A2A agent gone cannot be used"), "{told}");
    let tools: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tool =
        tools.iter().find(|tool| tool["name"] == "a2a_leases___ask").unwrap_or_else(|| panic!("{listed}"));
    assert_eq!((tool["source"].as_str(), tool["before"].as_str()), (Some("a2a leases"), Some("asks you")));
    assert!(!format!("{listed}{told}").contains("canary"));
    let (_, said, told) = run(&["tools", "call", "a2a_leases___ask", "{\"message\": \"The bakery?\"}"]);
    assert!(said.contains("here") && said.contains("[a.txt: text/plain, 5 bytes]"), "{said}{told}");
    let requests = server.received_requests().await.unwrap();
    let asked = requests.iter().find(|request| request.method.as_str() == "POST").unwrap();
    assert_eq!(asked.headers["authorization"], "Bearer canary-token-1234567890");
}

// It may say why nothing goes on.
#[test]
fn warnings_that_come_before_a_setup_that_fails_are_told() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("attache.toml"), "[mcp.gone]\ncommand = ['/no/such/program']\n").unwrap();
    let asked = ["ask", "x", "docs/examples/inbox", "-m", "openai-chat/gpt-4o", "--session", "s"];
    let (code, told, _) = output(&mut at(home.path(), &[&asked[..], &["--json"]].concat()));
    assert_eq!(code, 3, "there is no key: {told}");
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place = |is: &dyn Fn(&Value) -> bool| lines.iter().position(is);
    let warned =
        place(&|line| line["code"] == "log" && line["message"].to_string().contains("not available"));
    let failed = place(&|line| line["type"] == "error");
    assert!(warned.is_some() && warned < failed, "{told}");
    for arguments in [&asked[..], &["chat", "docs/examples/inbox", "-m", "openai-chat/gpt-4o"]] {
        let (code, _, told) = output(&mut at(home.path(), arguments));
        assert_eq!(code, 3, "{told}");
        assert!(told.contains("! a server is not available"), "{arguments:?}: {told}");
        let (_, _, told) = output(at(home.path(), arguments).arg("-q"));
        assert!(!told.contains("a server is not available"), "{arguments:?}: {told}");
    }
}
