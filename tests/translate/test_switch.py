"""A host chooses the tiers, and what is not needed is not loaded (V-7.7, V-8.6)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import concerto
import pytest

HOT = 'fn f(n: Int) -> Int { let mut s = 0; for i in 0..n { s += i % 7; } s } fn main() { println(f(500)); }'
COLD = 'fn f(n: Int) -> Int { n + 1 } fn main() { println(f(1493)); }'
SHOW = """
import sys
from concerto.cli.main import main
main(sys.argv[1:])
print("loaded" if "concerto.vm.jit" in sys.modules else "not")
"""


@pytest.mark.parametrize(
    ("source", "flags", "loaded"),
    [(HOT, [], "loaded"), (HOT, ["--tier", "both"], "loaded"), (HOT, ["--tier", "interp"], "not"), (COLD, [], "not")],
)
def test_the_command_line_chooses(source: str, flags: list[str], loaded: str, tmp_path: Path) -> None:
    file = tmp_path / "main.conc"
    file.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SHOW, "run", *flags, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1494", loaded]


def test_a_session_chooses() -> None:
    program = concerto.compile(HOT.replace("println(f(500))", 'emit("sum", f(500))'))
    for tier in ("interp", "both"):
        with program.session(offline=True, tier=tier) as session:
            session.run()
            assert (session._session.machine.tier is None) == (tier == "interp")


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="'interp' or 'both'"):
        concerto.compile(COLD).session(tier="jit")  # type: ignore[typeddict-item]
