"""A host without threads compiles what others compile (G-5.7)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ..command import environment

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = """
import sys, threading

def refuse(self):
    raise RuntimeError("can't start new thread")

threading.Thread.start = refuse
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.format import format_source
from concerto.compiler.pipeline import compile_source
from concerto.compiler.source import Source
from tests.checker.test_robustness import CHAINS, DEEP

limit = sys.getrecursionlimit()
for name, text in {**DEEP, **CHAINS}.items():
    text = text if "fn main" in text else f"fn main() {{ {text} }}"
    result = compile_source(text.encode(), "a.conc")
    assert {d.code for d in result.diagnostics.found if d.is_error} <= {"E2001"}, name
    assert format_source(Source("a", text), Diagnostics()) is not None, name
    assert sys.getrecursionlimit() == limit
n = 5000
circle = "".join(f"const A{i}: Int = A{i + 1} + 1; " for i in range(n)) + f"const A{n}: Int = A0; fn main() {{ }}"
assert {d.code for d in compile_source(circle.encode(), "a.conc").diagnostics.found} == {"E0114"}
print("all")
"""


def test_deep_programs_compile() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("all\n", 0), done.stderr
