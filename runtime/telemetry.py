"""Spans and metrics of runs for OpenTelemetry, by its conventions for generative AI (O-9.81).

Hands on `telemetry_of`, with MissingExtra, to the command line and `host_telemetry` to the Python API, which put what these give
into `Host.telemetry`; `Telemetry` to the session, calls of models, embedders and tools, its `Span` to calls. OpenTelemetry is
imported only where something is to be sent: by `telemetry_of` where the environment names an exporter, and by `host_telemetry`
where the host has imported it itself. What messages say is sent only where OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
asks for it, without secrets. Where spans begin and end is decided by whoever calls the methods of `Telemetry`.
"""

from __future__ import annotations

import sys
import time

from ..vm.providers import PROVIDERS
from .errors import install_advice
from .schema.lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .calls.usage import Use
    from .connections import ConnectionSettings
    from .errors import CallFailure
    from .records import Call, EmbedRequest, Msg, Reply, Request

NAME = "concerto"
# Variables that name an exporter; "none" names none.
EXPORTERS = (
    "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)  # fmt: skip
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
CAPTURING = ("true", "1", "span_only", "span_and_event")
PARAMS = {
    "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_tokens": "max_tokens", "seed": "seed",
    "stop": "stop_sequences", "frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty",
}  # fmt: skip
TOKEN_BUCKETS = tuple(4**n for n in range(14))
SECOND_BUCKETS = tuple(0.01 * 2**n for n in range(14))


class MissingExtra(Exception):
    """OpenTelemetry, or an exporter that the environment names, is asked for, and is not installed or cannot be set up; the text
    says which, or why."""


def telemetry_of(environ: Mapping[str, str]) -> Telemetry | None:
    """Return what sends spans and metrics to the exporters that the environment names, None where it names none or
    OTEL_SDK_DISABLED is true. Providers are set up once in a process, and send what is left at its end. Raises MissingExtra."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if all(environ.get(name, "").lower() in ("", "none") for name in EXPORTERS):
        return None
    try:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError:
        way = install_advice("otel")
        raise MissingExtra(f"OTEL_… names an exporter, and OpenTelemetry is not installed: {way}") from None
    from opentelemetry import metrics, trace

    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        try:
            _set_up(environ, TracerProvider, MeterProvider)
        except MissingExtra:
            raise
        except Exception as error:  # of a variable that holds what an exporter does not take
            raise MissingExtra(f"OTEL_…: OpenTelemetry cannot be set up: {' '.join(str(error).split())}") from None
    return Telemetry(trace.get_tracer(NAME), metrics.get_meter(NAME), captures(environ))


def host_telemetry(environ: Mapping[str, str]) -> Telemetry | None:
    """Return what sends spans and metrics to the providers of the process, None where it has not imported OpenTelemetry or
    OTEL_SDK_DISABLED is true: whoever has set up none gets nothing."""
    if "opentelemetry.trace" not in sys.modules or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    from opentelemetry import metrics, trace

    return Telemetry(trace.get_tracer(NAME), metrics.get_meter(NAME), captures(environ))


def captures(environ: Mapping[str, str]) -> bool:
    """Return whether the environment asks for what messages say."""
    return environ.get(CAPTURE, "").lower() in CAPTURING


def _set_up(environ: Mapping[str, str], tracers: Any, meters: Any) -> None:
    """Set up the providers of the process with the exporters that the environment names."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    is_named = "OTEL_SERVICE_NAME" in environ or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if is_named else {"service.name": NAME})
    provider = tracers(resource=resource)
    for exporter in _exporters(environ, "traces"):
        provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    readers = [PeriodicExportingMetricReader(exporter) for exporter in _exporters(environ, "metrics")]
    metrics.set_meter_provider(meters(resource=resource, metric_readers=readers))


def _exporters(environ: Mapping[str, str], signal: str) -> list[Any]:
    """Return the exporters of a signal: those that are named, by their entry points, else the one of OTLP. Raises MissingExtra
    for one that is not installed."""
    from importlib.metadata import entry_points

    made = []
    for name in environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").split(","):
        name = name.strip().lower() or "otlp"
        if name == "none":
            continue
        if name == "otlp":
            protocol = environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
            protocol = environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", protocol)
            name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
        found = list(entry_points(group=f"opentelemetry_{signal}_exporter", name=name))
        if not found:
            raise MissingExtra(f"OTEL_{signal.upper()}_EXPORTER: no package that is installed has the exporter {name}")
        made.append(found[0].load()())
    return made


class Span:
    """A span that has begun: `started` in seconds that only grow, `attributes` of the metrics, `has_piece` once the first piece
    of its reply has come."""

    __slots__ = ("span", "started", "attributes", "has_piece")

    def __init__(self, span: Any, attributes: dict[str, Any]) -> None:
        self.span = span
        self.started = time.perf_counter()
        self.attributes = attributes
        self.has_piece = False


class Telemetry:
    """Spans and metrics of one session, of one run at a time, in the thread of its loop. `captures` says whether what messages
    say goes into spans; `clean` takes secrets out of a text, and `is_silent` says whether what happens is given again from a
    recording: then the span of the run is sent, and none of requests, vectors and tool calls. Whoever begins a span ends it.
    Where one begins None is given for nothing to be sent, and taken where it ends."""

    def __init__(self, tracer: Any, meter: Any, captures: bool) -> None:
        self.tracer = tracer
        self.captures = captures
        self.clean: Callable[[str], str] = str
        self.is_silent: Callable[[], bool] = lambda: False
        self.parent: Any = None  # the context of the run's span
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Tokens that requests used", explicit_bucket_boundaries_advisory=TOKEN_BUCKETS
        )
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "How long requests took", explicit_bucket_boundaries_advisory=SECOND_BUCKETS
        )
        self._first_pieces = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk", "s", "How long the first pieces of streamed replies took",
            explicit_bucket_boundaries_advisory=SECOND_BUCKETS,
        )  # fmt: skip

    # ------------------------------------------------------------ runs

    def run_begins(self, program: str) -> Span:
        """Begin the span of a run, below the current one of the host; also where `is_silent`."""
        from opentelemetry.trace import set_span_in_context

        attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": program}
        span = self.tracer.start_span(f"invoke_workflow {program}", attributes=attributes)
        self.parent = set_span_in_context(span)
        return Span(span, {})

    def run_ends(self, begun: Span, failure: str) -> None:
        """End the span of a run; `failure` is the code of its panic or the kind of its error, "" for none."""
        self._end(begun, failure, "")
        self.parent = None

    def carrier(self) -> dict[str, str]:
        """Return what tells another process, or a server, which span its own ones stand below: `traceparent`, and `tracestate`
        where there is one (W3C Trace Context). Empty outside of a run."""
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        found: dict[str, str] = {}
        if self.parent is not None:
            TraceContextTextMapPropagator().inject(found, self.parent)
        return found

    # ------------------------------------------------------------ requests

    def request_begins(self, request: Request, connection: ConnectionSettings, conversation: str | None) -> Span | None:
        """Begin the span of a request that is sent. `conversation` is the key of the memory that it belongs to, None for none."""
        if self.is_silent():
            return None
        attributes = self._attributes("chat", request.model, connection)
        more: dict[str, Any] = {**attributes, "gen_ai.output.type": "text" if request.schema is None else "json"}
        for ours, theirs in PARAMS.items():
            value = request.params.get(ours)
            if value is not None:
                more[f"gen_ai.request.{theirs}"] = [value] if ours == "stop" and isinstance(value, str) else value
        if request.stream:
            more["gen_ai.request.stream"] = True
        if conversation is not None:
            more["gen_ai.conversation.id"] = self.clean(conversation)
        if self.captures:
            rest = [message for message in request.messages if message.role != "system"]
            system = [self._text(message.content) for message in request.messages if message.role == "system"]
            more["gen_ai.input.messages"] = self._json([self._message(message) for message in rest])
            if system:
                more["gen_ai.system_instructions"] = self._json(system)
            if request.tools:
                more["gen_ai.tool.definitions"] = self._json([{"type": "function", **tool.as_json()} for tool in request.tools])
        return self._begin(f"chat {request.model}", more, attributes)

    def request_answered(self, begun: Span | None, reply: Reply, use: Use) -> None:
        """End the span of a request with its reply; `use` is what it used."""
        if begun is None:
            return
        span = begun.span
        if reply.model:
            begun.attributes["gen_ai.response.model"] = reply.model
            span.set_attribute("gen_ai.response.model", reply.model)
        finish = "tool_call" if reply.finish == "tool" else reply.finish
        span.set_attribute("gen_ai.response.finish_reasons", [finish])
        if self.captures:
            said = self._message_parts(reply.text, reply.calls)
            span.set_attribute(
                "gen_ai.output.messages", self._json([{"role": "assistant", "parts": said, "finish_reason": finish}])
            )
        self._use(begun, use)
        self._end(begun, "", "")

    def piece_came(self, begun: Span | None) -> None:
        """Tell that a piece of a streamed reply has come; of the first one it is told how long it took."""
        if begun is None or begun.has_piece:
            return
        begun.has_piece = True
        seconds = time.perf_counter() - begun.started
        begun.span.set_attribute("gen_ai.response.time_to_first_chunk", seconds)
        self._first_pieces.record(seconds, begun.attributes)

    def embedding_begins(self, request: EmbedRequest, connection: ConnectionSettings) -> Span | None:
        """Begin the span of a request for vectors."""
        if self.is_silent():
            return None
        attributes = self._attributes("embeddings", request.model, connection)
        return self._begin(f"embeddings {request.model}", attributes, attributes)

    def embedding_ends(self, begun: Span | None, use: Use, failure: BaseException | None) -> None:
        """End the span of a request for vectors; `use` is what it used, `failure` why it gave none, None for none."""
        if begun is not None and failure is None:
            self._use(begun, use)
        self.broke(begun, failure)

    def broke(self, begun: Span | None, failure: BaseException | None) -> None:
        """End a span whose work gave a failure, None for none."""
        if begun is not None:
            self._end(begun, "" if failure is None else error_type(failure), str(failure) if failure is not None else "")

    # ------------------------------------------------------------ tools

    def tool_begins(self, call: Call) -> Span | None:
        """Begin the span of a tool call of a model."""
        if self.is_silent():
            return None
        attributes = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name, "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
        }  # fmt: skip
        if self.captures:
            arguments = call.text if call.arguments is None else call.arguments
            attributes["gen_ai.tool.call.arguments"] = self._json(arguments)
        span = self.tracer.start_span(f"execute_tool {call.name}", context=self.parent, attributes=attributes)
        return Span(span, {})

    def tool_ends(self, begun: Span | None, answer: Msg) -> None:
        """End the span of a tool call with the message that the model gets."""
        if begun is not None:
            if self.captures:
                begun.span.set_attribute("gen_ai.tool.call.result", self.clean(answer.content))
            self._end(begun, "ToolError" if answer.is_error else "", answer.content)

    # ------------------------------------------------------------ parts

    def _attributes(self, operation: str, model: str, connection: ConnectionSettings) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": operation, "gen_ai.request.model": model,
            "gen_ai.provider.name": PROVIDERS[connection.provider].telemetry_name,
        }  # fmt: skip

    def _begin(self, name: str, attributes: dict[str, Any], of_metrics: dict[str, Any]) -> Span:
        from opentelemetry.trace import SpanKind

        span = self.tracer.start_span(name, context=self.parent, kind=SpanKind.CLIENT, attributes=attributes)
        return Span(span, dict(of_metrics))

    def _use(self, begun: Span, use: Use) -> None:
        counts = {
            "input_tokens": use.tokens_in, "output_tokens": use.tokens_out, "cache_read.input_tokens": use.tokens_cached,
            "cache_creation.input_tokens": use.tokens_cache_write, "reasoning.output_tokens": use.tokens_reasoning,
        }  # fmt: skip
        for name, count in counts.items():
            if count or name in ("input_tokens", "output_tokens"):
                begun.span.set_attribute(f"gen_ai.usage.{name}", count)
        self._tokens.record(use.tokens_in, {**begun.attributes, "gen_ai.token.type": "input"})
        if use.tokens_out:
            self._tokens.record(use.tokens_out, {**begun.attributes, "gen_ai.token.type": "output"})

    def _end(self, begun: Span, failure: str, message: str) -> None:
        if failure:
            from opentelemetry.trace import Status, StatusCode

            begun.attributes["error.type"] = failure
            begun.span.set_attribute("error.type", failure)
            # a failure may quote what was sent
            begun.span.set_status(Status(StatusCode.ERROR, self.clean(message) if self.captures and message else None))
        if "gen_ai.request.model" in begun.attributes:
            self._seconds.record(time.perf_counter() - begun.started, begun.attributes)
        begun.span.end()

    def _message(self, message: Msg) -> dict[str, Any]:
        if message.role == "tool":
            part = {"type": "tool_call_response", "id": message.call_id, "response": self.clean(message.content)}
            return {"role": "tool", "parts": [part]}
        parts = self._message_parts(message.content, message.calls)
        return {"role": message.role, "parts": [*parts, *({"type": "media"} for _ in message.media)]}

    def _message_parts(self, text: str, calls: Sequence[Call]) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [self._text(text)] if text else []
        for call in calls:
            arguments = call.text if call.arguments is None else call.arguments
            parts.append({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
        return parts

    def _text(self, text: str) -> dict[str, Any]:
        return {"type": "text", "content": text}

    def _json(self, plain: Any) -> str:
        return compact_json(cleaned(plain, self.clean))


def cleaned(plain: Any, clean: Callable[[str], str]) -> Any:
    """Return plain data whose texts went through `clean`."""
    if isinstance(plain, str):
        return clean(plain)
    if isinstance(plain, (list, tuple)):
        return [cleaned(part, clean) for part in plain]
    if isinstance(plain, dict):
        return {clean(str(name)): cleaned(part, clean) for name, part in plain.items()}
    return plain


def error_type(failure: BaseException | CallFailure) -> str:
    """Return what the conventions call the type of an error: the variant of a failure of a call, else its kind, else the name of
    an exception's class."""
    variant, kind = getattr(failure, "variant", None), getattr(failure, "kind", None)
    return str(variant or kind or type(failure).__name__)
