//! The instruments of the conventions.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, Meter};

use crate::names::attribute;

/// The instruments.
pub(crate) struct Metrics {
    tokens: Histogram<u64>,
    duration: Histogram<f64>,
    agent_duration: Histogram<f64>,
    tool_duration: Histogram<f64>,
    first_chunk: Histogram<f64>,
    output_chunk: Histogram<f64>,
}

/// 1, 4, 16 and so on, fourteen of them.
fn token_bounds() -> Vec<f64> {
    (0..14).map(|power| 4_f64.powi(power)).collect()
}

/// A hundredth of a second, twice that and so on, fourteen of them.
fn second_bounds() -> Vec<f64> {
    (0..14).map(|power| 0.01 * 2_f64.powi(power)).collect()
}

/// A tenth of a second, twice that and so on, thirteen of them: runs take longer than requests.
fn run_bounds() -> Vec<f64> {
    (0..13).map(|power| 0.1 * 2_f64.powi(power)).collect()
}

impl Metrics {
    pub(crate) fn new(meter: &Meter) -> Self {
        let timed = |name: &'static str, description: &'static str, bounds: Vec<f64>| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
            histogram.with_boundaries(bounds).build()
        };
        let seconds = |name, description| timed(name, description, second_bounds());
        Self {
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_unit("{token}")
                .with_description("Number of input and output tokens used.")
                .with_boundaries(token_bounds())
                .build(),
            duration: seconds("gen_ai.client.operation.duration", "GenAI operation duration."),
            agent_duration: timed(
                "gen_ai.invoke_agent.duration",
                "Duration of an agent's run in this process.",
                run_bounds(),
            ),
            tool_duration: seconds("gen_ai.execute_tool.duration", "Duration of a tool's execution."),
            first_chunk: seconds(
                "gen_ai.client.operation.time_to_first_chunk",
                "Time to receive the first chunk of a streamed reply.",
            ),
            output_chunk: seconds(
                "gen_ai.client.operation.time_per_output_chunk",
                "Time between chunks of a streamed reply.",
            ),
        }
    }

    /// Records the tokens of a reply. A count that the provider did not report is not recorded.
    pub(crate) fn tokens(&self, input: Option<u64>, output: Option<u64>, attributes: &[KeyValue]) {
        for (count, kind) in [(input, "input"), (output, "output")] {
            if let Some(count) = count {
                let kind = KeyValue::new(attribute::TOKEN_TYPE, kind);
                let attributes: Vec<_> = attributes.iter().cloned().chain([kind]).collect();
                self.tokens.record(count, &attributes);
            }
        }
    }

    pub(crate) fn duration(&self, seconds: f64, attributes: &[KeyValue]) {
        self.duration.record(seconds, attributes);
    }

    pub(crate) fn agent_duration(&self, seconds: f64, attributes: &[KeyValue]) {
        self.agent_duration.record(seconds, attributes);
    }

    pub(crate) fn tool_duration(&self, seconds: f64, attributes: &[KeyValue]) {
        self.tool_duration.record(seconds, attributes);
    }

    pub(crate) fn first_chunk(&self, seconds: f64, attributes: &[KeyValue]) {
        self.first_chunk.record(seconds, attributes);
    }

    pub(crate) fn output_chunk(&self, seconds: f64, attributes: &[KeyValue]) {
        self.output_chunk.record(seconds, attributes);
    }
}

/// The attributes and the error, if there was one.
pub(crate) fn with_error(attributes: &[KeyValue], error: Option<&str>) -> Vec<KeyValue> {
    let error = error.map(|error| KeyValue::new(attribute::ERROR, error.to_owned()));
    attributes.iter().cloned().chain(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_conventions() {
        let tokens = [
            1.0,
            4.0,
            16.0,
            64.0,
            256.0,
            1024.0,
            4096.0,
            16384.0,
            65536.0,
            262_144.0,
            1_048_576.0,
            4_194_304.0,
            16_777_216.0,
            67_108_864.0,
        ];
        let seconds =
            [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
        assert_eq!((token_bounds(), second_bounds()), (tokens.to_vec(), seconds.to_vec()));
        let runs = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];
        assert_eq!(run_bounds(), runs);
    }
}
