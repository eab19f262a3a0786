//! The tool with which a model calculates.

mod exact;
mod grammar;

use std::sync::Arc;

use attache_core::{Effect, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::local::{Local, spec, wrong};

#[derive(Deserialize)]
struct Asked {
    expression: String,
}

#[derive(Serialize)]
struct Calculated {
    result: String,
    /// True if the result has more digits than are shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rounded: bool,
}

/// Creates the tool `calculate`: `+ - * / ^`, percent, parentheses and functions, with exact fractions.
///
/// `0.1 + 0.2` is `0.3`, and `1/3*3` is `1`. A result with infinitely many digits is rounded to 34 digits and marked as
/// rounded; results of roots, logarithms and trigonometric functions are rounded to 15. Numbers have at most about
/// 1,200 digits, so that no expression takes long.
///
/// ```
/// use attache_core::Tool;
/// assert_eq!(attache_tools::calculator().spec().definition.name(), "calculate");
/// ```
pub fn calculator() -> Arc<dyn Tool> {
    let spec = spec(
        "calculate",
        "Calculates an expression exactly: + - * / ^, parentheses, n% (n hundredths), pi, e, abs, ceil, exp, floor, ln, \
         log10, max, min, mod(a, b), round(x, digits), sqrt, sin, cos, tan (in radians). Numbers have a decimal point \
         and no separators of thousands",
        &json!({"expression": {"type": "string", "description": "Such as (1200 - 15%*1200) / 12"}}),
        &["expression"],
    );
    Local::tool(spec.with_effect(Effect::Read), |asked: Asked, _| {
        let value = grammar::value(&asked.expression).map_err(wrong)?;
        let (result, rounded) = value.shown();
        Ok(Calculated { result, rounded })
    })
}
