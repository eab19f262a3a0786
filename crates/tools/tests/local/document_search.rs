//! Files of which converters make text are searched like texts.

use std::fs::{self, File};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use attache_core::converter::{ConvertedText, ConverterError, ConverterErrorKind, Units};
use attache_core::{BoxFuture, Converter, Document, MediaType};
use attache_tools::{FileFilter, Folders, file_tools};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{call, json};

/// Makes a text of what stands behind the mark of a PDF, a page for each line, and of mail.
#[derive(Clone, Default)]
struct Pages {
    made: Arc<AtomicUsize>,
    is_busy_first: bool,
}

impl Converter for Pages {
    fn converts(&self, media_type: &MediaType) -> bool {
        matches!(media_type.essence(), "application/pdf" | "message/rfc822")
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let made = self.made.fetch_add(1, Ordering::SeqCst);
        if self.is_busy_first && made == 0 {
            return Box::pin(async { Err(ConverterError::new(ConverterErrorKind::Busy, "not now")) });
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Box::pin(async move {
            if document.media_type().essence() == "message/rfc822" {
                return Ok(ConvertedText::new(text.replace("cmVudA==", "rent")));
            }
            let Some((_, text)) = text.split_once('\n') else {
                return Err(ConverterError::new(ConverterErrorKind::Malformed, "there is no page"));
            };
            let mut pages = String::new();
            let mut starts = Vec::new();
            for (at, line) in text.lines().enumerate() {
                starts.push(pages.len());
                pages.push_str(&format!("[page {}]\n{line}\n", at + 1));
            }
            let total = starts.len();
            Ok(ConvertedText::new(pages).with_units(Units::new("page", starts, total)))
        })
    }
}

#[tokio::test]
async fn words_are_found_on_the_pages_of_documents_each_converted_once() {
    let kept = tempfile::tempdir().unwrap();
    let lease = kept.path().join("lease.pdf");
    fs::write(&lease, "%PDF-1.7\nThe lease\nThe rent is 900 EUR\n").unwrap();
    fs::write(kept.path().join("letter.eml"), "Subject: x\n\ncmVudA==\n").unwrap();
    fs::write(kept.path().join("notes.md"), "rent\n").unwrap();
    fs::write(kept.path().join("empty.pdf"), "%PDF-1.7").unwrap();
    fs::write(kept.path().join("scan.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    let pages = Pages::default();
    let made = Arc::clone(&pages.made);
    let folders = Folders::open([kept.path()], FileFilter::new()).unwrap().with_converter(pages);
    let tools = file_tools(folders);
    let search = async |query: &str| json(&tools, "search_files", json!({ "query": query })).await;

    let found = search("rent").await;
    let matches = json!([
        {"path": "lease.pdf", "at": "page 2", "text": "The rent is 900 EUR"},
        {"path": "letter.eml", "text": "rent"},
        {"path": "notes.md", "line": 1, "text": "rent"},
    ]);
    assert_eq!(found, json!({"matches": matches, "filesWithoutText": 2}));
    assert_eq!(made.load(Ordering::SeqCst), 3);
    assert_eq!(search("page").await["matches"], json!([]), "the marks of pages are no part of them");
    assert_eq!(made.load(Ordering::SeqCst), 3, "texts are kept, and that there is none");

    fs::write(&lease, "%PDF-1.7\nThe lease\nThe rent is 950 EUR\n").unwrap();
    File::options().append(true).open(&lease).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(search("950").await["matches"][0]["at"], "page 2");
    assert_eq!(search("900").await["matches"], json!([]), "the text is that of the file as it is");
    assert_eq!(made.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn names_of_sheets_are_found_and_a_converter_without_room_is_asked_again() {
    let kept = tempfile::tempdir().unwrap();
    fs::write(kept.path().join("plan.pdf"), "%PDF-1.7\n[sheet 1: Budget]\nrent\n").unwrap();
    let pages = Pages { is_busy_first: true, ..Pages::default() };
    let folders = Folders::open([kept.path()], FileFilter::new()).unwrap().with_converter(pages);
    let tools = file_tools(folders);
    let search = async |query: &str| json(&tools, "search_files", json!({ "query": query })).await;
    assert_eq!(search("rent").await, json!({"matches": [], "filesWithoutText": 1}));
    assert_eq!(search("rent").await["matches"][0]["at"], "page 2");
    assert_eq!(search("Budget").await["matches"][0]["text"], "[sheet 1: Budget]");
}

#[tokio::test]
async fn a_document_that_is_too_large_to_be_read_is_unreadable_and_not_without_text() {
    let kept = tempfile::tempdir().unwrap();
    fs::write(kept.path().join("plan.pdf"), "%PDF-1.7\nrent\n").unwrap();
    let folders = Folders::open([kept.path()], FileFilter::new()).unwrap().with_max_file_bytes(9);
    let tools = file_tools(folders.with_converter(Pages::default()));
    let found = json(&tools, "search_files", json!({"query": "rent"})).await;
    assert_eq!(found, json!({"matches": [], "unreadableFiles": 1}));
}

#[tokio::test]
async fn the_model_is_told_what_a_search_looks_into() {
    let kept = tempfile::tempdir().unwrap();
    let described = |folders: Folders| {
        let tools = file_tools(folders);
        let search = tools.iter().find(|tool| tool.spec().definition.name() == "search_files");
        search.unwrap().spec().definition.description().to_owned()
    };
    let open = || Folders::open([kept.path()], FileFilter::new()).unwrap();
    assert!(described(open()).contains("not look into PDFs"));
    assert!(described(open().with_converter(Pages::default())).contains("of PDFs and office files"));
}

/// Says when it has begun and when it is dropped, and never ends.
#[derive(Clone, Default)]
struct Endless {
    begun: Arc<Notify>,
    dropped: Arc<Notify>,
}

struct Told(Arc<Notify>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Converter for Endless {
    fn converts(&self, _: &MediaType) -> bool {
        true
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        _: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let dropped = Told(Arc::clone(&self.dropped));
        self.begun.notify_one();
        Box::pin(async move {
            let _dropped = dropped;
            pending().await
        })
    }
}

#[tokio::test]
async fn a_search_that_nobody_waits_for_gives_up_its_conversion() {
    let kept = tempfile::tempdir().unwrap();
    fs::write(kept.path().join("lease.pdf"), "%PDF-1.7").unwrap();
    let endless = Endless::default();
    let (begun, dropped) = (Arc::clone(&endless.begun), Arc::clone(&endless.dropped));
    let tools = file_tools(Folders::open([kept.path()], FileFilter::new()).unwrap().with_converter(endless));
    let asked: Value = json!({"query": "rent"});
    tokio::select! {
        found = call(&tools, "search_files", asked) => panic!("{found:?}"),
        () = begun.notified() => {}
    }
    tokio::time::timeout(Duration::from_secs(10), dropped.notified()).await.unwrap();
}
