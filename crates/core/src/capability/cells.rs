//! Cells of the table, by name, and the capabilities that they add up to.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{FileRules, ModelCapabilities, PlaceCapabilities};
use crate::json::insert_member;
use crate::settings::Effort;

/// Capabilities that cells are still written to. A place without cells of its own follows another one at the end.
pub(super) struct Draft {
    capabilities: ModelCapabilities,
    user: Option<DraftPlace>,
    tool_result: Option<DraftPlace>,
    failed_result: Option<DraftPlace>,
    beside_result: Option<DraftPlace>,
}

#[derive(Default)]
struct DraftPlace {
    /// False while `edits` are all that is known of the media.
    lists_media: bool,
    edits: Vec<String>,
    place: PlaceCapabilities,
}

impl DraftPlace {
    /// The place, where `media` holds without a list of its own.
    fn settled(self, media: &[String]) -> PlaceCapabilities {
        let Self { lists_media, edits, mut place } = self;
        if !lists_media {
            place.media = media.to_vec();
            edit(&mut place.media, &edits);
        }
        place
    }
}

impl Draft {
    pub(super) fn new(family: &str, model: &str) -> Self {
        let capabilities = ModelCapabilities::text_only(family, model);
        Self { capabilities, user: None, tool_result: None, failed_result: None, beside_result: None }
    }

    /// The capabilities, with the row that they come from.
    pub(super) fn finish(self, row: &str) -> ModelCapabilities {
        let Self { mut capabilities, user, tool_result, failed_result, beside_result } = self;
        let text = ["text".to_owned()];
        if let Some(user) = user {
            capabilities.user = user.settled(&text);
        }
        if let Some(tool_result) = tool_result {
            capabilities.tool_result = tool_result.settled(&text);
        }
        capabilities.failed_result = match failed_result {
            Some(place) => place.settled(&capabilities.tool_result.media),
            None => capabilities.tool_result.clone(),
        };
        capabilities.beside_result = match beside_result {
            Some(place) => place.settled(&capabilities.user.media),
            None => capabilities.user.clone(),
        };
        // A row that is like another may say that its window is smaller, and a reply is a part of the window.
        if let (Some(reply), Some(window)) =
            (&mut capabilities.max_output_tokens, capabilities.context_window)
        {
            *reply = window.min(*reply);
        }
        row.clone_into(&mut capabilities.row);
        capabilities
    }

    /// Writes a cell.
    ///
    /// # Errors
    /// Says that there is no such cell, or that the value is none for it.
    pub(super) fn set(&mut self, path: &str, value: Value) -> Result<(), String> {
        self.write(path, value).map_err(|problem| match problem {
            Problem::Unknown => format!("unknown cell `{path}`"),
            Problem::Value(problem) => format!("`{path}`: {problem}"),
        })
    }

    fn write(&mut self, path: &str, value: Value) -> Result<(), Problem> {
        let to = &mut self.capabilities;
        if let Some((head, rest)) = path.split_once('.') {
            return match head {
                "user" => set_place(self.user.get_or_insert_default(), rest, value),
                "tool_result" => set_place(self.tool_result.get_or_insert_default(), rest, value),
                "failed_result" => set_place(self.failed_result.get_or_insert_default(), rest, value),
                "beside_result" => set_place(self.beside_result.get_or_insert_default(), rest, value),
                "files" => set_file_rule(&mut to.files, rest, value),
                "wire" => {
                    insert_member(&mut to.wire, rest, value);
                    Ok(())
                }
                _ => Err(Problem::Unknown),
            };
        }
        match path {
            "api" => to.api = Some(read(value)?),
            "context_window" => to.context_window = Some(read(value)?),
            "max_output_tokens" => to.max_output_tokens = Some(read(value)?),
            "structured_output" => to.structured_output = read(value)?,
            "caching" => to.caching = read(value)?,
            "reasoning_replay" => to.reasoning_replay = read(value)?,
            "reasoning" => set_list(&mut to.reasoning, value)?,
            "efforts" => {
                // An edit names them as the table does, which is not as the APIs do.
                let known = std::mem::take(&mut to.efforts);
                let mut words: Vec<String> = known.into_iter().filter_map(written).collect();
                set_list(&mut words, value)?;
                let efforts = words.into_iter().map(|word| read(Value::String(word)));
                to.efforts = efforts.collect::<Result<_, _>>()?;
            }
            "tokenizer" => to.tokenizer = read(value)?,
            "reasoning_excludes" => to.reasoning_excludes = read(value)?,
            _ => match to.flag(path) {
                Some(flag) => *flag = read(value)?,
                None => return Err(Problem::Unknown),
            },
        }
        Ok(())
    }
}

