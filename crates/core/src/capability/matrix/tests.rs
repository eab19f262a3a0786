use super::*;
use crate::media::MediaType;

fn media(text: &str) -> MediaType {
    MediaType::parse(text).unwrap()
}

#[test]
fn the_bundled_table_is_valid() {
    let matrix = Matrix { families: BTreeMap::new() }.read(BUNDLED_TEXT, true).unwrap();
    assert_eq!(&matrix, Matrix::bundled());
    let families: Vec<_> = matrix.families().collect();
    for family in [
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock-converse",
        "compatible",
        "offline",
    ] {
        assert!(families.contains(&family), "{family}");
    }
}

// C26, documents.md 8.8 #113
#[test]
fn what_each_api_takes() {
    let matrix = Matrix::bundled();
    let (pdf, png, csv) = (media("application/pdf"), media("image/png"), media("text/csv"));
    let chat = matrix.resolve("openai-chat", "gpt-4o");
    assert!(chat.user.accepts(&pdf) && chat.user.accepts(&png) && chat.tool_result.accepts(&csv));
    assert!(!chat.tool_result.accepts(&pdf) && !chat.tool_result.accepts(&png));
    for family in ["openai-responses", "anthropic"] {
        let row = matrix.resolve(family, "some-new-model");
        assert!(row.tool_result.accepts(&pdf) && row.tool_result.accepts(&png), "{family}");
        assert_eq!(row.row, "default");
    }
    let failed = matrix.resolve("anthropic", "claude-opus-4-8").failed_result;
    assert!(failed.accepts(&csv) && !failed.accepts(&png));
    for family in ["offline", "compatible", "nobody"] {
        let row = matrix.resolve(family, "x");
        assert!(row.user.accepts(&csv) && !row.user.accepts(&pdf) && !row.user.accepts(&png), "{family}");
    }
    assert_eq!(matrix.resolve("nobody", "x").row, "unknown");
    // D7, D8: unknown is not PDF, and not every image is one that a model takes
    let claude = matrix.resolve("anthropic", "claude-opus-4-8");
    for other in ["application/zip", "image/bmp", "image/tiff", "application/octet-stream"] {
        assert!(!claude.user.accepts(&media(other)), "{other}");
    }
    assert!(claude.user.accepts(&media("image/svg+xml")), "SVG is text");
}

// openai.md A.6
#[test]
fn models_of_openai_that_are_not_like_their_kind() {
    let matrix = Matrix::bundled();
    let png = media("image/png");
    for family in ["openai-responses", "openai-chat", "azure"] {
        for name in ["o3-mini", "o3-mini-2025-01-31"] {
            let row = matrix.resolve(family, name);
            assert!(!row.user.accepts(&png) && !row.tool_result.accepts(&png), "{family}: {name}");
            assert_eq!((row.user.references.len(), row.reasoning.len()), (0, 1));
        }
        assert!(matrix.resolve(family, "o3").user.accepts(&png));
        for name in ["gpt-5-chat-latest", "gpt-5-chat-2025-08-07"] {
            let row = matrix.resolve(family, name);
            assert!(row.reasoning.is_empty() && row.efforts.is_empty() && row.sampling, "{family}: {name}");
            assert_eq!(row.reasoning_replay, ReasoningReplay::None);
        }
        let later = matrix.resolve(family, "gpt-5.1-chat-latest");
        assert_eq!(later.efforts, [crate::settings::Effort::Medium], "{family}");
        assert!(!matrix.resolve(family, "gpt-5-mini").reasoning.is_empty());
    }
}

// documents.md 8.8 #105
#[test]
fn exact_beats_longest_beats_default() {
    let table = "[f]\ncontext_window = 1\n[f.models.'a*']\ncontext_window = 2\n[f.models.'a-b*']\ncontext_window = 3\n\
                 [f.models.'a-b-c']\ncontext_window = 4\n[f.models.'a-b-*******']\ncontext_window = 5";
    let matrix = Matrix::parse(table).unwrap();
    let window = |model: &str| matrix.resolve("f", model).context_window.unwrap();
    assert_eq!([window("x"), window("a"), window("a-bx"), window("a-b-c"), window("a-b-d")], [1, 2, 3, 4, 5]);
}

#[test]
fn one_override_keeps_the_rest_of_the_row() {
    let (matrix, model) = (Matrix::bundled(), "claude-sonnet-4-5-20250929");
    let bundled = matrix.resolve("anthropic", model);
    assert!(bundled.sampling && bundled.reasoning.iter().any(|way| way == "budget"), "{bundled:?}");
    for (pattern, row) in [(model, model), ("claude-*", "claude-sonnet-4-5*"), ("*", "claude-sonnet-4-5*")] {
        let over = format!("[anthropic.models.'{pattern}']\nmax_output_tokens = 8001");
        let expected =
            ModelCapabilities { max_output_tokens: Some(8001), row: row.to_owned(), ..bundled.clone() };
        assert_eq!(matrix.merged_with(&over).unwrap().resolve("anthropic", model), expected, "{pattern}");
    }
    // All patterns of a configuration apply, the least specific first, whatever their order.
    let both = "[anthropic.models.'claude-sonnet-*']\nmax_output_tokens = 2\n[anthropic.models.'claude-*']\n\
                max_output_tokens = 1\ncontext_window = 3";
    let both = matrix.merged_with(both).unwrap().resolve("anthropic", model);
    assert_eq!((both.max_output_tokens, both.context_window), (Some(2), Some(3)));
    assert_eq!(both.reasoning, bundled.reasoning);
}

