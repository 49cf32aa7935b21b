"""Mutated programs of the suite: checked and compiled they give diagnostics or an image that the verifier accepts; never a
Python exception, never work without end (G-2.1).

CONCERTO_FUZZ sets the number of mutations; CONCERTO_FUZZ_SEED another sequence.
"""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.compiler.render import render_json, render_text
from concerto.vm.load import load_image

COUNT = int(os.environ.get("CONCERTO_FUZZ", "1500"))
SEED = int(os.environ.get("CONCERTO_FUZZ_SEED", "1"))
PARTS = 3
SECONDS = 60  # a program of some lines takes milliseconds: whoever is still at it then never ends


def mutation_module() -> Any:
    name = "source_mutation"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts() -> list[str]:
    from conformance import suite

    programs, _ = suite.load()
    found = [text for program in programs for text in program.files.values() if isinstance(text, str)]
    return sorted({text for text in found if 0 < len(text) < 4000})


def compile_and_verify(data: bytes) -> bool:
    """Whether there is an image; it is verified, and what was found is rendered."""
    result = compile_source(data, "main.conc")
    render_text(result.diagnostics, result.sources)
    render_json(result.diagnostics, result.sources)
    if result.image is None:
        assert result.diagnostics.has_errors
        return False
    load_image(result.image)
    return True


def too_long(number: int, frame: object) -> None:
    raise TimeoutError(f"not done after {SECONDS} s")


@pytest.mark.parametrize("part", range(PARTS))
def test_mutations(part: int) -> None:
    module = mutation_module()
    rng = random.Random(SEED * 1000 + part)
    corpus = module.Corpus(texts())
    compiled = 0
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        for number in range(COUNT // PARTS):
            data = module.mutate(rng.choice(corpus.texts), corpus, rng)
            signal.alarm(SECONDS)
            try:
                compiled += compile_and_verify(data)
            except Exception as error:
                kept = Path(tempfile.gettempdir()) / f"mutation-{SEED}-{part}-{number}.conc"
                kept.write_bytes(data)
                raise AssertionError(f"mutation {number} of part {part}, kept as {kept}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    # a mutator that breaks everything, or nothing, would show nothing
    assert COUNT // PARTS // 100 < compiled < COUNT // PARTS * 9 // 10, compiled
