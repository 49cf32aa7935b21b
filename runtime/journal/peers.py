"""MCP servers and agents with a journal before them: what they answer is recorded, and given again without them (G-13.2).

Hands on `JournaledConnection`, `JournaledChild` and `JournaledAgentFiles` to `border.py`. A recording is given again by stand-ins
that reach nothing. Where it ends while the run goes on, a server is connected anew, and its tools must be those that were
recorded (G-9.6); the process of an agent is gone, so an exchange that it was in has an unknown outcome, and the next one starts a
new process. What is asked of a server or an agent is decided by those who have them, in `mcp/servers.py` and `agents/`.
"""

from __future__ import annotations

import asyncio

from ...vm.values.containers import base64_of, from_base64
from ...vm.values.media import content_of, link_to
from ..agents.child import ChildEnded, LineNotText, LineTooLong, OutputTooLong
from ..agents.files import FileRefused
from ..errors import CallFailure
from ..host import EffectUnknown
from ..loop import LoopLock
from ..mcp.resources import Part, PromptPart, ServedPrompt, ServedResource
from ..mcp.served import Answer, ServedTool, ServerFailure
from .operation import Form
from .rows import OBSERVED, ONCE, REPEATABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ...vm.values.media import Content
    from ..agents.child import Child
    from ..agents.files import AgentFiles
    from ..mcp.questions import Caller
    from ..mcp.served import Connection, McpSettings
    from .journal import Journal
    from .operation import Scope


# ---------------------------------------------------------------- MCP servers


class _Result:
    """What a server gave: a value, or a failure of it."""

    __slots__ = ("value", "failure")

    def __init__(self, value: Any, failure: ServerFailure | None = None) -> None:
        self.value = value
        self.failure = failure


async def _kept(work: Callable[[], Awaitable[Any]]) -> _Result:
    try:
        return _Result(await work())
    except ServerFailure as failure:
        return _Result(None, failure)


def _form_of(lower: Callable[[Any], Any], read: Callable[[Any], Any]) -> Form:
    def lower_result(result: _Result) -> Any:
        failure = result.failure
        if failure is None:
            return {"value": lower(result.value)}
        return {
            "failure": {"message": failure.message, "variant": failure.variant, "gone": failure.gone, "fields": failure.fields}
        }

    def read_result(form: Any) -> _Result:
        if "failure" not in form:
            return _Result(read(form["value"]))
        failure = form["failure"]
        return _Result(
            None, ServerFailure(failure["message"], failure["variant"], gone=failure["gone"], **failure["fields"])
        )

    return Form(lower_result, read_result)


def _media_form(media: Any) -> list[Any]:
    return [[one.kind, one.url, None if one.data is None else base64_of(one.data)] for one in media]


def _media_of(forms: Any) -> list[Content]:
    return [link_to(kind, url) if data is None else content_of(kind, _bytes(data)) for kind, url, data in forms]


def _bytes(text: str) -> bytes:
    data = from_base64(text)
    assert isinstance(data, bytes), "written by `base64_of`, under the seal of its line"
    return data


def _tools_form(tools: list[ServedTool]) -> list[Any]:
    return [[tool.name, tool.description, tool.schema, tool.refused] for tool in tools]


def _tools_of(forms: Any) -> list[ServedTool]:
    tools = []
    for name, description, schema, refused in forms:
        tool = ServedTool(name, description, schema)
        tool.refused = refused
        tools.append(tool)
    return tools


_TOOLS = _form_of(_tools_form, _tools_of)
_ANSWER = _form_of(
    lambda answer: [answer.structured, list(answer.texts), answer.failed, _media_form(answer.media)],
    lambda form: Answer(form[0], form[1], form[2], _media_of(form[3])),
)
_PARTS = _form_of(
    lambda parts: [[part.text, base64_of(part.data)] for part in parts],
    lambda forms: [Part(text, _bytes(data)) for text, data in forms],
)
_RESOURCES = _form_of(
    lambda rows: [[row.uri, row.name, row.title, row.description, row.mime, row.size] for row in rows],
    lambda forms: [ServedResource(*form) for form in forms],
)
_PROMPTS = _form_of(
    lambda rows: [[row.name, row.title, row.description, list(map(list, row.arguments))] for row in rows],
    lambda forms: [ServedPrompt(n, t, d, [(a[0], a[1], a[2]) for a in arguments]) for n, t, d, arguments in forms],
)
_PROMPT = _form_of(
    lambda parts: [[part.role, part.text, _media_form(part.media)] for part in parts],
    lambda forms: [PromptPart(role, text, _media_of(media)) for role, text, media in forms],
)


