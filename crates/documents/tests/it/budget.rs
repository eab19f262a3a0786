//! The cost that documents may have: D16, and pages of a request.

use attache_core::Document;
use attache_core::converter::Transcoded;
use attache_documents::{DocumentBudget, Material, Materials, ReasonKind, RouteOptions, plan};

use crate::builder::{Chat, doc, model, outcomes, pdf, shown};

fn text(name: &str) -> Document {
    doc(name, "four".repeat(1_000).as_bytes(), "text/plain")
}

fn turns(documents: impl IntoIterator<Item = Document>) -> Chat {
    documents.into_iter().fold(Chat::new(), |chat, document| chat.user("?").tool(&[document]).reply("ok"))
}

// The oldest go first, a quarter of the budget at a time.
#[test]
fn the_oldest_contents_go_when_the_budget_is_spent() {
    let options = RouteOptions::new().with_budget(DocumentBudget::Tokens(8_300));
    let left_out = |count: usize| {
        let chat = turns((0..count).map(|n| text(&format!("{n}.txt"))));
        let routing = chat.routed(&model("anthropic"), &Materials::new(), &options).unwrap();
        let outcomes = outcomes(&routing);
        let notes = outcomes.iter().take_while(|outcome| **outcome == "note").count();
        assert!(outcomes[notes..].iter().all(|outcome| *outcome == "text"));
        if notes > 0 {
            assert_eq!(routing.report.decisions[0].reason.kind(), ReasonKind::OverBudget);
            let note = &shown(&routing.messages[2])[0];
            let end = "status=\"left-out\" />\nContent not shown here: the documents of a request cost at most about 8300 tokens, and newer documents are in it.";
            assert!(note.ends_with(end), "{note}");
            assert!(routing.report.tokens() <= 8_300);
        }
        notes
    };
    assert_eq!([8, 9, 10, 11, 12].map(left_out), [0, 2, 2, 4, 4]);
}

// Guesses by the size of a file do not leave out anything unless somebody sets a number.
#[test]
fn the_window_is_the_budget_by_default() {
    let mut capabilities = model("anthropic");
    capabilities.context_window = Some(8_000);
    let chat = turns((0..7).map(|n| text(&format!("{n}.txt"))));
    let routed = |chat: &Chat, options: &RouteOptions| {
        outcomes(&chat.routed(&capabilities, &Materials::new(), options).unwrap())
    };
    assert_eq!(routed(&chat, &RouteOptions::new())[..3], ["note", "note", "text"]);
    let unlimited = RouteOptions::new().with_budget(DocumentBudget::Unlimited);
    assert_eq!(routed(&chat, &unlimited), ["text"; 7]);
    let unknown = turns((0..7).map(|n| pdf(&format!("{n}.pdf"))));
    assert_eq!(routed(&unknown, &RouteOptions::new()), ["native"; 7]);
    let strict = RouteOptions::new().with_budget(DocumentBudget::Tokens(6_000));
    assert_eq!(routed(&unknown, &strict)[3..], ["note", "native", "native", "native"]);
}

// An estimate is no reason to refuse what an author attached.
#[test]
fn an_author_is_not_refused_for_an_estimate() {
    let options = RouteOptions::new().with_budget(DocumentBudget::Tokens(100));
    let chat = turns([text("a.txt")]).author("Read this.", &[text("b.txt")]);
    let routing = chat.routed(&model("anthropic"), &Materials::new(), &options).unwrap();
    assert_eq!(outcomes(&routing), ["note", "text"]);
}

// The newest content stays whatever it costs, and a PDF is cut to what can be paid; an author's is not.
#[test]
fn what_is_alone_is_not_left_out() {
    let options = RouteOptions::new().with_budget(DocumentBudget::Tokens(100));
    let alone = turns([text("a.txt")]).routed(&model("anthropic"), &Materials::new(), &options).unwrap();
    assert_eq!(outcomes(&alone), ["text"]);
    let options = RouteOptions::new().with_budget(DocumentBudget::Tokens(16_000));
    let pages = |chat: &Chat| {
        let plan = plan(&chat.messages, &model("anthropic"), &options, &Materials::new());
        plan.transcode[0].1.max_pages
    };
    assert_eq!(pages(&turns([pdf("a.pdf")])), Some(6));
    assert_eq!(pages(&Chat::new().author("Read it.", &[pdf("a.pdf")])), Some(600));
}

// D18: pages of all PDFs together
#[test]
fn a_request_has_a_number_of_pages() {
    let mut capabilities = model("anthropic");
    capabilities.files.max_pages = Some(100);
    let chat = turns(["a.pdf", "b.pdf", "c.pdf"].map(pdf));
    let mut have = Materials::new();
    for (document, form) in plan(&chat.messages, &capabilities, &RouteOptions::new(), &have).transcode {
        have.insert(&document, Material::Transcoded(form.clone(), Transcoded::unchanged().with_pages(40)));
    }
    let routing = chat.routed(&capabilities, &have, &RouteOptions::new()).unwrap();
    assert_eq!(outcomes(&routing), ["note", "native", "native"]);
    assert_eq!(
        routing.report.decisions[0].reason.as_str(),
        "a request to this model holds at most 100 pages of PDFs, and newer documents are in it"
    );
    assert_eq!(routing.report.decisions[1].tokens, 40 * 2_000);
}
