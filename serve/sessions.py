"""Named sessions: what a program keeps from call to call, by caller and name (S-1.3).

Hands on `Sessions` to the application, which makes it, and to the calls. A call without a name gets a session of its own. Of many
that are idle most are held as bytes (`Session.dump`), a tenth of what a live one takes; with a file of states they outlive the
process too. Nothing of one caller is reached by another one.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from ..api.program import Program
from ..api.results import ImageError
from ..api.session import Session
from .problems import Problem, busy
from .settings import Serving
from .state import State

LIVE = 256  # idle sessions that are not bytes
Key = tuple[str, str]  # name of the caller, name of the session

log = logging.getLogger("concerto.serve")


class _Kept:
    """A named session: live, or as compressed bytes; `users` are the calls that run or wait in it."""

    __slots__ = ("live", "parked", "users", "used")

    def __init__(self, parked: bytes | None, used: float) -> None:
        self.live: Session | None = None
        self.parked = parked
        self.users = 0
        self.used = used


class Sessions:
    """The sessions of one process. `options` are those of each, `state` the file of states, None without one; where that takes
    nothing, sessions stay as they are in this process. The constructor raises what `Program.session` raises for wrong options."""

    def __init__(self, program: Program, options: Mapping[str, Any], settings: Serving, state: State | None) -> None:
        self.program = program
        self.options = options
        self.settings = settings
        self.state = state
        self.kept: OrderedDict[Key, _Kept] = OrderedDict()  # the one that nobody used for longest is first
        self.spare: Session | None = program.session(**options)  # wrong options are refused now, not by each call
        if state is not None:
            with suppress(Problem):
                state.forget_old(settings.session_seconds)

    @asynccontextmanager
    async def lent(self, caller: str, name: str | None) -> AsyncIterator[Session]:
        """Lend a session to a call: that of the name, or a new one that ends with the call. Raise Problem: 503 where all that can
        be kept are in use, or the file of states cannot be read, 500 where the state of the session cannot be restored."""
        if name is None or not self.settings.sessions:
            session, self.spare = self.spare or self.program.session(**self.options), None
            async with session:
                yield session
            return
        key = (caller, name)
        left: list[Session] = []
        kept = self._kept(key, left)
        kept.users += 1
        try:
            for one in left:
                await one.aclose()
            session = await self._live(key, kept)
            try:
                yield session
            finally:  # what a call has changed before it failed stays changed
                await self._save(key, session)
        finally:
            kept.users -= 1
            kept.used = time.monotonic()
            if self.kept.get(key) is kept:  # not where its state could not be restored
                self.kept.move_to_end(key)
            await self._park_idle()

    def _kept(self, key: Key, left: list[Session]) -> _Kept:
        """Return the session of a key, a new one where none is kept; `left` gets those that are to be closed, since others took
        their places or nobody used them for too long. Raise Problem (503) where all that can be kept are in use."""
        now = time.monotonic()
        self._forget_old(now, left)
        if key in self.kept:
            self.kept.move_to_end(key)
            return self.kept[key]
        if len(self.kept) >= self.settings.sessions:
            oldest = next((other for other, kept in self.kept.items() if not kept.users), None)
            if oldest is None:
                raise busy("all sessions that are kept are in use", self.settings.queue_seconds)
            self._drop(oldest, left)  # what it was is in the file of states, if there is one
        parked = None if self.state is None else self.state.session(self.program.content_hash, key)
        kept = self.kept[key] = _Kept(parked, now)
        return kept

    def _forget_old(self, now: float, left: list[Session]) -> None:
        """Forget the sessions that nobody used for too long."""
        for key, kept in list(self.kept.items()):
            if kept.users:
                continue
            if now - kept.used < self.settings.session_seconds:
                return
            self._drop(key, left)
            if self.state is not None:
                with suppress(Problem):
                    self.state.forget_session(key)

    def _drop(self, key: Key, left: list[Session]) -> None:
        session = self.kept.pop(key).live
        if session is not None:
            left.append(session)

    async def _live(self, key: Key, kept: _Kept) -> Session:
        if kept.live is None:
            session = kept.live = self.program.session(**self.options)
            parked, kept.parked = kept.parked, None
            if parked is not None:
                try:
                    await session.arestore(zlib.decompress(parked))
                except (ImageError, zlib.error) as refused:
                    await session.aclose()
                    del self.kept[key]
                    log.error("the state of a session cannot be restored: %s", refused)
                    raise Problem(500, "session", "the state of this session cannot be restored") from None
        return kept.live

    async def _save(self, key: Key, session: Session) -> None:
        """Write the state of a session behind a call, where there is a file of states."""
        if self.state is not None:
            dumped = await _dumped(session)
            if dumped is not None:
                with suppress(Problem):  # the call has ended, and its result is told
                    self.state.save_session(self.program.content_hash, key, dumped)

    async def _park_idle(self) -> None:
        """Make bytes of the live sessions that nobody used for longest, until LIVE are left."""
        live = [(key, kept) for key, kept in self.kept.items() if kept.live is not None]
        for _, kept in live[: max(0, len(live) - LIVE)]:
            session = kept.live
            if kept.users or session is None:
                continue
            kept.users += 1  # nobody parks it a second time
            try:
                kept.parked = await _dumped(session)
                if kept.parked is not None and kept.users == 1:
                    kept.live = None
                    await session.aclose()
                else:
                    kept.parked = None
            finally:
                kept.users -= 1

    async def aclose(self) -> None:
        """Close all sessions."""
        if self.spare is not None:
            await self.spare.aclose()
        for kept in self.kept.values():
            if kept.live is not None:
                await kept.live.aclose()
        self.kept.clear()


async def _dumped(session: Session) -> bytes | None:
    """Return the state of a session in few bytes; None, told in the log, for one that has no form in bytes."""
    try:
        return zlib.compress(await session.adump(), 1)
    except ImageError as refused:
        log.warning("a session stays in memory: %s", refused)
        return None
