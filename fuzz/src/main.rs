//! The readers of input from anybody, fed by libFuzzer. The environment names the target; `cargo xtask fuzz` runs it.
//!
//! A target panics where a promise is broken: that nothing that comes from outside panics is promised of all.

#![no_main]

mod codecs;
mod persisted;
mod seeds;
mod values;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// A name, and what takes the input.
type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    ("sse", codecs::sse),
    ("chat", codecs::chat),
    ("responses", codecs::responses),
    ("ollama", codecs::ollama),
    ("messages", codecs::messages),
    ("generate", codecs::generate),
    ("converse", codecs::converse),
    ("cohere", codecs::cohere),
    ("schema", values::schema),
    ("tree", values::tree),
    ("conversation", persisted::conversation),
    ("entries", persisted::entries),
    ("cassette", persisted::cassette),
    #[cfg(feature = "convert")]
    ("convert", values::convert),
];

static CHOSEN: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(
    init: {
        if let Ok(folder) = std::env::var("ATTACHE_FUZZ_SEEDS") {
            seeds::write(folder.as_ref(), TARGETS.iter().map(|(name, _)| *name));
            std::process::exit(0);
        }
        let name = std::env::var("ATTACHE_FUZZ_TARGET").unwrap_or_default();
        let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target that there is");
        CHOSEN.get_or_init(|| *target);
    },
    |data: &[u8]| CHOSEN.get().expect("chosen before")(data)
);
