//! Tools; which of them is called cannot be chosen (openai.md C.13).

use serde_json::{Map, Value};

use crate::mock::chat::problems::{Check, array, optional};
use crate::mock::chat::tools::check_plain;
use crate::mock::rules::Path;

pub(super) fn check(request: &Map<String, Value>) -> Check {
    let path = Path::Root.key("tools");
    let Some(tools) = optional(request, "tools") else { return Ok(()) };
    array(tools, &path)?
        .iter()
        .enumerate()
        .try_for_each(|(index, tool)| check_plain(tool, &path.index(index)))
}
