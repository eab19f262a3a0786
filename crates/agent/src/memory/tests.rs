use attache_core::capability::Matrix;
use attache_core::message::{Metadata, UserOrigin};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Document, DocumentId, MessageId, ModelCapabilities, ToolCall,
    ToolDefinition, ToolResult, ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use proptest::prelude::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_core::{Message, Role};

use super::*;
use crate::memory::turns::PAUSED;

/// Letters as messages: s system, u user, p pinned user, e event, a answer, h reply that the provider paused, c call, k pinned
/// call, r results. Each has its place as id.
fn history(letters: &str) -> Vec<Arc<Message>> {
    let mut call = None;
    let build = |(at, letter): (usize, char)| {
        let text = "word ".repeat(30 + at * 7 % 90);
        let message = match letter {
            's' => Message::system("Be brief."),
            'u' => Message::user(text),
            'p' => {
                let pinned = Metadata::new().with(PINNED, true);
                Message::User(UserMessage::new([UserPart::text(text)]).with_metadata(pinned))
            }
            'e' => {
                let mut event = UserMessage::new([UserPart::text(text)]);
                event.origin = UserOrigin::Event;
                Message::User(event)
            }
            'a' => Message::assistant(text),
            'h' => {
                let mut reply = AssistantMessage::new([AssistantPart::text(text)]);
                reply.metadata = Metadata::new().with(PAUSED, true);
                Message::Assistant(reply)
            }
            'c' | 'k' => {
                let made = ToolCall::new("t", Arguments::new("{}"));
                call = Some(made.clone());
                let mut reply = AssistantMessage::new([made.into()]);
                reply.metadata = Metadata::new().with(PINNED, letter == 'k');
                Message::Assistant(reply)
            }
            _ => {
                let made = call.take().unwrap();
                Message::ToolResults(ToolResultsMessage::new([ToolResult::ok(&made, &text.repeat(3))]))
            }
        };
        message.with_id(MessageId::parse(format!("{at}{letter}")).unwrap()).shared()
    };
    letters.chars().enumerate().map(build).collect()
}

fn conversation() -> impl Strategy<Value = String> {
    let question = prop_oneof![4 => Just("u"), 1 => Just("p"), 1 => Just("e"), 1 => Just("ue")];
    let round = prop_oneof![5 => Just("cr"), 1 => Just("kr")];
    let rounds = prop::collection::vec(round, 0..5);
    let turn = (question, rounds, any::<bool>()).prop_map(|(question, rounds, answered)| {
        format!("{question}{}{}", rounds.concat(), if answered { "a" } else { "" })
    });
    (any::<bool>(), prop::collection::vec(turn, 1..10))
        .prop_map(|(system, turns)| format!("{}{}", if system { "s" } else { "" }, turns.concat()))
}

/// A run as far as memory is concerned.
struct World {
    tools: Arc<ToolSet>,
    capabilities: ModelCapabilities,
    history: Vec<Arc<Message>>,
    marks: Marks,
    failed_at: Option<u64>,
    made: usize,
}

impl World {
    fn new() -> Self {
        let capabilities = Matrix::bundled().resolve("openai-chat", "gpt-4o");
        Self {
            tools: Arc::default(),
            capabilities,
            history: Vec::new(),
            marks: Marks::default(),
            failed_at: None,
            made: 0,
        }
    }

    fn look(&mut self, memory: &dyn Memory, is_full: bool) -> Look {
        let past = Past {
            history: &self.history,
            task: usize::MAX,
            tools: &self.tools,
            capabilities: &self.capabilities,
            result_chars: 50_000,
            reader: None,
            read_tokens: None,
            counted: None,
            failed_at: self.failed_at,
            is_full,
        };
        memory.look(&past, &mut self.marks)
    }

    fn push(&mut self, mark: Mark) {
        self.made += 1;
        let id = MessageId::parse(format!("m{}", self.made)).unwrap();
        self.history.push(mark.into_message().with_id(id).shared());
        self.failed_at = None;
    }

