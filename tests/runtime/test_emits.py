"""Buffered emits and answers of hosts: what a program on its own cannot show (O-5.28, O-5.29, O-5.32)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.emit_bus import MOST_BUFFERED, EmitBus
from concerto.runtime.session.session import Outcome, Session
from concerto.runtime.session.testing import VirtualLoop
from concerto.vm.interp.link import load_image
from concerto.vm.values import to_json


class Listener:
    """A sink that writes down what it hears and when, on a clock that is set by hand."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.clock = OfflineLoop()

    def hear(self, channel: str, value: Any, by_runtime: bool) -> None:
        self.heard.append((channel, value))

    def loop(self) -> OfflineLoop:
        return self.clock


def test_immediate_mode_delivers_at_once() -> None:
    listener = Listener()
    EmitBus(listener.hear, None, listener.loop).send("a", 1, False)
    assert listener.heard == [("a", 1)]


def test_buffered_mode_delivers_at_the_interval_in_order() -> None:
    listener = Listener()
    bus = EmitBus(listener.hear, 2.0, listener.loop)
    bus.send("a", 1, False)
    listener.clock._now = 1.9
    bus.send("b", 2, True)
    assert listener.heard == []
    listener.clock._now = 2.0
    bus.send("c", 3, False)
    assert listener.heard == [("a", 1), ("b", 2), ("c", 3)]


def test_buffered_mode_delivers_at_a_thousand_entries() -> None:
    listener = Listener()
    bus = EmitBus(listener.hear, 60.0, listener.loop)
    for number in range(MOST_BUFFERED - 1):
        bus.send("a", number, False)
    assert listener.heard == []
    bus.send("a", -1, False)
    assert len(listener.heard) == MOST_BUFFERED == 1000


def test_the_interval_ends_while_the_program_waits() -> None:
    listener = Listener()

    async def wait() -> list[tuple[str, Any]]:
        EmitBus(listener.hear, 2.0, listener.loop).send("a", 1, False)
        await listener.clock.sleep(1.9)
        before = list(listener.heard)
        await listener.clock.sleep(0.2)
        return before

    assert listener.clock.run_until_complete(wait()) == [] and listener.heard == [("a", 1)]


def on_virtual_time(work: Any) -> Any:
    loop: Any = None

    def jump(until: int | None) -> None:
        assert until is not None, "nothing can run"
        loop.now_ms = until

    loop = VirtualLoop(0, jump)
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(work)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def run(text: str, **options: Any) -> tuple[Outcome, list[str]]:
    """A run of a program; what was heard, as `channel json`, and `-` for each answer that was asked for."""
    compiled = compile_source(text.encode(), "main.conc")
    assert compiled.image is not None, compiled.diagnostics.ordered()
    heard: list[str] = []
    answer: Callable[[str, Any], Any] | None = options.pop("answer", None)

    async def answered(channel: str, value: Any, run: Any) -> Any:
        heard.append("-")
        assert answer is not None
        return await answer(channel, value)

    host = Host(
        emit=lambda channel, value, by_runtime: heard.append(f"{channel} {to_json(value)}"),
        print=lambda text: heard.append(text.strip()),
        env={},
        now=lambda: 0.0,
        sleep=asyncio.sleep,
        random=lambda: 0.5,
        answer=answered if answer is not None else None,
        **options,
    )
    return on_virtual_time(Session(load_image(compiled.image), host).run()), heard


async def slow(channel: str, value: Any) -> Any:
    await asyncio.sleep(1)
    return "late"


def test_a_run_that_panics_delivers_what_is_buffered() -> None:
    _, heard = run('fn main() { emit("a", 1); panic("stop"); }', emit_interval=60.0)
    assert heard == ["a 1", 'panic "stop"']


def test_flush_emits_and_awaited_emits_deliver_what_is_buffered() -> None:
    async def answer(channel: str, value: Any) -> Any:
        return 0

    text = 'fn main() { emit("a", 1); flush_emits(); emit("b", 2); print("p"); let _ = await emit("c", 3); emit("d", 4); }'
    _, heard = run(text, emit_interval=60.0, answer=answer)
    assert heard == ["a 1", "p", "b 2", "c 3", "-", "d 4"]


def test_the_default_timeout_of_the_host_holds_where_the_program_gives_none() -> None:
    text = 'fn main() { emit("out", await emit("ask", 1, timeout_ms: 2000)); emit("out", await emit("ask", 2)); }'
    _, heard = run(text, answer=slow, emit_timeout_ms=500)
    assert heard[2] == 'out {"ok":"late"}' and '"variant":"Timeout"' in heard[5] and "500 ms" in heard[5]


def test_a_failing_handler_is_an_error_with_its_message() -> None:
    async def answer(channel: str, value: Any) -> Any:
        raise ValueError("no pen")

    _, heard = run('fn main() { emit("out", await emit("ask")); }', answer=answer)
    assert heard[-1] == 'out {"err":{"kind":"EmitError","variant":"HandlerFailed","message":"no pen","channel":"ask"}}'
