"""Functions of Python in recordings and in runs of a store (P-1.7)."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import concerto
import pytest

SOURCE = """
extern python "shop" {
    fn price(article: String) -> Result<Int, HostError>;
    @effect("pure") fn slug(text: String) -> String;
    fn rows(n: Int) -> Stream<Int>;
    fn apply(f: fn(Int) -> Int, n: Int) -> Int;
}
channel ask: String -> Int;
fn main() {
    emit("price", price("lamp"));
    emit("failed", price("none").unwrap_err().variant);
    let mut sum = 0;
    for r in rows(3) { sum += r; }
    let mut seen = [];
    emit("sum", [sum, apply(|x| { seen.push(x); x * 2 }, 5), seen.len()]);
    if let_wait() { emit("answer", ask("how many?")); }
    emit("slug", slug("a b"));
}
fn let_wait() -> Bool { WAITS }
"""
EFFECTS = "fn main() { println(apply(|x| { println(x); x }, 1)); }"


def program(waits: bool = False) -> concerto.Program:
    return concerto.compile(SOURCE.replace("WAITS", "true" if waits else "false"))


class Shop:
    def __init__(self) -> None:
        self.called: list[str] = []

    def price(self, article: str) -> int:
        self.called.append("price")
        if article == "none":
            raise KeyError(article)
        return 12

    def slug(self, text: str) -> str:
        self.called.append("slug")
        return text.replace(" ", "-")

    def rows(self, n: int) -> Any:
        self.called.append("rows")
        yield from range(n)

    def apply(self, f: Any, n: int) -> Any:
        self.called.append("apply")
        return f(n) + f(n)

    def functions(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("price", "slug", "rows", "apply")}


def emits(result: concerto.RunResult) -> list[Any]:
    return [(emit.channel, emit.payload) for emit in result.emits]


def test_a_replay_calls_nothing(tmp_path: Path) -> None:
    shop = Shop()
    with program().session(record=tmp_path / "run.jsonl") as session:
        session.bind("shop", shop.functions())
        first = session.run()
    assert shop.called == ["price", "price", "rows", "apply", "slug"]
    assert emits(first)[2] == ("sum", [3, 20, 2])
    with program().session(replay=tmp_path / "run.jsonl") as session:
        again = session.run()
    assert emits(again) == emits(first) and again.ok


def test_a_run_of_a_store_that_goes_on_calls_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop()
    module = ModuleType("shop")
    module.__dict__.update(shop.functions())
    monkeypatch.setitem(sys.modules, "shop", module)
    store, granted = tmp_path / "runs.db", concerto.Permissions(python=("shop",))
    waiting = concerto.run(program(True), store=store, permissions=granted)
    assert waiting.exit_code == 75 and shop.called == ["price", "price", "rows", "apply"]
    (wait,) = waiting.waits
    ended = concerto.resume(waiting.run or "", store=store, answers={wait.key: 7}, permissions=granted)
    assert ended.ok and shop.called == ["price", "price", "rows", "apply", "slug"]
    assert emits(ended)[-1] == ("slug", "a-b")


def test_a_function_that_has_effects_is_not_passed_in_a_recorded_run(tmp_path: Path) -> None:
    source = 'extern python "shop" { fn apply(f: fn(Int) -> Int, n: Int) -> Int; }\n' + EFFECTS
    with concerto.compile(source).session(record=tmp_path / "run.jsonl") as session:
        session.bind("shop", {"apply": Shop().apply})
        ended = session.run()
    assert isinstance(ended.error, concerto.Panic) and ended.error.code == "P417"
    assert "cannot be recorded" in ended.error.message