    /// The messages that are shown, and how many decisions came before.
    fn shown(&mut self, memory: &dyn Memory, fails: bool) -> (Vec<Arc<Message>>, usize) {
        for decisions in 0..5 {
            match self.look(memory, false) {
                Look::Show { messages, .. } => return (messages, decisions),
                Look::Move(mark) => self.push(*mark),
                Look::Summarise(order) => {
                    // As long as it may be.
                    let most = usize::try_from(order.max_tokens.min(order.replaces / 2)).unwrap();
                    let made = if fails { Err(String::new()) } else { order.finished(&"word ".repeat(most)) };
                    match made {
                        Ok(mark) => self.push(mark),
                        Err(_) => self.failed_at = Some(order.mark.tokens),
                    }
                }
            }
        }
        panic!("the memory decides without end");
    }
}

fn letters(messages: &[Arc<Message>]) -> String {
    messages
        .iter()
        .filter_map(|message| message.id().as_str().chars().find(|c| c.is_ascii_alphabetic()))
        .collect()
}

fn small(memory: u8) -> Box<dyn Memory> {
    match memory {
        0 => Box::new(Compaction::new().with_threshold(900).with_recent(200).with_ceiling(500)),
        1 => Box::new(
            Compaction::new().with_threshold(700).with_recent(300).with_ceiling(500).with_clearing(false),
        ),
        _ => Box::new(TokenWindow::new(800)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // A50, A51: it never loops, tears nothing apart, and keeps the newest question and what is pinned; R01, R02, R03
    #[test]
    fn no_memory_of_tokens_loops_or_tears_anything_apart(text in conversation(), memory in 0_u8..3, fails in any::<bool>()) {
        let memory = small(memory);
        let mut world = World::new();
        let mut before: Vec<MessageId> = Vec::new();
        for message in history(&text) {
            let asks = matches!(&*message, Message::User(_) | Message::ToolResults(_));
            world.history.push(message);
            if !asks {
                continue;
            }
            let (shown, decisions) = world.shown(&*memory, fails);
            prop_assert!(decisions <= 2, "{decisions} decisions");
            let seen = letters(&shown);
            prop_assert!(!seen.replace("cr", "").replace("kr", "").contains(['c', 'k', 'r']), "{} of {}", seen, text);
            let body = seen.trim_start_matches(['s', 'm']);
            prop_assert!(body.starts_with(['u', 'p', 'e']) || seen.contains('m'), "{}", seen);
            prop_assert!(!body.contains('m'), "a mark stands in {} of {}", seen, text);
            let is = |id: &str| shown.iter().any(|message| message.id().as_str() == id);
            let met = letters(&world.history).replace('m', "");
            let opening = opening(&met);
            let question = met[opening.start..].rfind(['u', 'p']).map(|at| opening.start + at);
            for at in opening.chain(question) {
                prop_assert!(is(&format!("{at}{}", &met[at..=at])), "{} without {} of {}", seen, at, met);
            }
            for (at, letter) in text.char_indices() {
                let id = format!("{at}{letter}");
                let is_met = world.history.iter().any(|message| message.id().as_str() == id);
                let is_pinned = letter == 'p' || letter == 'k' || text[..at].ends_with('k');
                prop_assert!(!(is_met && is_pinned) || is(&id), "{} without {} of {}", seen, id, text);
            }
            // Invariant 4
            let ids: Vec<MessageId> = shown.iter().map(|message| message.id().clone()).collect();
            if decisions == 0 {
                prop_assert!(ids.starts_with(&before), "{}", seen);
            }
            before = ids;
            // A run that is resumed sees the same.
            world.marks = Marks::default();
            let (again, decisions) = world.shown(&*memory, fails);
            prop_assert_eq!(decisions, 0);
            prop_assert_eq!(letters(&again), seen);
        }
    }

    // A50: what is left has at most the ceiling, or nothing more could leave
    #[test]
    fn what_is_left_keeps_the_ceiling(text in conversation()) {
        let memory = Compaction::new().with_threshold(900).with_recent(400).with_ceiling(500);
        let mut world = World::new();
        for message in history(&text) {
            let asks = matches!(&*message, Message::User(_) | Message::ToolResults(_));
            world.history.push(message);
            if asks {
                let (shown, decisions) = world.shown(&memory, false);
                if decisions > 0 {
                    // The newest round, or the newest turn where no reply came yet.
                    let met = letters(&world.history).replace('m', "");
                    let begins = met.rfind(['a', 'c', 'k']).into_iter().chain([opening(&met).start]).max();
                    let begins = begins.map(|at| format!("{at}{}", &met[at..=at])).unwrap();
                    let newest = shown.iter().position(|message| message.id().as_str() == begins).unwrap();
                    let kept = world.history.iter().rev().find_map(|message| Mark::of(message)).unwrap().keeps;
                    let stays = |(at, message): (usize, &Arc<Message>)| {
                        at >= newest || message.id().as_str().starts_with('m') || kept.contains(message.id())
                            || is_pinned(message) || at > 0 && is_pinned(&shown[at - 1]) && message.role() == Role::ToolResults
                    };
                    let stay: usize = shown.iter().enumerate().filter(|entry| stays(*entry)).map(|(_, message)| words(message)).sum();
                    let all: usize = shown.iter().map(words).sum();
                    // Lengths are estimated, and rounded for each message.
                    prop_assert!(all <= 500 + shown.len() || all == stay, "{all} words in {} of {}, of which {stay} stay", letters(&shown), text);
                }
            }
        }
    }
}

/// The messages with which the turn under way begins. One goes on where no answer stands before what is said.
fn opening(met: &str) -> std::ops::Range<usize> {
    let mut end = met.len();
    while let Some(last) = met[..end].rfind(['u', 'p', 'e']) {
        end = met[..=last].trim_end_matches(['u', 'p', 'e']).len();
        if end == 0 || met[..end].ends_with(['s', 'a']) {
            return end..last + 1;
        }
    }
    0..0
}

fn is_pinned(message: &Message) -> bool {
    message.metadata().get(PINNED).is_some_and(|pinned| pinned == true)
}

/// Each word of these texts is a token.
fn words(message: &Arc<Message>) -> usize {
    format!("{message:?}").matches("word").count()
}

// A50: forty documents that are named behind a summary take their part of the room
#[test]
fn documents_that_are_named_leave_the_ceiling_as_it_is() {
    let memory = Compaction::new().with_threshold(9_000).with_recent(2_500).with_ceiling(4_000);
    let mut world = World::new();
    for n in 0..60 {
        let lease = Document::stored(DocumentId::new(), "main", "text/plain").with_size(100);
        let lease =
            lease.with_file_name(format!("the lease of the flat number {n} in the street of the old town"));
        world.history.push(Message::User(UserMessage::text("Read it.").attach(lease)).shared());
        world.history.push(Message::assistant("word ".repeat(150)).shared());
    }
    world.history.push(Message::user("And now?").shared());
    let (shown, decisions) = world.shown(&memory, false);
    assert!(decisions > 0 && format!("{:?}", shown[0]).contains(" older ones"), "{:?}", shown[0]);
    let left = message_tokens::of_request(&shown, &world.tools, &world.capabilities, 50_000);
    assert!((2_500..=4_000).contains(&left), "{left}");
}

#[test]
fn a_provider_that_is_full_makes_any_memory_act() {
    for memory in 0..3 {
        let memory = small(memory);
        let mut world = World::new();
        world.history = history("suauaua")[..4].to_vec();
        assert!(matches!(world.look(&*memory, false), Look::Show { .. }));
        assert!(!matches!(world.look(&*memory, true), Look::Show { .. }), "it was refused");
    }
}

#[test]
fn a_pinned_round_keeps_its_results_where_old_ones_are_cleared() {
    let memory = Compaction::new().with_threshold(1_000).with_recent(400).with_ceiling(800);
    let mut world = World::new();
    world.history = history("ukrcrcrcrcr");
    let (shown, decisions) = world.shown(&memory, false);
    let ids: Vec<&str> = shown.iter().map(|message| message.id().as_str()).collect();
    assert_eq!((decisions, &ids[..3]), (1, &["0u", "1k", "2r"][..]), "{ids:?}");
    assert!(ids.contains(&"4r.cleared"), "{ids:?}");
}

// They are one reply to the provider, also where the memory decided before it was continued.
#[test]
fn a_paused_reply_stays_with_its_continuation_behind_a_mark() {
    for memory in 0..3 {
        let memory = small(memory);
        let all = history("ucrcrhcrcrcr");
        for more in 6..=all.len() {
            let mut world = World::new();
            world.history = all[..6].to_vec();
            for until in [6, more] {
                world.history.extend(all[6.min(until)..until].iter().cloned());
                match world.look(&*memory, true) {
                    Look::Show { .. } => {}
                    Look::Move(mark) => world.push(*mark),
                    Look::Summarise(order) => world.push(order.finished("It went on.").unwrap()),
                }
            }
            assert!(Mark::of(&world.history[6]).is_some(), "the memory decided behind the paused reply");
            let (shown, _) = world.shown(&*memory, false);
            let is = |id: &str| shown.iter().any(|message| message.id().as_str() == id);
            assert_eq!(is("6c"), is("5h") && more > 6, "{} of {more}", letters(&shown));
        }
    }
}

// Invariant 15
#[test]
fn a_conversation_that_stays_too_long_is_not_read_again_at_each_step() {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&counted);
    let counter = move |text: &str| {
        count.fetch_add(1, Ordering::Relaxed);
        text.split_whitespace().count() as u64
    };
    let memory = Compaction::new()
        .with_threshold(20_000)
        .with_ceiling(20_000)
        .with_recent(15_000)
        .with_counter(counter);
    let mut world = World::new();
    let (mut tokens, mut stuck) = (0, 0);
    for message in history(&"ua".repeat(150)) {
        tokens += words(&message) + 4;
        world.history.push(message);
        counted.store(0, Ordering::Relaxed);
        let Look::Show { messages, .. } = world.look(&memory, false) else { break };
        assert_eq!(messages.len(), world.history.len());
        let calls = counted.load(Ordering::Relaxed);
        // The new message, and the marker that would stand in the place of what left.
        assert!(calls <= 2, "{calls} texts were counted at {tokens} tokens");
        stuck += usize::from(tokens > 20_000);
    }
    assert!(stuck > 20, "it was too long at {stuck} looks");
}

// A53: examples of arguments are sent, too
#[test]
fn examples_of_tools_are_counted() {
    let of = |examples: &[serde_json::Value]| {
        let tool = ToolDefinition::new("look", "Looks", serde_json::json!({"type": "object"}));
        let tools = Arc::new(ToolSet::new([tool.with_examples(examples.iter().cloned())]).unwrap());
        let row = Matrix::bundled().resolve("openai-chat", "gpt-4o");
        message_tokens::of_request(&[], &tools, &row, 1_000)
    };
    let example = serde_json::json!({"text": "word ".repeat(100)});
    assert!(of(&[example.clone(), example]) > of(&[]) + 200);
}

// The row says what a page costs, whatever the family of the model is called.
#[test]
fn documents_cost_what_the_row_of_their_model_says() {
    let lease = Document::stored(DocumentId::new(), "main", "application/pdf").with_size(250_000);
    let asked = [Message::User(UserMessage::new([lease.into()])).shared()];
    let tools = Arc::new(ToolSet::default());
    let of = |page_tokens| {
        let mut row = Matrix::bundled().resolve("gemini", "any");
        row.files.page_tokens = page_tokens;
        message_tokens::of_request(&asked, &tools, &row, 1_000)
    };
    // Three pages by its size.
    assert_eq!(of(Some(560)) - of(Some(500)), 3 * 60);
    assert_eq!(of(None) - of(Some(560)), 3 * (2_000 - 560));
}
