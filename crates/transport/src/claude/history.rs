//! The decisions about a conversation before any of it is rendered: ids of calls, and whether it began with thinking.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::hash::StableHash;
use attache_core::tool::wire_name;
use attache_core::{AssistantPart, Message, ToolCall, ToolCallId, ToolResult, ToolResultsMessage};

/// The ids of a conversation's calls on the wire.
#[derive(Debug, Default)]
pub struct CallIds {
    taken: HashSet<String>,
    /// The ids that are not the provider's own.
    renamed: HashMap<ToolCallId, String>,
}

impl CallIds {
    /// Plans how a call is rendered under `name`. Its id on the wire is the provider's own where it is legal and was not
    /// used before, otherwise the legal one next to it, or next to ours. Adds to `variant` an id that is not the
    /// provider's own, and a name that is not the tool's.
    pub fn plan_call(
        &mut self,
        call: &ToolCall,
        name: &str,
        is_legal: impl Fn(&str) -> bool,
        legal: impl Fn(&str) -> String,
        mut variant: StableHash,
    ) -> StableHash {
        let own = call.provider_id.as_ref().map(|id| id.as_str());
        if let Some(id) = own.filter(|id| is_legal(id) && !self.taken.contains(*id)) {
            self.taken.insert(id.to_owned());
        } else {
            let near = own.into_iter().chain([call.id.as_str()]).map(&legal);
            let numbered = (2_u64..).map(|number| legal(&format!("{}_{number}", call.id)));
            if let Some(id) = near.chain(numbered).find(|id| !self.taken.contains(id)) {
                variant = variant.text(&id);
                self.taken.insert(id.clone());
                self.renamed.insert(call.id.clone(), id);
            }
        }
        if name == wire_name(&call.name) { variant } else { variant.text(name) }
    }

    /// Plans how the results of the calls in the message `before` them are rendered. Each is rendered by itself; where
    /// it cannot tell the id of its call, this does. Adds to `variant` ids that are not the provider's own.
    pub fn plan_results(
        &mut self,
        before: Option<&Arc<Message>>,
        results: &ToolResultsMessage,
        mut variant: StableHash,
    ) -> StableHash {
        let Some(Message::Assistant(asked)) = before.map(|message| &**message) else { return variant };
        for result in &results.results {
            let Some(call) = asked.tool_calls().find(|call| call.id == result.call_id) else { continue };
            if let Some(id) = &call.provider_id
                && result.provider_id.as_ref() != Some(id)
                && !self.renamed.contains_key(&call.id)
            {
                self.renamed.insert(call.id.clone(), id.as_str().to_owned());
            }
            if let Some(id) = self.renamed(&call.id) {
                variant = variant.text(id);
            }
        }
        variant
    }

    fn renamed(&self, id: &ToolCallId) -> Option<&str> {
        self.renamed.get(id).map(String::as_str)
    }

    /// The id of a call on the wire.
    pub fn of_call<'a>(&'a self, call: &'a ToolCall) -> &'a str {
        let theirs = || call.provider_id.as_ref().map(|id| id.as_str());
        self.renamed(&call.id).or_else(theirs).unwrap_or(call.id.as_str())
    }

    /// The id of a result's call on the wire.
    pub fn of_result<'a>(&'a self, result: &'a ToolResult) -> &'a str {
        let theirs = || result.provider_id.as_ref().map(|id| id.as_str());
        self.renamed(&result.call_id).or_else(theirs).unwrap_or(result.call_id.as_str())
    }
}

/// True if the model, asked to go on after these messages, finds the thinking that led to the tool calls it now
/// gets the results of. True where there is no open tool loop. `goes_back` says which parts stand in the request.
pub fn loop_began_with_thinking(
    messages: &[Arc<Message>],
    goes_back: impl Fn(&AssistantPart) -> bool,
) -> bool {
    let results = |message: &Arc<Message>| matches!(&**message, Message::ToolResults(results) if !results.results.is_empty());
    let spoke = |message: &Arc<Message>| matches!(&**message, Message::Assistant(_));
    let Some(last) = messages.iter().rposition(spoke) else { return true };
    if !messages.get(last + 1).is_some_and(results) {
        return true;
    }
    // The turn may be of several messages, and begin with parts that stay out.
    let turn = messages.iter().take(last + 1).rev().take_while(|message| spoke(message));
    let first = turn.filter_map(|message| match &**message {
        Message::Assistant(message) => message.parts.iter().find(|part| goes_back(part)),
        _ => None,
    });
    matches!(first.last(), None | Some(AssistantPart::Reasoning(_)))
}
