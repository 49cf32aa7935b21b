"""Spans and metrics of runs by the conventions for generative AI (O-9.81), with the official SDK and a collector of our own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime import telemetry
from concerto.vm.providers import PROVIDERS

from ..command import concerto as command
from ..command import environment

pytest.importorskip("opentelemetry.sdk")

PROGRAM = """\
memory chat { per: [user], window: 20 }

tool Scale {
    description: "Weighs parcels",

    @describe("The postage of a parcel")
    @param("grams", "its weight")
    pub fn postage(self, grams: Float) -> Result<Float, ToolError> {
        if grams <= 0.0 { return Err(ToolError::ExecutionFailed("a parcel weighs something")); }
        Ok(grams / 100.0)
    }
}

schema Order { count: Int }

model Clerk {
    provider: openai,
    base: "gpt-5.4-mini",
    system_prompt: "You work at a post office.",
    temperature: 0.5,
    tools: [Scale],
}

fn main() {
    emit("a", Clerk.with_memory(chat.key(user: "ann")).execute("What does it cost?").is_ok());
    emit("b", Clerk.execute_with_schema<Order>("two").is_ok());
    emit("c", Clerk.execute("fail").is_ok());
}
"""
CALLS = [{"tool": "Scale.postage", "arguments": {"grams": 500.0}}, {"tool": "Scale.postage", "arguments": {"grams": 0.0}}]
REPLIES: list[Any] = [
    {"tool_calls": CALLS}, "It is 5", "no order", '{"count": 2}', {"error": "auth"},
]  # fmt: skip
CHATS = 5


class Collected:
    """What the exporters of the SDK keep in memory."""

    def __init__(self) -> None:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider(metric_readers=[self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def spans(self, operation: str) -> list[Any]:
        """The spans of an operation, in the order of their ends."""
        return [span for span in self.exporter.get_finished_spans() if span.attributes["gen_ai.operation.name"] == operation]

    def points(self, name: str) -> list[Any]:
        data = json.loads(self.reader.get_metrics_data().to_json())
        metrics = data["resource_metrics"][0]["scope_metrics"][0]["metrics"]
        return [point for metric in metrics if metric["name"] == name for point in metric["data"]["data_points"]]


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Collected:
    """Sessions of the Python API tell this one of all that they do."""
    from opentelemetry import metrics, trace

    found = Collected()
    monkeypatch.setattr(trace, "get_tracer", found.tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", found.meters.get_meter)
    for name in (telemetry.CAPTURE, *telemetry.EXPORTERS, "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    return found


def run(program: str = PROGRAM, **options: Any) -> Any:
    result = concerto.run(concerto.compile(program), **{"offline_script": REPLIES, **options})
    assert result.ok, result
    return result


def test_spans_of_calls_and_tools(collected: Collected) -> None:
    run()
    chats = collected.spans("chat")
    assert len(chats) == CHATS and {span.name for span in chats} == {"chat gpt-5.4-mini"}
    first = dict(chats[0].attributes)
    assert first.pop("gen_ai.usage.input_tokens") > 5 and first.pop("gen_ai.usage.output_tokens") == 0
    assert first == {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5.4-mini",
        "gen_ai.response.model": "gpt-5.4-mini", "gen_ai.output.type": "text", "gen_ai.request.temperature": 0.5,
        "gen_ai.conversation.id": "ann", "gen_ai.response.finish_reasons": ("tool_call",),
    }  # fmt: skip
    assert chats[1].attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert [span.attributes["gen_ai.output.type"] for span in chats[2:4]] == ["json", "json"]
    assert "gen_ai.conversation.id" not in chats[2].attributes
    assert chats[4].attributes["error.type"] == "AuthenticationFailed" and not chats[4].status.is_ok
    assert chats[4].status.description is None
    assert {span.kind.name for span in chats} == {"CLIENT"}

    tools = collected.spans("execute_tool")
    assert [(span.name, span.attributes["gen_ai.tool.call.id"]) for span in tools] == [
        ("execute_tool Scale__postage", "call_1"), ("execute_tool Scale__postage", "call_2"),
    ]  # fmt: skip
    assert [span.attributes.get("error.type") for span in tools] == [None, "ToolError"]
    (whole,) = collected.spans("invoke_workflow")
    assert all(span.parent.span_id == whole.context.span_id for span in (*chats, *tools))
    assert all(whole.start_time <= span.start_time <= span.end_time <= whole.end_time for span in (*chats, *tools))


def test_the_names_are_those_of_the_conventions(collected: Collected, monkeypatch: pytest.MonkeyPatch) -> None:
    conventions = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    monkeypatch.setenv(telemetry.CAPTURE, "true")
    run()
    known = {value for value in vars(conventions).values() if isinstance(value, str)} | {"error.type"}
    told = {name for span in collected.exporter.get_finished_spans() for name in span.attributes}
    assert len(told) > 18 and told <= known
    providers = {value.value for value in conventions.GenAiProviderNameValues}
    assert {row.telemetry_name for row in PROVIDERS.values() if row.telemetry_name != row.name} <= providers
    assert {f"gen_ai.request.{name}" for name in telemetry.PARAMS.values()} <= known


def test_metrics(collected: Collected) -> None:
    run()
    tokens = collected.points("gen_ai.client.token.usage")
    by_type = {point["attributes"]["gen_ai.token.type"]: point for point in tokens if "error.type" not in point["attributes"]}
    assert by_type["input"]["count"] == CHATS - 1 and by_type["output"]["count"] == CHATS - 2  # of the calls of tools none
    spans = collected.spans("chat")[: CHATS - 1]
    assert by_type["input"]["sum"] == sum(span.attributes["gen_ai.usage.input_tokens"] for span in spans)
    assert by_type["input"]["attributes"]["gen_ai.provider.name"] == "openai"
    assert by_type["input"]["explicit_bounds"][:3] == [1, 4, 16]
    seconds = collected.points("gen_ai.client.operation.duration")
    assert sorted(point["count"] for point in seconds) == [1, CHATS - 1]
    assert {point["attributes"].get("error.type") for point in seconds} == {None, "AuthenticationFailed"}


@pytest.mark.parametrize(("value", "captured"), [("true", True), ("SPAN_ONLY", True), ("span_and_event", True), ("false", False),
                                                 ("NO_CONTENT", False), ("EVENT_ONLY", False), ("", False)])  # fmt: skip
def test_contents_only_where_they_are_asked_for(
    collected: Collected, monkeypatch: pytest.MonkeyPatch, value: str, captured: bool
) -> None:
    monkeypatch.setenv(telemetry.CAPTURE, value)
    run()
    everything = "".join(span.to_json() for span in collected.exporter.get_finished_spans())
    # "500" alone may stand in a random id.
    assert ("What does it cost?" in everything) == captured == ("post office" in everything) == ("500.0" in everything)
    if captured:
        second = collected.spans("chat")[1].attributes
        assert json.loads(second["gen_ai.system_instructions"]) == [{"type": "text", "content": "You work at a post office."}]
        asked = json.loads(second["gen_ai.input.messages"])
        assert [message["role"] for message in asked] == ["user", "assistant", "tool", "tool"]
        assert asked[1]["parts"][0]["name"] == "Scale__postage" and asked[2]["parts"][0]["type"] == "tool_call_response"
        said = {"role": "assistant", "parts": [{"type": "text", "content": "It is 5"}], "finish_reason": "stop"}
        assert json.loads(second["gen_ai.output.messages"]) == [said]
        assert json.loads(second["gen_ai.tool.definitions"])[0]["name"] == "Scale__postage"
        assert json.loads(collected.spans("execute_tool")[0].attributes["gen_ai.tool.call.arguments"]) == {"grams": 500.0}


def test_secrets_are_taken_out(collected: Collected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(telemetry.CAPTURE, "true")
    source = """\
