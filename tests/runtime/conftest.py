"""What the tests of the runtime share: a driver without event loop, a session's services, and the request oracle."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.calls.services import Services
from concerto.runtime.calls.usage import Metrics
from concerto.runtime.connections import resolve_all
from concerto.runtime.providers.pool import ProviderPool

from ..oracles import check_request

type_of_script = list[Any]


def finish(work: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine that never waits for an event loop: the offline path must not need one."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    work.close()
    raise AssertionError("the coroutine waits for an event loop")


class Bench:
    """A session with the offline provider: what it was asked, what it waited, what it emitted."""

    def __init__(self, script: type_of_script | None, connections: dict[str, dict[str, Any]], **options: Any) -> None:
        self.slept: list[float] = []
        self.emits: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[Any] = []
        self.now = 0.0
        self.metrics = Metrics()
        self.connections = resolve_all([connections])
        self.pool = ProviderPool(self.connections, env={}, redactor=Redactor(), sleep=self.sleep, script=script, offline=True)
        self.services = Services(
            provider=self.provider,
            sleep=self.sleep,
            random=lambda: 0.0,
            clock=lambda: self.now,
            metrics=self.metrics,
            emit=lambda channel, payload: self.emits.append((channel, payload)),
            **options,
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def provider(self, name: str) -> Any:
        bench, inner = self, self.pool[name]

        class Listening:
            name = inner.name
            free_and_instant = inner.free_and_instant
            unmetered = inner.unmetered

            async def send(self, request: Any) -> Any:
                bench.requests.append(request)
                return await inner.send(request)

        return Listening()

    def messages(self) -> list[list[tuple[str, str]]]:
        """The message list of every request."""
        return [[(m.role, m.content) for m in request.messages] for request in self.requests]


@pytest.fixture(name="finish")
def _finish() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return finish


@pytest.fixture
def bench() -> Callable[..., Bench]:
    def make(script: type_of_script | None = None, connections: dict[str, dict[str, Any]] | None = None, **options: Any) -> Bench:
        return Bench(script, connections or {}, **options)

    return make


@pytest.fixture(scope="session")
def oracle() -> Callable[[str, dict[str, Any]], None]:
    """Checks arguments against the SDK's own parameter types: valid, and no key the SDK does not know."""
    return check_request
