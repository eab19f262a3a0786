//! Conversations of an agent that grow request by request.

use std::sync::Arc;

use attache_core::message::UserOrigin;
use attache_core::{
    AssistantPart, ContentTree, Document, MediaKind, Message, ModelCapabilities, ResultStatus, ToolCall,
    ToolResult, UserMessage, UserPart,
};
use proptest::prelude::*;
use serde_json::json;

use super::{assistant, pdf, png, results, routed};

/// One step of an agent: what it says, which calls it makes, how they end, what happens beside them.
#[derive(Clone, Debug)]
pub struct Step {
    text: String,
    thought: bool,
    calls: Vec<Made>,
    event: bool,
}

/// A call of a step, and its result.
#[derive(Clone, Debug)]
pub struct Made {
    /// True if another provider made it.
    pub foreign: bool,
    failed: bool,
    document: bool,
    result: String,
}

/// One to six steps of any kind.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let calls = (any::<bool>(), any::<bool>(), any::<bool>(), "[ a-z\"\\\\\n\u{e9}]{0,8}").prop_map(
        |(foreign, failed, document, result)| Made { foreign, failed, document: document && !failed, result },
    );
    let step = ("[ a-z\n]{0,6}", any::<bool>(), prop::collection::vec(calls, 0..14), any::<bool>())
        .prop_map(|(text, thought, calls, event)| Step { text, thought, calls, event });
    prop::collection::vec(step, 1..7)
}

/// The making of messages for a model from the steps of an agent.
#[expect(missing_debug_implementations, reason = "it holds functions")]
#[derive(Clone, Copy)]
pub struct Growing<'a> {
    /// The model, which is given documents where it takes them, and no more files than a request to it holds.
    pub takes: &'a ModelCapabilities,
    /// The number of documents that the results of one turn may hold.
    pub most_inside: usize,
    /// A call, by the number of its step and its place in it.
    pub call: &'a dyn Fn(u32, u32, &Made) -> ToolCall,
    /// A thought, by the number of its step.
    pub thought: &'a dyn Fn(u32) -> Option<AssistantPart>,
}

impl Growing<'_> {
    /// The messages at the time of each request.
    pub fn requests(&self, steps: &[Step]) -> Vec<Vec<Arc<Message>>> {
        let mut messages = vec![Message::system("You are a clerk.").shared(), Message::user("Go.").shared()];
        let mut requests = vec![messages.clone()];
        let mut files = 0;
        for (number, step) in (0_u32..).zip(steps) {
            let calls = (0_u32..).zip(&step.calls);
            let calls: Vec<ToolCall> = calls.map(|(at, made)| (self.call)(number, at, made)).collect();
            let thought = step.thought.then(|| (self.thought)(number)).flatten();
            let said = [thought, AssistantPart::text(step.text.as_str())].into_iter();
            messages.push(assistant(said.chain(calls.iter().map(|call| call.clone().into()))).shared());
            let (returned, beside) = self.returned(&calls, &step.calls, &mut files);
            messages.push(match calls.is_empty() {
                true => Message::user("Go on.").shared(),
                false => results(returned).shared(),
            });
            if !beside.is_empty() {
                let mut synthetic = UserMessage::new(beside);
                synthetic.origin = UserOrigin::ToolCallDocuments;
                messages.push(Message::User(synthetic).shared());
            }
            if step.event {
                let event = UserMessage::event(ContentTree::value(&json!({"event": number})));
                messages.push(Message::User(event).shared());
            }
            requests.push(messages.clone());
        }
        requests
    }

    /// The results of a turn, and the documents that follow them; `files` counts those of the conversation.
    fn returned(
        &self,
        calls: &[ToolCall],
        made: &[Made],
        files: &mut u64,
    ) -> (Vec<ToolResult>, Vec<Option<UserPart>>) {
        let (mut returned, mut beside) = (Vec::new(), Vec::new());
        let mut fits = |document: &Document| {
            let is_image = document.media_type().kind() == MediaKind::Image;
            *files += u64::from(!is_image);
            is_image || self.takes.files.max_files.is_none_or(|most| *files <= most)
        };
        for (at, (call, made)) in calls.iter().zip(made).enumerate() {
            let status = if made.failed { ResultStatus::Error } else { Default::default() };
            let result = ToolResult::new(call, status, ContentTree::text(&made.result));
            let inside = at < self.most_inside && self.takes.tool_result.accepts(pdf("x").media_type());
            if made.document && !inside {
                let documents = [pdf("b.pdf"), png("b.png")].into_iter();
                let taken = documents.filter(|document| {
                    self.takes.beside_result.accepts(document.media_type()) && fits(document)
                });
                beside.extend(taken.flat_map(|document| [UserPart::text("A file:"), document.into()]));
            }
            let held =
                (made.document && inside).then(|| pdf("b.pdf")).filter(&mut fits).map(UserPart::Document);
            returned.push(routed(result, [held]));
        }
        (returned, beside)
    }
}

/// The last of these requests with rounds cut away at its front: from a user message on, the system message kept. `None`
/// if nothing is left.
pub fn window(requests: &[Vec<Arc<Message>>], cut: usize) -> Option<Vec<Arc<Message>>> {
    let all = requests.last()?;
    let from = requests.get(cut.min(requests.len().checked_sub(1)?))?.len();
    let starts = |message: &Arc<Message>| matches!(&**message, Message::User(_));
    let rest = all.iter().skip(from).skip_while(|message| !starts(message)).cloned();
    let window: Vec<_> = all.iter().take(1).cloned().chain(rest).collect();
    (window.len() > 1).then_some(window)
}
