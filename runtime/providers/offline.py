"""Providers without a network: the offline provider, and scripted ones for mocks (O-1.29 to O-1.34, O-8.16 to O-8.22).

A reply follows from the request's record and the script, what it says of a prompt cache also from the requests before; nothing
waits but for a scripted delay. Hands on `OfflineProvider` to `pool.py`, `ScriptedProvider` to mocks of models
(`effects/tests.py`); `scripted_reply`, `comes_within` and the name MOCK to mocks of agents (`agents/calls.py`); and `Script` to
all of them, and to the command line, which checks a file of replies with it; and `fault`, the failure of a name, to faults of a
replay (`journal/border.py`).
"""

from __future__ import annotations

from ...vm.declaration_fields import DATA, HOSTED, Field, anything, array_of, object_of, one_of, text, texts, whole
from ...vm.values.errors import FAULTS
from ...vm.values.media import KINDS, size_text
from ..access.secrets import clean_json, clean_text
from ..connections import check_fields
from ..errors import CallFailure, ConfigFailure
from ..records import NO_CALLS, Call, Citation, Reply
from ..schema.lenient_json import compact_json
from ..schema.strategy import minimal_instance
from .base import Provider, origin_of, timed_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from ..connections import ConnectionSettings
    from ..errors import Origin
    from ..records import CachePlan, EmbedRequest, Msg, Request


# The parts of a scripted reply, which says what a provider would have answered (O-8.19 to O-8.22).
CITATION = object_of({"url": text(), "title": text(), "start": whole(0), "end": whole(0)}, "url")
TOOL_CALL = object_of({"tool": text(), "arguments": Field(DATA, "anything", anything)}, "tool")
PARTS = {
    "text": text(), "chunks": texts(), "tokens_in": whole(0), "tokens_out": whole(0), "model": text(), "delay_ms": whole(0),
    "tokens_cached": whole(0), "tokens_cache_write": whole(0), "tokens_reasoning": whole(0),
    "reasoning": text(),
    "citations": array_of(CITATION.takes, "an Array of citations"),
    "hosted_calls": object_of({kind: whole(0) for kind in HOSTED}),
    "hosted": array_of(one_of(*HOSTED).takes, "an Array of " + ", ".join(f'"{kind}"' for kind in HOSTED)),
    "media": array_of(one_of(*KINDS).takes, 'an Array of "image", "audio", "document"'),
    "finish": one_of("stop", "length", "tool"), "tool_calls": array_of(TOOL_CALL.takes, "an Array of calls"), "error": text(),
}  # fmt: skip
FORMS = {
    "tool_calls": '[{ "tool": "T.method", "arguments": { … } }]',
    "citations": '[{ "url": "https://…", "title": "…", "start": 0, "end": 4 }]',
}  # fmt: skip

FAULT_MESSAGE = "scripted error: {name}"


class Script:
    """Replies in order, then `rest` for ever, unless it is None. `missed` counts the requests that got none. A reply is a text or
    a dict of PARTS (O-8.19); one with `media` is for a request whose prompt has media of just these kinds, in this order, one
    with `hosted` for one with hosted tools of just these types, and waits for it (O-1.204, O-1.228). The constructor raises
    ConfigFailure (E4001, E4004) for a reply that is neither."""

    __slots__ = ("_replies", "_rest", "missed")

    def __init__(self, replies: Sequence[Any], rest: Any = None) -> None:
        every = [_without_nil(reply) for reply in (replies if rest is None else [*replies, rest])]
        for index, reply in enumerate(every):
            _check(reply, index)
        self._replies = every[: len(replies)]
        self._rest = None if rest is None else every[-1]
        self.missed = 0

    def next(self, request: Request | None = None) -> Any:
        """Return the reply that `take` would return for this request, None when there is none; nothing is used up."""
        at = self._place(request)
        return None if at is None else [*self._replies, self._rest][at]

    def take(self, request: Request | None = None) -> Any:
        """Return the first reply that fits a request, and use it up; None when none is left. An agent has no request."""
        at = self._place(request)
        if at is None:
            self.missed += 1
            return None
        return self._rest if at == len(self._replies) else self._replies.pop(at)

    def pass_over(self, request: Request) -> None:
        """Use up the reply that fits a request, without counting a request for which there is none."""
        missed = self.missed
        self.take(request)
        self.missed = missed

    def _place(self, request: Request | None) -> int | None:
        """Return where the first reply for a request stands, the rest behind all others."""
        has = {"media": _kinds(request), "hosted": [] if request is None else [tool["type"] for tool in request.hosted]}
        for at, reply in enumerate(self._replies):
            if _fits(reply, has):
                return at
        return len(self._replies) if self._rest is not None and _fits(self._rest, has) else None


