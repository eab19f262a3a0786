//! Cache points (bedrock.md 6).

use serde_json::Value;

use super::context::Context;
use super::problems::{
    Check, constraint, object, of_model, one_of, only, optional_one_of, refused, string, unsupported,
};
use crate::mock::rules::Path;

const MAX_POINTS: usize = 4;

/// Goes through the points in the order of the prefix, tools, system, messages: where they stand, how many they
/// are, and whether longer lifetimes come first.
pub(super) fn check(context: &Context<'_>) -> Check {
    let root = Path::Root;
    let mut points = Points { context, count: 0, short_seen: false };
    let tools = context.request.get("toolConfig").and_then(|config| config.get("tools"));
    let path = root.key("toolConfig");
    points.list(tools, context.family.is_claude(), &path.key("tools"))?;
    let caches = context.family.caches();
    points.list(context.request.get("system"), caches, &root.key("system"))?;
    let path = root.key("messages");
    for (index, message) in context.messages().iter().enumerate() {
        points.list(message.get("content"), caches, &path.index(index).key("content"))?;
    }
    if points.count > MAX_POINTS {
        let what = format!("A maximum of {MAX_POINTS} cache points may be provided. Found {}.", points.count);
        return Err(of_model(&root, what));
    }
    Ok(())
}

struct Points<'a> {
    context: &'a Context<'a>,
    count: usize,
    /// True if one that lives five minutes has been seen.
    short_seen: bool,
}

impl Points<'_> {
    fn list(&mut self, blocks: Option<&Value>, allowed: bool, path: &Path<'_>) -> Check {
        let blocks = blocks.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut before: Option<&Value> = None;
        for (index, block) in blocks.iter().enumerate() {
            if let Some(point) = block.get("cachePoint") {
                let path = path.index(index);
                let path = path.key("cachePoint");
                if !allowed {
                    return Err(unsupported(&path));
                }
                self.place(before, &path)?;
                self.point(point, &path)?;
            }
            before = Some(block);
        }
        Ok(())
    }

    fn place(&self, before: Option<&Value>, path: &Path<'_>) -> Check {
        let after = |kind: &str| before.is_some_and(|block| block.get(kind).is_some());
        let problem = if before.is_none() {
            "a cache point cannot be the first block"
        } else if after("cachePoint") {
            "a cache point cannot directly follow another one"
        } else if after("document") || after("video") {
            "a cache point cannot directly follow a document or a video"
        } else {
            return Ok(());
        };
        Err(refused(path, format!("The cachePoint at {} is invalid: {problem}.", path.dotted())))
    }

    fn point(&mut self, point: &Value, path: &Path<'_>) -> Check {
        let point = object(point, path)?;
        only(point, &["type", "ttl"], path)?;
        one_of(string(point, "type", path)?, &["default"], &path.key("type"))?;
        let ttl = optional_one_of(point, "ttl", &["5m", "1h"], path)?.unwrap_or("5m");
        if ttl == "1h" && !self.context.family.takes_hour_caches() {
            return Err(unsupported(&path.key("ttl")));
        }
        if ttl == "1h" && self.short_seen {
            return Err(constraint(&path.key("ttl"), "a ttl of 1h must not come after one of 5m"));
        }
        self.short_seen |= ttl == "5m";
        self.count += 1;
        Ok(())
    }
}
