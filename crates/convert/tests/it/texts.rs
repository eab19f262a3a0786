//! Tables, JSON, HTML and text in odd charsets come out as a reader wants them.

use attache_convert::{ConvertError, Converted, DocumentConverter, Limits, Note, Unit, can_convert, convert};
use attache_core::{Converter as _, Document, MediaType};

#[track_caller]
fn read(media: &str, bytes: impl AsRef<[u8]>) -> Converted {
    convert(media, bytes.as_ref().to_vec().into(), &Limits::new()).expect("the document can be read")
}

#[track_caller]
fn text(media: &str, bytes: impl AsRef<[u8]>) -> String {
    read(media, bytes).text
}

#[test]
fn tables_have_their_header_with_each_block_of_rows() {
    assert_eq!(
        text("text/csv", "name,amount\n\"Desk, oak\",\"4,668.00\"\n\"two\nlines\",1\n"),
        "[rows 1-2 of 2, 2 columns]\nname | amount\nDesk, oak | 4,668.00\ntwo / lines | 1\n"
    );
    let long: String = std::iter::once("id;value\r\n".to_owned())
        .chain((1..=450).map(|n| format!("{n};{}\r\n", n * 2)))
        .collect();
    let converted = read("text/csv; charset=utf-8", &long);
    assert_eq!((converted.unit, converted.units, converted.truncated), (Unit::RowBlock, 3, false));
    for (at, head) in [
        (0, "[rows 1-200 of 450, 2 columns]\nid | value\n1 | 2\n"),
        (1, "[rows 201-400 of 450, 2 columns]\nid | value\n201 | 402\n"),
        (2, "[rows 401-450 of 450, 2 columns]\nid | value\n401 | 802\n"),
    ] {
        assert!(converted.text[converted.starts[at]..].starts_with(head), "{}", converted.text);
    }

    let limits = Limits::new().with_max_output_bytes(2_000);
    let cut = convert("text/csv", long.into(), &limits).unwrap();
    let last = cut.text.lines().last().unwrap();
    let Some(Note::RowsLeftOut { shown, total: Some(450) }) =
        cut.notes.iter().find(|note| matches!(note, Note::RowsLeftOut { .. }))
    else {
        panic!("{:?}", cut.notes)
    };
    assert_eq!(last, format!("[rows {}-450 are left out]", shown + 1));
    assert!(cut.truncated && *shown > 100 && cut.text.contains(&format!("\n{shown} | {}\n", shown * 2)));
    assert!(
        cut.notes.contains(&Note::UnitsLeftOut { unit: Unit::RowBlock, read: 1, total: 3 }),
        "{:?}",
        cut.notes
    );
}

#[test]
fn separators_tabs_and_tables_without_header() {
    assert_eq!(text("text/csv", "sep=;\r\na;b\r\n1,5;2\r\n"), "[rows 1-1 of 1, 2 columns]\na | b\n1,5 | 2\n");
    assert_eq!(
        text("text/tab-separated-values", "a\tb|c\n1,2\t\n\n3\t4\n"),
        "[rows 1-2 of 2, 2 columns]\na | b\\|c\n1,2\n3 | 4\n"
    );
    assert_eq!(text("text/csv", "1,2\n3,4\n"), "[rows 1-2 of 2, 2 columns]\n1 | 2\n3 | 4\n");
    assert_eq!(
        text("application/csv", b"gr\xf6\xdfe;zahl\nviel;1\n"),
        "[rows 1-1 of 1, 2 columns]\ngröße | zahl\nviel | 1\n"
    );
}

#[test]
fn json_is_indented_and_numbers_stay_as_written() {
    let source = r#"{"id":12345678901234567890123,"price":1.10,"name":"gr\u00f6\u00dfe\n","tags":["a","b"],"empty":{},"none":[],
        "lines":[{"article":"Standing desk, 160 x 80 cm, oak top","quantity":12,"amount":4668.00,"currency":"EUR","net":true},
        {"article":"Chair","quantity":12}]}"#;
    let expected = r#"{
  "id": 12345678901234567890123,
  "price": 1.10,
  "name": "größe\n",
  "tags": ["a", "b"],
  "empty": {},
  "none": [],
  "lines": [
    {
      "article": "Standing desk, 160 x 80 cm, oak top",
      "quantity": 12,
      "amount": 4668.00,
      "currency": "EUR",
      "net": true
    },
    {"article": "Chair", "quantity": 12}
  ]
}
"#;
    let converted = read("application/json", source);
    assert_eq!((converted.text.as_str(), converted.truncated), (expected, false));
    assert_eq!(text("application/ld+json", "3"), "3\n");
}

