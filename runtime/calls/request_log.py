"""Model requests as text for people: `--verbose=requests` and the host option `requests` show each one as it is sent (O-9.13).

Hands on `RequestLog` to the session, which makes it, and to `services.py`, through which a call tells it of each request; and
`common_prefix` to `concerto trace`, which compares recorded requests (`cli/trace_rows.py`). What a request repeats of the one
before it, to the same model of the same connection, is left out, but for its tool choice, and the share that both begin with is
named: a provider's prompt cache can read that part again. Nothing here changes a request.
"""

from __future__ import annotations

from ...vm.record import record
from ..schema.lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..records import Msg, Request

    Clean = Callable[[str], str]


def request_lines(request: Request, before: Request | None, clean: Clean) -> list[str]:
    """Return a request as lines without line ends, indented by two spaces: parameters, hosted tools, tools, tool choice, schema,
    messages, as far as it has them. Of a message the text and the calls are shown, not its media.

    `before` is the request before it to the same model, None for the first one; hosted tools, tools and schema that are equal in
    both, and the messages that both begin with, are named only, equal parameters are left out. `clean` takes secrets out of a
    text."""
    return [f"  {line}" for part in _RequestText(clean).parts(request, before) for line in part.split("\n")]


@record
class _RequestText:
    """Builds the parts of the text. Secrets are taken out before a text is quoted: quoting could hide them from `clean`
    (G-10.3)."""

    clean: Clean

    def parts(self, request: Request, before: Request | None) -> Iterator[str]:
        if request.params and (before is None or before.params != request.params):
            yield f"params: {self.json(request.params)}"
        if request.hosted:
            is_repeated = before is not None and before.hosted == request.hosted
            yield "hosted tools as before" if is_repeated else f"hosted tools: {self.json(request.hosted)}"
        if request.tools and before is not None and _as_json(before.tools) == _as_json(request.tools):
            yield f"{_count(len(request.tools), 'tool')} as before"
        else:
            yield from (self.text(f"tool {tool.name} {self.json(tool.schema)}", tool.description) for tool in request.tools)
        if request.tool_choice != "auto":
            choice = request.tool_choice
            yield f"tool choice: {choice if isinstance(choice, str) else self.json(choice)}"
        if request.schema is not None:
            form = request.schema.as_json()
            if before is not None and before.schema is not None and before.schema.as_json() == form:
                yield f"schema {request.schema.name} as before"
            else:
                yield f"schema {request.schema.name} ({request.schema.strategy}): {self.json(request.schema.json)}"
        repeated = 0 if before is None else _common(before.messages, request.messages)
        if repeated:
            yield f"{_count(repeated, 'message')} as before"
        for message in request.messages[repeated:]:
            yield from self.message(message)

    def message(self, message: Msg) -> Iterator[str]:
        head = message.role if message.call_id is None else f"{message.role} {message.call_id}"
        if message.content or not message.calls:
            yield self.text(f"{head}, an error" if message.is_error else head, message.content)
        for call in message.calls:
            arguments = self.clean(call.text) if call.arguments is None else self.json(call.arguments)
            yield self.text(f"{head} calls {call.name} ({call.id})", arguments)

    def text(self, head: str, text: str) -> str:
        """Return a text behind its head, without secrets; its further lines are indented under the first one."""
        return f"{head}: {self.clean(text)}".replace("\n", "\n  ")

    def json(self, value: Any) -> str:
        """Return plain data as JSON, without secrets."""
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
    """Return how many messages at the beginning of both are equal."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left is not right and left.as_json() != right.as_json():
            break
        count += 1
    return count


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


class RequestLog:
    """Calls `tell` with each line of a request, without its line end. The first one has id, model, connection, the size in bytes
    of hosted tools, tools and messages together as JSON, and the share of it, in percent, with which the request before it to the
    same model of the same connection begins too. `clean` takes secrets out of a text."""

    __slots__ = ("tell", "clean", "_before")

    def __init__(self, tell: Callable[[str], object], clean: Callable[[str], str]) -> None:
        self.tell = tell
        self.clean = clean
        self._before: dict[tuple[str, str], tuple[Request, bytes]] = {}

    def log(self, request: Request) -> None:
        """Tell the lines of a request that is about to be sent, and keep the request to compare the next one with it."""
        # tools first, then messages: in this order all wires have them, so this is the prefix that a prompt cache compares
        tools = [*request.hosted, *(tool.as_json() for tool in request.tools)]
        parts = [*tools, *(message.as_json() for message in request.messages)]
        text = "\n".join(map(compact_json, parts)).encode("utf-8", "surrogatepass")
        target = request.connection, request.model
        before, text_before = self._before.get(target, (None, b""))
        self._before[target] = request, text
        share = "the first of its model"
        if before is not None:
            share = f"{100 * common_prefix(text_before, text) // len(text)} % as the one before"
        self.tell(f"request {request.id}: {request.model} on {request.connection}, {len(text)} bytes, {share}")
        for line in request_lines(request, before, self.clean):
            self.tell(line)


def common_prefix(one: bytes, other: bytes) -> int:
    """Return how many bytes at the beginning of both are equal. The search is binary, over slices: they compare far faster than
    single bytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
