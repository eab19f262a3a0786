//! How messages stand next to each other: what is joined, what is put between, what goes elsewhere.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use attache_core::{AssistantMessage, AssistantPart, Message};
use attache_transport::Fill::Text;
use attache_transport::{ItemWriter, behind, template};

use super::messages::Renderer;
use crate::profile::SystemPlace;

/// The messages of a request and their places. Only what a message's rendering depends on is looked at, so that a
/// message that is known costs nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns<'a> {
    renderer: Renderer<'a>,
    messages: &'a [Arc<Message>],
    /// The number of messages of instructions at the start that are part of the first message.
    leading: usize,
    /// Neither neighbours nor files make a difference, but for the calls before results.
    is_plain: bool,
}

/// Where a message is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// In its place, in its own role.
    Here,
    /// In its place, in the words of the user.
    AsUser,
    /// With an earlier message, or not at all.
    Nowhere,
}

/// The side whose turn a message is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    User,
    Assistant,
    Results,
    Other,
}

const PLAIN: u64 = 0;
const IN_HEAD: u64 = 1;
const AS_USER: u64 = 2;
const JOINED: u64 = 3;

impl<'a> Turns<'a> {
    pub(super) fn new(renderer: Renderer<'a>, messages: &'a [Arc<Message>], leading: usize) -> Self {
        let mut turns = Self { renderer, messages, leading, is_plain: false };
        turns.is_plain = !turns.alternates() && !turns.bridges() && renderer.request.files.is_empty();
        turns
    }

    /// A number that differs where what stands around a message makes a difference to its rendering. It is asked for
    /// each message of each request.
    #[inline]
    pub(super) fn variant(&self, at: usize, message: &Message) -> u64 {
        match message {
            Message::User(_) | Message::Assistant(_) if self.is_plain => PLAIN,
            Message::ToolResults(_) if self.is_plain => behind(self.messages, at),
            _ => self.variant_among(at),
        }
    }

    /// Apart, since the few that need it would make all others slower.
    #[inline(never)]
    fn variant_among(&self, at: usize) -> u64 {
        self.place_variant(at) ^ self.files_variant(at)
    }

    /// A number that differs where a message's neighbours make a difference to its rendering.
    fn place_variant(&self, at: usize) -> u64 {
        match self.messages.get(at).map(|message| &**message) {
            Some(Message::System(_)) if at < self.leading => return IN_HEAD,
            // Results repeat the ids of the calls before them.
            Some(Message::ToolResults(_)) => return behind(self.messages, at),
            _ => {}
        }
        let own = self.own_place(at);
        if self.alternates() || self.bridges() {
            if self.place(at) == Place::Nowhere {
                return JOINED;
            }
            let followers: Vec<_> = self.members(at).into_iter().skip(1).collect();
            let bridged = self.is_bridged(at);
            if bridged || !followers.is_empty() {
                let mut hasher = DefaultHasher::new();
                (bridged, own == Place::AsUser).hash(&mut hasher);
                for follower in followers {
                    (follower.id(), follower.stamp()).hash(&mut hasher);
                }
                return hasher.finish();
            }
        }
        if own == Place::AsUser { AS_USER } else { PLAIN }
    }

    /// A number that differs where the references to the documents that are written at a message's place differ.
    fn files_variant(&self, at: usize) -> u64 {
        let files = &self.renderer.request.files;
        if files.is_empty() || self.place(at) == Place::Nowhere {
            return 0;
        }
        let variants = self.members(at).into_iter().map(|message| files.variant(message));
        variants.fold(0, |all, variant| all.rotate_left(7) ^ variant)
    }

    /// Where a message is written.
    pub(super) fn place(&self, at: usize) -> Place {
        if !self.alternates() {
            return self.own_place(at);
        }
        match self.side(at) {
            None => Place::Nowhere,
            Some(side @ (Side::User | Side::Assistant)) if self.before(at) == Some(side) => Place::Nowhere,
            Some(_) => self.own_place(at),
        }
    }

    /// The messages that are written as one with the message at `at`, which is the first of them.
    pub(super) fn members(&self, at: usize) -> Vec<&'a Message> {
        let Some(first) = self.messages.get(at) else { return Vec::new() };
        let mut members = vec![&**first];
        let side = self.alternates().then(|| self.side(at)).flatten();
        let Some(side @ (Side::User | Side::Assistant)) = side else { return members };
        for (next, message) in self.messages.iter().enumerate().skip(at + 1) {
            match self.side(next) {
                None => {}
                Some(other) if other == side => members.push(&**message),
                Some(_) => break,
            }
        }
        members
    }

    /// Several replies as one; `None` if there is only the one at `at`.
    pub(super) fn joined(&self, at: usize) -> Option<AssistantMessage> {
        let members = if self.alternates() { self.members(at) } else { return None };
        if members.len() < 2 {
            return None;
        }
        let mut parts: Vec<Option<AssistantPart>> = Vec::new();
        for member in members {
            let Message::Assistant(assistant) = member else { continue };
            let mut apart = parts.iter().flatten().any(|part| matches!(part, AssistantPart::Text(_)));
            parts.extend(assistant.parts.iter().map(|part| match part {
                AssistantPart::Text(text) if std::mem::take(&mut apart) => {
                    AssistantPart::text(format!("\n\n{}", text.text()))
                }
                part => Some(part.clone()),
            }));
        }
        Some(AssistantMessage::new(parts))
    }

    /// Writes what stands between results and the user's message at `at`, if something must (openai.md D 17).
    pub(super) fn bridge(&self, at: usize, out: &mut ItemWriter<'_>) {
        if self.is_bridged(at) {
            out.fill(
                template!(r#"{"role":"assistant","content":$},"#),
                &[Text(&self.renderer.server.profile.bridge)],
            );
        }
    }

    fn is_bridged(&self, at: usize) -> bool {
        self.bridges() && self.side(at) == Some(Side::User) && self.before(at) == Some(Side::Results)
    }

    fn alternates(&self) -> bool {
        self.renderer.server.profile.alternating
    }

    fn bridges(&self) -> bool {
        !self.renderer.server.profile.bridge.is_empty()
    }

    fn own_place(&self, at: usize) -> Place {
        match self.messages.get(at).map(|message| &**message) {
            Some(Message::System(_)) if at < self.leading => Place::Nowhere,
            Some(Message::System(_))
                if self.renderer.server.profile.system_place == SystemPlace::MergedFirst =>
            {
                Place::AsUser
            }
            _ => Place::Here,
        }
    }

    /// The side whose turn it is; `None` if nothing of the message is seen in its place.
    fn side(&self, at: usize) -> Option<Side> {
        let message = self.messages.get(at)?;
        match (&**message, self.own_place(at)) {
            (_, Place::Nowhere) => None,
            (Message::System(system), place) => {
                let side = if place == Place::AsUser { Side::User } else { Side::Other };
                (!system.parts.is_empty()).then_some(side)
            }
            (Message::User(user), _) => (!Renderer::is_silent(user)).then_some(Side::User),
            (Message::Assistant(assistant), _) => {
                self.renderer.says_something(assistant).then_some(Side::Assistant)
            }
            (Message::ToolResults(results), _) => (!results.results.is_empty()).then_some(Side::Results),
            _ => Some(Side::Other),
        }
    }

    /// The side whose turn it was before.
    fn before(&self, at: usize) -> Option<Side> {
        (0..at).rev().find_map(|before| self.side(before))
    }
}
