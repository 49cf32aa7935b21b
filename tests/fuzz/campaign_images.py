"""Images changed structurally: each one that is accepted runs cold (interpreter), hot (translated at once) and metered
(translated, fuel counted). Whatever it does is of the language (G-2.1, G-4.4, G-3.8); where no declared type became wrong, all
three show the same (V-5.9).
"""

from __future__ import annotations

import functools
import json
import random
import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.runtime.errors import ConfigFailure
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.bytecode.encoding import encode
from concerto.vm.bytecode.image import ImageError
from concerto.vm.interp.link import Program, load_bytes
from concerto.vm.interp.machine import Stopped
from concerto.vm.jit.tier import Tier
from concerto.vm.panics import PANICS
from concerto.vm.values import to_json

from .campaign import Campaign, Figures, suite_programs
from .image_mutation import mutate
from .mutation import mutate as mutate_blindly

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
STEPS, DEPTH = 10_000, 200
LONGEST = 1 << 20  # bytes of a String
PATIENCE = 0.3  # seconds of work until a run without a limit is stopped,
SHORT = 0.03  # one that is known not to end soon
ENDLESS = 5.0  # and until nobody believes that it stops (G-1.1)
WAITING = 120.0  # seconds of the clock until nobody believes that it works at all
ROOM = 3 << 30
SMALL = 0.6  # share of mutants of small programs, each of which has little that could be changed
FEW = 40  # small programs of one seed
WIDEST = 1 << 63
OURS = ("out of memory",)  # of a panic that says what the machine should have refused before


async def instant(seconds: float) -> None:
    pass


@functools.cache
def originals() -> tuple[bytes, ...]:
    """What is made for the translated tier counts three times."""
    hot = HERE / "hot.conc"
    paths = [hot, hot, hot, HERE / "everything.conc", *sorted((ROOT / "examples").glob("*.conc"))]
    return tuple([image_of(path.read_bytes()) for path in paths])


@functools.cache
def small_texts() -> tuple[bytes, ...]:
    """Programs of the suite that run and need nothing of the host."""
    wanted = [p for p in suite_programs() if p.level in (1, 2) and p.operation == "run" and len(p.files) == 1 and not p.rejects]
    return tuple([text.encode() for program in wanted for text in program.files.values()])


@functools.cache
def image_of(source: bytes) -> bytes:
    result = compile_source(source, "main.conc")
    assert result.image is not None, [one.message for one in result.diagnostics.found]
    return encode(result.image)


class Run:
    """One run of a program; `shown` is all that a host can see of it."""

    def __init__(self, program: Program, way: str) -> None:
        self.emits: list[tuple[str, Any]] = []
        self.way = way
        host = Host(
            emit=self.emit, print=lambda text: None, env={}, now=lambda: 0.0, wall=lambda: 0.0, sleep=instant,
            random=lambda: 0.5, random_bits=lambda bits: 0, secure_bytes=bytes, offline=True,
            tier="interp" if way == "cold" else "both",
            log=lambda level, text: None,
        )  # fmt: skip
        self.session = Session(program, host)
        self.stopped = False
        if way != "cold":
            self.session.machine.tiers(True, at_once=True, counted=way == "metered")

    def emit(self, channel: str, value: Any, by_runtime: bool) -> None:
        if not by_runtime:
            data = to_json(value)
            json.dumps(data)
            assert inside(data), f"an Int beyond 64 bits: {channel}"
            self.emits.append((channel, repr(data)))

    def shown(self) -> tuple[Any, ...]:
        limits = {} if self.way == "hot" else {"steps": STEPS}
        try:
            outcome = run_offline(self.session, depth=DEPTH, value_bytes=LONGEST, **limits)
        except Stopped:
            self.stopped = True
            return ()
        panic = outcome.panic
        if panic is None:
            return self.emits, outcome.message
        assert panic.code in PANICS and panic.message not in OURS, str(panic)
        return self.emits, str(panic), panic.position, panic.trace


