"""The process of one agent in a session: its start, the handshake, and exchanges one after another (O-7.13 to O-7.36).

An exchange is one prompt, the messages of the agent that follow it, and the answer that ends it. Hands on `AgentProcess` to the
performer of agents and to `acp.py`, whose processes speak another protocol, with `next_line`; and `Listener` to `acp.py` and to
`calls.py`, which implements it. Lines are written and read by `messages.py`, the process is a `child.py: Child`. Every failure of
the agent is a CallFailure, after which no process may be left; only after an AgentFailed, as for a message `error`, the process
stays. An error of the listener, or a cancellation, ends the process too and passes through. Nothing here asks for a permission or
retries.
"""

from __future__ import annotations

import asyncio

from ...vm.values.errors import FOR_MODEL
from ..errors import CONNECTION, Origin
from ..loop import LoopLock
from .child import Child, ChildEnded, LineNotText, LineTooLong, last_words
from .messages import (
    INIT_ACK,
    AgentFailed,
    Answer,
    ProtocolBroken,
    answer_of,
    init_line,
    prompt_lines,
    read_object,
    request_id,
    response_line,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any, Protocol

    from ..errors import CallFailure
    from ..media import MediaPart
    from .messages import AgentSettings

    class Listener(Protocol):
        """What takes the messages before the answer. `listens` says whether the call is a `listen`, which takes plain lines and
        messages of any type (O-7.33)."""

        listens: bool

        async def on_message(self, message: dict[str, Any]) -> Any:
            """Handle a message, which has a String `type`; return plain data to send back, None for nothing."""

        def handles(self, message_type: str) -> bool:
            """Return whether the program has a handler for messages of a type."""

        async def ask(self, channel: str, payload: dict[str, Any]) -> Any:
            """Ask whoever answers awaited emits; return plain data. Raises Unanswered."""


HANDSHAKE_SECONDS = 10.0  # from the first line to the agent until its answer


class AgentProcess:
    """The process of an agent, started at the first exchange and again after it ended. `launch` starts a child, if that is
    permitted; it raises CallFailure (`effects/agent_processes.py: launch`). `origin` makes the failures of the agent."""

    def __init__(self, settings: AgentSettings, launch: Callable[[], Awaitable[Child]]) -> None:
        self.settings = settings
        self.name = settings.name
        self.origin = Origin(settings.name, settings.name, settings.timeout)
        self._launch = launch
        self._turn = LoopLock()  # one exchange at a time, in the order of the calls
        self._timer: asyncio.Timeout | None = None  # of the exchange that runs
        self._child: Child | None = None
        self._requests = 0  # of this process
        self._earlier: set[str] = set()  # the ids of all but the last one

    async def exchange(self, prompt: str, context: Any, listener: Listener, media: Sequence[MediaPart] = ()) -> Answer:
        """Send one prompt and return the answer; `listener` gets the messages before it. `context` is as in `prompt_lines`;
        `media` only an agent of another protocol than lines takes.

        It waits first for the exchanges before it; from then on the timeout of the settings runs, in seconds, which covers a
        start of the process and the work of `listener` too. Raises CallFailure: TimeoutError; of AgentError Exited for a process
        that ends before the answer, Protocol for a line or a handshake that breaks the protocol, Failed for a message `error`,
        with a journal EffectUnknown where the agent has died with an earlier process of the run; agents of other protocols also
        other variants for a prompt that fails. Whatever `launch` and `listener` raise passes through, and ends the process."""
        async with self._turn:
            try:
                async with asyncio.timeout(self.settings.timeout) as self._timer:
                    return await self._exchange(prompt, context, listener, media)
            except TimeoutError:
                late, is_own = self._late(), self._timer is not None and self._timer.expired()
                stderr = await self._end()
                if not is_own:
                    raise
                failure = self.origin.timed_out(message=late)
                failure.fields["stderr"] = stderr
                raise failure from None
            except ChildEnded:
                raise await self._exited() from None
            except AgentFailed as failed:  # the only failure that leaves the process running
                raise self.origin.failure(failed.kind, failed.variant, failed.message) from None
            except (LineTooLong, LineNotText, ProtocolBroken) as broken:
                raise await self._protocol(broken) from None
            except BaseException:
                await self._end()
                raise

    async def _exchange(self, prompt: str, context: Any, listener: Listener, media: Sequence[MediaPart]) -> Answer:
        child = await self._running(listener)
        if self._requests:
            self._earlier.add(request_id(self._requests))
        self._requests += 1
        await child.write(prompt_lines(prompt, context, self._requests, as_json=self.settings.json_input))
        while True:
            line = await next_line(child)
            message = read_object(line) if listener.listens or self.settings.json_output else None
            replied = None if message is None else message.get("in_reply_to")
            if isinstance(replied, str) and replied in self._earlier:
                continue  # a late answer to an earlier prompt
            answer = answer_of(line, message, listens=listener.listens, as_json=self.settings.json_output)
            if answer is not None:
                return answer
            assert message is not None
            value = await listener.on_message(message)
            if value is not None:
                await child.write(response_line(message, value))

    # ------------------------------------------------------------ the process

    def _late(self) -> str:
        """Return what an exchange that took too long has waited for, "" for a reply. A process of another protocol overrides
        it."""
        return ""

    async def _running(self, listener: Listener) -> Child:
        """Return the running process; start it, with its handshake, when there is none."""
        if self._child is not None and await self._child.has_ended():
            await self._end()
        if self._child is None:
            self._requests = 0
            self._earlier.clear()
            self._child = await self._launch()
            await self._handshake(self._child, listener)
        return self._child

    async def _handshake(self, child: Child, listener: Listener) -> None:
        if not self.settings.params:
            return
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await child.write(init_line(self.settings.params))
                line = await next_line(child)
        except TimeoutError:
            raise ProtocolBroken(f"no init_ack within {HANDSHAKE_SECONDS:g} s") from None
        except ChildEnded:
            await child.end_of_output()
            raise ProtocolBroken("it ended before init_ack", last_words=last_words(child.stderr)) from None
        message = read_object(line)
        if message is None or message.get("type") != INIT_ACK:
            raise ProtocolBroken("the first line is no init_ack", line)

    async def _end(self) -> str:
        """End the process, if there is one, and return its stderr, "" without one. A process of another protocol overrides this
        to tell the agent before."""
        child, self._child = self._child, None
        if child is None:
            return ""
        await child.stop()
        return child.stderr

    async def _exited(self) -> CallFailure:
        """Return the failure for a process that ended before it answered."""
        child, self._child = self._child, None
        assert child is not None
        await child.end_of_output()
        code = child.exit_code
        message = f"the agent exited with code {code} before it answered"
        for_model = {FOR_MODEL: f"{self.name}: {message}"}  # no model sees the stderr
        message += last_words(child.stderr)
        return self.origin.failure(
            "AgentError", "Exited", message, CONNECTION, exit_code=code, stderr=child.stderr, **for_model
        )

    async def _protocol(self, broken: Exception) -> CallFailure:
        """End a process that broke the protocol, and return the failure."""
        stderr = await self._end()
        line, said_last = None, ""
        if isinstance(broken, ProtocolBroken):
            message, line, said_last = broken.args
        else:
            message = "a line is longer than 1 MiB" if isinstance(broken, LineTooLong) else "a line is no UTF-8"
        for_model = {FOR_MODEL: f"{self.name}: {message}"}
        return self.origin.failure("AgentError", "Protocol", message + said_last, raw_line=line, stderr=stderr, **for_model)

    async def stop(self) -> None:
        """End the process, if there is one. It must not be called during an exchange. A later exchange starts a new process."""
        await self._end()


async def next_line(child: Child) -> str:
    """Return the next line of the child that is not blank. Raises ChildEnded, LineTooLong and LineNotText as `Child.line`."""
    while True:
        line = await child.line()
        if line.strip():
            return line
