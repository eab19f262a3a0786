//! Models by configured names: switching is configuration, and agents do not notice (A78, E20).

use attache::Agent;
use attache::models::{Registry, Unresolved};
use attache_conformance::{Api, MockProvider, Reply, Rules, Server};
use attache_core::{Message, ModelHandle};
use attache_testkit::{ScriptedModel, Turn};
use attache_transport::Environment;

/// A registry whose configuration says where the models are.
fn registry(default: &str, openai: &MockProvider, zhipu: &MockProvider, minimax: &MockProvider) -> Registry {
    let config = format!(
        "[models]
default = '{default}'
[providers.ours]
like = 'openai-chat'
base_url = '{}/v1'
base_url_variable = ''
key.variables = ['KEY']
[providers.glm]
like = 'zhipu'
base_url = '{}/api/paas/v4'
base_url_variable = ''
key.variables = ['KEY']
[providers.mm]
like = 'minimax'
base_url = '{}/v1'
base_url_variable = ''
key.variables = ['KEY']",
        openai.url(),
        zhipu.url(),
        minimax.url(),
    );
    let key = |name: &str| (name == "KEY").then(|| "sk-canary".to_owned());
    Registry::bundled()
        .with_provider("custom", "custom", |_, _| {
            Ok(ModelHandle::new(ScriptedModel::new([Turn::text("custom")]).unverified()))
        })
        .with_environment(Environment::new(key))
        .with_config(&config)
        .unwrap()
}

// A78: OpenAI, Zhipu GLM, MiniMax and an adapter of somebody's own, by a name in the configuration
#[tokio::test]
async fn switching_is_configuration_only() {
    let start = |rules: Rules| MockProvider::start_with(Some(rules));
    let openai = start(Rules::new()).await.unwrap();
    let zhipu = start(Rules::for_server(Server::Zhipu)).await.unwrap();
    let minimax = start(Rules::for_server(Server::MiniMax)).await.unwrap();
    for (mock, name) in [(&openai, "openai"), (&zhipu, "glm"), (&minimax, "minimax")] {
        mock.respond_with(move |_| Reply::new().text(name));
    }
    let mut seen = [0; 3];
    for (default, answer) in [
        ("ours/gpt-4o", "openai"),
        ("glm/glm-4.7", "glm"),
        ("mm/MiniMax-M2.7", "minimax"),
        ("custom/any", "custom"),
    ] {
        // The program is the same.
        let registry = registry(default, &openai, &zhipu, &minimax);
        let agent = Agent::builder(registry.model("default").unwrap()).system("Be brief.").build().unwrap();
        let outcome = agent
            .run(attache_agent::RunInput::new([Message::user("Who?").shared()]))
            .outcome()
            .await
            .unwrap();
        assert_eq!(outcome.text, answer, "{default}");
        for (at, (mock, name)) in
            [(&openai, "openai"), (&zhipu, "glm"), (&minimax, "minimax")].iter().enumerate()
        {
            seen[at] += usize::from(answer == *name);
            assert_eq!(mock.requests().len(), seen[at], "{default}");
            assert!(mock.violations().is_empty(), "{default}: {:?}", mock.violations());
            assert!(mock.requests().iter().all(|request| request.api == Some(Api::ChatCompletions)));
        }
    }
}

// A78: a name that nobody knows fails at the start, with the names there are
#[tokio::test]
async fn unknown_names_fail_at_the_start() {
    let mock = MockProvider::start().await.unwrap();
    let error = registry("glmm/glm-4.7", &mock, &mock, &mock).model("default").unwrap_err();
    assert!(
        matches!(&error.reason, Unresolved::NoProvider(near) if near.contains(&"glm/glm-4.7".to_owned())),
        "{error:?}"
    );
    let error = registry("ours/gpt-4o", &mock, &mock, &mock).model("nobody/x").unwrap_err().to_string();
    for name in ["anthropic", "custom", "glm", "mm", "ours"] {
        assert!(error.contains(name), "{name} in {error}");
    }
    assert!(mock.requests().is_empty());
}
