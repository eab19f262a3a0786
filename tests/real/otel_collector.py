"""An OpenTelemetry collector, Rotel, for `tests/tests/telemetry.rs`, and what is behind it.

The collector takes OTLP over HTTP, batches, and sends all on, as OTLP over HTTP again. The server behind it decodes that
with the protobuf types of the OpenTelemetry project, and keeps it. It listens on a free port of the loopback interface,
prints it, and ends when its standard input closes, the collector with it:

- `GET /collector` says the address of the collector,
- `GET /stored` yields spans, points of metrics and log records as JSON.
"""

import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import rotel
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

HOST = "127.0.0.1"
LOCK = threading.Lock()
STORED = {"spans": [], "points": [], "logs": []}


def plain(value):
    """A value of an attribute as JSON has it."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(one) for one in value.array_value.values]
    if kind == "kvlist_value":
        return attributes(value.kvlist_value.values)
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return getattr(value, kind) if kind else None


def attributes(known):
    found = {one.key: plain(one.value) for one in known}
    if len(found) != len(known):
        raise ValueError("an attribute stands twice")
    return found


def keep_spans(body):
    request = ExportTraceServiceRequest.FromString(body)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                if len(span.trace_id) != 16 or len(span.span_id) != 8 or len(span.parent_span_id) not in (0, 8):
                    raise ValueError("an id has the wrong length")
                if not 0 < span.start_time_unix_nano <= span.end_time_unix_nano:
                    raise ValueError("a span ends before it begins")
                yield "spans", {
                    "resource": attributes(resource.resource.attributes),
                    "scope": scope.scope.name,
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "name": span.name,
                    "kind": Span.SpanKind.Name(span.kind),
                    "status": Status.StatusCode.Name(span.status.code),
                    "message": span.status.message,
                    "begins": span.start_time_unix_nano,
                    "ends": span.end_time_unix_nano,
                    "attributes": attributes(span.attributes),
                    "events": [event.name for event in span.events],
                    "links": [link.span_id.hex() for link in span.links],
                }


def keep_points(body):
    request = ExportMetricsServiceRequest.FromString(body)
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                for point in getattr(metric, kind).data_points:
                    told = {
                        "name": metric.name,
                        "unit": metric.unit,
                        "kind": kind,
                        "attributes": attributes(point.attributes),
                    }
                    if kind == "histogram":
                        if sum(point.bucket_counts) != point.count:
                            raise ValueError("the buckets of a histogram do not add up")
                        told |= {"count": point.count, "sum": point.sum}
                    yield "points", told


def keep_logs(body):
    request = ExportLogsServiceRequest.FromString(body)
    for resource in request.resource_logs:
        for scope in resource.scope_logs:
            for record in scope.log_records:
                yield "logs", {
                    "event": record.event_name,
                    "span": record.span_id.hex(),
                    "body": plain(record.body),
                    "attributes": attributes(record.attributes),
                }


KEEPS = {"/v1/traces": keep_spans, "/v1/metrics": keep_points, "/v1/logs": keep_logs}


class Behind(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        try:
            kept = list(KEEPS[self.path](body))
        except Exception as error:
            # Whoever looks is told: the collector alone would hear of it otherwise.
            kept = [("spans", {"broken": f"{self.path}: {error!r}"})]
        with LOCK:
            for kind, one in kept:
                STORED[kind].append(one)
        self.answer(b"", "application/x-protobuf")

    def do_GET(self):
        if self.path == "/collector":
            return self.answer(self.server.collector.encode(), "text/plain")
        with LOCK:
            text = json.dumps(STORED)
        self.answer(text.encode(), "application/json")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def started(behind, folder):
    """The collector, once it takes connections, and its address. A port that somebody took meanwhile is changed."""
    program = Path(rotel.__file__).parent / "rotel-agent"
    for _ in range(5):
        port = free_port()
        arguments = {
            "pid-file": f"{folder}/pid",
            "log-file": f"{folder}/log",
            "otlp-http-endpoint": f"{HOST}:{port}",
            "otlp-grpc-endpoint": f"{HOST}:{free_port()}",
            "exporter": "otlp",
            "otlp-exporter-protocol": "http",
            "otlp-exporter-endpoint": f"http://{HOST}:{behind}",
            "batch-timeout": "50ms",
        }
        command = [str(program), "start", *(f"--{name}={value}" for name, value in arguments.items())]
        # Nothing of the machine decides what it does.
        variables = {name: value for name, value in os.environ.items() if name in ("PATH", "SystemRoot")}
        child = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while child.poll() is None and time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex((HOST, port)) == 0:
                    return child, f"http://{HOST}:{port}"
            time.sleep(0.02)
        child.kill()
        child.wait()
    sys.exit("the collector does not start")


def main():
    server = ThreadingHTTPServer((HOST, 0), Behind)
    with tempfile.TemporaryDirectory() as folder:
        child, server.collector = started(server.server_port, folder)
        try:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            print(f"listening on {server.server_port}", flush=True)
            sys.stdin.read()
        finally:
            child.terminate()
            child.wait()


main()
