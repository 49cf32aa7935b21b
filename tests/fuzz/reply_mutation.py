"""Replies, streams and embeddings of the three wires as their providers send them, and what a hostile one makes of them."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

Json = Any

USAGE = {
    "chat": {"prompt_tokens": 5, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 7},
    "responses": {"input_tokens": 5, "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 1}},
    "anthropic": {"input_tokens": 2, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 1, "output_tokens": 2},
}


def _chat(message: Json, finish: str = "stop") -> Json:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": None, "refusal": None, **message}}
    return {"id": "x", "object": "chat.completion", "model": "real-1", "choices": [choice], "usage": USAGE["chat"]}


def _response(item: Json, status: str = "completed", **parts: Json) -> Json:
    return {"id": "x", "model": "real-1", "status": status, "output": [item], "usage": USAGE["responses"], **parts}


def _message(block: Json, stop_reason: str = "end_turn") -> Json:
    about = {"id": "x", "type": "message", "role": "assistant", "model": "real-1"}
    return {**about, "content": [block], "stop_reason": stop_reason, "usage": USAGE["anthropic"]}


ARGUMENTS = '{"q": 1}'
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "T__m", "arguments": ARGUMENTS}}
OUTPUT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}
REFUSED = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}
# The first is a reply without calls.
REPLIES: dict[str, list[Json]] = {
    "chat": [
        _chat({"content": "hello"}), _chat({"tool_calls": [FUNCTION]}, "tool_calls"), _chat({"refusal": "no"}),
        _chat({"content": "hel"}, "length"), _chat({}, "content_filter"),
    ],
    "responses": [
        _response(OUTPUT), _response({"type": "function_call", "call_id": "c1", "name": "T__m", "arguments": ARGUMENTS}),
        _response(REFUSED), _response(OUTPUT, "incomplete", incomplete_details={"reason": "max_output_tokens"}),
        _response(OUTPUT, "failed", error={"code": "x", "message": "boom"}),
    ],
    "anthropic": [
        _message({"type": "text", "text": "hello"}),
        _message({"type": "tool_use", "id": "c1", "name": "T__m", "input": {"q": 1}}, "tool_use"),
        _message({"type": "thinking", "thinking": "so", "signature": "s"}, "refusal"),
        _message({"type": "text", "text": "h"}, "max_tokens"),
    ],
}  # fmt: skip
ERRORS: list[Json] = [
    {"error": {"message": "no", "type": "t", "param": "temperature", "code": None}}, [{"error": {"code": 400, "message": "no"}}],
    {"detail": [{"loc": ["body"], "msg": "field required"}]}, {"type": "error", "error": {"type": "t", "message": "no"}},
    {"error": "no"},
]  # fmt: skip
EMBEDDINGS: Json = {
    "object": "list", "model": "e-1", "usage": {"prompt_tokens": 2, "total_tokens": 2},
    "data": [{"index": 0, "embedding": [0.5, 1, -2]}, {"index": 1, "embedding": [0.25, 0, 3]}],
}  # fmt: skip


def _delta(finish: str | None = None, **parts: Json) -> Json:
    return {"id": "x", "model": "real-1", "choices": [{"index": 0, "delta": parts, "finish_reason": finish}], "usage": None}


def _block(kind: str, **parts: Json) -> Json:
    return {"type": f"content_block_{kind}", "index": 0, **parts}


def _part(**function: str) -> Json:
    return {"index": 0, "function": function}


def _blocks(start: Json, deltas: list[Json], stop_reason: str) -> list[Json]:
    message = {"model": "real-1", "content": [], "usage": {"input_tokens": 5}}
    end = {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 2}}
    return [
        {"type": "message_start", "message": message}, _block("start", content_block=start), {"type": "ping"},
        *[_block("delta", delta=delta) for delta in deltas], _block("stop"), end, {"type": "message_stop"},
    ]  # fmt: skip


TEXT = {"type": "text", "text": ""}
CALL = {"type": "tool_use", "id": "c1", "name": "T__m", "input": {}}
INPUT = "input_json_delta"
SIGNATURE = {"type": "signature_delta", "signature": "s"}
THOUGHT = {"type": "thinking", "thinking": ""}
STREAMS: dict[str, list[list[Json]]] = {
    "chat": [
        [
            _delta(role="assistant", content=""), _delta(content="hel"), _delta(content="lo"), _delta("stop"),
            {"choices": [], "usage": USAGE["chat"]},
        ],
        [
            _delta(tool_calls=[{"id": "c1", **_part(name="T__m", arguments='{"q"')}]),
            _delta("tool_calls", tool_calls=[_part(arguments=": 1}")]),
        ],
        [_delta(refusal="no"), _delta("stop")],
        [_delta(content="hel"), {"error": {"message": "it broke"}}],
    ],
    "responses": [
        [
            {"type": "response.created", "response": {}}, {"type": "response.output_text.delta", "delta": "hel"},
            {"type": "response.output_text.delta", "delta": "lo"},
            {"type": "response.completed", "response": REPLIES["responses"][0]},
        ],
        [{"type": "response.completed", "response": REPLIES["responses"][1]}],
        [{"type": "response.incomplete", "response": REPLIES["responses"][3]}],
        [{"type": "response.failed", "response": {"error": {"message": "it broke"}}}],
    ],
    "anthropic": [
        _blocks(TEXT, [{"type": "text_delta", "text": "hel"}, {"type": "text_delta", "text": "lo"}], "end_turn"),
        _blocks(CALL, [{"type": INPUT, "partial_json": '{"q"'}, {"type": INPUT, "partial_json": ": 1}"}], "tool_use"),
        _blocks(THOUGHT, [{"type": "thinking_delta", "thinking": "so"}, SIGNATURE], "end_turn"),
        [{"type": "error", "error": {"message": "it broke"}}],
    ],
}  # fmt: skip


def _deep(levels: int) -> Json:
    value: Json = "x"
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


VALUES: list[Json] = [
    None, True, False, 0, -1, -3, 1, 5, 2**31, 2**63, -(2**63) - 1, 2**80, -1_000_000,
    0.5, -0.0, 1e308, 10**300, float("nan"), float("inf"),
    "", "x", "hello", "\ud800", "\U000e0041", "\x00", "5", "stop", "tool_calls", "tool_use", "[DONE]", "text", "function_call",
    [], {}, [[]], [{}], {"a": 1}, [None], ["x"], [1], {"type": "text"}, {"message": {}}, {"type": "tool_use"},
    _deep(5), _deep(70), "y" * 70_000,
]  # fmt: skip


SPLINTERS = [
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\r", b"\n", b"\n\n", b"data:", b"data: [DONE]\n\n", b":", b"\xef\xbb\xbf", b'"',
]  # fmt: skip


def mutated(chance: random.Random, document: Json) -> Json:
    """A copy with a few parts dropped, replaced, doubled or moved."""
    root = [copy.deepcopy(document)]
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        places = list(_places(root))
        holder, key = chance.choice(places)
        _mutate(chance, holder, key)
    return root[0] if root else None


def _places(holder: Json) -> Any:
    """Every part of a value, as the list or object it is in and its key there."""
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], (dict, list)):
            yield from _places(holder[key])


def _mutate(chance: random.Random, holder: Json, key: Json) -> None:
    what = chance.randrange(6)
    if what == 0 and not (isinstance(holder, list) and len(holder) == 1):
        del holder[key]
    elif what == 1 and isinstance(holder, list):
        holder.insert(chance.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
    elif what == 2 and isinstance(holder, list):
        chance.shuffle(holder)
    elif what == 3 and isinstance(holder, dict):
        other = chance.choice(list(holder))
        holder[key], holder[other] = holder[other], holder[key]
    elif what == 4:
        holder[key] = chance.choice(([holder[key]], {"a": holder[key]}, str(holder[key]), json.dumps(str(holder[key]))))
    else:
        holder[key] = copy.deepcopy(chance.choice(VALUES))


def spoiled(chance: random.Random, body: bytes) -> bytes:
    """Bytes cut, doubled, or with what is no UTF-8, no line and no event among them."""
    kind = chance.random()
    at = chance.randrange(len(body) + 1)
    if kind < 0.7:
        return body
    if kind < 0.8:
        return body[:at]
    if kind < 0.85:
        return body[:at] + body[chance.randrange(len(body) + 1) :]
    return body[:at] + chance.choice(SPLINTERS) + body[at + chance.randrange(3) :]


def as_json(chance: random.Random, value: Json) -> bytes:
    text = json.dumps(value, ensure_ascii=chance.random() < 0.8)
    if chance.random() < 0.03:  # a key twice
        text = text.replace('{"', '{"id": 1, "', 1) if '"id"' in text else text
    return text.encode("utf-8", "surrogatepass")


def as_events(chance: random.Random, events: list[Json]) -> bytes:
    end = chance.choice((b"\n", b"\n", b"\r\n", b"\r"))
    lines: list[bytes] = []
    for event in events:
        if chance.random() < 0.1:
            lines += [chance.choice((b": comment", b"event: x", b"id: 1", b"retry: x", b"data", b"data:"))]
        lines += [chance.choice((b"data: ", b"data:")) + as_json(chance, event), b""]
    if chance.random() < 0.5:
        lines += [b"data: [DONE]", b""]
    return end.join(lines) + chance.choice((b"", end))
