"""First answers, given again for the same Idempotency-Key (S-1.3).

Hands on `FirstAnswers` and `Answer` to the application. A key belongs to a caller; with another request it is refused. While the
first request runs, a second one waits for its end. Answers are kept for a day, in the file of states if there is one, and at most
MOST in memory; but ends that another try may change (PASSING) are not. Streams are not kept here, and a durable call is found by
its key in the run store (`durable_calls.py`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from .calls import Wanted
from .problems import CLIENT_CLOSED, Problem
from .state import State

MOST = 10_000
AGE = 86_400.0  # seconds
PASSING = (CLIENT_CLOSED, 503)  # ends that another try may change


class Answer(NamedTuple):
    """An answer: HTTP status, JSON text, whether it was given before, and headers of its own, which are not kept."""

    status: int
    body: str
    again: bool = False
    headers: Mapping[str, str] = MappingProxyType({})


class FirstAnswers:
    """The first answers of one process. `state` is the file of states, None without one; `known` has the answers that are not in
    it. Both `known` and `running`, the requests on their way, are by caller and key."""

    def __init__(self, state: State | None) -> None:
        self.state = state
        self.known: OrderedDict[tuple[str, str], tuple[str, Answer, float]] = OrderedDict()
        self.running: dict[tuple[str, str], tuple[str, asyncio.Future[Answer | None]]] = {}

    async def answered(self, key: str | None, wanted: Wanted, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return what `work` gives, or the answer that the key had before; without a key (None) there is none. Raise Problem: 409
        for a key of another request, 503 where the file of states cannot be read; and what `work` raises."""
        if key is None:
            return await work()
        place, digest = (wanted.caller, key), digest_of(wanted)
        while place in self.running:
            known, ending = self.running[place]
            _require_same(known, digest)
            earlier = await asyncio.shield(ending)
            if earlier is not None:
                return earlier._replace(again=True)
        found = self._found(place)
        if found is not None:
            _require_same(found[0], digest)
            return found[1]._replace(again=True)
        ending = asyncio.get_running_loop().create_future()
        self.running[place] = digest, ending
        answer: Answer | None = None
        try:
            own = await work()
            if own.status not in PASSING:
                self._keep(place, digest, own)
                answer = own
            return own
        finally:
            del self.running[place]
            ending.set_result(answer)

    def _found(self, place: tuple[str, str]) -> tuple[str, Answer] | None:
        row_in_memory = self.known.get(place)
        if row_in_memory is not None and time.monotonic() - row_in_memory[2] <= AGE:
            return row_in_memory[0], row_in_memory[1]
        row = None if self.state is None else self.state.answer(*place, AGE)
        return None if row is None else (row[0], Answer(row[1], row[2]))

    def _keep(self, place: tuple[str, str], digest: str, answer: Answer) -> None:
        if self.state is not None:
            with suppress(Problem):  # what has been done is told, and known here at least
                self.state.save_answer(*place, digest, answer.status, answer.body, AGE)
                return
        self.known.pop(place, None)  # of an older answer
        self.known[place] = digest, answer, time.monotonic()
        if len(self.known) > MOST:
            self.known.popitem(last=False)


def digest_of(wanted: Wanted) -> str:
    """Return what a request is known by: its function, arguments and session."""
    text = json.dumps([wanted.function, wanted.arguments, wanted.session], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _require_same(known: str, digest: str) -> None:
    if known != digest:
        raise Problem(409, "key", "this Idempotency-Key came with another request before")
