//! The recorded traffic of real providers, decoded as the index of an independent parser expects: at any chunking, with
//! members and events that nobody knows, and damaged.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

#[path = "cassettes/changes.rs"]
mod changes;
#[path = "cassettes/events.rs"]
mod events;
#[path = "cassettes/expected.rs"]
mod expected;
#[path = "cassettes/restated.rs"]
mod restated;

use std::collections::BTreeMap;
use std::sync::Arc;

use attache_core::StreamChunk;
use attache_openai::{ChatCodec, Profiles};
use attache_tests::recorded::{PROTOCOLS, Recorded, recordings};
use attache_transport::cassette::chunked;
use attache_transport::{Replay, replay};
use bytes::Bytes;
use http::StatusCode;

use changes::CHANGES;
use expected::{deltas, differences, raw_usage, shape};
use restated::{RESTATED, taken_up};

/// Those that are read, with how many there are: a recording that is lost shows.
const EXPECTED: [(&str, usize); 7] = [
    ("openai-chat", 109),
    ("openai-responses", 62),
    ("anthropic", 37),
    ("gemini", 36),
    ("bedrock-converse", 28),
    ("ollama", 11),
    ("cohere", 3),
];

fn read(recorded: &Recorded, chunks: &[Bytes]) -> Replay {
    let codec = recorded.codec().expect("the protocol is read");
    let status = StatusCode::from_u16(recorded.response.status).expect("recorded statuses are valid");
    replay(&*codec, status, &recorded.response.headers, chunks)
}

fn of_read_protocols() -> Vec<Recorded> {
    let mut all = recordings().expect("the recordings are there");
    all.retain(|recorded| PROTOCOLS.contains(&recorded.protocol.as_str()));
    all
}

fn joined(misses: &[String]) -> String {
    misses.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_recorded_is_left_out() {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for recorded in of_read_protocols() {
        *counted.entry(recorded.protocol).or_default() += 1;
    }
    let expected: BTreeMap<String, usize> =
        EXPECTED.iter().map(|(protocol, count)| ((*protocol).to_owned(), *count)).collect();
    assert_eq!(counted, expected);
}

// Invariant 6, P07 to P09: however the bytes are cut, the same comes out, and the deltas are the message
#[test]
fn recordings_replay_as_expected_at_any_chunking() {
    let mut misses = Vec::new();
    for recorded in of_read_protocols() {
        let body = recorded.response.body.bytes();
        let bytewise: Vec<Bytes> = (0..body.len()).map(|at| body.slice(at..=at)).collect();
        let chunkings =
            [vec![body.clone()], bytewise].into_iter().chain((0..5).map(|seed| chunked(&body, seed)));
        let mut first: Option<Vec<String>> = None;
        for chunks in chunkings {
            let replay = read(&recorded, &chunks);
            let mut found = differences(&replay, &recorded);
            found.extend(raw_usage(&replay, &recorded));
            let shape = shape(&replay);
            if first.get_or_insert_with(|| shape.clone()) != &shape {
                found.push("the chunking changes it".to_owned());
            }
            if !found.is_empty() {
                misses.push(format!("{}: {}", recorded.name, found.join("; ")));
                break;
            }
        }
    }
    assert!(misses.is_empty(), "{} differ:\n{}", misses.len(), joined(&misses));
}

// openai.md 0.4 1: closed enums never stand on the way of a reply
#[test]
fn added_missing_and_null_members_change_nothing() {
    let mut misses = Vec::new();
    let mut compared = 0;
    for recorded in of_read_protocols() {
        for (name, change) in CHANGES {
            let Some(body) = change(&recorded) else { continue };
            compared += 1;
            let found = differences(&read(&recorded, &[body]), &recorded);
            if !found.is_empty() {
                misses.push(format!("{}, {name}: {}", recorded.name, found.join("; ")));
            }
        }
    }
    let all: usize = EXPECTED.iter().map(|(_, count)| count).sum();
    assert!(compared > 3 * all, "{compared} changes to {all} recordings");
    assert!(misses.is_empty(), "{} of {compared} differ:\n{}", misses.len(), joined(&misses));
}

// A snapshot completes what was streamed of the same thing, and never adds to it by position
#[test]
fn a_thing_said_again_as_a_whole_adds_nothing() {
    let mut misses = Vec::new();
    let mut compared = std::collections::BTreeMap::<&str, usize>::new();
    for recorded in of_read_protocols() {
        for (name, change) in RESTATED {
            let Some(body) = change(&recorded) else { continue };
            *compared.entry(name).or_default() += 1;
            let found = differences(&read(&recorded, &[body]), &recorded);
            if !found.is_empty() {
                misses.push(format!("{}, {name}: {}", recorded.name, found.join("; ")));
            }
        }
    }
    let unused: Vec<&str> =
        RESTATED.iter().map(|(name, _)| *name).filter(|name| !compared.contains_key(name)).collect();
    assert!(unused.is_empty(), "in no recording: {unused:?}");
    let all: usize = compared.values().sum();
    assert!(misses.is_empty(), "{} of {all} differ:\n{}", misses.len(), joined(&misses));
}

// openai.md B.8: `GET /responses/{id}?stream=true&starting_after=…` yields the events behind one that was seen
#[test]
fn a_stream_taken_up_again_ends_in_the_whole_answer() {
    let mut misses = Vec::new();
    let mut compared = 0;
    for recorded in of_read_protocols() {
        for from in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let Some(body) = taken_up(&recorded, from) else { continue };
            compared += 1;
            let replay = read(&recorded, &[body]);
            let mut found = differences(&replay, &recorded);
            found.retain(|found| !found.starts_with("the deltas'"));
            if !found.is_empty() {
                misses.push(format!("{} from {from}: {}", recorded.name, found.join("; ")));
            }
        }
    }
    assert!(compared > 100, "{compared}");
    assert!(misses.is_empty(), "{} of {compared} differ:\n{}", misses.len(), joined(&misses));
}

