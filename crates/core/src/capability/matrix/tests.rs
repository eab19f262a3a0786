use super::*;
use crate::capability::{Caching, ReasoningExcludes, ReasoningReplay};
use crate::media::MediaType;

fn media(text: &str) -> MediaType {
    MediaType::parse(text).unwrap()
}

/// The bundled table as one configuration, read by the reader of TOML.
fn as_configuration() -> String {
    bundled::FILES.iter().map(|file| file.text).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_bundled_table_is_valid() {
    let (text, bundled) = (as_configuration(), Matrix::bundled());
    let read = Matrix::parse(&text).unwrap();
    assert!(read.families().eq(bundled.families()), "a file says which families it holds");
    let table: toml::Table = toml::from_str(&text).unwrap();
    for (family, section) in table {
        let rows = section.get("models").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let Section { own, rows: read } = Section::read(serde_json::to_value(section).unwrap()).unwrap();
        let bodies = bundled::bodies(&family).unwrap();
        assert_eq!(bodies.len(), rows.len() + 1, "{family}");
        for (pattern, body) in bodies {
            let row = pattern.map_or(&own, |pattern| &read[pattern]);
            let mut cells: Vec<_> =
                bundled::cells(body).map(|(name, value)| (name.to_owned(), value)).collect();
            let mut expected = row.cells.clone();
            cells.sort_by(|a, b| a.0.cmp(&b.0));
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!((bundled::like(body), cells), (row.like.as_deref(), expected), "{family} {pattern:?}");
        }
    }
    for family in [
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock-converse",
        "compatible",
        "offline",
    ] {
        assert!(bundled.families().any(|known| known == family), "{family}");
    }
}

#[test]
fn every_family_names_its_source_and_the_day_of_the_last_look() {
    let table: toml::Table = toml::from_str(&as_configuration()).unwrap();
    for (family, section) in &table {
        let remark = |name: &str| section.get(name).and_then(toml::Value::as_str).unwrap_or_default();
        assert!(remark("source").starts_with("https://"), "{family} has no source");
        let date: Vec<&str> = remark("checked").split('-').collect();
        let number = |at: usize| date.get(at).and_then(|part| part.parse::<u32>().ok()).unwrap_or_default();
        assert!(
            number(0) >= 2026 && (1..=12).contains(&number(1)) && (1..=31).contains(&number(2)),
            "{family}"
        );
    }
}

// README.md beside the table, "Unknown models"
#[test]
fn an_unknown_model_is_refused_nothing_that_its_api_takes() {
    let matrix = Matrix::bundled();
    type Flag = (&'static str, fn(&ModelCapabilities) -> bool);
    let flags: [Flag; 11] = [
        ("tools", |row| row.tools),
        ("forced_tools", |row| row.forced_tools),
        ("strict_tools", |row| row.strict_tools),
        ("parallel_choice", |row| row.parallel_choice),
        ("json_beside_tools", |row| row.json_beside_tools),
        ("sampling", |row| row.sampling),
        ("temperature_with_top_p", |row| row.temperature_with_top_p),
        ("penalties", |row| row.penalties),
        ("stop", |row| row.stop),
        ("system", |row| row.system),
        ("nothing is assumed of its reasoning", |row| !row.reasons_unasked),
    ];
    for family in matrix.families() {
        let unknown = matrix.resolve(family, "a-model-that-no-row-names");
        assert_eq!(unknown.row, "default", "{family}");
        for (name, flag) in flags {
            for pattern in matrix.patterns(family) {
                let known = matrix.resolve(family, &pattern.replace('*', ""));
                assert!(flag(&unknown) || !flag(&known), "{family}: {name} is taken by {pattern}");
            }
        }
        // Limits and hindrances are those that all models have.
        for pattern in matrix.patterns(family) {
            let known = matrix.resolve(family, &pattern.replace('*', ""));
            let excluded = &unknown.reasoning_excludes;
            assert!(excluded.iter().all(|what| known.reasoning_excludes(*what)), "{family} {pattern}");
        }
    }
    let unknown = matrix.resolve("a-family-that-nobody-wrote", "x");
    assert_eq!(unknown, ModelCapabilities::text_only("a-family-that-nobody-wrote", "x"));
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
            assert!(!row.parallel_choice);
        }
        assert!(matrix.resolve(family, "o3").user.accepts(&png));
        for name in ["gpt-5-chat-latest", "gpt-5-chat-2025-08-07"] {
            let row = matrix.resolve(family, name);
            assert!(row.reasoning.is_empty() && row.efforts.is_empty() && row.sampling, "{family}: {name}");
            assert_eq!(row.reasoning_replay, ReasoningReplay::None);
        }
        for (name, window, output, images) in [
            ("gpt-4", 8_192, "none", false),
            ("gpt-4-0613", 8_192, "none", false),
            ("gpt-4-32k-0613", 32_768, "none", false),
            ("gpt-4-0125-preview", 128_000, "json_object", false),
            ("gpt-4-turbo-preview", 128_000, "json_object", false),
            ("gpt-4-turbo-2024-04-09", 128_000, "json_object", true),
            ("gpt-4o", 128_000, "json_schema", true),
        ] {
            let row = matrix.resolve(family, name);
            assert_eq!(
                (row.context_window, row.user.accepts(&png)),
                (Some(window), images),
                "{family}: {name}"
            );
            assert_eq!(serde_json::to_value(row.structured_output).unwrap(), output, "{family}: {name}");
            let takes_pdf = family != "azure" && name == "gpt-4o";
            assert_eq!(row.user.accepts(&media("application/pdf")), takes_pdf, "{family}: {name}");
        }
        for name in ["gpt-audio", "gpt-audio-mini", "gpt-4o-audio-preview", "gpt-4o-mini-audio-preview"] {
            let row = matrix.resolve(family, name);
            let hears = row.user.accepts(&media("audio/wav"));
            assert_eq!((hears, row.user.accepts(&png)), (family != "openai-responses", !hears), "{name}");
            assert!(family == "openai-responses" || row.reasoning.is_empty(), "{family}: {name}");
        }
        let later = matrix.resolve(family, "gpt-5.1-chat-latest");
        assert_eq!(later.efforts, [crate::settings::Effort::Medium], "{family}");
        assert!(!matrix.resolve(family, "gpt-5-mini").reasoning.is_empty());
    }
}