use std::env;

model M { provider: openai, base: "m" }

fn main() {
    let key = env::get("SHOP_API_KEY").unwrap_or("");
    emit("x", M.execute("my key is ${key}").is_ok());
}
"""
    secret = "sk-0123456789abcdefghij"
    allowed = concerto.Permissions(env=("SHOP_API_KEY",))
    result = concerto.run(concerto.compile(source), offline=True, env={"SHOP_API_KEY": secret}, permissions=allowed)
    assert result.ok, result
    everything = "".join(span.to_json() for span in collected.exporter.get_finished_spans())
    assert "my key is " in everything and secret not in everything


def test_the_span_of_the_host_is_the_parent(collected: Collected) -> None:
    with collected.tracers.get_tracer("host").start_as_current_span("job", attributes={"gen_ai.operation.name": "job"}) as job:
        run()
    (whole,) = collected.spans("invoke_workflow")
    assert whole.parent.span_id == job.get_span_context().span_id
    assert len({span.context.trace_id for span in collected.exporter.get_finished_spans()}) == 1


def test_streams_and_vectors(collected: Collected) -> None:
    source = """\
embedder E { provider: openai, base: "text-embedding-3-small" }

model M { provider: openai, base: "m" }

fn main() {
    match M.stream("a b c") {
        Ok(stream) => { for piece in stream { emit("piece", piece); } }
        Err(_) => {}
    }
    emit("size", E.embed("words").is_ok());
}
"""
    result = concerto.run(concerto.compile(source), offline=True)
    assert result.ok, result
    (chat,) = collected.spans("chat")
    assert chat.attributes["gen_ai.request.stream"] is True
    (first,) = collected.points("gen_ai.client.operation.time_to_first_chunk")
    assert first["count"] == 1 and first["sum"] == chat.attributes["gen_ai.response.time_to_first_chunk"] >= 0
    assert first["sum"] <= (chat.end_time - chat.start_time) / 1e9
    (vectors,) = collected.spans("embeddings")
    assert vectors.name == "embeddings text-embedding-3-small" and vectors.attributes["gen_ai.usage.input_tokens"] > 0


ASKING = """\
agent Child {{ connector: child }}

