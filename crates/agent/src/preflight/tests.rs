use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::converter::{ConvertedText, ConverterError, ConverterErrorKind, MediaLimits};
use attache_core::tool::{SchemaLoosening, SchemaRefusal};
use attache_core::{BoxFuture, Converter, Document, MediaType};
use bytes::Bytes;

use super::media::fate;
use super::*;

/// Reads spreadsheets as text, and re-encodes BMP.
struct Reader;

impl Converter for Reader {
    fn converts(&self, media_type: &MediaType) -> bool {
        media_type.essence().contains("spreadsheet")
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        _: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        Box::pin(async { Err(ConverterError::new(ConverterErrorKind::Failed, "it is not there")) })
    }

    fn transcodes(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        media_type.essence() == "image/bmp" && !form.media.is_empty()
    }
}

// Declared media against the model's row; documents.md 9.2 D7, D8, D34
#[test]
fn declared_media_are_held_against_the_row() {
    let converters: Vec<Arc<dyn Converter>> = vec![Arc::new(Reader)];
    let claude = Matrix::bundled().resolve("anthropic", "claude-opus-4-8");
    let chat = Matrix::bundled().resolve("openai-chat", "gpt-4o");
    let sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    for (media, row, expected) in [
        ("application/pdf", &claude, MediaFate::Native),
        ("application/pdf", &chat, MediaFate::Behind),
        ("text/csv", &chat, MediaFate::Native),
        ("text/*", &chat, MediaFate::Native),
        ("image/svg+xml", &claude, MediaFate::Native),
        ("image/bmp", &claude, MediaFate::Reencoded),
        (sheet, &claude, MediaFate::Converted),
        ("image/tiff", &chat, MediaFate::Note),
        ("video/mp4", &claude, MediaFate::Note),
        ("nonsense", &claude, MediaFate::Note),
    ] {
        assert_eq!(fate(media, row, &converters), expected, "{media} for {}", row.family);
    }
    assert_eq!(fate("image/bmp", &claude, &[]), MediaFate::Note, "nobody re-encodes it");
    let MediaFate::Partly(taken) = fate("image/*", &chat, &[]) else { panic!("some images are taken") };
    assert!(taken.contains(&"image/png".to_owned()) && !taken.contains(&"image/tiff".to_owned()));
}

#[test]
fn a_report_reads_as_lines() {
    let media = |media: &str, fate| DeclaredMedia { tool: "scan".to_owned(), media: media.to_owned(), fate };
    let report = Preflight {
        model: "openai-chat/gpt-4o".to_owned(),
        loosened: vec![SchemaLoosening::new("find", "/properties/n", "minimum", "the API is not told")],
        unchecked: vec![UncheckedKeyword {
            tool: "find".to_owned(),
            pointer: String::new(),
            keyword: "pattern".to_owned(),
            why: "it looks around".to_owned(),
        }],
        media: vec![
            media("image/tiff", MediaFate::Note),
            media("image/png", MediaFate::Behind),
            media("text/csv", MediaFate::Native),
        ],
        left_out: vec![SchemaRefusal::new("odd".to_owned(), "the API does not take it")],
    };
    assert_eq!(
        report.to_string().lines().collect::<Vec<_>>(),
        [
            "tool `odd`: the API does not take it; it is not offered",
            "tool `find`: pattern at the root is not checked: it looks around",
            "tool `scan` returns image/tiff, which openai-chat/gpt-4o takes neither in tool results nor in user messages, \
             and no converter reads it: the model will see a note",
            "tool `find`: minimum at /properties/n: the API is not told",
            "tool `scan` returns image/png, which openai-chat/gpt-4o does not take in tool results: it follows in a user \
             message",
        ]
    );
    assert!(!report.is_clean() && Preflight::default().is_clean());
    assert_eq!(Preflight::default().to_string(), "");
}
