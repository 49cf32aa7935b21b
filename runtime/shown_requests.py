"""A request as people read it: tools, schema and messages as they are sent, what equals the request before left out (O-9.13).

Hands on `shown_request`. Must not know: wires, who reads it.
"""

from __future__ import annotations

from .schema.lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .records import Msg, Request

    Clean = Callable[[str], str]


def shown_request(request: Request, before: Request | None, clean: Clean) -> list[str]:
    """Lines, each indented; `before` went to the same model. `clean` takes secrets out of a text."""
    return [f"  {line}" for part in _Shown(clean).parts(request, before) for line in part.split("\n")]


class _Shown:
    """Secrets are taken out of texts before these are quoted and laid out (G-10.3)."""

    __slots__ = ("clean",)

    def __init__(self, clean: Clean) -> None:
        self.clean = clean

    def parts(self, request: Request, before: Request | None) -> Iterator[str]:
        if request.params and (before is None or before.params != request.params):
            yield f"params: {self.json(request.params)}"
        if request.tools and before is not None and _as_json(before.tools) == _as_json(request.tools):
            yield f"{_count(len(request.tools), 'tool')} as before"
        else:
            yield from (self.text(f"tool {tool.name} {self.json(tool.schema)}", tool.description) for tool in request.tools)
        if request.tool_choice != "auto":
            chosen = request.tool_choice
            yield f"tool choice: {chosen if isinstance(chosen, str) else self.json(chosen)}"
        if request.schema is not None:
            form = request.schema.as_json()
            if before is not None and before.schema is not None and before.schema.as_json() == form:
                yield f"schema {request.schema.name} as before"
            else:
                yield f"schema {request.schema.name} ({request.schema.strategy}): {self.json(request.schema.json)}"
        same = 0 if before is None else _common(before.messages, request.messages)
        if same:
            yield f"{_count(same, 'message')} as before"
        for message in request.messages[same:]:
            yield from self.message(message)

    def message(self, message: Msg) -> Iterator[str]:
        head = message.role if message.call_id is None else f"{message.role} {message.call_id}"
        if message.content or not message.calls:
            yield self.text(f"{head}, an error" if message.is_error else head, message.content)
        for call in message.calls:
            arguments = self.clean(call.text) if call.arguments is None else self.json(call.arguments)
            yield self.text(f"{head} calls {call.name} ({call.id})", arguments)

    def text(self, head: str, text: str) -> str:
        """The lines after the first stand under it."""
        return f"{head}: {self.clean(text)}".replace("\n", "\n  ")

    def json(self, value: Any) -> str:
        return compact_json(self.cleaned(value))

    def cleaned(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.clean(key): self.cleaned(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.cleaned(part) for part in value]
        return self.clean(value) if isinstance(value, str) else value


def _as_json(parts: Sequence[Any]) -> list[Any]:
    return [part.as_json() for part in parts]


def _common(one: Sequence[Msg], other: Sequence[Msg]) -> int:
    """How many messages both begin with."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left is not right and left.as_json() != right.as_json():
            break
        same += 1
    return same


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


# ----------------------------------------------------------------
# Requests as they are sent, and how much of each equals the one before it, which is what a provider's prompt cache can read
# again (O-9.13).
#
# Tools come first, then the messages, as all wires have them. Hands on `RequestPrefixes`, told of every request that is sent.


class RequestPrefixes:
    """`tell` gets the lines of each request, the first of them with its size and share. Compared are requests to one model of one
    connection; `clean` takes secrets out of a text."""

    __slots__ = ("tell", "clean", "_before")

    def __init__(self, tell: Callable[[str], object], clean: Callable[[str], str]) -> None:
        self.tell = tell
        self.clean = clean
        self._before: dict[tuple[str, str], tuple[Request, bytes]] = {}

    def sent(self, request: Request) -> None:
        parts = [*(tool.as_json() for tool in request.tools), *(message.as_json() for message in request.messages)]
        text = "\n".join(map(compact_json, parts)).encode("utf-8", "surrogatepass")
        to = request.connection, request.model
        before, sent = self._before.get(to, (None, b""))
        self._before[to] = request, text
        share = "the first of its model"
        if before is not None:
            share = f"{100 * common_prefix(sent, text) // len(text)} % as the one before"
        self.tell(f"request {request.id}: {request.model} on {request.connection}, {len(text)} bytes, {share}")
        for line in shown_request(request, before, self.clean):
            self.tell(line)


def common_prefix(one: bytes, other: bytes) -> int:
    """The length of what both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
