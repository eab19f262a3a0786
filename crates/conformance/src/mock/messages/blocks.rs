//! Content blocks: shapes, blank text, media (anthropic.md 4, 12).

use serde_json::{Map, Value};

use super::context::{Context, WITHOUT_SAMPLING};
use super::models::Model;
use super::problems::{
    Check, array, bad, filled, object, one_of, only, optional_bool, optional_string, required, string,
};
use crate::media::{decode_base64, dimensions, sniff};
use crate::mock::rules::{Path, Violation, is_plain_name};

const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/// The limit of an image's base64 text.
const MAX_IMAGE: usize = 5_242_880;
/// Pixels a side; and the same with more than [`MANY`] images in the request.
const MAX_SIDE: u32 = 8000;
const MAX_SIDE_OF_MANY: u32 = 2000;
const MANY: usize = 20;

/// Blocks of server tools, replayed as they came.
pub(super) fn is_server_block(kind: &str) -> bool {
    is_server_call(kind)
        || is_server_result(kind)
        || matches!(kind, "compaction" | "fallback" | "mcp_tool_listing")
}

pub(super) fn is_server_call(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use")
}

pub(super) fn is_server_result(kind: &str) -> bool {
    kind != "tool_result" && kind.ends_with("_tool_result")
}

/// The place of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    User,
    Assistant,
    /// A `system` message.
    System,
    /// Inside a tool result; failed results take text only.
    Result {
        failed: bool,
    },
    /// Inside a document or a search result.
    Source,
}

/// Checks blocks and remembers their images: how large they may be depends on how many there are.
pub(super) struct Checker<'a> {
    context: &'a Context<'a>,
    images: Vec<Image>,
    /// True if the documents and search results so far are to be cited.
    cited: Option<bool>,
}

