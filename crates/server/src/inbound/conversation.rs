//! The conversation of a request, while it is read in whatever dialect.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use attache_agent::RUN_ONLY;
use attache_core::message::{MadeDocument, Metadata};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ContentTree, Document, Message, ResultStatus, Role, ToolCall,
    ToolCallId, ToolResult, ToolResultsMessage, UserMessage, UserPart,
};

use crate::dialect::snapshot::known_as;
use crate::fault::Fault;

/// The maximum number of messages of a request.
const MOST: usize = 4096;

/// Refuses requests of too many messages.
pub(crate) fn bound(count: usize, param: &'static str) -> Result<(), Fault> {
    match count > MOST {
        true => Err(Fault::invalid(format!("there are more than {MOST} messages")).at(param)),
        false => Ok(()),
    }
}

/// The conversation of a request.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// The client's instructions.
    pub(crate) system: Option<String>,
    /// The messages up to the model's last reply.
    pub(crate) history: Vec<Arc<Message>>,
    /// Those behind it: results, and what the user says.
    pub(crate) new: Vec<Arc<Message>>,
}

impl Conversation {
    /// The results that the client brings.
    pub(crate) fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.new.iter().flat_map(|message| match &**message {
            Message::ToolResults(message) => message.results.as_slice(),
            _ => &[],
        })
    }

    /// Leaves out the results of other calls.
    pub(crate) fn retain_results(&mut self, is_meant: impl Fn(&ToolCallId) -> bool) {
        for message in &mut self.new {
            if let Message::ToolResults(told) = &**message {
                let results = told.results.iter().filter(|result| is_meant(&result.call_id)).cloned();
                *message = Message::ToolResults(ToolResultsMessage::new(results)).shared();
            }
        }
        let is_blank = |message: &Arc<Message>| matches!(&**message, Message::ToolResults(told) if told.results.is_empty());
        self.new.retain(|message| !is_blank(message));
    }
}

/// A conversation while it is read.
#[derive(Default)]
pub(crate) struct Reading {
    system: Option<String>,
    messages: Vec<Arc<Message>>,
    /// The calls of the last reply that have no result yet, by their ids: some models give one to two calls, which a run
    /// tells apart. An empty queue stands for calls that have theirs.
    calls: HashMap<String, VecDeque<ToolCall>>,
    /// Results of them.
    results: Vec<ToolResult>,
}

impl Reading {
    /// The client's instructions, or more of them.
    pub(crate) fn system(&mut self, text: &str) {
        self.end_results();
        match &mut self.system {
            Some(system) => {
                system.push_str("\n\n");
                system.push_str(text);
            }
            None => self.system = Some(text.to_owned()),
        }
    }

    pub(crate) fn user(&mut self, parts: Vec<Option<UserPart>>) {
        self.end_results();
        self.messages.push(Message::User(UserMessage::new(parts)).shared());
    }

    /// Keeps the id that the client has for the last message with it.
    pub(crate) fn known_as(&mut self, id: Option<&str>) {
        let (Some(id), Some(last)) = (id, self.messages.last_mut()) else { return };
        *last = match &**last {
            Message::User(said) => {
                Message::User(said.clone().with_metadata(known_as(&said.metadata, id))).shared()
            }
            Message::Assistant(reply) => {
                let mut reply = reply.clone();
                reply.metadata = known_as(&reply.metadata, id);
                Message::Assistant(reply).shared()
            }
            _ => return,
        };
    }

    /// Something that holds for the run alone.
    pub(crate) fn for_this_run(&mut self, message: UserMessage) {
        self.end_results();
        let message = message.with_metadata(Metadata::new().with(RUN_ONLY, true));
        self.messages.push(Message::User(message).shared());
    }

    /// Leaves out what was read: whoever keeps the conversation knows it.
    pub(crate) fn forget(&mut self) {
        *self = Self { system: self.system.take(), ..Self::default() };
    }

    pub(crate) fn assistant(&mut self, text: &str, calls: Vec<ToolCall>) {
        self.reply(text, calls, Vec::new());
    }

    /// A reply of the model, with documents that it made.
    pub(crate) fn reply(&mut self, text: &str, calls: Vec<ToolCall>, made: Vec<Document>) {
        self.end_results();
        self.calls.clear();
        for call in &calls {
            self.calls.entry(call.id.as_str().to_owned()).or_default().push_back(call.clone());
        }
        let made = made.into_iter().map(|document| MadeDocument::new(document).into());
        let calls = calls.into_iter().map(Into::into);
        let parts = [AssistantPart::text(text)].into_iter().chain(calls).chain(made);
        self.messages.push(Message::Assistant(AssistantMessage::new(parts)).shared());
    }

    /// The result of a call of the last reply.
    pub(crate) fn result(&mut self, id: &str, tree: ContentTree, is_error: bool) -> Result<(), Fault> {
        let Some(calls) = self.calls.get_mut(id) else {
            let message = format!("the tool message {id:?} answers no call of the message before it");
            return Err(Fault::invalid(message));
        };
        let Some(call) = calls.pop_front() else {
            return Err(Fault::invalid(format!("the call {id:?} has two results")));
        };
        let status = if is_error { ResultStatus::Error } else { ResultStatus::Ok };
        self.results.push(ToolResult::new(&call, status, tree));
        Ok(())
    }

    /// The result of a call that the request does not hold, since a session does.
    pub(crate) fn result_alone(&mut self, id: &str, tree: ContentTree, is_error: bool) -> Result<(), Fault> {
        if !self.calls.contains_key(id) {
            let call = call(id, "unknown".to_owned(), "{}".to_owned())?;
            self.calls.insert(id.to_owned(), VecDeque::from([call]));
        }
        self.result(id, tree, is_error)
    }

    fn end_results(&mut self) {
        if !self.results.is_empty() {
            let results = std::mem::take(&mut self.results);
            self.messages.push(Message::ToolResults(ToolResultsMessage::new(results)).shared());
        }
    }

    /// The conversation, which may end with the model's message.
    pub(crate) fn finish_as_it_is(mut self) -> Conversation {
        self.end_results();
        let Self { system, mut messages, .. } = self;
        let last_reply = messages.iter().rposition(|message| message.role() == Role::Assistant);
        let new = messages.split_off(last_reply.map_or(0, |at| at + 1));
        Conversation { system, history: messages, new }
    }

    /// The conversation, whose last message must not be the model's.
    pub(crate) fn finish(self, param: &'static str) -> Result<Conversation, Fault> {
        let conversation = self.finish_as_it_is();
        if conversation.new.is_empty() {
            return Err(Fault::invalid("the last message must be the user's or a tool's").at(param));
        }
        Ok(conversation)
    }
}

/// A call of a reply.
pub(crate) fn call(id: &str, name: String, arguments: String) -> Result<ToolCall, Fault> {
    let id = ToolCallId::parse(id).ok_or_else(|| Fault::invalid("the id of a call is blank"))?;
    Ok(ToolCall::new(name, Arguments::new(arguments)).with_id(id))
}
