use std::time::{Duration, Instant};

use attache_core::capability::Matrix;
use attache_core::files::FileKey;
use attache_core::{Degradation, ErrorKind, ModelCapabilities, ToolSet};
use proptest::prelude::*;

use super::memo::{Kept, Memo, Step};
use super::*;
use crate::ask::Ask;
use crate::auth::{Auth, Environment};
use crate::client::HttpClient;
use crate::codec::Codec;
use crate::encoded::EncodedRequest;
use crate::network::Network;
use crate::reply::Decoder;
use crate::retry::RetryPolicy;
use attache_core::{Document, MediaType};

/// A codec that only owns files.
#[derive(Debug)]
struct Owning;

impl Codec for Owning {
    fn model_id(&self) -> String {
        "own/model".to_owned()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        static NONE: std::sync::LazyLock<ModelCapabilities> =
            std::sync::LazyLock::new(|| ModelCapabilities::text_only("own", "model"));
        &NONE
    }

    fn set_matrix(&mut self, _: &Matrix) {}

    fn set_base_url(&mut self, _: String) {}

    fn configure(&mut self, _: &Environment) -> Result<Auth, ProviderError> {
        Ok(Auth::None)
    }

    fn check(&self, _: &Auth) -> Result<(), ProviderError> {
        Ok(())
    }

    fn encode(&self, _: Ask<'_>) -> Result<EncodedRequest, ProviderError> {
        Err(ProviderError::new(ErrorKind::Unsupported, "nothing is sent"))
    }

    fn decoder(&self, _: std::sync::Arc<ToolSet>, _: Vec<Degradation>) -> Box<dyn Decoder> {
        unreachable!("nothing is sent")
    }
}

fn owner() -> std::sync::Arc<Owner> {
    let network = Network::new(HttpClient::shared(), Auth::None, RetryPolicy::never());
    std::sync::Arc::new(Owner { codec: std::sync::Arc::new(Owning), network, settings: ModelSettings::new() })
}

fn document(text: &str) -> Document {
    Document::from_bytes(format!("%PDF-1.7 {text}").into_bytes(), "application/pdf")
}

fn key(number: usize) -> ([u8; 32], FileKey) {
    ([0; 32], FileKey::of(&document(&number.to_string())).unwrap())
}

fn kept(reference: &str, ends: Option<Instant>) -> Kept {
    Kept {
        file: RemoteFile::new(reference, reference, None).unwrap(),
        name: "a.pdf".to_owned(),
        media_type: MediaType::parse("application/pdf").unwrap(),
        bytes: 1,
        owner: owner(),
        ends,
    }
}

fn upload(memo: &std::sync::Arc<Memo>, number: usize, ends: Option<Instant>, now: Instant) {
    match memo.next_step(key(number), now) {
        Step::Upload(right) => right.settle(Ok(kept(&format!("file-{number}"), ends)), now),
        other => panic!("{other:?}"),
    }
}

fn memo(most: usize) -> std::sync::Arc<Memo> {
    std::sync::Arc::new(Memo::new(most))
}

#[test]
fn what_is_kept_is_used_until_shortly_before_its_end() {
    let (memo, now) = (memo(10), Instant::now());
    let hour = Duration::from_secs(3_600);
    upload(&memo, 1, Some(now + hour), now);
    upload(&memo, 2, None, now);
    let at =
        |number, seconds| format!("{:?}", memo.next_step(key(number), now + Duration::from_secs(seconds)));
    assert!(at(1, 3_299).starts_with("Use"));
    assert!(at(2, 1_000_000).starts_with("Use"), "it is kept until it is deleted");
    assert!(at(1, 3_301).starts_with("Upload"));
}

#[test]
fn one_uploads_and_the_others_wait() {
    let (memo, now) = (memo(10), Instant::now());
    let Step::Upload(right) = memo.next_step(key(1), now) else { panic!("nobody is at it") };
    let Step::Wait(waiting) = memo.next_step(key(1), now) else { panic!("somebody is at it") };
    assert!(waiting.has_changed().is_ok());
    // Dropped, it leaves the right to the next.
    drop(right);
    assert!(waiting.has_changed().is_err(), "those who wait are told");
    upload(&memo, 1, None, now);
    assert!(matches!(memo.next_step(key(1), now), Step::Use(_)));
}

#[test]
fn a_failure_is_not_repeated_at_once_and_not_for_ever() {
    let (memo, now, owner) = (memo(10), Instant::now(), owner());
    let fail = |number, kind: ErrorKind| match memo.next_step(key(number), now) {
        Step::Upload(right) => right.settle(Err((&ProviderError::new(kind, "no"), &owner)), now),
        other => panic!("{other:?}"),
    };
    let at =
        |number, seconds| format!("{:?}", memo.next_step(key(number), now + Duration::from_secs(seconds)));
    fail(1, ErrorKind::Overloaded);
    assert_eq!(at(1, 59), "Leave(\"no\")");
    assert!(at(1, 61).starts_with("Upload"));
    fail(2, ErrorKind::InvalidRequest);
    assert_eq!(at(2, 3_599), "Leave(\"no\")");
    assert!(at(3, 0).starts_with("Upload"), "another document may fit");
    fail(4, ErrorKind::Permission);
    assert_eq!(at(5, 0), "Leave(\"no\")", "an account that may not need not be asked for each");
    // No signer of another account comes to stand at the address of its own.
    assert_eq!(std::sync::Arc::strong_count(&owner), 4, "for two refusals, and for the account");
    assert!(at(5, 3_601).starts_with("Upload"));
}

