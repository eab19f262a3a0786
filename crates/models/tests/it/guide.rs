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
