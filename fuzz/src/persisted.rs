//! Data that is stored and read again, perhaps by another version, perhaps damaged.

use attache_agent::{Entry, Run};
use attache_core::Conversation;
use attache_transport::cassette::Cassette;

pub fn conversation(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(conversation) = Conversation::from_json(text) else { return };
    // Its documents may be left out, which is an error of writing.
    let Ok(written) = conversation.to_json() else { return };
    let again = Conversation::from_json(&written).expect("what we write is read");
    assert_eq!(
        again.to_json().expect("it was written before"),
        written,
        "writing and reading changes nothing"
    );
}

/// The entries of a log, a line each.
pub fn entries(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let entries: Result<Vec<Entry>, _> = text.lines().map(serde_json::from_str).collect();
    let Ok(entries) = entries else { return };
    for entry in &entries {
        let written = serde_json::to_string(entry).expect("an entry is JSON");
        let again: Entry = serde_json::from_str(&written).expect("what we write is read");
        assert_eq!(&again, entry, "writing and reading changes nothing");
    }
    if let Ok(run) = Run::replay(&entries) {
        let _ = run.next();
    }
}

pub fn cassette(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(cassette) = Cassette::parse(text) else { return };
    let written = cassette.to_json();
    let again = Cassette::parse(&written).expect("what we write is read");
    assert_eq!(again.to_json(), written, "writing and reading changes nothing");
}
