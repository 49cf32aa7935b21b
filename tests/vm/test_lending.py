"""A `mut self` method writes in place through fields and elements: unshared storage is not copied (L-5.5.3, L-5.5.6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.interp.link import Program, load_image
from concerto.vm.values import containers

from .test_opcode_coverage import Clock

PROGRAM = """
struct Bag { items: Array<Int> = [] }
impl Bag {
    fn add(mut self, n: Int) { self.items.push(n); }
}
struct Shelf { bag: Bag = Bag {}, rest: Array<Bag> = [Bag {}], named: Map<String, Bag> = { a: Bag {} } }
impl Shelf {
    fn add(mut self, n: Int) { PLACE.add(n); }
}
fn main() {
    let mut shelf = Shelf {};
    for n in 0..ROUNDS { shelf.add(n); }
    emit("end");
}
"""


@pytest.mark.parametrize("place", ["self.bag", "self.rest[0]", 'self.named["a"]'])
def test_what_is_copied_does_not_grow(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert copied(place, 10, monkeypatch) == copied(place, 100, monkeypatch)


def copied(place: str, rounds: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many elements were copied from one container to another."""
    source = PROGRAM.replace("PLACE", place).replace("ROUNDS", str(rounds))
    image = compile_source(source.encode(), "shelf.conc").image
    assert image is not None
    counted = 0
    share_all = containers.share_all

    def count(values: Iterable[Any]) -> list[Any]:
        nonlocal counted
        shared = share_all(values)
        counted += len(shared)
        return shared

    with monkeypatch.context() as patch:
        patch.setattr(containers, "share_all", count)
        run(load_image(image))
    return counted


def run(program: Program) -> None:
    emits: list[str] = []
    clock = Clock()
    host = Host(
        emit=lambda channel, value, by_runtime: emits.append(channel), print=lambda text: None, env={}, now=clock.now,
        sleep=clock.sleep, random=lambda: 0.5, offline=True,
    )  # fmt: skip
    run_offline(Session(program, host))
    assert emits == ["end"]
