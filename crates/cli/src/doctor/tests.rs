//! The examination of servers that are known: strict mocks of each API that read, look away, refuse or say nothing.

mod server;

use std::time::Duration;

use attache_conformance::{MockProvider, Reply, Rules, Server};
use attache_models::Registry;
use attache_transport::Environment;
use tokio::net::TcpListener;

use self::server::{Sight, serve};
use super::examine::{Examination, Patient, Ready, Stop};
use super::reach::straight;
use super::*;

/// A key that must be seen nowhere.
const KEY: &str = "sk-canary-1234567890";

fn registry(url: &str) -> Registry {
    let environment = Environment::new(|name| match name {
        "AWS_REGION" => Some("eu-west-1".to_owned()),
        name if name.ends_with("KEY") && !name.starts_with("AWS") => Some(KEY.to_owned()),
        "AWS_BEARER_TOKEN_BEDROCK" => Some(KEY.to_owned()),
        _ => None,
    });
    Registry::bundled().with_environment(environment).with_base_url(format!("{url}/v1"))
}

async fn examined_within(registry: &Registry, name: &str, limit: Duration) -> Examination {
    let patient = Patient::new(registry, name, limit).unwrap();
    let probes: Vec<Ready> =
        plan::plan(&patient.row, 1024).into_iter().map(|probe| patient.ready(probe)).collect();
    let mut told = 0;
    let examination = patient.examine(probes, |_| told += 1).await;
    assert_eq!(told, examination.findings.len());
    let text = rows(&examination.findings).render(120) + &footer(&patient, &examination);
    assert!(!text.contains("canary"), "{text}");
    examination
}

async fn examined(registry: &Registry, name: &str) -> Examination {
    examined_within(registry, name, Duration::from_secs(20)).await
}

fn ended(examination: &Examination, id: &str) -> Ended {
    examination.ended(id).unwrap_or_else(|| panic!("no {id} among {:?}", examination.findings))
}

fn verdict(examination: &Examination, id: &str) -> Verdict {
    examination.findings.iter().find(|finding| finding.id == id).unwrap().verdict
}

fn told(examination: &Examination) -> String {
    let told = examination.findings.iter().map(|finding| format!("{} ", finding.json()));
    told.collect()
}

/// The profile of what was found, and the registry with it on top.
fn profiled(registry: &Registry, name: &str, examination: &Examination) -> (String, Registry) {
    let now = registry.capabilities(name).unwrap();
    let overlay =
        crate::overlay::overlay(registry, name, &now, &profile::corrected(&now, examination)).unwrap();
    let text = profile::file(&overlay, name, "localhost", examination);
    let matrix = registry.matrix().merged_with(&text).unwrap();
    (text, registry.clone().with_matrix(matrix))
}

// One server of each API that does what the table says of it.
#[tokio::test]
async fn all_agrees_where_all_works() {
    for name in [
        "openai-chat/gpt-4o",
        "openai/gpt-4.1",
        "anthropic/claude-opus-4-8",
        "gemini/gemini-3-pro-preview",
        "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ] {
        let mock = MockProvider::start().await.unwrap();
        let registry = registry(mock.url());
        let row = registry.capabilities(name).unwrap();
        serve(&mock, move |kind, in_result| {
            let place = if in_result {
                attache_core::capability::Place::ToolResult
            } else {
                attache_core::capability::Place::User
            };
            match cell::Cell::Media(place, kind).expects(&row) {
                Some(true) => Sight::Reads,
                _ => Sight::Refuses,
            }
        });
        let examination = examined(&registry, name).await;
        assert_eq!(examination.count(Verdict::Differs), 0, "{name}: {}", told(&examination));
        assert_eq!(examination.count(Verdict::Unclear), 0, "{name}: {}", told(&examination));
        assert_eq!(exit(&examination), Exit::Done, "{name}: {}", told(&examination));
        for id in [
            "reach",
            "key",
            "model",
            "answer",
            "stream",
            "user.text",
            "user.image/png",
            "tools",
            "tools.result",
        ] {
            assert_eq!(ended(&examination, id), Ended::Works, "{name}: {id}: {}", told(&examination));
        }
        for id in ["tools.forced", "tools.parallel", "form.schema", "caching"] {
            assert_eq!(ended(&examination, id), Ended::Works, "{name}: {id}: {}", told(&examination));
        }
        let (text, _) = profiled(&registry, name, &examination);
        assert!(text.contains("Nothing differs"), "{text}");
    }
}

