"""The program rows: programs/NAME.conc and twins/NAME.py do the same work and must emit the same before time counts (V-8.2).

A program says its sizes in a comment `// sizes: full 400, quick 150, test 12` and takes the size from `fn size()`, whose body is
replaced; a twin is `main(size, emit)`. Hands on figures. Must not know: how they are shown.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .execution import Concerto, WrongOutput
from .figures import Figure, Target
from .sampling import Plan, interleave, ratio

HERE = Path(__file__).resolve().parent
_SIZES = re.compile(r"^// sizes: full (\d+), quick (\d+), test (\d+)$", re.M)
_SIZE = re.compile(r"^fn size\(\) -> Int \{ \d+ \}$", re.M)

EACH = Target("V-8.2", 40, on_ratio=True)
MEAN = Target("V-8.2", 18, on_ratio=True)
EACH_OF_BOTH = Target("V-8.1", 3, on_ratio=True)
MEAN_OF_BOTH = Target("V-8.1", 1.5, on_ratio=True)
# by tier: how a row is named, the target of each program, that of their geometric mean
TIERS = {"both": ("{}", EACH_OF_BOTH, MEAN_OF_BOTH), "interp": ("{}, interpreter", EACH, MEAN)}


class Pair:
    """A program and its twin."""

    def __init__(self, source: str, twin: Callable[[int, Callable[[str, Any], None]], None], file: str) -> None:
        sizes = _SIZES.search(source)
        if sizes is None or not _SIZE.search(source):
            raise ValueError(f"{file}: no line `// sizes: full N, quick N, test N` or no `fn size() -> Int {{ N }}`")
        self.full, self.quick, self.test = map(int, sizes.groups())
        self.source = source
        self.twin = twin
        self.file = file

    def sized(self, size: int) -> str:
        """The source for a size."""
        return _SIZE.sub(f"fn size() -> Int {{ {size} }}", self.source)

    def concerto(self, size: int, tier: str = "interp") -> Concerto:
        return Concerto(self.sized(size), self.file, tier=tier)

    def twin_output(self, size: int) -> list[str]:
        found: list[str] = []
        self.twin(size, lambda channel, value: found.append(f"{channel} {json.dumps(value)}"))
        return found

    def check(self, size: int, tier: str = "interp") -> Concerto:
        """The program, once its output equals the twin's."""
        program = self.concerto(size, tier)
        found, expected = program.output(), self.twin_output(size)
        if found != expected or not expected:
            raise WrongOutput(f"{self.file}: {difference(found, expected)}")
        return program

    def measure(self, name: str, plan: Plan, tier: str = "interp") -> Figure:
        size = self.quick if plan.quick else self.full
        program = self.check(size, tier)
        form, target, _ = TIERS[tier]
        mine, twin = interleave([program.run, partial(self.twin, size, _ignore)], plan)
        return Figure(
            form.format(name),
            mine.median * 1e3,
            "ms",
            target,
            ratio=ratio(mine, twin),
            spread=max(mine.spread, twin.spread),
            note="ratio to the Python twin",
        )


def difference(found: list[str], expected: list[str]) -> str:
    """The first line that differs."""
    for mine, theirs in zip(found, expected, strict=False):
        if mine != theirs:
            return f"emitted {mine!r}, the twin {theirs!r}"
    return f"emitted {len(found)} values, the twin {len(expected)}"


def names() -> list[str]:
    return sorted(path.stem for path in (HERE / "programs").glob("*.conc"))


def pair(name: str) -> Pair:
    source = (HERE / "programs" / f"{name}.conc").read_text(encoding="utf-8")
    return Pair(source, _twin(HERE / "twins" / f"{name}.py"), f"{name}.conc")


def measure(name: str, plan: Plan) -> list[Figure]:
    return [pair(name).measure(name, plan, tier) for tier in TIERS]


def _twin(path: Path) -> Callable[..., None]:
    spec = importlib.util.spec_from_file_location(f"benches.twins.{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    main: Callable[..., None] = module.main
    return main


def _ignore(channel: str, value: object) -> None:
    pass
