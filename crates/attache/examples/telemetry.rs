//! Spans and metrics of a run, exported by OTLP: page `telemetry.md` of the guide.
//!
//! `cargo run -p attache --features anthropic,otel --example telemetry`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache::anthropic::Anthropic;
use attache::otel::Telemetry;
use attache::transport::HttpClient;
use attache::{Agent, tool};
use opentelemetry::global;
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;

/// Says what a room costs.
#[tool(effect = "read")]
fn price(
    /// The room, such as 104.
    room: u32,
) -> String {
    format!("Room {room} costs EUR 90 a night.")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The exporter's client asks the process for the cryptography of TLS.
    let tls = rustls::crypto::ring::default_provider();
    tls.install_default().map_err(|_| "the process has other cryptography already")?;
    // Where to is said by OTEL_EXPORTER_OTLP_ENDPOINT: by default http://localhost:4318.
    let resource = Resource::builder().with_service_name("hotel").build();
    let spans = SpanExporter::builder().with_http().build()?;
    let tracers =
        SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
    let metrics = MetricExporter::builder().with_http().build()?;
    let meters = SdkMeterProvider::builder().with_resource(resource).with_periodic_exporter(metrics).build();
    global::set_tracer_provider(tracers.clone());
    global::set_meter_provider(meters.clone());

    let telemetry = Telemetry::new();
    let client = HttpClient::shared().with_hook(telemetry.http_hook());
    let model = Anthropic::from_env("claude-sonnet-4-5")?.with_http(client);
    let agent = Agent::builder(model).tool(price_tool()).observer(telemetry.agent("reception")).build()?;
    println!("{}", agent.run("What does room 104 cost?").outcome().await?.text);

    // Spans that are not exported yet are exported now.
    tracers.shutdown()?;
    meters.shutdown()?;
    Ok(())
}
