//! A server with an agent that does what the question names: the other side of the browser's scenarios.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_agent::{
    Agent, Ask, EventKind, MemorySessions, Price, Prices, Proposal, RunInput, Sessions, Verdict, tool_fn,
};
use attache_core::citation::{AnswerSpan, How, Place, Source, Span};
use attache_core::message::{MadeDocument, UserOrigin};
use attache_core::provider::ProviderState;
use attache_core::tool::{Deferred, Progress};
use attache_core::{
    Approval, AssistantPart, ChatRequest, ChunkStream, Citation, Document, ErrorKind, FinishReason,
    LlmProvider, Message, ModelCapabilities, ModelSettings, ProviderError, ReasoningPart, StreamChunk,
    ToolContext, ToolError, Usage, UserPart,
};
use attache_server::{ApiKey, ApiKeys, Introduction, Server, ServerLimits};
use attache_testkit::{FunctionModel, Turn, documents};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

/// A model whose text comes in small pieces, with a pause before each.
#[derive(Clone)]
struct Paced {
    inner: FunctionModel,
}

/// The pause of an answer that says how slow it is.
fn pace(request: &ChatRequest) -> Duration {
    let question = asked(request);
    let pauses = [("slowly", 60), ("steadily", 30)];
    let pause = pauses.iter().find(|(word, _)| question.contains(word)).map_or(2, |(_, pause)| *pause);
    Duration::from_millis(pause)
}

impl LlmProvider for Paced {
    fn model_id(&self) -> &str {
        self.inner.model_id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.inner.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.inner.settings()
    }

    fn set_settings(&self, settings: ModelSettings) {
        self.inner.set_settings(settings);
    }

    fn state(&self) -> ProviderState {
        self.inner.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let pause = pace(&request);
        let draws = asked(&request).contains("draw");
        let keeps_thoughts = asked(&request).contains("secretly");
        if asked(&request).contains("too often") {
            let error = ProviderError::new(ErrorKind::RateLimited, "too many requests");
            let error = error.with_retry_after(Duration::from_secs(2));
            return Box::pin(futures_util::stream::iter([Err(error)]));
        }
        let chunks = self.inner.stream(request);
        Box::pin(chunks.flat_map(move |chunk| {
            let words = |text: String| text.split_inclusive(' ').map(str::to_owned).collect::<Vec<_>>();
            let pieces = match chunk {
                Ok(StreamChunk::Content(text)) => {
                    words(text).into_iter().map(|word| Ok(StreamChunk::Content(word))).collect()
                }
                Ok(StreamChunk::Thinking(text)) => {
                    words(text).into_iter().map(|word| Ok(StreamChunk::Thinking(word))).collect()
                }
                Ok(StreamChunk::Done(mut completion)) if draws => {
                    let sketch = Document::from_bytes(DOT, "image/png").with_file_name("sketch.png");
                    completion.message.parts.push(AssistantPart::Document(MadeDocument::new(sketch)));
                    vec![Ok(StreamChunk::Done(completion))]
                }
                // As Anthropic's API tells it: no piece, and a block that goes back as it is.
                Ok(StreamChunk::Done(mut completion)) if keeps_thoughts => {
                    completion.message.parts.insert(0, AssistantPart::Reasoning(ReasoningPart::redacted()));
                    vec![Ok(StreamChunk::Done(completion))]
                }
                other => vec![other],
            };
            futures_util::stream::iter(pieces).then(move |piece| async move {
                tokio::time::sleep(pause).await;
                piece
            })
        }))
    }
}

/// The last words of the user.
fn asked(request: &ChatRequest) -> String {
    let last = request.messages.iter().rev().find_map(|message| match &**message {
        Message::User(user) if user.origin == UserOrigin::Author => Some(user),
        _ => None,
    });
    let texts = last.iter().flat_map(|user| &user.parts).filter_map(|part| match part {
        UserPart::Text(text) => Some(text.text()),
        _ => None,
    });
    texts.collect()
}

