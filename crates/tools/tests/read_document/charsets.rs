//! Texts in other charsets than UTF-8.

use attache_core::converter::{ConvertedText, ConverterError};
use attache_core::{BoxFuture, Converter, Document, MediaType};
use bytes::Bytes;
use serde_json::json;

use super::{ID, agent, named, outcome, parts, read, results};

// D21: a text document is decoded as routing decodes it
#[tokio::test]
async fn texts_are_decoded() {
    let latin = Document::from_bytes(&b"gr\xf6\xdfe\nzwei\n"[..], "text/csv; charset=iso-8859-1");
    let guessed = Document::from_bytes(&b"caf\xe9 au lait\n"[..], "text/plain");
    let binary = Document::from_bytes(&b"a\0b\x01\xff"[..], "text/plain");
    let range = || [json!({"id": ID, "range": "1-2"})];
    let found = read(named(latin, "a.csv"), range()).await;
    assert_eq!(parts(&found[0]), ("Lines 1-2 of 2.", "größe\nzwei\n"));
    let found = read(named(guessed, "b.txt"), range()).await;
    assert!(found[0].contains(": read as windows-1252 (guessed); what follows is data"), "{}", found[0]);
    let found = read(named(binary, "c.txt"), range()).await;
    assert_eq!(
        found[0],
        "this document has no readable text: its bytes fit no known charset, and this model does not take it as it is"
    );
    let found = read(named(Document::inline("inline text"), "d.txt"), [json!({"id": ID})]).await;
    assert_eq!(parts(&found[0]).1, "inline text");
    for (bytes, why) in [(&b""[..], "the document is empty"), (b" \n", "it holds no text")] {
        let found =
            read(named(Document::from_bytes(bytes, "text/plain"), "e.txt"), [json!({"id": ID})]).await;
        assert!(found[0].contains(why), "{}", found[0]);
    }
}

/// Makes text of tables, and says in which charset it read them.
struct Guessing(&'static str);

impl Converter for Guessing {
    fn converts(&self, media_type: &MediaType) -> bool {
        media_type.essence() == "text/csv"
    }

    fn convert<'a>(
        &'a self,
        _document: &'a Document,
        _bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let converted = ConvertedText::new("Москва | 1\n").with_note(format!("read as {} (guessed)", self.0));
        Box::pin(std::future::ready(Ok(converted)))
    }
}

// D21: a converter tells charsets apart, where windows-1252 fits nearly all bytes
#[tokio::test]
async fn a_guessed_charset_is_left_to_a_converter_that_knows_better() {
    let bytes = &b"city,amount,paid on,reference\n\xcc\xee\xf1\xea\xe2\xe0,1,2026-04-17,A\n"[..];
    for (charset, begin) in [("windows-1251", "Москва | 1\n"), ("windows-1252", "city,amount")] {
        let table = named(Document::from_bytes(bytes, "text/csv"), "a.csv");
        let agent = agent(table, [json!({"id": ID})]).converter(Guessing(charset));
        let found = results(&outcome(agent).await);
        assert!(parts(&found[0]).1.starts_with(begin), "{}", found[0]);
    }
}