class JournaledConnection:
    """The connection to a server. `open_real` connects; the real connection is opened by the first request that is no recorded
    one, and `has_ended` is set when that is of no use any more. The methods are those of `Connection` (`mcp/served.py`); they
    raise ServerFailure, with the variant EffectUnknown for a call that a process died in."""

    def __init__(
        self, journal: Journal, scope: Scope, settings: McpSettings, open_real: Callable[[], Awaitable[tuple[Any, asyncio.Event]]]
    ) -> None:
        self.journal = journal
        self.scope = scope
        self.name = settings.name
        self.open_real = open_real
        self.real: Connection | None = None
        self.opening = LoopLock()  # one request opens it, the others wait for it
        self.has_ended = asyncio.Event()
        self.digests: dict[str, str] | None = None  # of the tools that it had, by their names

    async def _do(
        self, method: str, cls: str, request: Any, form: Form, work: Callable[[Connection], Awaitable[Any]]
    ) -> Any:
        async def asked() -> _Result:
            return await _kept(lambda: self._with_real(work))

        key = self.journal.next_key(self.scope, self.name)
        what = {"server": self.name, "method": method, **request}
        try:
            result: _Result = await self.journal.perform(key, "mcp", cls, what, asked, form)
        except EffectUnknown:
            raise ServerFailure(
                f"mcp {self.name}: whether {method} took effect is not known: the process died meanwhile ({key})",
                "EffectUnknown",
            ) from None
        if result.failure is not None:
            raise result.failure
        return result.value

    async def _with_real(self, work: Callable[[Connection], Awaitable[Any]]) -> Any:
        async with self.opening:
            if self.real is None:
                self.real, self.has_ended = await self._opened()
        return await work(self.real)

    async def _opened(self) -> tuple[Connection, asyncio.Event]:
        real, has_ended = await self.open_real()
        try:
            if self.digests is not None:
                self._require_same(await real.tools())
        except BaseException:
            await real.aclose()
            raise
        return real, has_ended

    def _require_same(self, tools: list[ServedTool]) -> None:
        now = {tool.name: tool.digest for tool in tools}
        for name, digest in (self.digests or {}).items():
            if now.get(name) != digest:
                raise ServerFailure(f"mcp {self.name}: the tool {name} is another one than before the process died")

    async def tools(self) -> list[ServedTool]:
        """Return all tools of the server. Their digests are kept: a server that is connected anew must have the same."""
        tools: list[ServedTool] = await self._do("tools/list", REPEATABLE, {}, _TOOLS, lambda real: real.tools())
        self.digests = {tool.name: tool.digest for tool in tools}
        return tools

    async def call(self, name: str, arguments: dict[str, Any], caller: Caller) -> Answer:
        """Call a tool with plain data and return its answer. What the server says meanwhile goes to `caller`."""
        request = {"tool": name, "arguments": arguments}
        answer: Answer = await self._do(
            "tools/call", ONCE, request, _ANSWER, lambda real: real.call(name, arguments, caller)
        )
        return answer

    async def resources(self) -> list[ServedResource]:
        """Return all resources of the server; none where it offers none."""
        rows: list[ServedResource] = await self._do(
            "resources/list", REPEATABLE, {}, _RESOURCES, lambda real: real.resources()
        )
        return rows

    async def read(self, uri: str, caller: Caller) -> list[Part]:
        """Return the contents of a resource."""
        parts: list[Part] = await self._do(
            "resources/read", REPEATABLE, {"uri": uri}, _PARTS, lambda real: real.read(uri, caller)
        )
        return parts

    async def prompts(self) -> list[ServedPrompt]:
        """Return all prompts of the server; none where it offers none."""
        rows: list[ServedPrompt] = await self._do("prompts/list", REPEATABLE, {}, _PROMPTS, lambda real: real.prompts())
        return rows

    async def prompt(self, name: str, arguments: dict[str, str], caller: Caller) -> list[PromptPart]:
        """Return the messages of a prompt that is filled in."""
        request = {"prompt": name, "arguments": arguments}
        parts: list[PromptPart] = await self._do(
            "prompts/get", REPEATABLE, request, _PROMPT, lambda real: real.prompt(name, arguments, caller)
        )
        return parts

    async def ended(self) -> bool:
        """Return whether it is of no use any more, as far as that is seen without a request."""
        async def look() -> bool:
            return self.has_ended.is_set()

        key = self.journal.next_key(self.scope, self.name)
        ended: bool = await self.journal.perform(key, "mcp", OBSERVED, {"server": self.name, "method": "ended"}, look)
        return ended

    async def aclose(self) -> None:
        """End the real connection, if one was opened."""
        if self.real is not None:
            await self.real.aclose()


# ---------------------------------------------------------------- agents


_CHILD_FAILURES = {cls.__name__: cls for cls in (ChildEnded, LineTooLong, LineNotText, OutputTooLong)}


class _Line:
    """What a child gave: a value or the name of a failure; its exit code and stderr by then."""

    __slots__ = ("value", "failure", "exit_code", "stderr")

    def __init__(self, value: Any, failure: str | None, exit_code: int | None, stderr: str) -> None:
        self.value = value
        self.failure = failure
        self.exit_code = exit_code
        self.stderr = stderr


_LINE = Form(
    lambda line: [line.value, line.failure, line.exit_code, line.stderr],
    lambda form: _Line(form[0], form[1], form[2], form[3]),
)


