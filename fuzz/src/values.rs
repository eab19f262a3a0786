//! The writings of models and tools: arguments against schemas, trees with documents, documents themselves.

use attache_core::{ContentTree, Document, DocumentId};
use attache_schema::{Schema, Subset, strict};
use serde_json::Value;

/// A schema and a value, a line each.
pub fn schema(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (first, second) = text.split_once('\n').unwrap_or((text, "null"));
    let Ok(schema) = serde_json::from_str::<Value>(first) else { return };
    let Ok(value) = serde_json::from_str::<Value>(second) else { return };
    if let Ok(compiled) = Schema::new(&schema) {
        let valid = compiled.check(&value).is_empty();
        let mut coerced = value.clone();
        if compiled.coerce(&mut coerced).is_empty() {
            assert!(compiled.check(&coerced).is_empty(), "what is coerced is valid");
        }
        if valid {
            assert_eq!(coerced, value, "what is valid stays as it is");
        }
    }
    for subset in [Subset::OpenAi, Subset::Anthropic] {
        if let Ok(strict) = strict(&schema, subset) {
            // The value that comes back need not be of the schema; it must be read or refused.
            let _ = strict.restore(value.clone());
        }
    }
}

/// JSON of a tool, with references to two documents.
pub fn tree(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let documents = vec![
        Document::new("a").with_id(DocumentId::parse("7d41c0b2-0c57-4e0b-9d5a-6f1f3a2b7c88").expect("an id")),
        Document::new("b").with_id(DocumentId::parse("3a91c0de-0c57-4e0b-9d5a-6f1f3a2b7c88").expect("an id")),
    ];
    let Some(tree) = ContentTree::parse(text, documents.clone()) else { return };
    let found = attache_documents::walk(&tree);
    assert!(found.iter().all(|document| documents.contains(document)), "a reference makes no document");
    let _ = (tree.model_text(), tree.unresolved());
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let _ = attache_documents::walk_value(&value, &documents);
    }
}

/// A document, of the type that its bytes tell; those that tell none are tried as text.
#[cfg(feature = "convert")]
pub fn convert(data: &[u8]) {
    use std::time::Duration;

    use attache_convert::{Limits, convert, transcode};
    use attache_core::MediaType;
    use attache_core::converter::MediaLimits;
    use bytes::Bytes;

    let media = MediaType::sniff(data);
    let media = media.as_ref().map_or("text/html", MediaType::essence);
    let limits = Limits::new().with_max_time(Duration::from_secs(10)).with_max_decoded_bytes(16 << 20);
    let bytes = Bytes::copy_from_slice(data);
    if let Ok(converted) = convert(media, bytes.clone(), &limits) {
        assert!(converted.text.len() <= limits.max_output_bytes, "a text stays within its limit");
    }
    let _ = transcode(media, bytes, &MediaLimits::of(["image/png", "application/pdf"]), &limits);
}
