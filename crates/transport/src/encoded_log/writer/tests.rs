//! Strings and templates as they are written into items.

use proptest::prelude::*;

use crate::encoded_log::*;

const USER: RoleTag = RoleTag::new(0);

#[test]
fn strings_are_escaped() {
    let mut log = EncodedLog::new(&Envelope::LIST);
    log.sync(
        &[Message::user("x").shared()],
        |_, _| 0,
        |_, _, out| {
            assert!(out.is_empty());
            out.string("a\"\\\u{1}é\n");
            out.raw(" \"");
            out.escaped("\"é\t");
            out.escaped("z");
            out.raw("\" ");
            out.json(&[1, 2])?;
            Ok(Some(USER))
        },
    )
    .unwrap();
    assert!(!log.takes_marker(0));
    let text = String::from_utf8(log.body("", "", &[Marker::new(0, "never")]).to_vec()).unwrap();
    assert_eq!(text, r#""a\"\\\u0001é\n" "\"é\tz" [1,2]"#);
}

/// The text of an item that one call of `fill` writes.
fn filled(json: &'static str, values: &[Fill<'_>]) -> String {
    let mut log = EncodedLog::new(&Envelope::LIST);
    let template = Template::new(json);
    let write = |_, _: &Message, item: &mut ItemWriter<'_>| {
        item.fill(&template, values);
        Ok(Some(USER))
    };
    log.sync(&[Message::user("m").shared()], |_, _| 0, write).unwrap();
    String::from_utf8(log.body("", "", &[]).to_vec()).unwrap()
}

#[test]
fn a_template_takes_its_values_as_they_are() {
    // A `$` in a value is no place for another one.
    let text = filled(
        r#"{"a":$,"b":"<$>","c":$}"#,
        &[Fill::Text("$1 \"$\""), Fill::Bare("$\n"), Fill::Json("[\"$\"]")],
    );
    assert_eq!(text, r#"{"a":"$1 \"$\"","b":"<$\n>","c":["$"]}"#);
    let bytes = Bytes::from_static(b"\0\x01\xff");
    assert_eq!(filled("$", &[Fill::DataUri("a/$\"b", &bytes)]), r#""data:a/$\"b;base64,AAH/""#);
    assert_eq!(filled(r#""$""#, &[Fill::Base64(&Bytes::new())]), r#""""#);
    assert_eq!(filled("{}", &[]), "{}");
}

proptest! {
    #[test]
    fn a_filled_template_is_the_json_of_its_values(
        (text, bare) in (any::<String>(), "[$\"\\\\\u{0}-\u{20}a-cé]{0,20}"),
        number in any::<i64>(),
        size in prop::sample::select(vec![0_usize, 1, 100, 3 << 10, 5 << 10]),
    ) {
        let bytes = Bytes::from(vec![b'$'; size]);
        let json = serde_json::json!({ "$": [number, text] }).to_string();
        let written = filled(
            r#"{"text":$,"bare":"<$|$>","json":$,"data":"$","uri":$}"#,
            &[
                Fill::Text(&text),
                Fill::Bare(&bare),
                Fill::Bare(&text),
                Fill::Json(&json),
                Fill::Base64(&bytes),
                Fill::DataUri("image/png", &bytes),
            ],
        );
        let read: serde_json::Value = serde_json::from_str(&written).unwrap();
        let base64 = attache_core::base64::encode(&bytes);
        let expected = serde_json::json!({
            "text": text,
            "bare": format!("<{bare}|{text}>"),
            "json": {"$": [number, text]},
            "data": base64,
            "uri": format!("data:image/png;base64,{base64}"),
        });
        prop_assert_eq!(read, expected);
    }
}
