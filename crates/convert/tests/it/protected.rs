//! Workbooks that are encrypted with the password that Excel tries by itself open as others do; those with another one
//! say that they need it. The files are made by `fixtures/protected.py`.

use std::io::{Cursor, Write};

use attache_convert::{ConvertError, Converted, Limits, Note, convert};

use crate::common::{XLSX, office};

const XLS: &str = "application/vnd.ms-excel";

fn read(media: &str, name: &str) -> Result<Converted, ConvertError> {
    convert(media, office(&format!("protected/{name}")), &Limits::new())
}

#[test]
fn workbooks_that_excel_opens_without_a_question_are_read() {
    for name in ["agile.xlsx", "standard.xlsx", "standard-256.xlsx"] {
        for media in [XLSX, XLS, "application/octet-stream"] {
            let converted = read(media, name).unwrap_or_else(|error| panic!("{name} as {media}: {error}"));
            assert_eq!(
                converted.text,
                "[sheet 1: Costs]\n1: Item | Amount\n2: Rent ä | 4950\n3: Water 水 | -12.5\n"
            );
            assert_eq!(converted.notes, [], "{name} as {media}");
        }
    }
    for name in ["rc4.xls", "cryptoapi.xls", "cryptoapi-40.xls", "xor.xls"] {
        let converted = read(XLS, name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let head =
            "[sheet 1: Costs]\n1: Item | Amount\n2: Rent ä | 4950\n3: Water 水 | -12.5\n4: Row 3 long text";
        assert!(converted.text.starts_with(head), "{name}: {}", converted.text);
        assert!(converted.text.ends_with("\n60: Row 59 long text long text long text\n"), "{name}");
        assert_eq!(converted.notes, [], "{name}");
    }
}

#[test]
fn other_passwords_are_asked_for() {
    let locked = Err(ConvertError::Encrypted { reason: "it needs a password" });
    for name in ["agile-password.xlsx", "standard-password.xlsx"] {
        assert_eq!(read(XLSX, name), locked, "{name}");
    }
    for name in ["rc4-password.xls", "cryptoapi-password.xls"] {
        assert_eq!(read(XLS, name), locked, "{name}");
    }
    let file = office("protected/xor.xls");
    let at = file.windows(6).position(|bytes| bytes == [0, 0, 0x59, 0xb3, 0x0a, 0x9a]).expect("a key");
    let mut other = file.to_vec();
    other[at + 2] ^= 1;
    assert_eq!(convert(XLS, other.into(), &Limits::new()), locked);
}

fn compound(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    for (name, content) in streams {
        file.create_stream(name).unwrap().write_all(content).unwrap();
    }
    file.into_inner().into_inner()
}

#[test]
fn the_reason_why_a_file_does_not_open_is_the_right_one() {
    let reason = |streams: &[(&str, &[u8])]| match convert(XLSX, compound(streams).into(), &Limits::new()) {
        Err(ConvertError::Encrypted { reason }) => reason.to_owned(),
        other => panic!("{other:?}"),
    };
    // A server gives the key to those who log on.
    let package: (&str, &[u8]) = ("/EncryptedPackage", &[0; 64]);
    assert_eq!(reason(&[package]), "only those can open it whom its owner has permitted");
    let unsupported = "the way it is protected is not supported";
    for info in [&[3, 0, 3, 0, 0, 0, 0, 0][..], &[4, 0, 4, 0, 0x40, 0, 0, 0, b'<'], &[4, 0, 2, 0], &[]] {
        assert_eq!(reason(&[("/EncryptionInfo", info), package]), unsupported, "{info:?}");
    }
}

#[test]
fn damaged_and_hostile_files_end() {
    let mut file = cfb::CompoundFile::open(Cursor::new(office("protected/agile.xlsx"))).unwrap();
    let mut info = Vec::new();
    std::io::Read::read_to_end(&mut file.open_stream("/EncryptionInfo").unwrap(), &mut info).unwrap();
    let mut package = Vec::new();
    std::io::Read::read_to_end(&mut file.open_stream("/EncryptedPackage").unwrap(), &mut package).unwrap();
    let info = String::from_utf8_lossy(&info).into_owned();

    // A file that breaks off is read as far as it goes.
    let cut = compound(&[("/EncryptionInfo", info.as_bytes()), ("/EncryptedPackage", &package[..4096])]);
    let cut = convert(XLSX, cut.into(), &Limits::new());
    assert!(cut.is_err() || cut.is_ok_and(|cut| cut.truncated));

    // Behind the end of the file: its own reader does not see it.
    let altered = [&package[..], &[0; 16]].concat();
    let altered = compound(&[("/EncryptionInfo", info.as_bytes()), ("/EncryptedPackage", &altered)]);
    let altered = convert(XLSX, altered.into(), &Limits::new()).unwrap();
    assert_eq!((altered.text, altered.notes), (read(XLSX, "agile.xlsx").unwrap().text, vec![Note::Altered]));

    // The work for a key is bounded by time.
    assert!(info.contains("spinCount=\"100000\""), "{info}");
    let slow = info.replace("spinCount=\"100000\"", "spinCount=\"4294967295\"");
    let slow = compound(&[("/EncryptionInfo", slow.as_bytes()), ("/EncryptedPackage", &package)]);
    let limit = std::time::Duration::from_millis(200);
    let slow = convert(XLSX, slow.into(), &Limits::new().with_max_time(limit));
    assert_eq!(slow, Err(ConvertError::TimedOut { limit }));
}
