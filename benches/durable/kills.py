"""Refunds whose process is killed with `kill -9` at random points and gone on with until they end.

Hands on `campaign` and `History`. What happened is seen from outside, at the requests that the server got, so that `judging.py`
holds every variant to the same rule.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .server import Call, Server, reply
from .variants import Place, Variant

LATENCY = 0.06  # seconds, of the model and the bank
SPREAD = 0.2  # seconds from the first request of a process up to the last moment at which it is killed
FROM_START, START_SPREAD = 0.1, 1.0  # of so many kills the clock starts with the process, and runs for up to so many seconds
KILLS_OF_A_RUN = 3
SETTLED = 0.25  # seconds behind the last request before the approval: then a process that stays has asked its question
TURN = 0.004  # seconds between two looks
LIMIT = 120.0  # seconds of one process
DONE = (0, 75)  # exit codes of a process that has done its part: 75 is Concerto's of a run that waits
PATIENCE = 30.0  # seconds until somebody who wants to approve starts the process again
CRASHES = 3  # processes of a run that may end otherwise


@dataclass
class History:
    """One run: what the server was asked, when its process was killed, and whether it had been approved then. `waited` has of
    each process that followed a killed one the seconds from its start to its first request, `crashes` what was said last of those
    that ended or hung without a kill."""

    order: str
    calls: list[Call] = field(default_factory=list)
    deaths: list[tuple[float, bool]] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    is_right: bool = False


class Refund:
    """A run that is going on. `chance` says when it is killed, and is the same for all variants."""

    def __init__(self, variant: Variant, place: Place, server: Server, order: str, chance: random.Random, kills: int) -> None:
        self.variant, self.place, self.server, self.chance, self.kills_left = variant, place, server, chance, kills
        self.history = History(order)
        self.process: subprocess.Popen[str] | None = None
        self.approved = False
        self.output: list[str] = []

    def go(self) -> History:
        """Run it to its end. Raises RuntimeError where a process fails or does nothing."""
        order, parks = self.history.order, self.variant.parks
        try:
            self.phase((lambda: False) if parks else self.is_asked)
            if not parks:
                self.approve()
            self.approved = True
            self.phase(lambda: False)
        finally:
            if self.process is not None:
                self.process.kill()
                self.ended(self.process)
        self.history.calls = self.server.of(order)
        letter = reply(f"write {order} {reply(f'decide {order}')}")
        self.history.is_right = reply(f"send {order} {letter}") in "".join(self.output)
        return self.history

    def approve(self) -> None:
        """Say yes beside the process that waits, again where it is not yet back, and start it again where it stays away: a person
        would. Raises RuntimeError when that does not help."""
        patience = time.monotonic() + PATIENCE
        while True:
            asked = self.spawn(self.variant.approve(self.place, self.history.order))
            said = self.ended(asked)
            if asked.returncode == 0:
                return
            assert self.process is not None
            if self.process.poll() is None and time.monotonic() > patience:
                self.process.kill()
            if self.process.poll() is not None or time.monotonic() > patience:
                self.came_to_an_end(self.process, said)
                self.process = self.spawn(self.variant.run(self.place, self.history.order))
                patience = time.monotonic() + PATIENCE

    def phase(self, is_over: Callable[[], bool]) -> None:
        """Go on until `is_over` or the process ends by itself, killing it and starting it again on the way."""
        begun, over = time.monotonic(), False
        while not over:
            fresh = self.process is None
            if self.process is None:
                command = self.variant.approve if self.approved and self.variant.parks else self.variant.run
                self.process, begun = self.spawn(command(self.place, self.history.order)), time.monotonic()
            over = self.survives(self.process, is_over, begun, fresh)

    def survives(self, process: subprocess.Popen[str], is_over: Callable[[], bool], begun: float, fresh: bool) -> bool:
        """Whether it reached its end or that of the phase before the moment came at which it is killed."""
        from_start, part = self.chance.random() < FROM_START, self.chance.random()
        first: Call | None = None
        while time.monotonic() < begun + LIMIT:
            if first is None:
                first = next((call for call in self.server.of(self.history.order) if call.came >= begun), None)
                if first is not None and fresh and self.history.deaths:
                    self.history.waited.append(first.came - begun)
            if process.poll() is not None:
                return self.came_to_an_end(process)
            due = begun + part * START_SPREAD if from_start else first.came + part * SPREAD if first is not None else None
            if self.kills_left and due is not None and time.monotonic() >= due:
                self.kill(process)
                return False
            if is_over():
                return True
            time.sleep(TURN)
        raise RuntimeError(f"{self.history.order}: no end within {LIMIT:.0f} seconds")

    def came_to_an_end(self, process: subprocess.Popen[str], said: str = "") -> bool:
        """Whether it ended as it should. One that crashed, or of which somebody `said` that it is not there, is to be started
        again. Raises RuntimeError when that goes on."""
        self.ended(process)
        self.process = None
        if process.returncode in DONE:
            return True
        self.history.crashes.append(f"exit code {process.returncode}: {(said or self.output[-1])[-500:]}")
        if len(self.history.crashes) > CRASHES:
            raise RuntimeError(f"{self.history.order}: {self.history.crashes[-1]}")
        return False

    def is_asked(self) -> bool:
        """Whether a process that stays has put its question: nothing else was left to do for a while."""
        written = [call.answered for call in self.server.of(self.history.order) if call.what == "write"]
        last = written[-1] if written else None
        return last is not None and time.monotonic() - last > SETTLED

    def kill(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        self.history.deaths.append((time.monotonic(), self.approved))
        self.ended(process)
        self.process = None
        self.kills_left -= 1
        time.sleep(LATENCY + 0.05)  # what the server still has of a killed process is not of the next one

    def spawn(self, command: list[str]) -> subprocess.Popen[str]:
        environment = {**self.place.environment, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.Popen(
            command, cwd=self.place.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def ended(self, process: subprocess.Popen[str]) -> str:
        self.output.append(process.communicate(timeout=LIMIT)[0])
        return self.output[-1]


def campaign(variant: Variant, place: Place, server: Server, kills: int, seed: int, say: Callable[[str], None]) -> list[History]:
    """Run refunds until so many kills have hit. Raises RuntimeError where one does not end."""
    histories: list[History] = []
    done = 0
    while done < kills:
        chance = random.Random(f"{seed}/{len(histories)}")
        order = f"{variant.name}{seed}x{len(histories)}"
        histories.append(Refund(variant, place, server, order, chance, min(KILLS_OF_A_RUN, kills - done)).go())
        done += len(histories[-1].deaths)
        say(f"{variant.name}: {done} kills in {len(histories)} runs")
    return histories
