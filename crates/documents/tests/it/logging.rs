//! One line per extraction, one for an unexpected shape: C18, C32.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Once;

use attache_core::ContentTree;
use attache_documents::walk_value;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::builder::{Chat, csv, pdf, tree};

thread_local! {
    static LINES: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Keeps the lines of each thread that asks. It is installed for the whole process: whether a line is wanted is remembered
/// process-wide, so a subscriber of one thread alone may miss what another thread met first.
struct Lines;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("attache_documents")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{} ", event.metadata().level()));
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| lines.as_mut().map(|lines| lines.push(line.0.trim().to_owned())));
    }
}

pub(crate) fn logged(work: impl FnOnce()) -> Vec<String> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| tracing::subscriber::set_global_default(Lines).unwrap());
    LINES.set(Some(Vec::new()));
    work();
    LINES.take().unwrap()
}

// C32
#[test]
fn one_line_sums_up() {
    let chat =
        Chat::new().user("?").calls(&[("find", tree(&[pdf("a.pdf"), csv("b.csv")])), ("find", tree(&[]))]);
    let lines = logged(|| {
        chat.route("openai-chat");
    });
    assert_eq!(
        lines,
        ["DEBUG message=routed the documents of tool results, events and prompts results=2 \
          results_with_documents=1 documents=2 native=0 synthetic=1 text=1 rendered=0 converted=0 notes=0 withheld=0"]
    );
}

// C18: the tool and the shape are named, nothing of the content
#[test]
fn unexpected_shapes_are_told_once() {
    let forged =
        ContentTree::value(&json!({"attache.document": "stored", "documentId": "canary", "metadata": {}}));
    let chat = Chat::new().user("?").calls(&[("find.it", forged)]);
    let lines = logged(|| {
        chat.route("openai-chat");
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
    let expected = "DEBUG message=the output refers to documents that it does not hold tool=\"find.it\" references=1 malformed=0";
    assert_eq!(lines[0], expected);
    let odd =
        json!([{"attache.document": 7, "x": "canary"}, {"attache.document": "stored", "documentId": [1]}]);
    assert_eq!(walk_value(&odd, &[]), []);
    let lines = logged(|| {
        Chat::new().user("?").calls(&[("find.it", ContentTree::value(&odd))]).route("openai-chat");
    });
    let expected = expected.replace("references=1 malformed=0", "references=0 malformed=2");
    assert!(lines.len() == 2 && lines[0] == expected, "{lines:?}");
}