// openai.md A.6
#[test]
fn which_of_the_newest_models_reason_always() {
    let matrix = Matrix::bundled();
    let max = crate::settings::Effort::Max;
    for (families, vendor) in [
        (&["openai-responses", "openai-chat", "azure"][..], ""),
        (&["openrouter"], "openai/"),
        (&["bedrock-mantle", "bedrock-converse"], "openai."),
    ] {
        for (family, model, off) in families.iter().flat_map(|family| {
            let always = ["gpt-6-astra", "gpt-6.2-astra-law", "gpt-6.1-sol", "gpt-6.2-sol", "gpt-6-cyber"];
            let sometimes = ["gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra", "gpt-5.6", "gpt-5.6-luna"];
            let with = |off| move |model| (*family, format!("{vendor}{model}"), off);
            always.into_iter().map(with(false)).chain(sometimes.into_iter().map(with(true)))
        }) {
            let row = matrix.resolve(family, &model);
            assert_eq!(row.reasoning.iter().any(|way| way == "off"), off, "{family}/{model}");
            assert_eq!((row.context_window, row.sampling), (Some(1_050_000), false), "{family}/{model}");
            assert!(row.user.accepts(&media("image/png")), "{family}/{model}");
            let has_max = !matches!(family, "openai-chat" | "azure");
            assert_eq!(row.efforts.contains(&max), has_max, "{family}/{model}");
            let is_chat = matches!(family, "openai-chat" | "azure");
            assert_eq!(row.reasoning_excludes(ReasoningExcludes::Tools), is_chat, "{family}/{model}");
        }
    }
}