#[test]
fn large_json_is_cut_with_counts_and_keeps_its_keys() {
    let items: Vec<_> =
        (0..20_000).map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}", "x".repeat(50))).collect();
    let source =
        format!("{{\"first\":[{}],\"long\":\"{}\",\"last\":true}}", items.join(","), "y".repeat(100_000));
    let converted = read("application/json", &source);
    assert!(converted.text.len() < 300 << 10 && converted.truncated);
    assert!(
        converted.text.contains("\n    [19900 more items are left out]\n  ],\n"),
        "{}",
        &converted.text[..9000]
    );
    assert!(converted.text.contains(" more characters are left out],\n  \"last\": true\n}\n"));
    assert_eq!(converted.notes, [Note::Shortened]);
}

#[test]
fn json_that_is_none_is_shown_as_it_is() {
    let converted = read("application/json", "{\"a\": 1,}\r\n// note");
    assert_eq!(converted.text, "{\"a\": 1,}\n// note\n");
    assert_eq!(converted.notes, [Note::ShownAsText { not: "valid JSON" }]);
    let deep = "[".repeat(100_000);
    assert_eq!(read("application/json", &deep).notes, [Note::ShownAsText { not: "valid JSON" }]);
}

#[test]
fn json_lines_are_records_in_blocks() {
    let source: String = (1..=150).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let converted = read("application/x-ndjson", &source);
    assert_eq!((converted.unit, converted.units), (Unit::RowBlock, 2));
    assert!(converted.text.starts_with("[records 1-100 of 150]\n{\"n\":1}\n"));
    assert!(converted.text[converted.starts[1]..].starts_with("[records 101-150 of 150]\n{\"n\":101}\n"));
}

#[test]
fn html_is_what_a_reader_sees() {
    let page = "<!doctype html><html><head><meta charset=utf-8><title> The  page </title><style>p{}</style></head><body>
        <script>if (a < b) document.write('<p>gone</p>')</script><nav><a href='/x?y=1'>Home</a></nav>
        <h1>Prices &amp; terms</h1><p>One<br>two <b>bold</b>,&nbsp;<i>it</i>alic<p>Next
        <ul><li>first<li>second<ol start=3><li>inner</ol></ul>
        <div hidden>hidden</div><div style='display: none'>hidden <div>deep</div> too</div>
        <table><caption>Rates</caption><tr><th>A<th colspan=2>B<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5</table>
        <img src=a.png alt='A chart'><img src=b.png><pre>  keep
    this</pre><p>10<sup>6</sup> <del>old</del>";
    let converted = read("text/html", page);
    assert_eq!(
        converted.text,
        "title: The page\nHome\n\n# Prices & terms\nOne\ntwo bold, italic\nNext\n- first\n- second\n  3. inner\n\n\
         Rates\nA | B\n1 | 2 | 3\n | 4 | 5\n\n[image: A chart]\nkeep\n    this\n10^6 ~~old~~\n"
    );
    assert_eq!(converted.notes, [Note::NotShown { what: "image", count: 2 }]);
    // The charset that the page names, or none.
    assert_eq!(text("text/html", b"<meta charset=iso-8859-1><p>gr\xf6\xdfe"), "größe\n");
    assert_eq!(
        text("text/html", "<table><tr><td><table><tr><td>menu</table><td>body</table>"),
        "menu\nbody\n"
    );
    let result = convert("text/html", "<script>x</script>".into(), &Limits::new());
    assert!(matches!(result, Err(ConvertError::NoText { .. })), "{result:?}");
}

