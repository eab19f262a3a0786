use super::*;

/// A header: name, type, and value with its length where the type has one.
fn header(name: &str, kind: u8, value: &[u8]) -> Vec<u8> {
    let mut header = vec![u8::try_from(name.len()).unwrap()];
    header.extend(name.as_bytes());
    header.push(kind);
    if matches!(kind, 6 | 7) {
        header.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
    }
    header.extend(value);
    header
}

fn frame(headers: &[Vec<u8>], payload: &[u8]) -> Vec<u8> {
    let headers = headers.concat();
    let total = u32::try_from(headers.len() + payload.len() + 16).unwrap();
    let mut frame = total.to_be_bytes().to_vec();
    frame.extend(u32::try_from(headers.len()).unwrap().to_be_bytes());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload);
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame
}

fn event(kind: &str, payload: &str) -> Vec<u8> {
    let headers = [
        header(":event-type", 7, kind.as_bytes()),
        header(":content-type", 7, b"application/json"),
        header(":message-type", 7, b"event"),
    ];
    frame(&headers, payload.as_bytes())
}

fn decode(bytes: &[u8], step: usize) -> Result<Vec<(String, String)>, ProviderError> {
    let (mut decoder, mut frames) = (FrameDecoder::default(), Vec::new());
    for piece in bytes.chunks(step) {
        decoder.push(piece, &mut |frame| {
            let kind = frame.event_type.or(frame.exception_type).or(frame.error_code).unwrap_or_default();
            frames.push((kind.to_owned(), String::from_utf8_lossy(frame.payload).into_owned()));
            Ok(())
        })?;
    }
    decoder.finish().map(|()| frames)
}

#[test]
fn frames_may_be_cut_anywhere() {
    let stream = [event("a", "{}"), event("bc", ""), event("d", "{\"x\":[1,2,3]}")].concat();
    let expected = [("a", "{}"), ("bc", ""), ("d", "{\"x\":[1,2,3]}")];
    let expected = expected.map(|(kind, payload)| (kind.to_owned(), payload.to_owned()));
    for step in 1..=stream.len() {
        assert_eq!(decode(&stream, step).unwrap(), expected, "{step}");
    }
}

// The example of the format's description: a frame without headers and payload.
#[test]
fn the_smallest_frame() {
    let empty = [0, 0, 0, 16, 0, 0, 0, 0, 5, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff];
    assert_eq!(frame(&[], b""), empty);
    assert_eq!(decode(&empty, 1).unwrap(), [(String::new(), String::new())]);
}

#[test]
fn headers_of_every_type_are_passed_over() {
    let headers = [
        header("t", 0, b""),
        header("f", 1, b""),
        header("byte", 2, &[1]),
        header("short", 3, &[1; 2]),
        header("int", 4, &[1; 4]),
        header("long", 5, &[1; 8]),
        header("bytes", 6, b"\xff\xfe"),
        header(":error-code", 7, b"code"),
        header("time", 8, &[1; 8]),
        header("uuid", 9, &[1; 16]),
        header(":message-type", 7, b"error"),
    ];
    let bytes = frame(&headers, b"");
    assert_eq!(decode(&bytes, bytes.len()).unwrap(), [("code".to_owned(), String::new())]);
    assert_eq!(read(&bytes).unwrap().message_type, Some("error"));
}

#[test]
fn what_breaks_the_format_is_malformed() {
    let good = event("messageStart", "{\"role\":\"assistant\"}");
    // A flipped bit anywhere.
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 4;
        for step in [1, 7, bad.len()] {
            let error = decode(&bad, step).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{at} {step}");
        }
    }
    let huge = |total: u32, headers: u32| {
        let mut prelude = [total.to_be_bytes(), headers.to_be_bytes()].concat();
        prelude.extend(crc32fast::hash(&prelude).to_be_bytes());
        decode(&prelude, 12).unwrap_err().kind()
    };
    assert_eq!(huge(u32::MAX, 0), ErrorKind::Malformed);
    assert_eq!(huge(200 << 10, 130 << 10), ErrorKind::Malformed);
    assert_eq!(huge(16, 1), ErrorKind::Malformed);
    assert_eq!(huge(3, 0), ErrorKind::Malformed);
    for headers in [vec![3, b'a'], header("a", 10, b""), header("a", 7, b"\xff"), vec![1, b'a', 7, 0, 9]] {
        let bytes = frame(&[headers], b"");
        assert_eq!(decode(&bytes, bytes.len()).unwrap_err().kind(), ErrorKind::Malformed);
    }
}

#[test]
fn a_cut_tail_is_a_cut_stream() {
    let stream = [event("a", "{}"), event("b", "{}")].concat();
    let whole = event("a", "{}").len();
    for end in 1..stream.len() {
        let outcome = decode(&stream[..end], 5);
        match end == whole {
            true => assert_eq!(outcome.unwrap().len(), 1),
            false => assert_eq!(outcome.unwrap_err().kind(), ErrorKind::StreamCut, "{end}"),
        }
    }
}
