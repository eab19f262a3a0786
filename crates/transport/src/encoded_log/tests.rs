//! The log against a naive rendering, over random histories.

use std::collections::HashSet;

use attache_core::message::Routed;
use attache_core::{ErrorKind, UserMessage, UserPart};
use proptest::prelude::*;

use crate::encoded_log::*;

const USER: RoleTag = RoleTag::new(0);
const ASSISTANT: RoleTag = RoleTag::new(1);

fn opening(role: RoleTag) -> &'static str {
    if role == USER { r#"{"role":"user","content":["# } else { r#"{"role":"assistant","content":["# }
}

/// The shape of the Messages API.
static BLOCKS: Envelope = Envelope::new(
    opening,
    |before, after| match (before == after, after == USER) {
        (true, _) => ",",
        (false, true) => r#"]},{"role":"user","content":["#,
        (false, false) => r#"]},{"role":"assistant","content":["#,
    },
    |_| "]}",
);

/// The rendering of a message of the tests; the first character decides.
#[derive(Clone, Debug)]
enum Kind {
    Nothing,
    Text { assistant: bool, length: usize },
    Document { size: usize },
}

#[derive(Clone, Debug)]
struct Entry {
    kind: Kind,
    message: Arc<Message>,
    document: Bytes,
    variant: u64,
}

impl Entry {
    fn new(kind: Kind) -> Self {
        let document = match kind {
            Kind::Document { size } => Bytes::from(vec![b'x'; size]),
            _ => Bytes::new(),
        };
        Self { kind, message: Message::user("m").shared(), document, variant: 0 }
    }

    /// The same message after routing decided anew.
    fn restamped(mut self) -> Self {
        let mut user = UserMessage::new([UserPart::text("m")]);
        user.id = self.message.id().clone();
        user.routed = Some(Routed::new(Vec::new(), self.message.stamp() + 1));
        self.message = Message::User(user).shared();
        self
    }

    /// An equal message at another address, as a store would load it.
    fn reloaded(mut self) -> Self {
        self.message = Message::clone(&self.message).shared();
        self
    }