// A server that differs from the table is found out, and the profile makes the table say so.
#[tokio::test]
async fn a_server_that_takes_less_than_the_table_says() {
    for (name, place) in [
        ("openai-chat/gpt-4o", "user"),
        ("openai/gpt-4.1", "tool_result"),
        ("anthropic/claude-opus-4-8", "tool_result"),
        ("gemini/gemini-3-pro-preview", "user"),
        ("bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "user"),
    ] {
        let mock = MockProvider::start().await.unwrap();
        let registry = registry(mock.url());
        serve(&mock, |kind, _| match kind {
            media::Kind::Pdf => Sight::Refuses,
            // Accepted, and thrown away on the way to the model.
            media::Kind::Jpeg => Sight::Blind,
            _ => Sight::Reads,
        });
        let examination = examined(&registry, name).await;
        let (pdf, jpeg) = (format!("{place}.application/pdf"), format!("{place}.image/jpeg"));
        assert_eq!(
            (ended(&examination, &pdf), verdict(&examination, &pdf)),
            (Ended::Refused, Verdict::Differs),
            "{name}"
        );
        assert_eq!(
            (ended(&examination, &jpeg), verdict(&examination, &jpeg)),
            (Ended::NotSeen, Verdict::Differs),
            "{name}"
        );
        assert_eq!(exit(&examination), Exit::Failed);
        let refused = examination.findings.iter().find(|finding| finding.id == pdf).unwrap();
        assert_eq!(refused.detail, "HTTP 400: no application/pdf in this place");
        let (text, corrected) = profiled(&registry, name, &examination);
        assert!(text.starts_with(profile::MARK) && text.contains("probed on 20"), "{text}");
        let again = examined(&corrected, name).await;
        assert_eq!(again.count(Verdict::Differs), 0, "{name}: {text}\n{}", told(&again));
    }
}

// A server of which the table knows little may take more.
#[tokio::test]
async fn a_server_that_takes_more_than_the_table_says() {
    let mock = MockProvider::start_with(Some(Rules::for_server(Server::LlamaCpp))).await.unwrap();
    let registry = registry(mock.url());
    serve(&mock, |_, _| Sight::Reads);
    let examination = examined(&registry, "llamacpp/some-model").await;
    for id in ["user.image/png", "user.image/jpeg", "tools.parallel", "form.schema"] {
        let finding = examination.findings.iter().find(|finding| finding.id == id).unwrap();
        assert_eq!(finding.ended, Ended::Works, "{id}: {}", told(&examination));
    }
    // No request has a place for it, and the table knows.
    let id = "tool_result.image/png";
    assert_eq!((ended(&examination, id), verdict(&examination, id)), (Ended::Skipped, Verdict::Agrees));
    let (text, corrected) = profiled(&registry, "llamacpp/some-model", &examination);
    let row = corrected.capabilities("llamacpp/some-model").unwrap();
    assert!(row.user.accepts(&attache_core::MediaType::parse("image/png").unwrap()), "{text}");
}

// A probe that an API has no form for is not sent, and says nothing against the table's row.
#[tokio::test]
async fn probes_that_an_api_cannot_express_are_not_sent() {
    let mock = MockProvider::start().await.unwrap();
    let registry = registry(mock.url());
    serve(&mock, |_, _| Sight::Reads);
    let examination = examined(&registry, "anthropic/claude-opus-4-8").await;
    let object = examination.findings.iter().find(|finding| finding.id == "form.object").unwrap();
    assert_eq!((object.ended, object.verdict), (Ended::Skipped, Verdict::Nothing));
    assert!(object.detail.contains("no JSON without a schema"), "{}", object.detail);
    assert!(mock.violations().is_empty(), "{:?}", mock.violations());
}

// A server with a small window refuses the long beginning, which says nothing of caching.
#[tokio::test]
async fn a_beginning_that_is_too_long_is_no_sign() {
    for (message, verdict_of) in [
        ("the prompt has too many tokens", Verdict::Unclear),
        ("cache_control: unknown field", Verdict::Differs),
    ] {
        let mock = MockProvider::start().await.unwrap();
        let registry = registry(mock.url());
        let mut seen = std::collections::HashSet::new();
        mock.respond_with(move |request| match request.body.len() > 15_000 {
            true => Reply::error(400, message),
            false => server::answer(request, &|_, _| Sight::Reads, &mut seen),
        });
        let examination = examined(&registry, "anthropic/claude-opus-4-8").await;
        assert_eq!(ended(&examination, "caching"), Ended::Refused);
        assert_eq!(verdict(&examination, "caching"), verdict_of, "{message}");
    }
}

// llama.cpp's server says 500 to every picture that its model has no eyes for.
#[tokio::test]
async fn five_hundred_may_be_a_refusal() {
    let mock = MockProvider::start().await.unwrap();
    let registry = registry(mock.url());
    let mut seen = std::collections::HashSet::new();
    mock.respond_with(move |request| match request.json().to_string().contains("data:image/png") {
        true => Reply::error(
            500,
            "image input is not supported - hint: if this is unexpected, you may need the mmproj",
        ),
        false => server::answer(request, &|_, _| Sight::Reads, &mut seen),
    });
    let examination = examined(&registry, "openai-chat/gpt-4o").await;
    assert_eq!(ended(&examination, "user.image/png"), Ended::Refused, "{}", told(&examination));
    assert_eq!(verdict(&examination, "user.image/png"), Verdict::Differs);
}

#[tokio::test]
async fn a_server_without_tools() {
    let mock = MockProvider::start().await.unwrap();
    let registry = registry(mock.url());
    let mut seen = std::collections::HashSet::new();
    mock.respond_with(move |request| match request.json().get("tools") {
        Some(_) => Reply::error(400, "tools are not supported by this model"),
        None => server::answer(request, &|_, _| Sight::Reads, &mut seen),
    });
    let name = "openai-chat/gpt-4o";
    let examination = examined(&registry, name).await;
    for id in ["tools", "tools.forced", "tools.parallel", "form.beside_tools"] {
        assert_eq!(
            (ended(&examination, id), verdict(&examination, id)),
            (Ended::Refused, Verdict::Differs),
            "{id}"
        );
    }
    assert_eq!(ended(&examination, "user.application/pdf"), Ended::Works);
    // That no result is taken says nothing of the text in it.
    let id = "tool_result.text";
    assert_eq!((ended(&examination, id), verdict(&examination, id)), (Ended::Refused, Verdict::Unclear));
    let (text, corrected) = profiled(&registry, name, &examination);
    let row = corrected.capabilities(name).unwrap();
    assert!(!row.tools && !row.forced_tools && !row.parallel_tools, "{text}");
    assert_eq!(row.structured_output, attache_core::capability::StructuredOutput::JsonSchemaAlone);
    let again = examined(&corrected, name).await;
    assert_eq!(again.count(Verdict::Differs), 0, "{}", told(&again));
}

// Tools that are offered and taken no notice of.
#[tokio::test]
async fn a_server_that_drops_tools_and_forms_in_silence() {
    let mock = MockProvider::start().await.unwrap();
    let registry = registry(mock.url());
    let mut seen = std::collections::HashSet::new();
    mock.respond_with(move |request| {
        let text = request.json().to_string();
        match text.contains("\"tools\"") && !text.contains("left drawer?") || text.contains("How is the sea")
        {
            true => Reply::new().text("I would rather talk."),
            false => server::answer(request, &|_, _| Sight::Reads, &mut seen),
        }
    });
    let examination = examined(&registry, "anthropic/claude-opus-4-8").await;
    for id in ["tools", "tools.forced", "form.schema", "form.beside_tools"] {
        assert_eq!(
            (ended(&examination, id), verdict(&examination, id)),
            (Ended::NotSeen, Verdict::Differs),
            "{id}"
        );
    }
    // If no tool is called at all, two are no sign.
    assert_eq!(verdict(&examination, "tools.parallel"), Verdict::Unclear);
}

// A model that talks nonsense proves nothing.
#[tokio::test]
async fn nonsense_is_no_proof() {
    let mock = MockProvider::start().await.unwrap();
    let registry = registry(mock.url());
    mock.respond_with(|_| Reply::new().text("quxb zzt 17").finish(attache_conformance::Finish::Length));
    let examination = examined(&registry, "openai/gpt-4.1").await;
    for id in ["user.text", "user.image/png", "tool_result.application/pdf", "tools", "form.schema"] {
        assert_eq!(
            (ended(&examination, id), verdict(&examination, id)),
            (Ended::NotSeen, Verdict::Unclear),
            "{id}"
        );
    }
    assert_eq!(examination.count(Verdict::Differs), 0, "{}", told(&examination));
    assert_eq!(exit(&examination), Exit::Incomplete);
}

// A model that spends all it may write before it says a word.
#[tokio::test]
async fn a_reply_that_ends_too_early_is_no_proof_either() {
    let mock = MockProvider::start().await.unwrap();
    let registry = registry(mock.url());
    let mut seen = std::collections::HashSet::new();
    mock.respond_with(move |request| match request.json().to_string().contains("data:image/png") {
        true => Reply::new().finish(attache_conformance::Finish::Length),
        false => server::answer(request, &|_, _| Sight::Reads, &mut seen),
    });
    let examination = examined(&registry, "openai-chat/gpt-4o").await;
    let finding = examination.findings.iter().find(|finding| finding.id == "user.image/png").unwrap();
    assert_eq!((finding.ended, finding.verdict), (Ended::Failed, Verdict::Unclear));
    assert!(finding.detail.contains("--max-tokens"), "{}", finding.detail);
}

#[tokio::test]
async fn a_wrong_key_and_an_unknown_model_end_it() {
    for (status, kind, id) in [(401, "invalid_api_key", "key"), (404, "model_not_found", "model")] {
        for name in
            ["openai-chat/gpt-4o", "openai/gpt-4.1", "anthropic/claude-opus-4-8", "gemini/gemini-2.5-flash"]
        {
            let mock = MockProvider::start().await.unwrap();
            let registry = registry(mock.url());
            // Some servers repeat what they were sent.
            mock.respond_with(move |_| {
                Reply::error(status, format!("not {KEY}, nor anything else")).error_code(kind)
            });
            let examination = examined(&registry, name).await;
            assert_eq!(ended(&examination, "reach"), Ended::Works, "{name}");
            assert_eq!(ended(&examination, id), Ended::Refused, "{name}: {}", told(&examination));
            assert_eq!(ended(&examination, "user.text"), Ended::Skipped);
            assert_eq!((mock.requests().len(), exit(&examination)), (1, Exit::Setup));
            let lines = told(&examination);
            assert!(!lines.contains("canary") && lines.contains(&format!("HTTP {status}")), "{lines}");
        }
    }
}

#[tokio::test]
async fn an_absent_server_is_diagnosed_as_unreachable() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let registry = registry(&closed);
    let examination = examined(&registry, "openai-chat/gpt-4o").await;
    let finding = &examination.findings[0];
    assert_eq!((finding.id.as_str(), finding.ended), ("reach", Ended::Failed));
    assert!(finding.detail.starts_with("TCP: "), "{}", finding.detail);
    assert_eq!((examination.stopped, exit(&examination)), (Some(Stop::Setup), Exit::Setup));
    assert_eq!(examination.count(Verdict::Differs), 0);
}

