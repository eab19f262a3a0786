//! Exporters in memory, and how tests read what they got.

use attache_otel::Telemetry;
use opentelemetry::Value;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};

/// Exporters that keep what they are given, and the telemetry that gives it to them.
pub(crate) struct Recorder {
    pub(crate) telemetry: Telemetry,
    pub(crate) tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    pub(crate) logs: InMemoryLogExporter,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let (spans, metrics, logs) = Default::default();
        let (spans, metrics, logs): (InMemorySpanExporter, InMemoryMetricExporter, InMemoryLogExporter) =
            (spans, metrics, logs);
        let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        let reader = PeriodicReader::builder(metrics.clone()).build();
        let meters = SdkMeterProvider::builder().with_reader(reader).build();
        let loggers = SdkLoggerProvider::builder().with_simple_exporter(logs.clone()).build();
        let telemetry = Telemetry::new()
            .with_tracer_provider(&tracers)
            .with_meter(&meters.meter("attache"))
            .with_logger_provider(&loggers);
        Self { telemetry, tracers, meters, spans, metrics, logs }
    }

    /// The spans that have ended, in the order in which they began.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        let mut spans = self.spans.get_finished_spans().unwrap();
        spans.sort_by_key(|span| span.start_time);
        spans
    }

    pub(crate) fn span(&self, name: &str) -> SpanData {
        let spans = self.spans();
        let mut named = spans.iter().filter(|span| span.name == name);
        let span = named.next().unwrap_or_else(|| panic!("no span {name} in {:?}", names(&spans)));
        assert!(named.next().is_none(), "several spans {name}");
        span.clone()
    }

    /// The names of the spans as a tree, two spaces for each level, those that failed with their error.
    pub(crate) fn tree(&self) -> Vec<String> {
        let spans = self.spans();
        let mut lines = Vec::new();
        let is_root =
            |span: &&SpanData| spans.iter().all(|other| other.span_context.span_id() != span.parent_span_id);
        for root in spans.iter().filter(is_root) {
            grow(&spans, root, 0, &mut lines);
        }
        assert_eq!(lines.len(), spans.len(), "{:?}", names(&spans));
        lines
    }

    /// Name, attributes, count and sum of each point of each metric.
    pub(crate) fn points(&self) -> Vec<Point> {
        self.meters.force_flush().unwrap();
        let all = self.metrics.get_finished_metrics().unwrap();
        let last = all.last().unwrap();
        let mut points = Vec::new();
        for metric in last.scope_metrics().flat_map(|scope| scope.metrics()) {
            let mut add = |attributes: Vec<String>, count, sum, bounds: Vec<f64>| {
                let (name, unit) = (metric.name().to_owned(), metric.unit().to_owned());
                points.push(Point { name, unit, attributes, count, sum, bounds });
            };
            let text = |attributes: &mut dyn Iterator<Item = &opentelemetry::KeyValue>| {
                let mut texts: Vec<_> =
                    attributes.map(|known| format!("{}={}", known.key, known.value)).collect();
                texts.sort();
                texts
            };
            match metric.data() {
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    for point in histogram.data_points() {
                        let attributes = text(&mut point.attributes());
                        add(attributes, point.count(), point.sum(), point.bounds().collect());
                    }
                }
                AggregatedMetrics::U64(MetricData::Histogram(histogram)) => {
                    for point in histogram.data_points() {
                        #[expect(clippy::cast_precision_loss, reason = "a count of a test")]
                        let sum = point.sum() as f64;
                        add(text(&mut point.attributes()), point.count(), sum, point.bounds().collect());
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        points
    }
}

/// A point of a metric.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) attributes: Vec<String>,
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) bounds: Vec<f64>,
}

fn names(spans: &[SpanData]) -> Vec<&str> {
    spans.iter().map(|span| &*span.name).collect()
}

fn grow(spans: &[SpanData], span: &SpanData, level: usize, lines: &mut Vec<String>) {
    let error = match &span.status {
        Status::Error { description } => format!(" !{description}"),
        _ => String::new(),
    };
    lines.push(format!("{}{}{error}", "  ".repeat(level), span.name));
    assert_eq!(attribute(span, "error.type").is_some(), !error.is_empty(), "{span:?}");
    let id = span.span_context.span_id();
    for child in spans.iter().filter(|child| child.parent_span_id == id && id != SpanId::INVALID) {
        assert_eq!(child.span_context.trace_id(), span.span_context.trace_id());
        assert!(child.start_time >= span.start_time, "{} began before {}", child.name, span.name);
        assert!(child.end_time <= span.end_time, "{} ended after {}", child.name, span.name);
        grow(spans, child, level + 1, lines);
    }
}

/// The value of an attribute.
pub(crate) fn attribute(span: &SpanData, name: &str) -> Option<Value> {
    let mut known = span.attributes.iter().filter(|known| known.key.as_str() == name);
    let value = known.next().map(|known| known.value.clone());
    assert!(known.next().is_none(), "{name} twice in {}", span.name);
    value
}

/// The same as text.
pub(crate) fn text(span: &SpanData, name: &str) -> String {
    attribute(span, name).map(|value| value.to_string()).unwrap_or_default()
}

/// The names of the attributes.
pub(crate) fn attributes(span: &SpanData) -> Vec<&str> {
    let mut names: Vec<&str> = span.attributes.iter().map(|known| known.key.as_str()).collect();
    names.sort_unstable();
    names
}