class JournaledChild:
    """The process of the agent `owner`, with what agents use of `Child`, such as `exit_code`, None until it has ended, and
    `stderr`. `launch` starts the real one. Methods raise as those of `Child`, and CallFailure (EffectUnknown) where the process
    died with an earlier one of the run."""

    def __init__(self, journal: Journal, scope: Scope, owner: str, launch: Callable[[], Awaitable[Child]]) -> None:
        self.journal = journal
        self.scope = scope
        self.owner = owner
        self.launch = launch
        self.real: Child | None = None
        self.exit_code: int | None = None
        self.stderr = ""

    async def begin(self) -> JournaledChild:
        """Start the process, or have it started in the recording; return this child. Raises what `launch` raises."""
        async def start() -> None:
            self.real = await self.launch()

        key = self.journal.next_key(self.scope, self.owner)
        await self.journal.perform(key, "agent", REPEATABLE, {"agent": self.owner, "method": "start"}, start)
        return self

    async def _do(self, method: str, cls: str, request: Any, work: Callable[[Child], Awaitable[Any]]) -> Any:
        async def asked() -> _Line:
            if self.real is None:
                raise self._unknown()
            failure = value = None
            try:
                value = await work(self.real)
            except tuple(_CHILD_FAILURES.values()) as raised:
                failure = type(raised).__name__
            return _Line(value, failure, self.real.exit_code, self.real.stderr)

        key = self.journal.next_key(self.scope, self.owner)
        what = {"agent": self.owner, "method": method, **request}
        try:
            line: _Line = await self.journal.perform(key, "agent", cls, what, asked, _LINE)
        except EffectUnknown:
            raise self._unknown() from None
        self.exit_code, self.stderr = line.exit_code, line.stderr
        if line.failure is not None:
            raise _CHILD_FAILURES[line.failure]
        return line.value

    def _unknown(self) -> CallFailure:
        message = f"{self.owner}: what the agent has done is not known: its process died with that of the run"
        return CallFailure("AgentError", "EffectUnknown", message, model=self.owner)

    @property
    def ended(self) -> bool:
        """Whether it has exited, as far as an exchange or `stop` has shown."""
        return self.exit_code is not None

    async def has_ended(self) -> bool:
        """Return whether the process has ended; one of before the run went on has."""
        async def look() -> bool:
            return self.real is None or self.real.ended

        key = self.journal.next_key(self.scope, self.owner)
        ended: bool = await self.journal.perform(
            key, "agent", OBSERVED, {"agent": self.owner, "method": "ended"}, look
        )
        return ended

    async def write(self, text: str) -> None:
        """Write a text to its standard input."""
        await self._do("write", ONCE, {"text": text}, lambda child: child.write(text))

    async def line(self) -> str:
        """Return the next line of its standard output, without its line end."""
        line: str = await self._do("line", REPEATABLE, {}, lambda child: child.line())
        return line

    async def end_of_output(self) -> None:
        """After ChildEnded, wait until it has ended."""
        await self._do("end", REPEATABLE, {}, lambda child: child.end_of_output())

    async def stop(self) -> None:
        """Stop the real process, if there is one."""
        if self.real is not None:
            await self.real.stop()
            self.exit_code, self.stderr = self.real.exit_code, self.real.stderr


_FILE = Form(  # the text, why there is none, and whether that is since there is no such file
    lambda answer: [answer.message, answer.is_missing] if isinstance(answer, FileRefused) else [answer],
    lambda form: FileRefused(form[0], form[1]) if len(form) == 2 else form[0],
)


class JournaledAgentFiles:
    """The files that the agent `owner` asks for, as `AgentFiles`; those of the program are `inner`. FileRefused too for a file of
    which nobody knows whether it was written, since a process died meanwhile."""

    def __init__(self, journal: Journal, scope: Scope, owner: str, inner: AgentFiles) -> None:
        self.journal = journal
        self.scope = scope
        self.owner = owner
        self.inner = inner

    @property
    def reads(self) -> bool:
        """Whether the program has a permission to read any file."""
        return self.inner.reads

    @property
    def writes(self) -> bool:
        """Whether the program has a permission to write any file."""
        return self.inner.writes

    async def read(self, path: str) -> str:
        """Return the text of a file. Raises FileRefused."""
        text: str = await self._do("fs/read_text_file", REPEATABLE, {"path": path}, lambda: self.inner.read(path))
        return text

    async def write(self, path: str, text: str) -> None:
        """Write a text into a file. Raises FileRefused."""
        await self._do("fs/write_text_file", ONCE, {"path": path, "text": text}, lambda: self.inner.write(path, text))

    async def _do(self, method: str, cls: str, request: Any, work: Callable[[], Awaitable[Any]]) -> Any:
        async def answered() -> Any:
            try:
                return await work()
            except FileRefused as refused:
                return refused

        key = self.journal.next_key(self.scope, self.owner)
        what = {"agent": self.owner, "method": method, **request}
        try:
            answer = await self.journal.perform(key, "agent", cls, what, answered, _FILE)
        except EffectUnknown:
            raise FileRefused(f"{request['path']}: whether it was written is not known") from None
        if isinstance(answer, FileRefused):
            raise answer
        return answer
