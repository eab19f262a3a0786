use attache_core::message::{NOTICE, UserOrigin};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, MessageId, ToolCall, ToolResult, ToolResultsMessage,
    UserMessage, UserPart,
};
use proptest::prelude::*;

use super::*;
use crate::memory::turns::PAUSED;

/// s system, u user, a answer, p paused reply, c call, r results, d synthetic documents, e event, n notice of the loop,
/// in the order of the letters.
fn history(letters: &str) -> Vec<Arc<Message>> {
    let call = ToolCall::new("t", Arguments::new("{}"));
    let build = |(at, letter): (usize, char)| {
        let message = match letter {
            's' => Message::system("s"),
            'u' => Message::user("u"),
            'a' => Message::assistant("a"),
            'p' => {
                let mut reply = AssistantMessage::new([AssistantPart::text("p")]);
                reply.metadata = reply.metadata.with(PAUSED, true);
                Message::Assistant(reply)
            }
            'c' => Message::Assistant(AssistantMessage::new([call.clone().into()])),
            'r' => Message::ToolResults(ToolResultsMessage::new([ToolResult::ok(&call, "r")])),
            'd' | 'e' | 'n' => {
                let mut user = UserMessage::new([UserPart::text("d")]);
                user.origin = if letter == 'd' { UserOrigin::ToolCallDocuments } else { UserOrigin::Event };
                if letter == 'n' {
                    user.metadata = user.metadata.with(NOTICE, true);
                }
                Message::User(user)
            }
            _ => unreachable!(),
        };
        message.with_id(MessageId::parse(format!("{at}{letter}")).unwrap()).shared()
    };
    letters.chars().enumerate().map(build).collect()
}

fn letters(messages: &[Arc<Message>]) -> String {
    messages
        .iter()
        .filter_map(|message| message.id().as_str().chars().find(char::is_ascii_alphabetic))
        .collect()
}

fn seen(max: usize, low: usize, letters_in: &str) -> String {
    letters(&MessageWindow::new(max).with_low_mark(low).apply(&history(letters_in)))
}

fn of_turns(turns: usize, low: usize, letters_in: &str) -> String {
    letters(&MessageWindow::turns(turns).with_low_mark(low).apply(&history(letters_in)))
}

#[test]
fn a_window_of_turns_shows_whole_turns_however_long() {
    assert_eq!(of_turns(3, 3, "suauauaua"), "suauaua");
    assert_eq!(
        of_turns(2, 2, "sucrdcrdcraucrdcrdcrauuu"),
        "sucrdcrdcrauuu",
        "messages that open a turn are one"
    );
    assert_eq!(of_turns(1, 1, "ucrcrcrcra"), "ucrcrcrcra");
    assert_eq!(of_turns(1, 1, "auau"), "u", "what stands before the first turn leaves with the first move");
    assert_eq!(of_turns(4, 2, "uauauaua"), "uauauaua");
    assert_eq!(of_turns(4, 2, "uauauauau"), "uau", "down to the low mark");
    assert_eq!(of_turns(4, 2, "uauauauauaua"), "uauaua", "and there it stays");
    assert_eq!(MessageWindow::turns(0), MessageWindow::turns(1));
}

#[test]
fn system_messages_stay_where_rounds_leave() {
    assert_eq!(seen(4, 3, "ucrscrcr"), "ucscr", "behind a marker");
}

// C21, C22; documents.md 8.9 #115 to #120
#[test]
fn whole_turns_leave() {
    assert_eq!(seen(4, 4, "suaua"), "suaua", "the system prompt does not count");
    assert_eq!(seen(4, 4, "suauau"), "suau");
    assert_eq!(seen(2, 2, "ucra"), "ucra", "the newest turn stays, its only round too");
    assert_eq!(seen(3, 3, "ucrdau"), "u");
    assert_eq!(
        seen(1, 1, "ucrducra"),
        "ucucra",
        "what an author says during a turn stays with it, behind a marker"
    );
    assert_eq!(seen(5, 5, "ucrdau"), "ucrdau", "document messages are free");
    assert_eq!(seen(40, 30, ""), "");
}

