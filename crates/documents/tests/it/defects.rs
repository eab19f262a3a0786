//! Defects known from elsewhere that no other module names: documents.md 9.2.
//!
//! | defect | held by |
//! | --- | --- |
//! | D1–D3, D10–D12, D34 | `results` |
//! | D5 | `properties`: nothing is emitted that the model does not take |
//! | D6, D20, D21, D33, D35 | `texts`, and the fence's own tests |
//! | D16, D18 | `limits` |
//! | D17, D22 | `materials`, `authors` |
//! | D19, D23, D28 | the label's own tests |
//! | D24, D26, D36 | `authors` |
//! | D29 | `repeats` |
//!
//! D13 and D14, what gateways lose, are held by `handlers` for whatever stands behind the seam; D25 and D32 by the
//! capability table's tests in the core, D4 by the workspace's test of what codecs can write, D15 by the window's.
//! The viability table shows all of it on each API.

use attache_core::capability::Place;
use attache_core::{Message, ResultStatus};
use attache_documents::{DocumentOutcome, ReasonKind};

use crate::builder::{Chat, doc, only, outcomes, pdf, png, shown, tree, zip};

// D7, D8: what is unknown is no PDF, SVG is text, and not every image is one that a model takes
#[test]
fn unknown_bytes_are_no_pdf_and_not_every_image_is_taken() {
    let chat = Chat::new().user("?").tool(&[
        zip("a.zip"),
        doc("b.bin", b"\0\x01\x02", "application/octet-stream"),
        doc(
            "c.docx",
            b"PK\x03\x04 word",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        doc("d.bmp", b"BM\0\0\0\0\0\0 pixels", "image/bmp"),
        doc("e.tiff", b"II*\0 pixels", "image/tiff"),
        doc("f.svg", b"<svg/>", "image/svg+xml"),
    ]);
    for family in ["anthropic", "openai-chat", "openai-responses", "gemini"] {
        assert_eq!(
            outcomes(&chat.route(family)),
            ["note", "note", "note", "note", "note", "text"],
            "{family}"
        );
    }
}

// D9: sound where nothing takes sound is a note that says so
#[test]
fn sound_is_not_lost_in_silence() {
    let chat = Chat::new().user("?").tool(&[doc("a.wav", b"RIFF....WAVE", "audio/wav")]);
    let routing = chat.route("openai-chat");
    assert_eq!(only(&routing).reason.kind(), ReasonKind::Unsupported);
    assert!(shown(&routing.messages[2])[0].contains("this model does not take audio/wav in tool results"));
    assert_eq!(only(&chat.route("gemini")).outcome, DocumentOutcome::Synthetic);
}

// D27: two results with one id, as broken providers cause them, are two results
#[test]
fn two_results_with_one_id_are_both_shown() {
    let outputs = [("find", tree(&[pdf("a.pdf")])), ("find", tree(&[png("b.png")]))];
    let routing = Chat::new()
        .user("?")
        .calls_with(&outputs, |_, result| result.provider_id = attache_core::ProviderCallId::parse("same"))
        .route("openai-chat");
    assert_eq!(outcomes(&routing), ["synthetic", "synthetic"]);
    assert_eq!(shown(&routing.messages[3]).len(), 5);
}

// D30: an operator sees what was sent, moved, turned into text and left out, and what it cost
#[test]
fn the_report_tells_everything() {
    let chat =
        Chat::new().user("?").tool(&[pdf("a.pdf"), doc("b.txt", b"hello", "text/plain"), zip("c.zip")]);
    let report = chat.route("openai-chat").report;
    let costs: Vec<_> = report.decisions.iter().map(|d| (d.outcome, d.bytes)).collect();
    assert_eq!(
        costs,
        [(DocumentOutcome::Synthetic, 17), (DocumentOutcome::Text, 5), (DocumentOutcome::Note, 0)]
    );
    assert_eq!(
        report.to_string(),
        "a.pdf (application/pdf): synthetic, this model does not take application/pdf in tool results; it follows in a user message\n\
         b.txt (text/plain): text, shown as text\n\
         c.zip (application/zip): note, this model does not take application/zip in tool results or after them"
    );
    for (outcome, count) in [
        (DocumentOutcome::Synthetic, 1),
        (DocumentOutcome::Text, 1),
        (DocumentOutcome::Note, 1),
        (DocumentOutcome::Native, 0),
    ] {
        assert_eq!(report.count(outcome), count, "{outcome}");
    }
}

// D31: a failure stays a failure, and what it holds stands where failures may hold it
#[test]
fn failed_results_stay_failed() {
    let outputs = [("find", tree(&[png("a.png")]))];
    let routing = Chat::new()
        .user("?")
        .calls_with(&outputs, |_, result| result.status = ResultStatus::Error)
        .route("anthropic");
    let Message::ToolResults(results) = &*routing.messages[2] else { panic!() };
    assert!(results.results[0].is_error() && results.results[0].attached().is_empty());
    assert_eq!(only(&routing).place, Some(Place::AfterToolResults));
}
