"""P-2.7: importing a program that has not changed, beside loading its image."""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

import concerto
import concerto.importer
from concerto.api import python_modules

from ..execution import require
from ..figures import Figure, Target
from ..generated_source import source
from ..sampling import Plan, interleave

IMPORT = Target("P-2.7", 1.3, on_ratio=True)
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python" / "desk.conc"
NAMES = ("bench_example", "bench_large")


def importing(plan: Plan) -> list[Figure]:
    texts = {NAMES[0]: EXAMPLE.read_text(encoding="utf-8"), NAMES[1]: source(100 if plan.quick else 500)}
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        try:
            return [_row(plan, Path(folder), name, text) for name, text in texts.items()]
        finally:
            sys.path.remove(folder)
            sys.dont_write_bytecode = writes_bytecode
            for name in NAMES:
                sys.modules.pop(name, None)
                python_modules._MODULES.pop(name, None)


def _row(plan: Plan, folder: Path, name: str, text: str) -> Figure:
    place = folder / f"{name}.conc"
    place.write_text(text, encoding="utf-8")
    image = folder / f"{name}.concb"
    concerto.compile(path=place).save(image)

    def imported() -> object:
        sys.modules.pop(name, None)
        return importlib.import_module(name)

    module = imported()
    require(module.__program__.content_hash, concerto.load(image).content_hash)  # type: ignore[attr-defined]
    require((folder / "__pycache__" / f"{name}.concb").read_bytes(), image.read_bytes())
    by_import, by_load = interleave([imported, lambda: concerto.load(image)], plan)
    lines = text.count("\n")
    note = f"import of an unchanged program of {lines:,} lines against concerto.load of its image"
    ratio = by_import.median / by_load.median
    row = name.replace("bench", "import")
    return Figure(row, by_import.median * 1e3, "ms", IMPORT, ratio=ratio, spread=by_import.spread, note=note)
