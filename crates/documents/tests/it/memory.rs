//! The contents of materials, and how they are let go: invariants 5 and 9.

use attache_core::converter::{MediaLimits, Transcoded};
use attache_core::{Document, DocumentSource, MediaType, Message, ToolResult, UserPart};
use attache_documents::{ConvertedText, Material, Materials, RouteOptions, Routing, plan};

use crate::builder::{Chat, csv, doc, id, model, outcomes, pdf};

fn stored(name: &str) -> Document {
    Document::stored(id(&format!("{name}-1")), "main", "application/pdf").with_file_name(name)
}

fn bytes(count: usize) -> Vec<u8> {
    [b"%PDF-", &*vec![b'x'; count - 5]].concat()
}

fn routed(chat: &Chat, family: &str, have: &Materials) -> Routing {
    chat.routed(&model(family), have, &RouteOptions::new()).unwrap()
}

/// Where in memory the texts of tool results stand.
fn addresses(routing: &Routing) -> Vec<*const u8> {
    let mut found = Vec::new();
    for message in &routing.messages {
        let Message::ToolResults(results) = &**message else { continue };
        for content in results.results.iter().flat_map(ToolResult::attached) {
            match content {
                UserPart::Text(text) if text.text().starts_with("[begin") => found.push(text.text().as_ptr()),
                _ => {}
            }
        }
    }
    found
}

// A text is decoded and fenced once, however often it is routed; two versions of it once each.
#[test]
fn texts_are_read_once() {
    let other = doc("a.csv", b"x,y\n3,4\n", "text/csv");
    let html = doc("p.pdf", b"%PDF-1.7", "application/pdf");
    let chat = Chat::new().user("?").tool(&[csv("a.csv")]).tool(&[other]).tool(std::slice::from_ref(&html));
    let mut have = Materials::new();
    have.insert(&html, ConvertedText::new("made"));
    let first = addresses(&routed(&chat, "offline", &have));
    assert_eq!(first.len(), 3);
    assert_eq!(addresses(&routed(&chat, "offline", &have)), first);
    assert_ne!(addresses(&routed(&chat, "offline", &have.clone())), first, "a copy remembers none");
}

#[test]
fn what_is_held_is_bounded_oldest_first() {
    let documents = ["a", "b", "c"].map(stored);
    let chat = Chat::new().user("?").tool(&documents);
    let mut have = Materials::new();
    for document in &documents {
        have.insert(document, Material::Bytes(bytes(1_000).into()));
    }
    assert_eq!(have.held_bytes(), 3_000);
    have.shrink_to(3_000);
    assert_eq!(have.held_bytes(), 3_000);
    have.shrink_to(2_999);
    assert_eq!(have.held_bytes(), 2_000);
    // Material that is needed again is asked for again, and nothing else.
    let wanted = plan(&chat.messages, &model("anthropic"), &RouteOptions::new(), &have);
    assert_eq!(wanted.load, documents[..1]);
    have.insert(&documents[0], Material::Bytes(bytes(1_000).into()));
    have.shrink_to(1_000);
    let wanted = plan(&chat.messages, &model("anthropic"), &RouteOptions::new(), &have);
    assert_eq!(wanted.load, documents[1..], "the first is the newest now");
    have.shrink_to(0);
    assert_eq!(have.held_bytes(), 0);
}

// Reading again is cheap, loading again less so, converting again not at all.
#[test]
fn what_costs_most_to_have_again_goes_last() {
    let (loaded, scan) = (stored("a"), doc("s.bmp", b"BM pixels", "image/bmp").with_media_type("image/bmp"));
    let mut have = Materials::new();
    have.insert(&loaded, ConvertedText::new("t".repeat(100)).with_attachment(csv("in.csv")));
    have.insert(&loaded, Material::Bytes(bytes(1_000).into()));
    let form = MediaLimits::of(["image/png"]);
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0; 492]].concat();
    have.insert(
        &scan,
        Material::Transcoded(form, Transcoded::changed(png, MediaType::parse("image/png").unwrap(), "made")),
    );
    let base = 100 + 8 + 1_000 + 500;
    assert_eq!(have.held_bytes(), base);
    let chat = Chat::new().user("?").tool(&[csv("b.csv")]);
    routed(&chat, "offline", &have);
    assert!(have.held_bytes() > base, "the decoded text is held too");
    have.shrink_to(base);
    assert_eq!(have.held_bytes(), base);
    have.shrink_to(base - 1);
    assert_eq!(have.held_bytes(), 608, "the bytes");
    have.shrink_to(600);
    assert_eq!(have.held_bytes(), 108, "the form");
    assert_eq!(have.inside().count(), 1);
    have.shrink_to(107);
    assert_eq!((have.held_bytes(), have.inside().count()), (0, 0));
}

// A document whose bytes were let go is the same document when they are back.
#[test]
fn letting_go_changes_no_decision() {
    let kept = stored("a");
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&kept)).tool(std::slice::from_ref(&kept));
    let mut have = Materials::new();
    have.insert(&kept, Material::Bytes(bytes(100).into()));
    have.insert(&kept, ConvertedText::new("text"));
    let first = routed(&chat, "anthropic", &have);
    assert_eq!(outcomes(&first), ["native", "note"]);
    have.shrink_to(10);
    assert_eq!(outcomes(&routed(&chat, "offline", &have)), ["converted", "note"], "its text is still known");
    have.insert(&kept, Material::Bytes(bytes(100).into()));
    assert_eq!(routed(&chat, "anthropic", &have), first);
    // Its other content is another document.
    have.insert(&kept, Material::Bytes(bytes(99).into()));
    assert_eq!(plan(&chat.messages, &model("offline"), &RouteOptions::new(), &have).convert.len(), 1);
}

// Remembering what a document reads as does not keep its bytes in memory.
#[test]
fn no_bytes_are_kept_alive_by_what_was_read_of_them() {
    for content in [b"a,b\n1,2\n".to_vec(), b"%PDF-1.7 <</Type/Page>>".to_vec()] {
        let shared = bytes::Bytes::from(content);
        let have = Materials::new();
        let document = Document::from_bytes(shared.clone(), "").with_id(id("a-1"));
        let chat = Chat::new().user("?").tool(&[document]);
        drop(routed(&chat, "anthropic", &have));
        drop(chat);
        assert!(shared.is_unique(), "nothing but this test holds it");
    }
}

#[test]
fn materials_keep_what_the_window_shows() {
    let (seen, gone) = (stored("a"), stored("b"));
    let mut have = Materials::new();
    for document in [&seen, &gone] {
        have.insert(document, Material::Bytes(bytes(100).into()));
        have.insert(document, ConvertedText::new("text").with_attachment(pdf("in.pdf")));
    }
    have.retain(|known| known == seen.id());
    assert_eq!(have.held_bytes(), 100 + 4 + 17);
    assert_eq!(have.inside().map(Document::id).collect::<Vec<_>>(), [&seen.id().inside(1)]);
    assert!(matches!(seen.source(), DocumentSource::Stored));
}
