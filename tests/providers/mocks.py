"""One local server per provider that keeps its documented rules: what breaks one is answered as that provider answers.

The model behind each is the same small automaton: it calls a tool when it is asked to and tools are offered, answers a schema,
and otherwise says what it was asked. What it said is signed, so that a changed or a made-up state is seen.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .rules import Broken

Json = dict[str, Any]
CITIES = ("Oslo", "Rome")
TOKEN_BYTES = 4
KEY = "key-of-the-tests"


class Said:
    """What the automaton answers: calls as (id, name, arguments), else a text."""

    def __init__(self, text: str = "", calls: list[tuple[str, str, Json]] | None = None) -> None:
        self.text = text
        self.calls = calls or []


class _Server(ThreadingHTTPServer):
    """A server that says nothing of clients that have hung up: its stderr is that of the command under test."""

    daemon_threads = True

    def handle_error(self, *given: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*given)


class Mock:
    """`seen`: the bodies of all requests; `broken`: the rules that were broken, in order. `url` is the base URL for the SDK.
    `faults` come in place of the next answers: a status, "reset", "hang" (half a second of nothing), None for none."""

    path: str
    base = "/v1"

    def __init__(self) -> None:
        self.seen: list[Json] = []
        self.broken: list[str] = []
        self.faults: list[int | str | None] = []
        self.prefixes: list[str] = []
        self.kept: set[int] = set()  # anthropic-cache: by digest, what stands up to breakpoints
        self.count = 0
        self.failed = 0
        mock = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                body = mock.body_of(self.path, json.loads(raw))
                fault = mock.faults.pop(0) if mock.faults else None
                if isinstance(fault, str):
                    mock.seen.append(body)
                    time.sleep(0.5 if fault == "hang" else 0)
                    self.close_connection = True
                    return
                if fault is not None:
                    mock.seen.append(body)
                    status, kind, data = fault, "application/json", b'{"error": {"message": "not now"}}'
                else:
                    status, kind, data = mock.answer_raw(self.path, dict(self.headers), raw)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                fault = mock.faults.pop(0) if mock.faults else None
                if isinstance(fault, str):
                    time.sleep(0.5 if fault == "hang" else 0)
                    self.close_connection = True
                    return
                status, kind, data = mock.listed(self.path, {name.lower(): value for name, value in self.headers.items()})
                status = fault or status
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("location", "https://elsewhere.example/v1")
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *given: Any) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)

    def __enter__(self) -> Mock:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *given: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}{self.base}"

    # ------------------------------------------------------------ one request

    def body_of(self, path: str, body: Json) -> Json:
        """A body with what stands in the path."""
        return body

    def answer_raw(self, path: str, headers: Json, raw: bytes) -> tuple[int, str, bytes]:
        """The answer to a body as it came."""
        return self.answer(path, headers, json.loads(raw))

    def answer(self, path: str, headers: Json, body: Json) -> tuple[int, str, bytes]:
        self.seen.append(body)
        try:
            assert path == self.base + self.path, path
            self.check(body, {name.lower(): value for name, value in headers.items()})
        except Broken as broken:
            self.broken.append(broken.rule.name)
            return broken.status, "application/json", json.dumps(self.error(broken)).encode()
        said = self.think(body)
        usage = self.usage(body)
        if body.get("stream"):
            return 200, *self.streamed(self.events(said, usage, body))
        return 200, "application/json", json.dumps(self.reply(said, usage, body)).encode()

    models = ("m-2", "m-1")  # that the endpoint offers

    def listed(self, path: str, headers: Json) -> tuple[int, str, bytes]:
        """The list of models (https://platform.openai.com/docs/api-reference/models/list), for who has a key."""
        if headers.get("authorization") != f"Bearer {KEY}":
            body = {"error": {"message": "Incorrect API key provided: sk-w****ng.", "type": "invalid_request_error"}}
            return 401, "application/json", json.dumps(body).encode()
        if path.split("?")[0] != f"{self.base}/models":
            return 404, "text/html", b"<html><title>Not here</title></html>"
        rows = [{"id": id, "object": "model", "created": 1, "owned_by": "us"} for id in self.models]
        return 200, "application/json", json.dumps({"object": "list", "data": rows}).encode()

    def streamed(self, events: list[Json]) -> tuple[str, bytes]:
        """The content type of a stream of these events, and its body."""
        return "text/event-stream", "".join(map(self.line, events)).encode()

    def line(self, event: Json) -> str:
        return f"data: {json.dumps(event)}\n\n"

    def think(self, body: Json) -> Said:
        asked, results, tools, schema = self.asked(body)
        if tools and "weather" in asked and len(results) < asked.count("weather"):
            cities = CITIES if "both" in asked else CITIES[:1]
            self.count += 1
            return Said(calls=[(f"call_{self.count}_{at}", tools[0], {"city": city}) for at, city in enumerate(cities)])
        if schema:
            self.failed += "badly" in asked
            return Said("{}" if self.failed == 1 and "badly" in asked else '{"n":7}')
        return Said(f"{asked[:20]}: {', '.join(results)}" if results else f"echo {asked[:20]}")

    # ------------------------------------------------------------ what each wire says

    def check(self, body: Json, headers: Json) -> None:
        """Broken for the first rule the request breaks."""
        raise NotImplementedError

    def asked(self, body: Json) -> tuple[str, list[str], list[str], bool]:
        """The last text of the user, the results behind it, the names of tools, and whether there is a schema."""
        raise NotImplementedError

    def reply(self, said: Said, usage: Json, body: Json) -> Json:
        raise NotImplementedError

    def events(self, said: Said, usage: Json, body: Json) -> list[Json]:
        raise NotImplementedError

    def usage(self, body: Json) -> Json:
        raise NotImplementedError

    def error(self, broken: Broken) -> Json | list[Json]:
        return {"error": {"message": broken.message, "type": "invalid_request_error", "param": broken.param, "code": broken.code}}

    def cached(self, body: Json, *parts: str) -> tuple[int, int]:
        """All tokens of these parts of the body, and those of the longest prefix that an earlier request had (openai-cache)."""
        text = json.dumps([body.get(part) for part in parts])
        longest = max((_shared(text, before) for before in self.prefixes), default=0)
        self.prefixes.append(text)
        tokens = longest // TOKEN_BYTES
        return len(text) // TOKEN_BYTES, tokens // 128 * 128 if tokens >= 1024 else 0


# ---------------------------------------------------------------- media

MARKS = {
    "image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8", "image/webp": b"RIFF",
    "application/pdf": b"%PDF-",
}  # fmt: skip
TAKEN = {"chat-files": ("application/pdf",), "openai-pictures": (*MARKS, "text/plain")}
LONGEST_SIDE = 8000


def _parts(contents: Iterable[Any]) -> list[Json]:
    return [part for content in contents if isinstance(content, list) for part in content]


def _text(content: Any) -> str:
    """The text of a content: behind its media, if it has some."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content[-1:] if "text" in part)


def check_data_url(url: str, rule: str) -> None:
    if not url.startswith("data:"):
        return
    mime, _, data = url.removeprefix("data:").partition(";base64,")
    decoded = base64.b64decode(data, validate=True)
    if mime not in TAKEN[rule]:
        raise Broken(rule, f"Invalid file data: '{mime}' is not supported.", "messages")
    if not decoded.startswith(MARKS.get(mime, b"")):
        raise Broken("openai-pictures", "You uploaded an unsupported image.", None, "invalid_image_format")


def check_picture(source: Json) -> None:
    data = base64.b64decode(source["data"], validate=True)
    if not data.startswith(MARKS[source["media_type"]]):
        raise Broken("anthropic-picture", f"Image does not match the provided media type {source['media_type']}")
    if source["media_type"] == "image/png" and max(int.from_bytes(data[at : at + 4], "big") for at in (16, 20)) > LONGEST_SIDE:
        raise Broken("anthropic-size", f"At least one of the image dimensions exceed max allowed size: {LONGEST_SIDE} pixels")


def _shared(text: str, before: str) -> int:
    low, high = 0, min(len(text), len(before))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text.startswith(before[:middle]) else (low, middle - 1)
    return low


# ---------------------------------------------------------------- chat completions


class OpenAIChat(Mock):
    """A model of the family GPT-5.6."""

    path = "/chat/completions"
    results, orphans = "chat-results", "chat-orphans"

    def check(self, body: Json, headers: Json) -> None:
        self.check_pairs(body["messages"])
        for part in _parts(message["content"] for message in body["messages"] if message["role"] == "user"):
            data = part["image_url"]["url"] if part["type"] == "image_url" else (part.get("file") or {}).get("file_data", "")
            check_data_url(data, "chat-files" if part["type"] == "file" else "openai-pictures")
        if "max_tokens" in body:
            message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            raise Broken("chat-max-tokens", message, "max_tokens", "unsupported_parameter")
        for name in ("temperature", "top_p"):
            if body.get(name, 1) != 1:
                words = "with this model. Only the default (1) value is supported."
                message = f"Unsupported value: '{name}' does not support {body[name]} {words}"
                raise Broken("chat-sampling", message, name, "unsupported_value")
        if body.get("tools") and body.get("reasoning_effort") != "none":
            message = (
                f"Function tools with reasoning_effort are not supported for {body['model']} in /v1/chat/completions. "
                "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
            )
            raise Broken("chat-effort", message, "reasoning_effort")
        schema = (body.get("response_format") or {}).get("json_schema") or {}
        if schema.get("strict"):
            _check_strict(schema["schema"], schema["name"])

    def check_pairs(self, messages: list[Json]) -> None:
        open_calls: list[str] = []
        for message in [*messages, {"role": "end"}]:
            if message["role"] == "tool":
                if message["tool_call_id"] not in open_calls:
                    words = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                    raise Broken(self.orphans, f"Invalid parameter: {words}", "messages")
                open_calls.remove(message["tool_call_id"])
                continue
            if open_calls:
                words = (
                    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
                )
                raise Broken(
                    self.results, f"{words} The following tool_call_ids did not have response messages: {open_calls}", "messages"
                )
            open_calls = [call["id"] for call in message.get("tool_calls") or ()]

    def asked(self, body: Json) -> tuple[str, list[str], list[str], bool]:
        messages = body["messages"]
        last = max(at for at, message in enumerate(messages) if message["role"] == "user")
        results = [message["content"] for message in messages[last:] if message["role"] == "tool"]
        names = [tool["function"]["name"] for tool in body.get("tools") or ()]
        return _text(messages[last]["content"]), results, names, "response_format" in body

    def message(self, said: Said) -> Json:
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id, name, arguments in said.calls
        ]
        return {
            "role": "assistant",
            "content": said.text or None,
            "refusal": None,
            "annotations": [],
            **({"tool_calls": calls} if calls else {}),
        }

    def finish(self, said: Said) -> str:
        return "tool_calls" if said.calls else "stop"

    def reply(self, said: Said, usage: Json, body: Json) -> Json:
        choice = {"index": 0, "finish_reason": self.finish(said), "message": self.message(said)}
        return {"id": "c", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}

    def deltas(self, said: Said) -> list[Json]:
        message = self.message(said)
        made: list[Json] = [{"role": "assistant", "content": ""}]
        made += [{"content": piece} for piece in pieces_of(said.text)]
        for index, call in enumerate(message.get("tool_calls") or ()):
            first, *others = pieces_of(call["function"]["arguments"])
            made.append({"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": first}}]})
            made += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in others]
        return made

    def events(self, said: Said, usage: Json, body: Json) -> list[Json]:
        made = [self.chunk(body, delta) for delta in self.deltas(said)]
        made.append(self.chunk(body, {}, self.finish(said)))
        made.append({"id": "c", "object": "chat.completion.chunk", "model": body["model"], "choices": [], "usage": usage})
        return made

    def chunk(self, body: Json, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "c", "object": "chat.completion.chunk", "model": body["model"], "choices": [choice], "usage": None}

    def usage(self, body: Json) -> Json:
        total, cached = self.cached(body, "tools", "messages")
        details = {"cached_tokens": cached, "cache_write_tokens": 0}
        return {"prompt_tokens": total, "completion_tokens": 9, "total_tokens": total + 9, "prompt_tokens_details": details}


def _check_strict(schema: Any, name: str) -> None:
    if isinstance(schema, list):
        for inner in schema:
            _check_strict(inner, name)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            message = (
                f"Invalid schema for response_format '{name}': 'additionalProperties' is required to be supplied and to be false."
            )
            raise Broken("chat-strict", message, "response_format")
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            message = f"Invalid schema for response_format '{name}': 'required' is required to include every key in properties."
            raise Broken("chat-strict", message, "response_format")
    for inner in schema.values():
        _check_strict(inner, name)


class Gemini(OpenAIChat):
    """Gemini 3 behind its OpenAI-compatible endpoint: calls carry a signature, streams have a shape of their own, errors are a
    list."""

    base = "/v1beta/openai"
    numbered = False  # whether streamed calls have an index, which then is always 0
    results = orphans = "gemini-results"

    def signature(self, id: str) -> str:
        return f"sig+of/{id}=="

    def check(self, body: Json, headers: Json) -> None:
        messages = body["messages"]
        self.check_pairs(messages)
        last = max(at for at, message in enumerate(messages) if message["role"] == "user")
        for at, message in enumerate(messages):
            if not message.get("tool_calls"):
                continue
            if at == 0 or messages[at - 1]["role"] not in ("user", "tool"):
                words = (
                    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
                )
                raise Broken("gemini-order", words)
            call = message["tool_calls"][0]
            held = ((call.get("extra_content") or {}).get("google") or {}).get("thought_signature")
            if (at > last or held is not None) and held != self.signature(call["id"]):
                words = (
                    "Function call is missing a thought_signature in functionCall parts. "
                    "This is required for tools to work correctly, and "
                    f"missing thought_signature may lead to degraded model performance. Additional data, function call "
                    f"`default_api:{call['function']['name']}`, position {at}."
                )
                raise Broken("gemini-signature", words)

    def message(self, said: Said) -> Json:
        made = super().message(said)
        for call in (made.get("tool_calls") or ())[:1]:
            call["extra_content"] = {"google": {"thought_signature": self.signature(call["id"])}}
        return made

    def finish(self, said: Said) -> str:
        return "stop"

    def deltas(self, said: Said) -> list[Json]:
        made: list[Json] = [{"role": "assistant", "content": said.text[:3]}, {"content": said.text[3:]}] if said.text else []
        for call in self.message(said).get("tool_calls") or ():
            made.append({"role": "assistant", "tool_calls": [{**({"index": 0} if self.numbered else {}), **call}]})
        return made

    def error(self, broken: Broken) -> Json | list[Json]:
        return [{"error": {"code": broken.status, "message": broken.message, "status": "INVALID_ARGUMENT"}}]


class NumberedGemini(Gemini):
    numbered = True


class DeepSeek(OpenAIChat):
    """DeepSeek in its thinking mode."""

    results = orphans = "deepseek-results"

    def check(self, body: Json, headers: Json) -> None:
        self.check_pairs(body["messages"])
        for message in body["messages"]:
            calls = message.get("tool_calls")
            if calls and message.get("reasoning_content") != self.thought(calls[0]["id"]):
                raise Broken(
                    "deepseek-reasoning",
                    "The `reasoning_content` in the thinking mode must be passed back to the API.",
                    None,
                    "invalid_request_error",
                )

    def thought(self, what: str) -> str:
        return f"I think about {what} at some length."

    def message(self, said: Said) -> Json:
        of = said.calls[0][0] if said.calls else "the answer"
        return {**super().message(said), "reasoning_content": self.thought(of)}

    def deltas(self, said: Said) -> list[Json]:
        thought = self.message(said)["reasoning_content"]
        pieces = [{"content": None, "reasoning_content": thought[at : at + 9]} for at in range(0, len(thought), 9)]
        first, *rest = super().deltas(said)
        return [{**first, "content": None, "reasoning_content": ""}, *pieces, *rest]

    def usage(self, body: Json) -> Json:
        total, cached = self.cached(body, "tools", "messages")
        return {
            "prompt_tokens": total,
            "completion_tokens": 29,
            "total_tokens": total + 29,
            "prompt_cache_hit_tokens": cached,
            "prompt_cache_miss_tokens": total - cached,
            "completion_tokens_details": {"reasoning_tokens": 20},
        }


# ---------------------------------------------------------------- Responses


class OpenAIResponses(Mock):
    """A reasoning model. `older`: it gives encrypted content only to who asks for it."""

    path = "/responses"
    reasons = True

    def check(self, body: Json, headers: Json) -> None:
        asked_for = "reasoning.encrypted_content" in (body.get("include") or ())
        if asked_for and not self.reasons:
            raise Broken("responses-include", "Encrypted content is not supported with this model.", "include")
        calls: dict[str, Json] = {}
        answered: set[str] = set()
        items = body["input"]
        for part in _parts(item.get("content") or item.get("output") for item in items):
            check_data_url(part.get("image_url") or part.get("file_data") or "", "openai-pictures")
        for at, item in enumerate(items):
            kind, before = item.get("type"), items[at - 1] if at else {}
            if kind == "reasoning":
                if not item.get("encrypted_content"):
                    words = "Items are not persisted when `store` is set to false."
                    raise Broken("responses-unstored", f"Item with id '{item.get('id')}' not found. {words}", "input", status=404)
                if item["encrypted_content"] != self.sealed(item["id"]):
                    raise Broken(
                        "responses-unstored", f"The encrypted content for item {item['id']} could not be verified.", "input"
                    )
                if at + 1 == len(items) or items[at + 1].get("id", "").split("_")[-1] != item["id"].split("_")[-1]:
                    words = "was provided without its required following item."
                    raise Broken("responses-followed", f"Item '{item['id']}' of type 'reasoning' {words}", "input")
            elif kind == "function_call":
                calls[item["call_id"]] = item
                if self.reasons and item.get("id") and before.get("type") not in ("reasoning", "function_call"):
                    words = "was provided without its required 'reasoning' item"
                    raise Broken("responses-reasoning", f"Item '{item['id']}' of type 'function_call' {words}", "input")
            elif kind == "function_call_output":
                if item["call_id"] not in calls:
                    words = f"No tool call found for function call output with call_id {item['call_id']}."
                    raise Broken("responses-orphans", words, "input")
                answered.add(item["call_id"])
        for id in calls:
            if id not in answered:
                raise Broken("responses-outputs", f"No tool output found for function call {id}.", "input")

    def sealed(self, id: str) -> str:
        return f"gAAAA/{id}+="

    def asked(self, body: Json) -> tuple[str, list[str], list[str], bool]:
        items = body["input"]
        last = max(at for at, item in enumerate(items) if item.get("role") == "user")
        results = [_text(item["output"]) for item in items[last:] if item.get("type") == "function_call_output"]
        return _text(items[last]["content"]), results, [tool["name"] for tool in body.get("tools") or ()], "text" in body

    def output(self, said: Said, body: Json) -> list[Json]:
        self.count += 1
        made: list[Json] = []
        if self.reasons:
            reasoning = {"type": "reasoning", "id": f"rs_{self.count}", "summary": []}
            asked_for = "reasoning.encrypted_content" in (body.get("include") or ())
            made.append({**reasoning, "encrypted_content": self.sealed(reasoning["id"]) if asked_for else None})
        for at, (id, name, arguments) in enumerate(said.calls):
            item = {"type": "function_call", "id": f"fc_{at}_{self.count}", "status": "completed", "call_id": id, "name": name}
            made.append({**item, "arguments": json.dumps(arguments)})
        if not said.calls:
            part = {"type": "output_text", "text": said.text, "annotations": []}
            message = {
                "type": "message",
                "id": f"msg_{self.count}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
            made.append({**message, "phase": "final_answer"})
        return made

    def reply(self, said: Said, usage: Json, body: Json) -> Json:
        return {
            "id": "r",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "completed",
            "output": self.output(said, body),
            "usage": usage,
            "tools": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
        }

    def events(self, said: Said, usage: Json, body: Json) -> list[Json]:
        pieces = [{"type": "response.output_text.delta", "delta": piece} for piece in pieces_of(said.text)]
        return [*pieces, {"type": "response.completed", "response": self.reply(said, usage, body)}]

    def usage(self, body: Json) -> Json:
        total, cached = self.cached(body, "tools", "instructions", "input")
        details = {"cached_tokens": cached, "cache_write_tokens": 0}
        return {
            "input_tokens": total,
            "input_tokens_details": details,
            "output_tokens": 25,
            "total_tokens": total + 25,
            "output_tokens_details": {"reasoning_tokens": 20},
        }


class PlainResponses(OpenAIResponses):
    """A model that does not reason."""

    reasons = False


# ---------------------------------------------------------------- Anthropic


class Anthropic(Mock):
    """A model after Opus 4.7 that thinks by itself."""

    path = "/v1/messages"
    base = ""
    refused = "enabled"  # the form of `thinking` that it does not take

    def check(self, body: Json, headers: Json) -> None:
        if "max_tokens" not in body:
            raise Broken("anthropic-max-tokens", "max_tokens: Field required")
        self.check_thinking(body)
        cache_blocks(body)
        for name in ("temperature", "top_p", "top_k"):
            if name in body:
                raise Broken("anthropic-sampling", f"`{name}` is deprecated for this model.")
        messages = [{**message, "content": _blocks(message["content"])} for message in body["messages"]]
        if messages[-1]["role"] != "user":
            raise Broken(
                "anthropic-prefill",
                "This model does not support assistant message prefill. The conversation must end with a user message.",
            )
        uses: list[str] = []
        for at, message in enumerate(messages):
            self.check_message(at, message, uses)
            uses = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        self.check_latest(messages)

    def check_thinking(self, body: Json) -> None:
        kind = (body.get("thinking") or {}).get("type")
        if kind == self.refused == "adaptive":
            raise Broken("anthropic-adaptive", "adaptive thinking is not supported on this model")
        if kind == self.refused:
            words = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
            raise Broken("anthropic-enabled", f'"thinking.type.{kind}" is not supported for this model. {words}')
        if kind in ("enabled", "adaptive") and (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
            raise Broken("anthropic-forced", "Thinking may not be enabled when tool_choice forces tool use.")
        if kind == "enabled" and not 1024 <= body["thinking"]["budget_tokens"] < body["max_tokens"]:
            raise Broken("anthropic-budget", "`max_tokens` must be greater than `thinking.budget_tokens`.")

    def check_message(self, at: int, message: Json, uses: list[str]) -> None:
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        for id in results:
            if id not in uses:
                words = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                raise Broken(
                    "anthropic-orphans", f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. {words}"
                )
        missing = [id for id in uses if id not in results]
        if missing:
            words = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            raise Broken(
                "anthropic-results",
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {missing}. {words}",
            )
        inside = [part for block in message["content"] if block["type"] == "tool_result" for part in _blocks(block["content"])]
        for block in [*message["content"], *inside]:
            if block["type"] == "image" and block["source"]["type"] == "base64":
                check_picture(block["source"])
        for number, block in enumerate(message["content"]):
            if block["type"] == "text" and not block["text"].strip():
                raise Broken("anthropic-blank", "messages: text content blocks must contain non-whitespace text")
            if block["type"] == "thinking" and block["signature"] != self.signature(block["thinking"]):
                raise Broken("anthropic-signature", f"messages.{at}.content.{number}: Invalid `signature` in `thinking` block")

    def listed(self, path: str, headers: Json) -> tuple[int, str, bytes]:
        """https://platform.claude.com/docs/en/api/models/list: pages by `after_id`; here a page has one id."""
        if headers.get("x-api-key", headers.get("authorization")) not in (KEY, f"Bearer {KEY}"):
            error = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
            return 401, "application/json", json.dumps(error).encode()
        where, _, query = path.partition("?")
        if where != "/v1/models":
            return 404, "application/json", b'{"type": "error", "error": {"type": "not_found_error", "message": "Not Found"}}'
        asked = dict(part.split("=") for part in query.split("&"))
        at = self.models.index(asked["after_id"]) + 1 if "after_id" in asked else 0
        rows = [{"type": "model", "id": self.models[at], "display_name": "M", "created_at": "2026-01-01T00:00:00Z"}]
        body = {"data": rows, "has_more": at + 1 < len(self.models), "first_id": rows[0]["id"], "last_id": rows[0]["id"]}
        return 200, "application/json", json.dumps(body).encode()

    def check_latest(self, messages: list[Json]) -> None:
        said = [(at, message) for at, message in enumerate(messages) if message["role"] == "assistant"]
        if not said or not any(block["type"] == "tool_result" for block in messages[-1]["content"]):
            return
        at, latest = said[-1]
        kinds = [block["type"] for block in latest["content"]]
        if kinds[0] not in ("thinking", "redacted_thinking"):
            words = f"Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`."
            raise Broken("anthropic-first", f"messages.{at}.content.0.type: {words}")
        if kinds.count("redacted_thinking") != 1:
            words = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
            raise Broken(
                "anthropic-thinking",
                f"messages.{at}.content.1: {words} These blocks must remain as they were in the original response.",
            )

    def signature(self, thinking: str) -> str:
        return f"Eq{len(thinking)}/{thinking[-6:]}=="

    def asked(self, body: Json) -> tuple[str, list[str], list[str], bool]:
        messages = [{**message, "content": _blocks(message["content"])} for message in body["messages"]]
        told = [
            (at, block["text"]) for at, message in enumerate(messages) if message["role"] == "user"
            for block in message["content"] if block["type"] == "text"
        ]  # fmt: skip
        last, text = told[-1]
        results = [
            _text(block["content"])
            for message in messages[last:]
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        schema = "format" in (body.get("output_config") or {})
        return text, results, [tool["name"] for tool in body.get("tools") or ()], schema

    def content(self, said: Said) -> list[Json]:
        thinking = f"about {said.text or said.calls[0][0]}"
        made: list[Json] = [{"type": "thinking", "thinking": thinking, "signature": self.signature(thinking)}]
        made.append({"type": "redacted_thinking", "data": "EmwKAhgB"})
        if said.calls:
            made.append({"type": "text", "text": "\n\n"})  # as models do; it must not come back
        made += [{"type": "tool_use", "id": id, "name": name, "input": arguments} for id, name, arguments in said.calls]
        return made if said.calls else [*made, {"type": "text", "text": said.text, "citations": None}]

    def reply(self, said: Said, usage: Json, body: Json) -> Json:
        stop = "tool_use" if said.calls else "end_turn"
        made = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": self.content(said)}
        return {**made, "stop_reason": stop, "stop_sequence": None, "usage": usage}

    def line(self, event: Json) -> str:
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"

    def events(self, said: Said, usage: Json, body: Json) -> list[Json]:
        whole = self.reply(said, usage, body)
        made: list[Json] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
        for index, block in enumerate(whole["content"]):
            empty, deltas = _streamed(block)
            made.append({"type": "content_block_start", "index": index, "content_block": empty})
            made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            made.append({"type": "content_block_stop", "index": index})
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        return [*made, {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 25}}, {"type": "message_stop"}]

    def usage(self, body: Json) -> Json:
        read, written, rest = self.billed(body)
        return {
            "input_tokens": rest,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 25,
            "output_tokens_details": {"thinking_tokens": 20},
        }

    def billed(self, body: Json) -> tuple[int, int, int]:
        """anthropic-cache: what stands up to a breakpoint is kept, and read when one of the 20 blocks up to a breakpoint ends
        what was kept; less than 1,024 tokens are not. Tokens read, written and billed in full."""
        blocks = cache_blocks(body)
        digest, tokens, ends = (body["model"],), 0, []
        for text, marked in blocks:
            digest = (*digest, text)
            tokens += max(len(text) // TOKEN_BYTES, 1)
            ends.append((hash(digest), tokens, marked))
        marks = [at for at, (_, _, marked) in enumerate(ends) if marked]
        known = [ends[at][1] for mark in marks for at in range(max(mark - 20, 0), mark + 1) if ends[at][0] in self.kept]
        read = max(known, default=0)
        written = max([ends[mark][1] for mark in marks], default=0)
        if written < 1024:
            return 0, 0, tokens
        self.kept.update(ends[mark][0] for mark in marks if ends[mark][1] >= 1024)
        return read, max(written - read, 0), tokens - max(written, read)

    def error(self, broken: Broken) -> Json:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": broken.message}, "request_id": "req_1"}


def cache_blocks(body: Json) -> list[tuple[str, bool]]:
    """The blocks of a request in the order in which they are cached, each as text without its breakpoint, and whether it has
    one. Where a block belongs to is a part of it."""
    tools = [("tool", tool) for tool in body.get("tools") or ()]
    system = [("system", block) for block in _blocks(body.get("system") or [])]
    messages = [(message["role"], block) for message in body["messages"] for block in _blocks(message["content"])]
    every = [(place, dict(block)) for place, block in (*tools, *system, *messages)]
    marks = [block.pop("cache_control", None) for _, block in every]
    if sum(mark is not None for mark in marks) > 4:
        words = "A maximum of 4 blocks with cache_control may be provided."
        raise Broken("anthropic-cache", words, "cache_control")
    for (_, block), mark in zip(every, marks, strict=True):
        if mark is not None and (block.get("type") in ("thinking", "redacted_thinking") or block.get("text") == ""):
            raise Broken("anthropic-cache", "cache_control cannot be set for such blocks", "cache_control")
    lives = [mark.get("ttl", "5m") for mark in marks if mark is not None]
    if "1h" in lives[lives.index("5m") :] if "5m" in lives else False:
        raise Broken("anthropic-cache", "a ttl='1h' cache_control block must not come after a ttl='5m' one", "cache_control")
    return [(json.dumps([place, block]), mark is not None) for (place, block), mark in zip(every, marks, strict=True)]


def pieces_of(text: str) -> list[str]:
    """A text as a stream brings it: four signs, then twelve at a time."""
    return [piece for piece in (text[:4], *(text[at : at + 12] for at in range(4, len(text), 12))) if piece]


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    """A block as it begins, and what then comes of it."""
    if block["type"] == "thinking":
        pieces = [{"type": "thinking_delta", "thinking": part} for part in (block["thinking"][:4], block["thinking"][4:])]
        return {**block, "thinking": "", "signature": ""}, [*pieces, {"type": "signature_delta", "signature": block["signature"]}]
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in pieces_of(block["text"])]
    if block["type"] == "tool_use":
        text = json.dumps(block["input"])
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in pieces_of(text)]
    return block, []