#[test]
fn what_is_hidden_ends_where_its_end_tag_is_left_out() {
    for (page, expected) in [
        ("<p style='display:none'>Preview<p>Dear customer,<p>Total 5", "Dear customer,\nTotal 5\n"),
        ("<div><p hidden>x <b>y</div>after", "after\n"),
        ("<p hidden>x</b>y</p>after", "after\n"),
        ("<table><tr style='display:none'><td>h<td>2<tr><td>B<td>3</table>after", "B | 3\n\nafter\n"),
        ("<table><tr><td>a<td hidden>h<td>b<tr><td>c<td hidden>i</tr></table>after", "a | b\nc\n\nafter\n"),
        ("<table><tbody hidden><tr><td><table><tr><td>x</table><tr><td>y<tbody><tr><td>z</table>", "z\n"),
        ("<ul><li>a<li hidden>b<li>c</ul><p>after", "- a\n- c\nafter\n"),
        ("<ul><li>a<li hidden>b<ul><li>x<li>y</ul>z</ul><p>after", "- a\nafter\n"),
        ("<dl><dt hidden>a<dd>b<dd hidden>c</dl>after", "  b\nafter\n"),
        ("<select><option hidden>choose<option selected>France</select> Total 5", "France Total 5\n"),
        ("<ruby>漢<rp>(<rt>kan<rp>)</ruby> after", "漢kan after\n"),
        ("<div hidden>a<p>b<div>c</div>d</div>after", "after\n"),
    ] {
        assert_eq!(text("text/html", page), expected, "{page}");
    }
}

// documents.md 9.2 D21
#[test]
fn text_in_odd_charsets_is_decoded_and_the_guess_said() {
    let japanese = "請求書の合計金額は一万二千円です。お支払い期限は五月十七日です。";
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(japanese);
    let converted = read("text/plain; charset=utf-8", &bytes);
    assert_eq!(converted.text.trim_end(), japanese);
    assert_eq!(converted.notes[0].to_string(), "read as Shift_JIS (guessed)");
    let wide: Vec<u8> = "Invoice 17\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let converted = read("text/plain", &wide);
    assert_eq!(converted.text, "Invoice 17\n");
    assert_eq!(converted.notes, [Note::Charset { charset: "UTF-16LE" }]);
    let result = convert("text/plain", vec![0, 1, 2, 255, 254, 0, 0].into(), &Limits::new());
    assert!(matches!(result, Err(ConvertError::Malformed { .. })), "{result:?}");
    assert_eq!(text("text/x-rust", "fn main() {}"), "fn main() {}\n");
}

/// One byte of another charset, or a cut in the middle of a character, does not make a text one of another charset.
#[test]
fn damaged_utf_8_is_read_and_what_is_damaged_is_counted() {
    let russian = "Общая сумма счёта составляет двадцать тысяч рублей";
    let stray = [russian.as_bytes(), b" \xfc"].concat();
    let (guessed, unreadable) =
        (Note::Charset { charset: "UTF-8" }, |count| Note::UnreadableCharacters { count });
    for media in ["text/plain", "text/html; charset=iso-8859-1", "application/json", "text/csv"] {
        let converted = read(media, &stray);
        assert!(converted.text.contains(&format!("{russian} \u{fffd}")), "{media}: {}", converted.text);
        assert!(converted.notes.contains(&guessed) && converted.notes.contains(&unreadable(1)), "{media}");
    }
    let cut = &russian.as_bytes()[..russian.len() - 1];
    let converted = read("text/plain; charset=utf-8", cut);
    assert!(converted.text.ends_with("рубле\u{fffd}\n"), "{}", converted.text);
    assert_eq!(converted.notes, [unreadable(1)]);

    let mut letter = b"From: a@b.c\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\n".to_vec();
    for _ in 0..2 {
        letter.extend_from_slice(&stray);
        letter.extend_from_slice(b"\n--x\nContent-Type: text/plain; charset=utf-8\n\n");
    }
    let converted = read("message/rfc822", &letter);
    assert_eq!(converted.text.matches(russian).count(), 2, "{}", converted.text);
    assert_eq!(converted.notes, [guessed, unreadable(2)]);
}

