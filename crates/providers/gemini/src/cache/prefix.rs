//! Which part of a request is worth keeping at the provider.

use std::sync::Arc;

use attache_core::message::Routed;
use attache_core::{Document, MediaKind, Message, Secret, UserMessage, UserPart};
use attache_transport::count_seen;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::cut::{Cut, Prefix};
use super::entries::Key;
use crate::codec::Ask;
use crate::error::Result;
use crate::request::{Head, State};

/// About how many tokens are worth keeping. Below this the provider's own caching serves as well, and most models take
/// no less.
const LEAST_TOKENS: u64 = 4_096;

/// A prefix of a request.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) key: Key,
    cut: Cut,
}

impl State {
    /// The prefix of the request that is worth keeping, if there is one.
    pub(super) fn find_prefix(&mut self, ask: Ask<'_>, head: &Head) -> Result<Option<Found>> {
        let messages = &ask.request.messages;
        let Some(cut) = cut(messages, tokens_of_text(head.system.len() + head.tools.len())) else {
            return Ok(None);
        };
        let digest = digest_of_head(ask, head, cut)?;
        let known = self.prefix.as_ref().filter(|known| {
            known.cut == cut
                && known.head == digest
                && known.messages.len() == cut.until()
                && count_seen(messages, &known.messages) == cut.until()
        });
        let key = match known {
            Some(known) => known.key,
            None => {
                let body = self.body_to_keep(ask, head, cut)?;
                let key = Sha256::new().chain_update(digest).chain_update(&body).finalize().into();
                let messages = messages.iter().take(cut.until()).map(Arc::clone).collect();
                self.prefix = Some(Prefix { cut, messages, head: digest, key });
                key
            }
        };
        Ok(Some(Found { key, cut }))
    }