// Apart from a request, which a proxy of whoever runs this would take elsewhere
#[tokio::test]
async fn a_name_that_leads_nowhere_is_a_matter_of_dns() {
    let why = straight("http://no-such-host.invalid", None, Duration::from_secs(20)).await;
    assert!(why.starts_with("DNS: "), "{why}");
}

// A port that takes connections and never says a word; one that speaks another language; one with no certificate.
#[tokio::test]
async fn a_server_that_hangs_costs_its_time_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let limit = Duration::from_millis(300);
    let begun = std::time::Instant::now();
    let examination = examined_within(&registry(&url), "openai-chat/gpt-4o", limit).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let reach = &examination.findings[0];
    assert!(
        reach.detail.starts_with("HTTP: connected, but nothing was answered within 0.3 s"),
        "{}",
        reach.detail
    );
    assert_eq!((reach.ended, exit(&examination)), (Ended::Failed, Exit::Setup));
    held.abort();
}

#[tokio::test]
async fn without_tls_there_is_no_https() {
    let mock = MockProvider::start().await.unwrap();
    let url = mock.url().replace("http://", "https://");
    let examination = examined(&registry(&url), "openai-chat/gpt-4o").await;
    assert!(examination.findings[0].detail.starts_with("TLS: "), "{}", examination.findings[0].detail);
}