struct Image {
    path: String,
    size: Option<(u32, u32)>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context, images: Vec::new(), cited: None }
    }

    /// The top-level `system`: a string or text blocks.
    pub(super) fn system(&mut self, system: Option<&Value>) -> Check {
        let path = Path::Root.key("system");
        match system {
            None => Ok(()),
            Some(Value::String(text)) => check_string(text, &path),
            Some(blocks) => self.blocks(array(blocks, &path)?, Place::System, &path),
        }
    }

    /// A list of blocks and the blank-text rules over it.
    pub(super) fn blocks(&mut self, blocks: &[Value], place: Place, path: &Path<'_>) -> Check {
        for (index, block) in blocks.iter().enumerate() {
            self.block(block, place, &path.index(index))?;
        }
        let mut texts = blocks
            .iter()
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|block| block.get("text")?.as_str())
            .peekable();
        if texts.peek().is_some() && texts.all(|text| text.trim().is_empty()) {
            return Err(bad(path, "text content blocks must contain non-whitespace text"));
        }
        Ok(())
    }

    fn block(&mut self, block: &Value, place: Place, path: &Path<'_>) -> Check {
        let block = object(block, path)?;
        let kind = string(block, "type", path)?;
        if place == (Place::Result { failed: true }) && kind != "text" {
            return Err(bad(path, "all content must be type \"text\" if \"is_error\" is true"));
        }
        if !self.allowed(kind, place) {
            return Err(bad(path, format_args!("Input tag '{kind}' is not allowed here")));
        }
        if block.contains_key("cache_control") && matches!(place, Place::Result { .. } | Place::Source) {
            let what = "cache_control is not allowed inside another block, set it on the outer block";
            return Err(bad(&path.key("cache_control"), what));
        }
        let path = path.key(kind);
        match kind {
            "text" => self.text(block, place, &path),
            "image" => self.image(block, &path),
            "document" => self.document(block, place, &path),
            "search_result" => self.search_result(block, &path),
            "thinking" => {
                only(block, &["type", "thinking", "signature"], &path)?;
                string(block, "thinking", &path)?;
                filled(block, "signature", &path).map(drop)
            }
            "redacted_thinking" => {
                only(block, &["type", "data"], &path)?;
                filled(block, "data", &path).map(drop)
            }
            "tool_use" => check_call(block, &path),
            "tool_result" => self.result(block, &path),
            // Server tools' blocks and rare ones: their insides are the provider's own.
            _ => Ok(()),
        }
    }

    fn allowed(&self, kind: &str, place: Place) -> bool {
        match place {
            Place::User => matches!(
                kind,
                "text" | "image" | "document" | "search_result" | "tool_result" | "container_upload"
            ),
            Place::Assistant => match kind {
                "document" => self.context.rules.anthropic_version() != WITHOUT_SAMPLING,
                "text" | "thinking" | "redacted_thinking" | "tool_use" | "container_upload" => true,
                other => is_server_block(other),
            },
            Place::System => matches!(kind, "text" | "tool_addition" | "tool_removal"),
            Place::Result { .. } => matches!(
                kind,
                "text" | "image" | "document" | "search_result" | "tool_reference" | "browser_state"
            ),
            Place::Source => matches!(kind, "text" | "image"),
        }
    }

    fn text(&self, block: &Map<String, Value>, place: Place, path: &Path<'_>) -> Check {
        only(block, &["type", "text", "cache_control", "citations"], path)?;
        let marked = block.get("cache_control").is_some_and(|marker| !marker.is_null());
        match string(block, "text", path)? {
            "" if marked => return Err(bad(path, "cache_control cannot be set for empty text blocks")),
            "" => return Err(bad(path, "text content blocks must be non-empty")),
            _ => {}
        }
        let cited = block.get("citations").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        if cited && place != Place::Assistant && self.context.rules.anthropic_version() == WITHOUT_SAMPLING {
            return Err(bad(
                &path.key("citations"),
                "citations are not allowed on text outside assistant messages",
            ));
        }
        Ok(())
    }

    fn image(&mut self, block: &Map<String, Value>, path: &Path<'_>) -> Check {
        only(block, &["type", "source", "cache_control", "transformations"], path)?;
        let path = path.key("source");
        let source = object(block.get("source").ok_or_else(|| required(&path))?, &path)?;
        let mut size = None;
        match one_of(string(source, "type", &path)?, &["base64", "url", "file"], &path.key("type"))? {
            "base64" => {
                let path = path.key("base64");
                only(source, &["type", "media_type", "data"], &path)?;
                let media_type =
                    one_of(string(source, "media_type", &path)?, &IMAGES, &path.key("media_type"))?;
                let data = string(source, "data", &path)?;
                if data.len() > MAX_IMAGE {
                    let what =
                        format_args!("image exceeds 5 MB maximum: {} bytes > {MAX_IMAGE} bytes", data.len());
                    return Err(bad(&path, what));
                }
                let bytes = decode(data, &path)?;
                match sniff(&bytes) {
                    Some(found) if found == media_type => {}
                    Some(found) if IMAGES.contains(&found) => {
                        let what = format_args!(
                            "Image does not match the provided media type {media_type}, the bytes are {found}"
                        );
                        return Err(bad(&path, what));
                    }
                    _ => return Err(bad(&path, "Could not process image")),
                }
                size = dimensions(&bytes);
            }
            "url" => check_url(source, &path)?,
            _ => check_file_id(source, &path)?,
        }
        self.images.push(Image { path: path.dotted(), size });
        Ok(())
    }

    fn document(&mut self, block: &Map<String, Value>, place: Place, path: &Path<'_>) -> Check {
        only(block, &["type", "source", "title", "context", "citations", "cache_control"], path)?;
        optional_string(block, "title", path)?;
        if block.get("title").and_then(Value::as_str).is_some_and(|title| title.chars().count() > 500) {
            return Err(bad(&path.key("title"), "String should have at most 500 characters"));
        }
        optional_string(block, "context", path)?;
        self.citations(block, place, path)?;
        let path = path.key("source");
        let source = object(block.get("source").ok_or_else(|| required(&path))?, &path)?;
        let kinds = ["base64", "text", "url", "file", "content"];
        let kind = one_of(string(source, "type", &path)?, &kinds, &path.key("type"))?;
        let inner = path.key(kind);
        match kind {
            "base64" => {
                only(source, &["type", "media_type", "data"], &inner)?;
                one_of(
                    string(source, "media_type", &inner)?,
                    &["application/pdf"],
                    &inner.key("media_type"),
                )?;
                match sniff(&decode(string(source, "data", &inner)?, &inner)?) {
                    Some("application/pdf") => Ok(()),
                    _ => Err(bad(&inner, "The PDF specified was not valid.")),
                }
            }
            "text" => {
                only(source, &["type", "media_type", "data"], &inner)?;
                one_of(string(source, "media_type", &inner)?, &["text/plain"], &inner.key("media_type"))?;
                string(source, "data", &inner).map(drop)
            }
            "url" => check_url(source, &path),
            "file" => check_file_id(source, &path),
            _ => {
                only(source, &["type", "content"], &inner)?;
                let content = inner.key("content");
                match source.get("content") {
                    Some(Value::String(text)) => check_string(text, &content),
                    Some(blocks) => self.blocks(array(blocks, &content)?, Place::Source, &content),
                    None => Err(required(&content)),
                }
            }
        }
    }

    fn search_result(&mut self, block: &Map<String, Value>, path: &Path<'_>) -> Check {
        only(block, &["type", "source", "title", "content", "citations", "cache_control"], path)?;
        string(block, "source", path)?;
        string(block, "title", path)?;
        self.citations(block, Place::User, path)?;
        let path = path.key("content");
        let content = array(block.get("content").ok_or_else(|| required(&path))?, &path)?;
        self.blocks(content, Place::Source, &path)
    }

    /// All documents and search results of a request are cited, or none. Nobody says that a document inside a tool result
    /// can be cited, so it is taken for refused.
    fn citations(&mut self, block: &Map<String, Value>, place: Place, path: &Path<'_>) -> Check {
        let path = path.key("citations");
        let enabled = match block.get("citations").filter(|citations| !citations.is_null()) {
            None => false,
            Some(citations) => {
                let citations = object(citations, &path)?;
                only(citations, &["enabled"], &path)?;
                optional_bool(citations, "enabled", &path)? == Some(true)
            }
        };
        if enabled && self.context.output_format().is_some() {
            return Err(bad(&path, "citations cannot be used together with output_config.format"));
        }
        if enabled && matches!(place, Place::Result { .. }) {
            return Err(bad(&path, "citations are not supported on documents inside tool results"));
        }
        if *self.cited.get_or_insert(enabled) != enabled {
            return Err(bad(&path, "citations must be enabled on all or none of the documents in a request"));
        }
        Ok(())
    }

    fn result(&mut self, block: &Map<String, Value>, path: &Path<'_>) -> Check {
        let known = ["type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"];
        only(block, &known, path)?;
        check_id(string(block, "tool_use_id", path)?, &path.key("tool_use_id"))?;
        let failed = optional_bool(block, "is_error", path)?.unwrap_or(false);
        let path = path.key("content");
        match block.get("content") {
            None | Some(Value::String(_)) => Ok(()),
            Some(blocks) => match array(blocks, &path)? {
                [] => Err(bad(&path, "List should have at least 1 item, omit it instead")),
                blocks => self.blocks(blocks, Place::Result { failed }, &path),
            },
        }
    }

    /// The rules that need the whole request.
    pub(super) fn finish(&self) -> Check {
        let count = self.images.len();
        let max = self.context.model.map_or(600, Model::max_images);
        if count > max {
            return Err(bad(&Path::Root, format_args!("too many images: {count} > {max}")));
        }
        let (side, what) = if count > MANY {
            (MAX_SIDE_OF_MANY, "max allowed size for many-image requests")
        } else {
            (MAX_SIDE, "max allowed size")
        };
        for image in &self.images {
            if image.size.is_some_and(|(width, height)| width.max(height) > side) {
                let what = format!("At least one of the image dimensions exceed {what}: {side} pixels");
                let message = format!("{}: {what}", image.path);
                return Err(Violation::invalid(message).with_path(image.path.clone()));
            }
        }
        Ok(())
    }
}

