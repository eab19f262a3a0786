//! One number for all that decides a request.
//!
//! Each struct is taken apart whole, so that a field that is added does not compile until somebody has thought of it.

use crate::capability::{
    Caching, FileRules, ModelCapabilities, PlaceCapabilities, ReasoningExcludes, ReasoningReplay,
    StructuredOutput, Tokenizer,
};
use crate::hash::StableHash;

impl ModelCapabilities {
    /// A number that changes when anything that affects requests changes: everything except the model's name and its
    /// row, which only say where the rest comes from. It is stable across processes and versions of the standard
    /// library, so it may be stored.
    pub fn fingerprint(&self) -> u64 {
        of(self)
    }
}

fn of(capabilities: &ModelCapabilities) -> u64 {
    let ModelCapabilities {
        family,
        model: _,
        row: _,
        user,
        tool_result,
        failed_result,
        beside_result,
        files,
        context_window,
        max_output_tokens,
        tools,
        parallel_tools,
        forced_tools,
        structured_output,
        caching,
        reasoning_replay,
        reasoning,
        efforts,
        reasoning_excludes,
        reasons_unasked,
        sampling,
        sampling_without_reasoning,
        temperature_with_top_p,
        penalties,
        stop,
        system,
        allowed_tools,
        parallel_choice,
        strict_tools,
        json_beside_tools,
        long_cache,
        tokenizer,
        api,
        wire,
    } = capabilities;
    let mut hash = StableHash::new().text(family);
    for of_place in [user, tool_result, failed_result, beside_result] {
        hash = place(hash, of_place);
    }
    hash = self::files(hash, files);
    hash = optional(optional(hash, *context_window), *max_output_tokens);
    for is_set in [tools, parallel_tools, forced_tools, sampling] {
        hash = hash.bytes(&[u8::from(*is_set)]);
    }
    hash = hash.text(match structured_output {
        StructuredOutput::None => "none",
        StructuredOutput::JsonObject => "json_object",
        StructuredOutput::JsonSchemaAlone => "json_schema_alone",
        StructuredOutput::JsonSchema => "json_schema",
    });
    hash = hash.text(match caching {
        Caching::None => "none",
        Caching::Automatic => "automatic",
        Caching::Explicit => "explicit",
        Caching::Resource => "resource",
    });
    hash = hash.text(match reasoning_replay {
        ReasoningReplay::None => "none",
        ReasoningReplay::Optional => "optional",
        ReasoningReplay::Required => "required",
        ReasoningReplay::Bound => "bound",
    });
    hash = list(hash, reasoning);
    hash = efforts.iter().fold(hash, |hash, effort| hash.text(effort.as_str()));
    hash = hash.number(excluded(reasoning_excludes));
    for is_set in [
        reasons_unasked,
        sampling_without_reasoning,
        temperature_with_top_p,
        penalties,
        stop,
        system,
        parallel_choice,
        strict_tools,
        json_beside_tools,
        long_cache,
    ] {
        hash = hash.bytes(&[u8::from(*is_set)]);
    }
    hash = hash.text(api.as_deref().unwrap_or_default());
    if *allowed_tools {
        hash = hash.text("allowed_tools");
    }
    if *tokenizer != Tokenizer::Unknown {
        hash = hash.text(tokenizer.as_str());
    }
    if wire.is_empty() {
        return hash.finish();
    }
    // The order of its cells says nothing.
    let mut cells: Vec<_> = wire.iter().map(|(name, value)| format!("{name} {value}")).collect();
    cells.sort();
    cells.iter().fold(hash, |hash, cell| hash.text(cell)).finish()
}

fn excluded(excluded: &[ReasoningExcludes]) -> u64 {
    excluded.iter().fold(0, |bits, excluded| {
        bits | match excluded {
            ReasoningExcludes::Tools => 1,
            ReasoningExcludes::ForcedTools => 2,
            ReasoningExcludes::Json => 4,
            ReasoningExcludes::WholeAnswers => 8,
        }
    })
}

fn place(hash: StableHash, place: &PlaceCapabilities) -> StableHash {
    let PlaceCapabilities {
        media,
        references,
        citations,
        max_bytes,
        max_image_bytes,
        max_count,
        max_pages,
        max_pixels,
        needs_text,
        urls,
        url_only,
    } = place;
    let mut hash = list(list(hash, media), references);
    // The fourth one stands for a limit that is no more: without it each value would be another.
    for limit in [max_bytes, max_image_bytes, max_count, &None, max_pages, max_pixels] {
        hash = optional(hash, *limit);
    }
    hash = flag(hash, *needs_text);
    hash = match urls {
        Some(urls) => list(hash.bytes(&[1]), urls),
        None => hash.bytes(&[0]),
    };
    hash = list(hash, url_only);
    if citations.is_empty() { hash } else { list(hash.text("citations"), citations) }
}

