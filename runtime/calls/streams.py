"""A reply in chunks: a call that waits with each chunk until somebody asks for the next (O-1.72 to O-1.75, M-5.13).

The call runs in a job of its own from its request to its commit, so that retries, tool rounds, counters and logs are those of
every call: `StreamedCall` is a `CallRun` that passes chunks on while a request is answered. Hands on `StreamedCall` (to
`typed_streams.py` too, which extends it) and `begin_stream` to the performer of models, which also performs the effect `stream`:
one chunk that a program waits for. (An effect is what the machine asks the session to do for a task.) Hands on the key `STREAMS`
to that performer and to the state of the session. A request of which a chunk has come is not sent again when it breaks (O-1.54).
A reply that comes as parts of a value of a schema is `typed_streams.py`, built on this.
"""

from __future__ import annotations

from ...vm.values import Chunk, Stream
from ..effects.runner import PendingCommit
from ..errors import CallFailure
from ..records import Reply, failed, response_value, succeeded
from .call import CallRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..records import Citation, Request
    from ..running import EffectContext
    from .responses import Response
    from .services import RateLimiter
    from .usage import ReplyProgress


STREAMS = "streams"  # the key in the state of a session: streams on their way, by the effect that began them


async def begin_stream(run: EffectContext, effect: Effect, call: StreamedCall, started: Callable[[StreamedCall], object]) -> Any:
    """Start a streamed call and wait for its first chunk, or the end of a reply without any. Return a PendingCommit of the Ok of
    its Stream, or the Err of a reply that never began. Raises a panic of the call. `started` is called with the call once the
    call has its stream. When this is cancelled, so is the call."""
    calls = run.state.setdefault(STREAMS, {})
    stream = call.kind(effect.payload.model, effect)
    call.attach(stream, lambda: calls.pop(effect, None))
    calls[effect] = call
    started(call)
    run.hold(effect, call.run())  # the call outlives this effect, which ends with the first chunk
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

    return PendingCommit(commit)