// anthropic.md 8
#[test]
fn the_newest_claudes_choose_themselves() {
    for (family, vendor) in [("anthropic", ""), ("bedrock-converse", "us.anthropic.")] {
        for (model, chooses) in [
            ("claude-fable-5-1", true),
            ("claude-opus-5-5", true),
            ("claude-sonnet-5-5", true),
            ("claude-haiku-5-5", false),
            ("claude-opus-5", false),
        ] {
            let row = Matrix::bundled().resolve(family, &format!("{vendor}{model}"));
            let can_be_off = row.reasoning.iter().any(|way| way == "off");
            assert_eq!((can_be_off, row.forced_tools), (!chooses, !chooses), "{family}/{model}");
            assert_eq!((row.context_window, row.sampling), (Some(1_000_000), false), "{family}/{model}");
        }
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
        "the capability row f/m is not valid: `user.media`: a list has entries with and without a sign, such as \"+image/gif\""
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
        error
            .to_string()
            .starts_with("the capability row anthropic/c* is not valid: unknown cell `user.medai`"),
        "{error}"
    );
    assert!(matches!(matrix.merged_with("="), Err(MatrixError::Syntax(_))));
}

#[test]
fn a_reply_is_a_part_of_the_window() {
    let matrix = Matrix::parse(
        "[f.models.'a*']\ncontext_window = 128000\nmax_output_tokens = 32768\n\
         [f.models.'b*']\nlike = 'a*'\ncontext_window = 32000",
    );
    let row = matrix.unwrap().resolve("f", "b1");
    assert_eq!((row.context_window, row.max_output_tokens), (Some(32_000), Some(32_000)));
}

#[test]
fn a_row_may_be_like_another() {
    let matrix = Matrix::parse(
        "[f]\ncontext_window = 1\n[f.models.'a*']\nmax_output_tokens = 2\nwire.x.y = 'z'\n\
         [f.models.'b*']\nlike = 'a*'\ncontext_window = 3\n[f.models.c]\nlike = 'b*'\nwire.x.v = true\n\
         [g]\nlike = 'f'\ntools = false\n[g.models.c]\nstop = false",
    )
    .unwrap();
    let row = |family: &str, model: &str| {
        let row = matrix.resolve(family, model);
        (row.context_window, row.max_output_tokens, row.wire.len())
    };
    assert_eq!(row("f", "b1"), (Some(3), Some(2), 1));
    assert_eq!(row("f", "d"), (Some(1), None, 0));
    assert_eq!(row("g", "c"), row("f", "c"));
    let of_g = matrix.resolve("g", "c");
    assert!(!of_g.tools && !of_g.stop && matrix.resolve("f", "c").stop);
    assert_eq!(of_g.wire, serde_json::json!({"x": {"y": "z", "v": true}}).as_object().unwrap().clone());
    assert_eq!(matrix.patterns("g"), ["a*", "b*", "c"]);
}

#[test]
fn a_row_of_a_configuration_may_be_like_a_bundled_one() {
    let matrix = Matrix::bundled()
        .merged_with(
            "[azure.models.our-deployment]\nlike = 'gpt-4.1*'\n[azure.models.newest]\nlike = 'gpt-5.5*'\n\
             [work]\nlike = 'openai-chat'\n\
             [anthropic.models.'claude-opus-4-6*']\nlike = 'claude-opus-4-6*'\ntools = false",
        )
        .unwrap();
    let ours = matrix.resolve("azure", "our-deployment");
    assert_eq!((ours.context_window, ours.row.as_str()), (Some(1_047_576), "our-deployment"));
    // Rows of all families below count, whatever their patterns are.
    let (newest, known) = (matrix.resolve("azure", "newest"), matrix.resolve("azure", "gpt-5.5"));
    assert!(!known.sampling && known.reasoning_excludes(ReasoningExcludes::Tools));
    assert_eq!(ModelCapabilities { model: known.model.clone(), row: known.row.clone(), ..newest }, known);
    let (work, chat) = (matrix.resolve("work", "gpt-5.4"), matrix.resolve("openai-chat", "gpt-5.4"));
    assert_eq!(ModelCapabilities { family: "openai-chat".to_owned(), ..work }, chat);
    // A row of its own name is the one below.
    let claude = matrix.resolve("anthropic", "claude-opus-4-6");
    assert!(!claude.tools && claude.context_window == Some(1_000_000));
    // An override of a family is none of those that are like it.
    let over = Matrix::bundled().merged_with("[gemini]\nstop = false").unwrap();
    assert!(!over.resolve("gemini", "x").stop && over.resolve("vertex", "x").stop);
}

