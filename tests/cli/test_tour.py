"""The tour as a reader runs it: each block that says what it emits prints just that, with the replies of its own comments."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "guide" / "tour.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"```concerto\n(.*?)```", TEXT, re.DOTALL) if block.startswith("// run\n")]
EMIT = re.compile(r"// emit: ([\w:]+) (.*?)(?= // emit:|$)", re.MULTILINE)


def value(text: str) -> object:
    """A payload as data: a text is printed without its quotes."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 10
    assert all("fn main()" in block for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_it_prints_its_comments(cli, write, block: str) -> None:
    if "// mcp:" in block:
        pytest.skip("a server that only the suite plays")
    write("tour.conc", block)
    scripted = ("--offline-script", "tour.conc") if "// reply:" in block or "// answer:" in block else ()
    ran = cli("run", "tour.conc", *scripted)
    assert (ran.code, ran.err) == (0, "")
    said = [(channel, value(payload)) for channel, payload in re.findall(r"\[emit:([\w:]+)\] (.*)", ran.out)]
    told = [(channel, value(payload)) for channel, payload in EMIT.findall(block)]
    assert sorted(said, key=repr) == sorted(told, key=repr)
