//! The decoder against a simple parser of whole texts, over real and generated streams at any chunking.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

type Event = (Vec<u8>, Vec<u8>);

/// Brackets that are still open, outside of strings; `None` inside of a string.
fn open_brackets(raw: &str) -> Option<usize> {
    let plain = raw.replace("\\\\", "").replace("\\\"", "");
    let pieces: Vec<&str> = plain.split('"').collect();
    let outside: Vec<char> = pieces.iter().step_by(2).flat_map(|piece| piece.chars()).collect();
    let depth = outside.iter().fold(0_usize, |depth, char| match char {
        '{' | '[' => depth + 1,
        '}' | ']' => depth.saturating_sub(1),
        _ => depth,
    });
    (pieces.len() % 2 == 1).then_some(depth)
}

/// The specification read literally, with the whole text at hand; and beside it errors as some servers write them.
fn reference(stream: &[u8]) -> Vec<Event> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let text = String::from_utf8_lossy(stream).replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut name, mut data, mut raw) =
        (Vec::new(), String::new(), Vec::<String>::new(), String::new());
    let mut lines: Vec<&str> = text.split('\n').collect();
    // Bytes behind the last line feed are no line, unless they are the last line of a stream that just ended.
    let last = lines.pop().unwrap_or_default();
    let finish = |name: &str, data: &[String], events: &mut Vec<Event>| {
        let data = data.join("\n");
        if !data.trim().is_empty() {
            events.push((name.as_bytes().to_vec(), data.into_bytes()));
        }
    };
    lines.extend(Some(last).filter(|last| !last.is_empty()));
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        let is_error = field == "error" && !value.trim_ascii().is_empty();
        if matches!(field, "data" | "event") || is_error {
            raw.clear();
        }
        let starts_raw = line.starts_with(['{', '[']);
        match field {
            "data" => data.push(value),
            "event" => name = value,
            "error" if is_error => {
                finish(&name, &data, &mut events);
                name = "error".to_owned();
                data = vec![value];
            }
            _ if !raw.is_empty() || starts_raw => {
                raw += line;
                raw += "\n";
                match open_brackets(&raw) {
                    Some(0) if serde_json::from_str::<IgnoredAny>(&raw).is_ok() => {
                        // An event that stood before it has the name, if there was one.
                        let has_data = !data.is_empty();
                        finish(&name, &data, &mut events);
                        let name = std::mem::take(&mut name);
                        let name = if has_data { String::new() } else { name };
                        events.push((name.into_bytes(), raw.trim_ascii().as_bytes().to_vec()));
                        data.clear();
                        raw.clear();
                    }
                    Some(0) | None => raw.clear(),
                    Some(_) => {}
                }
            }
            _ => {}
        }
        if line.is_empty() {
            finish(&name, &data, &mut events);
            name.clear();
            data.clear();
        }
    }
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
        1 => "[{\\[]{1,2}",
        1 => "[}\\]]{1,2}",
        1 => Just(String::new()),
        2 => "[ a-zé:{\"}\u{feff}]{0,20}",
    ];
    let field = prop_oneof![
        6 => Just("data:"), 3 => Just("data: "), 2 => Just("event: "), 1 => Just("event:"), 1 => Just(":"),
        1 => Just("id: "), 1 => Just("retry:"), 1 => Just("data"), 4 => Just(""), 1 => Just(" data:"), 2 => Just("error: "),
        1 => Just("error"),
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

/// The events that the decoder hands out, the same at every split in two.
fn everywhere(stream: &str) -> Vec<(String, String)> {
    let read = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let whole = decode([stream.as_bytes()]);
    assert_eq!(whole, reference(stream.as_bytes()), "{stream}");
    for at in 0..=stream.len() {
        let (left, right) = stream.as_bytes().split_at(at);
        assert_eq!(decode([left, right]), whole, "split at {at} of {stream}");
    }
    assert_eq!(decode(stream.as_bytes().chunks(1)), whole, "{stream}");
    whole.into_iter().map(|(name, data)| (read(name), read(data))).collect()
}

fn named(name: &str, data: &str) -> (String, String) {
    (name.to_owned(), data.to_owned())
}

// openai.md C.16: llama.cpp until late in 2025
#[test]
fn a_field_error_is_an_event_of_that_name() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = ["data: 1", "", "error: {\"code\":400}", "", "data: [DONE]", "", ""].join(end);
        let expected = [named("", "1"), named("error", "{\"code\":400}"), named("", "[DONE]")];
        assert_eq!(everywhere(&stream), expected);
    }
    assert_eq!(everywhere("error: {\"a\":1}"), [named("error", "{\"a\":1}")]);
    assert_eq!(everywhere("error: {\"a\":"), [], "torn");
    assert_eq!(
        everywhere("data: 1\nerror: 2\n\ndata: 3\n\n"),
        [named("", "1"), named("error", "2"), named("", "3")]
    );
    assert_eq!(everywhere("data: 1\nerror\nerror: \nerrors: 2\n\n"), [named("", "1")], "says nothing");
}

// gemini.md 8: an error breaks off a stream as JSON without a field
#[test]
fn json_without_a_field_is_an_event() {
    let json = "{\n  \"error\": {\n    \"message\": \"a } b \\\"{\\\\\",\n\n    \"details\": [\n      {}\n    ]\n  }\n}";
    for (before, after) in [
        ("data: 1\n\n", "\n"),
        ("data: 1\n\n", "\n\n"),
        ("data: 1\n\n", ""),
        ("data: 1\n", "\n"),
        ("data: 1\n\nid: 2\n", "\n"),
    ] {
        let seen = everywhere(&format!("{before}{json}{after}"));
        assert_eq!(seen, [named("", "1"), named("", json)], "{before:?} {after:?}");
    }
    assert_eq!(everywhere("event: error\n{\"a\":1}\n\n"), [named("error", "{\"a\":1}")]);
    assert_eq!(everywhere("[{\r\n}\r\n]\r\n"), [named("", "[{\n}\n]")]);
    // A field gives it up, and so does what cannot become JSON.
    assert_eq!(everywhere("{\n\"a\":\ndata: 1\n\n2}\n"), [named("", "1")]);
    assert_eq!(everywhere("[12:00] a line of a log\n{\"a\n{\"b\":1}\n"), [named("", "{\"b\":1}")]);
    assert_eq!(everywhere("data: 1\n\n{\n  \"error\":"), [named("", "1")], "torn");
}

#[test]
fn json_without_a_field_is_bounded_and_looked_at_once() {
    let mut decoder = SseDecoder::new().with_limit(1000);
    let outcome = (0..2000).try_for_each(|_| decoder.push(b"[\n", &mut |_| Ok(())));
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Malformed);
    // A text that was read anew with each of its lines would take minutes.
    let text = format!("[\n{}1]\n", "1,\n".repeat(1_000_000));
    let mut count = 0;
    let mut counting = |_: SseEvent<'_>| {
        count += 1;
        Ok(())
    };
    SseDecoder::new().push(text.as_bytes(), &mut counting).unwrap();
    assert_eq!(count, 1);
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