def _kinds(request: Request | None) -> list[str]:
    """Return the kinds of the media of a prompt: of the last message of the user."""
    asked = None if request is None else next((m for m in reversed(request.messages) if m.role == "user"), None)
    return [] if asked is None else [part.content.kind for part in asked.media]


def _fits(reply: Any, has: Mapping[str, list[str]]) -> bool:
    return not isinstance(reply, dict) or all(reply.get(part, kinds) == kinds for part, kinds in has.items())


def scripted_calls(entries: Sequence[Mapping[str, Any]]) -> list[Call]:
    """Return the scripted tool calls of a reply; `tool` is `Tool__method` or `Tool.method` (O-8.21), ids are `call_1` and so
    on."""
    return [
        Call(f"call_{number}", entry["tool"].replace(".", "__"), _arguments(entry), _arguments_text(entry.get("arguments", "")))
        for number, entry in enumerate(entries, 1)
    ]


def _arguments_text(arguments: Any) -> str:
    """Return arguments as a model writes them; a text stays as it is, also one that is no JSON."""
    return arguments if isinstance(arguments, str) else compact_json(arguments)


def scripted_reply(scripted: Any, origin: Origin, *, model: str) -> Reply:
    """Return the Reply that a reply of a Script stands for, or raise its CallFailure, made by `origin`. Its delay is not waited
    for. `model` is the model of the reply where the script names none."""
    if isinstance(scripted, str):
        scripted = {"text": scripted}
    if "error" in scripted:
        raise fault(scripted["error"], origin)
    calls = scripted_calls(scripted.get("tool_calls", ()))
    text = clean_text(_text(scripted))
    return Reply(
        text,
        calls=calls,
        finish=scripted.get("finish", "tool" if calls else "stop"),
        model=scripted.get("model", model),
        tokens_in=scripted.get("tokens_in", 0),
        tokens_out=scripted.get("tokens_out", 0),
        cached=scripted.get("tokens_cached", 0),
        cache_write=scripted.get("tokens_cache_write", 0),
        reasoning=scripted.get("tokens_reasoning", 0),
        thoughts=scripted.get("reasoning"),
        citations=[
            Citation(each["url"], each.get("title"), each.get("start", 0), each.get("end", len(text)))
            for each in scripted.get("citations", ())
        ],
        hosted=scripted.get("hosted_calls", NO_CALLS),
    )


def _text(scripted: Mapping[str, Any]) -> str:
    return str(scripted.get("text", "".join(scripted.get("chunks", ()))))


def pieces(scripted: Any, text: str) -> list[str]:
    """Return the pieces of a streamed reply whose whole text is `text`: the `chunks` of the script, else its words, each with the
    space after it (O-8.20)."""
    if isinstance(scripted, dict) and "chunks" in scripted:
        return [clean_text(chunk) for chunk in scripted["chunks"]]
    starts, has_begun, after_space = [0], False, True
    for at, char in enumerate(text):
        is_space = char.isspace()
        if has_begun and after_space and not is_space:
            starts.append(at)
        has_begun, after_space = has_begun or not is_space, is_space
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def fault(name: str, origin: Origin) -> CallFailure:
    """Return the failure of a scripted fault by its name; any other text is the message of an `AgentError::Failed` (O-8.22)."""
    message = FAULT_MESSAGE.format(name=name)
    status = FAULTS.get(name)
    if status is not None:
        return origin.of_status(status, message)
    if name == "connection":
        return origin.network(message)
    if name == "timeout":
        return origin.timed_out()
    if name == "refusal":
        return origin.filtered(message)
    return CallFailure("AgentError", "Failed", name, model=origin.model, provider=origin.connection)


