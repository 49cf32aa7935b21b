"""The process of an agent that speaks the Agent Client Protocol: one ACP session per process, one turn of it per exchange
(O-7.38 to O-7.50).

Hands on `AcpProcess` to the performer of agents, which gives it the files of the program. What the agent asks of a person goes
through the `Listener`, which takes what comes before the answer, to the handler that the program has for ASKS, or on the channel
CHANNEL where it has none. Nothing of a call beyond its exchange, such as retries, is decided here. Messages are written and read
by `acp_messages.py`; the start, the end and the errors of a process are those of `process.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from contextlib import contextmanager

from ..schema.lenient_json import compact_json
from . import acp_messages as wire
from .acp_messages import Asked, Misfit, Reply, Told
from .child import ChildEnded, LineNotText, LineTooLong
from .files import FileRefused
from .messages import AgentFailed, Answer, ProtocolBroken, Unanswered
from .process import AgentProcess, next_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from typing import Any

    from ..media import MediaPart
    from .child import Child
    from .files import AgentFiles
    from .messages import AgentSettings
    from .process import Listener

ASKS = "request_permission"  # the type of the message by which a handler is asked
CHANNEL = "agent:permission"  # on which everybody else is asked
LONGEST_TEXT = 1024 * 1024  # characters of the messages of one turn (G-6.1)
CANCEL_GRACE = 0.5  # seconds that an agent has to end a turn that is cancelled
END_TURN = "end_turn"
# What a turn that ends otherwise becomes: the variant of AgentError, and what is said.
STOPS = {
    "refusal": ("ContentFiltered", "the agent refuses to go on"),
    "max_tokens": ("Failed", "the agent has stopped at its limit of tokens (max_tokens)"),
    "max_turn_requests": ("Failed", "the agent has stopped at its limit of requests (max_turn_requests)"),
    "cancelled": ("Cancelled", "the agent has cancelled the turn"),
}


class Refused(Exception):
    """A request that is answered with an error, by us or by the agent: its `code`, as in JSON-RPC, and its text, `message`."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Turn:
    """What an agent says in one turn. Its `text` is that of the last message: pieces that no new tool call parts."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_over = False  # whether the next piece begins a message
        self._size = 0

    @property
    def text(self) -> str:
        """Return the text of the last message so far, "" before the first."""
        return "".join(self._pieces)

    def hear(self, update: dict[str, Any]) -> None:
        """Take an update of the session, which has a String `sessionUpdate`; of other kinds than text of a message and calls of
        tools nothing is kept. Raises ProtocolBroken for more than LONGEST_TEXT characters in all the messages of the turn."""
        content = update.get("content")
        if update["sessionUpdate"] == "tool_call":
            self._is_over = True
        elif update["sessionUpdate"] == "agent_message_chunk" and isinstance(content, dict):
            text = content.get("text")
            if content.get("type") == "text" and isinstance(text, str) and text:
                self._take(text)

    def _take(self, text: str) -> None:
        self._size += len(text)
        if self._size > LONGEST_TEXT:
            raise ProtocolBroken("the text of a turn is longer than 1 MiB")
        if self._is_over:
            self._pieces.clear()
            self._is_over = False
        self._pieces.append(text)


class AcpProcess(AgentProcess):
    """The process of an agent that speaks ACP; `exchange` raises as that of AgentProcess: CallFailure for every fault of the
    agent, and what `launch` and the listener raise. `folder` is the absolute path of the working directory of its sessions,
    `files` what it may read and write through the client."""

    def __init__(
        self, settings: AgentSettings, launch: Callable[[], Awaitable[Child]], folder: str, files: AgentFiles
    ) -> None:
        super().__init__(settings, launch)
        self.folder = folder
        self.files = files
        self._session = ""
        self._takes: wire.Greeting | None = None
        self._number = 0  # of the next request of this process
        self._method = wire.PROMPT  # of the request on its way
        self._prompted: int | None = None  # the number of the prompt on its way
        self._asked: Asked | None = None  # the request of the agent that is being answered

    # ------------------------------------------------------------ requests

    async def _handshake(self, child: Child, listener: Listener) -> None:
        self._number, self._session, self._prompted, self._asked = 0, "", None, None
        files = self.files
        result, line = await self._opening(child, wire.INITIALIZE, wire.initialize(files.reads, files.writes), listener)
        self._takes = takes = _fitting(wire.INITIALIZE, line, wire.greeted, result)
        if takes.version != wire.VERSION:
            raise ProtocolBroken(f"it speaks version {takes.version} of ACP, Concerto version {wire.VERSION}", line)
        params = wire.new_session(self.folder, self.settings.params)
        result, line = await self._opening(child, wire.NEW_SESSION, params, listener)
        self._session = _fitting(wire.NEW_SESSION, line, wire.session_of, result)

    async def _opening(
        self, child: Child, method: str, params: dict[str, Any], listener: Listener
    ) -> tuple[dict[str, Any], str]:
        try:
            return await self._request(child, method, params, listener, Turn())
        except Refused as refused:
            if refused.code == wire.AUTH_REQUIRED:
                raise self.origin.failure("ConnectionError", "AuthenticationFailed", self._wants_login(refused)) from None
            raise ProtocolBroken(f"it refuses `{method}`: {refused.message}") from None

    def _wants_login(self, refused: Refused) -> str:
        logins = self._takes.logins if self._takes is not None else ()
        ways = f" ({', '.join(logins)})" if logins else ""
        return f"the agent wants a login{ways}: start it by hand once and log in there; it says: {refused.message}"

    async def _exchange(self, prompt: str, context: Any, listener: Listener, media: Sequence[MediaPart]) -> Answer:
        child = await self._running(listener)
        assert self._takes is not None
        try:
            blocks = wire.blocks_of(prompt, context, media, self._takes)
        except wire.Untaken as untaken:
            raise AgentFailed(f"media: {untaken.what} is not taken by this agent", variant="InvalidRequest") from None
        turn = Turn()
        self._prompted = self._number
        try:
            result, line = await self._request(child, wire.PROMPT, wire.prompt(self._session, blocks), listener, turn)
        except Refused as refused:
            if refused.code == wire.AUTH_REQUIRED:
                raise AgentFailed(self._wants_login(refused), "ConnectionError", "AuthenticationFailed") from None
            raise AgentFailed(refused.message) from None
        stopped = _fitting(wire.PROMPT, line, wire.stop_of, result)
        if stopped != END_TURN:
            variant, message = STOPS[stopped]
            raise AgentFailed(message, variant=variant)
        return Answer(turn.text, {**result, "text": turn.text})

    async def _request(
        self, child: Child, method: str, params: dict[str, Any], listener: Listener, turn: Turn
    ) -> tuple[dict[str, Any], str]:
        """Send a request and return its result, with the line that it came in; answer meanwhile what the agent asks. Raises
        Refused for an error, and ProtocolBroken."""
        number, self._number, self._method = self._number, self._number + 1, method
        await child.write(wire.request_line(number, method, params))
        while True:
            line = await next_line(child)
            message = wire.read_message(line)
            if isinstance(message, Told):
                await self._hear(message, listener, turn)
            elif isinstance(message, Asked):
                self._asked = message
                answer = await self._answer(message, listener)
                self._asked = None
                await child.write(answer)
            elif message.id != number or type(message.id) is not int:
                raise ProtocolBroken("a line answers a request that is not on its way", line)
            else:
                self._prompted = None
                return _result_of(message, method, line), line

    # ------------------------------------------------------------ what the agent says and asks

    async def _hear(self, message: Told, listener: Listener, turn: Turn) -> None:
        update = message.params.get("update")
        kind = update.get("sessionUpdate") if isinstance(update, dict) else None
        if message.method != wire.UPDATE or update is None or not isinstance(kind, str):
            await listener.on_message({**message.params, "type": message.method})
            return
        if message.params.get("sessionId") == self._session:
            turn.hear(update)
        fields = {name: value for name, value in update.items() if name != "sessionUpdate"}
        await listener.on_message({**fields, "type": kind})

    async def _answer(self, asked: Asked, listener: Listener) -> str:
        """Return the line that answers a request of the agent. What the listener raises passes through."""
        try:
            return wire.reply_line(asked.id, await self._result(asked, listener))
        except Misfit as misfit:
            return wire.error_line(asked.id, wire.INVALID_PARAMS, misfit.reason)
        except Refused as refused:
            return wire.error_line(asked.id, refused.code, refused.message)
        except FileRefused as refused:
            code = wire.RESOURCE_NOT_FOUND if refused.is_missing else wire.INTERNAL_ERROR
            return wire.error_line(asked.id, code, refused.message)

    async def _result(self, asked: Asked, listener: Listener) -> Any:
        if asked.method == wire.PERMISSION:
            session, options = wire.permission_of(asked.params)
            self._require_own(session)
            return wire.permission(await self._permission(asked.params, options, listener))
        if asked.method == wire.READ_FILE:
            session, path, first, most = wire.read_of(asked.params)
            return wire.file_text(lines_of(await self.files.read(self._own_path(session, path)), first, most))
        if asked.method == wire.WRITE_FILE:
            session, path, text = wire.write_of(asked.params)
            await self.files.write(self._own_path(session, path), text)
            return {}
        value = await listener.on_message({**asked.params, "type": asked.method})
        if value is None:
            raise Refused(wire.METHOD_NOT_FOUND, f"the client does not serve {asked.method}")
        return value

    def _require_own(self, session: str) -> None:
        if session != self._session:
            raise Refused(wire.INVALID_PARAMS, "the session is not the one of this client")

    def _own_path(self, session: str, path: str) -> str:
        self._require_own(session)
        if not os.path.isabs(path):
            raise Refused(wire.INVALID_PARAMS, "the path is not absolute")
        return path

    async def _permission(self, params: dict[str, Any], options: list[tuple[str, str]], listener: Listener) -> str | None:
        """Return the id of the option that the program, or whoever answers for it, chooses; None for none. Without an answer it
        is refused (O-7.45)."""
        shown = {name: value for name, value in params.items() if name != "sessionId"}
        if listener.handles(ASKS):
            where, answer = f'the handler of "{ASKS}"', await listener.on_message({**shown, "type": ASKS})
        else:
            where = f"the answer on {CHANNEL}"
            try:
                with self._paused():
                    answer = await listener.ask(CHANNEL, {"agent": self.name, **shown})
            except Unanswered as unanswered:
                return None if unanswered.is_late else chosen(False, options)
        try:
            return chosen(answer, options)
        except Misfit as misfit:
            raise self.origin.failure("AgentError", "Failed", f"{where} does not fit: {misfit.reason}") from None

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Stop the time limit of the exchange: a person is asked."""
        timer, now = self._timer, asyncio.get_running_loop().time
        until = timer.when() if timer is not None else None
        if timer is None or until is None:
            yield
            return
        left = until - now()
        timer.reschedule(None)
        try:
            yield
        finally:
            timer.reschedule(now() + left)

    # ------------------------------------------------------------ the end

    def _late(self) -> str:
        if self._method == wire.PROMPT:
            return ""
        return f"no answer to `{self._method}` within {self.settings.timeout:g} s"

    async def _end(self) -> str:
        """End the process; a turn that is on its way is cancelled before, and the agent has CANCEL_GRACE seconds to end it."""
        number, self._prompted = self._prompted, None
        try:
            if number is not None and self._child is not None and not self._child.ended:
                await self._cancel(self._child, number)
        finally:
            stderr = await super()._end()
        return stderr

    async def _cancel(self, child: Child, number: int) -> None:
        asked, self._asked = self._asked, None
        with contextlib.suppress(TimeoutError, ChildEnded, LineTooLong, LineNotText, ProtocolBroken):
            async with asyncio.timeout(CANCEL_GRACE):
                await child.write(wire.request_line(None, wire.CANCEL, wire.cancel(self._session)))
                while True:
                    if asked is not None:  # the protocol wants an answer to each question that is open
                        await child.write(_cancelled(asked))
                    message = wire.read_message(await next_line(child))
                    if isinstance(message, Reply) and message.id == number:
                        return
                    asked = message if isinstance(message, Asked) else None


