"""Refunds whose process is killed with `kill -9` at random points and gone on with until they end: what is asked twice.

Hands on `campaign` and `Tally`. It looks from outside, at the requests that the server got, so that every variant is judged by the same
rule. A request that came again after a kill had been, when the process died,

- `in flight`: it was not answered yet;
- `answered`: it was answered, and nothing shows that the process had gone on;
- `gone on`: the process had gone on to the next request, or the person had been asked. No durable run may repeat such a one.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from .server import Call, Server, reply
from .variants import Place, Variant

LATENCY = 0.06  # seconds, of the model and the bank
SPREAD = 0.3  # seconds from the first request of a process up to the last moment at which it is killed
START_SPREAD = 1.0  # seconds, where the clock starts with the process: one kill in five
KILLS_OF_A_RUN = 3
SETTLED = 0.25  # seconds behind the last request before the approval: then a process that stays has asked its question
LIMIT = 120.0  # seconds of one process
MODEL = ("decide", "write", "send")


@dataclass
class Tally:
    """What the kills of one variant came to. `waited` has of each process that went on behind a kill the seconds from its start to
    its first request."""

    kills: int = 0
    runs: int = 0
    wrong: int = 0
    double_charges: int = 0
    prevented: int = 0
    model: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("in flight", "answered", "gone on"), 0))
    bank: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("in flight", "answered", "gone on"), 0))
    waited: list[float] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        waited = sorted(self.waited)
        return {
            "kills": self.kills, "runs": self.runs, "wrong": self.wrong, "double_charges": self.double_charges,
            "prevented": self.prevented, "model": self.model, "bank": self.bank,
            "waited": {"least": waited[0], "median": median(waited), "most": waited[-1]} if waited else None,
        }  # fmt: skip


class Refund:
    """One run of one variant. `chance` says when it is killed, and is the same for all variants."""

    def __init__(self, variant: Variant, place: Place, server: Server, order: str, chance: random.Random, kills: int) -> None:
        self.variant, self.place, self.server, self.order, self.chance = variant, place, server, order, chance
        self.kills_left = kills
        self.tally = Tally(runs=1)
        self.process: subprocess.Popen[str] | None = None
        self.approved = False
        self.output: list[str] = []
        self.deaths: list[tuple[float, bool]] = []

    def calls(self, since: float = 0.0) -> list[Call]:
        return [call for call in self.server.of(self.order) if call.came >= since]

    def spawn(self, command: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, cwd=self.place.folder, env=self.place.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def ended(self, process: subprocess.Popen[str]) -> str:
        output = process.communicate(timeout=LIMIT)[0]
        self.output.append(output)
        return output

    def is_asked(self) -> bool:
        """Whether a process that stays has put its question: nothing else was left to do for a while."""
        written = [call for call in self.calls() if call.what == "write" and call.answered is not None]
        return bool(written) and time.monotonic() - (written[-1].answered or 0) > SETTLED

    def phase(self, is_over: Callable[[], bool], begun: float) -> None:
        """Go on until `is_over` or the process ends by itself, killing it and starting it again on the way."""
        while True:
            fresh = self.process is None
            if fresh:
                command = self.variant.approve if self.approved and self.variant.parks else self.variant.run
                self.process, begun = self.spawn(command(self.place, self.order)), time.monotonic()
            if not self.survives(is_over, begun, fresh):
                continue
            return

    def survives(self, is_over: Callable[[], bool], begun: float, fresh: bool) -> bool:
        assert self.process is not None
        by_start, part = self.chance.random() < 0.2, self.chance.random()
        until, heard = begun + LIMIT, False
        while time.monotonic() < until:
            first = next(iter(self.calls(begun)), None)
            if first is not None and not heard:
                heard = True
                if fresh and self.deaths:
                    self.tally.waited.append(first.came - begun)
            due = begun + part * START_SPREAD if by_start else first.came + part * SPREAD if first is not None else None
            if self.process.poll() is not None:
                output = self.ended(self.process)
                if self.process.returncode not in (0, 75):
                    raise RuntimeError(f"{self.variant.name}, {self.order}: exit code {self.process.returncode}\n{output}")
                self.process = None
                return True
            if self.kills_left and due is not None and time.monotonic() >= due:
                self.kill()
                return False
            if is_over():
                return True
            time.sleep(0.002)
        raise RuntimeError(f"{self.variant.name}, {self.order}: nothing for {LIMIT:.0f} seconds\n{self.stop()}")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.deaths.append((time.monotonic(), self.approved))
        self.ended(self.process)
        self.process = None
        self.kills_left -= 1
        self.tally.kills += 1
        time.sleep(LATENCY + 0.05)  # what the server still has of a killed process is not of the next one

    def stop(self) -> str:
        if self.process is None:
            return ""
        self.process.kill()
        return self.ended(self.process)

    def go(self) -> Tally:
        parks = self.variant.parks
        try:
            self.phase((lambda: False) if parks else self.is_asked, time.monotonic())
            if not parks:
                asked = self.spawn(self.variant.approve(self.place, self.order))
                if self.ended(asked) and asked.returncode:
                    raise RuntimeError(f"{self.variant.name}, {self.order}: not approved\n{self.output[-1]}")
            self.approved = True
            self.phase(lambda: False, time.monotonic())
        finally:
            self.stop()
        self.judge()
        return self.tally

    def judge(self) -> None:
        decision = reply(f"decide {self.order}")
        letter = reply(f"write {self.order} {decision}")
        self.tally.wrong += reply(f"send {self.order} {letter}") not in "".join(self.output)
        calls = self.calls()
        self.tally.double_charges += sum(call.what == "charge" for call in calls) - 1
        for at, call in enumerate(calls):
            before = [earlier for earlier in calls[:at] if earlier.what == call.what]
            if call.what == "look":
                self.tally.prevented += call.found
            elif before:
                counts = self.tally.bank if call.what == "charge" else self.tally.model
                counts[self.state(before[-1], call)] += 1

    def state(self, earlier: Call, later: Call) -> str:
        """What had become of a request when the process died that had sent it."""
        died, approved = next((death for death in self.deaths if earlier.came <= death[0] <= later.came), (later.came, self.approved))
        if earlier.answered is None or earlier.answered > died:
            return "in flight"
        went_on = any(earlier.came < other.came <= died and other.what != earlier.what for other in self.calls())
        return "gone on" if went_on or (approved and earlier.what != "send") else "answered"


def campaign(variant: Variant, place: Place, server: Server, kills: int, seed: int, say: Callable[[str], None]) -> Tally:
    """Run refunds until so many kills have hit. Raises RuntimeError where one does not end."""
    whole = Tally()
    while whole.kills < kills:
        order = f"{variant.name}{whole.runs}"
        chance = random.Random(f"{seed}/{whole.runs}")
        refund = Refund(variant, place, server, order, chance, min(KILLS_OF_A_RUN, kills - whole.kills))
        one = refund.go()
        for name in ("kills", "runs", "wrong", "double_charges", "prevented"):
            setattr(whole, name, getattr(whole, name) + getattr(one, name))
        for name in ("model", "bank"):
            for state, count in getattr(one, name).items():
                getattr(whole, name)[state] += count
        whole.waited += one.waited
        say(f"{variant.name}: {whole.kills} kills, {whole.runs} runs, {whole.shown()}")
    return whole
