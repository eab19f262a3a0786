//! The seeds of fuzzing: recordings of real providers and documents that are committed.

use std::fs;
use std::path::{Path, PathBuf};

use attache_transport::cassette::Cassette;
use bytes::Bytes;

/// The largest seed: larger ones are changed too seldom where it matters.
const MAX_BYTES: usize = 256 * 1024;

const VALUES: &[(&str, &[u8])] = &[
    ("schema", br#"{"type":"object","properties":{"n":{"type":"integer"},"e":{"enum":["a","b"]}},"required":["n"]}
{"n":"7","e":"a"}"#),
    ("schema", br##"{"$defs":{"t":{"type":"array","items":{"$ref":"#/$defs/t"}}},"$ref":"#/$defs/t"}
[[],[[]]]"##),
    ("schema", br#"{"anyOf":[{"type":"string","pattern":"^a+$","minLength":2},{"const":1},{"type":"null"}],"not":{"const":"aaa"}}
"aa""#),
    ("schema", br#"{"type":"object","additionalProperties":{"type":"number","multipleOf":0.5},"patternProperties":{"^x":{}},"oneOf":[{}]}
{"a":1.5,"x":[]}"#),
    ("schema", br##"{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]},"b":{"allOf":[{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"}]},"c":{"type":"string"}}}
"a""##),
    ("tree", br#"{"a":[{"attache.document":"stored","documentId":"7d41c0b2-0c57-4e0b-9d5a-6f1f3a2b7c88","metadata":{}}],"b":"text"}"#),
    ("tree", br#"[{"attache.document":"inline","documentId":"3a91c0de-0c57-4e0b-9d5a-6f1f3a2b7c88"},{"attache.document":"external"},1e400]"#),
    ("sse", b"event: a\r\ndata: 1\ndata: 2\n\n: comment\nid: 7\rdata:3\r\r\n\xef\xbb\xbfdata\n\n"),
    ("entries", b"{}"),
];

/// Writes the seeds of each target to a folder of its name.
pub fn write(folder: &Path, targets: impl IntoIterator<Item = &'static str>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for target in targets {
        fs::create_dir_all(folder.join(target)).expect("a folder");
    }
    let keep = |target: &str, name: &str, bytes: &[u8]| {
        if bytes.len() <= MAX_BYTES && folder.join(target).exists() {
            fs::write(folder.join(target).join(name), bytes).expect("a file");
        }
    };
    for (at, (target, bytes)) in VALUES.iter().enumerate() {
        keep(target, &format!("seed-{at}"), bytes);
    }
    for file in files(&root.join("tests/fixtures/cassettes")) {
        if file.ends_with("index.json") || file.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        keep("cassette", &name, &fs::read(&file).unwrap_or_default());
        let api = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let cassette = Cassette::load(&file).expect("recordings are read");
        for (at, interaction) in cassette.interactions.iter().enumerate() {
            let body: Bytes = interaction.response.body.bytes();
            let target = match &*api {
                "anthropic" => "messages",
                "bedrock-converse" => "converse",
                "gemini" | "vertex-gemini" => "generate",
                "ollama" | "cohere" => &api,
                responses if responses.ends_with("responses") => "responses",
                _ => "chat",
            };
            keep(target, &format!("{name}-{at}"), &body);
            if target != "converse" && !body.starts_with(b"{") {
                keep("sse", &format!("{name}-{at}"), &body);
            }
        }
    }
    for path in ["crates/core/tests/golden/conversation-v1.json", "docs/examples/conversation.json"] {
        keep("conversation", &path.replace('/', "-"), &fs::read(root.join(path)).expect("a fixture"));
    }
    for file in files(&root.join("crates/convert/tests/fixtures")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        keep("convert", &name, &fs::read(&file).unwrap_or_default());
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for path in
            fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path())
        {
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
