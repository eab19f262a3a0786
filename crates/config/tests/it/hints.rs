//! Messages that name the place, the value and what was perhaps meant.

use attache_models::Registry;

use crate::{config, mistakes};

fn of_models(text: &str) -> Vec<String> {
    let problems = config(text).unwrap().registry(Registry::bundled()).unwrap_err();
    problems.iter().map(|problem| problem.to_string().replace("/project/", "")).collect()
}

#[test]
fn a_host_that_is_no_address_is_told_with_its_line() {
    assert_eq!(
        mistakes("[server]\nport = 80\nhost = '300.1.1.1'\n"),
        [
            "attache.toml:3: server.host must be an IP address, not \"300.1.1.1\"; such as `127.0.0.1`, or `0.0.0.0` for \
          all addresses of the machine"
        ]
    );
    assert!(config("[server]\nhost = '::1'\n").is_ok());
}

#[test]
fn short_names_and_words_beside_tables_have_a_hint() {
    assert_eq!(
        mistakes("[mpc.files]\ncommand = 'x'\n"),
        ["attache.toml:1: mpc is not known; did you mean `mcp`?"]
    );
    assert_eq!(
        mistakes("[server]\ndisconnect = 'detatch'\n"),
        [
            "attache.toml:2: server.disconnect must be \"cancel\" or \"detach\" or a table of `grace_seconds`, not \
          \"detatch\"; did you mean `detach`?"
        ]
    );
    let told = mistakes("[server]\nbusy = 'refused'\n").concat();
    assert!(told.ends_with("did you mean `refuse`?"), "{told}");
    let told = mistakes("[approvals]\ndefault = 'efects'\n").concat();
    assert!(told.ends_with("did you mean `effects`?"), "{told}");
}

// A78
#[test]
fn every_mistake_in_rows_of_capabilities_is_told_with_its_hint() {
    let text = "\
[capabilities.openai-chat]
user.medai = ['text']
context_windw = 5
max_output_tokens = 'big'

[capabilities.openai-chat.models.'a*']
user.medai = ['text']
context_window = -1
";
    assert_eq!(
        of_models(text),
        [
            "attache.toml:2: capabilities.openai-chat.user.medai is not known; did you mean `media`?",
            "attache.toml:3: capabilities.openai-chat.context_windw is not known; did you mean `context_window`?",
            "attache.toml:4: capabilities.openai-chat.max_output_tokens is wrong: a text, expected a whole number of at least 0",
            "attache.toml:7: capabilities.openai-chat.models.a*.user.medai is not known; did you mean `media`?",
            "attache.toml:8: capabilities.openai-chat.models.a*.context_window is wrong: integer `-1`, expected a whole \
             number of at least 0",
        ]
    );
}

// A78
#[test]
fn names_of_profiles_and_families_have_a_hint() {
    let told = of_models("[providers.n]\nlike = 'opnai-chat'\nbase_url = 'https://n.example'\n");
    assert_eq!(
        told,
        [
            "attache.toml:2: providers.n.like is wrong: it is like opnai-chat, which is not there; did you mean \
          `openai-chat`?"
        ]
    );
    let told =
        of_models("[providers.nimbus]\nbase_url = 'https://n.example'\n[capabilities.nimbs]\ntools = true\n");
    assert!(told.concat().ends_with("did you mean `nimbus`?"), "{told:?}");
    let told = of_models("[capabilities.openai-chat.models.'a*']\nlike = 'gpt-4.x*'\n").concat();
    assert!(
        told.starts_with("attache.toml:2: capabilities.openai-chat.models.a*.like is wrong: it is like"),
        "{told}"
    );
}

// A78
#[test]
fn the_base_url_of_a_server_is_an_address() {
    for url in ["llm.example", "127.0.0.1:8911/v1", "htp://llm.example"] {
        assert_eq!(
            of_models(&format!("[providers.n]\nlike = 'openai-chat'\nbase_url = '{url}'\n")),
            [format!(
                "attache.toml:3: providers.n.base_url must begin with https:// or http://, not {url:?}"
            )]
        );
    }
}

#[test]
fn every_mistake_of_a_service_is_told_at_its_line() {
    let text = "\
[http.a]
base_url = 'https://a.example'

[[http.a.endpoints]]
name = 'a'
path = '/x'
description = 'd'
method = 'PSOT'
arguments = { town = { type = 'strng' } }
required = ['twn']

[[http.a.endpoints]]
name = 'b'
path = '/{x}'
description = 'd'
";
    assert_eq!(
        mistakes(text),
        [
            "attache.toml:8: http.a.endpoints[0].method \"PSOT\" is no method; did you mean `POST`?",
            "attache.toml:9: http.a.endpoints[0].arguments.town is no schema: there is no type \"strng\"; did you mean \
             `string`?",
            "attache.toml:10: http.a.endpoints[0].required[0] \"twn\" is required and is none of its arguments; did you \
             mean `town`?",
            "attache.toml:12: http.a.endpoints[1] cannot be made: the tool \"b\" cannot be: nothing says what \"x\" in its path is",
        ]
    );
}
