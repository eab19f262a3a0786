//! The configurations that pages of the guide show make models.

use attache_core::{ChatRequest, ErrorKind, Message, ModelSettings};
use attache_models::Registry;
use attache_transport::{Ask, Environment};
use serde_json::Value;

#[test]
fn the_profile_of_the_page_makes_a_model() {
    let keys = |name: &str| (name == "WORK_KEY").then(|| "a-key".to_owned());
    let registry = Registry::bundled().with_environment(Environment::new(keys));
    let registry = registry.with_config(include_str!("profile.toml")).unwrap();
    assert_eq!(registry.model("work/our-7b").unwrap().id(), "work/our-7b");
    let known = registry.capabilities("work/our-7b").unwrap();
    assert_eq!((known.user.media.len(), known.context_window), (1, Some(32_000)));
}

// Variables of another server would lead the requests of this one, and its key, elsewhere.
#[test]
fn a_server_with_an_address_of_its_own_is_not_moved_by_variables_of_another() {
    let environment = Environment::new(|name| {
        let value = match name {
            "OPENAI_BASE_URL" | "AZURE_OPENAI_ENDPOINT" => "https://elsewhere.example/v1",
            "OPENAI_ORG_ID" | "OPENAI_PROJECT_ID" | "AZURE_OPENAI_AD_TOKEN" => "canary",
            "WORK_KEY" => "a-key",
            "MOVED_URL" => "https://moved.example/v1",
            _ => return None,
        };
        Some(value.to_owned())
    });
    let registry = Registry::bundled().with_environment(environment);
    let registry = registry.with_config(include_str!("profile.toml")).unwrap();
    let servers = "
[providers.next]
like = 'work'
[providers.moved]
like = 'openai-chat'
base_url = 'https://llm.example/v1'
base_url_variable = 'MOVED_URL'
header_variables.X-Team = 'OPENAI_ORG_ID'
[providers.cloud]
like = 'azure'
base_url = 'https://llm.example/v1'
key.variables = ['CLOUD_KEY']
[providers.deployment]
like = 'azure'
";
    let registry = registry.with_config(servers).unwrap();
    for (model, url, headers) in [
        ("work/m", "https://llm.example/v1/chat/completions", &[][..]),
        ("next/m", "https://llm.example/v1/chat/completions", &[]),
        ("moved/m", "https://moved.example/v1/chat/completions", &[("x-team", "canary")]),
        ("cloud/m", "https://llm.example/v1/chat/completions", &[]),
        ("deployment/m", "https://elsewhere.example/v1/openai/v1/chat/completions", &[]),
        (
            "openai-chat/m",
            "https://elsewhere.example/v1/chat/completions",
            &[("openai-organization", "canary"), ("openai-project", "canary")],
        ),
    ] {
        let request = ChatRequest::new([Message::user("Hello").shared()]);
        let codec = registry.codec(model).unwrap();
        let parts = codec.encode(Ask::new(&request, &ModelSettings::new(), None)).unwrap().parts;
        // Values are secrets wherever a request is shown.
        let shown: Vec<_> = parts.shown_headers().filter(|(name, _)| *name != "content-type").collect();
        assert!(shown.iter().all(|(_, value)| *value == "***"), "{shown:?}");
        let sent = parts.to_http().unwrap();
        let sent: Vec<_> =
            shown.iter().map(|(name, _)| (*name, sent.headers()[*name].to_str().unwrap())).collect();
        assert_eq!((parts.url.as_str(), sent.as_slice()), (url, headers), "{model}");
        assert!(!format!("{codec:?}").contains("canary"), "{codec:?}");
    }
    let proxied = registry.clone().with_base_url("https://user:canary@proxy.example/v1");
    let codec = proxied.codec("work/m").unwrap();
    assert!(!format!("{proxied:?} {codec:?}").contains("canary"), "{proxied:?} {codec:?}");
    assert!(registry.model("cloud/m").is_err(), "a token of Azure is no key of this server");
    assert!(registry.model("work/m").is_ok() && registry.model("deployment/m").is_ok());
}

const ADDING: &str = include_str!("adding.toml");

#[test]
fn a_model_and_a_server_are_added_as_the_page_says() {
    let page = include_str!("../../../../docs/guide/adding-a-model.md");
    assert!(page.contains(ADDING.trim_end()), "the page shows this configuration");
    let nothing = Environment::new(|_| None);
    let registry = Registry::bundled().with_environment(nothing).with_config(ADDING).unwrap();

    let ours = registry.capabilities("work/our-70b-instruct").unwrap();
    assert_eq!((ours.row.as_str(), ours.context_window, ours.stop), ("our-70b*", Some(32_000), false));
    assert!(ours.sampling && !ours.user.media.iter().any(|media| media == "application/pdf"));
    assert_eq!(ours.files.max_request_bytes, Some(10_000_000));
    // The other models of the server are those of the family that it is like.
    let known = registry.capabilities("work/gpt-5.2").unwrap();
    assert_eq!(known.reasoning, registry.capabilities("openai-chat/gpt-5.2").unwrap().reasoning);
    let deployment = registry.capabilities("azure/our-deployment").unwrap();
    assert_eq!((deployment.reasoning.as_slice(), deployment.sampling), (known.reasoning.as_slice(), false));

    let codec = registry.codec("work/our-70b-instruct").unwrap();
    let request = ChatRequest::new([Message::user("Hello").shared()]);
    let encoded = codec.encode(Ask::new(&request, &ModelSettings::new(), None)).unwrap();
    assert_eq!(encoded.parts.url, "https://llm.example/v1/chat/completions");
    let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
    assert_eq!((&body["model"], &body["chat_template"]), (&"our-70b-instruct".into(), &"ours".into()));
    let mut stop = ModelSettings::new();
    stop.stop = Some(vec!["END".to_owned()]);
    assert_eq!(codec.encode(Ask::new(&request, &stop, None)).unwrap_err().kind(), ErrorKind::Unsupported);
}
