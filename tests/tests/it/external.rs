//! Documents at addresses, from a tool's result to the wire of each API: fetched with guards, kept for whoever resumes,
//! passed to providers that fetch, shown to the model by policy alone. documents.md 9.3; C23, D17, D19.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use attache::{Agent, Document, EndReason, EventKind, GuardedFetcher, Outcome, ToolError, tool};
use attache_agent::{Entry, EntryKind, MemoryDocumentStore, MemoryJournal, RunInput};
use attache_conformance::{MockProvider, Reply, seen_documents, sha256_hex};
use attache_core::fetcher::{FetchError, Fetched, Fetcher};
use attache_core::{BoxFuture, DocumentId, DocumentStore, ModelSettings};
use attache_documents::{ExternalDocuments, RouteOptions, RoutingReport};
use attache_tests::{Api, PDF_APIS};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const LEASE: &[u8] = b"%PDF-1.4\n% the lease\n";

#[derive(serde::Serialize)]
struct Contract {
    tenant: String,
    lease: Document,
}

/// The address that the tool of this test gives for the lease.
#[derive(Clone)]
struct Address(String);

/// Finds a contract.
#[tool(name = "contracts.find", effect = "read")]
async fn find_contract(
    /// The tenant's name.
    tenant: String,
    context: &attache::ToolContext,
) -> Result<Contract, ToolError> {
    let address = context.get::<Address>().unwrap();
    let lease = Document::external(address.0.as_str())
        .with_media_type("application/pdf")
        .with_id(DocumentId::parse("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34").unwrap());
    Ok(Contract { tenant, lease })
}

/// Serves the lease, and counts.
async fn archive() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/d/17?sig=canary", listener.local_addr().unwrap());
    let served = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&served);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") && socket.read_buf(&mut asked).await.unwrap() > 0 {}
            count.fetch_add(1, Ordering::SeqCst);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/pdf\r\ncontent-length: {}\r\n\
                 content-disposition: attachment; filename=\"lease.pdf\"\r\nconnection: close\r\n\r\n",
                LEASE.len()
            );
            socket.write_all(head.as_bytes()).await.unwrap();
            socket.write_all(LEASE).await.unwrap();
        }
    });
    (url, served)
}

/// The traces of a run.
struct Setting {
    journal: Arc<MemoryJournal>,
    store: Arc<MemoryDocumentStore>,
}

impl Setting {
    fn new() -> Self {
        Self { journal: Arc::new(MemoryJournal::new()), store: Arc::new(MemoryDocumentStore::default()) }
    }
}

/// Runs to the end; every routing report on the way.
async fn run(
    api: Api,
    mock: &MockProvider,
    url: &str,
    setting: &Setting,
    fetcher: Option<GuardedFetcher>,
    external: ExternalDocuments,
) -> (Outcome, Vec<Arc<RoutingReport>>) {
    let store: Arc<dyn DocumentStore> = setting.store.clone();
    let mut builder = Agent::builder(api.connected(mock.url(), ModelSettings::new()).unwrap())
        .tool(find_contract_tool())
        .context(Address(url.to_owned()))
        .routing(RouteOptions::new().with_external(external))
        .store(store);
    if let Some(fetcher) = fetcher {
        builder = builder.fetcher(fetcher);
    }
    let input = RunInput::from("Until when does the lease run?").with_run_id("r");
    let agent = builder.build().unwrap();
    let mut run = match setting.journal.entries().is_empty() {
        true => agent.run_in(setting.journal.clone(), input),
        false => agent.resume(setting.journal.clone()),
    };
    let mut reports = Vec::new();
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::DocumentsRouted(report) => reports.push(report),
            EventKind::Finished(result) => return (*result.unwrap(), reports),
            _ => {}
        }
    }
    panic!("a run ends");
}

fn script(mock: &MockProvider) {
    mock.enqueue(Reply::new().call("call_7", "contracts_find", json!({"tenant": "Harbour Bakery"})));
    mock.enqueue(Reply::new().text("Until 30 June 2031."));
}

fn inside() -> GuardedFetcher {
    GuardedFetcher::new().with_private_addresses(true).with_any_port()
}