class Entered:
    """Counts the runs of translated code."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Entered:
        self.before = Tier.run

        def run(tier: Tier, *arguments: Any) -> Any:
            value = self.before(tier, *arguments)
            self.count += value is not False
            return value

        Tier.run = run  # type: ignore[method-assign]
        return self

    def __exit__(self, *raised: object) -> None:
        Tier.run = self.before  # type: ignore[method-assign]


def inside(data: Any) -> bool:
    if isinstance(data, dict):
        return all(inside(value) for value in data.values())
    if isinstance(data, (list, tuple)):
        return all(inside(value) for value in data)
    return not isinstance(data, int) or -WIDEST <= data < WIDEST


def endless(shown: dict[str, tuple[Any, ...]]) -> bool:
    """Whether a run came to the limit of steps."""
    return any(len(seen) > 2 and seen[1].startswith("panic[P101]") for seen in shown.values())


@contextmanager
def stopping(machine: Any, patience: float) -> Iterator[None]:
    """The host stops a run that takes long; one that does not stop then fails."""
    started = False

    def tick(number: int, frame: object) -> None:
        nonlocal started
        if started:
            raise TimeoutError(f"still running {ENDLESS} s after it was stopped")
        started = True
        machine.stop = Stopped("it takes long")

    def stands(number: int, frame: object) -> None:
        raise TimeoutError(f"it did not end in {WAITING} s")

    timers = {
        signal.ITIMER_PROF: (signal.SIGPROF, tick, patience, ENDLESS),
        signal.ITIMER_REAL: (signal.SIGALRM, stands, WAITING, 0.0),
    }
    before = {number: signal.signal(number, handler) for number, handler, _, _ in timers.values()}
    for timer, (_, _, first, again) in timers.items():
        signal.setitimer(timer, first, again)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for sign, handler in before.items():
            signal.signal(sign, handler)


@contextmanager
def little_memory() -> Iterator[None]:
    """What would take the machine down is refused by the system, and so seen."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def tried(data: bytes, honest: bool, total: dict[str, int], entered: Entered) -> None:
    """Load and run an image in all three ways."""
    try:
        program = load_bytes(data)
    except ImageError:
        total["refused"] += 1
        return
    total["accepted"] += 1
    if program.image.header.entry is None:
        return
    shown: dict[str, tuple[Any, ...]] = {}
    before = entered.count
    for way in ("cold", "hot", "metered"):
        try:
            run = Run(program, way)
        except ConfigFailure:
            return
        with stopping(run.session.machine, SHORT if endless(shown) else PATIENCE):
            seen = run.shown()
        if not run.stopped:
            shown[way] = seen
    total["translated"] += entered.count > before
    total["stopped"] += len(shown) < 3
    if honest and not endless(shown):
        total["compared"] += 1
        for way, seen in shown.items():
            assert seen == shown.get("cold", seen), f"{way} differs from cold:\n{seen}\n{shown['cold']}"


def campaign(seed: int, cases: int) -> Figures:
    rng = random.Random(seed)
    small = [image_of(text) for text in rng.sample(small_texts(), FEW)]
    total = dict.fromkeys(("accepted", "refused", "translated", "compared", "stopped"), 0)
    with little_memory(), Entered() as entered:
        for number in range(cases):
            data, honest = mutate(rng.choice(small if rng.random() < SMALL else originals()), rng)
            case(data, honest, total, entered, f"seed {seed}, case {number}")
    # mutants that are all refused, or never get hot, would show nothing
    assert total["accepted"] * 4 > cases, total
    assert cases < 100 or total["translated"] * 3 > total["accepted"] and total["compared"] * 20 > cases, total
    return total


def blind(seed: int, cases: int) -> Figures:
    """Bytes and decoded structure, anywhere: what the decoder and the verifier refuse, mostly."""
    rng = random.Random(seed)
    total = dict.fromkeys(("accepted", "refused", "translated", "compared", "stopped"), 0)
    with little_memory(), Entered() as entered:
        for number in range(cases):
            case(mutate_blindly(rng.choice(originals()), rng), False, total, entered, f"seed {seed}, case {number}")
    assert cases < 100 or total["refused"] * 10 > cases and total["accepted"] * 100 > cases, total
    return {"accepted": total["accepted"], "refused": total["refused"]}


def case(data: bytes, honest: bool, total: dict[str, int], entered: Entered, name: str) -> None:
    try:
        tried(data, honest, total, entered)
    except Exception as error:
        kept = Path(tempfile.gettempdir()) / f"image-{name.replace(', ', '-').replace(' ', '-')}.concb"
        kept.write_bytes(data)
        raise AssertionError(f"{name}, kept as {kept}: {type(error).__name__}: {error}") from error


CAMPAIGNS = [
    Campaign("images, structural", "G-2.1, G-4.4", 50, 50_000, campaign),
    Campaign("images, bytes", "G-2.1, G-2.2", 100, 50_000, blind),
]
