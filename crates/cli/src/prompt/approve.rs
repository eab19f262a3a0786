//! Questions of a run to the user in its middle.

use attache_agent::{AgentRun, ApprovalRequest, Decision, DeferredRequest, Outcome};
use attache_core::tool::wire_name;
use serde_json::Value;

use super::reader::{Line, Reader};
use crate::config_tools::ASKS_ITSELF;
use crate::output::{harmless, is_harmful, short};
use crate::show::style::Style;

/// The text that the model reads where the user gives none.
const DECLINED: &str = "the user declined";

/// Arguments as a line to edit. Of the controls of ASCII, JSON has only blanks, and those outside of strings.
fn editable(arguments: &str) -> String {
    let mut line = String::with_capacity(arguments.len());
    for c in arguments.chars() {
        match c {
            '\0'..' ' => line.push(' '),
            c if is_harmful(c) => line.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => line.push(c),
        }
    }
    line
}

/// Asks everything that a run waits for, and lets it go on; `None` if something is left open.
pub(crate) async fn answered(
    outcome: &Outcome,
    mut run: AgentRun,
    reader: &Reader,
    style: Style,
) -> Option<AgentRun> {
    for request in &outcome.approvals {
        run = run.decide(&request.id, "the user", decision(request, reader, style).await?);
    }
    for request in &outcome.deferred {
        run = run.reply(&request.call.id, reply(request, reader, style).await?);
    }
    Some(run)
}

/// Asks about a call; `None` if the user leaves it open, or nobody is there.
async fn decision(request: &ApprovalRequest, reader: &Reader, style: Style) -> Option<Decision> {
    let arguments = request.call.arguments.raw();
    reader.tell(&format!(
        "{} {} {}",
        style.asks("?"),
        style.bold(short(&wire_name(&request.call.name), 80)),
        short(arguments, 300)
    ));
    if let Some(reason) = &request.reason {
        reader.tell(&style.dim(format!("  {}", short(reason, 300))));
    }
    if !reader.is_attended() {
        return None;
    }
    loop {
        let answer = match reader.read("run it? [y]es, [n]o, [a]lways, [e]dit, [w]hy: ", "", false).await {
            Line::Said(answer) => answer.to_lowercase(),
            Line::Interrupted | Line::End | Line::Failed(_) => return None,
        };
        match answer.as_str() {
            "y" | "yes" => return Some(Decision::Approve),
            "a" | "always" => return Some(Decision::ApproveAlways),
            "n" | "no" => {
                return Some(Decision::Deny(
                    match reader.read("why not? (for the model) ", "", false).await {
                        Line::Said(text) if !text.is_empty() => text,
                        _ => DECLINED.to_owned(),
                    },
                ));
            }
            "e" | "edit" => match reader.read("arguments: ", &editable(arguments), false).await {
                Line::Said(text) => match serde_json::from_str::<Value>(&text) {
                    Ok(arguments) if arguments.is_object() => return Some(Decision::Edit(arguments)),
                    Ok(_) => reader.tell(&style.bad("  arguments are an object, {…}")),
                    Err(error) => reader.tell(&style.bad(format!("  {error}"))),
                },
                Line::Interrupted | Line::End | Line::Failed(_) => {}
            },
            "w" | "why" => {
                let pretty = serde_json::from_str::<Value>(arguments)
                    .and_then(|arguments| serde_json::to_string_pretty(&arguments))
                    .unwrap_or_else(|_| arguments.to_owned());
                let reason = request.reason.as_deref().unwrap_or(ASKS_ITSELF);
                reader.tell(&style.dim(format!("  {}\n{}", harmless(reason), harmless(&pretty))));
            }
            _ => reader.tell(&style.dim("  y, n, a, e or w; Ctrl-C leaves it open")),
        }
    }
}

/// Asks what the model wants to know; `None` if the user leaves it open, or nobody is there.
async fn reply(request: &DeferredRequest, reader: &Reader, style: Style) -> Option<Value> {
    let question = request.deferred.prompt.as_deref().unwrap_or("the model waits for an answer");
    reader.tell(&format!("{} {}", style.asks("?"), harmless(question)));
    let choices =
        request.deferred.schema.as_ref().and_then(|schema| schema.get("enum")).and_then(Value::as_array);
    let choices: Vec<&str> = choices.into_iter().flatten().filter_map(Value::as_str).collect();
    for (number, choice) in choices.iter().enumerate() {
        reader.tell(&format!("  {}. {}", number + 1, harmless(choice)));
    }
    if !reader.is_attended() {
        return None;
    }
    loop {
        let Line::Said(answer) = reader.read("answer: ", "", false).await else { return None };
        let by_number = answer.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
        match by_number.copied().or_else(|| choices.iter().copied().find(|choice| *choice == answer)) {
            Some(choice) => return Some(choice.into()),
            None if choices.is_empty() && !answer.is_empty() => return Some(answer.into()),
            None => reader.tell(&style.dim("  name one of them, or its number; Ctrl-C leaves it open")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_arguments_hold_no_controls_and_mean_the_same() {
        let arguments = "{\n\t\"path\": \"a\u{7f}\u{9b}\u{202e}b\"}";
        let line = editable(arguments);
        assert!(!line.contains(is_harmful), "{line:?}");
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(&line), read(arguments));
    }
}
