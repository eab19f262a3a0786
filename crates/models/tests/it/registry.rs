//! Names that lead to models.

use attache_core::capability::Matrix;
use attache_core::{ChatRequest, ErrorKind, MediaType, Message};
use attache_models::{ConfigError, Registry, Unresolved};
use attache_transport::{Ask, Environment};

fn registry() -> Registry {
    let keys = |name: &str| match name {
        "ANTHROPIC_API_KEY" => Some("canary-key".to_owned()),
        "WORK_KEY" => Some("canary-work".to_owned()),
        _ => None,
    };
    Registry::bundled().with_environment(Environment::new(keys))
}

const CONFIG: &str = "
[providers.work]
like = 'openai-chat'
base_url = 'https://llm.example/v1'
key.variables = ['WORK_KEY']

[models]
fast = 'work/small'
default = 'fast'

[capabilities.openai-chat.models.'small']
user.media = ['text']
";

// A78
#[test]
fn switching_is_configuration() {
    let registry = registry().with_config(CONFIG).unwrap();
    for (name, id) in [
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("offline/extractive", "offline/extractive"),
        ("work/small", "work/small"),
        ("default", "work/small"),
    ] {
        assert_eq!(registry.model(name).unwrap().id(), id);
    }
    let pdf = MediaType::parse("application/pdf").unwrap();
    assert!(!registry.capabilities("fast").unwrap().user.accepts(&pdf));
    assert!(registry.capabilities("work/other").unwrap().user.accepts(&pdf));
    assert!(!format!("{registry:?} {:?}", registry.model("fast").unwrap()).contains("canary"));
}

// A78, "unknown name → start-up error listing names"
#[test]
fn unknown_names_are_answered_with_near_ones() {
    let registry = registry();
    let near = |name: &str| match registry.model(name).unwrap_err().reason {
        Unresolved::NoProvider(near) => near,
        other => panic!("{other:?}"),
    };
    assert_eq!(near("antropic/claude-opus-5")[0], "anthropic/claude-opus-5");
    assert!(near("openai-chta/gpt-4o").contains(&"openai-chat/gpt-4o".to_owned()));
    assert_eq!(near("zzz/x"), Vec::<String>::new());
    let text = registry.model("zzz/x").unwrap_err().to_string();
    assert!(text.contains("anthropic") && text.contains("offline"), "{text}");
    let Unresolved::NotAModel(near) = registry.model("gpt-4o").unwrap_err().reason else {
        panic!("another reason")
    };
    assert!(near.contains(&"openai-chat/gpt-4o".to_owned()), "{near:?}");
    assert!(matches!(registry.model("anthropic/ ").unwrap_err().reason, Unresolved::NoModel));
}

