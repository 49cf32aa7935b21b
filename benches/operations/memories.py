"""V-8.4 and V-8.5: appending to a bounded memory, and making a request from one."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any

from concerto.runtime.access.secrets import Redactor
from concerto.runtime.calls.call import execute
from concerto.runtime.calls.services import Services
from concerto.runtime.calls.settings import call_settings
from concerto.runtime.calls.usage import Metrics
from concerto.runtime.connections import resolve_all
from concerto.runtime.memory.conversation import Conversation
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.providers.openai import OpenAIChat
from concerto.runtime.records import Reply, Request

from ..execution import Concerto, finished, require
from ..figures import Figure, Target
from ..sampling import Plan, Samples, interleave

APPEND = Target("V-8.5", 0.6)
FLAT = Target("V-8.5", 1.5)
ASSEMBLY = Target("V-8.4", 20)
INDEPENDENT = Target("V-8.4", 1.5)
WINDOWS = (50, 10_000)

PROGRAM = """\
memory log: Memory = Memory::new(WINDOW);

fn main() {
    let mut rounds = 0;
    for _ in 0..COUNT {
        APPEND
        rounds += 1;
    }
    emit("length", log.len());
}
"""


# ---------------------------------------------------------------- appends


def memory_append(plan: Plan) -> list[Figure]:
    """Directly into the store, against a deque that evicts by itself."""
    count = 50_000 if plan.quick else 1_000_000
    for window in WINDOWS:
        require(_filled(window, window + 3).messages()[0].content, "3")
    works = [partial(_append, window, count) for window in WINDOWS]
    small, large, twin = interleave([*works, partial(_append_to_deque, WINDOWS[0], count)], plan)
    hand = twin.median / count
    return [
        *_figures("append", [small, large], [0.0, 0.0], count, hand),
        Figure("append_flat", large.median / small.median, "×", FLAT, note="window 10,000 over window 50"),
    ]


def memory_append_in_program(plan: Plan) -> list[Figure]:
    """From a program; the empty loop is taken off."""
    count = 20_000 if plan.quick else 200_000
    programs = []
    for window in WINDOWS:
        for statement in ("", 'log.append("user", "hello");'):
            program = Concerto(
                PROGRAM.replace("WINDOW", str(window)).replace("COUNT", str(count)).replace("APPEND", statement)
            )
            require(program.output(), [f"length {min(count, window) if statement else 0}"])
            programs.append(program.run)
    empty, small, empty_again, large = interleave(programs, plan)
    return _figures("append_in_program", [small, large], [empty.median, empty_again.median], count, None)


def _figures(name: str, found: list[Samples], off: list[float], count: int, hand: float | None) -> list[Figure]:
    figures = []
    for window, samples, less in zip(WINDOWS, found, off, strict=True):
        each = (samples.median - less) / count
        ratio = None if hand is None else each / hand
        note = f"window {window:,}, {count:,} appends"
        figures.append(Figure(f"{name}_{window}", each * 1e6, "µs", APPEND, ratio=ratio, spread=samples.spread, note=note))
    return figures


def _append(window: int, count: int) -> None:
    append = Memory(Policy(retain=window)).append
    for _ in range(count):
        append("user", "hello")


def _append_to_deque(window: int, count: int) -> None:
    append = deque[tuple[str, str]](maxlen=window).append
    for _ in range(count):
        append(("user", "hello"))


def _filled(window: int | None, count: int) -> Memory:
    log = Memory(Policy(retain=window))
    for i in range(count):
        log.append("user" if i % 2 == 0 else "assistant", str(i))
    return log


# ---------------------------------------------------------------- requests


class Wire(OpenAIChat):
    """Lowers each request to the body that goes on the wire and answers without sending it."""

    free_and_instant = True

    def __init__(self, connection: Any) -> None:
        super().__init__(connection, {}, Redactor())
        self.sent: Any = None

    async def send(self, request: Request) -> Reply:
        self.sent = self.lower(request)
        return Reply("answer")


def request_assembly(plan: Plan) -> list[Figure]:
    """A whole call whose provider answers at once, from `execute` to the Response, the wire body included."""
    connection = resolve_all([])["openai"]
    settings = call_settings("M", {"base": "gpt-5.4-mini", "system_prompt": "You help."}, {}, connection)
    wire = Wire(connection)
    services = _services(wire)

    def call(log: Memory, auto: bool, number: list[int]) -> None:
        number[0] += 1
        finished(execute(services, settings, "prompt", Conversation(log, auto), run_id=f"r{number[0]}"))

    few, many, turns = _filled(50, 100), _filled(50, 10_000), _filled(50, 10_000)
    _check_request(call, wire, many)
    works = [partial(call, few, False, [0]), partial(call, many, False, [0]), partial(call, turns, True, [0])]
    small, large, turn = interleave(works, plan)
    note = "50 of 10,000 messages to a wire body"
    return [
        Figure("request", large.median * 1e6, "µs", ASSEMBLY, spread=large.spread, note=note),
        Figure("request_flat", large.median / small.median, "×", INDEPENDENT, note="10,000 messages over 100"),
        Figure("turn", turn.median * 1e6, "µs", spread=turn.spread, note="the same call when it commits its turn"),
    ]


def _check_request(call: Any, wire: Wire, log: Memory) -> None:
    call(log, False, [0])
    contents = [message["content"] for message in wire.sent["messages"]]
    require(contents, ["You help.", *(str(i) for i in range(9950, 10_000)), "prompt"])


def _services(wire: Wire) -> Services:
    return Services(
        provider=lambda name: wire,
        sleep=_no_sleep,
        random=lambda: 0.0,
        clock=lambda: 0.0,
        metrics=Metrics(),
    )


async def _no_sleep(seconds: float) -> None:
    """Nothing here is retried."""
