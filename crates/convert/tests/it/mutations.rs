//! Documents with random damage: each conversion returns, whatever it returns.

use std::time::Duration;

use crate::common::{PDF, fixture};
use attache_convert::{ConvertError, Converted, Limits, convert};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

const DOCUMENTS: [&str; 8] = [
    "typst-report",
    "fpdf2-scripts",
    "matplotlib-chart",
    "reportlab-cjk",
    "reportlab-form",
    "weasyprint-hebrew",
    "encrypted-restricted-aes128",
    "collection-fonts",
];

/// Things that mean something to a reader of PDF.
const TOKENS: [&[u8]; 16] = [
    b"<<",
    b">>",
    b"[",
    b"]",
    b"(",
    b"obj",
    b"endobj",
    b"stream\n",
    b"endstream",
    b"/Length 9",
    b"/Filter/FlateDecode",
    b"/Type/ObjStm/N 9/First 9",
    b"/Kids[1 0 R]",
    b"99999999999999999999",
    b"-1",
    b"/W[0 4294967295 1]",
];

#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Insert(Index, usize),
    Overwrite(Index, usize),
    Remove(Index, usize),
    Repeat(Index, usize),
    Cut(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        8 => (at(), any::<u8>()).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        4 => (at(), 0..TOKENS.len()).prop_map(|(at, token)| Damage::Insert(at, token)),
        4 => (at(), 0..TOKENS.len()).prop_map(|(at, token)| Damage::Overwrite(at, token)),
        2 => (at(), 1..200_usize).prop_map(|(at, len)| Damage::Remove(at, len)),
        2 => (at(), 1..200_usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
        1 => at().prop_map(Damage::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    let span = |at: usize, wanted: usize| at..len.min(at + wanted);
    match damage {
        Damage::Flip(at, bits) => bytes[at.index(len)] ^= bits,
        Damage::Insert(at, token) => {
            bytes.splice(span(at.index(len), 0), TOKENS[*token].iter().copied());
        }
        Damage::Overwrite(at, token) => {
            let token = TOKENS[*token];
            bytes.splice(span(at.index(len), token.len()), token.iter().copied());
        }
        Damage::Remove(at, wanted) => {
            bytes.drain(span(at.index(len), *wanted));
        }
        Damage::Repeat(at, wanted) => {
            let again = bytes[span(at.index(len), *wanted)].to_vec();
            bytes.splice(span(at.index(len), 0), again);
        }
        Damage::Cut(at) => bytes.truncate(at.index(len)),
    }
}

fn convert_soon(bytes: Vec<u8>) -> Result<Converted, ConvertError> {
    let limits = Limits::new().with_max_time(Duration::from_secs(30)).with_max_decoded_bytes(4 << 20);
    convert(PDF, bytes.into(), &limits)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_documents_end_in_a_text_or_an_error(
        document in 0..DOCUMENTS.len(),
        damages in vec(damage(), 1..12),
    ) {
        let mut bytes = fixture(DOCUMENTS[document]).to_vec();
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        let first = convert_soon(bytes.clone());
        prop_assert!(!matches!(first, Err(ConvertError::TimedOut { .. } | ConvertError::Busy)), "{first:?}");
        // And always the same one.
        prop_assert_eq!(convert_soon(bytes), first);
    }

    #[test]
    fn noise_ends_in_an_error(noise in vec(any::<u8>(), 0..2000)) {
        prop_assert!(convert_soon(noise.clone()).is_err());
        prop_assert!(convert_soon([b"%PDF-1.7\n".as_slice(), &noise].concat()).is_err());
    }
}
