"""The documents name every example and every guide, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(examples/[\w./]+)`")
LINK = re.compile(r"\]\(([\w./-]+\.md)\)")


def test_every_example_is_named_in_the_readme() -> None:
    there = {f"examples/{path.name}{'/' if path.is_dir() else ''}" for path in EXAMPLES.iterdir() if path.name != "__pycache__"}
    assert there - set(NAMED.findall(README)) == set()


def test_what_is_named_is_there() -> None:
    for page in (ROOT / "README.md", *GUIDES):
        text = page.read_text(encoding="utf-8")
        missing = [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
        dead = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
        assert (page.name, missing, dead) == (page.name, [], [])


def test_every_guide_is_linked_from_the_readme() -> None:
    assert {f"docs/guide/{page.name}" for page in GUIDES} <= set(LINK.findall(README))