#[test]
fn a_row_that_is_no_table_is_refused_by_name() {
    for (text, row) in [("f = 1", "f"), ("[f]\nmodels = 1", "f"), ("[f.models]\nx = 1", "f/x")] {
        let error = Matrix::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the capability row {row} is not valid: ")), "{error}");
    }
}

// A configuration may lie on a configuration, and a cell may have no list of its own yet.
#[test]
fn edits_of_lists_add_up() {
    let user = |matrix: &Matrix, family: &str, model: &str| matrix.resolve(family, model).user.media;
    let family = Matrix::parse("[f]\nuser.media = ['text', 'image/png']\nreasoning = ['off']").unwrap();
    let once = family.merged_with("[f.models.'m*']\nuser.media = ['+audio/wav', '-image/png']").unwrap();
    let twice =
        once.merged_with("[f.models.'m*']\nuser.media = ['+image/png', '-audio/wav', '+video/mp4']").unwrap();
    assert_eq!(user(&once, "f", "m1"), ["text", "audio/wav"]);
    assert_eq!(user(&twice, "f", "m1"), ["text", "image/png", "video/mp4"]);
    assert_eq!(user(&twice, "f", "other"), ["text", "image/png"]);
    // The family's own list may change below.
    let wider = twice.merged_with("[f]\nuser.media = ['+application/pdf']").unwrap();
    assert_eq!(user(&wider, "f", "m1"), ["text", "application/pdf", "image/png", "video/mp4"]);
    let replaced = twice.merged_with("[f.models.'m*']\nuser.media = ['text']").unwrap();
    assert_eq!(user(&replaced, "f", "m1"), ["text"]);

    // Where no list stands, the edit is one of what holds without it.
    let fresh = Matrix::parse("[g]\nuser.media = ['+image/png']\nreasoning = ['+effort']").unwrap();
    let fresh = fresh.merged_with("[g]\nuser.media = ['+image/gif', '-text']\nreasoning = ['+off']").unwrap();
    let row = fresh.resolve("g", "any");
    assert_eq!(
        (row.user.media, row.reasoning),
        (vec!["image/png".into(), "image/gif".into()], vec!["effort".to_owned(), "off".to_owned()])
    );
    let places = "[f]\ntool_result.media = ['text']\nbeside_result.media = ['-image/png']\nfailed_result.media = ['+image/gif']";
    let row = family.merged_with(places).unwrap().resolve("f", "any");
    assert_eq!(
        (row.beside_result.media, row.failed_result.media),
        (vec!["text".to_owned()], vec!["text".to_owned(), "image/gif".to_owned()])
    );

    let mixed = family.merged_with("[f.models.'m']\nuser.media = ['+image/gif', 'text']").unwrap_err();
    assert_eq!(
        mixed.to_string(),
        "the capability row f/m is not valid: a list has entries with and without a sign, such as \"+image/gif\""
    );
}

// documents.md 9.2 D25: every cell can be set, for every family, and a new family is one
#[test]
fn any_cell_of_any_family_can_be_set() {
    let cells = "user = { media = ['image/png'], max_bytes = 1, max_pages = 2, max_pixels = 3, max_count = 4 }\n\
                 files = { max_request_bytes = 5, max_pages = 6, many_images = 7, upload = true, page_tokens = 8 }\n\
                 context_window = 9\ntools = false\nstructured_output = 'json_object'\ncaching = 'explicit'\n\
                 reasoning_replay = 'optional'\nsampling = false";
    let families: Vec<&str> = Matrix::bundled().families().chain(["a-server-of-ours"]).collect();
    for family in families {
        let row = Matrix::bundled().merged_with(&format!("[{family}.models.mine]\n{cells}")).unwrap();
        let row = row.resolve(family, "mine");
        assert_eq!(
            (row.user.max_bytes, row.user.max_pages, row.user.max_pixels),
            (Some(1), Some(2), Some(3))
        );
        assert_eq!((row.files.max_request_bytes, row.files.max_pages), (Some(5), Some(6)), "{family}");
        assert_eq!((row.context_window, row.tools, row.caching), (Some(9), false, Caching::Explicit));
    }
}

#[test]
fn globs() {
    for (pattern, text) in
        [("a", "a"), ("a*", "a"), ("*a", "ba"), ("a*c*e", "abcde"), ("*", ""), ("a*b*b", "abb")]
    {
        assert!(glob(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("a", "ab"), ("a*c", "ab"), ("", "a"), ("a*b*b", "ab")] {
        assert!(!glob(pattern, text), "{pattern} {text}");
    }
}

// documents.md 8.8 #108, #109, #110; 9.2 D32
#[test]
fn overlays() {
    let matrix = Matrix::bundled();
    let over = matrix
        .merged_with("[anthropic.models.'claude-x*']\nuser.media = ['text']\n[mine]\ncaching = 'automatic'")
        .unwrap();
    let row = over.resolve("anthropic", "claude-x1");
    assert!(!row.user.accepts(&media("image/png")) && row.tool_result.accepts(&media("image/png")));
    assert_eq!(over.resolve("mine", "any").caching, Caching::Automatic);
    let edited = matrix
        .merged_with("[openai-chat.models.'gpt-4o']\nuser.media = ['+audio/wav', '-image/gif']")
        .unwrap();
    let row = edited.resolve("openai-chat", "gpt-4o");
    assert!(row.user.accepts(&media("audio/wav")) && row.user.accepts(&media("application/pdf")));
    assert!(!row.user.accepts(&media("image/gif")));
    let error = matrix.merged_with("[anthropic.models.'c*']\nuser.medai = []").unwrap_err();
    assert!(
        error.to_string().starts_with("the capability row anthropic/c* is not valid: unknown field `medai`"),
        "{error}"
    );
    assert!(matches!(matrix.merged_with("="), Err(MatrixError::Syntax(_))));
}
