"""The blocks of the guide as a reader runs them: each that says what it emits prints just that, with the replies and answers of
its own comments (O-1.280, O-5.39)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
WORLD = re.compile(r"^// (?:mcp|agent|http|file|stdin|env|needs)\b", re.MULTILINE)  # what only the suite plays, or a flag grants
SCRIPT = re.compile(r"^// (?:reply|answer)\b", re.MULTILINE)
EMIT = re.compile(r"// emit(?:-1|~)?: (?!either )([\w:]+) (.*?)(?= // emit|$)", re.MULTILINE)
RUNTIME = re.compile(r"(?:model|memory|pipeline):")  # channels that --verbose shows


def blocks(page: str) -> list[str]:
    text = (GUIDE / page).read_text(encoding="utf-8")
    return re.findall(r"^```concerto\n(// run\n.*?)^```", text, re.DOTALL | re.MULTILINE)


TOUR = blocks("tour.md")
SCRIPTED = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in sorted(GUIDE.glob("*.md"))
    for number, block in enumerate(blocks(path.name))
    if SCRIPT.search(block) and path.name != "tour.md"
]


def value(text: str) -> object:
    """A payload as data: a text is printed without its quotes."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def require_its_comments(cli, write, block: str) -> str:
    """What the run says on stderr."""
    write("tour.conc", block)
    scripted = ("--offline-script", "tour.conc") if SCRIPT.search(block) else ()
    ran = cli("run", "tour.conc", *scripted)
    assert ran.code == 0, ran.err
    said = [(channel, value(payload)) for channel, payload in re.findall(r"\[emit:([\w:]+)\] (.*)", ran.out)]
    told = [(channel, value(payload)) for channel, payload in EMIT.findall(block) if not RUNTIME.match(channel)]
    assert sorted(said, key=repr) == sorted(told, key=repr)
    return ran.err


def test_there_are_blocks() -> None:
    assert len(TOUR) >= 10 and len(SCRIPTED) >= 20
    assert all("fn main()" in block for block in TOUR)


@pytest.mark.parametrize("block", TOUR, ids=range(len(TOUR)))
def test_it_prints_its_comments(cli, write, block: str) -> None:
    if "// mcp:" in block:
        pytest.skip("a server that only the suite plays")
    assert require_its_comments(cli, write, block) == ""


@pytest.mark.parametrize("block", SCRIPTED)
def test_a_scripted_block_of_the_guide_plays_itself(cli, write, block: str) -> None:
    if WORLD.search(block):
        pytest.skip("a world that only the suite plays")
    require_its_comments(cli, write, block)
