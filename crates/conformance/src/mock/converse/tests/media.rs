//! Media: formats, sources, names, places (bedrock.md 3, 10).

use serde_json::{Value, json};

use super::{
    CLAUDE, GPT_OSS, LLAMA_4, MISTRAL, NOVA, NOVA_2, PDF, base64, breaks, image, keeps, pdf, png, returned,
    text,
};

/// A user message of a text and these blocks.
fn with(blocks: &[Value]) -> impl FnOnce(&mut Value) + use<> {
    let content = [&[text("see")], blocks].concat();
    move |body| body["messages"][0]["content"] = content.into()
}

fn stored(kind: &str, format: &str) -> Value {
    let mut block = json!({"format": format, "source": {"s3Location": {"uri": "s3://b/k", "bucketOwner": "123456789012"}}});
    if kind == "document" {
        block["name"] = "Document 1".into();
    }
    json!({kind: block})
}

#[test]
fn images_are_what_their_format_says() {
    keeps(CLAUDE, with(&[image()]));
    let path = "messages.0.content.1.image";
    let sent = |format: &str, bytes: String| {
        with(&[json!({"image": {"format": format, "source": {"bytes": bytes}}})])
    };
    breaks(CLAUDE, path, "Could not process image", sent("jpeg", base64(png(1, 1))));
    breaks(
        CLAUDE,
        "messages.0.content.1.image.format",
        "[png, jpeg, gif, webp]",
        sent("jpg", base64(png(1, 1))),
    );
    breaks(CLAUDE, "messages.0.content.1.image.source.bytes", "base64", sent("png", "%%".to_owned()));
    breaks(CLAUDE, "messages.0.content.1.image.source.bytes", "base64", sent("png", String::new()));
    breaks(CLAUDE, path, "8000 pixels", sent("png", base64(png(8001, 1))));
    let mut large = png(1, 1);
    large.resize(3_932_161, 0);
    breaks(CLAUDE, path, "exceeds 3.75 MB", sent("png", base64(large)));
    breaks(CLAUDE, "messages.0.content.21.image", "too many images", with(&vec![image(); 21]));
    let two =
        json!({"image": {"format": "png", "source": {"bytes": "x", "s3Location": {"uri": "s3://b/k"}}}});
    breaks(CLAUDE, "messages.0.content.1.image.source.s3Location", "exactly one member", with(&[two]));
}

// bedrock.md (a) 4
#[test]
fn documents_have_neutral_names() {
    for name in ["Document 1", "a-b (1) [x]", "under_score", &"x".repeat(200)] {
        keeps(CLAUDE, with(&[pdf(name)]));
    }
    let path = "messages.0.content.1.document.name";
    for name in ["lease.pdf", "a  b", "a\tb", "a\u{3000}b", "Übersicht", "\"x\"", "a/b"] {
        breaks(CLAUDE, path, "The document file name can only contain", with(&[pdf(name)]));
    }
    for name in ["", &"x".repeat(201)] {
        breaks(CLAUDE, path, "length between 1 and 200", with(&[pdf(name)]));
    }
    let path = "messages.0.content.2.document.name";
    breaks(CLAUDE, path, "duplicate document names", with(&[pdf("a"), pdf("a")]));
    let inside = |name: &str| returned(&[text("x"), pdf("Document 1"), pdf(name)]);
    keeps(CLAUDE, inside("Document 2"));
    breaks(
        CLAUDE,
        "messages.2.content.0.toolResult.content.2.document.name",
        "duplicate",
        inside("Document 1"),
    );
}

#[test]
fn a_document_needs_a_text_beside_it() {
    let alone = |body: &mut Value| body["messages"][0]["content"] = json!([pdf("a")]);
    breaks(CLAUDE, "messages.0.content", "must include a text block", alone);
    // Inside a result it needs none.
    keeps(CLAUDE, returned(&[pdf("a")]));
}

