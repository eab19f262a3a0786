//! The configuration that the guide page on providers of one's own shows makes a model.
#![allow(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

use attache_models::Registry;
use attache_transport::Environment;

#[test]
fn the_profile_of_the_page_makes_a_model() {
    let keys = |name: &str| (name == "WORK_KEY").then(|| "a-key".to_owned());
    let registry = Registry::bundled().with_environment(Environment::new(keys));
    let registry = registry.with_config(include_str!("profile.toml")).unwrap();
    assert_eq!(registry.model("work/our-7b").unwrap().id(), "work/our-7b");
    let known = registry.capabilities("work/our-7b").unwrap();
    assert_eq!((known.user.media.len(), known.context_window), (1, Some(32_000)));
}