/// The replies since the last words of the user.
fn replies(request: &ChatRequest) -> usize {
    let behind = request.messages.iter().rev().take_while(|message| !matches!(&***message, Message::User(_)));
    behind.filter(|message| matches!(&***message, Message::Assistant(_))).count()
}

/// A quote of the lease, and a figure that stands nowhere.
const CITED: &str = "The lease says “The rent is EUR 900 a month”, and heating is about EUR 1,310 a year.";

const FORMULAS: &str = "The area is $\\pi r^2$, a chair costs $5 and a desk $10.\n\n$$\\frac{a}{b} = \\sqrt{2}$$\n\n\
`$x$` is code, $\\href{javascript:window.attacked=1}{y}$ is not trusted, and \\(a_1\\) is one too.";

/// A table that no screen holds, and a word that no line holds.
const WIDE: &str = "| Article | January | February | March | April | May | June | July | August | September | October |\n\
|---|---|---|---|---|---|---|---|---|---|---|\n\
| Chair of solid oak | 1,000,000 | 1,000,000 | 1,000,000 | 1,000,000 | 1,000,000 | 1,000,000 | 1,000,000 | 1,000,000 | 1,000,000 | 1,000,000 |\n\n\
Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaftsversammlungsprotokoll.\n\n\
[The register](https://register.example/lease)";

const LONG: &str = "The *lease* runs for **five years**. It says who pays, what for, and when.\n\n\
- Rent is due on the third working day.\n- Heating is paid in advance.\n- The deposit is three rents.\n\n\
| Year | Rent | Heating |\n|---|---:|---:|\n| 2025 | 10,800 | 1,240 |\n| 2026 | 11,016 | 1,310 |\n\n\
```rust\nfn rent(year: u32) -> u32 {\n    // Indexed since 2026.\n    if year < 2026 { 900 } else { 918 }\n}\n```\n\n\
Ask again if you want the clause itself.";

/// A number in letters: a figure would need a source.
fn letters(number: u32) -> String {
    number
        .to_string()
        .chars()
        .filter_map(|digit| Some(char::from(b'a' + u8::try_from(digit.to_digit(10)?).ok()?)))
        .collect()
}

/// The call that a question spells out: `call NAME ARGUMENTS`.
fn spelled(question: &str) -> Option<(&str, Value)> {
    let (name, arguments) = question.strip_prefix("call ")?.split_once(' ')?;
    Some((name, serde_json::from_str(arguments).ok()?))
}

/// The replies of the agent inside, which pays whatever it is told.
fn clerk(request: &ChatRequest, _: usize) -> Turn {
    match replies(request) {
        0 => Turn::call("pay", json!({ "to": "Ann Smith", "amount": 7 })),
        _ => Turn::text("Ann has her money."),
    }
}

