"""Command lines read without argparse give what argparse makes of them (O-9.13, V-8.6)."""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import subprocess
import sys

import pytest
from concerto.cli.main import describe, parsed
from concerto.cli.plain_words import PlainWords
from concerto.cli.verbs import BY_NAME, VERBS

WORDS = (
    "a.conc", "b.conc", "-", "", "5", "-5", "x y", "--", "both", "text", "-q", "-qo", "-o", "-p", "--quiet", "--qui", "--quiet=1",
    "-h",
)  # fmt: skip


def described(verb_name: str) -> tuple[PlainWords, object]:
    verb = BY_NAME[verb_name]
    module = importlib.import_module(f"concerto.cli.{verb.module}")
    plain = PlainWords()
    describe(plain, verb, module)
    return plain, module


def by_argparse(verb_name: str, module: object, words: list[str]) -> dict[str, object] | None:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return vars(parsed(BY_NAME[verb_name], module, words, "", {}))
        except SystemExit:
            return None


def command_line(generator: random.Random, plain: PlainWords) -> list[str]:
    """Names of the verb's options, with and without values, between files and words that are neither; often with the options that
    a verb cannot do without."""
    needed = [name for name, (_, row) in plain.options.items() if row.get("required")]
    line = [f"{name}={generator.choice(WORDS)}" for name in needed if generator.random() < 0.8]
    for _ in range(generator.randrange(6)):
        name = generator.choice(sorted(plain.options) or ["-q"])
        value = generator.choice(WORDS)
        line += generator.choice([[name], [name, value], [f"{name}={value}"], [value]])
    return line


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_what_is_read_without_argparse_is_what_argparse_reads(verb: str) -> None:
    plain, module = described(verb)
    generator = random.Random(verb)
    read = 0
    for _ in range(600):
        line = command_line(generator, plain)
        found = plain.read(line)
        if found is not None:
            assert found == by_argparse(verb, module, line), line
            read += 1
    # A verb with two kinds of words between its options is left to argparse, always.
    assert read > 10 if len(plain.files) < 2 else not read


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        (["x.conc", "--offline", "--seed", "5", "--tier=interp", "-q"], True),
        (["--max-steps=9", "x.conc"], True),
        (["--allow-net=a.org", "--allow-net=b.org:80", "x.conc"], True),
        (["x.conc", "--max-steps", "0"], False),
        (["x.conc", "--tier", "fast"], False),
        (["x.conc", "--of"], False),
        (["x.conc", "y.conc"], False),
        (["--help"], False),
    ],
)
def test_ordinary_lines_need_no_argparse(words: list[str], plain: bool) -> None:
    assert (described("run")[0].read(words) is not None) is plain


def test_a_mistake_is_told_as_before() -> None:
    words = [sys.executable, "-m", "concerto", "run", "x.conc", "--max-steps", "0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("concerto run: error: argument --max-steps: expected a whole number of at least 1\n")
