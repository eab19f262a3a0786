//! Quirks of content parts.

use serde_json::Value;

use super::super::problems::Check;
use super::asked::{Asked, refused, text};

impl Asked<'_> {
    /// Refuses the first part of a user message that breaks a rule, with what is wrong.
    fn each_part(&self, problem: impl Fn(&Value) -> Option<String>) -> Check {
        for (index, message) in self.messages.iter().enumerate() {
            if text(message.get("role")) != "user" {
                continue;
            }
            let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
            for (at, part) in parts.enumerate() {
                if let Some(problem) = problem(part) {
                    let path = format!("messages[{index}].content[{at}]");
                    let message = format!("messages[{index}]: {problem}");
                    return Err(refused("invalid_request_error", path, message));
                }
            }
        }
        Ok(())
    }

    pub(super) fn parts(&self, kinds: &[&str]) -> Check {
        self.each_part(|part| {
            let kind = text(part.get("type"));
            let expected = || kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ");
            (!kinds.contains(&kind)).then(|| format!("unknown variant `{kind}`, expected {}", expected()))
        })
    }

    pub(super) fn no_remote_images(&self) -> Check {
        self.each_part(|part| {
            let image = part.get("image_url")?;
            let url = image.as_str().or_else(|| image.get("url")?.as_str())?;
            (!url.starts_with("data:")).then(|| "invalid image input".to_owned())
        })
    }

    pub(super) fn files_are_addresses(&self) -> Check {
        self.each_part(|part| {
            let url = text(part.get("file_url")?.get("url"));
            (!url.starts_with("http://") && !url.starts_with("https://"))
                .then(|| "file_url must be an address".to_owned())
        })
    }

    pub(super) fn audio_as_data_uri(&self) -> Check {
        self.each_part(|part| {
            let data = text(part.get("input_audio")?.get("data"));
            let is_good = data.starts_with("data:") || data.starts_with("http");
            (!is_good).then(|| "The provided audio is no URL".to_owned())
        })
    }
}