impl ModelCapabilities {
    fn flag(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "tools" => &mut self.tools,
            "parallel_tools" => &mut self.parallel_tools,
            "allowed_tools" => &mut self.allowed_tools,
            "parallel_choice" => &mut self.parallel_choice,
            "forced_tools" => &mut self.forced_tools,
            "strict_tools" => &mut self.strict_tools,
            "json_beside_tools" => &mut self.json_beside_tools,
            "long_cache" => &mut self.long_cache,
            "reasons_unasked" => &mut self.reasons_unasked,
            "sampling" => &mut self.sampling,
            "sampling_without_reasoning" => &mut self.sampling_without_reasoning,
            "temperature_with_top_p" => &mut self.temperature_with_top_p,
            "penalties" => &mut self.penalties,
            "stop" => &mut self.stop,
            "system" => &mut self.system,
            _ => return None,
        })
    }
}

fn set_place(draft: &mut DraftPlace, name: &str, value: Value) -> Result<(), Problem> {
    let place = &mut draft.place;
    let number = match name {
        "media" => {
            let list: Vec<String> = read(value)?;
            if !is_edit(&list)? {
                (draft.lists_media, place.media) = (true, list);
            } else if draft.lists_media {
                edit(&mut place.media, &list);
            } else {
                // They are edits of a list that is known only when all cells are.
                draft.edits.extend(list);
            }
            return Ok(());
        }
        "references" => return set_list(&mut place.references, value),
        "citations" => return set_list(&mut place.citations, value),
        "urls" => return set_list(place.urls.get_or_insert_default(), value),
        "url_only" => return set_list(&mut place.url_only, value),
        "needs_text" => {
            place.needs_text = Some(read(value)?);
            return Ok(());
        }
        "max_bytes" => &mut place.max_bytes,
        "max_image_bytes" => &mut place.max_image_bytes,
        "max_count" => &mut place.max_count,
        "max_pages" => &mut place.max_pages,
        "max_pixels" => &mut place.max_pixels,
        _ => return Err(Problem::Unknown),
    };
    *number = Some(read(value)?);
    Ok(())
}

fn set_file_rule(files: &mut FileRules, name: &str, value: Value) -> Result<(), Problem> {
    let number = match name {
        "max_request_bytes" => &mut files.max_request_bytes,
        "max_files" => &mut files.max_files,
        "max_pages" => &mut files.max_pages,
        "many_images" => &mut files.many_images,
        "many_images_pixels" => &mut files.many_images_pixels,
        "max_upload_bytes" => &mut files.max_upload_bytes,
        "upload_from" => &mut files.upload_from,
        "page_tokens" => &mut files.page_tokens,
        "pixels_per_token" => &mut files.pixels_per_token,
        _ => {
            let flag = match name {
                "names_required" => &mut files.names_required,
                "upload" => &mut files.upload,
                "urls" => &mut files.urls,
                _ => return Err(Problem::Unknown),
            };
            *flag = Some(read(value)?);
            return Ok(());
        }
    };
    *number = Some(read(value)?);
    Ok(())
}

/// The reason why a cell is none.
enum Problem {
    Unknown,
    Value(String),
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_json::from_value(value).map_err(|error| Problem::Value(error.to_string()))
}

fn written(effort: Effort) -> Option<String> {
    serde_json::to_value(effort).ok()?.as_str().map(str::to_owned)
}

/// Replaces a list, or edits it.
fn set_list(list: &mut Vec<String>, value: Value) -> Result<(), Problem> {
    let given: Vec<String> = read(value)?;
    if is_edit(&given)? {
        edit(list, &given);
    } else {
        *list = given;
    }
    Ok(())
}

/// The text that an entry with a sign adds or removes.
fn signed(entry: &str) -> Option<&str> {
    entry.strip_prefix(['+', '-'])
}

fn is_edit(list: &[String]) -> Result<bool, Problem> {
    match list.iter().find(|entry| signed(entry).is_some()) {
        None => Ok(false),
        Some(_) if list.iter().all(|entry| signed(entry).is_some()) => Ok(true),
        Some(entry) => {
            Err(Problem::Value(format!("a list has entries with and without a sign, such as {entry:?}")))
        }
    }
}

fn edit(list: &mut Vec<String>, edits: &[String]) {
    for entry in edits {
        let Some(name) = signed(entry) else { continue };
        list.retain(|known| known != name);
        if entry.starts_with('+') {
            list.push(name.to_owned());
        }
    }
}