/// The reply to what the user asks for.
fn reply(request: &ChatRequest, _: usize) -> Turn {
    let (question, step) = (asked(request), replies(request));
    if let Some((name, arguments)) = spelled(&question) {
        return if step == 0 { Turn::call(name, arguments) } else { Turn::text("It is called.") };
    }
    let has = |word: &str| question.contains(word);
    match step {
        0 if has("one by one") => Turn::call("archive", json!({})),
        1 if has("one by one") => Turn::call("minutes", json!({})),
        _ if has("hostile") => Turn::text(include_str!("hostile.md")),
        // A page that looks on at once sees the reasoning begin.
        0 if has("ponder") => Turn::empty()
            .and_text("Let me see what the lease says. ")
            .and_thinking(&"I should look at it. ".repeat(12))
            .and_text("The rent is 900."),
        _ if has("secretly") => Turn::text("The rent is 900."),
        0 if has("think") => Turn::empty()
            .and_thinking("The user wants the rent. I should look at the lease first.")
            .and_text("The rent is 900."),
        0 if has("cut short") => Turn::text("The first half").finishing(FinishReason::Length),
        0 if has("fail") => Turn::text("The first half").then_error(ErrorKind::Overloaded),
        0 if has("pay both") => {
            let pay = |to: &str| json!({ "to": to, "amount": 7 });
            Turn::call("pay", pay("Ann")).and_call("pay", pay("Ben"))
        }
        0 if has("pay") => {
            Turn::call("pay", json!({ "to": "Harbour Road GmbH", "amount": 1845.0, "currency": "EUR" }))
        }
        _ if has("pay") => Turn::text("It is settled."),
        0 if has("page") => Turn::call("page_title", json!({})),
        _ if has("page") => Turn::text("The page told me."),
        0 if has("three meters") => {
            let read = |number: u32| json!({ "number": number });
            Turn::call("lease", read(1)).and_call("lease", read(2)).and_call("lease", read(3))
        }
        _ if has("three meters") => Turn::text("They agree."),
        0 if has("ledger") => Turn::call("ledger", json!({}))
            .and_call("address", json!({}))
            .and_call("minutes", json!({ "about": "the rent ".repeat(200) })),
        _ if has("ledger") => Turn::text("It is in the ledger."),
        // A page that looks on at once sees the call begin.
        0 if has("archive") => {
            Turn::empty().and_text("I look it up in the archive. ").and_call("archive", json!({}))
        }
        _ if has("archive") => Turn::text("It is archived."),
        0 if has("folder") => Turn::call("folder", json!({})),
        _ if has("folder") => Turn::text("These are the files."),
        0 if has("dear") => Turn::call("ledger", json!({})).costing(spent(12_000, 8_000, 340)),
        _ if has("dear") => Turn::text("It was dear.").costing(spent(12_500, 12_000, 1_260)),
        _ if has("headings") => Turn::text("# One\n\n## Two\n\n### Three\n\nWords."),
        _ if has("formula") => Turn::text(FORMULAS),
        _ if has("wide") => Turn::text(WIDE),
        0 if has("lease") => Turn::empty()
            .and_text("I look it up. ")
            .and_call("lease", json!({ "year": 2026 }))
            .and_call("meter", json!({ "number": 7 })),
        _ if has("lease") => Turn::text(CITED),
        0 if has("agreement") => Turn::call("agreement", json!({})),
        _ if has("agreement") => term(request),
        _ if has("cabs") => Turn::text("“2026-04-45,Harbour Cabs,HC-77945,41.50”"),
        0 if has("biscuit") && request.tools.iter().all(|(_, tool)| tool.name() != "cookies_get") => {
            Turn::text("No tool reads the cookies.")
        }
        0 if has("biscuit") => Turn::call("cookies_get", json!({ "name": "shop" })),
        _ if has("biscuit") => Turn::text("The cookies told me."),
        0 if has("storage") && request.tools.iter().all(|(_, tool)| tool.name() != "storage_get") => {
            Turn::text("No tool reads the storage.")
        }
        0 if has("storage") => Turn::call("storage_get", json!({ "key": "cart" }))
            .and_call("storage_get", json!({ "key": "attache.theme" })),
        _ if has("storage") => Turn::text("The storage told me."),
        0 if has("cart") => Turn::call("add_to_cart", json!({ "article": "Stool", "count": 2 }))
            .and_call("add_to_cart", json!({ "article": "Bench", "count": 1 })),
        _ if has("cart") => Turn::text("They are in your cart."),
        _ if has("إيجار") => Turn::text(ARABIC),
        _ if has("order") => Turn::text(&format!("I know of {}.", orders(request).join(" and "))),
        _ if has("word by word") => {
            Turn::text(&(0..120).map(|at| format!("word{} ", letters(at))).collect::<String>())
        }
        _ if has("long") => Turn::text(LONG),
        _ => Turn::text("A short answer.").costing(Usage::new(1_240, 310)),
    }
}

const ARABIC: &str = "**الإيجار** مستحق في اليوم الثالث من الشهر:\n\n- يدفع إلى Harbour Road GmbH.\n- لا يشمل التدفئة.\n\n\
```rust\nfn rent() -> u32 { rent_of(FLAT) }\n```\n\nاسأل مرة أخرى.";