    /// The request that has the prefix kept, but for its last member.
    pub(super) fn request_to_keep(
        &self,
        ask: Ask<'_>,
        head: &Head,
        found: &Found,
        ttl: u64,
    ) -> Result<Vec<u8>> {
        let mut body = self.body_to_keep(ask, head, found.cut)?;
        body.extend_from_slice(format!(r#","displayName":"attache","ttl":"{ttl}s"}}"#).as_bytes());
        Ok(body)
    }

    fn body_to_keep(&self, ask: Ask<'_>, head: &Head, cut: Cut) -> Result<Vec<u8>> {
        let model = Value::from(ask.codec.platform.model_path(ask.codec.model())?);
        let mut text = format!(r#"{{"model":{model}"#);
        let config = head.tool_config.as_ref().map(Value::to_string).unwrap_or_default();
        for (name, json) in
            [("systemInstruction", &head.system), ("tools", &head.tools), ("toolConfig", &config)]
        {
            if !json.is_empty() {
                text.push_str(&format!(r#","{name}":{json}"#));
            }
        }
        let kept = kept(&ask.request.messages, cut);
        match self.contents_of(ask, &kept)? {
            Some(contents) => {
                let mut body = text.into_bytes();
                body.extend_from_slice(br#","contents":"#);
                body.extend_from_slice(&contents.to_vec());
                Ok(body)
            }
            None => Ok(text.into_bytes()),
        }
    }
}

impl Found {
    /// The rest of the request without the prefix.
    pub(super) fn rest(&self, ask: Ask<'_>) -> Vec<Arc<Message>> {
        let Cut { message, part } = self.cut;
        let mut rest: Vec<_> = ask.request.messages.iter().skip(message).map(Arc::clone).collect();
        if let Some(first) = rest.first_mut()
            && part > 0
            && let Message::User(user) = &**first
        {
            *first = Arc::new(part_of(user, part.., "rest"));
        }
        rest
    }
}

/// The part that is kept.
fn kept(messages: &[Arc<Message>], cut: Cut) -> Vec<Arc<Message>> {
    let mut kept: Vec<_> = messages.iter().take(cut.message).map(Arc::clone).collect();
    if let Some(Message::User(user)) = messages.get(cut.message).map(|message| &**message)
        && cut.part > 0
    {
        kept.push(Arc::new(part_of(user, ..cut.part, "kept")));
    }
    kept
}

/// Some parts of a message as one of its own, the same at each call.
fn part_of(
    user: &UserMessage,
    range: impl std::slice::SliceIndex<[UserPart], Output = [UserPart]>,
    suffix: &str,
) -> Message {
    let parts = user.shown().get(range).unwrap_or_default().to_vec();
    let mut part = UserMessage::new([]);
    part.id = user.id.derived(suffix);
    part.origin = user.origin;
    match &user.routed {
        Some(routed) => part.routed = Some(Routed::new(parts, routed.stamp)),
        None => part.parts = parts,
    }
    Message::User(part)
}

/// Where a prefix ends that is worth keeping. It depends on what stands before it alone and moves when the prefix can be
/// twice as long, so that the requests of a conversation find what an earlier one had kept.
fn cut(messages: &[Arc<Message>], head: u64) -> Option<Cut> {
    let (mut tokens, mut goal) = (head, LEAST_TOKENS);
    let mut best = None;
    let mut reached = |cut: Cut, tokens: u64| {
        if tokens >= goal {
            best = Some(cut);
            while goal <= tokens {
                goal = goal.saturating_mul(2);
            }
        }
    };
    for (message, given) in messages.iter().enumerate() {
        let Message::User(user) = &**given else {
            tokens = tokens.saturating_add(tokens_of(given));
            continue;
        };
        let shown = user.shown();
        let says = |part: &UserPart| !matches!(part, UserPart::Object(tree) if tree.is_blank());
        if shown.iter().any(says) {
            reached(Cut { message, part: 0 }, tokens);
        }
        // Documents in front of a question.
        let question = shown.iter().rev().take_while(|part| !matches!(part, UserPart::Document(_)));
        let part = shown.len().saturating_sub(question.clone().count());
        let before: u64 = shown.iter().take(part).map(tokens_of_content).sum();
        if part > 0 && question.into_iter().any(says) {
            reached(Cut { message, part }, tokens.saturating_add(before));
        }
        tokens = tokens.saturating_add(tokens_of(given));
    }
    best
}

/// About how many tokens a message has.
fn tokens_of(message: &Message) -> u64 {
    match message {
        Message::System(message) => message.parts.iter().map(|part| tokens_of_text(part.text().len())).sum(),
        Message::User(message) => message.shown().iter().map(tokens_of_content).sum(),
        Message::Assistant(message) => {
            let calls = message.tool_calls().map(|call| call.arguments.raw().len()).sum::<usize>();
            tokens_of_text(message.text().len() + calls)
        }
        Message::ToolResults(message) => message.results.iter().fold(0, |sum, result| {
            let attached: u64 = result.attached().iter().map(tokens_of_content).sum();
            sum + tokens_of_text(result.tree.json().len()) + attached
        }),
        _ => 0,
    }
}

fn tokens_of_content(content: &UserPart) -> u64 {
    match content {
        UserPart::Text(part) => tokens_of_text(part.text().len()),
        UserPart::Object(tree) => tokens_of_text(tree.json().len()),
        UserPart::Document(document) => tokens_of_document(document),
        _ => 0,
    }
}

fn tokens_of_text(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX) / 4
}

/// The API counts pages and seconds; bytes are a rough measure of both (gemini.md 12).
fn tokens_of_document(document: &Document) -> u64 {
    let bytes = document.size().unwrap_or(0);
    match document.media_type().kind() {
        MediaKind::Text => bytes / 4,
        MediaKind::Image => 258,
        MediaKind::Pdf => (bytes / 200).max(258),
        MediaKind::Audio => bytes / 500,
        MediaKind::Video => bytes / 800,
        _ => 0,
    }
}

/// The parts of a request that a prefix depends on besides its messages.
fn digest_of_head(ask: Ask<'_>, head: &Head, cut: Cut) -> Result<Key> {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        digest.update(text);
    };
    add(&ask.codec.url("")?);
    add(ask.codec.model());
    add(ask.key.map_or("", Secret::expose));
    for (name, value) in ask.settings.extra_headers.iter() {
        if name == "authorization" || name == "x-goog-api-key" {
            add(value.expose());
        }
    }
    // A prefix that was looked at is not rendered again, so what it names counts here.
    for message in ask.request.messages.iter().take(cut.until()) {
        match ask.request.files.variant(message) {
            0 => {}
            variant => add(&variant.to_string()),
        }
    }
    add(&head.system);
    add(&head.tools);
    add(&head.tool_config.as_ref().map(Value::to_string).unwrap_or_default());
    Ok(digest.finalize().into())
}

#[cfg(test)]
mod tests {
    use attache_core::{AssistantMessage, AssistantPart};

    use super::*;

    fn user(bytes: usize) -> Arc<Message> {
        Message::user("x".repeat(bytes)).shared()
    }

    fn answer(bytes: usize) -> Arc<Message> {
        Message::Assistant(AssistantMessage::new([AssistantPart::text("y".repeat(bytes))])).shared()
    }

    // P29
    #[test]
    fn a_prefix_moves_when_it_can_be_twice_as_long() {
        let mut messages = vec![user(100)];
        let mut cuts = Vec::new();
        for _ in 0..40 {
            cuts.push(cut(&messages, 0).map(|cut| cut.message));
            messages.extend([answer(2_000), user(2_000)]);
        }
        let moves = cuts.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(cuts[0], None);
        assert_eq!(moves, 4, "{cuts:?}");
        let last = cuts.last().copied().flatten().unwrap();
        assert!(last > 20 && last % 2 == 0, "the rest begins with the user: {last}");
    }

    #[test]
    fn instructions_alone_are_worth_keeping_and_the_question_never_is() {
        assert_eq!(cut(&[user(10)], LEAST_TOKENS), Some(Cut { message: 0, part: 0 }));
        assert_eq!(cut(&[user(100_000)], 0), None, "a request needs contents of its own");
        let pdf = Document::from_bytes(vec![b'%'; 4 << 20], "application/pdf");
        let asked =
            Message::User(UserMessage::new([pdf.clone().into(), UserPart::text("what is it?")])).shared();
        let at = cut(&[Arc::clone(&asked)], 0).unwrap();
        assert_eq!(at, Cut { message: 0, part: 1 });
        let kept = kept(&[asked], at);
        assert!(matches!(&*kept[0], Message::User(user) if user.parts == [UserPart::Document(pdf.clone())]));
        let behind = Message::User(UserMessage::new([UserPart::text("what is it?"), pdf.into()])).shared();
        assert_eq!(cut(&[behind], 0), None);
    }
}
