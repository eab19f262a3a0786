//! No function is worse than n log n: each input grows tenfold, and what it costs must not grow a hundredfold.
//!
//! The cost is the processor time of this thread, which no neighbour on the machine lengthens much, as the least of
//! several tries. A quadratic function costs 100 times as much, a linear one 10 times, a sort a little more; the line
//! is drawn at 30.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use attache_core::assembler::{ToolCallAssembler, ToolCallFragment};
use attache_core::identity::Identities;
use attache_core::message::UserOrigin;
use attache_core::repair::repair;
use attache_core::tool::{ConversationDocuments, wire_name};
use attache_core::tree::TreeLimits;
use attache_core::{
    Arguments, AssistantMessage, Capture, ContentTree, Conversation, Document, DocumentId, DocumentRef,
    Message, MessageId, ResultStatus, ToolCall, ToolCallId, ToolDefinition, ToolOutput, ToolResult,
    ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const MOST: f64 = 30.0;

fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

/// The least time of some tries: what disturbs a measurement only adds to it.
fn least(work: &mut dyn FnMut()) -> Duration {
    let (mut best, started) = (Duration::MAX, processor_time());
    for tries in 1.. {
        let begun = processor_time();
        work();
        best = best.min(processor_time() - begun);
        if tries >= 3 && processor_time() - started > Duration::from_millis(20) || tries >= 100 {
            break;
        }
    }
    best
}

/// Compares the cost of `work` on what `make` makes of `small` and of ten times as many.
#[track_caller]
fn grows_like_its_input<T>(what: &str, small: usize, make: impl Fn(usize) -> T, work: impl Fn(&T)) {
    let (few, many) = (make(small), make(10 * small));
    let mut last = (Duration::ZERO, Duration::ZERO, 0.0);
    // A machine that was busy the whole time is asked again; a quadratic function never passes.
    for _ in 0..4 {
        let (cheap, dear) = (least(&mut || work(&few)), least(&mut || work(&many)));
        let ratio = dear.as_secs_f64() / cheap.as_secs_f64().max(1e-6);
        last = (cheap, dear, ratio);
        if ratio < MOST {
            return;
        }
    }
    let (cheap, dear, ratio) = last;
    panic!("{what}: {small} cost {cheap:?}, ten times as many {dear:?}: {ratio:.0} times as much");
}

fn id(number: usize) -> DocumentId {
    DocumentId::parse(format!("d-{number}")).unwrap()
}

fn documents(count: usize) -> Vec<Document> {
    (0..count).map(|number| Document::inline(format!("text {number}")).with_id(id(number))).collect()
}

/// Documents of one id and different content.
fn versions(count: usize) -> Vec<Document> {
    (0..count).map(|number| Document::inline(format!("text {number:08}")).with_id(id(0))).collect()
}

fn call(of: &str) -> ToolCall {
    ToolCall::new("f", Arguments::new("{}")).with_id(ToolCallId::parse(of).unwrap())
}

fn capture() -> Capture {
    let mut limits = TreeLimits::default();
    limits.max_documents = usize::MAX;
    Capture::with_limits(limits)
}

fn tree(documents: Vec<Document>) -> ContentTree {
    ContentTree::parse("1", documents).unwrap()
}

#[test]
#[should_panic = "times as much"]
fn a_quadratic_function_is_told() {
    let pairs = |numbers: &Vec<usize>| {
        let equal = numbers.iter().map(|one| numbers.iter().filter(|other| *other == one).count());
        black_box(equal.sum::<usize>());
    };
    grows_like_its_input("pairs", 100, |count| (0..count).collect(), pairs);
}

#[test]
fn references_in_a_text() {
    let read = |text: &String| {
        black_box(ContentTree::parse(text, Vec::new()).unwrap().unresolved());
    };
    let repeated = |count: usize| format!("{{{}\"z\":1}}", "\"attache.document\":1,".repeat(count));
    grows_like_its_input("one object with many markers", 2_000, repeated, read);
    let nested = |count: usize| {
        let opened = "{\"attache.document\":1,\"a\":".repeat(count);
        format!("{opened}1{}", "}".repeat(count))
    };
    // As deep as serde_json reads.
    let deep_and_long = |count: usize| nested(100).replace('1', &format!("\"{}\"", "x".repeat(count)));
    grows_like_its_input("a long string in nested objects", 200, deep_and_long, read);
    let forged = |count: usize| {
        let forged = |number| format!("{{\"attache.document\":\"stored\",\"documentId\":\"f{number}\"}}");
        (documents(count), format!("[{}]", (0..count).map(forged).collect::<Vec<_>>().join(",")))
    };
    grows_like_its_input("forged references beside documents", 500, forged, |(documents, text)| {
        black_box(ContentTree::parse(text, documents.clone()).unwrap().unresolved());
    });
}

#[test]
fn captured_documents() {
    grows_like_its_input("capture", 300, documents, |documents| {
        black_box(capture().finish(documents).unwrap());
    });
    grows_like_its_input("capture of one id", 300, versions, |documents| {
        black_box(capture().finish(documents).unwrap());
    });
    grows_like_its_input("capture of a log", 300, documents, |documents| {
        let mut capture = capture();
        capture.run_blocking(|| documents.iter().for_each(|document| drop(json!(document))));
        black_box(capture.finish("done").unwrap());
    });
    grows_like_its_input("capture that fails", 300, documents, |documents| {
        let by_pair: Vec<_> =
            documents.iter().map(|document| (document, std::iter::once(((1, 2), 3)))).collect();
        let by_pair: Vec<_> = by_pair
            .into_iter()
            .map(|(document, pairs)| (document, pairs.collect::<std::collections::HashMap<_, _>>()))
            .collect();
        black_box(capture().finish(&by_pair).unwrap_err());
    });
    grows_like_its_input("trees in a tree", 100, documents, |documents| {
        let mut capture = capture();
        let value = capture.run_blocking(|| {
            let tree = |document: &Document| json!(ContentTree::parse("{}", vec![document.clone()]).unwrap());
            documents.iter().map(tree).collect::<Vec<Value>>()
        });
        black_box(capture.finish(&value).unwrap());
    });
}

#[test]
fn documents_of_results() {
    grows_like_its_input("an output that shows some", 300, documents, |documents| {
        black_box(ToolOutput::showing(tree(documents.clone()), documents.iter().rev().cloned()));
    });
    grows_like_its_input("an output of one id", 300, versions, |documents| {
        black_box(ToolOutput::showing(tree(documents.clone()), documents.iter().rev().cloned()));
    });
    let message = |count: usize| {
        let mut result = ToolResult::new(&call("c"), ResultStatus::Ok, tree(documents(count)));
        result.withheld = result.documents.iter().step_by(2).map(|document| document.id().clone()).collect();
        Message::ToolResults(ToolResultsMessage::new([result])).shared()
    };
    grows_like_its_input("the documents of a message", 300, message, |message| {
        black_box(message.documents());
    });
    grows_like_its_input("the documents of a conversation", 300, message, |message| {
        black_box(ConversationDocuments::of([message]));
    });
    grows_like_its_input("a message that is stored", 300, message, |message| {
        black_box(serde_json::to_string(&**message).unwrap());
    });
    let stored = |count: usize| serde_json::to_string(&*message(count)).unwrap();
    grows_like_its_input("a message that is read", 100, stored, |text| {
        black_box(serde_json::from_str::<Message>(text).unwrap());
    });
    let known = |count: usize| {
        let parts = documents(count).into_iter().map(Option::<UserPart>::from);
        ConversationDocuments::of(&[Message::User(UserMessage::new(parts)).shared()])
    };
    grows_like_its_input("a reference that means none", 2_000, known, |known| {
        black_box(known.resolve(&DocumentRef::parse("nowhere").unwrap()).unwrap_err());
    });
    grows_like_its_input("identities of one id", 1_000, versions, |documents| {
        let mut identities = Identities::new();
        let numbers: Vec<usize> = documents.iter().map(|document| identities.number(document)).collect();
        black_box(numbers);
    });
}

#[test]
fn repairs() {
    let mended = |messages: &Vec<Arc<Message>>| drop(black_box(repair(messages)));
    let turn = |id: &str| {
        [
            Message::user("u").shared(),
            Message::Assistant(AssistantMessage::new([call(id).into()])).shared(),
            Message::ToolResults(ToolResultsMessage::new([ToolResult::ok(&call(id), "x")])).shared(),
        ]
    };
    let one_call_id = |count: usize| (0..count).flat_map(|_| turn("call_0")).collect();
    grows_like_its_input("one id for all calls", 200, one_call_id, mended);
    let one_message_id = |count: usize| {
        let message = |_| Message::user("u").with_id(MessageId::parse("m").unwrap()).shared();
        (0..count).map(message).collect()
    };
    grows_like_its_input("one id for all messages", 300, one_message_id, mended);
    let results_last = |count: usize| {
        let turns: Vec<_> = (0..count).map(|_| turn("call_0")).collect();
        let of = |at: usize| turns.iter().map(move |turn| Arc::clone(&turn[at]));
        of(0).chain(of(1)).chain(of(2)).collect()
    };
    grows_like_its_input("all results behind all calls", 1_000, results_last, mended);
    let calls_last = |count: usize| {
        let turns: Vec<_> = (0..count).map(|_| turn("call_0")).collect();
        let of = |at: usize| turns.iter().map(move |turn| Arc::clone(&turn[at]));
        of(2).chain(of(1)).collect()
    };
    grows_like_its_input("all results before all calls", 200, calls_last, mended);
    let one_reply = |count: usize| {
        let calls: Vec<_> = (0..count).map(|number| call(&format!("call_{}", number / 2))).collect();
        let asks = AssistantMessage::new(calls.iter().map(|call| call.clone().into()));
        let results = calls.iter().rev().map(|call| ToolResult::ok(call, "x"));
        vec![
            Message::Assistant(asks).shared(),
            Message::ToolResults(ToolResultsMessage::new(results)).shared(),
        ]
    };
    grows_like_its_input("one reply of many calls", 300, one_reply, mended);
    let proper = |count: usize| (0..count).flat_map(|number| turn(&format!("call_{number}"))).collect();
    grows_like_its_input("nothing to mend", 300, proper, mended);
    let synthetic = |count: usize| {
        let asks = call("c");
        let result = ToolResult::new(&asks, ResultStatus::Ok, tree(documents(count)));
        let inside = (0..count).map(|number| Document::inline("x").with_id(id(number).inside(1)));
        let mut shown = UserMessage::new(inside.map(Option::<UserPart>::from));
        shown.origin = UserOrigin::ToolCallDocuments;
        let messages = [
            Message::user("u"),
            Message::Assistant(AssistantMessage::new([asks.into()])),
            Message::ToolResults(ToolResultsMessage::new([result])),
            Message::User(shown),
        ];
        messages.map(Message::shared).to_vec()
    };
    grows_like_its_input("documents inside documents", 100, synthetic, mended);
    let orphan = |count: usize| {
        let mut result = ToolResult::new(&call("c"), ResultStatus::Ok, tree(documents(count)));
        result.withheld = result.documents.iter().step_by(2).map(|document| document.id().clone()).collect();
        vec![Message::ToolResults(ToolResultsMessage::new([result])).shared()]
    };
    grows_like_its_input("a result of no call", 300, orphan, mended);
}

#[test]
fn calls_put_together() {
    let repeated_name = |count: usize| vec!["abcd"; count];
    grows_like_its_input("a name with every piece", 1_000, repeated_name, |pieces| {
        let mut assembler = ToolCallAssembler::new();
        let fragment = || ToolCallFragment::new().with_index(0).with_name("f");
        assembler.push(&fragment().with_arguments("{\"a\":\""));
        pieces.iter().for_each(|piece| drop(assembler.push(&fragment().with_arguments(*piece))));
        black_box(assembler.finish());
    });
    let braces = |count: usize| vec!["x{}"; count];
    grows_like_its_input("pieces that look complete", 1_000, braces, |pieces| {
        let mut assembler = ToolCallAssembler::new();
        let fragment = || ToolCallFragment::new().with_index(0).with_name("f");
        pieces.iter().for_each(|piece| drop(assembler.push(&fragment().with_arguments(*piece))));
        black_box(assembler.finish());
    });
}

#[test]
fn conversations_and_tools() {
    let exported = |count: usize| {
        let bytes = |number: usize| Document::from_bytes(format!("text {number}").into_bytes(), "text/plain");
        let message = |number| Message::User(UserMessage::new([bytes(number).into()])).shared();
        Conversation::new((0..count).map(message))
    };
    grows_like_its_input("an export", 200, exported, |conversation| {
        black_box(conversation.to_json().unwrap());
    });
    let json = |count: usize| exported(count).to_json().unwrap();
    grows_like_its_input("an import", 100, json, |json| {
        black_box(Conversation::from_json(json).unwrap());
    });
    let names = |count: usize| {
        (0..count)
            .map(|number| ToolDefinition::new(format!("tool.{number}"), "", json!({})))
            .collect::<Vec<_>>()
    };
    grows_like_its_input("a set of tools", 300, names, |definitions| {
        black_box(ToolSet::new(definitions.clone()).unwrap());
    });
    grows_like_its_input(
        "a long name",
        10_000,
        |count| "ü".repeat(count),
        |name| {
            black_box(wire_name(name));
        },
    );
    let text = |count: usize| "say \"hi\"\n".repeat(count);
    grows_like_its_input("a long text", 5_000, text, |text| {
        let tree = capture().finish(text).unwrap();
        black_box((tree.model_text().len(), tree.model_text_literal().len(), tree.is_blank()));
    });
}
