//! The paths of the APIs.

/// The collection of Gemini's caches.
pub(crate) const CACHED_CONTENTS: &str = "cachedContents";

/// True if a path is that of the caches or of one of them.
pub(crate) fn is_cache_path(path: &str) -> bool {
    let mut segments = path.trim_end_matches('/').rsplit('/');
    let (last, before) = (segments.next(), segments.next());
    last == Some(CACHED_CONTENTS) || before == Some(CACHED_CONTENTS)
}

/// True if a path is that of the files or of one of them.
pub(crate) fn is_files_path(path: &str) -> bool {
    let mut segments = path.trim_end_matches('/').rsplit('/');
    let (last, before) = (segments.next(), segments.next());
    last == Some("files") || before == Some("files")
}

/// The id of a file: what stands behind the collection in a path; empty for the collection itself.
pub(crate) fn file_id(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((_, "files")) | None => "",
        Some((_, id)) => id,
    }
}

/// The model id in the path of a Converse request, as it stands there: one percent-encoded segment.
pub(crate) fn converse_model(path: &str) -> Option<&str> {
    let (rest, operation) = path.rsplit_once('/')?;
    let (rest, model) = rest.rsplit_once('/')?;
    let known = matches!(operation, "converse" | "converse-stream") && rest.ends_with("/model");
    known.then_some(model).filter(|model| !model.is_empty())
}

/// True if a path of Gemini or Converse asks for a stream.
pub(crate) fn wants_stream(path: &str) -> bool {
    path.ends_with(":streamGenerateContent") || path.trim_end_matches('/').ends_with("/converse-stream")
}
