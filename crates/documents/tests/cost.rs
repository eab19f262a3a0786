//! No function costs worse than n log n: each input grows tenfold, and what that costs must not grow much more.
//!
//! Instructions cannot be counted wherever tests run, so the time that this thread had the processor stands for them,
//! the least of some runs: who else uses the machine does not count. Linear work takes about 10 times as long, n log n
//! up to 14 times, quadratic work 100 times. The bound of 20 lies so far from either that caches do not cross it, and
//! what crosses it is measured again before it counts.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failure is read with the figures, and the helpers of a test may fail as loudly as the test"
)]

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use attache_core::capability::Matrix;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, BoxFuture, Capture, ContentTree, Document, DocumentId,
    DocumentStore, MediaType, Message, ModelCapabilities, ResultStatus, StoreError, ToolCall, ToolResult,
    ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use attache_documents::{
    BackReferences, ConvertedText, DocumentBudget, Label, LabelProfile, Material, Materials, ReadLabel,
    RouteOptions, Routing, decode_text, fence_text, gather, plan, route, tame, unfence, unresolved, walk,
    walk_value,
};
use bytes::Bytes;
use serde_json::{Value, json};

/// The most times longer that tenfold the input may take.
const MOST: f64 = 20.0;

/// How long this thread had the processor so far.
#[cfg(unix)]
fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

#[cfg(not(unix))]
fn used() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

fn least(runs: usize, mut work: impl FnMut()) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..runs {
        let start = used();
        work();
        least = least.min(used().saturating_sub(start));
    }
    least
}

/// Measures `work` on inputs of `size` and of ten times `size`.
fn grows<I, T>(name: &str, size: usize, make: impl Fn(usize) -> I, work: impl Fn(&I) -> T) {
    let (small, large) = (make(size), make(size * 10));
    // Values that are computed once and kept are not the question.
    drop(black_box((work(&small), work(&large))));
    let mut best = f64::INFINITY;
    for _ in 0..4 {
        let short = least(4, || drop(black_box(work(&small))));
        let long = least(2, || drop(black_box(work(&large))));
        best = best.min(long.as_secs_f64() / short.as_secs_f64().max(2e-6));
        println!("{name}: {short:?}, then {long:?}");
        if best < MOST * 0.75 {
            return;
        }
    }
    assert!(best < MOST, "{name} takes {best:.0} times as long for ten times the input");
}

fn id(text: &str) -> DocumentId {
    DocumentId::parse(text).unwrap()
}

/// A small image, other than those of other numbers.
fn image(number: usize) -> Document {
    let size = u32::try_from(number).unwrap().to_be_bytes();
    let header = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0"[..], &size].concat();
    Document::from_bytes(header, "image/png").with_id(id(&format!("{number:08x}-4f6a")))
}

/// A text, other than those of other numbers.
fn text(number: usize) -> Document {
    Document::inline(format!("text {number}")).with_id(id(&format!("{number:08x}-7d41")))
}

fn round(outputs: impl IntoIterator<Item = Vec<Document>>) -> [Arc<Message>; 2] {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for documents in outputs {
        let call = ToolCall::new("find", Arguments::new("{}"));
        let tree = ContentTree::parse("{}", documents).unwrap();
        results.push(ToolResult::new(&call, ResultStatus::Ok, tree));
        calls.push(Some(AssistantPart::ToolCall(call)));
    }
    [
        Message::Assistant(AssistantMessage::new(calls)).shared(),
        Message::ToolResults(ToolResultsMessage::new(results)).shared(),
    ]
}

fn chat(rounds: impl IntoIterator<Item = Vec<Vec<Document>>>) -> Vec<Arc<Message>> {
    let begin = [Message::user("?").shared()];
    begin.into_iter().chain(rounds.into_iter().flat_map(round)).collect()
}

/// One call for each document.
fn one_by_one(documents: impl IntoIterator<Item = Document>) -> Vec<Arc<Message>> {
    chat(documents.into_iter().map(|document| vec![vec![document]]))
}

fn model(family: &str) -> ModelCapabilities {
    Matrix::bundled().resolve(family, if family == "anthropic" { "claude-opus-4-8" } else { "any" })
}