// One probe that hangs does not end the others, three in a row do.
#[tokio::test]
async fn patience_ends() {
    for (word, skipped) in [("Count from one", false), ("data:image", true)] {
        let mock = MockProvider::start().await.unwrap();
        let registry = registry(mock.url());
        let mut seen = std::collections::HashSet::new();
        mock.respond_with(move |request| match request.json().to_string().contains(word) {
            true => Reply::new().text("wait").stall_after(3),
            false => server::answer(request, &|_, _| Sight::Reads, &mut seen),
        });
        let examination = examined_within(&registry, "openai-chat/gpt-4o", Duration::from_millis(700)).await;
        assert_eq!(ended(&examination, "tools"), Ended::Works, "{}", told(&examination));
        assert_eq!(ended(&examination, "caching") == Ended::Skipped, skipped, "{}", told(&examination));
        assert_eq!(examination.stopped, skipped.then_some(Stop::Silent));
    }
}

#[test]
fn the_host_is_all_that_is_shown_of_an_address() {
    assert_eq!(host("https://user:sk-canary@llm.example:8443/v1?key=sk-canary"), "llm.example:8443");
}

#[test]
fn only_profiles_of_ours_are_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.toml");
    assert!(may_write(&file, profile::MARK, None).is_ok());
    std::fs::write(&file, format!("{}: x\n", profile::MARK)).unwrap();
    assert!(may_write(&file, profile::MARK, None).is_ok());
    std::fs::write(&file, "[openai-chat]\n").unwrap();
    assert!(
        may_write(&file, profile::MARK, None).unwrap_err().1.contains("not a profile written by attache")
    );
}