#[test]
fn names_of_charsets_are_believed_where_they_can_be_meant() {
    // Programs call anything ASCII or Latin-1.
    for charset in ["us-ascii", "iso-8859-1"] {
        let converted = read(&format!("text/plain; charset={charset}"), "größe 5 €");
        assert_eq!((converted.text.as_str(), converted.notes.len()), ("größe 5 €\n", 0), "{charset}");
    }
    // XML says it in its first line, unless its first line can be read only if that is wrong.
    let xml = b"<?xml version='1.0' encoding='windows-1251'?><a>\xcf\xf0\xe8\xe2\xe5\xf2</a>";
    for media in ["application/xml", "text/xml", "image/svg+xml"] {
        assert!(text(media, xml).contains("<a>Привет</a>"), "{media}");
    }
    assert!(text("text/html", xml).contains("Привет"));
    for head in [
        "<meta charset=utf-16>",
        "<meta http-equiv=Content-Type content='text/html; charset=UTF-16LE'>",
        "<?xml version='1.0' encoding='utf-16'?>",
        "<meta name=charset content=x><!-- charset=none --><meta charset=utf-8>",
    ] {
        // An even number of bytes, which any of UTF-16 has.
        for page in [format!("{head}<p>größe 5"), format!("{head}<p>größe 50")] {
            let read = text("text/html", &page);
            assert!(read.starts_with("größe 5"), "{page}: {read}");
        }
    }
    let polish = b"<meta name='charset' content='x'><meta charset='iso-8859-2'><p>\xb1\xea";
    assert_eq!(text("text/html", polish), "ąę\n");
    // Escapes into Japanese are ASCII, and UTF-7 is, too.
    let converted = read("text/plain", b"\x1b$B@A5a=q\x1b(B 5");
    assert_eq!((converted.text.as_str(), converted.notes.len()), ("請求書 5\n", 1));
    let letter = "From: a@b.c\nContent-Type: text/plain; charset=\"utf-7\"\n\nKosten +AOQ-nderung +- 1\n";
    assert_eq!(text("message/rfc822", letter), "From: a@b.c\n\nKosten änderung + 1\n");
}

/// RFC 3676
#[test]
fn paragraphs_of_letters_are_joined_as_they_were_written() {
    let letter = |kind: &str| {
        format!(
            "From: a@b.c\nContent-Type: text/plain; {kind}\n\nOne paragraph \nin lines.\n> and \n> a quote\n-- \nAnn\n"
        )
    };
    assert_eq!(
        text("message/rfc822", letter("format=flowed")),
        "From: a@b.c\n\nOne paragraph in lines.\n> and a quote\n-- \nAnn\n"
    );
    assert!(
        text("message/rfc822", letter("format=\"Flowed\"; DelSp=Yes")).contains("One paragraphin lines.")
    );
    assert!(text("message/rfc822", letter("charset=utf-8")).contains("One paragraph \nin lines."));
}

/// Only in XML does an element end in its own tag: what is behind it is text.
#[test]
fn elements_that_end_in_their_own_tags_swallow_nothing() {
    let body = "<head><title/><script src='x'/></head><body><p hidden=''/><textarea/><div hidden=''/>\
                <table hidden=''/><p>after</p></body></html>";
    let declared = format!("<?xml version='1.0'?><html>{body}");
    for (media, page) in [
        ("application/xhtml+xml", format!("<html xmlns='http://www.w3.org/1999/xhtml'>{body}")),
        ("application/xhtml+xml", declared.clone()),
        ("text/html", declared),
    ] {
        assert_eq!(text(media, &page), "after\n", "{media}: {page}");
    }
    for (page, expected) in [
        ("<svg/>after", "after\n"),
        ("<svg><title/><style/><path d=''/><svg/></svg>after", "after\n"),
        ("<p>a<math hidden/>b", "ab\n"),
        ("<p>a<div hidden/>b</div>c", "ac\n"),
        ("<?xml:namespace prefix = o /><p>a<div hidden/>b</div>c", "ac\n"),
    ] {
        assert_eq!(text("text/html", page), expected, "{page}");
    }
}

