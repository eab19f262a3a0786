//! Every hostile document, converted and fitted one after the other: none takes the process down, and each ends in
//! time and in little memory.
//!
//! The one test here is a process of its own, so that its peak of memory is that of one document.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

use attache_conformance::hostile;
use attache_convert::{DocumentConverter, Limits};
use attache_core::capability::Matrix;
use attache_core::converter::{ConverterErrorKind, MediaLimits, RenderedPages};
use attache_core::{Converter, Document};

/// The most bytes that the process may take, the document and its text included.
const MEMORY: u64 = 300_000_000;

/// The time that a conversion may take beyond its limit until it is noticed.
const PATIENCE: Duration = Duration::from_secs(5);

// documents.md 9.2 D18: a hostile corpus of at least 60 files leaves memory under 300 MB
#[test]
fn every_hostile_document_ends_in_time_and_in_little_memory() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let limits = Limits::new();
    let converter = DocumentConverter::new(limits);
    let claude = Matrix::bundled().resolve("anthropic", "claude-opus-4-8");
    let (mut converted, mut fitted, mut rendered, mut peaks) = (0, 0, 0, Vec::new());
    let all = Instant::now();
    for file in hostile::corpus() {
        forget_peak();
        let bytes = file.bytes();
        let document = Document::from_bytes(bytes.clone(), file.media_type);
        // Its format, if its bytes say something else than its name.
        let media = document.media_type().clone();
        let mut outcomes = Vec::new();
        let start = Instant::now();
        if converter.converts(&media) {
            let result = runtime.block_on(converter.convert(&document, bytes.clone()));
            converted += 1;
            outcomes.push(result.map(|text| format!("{} bytes of text", text.text.len())));
            assert!(start.elapsed() < limits.max_time + PATIENCE, "{}: {:?}", file.name, start.elapsed());
        }
        let start_of_fit = Instant::now();
        if let Some(form) = claude.user.form(&media).filter(|form| converter.transcodes(&media, form)) {
            let result = runtime.block_on(converter.transcode(&document, bytes.clone(), &form));
            fitted += 1;
            if let Ok(Some((bytes, media))) = result.as_ref().map(|fitted| &fitted.content) {
                assert!(form.allows(media), "{}: {media}", file.name);
                assert!(bytes.len() as u64 <= form.max_bytes.unwrap(), "{}", file.name);
            }
            outcomes.push(result.map(|fitted| format!("{:?} {:?}", fitted.note, fitted.pages)));
            let took = start_of_fit.elapsed();
            assert!(took < limits.max_time + PATIENCE, "{}: {took:?}", file.name);
        }
        let images = MediaLimits::of(["image/png", "image/jpeg"]);
        if converter.renders(&media, &images) {
            let start = Instant::now();
            let result = runtime.block_on(converter.render(&document, bytes, &[1..=3], &images));
            rendered += 1;
            assert!(start.elapsed() < limits.max_time + PATIENCE, "{}: {:?}", file.name, start.elapsed());
            let pages = |pages: RenderedPages| {
                let (images, blank, failed) = (pages.images.len(), pages.blank.len(), pages.failed.len());
                format!("{images} pages as images, {blank} blank, {failed} not drawn")
            };
            outcomes.push(result.map(pages));
        }
        for outcome in &outcomes {
            // Threads that were left behind make others wait, and panics that were caught are bugs still.
            let Err(error) = outcome else { continue };
            let is_bug = matches!(error.kind(), ConverterErrorKind::Busy | ConverterErrorKind::Failed);
            assert!(!is_bug, "{}: {error}", file.name);
            let error = error.to_string();
            assert!(error.lines().count() < 2, "{}: {error}", file.name);
        }
        let peak = peak();
        println!(
            "{:>4} MB {:>6} ms {} {outcomes:?}",
            peak / 1_000_000,
            start.elapsed().as_millis(),
            file.name
        );
        peaks.push((peak, file.name));
    }
    let highest = peaks.iter().max().unwrap();
    println!(
        "{converted} converted, {fitted} fitted, {rendered} rendered in {:?}; {highest:?}",
        all.elapsed()
    );
    assert!(converted >= 20 && fitted >= 40, "{converted} converted, {fitted} fitted");
    assert!(rendered >= 10, "{rendered} rendered");
    assert!(highest.0 < MEMORY, "{highest:?}");
}

/// The peak of memory so far, in bytes; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Lets the peak begin anew, where the system can.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
