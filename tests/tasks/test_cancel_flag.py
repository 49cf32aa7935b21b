"""Cancelling a run ends it wherever it is, computing or waiting, in both tiers, and nothing in the program notices (G-7.1,
G-7.2)."""

from __future__ import annotations

import ast
import asyncio
import threading
from pathlib import Path
from typing import Any

import concerto
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("api", "cli", "compiler", "runtime", "vm", "lsp")
HEAD = """tool T { description: "t", @describe("m") pub fn m(self) -> Int { 0 } }
async fn slow() -> Int { std::time::sleep(60000); 1 }
fn deep(n: Int) -> Int { if n == 0 { 0 } else { deep(n - 1) + deep(n - 1) } }
async fn turns() -> Int { loop { } 1 }
"""
PLACES = {
    "a loop": "let mut x = 0; loop { x = (x + 1) % 7; }",
    "a call": "deep(60);",
    "a closure": "(0..1000000).map(|i| deep(60 + i * 0));",
    "a built-in": 'let s = "ab".repeat(4000000); loop { let t = s.replace("a", "c"); }',
    "a sleep": "std::time::sleep(60000);",
    "a task": "let t = spawn slow(); await t;",
    "a task that computes": "let t = spawn turns(); await t;",
    "tasks side by side": "parallel for n in [60000, 1] { if n > 1 { std::time::sleep(n); } else { loop { } } };",
    "a race": "race(slow(), turns());",
    "an emit": 'let x = await emit("q");',
    "a tool": "T.m();",
}


async def never(*given: Any) -> int:
    await asyncio.sleep(3600)
    return 1


@pytest.mark.parametrize("tier", ["interp", "both"])
@pytest.mark.parametrize("place", PLACES)
def test_cancel_ends_the_run_at(place: str, tier: Any) -> None:
    body = f'emit("in", 1); try {{ {PLACES[place]} }} catch {{ emit("caught", 1); }} emit("after", 1);'
    program = concerto.compile(f"{HEAD}async fn main() {{ {body} }}")
    emits: list[str] = []
    with program.session(tier=tier) as session:
        session.register_tool("T", "m", never)
        session.on_emit("q", never)
        session.on("*", lambda emit: emits.append(emit.channel))
        timer: list[threading.Timer] = []

        def begin(_: Any) -> None:
            timer.append(threading.Timer(0.05, session.cancel))
            timer[0].start()

        session.on("in", begin)
        result = session.run()
        assert result.exit_code == 130 and [channel for channel in emits if channel in ("in", "caught", "after")] == ["in"]
        assert all(task.done() for root in session._session.machine.roots for task in root.subtree())


RAISING = {"PyThreadState_SetAsyncExc", "pthread_kill", "raise_signal", "interrupt_main", "setitimer", "alarm"}
# Ctrl-C, of a batch SIGTERM too: they set the flag of the run, and put the default back behind it.
HANDLERS = {"api/waiting.py", "cli/batch.py", "cli/run.py"}


def test_nothing_raises_from_outside() -> None:
    """No asynchronous exceptions; handlers of signals are those of Ctrl-C, and raise nothing."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            place = str(path.relative_to(ROOT))
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
                assert name not in RAISING, place
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "signal.signal":
                    assert place in HANDLERS, place
                    handler = ast.unparse(node.args[1]).split(".")[-1]
                    for made in [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name == handler]:
                        assert not any(isinstance(part, ast.Raise) for part in ast.walk(made)), f"{place}: {handler}"