fn main() {{
    let url = "http://127.0.0.1:{port}/";
    std::http::get(url)?;
    std::http::get(url, {{ "Traceparent": "mine" }})?;
    emit("child", Child.execute("x")?.text);
}}
"""
CHILD = """\
[project]
name = "p"
version = "1"
entry = "a.conc"
[agents.child]
transport = "stdio"
command = "python3 -S child.py"
"""
ANSWERING = """\
import os, sys
sys.stdin.readline()
print(os.environ.get("TRACEPARENT", "none"), flush=True)
"""


def test_servers_and_children_are_told_which_span_they_stand_below(collected: Collected, tmp_path: Path) -> None:
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("traceparent"))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "Concerto.toml").write_text(CHILD)
    (tmp_path / "child.py").write_text(ANSWERING)
    (tmp_path / "a.conc").write_text(ASKING.format(port=server.server_port))
    try:
        permissions = concerto.Permissions(net=("127.0.0.1",), run=True)
        result = concerto.run(concerto.compile(path=tmp_path / "a.conc"), permissions=permissions)
    finally:
        server.shutdown()
        server.server_close()
    assert result.ok, result
    (whole,) = collected.spans("invoke_workflow")
    parent = f"00-{whole.context.trace_id:032x}-{whole.context.span_id:016x}-{whole.context.trace_flags:02x}"
    assert seen == [parent, "mine"]
    assert result.emits[0].payload == parent


def test_a_replay_sends_nothing(tmp_path: Path, collector: Collector) -> None:
    (tmp_path / "a.conc").write_text(PROGRAM)
    (tmp_path / "replies.json").write_text(json.dumps(REPLIES))
    words = ("run", "a.conc", "--offline-script", "replies.json", "--record", "r.jsonl")
    assert command(*words, cwd=tmp_path, **collector.variables).code == 0
    assert len(collector.named("chat gpt-5.4-mini")) == CHATS
    collector.clear()
    assert command("run", "a.conc", "--replay", "r.jsonl", cwd=tmp_path, **collector.variables).code == 0
    assert collector.named("chat gpt-5.4-mini") == [] and len(collector.named("invoke_workflow a")) == 1


# ---------------------------------------------------------------- the command, and a collector


class Collector:
    """A server that takes OTLP over HTTP and decodes it with the official messages."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.take(self.path, self.body())
                self.send_response(200)
                self.end_headers()

            def body(self) -> bytes:
                import gzip

                data = self.rfile.read(int(self.headers["Content-Length"]))
                return gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.server.server_port}"}

    def take(self, path: str, data: bytes) -> None:
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
                self.services |= {a.value.string_value for a in resource.resource.attributes if a.key == "service.name"}
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for each in ExportMetricsServiceRequest.FromString(data).resource_metrics:
                self.metrics += [metric for scope in each.scope_metrics for metric in scope.metrics]

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]

    def clear(self) -> None:
        self.spans.clear()
        self.metrics.clear()