/// A string that stands for one text block.
pub(super) fn check_string(text: &str, path: &Path<'_>) -> Check {
    if text.is_empty() {
        Err(bad(path, "text content blocks must be non-empty"))
    } else if text.trim().is_empty() {
        Err(bad(path, "text content blocks must contain non-whitespace text"))
    } else {
        Ok(())
    }
}

fn check_call(block: &Map<String, Value>, path: &Path<'_>) -> Check {
    only(block, &["type", "id", "name", "input", "cache_control", "caller", "toolset_name"], path)?;
    check_id(string(block, "id", path)?, &path.key("id"))?;
    if !is_plain_name(string(block, "name", path)?, 200) {
        return Err(bad(&path.key("name"), "String should match pattern '^[a-zA-Z0-9_-]{1,200}$'"));
    }
    let input = path.key("input");
    object(block.get("input").ok_or_else(|| required(&input))?, &input).map(drop)
}

fn check_id(id: &str, path: &Path<'_>) -> Check {
    if is_plain_name(id, usize::MAX) {
        Ok(())
    } else {
        Err(bad(path, "String should match pattern '^[a-zA-Z0-9_-]+$'"))
    }
}

fn check_url(source: &Map<String, Value>, path: &Path<'_>) -> Check {
    let path = path.key("url");
    only(source, &["type", "url"], &path)?;
    let url = string(source, "url", &path)?;
    if url.starts_with("https://") || url.starts_with("http://") {
        Ok(())
    } else {
        Err(bad(&path.key("url"), "Only HTTP and HTTPS URLs are supported."))
    }
}

fn check_file_id(source: &Map<String, Value>, path: &Path<'_>) -> Check {
    let path = path.key("file");
    only(source, &["type", "file_id"], &path)?;
    filled(source, "file_id", &path).map(drop)
}

fn decode(data: &str, path: &Path<'_>) -> Result<Vec<u8>, Violation> {
    let path = path.key("data");
    let problem = if data.starts_with("data:") {
        "expected bare base64 without a `data:` prefix"
    } else {
        match decode_base64(data) {
            Some(bytes) if !bytes.is_empty() => return Ok(bytes),
            _ => "Invalid base64 data",
        }
    };
    Err(bad(&path, problem))
}