fn routed(
    messages: &[Arc<Message>],
    model: &ModelCapabilities,
    have: &Materials,
    options: &RouteOptions,
) -> Routing {
    route(messages, model, &ToolSet::default(), have, options).unwrap()
}

fn routing(
    name: &str,
    size: usize,
    family: &str,
    options: &RouteOptions,
    make: impl Fn(usize) -> Vec<Arc<Message>>,
) {
    let (model, have) = (model(family), Materials::new());
    grows(name, size, make, |messages| {
        (plan(messages, &model, options, &have), routed(messages, &model, &have, options))
    });
}

#[test]
fn messages_and_documents() {
    let options = RouteOptions::new();
    routing("messages with an image each", 300, "anthropic", &options, |n| one_by_one((0..n).map(image)));
    routing("messages with a text each", 300, "offline", &options, |n| one_by_one((0..n).map(text)));
    routing("documents of one result", 300, "anthropic", &options, |n| {
        chat([vec![(0..n).map(text).collect()]])
    });
    routing("results of one message", 300, "openai-chat", &options, |n| {
        chat([(0..n).map(|n| vec![text(n)]).collect()])
    });
    let alike = |n: usize| Document::inline("x").with_id(id(&format!("invoice-2025-{n}")));
    routing("ids that begin alike", 300, "openai-chat", &options, |n| {
        chat([vec![(0..n).map(alike).collect()]])
    });
    let version = |n: usize| text(n).with_id(id("contract-42"));
    routing("versions of one document", 300, "anthropic", &options, |n| one_by_one((0..n).map(version)));
    routing("versions in one result", 300, "anthropic", &options, |n| {
        chat([vec![(0..n).map(version).collect()]])
    });
    routing("withheld documents", 300, "anthropic", &options, |n| {
        let call = ToolCall::new("find", Arguments::new("{}"));
        let tree = ContentTree::parse("{}", (0..n).map(text).collect()).unwrap();
        let mut result = ToolResult::new(&call, ResultStatus::Ok, tree);
        result.withheld = result.documents.drain(..).map(|document| document.id().clone()).collect();
        vec![
            Message::Assistant(AssistantMessage::new([call.into()])).shared(),
            Message::ToolResults(ToolResultsMessage::new([result])).shared(),
        ]
    });
    routing("documents of an author", 300, "offline", &options, |n| {
        let documents = (0..n).map(|n| Some(UserPart::Document(image(n))));
        let old = Message::User(UserMessage::new(documents)).shared();
        vec![old, Message::assistant("ok").shared(), Message::user("go on").shared()]
    });
}

// The documents that are left out are found by looking at those after them alone.
#[test]
fn repeats_that_are_left_out() {
    let tight =
        |repeats| RouteOptions::new().with_back_references(repeats).with_budget(DocumentBudget::Tokens(60));
    for repeats in [BackReferences::AcrossMessages, BackReferences::Everywhere, BackReferences::Never] {
        let options = tight(repeats);
        let name = |what: &str| format!("{what}, {repeats:?}");
        routing(&name("one document again and again"), 300, "anthropic", &options, |n| {
            one_by_one((0..n).map(|_| text(0)).chain((0..5).map(text)))
        });
        routing(&name("two in turn"), 300, "anthropic", &options, |n| {
            one_by_one((0..n).map(|n| text(n % 2)))
        });
        routing(&name("all, and all again"), 150, "anthropic", &options, |n| {
            one_by_one((0..n).chain(0..n).map(text))
        });
        routing(&name("two calls of each turn"), 150, "anthropic", &options, |n| {
            chat((0..n).map(|n| vec![vec![text(n % 3)], vec![text(n % 3)]]))
        });
    }
    // Images beyond the model's count, small and large.
    let options = RouteOptions::new().with_budget(DocumentBudget::Unlimited);
    routing("images, each twice", 300, "anthropic", &options, |n| one_by_one((0..n).chain(0..n).map(image)));
    let large = |n: usize| {
        let mut bytes = image(n).bytes().unwrap().to_vec();
        for at in [18, 22] {
            *bytes.get_mut(at).unwrap() = 0x10;
        }
        Document::from_bytes(bytes, "image/png").with_id(image(n).id().clone())
    };
    routing("large images", 300, "anthropic", &options, |n| one_by_one((0..n).map(large)));
}