// runtime.md 18: eviction in blocks
#[test]
fn a_cut_goes_down_to_the_low_mark_and_stays() {
    let window = MessageWindow::new(6).with_low_mark(2);
    let mut state = Standing::default();
    let all = history("uauauauauaua");
    let starts: Vec<String> =
        (1..=12).map(|len| letters(&window.see(&all[..len], usize::MAX, &mut state).messages)).collect();
    assert_eq!(starts[5], "uauaua");
    assert_eq!(starts[6], "u", "over the limit: down to the low mark");
    assert_eq!(starts[11], "uauaua", "the start stays until the limit is passed again");
}

// documents.md 9.2 D15; runtime.md 32 #1, #2
#[test]
fn a_long_turn_loses_its_oldest_rounds() {
    assert_eq!(seen(5, 5, "uaucrdcrcr"), "uccrcr", "the marker's id derives from what follows it");
    let window = MessageWindow::new(5).with_low_mark(5).apply(&history("uaucrdcrcr"));
    let Message::User(marker) = &*window[1] else { panic!("a marker stands behind the user message") };
    assert!(format!("{:?}", marker.parts).contains("1 earlier rounds"));
    assert_eq!(seen(3, 3, "scrdee"), "scrdee", "a window without a user message is left alone");
}

// A conversation from elsewhere may have lost its beginning.
#[test]
fn messages_before_the_first_turn_leave_first() {
    assert_eq!(seen(2, 2, "aua"), "ua");
    assert_eq!(seen(4, 4, "sauaua"), "suaua");
}

// A server tool that a paused reply calls is answered in the reply that goes on with it.
#[test]
fn a_paused_reply_stays_with_what_goes_on_with_it() {
    assert_eq!(seen(4, 4, "ucrpcr"), "uppcr", "behind a marker");
    assert_eq!(seen(5, 1, "upcrppcr"), "upppcr", "behind a marker");
    assert_eq!(seen(3, 3, "upcrpcrcr"), "uccr", "behind a marker");
    assert_eq!(seen(1, 1, "uppcr"), "uppcr", "it is the only round");
}

#[test]
fn a_turn_that_fits_keeps_its_rounds() {
    assert_eq!(seen(5, 2, "uaucrcr"), "ucrcr", "as long as the window, though longer than the low mark");
    assert_eq!(seen(4, 4, "uaucrcr"), "uccr");
}

// A mark says where the window begins, once the provider has refused more.
#[test]
fn a_mark_lets_whole_turns_and_rounds_leave_before_its_first_message() {
    let all = history("uaucrcr");
    let begun = |from: &str| {
        let mut marks = Standing::default();
        MessageWindow::new(40).see(&all, usize::MAX, &mut marks);
        marks.follow(&Mark::new(MessageId::parse(from).unwrap()), &all);
        letters(&marks.visible(&all))
    };
    assert_eq!(begun("0u"), "uaucrcr");
    assert_eq!(begun("1a"), "uaucrcr", "it is in a turn that stays");
    assert_eq!((begun("2u").as_str(), begun("3c").as_str()), ("ucrcr", "ucrcr"));
    assert_eq!(begun("5c"), "uccr", "behind a marker");
    assert_eq!(begun("gone"), "uaucrcr");
}

// Another memory made them for what it shows itself.
#[test]
fn a_window_goes_by_marks_of_its_own_alone() {
    let shown = |of_window, summary: Option<&str>| {
        let mut all = history("uaua");
        let from = MessageId::parse("2u").unwrap();
        let mark = Mark { of_window, summary: summary.map(str::to_owned), ..Mark::new(from) };
        all.push(mark.into_message().with_id(MessageId::parse("4m").unwrap()).shared());
        letters(&MessageWindow::new(40).apply(&all))
    };
    assert_eq!((&*shown(true, None), &*shown(false, None)), ("ua", "uaua"));
    assert_eq!(shown(false, Some("They met.")), "uauam", "a summary is a message");
}

