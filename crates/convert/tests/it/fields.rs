//! Text that stands where programs draw it from: instructions of fields, drawn words, formulas of HTML.

use attache_convert::{Converted, Limits, Note, Unit, convert};

use crate::common::{DOCX, docx};

#[track_caller]
fn read(media: &str, bytes: impl Into<bytes::Bytes>) -> Converted {
    convert(media, bytes.into(), &Limits::new()).expect("the document can be read")
}

#[test]
fn equations_in_fields_of_word_documents_are_read() {
    let mark = |kind: &str| format!("<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>");
    let code = |text: &str| format!("<w:r><w:instrText>{text}</w:instrText></w:r>");
    let run = |text: &str| format!("<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>");
    let field = |inside: &str| mark("begin") + inside + &mark("end");
    let body = [
        run("Add "),
        field(&(code(r" EQ \f(1") + &code(",2) "))),
        run(" cup of "),
        // A word with its reading, as programs wrote it before there was an element for it.
        field(&(code(r#" EQ \* jc2 \* "Font:MS Mincho" \o\ad(\s\up 9(かんじ),漢字)"#) + &mark("separate"))),
        run(", page "),
        field(&(code(" PAGE ") + &mark("separate") + &run("7"))),
        run(" "),
        field(&(code(" EQ 1 ") + &mark("separate") + &run("shown"))),
        run(", 2"),
        field(&code(r" EQ \f(1,2) ")),
        run(" "),
        field(
            &(code(r" EQ 3\f(") + &field(&(code(" REF a ") + &mark("separate") + &run("3"))) + &code(",4) ")),
        ),
    ];
    let hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:fldChar w:fldCharType='end'/></w:r>";
    let hidden = mark("begin") + &code(r" EQ \f(3,4)") + hidden;
    let body = format!("<w:p>{}{hidden}</w:p>", body.concat());
    assert_eq!(read(DOCX, docx(&body, &[])).text, "Add 1/2 cup of 漢字, page 7 shown, 2 1/2 3 3/4\n");
}

#[test]
fn equations_in_fields_of_rtf_are_read() {
    let rtf = r#"{\rtf1\ansi{\fonttbl{\f0 A;}{\f1\fcharset128 B;}}Add {\field{\*\fldinst { EQ \\f(1,2) }}{\fldrslt }} cup of
        {\field{\*\fldinst { EQ \\* jc3 \\* "Font:X" \\o\\al(\\s\\up 10(\u12363\'3f),\u28450\'3f\u23383\'3f)}}{\fldrslt {}}},
        page {\field{\*\fldinst PAGE}{\fldrslt 7}}{\v {\field{\*\fldinst EQ 5}{\fldrslt }}}
        {\field{\*\fldinst IF {\field{\*\fldinst EQ 6}{\fldrslt 6}} = 6}{\fldrslt yes}}
        2{\field{\*\fldinst EQ \\f(1,2)}{\fldrslt }}
        {\field{\*\fldinst EQ \\f({\field{\*\fldinst REF a}{\fldrslt 3}},4)}{\fldrslt }}
        {\field{\*\fldinst {\f1 EQ \\o(x,\'8a\'bf)}}{\fldrslt }}\par end}"#;
    let text = read("application/rtf", rtf.to_owned().into_bytes()).text;
    assert_eq!(
        text.split_whitespace().collect::<Vec<_>>().join(" "),
        "Add 1/2 cup of 漢字, page 7 yes 2 1/2 3/4 x漢 end"
    );
}

#[test]
fn boxes_of_old_rtf_and_drawn_words_are_read() {
    let rtf = r"{\rtf1{\*\do\dobxpage\dobypage\dptxbx{\dptxbxtext\pard Boxed\par}\dpx0\dpy0}Text\par}";
    assert_eq!(read("application/rtf", rtf.to_owned().into_bytes()).text, "Boxed\nText\n");
    let header = "<w:hdr><w:p><w:r><w:pict><v:shapetype><v:textpath on='t'/></v:shapetype>\
        <v:shape><v:textpath style='x' string='DRAFT &amp; secret'/></v:shape></w:pict></w:r><w:r><w:t>Acme</w:t></w:r></w:p></w:hdr>";
    let body = "<w:p><w:r><w:t>Offer</w:t></w:r></w:p>";
    assert_eq!(
        read(DOCX, docx(body, &[("header", "header1.xml", header)])).text,
        "Offer\n[header: DRAFT & secret Acme]\n"
    );
}

#[test]
fn formulas_of_html_keep_what_their_places_say() {
    for (math, expected) in [
        ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E=mc^2"),
        ("<mfrac><mn>1</mn><mn>12</mn></mfrac>", "1/12"),
        (
            "<mfrac><mrow><mi>a</mi>\n<mo>+</mo>\n<mi>b</mi></mrow><msub><mi>c</mi><mi>i</mi></msub></mfrac>",
            "(a+b)/(c_i)",
        ),
        (
            "<semantics><mrow><msubsup><mo>∫</mo><mn>0</mn><mn>10</mn></msubsup><mi>x</mi><mspace width='1em'/></mrow>\
             <annotation encoding='application/x-tex'>\\int_0^{10} x</annotation></semantics>",
            "∫_0^10x",
        ),
        ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt><mroot><mi>y</mi><mn>3</mn></mroot>", "√(x+1)y^(1/3)"),
        ("<mn>2</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>", "2 1/2"),
        ("<mroot><mn>8</mn><mn>3</mn></mroot>", "8^(1/3)"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>2</mn></mtd></mtr></mtable>",
            "1, 0; 2",
        ),
        ("<mfrac><mi>a</mi>", "a"),
    ] {
        let page = format!("<!doctype html><p>Let <math display='inline'>{math}</math> be.</p><p>After</p>");
        assert_eq!(
            read("text/html", page.into_bytes()).text,
            format!("Let {expected} be.\nAfter\n"),
            "{math}"
        );
    }
}

#[test]
fn hidden_slides_of_old_presentations_say_so_and_empty_notes_are_none() {
    let record = |head: u16, id: u16, data: &[u8]| {
        let len = u32::try_from(data.len()).unwrap();
        [&head.to_le_bytes()[..], &id.to_le_bytes(), &len.to_le_bytes(), data].concat()
    };
    let four = |number: u32| number.to_le_bytes();
    let place = |object: u32, number: u32| {
        record(0, 1011, &[four(object), four(0), four(0), four(number), four(0)].concat())
    };
    let text = |text: &str| record(0, 4008, text.as_bytes());
    // [MS-PPT] 2.6.6: times and effects, then flags, of which the third one hides.
    let slide = |shown: &str, flags: u8| {
        let show = record(0, 1017, &[&[0; 10][..], &[flags, 0, 0, 0, 0, 0]].concat());
        record(15, 1006, &[show, text(shown)].concat())
    };
    let list = [place(1, 256), place(2, 257)].concat();
    let notes = [place(3, 300), text("*\r"), place(4, 301), text("Say it")].concat();
    let document = record(15, 1000, &[record(15, 4080, &list), record(0x2f, 4080, &notes)].concat());
    let notes_of = |slide: u32| record(15, 1008, &record(0, 1009, &[four(slide), four(0)].concat()));
    let objects = [slide("One", 1), slide("Two", 5), notes_of(256), notes_of(257)];
    let (mut stream, mut places) = (document, four(1 | 4 << 20).to_vec());
    for object in objects {
        places.extend(four(u32::try_from(stream.len()).unwrap()));
        stream.extend(object);
    }
    stream.extend(record(0, 6002, &places));
    let mut file = cfb::CompoundFile::create(std::io::Cursor::new(Vec::new())).unwrap();
    std::io::Write::write_all(&mut file.create_stream("/PowerPoint Document").unwrap(), &stream).unwrap();
    let converted = read("application/vnd.ms-powerpoint", file.into_inner().into_inner());
    assert_eq!(converted.unit, Unit::Slide);
    assert_eq!(converted.text, "[slide 1]\nOne\n\n[slide 2: hidden]\nTwo\n\n[speaker notes]\nSay it\n");
}

#[test]
fn remarks_on_several_boxes_are_english() {
    assert_eq!(Note::NotShown { what: "text box", count: 2 }.to_string(), "2 text boxes are not shown");
    assert_eq!(Note::NotShown { what: "image", count: 2 }.to_string(), "2 images are not shown");
}
