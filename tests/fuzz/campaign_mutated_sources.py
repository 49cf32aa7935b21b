"""Mutated programs of the suite: checked and compiled they give diagnostics or an image that the verifier accepts; never a
Python exception, never work without end (G-2.1)."""

from __future__ import annotations

import functools
import random
import signal
import tempfile
from pathlib import Path

from concerto.compiler.diagnostics import render_json, render_text
from concerto.compiler.pipeline import compile_source
from concerto.vm.interp.link import load_image

from .campaign import Campaign, Figures, suite_programs
from .source_mutation import Corpus, mutate

SECONDS = 60  # a program of some lines takes milliseconds: whoever is still at it then never ends


@functools.cache
def corpus() -> Corpus:
    texts = [text for program in suite_programs() for text in program.files.values() if isinstance(text, str)]
    return Corpus(sorted({text for text in texts if 0 < len(text) < 4000}))


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


def sources(seed: int, cases: int) -> Figures:
    rng = random.Random(seed)
    compiled = 0
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        for number in range(cases):
            data = mutate(rng.choice(corpus().texts), corpus(), rng)
            signal.alarm(SECONDS)
            try:
                compiled += compile_and_verify(data)
            except Exception as error:
                kept = Path(tempfile.gettempdir()) / f"source-{seed}-{number}.conc"
                kept.write_bytes(data)
                raise AssertionError(f"seed {seed}, case {number}, kept as {kept}: {error!r}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    # a mutator that breaks everything, or nothing, would show nothing
    assert cases < 100 or cases // 100 < compiled < cases * 9 // 10, compiled
    return {"compiled": compiled}


CAMPAIGNS = [Campaign("sources", "G-2.1", 150, 50_000, sources)]