def _cancelled(asked: Asked) -> str:
    if asked.method == wire.PERMISSION:
        return wire.reply_line(asked.id, wire.permission(None))
    return wire.error_line(asked.id, wire.INTERNAL_ERROR, "the turn is cancelled")


def _fitting(method: str, line: str, read: Callable[[Any], Any], result: Any) -> Any:
    try:
        return read(result)
    except Misfit as misfit:
        raise ProtocolBroken(f"the answer to `{method}` is not what ACP says: {misfit.reason}", line) from None


def _result_of(reply: Reply, method: str, line: str) -> dict[str, Any]:
    if reply.error is not None:
        code, message, data = (reply.error.get(name) for name in ("code", "message", "data"))
        text = message if isinstance(message, str) and message else "the agent gave no message"
        more = "" if data is None else f" {compact_json(data)}"
        raise Refused(code if type(code) is int else wire.INTERNAL_ERROR, text + more)
    if not isinstance(reply.result, dict):
        raise ProtocolBroken(f"the answer to `{method}` is no object", line)
    return reply.result


def chosen(answer: Any, options: list[tuple[str, str]]) -> str | None:
    """Return the id of the option that an answer means: true allows once, nil and false reject once, a String is an id; None
    where there is no option to reject. `options` have id and kind. Raises Misfit for true where there is no option to allow once,
    and for any other value."""
    if answer is None or type(answer) is bool:
        kind = "allow_once" if answer else "reject_once"
        found = next((option for option, of_kind in options if of_kind == kind), None)
        if found is None and answer:
            raise Misfit(f"true means the option of kind {kind}, and there is none")
        return found
    ids = [option for option, _ in options]
    if answer in ids:
        return str(answer)
    raise Misfit(f"expected true, false, nil or the id of an option: {', '.join(ids) or 'there is none'}")


def lines_of(text: str, first: int | None, most: int | None) -> str:
    """Return at most `most` lines of a text from line `first`, counted from 1; None means from the first line, and up to the
    last."""
    if first is None and most is None:
        return text
    lines = text.split("\n")
    begin = max(first or 1, 1) - 1
    return "\n".join(lines[begin : None if most is None else begin + most])
