"""Mutated images: refused with ImageError, or run to an outcome of the language; never a Python exception (G-2.1).

CONCERTO_FUZZ sets the number of mutations, by default that of every change; CONCERTO_FUZZ_SEED another sequence.
"""

from __future__ import annotations

import importlib.util
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.errors import ConfigFailure
from concerto.runtime.host import Host
from concerto.runtime.session import Outcome, Session, run_offline
from concerto.vm.bytecode.codec import encode
from concerto.vm.bytecode.image import ImageError
from concerto.vm.load import load_bytes

ROOT = Path(__file__).resolve().parent.parent.parent
COUNT = int(os.environ.get("CONCERTO_FUZZ", "20000"))
PARTS = 4
SEED = int(os.environ.get("CONCERTO_FUZZ_SEED", "1"))


def mutation_module() -> Any:
    spec = importlib.util.spec_from_file_location("mutation", Path(__file__).with_name("mutation.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def images() -> list[bytes]:
    sources = [*sorted((ROOT / "examples").glob("*.conc")), Path(__file__).with_name("everything.conc")]
    found = []
    for path in sources:
        result = compile_source(path.read_bytes(), path.name)
        assert result.image is not None, [d.message for d in result.diagnostics.found]
        found.append(encode(result.image))
    return found


async def instant(seconds: float) -> None:
    pass


def run(data: bytes) -> Outcome | None:
    """The outcome, or None for a refused image or setting."""
    try:
        program = load_bytes(data)
    except ImageError:
        return None
    if program.image.header.entry is None:
        return None
    host = Host(
        emit=lambda channel, value, by_runtime: None, print=lambda text: None, env={}, now=lambda: 0.0, sleep=instant,
        random=lambda: 0.5, offline=True,
    )  # fmt: skip
    try:
        session = Session(program, host)
    except ConfigFailure:
        return None
    return run_offline(session, steps=3000, depth=60)


def test_originals_run() -> None:
    for data in images():
        outcome = run(data)
        assert outcome is not None and outcome.panic is None or outcome.panic.code == "P101"


@pytest.mark.parametrize("part", range(PARTS))
def test_mutations(part: int) -> None:
    mutate = mutation_module().mutate
    rng = random.Random(SEED * 1000 + part)
    originals = images()
    accepted = refused = 0
    for number in range(COUNT // PARTS):
        data = mutate(rng.choice(originals), rng)
        try:
            outcome = run(data)
        except Exception as error:
            kept = Path(tempfile.gettempdir()) / f"mutation-{SEED}-{part}-{number}.concb"
            kept.write_bytes(data)
            raise AssertionError(f"mutation {number} of part {part}, kept as {kept}") from error
        accepted += outcome is not None
        refused += outcome is None
    # a mutator that only breaks the frame, or nothing, would show nothing
    assert accepted > COUNT // PARTS // 100 and refused > COUNT // PARTS // 10, (accepted, refused)