/// The tokens of a reply; a part of the input was in the provider's cache.
fn spent(input: u64, cached: u64, output: u64) -> Usage {
    let mut usage = Usage::new(input, output);
    usage.cached_tokens = Some(cached);
    usage
}

/// The orders that the model reads of beside its own words.
fn orders(request: &ChatRequest) -> Vec<String> {
    let users = request.messages.iter().filter(|message| matches!(&***message, Message::User(_)));
    let messages = users.filter_map(|message| serde_json::to_string(&**message).ok());
    let words = messages.flat_map(|text| {
        let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '-');
        words.filter(|word| word.starts_with("order-")).map(str::to_owned).collect::<Vec<_>>()
    });
    words.collect()
}

/// An answer that cites the clause of the agreement about its term, on the page on which it stands; or, if the question
/// asks for it, on the last one, where it does not.
fn term(request: &ChatRequest) -> Turn {
    let text = "The agreement runs for two years.";
    let turn = Turn::text(text);
    let is_it = |document: &Document| document.file_name() == Some("agreement.pdf");
    let Some(agreement) = documents(request).into_iter().find(is_it) else { return turn };
    let name = agreement.file_name().map(str::to_owned);
    let source = Source::Document { id: agreement.id().clone(), name };
    let claim = Span::new(0, text.len()).map(AnswerSpan::Claim);
    let page = if asked(request).contains("at the end") { 3 } else { 2 };
    let citation = Citation::new(source, How::Exact)
        .with_place(Place::Pages(page, page))
        .with_quote(Some("begins on 1 December 2025 and runs for two years"))
        .with_answer_span(claim);
    turn.citing(citation)
}

const AGREEMENT: &[u8] = include_bytes!("../../../../docs/examples/inbox/supply-agreement-SA-2025-11.pdf");

const LEASE: &str = "LEASE OF FLAT 7, HARBOUR ROAD 12\n\n1. Parties\nHarbour Road GmbH lets flat 7 to Ann Smith.\n\n\
2. Rent\nThe rent is EUR 900 a month, due on the third working day.\nIt follows the index of consumer prices.\n\n\
3. Heating\nHeating is paid in advance, and settled each year.\n";

const LETTER: &[u8] = include_bytes!("../../../convert/tests/fixtures/libreoffice.docx");

/// Three sheets, of which one is hidden, and a presentation.
const BUDGET: &[u8] = include_bytes!("../../../convert/tests/fixtures/libreoffice.xlsx");
const SLIDES: &[u8] = include_bytes!("../../../convert/tests/fixtures/libreoffice.pptx");

const MAIL: &[u8] = b"From: Ann <ann@example.org>\r\nTo: Ben <ben@example.org>\r\nSubject: An offer\r\n\
MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nThe desks cost EUR 240 each.\r\n";

/// Two samples of silence (RIFF WAVE, PCM, 8 kHz, one channel of 8 bits).
const SOUND: &[u8] =
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x02\0\0\0\x80\x80";

/// One green dot.
const DOT: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, b'I', b'D', b'A', b'T', 0x78, 0xda, 0x63, 0x64,
    0xf8, 0xcf, 0x50, 0x0f, 0, 0x03, 0x86, 0x01, 0x80, 0x5a, 0x34, 0x7d, 0x6b, 0, 0, 0, 0, b'I', b'E', b'N',
    b'D', 0xae, 0x42, 0x60, 0x82,
];

/// The key that the server takes in the scenario which needs one.
const KEY: &str = "a-key-of-the-scenario-that-nobody-guesses";

/// Begins a run whose process is gone: nothing polls it any more, its lease is over, and nobody takes it over.
async fn leave_a_run(sessions: Sessions) {
    let sessions = sessions.with_clock(|| SystemTime::now() - Duration::from_secs(600));
    let session = sessions.open("local", Some("left")).await.expect("it is made");
    let mut run = session.run(RunInput::from("a long one").with_run_id("left.run"));
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::Content(_)) {
            break;
        }
    }
    std::mem::forget(run);
}

