//! The decoder against a simple parser of whole texts, over real and generated streams at any chunking.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

type Event = (Vec<u8>, Vec<u8>);

/// The specification read literally, with the whole text at hand.
fn reference(stream: &[u8]) -> Vec<Event> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let text = String::from_utf8_lossy(stream).replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut name, mut data) = (Vec::new(), String::new(), Vec::<String>::new());
    let mut lines: Vec<&str> = text.split('\n').collect();
    // Bytes behind the last line feed are no line, unless they are the last line of a stream that just ended.
    let last = lines.pop().unwrap_or_default();
    let finish = |name: &str, data: &[String], events: &mut Vec<Event>| {
        let data = data.join("\n");
        if !data.trim().is_empty() {
            events.push((name.as_bytes().to_vec(), data.into_bytes()));
        }
    };
    let field = |line: &str, name: &mut String, data: &mut Vec<String>| {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match field {
            "data" => data.push(value),
            "event" => *name = value,
            _ => {}
        }
    };
    for line in lines {
        if line.is_empty() {
            finish(&name, &data, &mut events);
            name.clear();
            data.clear();
        } else {
            field(line, &mut name, &mut data);
        }
    }
    field(last, &mut name, &mut data);
    let whole = data.join("\n");
    if whole.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(&whole).is_ok() {
        finish(&name, &data, &mut events);
    }
    events
}

fn decode<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> Vec<Event> {
    let (mut decoder, mut events) = (SseDecoder::new(), Vec::new());
    let mut take = |event: SseEvent<'_>| {
        events.push((event.name.to_vec(), event.data.to_vec()));
        Ok(())
    };
    for chunk in chunks {
        decoder.push(chunk, &mut take).unwrap();
    }
    decoder.finish(&mut take).unwrap();
    events
}

fn data(stream: &str) -> Vec<String> {
    let events = decode([stream.as_bytes()]);
    events.into_iter().map(|(_, data)| String::from_utf8(data).unwrap()).collect()
}

