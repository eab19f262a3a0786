//! Words for people who mistyped, forgot or misread something.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::common::{attache, run, text};

/// A home with this configuration.
fn home(configuration: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("attache.toml"), configuration).unwrap();
    home
}

/// The exit code, the output and the lines beside it.
fn at(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = attache(arguments).env("ATTACHE_HOME", home).output().unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_mistyped_command_is_offered_as_it_was_perhaps_meant() {
    let told = text(&run(&["aks", "What is the rent?"]).stderr);
    assert!(told.contains("'ask'") && !told.contains("'keys'"), "{told}");
    let told = text(&run(&["config", "chek"]).stderr);
    assert!(told.contains("'check'"), "{told}");
}

#[test]
fn a_check_warns_of_what_it_does_not_refuse() {
    let home = home("[tools]\nfiles = ['/no/such/folder']\n");
    let (code, said, told) = at(home.path(), &["config", "check"]);
    assert!(code == 0 && said.contains("attache.toml: no errors, 1 warning"), "{said}");
    assert!(
        told.contains("attache.toml:2: tools.files[0] names /no/such/folder, which is not there"),
        "{told}"
    );
}

#[test]
fn a_check_tells_mistakes_of_all_sections_at_once() {
    let home = home(
        "[limits]\nstepz = 5\n[server]\nhost = '300.1.1.1'\n[capabilities.offline]\nuser.medai = []\ncontext_windw = 5\n",
    );
    let (code, _, told) = at(home.path(), &["config", "check"]);
    assert!(code == 3 && told.contains("the configuration has 4 problems"), "{told}");
    for place in
        [":2: limits.stepz", ":4: server.host", ":6: capabilities.offline.user.medai", ":7: capabilities"]
    {
        assert!(told.contains(place), "{place}: {told}");
    }
}

#[cfg(all(feature = "mcp", feature = "local-tools"))]
#[test]
fn a_call_that_succeeds_is_a_success_beside_a_server_that_is_down() {
    let home = home("[tools]\ncalculator = true\n[mcp.gone]\ncommand = 'no-such-program-of-anybody'\n");
    let down = "! the MCP server gone cannot be used: the server \"gone\" is not available: its program \
                \"no-such-program-of-anybody\" cannot be started: there is no such program";
    let call = |arguments: &str| at(home.path(), &["tools", "call", "calculate", arguments]);
    let (code, said, told) = call("{\"expression\": \"6 * 7\"}");
    assert!(code == 0 && said.contains("42") && told.contains(down), "{code} {said}{told}");
    assert_eq!(call("{\"expression\": \"6 *\"}").0, 1);
    // A list that lacks its tools is not whole.
    assert_eq!(at(home.path(), &["tools"]).0, 1);
}

#[test]
fn a_model_of_a_server_of_ones_own_has_the_servers_name() {
    let home =
        home("[providers.nimbus]\nbase_url = 'https://nimbus.example/v1'\n[models]\nbig = 'nimbus/large'\n");
    for model in ["nimbus/large", "big"] {
        let (_, said, told) =
            at(home.path(), &["ask", "What is it?", "docs/examples/inbox", "-m", model, "--dry-run"]);
        assert!(said.contains("The model would be nimbus/large."), "{said}{told}");
    }
    let (code, _, told) = at(
        home.path(),
        &["ask", "What is it?", "-a", "docs/examples/inbox/delivery-note-DN-5531.png", "-m", "nimbus/large"],
    );
    assert!(
        code != 0 && told.contains("cannot be shown to large:") && !told.contains("compatible/"),
        "{told}"
    );
}

// A company's own certificates: programs that MCP servers are installed with need them, too.
#[cfg(all(unix, feature = "mcp"))]
#[test]
fn a_server_is_passed_the_places_of_certificates_and_no_proxy() {
    let script = "echo ca=$NODE_EXTRA_CA_CERTS,$SSL_CERT_FILE proxy=$HTTPS_PROXY. >&2; exit 1";
    let home = home(&format!("[mcp.own]\ncommand = ['/bin/sh', '-c', '{script}']\n"));
    let output = attache(&["tools"])
        .env("ATTACHE_HOME", home.path())
        .env("NODE_EXTRA_CA_CERTS", "/etc/company.pem")
        .env("SSL_CERT_FILE", "/etc/all.pem")
        .env("HTTPS_PROXY", "http://ann:secret@proxy.example")
        .output()
        .unwrap();
    let told = text(&output.stderr);
    assert!(told.contains("it says: ca=/etc/company.pem,/etc/all.pem proxy=."), "{told}");
}
