//! Token counts, merged over a stream and normalised (gemini.md 7).

use attache_core::{RawUsage, Usage};
use attache_transport::lenient::Count;
use serde::Deserialize;

/// The tokens of a reply, as its chunks tell them.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    counts: Counts,
    raw: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Counts {
    #[serde(rename = "promptTokenCount")]
    prompt: Count,
    #[serde(rename = "cachedContentTokenCount")]
    cached: Count,
    #[serde(rename = "candidatesTokenCount")]
    candidates: Count,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: Count,
    #[serde(rename = "toolUsePromptTokenCount")]
    tool_use: Count,
    #[serde(rename = "totalTokenCount")]
    total: Count,
}

impl Tokens {
    /// Takes the `usageMetadata` of a chunk.
    pub(super) fn take(&mut self, json: &str) {
        if self.raw.as_deref() == Some(json) {
            return;
        }
        let counts: Counts = serde_json::from_str(json).unwrap_or_default();
        if counts == Counts::default() && self.raw.is_some() {
            return;
        }
        self.counts.follow(counts);
        json.clone_into(self.raw.get_or_insert_default());
    }

    /// The counts in our terms: input is everything that was read, output everything that was written.
    pub(super) fn normalised(&self) -> Usage {
        let Counts { prompt, cached, candidates, thoughts, tool_use, .. } = self.counts;
        Usage::new(sum([prompt, tool_use]), sum([candidates, thoughts]))
            .with_cached_tokens(cached.0)
            .with_reasoning_tokens(thoughts.0)
            .with_raw(self.raw.as_deref().and_then(RawUsage::from_json))
    }
}

impl Counts {
    /// Each chunk counts from the start of the reply, but may forget what an earlier one said. A snapshot that names
    /// output and whose total is the sum of what it names has forgotten nothing that belongs to the total.
    fn follow(&mut self, new: Self) {
        let named = [new.prompt, new.candidates, new.thoughts, new.tool_use];
        let names_output = new.candidates.0.is_some() || new.thoughts.0.is_some();
        let is_whole = names_output && new.total.0.is_some() && new.total.0 == sum(named);
        let later = |new: Count, old: Count| match new.0.filter(|count| *count > 0) {
            Some(count) => Count(Some(count)),
            None => Count(old.0.or(new.0)),
        };
        let believed = |new: Count, old: Count| if is_whole { new } else { later(new, old) };
        *self = Self {
            prompt: believed(new.prompt, self.prompt),
            cached: later(new.cached, self.cached),
            candidates: believed(new.candidates, self.candidates),
            thoughts: believed(new.thoughts, self.thoughts),
            tool_use: believed(new.tool_use, self.tool_use),
            total: later(new.total, self.total),
        };
    }
}

fn sum<const N: usize>(counts: [Count; N]) -> Option<u64> {
    counts.into_iter().filter_map(|count| count.0).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(chunks: &[Value]) -> Usage {
        let mut tokens = Tokens::default();
        for chunk in chunks {
            tokens.take(&chunk.to_string());
        }
        let mut usage = tokens.normalised();
        usage.raw = None;
        usage
    }

    // gemini.md 7
    #[test]
    fn thoughts_are_output_and_tool_results_input() {
        let raw = json!({"promptTokenCount": 29, "cachedContentTokenCount": 8, "candidatesTokenCount": "10",
            "thoughtsTokenCount": 202, "toolUsePromptTokenCount": 5, "totalTokenCount": 246});
        assert_eq!(of(&[raw]), Usage::new(34, 212).with_cached_tokens(8).with_reasoning_tokens(202));
        assert_eq!(of(&[json!({"trafficType": "ON_DEMAND"})]), Usage::default());
    }

    // gemini.md (a) 17
    #[test]
    fn what_the_last_chunk_forgets_is_kept() {
        let first = json!({"promptTokenCount": 9, "cachedContentTokenCount": 4, "thoughtsTokenCount": 3,
            "totalTokenCount": 12});
        let last = json!({"promptTokenCount": 90, "candidatesTokenCount": 2, "totalTokenCount": 95});
        let expected = Usage::new(90, 5).with_cached_tokens(4).with_reasoning_tokens(3);
        assert_eq!(of(&[first.clone(), last]), expected);
        let nothing = json!({"promptTokenCount": 9, "totalTokenCount": 9});
        let expected = Usage::new(9, 3).with_cached_tokens(4).with_reasoning_tokens(3);
        assert_eq!(of(&[first.clone(), nothing]), expected);
        assert_eq!(of(&[first, json!({})]), expected);
    }

    // Recorded: tokens of a search that the server ran are counted while it runs and taken back at the end.
    #[test]
    fn a_total_that_adds_up_is_believed() {
        let first = json!({"promptTokenCount": 9, "candidatesTokenCount": 21, "thoughtsTokenCount": 35,
            "totalTokenCount": 65});
        let last = json!({"promptTokenCount": 87, "thoughtsTokenCount": 78, "totalTokenCount": 165});
        assert_eq!(of(&[first, last]), Usage::new(87, 78).with_reasoning_tokens(78));
    }
}