#[test]
fn documents_inside_documents() {
    let (model, options) = (model("anthropic"), RouteOptions::new());
    let mail = |n: usize| {
        let mail = Document::from_bytes(format!("Subject: {n}").into_bytes(), "message/rfc822");
        mail.with_media_type("message/rfc822").with_id(id(&format!("{n:08x}-mail")))
    };
    let with = |mails: usize, attachments: usize| {
        let mut have = Materials::new();
        for at in 0..mails {
            let attached = (0..attachments).map(text);
            have.insert(&mail(at), attached.fold(ConvertedText::new("mail"), ConvertedText::with_attachment));
        }
        (one_by_one((0..mails).map(mail)), have)
    };
    grows("mails", 100, |n| with(n, 3), |(messages, have)| routed(messages, &model, have, &options));
    grows("attachments", 500, |n| with(1, n), |(messages, have)| routed(messages, &model, have, &options));
    // A mail in a mail in a mail.
    let nested = |depth: usize| {
        let (mut have, mut holder) = (Materials::new(), mail(0));
        for at in 0..depth {
            let inner = mail(at + 1);
            have.insert(&holder, ConvertedText::new("mail").with_attachment(inner.clone()));
            holder = inner.with_id(holder.id().inside(1));
        }
        have
    };
    grows("nested mails", 200, nested, |have| {
        let mut copy = have.clone();
        copy.retain(|known| known == mail(0).id());
        copy
    });
}

#[test]
fn materials_that_are_filled_and_emptied() {
    let (options, model) = (RouteOptions::new(), model("offline"));
    let pdf = |n: usize| Document::stored(id(&format!("{n:08x}-pdf")), "main", "application/pdf");
    grows(
        "inserting",
        300,
        |n| n,
        |n| {
            let mut have = Materials::new();
            for at in 0..*n {
                have.insert(&pdf(at), Material::Bytes(format!("%PDF-{at}").into_bytes().into()));
                have.insert(&pdf(at), ConvertedText::new(format!("text {at}")));
            }
            have.shrink_to(have.held_bytes() / 2);
            have.retain(|known| known.as_str().starts_with("0000000"));
            have
        },
    );
    let filled = |n: usize| {
        let mut have = Materials::new();
        (0..n).for_each(|at| have.insert(&pdf(at), ConvertedText::new(format!("text {at}"))));
        (one_by_one((0..n).map(pdf)), have)
    };
    grows("converted texts", 200, filled, |(messages, have)| {
        // Each anew, as after a window has moved.
        let mut have = have.clone();
        let routing = routed(messages, &model, &have, &options);
        (0..10).for_each(|at| have.insert(&pdf(at), ConvertedText::new("anew")));
        routing
    });
    let tight = RouteOptions::new().with_budget(DocumentBudget::Tokens(1_000));
    let reports = |n: usize| {
        let report =
            |options| routed(&one_by_one((0..n).map(text)), &model, &Materials::new(), options).report;
        (report(&options), report(&tight))
    };
    grows("reports", 300, reports, |(before, after)| after.left_out_since(before));
}

struct Shelf;

