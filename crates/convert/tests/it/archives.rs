//! TAR archives are listed as ZIP archives are, and a file that gzip packed is read as what it is.

use std::io::Write;

use attache_convert::{ConvertError, Converted, Limits, Note, convert};

const TAR: &str = "application/x-tar";
const GZIP: &str = "application/gzip";
const UNKNOWN: &str = "application/octet-stream";

fn read(media: &str, bytes: &[u8]) -> Result<Converted, ConvertError> {
    convert(media, bytes.to_vec().into(), &Limits::new())
}

/// An entry as [POSIX.1-2017] has it under `pax`, `ustar Interchange Format`.
fn entry(kind: u8, name: &[u8], folder: &[u8], content: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 512];
    head[..name.len()].copy_from_slice(name);
    head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    head[148..156].fill(b' ');
    head[156] = kind;
    head[257..265].copy_from_slice(b"ustar\x0000");
    head[345..345 + folder.len()].copy_from_slice(folder);
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    head.extend(content);
    head.resize(head.len().next_multiple_of(512), 0);
    head
}

fn gzip(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::GzBuilder::new().filename(name).write(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn archive() -> Vec<u8> {
    let path = "x".repeat(120);
    let record = format!(" path={path}\n");
    let record = format!("{}{record}", record.len() + 3);
    [
        entry(b'5', b"orders/", b"", b""),
        entry(b'0', "orders/M\u{e4}rz.csv".as_bytes(), b"", b"a,b\n1,2\n"),
        entry(b'0', b"deep.txt", b"far/away", &[b'x'; 600]),
        entry(b'L', b"././@LongLink", b"", b"a long name\0"),
        entry(b'0', b"cut", b"", b""),
        entry(b'x', b"PaxHeader", b"", record.as_bytes()),
        entry(b'0', b"cut", b"", b"1"),
        entry(b'2', b"link", b"", b""),
        vec![0; 1024],
    ]
    .concat()
}

#[test]
fn tar_archives_are_listed() {
    let expected = format!(
        "archive, 5 files:\n- orders/März.csv (8 bytes)\n- far/away/deep.txt (600 bytes)\n- a long name (0 bytes)\n\
         - {} (1 bytes)\n- link (0 bytes, link)\n",
        "x".repeat(120)
    );
    let packed = gzip("orders.tar", &archive());
    for (media, bytes) in [(TAR, archive()), (UNKNOWN, archive()), (GZIP, packed.clone()), (UNKNOWN, packed)]
    {
        let converted = read(media, &bytes).unwrap();
        assert_eq!((converted.text, converted.notes), (expected.clone(), vec![]), "{media}");
    }
}

#[test]
fn a_long_name_of_a_folder_is_no_name_of_the_next_file() {
    let long = entry(b'L', b"././@LongLink", b"", b"a long folder/\0");
    let of_pax = entry(b'x', b"PaxHeader", b"", b"23 path=a long folder/\n");
    for name in [long, of_pax] {
        let (folder, file) = (entry(b'5', b"cut", b"", b""), entry(b'0', b"a.txt", b"", b"x"));
        let archive = [name, folder, file, vec![0; 1024]].concat();
        assert_eq!(read(TAR, &archive).unwrap().text, "archive, 1 file:\n- a.txt (1 bytes)\n");
    }
}

#[test]
fn damaged_tar_archives_say_what_is_left_out() {
    let whole = archive();
    let cut = read(TAR, &whole[..1536]).unwrap();
    assert_eq!(
        (cut.text.as_str(), cut.truncated),
        ("archive, 1 file:\n- orders/März.csv (8 bytes)\n", false)
    );
    for damaged in [&whole[..2000], &[&whole[..1536], &[1; 512][..]].concat()] {
        let converted = read(TAR, damaged).unwrap();
        assert_eq!((converted.notes, converted.truncated), (vec![Note::EntriesLeftOut], true));
    }
    // The lengths and names of heads as other programs might write them.
    for (place, byte) in (0..whole.len()).step_by(7).zip((0_u8..=255).cycle()) {
        let mut damaged = whole.clone();
        damaged[place] = byte.wrapping_mul(37);
        let result = read(TAR, &damaged);
        assert!(!matches!(result, Err(ConvertError::Failed | ConvertError::TimedOut { .. })), "{place}");
    }
    for none in [&[1; 2000][..], b"text"] {
        let error = ConvertError::Malformed { reason: "it cannot be read as a tar archive" };
        assert_eq!(read(TAR, none), Err(error));
    }
}

#[test]
fn a_file_that_gzip_packed_is_read_as_what_it_is() {
    let table = read(GZIP, &gzip("order.csv", b"Item,Price\nDesk,5\n")).unwrap();
    assert_eq!(
        (table.text.as_str(), table.notes),
        ("[rows 1-1 of 1, 2 columns]\nItem | Price\nDesk | 5\n", vec![])
    );
    let packed = gzip("", b"some words\n");
    assert_eq!(read(UNKNOWN, &packed).unwrap().text, "some words\n");
    let cut = read(GZIP, &packed[..packed.len() - 4]).unwrap();
    assert_eq!((cut.text.as_str(), cut.notes, cut.truncated), ("some words\n", vec![Note::EndsEarly], true));

    let limits = Limits::new().with_max_decoded_bytes(1 << 10);
    let bomb = convert(GZIP, gzip("a.txt", &[b'x'; 2 << 10]).into(), &limits);
    assert_eq!(bomb, Err(ConvertError::TooLarge { what: "decoded bytes", limit: 1 << 10 }));
    for (bytes, error) in [
        (gzip("a", &gzip("b", b"text")), ConvertError::UnknownFormat),
        (
            gzip("a.png", b"\x89PNG\r\n\x1a\n"),
            ConvertError::Unsupported { media_type: "image/png".to_owned() },
        ),
        (b"\x1f\x8b\x08".to_vec(), ConvertError::Malformed { reason: "it holds nothing that gzip packed" }),
    ] {
        assert_eq!(read(GZIP, &bytes), Err(error));
    }
}