#[tokio::test]
async fn a_fetched_document_reaches_each_model_and_a_resumed_run_sends_the_same() {
    for api in PDF_APIS {
        let (url, served) = archive().await;
        let (mock, setting) = (MockProvider::start().await.unwrap(), Setting::new());
        script(&mock);
        let (outcome, reports) =
            run(api, &mock, &url, &setting, Some(inside()), ExternalDocuments::Fetch).await;
        assert_eq!(outcome.reason, EndReason::Answer, "{}", api.name());
        assert!(mock.violations().is_empty(), "{:?}", mock.violations());
        let requests = mock.requests();
        let seen = seen_documents(api.conformance(), requests[1].json());
        assert_eq!(seen.len(), 1, "{}", api.name());
        assert_eq!(seen[0].sha256.as_deref(), Some(&*sha256_hex(LEASE)), "{}", api.name());
        if api.names_files() {
            assert_eq!(seen[0].file_name.as_deref(), Some("lease.pdf"), "{}", api.name());
        }
        assert_eq!(served.load(Ordering::SeqCst), 1, "{}: fetched once", api.name());
        // D19: the model sees nothing of the address, and neither do events and reports.
        let told = format!("{:?} {reports:?}", requests.iter().map(|r| r.json()).collect::<Vec<_>>());
        for secret in ["canary", "127.0.0.1", "/d/17"] {
            assert!(!told.contains(secret), "{}: {secret}", api.name());
        }

        // Cut before the answer and taken up by another process, with the same journal and store. Nobody fetches there,
        // and the server is gone for it anyway.
        let entries = setting.journal.entries();
        let cut = entries.iter().rposition(|entry| matches!(entry.kind, EntryKind::Reply(_)));
        let kept = serde_json::to_string(&entries[..cut.unwrap()]).unwrap();
        let journal =
            Arc::new(MemoryJournal::from_entries(serde_json::from_str::<Vec<Entry>>(&kept).unwrap()));
        let resumed = Setting { journal, store: Arc::clone(&setting.store) };
        let again = MockProvider::start().await.unwrap();
        again.enqueue(Reply::new().text("Until 30 June 2031."));
        let (outcome, _) = run(api, &again, &url, &resumed, None, ExternalDocuments::Fetch).await;
        assert_eq!(outcome.reason, EndReason::Answer, "{}", api.name());
        assert_eq!(again.requests()[0].json(), requests[1].json(), "{}", api.name());
        assert_eq!(served.load(Ordering::SeqCst), 1, "{}: not fetched again", api.name());
    }
}

// The guards hold inside a run: the tool's address leads inside, and the model reads so.
#[tokio::test]
async fn an_address_that_leads_inside_is_a_note() {
    let (url, served) = archive().await;
    let (mock, setting) = (MockProvider::start().await.unwrap(), Setting::new());
    script(&mock);
    let fetcher = GuardedFetcher::new().with_any_port();
    let (outcome, reports) =
        run(Api::Anthropic, &mock, &url, &setting, Some(fetcher), ExternalDocuments::Fetch).await;
    assert_eq!(outcome.reason, EndReason::Answer);
    assert_eq!(served.load(Ordering::SeqCst), 0);
    let decision = &reports.last().unwrap().decisions[0];
    assert_eq!(decision.reason.as_str(), "it could not be loaded: it is at an address that is not public");
    let body = mock.requests()[1].json().to_string();
    assert!(body.contains("an address that is not public") && !body.contains("canary"), "{body}");
}

// An address is passed on where the provider takes one, else fetched, else a note; nothing is fetched besides.
#[tokio::test]
async fn addresses_are_passed_to_providers_that_fetch() {
    const PUBLIC: &str = "https://files.example/d/17?sig=canary";
    for api in PDF_APIS {
        let (mock, setting) = (MockProvider::start().await.unwrap(), Setting::new());
        script(&mock);
        let (outcome, reports) = run(api, &mock, PUBLIC, &setting, None, ExternalDocuments::PassUrl).await;
        assert_eq!(outcome.reason, EndReason::Answer, "{}", api.name());
        assert!(mock.violations().is_empty(), "{:?}", mock.violations());
        let requests = mock.requests();
        let seen = seen_documents(api.conformance(), requests[1].json());
        let passed: Vec<_> = seen.iter().filter_map(|seen| seen.reference.as_deref()).collect();
        let wanted: &[&str] = match api {
            // Chat Completions fetches images only, Converse nothing.
            Api::OpenAiChat | Api::Bedrock => &[],
            _ => &[PUBLIC],
        };
        assert_eq!(passed, wanted, "{}", api.name());
        let body = requests[1].json().to_string();
        assert_eq!(body.matches("canary").count(), wanted.len(), "{}: in no text", api.name());
        assert!(!format!("{reports:?}").contains("canary"), "{}", api.name());
    }
}

/// Never ends.
struct Endless(Arc<AtomicUsize>);

impl Fetcher for Endless {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::pending())
    }
}

// Invariant 8: a fetch does not hold up a cancellation.
#[tokio::test]
async fn a_run_is_cancelled_while_it_fetches() {
    let mock = MockProvider::start().await.unwrap();
    script(&mock);
    let asked = Arc::new(AtomicUsize::new(0));
    let agent = Agent::builder(Api::Anthropic.connected(mock.url(), ModelSettings::new()).unwrap())
        .tool(find_contract_tool())
        .context(Address("https://files.example/a".to_owned()))
        .fetcher(Endless(Arc::clone(&asked)))
        .build()
        .unwrap();
    let mut run = agent.run("go");
    let control = run.control();
    let waiting = Arc::clone(&asked);
    tokio::spawn(async move {
        while waiting.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        control.cancel();
    });
    let started = Instant::now();
    while let Some(event) = run.next().await {
        if let Some(outcome) = event.kind.outcome() {
            assert_eq!(outcome.reason, EndReason::Cancelled);
        }
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