#[test]
fn what_is_like_nothing_is_refused_by_name() {
    for (text, row, like) in [
        ("[f]\nlike = 'g'", "f", "g"),
        ("[f.models.a]\nlike = 'b'", "f/a", "b"),
        ("[f.models.a]\nlike = 'a'", "f/a", "a"),
        ("[f]\nlike = 'f'", "f", "f"),
        ("[f]\nlike = 'g'\n[g]\nlike = 'f'", "f", "g"),
    ] {
        let error = Matrix::parse(text).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("the capability row {row} is not valid: it is like {like}, ")),
            "{error}"
        );
    }
    // Rows that are like each other end as well.
    let ring = Matrix::parse("[f.models.a]\nlike = 'b'\ntools = false\n[f.models.b]\nlike = 'a'").unwrap();
    assert!(!ring.resolve("f", "b").tools);
}

#[test]
fn models_that_always_reason_over_chat_may_be_given_tools() {
    for family in ["openai-chat", "azure"] {
        for model in ["gpt-5.2-chat-latest", "gpt-5.4-pro", "gpt-5.2-codex"] {
            let row = Matrix::bundled().resolve(family, model);
            assert!(row.reasoning_excludes.is_empty(), "{family}/{model}");
        }
        let row = Matrix::bundled().resolve(family, "gpt-5.2");
        assert!(!row.reasoning_excludes.is_empty(), "{family}");
    }
}

#[test]
fn models_on_vertex_are_known_by_their_names_there() {
    for model in ["claude-sonnet-4@20250514", "claude-opus-4@20250514"] {
        assert!(!Matrix::bundled().resolve("anthropic", model).temperature_with_top_p, "{model}");
    }
}

// README.md beside the table: an API's page says how it takes a model, and what the model is stays the same.
#[test]
fn a_model_is_the_same_whoever_serves_it() {
    let matrix = Matrix::bundled();
    let own = |family: &str, model: &str| {
        let row = matrix.resolve(family, model);
        let sampling = [row.sampling, row.sampling_without_reasoning, row.temperature_with_top_p];
        let reasoning = (row.reasoning, row.efforts, row.reasoning_replay, row.reasons_unasked);
        (row.context_window, row.tokenizer, row.forced_tools, row.stop, sampling, reasoning)
    };
    // Bedrock has none of the short names and of the names on Vertex AI.
    let is_shared = |pattern: &&str| !pattern.contains('@') && !pattern.ends_with("-4-0*");
    let claude = matrix.patterns("anthropic").into_iter().filter(is_shared);
    let claude = claude
        .map(|pattern| ("anthropic", "bedrock-converse", pattern.replace('*', "-20990101"), "anthropic"));
    let gpt = [
        "gpt-5.2",
        "gpt-5.3",
        "gpt-5.4",
        "gpt-5.5",
        "gpt-5.6-sol",
        "gpt-6-astra",
        "gpt-6-sol",
        "gpt-6.1-terra",
    ];
    // Converse has those of the newest two generations.
    let converse = gpt
        .into_iter()
        .skip(4)
        .map(|model| ("openai-responses", "bedrock-converse", model.to_owned(), "openai"));
    let gpt = gpt.map(|model| ("openai-responses", "bedrock-mantle", model.to_owned(), "openai"));
    for (family, other, model, vendor) in claude.chain(gpt).chain(converse) {
        assert_eq!(own(family, &model), own(other, &format!("{vendor}.{model}")), "{model}");
    }
}