// Whatever comes, a decoder answers with chunks and one end, and never panics
#[test]
fn damaged_recordings_end_once() {
    for recorded in of_read_protocols() {
        let body = recorded.response.body.bytes();
        for damage in 0..24_usize {
            let mut bytes = body.to_vec();
            let at = damage.wrapping_mul(7919).wrapping_add(recorded.name.len()) % bytes.len().max(1);
            match damage % 4 {
                0 => bytes.truncate(at),
                1 if !bytes.is_empty() => bytes[at] = b'"',
                2 if !bytes.is_empty() => bytes[at] = 0xff,
                _ => bytes.insert(at.min(bytes.len()), b'{'),
            }
            let replay = read(&recorded, &[bytes.into()]);
            let ends = replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Done(_))).count();
            assert_eq!(ends + usize::from(replay.error.is_some()), 1, "{}: one ending", recorded.name);
        }
    }
}

// Events that are valid and wrong: twice, in another order, lost, with members that are gone, null or of another type
#[test]
fn mangled_events_end_once_and_alike_at_any_chunking() {
    let mut misses = Vec::new();
    let (mut read_some, mut all) = (0, 0);
    for recorded in of_read_protocols() {
        for seed in 0..8 {
            let Some((body, changes)) = events::changed(&recorded, seed) else { continue };
            let replay = read(&recorded, std::slice::from_ref(&body));
            let mut found = Vec::new();
            let mut check = |what: &str, is: String, wanted: String| {
                if is != wanted {
                    found.push(format!("{what}: {is}, not {wanted}"));
                }
            };
            let ends = replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Done(_))).count();
            check("endings", (ends + usize::from(replay.error.is_some())).to_string(), "1".to_owned());
            // In Responses a later event repeats earlier ones as a whole, and counts where they contradict each other.
            if replay.error.is_none() && recorded.protocol != "openai-responses" {
                deltas(&replay, &mut |what, streamed, made| {
                    // Blocks that come interleaved stand one behind the other in the message.
                    let sorted = |text: String| {
                        let mut letters: Vec<char> = text.chars().collect();
                        letters.sort_unstable();
                        String::from_iter(letters)
                    };
                    check(what, sorted(streamed), sorted(made));
                });
            }
            let cut = shape(&read(&recorded, &chunked(&body, seed)));
            check("at another chunking", format!("{cut:?}"), format!("{:?}", shape(&replay)));
            all += 1;
            read_some += usize::from(!replay.completion.message.parts.is_empty());
            if !found.is_empty() {
                misses.push(format!("{} with {changes:?}: {}", recorded.name, found.join("; ")));
            }
        }
    }
    assert!(misses.is_empty(), "{} of {all} differ:\n{}", misses.len(), joined(&misses));
    // Most replies are still read as replies: the changes reach what reads events.
    assert!(read_some * 2 > all, "{read_some} of {all}");
}

