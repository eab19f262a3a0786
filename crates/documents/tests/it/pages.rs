//! Limits of pages hold without anybody who opens PDFs: invariant 2 with default features.

use attache_core::converter::Transcoded;
use attache_core::{Document, ModelCapabilities};
use attache_documents::{DocumentBudget, Material, Materials, ReasonKind, RouteOptions, plan};

use crate::builder::{Chat, doc, model, only, outcomes, pdf};

/// A PDF of so many pages, as a program without object streams writes it.
fn of_pages(name: &str, pages: usize) -> Document {
    let head = format!("%PDF-1.4\n2 0 obj<</Type/Pages/Count {pages}/Kids[]>>endobj\n");
    doc(name, (head + &"<</Type/Page>>\n".repeat(pages)).as_bytes(), "application/pdf")
}

fn hidden(name: &str) -> Document {
    let body = b"%PDF-1.6\n3 0 obj<</Type/ObjStm/Filter/Crypt>>stream\n?\nendstream";
    doc(name, body, "application/pdf")
}

fn claude() -> ModelCapabilities {
    let claude = model("anthropic");
    assert_eq!((claude.tool_result.max_pages, claude.files.max_pages), (Some(600), Some(600)));
    claude
}

fn routed(chat: &Chat, have: &Materials) -> attache_documents::Routing {
    chat.routed(&claude(), have, &RouteOptions::new()).unwrap()
}

#[test]
fn a_pdf_of_too_many_pages_is_a_note() {
    let one = |pages: usize| Chat::new().user("?").tool(&[of_pages("a.pdf", pages)]);
    assert_eq!(outcomes(&routed(&one(600), &Materials::new())), ["native"]);
    let routing = routed(&one(700), &Materials::new());
    assert_eq!((outcomes(&routing), only(&routing).reason.kind()), (vec!["note"], ReasonKind::TooLarge));
    assert_eq!(only(&routing).reason.as_str(), "it has 700 pages, and this model takes at most 600 of them");
    // With a converter it is cut, or said to be whole by who opened it.
    let wanted = plan(&one(700).messages, &claude(), &RouteOptions::new(), &Materials::new()).transcode;
    assert_eq!(wanted.len(), 1);
    let mut have = Materials::new();
    have.insert(&wanted[0].0, Material::Unchecked(wanted[0].1.clone()));
    assert_eq!(outcomes(&routed(&one(700), &have)), ["note"], "nobody could cut it");
    have.insert(
        &wanted[0].0,
        Material::Transcoded(wanted[0].1.clone(), Transcoded::unchanged().with_pages(3)),
    );
    assert_eq!(outcomes(&routed(&one(700), &have)), ["native"]);
    let author = Chat::new().author("read", &[of_pages("a.pdf", 700)]);
    let error = author.routed(&claude(), &Materials::new(), &RouteOptions::new()).unwrap_err();
    assert!(error.message().contains("it has 700 pages"), "{error}");
}

#[test]
fn pages_of_all_pdfs_are_counted_together() {
    let chat = (0..3).fold(Chat::new().user("?"), |chat, n| chat.tool(&[of_pages(&format!("{n}.pdf"), 250)]));
    let routing = chat
        .routed(&claude(), &Materials::new(), &RouteOptions::new().with_budget(DocumentBudget::Unlimited))
        .unwrap();
    assert_eq!(outcomes(&routing), ["note", "native", "native"]);
    assert!(routing.report.decisions[0].reason.as_str().contains("at most 600 pages of PDFs"));
}

// Where nobody can tell, it is not sent: a refusal would fail the whole request.
#[test]
fn a_pdf_whose_pages_are_hidden_is_a_note_where_pages_are_limited() {
    let chat = Chat::new().user("?").tool(&[hidden("a.pdf")]);
    let routing = routed(&chat, &Materials::new());
    assert_eq!((outcomes(&routing), only(&routing).reason.kind()), (vec!["note"], ReasonKind::Unfit));
    let chat_model = model("openai-chat");
    assert_eq!((chat_model.user.max_pages, chat_model.files.max_pages), (None, None));
    assert_eq!(outcomes(&chat.route("openai-chat")), ["synthetic"]);
    // A converter that opens it says how many there are.
    let form = plan(&chat.messages, &claude(), &RouteOptions::new(), &Materials::new()).transcode.remove(0);
    let mut have = Materials::new();
    have.insert(&form.0, Material::Transcoded(form.1.clone(), Transcoded::unchanged().with_pages(7)));
    assert_eq!(outcomes(&routed(&chat, &have)), ["native"]);
    have.insert(&form.0, Material::Transcoded(form.1.clone(), Transcoded::unchanged()));
    assert_eq!(outcomes(&routed(&chat, &have)), ["note"], "it did not count them");
}

// The cost that a budget pays for is an estimate, and no reason to show nothing of a document.
#[test]
fn a_budget_of_pages_needs_who_can_cut() {
    let options = RouteOptions::new().with_budget(DocumentBudget::Tokens(20_000));
    let chat = Chat::new().user("?").tool(&[of_pages("a.pdf", 50)]);
    let routing = chat.routed(&claude(), &Materials::new(), &options).unwrap();
    assert_eq!(outcomes(&routing), ["native"]);
    assert_eq!(only(&routing).tokens, 50 * 2_000, "known, not guessed");
    assert_eq!(
        plan(&chat.messages, &claude(), &options, &Materials::new()).transcode[0].1.max_pages,
        Some(7)
    );
    // A PDF without any page is for the provider to judge.
    assert_eq!(
        outcomes(&routed(&Chat::new().user("?").tool(&[pdf("a.pdf")]), &Materials::new())),
        ["native"]
    );
}
