"""A session with a journal in this process: what it is asked is counted, and it can die at any commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.runtime.access.permissions import Permissions
from concerto.runtime.host import Host, NoListener
from concerto.runtime.journal.journal import Journal
from concerto.runtime.journal.recording import end_of, new_header
from concerto.runtime.journal.rows import EmitRow, plain_of, row_of
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.session import Outcome, Session, run_offline
from concerto.vm.interp.link import Program, load_image
from concerto.vm.values import to_json


def program_of(source: str) -> Program:
    result = compile_source(source.encode(), "main.conc")
    assert result.image is not None, [d.message for d in result.diagnostics.ordered()]
    return load_image(result.image)


class Died(BaseException):
    """The process died here."""


class Rows:
    """A sink in memory. With `dies_at` it dies at that commit (from 0), with `keeps` after having kept it."""

    def __init__(self, rows: Sequence[Any] = (), *, parks: bool = False, dies_at: int | None = None, keeps: bool = False) -> None:
        self.plain = [plain_of(row) for row in rows]
        self.parks = parks
        self.dies_at = dies_at
        self.keeps = keeps
        self.commits = 0
        self.told = 0
        self.waits: list[Any] = []

    def commit(self, rows: Sequence[Any], told: int, waits: Sequence[Any]) -> None:
        dies = self.commits == self.dies_at
        self.commits += 1
        if not dies or self.keeps:
            self.plain += [plain_of(row) for row in rows]
            self.told = told - sum(isinstance(row, EmitRow) for row in rows)
            self.waits = list(waits)
        if dies:
            raise Died

    def renew(self) -> None:
        """Nobody else has it."""

    def close(self) -> None:
        """There is nothing to close."""

    def rows(self) -> Iterator[Any]:
        return iter([row_of(plain) for plain in self.plain])


class World:
    """Where runs of one program happen: `folder` for files, `answers` by channel, `emits` in the order in which they were
    told."""

    def __init__(self, source: str, folder: Path, answers: dict[str, Any] | None = None, script: Any = None) -> None:
        self.program = program_of(source)
        self.folder = folder
        self.answers = answers or {}
        self.script = script
        self.asked: list[str] = []
        self.emits: list[tuple[str, str]] = []
        self.header = new_header(self.program, [], 7, 1_000.0, True, lambda n: bytes(n))

    def host(self, journal: Journal | None) -> Host:
        loop = OfflineLoop(0.0)
        permissions = Permissions.of_texts([f"fs:read={self.folder}", f"fs:write={self.folder}"])

        async def answer(channel: str, value: Any, run: Any) -> Any:
            self.asked.append(channel)
            if channel not in self.answers:
                raise NoListener
            return self.answers[channel]

        def hear(channel: str, value: Any, by_runtime: bool) -> None:
            if not by_runtime:
                self.emits.append((channel, to_json(value)))

        return Host(
            emit=hear, print=lambda text: None, env={}, now=loop.time, sleep=loop.sleep, random=lambda: 0.5, offline=True,
            script=self.script, loop=loop, wall=loop.time, permissions=permissions, folder=str(self.folder), answer=answer,
            journal=journal,
        )  # fmt: skip

    def journal(self, sink: Rows | None, recorded: Rows | None = None, goes_on: bool = False, **more: Any) -> Journal:
        clock = OfflineLoop(0.0)
        emits = 0 if recorded is None else sum("emit" in plain for plain in recorded.plain)
        return Journal(
            self.header, sink=sink, recorded=None if recorded is None else recorded.rows(), goes_on=goes_on, real_time=clock.time,
            real_wall=lambda: 1_000.0, emits=(emits, 0 if recorded is None else recorded.told), **more,
        )  # fmt: skip

    def run(self, journal: Journal | None) -> Outcome:
        """Run main to its end, and write the end into the journal. Raises Died and what else ends the run."""
        session = Session(self.program, self.host(journal))
        outcome = run_offline(session)
        if journal is not None:
            journal.close(end_of(outcome, session.redactor.clean))
        return outcome

    def recorded(self) -> Rows:
        sink = Rows()
        self.run(self.journal(sink))
        return sink


