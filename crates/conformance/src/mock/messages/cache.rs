//! Cache markers (anthropic.md 7).

use serde_json::Value;

use super::context::Context;
use super::problems::{Check, bad, object, one_of, only, string};
use crate::mock::rules::Path;

const MAX_MARKERS: usize = 4;

/// Counts the markers in the order of the prefix, tools, system, messages, and holds their lifetimes against
/// each other.
pub(super) fn check(context: &Context<'_>) -> Check {
    let mut count = 0;
    let mut short_seen = false;
    let mut marker = |holder: &Value, path: &Path<'_>| -> Check {
        let Some(marker) = holder.get("cache_control").filter(|marker| !marker.is_null()) else {
            return Ok(());
        };
        let path = path.key("cache_control");
        let marker = object(marker, &path)?;
        only(marker, &["type", "ttl"], &path)?;
        one_of(string(marker, "type", &path)?, &["ephemeral"], &path.key("type"))?;
        let ttl = match marker.get("ttl") {
            None | Some(Value::Null) => "5m",
            Some(_) => one_of(string(marker, "ttl", &path)?, &["5m", "1h"], &path.key("ttl"))?,
        };
        if ttl == "1h" && short_seen {
            let what = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block";
            return Err(bad(&path.key("ttl"), what));
        }
        short_seen |= ttl == "5m";
        count += 1;
        Ok(())
    };

    let root = Path::Root;
    let mut list = |holders: Option<&Value>, path: &Path<'_>| -> Check {
        for (index, holder) in holders.and_then(Value::as_array).into_iter().flatten().enumerate() {
            marker(holder, &path.index(index))?;
        }
        Ok(())
    };
    let request = context.request;
    list(request.get("tools"), &root.key("tools"))?;
    list(request.get("system"), &root.key("system"))?;
    let messages = root.key("messages");
    for (index, message) in
        request.get("messages").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        list(message.get("content"), &messages.index(index).key("content"))?;
    }
    // The automatic marker stands at the very end.
    if let Some(automatic) = request.get("cache_control") {
        marker(&serde_json::json!({"cache_control": automatic}), &root)?;
    }
    if count > MAX_MARKERS {
        let what = format_args!(
            "A maximum of {MAX_MARKERS} blocks with cache_control may be provided. Found {count}."
        );
        return Err(bad(&root, what));
    }
    Ok(())
}