class StreamedCall(CallRun):
    """A call whose reply is handed on in chunks.

    Two futures hand the turn to and fro: the job sets `arrival` when it has put something into `outcome`, the program sets
    `demand` when it wants the next chunk. `outcome` is a text (of a typed stream PART), at the end the commit, or the failure or
    panic; None once the program has taken it. `end` is what ends the reply, when it came before the last text was taken. `texts`
    is all that has come so far, tool rounds included, and `citations` all sources that it names; `chunks` counts the texts of the
    request on its way, `progress` is what that request notes of its reply. `over` is done once the stream has ended. `hurries`:
    another request waits for the place of this one at its connection, so that it reads on without being asked (O-1.16). `kind` is
    the class of the `stream` that the program holds; `future` and `forget` are those of `attach`, `serve` is called with each
    effect that waits for a chunk."""

    __slots__ = (
        "serve", "future", "stream", "forget", "texts", "citations", "chunks", "outcome", "end", "arrival", "demand", "over",
        "progress", "hurries",
    )  # fmt: skip

    kind: type[Stream] = Stream

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.serve: Callable[[Effect], None] = lambda effect: None  # called with the effect that waits for the next chunk

    def attach(self, stream: Any, forget: Callable[[], object]) -> None:
        """Bind the call to the Stream that the program holds; it must be done before any other method is called. `forget` is
        called when nothing comes any more, perhaps several times. The services must have a `future`."""
        future = self.services.future
        assert future is not None  # the services of a session have a loop
        self.future = future
        self.stream = stream
        self.forget = forget
        self.texts: list[str] = []
        self.citations: list[Citation] = []
        self.chunks = 0
        self.progress: ReplyProgress | None = None  # of the request on its way
        self.outcome: Any = None
        self.end: Any = None
        self.hurries = False
        self.arrival = future()
        self.demand = future()
        self.over = future()  # done when the stream has ended: its turn is committed, or never will be
        self.settings = self.settings.changed(cache=None)  # streams are not cached (O-1.59)

    # ------------------------------------------------------------ the side of the program

    async def first(self) -> CallFailure | None:
        """Wait for the first outcome, and return it if it is a failure of the call, else None. Raises a panic of the call."""
        await self.arrival
        if isinstance(self.outcome, Exception):
            if not isinstance(self.outcome, CallFailure):
                raise self.outcome
            return self.outcome
        return None

    async def next(self, effect: Effect) -> Any:
        """Wait for the next outcome and return the Ok of a Chunk, an Err, or at the end a PendingCommit that gives Ok(nil), or an
        Err when the turn cannot be committed. Raises a panic of the job."""
        outcome = await self._next_outcome(effect)
        return succeeded(Chunk.of([outcome])) if isinstance(outcome, str) else self._ended(outcome)

    async def _next_outcome(self, effect: Effect) -> Any:
        """Wait for the next outcome and take it, for the task that waits for `effect`."""
        self.serve(effect)
        if self.services.asker is not None:
            self.services.asker.task = effect.task.path
        if self.outcome is None:
            if self.arrival.done():
                self.arrival = self.future()
            if not self.demand.done():
                self.demand.set_result(None)
            await self.arrival
        outcome, self.outcome, self.end = self.outcome, self.end, None
        return outcome

    def _ended(self, outcome: Any) -> Any:
        """Return what the program gets of an outcome that is no piece of the reply, and end the stream with it. Raises a panic of
        the job."""
        if isinstance(outcome, Exception):
            self._end("error")
            if isinstance(outcome, CallFailure):
                return failed(outcome)
            raise outcome
        after = self.conversation.fold if self.conversation is not None and self.conversation.folds else None
        return PendingCommit(lambda: self._commit_turn(outcome), after)

    def _commit_turn(self, commit: Callable[[], Any]) -> Any:
        try:
            response = self._committed(commit)
        except CallFailure as failure:
            self._in_session_thread(lambda: self._end("error"))
            return failed(failure)
        self.stream.response = response_value(response)
        self._in_session_thread(lambda: self._end(""))
        return succeeded(None)

    def _committed(self, commit: Callable[[], Any]) -> Response:
        """Commit the turn and return the response. Raises CallFailure when the store cannot store the turn."""
        response: Response = commit()
        return response

    def _in_session_thread(self, call: Callable[[], object]) -> None:
        """Call a function in the thread of the session: a commit may run in that of a store, where no future may be set."""
        if self.conversation is None:
            call()
        else:
            self.conversation.operations.home(call)

    # ------------------------------------------------------------ the job

    async def run(self) -> None:
        """Run the call from its request until its turn is committed, or the stream has ended otherwise; this is the job that
        `EffectContext.hold` keeps. Failures and panics are not raised but put into `outcome`; a cancellation is raised."""
        try:
            self._put_outcome(await self.up_to_commit(self.work))
            await self.over
        except Exception as failure:  # a CallFailure, or a panic, which ends the run at the place where the chunk is awaited
            if self.arrival.done():  # nobody waits: the program first takes the text that has come, then this
                self._put_outcome(failure)
                await self.over
            else:
                self._end("error")
                self._put_outcome(failure)
        finally:
            self._end("cancelled")  # only what has not ended yet
            if self.conversation is not None:
                self.conversation.close()

    async def work(self) -> Callable[[], Any]:
        """Ask the model, and return the commit. Raises CallFailure."""
        return await self.plain()

    def cut(self, failure: CallFailure) -> None:
        """End the stream because its model was shut down: the task that waits for a chunk, or asks for the next one, gets the
        failure. The job itself goes on until it is released."""
        if self.stream.walked:
            self._put_outcome(failure)
        else:
            self.stream.failure = failed(failure)
        self._end("cancelled")

    def _put_outcome(self, outcome: Any) -> None:
        if isinstance(self.outcome, str):  # a piece that nobody has taken
            self.outcome, self.end = self._joined(self.outcome, outcome)
        else:
            self.outcome = outcome
        if not self.arrival.done():
            self.arrival.set_result(None)

    def _end(self, finish: str) -> None:
        """End the stream: give it its Response with this `finish`, unless it has one (O-1.74), and forget the call."""
        if self.stream.response is None:
            reply = Reply("".join(self.texts), finish=finish, model=self.settings.model)
            self.stream.response = response_value(self._response(reply, False))
        if not self.over.done():
            self.over.set_result(None)
        self.stream.effect.task.streams.pop(self.stream.effect, None)
        self.forget()

    def _joined(self, piece: str, outcome: Any) -> tuple[str, Any]:
        """Return the piece to be taken next, and what ends the reply, None while it goes on."""
        return (piece + outcome, None) if isinstance(outcome, str) else (piece, outcome)

    def _hurry(self) -> None:
        self.hurries = True
        if not self.demand.done():
            self.demand.set_result(None)

    async def _limited(self, limiter: RateLimiter, request: Request) -> Reply:
        limiter.paused.add(self._hurry)
        try:
            reply = await super()._limited(limiter, request)
        finally:
            limiter.paused.discard(self._hurry)
        if self.hurries and self.arrival.done():
            # The place is free for others. What follows (tools, checks of the program, another request) is for a program that
            # waits: its functions are called by the task that asks for the next chunk.
            self.demand = self.future()
            await self.demand
        return reply

    async def _give(self, text: str) -> None:
        """Take a chunk from the provider. The request goes on when the program wants the chunk after it (O-1.72)."""
        if text:
            self.chunks += 1
            self.texts.append(text)
            if self.progress is not None:
                self.progress.texts.append(text)
            if self.span is not None and self.services.telemetry is not None:
                self.services.telemetry.piece_came(self.span)
            outcome = self._outcome_of_chunk(text)
            if outcome is not None:
                self.demand = self.future()
                self._put_outcome(outcome)
                await self._demanded()

    def _outcome_of_chunk(self, text: str) -> Any:
        """Return what the program gets of a chunk, None for nothing."""
        return text

    async def _demanded(self) -> None:
        """Wait until the program wants more, unless the request has to make room."""
        if not self.hurries:
            await self.demand

    async def _answer(self, request: Request) -> Reply:
        self.progress = request.progress
        self.hurries = False
        before = sum(map(len, self.texts))
        reply = await self.provider.stream(request, self._give)
        self.citations += [each.moved(before) for each in reply.citations]
        return reply

    def _request(self) -> Request:
        request = super()._request()
        request.stream = True
        self.chunks = 0
        self.progress = None
        return request

    def _said(self) -> str:
        return super()._said() + ("" if self.progress is None else "".join(self.progress.texts))

    async def _wait_or_raise(self, failure: CallFailure, attempt: int) -> None:
        if self.chunks:  # the program has read them already: no retry can take them back (O-1.54)
            raise failure
        await super()._wait_or_raise(failure, attempt)

    @property
    def _may_switch(self) -> bool:
        return not self.chunks and (self.paused is None or not self.paused.text)

    def _response(self, reply: Reply, cached: bool) -> Response:
        """Return the Response, whose text and citations are those of all chunks, those of tool rounds too (O-1.72)."""
        response = super()._response(reply, cached)
        response.text, response.citations = "".join(self.texts), self.citations
        return response