    fn render(&self, out: &mut ItemWriter<'_>) -> Option<RoleTag> {
        let role = match self.kind {
            Kind::Nothing => {
                out.raw("dropped");
                return None;
            }
            Kind::Text { assistant, length } => {
                out.raw(r#"{"text":"#);
                let id = self.message.id().as_str();
                out.string(&format!("{id} {} {}\n", self.message.stamp(), self.variant).repeat(length));
                if assistant { ASSISTANT } else { USER }
            }
            Kind::Document { .. } => {
                out.raw(r#"{"data":""#);
                out.base64(&self.document);
                out.raw(r#"","again":""#);
                out.base64(&self.document);
                out.raw("\"");
                USER
            }
        };
        out.marker_here();
        out.raw("}");
        Some(role)
    }
}

fn sync(log: &mut EncodedLog, entries: &[Entry]) -> usize {
    let messages: Vec<_> = entries.iter().map(|entry| Arc::clone(&entry.message)).collect();
    let mut renders = 0;
    let find = |message: &Message| entries.iter().find(|entry| entry.message.id() == message.id()).unwrap();
    log.sync(
        &messages,
        |index, _| entries[index].variant,
        |_, message, out| {
            renders += 1;
            Ok(find(message).render(out))
        },
    )
    .unwrap();
    renders
}

/// An item as JSON says it, with nothing of the log: its role and its text, if it is one.
fn written(entry: &Entry) -> Option<(RoleTag, String)> {
    match entry.kind {
        Kind::Nothing => None,
        Kind::Text { assistant, length } => {
            let id = entry.message.id().as_str();
            let text = format!("{id} {} {}\n", entry.message.stamp(), entry.variant).repeat(length);
            let item = serde_json::json!({ "text": text }).to_string();
            Some((if assistant { ASSISTANT } else { USER }, item))
        }
        Kind::Document { .. } => {
            let data = attache_core::base64::encode(&entry.document);
            Some((USER, format!(r#"{{"data":"{data}","again":"{data}"}}"#)))
        }
    }
}

/// The same body, made without any log.
fn naive(entries: &[Entry], markers: &[(usize, &str)]) -> String {
    let mut out = String::from("HEAD ");
    let mut before = None;
    for (index, entry) in entries.iter().enumerate() {
        let Some((role, mut text)) = written(entry) else { continue };
        let name = if role == USER { "user" } else { "assistant" };
        out += &match before {
            Some(before) if before == role => ",".to_owned(),
            Some(_) => format!(r#"]}},{{"role":"{name}","content":["#),
            None => format!(r#"{{"role":"{name}","content":["#),
        };
        if let Some((_, marker)) = markers.iter().find(|(at, _)| *at == index) {
            text.insert_str(text.len() - 1, marker);
        }
        out += &text;
        before = Some(role);
    }
    if before.is_some() {
        out += "]}";
    }
    out + " TAIL"
}

fn body_text(log: &EncodedLog, markers: &[(usize, &'static str)]) -> String {
    let markers: Vec<_> = markers.iter().map(|(at, text)| Marker::new(*at, *text)).collect();
    let body = log.body("HEAD ", " TAIL", &markers);
    let bytes = body.to_vec();
    assert_eq!(bytes.len() as u64, body.len());
    String::from_utf8(bytes).unwrap()
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        1 => Just(Kind::Nothing),
        6 => (any::<bool>(), 1..40_usize).prop_map(|(assistant, length)| Kind::Text { assistant, length }),
        1 => (any::<bool>(), 1_000..2_000_usize)
            .prop_map(|(assistant, length)| Kind::Text { assistant, length }),
        1 => (1..30_000_usize).prop_map(|size| Kind::Document { size }),
    ]
}

#[derive(Clone, Debug)]
enum Change {
    Append(Vec<Kind>),
    Insert(prop::sample::Index, Kind),
    Restamp(prop::sample::Index),
    Reload(prop::sample::Index),
    Variant(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    Evict(prop::sample::Index),
    Truncate(prop::sample::Index),
    Reverse,
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        6 => prop::collection::vec(kind(), 1..5).prop_map(Change::Append),
        1 => (at(), kind()).prop_map(|(at, kind)| Change::Insert(at, kind)),
        2 => at().prop_map(Change::Restamp),
        1 => at().prop_map(Change::Reload),
        1 => at().prop_map(Change::Variant),
        1 => (at(), 1..4_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        1 => at().prop_map(Change::Evict),
        1 => at().prop_map(Change::Truncate),
        1 => Just(Change::Reverse),
    ]
}

fn apply(entries: &mut Vec<Entry>, change: &Change) {
    match change {
        Change::Append(kinds) => entries.extend(kinds.iter().cloned().map(Entry::new)),
        Change::Insert(at, kind) => {
            entries.insert(at.index(entries.len() + 1), Entry::new(kind.clone()));
        }
        _ if entries.is_empty() => {}
        Change::Restamp(at) => {
            let at = at.index(entries.len());
            entries[at] = entries[at].clone().restamped();
        }
        Change::Reload(at) => {
            let at = at.index(entries.len());
            entries[at] = entries[at].clone().reloaded();
        }
        Change::Variant(at) => {
            let at = at.index(entries.len());
            entries[at].variant += 1;
        }
        Change::Remove(at, count) => {
            let at = at.index(entries.len());
            entries.drain(at..entries.len().min(at + count));
        }
        Change::Evict(at) => drop(entries.drain(..at.index(entries.len()))),
        Change::Truncate(at) => entries.truncate(at.index(entries.len())),
        Change::Reverse => entries.reverse(),
    }
}

fn identity(entry: &Entry) -> (String, u64, u64) {
    (entry.message.id().as_str().to_owned(), entry.message.stamp(), entry.variant)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    // Invariants 4 and 5.
    #[test]
    fn a_body_is_the_naive_rendering_and_nothing_is_rendered_twice(
        changes in prop::collection::vec(change(), 1..25),
        marks in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut log = EncodedLog::new(&BLOCKS);
        let mut entries: Vec<Entry> = Vec::new();
        for change in &changes {
            let held: HashSet<_> = entries.iter().map(identity).collect();
            apply(&mut entries, change);
            let new = entries.iter().filter(|entry| !held.contains(&identity(entry))).count();
            prop_assert_eq!(sync(&mut log, &entries), new);

            let markers: Vec<_> = marks.iter().map(|at| (at.index(entries.len() + 1), "<mark>")).collect();
            prop_assert_eq!(body_text(&log, &markers), naive(&entries, &markers));
            prop_assert_eq!(body_text(&log, &[]), naive(&entries, &[]));
        }
    }

    // Invariant 5: what was sealed keeps its address, and bodies share it.
    #[test]
    fn sealed_chunks_are_never_copied(rounds in prop::collection::vec(prop::collection::vec(kind(), 1..6), 1..12)) {
        let mut log = EncodedLog::new(&BLOCKS);
        let mut entries = Vec::new();
        for kinds in rounds {
            let before: Vec<_> = log.store.sealed_chunks().map(|chunk| chunk.as_ptr()).collect();
            entries.extend(kinds.into_iter().map(Entry::new));
            sync(&mut log, &entries);
            let sealed: Vec<_> = log.store.sealed_chunks().cloned().collect();
            prop_assert!(before.iter().zip(&sealed).all(|(old, new)| *old == new.as_ptr()));

            let body = log.body(Bytes::new(), Bytes::new(), &[]);
            for chunk in sealed.iter().filter(|chunk| chunk.len() >= 2048) {
                prop_assert!(body.frames().iter().any(|frame| frame.as_ptr() == chunk.as_ptr()));
            }
        }
    }
}

fn text(length: usize) -> Entry {
    Entry::new(Kind::Text { assistant: false, length })
}

#[test]
fn a_long_history_goes_out_in_few_frames() {
    let mut log = EncodedLog::new(&Envelope::LIST);
    let mut entries = Vec::new();
    for _ in 0..800 {
        entries.push(text(25));
        sync(&mut log, &entries);
    }
    let body = log.body("[", "]", &[]);
    // One for each 64 KB, and a few for the beginning, where they are shorter.
    let expected = usize::try_from(body.len()).unwrap() / (64 << 10) + 8;
    assert!(body.frames().len() <= expected, "{} frames for {} bytes", body.frames().len(), body.len());
}

// A step copies the last two KB of a history at most, and the tail grows in its place.
#[test]
fn a_history_is_shared_by_each_request() {
    let mut log = EncodedLog::new(&Envelope::LIST);
    let mut entries = vec![text(100)];
    let (mut before, mut moved) = (std::ptr::null(), 0);
    for _ in 0..800 {
        entries.push(text(25));
        sync(&mut log, &entries);
        let body = log.body("[", "]", &[]);
        let [head, history @ .., tail] = body.frames() else { panic!("it is one frame") };
        assert!(head.len() + tail.len() < 3_000, "{} and {} are copied", head.len(), tail.len());
        let place = history.last().map_or(std::ptr::null(), |frame| frame.as_ptr());
        moved += usize::from(std::mem::replace(&mut before, place) != place);
    }
    assert!(moved < 100, "{moved} times");
}

// A provider may answer before it has read all of a request.
#[test]
fn a_body_that_is_on_its_way_stays_as_it_is_while_the_history_grows() {
    let mut log = EncodedLog::new(&BLOCKS);
    let (mut entries, mut bodies) = (vec![text(100)], Vec::new());
    for _ in 0..40 {
        entries.push(text(25));
        sync(&mut log, &entries);
        bodies.push((log.body("HEAD ", " TAIL", &[]), naive(&entries, &[])));
    }
    for (body, expected) in bodies {
        assert_eq!(String::from_utf8(body.to_vec()).unwrap(), expected);
    }
}

#[test]
fn eviction_gives_chunks_back_and_renders_nothing() {
    let mut log = EncodedLog::new(&BLOCKS);
    let mut entries: Vec<_> = (0..200).map(|_| text(50)).collect();
    entries.insert(0, Entry::new(Kind::Nothing));
    sync(&mut log, &entries);
    let before = log.store.sealed_chunks().count();
    entries.drain(1..150);
    assert_eq!(sync(&mut log, &entries), 0);
    assert!(log.store.sealed_chunks().count() < before / 2);
    assert_eq!(body_text(&log, &[]), naive(&entries, &[]));
}

#[test]
fn a_kept_first_message_does_not_hinder_eviction() {
    let mut log = EncodedLog::new(&BLOCKS);
    let mut entries: Vec<_> = (0..100).map(|_| text(50)).collect();
    sync(&mut log, &entries);
    entries.drain(1..60);
    assert_eq!(sync(&mut log, &entries), 0);
    assert_eq!(body_text(&log, &[]), naive(&entries, &[]));
}

#[test]
fn a_document_is_encoded_once_even_if_its_message_is_rendered_again() {
    let mut log = EncodedLog::new(&BLOCKS);
    let entry = Entry::new(Kind::Document { size: 1 << 20 });
    sync(&mut log, std::slice::from_ref(&entry));
    let address = |log: &EncodedLog| {
        let long = log.store.sealed_chunks().filter(|chunk| chunk.len() > 1 << 20);
        long.map(|chunk| chunk.as_ptr()).collect::<Vec<_>>()
    };
    let first = address(&log);
    // The document stands twice in the item: one encoding serves both.
    assert_eq!((first.len(), first[0]), (2, first[1]));
    let entry = entry.restamped();
    assert_eq!(sync(&mut log, std::slice::from_ref(&entry)), 1);
    assert_eq!(address(&log), first);
    assert!(log.store.encoded(&entry.document).is_some());
    sync(&mut log, &[]);
    assert!(log.store.encoded(&entry.document).is_none(), "an evicted document is let go");
}

#[test]
fn dead_bytes_do_not_pile_up() {
    let mut log = EncodedLog::new(&BLOCKS);
    let mut entries = vec![text(100)];
    for _ in 0..500 {
        // The first message changes each time, so its old versions die between living ones.
        entries[0] = entries[0].clone().restamped();
        entries.push(text(5));
        sync(&mut log, &entries);
    }
    let living = log.body(Bytes::new(), Bytes::new(), &[]).len();
    let held = log.store.text_len();
    assert!(held <= 2 * living + 2 * DEAD_TOLERATED, "{held} bytes for {living}");
    // Places for markers move along.
    for marked in [0, 1, 250] {
        let markers = [(marked, "<mark>")];
        assert_eq!(body_text(&log, &markers), naive(&entries, &markers));
    }
}

#[test]
fn a_history_that_is_cut_short_gives_its_bytes_back() {
    let mut log = EncodedLog::new(&BLOCKS);
    let entries: Vec<_> = (0..40).map(|_| text(100)).collect();
    for keep in [40, 39, 5, 40, 0] {
        sync(&mut log, &entries[..keep]);
        assert_eq!(body_text(&log, &[]), naive(&entries[..keep], &[]));
        let framing = 2 * "HEAD  TAIL".len() as u64 + opening(USER).len() as u64;
        let sent = log.body("HEAD ", " TAIL", &[]).len();
        assert!(log.store.text_len() <= sent && log.store.text_len() + framing >= sent);
    }
}

#[test]
fn a_message_that_stands_twice_is_sent_twice() {
    let mut log = EncodedLog::new(&BLOCKS);
    let (a, b) = (text(5), text(6));
    for entries in [[&a, &b, &a], [&b, &a, &a], [&a, &a, &b]] {
        let entries: Vec<_> = entries.into_iter().cloned().collect();
        sync(&mut log, &entries);
        assert_eq!(body_text(&log, &[]), naive(&entries, &[]));
    }
}

#[test]
fn an_error_leaves_the_log_usable() {
    let mut log = EncodedLog::new(&BLOCKS);
    let entries: Vec<_> = (0..3).map(|_| text(5)).collect();
    let messages: Vec<_> = entries.iter().map(|entry| Arc::clone(&entry.message)).collect();
    let mut count = 0;
    let error = log.sync(
        &messages,
        |_, _| 0,
        |_, _, out| {
            count += 1;
            out.raw("torn");
            if count == 2 { Err(ProviderError::new(ErrorKind::Unsupported, "no")) } else { Ok(Some(USER)) }
        },
    );
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(log.body("", "", &[]).to_vec(), br#"{"role":"user","content":[torn]}"#);
    let mut fresh = EncodedLog::new(&BLOCKS);
    assert_eq!(sync(&mut fresh, &entries), 3);
    assert_eq!(body_text(&fresh, &[]), naive(&entries, &[]));
}

// invariant 3: only the messages that are new are looked at, and those are, whatever stood there before.
#[test]
fn calls_and_results_behind_what_is_held_are_checked() {
    let call = attache_core::ToolCall::new("t", attache_core::Arguments::new("{}"));
    let asks = Message::Assistant(attache_core::AssistantMessage::new([call.clone().into()])).shared();
    let result = attache_core::ToolResult::ok(&call, "x");
    let results = Message::ToolResults(attache_core::ToolResultsMessage::new([result])).shared();
    let user = |text: &str| Message::user(text).shared();
    let (hi, bye) = (user("hi"), user("bye"));
    let mut log = EncodedLog::new(&BLOCKS);
    let mut next = |messages: &[Arc<Message>]| {
        let checked = log.check_pairing(messages).map_err(|error| error.kind());
        let render = |_: usize, _: &Message, out: &mut ItemWriter<'_>| {
            out.raw("1");
            Ok(Some(USER))
        };
        if checked.is_ok() {
            log.sync(messages, |_, _| 0, render).unwrap();
        }
        checked
    };
    let broken = Err(ErrorKind::InvalidHistory);
    let whole = [hi.clone(), asks.clone(), results.clone()];
    assert_eq!(next(&whole), Ok(()));
    assert_eq!(next(&[&whole[..], std::slice::from_ref(&bye)].concat()), Ok(()));
    assert_eq!(next(&[&whole[..], std::slice::from_ref(&results)].concat()), broken, "a second result");
    assert_eq!(next(&whole[..2]), broken, "the result is gone");
    assert_eq!(next(&[hi.clone(), asks, bye]), broken, "another message took its place");
    assert_eq!(next(&[hi, results]), broken, "the call is gone");
    assert_eq!(next(&whole), Ok(()));
    // Only what is new is looked at: this pair is held, and would be refused.
    log.sync(&whole[..1], |_, _| 0, |_, _, _| Ok(None)).unwrap();
    log.sync(&[whole[0].clone(), whole[2].clone()], |_, _| 0, |_, _, _| Ok(None)).unwrap();
    assert!(log.check_pairing(&[whole[0].clone(), whole[2].clone()]).is_ok());
    assert!(EncodedLog::new(&BLOCKS).check_pairing(&[whole[0].clone(), whole[2].clone()]).is_err());
}