#[test]
fn documents_have_a_format_a_source_and_a_size() {
    let sent = |format: &str, source: Value| {
        with(&[json!({"document": {"format": format, "name": "a", "source": source}})])
    };
    keeps(CLAUDE, sent("docx", json!({"bytes": base64("PK")})));
    keeps(CLAUDE, sent("md", json!({"text": "# a"})));
    let at = "messages.0.content.1.document";
    breaks(CLAUDE, &format!("{at}.format"), "[pdf, csv, doc", sent("pptx", json!({"bytes": base64("PK")})));
    breaks(CLAUDE, at, "not valid", sent("pdf", json!({"bytes": base64("PK")})));
    breaks(CLAUDE, &format!("{at}.source.text"), "blank", sent("txt", json!({"text": " "})));
    breaks(
        CLAUDE,
        &format!("{at}.source.url"),
        "extraneous key",
        sent("pdf", json!({"url": "https://h/a.pdf"})),
    );
    let large = vec![b'a'; 4_718_593];
    breaks(CLAUDE, at, "exceeds 4.5 MB", sent("txt", json!({"bytes": base64(&large)})));
    keeps(CLAUDE, sent("pdf", json!({"bytes": base64([PDF, &large].concat())})));
    let many: Vec<Value> = (0..6).map(|number| pdf(&format!("Document {number}"))).collect();
    let words = "You can't include more than 5 documents in a request.";
    breaks(CLAUDE, "messages.0.content.6.document", words, with(&many));
    // Those of other messages count, inside results too.
    let (first, inside) = (with(&many[..4]), returned(&many[4..]));
    let at = "messages.2.content.0.toolResult.content.1.document";
    breaks(CLAUDE, at, words, move |body| {
        inside(body);
        first(body);
    });
}

// bedrock.md (a) 26
#[test]
fn only_nova_reads_from_buckets() {
    keeps(NOVA, with(&[stored("image", "png"), stored("video", "mp4")]));
    let words = "This model doesn't support the s3Uri field.";
    breaks(LLAMA_4, "messages.0.content.1.image.source.s3Location", words, with(&[stored("image", "png")]));
    breaks(CLAUDE, "messages.0.content.1.image.source.s3Location", words, with(&[stored("image", "png")]));
    let path = "messages.0.content.1.document.source.type";
    breaks(CLAUDE, path, "Field required", with(&[stored("document", "pdf")]));
    let mut elsewhere = stored("image", "png");
    elsewhere["image"]["source"]["s3Location"]["uri"] = "https://b/k".into();
    breaks(NOVA, "messages.0.content.1.image.source.s3Location.uri", "s3://", with(&[elsewhere]));
}

// bedrock.md (b)
#[test]
fn users_send_what_the_family_takes() {
    let audio = || with(&[stored("audio", "wav")]);
    keeps(NOVA_2, audio());
    breaks(NOVA, "messages.0.content.1.audio", "doesn't support", audio());
    breaks(CLAUDE, "messages.0.content.1.video", "doesn't support", with(&[stored("video", "mp4")]));
    breaks(GPT_OSS, "messages.0.content.1.document", "doesn't support", with(&[pdf("a")]));
    breaks("amazon.nova-micro-v1:0", "messages.0.content.1.image", "doesn't support", with(&[image()]));
    breaks(NOVA, "messages.0.content.1.video.format", "three_gp", with(&[stored("video", "avi")]));
}

// bedrock.md 3
#[test]
fn tool_results_hold_what_the_family_takes() {
    keeps(CLAUDE, returned(&[text("x"), image(), pdf("a")]));
    keeps(LLAMA_4, returned(&[image(), pdf("a")]));
    keeps(NOVA, returned(&[image()]));
    keeps(MISTRAL, returned(&[pdf("a")]));
    let at = "messages.2.content.0.toolResult.content.0";
    breaks(MISTRAL, &format!("{at}.image"), "doesn't support", returned(&[image()]));
    for model in [GPT_OSS, "moonshot.kimi-k2-thinking", "mock-model"] {
        breaks(model, &format!("{at}.image"), "doesn't support", returned(&[image()]));
        breaks(model, &format!("{at}.document"), "doesn't support", returned(&[pdf("a")]));
    }
    breaks(NOVA, &format!("{at}.document"), "csv or txt", returned(&[pdf("a")]));
    let table = json!({"document": {"format": "csv", "name": "a", "source": {"bytes": base64("a,b")}}});
    keeps(NOVA, returned(&[table]));
}