fn files(hash: StableHash, files: &FileRules) -> StableHash {
    let FileRules {
        max_request_bytes,
        max_files,
        names_required,
        upload,
        max_pages,
        many_images,
        many_images_pixels,
        max_upload_bytes,
        upload_from,
        page_tokens,
        pixels_per_token,
        urls,
    } = files;
    let limits = [
        max_request_bytes,
        max_pages,
        many_images,
        many_images_pixels,
        max_upload_bytes,
        upload_from,
        page_tokens,
        pixels_per_token,
    ];
    let hash = limits.into_iter().fold(hash, |hash, limit| optional(hash, *limit));
    let hash = [names_required, upload, urls].into_iter().fold(hash, |hash, is_set| flag(hash, *is_set));
    max_files.map_or(hash, |most| hash.text("max_files").number(most))
}

fn list(hash: StableHash, texts: &[String]) -> StableHash {
    // The count divides lists that follow each other.
    texts
        .iter()
        .fold(hash.bytes(&[u8::try_from(texts.len()).unwrap_or(u8::MAX)]), |hash, text| hash.text(text))
}

fn optional(hash: StableHash, number: Option<u64>) -> StableHash {
    match number {
        Some(number) => hash.bytes(&[1]).number(number),
        None => hash.bytes(&[0]),
    }
}

fn flag(hash: StableHash, is_set: Option<bool>) -> StableHash {
    hash.bytes(&[match is_set {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    }])
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::capability::Matrix;

    // Stored beside synthetic messages: a value that changes looks like another model. Computed by another program from
    // the list of fields.
    #[test]
    fn the_value_is_stable() {
        let capabilities = ModelCapabilities::text_only("family", "model");
        assert_eq!(format!("{:016x}", capabilities.fingerprint()), "066dcb16559514bb");
        let renamed =
            ModelCapabilities { model: "other".to_owned(), row: "x".to_owned(), ..capabilities.clone() };
        assert_eq!(renamed.fingerprint(), capabilities.fingerprint());
    }

    /// Copies of the table of which each has one other cell.
    fn changed(cells: &Map<String, Value>) -> Vec<(String, Map<String, Value>)> {
        let mut all = Vec::new();
        for (name, value) in cells {
            let others = match value {
                Value::Object(inner) => {
                    changed(inner).into_iter().map(|(_, inner)| Value::Object(inner)).collect()
                }
                Value::Bool(is_set) => vec![json!(!is_set)],
                Value::Number(number) => vec![json!(number.as_u64().unwrap() + 1)],
                Value::Array(_) => vec![json!([])],
                other => panic!("{other}"),
            };
            for other in others {
                let mut copy = cells.clone();
                copy[name] = other;
                all.push((name.clone(), copy));
            }
        }
        all
    }

    /// TOML of the value.
    fn inline(value: &Value) -> String {
        match value {
            Value::Object(inner) => {
                let members: Vec<_> =
                    inner.iter().map(|(name, value)| format!("{name} = {}", inline(value))).collect();
                format!("{{ {} }}", members.join(", "))
            }
            other => other.to_string(),
        }
    }

    // The cells come from the reader of tables, not from the list above.
    #[test]
    fn every_cell_counts() {
        let place = json!({"media": ["image/png"], "references": ["image/png"], "max_bytes": 1, "max_image_bytes": 2,
            "max_count": 3, "max_pages": 4, "max_pixels": 5, "needs_text": true,
            "urls": ["image/png"], "url_only": ["image/gif"]});
        let files = json!({"max_request_bytes": 1, "names_required": true, "upload": true, "max_pages": 2,
            "many_images": 3, "many_images_pixels": 4, "max_upload_bytes": 5, "upload_from": 6, "page_tokens": 7,
            "pixels_per_token": 8, "max_files": 9, "urls": true});
        let Value::Object(cells) = json!({"user": place, "tool_result": place, "failed_result": place,
            "beside_result": place, "files": files, "context_window": 100, "max_output_tokens": 2, "tools": true,
            "parallel_tools": true, "forced_tools": true, "reasoning": ["off"], "efforts": ["low"],
            "sampling": true, "reasoning_excludes": ["tools"], "reasons_unasked": true,
            "sampling_without_reasoning": true, "temperature_with_top_p": true, "penalties": true, "stop": true,
            "system": true, "parallel_choice": true, "strict_tools": true, "json_beside_tools": true,
            "long_cache": true, "wire": {"a": {"b": 1}}})
        else {
            panic!()
        };
        let of = |cells: &Map<String, Value>| {
            let table = inline(&Value::Object(cells.clone()));
            Matrix::parse(&format!("f = {table}")).unwrap().resolve("f", "m").fingerprint()
        };
        let own = of(&cells);
        for (name, other) in changed(&cells) {
            assert_ne!(of(&other), own, "{name} {other:?}");
        }
        for (name, word) in [
            ("structured_output", "json_object"),
            ("caching", "explicit"),
            ("reasoning_replay", "optional"),
            ("api", "other"),
            ("tokenizer", "llama3"),
        ] {
            let mut other = cells.clone();
            other.insert(name.to_owned(), json!(word));
            assert_ne!(of(&other), own, "{name}");
        }
    }
}
