//! No function costs worse than n log n: each input grows tenfold, and what that costs must not.
//!
//! Instructions cannot be counted on every machine that runs tests, so two things are measured instead. Allocations are
//! counted, which is exact, by an allocator that counts for each thread; they show copies and lists made again and
//! again. Loops over memory that is there already show only in time: the least of some runs of both sizes, one after
//! the other, of CPU-bound work. Linear work costs about 10 times as much, n log n up to 14 times, quadratic work 100
//! times; the bounds, 15 for allocations and 30 for time, lie so far from either that a busy machine does not cross them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the helpers of a test may fail as loudly as the test, and a failure is read with the figures"
)]

use std::fmt::Debug;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Capture, Content, ContentTree, Document, DocumentId, Form,
    Matrix, Message, ModelCapabilities, ResultStatus, ToolCall, ToolResult, ToolResultsMessage, ToolSet,
    UserMessage,
};
use attache_documents::{
    ConvertedText, DocumentBudget, Label, LabelProfile, Materials, ReadLabel, Repeats, RouteOptions,
    decode_text, explain, fence_text, plan, route, unfence, unresolved, walk, walk_value,
};
use serde_json::{Value, json};

/// How much longer tenfold the input may take.
const MOST_TIME: f64 = 30.0;

fn least(runs: usize, mut work: impl FnMut()) -> Duration {
    let time = |()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    std::iter::repeat_n((), runs).map(time).min().unwrap()
}

/// Measures `work` on inputs of `size` and ten times `size`.
fn grows<I, T: Debug>(name: &str, size: usize, make: impl Fn(usize) -> I, work: impl Fn(&I) -> T) {
    let (small, large) = (make(size), make(size * 10));
    // What is computed once and kept is not what is asked about.
    black_box((work(&small), work(&large)));
    let (mut best, mut figures) = (f64::INFINITY, Vec::new());
    // A machine that is busy for a while is asked again.
    for _ in 0..3 {
        let short = least(5, || drop(black_box(work(&small))));
        let long = least(3, || drop(black_box(work(&large))));
        best = best.min(long.as_secs_f64() / short.as_secs_f64().max(1e-6));
        figures.push((short, long));
        if best < MOST_TIME / 2.0 {
            break;
        }
    }
    println!("{name}: ×{best:.1} {figures:?}");
    assert!(best < MOST_TIME, "{name} costs {best:.1} times as much for ten times the input: {figures:?}");
}
