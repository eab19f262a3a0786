//! The filters that streams of text, fonts and tables use.

use flate2::{Decompress, FlushDecompress, Status};

use super::decoded::{End, Output, Refused};

pub(super) fn flate(data: &[u8], out: &mut Output) -> Result<End, Refused> {
    let mut decoder = Decompress::new(false);
    let mut rest = deflated(data);
    let mut buffer = vec![0; 32 << 10];
    loop {
        let (read, written) = (decoder.total_in(), decoder.total_out());
        let status = decoder.decompress(rest, &mut buffer, FlushDecompress::None);
        let read = usize::try_from(decoder.total_in() - read).unwrap_or(usize::MAX);
        let written = usize::try_from(decoder.total_out() - written).unwrap_or(usize::MAX);
        out.push(buffer.get(..written).unwrap_or_default())?;
        rest = rest.get(read..).unwrap_or_default();
        match status {
            Err(_) => return Ok(End::Broken),
            Ok(Status::StreamEnd) => return Ok(End::Marked),
            Ok(_) if read == 0 && written == 0 => return Ok(End::Cut),
            Ok(_) => {}
        }
    }
}

/// The deflated data behind a zlib header, where there is one; the checksum behind it is not looked at.
pub(super) fn deflated(data: &[u8]) -> &[u8] {
    match data {
        [method, flags, rest @ ..]
            if method & 0x0f == 8
                && u16::from_be_bytes([*method, *flags]).is_multiple_of(31)
                && flags & 0x20 == 0 =>
        {
            rest
        }
        _ => data,
    }
}

pub(super) fn lzw(data: &[u8], early_change: bool, out: &mut Output) -> Result<End, Refused> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    const FULL: usize = 4096;
    // A text of the table is the text of an earlier code and one byte more.
    let mut table: Vec<(usize, u8)> = Vec::new();
    let mut previous: Option<usize> = None;
    let (mut bits, mut held) = (0_u32, 0_u32);
    let mut text = Vec::new();
    for &byte in data {
        bits = (bits << 8) | u32::from(byte);
        held += 8;
        let width = match END + 1 + table.len() + usize::from(early_change) {
            2048.. => 12,
            1024.. => 11,
            512.. => 10,
            _ => 9,
        };
        if held < width {
            continue;
        }
        held -= width;
        let code = (bits >> held) as usize;
        bits &= (1 << held) - 1;
        match code {
            CLEAR => {
                table.clear();
                previous = None;
                continue;
            }
            END => return Ok(End::Marked),
            _ => {}
        }
        let known = code < END + 1 + table.len();
        let start = match (known, previous) {
            (true, _) => code,
            (false, Some(previous)) if code == END + 1 + table.len() => previous,
            _ => return Ok(End::Broken),
        };
        text.clear();
        let mut at = start;
        while let Some(&(parent, last)) = at.checked_sub(END + 1).and_then(|index| table.get(index)) {
            text.push(last);
            at = parent;
        }
        let first = at.to_le_bytes()[0];
        text.push(first);
        text.reverse();
        if !known {
            text.push(first);
        }
        out.push(&text)?;
        if let Some(previous) = previous
            && END + 1 + table.len() < FULL
        {
            table.push((previous, first));
        }
        previous = Some(code);
    }
    Ok(End::Cut)
}

pub(super) fn run_length(data: &[u8], out: &mut Output) -> Result<End, Refused> {
    let mut rest = data;
    while let [length, tail @ ..] = rest {
        let length = usize::from(*length);
        match length {
            128 => return Ok(End::Marked),
            0..=127 => {
                let end = tail.len().min(length + 1);
                let (run, after) = tail.split_at(end);
                out.push(run)?;
                rest = after;
            }
            _ => {
                let [byte, after @ ..] = tail else { break };
                out.push(&vec![*byte; 257 - length])?;
                rest = after;
            }
        }
    }
    Ok(End::Cut)
}

pub(super) fn ascii85(data: &[u8], out: &mut Output) -> Result<End, Refused> {
    let mut group = 0_u32;
    let mut digits = 0_usize;
    let mut end = End::Cut;
    for &byte in data {
        match byte {
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                digits += 1;
                if digits == 5 {
                    out.push(&group.to_be_bytes())?;
                    (group, digits) = (0, 0);
                }
            }
            b'z' if digits == 0 => out.push(&[0; 4])?,
            b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' => {}
            b'~' => {
                end = End::Marked;
                break;
            }
            _ => return Ok(End::Broken),
        }
    }
    if digits > 1 {
        for _ in digits..5 {
            group = group.wrapping_mul(85).wrapping_add(84);
        }
        out.push(group.to_be_bytes().get(..digits - 1).unwrap_or_default())?;
    }
    Ok(end)
}

pub(super) fn ascii_hex(data: &[u8], out: &mut Output) -> Result<End, Refused> {
    let mut high = None;
    let mut end = End::Cut;
    for &byte in data {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' => continue,
            b'>' => {
                end = End::Marked;
                break;
            }
            _ => return Ok(End::Broken),
        };
        match high.take() {
            None => high = Some(digit << 4),
            Some(high) => out.push(&[high | digit])?,
        }
    }
    if let Some(high) = high {
        out.push(&[high])?;
    }
    Ok(end)
}