/// Has chats of today, of the days before, and of last month: more than are shown at once.
async fn chat_for_weeks(sessions: Sessions) {
    for (days, count) in [(30, 205), (3, 2), (1, 1), (0, 1)] {
        for number in 1..=count {
            // Sessions of one millisecond would have no order.
            let ago = Duration::from_secs(days * 86_400 + count - number);
            let sessions = sessions.clone().with_clock(move || SystemTime::now() - ago);
            let question = match (days, number) {
                (30, 1) => "About the harbour".to_owned(),
                _ => format!("Question {number} of {days} days ago"),
            };
            let session = sessions.open("local", None).await.expect("it is made");
            session.run(question).outcome().await.expect("it is answered");
        }
    }
}

/// The server for a scenario.
pub(crate) fn server(scenario: &str) -> Server {
    let lease = tool_fn("lease", "The lease", || Ok(Document::inline(LEASE).with_file_name("lease.txt")));
    let meter =
        tool_fn("meter", "Reads a meter", || Err::<String, _>(ToolError::new("the meter does not answer")));
    let pay = || tool_fn("pay", "Pays an invoice", || Ok("paid")).with_approval(Approval::Always);
    let clerk = Agent::builder(FunctionModel::new(clerk).unverified()).tool(pay()).build();
    let clerk = clerk.expect("it is whole").as_tool("clerk", "Pays bills");
    let question = |name, prompt: &'static str, schema: Value| {
        tool_fn(name, "Asks the user", move || {
            Ok::<_, ToolError>(Deferred::ask(prompt).with_schema(schema.clone()))
        })
    };
    let year = question("year", "Which year?", json!({ "type": "string", "enum": ["2025", "2026"] }));
    let amount = question("amount", "How much?", json!({ "type": "number", "maximum": 10 }));
    let order = question(
        "order",
        "What shall be ordered?",
        json!({
            "type": "object",
            "properties": {
                "article": { "type": "string" },
                "count": { "type": "integer" },
                "price": { "type": "number", "title": "Highest price" },
                "size": { "type": "string", "enum": ["small", "large"] },
                "is_gift": { "type": "boolean" },
            },
            "required": ["article"],
        }),
    );
    let ticket = question(
        "ticket",
        "Which ticket?",
        json!({
            "type": "object",
            "properties": {
                "urgent": { "type": "boolean", "default": true },
                "priority": { "type": "string", "enum": ["high", "low"], "default": "low" },
                "colour": { "oneOf": [{ "const": "#f00", "title": "Red" }, { "const": "#0f0", "title": "Green" }] },
                "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b", "c"] } },
                "floor": { "type": "integer", "enum": [1, 2] },
                "size": { "type": "string", "enum": ["small", "large"] },
            },
            "required": ["colour"],
        }),
    );
    // People read what is asked of them before its arguments.
    let asks = |proposal: &Proposal<'_>| match (
        &*proposal.call.name,
        proposal.arguments.get("to").and_then(Value::as_str),
    ) {
        ("pay", Some(to)) => Verdict::Ask(Ask::because(format!("Pay {to}?"))),
        _ => Verdict::Run,
    };
    let ledger = tool_fn("ledger", "The ledger", || {
        Ok(json!([{ "month": "May", "rent": 900 }, { "month": "June", "rent": 918 }]))
    });
    let address = tool_fn("address", "The address of the register", || Ok("https://register.example/lease"));
    let minutes = tool_fn("minutes", "The minutes", || Ok("word ".repeat(400)));
    let archive = tool_fn("archive", "The archive", |context: ToolContext| async move {
        for (page, pause) in [(3.0, 5_000), (9.0, 1_000)] {
            let progress = Progress::new(page).with_total(12.0).with_message(format!("page {page} of 12"));
            context.progress(progress);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        Ok::<_, ToolError>("archived")
    });
    let folder = tool_fn("folder", "A folder of files", || {
        Ok(vec![
            Document::from_bytes(
                LETTER,
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            )
            .with_file_name("letter.docx"),
            Document::from_bytes(MAIL, "message/rfc822").with_file_name("offer.eml"),
            Document::from_bytes(SOUND, "audio/wav").with_file_name("call.wav"),
            Document::inline("# Notes\n\nThe deposit is 2,700.").with_file_name("notes.md"),
            Document::from_bytes(AGREEMENT, "application/pdf").with_file_name("supply.pdf"),
        ])
    });
    let office = tool_fn("office", "Office files", || {
        Ok(vec![
            Document::from_bytes(BUDGET, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
                .with_file_name("budget.xlsx"),
            Document::from_bytes(
                SLIDES,
                "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            )
            .with_file_name("slides.pptx"),
        ])
    });
    let agreement = tool_fn("agreement", "The agreement", || {
        Ok(Document::from_bytes(AGREEMENT, "application/pdf").with_file_name("agreement.pdf"))
    });
    let model = Paced { inner: FunctionModel::new(reply).unverified() };
    let agent = Agent::builder(model).tool(lease).tool(meter).tool(pay()).tool(agreement);
    let agent = agent.tool(clerk).tool(year).tool(amount).tool(order).tool(ticket);
    let agent = agent
        .tool(ledger)
        .tool(address)
        .tool(minutes)
        .tool(archive)
        .tool(folder)
        .tool(office)
        .approval_policy(asks);
    let agent = agent.citations(true).build().expect("the agent is whole");
    let store = agent.store();
    let mut sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
    match scenario {
        "an_answer_that_nobody_goes_on_with_is_continued" => {
            drop(tokio::spawn(leave_a_run(sessions.clone())))
        }
        "chats_of_all_days_are_in_the_list" => {
            sessions = sessions.with_expiry(None);
            tokio::spawn(chat_for_weeks(sessions.clone()));
        }
        _ => {}
    }
    let mut limits = ServerLimits::default();
    limits.upload = 100_000;
    // The model of the scenarios reads whatever it is given.
    limits.upload_types = vec!["*/*".to_owned()];
    let server = Server::new("papers", sessions).web(true).thinking(true).limits(limits.clone());
    match scenario {
        "a_key_is_asked_for" => server.keys(ApiKeys::new().with_key(ApiKey::of("ann", KEY))),
        "a_page_that_may_holds_the_chat_in_a_frame" => server.allow_frame("http://127.0.0.1:18998"),
        "an_empty_chat_says_how_to_begin" | "the_first_picture_is_quick_and_stays" => {
            let mut introduction = Introduction::default();
            introduction.greeting = Some("Ask about your lease.".to_owned());
            introduction.examples = ["a long one", "a wide one", "the lease", "a short one", "one too many"]
                .map(str::to_owned)
                .into();
            server.agents().introduce(introduction);
            server
        }
        "details_that_are_hidden_are_not_there" => server.tool_details(false),
        "files_of_other_types_are_not_sent" => {
            limits.upload_types = ["text/*", "image/png"].map(str::to_owned).into();
            server.limits(limits)
        }
        "tokens_and_cost_are_those_of_the_prices" | "old_answers_tell_their_cost_once_they_are_seen" => {
            let ledger = tool_fn("ledger", "The ledger", || Ok("nothing is in it"));
            let model = Paced { inner: FunctionModel::new(reply).unverified() };
            let prices = Prices::new("EUR").with_model("*", Price::new(3.0, 15.0).with_cached(0.3));
            let dear = Agent::builder(model).tool(ledger).prices(prices).build().expect("it is whole");
            server.agent("dear", Sessions::new(dear, Arc::new(MemorySessions::new())))
        }
        "the_page_drives_the_chat" => {
            let model = FunctionModel::new(|_, _| Turn::text("I write letters.")).unverified();
            // Uploads are in one store.
            let letters = Agent::builder(model).store(store).build().expect("it is whole");
            let letters = Sessions::new(letters, Arc::new(MemorySessions::new()));
            server.agent("letters", letters).allow_origin("http://127.0.0.1:18999")
        }
        _ => server,
    }
}