#[test]
fn what_is_lost_is_uploaded_again_unless_it_was_just_uploaded() {
    let (memo, now) = (memo(10), Instant::now());
    upload(&memo, 1, None, now);
    memo.lose(&key(1), "file-other", false, now);
    assert!(matches!(memo.next_step(key(1), now), Step::Use(_)), "somebody uploaded it again");
    memo.lose(&key(1), "file-1", false, now);
    upload(&memo, 1, None, now);
    memo.lose(&key(1), "file-1", true, now);
    assert!(matches!(memo.next_step(key(1), now), Step::Leave(_)));
    assert!(memo.kept().is_empty());
    assert_eq!(memo.lost().len(), 2, "to be deleted with the rest");
    memo.forget(&key(1), "file-1");
    assert!(memo.lost().is_empty());
}

// Invariant 9
#[test]
fn only_so_many_are_known() {
    let (memo, now) = (memo(3), Instant::now());
    (0..10).for_each(|number| upload(&memo, number, None, now));
    let ids = || memo.kept().into_iter().map(|(_, kept)| kept.file.id).collect::<Vec<_>>();
    assert_eq!(ids(), ["file-7", "file-8", "file-9"]);
    assert!(matches!(memo.next_step(key(7), now), Step::Use(_)));
    upload(&memo, 10, None, now);
    assert_eq!(ids(), ["file-9", "file-7", "file-10"], "what was used last is forgotten last");
    // A file that somebody works on is never forgotten.
    let rights: Vec<_> = (20..30).map(|number| memo.next_step(key(number), now)).collect();
    assert!(rights.iter().all(|step| matches!(step, Step::Upload(_))));
    assert!((20..30).all(|number| matches!(memo.next_step(key(number), now), Step::Wait(_))));
}

#[test]
fn a_form_is_fields_and_a_file() {
    let file = NewFile::of(&document("a").with_file_name("q\"1\r\n.pdf"), None).unwrap();
    assert_eq!(file.name, "q_1__.pdf");
    let parts =
        file.in_form(RequestParts::post_json("http://h/files", "{}".to_owned()), &[("purpose", "user_data")]);
    let (_, content_type) = parts.shown_headers().find(|(name, _)| *name == "content-type").unwrap();
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    assert!(boundary.len() <= 70, "RFC 2046 allows no more: {boundary}");
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"q_1__.pdf\"\r\n\
         Content-Type: application/pdf\r\n\r\n%PDF-1.7 a\r\n--{boundary}--\r\n"
    );
    assert_eq!(String::from_utf8(parts.body.to_vec()).unwrap(), expected);
}

// Invariant 5
#[test]
fn the_content_of_a_form_is_shared() {
    let content = bytes::Bytes::from([b"%PDF-1.7 ".to_vec(), vec![b'x'; 1 << 20]].concat());
    let file = NewFile::of(&Document::from_bytes(content.clone(), "application/pdf"), None).unwrap();
    let parts = file.in_form(RequestParts::post_json("http://h/files", "{}".to_owned()), &[]);
    assert!(parts.body.frames().iter().any(|frame| frame.as_ptr() == content.as_ptr()));
}

#[test]
fn names_fit_their_type() {
    let name = |document: Document| NewFile::of(&document, None).unwrap().name;
    assert_eq!(name(document("a")), "document.pdf");
    assert_eq!(name(document("a").with_file_name("report")), "report.pdf");
    assert_eq!(name(document("a").with_file_name("report.PDF")), "report.PDF");
    assert_eq!(name(document("a").with_file_name("report.bin")), "report.bin.pdf");
    assert_eq!(name(document("a").with_file_name("../../etc/passwd")), ".._.._etc_passwd.pdf");
    assert_eq!(name(document("a").with_file_name("...")), "document.pdf");
}

#[test]
fn ids_lead_nowhere_else() {
    for id in ["", "../x", "a?b", "a b", "a%2f", "files/../x", "x#y"] {
        assert_eq!(RemoteFile::new(id, "x", None).unwrap_err().kind(), ErrorKind::Malformed, "{id}");
    }
    assert!(RemoteFile::new("x", " ", None).is_err());
    assert!(RemoteFile::new("files/abc-123", "https://x/files/abc-123", None).is_ok());
}

proptest! {
    #[test]
    fn any_name_becomes_one_that_every_api_takes(own in "\\PC{0,300}", suffix in ".{0,40}") {
        let document = document("a").with_file_name(format!("{own}{suffix}"));
        let name = NewFile::of(&document, None).unwrap().name;
        prop_assert!(!name.trim().is_empty() && name.len() <= 200, "{name:?}");
        prop_assert!(!name.chars().any(|c| c.is_control() || r#"<>:"|?*\/"#.contains(c)), "{name:?}");
        let named = MediaType::from_file_name(&name).unwrap();
        prop_assert_eq!(named.essence(), "application/pdf", "{:?}", name);
    }

    #[test]
    fn moments_are_read_or_refused(text in "\\PC{0,40}") {
        let _ = seconds_between(&text, &text);
    }
}
