"""`receiver.method(args)` goes through one door, which looks a method up once per form of call and class (V-6.2)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.session import Outcome, Session, run_offline
from concerto.vm.interp import dispatch
from concerto.vm.interp.link import load_image

HEAD = """
memory log: Memory = Memory::new();
model M { provider: offline, memory: log }
agent A { connector: a }
trait Area { fn area(self) -> Int; }
struct Square { side: Int }
impl Square { fn twice(self) -> Int { self.side * 2 } }
impl Area for Square { fn area(self) -> Int { self.side * self.side } }
impl Area for Int { fn area(self) -> Int { self } }
hashmap counts: HashMap<String, Int> = HashMap::new();
trait Save { fn save(self) -> String; }
impl Save for HashMap<String, Int> { fn save(self) -> String { "mine" } }
"""
Seen = Counter[tuple[str, str]]


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """How often each method was looked up for each class."""
    found: Seen = Counter()
    real = dispatch.find_method

    def find_method(machine: Any, receiver: Any, site: Any) -> Any:
        found[type(receiver).__name__, site.name] += 1
        return real(machine, receiver, site)

    monkeypatch.setattr(dispatch, "find_method", find_method)
    return found


def ran(body: str) -> tuple[Outcome, list[Any]]:
    compiled = compile_source(f"{HEAD}fn main() {{ {body} }}".encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    loop, emits = OfflineLoop(), []
    host = Host(
        emit=lambda channel, value, by_runtime: None if by_runtime else emits.append(value), print=print, env={},
        now=loop.time, sleep=loop.sleep, random=lambda: 0.5, loop=loop, offline=True,
    )  # fmt: skip
    return run_offline(Session(load_image(compiled.image), host)), emits


def test_a_site_looks_each_class_up_once(looked_up: Seen) -> None:
    outcome, emits = ran('let xs: Array<Any> = ["ab", [1, 2], "c", [3]]; for i in 0..50 { for x in xs { emit("n", x.len()); } }')
    assert outcome.panic is None and emits[:4] == [2, 2, 1, 1] and len(emits) == 200
    assert looked_up == {("str", "len"): 1, ("Array", "len"): 1}
    looked_up.clear()
    ran('let s: Any = "ab"; s.len(); s.len();')
    assert looked_up["str", "len"] == 1  # calls of one form share their site


RECEIVERS = {
    "let x: Any = 7; x.abs()": ("int", "abs", 7),
    "let x: Any = [3, 4]; x.len()": ("Array", "len", 2),
    "let x: Any = Square { side: 3 }; x.twice()": ("Square", "twice", 6),
    "let x: Area = Square { side: 3 }; x.area()": ("Square", "area", 9),
    "let x: Area = 5; x.area()": ("int", "area", 5),
    "log.len()": ("MemoryRef", "len", 0),
    'M.with_context(1).execute("hi").is_ok()': ("ModelBuilder", "execute", True),
    "typeof(M.with_context(1))": ("ModelRef", "with_context", "ModelBuilder"),
    "typeof(M.with_memory(log).with_context(2))": ("ModelBuilder", "with_context", "ModelBuilder"),
    "typeof(A.with_context(1))": ("AgentRef", "with_context", "ModelBuilder"),
}


@pytest.mark.parametrize("body", RECEIVERS)
def test_every_kind_of_receiver_comes_through(looked_up: Seen, body: str) -> None:
    kind, name, value = RECEIVERS[body]
    *before, last = body.split("; ")
    outcome, emits = ran("".join(f"{statement}; " for statement in before) + f'emit("x", {last});')
    assert outcome.panic is None and emits == [value]
    assert looked_up[kind, name] == 1


def test_a_trait_does_not_stand_in_the_way_of_what_finishes_a_write() -> None:
    """`StoreWrites::finish` calls `save` of the hashmap, which a trait of the program may have too."""
    outcome, emits = ran('counts.on_any_change(|_k, _old, new| emit("n", new)); counts.set("k", 1); emit("n", counts.save());')
    assert outcome.panic is None and emits[1] == "mine" and len(emits) == 2
