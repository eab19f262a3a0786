//! The server that is asked: its agent does another thing for each question, always the same for the same one.

use std::path::Path;
use std::sync::Arc;

use attache_agent::{Agent, Sessions, tool_fn};
use attache_core::provider::ProviderState;
use attache_core::schemars::{self, JsonSchema};
use attache_core::tool::{Deferred, Progress};
use attache_core::{
    Approval, ChatRequest, ChunkStream, Document, LlmProvider, Message, ModelCapabilities, ModelSettings,
    Role, ToolContext, ToolError, UserPart,
};
use attache_server::{ApiKey, ApiKeys, Scope, Server, ServerLimits};
use attache_stores::{FileDocumentStore, SqliteStore};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use serde_json::json;

/// The variable that names the folder of the server's files.
pub(crate) const FOLDER: &str = "ATTACHE_MADE_UP";
/// The beginning of the line that tells where it listens.
pub(crate) const LISTENS: &str = "listens on ";
pub(crate) const KEY: &str = "atk_made_up_0123456789abcdef";

/// A PDF of one page.
const PDF: &str = "%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >> endobj
4 0 obj << /Length 45 >> stream
BT /F1 12 Tf 72 720 Td (The rent is 900.) Tj ET
endstream endobj
5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj
trailer << /Root 1 0 R >>
%%EOF";

/// A model that does what the letters of the question say. It keeps nothing of what it was asked.
struct Whimsical(ScriptedModel);

impl LlmProvider for Whimsical {
    fn model_id(&self) -> &str {
        "test/whimsical"
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.0.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        Arc::default()
    }

    fn set_settings(&self, _: ModelSettings) {}

    fn state(&self) -> ProviderState {
        self.0.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        FunctionModel::new(|request, _| turn(request)).unverified().stream(request)
    }
}

fn turn(request: &ChatRequest) -> Turn {
    let asked = request.messages.iter().rposition(|message| {
        matches!(&**message, Message::User(user) if user.parts.iter().any(|part| matches!(part, UserPart::Text(_))))
    });
    let asked = asked.unwrap_or_default();
    let behind = request.messages.get(asked + 1..).unwrap_or_default();
    let steps = behind.iter().filter(|message| message.role() == Role::Assistant).count();
    let letters = match request.messages.get(asked).map(|message| &**message) {
        Some(Message::User(user)) => user.parts.iter().filter_map(|part| match part {
            UserPart::Text(text) => Some(text.text().bytes().map(usize::from).sum::<usize>()),
            _ => None,
        }),
        _ => return Turn::text("?"),
    };
    let whim = letters.sum::<usize>() + steps;
    // The client's own tools, where it has some.
    let client = request.tools.iter().find(|(name, _)| !OWN.contains(name)).map(|(name, _)| name.to_owned());
    if steps > 2 {
        return Turn::text("That is enough.");
    }
    match (whim % 8, client) {
        (0, _) => Turn::text("A moment.").and_call("pay", json!({"n": whim})),
        (1, _) => Turn::call("lease", json!({})).and_call("page", json!({})),
        (2, _) => Turn::call("ask_user", json!({})),
        (3, _) => Turn::empty().and_thinking("Hm.").and_call("slow", json!({})),
        (4, Some(name)) => Turn::text("You do it.").and_call(&name, json!({})),
        (5, Some(name)) => {
            Turn::call(&name, json!({})).and_call("pay", json!({"n": 1})).and_call("lease", json!({}))
        }
        _ => Turn::empty().and_thinking("It is known.").and_text("The rent is 900."),
    }
}

/// The agent's own tools.
const OWN: [&str; 5] = ["pay", "lease", "page", "ask_user", "slow"];

#[derive(serde::Deserialize, JsonSchema)]
struct Sum {
    #[allow(dead_code, reason = "it is asked for only")]
    n: i64,
}

fn agent(documents: FileDocumentStore) -> Agent {
    let pay = tool_fn("pay", "Pays", |Sum { .. }: Sum, _: ToolContext| async { Ok::<_, ToolError>("paid") });
    let lease = tool_fn("lease", "The lease", || {
        Ok(json!({ "lease": Document::inline("The rent is 900.\n").with_file_name("lease.txt") }))
    });
    let page = tool_fn("page", "A page", || {
        Ok(Document::from_bytes(PDF.as_bytes(), "application/pdf").with_file_name("lease.pdf"))
    });
    let ask = tool_fn("ask_user", "Asks", || async {
        Ok::<_, ToolError>(Deferred::ask("Which year?").with_schema(json!({"type": "string"})))
    });
    let slow = tool_fn("slow", "Takes its time", |context: ToolContext| async move {
        for done in 0..5_u8 {
            context.progress(Progress::new(f64::from(done)).with_total(5.0).with_message("a page"));
            tokio::task::yield_now().await;
        }
        Ok::<_, ToolError>("done")
    });
    let model = Whimsical(ScriptedModel::new([]).unverified());
    let agent = Agent::builder(model).store(Arc::new(documents));
    let agent = agent.tool(pay.with_approval(Approval::Always)).tool(lease).tool(page).tool(ask).tool(slow);
    agent.build().unwrap()
}

/// Serves until nobody holds the other end of its input.
pub(crate) fn serve(folder: &Path) {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(1);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(folder.join("sessions.db")).await.unwrap());
        let documents = FileDocumentStore::open(folder.join("documents")).unwrap();
        let sessions = Sessions::new(agent(documents), store);
        let mut limits = ServerLimits::default();
        limits.body = 1 << 20;
        limits.frontend_time = std::time::Duration::from_secs(2);
        let keys = ApiKeys::new().with_key(ApiKey::of("ann", KEY).with_scopes([
            Scope::Run,
            Scope::Read,
            Scope::Approve,
            Scope::Metrics,
        ]));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("\n{LISTENS}{}", listener.local_addr().unwrap());
        Server::new("papers", sessions)
            .keys(keys)
            .limits(limits)
            .serve(listener, std::future::pending())
            .await
            .unwrap();
    });
}