// The rounds that left are counted once, also when their turn leaves.
#[test]
fn a_window_is_never_longer_than_it_may_be() {
    let window = MessageWindow::new(5).with_low_mark(5);
    let all = history("ucrcrcrauauauaua");
    let mut marks = Standing::default();
    for len in 1..=all.len() {
        let shown = window.see(&all[..len], usize::MAX, &mut marks).messages;
        let marker = usize::from(letters(&shown).starts_with("uc") && len > 5 && len < 9);
        assert!(shown.len() <= 5 + marker, "{} after {len}", letters(&shown));
    }
}

// The loop says that the last reply was empty: the task under way goes on.
#[test]
fn a_notice_opens_no_turn() {
    assert_eq!(seen(6, 6, "uancrcr"), "uccr");
    assert_eq!(seen(6, 6, "uaecrcr"), "ecrcr");
}

#[test]
fn events_belong_to_their_round() {
    assert_eq!(seen(6, 6, "ucreaucra"), "ucra");
    assert_eq!(seen(3, 3, "uaeae"), "eae", "an event after an answer opens a turn");
}

fn conversation() -> impl Strategy<Value = String> {
    let round = prop_oneof![Just("cr"), Just("crd"), Just("cre"), Just("crde"), Just("pcr"), Just("ppcrd")];
    let turn = (prop::collection::vec(round, 0..4), any::<bool>())
        .prop_map(|(rounds, answered)| format!("u{}{}", rounds.concat(), if answered { "a" } else { "" }));
    (any::<bool>(), prop::collection::vec(turn, 1..8))
        .prop_map(|(system, turns)| format!("{}{}", if system { "s" } else { "" }, turns.concat()))
}

proptest! {
    // Invariant 3, C22: pairs and documents stay together, the newest turn's user message stays
    #[test]
    fn nothing_is_torn_apart(letters_in in conversation(), max in 1_usize..12, low in 1_usize..12) {
        let window = MessageWindow::new(max).with_low_mark(low);
        let all = history(&letters_in);
        let mut state = Standing::default();
        for len in 1..=all.len() {
            let shown = window.see(&all[..len], usize::MAX, &mut state).messages;
            let text = letters(&shown);
            let body = text.strip_prefix('s').unwrap_or(&text);
            prop_assert!(body.starts_with('u') || body.is_empty(), "{} of {}", text, &letters_in[..len]);
            prop_assert!(!body.contains("ur") && !body.contains("ud") && !body.contains("ad"), "{}", text);
            let last_user = all[..len].iter().rfind(|m| m.id().as_str().ends_with('u'));
            prop_assert!(last_user.is_none_or(|user| shown.iter().any(|m| m.id() == user.id())));
            let shows = |message: &Arc<Message>| shown.iter().any(|m| m.id() == message.id());
            let paused = all[..len].windows(2).filter(|two| two[0].id().as_str().ends_with('p'));
            prop_assert!(paused.clone().all(|two| shows(&two[0]) || !shows(&two[1])), "{}", text);
            prop_assert!(shown.last().map(|m| m.id()) == all[..len].last().map(|m| m.id()));
        }
    }

    // Invariant 4: between cuts, what was shown stays a prefix of what is shown next
    #[test]
    fn what_was_shown_stays_a_prefix(letters_in in conversation(), max in 1_usize..12) {
        let window = MessageWindow::new(max);
        let all = history(&letters_in);
        let mut state = Standing::default();
        let mut before: Vec<MessageId> = Vec::new();
        for len in 1..=all.len() {
            let window = window.see(&all[..len], usize::MAX, &mut state);
            let ids: Vec<MessageId> = window.messages.iter().map(|m| m.id().clone()).collect();
            if window.evicted == 0 {
                prop_assert!(ids.starts_with(&before), "{} of {}", letters(&window.messages), &letters_in[..len]);
            }
            before = ids;
        }
    }
}
