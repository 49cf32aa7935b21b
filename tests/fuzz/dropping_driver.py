"""The driver of this implementation with a route `resume` on which the machine is dropped between every two instructions
(G-16.6): a whole snapshot is written before each slice of a task, and the slice is begun anew from it, each time in a fresh
machine, to be left behind its first instruction, its second, and so on, until it is over.

An instruction is one of the image: runs of them are not taken as one here. A machine that is left has told the host nothing, as
a process that dies in the middle of a slice has not. The result of a run has in `drops` how many machines were left, and in
`instructions` how many of the run were behind one another.
"""

from __future__ import annotations

import os
import sys

if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
    sys.path[0] = ""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from concerto.conformance.drivers import concerto as driver
from concerto.runtime.session.session import Session
from concerto.runtime.session.state import resume, snapshot
from concerto.vm.generated import loop
from concerto.vm.interp import link, machine
from concerto.vm.interp.effects import Effect
from concerto.vm.interp.scheduler import HostCall

Json = dict[str, Any]
DISPATCH = "            op, arg, ins, near, far, side = ins\n"  # where the loop goes to the next instruction


class Dropped(BaseException):
    """The machine is left here."""


class Places:
    """Counts the places between instructions of a slice, and leaves the machine at the one with the number `last`."""

    def __init__(self) -> None:
        self.machine: Any = None
        """The one that is run in this way; others, with steps of memories that are functions, run for the host."""
        self.passed = 0
        self.last = 0
        self.drops = 0
        self.instructions = 0
        self.told: list[Callable[[], object]] | None = None
        """What the host is to hear when the slice is over; None while it hears at once."""

    def between(self, running: Any) -> None:
        if running is self.machine:
            self.passed += 1
            if self.passed == self.last:
                raise Dropped


    def tell(self, tell: Callable[[], object]) -> None:
        """Let the host hear of something, at the end of the slice where one is run."""
        if self.told is None:
            tell()
        else:
            self.told.append(tell)


PLACES = Places()


def loop_with_places() -> Callable[..., None]:
    """Return the loop of the interpreter with a call of `PLACES.between` before each instruction; its lines keep their numbers,
    by which it finds the place of a panic."""
    path = Path(loop.__file__)
    source = path.read_text(encoding="utf-8")
    assert source.count(DISPATCH) == 1
    names: dict[str, Any] = {"__name__": loop.__name__, "__package__": loop.__package__, "__file__": str(path)}
    exec(compile(source.replace(DISPATCH, DISPATCH.replace("op,", "between(machine); op,", 1)), str(path), "exec"), names)
    names["between"] = PLACES.between
    run: Callable[..., None] = names["run"]
    return run


def ended(call: HostCall, of: machine.Machine, task: Any) -> None:
    """As `HostCall.ended`, but the host hears of it when the slice is over."""
    if task.parent is not None:
        of.call_ended(task.parent)
    PLACES.tell(lambda: call.on_end(task))


class World(driver.World):
    """A world that hears of the emits of a slice when it is over."""

    def emit(self, channel: str, value: Any, by_runtime: bool) -> None:
        emit = super().emit
        PLACES.tell(lambda: emit(channel, value, by_runtime))


class Dropping(Session):
    """A session each of whose slices is run from a snapshot, with one instruction more each time."""

    def _step(self) -> list[Effect]:
        while True:
            effects, has_run = self._slice()
            if effects or not has_run:
                return effects

    def _slice(self) -> tuple[list[Effect], bool]:
        """Run the next slice to its end; return its effects, and whether there was one."""
        data, kept = snapshot(self), self.machine
        revert = self._beginnings()
        PLACES.last = 0
        while True:
            PLACES.last += 1
            PLACES.passed = 0
            PLACES.told = []
            self.machine = kept  # it has what the host performs; what stands in it is not used
            revert()
            resume(self, data)
            PLACES.machine = self.machine
            try:
                effects, has_run = self._one_slice()
            except Dropped:
                PLACES.drops += 1
                continue
            except BaseException:
                self._over()
                raise
            self._over()
            return effects, has_run

    def _beginnings(self) -> Callable[[], None]:
        """Return a function that brings back which memories are open, which tools have a state (V-6.8), and what initialisation
        statements have given to logs so far: the host keeps that beside snapshots."""
        memories = self.memories
        kept = {name: (list(one.initial), list(one.facts)) for name, one in memories._declared.items()}
        are_open = dict(memories._open)
        tools = self.state.get("tools")
        known = set() if tools is None else set(tools.states)

        def revert() -> None:
            begun = self.state.get("tools")
            for name in set() if begun is None else set(begun.states) - known:
                del begun.states[name]
            for name, (messages, facts) in kept.items():
                memories._declared[name].initial[:] = messages
                memories._declared[name].facts[:] = facts
            memories._open = dict(are_open)

        return revert

    def _one_slice(self) -> tuple[list[Effect], bool]:
        """As `Machine.step`, with one slice at most."""
        fresh: Any = self.machine
        taken: list[Any] = []

        def next_ready() -> Any:
            if taken:
                return None
            taken.append(type(fresh).next_ready(fresh))
            return taken[0]

        fresh.next_ready = next_ready
        try:
            effects = fresh.step()
        finally:
            del fresh.next_ready
        return effects, bool(taken) and taken[0] is not None

    def _over(self) -> None:
        PLACES.instructions += PLACES.passed
        PLACES.machine = None
        told, PLACES.told = PLACES.told or [], None
        for tell in told:
            tell()


def counted(run: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Return an operation whose result has the counts of its run."""

    def operation(message: Json) -> Json:
        PLACES.drops = PLACES.instructions = 0
        result = run(message)
        return {**result, "drops": PLACES.drops, "instructions": PLACES.instructions}

    return operation


def main() -> int:
    """Answer the messages of the runner until `bye`; return the exit status 0."""
    link.fuse = lambda *_: None  # type: ignore[assignment]
    machine.run_loop = loop_with_places()  # type: ignore[attr-defined]
    HostCall.ended = ended  # type: ignore[method-assign, assignment]
    driver.World = World  # type: ignore[misc]
    driver.Resumed = Dropping  # type: ignore[misc, assignment]
    driver.OPERATIONS["run"] = counted(driver.run)
    return driver.main()


if __name__ == "__main__":
    sys.exit(main())
