"""A store that the host brings (M-8.3, M-8.16, M-13.65, M-13.79): plain Python behind the protocol, in the place of the file."""

from __future__ import annotations

import concerto
import pytest
from concerto.runtime.memory.stores.volatile import VolatileStore

PROGRAM = concerto.compile("""
    model M { provider: offline }
    memory log: Memory = Memory::new().store("durable");
    pub fn ask(text: String) -> Result<Int, Error> { M.with_memory(log).execute(text)?; Ok(log.len()) }
    pub fn forget() -> Int { log.clear(); log.len() }
""")


class Adapter:
    """What a host has: methods of the protocol over a service of its own, of which this one counts the calls."""

    name = "adapter"

    def __init__(self, blocking: bool = False) -> None:
        self.blocking = blocking
        self.service = VolatileStore()
        self.asked: list[str] = []
        self.is_down = False

    def __getattr__(self, method: str) -> object:
        if method == "acquire":
            raise AttributeError(method)  # no Leases: Serial orders within the process (M-8.16)

        def call(*given: object, **named: object) -> object:
            self.asked.append(method)
            if self.is_down:
                raise OSError("the service is down")
            return getattr(self.service, method)(*given, **named)

        return call


@pytest.mark.parametrize("blocking", [False, True])
def test_turns_go_to_the_store_of_the_host_and_outlive_the_session(tmp_path, monkeypatch, blocking):
    """M-5.10: whether it waits or not, other sessions write it, so run ids are unique among them."""
    monkeypatch.chdir(tmp_path)
    store = Adapter(blocking)
    for expected in (2, 4):
        with PROGRAM.session(offline=True, stores={"durable": store}) as session:
            assert session.call("ask", "hello") == expected
    assert store.asked.count("commit") == 2
    assert not (tmp_path / ".concerto").exists()
    with PROGRAM.session(offline=True, stores={"durable": store}) as session:
        assert session.call("forget") == 0


@pytest.mark.parametrize("blocking", [False, True])
def test_a_store_that_fails_is_an_err_and_stores_nothing(blocking):
    store = Adapter(blocking)
    with PROGRAM.session(offline=True, stores={"durable": store}) as session:
        assert session.call("ask", "hello") == 2
        store.is_down = True
        with pytest.raises(concerto.ProgramError) as raised:
            session.call("ask", "again")
        assert (raised.value.value.kind, raised.value.value.variant) == ("MemoryError", "Store")
        store.is_down = False
        assert session.call("ask", "again") == 4