// Events that are read in place come out as those that are deserialized, whatever is in them
#[test]
fn events_read_in_place_are_those_that_are_deserialized() {
    let (mut misses, mut all) = (Vec::new(), 0);
    for recorded in of_read_protocols() {
        let whole = (recorded.response.body.bytes(), Vec::new());
        for (body, changes) in (0..8).filter_map(|seed| events::changed(&recorded, seed)).chain([whole]) {
            let Some(other) = events::deserialized(&body) else { continue };
            all += 1;
            let all_of = |body: Bytes| {
                let replay = read(&recorded, &[body]);
                let done = &replay.completion;
                let rest = (&done.usage, &done.finish_reason, &done.model, &done.response_id);
                format!("{:?} {rest:?} {} parts", shape(&replay), done.message.parts.len())
            };
            let (is, wanted) = (all_of(body), all_of(other));
            if is != wanted {
                misses.push(format!("{} with {changes:?}: {is}, not {wanted}", recorded.name));
            }
        }
    }
    assert!(misses.is_empty(), "{} of {all} differ:\n{}", misses.len(), joined(&misses));
    assert!(all > 900, "{all}");
}

/// The profile of the servers that a folder of recordings comes from.
const PROFILES: [(&str, &str); 12] = [
    ("azure-chat", "azure"),
    ("cerebras", "cerebras"),
    ("deepseek", "deepseek"),
    ("gemini-chat", "gemini-chat"),
    ("groq", "groq"),
    ("huggingface", "huggingface"),
    ("llamacpp", "llamacpp"),
    ("mistral", "mistral"),
    ("ollama-chat", "ollama-chat"),
    ("openai-chat", "openai-chat"),
    ("openrouter", "openrouter"),
    ("perplexity", "perplexity"),
];

// The profile makes no difference to what is understood
#[test]
fn recordings_read_alike_under_the_profile_of_their_server() {
    let mut read = 0;
    for mut recorded in of_read_protocols() {
        let folder = recorded.name.split('/').next().unwrap();
        let Some((_, profile)) = PROFILES.iter().find(|(known, _)| *known == folder) else { continue };
        if recorded.protocol != "openai-chat" {
            continue;
        }
        let profile = Arc::clone(Profiles::bundled().get(profile).unwrap());
        if profile.reasoning_in_total
            && let Some(usage) = &mut recorded.expected.usage
            && let (Some(input), Some(output), Some(total)) = (usage.input, usage.output, usage.total)
        {
            // openai.md C.18: thoughts are counted in the total alone.
            usage.output = Some(total - input);
            usage.reasoning = Some(total - input - output).filter(|hidden| *hidden > 0);
        }
        let status = StatusCode::from_u16(recorded.response.status).unwrap();
        let codec = ChatCodec::new(profile, "m");
        let replay = replay(&codec, status, &recorded.response.headers, [recorded.response.body.bytes()]);
        assert_eq!(differences(&replay, &recorded), Vec::<String>::new(), "{}", recorded.name);
        read += 1;
    }
    assert!(read >= 94, "only {read} recordings");
}
