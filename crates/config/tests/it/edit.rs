use attache_config::{NewServer, with_mcp_server, without_mcp_server};

const TEXT: &str = "# mine\n[models]\ndefault = 'a/b' # the best\n\n[mcp.old]\ncommand = 'x' # keep\n";

#[test]
fn servers_are_added_and_taken_out_with_all_comments_kept() {
    let mut server = NewServer::command(["npx", "-y", "server"]);
    server.env.push(("GITHUB_TOKEN".to_owned(), "${GITHUB_TOKEN}".to_owned()));
    let added = with_mcp_server(TEXT, "github", &server).unwrap();
    assert!(added.starts_with(TEXT), "{added}");
    assert!(added.contains("[mcp.github]\ncommand = \"npx\"\nargs = [\"-y\", \"server\"]\n"), "{added}");
    assert!(added.contains("env = { GITHUB_TOKEN = \"${GITHUB_TOKEN}\" }"), "{added}");
    assert!(with_mcp_server(&added, "github", &server).is_err());
    let taken = without_mcp_server(&added, "github").unwrap().unwrap();
    assert_eq!(taken.trim_end(), TEXT.trim_end());
    assert_eq!(without_mcp_server(TEXT, "none").unwrap(), None);
}

#[test]
fn a_server_is_added_to_an_empty_file_and_beside_an_import() {
    let mut server = NewServer::url("https://a.example/mcp");
    server.bearer = Some("${TOKEN}".to_owned());
    let added = with_mcp_server("", "a", &server).unwrap();
    assert_eq!(added, "[mcp.a]\nurl = \"https://a.example/mcp\"\nbearer = \"${TOKEN}\"\n");
    assert!(crate::config(&added).is_ok());
    let added = with_mcp_server("[mcp]\nimport = []\n", "a", &server).unwrap();
    assert!(crate::config(&added).is_ok(), "{added}");
    assert_eq!(without_mcp_server("[mcp]\nimport = []\n", "import").unwrap(), None);
    assert!(with_mcp_server("mcp = 3", "a", &server).is_err());
}
