//! Requests to MCP servers.

use opentelemetry::propagation::Injector;
use opentelemetry::trace::TraceContextExt;
use opentelemetry::{Context, KeyValue, global};

use crate::telemetry::Telemetry;

struct Pairs(Vec<(String, String)>);

impl Injector for Pairs {
    fn set(&mut self, key: &str, value: String) {
        self.0.push((key.to_owned(), value));
    }
}

impl Telemetry {
    /// Records the request to an MCP server on the span of the running tool (`mcp.method.name`, `mcp.protocol.version`,
    /// `mcp.session.id`), and returns the trace context for the request's `_meta`, from the program's global
    /// propagator.
    ///
    /// Use it as the hook of a server of `attache-mcp`:
    /// `server.hook(move |asked| telemetry.mcp_request(asked.method, asked.protocol_version, asked.session))`.
    pub fn mcp_request(
        &self,
        method: &str,
        protocol_version: Option<&str>,
        session: Option<&str>,
    ) -> Vec<(String, String)> {
        let context = Context::current();
        let span = context.span();
        span.set_attribute(KeyValue::new("mcp.method.name", method.to_owned()));
        let known = [("mcp.protocol.version", protocol_version), ("mcp.session.id", session)];
        for (name, value) in known {
            if let Some(value) = value {
                span.set_attribute(KeyValue::new(name, value.to_owned()));
            }
        }
        let mut pairs = Pairs(Vec::new());
        global::get_text_map_propagator(|propagator| propagator.inject_context(&context, &mut pairs));
        pairs.0
    }
}
