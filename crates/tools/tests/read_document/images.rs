//! Pages as images, for models that take images and no PDF.

use std::ops::RangeInclusive;

use attache_agent::AgentBuilder;
use attache_core::converter::{ConvertedText, ConverterError, MediaLimits, PageImage, RenderedPages};
use attache_core::{BoxFuture, Converter, Document, MediaType};
use attache_testkit::{ScriptedModel, Turn};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{ID, Pages, attached, find, on, outcome, pages_of, pdf, reading, results};

/// Reads PDFs as [`Pages`] does, and renders them: each page that holds more than nothing.
#[derive(Clone, Default)]
struct Renders(Pages);

impl Converter for Renders {
    fn converts(&self, media_type: &MediaType) -> bool {
        self.0.converts(media_type)
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        self.0.convert(document, bytes)
    }

    fn renders(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        self.0.converts(media_type) && form.allows(&MediaType::parse("image/png").unwrap())
    }

    fn render<'a>(
        &'a self,
        _document: &'a Document,
        bytes: Bytes,
        pages: &'a [RangeInclusive<usize>],
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<RenderedPages, ConverterError>> {
        let all = pages_of(&bytes);
        let asked = |page: &usize| pages.iter().any(|range| range.contains(page));
        let (seen, blank): (Vec<usize>, Vec<usize>) =
            (1..=all.len()).filter(asked).partition(|page| !all[page - 1].is_empty());
        let most = usize::try_from(form.max_pages.unwrap()).unwrap();
        let png = MediaType::parse("image/png").unwrap();
        let bytes = |page: &usize| [&b"\x89PNG\r\n\x1a\n"[..], &page.to_be_bytes()].concat();
        let image = |page: &usize| PageImage::new(*page, bytes(page), png.clone());
        let mut rendered = RenderedPages::new(seen.iter().take(most).map(image).collect(), all.len());
        rendered.blank = blank;
        Box::pin(std::future::ready(Ok(rendered)))
    }
}

/// A model that takes images where a tool's documents stand, and no PDF.
fn images_only(document: Document, call: Value) -> AgentBuilder {
    let model = ScriptedModel::new([find(), reading(call), Turn::text("done")])
        .with_capabilities_of("xai-chat", "grok-4");
    on(model, document)
}

// A model that takes images and no PDF is shown images of pages without text
#[tokio::test]
async fn pages_without_text_are_shown_as_images() {
    let one = |document: Document, call: Value| async move {
        let outcome = outcome(images_only(document, call).converter(Renders::default())).await;
        (results(&outcome).remove(0), attached(&outcome))
    };
    let scan = || pdf(vec![" "; 25]);
    let (told, documents) = one(scan(), json!({"id": ID, "pages": "3-4,9"})).await;
    assert!(
        told.starts_with(
            "{\"shown\":\"pages 3-4,9 of 25 as images, since they have no readable text: the document holds no text; \
             next: pages 10-25\",\"documents\":[{\"attache.document\":\"stored\","
        ),
        "{told}"
    );
    let names: Vec<_> = documents.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["lease, page 3.png", "lease, page 4.png", "lease, page 9.png"]);
    // Bounded, and it says how to go on.
    let (told, documents) = one(scan(), json!({"id": ID})).await;
    assert!(told.contains("pages 1-10 of 25 as images") && told.contains("next: pages 11-25"), "{told}");
    assert_eq!(documents.len(), 10);
    let (told, documents) = one(scan(), json!({"id": ID, "pages": "26"})).await;
    assert_eq!((told.as_str(), documents.len()), ("this document has 25 pages", 0));
    let (told, _) = one(scan(), json!({"id": ID, "query": "rent"})).await;
    assert!(told.ends_with("ask for it, or for its pages, without a query"), "{told}");
    // One page of a document with text is a scan, another is blank.
    let (told, documents) = one(pdf(["text", " ", ""]), json!({"id": ID, "pages": "2-3"})).await;
    assert!(
        told.contains("pages 2 of 3 as images") && told.contains("on pages 3 of 3 there is nothing to see"),
        "{told}"
    );
    assert_eq!(documents.len(), 1);
    let (told, documents) = one(pdf(["text", " ", ""]), json!({"id": ID, "pages": "1"})).await;
    assert!(told.contains("[page 1]\ntext") && documents.is_empty(), "{told}");
}

/// Reads PDFs as [`Renders`] does, and says that images cover their pages but the last.
#[derive(Clone, Default)]
struct Stamped(Renders);

impl Converter for Stamped {
    fn converts(&self, media_type: &MediaType) -> bool {
        self.0.converts(media_type)
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        Box::pin(async move {
            let mut text = self.0.convert(document, bytes).await?;
            text.units = text.units.map(|units| {
                let covered = (1..units.total).collect();
                units.with_covered(covered)
            });
            Ok(text)
        })
    }

    fn renders(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        self.0.renders(media_type, form)
    }

    fn render<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        pages: &'a [RangeInclusive<usize>],
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<RenderedPages, ConverterError>> {
        self.0.render(document, bytes, pages, form)
    }
}

// A scan with a stamp has text, and that is not what is on it.
#[tokio::test]
async fn pages_that_images_cover_are_shown_as_images() {
    let one = |pages: &'static str| async move {
        let document = pdf(["B-0001", "B-0002", "The rent is 940."]);
        let call = json!({"id": ID, "pages": pages});
        let outcome = outcome(images_only(document, call).converter(Stamped::default())).await;
        (results(&outcome).remove(0), attached(&outcome))
    };
    let (told, documents) = one("2").await;
    assert!(told.contains("pages 2 of 3 as images") && told.contains("images cover them"), "{told}");
    assert!(told.contains("B-0002") && !told.contains("B-0001"), "the text is read too: {told}");
    assert_eq!(documents.len(), 1);
    let (told, documents) = one("3").await;
    assert!(told.contains("The rent is 940.") && documents.is_empty(), "{told}");
}