/// Pages that browsers save with their pictures are e-mails without an address.
#[test]
fn saved_pages_are_read() {
    let page = "From: <Saved by Blink>\nSubject: Prices\nMIME-Version: 1.0\nContent-Type: multipart/related; type=\"text/html\"; boundary=x\n\n\
                --x\nContent-Type: text/html\n\n<p>Total 5\n--x--\n";
    for media in ["multipart/related", "application/x-mimearchive", "message/rfc822"] {
        assert!(text(media, page).ends_with("Total 5\n"), "{media}");
    }
}

/// Systems call text by the names of programs that open it, and know few endings.
#[test]
fn text_of_a_type_that_says_little_is_read() {
    let wide: Vec<u8> =
        [vec![0xff, 0xfe], "Total: 9 €\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect()].concat();
    for (media, bytes, is) in [
        ("application/vnd.ms-excel", b"a,b\n1,2\n".to_vec(), "a,b\n1,2\n"),
        ("application/msword", "Grüße".into(), "Grüße\n"),
        ("application/octet-stream", wide, "Total: 9 €\n"),
        (
            "application/octet-stream",
            b"Die L\xf6sung f\xfcr M\xfcller liegt \xfcber dem Tisch.\n".to_vec(),
            "Die Lösung für Müller liegt über dem Tisch.\n",
        ),
    ] {
        assert_eq!(text(media, bytes), is, "{media}");
    }
    for bytes in [&b"\x01\x02\x03\x04 binary"[..], &b"\0asm\x01\0\0\0"[..]] {
        let result = convert("application/octet-stream", bytes.to_vec().into(), &Limits::new());
        assert_eq!(result, Err(ConvertError::UnknownFormat), "{}", bytes.escape_ascii());
    }
}

#[test]
fn types_that_can_be_converted() {
    for media in [
        "application/pdf",
        "text/html; charset=x",
        "message/rfc822",
        "text/csv",
        "application/json",
        "image/svg+xml",
        "application/rtf",
        "application/msword",
        "application/octet-stream",
        "application/vnd.oasis.opendocument.presentation",
        "application/gzip",
        "application/x-tar",
    ] {
        assert!(can_convert(media), "{media}");
    }
    for media in ["image/png", "audio/mpeg", "video/mp4", "application/x-7z-compressed", "nonsense"] {
        assert!(!can_convert(media), "{media}");
    }
}

/// Waits for a future that another thread wakes.
fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn the_converter_hands_on_units_notes_charsets_and_attachments() {
    let converter = DocumentConverter::default();
    assert!(converter.converts(&MediaType::parse("text/csv").unwrap()));
    let table: String =
        std::iter::once("name,n\n".into()).chain((0..250).map(|n| format!("x,{n}\n"))).collect();
    let document = Document::from_bytes(table.clone().into_bytes(), "text/csv");
    let converted = wait(converter.convert(&document, table.into())).unwrap();
    assert!(
        converted.units(2, 2).unwrap().starts_with("[rows 201-250 of 250, 2 columns]\nname | n\nx | 200\n")
    );
    assert_eq!(converted.units.as_ref().unwrap().name, "block of rows");

    let letter = "From: a@b.c\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nHello\n--x\n\
                  Content-Type: application/pdf\nContent-Disposition: attachment; filename*=utf-8''M%C3%A4rz.pdf\n\n%PDF-\n--x--\n";
    let document = Document::from_bytes(letter, "message/rfc822");
    let converted = wait(converter.convert(&document, letter.into())).unwrap();
    assert_eq!(converted.units, None);
    let attached = &converted.attachments[0];
    assert_eq!(
        (attached.file_name(), attached.media_type().essence()),
        (Some("März.pdf"), "application/pdf")
    );
    assert_eq!(attached.bytes().unwrap(), "%PDF-");

    let document = Document::from_bytes(&b"gr\xf6\xdfe"[..], "text/plain; charset=iso-8859-1");
    let converted = wait(converter.convert(&document, b"gr\xf6\xdfe".as_slice().into())).unwrap();
    assert_eq!((&*converted.text, converted.notes.len()), ("größe\n", 0));
}
