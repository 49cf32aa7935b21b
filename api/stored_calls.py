"""Calls of public functions that are runs of a run store (G-13.1, S-1.10): who begins one, goes on with one or makes one again.

Hands on `CallStore` and `StoredCall` to servers, with `RunRow`, what a store knows of a call, and the states CANCELLED and OVER.
A session makes a `StoredCall` through its journal (`recordings.py`); nothing here runs a program or knows a client.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..runtime.journal.recording import given_again, new_header, stored
from ..runtime.journal.rows import EffectRow, JournalRefused, StoreFailed
from ..runtime.journal.run_store import CANCELLED as CANCELLED
from ..runtime.journal.run_store import OVER as OVER
from ..runtime.journal.run_store import Claim, Held, RunStore
from ..runtime.journal.run_store import RunRow as RunRow
from ..vm.bytecode.encoding import encode
from ..vm.interp.link import Program
from ..vm.snapshot.envelope import identity_of
from .results import RecordingError

if TYPE_CHECKING:
    from ..runtime.journal.journal import Journal


class StoredCall:
    """A call of a public function that a session makes as a run of a store, which it leaves open: one that goes on under a
    `claim`, or without one `run`, which is over and is made again, asking nobody. Listeners hear all emits of the call."""

    store = None

    def __init__(self, of: RunStore, run: RunRow, claim: Claim | None) -> None:
        self.of = of
        self.run = run
        self.claim = claim
        self._journal: Journal | None = None

    @property
    def waits(self) -> bool:
        """Whether the call has ended since it waits for answers that nobody here gives."""
        return self._journal is not None and bool(self._journal.suspended)

    def leave(self) -> None:
        """Take note that this process ends, and another one goes on: nothing more is kept."""
        if self._journal is not None:
            self._journal.abandon(RuntimeError("the process ends"))

    def journal(self, real_time: Callable[[], float], real_wall: Callable[[], float]) -> Journal:
        """Return the journal of the session, which asks for it once. Raises JournalRefused."""
        if self.claim is None:
            self._journal = given_again(self.of, self.run, real_time, real_wall)
        else:
            self.claim.owns_store = False
            self._journal = stored(self.of, self.claim, real_time, real_wall, {}, tells_all=True)
        return self._journal


class CallStore:
    """The calls of one program in the run store at `place`, a path or a URL of PostgreSQL, which is made if it is not there.
    `options` are those of the sessions that make the calls. Raises RecordingError where the store cannot be used, as every method
    does that says so."""

    def __init__(self, place: str, program: Program, options: Mapping[str, Any]) -> None:
        self.program = program
        self.options = options
        self.image = identity_of(program)
        self._content = encode(program.image)  # a store wants it with each call
        try:
            self.store = RunStore(place, time.time)
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None

    def begin(self, ident: str, function: str, arguments: Mapping[str, Any], caller: str) -> StoredCall:
        """Add a new call with an id of its own, `arguments` as JSON data by name. Raises RecordingError, also where the id is
        taken."""
        offline = bool(self.options.get("offline")) or self.options.get("offline_script") is not None
        header = new_header(self.program, [], self.options.get("seed"), time.time(), offline, os.urandom)
        header.run = ident
        call = {"function": function, "arguments": dict(arguments), "caller": caller}
        kept = {"redact": list(self.options.get("redact", ())), "call": call}
        try:
            claim = self.store.begin(header, self._content, kept)
            return StoredCall(self.store, self.store.run(ident), claim)
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None

    def find(self, ident: str) -> RunRow | None:
        """Return what the store knows of a call, by its whole id; None where it has no such call. Raises RecordingError."""
        try:
            row = self.store.find(ident)
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None
        return row if row is not None and row.call is not None else None

    def go_on(self, row: RunRow) -> StoredCall | None:
        """Return a call to go on with, None where another process holds it; one that is over, to be made again. Raises
        RecordingError."""
        if row.state in OVER:
            return StoredCall(self.store, row, None)
        try:
            return StoredCall(self.store, row, self.store.claim(row.id))
        except Held:
            return None
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None

    def cancel(self, ident: str) -> bool:
        """End a call for all processes, and return True; False for a call that is over already or unknown. Raises
        RecordingError."""
        try:
            self.store.cancel(ident)
        except StoreFailed as failed:
            raise RecordingError(str(failed)) from None
        except JournalRefused:
            return False
        return True

    def answer(self, row: RunRow, key: str, text: str) -> bool:
        """Keep the answer, a JSON text, to what a call waits for at the effect key `key`, and return whether it is the first one;
        False also where the call does not wait for it. Raises RecordingError, and ValueError for a text that is no JSON."""
        try:
            self.store.answer(row.id, key, {"json": json.loads(text)})
        except StoreFailed as failed:
            raise RecordingError(str(failed)) from None
        except JournalRefused:
            return False
        return True

    def of_others(self) -> int:
        """Return how many calls of other versions of the program, or of other programs, are not over. Raises RecordingError."""
        try:
            return sum(row.call is not None for row in self.store.of_others(self.image))
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None

    def over(self, idents: Sequence[str]) -> list[RunRow]:
        """Return those of some calls that are over. Raises RecordingError."""
        try:
            return self.store.over(idents)
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None

    def left(self) -> list[RunRow]:
        """Return the calls that can go on and that nobody holds, the oldest first. Raises RecordingError."""
        try:
            return [row for row in self.store.to_go_on_with(self.image) if row.call is not None]
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None

    def questions(self) -> list[tuple[RunRow, dict[str, Any]]]:
        """Return what calls wait for and has no answer yet: each with its call, as a plain row with `key`, `channel` and `value`.
        Raises RecordingError."""
        try:
            rows = [row for row in self.store.waits(self.image) if row.call is not None]
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None
        return [(row, wait) for row in rows for wait in self.unanswered(row)]

    def unanswered(self, row: RunRow) -> list[dict[str, Any]]:
        """Return what one call waits for and has no answer yet, as `questions` has it. Raises RecordingError."""
        try:
            answered = self.store.answers(row.id)
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None
        return [wait for wait in row.waits if wait["key"] not in answered]

    def used(self, row: RunRow) -> tuple[int, int, float, int]:
        """Return what a call has used so far: tokens in and out, their cost, and requests to models. Raises RecordingError."""
        try:
            models = [one for one in self.store.rows(row.id) if isinstance(one, EffectRow) and one.tokens]
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None
        tokens_in, tokens_out = (sum(one.tokens[at] for one in models) for at in (0, 1))
        return tokens_in, tokens_out, sum(one.cost or 0.0 for one in models), len(models)

    def close(self) -> None:
        """Close the store."""
        self.store.close()
