"""A reply in chunks: a call that waits with each chunk until somebody asks for the next (O-1.72 to O-1.75, M-5.13).

The call runs in a job of its own from its request to its commit, so that retries, tool rounds, counters and logs are those of
every call. Hands on `StreamedCall` and `begun`. Must not know: wires, loops of programs.
"""

from __future__ import annotations

from ...vm.values import Chunk, Stream
from ..errors import CallFailure
from ..loop import Settled
from ..records import Reply, failed, response_value, succeeded
from .call import CallRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..records import Msg, Request
    from ..running import Running
    from ..schema.strategy import Plan
    from ..usage import Came
    from .call import Response


STREAMS = "streams"  # the calls on their way, by the effect that began them


async def begun(run: Running, effect: Effect, call: StreamedCall, told: Callable[[StreamedCall], object]) -> Any:
    """`told` gets the call once it has its stream.

    Gives the Ok of a Stream once its first chunk is there, or the Err of a reply that never began."""
    calls = run.state.setdefault(STREAMS, {})
    stream = Stream(effect.payload.model, effect)
    call.attach(stream, lambda: calls.pop(effect, None))
    calls[effect] = call
    told(call)
    run.hold(effect, call.run())
    try:
        failure = await call.first()
    except BaseException:
        await run.release(effect)
        raise
    if failure is not None:
        return failed(failure)

    def commit() -> Any:
        if stream.response is None:
            effect.task.streams[effect] = None
        return succeeded(stream)

    return Settled(commit)


class StreamedCall(CallRun):
    """`outcome` is what the reply brought last and nobody has taken: a text, the commit of the end, or the failure."""

    __slots__ = ("serve", "future", "stream", "forget", "text", "chunks", "outcome", "arrival", "demand", "over", "came")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.serve: Callable[[Effect], None] = lambda effect: None  # told who waits for the next chunk

    def attach(self, stream: Any, forget: Callable[[], object]) -> None:
        future = self.services.future
        assert future is not None  # those of a session have a loop
        self.future = future
        self.stream = stream
        self.forget = forget
        self.text = ""
        self.chunks = 0  # of the request on its way
        self.came: Came | None = None
        self.outcome: Any = None
        self.arrival = future()  # done when there is an outcome
        self.demand = future()  # done when the next one is wanted
        self.over = future()  # done when the turn is written down
        self.settings = self.settings.changed(cache=None)  # streams are not stored (O-1.59)

    # ------------------------------------------------------------ who asks

    async def first(self) -> CallFailure | None:
        """Waits for the first outcome, and gives it if it is a failure."""
        await self.arrival
        if isinstance(self.outcome, Exception):
            if not isinstance(self.outcome, CallFailure):
                raise self.outcome
            return self.outcome
        return None

    async def next(self, effect: Effect) -> Any:
        """Ok of a chunk; Ok(nil), when the turn is in memory; Err."""
        self.serve(effect)
        if self.outcome is None:
            if self.arrival.done():
                self.arrival = self.future()
            if not self.demand.done():
                self.demand.set_result(None)
            await self.arrival
        outcome, self.outcome = self.outcome, None
        if isinstance(outcome, str):
            return succeeded(Chunk.of([outcome]))
        if isinstance(outcome, CallFailure):
            return failed(outcome)
        if isinstance(outcome, Exception):
            raise outcome
        after = self.conversation.fold if self.conversation is not None and self.conversation.folds else None
        return Settled(lambda: self._written(outcome), after)

    def _written(self, commit: Callable[[], Response]) -> Any:
        try:
            response = commit()
        except CallFailure as failure:
            self._at_home(lambda: self._ended("error"))
            return failed(failure)
        self.stream.response = response_value(response)
        self._at_home(lambda: self._ended(""))
        return succeeded(None)

    def _at_home(self, call: Callable[[], object]) -> None:
        if self.conversation is None:
            call()
        else:
            self.conversation.operations.home(call)

    # ------------------------------------------------------------ the job

    async def run(self) -> None:
        """From the request to the commit."""
        try:
            self._arrived(await self.counted(self.plain))
            await self.over
        except CallFailure as failure:
            self._ended("error")
            self._arrived(failure)
        except Exception as error:  # a panic: it ends the run where the chunk was awaited
            self._ended("error")
            self._arrived(error)
        finally:
            self._ended("cancelled")
            if self.conversation is not None:
                self.conversation.close()

    def cut(self, failure: CallFailure) -> None:
        """The model is gone: who waits for a chunk, or asks for the next one, gets the failure."""
        if self.stream.walked:
            self._arrived(failure)
        else:
            self.stream.failure = failed(failure)
        self._ended("cancelled")

    def _arrived(self, outcome: Any) -> None:
        self.outcome = outcome
        if not self.arrival.done():
            self.arrival.set_result(None)

    def _ended(self, finish: str) -> None:
        """Nothing comes any more: the stream has its Response (O-1.74)."""
        if self.stream.response is None:
            reply = Reply(self.text, finish=finish, model=self.settings.model)
            self.stream.response = response_value(self._response(reply, False))
        if not self.over.done():
            self.over.set_result(None)
        self.stream.effect.task.streams.pop(self.stream.effect, None)
        self.forget()

    async def _give(self, text: str) -> None:
        """A chunk has come: the call goes on when the one after it is wanted."""
        if text:
            self.chunks += 1
            self.text += text
            if self.came is not None:
                self.came.texts.append(text)
            self.demand = self.future()
            self._arrived(text)
            await self.demand

    async def _answer(self, request: Request) -> Reply:
        self.chunks = 0
        self.came = request.came
        return await self.provider.stream(request, self._give)

    def _request(self, messages: list[Msg], plan: Plan | None) -> Request:
        request = super()._request(messages, plan)
        request.stream = True
        return request

    async def _wait_or_raise(self, failure: CallFailure, attempt: int) -> None:
        if self.chunks:  # what was read cannot be taken back (O-1.54)
            raise failure
        await super()._wait_or_raise(failure, attempt)

    def _response(self, reply: Reply, cached: bool) -> Response:
        """Its text is that of all chunks, those of tool rounds too (O-1.72)."""
        response = super()._response(reply, cached)
        response.text = self.text
        return response