// P02
#[test]
fn a_missing_key_is_named_and_a_codec_needs_none() {
    let registry = registry();
    match registry.model("openai-chat/gpt-4o").unwrap_err().reason {
        Unresolved::Setup(error) => {
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.message().contains("OPENAI_API_KEY"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(registry.codec("openai-chat/gpt-4o").unwrap().model_id(), "openai-chat/gpt-4o");
    assert!(matches!(registry.codec("offline/x").unwrap_err().reason, Unresolved::NoWire));
    let moved = registry.with_base_url("http://localhost:1");
    assert!(matches!(moved.model("offline/x").unwrap_err().reason, Unresolved::NoWire));
    assert!(moved.model("anthropic/claude-opus-5").is_ok());
}

#[test]
fn a_wrong_configuration_says_where() {
    let problem = |text: &str| Registry::bundled().with_config(text).unwrap_err();
    assert!(matches!(problem("[model]\na = 'b/c'"), ConfigError::Syntax(_)));
    assert!(problem("[providers.x]\nkee = 1").to_string().contains("the profile x is not valid"));
    assert!(problem("[capabilities.x]\nuser = 1").to_string().contains("the capability row x"));
    assert!(matches!(problem("[models]\n'a/b' = 'offline/x'"), ConfigError::Name(_)));
    // The characters `${KEY}` would be sent as the key.
    let unfilled = problem("[providers.x]\nheaders = { X-Api-Key = '${KEY}' }").to_string();
    assert!(unfilled.contains("the profile x") && unfilled.contains("${KEY}"), "{unfilled}");
    // Names that lead in a circle end somewhere.
    let circle = Registry::empty().with_name("a", "b").with_name("b", "a");
    assert!(matches!(circle.model("a").unwrap_err().reason, Unresolved::NotAModel(_)));
}

// A `main` that returns an error prints it with `Debug`.
#[test]
fn a_main_that_fails_prints_the_words_for_people() {
    let bare = registry().with_environment(Environment::new(|_| None));
    let error: Box<dyn std::error::Error> = bare.model("anthropic/claude-opus-5").unwrap_err().into();
    assert!(error.to_string().contains("ANTHROPIC_API_KEY"), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn uploads_are_one_switch() {
    let registry = registry();
    let from = |registry: &Registry, name| registry.model(name).unwrap().capabilities().files.upload_from;
    assert_eq!(from(&registry, "anthropic/claude-opus-5"), None);
    let switched = registry.clone().with_config("uploads = '2 MiB'").unwrap();
    assert_eq!(from(&switched, "anthropic/claude-opus-5"), Some(2 << 20));
    assert_eq!(from(&switched, "offline/extractive"), None);
    let off = switched.with_config("uploads = false").unwrap();
    assert_eq!(from(&off, "anthropic/claude-opus-5"), None);
    let wrong = registry.with_config("uploads = 'much'").unwrap_err();
    assert!(matches!(wrong, ConfigError::Uploads(_)) && wrong.to_string().contains("\"much\" is no size"));
}

#[test]
fn an_author_adds_a_provider_without_touching_ours() {
    let registry = Registry::empty()
        .with_provider("mine", "mine", |model, settings| {
            Ok(attache_offline::OfflineModel::named(model).with_matrix(&settings.matrix).into())
        })
        .with_matrix(Matrix::bundled().clone());
    assert_eq!(registry.providers().collect::<Vec<_>>(), [("mine", "mine")]);
    assert_eq!(registry.model("mine/x").unwrap().id(), "offline/x");
}

// openai.md C.13: Ollama's own API has the name, its dialect of Chat Completions another
#[test]
fn ollama_is_spoken_to_in_its_own_api() {
    let environment = Environment::new(|name| (name == "OLLAMA_HOST").then(|| "box".to_owned()));
    let registry = Registry::bundled().with_environment(environment);
    let request = attache_core::ChatRequest::new([attache_core::Message::user("Hi").shared()]);
    let url = |name: &str| {
        registry.codec(name).unwrap().encode(Ask::new(&request, &request.settings, None)).unwrap().parts.url
    };
    assert_eq!(url("ollama/qwen3:4b"), "http://box:11434/api/chat");
    assert_eq!(url("ollama-chat/qwen3:4b"), "http://box:11434/v1/chat/completions");
    assert_eq!(registry.model("ollama/hf.co/a/b").unwrap().id(), "ollama/hf.co/a/b");
}

// Claude on Vertex AI speaks Anthropic's API, Gemini Google's
#[cfg(all(feature = "anthropic", feature = "gemini"))]
#[test]
fn models_of_a_platform_may_speak_different_apis() {
    let environment = Environment::new(|name| match name {
        "GOOGLE_CLOUD_PROJECT" => Some("p".to_owned()),
        "GOOGLE_ACCESS_TOKEN" => Some("t".to_owned()),
        _ => None,
    });
    let registry = Registry::bundled().with_environment(environment);
    let url = |name: &str| {
        let codec = registry.codec(name).unwrap();
        let request = ChatRequest::new([Message::user("Hi").shared()]);
        codec.encode(Ask::new(&request, &request.settings, None)).unwrap().parts.url
    };
    assert!(
        url("vertex/claude-opus-5").ends_with("/publishers/anthropic/models/claude-opus-5:streamRawPredict")
    );
    assert!(
        url("vertex/anthropic/claude-opus-5").ends_with("/anthropic/models/claude-opus-5:streamRawPredict")
    );
    assert!(
        url("vertex/gemini-3-flash").ends_with("/google/models/gemini-3-flash:streamGenerateContent?alt=sse")
    );
    assert_eq!(registry.model("vertex/claude-opus-5").unwrap().id(), "vertex/claude-opus-5");
    assert_eq!(registry.capabilities("vertex/claude-opus-5").unwrap().family, "anthropic");

    // A configuration says so of a model that the bundled table does not know.
    let matrix = Matrix::bundled().merged_with("[vertex.models.'mine-*']\napi = 'anthropic'").unwrap();
    let registry = registry.with_matrix(matrix);
    assert_eq!(registry.capabilities("vertex/mine-1").unwrap().family, "anthropic");
    assert_eq!(registry.model("vertex/mine-1").unwrap().capabilities().family, "anthropic");
}

// crates/core/src/capability/matrix/README.md, "Unknown models"
#[test]
fn an_unknown_model_is_asked_alike_over_all_apis() {
    use attache_core::{ChatRequest, Message, ModelSettings};

    let registry = Registry::bundled();
    let request = ChatRequest::new([Message::user("Hello").shared()]);
    let plain = ModelSettings::new().with_max_tokens(100);
    let warm = plain.clone().with_temperature(0.5);
    let mut seen = 0;
    for (provider, _) in registry.providers() {
        let name = format!("{provider}/a-model-that-no-row-names");
        let row = registry.capabilities(&name).unwrap();
        assert_eq!(row.row, "default", "{name}");
        assert!(row.user.accepts_text() && row.tool_result.accepts_text(), "{name}");
        assert!(row.stop || provider == "perplexity", "{name}");
        let Ok(codec) = registry.codec(&name) else { continue };
        // An API whose address is yet to be set says so, whatever is asked.
        if codec
            .encode(Ask::new(&request, &plain, None))
            .is_err_and(|error| error.kind() == attache_core::ErrorKind::Configuration)
        {
            continue;
        }
        for settings in [&plain, &warm] {
            let encoded = codec.encode(Ask::new(&request, settings, None));
            let encoded = encoded.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(encoded.degradations.is_empty(), "{name}");
        }
        seen += 1;
    }
    assert!(seen > 25, "only {seen}");
}

const SERVER: &str = "[providers.work]\nlike = 'openai-chat'\nbase_url = 'http://localhost/v1'\n";

#[test]
fn a_server_has_the_capabilities_of_its_own_name() {
    let window = "context_window = 32000\nuser.media = ['text']";
    let takes = |rows: &str| {
        let registry = registry().with_config(&format!("{SERVER}{rows}")).unwrap();
        registry.capabilities("work/our-7b").unwrap()
    };
    let own = takes(&format!("[capabilities.work]\n{window}"));
    assert_eq!((own.family.as_str(), own.context_window), ("work", Some(32_000)));
    assert_eq!(takes(&format!("[capabilities.work.models.'our-*']\n{window}")).context_window, Some(32_000));
    // The server that it is like has another family, which counts where there is no section of the server's own.
    let like = takes(&format!("[capabilities.openai-chat.models.'our-*']\n{window}"));
    assert_eq!((like.family.as_str(), like.context_window), ("openai-chat", Some(32_000)));
    // A bundled server keeps its family.
    let azure = registry()
        .with_config("[providers.azure]\nbase_url = 'http://localhost/v1'\n[capabilities.azure]")
        .unwrap();
    assert_eq!(
        azure.capabilities("azure/x").unwrap().family,
        registry().capabilities("azure/x").unwrap().family
    );
}

#[test]
fn capabilities_that_count_for_no_model_are_known() {
    let of_nobody = |rows: &str| {
        let registry = registry().with_config(&format!("{SERVER}family = 'mine'\n{rows}")).unwrap();
        registry.families_of_nobody().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of_nobody("[capabilities.work]\ncontext_window = 1"), ["work"]);
    assert!(of_nobody("[capabilities.mine]\ncontext_window = 1").is_empty());
    assert!(
        of_nobody("[capabilities.base]\ncontext_window = 1\n[capabilities.mine]\nlike = 'base'").is_empty()
    );
    assert!(of_nobody("[capabilities.anthropic.models.x]\nlike = 'claude-opus-4-6*'").is_empty());
}
