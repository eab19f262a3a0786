//! Tools through text on every API: what is sent is what the API takes, and documents arrive.

use attache_agent::{Agent, EndReason, RunInput, tool_fn};
use attache_conformance::{MockProvider, Reply};
use attache_core::{Document, Effect};
use attache_models::{Registry, TextTools, layered};
use attache_transport::Environment;

const PDF: &[u8] = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n";

/// Models, and where their APIs begin.
const APIS: [(&str, &str); 5] = [
    ("openai/gpt-4o", "/v1"),
    ("openai-chat/gpt-4o", "/v1"),
    ("anthropic/claude-sonnet-4-5", ""),
    ("gemini/gemini-2.5-flash", ""),
    ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", ""),
];

fn key(name: &str) -> Option<String> {
    Some(if name.contains("REGION") { "us-east-1" } else { "key" }.to_owned()).filter(|_| {
        ["API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION"].iter().any(|end| name.ends_with(end))
    })
}

// A25, invariants 1 and 4
#[tokio::test]
async fn every_api_takes_a_run_in_text_with_its_documents() {
    for (name, path) in APIS {
        for streaming in [true, false] {
            let mock = MockProvider::start().await.unwrap();
            mock.enqueue(Reply::new().text("Thought: I fetch it.\nAction: fetch\nAction Input: {}"));
            mock.enqueue(Reply::new().text("Hm."));
            mock.enqueue(Reply::new().text("Action: rent\nAction Input: {}\nObservation: EUR 7"));
            mock.enqueue(Reply::new().text("Thought: I know.\nFinal Answer: EUR 900."));
            mock.enqueue(Reply::new().text("Final Answer: Yes."));
            let registry = Registry::bundled().with_environment(Environment::new(key));
            let model = registry.with_base_url(format!("{}{path}", mock.url())).model(name).unwrap();
            let fetch = tool_fn("fetch", "Fetches the lease.", || {
                Ok(Document::from_bytes(PDF, "application/pdf").with_file_name("lease.pdf"))
            });
            let agent = Agent::builder(layered(model, TextTools::new().always()))
                .system("You advise tenants.")
                .streaming(streaming)
                .tool(fetch.with_effect(Effect::Read))
                .tool(tool_fn("rent", "The rent.", || Ok("EUR 900")).with_effect(Effect::Read))
                .build()
                .unwrap();
            let outcome = agent.run("What is the rent?").outcome().await.unwrap();
            assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "EUR 900."), "{}", name);
            // Another turn of the conversation goes on in text.
            let history = outcome.messages.clone();
            let again = RunInput::from("Really?").with_history(history);
            assert_eq!(agent.run(again).outcome().await.unwrap().text, "Yes.", "{}", name);
            assert!(mock.violations().is_empty(), "{}: {:?}", name, mock.violations());
            let requests = mock.requests();
            assert_eq!(requests.len(), 5, "{}", name);
            for request in &requests {
                assert!(request.json().get("tools").is_none(), "{}: {}", name, request.json());
            }
            for request in &requests[1..] {
                let seen = mock.seen_documents(request);
                assert!(seen.iter().any(|seen| seen.bytes_len == PDF.len()), "{}: {seen:?}", name);
            }
        }
    }
}