@pytest.fixture
def collector() -> Iterator[Collector]:
    pytest.importorskip("opentelemetry.proto")
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_the_command_sends_to_a_collector(tmp_path: Path, collector: Collector) -> None:
    (tmp_path / "a.conc").write_text(PROGRAM)
    (tmp_path / "replies.json").write_text(json.dumps(REPLIES))
    done = command("run", "a.conc", "--offline-script", "replies.json", cwd=tmp_path, **collector.variables)
    assert done.code == 0 and done.err == "", done.err
    assert len(collector.named("chat gpt-5.4-mini")) == CHATS and len(collector.named("execute_tool Scale__postage")) == 2
    attributes = {a.key: a.value for a in collector.named("chat gpt-5.4-mini")[0].attributes}
    assert attributes["gen_ai.conversation.id"].string_value == "ann" and "gen_ai.input.messages" not in attributes
    assert collector.services == {"concerto"}
    names = {metric.name: metric for metric in collector.metrics}
    assert set(names) == {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"}
    assert sum(point.count for point in names["gen_ai.client.operation.duration"].histogram.data_points) == CHATS
    collector.services.clear()
    command("run", "a.conc", "--offline", cwd=tmp_path, OTEL_SERVICE_NAME="shop", **collector.variables)
    assert collector.services == {"shop"}


def test_a_panic_is_the_status_of_the_run(tmp_path: Path, collector: Collector) -> None:
    (tmp_path / "a.conc").write_text("fn main() { let zero = 0; emit(\"x\", 1 / zero); }\n")
    assert command("run", "a.conc", "--offline", cwd=tmp_path, **collector.variables).code == 1
    (span,) = collector.named("invoke_workflow a")
    assert {a.key: a.value.string_value for a in span.attributes}["error.type"] == "P003"


@pytest.mark.parametrize("variables", [
    {}, {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, {"OTEL_SERVICE_NAME": "x"},
    {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"},
])  # fmt: skip
def test_off_is_not_imported(tmp_path: Path, variables: dict[str, str]) -> None:
    source = 'model M { provider: openai, base: "m" }\n\nfn main() { emit("x", M.execute("a").is_ok()); }\n'
    (tmp_path / "a.conc").write_text(source)
    program = (
        "import sys\nfrom concerto.cli.main import main\ncode = main(['run', 'a.conc', '--offline', '-q'])\n"
        "print(code, [name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(**variables), capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "0 []\n", done.stderr


def test_without_the_extra_a_run_says_so_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text('fn main() { emit("x", 1); }\n')
    program = (
        "import sys\nsys.modules['opentelemetry'] = None\nfrom concerto.cli.main import main\n"
        "raise SystemExit(main(['run', 'a.conc', '--offline', *sys.argv[1:]]))"
    )
    for words, note in (((), "OpenTelemetry is not installed: "), (("-q",), "")):
        done = subprocess.run(
            [sys.executable, "-c", program, *words], cwd=tmp_path, env=environment(OTEL_TRACES_EXPORTER="otlp"),
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0 and note in done.stderr and bool(note) == bool(done.stderr), done.stderr


def test_an_exporter_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text('fn main() { emit("x", 1); }\n')
    done = command("run", "a.conc", "--offline", cwd=tmp_path, OTEL_TRACES_EXPORTER="pigeon", OTEL_METRICS_EXPORTER="none")
    assert done.code == 0 and "no package that is installed has the exporter pigeon" in done.err


def test_an_exporter_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text('fn main() { emit("x", 1); }\n')
    variables = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "0"}
    done = command("run", "a.conc", "--offline", cwd=tmp_path, **variables)
    assert done.code == 0 and "OpenTelemetry cannot be set up: interval value 0.0" in done.err
