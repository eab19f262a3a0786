//! The request's own fields (openai.md C.13).

use serde_json::{Map, Value};

use super::{history, tools};
use crate::mock::chat::problems::{
    Check, array, bad_value, check_decimal, check_integer, invalid, missing, object, only, optional, string,
    wrong_type,
};
use crate::mock::rules::Path;

/// The fields of the official SDK's request.
const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "stream",
    "format",
    "think",
    "options",
    "keep_alive",
    "logprobs",
    "top_logprobs",
];

/// The official SDK's options by their types, and `min_p`, which the API's description has. `stop` is a list.
const INTEGERS: &[&str] = &[
    "num_ctx",
    "num_batch",
    "num_gpu",
    "main_gpu",
    "num_thread",
    "num_keep",
    "seed",
    "num_predict",
    "top_k",
    "repeat_last_n",
    "mirostat",
];
const DECIMALS: &[&str] = &[
    "temperature",
    "top_p",
    "min_p",
    "tfs_z",
    "typical_p",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "mirostat_tau",
    "mirostat_eta",
];
const BOOLEANS: &[&str] = &[
    "numa",
    "low_vram",
    "f16_kv",
    "logits_all",
    "vocab_only",
    "use_mmap",
    "use_mlock",
    "embedding_only",
    "penalize_newline",
];

pub(super) fn check(body: &Value) -> Check {
    let root = Path::Root;
    let request = object(body, &root)?;
    only(request, FIELDS, &root)?;
    if string(request, "model", &root)?.is_empty() {
        return Err(invalid(&root.key("model"), "invalid_value", "model is required"));
    }
    // Left out it means that the server streams, which a client of whole answers does not expect.
    match request.get("stream") {
        Some(Value::Bool(_)) => {}
        None => return Err(missing(&root.key("stream"))),
        Some(other) => return Err(wrong_type(&root.key("stream"), "a boolean", other)),
    }
    match optional(request, "format") {
        None | Some(Value::Object(_)) => {}
        // An empty one is none.
        Some(Value::String(word)) if word.is_empty() || word == "json" => {}
        Some(other) => return Err(wrong_type(&root.key("format"), "'json' or a schema", other)),
    }
    match optional(request, "think") {
        None | Some(Value::Bool(_)) => {}
        // Each model has words of its own.
        Some(Value::String(word)) if !word.is_empty() => {}
        Some(other) => return Err(wrong_type(&root.key("think"), "a boolean or a word", other)),
    }
    check_integer(request, "top_logprobs", 0, 20)?;
    check_options(request)?;
    tools::check(request)?;
    let path = root.key("messages");
    history::check(array(request.get("messages").ok_or_else(|| missing(&path))?, &path)?)
}

fn check_options(request: &Map<String, Value>) -> Check {
    let Some(options) = optional(request, "options") else { return Ok(()) };
    let path = Path::Root.key("options");
    let options = object(options, &path)?;
    for (key, value) in options {
        let path = path.key(key);
        let fits = match key.as_str() {
            "stop" => array(value, &path)?.iter().all(Value::is_string),
            key if INTEGERS.contains(&key) => value.is_i64() || value.is_u64(),
            key if DECIMALS.contains(&key) => value.is_number(),
            key if BOOLEANS.contains(&key) => value.is_boolean(),
            key => return Err(bad_value(&path, key, &[INTEGERS, DECIMALS, BOOLEANS, &["stop"]].concat())),
        };
        if !fits {
            return Err(wrong_type(&path, "the type of the option", value));
        }
    }
    check_decimal(options, "temperature", 0.0, f64::MAX)
}