async def comes_within(seconds: float, scripted: Any, sleep: Callable[[float], Awaitable[None]]) -> bool:
    """Wait the `delay_ms` of a reply of a Script, but no longer than the limit of the request, `seconds`; `sleep` takes seconds.
    Return whether the reply came in time (O-1.55)."""
    delay = 0.0 if isinstance(scripted, str) else scripted.get("delay_ms", 0) / 1000
    if delay > 0:
        await sleep(min(delay, seconds))
    return bool(delay < seconds)


def _arguments(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    arguments = entry.get("arguments", {})
    return clean_json(arguments) if isinstance(arguments, dict) else None


def _without_nil(reply: Any) -> Any:
    """Return a reply without the parts that are nil: they count as absent, as in every table of fields."""
    return {part: value for part, value in reply.items() if value is not None} if isinstance(reply, dict) else reply


def _check(reply: Any, index: int) -> None:
    """Raise ConfigFailure for a reply with other parts than the listed ones, or parts of other types (O-0.1)."""
    if isinstance(reply, str):
        return
    if not isinstance(reply, dict):
        raise ConfigFailure("E4004", f"scripted reply {index}: expected a String or a Map")
    check_fields(f"scripted reply {index}", reply, PARTS, FORMS)
    if len({"error", "text", "chunks"} & set(reply)) != 1 and "tool_calls" not in reply:
        raise ConfigFailure("E4004", f"scripted reply {index}: expected one of text, chunks, tool_calls, error")
    length = len(clean_text(_text(reply)))
    for cited in reply.get("citations", ()):
        if not cited.get("start", 0) <= cited.get("end", length) <= length:
            words = f"a citation of {cited['url']} is for no part of the text, which has {length} code points"
            raise ConfigFailure("E4004", f"scripted reply {index}: {words}")


PREFIX = "offline: "
QUOTED_LENGTH = 60  # code points of the prompt in an invented reply
CODE_POINTS_PER_TOKEN = 4
MOCK = "mock"


class WirelessProvider(Provider):
    """What the two providers here share: replies from a script, streamed in the pieces that it says. `send` and `stream` raise
    the CallFailure of a scripted error, and a timeout for a `delay_ms` beyond the limit of the request; `embed` returns the
    vectors of the embedder `offline`, the same for the same text. `sleep` waits so many seconds. Several connections may have the
    same script, which then is one order of replies for all of them."""

    def __init__(
        self, settings: ConnectionSettings, name: str, script: Script, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self.settings = settings
        self.name = name
        self._script = script
        self._sleep = sleep

    def lower(self, request: Request) -> dict[str, Any]:
        """Return the record itself: there is no wire."""
        return request.as_json()

    async def embed(self, request: EmbedRequest) -> list[list[float]]:
        from ..memory.vectors import offline_vectors

        return offline_vectors(request.texts, request.dimensions)

    async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
        scripted = self._script.next(request)
        reply = await self.send(request)
        for piece in pieces(scripted, reply.text):
            await give(piece)
        return reply

    def pass_over(self, request: Request) -> None:
        self._script.pass_over(request)

    async def _scripted_reply(self, scripted: Any, request: Request, model: str) -> Reply:
        origin = origin_of(request)
        limit, seconds = first_limit(request)
        if not await comes_within(seconds, scripted, self._sleep):
            raise timed_out(request, limit)
        return scripted_reply(scripted, origin, model=model)


def first_limit(request: Request) -> tuple[str, float]:
    """Return name and seconds of the limit for a reply that comes in one piece: for a stream it is the wait for its beginning."""
    limits = request.limits
    if not request.stream:
        return "total", limits.call
    return ("first", limits.first) if limits.first <= limits.total else ("total", limits.total)


class OfflineProvider(WirelessProvider):
    """The provider of offline runs. When the script has no reply for a request, it makes one up: the smallest value that fits the
    schema, or the beginning of the prompt (O-1.31, O-1.32), out of which `clean` takes secrets. Tokens that the script does not
    say it counts from texts and media, and those of a cache where the program asks for one (`KeptPrefixes`)."""

    free_and_instant = True

    def __init__(
        self, settings: ConnectionSettings, script: Script, sleep: Callable[[float], Awaitable[None]],
        clean: Callable[[str], str],
    ) -> None:  # fmt: skip
        super().__init__(settings, settings.name, script, sleep)
        self._clean = clean
        self._prefixes = KeptPrefixes()

    async def send(self, request: Request) -> Reply:
        scripted = self._script.take(request)
        reply = await self._scripted_reply(scripted, request, request.model) if scripted is not None else self._invented(request)
        # tokens that the script does not say are counted, as for a made-up reply
        if not _says_tokens(scripted, "tokens_in"):
            reply.tokens_in = sum(tokens(message.content) + media_tokens(message) for message in request.messages)
        if not _says_tokens(scripted, "tokens_out"):
            reply.tokens_out = tokens(reply.text)
        if request.cache is not None and request.cache.is_asked and not _says_tokens(scripted, "tokens_cached"):
            reply.cached, reply.cache_write = self._prefixes.counts(request, request.cache)
        return reply

    def _invented(self, request: Request) -> Reply:
        if request.schema is not None:
            return Reply(compact_json(minimal_instance(request.schema.json)), model=request.model)
        asked = next((m for m in reversed(request.messages) if m.role == "user"), None)
        # no sink would know the beginning of a secret
        prompt = "" if asked is None else self._clean(asked.content)[:QUOTED_LENGTH].replace("\n", " ")
        media = "" if asked is None or not asked.media else told_media(asked)
        return Reply(PREFIX + media + prompt, model=request.model)


class KeptPrefixes:
    """What a prompt cache would have of the requests so far, by the rule of caches with marks: it keeps what stands up to a mark,
    for the same model, and reads the longest such part that a request begins with (O-1.220)."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: set[int] = set()

    def counts(self, request: Request, plan: CachePlan) -> tuple[int, int]:
        """Return the tokens of a request that were read from the cache, and those that it has written; keep its marked parts."""
        digest = hash((request.model, str([*request.hosted, *(tool.as_json() for tool in request.tools)])))
        total = read = written = 0
        marked = []
        for message in request.messages:
            digest = hash((digest, message.role, message.content, str([call.as_json() for call in message.calls])))
            total += tokens(message.content) + media_tokens(message)
            if digest in self._kept:
                read = total
            if plan.marks(message):
                marked.append(digest)
                written = total
        self._kept.update(marked)
        return read, max(written - read, 0)


class ScriptedProvider(WirelessProvider):
    """The provider of a mock: scripted replies only, and no tokens that the script does not say (O-8.16 to O-8.18).

    `exhausted` returns the exception that is raised when no reply is left."""

    def __init__(
        self,
        settings: ConnectionSettings,
        script: Script,
        sleep: Callable[[float], Awaitable[None]],
        exhausted: Callable[[Request], Exception],
    ) -> None:
        super().__init__(settings, MOCK, script, sleep)
        self._exhausted = exhausted

    async def send(self, request: Request) -> Reply:
        scripted = self._script.take(request)
        if scripted is None:
            raise self._exhausted(request)
        return await self._scripted_reply(scripted, request, MOCK)


def tokens(text: str) -> int:
    """Return the tokens that a text counts offline: its code points divided by 4, rounded up (O-1.33)."""
    return -(-len(text) // CODE_POINTS_PER_TOKEN)


def media_tokens(message: Msg) -> int:
    """Return the tokens that the media of a message count."""
    return sum([part.tokens for part in message.media]) if message.media else 0


def told_media(message: Msg) -> str:
    """Return what an invented reply says of the media of a prompt: their number, and kind and size of each (O-1.204)."""
    contents = [part.content for part in message.media]
    parts = [f"{one.kind} {'link' if one.data is None else size_text(one.size)}" for one in contents]
    return f"[{len(parts)} media: {', '.join(parts)}] "


def _says_tokens(scripted: Any, part: str) -> bool:
    return isinstance(scripted, dict) and part in scripted
