//! Documents inside documents: the attachments of an e-mail.

use attache_core::{Document, DocumentId};
use attache_documents::{ConvertedText, DocumentOutcome, Material, Materials, RouteOptions, plan};

use crate::builder::{Chat, csv, doc, model, outcomes, pdf, shown, zip};

fn mail(name: &str) -> Document {
    doc(name, b"Subject: rent\n\nsee attachments", "message/rfc822")
}

fn text() -> ConvertedText {
    ConvertedText::new("Subject: rent\n\nsee attachments\n")
        .with_attachment(pdf("lease.pdf"))
        .with_attachment(csv("payments.csv"))
        .with_attachment(zip("rest.zip"))
}

#[test]
fn what_is_attached_is_routed_like_what_it_is_attached_to() {
    let mail = mail("mail.eml");
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&mail));
    let mut have = Materials::new();
    have.insert(&mail, text());
    for (family, expected) in [
        ("anthropic", ["converted", "native", "text", "note"]),
        ("openai-chat", ["converted", "synthetic", "text", "note"]),
        ("offline", ["converted", "note", "text", "note"]),
    ] {
        let routing = chat.routed(&model(family), &have, &RouteOptions::new()).unwrap();
        assert_eq!(outcomes(&routing), expected, "{family}");
        let [holder, inner @ ..] = &*routing.report.decisions else { panic!() };
        assert_eq!(holder.inside, None);
        for (at, decision) in inner.iter().enumerate() {
            assert_eq!(decision.inside.as_ref(), Some(mail.id()));
            assert_eq!(decision.document_id, mail.id().inside(at + 1), "the same id each time");
            assert_eq!(decision.tool_call_id.as_deref(), Some("call_1"));
        }
    }
    let routing = chat.routed(&model("anthropic"), &have, &RouteOptions::new()).unwrap();
    let content = shown(&routing.messages[2]);
    assert!(content[1].contains("see attachments"));
    assert_eq!(content[2], "(application/pdf lease.pdf)");
}

// The mail itself is what the author wants read, and it is.
#[test]
fn what_is_attached_to_an_authors_document_fails_nothing() {
    let mail = mail("mail.eml");
    let mut have = Materials::new();
    have.insert(&mail, text());
    let chat = Chat::new().author("?", std::slice::from_ref(&mail));
    let options = RouteOptions::new().with_convert_author_documents(true);
    let routing = chat.routed(&model("anthropic"), &have, &options).unwrap();
    assert_eq!(outcomes(&routing), ["converted", "native", "text", "note"]);
    let later = chat.reply("It is there.").user("And?").routed(&model("anthropic"), &have, &options).unwrap();
    assert_eq!(shown(&later.messages[0]), shown(&routing.messages[0]), "what was sent stays");

    let image = |n| doc(&format!("{n}.png"), format!("\x7fPNG {n}").as_bytes(), "image/png");
    let images = (0..8).fold(ConvertedText::new("text"), |text, n| text.with_attachment(image(n)));
    let (mut many, mut small) = (Materials::new(), model("anthropic"));
    many.insert(&mail, images);
    small.user.max_count = Some(4);
    let chat = Chat::new().author("?", std::slice::from_ref(&mail));
    let routing = chat.routed(&small, &many, &options).unwrap();
    assert_eq!(routing.report.count(DocumentOutcome::Native), 4, "too many are left out");
}

#[test]
fn what_is_attached_is_planned_and_kept_with_its_holder() {
    let mail = mail("mail.eml");
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&mail));
    let mut have = Materials::new();
    have.insert(&mail, text());
    let planned = |have: &Materials| plan(&chat.messages, &model("anthropic"), &RouteOptions::new(), have);
    let next = planned(&have);
    let ids: Vec<DocumentId> = next.transcode.iter().map(|(document, _)| document.id().clone()).collect();
    assert_eq!(ids, [mail.id().inside(1)], "the PDF");
    have.insert(
        &next.transcode[0].0,
        Material::Transcoded(
            next.transcode[0].1.clone(),
            attache_core::converter::Transcoded::unchanged().with_pages(7),
        ),
    );
    for document in next.convert {
        have.insert(&document, Material::Unconvertible("no".into()));
    }
    assert!(planned(&have).is_empty());
    have.retain(|id| id == mail.id());
    assert!(planned(&have).is_empty(), "nothing is done twice");
    have.retain(|_| false);
    assert!(!planned(&have).is_empty());
}

// A mail in a mail in a mail, and one that holds itself as far as anybody can see.
#[test]
fn depth_and_number_have_an_end_that_is_told() {
    let outer = mail("outer.eml");
    let mut have = Materials::new();
    have.insert(&outer, (0..300).fold(ConvertedText::new("text"), |t, _| t.with_attachment(csv("a.csv"))));
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&outer));
    let routing = chat.routed(&model("anthropic"), &have, &RouteOptions::new()).unwrap();
    assert_eq!(routing.report.decisions.len(), 1 + 200);
    let content = shown(&routing.messages[2]);
    assert!(content[2].ends_with("100 more documents in it are not shown."), "{}", content[2]);

    let mut holder = outer;
    for _ in 0..10 {
        have.insert(&holder, ConvertedText::new("text").with_attachment(mail("inner.eml")));
        holder = mail("inner.eml").with_id(holder.id().inside(1));
    }
    let routing = chat.routed(&model("anthropic"), &have, &RouteOptions::new()).unwrap();
    assert_eq!(routing.report.count(DocumentOutcome::Converted), 5);
    assert!(shown(&routing.messages[2]).last().unwrap().ends_with("1 more documents in it are not shown."));
}