impl DocumentStore for Shelf {
    fn id(&self) -> &str {
        "main"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async move { Ok(Bytes::from(format!("%PDF-{id}"))) })
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn gathering() {
    let (model, options) = (model("openai-chat"), RouteOptions::new());
    let stored = |n: usize| Document::stored(id(&format!("{n:08x}-pdf")), "main", "application/pdf");
    grows(
        "gathering",
        100,
        |n| one_by_one((0..n).map(stored)),
        |messages| {
            let mut have = Materials::new();
            {
                let all = pin!(gather(&mut have, messages, &model, &options, &Shelf, None, &[]));
                let Poll::Ready(()) = all.poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
            }
            assert!(plan(messages, &model, &options, &have).is_empty());
            have
        },
    );
}

#[test]
fn trees() {
    let list = |n: usize| {
        let documents: Vec<_> = (0..n).map(text).collect();
        let tree = Capture::new().finish(&documents).unwrap();
        let value: Value = serde_json::from_str(tree.json()).unwrap();
        (tree, value)
    };
    // An output holds up to 1,000 documents.
    grows("documents of a tree", 90, list, |(tree, value)| {
        assert_eq!(walk(tree).len(), tree.documents().len());
        walk_value(value, tree.documents())
    });
    let wide = |n: usize| json!((0..n).map(|n| json!({"a": [n, {"b": "c"}]})).collect::<Vec<_>>());
    grows("a tree without documents", 2_000, wide, |value| walk_value(value, &[]));
    let forged = |n: usize| {
        let one = |n: usize| json!({"attache.document": "stored", "documentId": format!("x-{n}")});
        let tree = ContentTree::value(&json!((0..n).map(one).collect::<Vec<_>>()));
        [Message::User(UserMessage::event(tree)).shared()]
    };
    grows("references to nothing", 200, forged, |messages| unresolved(messages));
}

#[test]
fn texts() {
    let (media, known) = (MediaType::parse("text/plain").unwrap(), id("7d41c0b2-93e5"));
    for unit in ["&", "&amp;", "&#", "&#1;", "\"", "=\"", "é;", " name=\"x\""] {
        let label = |n: usize| format!("<document filename=\"{}\" />", unit.repeat(n));
        grows(&format!("a label of {unit:?}"), 4_000, label, |text| ReadLabel::split(text).is_some());
    }
    for unit in ["a", "<&\"", "\u{1}", " ", "\n"] {
        let named = |n: usize| Document::inline("x").with_file_name(unit.repeat(n));
        grows(&format!("a name of {unit:?}"), 10_000, named, |document| {
            Label::new(document).render(LabelProfile::Spec)
        });
        grows(&format!("a remark of {unit:?}"), 10_000, |n| unit.repeat(n), |text| tame(text));
    }
    for unit in ["line\n", "[begin document 1]\n", "[", "é", "0123456789abcdef"] {
        grows(
            &format!("a fenced text of {unit:?}"),
            2_000,
            |n| unit.repeat(n),
            |text| {
                let fenced = fence_text(&known, text, ["page 1"]).unwrap();
                unfence(&fenced).map(str::len)
            },
        );
        grows(
            &format!("a decoded text of {unit:?}"),
            2_000,
            |n| unit.repeat(n).into_bytes(),
            |bytes| decode_text(bytes, &media).map(|(text, _)| text.len()),
        );
    }
    grows(
        "bytes in an odd charset",
        10_000,
        |n| b"caf\xe9 au lait ".repeat(n),
        |bytes| decode_text(bytes, &media).map(|(text, _)| text.len()),
    );
    let (model, options) = (model("anthropic"), RouteOptions::new());
    for unit in ["<document x=\"\" />\n", "<", "[end document 1]", "fine\n"] {
        let event = |n: usize| {
            let payload = Capture::new().finish(&unit.repeat(n)).unwrap();
            [Message::user("?").shared(), Message::User(UserMessage::event(payload)).shared()]
        };
        grows(&format!("an event of {unit:?}"), 2_000, event, |messages| {
            routed(messages, &model, &Materials::new(), &options)
        });
    }
}

// The bytes of a PDF are looked at once, whatever they are.
#[test]
fn pages_of_pdfs() {
    let (model, options) = (model("anthropic"), RouteOptions::new());
    for unit in [
        "<</Type/Page>>\n",
        "<<",
        ">>",
        "[",
        "(",
        "(\\",
        "/Type ",
        "1 0 obj<</Length 4>>stream\n",
        "stream\nx\nendstream\n",
        "<</Type/ObjStm>>stream\n<</Type/Page>>\nendstream\n",
        "<</Type/ObjStm/Filter/FlateDecode>>stream\nx\nendstream\n",
        "endstream",
    ] {
        let pdf = |n: usize| {
            let bytes = [b"%PDF-1.7\n", unit.repeat(n).as_bytes()].concat();
            one_by_one([Document::from_bytes(bytes, "application/pdf")])
        };
        grows(&format!("a PDF of {unit:?}"), 1_000, pdf, |messages| {
            // Nothing is remembered of it.
            routed(messages, &model, &Materials::new(), &options)
        });
    }
}