/// Cuts at the places that `cuts` mean.
fn pieces<'s>(stream: &'s [u8], cuts: &[Index]) -> Vec<&'s [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
    at.extend([0, stream.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect()
}

/// Bodies of recorded streams; `fixtures/README.md` says where they come from.
const RECORDED: [&str; 2] = [
    include_str!("../../tests/fixtures/chat-parallel.sse"),
    include_str!("../../tests/fixtures/messages-server-tools.sse"),
];

#[test]
fn recorded_streams_at_every_split_in_two() {
    for stream in RECORDED {
        let stream = stream.as_bytes();
        let expected = reference(stream);
        assert!(expected.len() > 10);
        for at in 0..=stream.len() {
            let (left, right) = stream.split_at(at);
            assert_eq!(decode([left, right]), expected, "split at {at}");
        }
    }
}

#[test]
fn recorded_streams_in_pieces_of_every_size() {
    for stream in RECORDED {
        let expected = reference(stream.as_bytes());
        for size in 1..200 {
            assert_eq!(decode(stream.as_bytes().chunks(size)), expected, "pieces of {size}");
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        4 => Just(r#"{"a":"é"}"#.to_owned()),
        2 => Just("[DONE]".to_owned()),
        1 => Just(String::new()),
        2 => "[ a-zé:{\"}\u{feff}]{0,20}",
    ];
    let field = prop_oneof![
        6 => Just("data:"), 3 => Just("data: "), 2 => Just("event: "), 1 => Just("event:"), 1 => Just(":"),
        1 => Just("id: "), 1 => Just("retry:"), 1 => Just("data"), 1 => Just(""), 1 => Just(" data:"),
    ];
    (field, value).prop_map(|(field, value)| format!("{field}{value}"))
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let ending = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    let piece = (line(), ending, 0..3_usize)
        .prop_map(|(line, ending, blanks)| format!("{line}{ending}{}", ending.repeat(blanks)));
    (any::<bool>(), prop::collection::vec(piece, 0..12), prop::option::of(line())).prop_map(
        |(bom, pieces, torn)| {
            let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
            text.extend(pieces);
            text.extend(torn);
            text.into_bytes()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn generated_streams_at_any_chunking(stream in stream(), cuts in prop::collection::vec(any::<Index>(), 0..12)) {
        prop_assert_eq!(decode(pieces(&stream, &cuts)), reference(&stream));
    }

    #[test]
    fn recorded_streams_at_any_chunking(which in 0..RECORDED.len(), cuts in prop::collection::vec(any::<Index>(), 0..40)) {
        let stream = RECORDED[which].as_bytes();
        prop_assert_eq!(decode(pieces(stream, &cuts)), reference(stream));
    }

    #[test]
    fn no_bytes_break_it(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), any::<u8>()], 0..200), size in 1..20_usize) {
        let whole = decode([&*bytes]);
        prop_assert_eq!(decode(bytes.chunks(size)), whole);
    }
}

// openai.md 0.2, D 41
#[test]
fn framing_rules() {
    assert_eq!(data("data:{}\n\ndata: {}\n\n"), ["{}", "{}"]);
    assert_eq!(data("data: a\ndata: b\n\n"), ["a\nb"]);
    assert_eq!(data("data:\n\ndata: \n\n: only\n\n"), [""; 0]);
    assert_eq!(data("id: 1\nretry: 5\ndata: x\nunknown: y\n\n"), ["x"]);
    assert_eq!(data("\u{feff}data: x\n\n\u{feff}data: y\n\n"), ["x"]);
    assert_eq!(decode([&b"event: ping\ndata: {}\n\ndata: {}\n\n"[..]])[0].0, b"ping");
    assert_eq!(decode([&b"event: ping\ndata: {}\n\ndata: {}\n\n"[..]])[1].0, b"");
}

// openai.md 0.2, runtime.md 24
#[test]
fn the_last_event_counts_only_if_it_is_complete() {
    assert_eq!(data("data: {\"a\":1}"), ["{\"a\":1}"]);
    assert_eq!(data("data: {\"a\":1}\n"), ["{\"a\":1}"]);
    assert_eq!(data("data: [DONE]"), ["[DONE]"]);
    assert_eq!(data("data: {\"a\":"), [""; 0]);
    assert_eq!(data("data: {\"a\":\n"), [""; 0]);
    assert_eq!(data("dat"), [""; 0]);
}

#[test]
fn events_in_one_chunk_are_not_copied() {
    let chunk = b"data: first\n\nevent: e\r\ndata: second\r\n\r\n";
    let range = chunk.as_ptr_range();
    let mut decoder = SseDecoder::new();
    let mut count = 0;
    decoder
        .push(chunk, &mut |event| {
            count += 1;
            assert!(range.contains(&event.data.as_ptr()));
            Ok(())
        })
        .unwrap();
    assert_eq!(count, 2);
}

#[test]
fn an_endless_event_is_an_error() {
    for piece in ["x", "data: x\n"] {
        let mut decoder = SseDecoder::new().with_limit(1000);
        let outcome = (0..2000).try_for_each(|_| decoder.push(piece.as_bytes(), &mut |_| Ok(())));
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Malformed);
    }
    let mut decoder = SseDecoder::new().with_limit(1000);
    (0..2000).for_each(|_| decoder.push(b"data: x\n\n: y\n\n", &mut |_| Ok(())).unwrap());
}

#[test]
fn an_error_of_the_consumer_stops_it() {
    let mut count = 0;
    let outcome = SseDecoder::new().push(b"data: 1\n\ndata: 2\n\n", &mut |_| {
        count += 1;
        Err(ProviderError::new(ErrorKind::Api, "no"))
    });
    assert_eq!((outcome.unwrap_err().kind(), count), (ErrorKind::Api, 1));
}
